//! `assay kube`: storage of a Kubernetes cluster, measured by workers in pods.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use assay_fleet::kube::Options;
use assay_fleet::kube::access::{Need, role};
use assay_fleet::kube::cluster::Cluster;
use assay_fleet::kube::error::KubeError;
use assay_fleet::kube::image::Image;
use assay_fleet::kube::manifests::{ADDRESS_VARIABLE, OWNER_VARIABLE, Objects, Owner};
use assay_fleet::kube::options::{self, Label, Pull, Spread, Toleration, VolumeMode};
use assay_fleet::kube::{run as objects, yaml};
use assay_workload::units::{Bytes, Nanos};
use clap::{Args, Subcommand};

use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::output::Outputs;
use crate::run::{self, RunArgs};
use crate::signals;

mod check;
mod classes;
pub(crate) mod fiorand;
mod in_cluster;

impl From<KubeError> for Failure {
    fn from(error: KubeError) -> Self {
        match error {
            KubeError::Stopped => Failure::Interrupted,
            error => Failure::failed(error),
        }
    }
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  # what this account may do, and whether the class is there
  assay kube check --storage-class fast
  # a Role that is enough, for who administrates the cluster
  assay kube rbac -n bench --account runner | kubectl apply -f -
  # an image of this program, and into a node's store
  assay kube image --save assay.tar; ctr -n k8s.io images import assay.tar
  # four workers with a volume of 20 GiB each
  assay kube run plan.toml --workers 4 --storage-class fast --pvc-size 20Gi
  # two classes compared
  assay kube run plan.toml --workers 4 --storage-class fast,cheap
  # coordinated in the cluster: it goes on where this connection ends
  assay kube run plan.toml --workers 400 --in-cluster --account runner
  # random reads and writes as kubuculum's bench_fiorand does them
  assay kube fiorand --storage-class fast -e bench_fiorand_ninstances=4
  # what is left of a run, or of all
  assay kube cleanup --run rk3f9x2")]
pub(crate) struct KubeArgs {
    #[command(subcommand)]
    command: KubeCommand,
}

#[derive(Debug, Subcommand)]
enum KubeCommand {
    /// Show whether the cluster has what a run needs: permissions, storage class, quota
    Check(check::CheckArgs),
    /// Print the smallest Role that is enough
    Rbac(RbacArgs),
    /// Run a plan on workers in pods, with one storage class or several that are compared
    Run(Box<KubeRunArgs>),
    /// Print the objects of a run as YAML, and make none
    Manifests(ManifestsArgs),
    /// Random reads and writes by n workers with a volume each, as kubuculum's bench_fiorand
    Fiorand(Box<fiorand::FiorandArgs>),
    /// Follow a run that is coordinated in the cluster, and fetch it
    Collect(in_cluster::CollectArgs),
    /// Remove what runs left in the namespace
    Cleanup(CleanupArgs),
    /// Write an image of this program, without a daemon
    Image(ImageArgs),
}

/// Which cluster, and which part of it.
#[derive(Debug, Clone, Args)]
pub(crate) struct WhereArgs {
    /// Context of the kubeconfig [default: the current one]
    #[arg(long, value_name = "NAME")]
    pub(crate) context: Option<String>,
    /// Namespace [default: that of the context]
    #[arg(long, short = 'n', value_name = "NAME")]
    pub(crate) namespace: Option<String>,
}

impl WhereArgs {
    pub(crate) fn connect(&self, stop: Arc<AtomicBool>) -> Result<Cluster, Failure> {
        Ok(Cluster::connect(self.context.as_deref(), self.namespace.as_deref(), stop)?)
    }
}

/// What is asked of the cluster for the workers.
#[derive(Debug, Clone, Args)]
pub(crate) struct PodsArgs {
    #[command(flatten)]
    pub(crate) place: WhereArgs,
    /// Storage class of the volumes [default: the cluster's]; several in turn are compared
    #[arg(long, value_name = "NAME,..", value_delimiter = ',')]
    pub(crate) storage_class: Vec<String>,
    /// Size of each volume [default: 10 GiB]
    #[arg(long, value_name = "SIZE", value_parser = options::volume_size)]
    pub(crate) pvc_size: Option<Bytes>,
    /// Volumes of each worker
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=i64::from(options::VOLUMES_MAX)))]
    pub(crate) pvcs: u32,
    /// How volumes come to the workers: filesystem or block
    #[arg(long, value_name = "MODE", default_value = "filesystem")]
    pub(crate) mode: VolumeMode,
    /// Image of the workers [default: what 'assay kube image' names it]
    #[arg(long, value_name = "IMAGE", default_value = options::IMAGE_DEFAULT, hide_default_value = true)]
    pub(crate) image: String,
    /// When it is fetched: IfNotPresent, Always or Never
    #[arg(long, value_name = "POLICY", default_value = "IfNotPresent")]
    pub(crate) pull: Pull,
    /// Only on nodes with this label; may be given several times
    #[arg(long, value_name = "LABEL=VALUE")]
    pub(crate) node_selector: Vec<Label>,
    /// Tolerate a taint of nodes; may be given several times
    #[arg(long, value_name = "KEY[=VALUE][:EFFECT]")]
    pub(crate) toleration: Vec<Toleration>,
    /// How workers are spread over nodes: even, required (else a pod stays pending) or none
    #[arg(long, value_name = "HOW", default_value = "even")]
    pub(crate) spread: Spread,
    /// CPUs of each worker: requested, and the limit
    #[arg(long, value_name = "CPUS")]
    pub(crate) cpu: Option<String>,
    /// Memory of each worker: requested, and the limit
    #[arg(long, value_name = "SIZE")]
    pub(crate) memory: Option<String>,
    /// User that workers run as [default: root of the container, without capabilities]
    #[arg(long, value_name = "UID")]
    pub(crate) run_as: Option<u32>,
    /// Leave the workers and their volumes there; 'assay kube cleanup' removes them
    #[arg(long)]
    pub(crate) keep: bool,
    /// How long pods may take to run; then their events are shown
    #[arg(long, value_name = "TIME", default_value = "120s")]
    pub(crate) pod_wait: Nanos,
    /// What the objects are called: assay-NAME [default: a fresh one]
    #[arg(long, value_name = "NAME", value_parser = options::name)]
    pub(crate) id: Option<String>,
}

