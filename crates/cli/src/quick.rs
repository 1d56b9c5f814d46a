//! `assay quick`: the whole quick series, without any configuration.

mod several;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use assay_conduct::series::{self, Prepared, Series, WORK_DIR, assay1, stb};
use assay_formats::near;
use assay_formats::shell::pasted;
use assay_host::claim::{Access, Claims};
use assay_host::space;
use assay_host::workdir::{WorkDir, WorkDirError, is_assay_dir};
use assay_report::quick::Reference;
use assay_report::{quick_hosts, terminal};
use assay_results::RunEvent;
use assay_results::store;
use assay_runner::{Filled, Finished, Observer, Request, Site, Start, Work};
use assay_workload::units::{Bytes, Nanos};
use assay_workload::{Plan, Workload};

use crate::context::{Context, to_stderr};
use crate::failure::{Failure, Outcome, outcome_of};
use crate::live::{self, Live};
use crate::location::Location;
use crate::options::ScreenArgs;
use crate::output::{self, Outputs};
use crate::remote::{self, RemoteDirectory};
use crate::run;
use crate::series::{QuickArgs, announce, check_test, series_failure, stb_tests, take_words};
use crate::shown;
use crate::signals;

/// The file of `assay-1` where windows are shortened.
const SHORT_FILE_BYTES: u64 = 64 << 20;

pub(crate) fn quick(mut args: QuickArgs, context: &Context) -> Result<Outcome, Failure> {
    if args.series == "list" {
        context.out(&series_list(context));
        return Ok(Outcome::Done);
    }
    take_words(&mut args)?;
    let args = &args;
    let series = find_series(&args.series)?;
    check_test(args.test.as_deref(), series)?;
    // Wrong names and places are told before anything is measured.
    shown::find_references(&args.baseline, Some(series.id), context)?;
    let outputs = args.output.checked(Outputs::new(args.output.force))?;
    match &args.places[..] {
        [place] if !args.before => one(args, series, place, &outputs, context),
        _ => several::quick(args, series, &outputs, context),
    }
}

/// Measures one place, and shows it.
fn one(
    args: &QuickArgs,
    series: &Series,
    place: &str,
    outputs: &Outputs,
    context: &Context,
) -> Result<Outcome, Failure> {
    if args.dry_run {
        return match Location::parse(place)? {
            Location::Local(place) => dry_run(args, series, &place, context),
            Location::Remote { .. } => {
                Err(Failure::usage("--dry-run looks at a directory of this machine; run it on that host"))
            }
        };
    }
    let Some(finished) = measured(args, series, place, context)? else { return Ok(Outcome::Interrupted) };
    if context.served {
        return outcome_of(&finished, false);
    }
    // Another machine may have measured another series.
    let references = shown::references(&finished.run, &args.baseline, context)?;
    if args.paste {
        let reference = references.iter().find(|reference| !reference.is_typical());
        context.out(quick_hosts::pasteable(&finished.run, reference).trim_end());
    } else if args.output.json {
        context.out(&shown::json(&finished.run)?);
    } else {
        shown::show_with(&finished.run, &references, context);
    }
    write_pages(args, &finished, &references, outputs, context)?;
    if finished.came_to_nothing() {
        return outcome_of(&finished, args.output.require_valid);
    }
    context.say(&format!(
        "the next run here need not write the files again; assay cleanup {} removes them",
        pasted(place)
    ));
    outcome_of(&finished, args.output.require_valid)
}

/// Measures one place; `None`: stopped before anything was measured.
fn measured(
    args: &QuickArgs,
    series: &Series,
    place: &str,
    context: &Context,
) -> Result<Option<Finished>, Failure> {
    match Location::parse(place)? {
        Location::Local(place) => here(args, series, &place, context).map(Some),
        Location::Remote { host, dir } => {
            remote::quick(args, series, RemoteDirectory { host: &host, dir: &dir }, context)
        }
    }
}

/// Writes the page that was asked for, and the one that is kept with the run.
fn write_pages(
    args: &QuickArgs,
    finished: &Finished,
    references: &[Reference],
    outputs: &Outputs,
    context: &Context,
) -> Result<(), Failure> {
    let page = assay_report::html::page(&finished.run, references);
    let kept = finished.directory.join(store::PAGE_FILE);
    if let Err(why) = output::keep(&kept, &page) {
        context.say(&format!("warning: {why}"));
    }
    let asked = args.output.html.as_deref();
    asked.map_or(Ok(()), |path| outputs.write("--html", path, &page))?;
    context.say(&format!("report: {}", asked.unwrap_or(&kept).display()));
    Ok(())
}

fn find_series(id: &str) -> Result<&'static Series, Failure> {
    series::by_id(id).ok_or_else(|| {
        let ids: Vec<&str> = series::ALL.iter().map(|series| series.id).collect();
        let hint = near::nearest(id, ids.iter().copied())
            .map_or(String::new(), |near| format!("did you mean {near}? "));
        Failure::usage(format!("there is no series '{id}'; {hint}there are {}", ids.join(" and ")))
    })
}

