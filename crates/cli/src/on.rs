//! `--on`: a plan carried out by workers, on this machine or on others; and `assay worker`, what runs there.

use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use assay_fleet::kube::Say;
use assay_fleet::launch::Setting;
use assay_fleet::launch::vm::{Acceleration, Machines};
use assay_fleet::worker::{Served, only, serve};
use assay_fleet::{Fleet, FleetError, Options, Patience, Terms};
use assay_report::visible;
use assay_results::event::RunEnd;
use assay_runner::{Finished, Place, Request, Site, ThisHost, Work};
use assay_workload::host::HostRanges;
use assay_workload::job::{Caching, Job, Limits, Phase, PhaseKind};
use assay_workload::pattern::{AccessPattern, Mix, Placement};
use assay_workload::units::{Bytes, Nanos};
use assay_workload::{Target, Workload};
use clap::{Args, Parser, ValueEnum};

use crate::asked::LoadedWorkload;
use crate::context::{Context, to_stderr};
use crate::coordinate;
use crate::failure::{Failure, Outcome};
use crate::in_pod::{self, PodArgs};
use crate::input;
use crate::live::Live;
use crate::run::{self, RunOptions};
use crate::{apps, signals};

/// A worker that says nothing for so many seconds is lost, where nothing else was said.
const LOST_AFTER_S: u64 = 15;
/// What is written at once before a plan.
const PREFILL_BLOCK: Bytes = Bytes(1 << 20);

/// Who carries a plan out.
#[derive(Debug, Args)]
pub(crate) struct OnArgs {
    /// Run on workers: local[:N], ssh:HOST,..|@FILE, slurm[:N], vm:N, kube:N, attach:N
    ///
    /// Processes of this machine, hosts over the system's ssh, nodes of a Slurm cluster (without a number: of the allocation that
    /// it is started in), virtual machines that libvirt makes for the run, pods of a Kubernetes cluster ('assay kube run --help' says
    /// their options), or workers that something else starts and that join over mutual TLS. They start together, and each does all
    /// of the plan on its own targets: each has all outstanding I/Os of a job, while a rate is that of all workers together.
    #[arg(long, value_name = "WORKERS")]
    pub(crate) on: Option<String>,
    /// Where workers that join are listened for: an address, and a port after ':' [default: any port of 127.0.0.1]
    ///
    /// Only with --on attach: nothing else listens.
    #[arg(long, value_name = "ADDR", requires = "on", value_parser = address)]
    pub(crate) listen: Option<SocketAddr>,
    #[command(flatten)]
    pub(crate) loss: LossArgs,
    /// How workers share targets that are the same storage, as a volume that all hosts see [default: each does all of it]
    #[arg(long, value_name = "HOW", value_enum, requires = "on")]
    pub(crate) share: Option<Share>,
    #[command(flatten)]
    pub(crate) vm: VmOptions,
}

/// What becomes of lost workers.
#[derive(Debug, Args)]
pub(crate) struct LossArgs {
    /// What becomes of the run when a worker is lost
    #[arg(long, value_name = "WHAT", value_enum, default_value_t)]
    on_loss: OnLoss,
    /// A worker that says nothing for so many seconds is lost; it stops by itself before that
    #[arg(long, value_name = "S", default_value_t = LOST_AFTER_S, value_parser = clap::value_parser!(u64).range(3..=3600))]
    lost_after: u64,
}

/// How the machines of `--on vm:N` are made. The defaults are HCIBench's.
#[derive(Debug, Args)]
pub(crate) struct VmOptions {
    /// Their image ('assay vm build DIR --format qcow2')
    #[arg(long, value_name = "FILE")]
    pub(crate) vm_image: Option<PathBuf>,
    /// Disks of each machine: /dev/vda, /dev/vdb, .. in the plan
    #[arg(long, value_name = "M", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=64))]
    pub(crate) vm_disks: u32,
    /// Size of each disk
    #[arg(long, value_name = "SIZE", default_value = "10g")]
    pub(crate) vm_disk_size: Bytes,
    /// Allocate the space of the disks at once
    #[arg(long)]
    pub(crate) vm_thick: bool,
    /// Virtual CPUs of each machine
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) vm_cpus: u32,
    /// Memory of each machine
    #[arg(long, value_name = "SIZE", default_value = "8g")]
    pub(crate) vm_memory: Bytes,
    /// libvirt hosts to deal the machines out to, as qemu+ssh://root@kvm2/system
    #[arg(long, value_name = "URI", value_delimiter = ',', default_value = "qemu:///system")]
    pub(crate) vm_connect: Vec<String>,
    /// Storage pool for the disks, or a directory
    #[arg(long, value_name = "POOL|DIR", default_value = "/var/lib/libvirt/images")]
    pub(crate) vm_pool: String,
    /// What carries their processors; auto: KVM if a machine really starts with it
    #[arg(long, value_name = "HOW", value_enum, default_value_t)]
    pub(crate) vm_accel: Accel,
    /// Write all disks once before the plan, with random data
    #[arg(long)]
    pub(crate) vm_prefill: bool,
    /// How long a machine may take to start, in seconds
    #[arg(long, value_name = "S", default_value_t = 300, value_parser = clap::value_parser!(u64).range(10..=3600))]
    pub(crate) vm_boot: u64,
    /// Keep the machines: the next run that asks for the same uses them again ('assay vm remove' removes them)
    #[arg(long)]
    pub(crate) vm_keep: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum Accel {
    /// KVM if a machine really starts with it, else software emulation
    #[default]
    Auto,
    /// KVM, or fail
    Kvm,
    /// Software emulation: shows that a plan works, and measures nothing
    Software,
}

