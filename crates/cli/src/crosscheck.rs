//! `assay crosscheck`: the same plan through Assay's own engines and through real fio, in turns, on the same files.

mod third;

use std::path::PathBuf;

use assay_conduct::interleaved;
use assay_engine::fio_bridge::Fio;
use assay_engine::targets;
use assay_results::crosscheck::{self as results, Document, Pair};
use assay_results::stats::Margins;
use assay_runner::fio::{hand_over, losses};
use assay_runner::{Done, Permits, Request, Site, Start, Work, check_space};
use assay_workload::Plan;
use assay_workload::growth::Layout;
use assay_workload::pattern::Mix;
use clap::Args;

use crate::asked::{self, Origin, Wanted};
use crate::context::Context;
use crate::crosscheck::third::Third;
use crate::failure::{Failure, Outcome, outcome_of};
use crate::fio_install;
use crate::input::{self, ReadingArgs};
use crate::languages::Format;
use crate::live::Live;
use crate::options::AllowArgs;
use crate::run;
use crate::shown;
use crate::signals;

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
    #[arg(long, value_name = "ENGINE", help = format!("The I/O engine of both: {}", crate::options::engine_names()))]
    pub(crate) engine: Option<String>,
    /// The seed of the plan
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    #[command(flatten)]
    pub(crate) allowed: AllowArgs,
    /// Install fio with this system's package manager if it is missing (as root)
    #[arg(long)]
    pub(crate) install_missing: bool,
    /// A third side: vdbench=PATH runs the vdbench at PATH on the same parameter file as often as there are pairs
    #[arg(long, value_name = "TOOL=PATH", conflicts_with = "json")]
    with: Option<String>,
    /// Print one JSON document (schema: docs/schemas/crosscheck-1.json)
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) fn crosscheck(args: &CrosscheckArgs, context: &Context) -> Result<Outcome, Failure> {
    let site = context.site(signals::stop_flag()?);
    let third = args.with.as_deref().map(third::program).transpose()?;
    let origin = Origin::File(&args.file, &args.reading);
    let wanted = Wanted {
        runtime: args.runtime.as_deref(),
        seed: args.seed,
        ..Wanted::from(origin, &args.target, args.allowed.strict)
    };
    let mut asked = asked::asked(wanted, context)?;
    if third.is_some() && asked.format != Some(Format::Vdbench) {
        return Err(Failure::usage("--with vdbench=PATH is for parameter files of vdbench"));
    }
    input::say_all(&asked.diagnostics, args.allowed.strict, context)?;
    let lost = input::accept_losses(&asked.diagnostics, args.allowed.allow_loss)?;
    let fio = fio_install::find(args.install_missing, context)?;
    let request = Request {
        engine: args.engine.as_deref().map(run::engine_of).transpose()?,
        seed: args.seed,
        consent: args.allowed.named()?,
        really: args.allowed.really,
        ..Request::new(Work::Asked(asked.workload.clone()), &asked.directory)
    };
    let base = assay_runner::plan(&request, &site)?;
    let (mut plan, pairs) = interleaved(&base, args.pairs);
    if pairs.is_empty() {
        return Err(Failure::usage("the file has no phase that measures"));
    }
    hand_over(&mut plan, |phase| pairs.iter().any(|pair| pair.fio == phase));
    losses(&plan, args.allowed.strict)?;
    assay_runner::claim(&plan, &request.claims, &site.host)?;
    let mut permits = assay_runner::check_consent(&plan, &site.host, &request.consent(&site.host))?;
    args.allowed.say_standing(&plan, context)?;
    check_space(&plan, Layout::Whole, &[], &site.host)?;
    let (start, claims) = (Start::of(&plan), request.claims.clone());
    let laid_out = assay_runner::make_files(&plan, &mut permits, &site.host)
        .map_err(Failure::from)
        .and_then(|()| lay_out(&base, &permits, &site, context));
    if let Err(failure) = laid_out {
        start.undo(&claims, &site.host);
        return Err(failure);
    }
    let not_honoured: Vec<String> = lost.iter().map(|(_, text)| text.clone()).collect();
    let mut notes = std::mem::take(&mut asked.notes);
    notes.extend(lost);
    let request = Request {
        work: Work::Planned(plan),
        fio: Some(fio.clone()),
        strict: args.allowed.strict,
        notes,
        ..request
    };
    let done = run::recorded(request, &site, &mut Live::new(context), context);
    if done.as_ref().map_or(true, |done| done.finished.came_to_nothing()) {
        start.undo(&claims, &site.host);
    }
    let done = done?;
    show(&done, &pairs, (&fio, &not_honoured), args.json, context)?;
    if let Some(program) = &third {
        let third = Third {
            program,
            file: &args.file,
            variables: &args.reading.variables,
            runtime: args.runtime.as_deref(),
            target: &args.target,
            repeat: args.pairs,
        };
        let runs = third.runs(&done.finished.directory, context)?;
        context.out(&format!("\n{}", third::table(&done.finished.run, &pairs, &runs)));
    }
    outcome_of(&done.finished, false)
}

/// Fills every file as far as any job reaches, so that both find the same.
fn lay_out(base: &Plan, permits: &Permits, site: &Site, context: &Context) -> Result<(), Failure> {
    let mut read = base.clone();
    read.phases.iter_mut().flat_map(|phase| &mut phase.jobs).for_each(|job| job.pattern.mix = Mix::READ);
    for phase in 0..read.phases.len() {
        let holding = assay_runner::hold(&read, phase, permits, &site.host).map_err(Failure::failed)?;
        for file in
            targets::lay_out(&read, phase, &holding.held, &|| !site.stopped()).map_err(Failure::failed)?
        {
            context.say(&file.to_string());
        }
    }
    Ok(())
}

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
    let rows = results::rows(run, pairs, &margins);
    let mut document = Document::of(run, &fio.version, pairs.len(), &rows, &margins);
    document.fio_process_cpu_ns_per_io = results::whole_process_ns(run, &done.fio_cpu_ns);
    document.not_honoured = not_honoured;
    if json {
        context.out(&serde_json::to_string_pretty(&document).map_err(Failure::failed)?);
    } else {
        let title =
            format!("{}: {} pairs of windows, Assay and fio {} in turns", run.name, pairs.len(), fio.version);
        context.out(&assay_report::crosscheck::crosscheck(&document, title, &margins, &context.style));
    }
    shown::keep_page(run, &finished.directory, context)?;
    context.say(&format!("kept in {}", finished.directory.display()));
    Ok(())
}