fn series_list(context: &Context) -> String {
    let mut text = String::new();
    for series in &series::ALL {
        text.push_str(&format!("{}\n  {}\n", series.id, series.summary));
        for line in terminal::wrapped(series.about, context.style.width.clamp(40, 100) - 4) {
            text.push_str(&format!("    {line}\n"));
        }
        for name in (series.tests)() {
            text.push_str(&format!("      {name}\n"));
        }
        text.push('\n');
    }
    text
}

/// Whether a path could be meant as the name of a host.
fn may_be_host(place: &Path) -> bool {
    let name = place.to_str().unwrap_or_default();
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '.'))
}

/// The directory that quick uses in `place`, which must exist.
fn directory_in(place: &Path) -> Result<PathBuf, Failure> {
    let shown = place.display();
    let meta = std::fs::metadata(place).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound if may_be_host(place) => {
            Failure::usage(format!("{shown} does not exist; if it is another host, say {shown}:"))
        }
        std::io::ErrorKind::NotFound => Failure::usage(format!("{shown} does not exist")),
        _ => Failure::usage(format!("{shown}: {error}")),
    })?;
    if !meta.is_dir() {
        return Err(Failure::usage(format!(
            "{shown} is not a directory; quick measures the file system below one"
        )));
    }
    let directory = if is_assay_dir(place) { place.to_owned() } else { place.join(WORK_DIR) };
    if !directory.exists() {
        rustix::fs::access(place, rustix::fs::Access::WRITE_OK)
            .map_err(|error| Failure::failed(format!("cannot make {}: {error}", directory.display())))?;
    }
    Ok(directory)
}

/// Makes the directory, or takes the one that is there.
fn work_dir(path: &Path) -> Result<WorkDir, Failure> {
    WorkDir::create(path, env!("CARGO_PKG_VERSION"), "quick").map_err(|error| match error {
        WorkDirError::NotOurs { .. } | WorkDirError::Doubtful { .. } => Failure::usage(error),
        WorkDirError::BeingRemoved { .. } | WorkDirError::Io { .. } => Failure::failed(error),
    })
}

/// Shows the plan, with the files as large as they are going to be; makes nothing.
fn dry_run(args: &QuickArgs, series: &Series, place: &Path, context: &Context) -> Result<Outcome, Failure> {
    let site = context.site(Arc::default());
    let directory = directory_in(place)?;
    let planned = prepare(args, series, (&directory, place))?;
    let plan = plan(&planned.prepared, series, &directory, args, planned.seed, &site)?;
    if args.output.json {
        let none: [assay_formats::Diagnostic; 0] = [];
        context.out(&format!("{:#}", serde_json::json!({ "plan": plan, "diagnostics": none })));
    } else {
        context.out(&terminal::plan(&plan, &context.style));
    }
    Ok(Outcome::Done)
}

fn here(args: &QuickArgs, series: &Series, place: &Path, context: &Context) -> Result<Finished, Failure> {
    let site = context.site(signals::stop_flag()?);
    done_in(args, series, place, (&site, &mut terminal_of(args.screen, context)?), context)
}

/// Who watches a series, from what comes before its first test.
pub(crate) trait Watcher: Observer {
    /// How far it is with what comes before.
    fn stage(&mut self, stage: String);
}

/// The terminal.
struct Terminal<S> {
    live: Live,
    stages: S,
    is_live: bool,
}

fn terminal_of(
    screen: ScreenArgs,
    context: &Context,
) -> Result<Terminal<impl FnMut(&dyn std::fmt::Display) + use<>>, Failure> {
    let live = Live::new(context).on_screen(screen.live)?;
    Ok(Terminal { live, stages: live::stages(context), is_live: context.live })
}

impl<S: FnMut(&dyn std::fmt::Display)> Observer for Terminal<S> {
    fn event(&mut self, event: &RunEvent) {
        self.live.event(event);
    }

    fn before_writing(&mut self, plan: &Plan) -> bool {
        if self.is_live {
            to_stderr(format_args!("\r\x1b[2K"));
        }
        self.live.before_writing(plan)
    }
}

impl<S: FnMut(&dyn std::fmt::Display)> Watcher for Terminal<S> {
    fn stage(&mut self, stage: String) {
        (self.stages)(&stage);
    }
}

/// The plan of a series that a page asks for; nothing is made.
#[cfg(feature = "web")]
pub(crate) fn planned(args: &QuickArgs, context: &Context) -> Result<Plan, Failure> {
    let series = find_series(&args.series)?;
    check_test(args.test.as_deref(), series)?;
    let place = Path::new(args.place());
    let directory = directory_in(place)?;
    let site = context.site(Arc::default());
    let found = prepare(args, series, (&directory, place))?;
    plan(&found.prepared, series, &directory, args, found.seed, &site)
}