impl VmOptions {
    fn machines(&self) -> Machines {
        Machines {
            image: self.vm_image.clone(),
            disks: self.vm_disks,
            disk_bytes: self.vm_disk_size.0,
            thick: self.vm_thick,
            cpus: self.vm_cpus,
            memory: self.vm_memory.0,
            connect: self.vm_connect.clone(),
            pool: self.vm_pool.clone(),
            acceleration: match self.vm_accel {
                Accel::Auto => Acceleration::Auto,
                Accel::Kvm => Acceleration::Kvm,
                Accel::Software => Acceleration::Software,
            },
            boot: Duration::from_secs(self.vm_boot),
            keep: self.vm_keep,
        }
    }
}

/// Puts a phase in front that writes every target once, so that nothing that was never written is read.
fn prefill(workload: &mut Workload) {
    let pattern = AccessPattern::new(Mix::WRITE, PREFILL_BLOCK.0, Placement::sequential());
    let job = |target: &Target| {
        let name = format!("prefill-{}", target.name);
        Job::new(&name, &[&target.name], pattern.clone()).with(|job| {
            job.outstanding_per_thread = 4;
            job.limits = Limits { passes: Some(1), ..Limits::default() };
            job.caching = Caching::Auto;
        })
    };
    let jobs = workload.targets.iter().map(job).collect();
    let phase = Phase { kind: PhaseKind::Precondition, drain_after: true, ..Phase::measure("prefill", jobs) };
    workload.phases.insert(0, phase);
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
    group = clap::ArgGroup::new("served").args(["loopback", "join"]),
    after_help = "Without --join it speaks over its standard streams: that is how a run starts its own workers."
)]
pub(crate) struct WorkerArgs {
    /// Where the run listens: HOST:PORT, as it says itself
    #[arg(long, value_name = "HOST:PORT", conflicts_with_all = ["loopback", "drop_caches"])]
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
    #[command(flatten)]
    pub(crate) pod: PodArgs,
}

fn worker_name(text: &str) -> Result<String, String> {
    let is_word = !text.is_empty() && !text.chars().any(|c| c.is_control() || c.is_whitespace());
    if is_word && text.len() <= 255 {
        Ok(text.to_owned())
    } else {
        Err("not one word of up to 255 bytes".to_owned())
    }
}

impl OnArgs {
    /// As where nothing was said.
    pub(crate) fn usual() -> Result<Self, Failure> {
        Usual::try_parse_from(["on"]).map(|usual| usual.on).map_err(Failure::failed)
    }

    /// How workers share ranges, where that was said.
    pub(crate) fn ranges(&self) -> Option<HostRanges> {
        self.share.map(|share| match share {
            Share::Divided => HostRanges::Divided,
            Share::Whole => HostRanges::Whole,
        })
    }
}

/// A command line that says nothing.
#[derive(Debug, Parser)]
struct Usual {
    #[command(flatten)]
    on: OnArgs,
}

impl LossArgs {
    /// A worker that was not heard for so long is lost.
    fn silence(&self) -> Duration {
        Duration::from_secs(self.lost_after)
    }

    /// Whether the loss of workers ends nothing.
    pub(crate) fn goes_on(&self) -> bool {
        self.on_loss == OnLoss::Continue
    }

