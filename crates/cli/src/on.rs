//! `--on`: a plan carried out by workers, on this machine or on others; and `assay worker`, what runs there.

use std::sync::Arc;
use std::time::Duration;

use assay_fleet::launch::Setting;
use assay_fleet::worker::{Served, only, serve};
use assay_fleet::{Fleet, FleetError, Options, Patience, Terms};
use assay_runner::{Finished, Place, Request, Site, ThisHost, Work};
use assay_workload::host::HostRanges;
use clap::{Args, ValueEnum};

use crate::asked::LoadedWorkload;
use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::in_pod::{self, PodArgs};
use crate::input;
use crate::live::Live;
use crate::run::{self, RunOptions};
use crate::{apps, signals};

/// Who carries a plan out.
#[derive(Debug, Args)]
pub(crate) struct OnArgs {
    /// Run on workers: local[:N], ssh:HOST,..|@FILE, slurm[:N], kube:N[,OPTION=VALUE..]
    ///
    /// Processes of this machine, hosts over the system's ssh, nodes of a Slurm cluster (without a number: of the allocation that
    /// it is started in), or pods of a Kubernetes cluster ('assay kube run --help' says their options). They start together, and each does all of the plan on its own targets.
    #[arg(long, value_name = "WORKERS", conflicts_with_all = ["profile", "probe", "trace"])]
    pub(crate) on: Option<String>,
    /// What becomes of the run when a worker is lost
    #[arg(long, value_name = "WHAT", value_enum, default_value_t)]
    pub(crate) on_loss: OnLoss,
    /// A worker that says nothing for so many seconds is lost; it stops by itself before that
    #[arg(long, value_name = "S", default_value_t = 15, value_parser = clap::value_parser!(u64).range(3..=3600))]
    pub(crate) lost_after: u64,
    /// How workers share targets that are the same storage, as a volume that all hosts see [default: each does all of it]
    #[arg(long, value_name = "HOW", value_enum, requires = "on")]
    pub(crate) share: Option<Share>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum OnLoss {
    /// It ends at once; what was measured is kept
    #[default]
    Stop,
    /// The others go on, and the result says so
    Continue,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Share {
    /// Each has a part of it for itself
    Divided,
    /// Each works on all of it
    Whole,
}

impl OnArgs {
    /// How workers share ranges, where that was said.
    pub(crate) fn ranges(&self) -> Option<HostRanges> {
        self.share.map(|share| match share {
            Share::Divided => HostRanges::Divided,
            Share::Whole => HostRanges::Whole,
        })
    }

    /// What a fleet is told of itself.
    pub(crate) fn options(&self, site: &Site) -> Options {
        let on_loss = match self.on_loss {
            OnLoss::Stop => assay_fleet::OnLoss::Stop,
            OnLoss::Continue => assay_fleet::OnLoss::Continue,
        };
        let patience = Patience::until_lost(Duration::from_secs(self.lost_after));
        Options { patience, on_loss, version: Context::version(), stop: Arc::clone(&site.stop) }
    }
}

impl From<FleetError> for Failure {
    fn from(error: FleetError) -> Self {
        match error {
            FleetError::Stopped => Failure::Interrupted,
            error if error.is_request() => Failure::usage(error),
            error => Failure::failed(error),
        }
    }
}

/// Carries what was asked for out on the workers that `words` choose; `dry`: shows the plan only.
pub(crate) fn execute(
    mut asked: LoadedWorkload,
    (words, on): (&str, &OnArgs),
    dry: bool,
    how: &RunOptions<'_>,
    context: &Context,
) -> Result<Outcome, Failure> {
    let site = Site { kinds: apps::kinds(context)?, ..context.site(signals::stop_flag()?) };
    accept(&mut asked, how, context)?;
    let setting = setting(&asked, how, &site, context);
    let fleet = Fleet::launch(words, &mut asked.workload, on.ranges(), &setting, on.options(&site))?;
    let Some(finished) = carry_out(asked, fleet, dry, how, &site, context)? else {
        return Ok(Outcome::Done);
    };
    run::present(&finished, &how.common.output, Some(&how.common.foreign), context)
}

/// Says what is to be said of a file, and refuses what may not be lost.
pub(crate) fn accept(
    asked: &mut LoadedWorkload,
    how: &RunOptions<'_>,
    context: &Context,
) -> Result<(), Failure> {
    input::say_all(&asked.diagnostics, how.common.allowed.strict, context)?;
    asked.notes.extend(input::accept_losses(&asked.diagnostics, how.common.allowed.allow_loss)?);
    context.make_runs_root()
}

/// What launchers are told.
pub(crate) fn setting(
    asked: &LoadedWorkload,
    how: &RunOptions<'_>,
    site: &Site,
    context: &Context,
) -> Setting {
    let ssh = assay_fleet::shell::ssh_program(std::env::var_os(assay_fleet::shell::SSH_VARIABLE));
    let (kube, say) = (how.kube.clone(), context.sayer());
    Setting { directory: asked.directory.clone(), ssh, stop: Arc::clone(&site.stop), kube, say }
}

/// Carries what was asked for out on workers that have answered. `None`: the plan was shown only.
pub(crate) fn carry_out(
    mut asked: LoadedWorkload,
    mut fleet: Fleet,
    dry: bool,
    how: &RunOptions<'_>,
    site: &Site,
    context: &Context,
) -> Result<Option<Finished>, Failure> {
    let engine = how.common.engine.as_deref().map(run::engine_of).transpose()?;
    let inventory = fleet.look(&asked.workload, engine)?;
    asked.notes.extend(fleet.notes());
    let work = Work::LookedAt(asked.workload, inventory);
    let request = Request { engine, seed: how.seed, ..Request::new(work, &asked.directory) };
    let plan = assay_runner::plan(&request, site)?;
    if dry {
        run::print_plan(&plan, &asked.diagnostics, how.common, context);
        fleet.finish(true);
        return Ok(None);
    }
    run::check_outputs(how, &plan)?;
    let allowed = &how.common.allowed;
    let (consent, watch) = (allowed.destroy_data.clone(), how.common.watch.into());
    // What workers keep themselves, they keep under its name.
    let place = Place::new(&plan, site)?;
    let terms = Terms { consent, really: allowed.really, watch, run: place.name().to_owned() };
    if let Err(error) = fleet.prepare(&plan, &terms) {
        // What they have made by then goes first.
        fleet.finish(true);
        place.give_up();
        return Err(error.into());
    }
    let (environment, mut live) = (fleet.environment(), Live::announcing(context));
    let plan = Arc::new(plan);
    let finished =
        assay_runner::record_at(place, plan, environment, asked.notes, &mut fleet, site, &mut live)?;
    fleet.finish(finished.came_to_nothing());
    Ok(Some(finished))
}

/// `assay worker`: serves the coordinator at the other end of the standard streams, or as a pod says.
pub(crate) fn worker(args: &PodArgs, context: &Context) -> Result<Outcome, Failure> {
    if let Some(port) = args.loopback {
        return in_pod::worker(port, args, context);
    }
    if let Some(file) = &args.drop_caches {
        return in_pod::drop_caches(file, context);
    }
    let site = Site { kinds: apps::kinds(context)?, ..context.site(signals::stop_flag()?) };
    let served = serve(&mut ThisHost::new(site), only(std::io::stdin(), std::io::stdout()));
    Ok(match served.map_err(Failure::failed)? {
        Served::Finished => Outcome::Done,
        Served::Abandoned => Outcome::Interrupted,
    })
}
