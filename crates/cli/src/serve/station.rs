//! What the page can start, carried out as the commands do.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use assay_conduct::series;
use assay_report::quick::Reference;
use assay_report::terminal::writes_ahead;
use assay_report::{Style, terminal};
use assay_results::{Run, RunEvent, store};
use assay_runner::{Finished, Observer, Request, Site, Work, idle_windows_s};
use assay_web::{Imported, Proposal, ProposedTarget, SeriesOffer, Station, StationError, Told, Wanted};
use assay_workload::Plan;
use assay_workload::target::TargetKind;
use assay_workload::units::Nanos;

use crate::context::Context;
use crate::failure::Failure;
use crate::import::Content;
use crate::series::QuickArgs;
use crate::{apps, quick, run, shown};

/// Columns of a plan on a page.
const PLAN_COLUMNS: usize = 100;

/// This machine.
#[derive(Debug)]
pub(super) struct Here {
    context: Context,
    window: Option<Nanos>,
}

impl Here {
    /// `window`: the measured time of each window of a series instead of its own.
    pub(super) fn new(context: &Context, window: Option<Nanos>) -> Self {
        Here { context: context.quietly(), window }
    }

    /// The plan of what is wanted.
    fn planned(&self, wanted: &Wanted) -> Result<Plan, Failure> {
        match wanted {
            Wanted::Quick { .. } => quick::planned(&self.quick_args(wanted)?, &self.context),
            Wanted::Plan(stored) => {
                let site = self.site(Arc::default())?;
                let request = Request::new(Work::Planned(Plan::clone(&stored.plan)), Path::new("."));
                let plan = assay_runner::plan(&request, &site)?;
                assay_runner::check_hosts(&plan)?;
                Ok(plan)
            }
        }
    }

    /// The words of a quick series as those of the command line.
    fn quick_args(&self, wanted: &Wanted) -> Result<QuickArgs, Failure> {
        let Wanted::Quick { directory, series, test } = wanted else {
            return Err(Failure::usage("not a quick series"));
        };
        if !Path::new(directory).is_absolute() {
            return Err(Failure::usage(format!(
                "'{directory}' is not a whole path; a directory of this machine begins with /"
            )));
        }
        let args = QuickArgs::of_page(directory, series, test.as_deref());
        Ok(QuickArgs { window: self.window, ..args })
    }

    fn site(&self, stop: Arc<AtomicBool>) -> Result<Site, Failure> {
        Ok(Site { kinds: apps::kinds(&self.context)?, ..self.context.site(stop) })
    }

    fn carry_out(
        &self,
        wanted: &Wanted,
        overwritten: &[String],
        told: &mut dyn FnMut(Told<'_>),
        stop: Arc<AtomicBool>,
    ) -> Result<Finished, Failure> {
        self.context.make_runs_root()?;
        let site = self.site(stop)?;
        match wanted {
            Wanted::Quick { .. } => {
                quick::carried_out(&self.quick_args(wanted)?, &site, &mut Telling::new(told), &self.context)
            }
            Wanted::Plan(_) => {
                let plan = self.planned(wanted)?;
                let request = Request {
                    consent: overwritten.iter().map(Into::into).collect(),
                    ..Request::new(Work::Planned(plan), Path::new("."))
                };
                Ok(run::recorded(request, &site, &mut Telling::new(told), &self.context)?.finished)
            }
        }
    }
}

/// Passes on what is told of a run.
struct Telling<'a, 'b> {
    told: &'a mut (dyn FnMut(Told<'_>) + 'b),
    before_s: f64,
}

impl<'a, 'b> Telling<'a, 'b> {
    fn new(told: &'a mut (dyn FnMut(Told<'_>) + 'b)) -> Self {
        Telling { told, before_s: 0.0 }
    }
}

impl Observer for Telling<'_, '_> {
    fn event(&mut self, event: &RunEvent) {
        if let RunEvent::RunStarted { plan, .. } = event {
            self.before_s = idle_windows_s(plan);
        }
        (self.told)(Told::Event(event, self.before_s));
    }
}

impl quick::Watcher for Telling<'_, '_> {
    fn stage(&mut self, stage: String) {
        (self.told)(Told::Stage(stage));
    }
}

/// A failure for the page.
fn for_page(failure: Failure) -> StationError {
    match failure {
        Failure::Usage(why) => StationError::Refused(why),
        Failure::Failed(why) | Failure::Incomplete(why) => StationError::Failed(why),
        Failure::Interrupted => StationError::Stopped,
    }
}

impl Station for Here {
    fn series(&self) -> Vec<SeriesOffer> {
        let offer = |one: &series::Series| SeriesOffer {
            id: one.id.to_owned(),
            summary: one.summary.to_owned(),
            tests: (one.tests)().iter().map(|name| (*name).to_owned()).collect(),
        };
        series::ALL.iter().map(offer).collect()
    }

