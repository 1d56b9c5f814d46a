//! `assay crosscheck`: the same plan through Assay's own engines and through real fio, in turns, on the same files.

mod judge;

use std::path::PathBuf;

use assay_engine::fio_bridge::Fio;
use assay_engine::targets;
use assay_report::terminal;
use assay_results::stats::Margins;
use assay_runner::fio::{hand_over, losses};
use assay_runner::{Done, Request, Start, Work, check_space};
use assay_workload::growth::Layout;
use assay_workload::pattern::Mix;
use assay_workload::units::Bytes;
use assay_workload::{PhaseKind, Plan};
use clap::Args;
use serde::Serialize;

use crate::asked::{self, Origin, Wanted};
use crate::context::Context;
use crate::failure::{Failure, Outcome, outcome_of};
use crate::fio_install;
use crate::input::{self, ReadingArgs};
use crate::live::Live;
use crate::run;
use crate::shown;
use crate::signals;
use judge::{Pair, Row};

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  # seven pairs of windows, about five minutes
  assay crosscheck job.fio --runtime 10s
  assay crosscheck job.fio --engine libaio --json

Both run the plan as Assay resolves it, fio with the engine that Assay would
use. Windows alternate (A B B A ..), so that slow changes of the machine
cancel. Fewer than six pairs give no interval of 95 %.")]
pub(crate) struct CrosscheckArgs {
    /// A fio job file, a vdbench parameter file or a plan
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) reading: ReadingArgs,
    /// Pairs of windows, one of each generator
    #[arg(long, value_name = "N", default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) pairs: u32,
    /// Measured time of every window: '10s', '1m'
    #[arg(long, value_name = "TIME")]
    pub(crate) runtime: Option<String>,
    /// Directory for targets with relative paths
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) target: PathBuf,
    #[arg(long, value_name = "ENGINE", help = format!("The I/O path of both: {}", crate::run::engine_names()))]
    pub(crate) engine: Option<String>,
    /// The seed of the plan
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Treat what the file asks for and one of the two cannot do as an error
    #[arg(long)]
    pub(crate) strict: bool,
    /// Run a file of fio or vdbench although options that change what is tested are not supported
    #[arg(long, conflicts_with = "strict")]
    pub(crate) allow_loss: bool,
    /// Allow writing to this device or over this file; may be given several times
    #[arg(long, value_name = "TARGET")]
    pub(crate) destroy_data: Vec<PathBuf>,
    /// Install fio with this system's package manager where it is missing (as root)
    #[arg(long)]
    pub(crate) install_missing: bool,
    /// Print one JSON document (schema: docs/schemas/crosscheck-1.json)
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) fn crosscheck(args: &CrosscheckArgs, context: &Context) -> Result<Outcome, Failure> {
    let site = context.site(signals::stop_flag()?);
    let origin = Origin::File(&args.file, &args.reading);
    let wanted = Wanted {
        runtime: args.runtime.as_deref(),
        seed: args.seed,
        ..Wanted::from(origin, &args.target, args.strict)
    };
    let mut asked = asked::asked(wanted, context)?;
    input::say_all(&asked.diagnostics, args.strict, context)?;
    let lost = input::accept_losses(&asked.diagnostics, args.allow_loss)?;
    let engine = args.engine.as_deref().map(run::engine_of).transpose()?;
    let fio = fio_install::find(args.install_missing, context)?;
    let request = Request {
        engine,
        seed: args.seed,
        consent: args.destroy_data.clone(),
        ..Request::new(Work::Asked(asked.workload.clone()), &asked.directory)
    };
    let base = assay_runner::plan(&request, &site)?;
    let (mut plan, pairs) = interleaved(&base, args.pairs);
    if pairs.is_empty() {
        return Err(Failure::usage("the file has no phase that measures"));
    }
    hand_over(&mut plan, |phase| pairs.iter().any(|pair| pair.fio == phase));
    losses(&plan, args.strict)?;
    assay_runner::check_consent(&plan, &site.host, &request.consent)?;
    check_space(&plan, Layout::Whole, &[], &site.host)?;
    let start = Start::of(&plan);
    let laid_out = assay_runner::make_files(&plan, &site.host)
        .map_err(Failure::from)
        .and_then(|()| lay_out(&base, &|| !site.stopped(), context));
    if let Err(failure) = laid_out {
        start.undo();
        return Err(failure);
    }
    let not_honoured: Vec<String> = lost.iter().map(|(_, text)| text.clone()).collect();
    let mut notes = std::mem::take(&mut asked.notes);
    notes.extend(lost);
    let request =
        Request { work: Work::Planned(plan), fio: Some(fio.clone()), strict: args.strict, notes, ..request };
    let done = run::recorded(request, &site, Live::new(context), context);
    if done.as_ref().map_or(true, |done| done.finished.came_to_nothing()) {
        start.undo();
    }
    let done = done?;
    show(&done, &pairs, (&fio, &not_honoured), args.json, context)?;
    outcome_of(&done.finished, false)
}

