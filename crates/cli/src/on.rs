//! `--on`: a plan carried out by workers, on this machine or on others; and `assay worker`, what runs there.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use assay_fleet::launch::Setting;
use assay_fleet::launch::vm::{Acceleration, Machines};
use assay_fleet::worker::{Served, only, serve};
use assay_fleet::{Fleet, FleetError, Options, Patience, Terms};
use assay_runner::{Finished, Place, Request, Site, ThisHost, Work};
use assay_workload::host::HostRanges;
use assay_workload::job::{Caching, Job, Limits, Phase, PhaseKind};
use assay_workload::pattern::{AccessPattern, Mix, Placement};
use assay_workload::units::Bytes;
use assay_workload::{Target, Workload};
use clap::{Args, ValueEnum};

use crate::asked::LoadedWorkload;
use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::in_pod::{self, PodArgs};
use crate::input;
use crate::live::Live;
use crate::run::{self, RunOptions};
use crate::{apps, signals};

/// What is written at once before a plan.
const PREFILL_BLOCK: Bytes = Bytes(1 << 20);

/// Who carries a plan out.
#[derive(Debug, Args)]
pub(crate) struct OnArgs {
    /// Run on workers: local[:N], ssh:HOST,..|@FILE, slurm[:N], vm:N, kube:N
    ///
    /// Processes of this machine, hosts over the system's ssh, nodes of a Slurm cluster (without a number: of the allocation that
    /// it is started in), virtual machines that libvirt makes for the run, or pods of a Kubernetes cluster ('assay kube run --help' says
    /// their options). They start together, and each does all of the plan on its own targets.
    #[arg(long, value_name = "WORKERS", conflicts_with_all = ["profile", "probe", "trace"])]
    pub(crate) on: Option<String>,
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
    #[arg(long, value_name = "S", default_value_t = 15, value_parser = clap::value_parser!(u64).range(3..=3600))]
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

impl OnArgs {
    /// How workers share ranges, where that was said.
    pub(crate) fn ranges(&self) -> Option<HostRanges> {
        self.share.map(|share| match share {
            Share::Divided => HostRanges::Divided,
            Share::Whole => HostRanges::Whole,
        })
    }
}

impl LossArgs {
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
    if on.vm.vm_prefill {
        prefill(&mut asked.workload);
    }
    let setting = Setting { machines: on.vm.machines(), ..setting(&asked, how, &site, context) };
    let fleet = Fleet::launch(words, &mut asked.workload, on.ranges(), &setting, on.loss.options(&site))?;
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
    Setting {
        directory: asked.directory.clone(),
        ssh,
        stop: Arc::clone(&site.stop),
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
    let (environment, mut live) =
        (fleet.environment(), Live::announcing(context).on_screen(how.common.screen.live)?);
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
