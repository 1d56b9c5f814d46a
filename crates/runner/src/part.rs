//! This machine as a worker: one host's part of a plan, set up here and carried out phase by phase as a conductor elsewhere says.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use assay_conduct::workplace::{Look, MonotonicClock, Part, Prepared, Refused, Start as Moment, Workplace};
use assay_engine::Clock as _;
use assay_engine::clock::RealClock;
use assay_engine::driver::CommonStart;
use assay_host::claim::Claims;
use assay_results::environment::AssayVersion;
use assay_workload::Plan;
use assay_workload::plan::Carrier;
use assay_workload::resolve::Inventory;
use assay_workload::target::TargetKind;
use assay_workload::units::Bytes;

use crate::carry_out::{executor_of, has_kinds, make, permitted, plan};
use crate::data_journal;
use crate::error::{RunError, TargetProblem};
use crate::inventory::{bytes_of, look_for};
use crate::part_journal::Kept;
use crate::request::{Request, Site, Work};
use crate::start::Start;

/// This machine, for a conductor elsewhere.
#[derive(Debug)]
pub struct ThisHost {
    site: Site,
    /// Where relative paths begin.
    directory: PathBuf,
    taken: Option<Taken>,
}

/// What is held for a part until its end.
#[derive(Debug)]
struct Taken {
    claims: Claims,
    before: Start,
    kept: Option<Kept>,
}

impl ThisHost {
    /// Where parts are carried out; the site's stop flag ends what goes on.
    pub fn new(site: Site) -> Self {
        ThisHost { site, directory: PathBuf::new(), taken: None }
    }

    fn set_up(&mut self, part: Part, moment: Moment) -> Result<Prepared, RunError> {
        let claims = Claims::default();
        let request = Request {
            consent: part.consent,
            really: part.really,
            watch: part.watch,
            claims: claims.clone(),
            ..Request::new(Work::Planned(part.plan), &self.directory)
        };
        let plan = plan(&request, &self.site)?;
        if let Some(phase) = plan.phases.iter().position(|phase| phase.carried_by != Carrier::Native) {
            return Err(RunError::NotOnWorkers { phase });
        }
        has_kinds(&plan, &self.site)?;
        as_planned(&plan)?;
        let permits = permitted(&plan, &request, &self.site)?;
        let mut notes = data_journal::check(&plan, &request, &self.site)?;
        let taken = self.taken.insert(Taken { claims, before: Start::of(&plan), kept: None });
        let (environment, permits) = make(&plan, permits, &request, &self.site)?;
        taken.kept = Kept::begin((&plan, &part.run), &self.directory, &environment, &self.site)?;
        let journal = taken.kept.as_ref().map(|kept| (kept.run, Arc::clone(&kept.journal)));
        notes.extend(taken.kept.as_ref().and_then(Kept::note));
        let mut executor = executor_of(&plan, (&environment, permits), &request, &self.site, journal);
        executor.native.notes = notes;
        executor.native.start = Some(CommonStart::new(move |stop| moment(stop)));
        Ok(Prepared { environment, executor: Box::new(executor) })
    }
}

/// Refuses targets that are not what the plan was made for: another device has the name, or something changed since.
fn as_planned(plan: &Plan) -> Result<(), RunError> {
    for target in plan.targets.iter().filter(|target| target.kind == TargetKind::BlockDevice) {
        let found = bytes_of(target.path.as_ref());
        if found != Some(target.existing_bytes) {
            let problem = TargetProblem::OtherSize {
                found: Bytes(found.unwrap_or(0)),
                planned: Bytes(target.existing_bytes),
            };
            return Err(RunError::Target { path: target.path.clone().into(), problem });
        }
    }
    Ok(())
}

fn refused(error: &RunError) -> Refused {
    Refused { message: error.to_string(), is_request: error.is_request() }
}

impl Workplace for ThisHost {
    fn node(&self) -> String {
        rustix::system::uname().nodename().to_string_lossy().into_owned()
    }

    fn version(&self) -> AssayVersion {
        self.site.version.clone()
    }

    fn clock(&self) -> MonotonicClock {
        let clock = RealClock::new();
        Arc::new(move || clock.now_ns())
    }

    fn stop(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.site.stop)
    }

    fn look(&mut self, look: &Look) -> Result<Inventory, Refused> {
        self.directory.clone_from(&look.directory);
        look_for(look, &self.site.host, self.site.engine_choices.as_deref()).map_err(|error| refused(&error))
    }

    fn prepare(&mut self, part: Part, start: Moment) -> Result<Prepared, Refused> {
        let prepared = self.set_up(part, start);
        if prepared.is_err() {
            self.end(true);
        }
        prepared.map_err(|error| refused(&error))
    }

    fn end(&mut self, came_to_nothing: bool) {
        let Some(Taken { claims, before, kept }) = self.taken.take() else { return };
        if let Some(kept) = kept {
            kept.end(came_to_nothing);
        }
        if came_to_nothing {
            before.undo(&claims, &self.site.host);
        }
    }
}