impl PodsArgs {
    /// With one of the classes.
    pub(crate) fn options(&self, class: Option<&String>) -> Options {
        let defaults = Options::default();
        Options {
            context: self.place.context.clone(),
            namespace: self.place.namespace.clone(),
            image: self.image.clone(),
            pull: self.pull,
            storage_class: class.cloned(),
            size: self.pvc_size.unwrap_or(defaults.size),
            volumes: self.pvcs,
            mode: self.mode,
            node_selector: self.node_selector.clone(),
            tolerations: self.toleration.clone(),
            spread: self.spread,
            cpu: self.cpu.clone(),
            memory: self.memory.clone(),
            run_as: self.run_as,
            keep: self.keep,
            pod_wait: Duration::from_nanos(self.pod_wait.0),
            id: self.id.clone(),
            owner: std::env::var(OWNER_VARIABLE).ok().and_then(|owner| Owner::parse(&owner)),
            pod_network: None,
        }
    }

    /// For what knows one class.
    pub(crate) fn with_one_class(&self) -> Result<Options, Failure> {
        match &self.storage_class[..] {
            [] => Ok(self.options(None)),
            [one] => Ok(self.options(Some(one))),
            _ => Err(Failure::usage(
                "several storage classes; they are compared by 'assay kube run' and 'assay kube fiorand'",
            )),
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct KubeRunArgs {
    /// Workers, each in a pod of its own
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=4000))]
    workers: u32,
    /// Coordinate in the cluster, by a Job: for hundreds of workers, and for runs that outlive this connection
    #[arg(long, requires = "account")]
    in_cluster: bool,
    /// With --in-cluster: the service account that has the Role of 'assay kube rbac'
    #[arg(long, value_name = "NAME", requires = "in_cluster")]
    account: Option<String>,
    /// With --in-cluster: workers come over the pod network by mutual TLS, and not through the API server; a port is open then
    #[arg(long)]
    pod_network: bool,
    #[command(flatten)]
    pods: PodsArgs,
    #[command(flatten)]
    run: RunArgs,
}

impl KubeRunArgs {
    /// What is asked of the cluster, with one of the classes.
    fn options(&self, class: Option<&String>) -> Result<Options, Failure> {
        let mut options = self.pods.options(class);
        if self.pod_network {
            let address = std::env::var(ADDRESS_VARIABLE).ok().and_then(|address| address.parse().ok());
            let outside = || {
                Failure::usage(
                    "--pod-network goes with --in-cluster: workers cannot come to this machine over the pod network",
                )
            };
            options.pod_network = Some(address.ok_or_else(outside)?);
        }
        Ok(options)
    }
}

#[derive(Debug, Args)]
pub(crate) struct RbacArgs {
    #[command(flatten)]
    place: WhereArgs,
    /// Bind it to this service account, which is made, too
    #[arg(long, value_name = "NAME")]
    account: Option<String>,
    /// With what dropping the nodes' caches needs
    #[arg(long)]
    drop_caches: bool,
    /// With what a coordinator in the cluster needs
    #[arg(long)]
    in_cluster: bool,
    /// With what workers that come over the pod network need
    #[arg(long, requires = "in_cluster")]
    pod_network: bool,
    /// With a ClusterRole that reads nodes, volumes and storage classes: what results say of them
    #[arg(long)]
    facts: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ManifestsArgs {
    /// Workers
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=4000))]
    workers: u32,
    #[command(flatten)]
    pods: PodsArgs,
}