/// Every measuring phase as pairs of windows, alternately begun by one and the other; the others once, before them.
fn interleaved(base: &Plan, wanted: u32) -> (Plan, Vec<Pair>) {
    let (mut phases, mut pairs) = (Vec::new(), Vec::new());
    for (index, phase) in base.phases.iter().enumerate() {
        if phase.kind != PhaseKind::Measure {
            phases.push(phase.clone());
            continue;
        }
        for repeat in 0..wanted {
            let mut window = |by: &str| {
                let by = format!("by={by}");
                let point = if phase.point.is_empty() { by } else { format!("{} {by}", phase.point) };
                phases.push(assay_workload::PlannedPhase { point, repeat, ..phase.clone() });
                phases.len() - 1
            };
            let (assay, fio) = if repeat % 2 == 0 {
                let assay = window("assay");
                (assay, window("fio"))
            } else {
                let fio = window("fio");
                (window("assay"), fio)
            };
            pairs.push(Pair { phase: index, assay, fio });
        }
    }
    (Plan { phases, name: format!("{}-crosscheck", base.name), ..base.clone() }, pairs)
}

/// Fills every file as far as any job reaches, so that both find the same.
fn lay_out(base: &Plan, go_on: &dyn Fn() -> bool, context: &Context) -> Result<(), Failure> {
    let mut read = base.clone();
    read.phases.iter_mut().flat_map(|phase| &mut phase.jobs).for_each(|job| job.pattern.mix = Mix::READ);
    for phase in 0..read.phases.len() {
        for file in targets::lay_out(&read, phase, go_on).map_err(Failure::failed)? {
            context.say(&format!("laid out {} with {}", file.path, Bytes(file.bytes)));
        }
    }
    Ok(())
}

/// The schema of `assay crosscheck --json`.
pub(crate) const SCHEMA: &str = "assay.crosscheck/1";

/// What `assay crosscheck --json` prints.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Document<'a> {
    schema: &'static str,
    /// The id of the run that holds the windows of both.
    run: &'a str,
    /// fio's version.
    fio: &'a str,
    /// Pairs of windows.
    pairs: usize,
    /// Whether the two agree in every figure that counts; `null`: so few pairs cannot say.
    agree: Option<bool>,
    /// The share by which a figure may differ and is the same still.
    margin: f64,
    /// Every figure of every operation of every job.
    rows: &'a [Row],
    /// CPU of the whole process of fio, its start and reports included, per operation, nanoseconds.
    fio_process_cpu_ns_per_io: Option<f64>,
    /// What the file asks for and neither did, because Assay does not support it.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    not_honoured: &'a [String],
    /// What the words mean where the two tools differ.
    definitions: [&'static str; 2],
}

/// What the words mean where the two tools differ.
const DEFINITIONS: [&str; 2] = [
    "Completion latency is from before the submitting call to completion: Assay's own; of fio, submit and completion \
     latency added, because its completion latency begins behind the call.",
    "CPU per I/O is user and system time: of Assay's job threads and the kernel's workers for them; of fio what its \
     report says of its jobs.",
];