    /// What a fleet is told of itself.
    pub(crate) fn options(&self, site: &Site) -> Options {
        let on_loss = match self.on_loss {
            OnLoss::Stop => assay_fleet::OnLoss::Stop,
            OnLoss::Continue => assay_fleet::OnLoss::Continue,
        };
        let patience = Patience::until_lost(self.silence());
        let (version, stop) = (Context::version(), Arc::clone(&site.stop));
        Options { patience, on_loss, version, stop, directory: None }
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

/// Whether the workers that `words` choose have the files of this machine, under the same names.
pub(crate) fn shares_files(words: &str) -> bool {
    matches!(words.split(':').next(), Some("local" | "slurm"))
}

/// Whether `words` choose workers, without starting any.
pub(crate) fn check(
    asked: &LoadedWorkload,
    (words, on): (&str, &OnArgs),
    how: &RunOptions<'_>,
    (site, context): (&Site, &Context),
) -> Result<(), Failure> {
    let setting = setting_of(asked, on, how, (site, context));
    assay_fleet::launch::launcher(words, &asked.workload.hosts, &setting).map_err(Failure::usage)?;
    Ok(())
}

fn setting_of(
    asked: &LoadedWorkload,
    on: &OnArgs,
    how: &RunOptions<'_>,
    (site, context): (&Site, &Context),
) -> Setting {
    Setting {
        machines: on.vm.machines(),
        silence: on.loss.silence(),
        listen: on.listen,
        ..setting(asked, how, site, context)
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

/// Carries what was asked for out on the workers that `words` choose; `None`: the plan was shown only.
pub(crate) fn measured(
    mut asked: LoadedWorkload,
    (words, on): (&str, &OnArgs),
    dry: bool,
    how: &RunOptions<'_>,
    (site, context): (&Site, &Context),
) -> Result<Option<Finished>, Failure> {
    let joins = words.split(':').next() == Some("attach");
    if on.listen.is_some() && !joins {
        return Err(Failure::usage(
            "--listen is for workers that join (--on attach:N); no other listens anywhere",
        ));
    }
    accept(&mut asked, how, context)?;
    if on.vm.vm_prefill {
        prefill(&mut asked.workload);
    }
    let mut setting = setting_of(&asked, on, how, (site, context));
    if joins {
        // What has to be done elsewhere is said whatever is not to be said.
        setting.say = Say::new(|text| to_stderr(format_args!("{}\n", visible(text))));
    }
    let options = Options { directory: how.workers_directory.map(Path::to_owned), ..on.loss.options(site) };
    let fleet = Fleet::launch(words, &mut asked.workload, on.ranges(), &setting, options)?;
    carry_out(asked, fleet, dry, how, site, context)
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
    Setting {
        directory: asked.directory.clone(),
        ssh,
        stop: Arc::clone(&site.stop),
        silence: Duration::from_secs(LOST_AFTER_S),
        listen: None,
        machines: Machines::default(),
        kube,
        say,
    }
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
        fleet.finish(true, false);
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
        fleet.finish(true, true);
        place.give_up();
        return Err(error.into());
    }
    let (environment, mut live) =
        (fleet.environment(), Live::announcing(context).on_screen(how.common.screen.live)?);
    let plan = Arc::new(plan);
    let finished =
        assay_runner::record_at(place, plan, environment, asked.notes, &mut fleet, site, &mut live)?;
    fleet.finish(finished.came_to_nothing(), finished.end == RunEnd::Failed);
    Ok(Some(finished))
}

/// `assay worker`: serves the coordinator at the other end of the standard streams, as a pod says, or the run that it joins.
pub(crate) fn worker(args: &WorkerArgs, context: &Context) -> Result<Outcome, Failure> {
    if let Some(port) = args.pod.loopback {
        return in_pod::worker(port, &args.pod, context);
    }
    if let Some(port) = args.pod.coordinate {
        return coordinate::coordinate(port, &args.pod.words, context);
    }
    if let Some(file) = &args.pod.drop_caches {
        return in_pod::drop_caches(file, context);
    }
    let site = Site { kinds: apps::kinds(context)?, ..context.site(signals::stop_flag()?) };
    let served = match &args.join {
        Some(address) => join(address, args, site, context)?,
        None => serve(&mut ThisHost::new(site), only(std::io::stdin(), std::io::stdout()))
            .map_err(Failure::failed)?,
    };
    match served {
        // What starts workers that join looks at how they end. The others' coordinator says itself how its run ended.
        Served::Failed if args.join.is_some() && !args.pod.is_pod() => {
            Err(Failure::failed("the run failed; where it was started it is said why"))
        }
        Served::Finished | Served::Failed => Ok(Outcome::Done),
        Served::Abandoned => Ok(Outcome::Interrupted),
    }
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
    in_pod::has_volumes(&args.pod)?;
    let ticket = Ticket::parse(&text).map_err(|bad| Failure::usage(format!("{from}: {bad}")))?;
    let mut here = ThisHost::new(site);
    let name = args.name.clone().unwrap_or_else(|| here.node());
    let visitor = Visitor::new(address, &ticket, &name).map_err(Failure::failed)?;
    let streams = visitor.join(Duration::from_nanos(args.wait.0)).map_err(Failure::failed)?;
    context.say(&format!("joined the run at {address} as {name}"));
    let served = serve(&mut here, streams).map_err(Failure::failed);
    visitor.end();
    if args.pod.is_pod() {
        in_pod::await_end()?;
    }
    served
}