#[derive(Debug, Args)]
pub(crate) struct CleanupArgs {
    #[command(flatten)]
    place: WhereArgs,
    /// One run alone [default: all of the namespace]
    #[arg(long, value_name = "ID")]
    run: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ImageArgs {
    /// Where the archive is written (docker-archive)
    #[arg(long, value_name = "FILE")]
    save: PathBuf,
    /// Name of the image
    #[arg(long, value_name = "NAME", default_value = options::IMAGE_DEFAULT)]
    name: String,
    /// Replace a file that Assay did not write
    #[arg(long)]
    force: bool,
}

pub(crate) fn kube(args: &KubeArgs, context: &Context) -> Result<Outcome, Failure> {
    match &args.command {
        KubeCommand::Check(args) => check::check(args, context),
        KubeCommand::Rbac(args) => rbac(args, context),
        KubeCommand::Run(args) => run_plan(args, context),
        KubeCommand::Manifests(args) => manifests(args, context),
        KubeCommand::Fiorand(args) => fiorand::fiorand(args, context),
        KubeCommand::Collect(args) => in_cluster::collect(args, context),
        KubeCommand::Cleanup(args) => cleanup(args, context),
        KubeCommand::Image(args) => image(args, context),
    }
}

fn run_plan(args: &KubeRunArgs, context: &Context) -> Result<Outcome, Failure> {
    if args.run.on.on.is_some() {
        return Err(Failure::usage("'assay kube run' runs on pods; --on is an option of 'assay run'"));
    }
    if args.run.profile.is_some() {
        return Err(Failure::usage("profiles are sized to a directory of this machine; name a file"));
    }
    if let Some(account) = args.account.as_deref().filter(|_| args.in_cluster) {
        return in_cluster::run(args, account, context);
    }
    match &args.pods.storage_class[..] {
        classes @ [_, _, ..] => classes::compared(args, classes, context),
        one => run::run_in_pods(&args.run, args.workers, args.options(one.first())?, context),
    }
}

/// The namespace, without asking for a cluster that may not be there.
fn namespace_of(place: &WhereArgs) -> String {
    let of_context = || place.connect(Arc::default()).ok().map(|cluster| cluster.namespace().to_owned());
    place.namespace.clone().or_else(of_context).unwrap_or_else(|| "default".to_owned())
}

fn rbac(args: &RbacArgs, context: &Context) -> Result<Outcome, Failure> {
    let mut needs = vec![Need::Run];
    needs.extend(args.in_cluster.then_some(Need::InCluster));
    needs.extend(args.pod_network.then_some(Need::PodNetwork));
    needs.extend(args.drop_caches.then_some(Need::DropCaches));
    needs.extend(args.facts.then_some(Need::Facts));
    let objects = role(&namespace_of(&args.place), args.account.as_deref(), &needs);
    context.out(&yaml::documents(&objects));
    Ok(Outcome::Done)
}

fn manifests(args: &ManifestsArgs, context: &Context) -> Result<Outcome, Failure> {
    let options = args.pods.with_one_class()?;
    let name = format!("assay-{}", options.id.as_deref().unwrap_or("run"));
    let namespace = namespace_of(&args.pods.place);
    let objects = Objects { name, namespace, workers: args.workers as usize, options: &options };
    context.out(&yaml::documents(&[objects.anchor(), objects.workers(None)]));
    Ok(Outcome::Done)
}

fn cleanup(args: &CleanupArgs, context: &Context) -> Result<Outcome, Failure> {
    let cluster = args.place.connect(signals::stop_flag()?)?;
    if let Some(id) = &args.run {
        let known = objects::runs(&cluster)?;
        if !known.contains(id) {
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            let message = format!("no run '{id}' in namespace {}; there: {known}", cluster.namespace());
            return Err(Failure::usage(message));
        }
    }
    let removed = objects::remove(&cluster, args.run.as_deref())?;
    for object in &removed.objects {
        context.out(&format!("removed {object}"));
    }
    if !removed.left.is_empty() {
        return Err(Failure::failed(format!("still there: {}", removed.left.join(", "))));
    }
    if removed.objects.is_empty() {
        context.say(&format!("nothing of Assay is in namespace {}", cluster.namespace()));
    }
    Ok(Outcome::Done)
}

fn image(args: &ImageArgs, context: &Context) -> Result<Outcome, Failure> {
    let image = Image::own(&args.name).map_err(Failure::failed)?;
    let mut outputs = Outputs::new(args.force);
    outputs.check("--save", Some(&args.save))?;
    outputs.stream("--save", &args.save, |to| image.write(to))?;
    let linked = if image.libraries.is_empty() {
        "statically linked".to_owned()
    } else {
        format!("with what it is linked with: {}", image.libraries.join(", "))
    };
    let tools = match &image.tools[..] {
        [] => "without wipefs and blkid (not on this machine): block volumes will be refused".to_owned(),
        tools => format!("with {} for block volumes", tools.join(" and ")),
    };
    context.say(&format!(
        "{} in {}, {linked}, {tools}; 'ctr -n k8s.io images import {}' takes it into the store of a node",
        args.name,
        args.save.display(),
        args.save.display()
    ));
    Ok(Outcome::Done)
}
