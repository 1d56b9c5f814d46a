//! `--on`: a plan carried out by workers, on this machine or on others; and `assay worker`, what runs there.

use std::sync::Arc;
use std::time::Duration;

use assay_fleet::launch::Setting;
use assay_fleet::worker::{Served, only, serve};
use assay_fleet::{Fleet, FleetError, Options, Patience, Terms};
use assay_runner::{Place, Request, Site, ThisHost, Work};
use assay_workload::host::HostRanges;
use clap::{Args, ValueEnum};

use crate::asked::LoadedWorkload;
use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::input;
use crate::live::Live;
use crate::run::{self, RunOptions};
use crate::{apps, signals};

/// Who carries a plan out.
#[derive(Debug, Args)]
pub(crate) struct OnArgs {
    /// Run on workers: local[:N], ssh:HOST,..|@FILE, slurm[:N]
    ///
    /// Processes of this machine, hosts over the system's ssh, or nodes of a Slurm cluster (without a number: of the allocation that
    /// it is started in). They start together, and each does all of the plan on its own targets.
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
    input::say_all(&asked.diagnostics, how.common.allowed.strict, context)?;
    asked.notes.extend(input::accept_losses(&asked.diagnostics, how.common.allowed.allow_loss)?);
    context.make_runs_root()?;
    let share = on.share.map(|share| match share {
        Share::Divided => HostRanges::Divided,
        Share::Whole => HostRanges::Whole,
    });
    let ssh = assay_fleet::shell::ssh_program(std::env::var_os(assay_fleet::shell::SSH_VARIABLE));
    let setting = Setting { directory: asked.directory.clone(), ssh, stop: Arc::clone(&site.stop) };
    let on_loss = match on.on_loss {
        OnLoss::Stop => assay_fleet::OnLoss::Stop,
        OnLoss::Continue => assay_fleet::OnLoss::Continue,
    };
    let patience = Patience::until_lost(Duration::from_secs(on.lost_after));
    let (version, stop) = (Context::version(), Arc::clone(&site.stop));
    let options = Options { patience, on_loss, version, stop };
    let mut fleet = Fleet::launch(words, &mut asked.workload, share, &setting, options)?;
    let engine = how.common.engine.as_deref().map(run::engine_of).transpose()?;
    let inventory = fleet.look(&asked.workload, engine)?;
    let work = Work::LookedAt(asked.workload, inventory);
    let request = Request { engine, seed: how.seed, ..Request::new(work, &asked.directory) };
    let plan = assay_runner::plan(&request, &site)?;
    if dry {
        run::print_plan(&plan, &asked.diagnostics, how.common, context);
        fleet.finish(true);
        return Ok(Outcome::Done);
    }
    run::check_outputs(how, &plan)?;
    let allowed = &how.common.allowed;
    let (consent, watch) = (allowed.destroy_data.clone(), how.common.watch.into());
    // What workers keep themselves, they keep under its name.
    let place = Place::new(&plan, &site)?;
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
        assay_runner::record_at(place, plan, environment, asked.notes, &mut fleet, &site, &mut live)?;
    fleet.finish(finished.came_to_nothing());
    run::present(&finished, &how.common.output, Some(&how.common.foreign), context)
}

/// `assay worker`: serves the coordinator at the other end of the standard streams.
pub(crate) fn worker(context: &Context) -> Result<Outcome, Failure> {
    let site = Site { kinds: apps::kinds(context)?, ..context.site(signals::stop_flag()?) };
    let served = serve(&mut ThisHost::new(site), only(std::io::stdin(), std::io::stdout()));
    Ok(match served.map_err(Failure::failed)? {
        Served::Finished => Outcome::Done,
        Served::Abandoned => Outcome::Interrupted,
    })
}
