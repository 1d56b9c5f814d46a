//! `--on`: a plan carried out by workers, on this machine or on others; and `assay worker`, what runs there.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use assay_fleet::launch::{Say, Setting};
use assay_fleet::worker::{Served, only, serve};
use assay_fleet::{Fleet, FleetError, Options, Patience, Terms};
use assay_report::visible;
use assay_runner::{Finished, Place, Request, Site, ThisHost, Work};
use assay_workload::host::HostRanges;
use assay_workload::units::Nanos;
use clap::{Args, ValueEnum};

use crate::asked::LoadedWorkload;
use crate::context::{Context, to_stderr};
use crate::failure::{Failure, Outcome};
use crate::input;
use crate::live::Live;
use crate::run::{self, RunOptions};
use crate::{apps, signals};

/// Who carries a plan out.
#[derive(Debug, Args)]
pub(crate) struct OnArgs {
    /// Run on workers: local[:N], ssh:HOST,..|@FILE, slurm[:N], attach:N
    ///
    /// Processes of this machine, hosts over the system's ssh, nodes of a Slurm cluster (without a number: of the allocation that
    /// it is started in), or workers that something else starts and that join over mutual TLS. They start together, and each does
    /// all of the plan on its own targets.
    #[arg(long, value_name = "WORKERS")]
    pub(crate) on: Option<String>,
    /// Where workers that join are listened for: an address, and a port after ':' [default: any port of 127.0.0.1]
    ///
    /// Only with --on attach: nothing else listens.
    #[arg(long, value_name = "ADDR", requires = "on", value_parser = address)]
    pub(crate) listen: Option<SocketAddr>,
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

impl OnArgs {
    /// As usual.
    pub(crate) fn usual() -> Self {
        OnArgs { on: None, listen: None, on_loss: OnLoss::default(), lost_after: 15, share: None }
    }
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

/// An address with or without a port.
fn address(text: &str) -> Result<SocketAddr, String> {
    let bare = text.trim_start_matches('[').trim_end_matches(']');
    let alone = bare.parse::<IpAddr>().ok().map(|ip| SocketAddr::new(ip, 0));
    alone
        .or_else(|| text.parse().ok())
        .ok_or_else(|| "not an address: 127.0.0.1, 0.0.0.0:7070 and [::1]:7070 are some".to_owned())
}

/// A worker, and what it joins.
#[derive(Debug, Args)]
#[command(
    after_help = "Without --join it speaks over its standard streams: that is how a run starts its own workers."
)]
pub(crate) struct WorkerArgs {
    /// Where the run listens: HOST:PORT, as it says itself
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) join: Option<String>,
    /// What the run wrote for its workers [default: the variable ASSAY_JOIN]
    #[arg(long, value_name = "FILE", requires = "join")]
    pub(crate) token_file: Option<PathBuf>,
    /// What it is called in results [default: the name of this machine]
    #[arg(long, value_name = "NAME", requires = "join", value_parser = worker_name)]
    pub(crate) name: Option<String>,
    /// How long it waits for a run that does not listen yet
    #[arg(long, value_name = "TIME", default_value = "60s", requires = "join")]
    pub(crate) wait: Nanos,
}