    fn propose(&self, wanted: &Wanted) -> Result<Proposal, StationError> {
        let plan = self.planned(wanted).map_err(for_page)?;
        let targets = plan.targets.iter().enumerate();
        let targets = targets
            .filter(|(_, target)| target.kind != TargetKind::Null)
            .map(|(index, _)| proposed(&plan, index, &self.context))
            .collect::<Result<Vec<_>, _>>()
            .map_err(for_page)?;
        let times = plan.phases.iter().map(|phase| phase.expected_time().map(|time| time.as_secs_f64()));
        let expected_s = times.sum::<Option<f64>>().map(|seconds| seconds + idle_windows_s(&plan));
        let title = match wanted {
            Wanted::Quick { series, test: None, .. } => format!("series {series}"),
            Wanted::Quick { series, test: Some(test), .. } => format!("'{test}' of series {series}"),
            Wanted::Plan(stored) => format!("plan {} of run {}", plan.name, stored.run),
        };
        Ok(Proposal {
            title,
            writes: writes_of(wanted, &plan),
            targets,
            expected_s,
            plan: terminal::plan(&plan, &Style { unicode: true, ..Style::plain(PLAN_COLUMNS) }),
        })
    }

    fn run(
        &self,
        wanted: &Wanted,
        overwritten: &[String],
        told: &mut dyn FnMut(Told<'_>),
        stop: Arc<AtomicBool>,
    ) -> Result<String, StationError> {
        let finished = self.carry_out(wanted, overwritten, told, stop).map_err(for_page)?;
        // Its page is made with it, as by the commands.
        let _ = shown::keep_page(&finished.run, &finished.directory, &self.context);
        match (&finished.store_error, finished.came_to_nothing()) {
            (Some(why), _) => Err(StationError::Failed(format!("the result could not be kept: {why}"))),
            (None, true) if finished.run.phases.is_empty() && finished.error.is_none() => {
                Err(StationError::Stopped)
            }
            _ => Ok(finished.run.id),
        }
    }

    fn references(&self, run: &Run) -> Vec<Reference> {
        shown::references(run, &[], &self.context).unwrap_or_default()
    }

    fn import(&self, content: &[u8]) -> Result<Imported, StationError> {
        let content = Content::of_bytes(content).map_err(StationError::Refused)?;
        self.context.make_runs_root().map_err(for_page)?;
        let root = self.context.runs_root().map_err(for_page)?;
        let kept = content.store(&root).map_err(|error| StationError::Failed(error.to_string()))?;
        Ok(Imported { run: kept.run.id, known: kept.known })
    }

    fn bundle(&self, directory: &str, without_host: bool) -> Result<Vec<u8>, StationError> {
        let root = self.context.runs_root().map_err(for_page)?;
        let refused = |error: &dyn std::fmt::Display| StationError::Failed(error.to_string());
        let stored = store::RunDir::open(&root.join(directory)).map_err(|error| refused(&error))?;
        let run = store::load(&root, stored.name()).map_err(|error| refused(&error))?;
        if run.going {
            return Err(StationError::Refused(
                "the run is still going; stop it or wait for its end".to_owned(),
            ));
        }
        store::export_run(stored.path(), &run, without_host).map_err(|error| refused(&error))
    }
}

/// What would be written: the files that a series fills first belong to it.
fn writes_of(wanted: &Wanted, plan: &Plan) -> Option<String> {
    let files: u64 =
        plan.targets.iter().map(|target| target.size_bytes.saturating_sub(target.existing_bytes)).sum();
    let fills = matches!(wanted, Wanted::Quick { .. }) && files > 0;
    let fill = fills.then(|| format!("will fill {} of files", assay_report::format::bytes(files)));
    let parts: Vec<String> = fill.into_iter().chain(writes_ahead(plan)).collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// What would be done to a target, and whether its path has to be typed before.
fn proposed(plan: &Plan, index: usize, context: &Context) -> Result<ProposedTarget, Failure> {
    let target = &plan.targets[index];
    // Where there is nothing yet, nothing is overwritten; the directory is made first, with a mark of ours.
    let overwrites = match Path::new(&target.path).symlink_metadata() {
        Ok(_) => assay_runner::overwrites(plan, index, &context.host)?,
        Err(_) => None,
    };
    let size = assay_report::format::bytes(target.size_bytes);
    let kind = match target.kind {
        TargetKind::File => "file",
        TargetKind::BlockDevice => "block device",
        TargetKind::Directory => "directory",
        TargetKind::Null => "nothing",
    };
    let what = match (&overwrites, target.existing_bytes) {
        (Some(_), _) => format!("{kind} of {size}, will be overwritten"),
        (None, 0) => format!("{kind} of {size}, will be made"),
        (None, _) => format!("{kind} of {size}, exists"),
    };
    Ok(ProposedTarget { path: target.path.clone(), what, overwrites })
}