fn show(
    done: &Done,
    pairs: &[Pair],
    (fio, not_honoured): (&Fio, &[String]),
    json: bool,
    context: &Context,
) -> Result<(), Failure> {
    let finished = &done.finished;
    let run = &finished.run;
    let margins = Margins::default();
    let rows = judge::rows(run, pairs, &margins);
    let agree = judge::agree(&rows);
    let whole = whole_process_ns(run, &done.fio_cpu_ns);
    if json {
        let document = Document {
            schema: SCHEMA,
            run: &run.id,
            fio: &fio.version,
            pairs: pairs.len(),
            agree,
            margin: margins.equivalent,
            rows: &rows,
            fio_process_cpu_ns_per_io: whole,
            not_honoured,
            definitions: DEFINITIONS,
        };
        context.out(&serde_json::to_string_pretty(&document).map_err(Failure::failed)?);
    } else {
        let title =
            format!("{}: {} pairs of windows, Assay and fio {} in turns", run.name, pairs.len(), fio.version);
        let heads = ["", "Assay", "fio", "fio / Assay", ""];
        let mut text = terminal::page(&[terminal::Words::Title(title)], &context.style);
        text.push_str(&terminal::figures(&heads, &judge::groups(&rows, &margins), &context.style));
        let mut parts = vec![terminal::Words::Gap, terminal::Words::Text(verdict(agree, &rows))];
        if let Some(whole) = whole {
            let whole = assay_report::format::time_ns(whole);
            let words = format!(
                "The whole process of fio, its start and reports included, took {whole} of CPU per I/O."
            );
            parts.push(terminal::Words::Text(words));
        }
        parts.extend(not_honoured.iter().map(|text| terminal::Words::Item('!', text.clone())));
        parts.extend(DEFINITIONS.map(|text| terminal::Words::Item('-', text.to_owned())));
        text.push_str(&terminal::page(&parts, &context.style));
        context.out(&text);
    }
    shown::keep_page(run, &finished.directory, context)?;
    context.say(&format!("kept in {}", finished.directory.display()));
    Ok(())
}

fn verdict(agree: Option<bool>, rows: &[Row]) -> String {
    match agree {
        Some(true) => match judge::least_certain(rows) {
            None => "They agree: every figure is the same within the margin.".to_owned(),
            Some((row, interval)) => format!(
                "No difference was shown. The least certain figure is {} {}, for which fio / Assay is between {:.2} and {:.2}: \
                 less than that would not have been seen.",
                row.op,
                row.figure.name(),
                interval.low,
                interval.high
            ),
        },
        Some(false) => {
            let count = rows.iter().filter(|row| row.agreement == judge::Agreement::Differ).count();
            format!("They do not agree: {count} of {} figures differ.", rows.len())
        }
        None => "Whether they agree cannot be said from so few pairs; six are the least.".to_owned(),
    }
}

/// CPU of the whole of fio over all its windows, per operation, nanoseconds.
fn whole_process_ns(run: &assay_results::Run, fio_cpu_ns: &[(usize, u64)]) -> Option<f64> {
    let (mut cpu_ns, mut ios) = (0, 0);
    for (phase, process_ns) in fio_cpu_ns {
        let found = run.phases.iter().find(|found| found.plan_phase as usize == *phase)?;
        cpu_ns += process_ns;
        ios += found.jobs.iter().map(|job| job.total.ios).sum::<u64>();
    }
    (ios > 0).then(|| cpu_ns as f64 / ios as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_workload::PlannedPhase;

    fn phase(name: &str, kind: PhaseKind) -> PlannedPhase {
        PlannedPhase {
            name: name.to_owned(),
            kind,
            jobs: Vec::new(),
            drain_after: false,
            pause_after: assay_workload::units::Nanos(0),
            point: String::new(),
            repeat: 0,
            step: None,
            carried_by: Default::default(),
        }
    }

    #[test]
    fn windows_alternate_and_preparation_comes_once() {
        let base = Plan {
            schema: String::new(),
            name: "x".to_owned(),
            series: String::new(),
            seed: 1,
            seed_given: false,
            targets: Vec::new(),
            phases: vec![phase("fill", PhaseKind::Precondition), phase("m", PhaseKind::Measure)],
        };
        let (plan, pairs) = interleaved(&base, 3);
        let points: Vec<&str> = plan.phases.iter().map(|phase| phase.point.as_str()).collect();
        assert_eq!(points, ["", "by=assay", "by=fio", "by=fio", "by=assay", "by=assay", "by=fio"]);
        let windows: Vec<(usize, usize)> = pairs.iter().map(|pair| (pair.assay, pair.fio)).collect();
        assert_eq!(windows, [(1, 2), (4, 3), (5, 6)]);
    }
}