/// Carries a series out that a page asks for.
#[cfg(feature = "web")]
pub(crate) fn carried_out(
    args: &QuickArgs,
    site: &Site,
    watcher: &mut impl Watcher,
    context: &Context,
) -> Result<Finished, Failure> {
    let series = find_series(&args.series)?;
    check_test(args.test.as_deref(), series)?;
    done_in(args, series, Path::new(args.place()), (site, watcher), context)
}

/// Carries a series out in `place`.
fn done_in(
    args: &QuickArgs,
    series: &Series,
    place: &Path,
    (site, watcher): (&Site, &mut impl Watcher),
    context: &Context,
) -> Result<Finished, Failure> {
    let directory = directory_in(place)?;
    // The space is looked at before anything is made, as `--dry-run` sees it.
    let planned = prepare(args, series, (&directory, place))?;
    let start = Start::of(&plan(&planned.prepared, series, &directory, args, planned.seed, site)?);
    let directory = work_dir(&directory)?;
    let claims = Claims::default();
    claims.take(&site.host, directory.path(), Access::Exclusive).map_err(Failure::failed)?;
    let result = measure(args, series, planned, directory.path(), (&claims, site, watcher), context);
    if result.as_ref().map_or(true, Finished::came_to_nothing) {
        // Nothing was measured, so nothing is left behind either.
        start.undo(&claims, &site.host);
        if directory.created() {
            let _ = directory.remove();
        }
    }
    result
}

/// What is going to be done, before anything is written.
struct Planned {
    seed: u64,
    prepared: Prepared,
}

/// The tests of a series in a directory that need not exist yet; its file system is that of `place`.
fn prepare(
    args: &QuickArgs,
    series: &Series,
    (directory, place): (&Path, &Path),
) -> Result<Planned, Failure> {
    let seed = args.seed.map_or_else(assay_runner::random_seed, Ok)?;
    let space = space::of(place).map_err(|error| Failure::failed(format!("free space: {error}")))?;
    let available = space.usable_bytes();
    let prepared = if series.id == stb::ID {
        stb_tests(args, available.saturating_add(assay_runner::bytes_in(directory)))?
    } else {
        let existing = std::fs::metadata(directory.join(assay1::FILE)).map_or(0, |meta| meta.len());
        let wanted = assay1::file_bytes(available, existing).map_err(series_failure)?;
        let wanted = args.window.map_or(wanted, |_| wanted.min(SHORT_FILE_BYTES));
        assay1::prepare(args.test.as_deref(), args.repeat, &windows(args), wanted, seed)
            .map_err(series_failure)?
    };
    Ok(Planned { seed, prepared })
}

fn measure(
    args: &QuickArgs,
    series: &Series,
    Planned { seed, mut prepared }: Planned,
    directory: &Path,
    (claims, site, watcher): (&Claims, &Site, &mut impl Watcher),
    context: &Context,
) -> Result<Finished, Failure> {
    context.make_runs_root()?;
    announce(&prepared, directory, context);
    let mut notes = Vec::new();
    if series.id != stb::ID {
        let windows = windows(args);
        let (file, wanted) = (directory.join(assay1::FILE), prepared.files.0);
        let filled = fill(&file, wanted, windows.prefill_max, seed, (claims, site), watcher)?;
        notes.push(("prefill".to_owned(), filled.sentence()));
        prepared = assay1::prepare(args.test.as_deref(), args.repeat, &windows, filled.bytes, seed)
            .map_err(series_failure)?;
    }
    let plan = plan(&prepared, series, directory, args, seed, site)?;
    let request = Request { notes, claims: claims.clone(), ..Request::new(Work::Planned(plan), directory) };
    Ok(run::recorded(request, site, watcher, context)?.finished)
}

/// Fills the file, and says how far it is.
fn fill(
    file: &Path,
    wanted: u64,
    time_max: Nanos,
    seed: u64,
    run: (&Claims, &Site),
    watcher: &mut impl Watcher,
) -> Result<Filled, Failure> {
    let mut progress = |done: Bytes| watcher.stage(format!("prefill  {done} of {}", Bytes(wanted)));
    Ok(assay_runner::fill(file, wanted, time_max, seed, run, &mut progress)?)
}

/// How long and how often `assay-1` looks at each cell.
fn windows(args: &QuickArgs) -> assay1::Windows {
    let windows = if args.thorough { assay1::Windows::THOROUGH } else { assay1::Windows::QUICK };
    match args.window {
        None => windows,
        Some(measured) => {
            let prefill_max = Nanos(measured.0.saturating_mul(4));
            assay1::Windows { ramp: Nanos(measured.0 / 10), measured, prefill_max, ..windows }
        }
    }
}

fn plan(
    prepared: &Prepared,
    series: &Series,
    directory: &Path,
    args: &QuickArgs,
    seed: u64,
    site: &Site,
) -> Result<Plan, Failure> {
    let workload = Workload { seed: Some(seed), ..prepared.workload.clone() };
    let mut plan = assay_runner::plan(&Request::new(Work::Asked(workload), directory), site)?;
    plan.series = Some(series.id.to_owned());
    plan.seed_given = args.seed.is_some();
    Ok(plan)
}