fn worker_name(text: &str) -> Result<String, String> {
    let is_word = !text.is_empty() && !text.chars().any(|c| c.is_control() || c.is_whitespace());
    if is_word && text.len() <= 255 {
        Ok(text.to_owned())
    } else {
        Err("not one word of up to 255 bytes".to_owned())
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

/// Carries what was asked for out on the workers that `words` choose, and shows what came of it; `dry`: shows the plan only.
pub(crate) fn execute(
    asked: LoadedWorkload,
    (words, on): (&str, &OnArgs),
    dry: bool,
    how: &RunOptions<'_>,
    context: &Context,
) -> Result<Outcome, Failure> {
    let site = Site { kinds: apps::kinds(context)?, ..context.site(signals::stop_flag()?) };
    match measured(asked, (words, on), dry, how, (&site, context))? {
        None => Ok(Outcome::Done),
        Some(finished) => run::present(&finished, &how.common.output, Some(&how.common.foreign), context),
    }
}

/// The setting of a launcher.
fn setting(words: &str, on: &OnArgs, directory: PathBuf, site: &Site) -> Result<Setting, Failure> {
    if on.listen.is_some() && !words.starts_with("attach") {
        return Err(Failure::usage(
            "--listen is for workers that join (--on attach:N); no other listens anywhere",
        ));
    }
    let ssh = assay_fleet::shell::ssh_program(std::env::var_os(assay_fleet::shell::SSH_VARIABLE));
    // What has to be done elsewhere is said whatever is not to be said.
    let say = Say(Arc::new(|text: &str| to_stderr(format_args!("{}\n", visible(text)))));
    let (stop, silence) = (Arc::clone(&site.stop), Duration::from_secs(on.lost_after));
    Ok(Setting { directory, ssh, stop, silence, listen: on.listen, say })
}

/// Carries what was asked for out on the workers that `words` choose; `None`: the plan was shown only.
pub(crate) fn measured(
    mut asked: LoadedWorkload,
    (words, on): (&str, &OnArgs),
    dry: bool,
    how: &RunOptions<'_>,
    (site, context): (&Site, &Context),
) -> Result<Option<Finished>, Failure> {
    input::say_all(&asked.diagnostics, how.common.allowed.strict, context)?;
    asked.notes.extend(input::accept_losses(&asked.diagnostics, how.common.allowed.allow_loss)?);
    context.make_runs_root()?;
    let share = on.share.map(|share| match share {
        Share::Divided => HostRanges::Divided,
        Share::Whole => HostRanges::Whole,
    });
    let setting = setting(words, on, asked.directory.clone(), site)?;
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

/// `assay worker`: serves the coordinator at the other end of the standard streams, or the run that it joins.
pub(crate) fn worker(args: &WorkerArgs, context: &Context) -> Result<Outcome, Failure> {
    let site = Site { kinds: apps::kinds(context)?, ..context.site(signals::stop_flag()?) };
    let served = match &args.join {
        Some(address) => join(address, args, site, context)?,
        None => serve(&mut ThisHost::new(site), only(std::io::stdin(), std::io::stdout()))
            .map_err(Failure::failed)?,
    };
    Ok(match served {
        Served::Finished => Outcome::Done,
        Served::Abandoned => Outcome::Interrupted,
    })
}

#[cfg(not(feature = "attach"))]
fn join(_: &str, _: &WorkerArgs, _: Site, _: &Context) -> Result<Served, Failure> {
    Err(Failure::usage(
        "this build has no 'worker --join'; build one with cargo build --release --features attach",
    ))
}

/// The variable that holds what a worker needs to join.
#[cfg(feature = "attach")]
const JOIN_VARIABLE: &str = "ASSAY_JOIN";

#[cfg(feature = "attach")]
fn join(address: &str, args: &WorkerArgs, site: Site, context: &Context) -> Result<Served, Failure> {
    use assay_conduct::workplace::Workplace as _;
    use assay_fleet::attach::{Ticket, Visitor};
    let (text, from) = match (&args.token_file, std::env::var(JOIN_VARIABLE)) {
        (Some(path), _) => {
            let text = std::fs::read_to_string(path);
            (
                text.map_err(|error| Failure::usage(format!("cannot read {}: {error}", path.display())))?,
                path.display().to_string(),
            )
        }
        (None, Ok(text)) => (text, JOIN_VARIABLE.to_owned()),
        (None, Err(_)) => {
            return Err(Failure::usage(format!(
                "--token-file FILE, or its content in {JOIN_VARIABLE}, is needed to join; the run says which file"
            )));
        }
    };
    let ticket = Ticket::parse(&text).map_err(|bad| Failure::usage(format!("{from}: {bad}")))?;
    let mut here = ThisHost::new(site);
    let name = args.name.clone().unwrap_or_else(|| here.node());
    let visitor = Visitor::new(address, &ticket, &name).map_err(Failure::failed)?;
    let streams = visitor.join(Duration::from_nanos(args.wait.0)).map_err(Failure::failed)?;
    context.say(&format!("joined the run at {address} as {name}"));
    let served = serve(&mut here, streams).map_err(Failure::failed);
    visitor.end();
    served
}
