//! The objects of one run, from the first to the removal of all.

use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use k8s_openapi::api::apps::v1::{DaemonSet, StatefulSet};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{ConfigMap, PersistentVolumeClaim, Pod};
use serde_json::Value;

use super::access::Need;
use super::cluster::{Cluster, selector};
use super::error::KubeError;
use super::forward::Said;
use super::manifests::{Objects, Owner, RUN_LABEL, WORKER};
use super::options::Options;
use super::pod_network::PodNetwork;
use super::pods::{self, Running};

/// How long what was removed may take to be gone.
const GONE_WITHIN: Duration = Duration::from_secs(60);
/// How often it is looked.
const LOOK: Duration = Duration::from_millis(300);

/// Workers in a cluster. What was made for them goes when it is dropped, unless it is to be kept.
#[derive(Debug)]
pub struct KubeRun {
    /// The cluster.
    pub cluster: Cluster,
    /// What was asked for.
    pub options: Options,
    /// What all objects begin with: `assay-ID`.
    pub name: String,
    /// The pods, in the order of their numbers.
    pub pods: Vec<Running>,
    /// What owns the objects.
    pub owner: Owner,
    /// Where workers come over the pod network.
    pub(super) pod_network: Option<PodNetwork>,
    is_removed: bool,
    say: super::Say,
}

impl KubeRun {
    /// Makes the objects of `workers` workers, and waits until all pods run. What was made goes where that fails.
    ///
    /// # Errors
    /// [`KubeError`].
    pub fn begin(
        cluster: Cluster,
        options: Options,
        workers: usize,
        needs: &[Need],
        say: super::Say,
    ) -> Result<Self, KubeError> {
        cluster.check_permissions(needs)?;
        let id = options.id.clone().unwrap_or_else(fresh_id);
        let name = format!("assay-{id}");
        let objects = Objects {
            name: name.clone(),
            namespace: cluster.namespace().to_owned(),
            workers,
            options: &options,
        };
        let anchor: ConfigMap = cluster.create(&objects.anchor())?;
        let owner = Owner { name: name.clone(), uid: anchor.metadata.uid.unwrap_or_default() };
        say.say(&format!(
            "run {id}: {workers} workers in namespace {}; 'assay kube cleanup --run {id}' removes what is left of it",
            cluster.namespace()
        ));
        // From here on dropping it removes what there is.
        let mut run = KubeRun {
            cluster: cluster.clone(),
            options: Options { keep: false, ..options.clone() },
            name: name.clone(),
            pods: Vec::new(),
            owner,
            pod_network: None,
            is_removed: false,
            say,
        };
        if let Some(address) = options.pod_network {
            let network = PodNetwork::open(&cluster, &objects, &run.owner, address)?;
            run.say.say(&network.note());
            run.pod_network = Some(network);
        }
        let _: StatefulSet = cluster.create(&objects.workers(Some(&run.owner)))?;
        run.pods = pods::wait_running(&cluster, &objects, WORKER, &|text| run.say.say(text))?;
        if let Some(network) = &run.pod_network {
            network.await_all(&cluster, &run.pods, options.pod_wait)?;
        }
        run.options.keep = options.keep;
        Ok(run)
    }

    /// What the run's objects are told by.
    pub fn id(&self) -> &str {
        self.name.strip_prefix("assay-").unwrap_or(&self.name)
    }

    /// As the manifests have them.
    pub fn objects(&self) -> Objects<'_> {
        Objects {
            name: self.name.clone(),
            namespace: self.cluster.namespace().to_owned(),
            workers: self.pods.len(),
            options: &self.options,
        }
    }

    /// The manifests that were used.
    pub fn manifests(&self) -> Vec<Value> {
        let objects = self.objects();
        vec![objects.anchor(), objects.workers(Some(&self.owner))]
    }

    /// The nodes that workers are on, each once.
    pub fn nodes(&self) -> Vec<String> {
        let mut nodes: Vec<String> = self.pods.iter().map(|pod| pod.node.clone()).collect();
        nodes.sort();
        nodes.dedup();
        nodes
    }

    /// What became of a pod; `None`: it is the one that it was, and runs.
    ///
    /// # Errors
    /// [`KubeError`] where it cannot be asked for.
    pub fn what_became(&self, pod: &Running) -> Result<Option<String>, KubeError> {
        Ok(pods::what_became(pod, self.cluster.get::<Pod>(&pod.name)?.as_ref()))
    }

    /// The stream to the worker of a pod; `said`: why it ended, where that is known.
    ///
    /// # Errors
    /// What the system says.
    pub fn stream(&self, pod: &Running, said: &Said) -> std::io::Result<UnixStream> {
        match &self.pod_network {
            Some(network) => network.stream(&pod.name),
            None => Ok(self.cluster.forward(pod, said)?.into()),
        }
    }

    fn remove(&mut self) {
        if std::mem::replace(&mut self.is_removed, true) {
            return;
        }
        let id = self.id().to_owned();
        if self.options.keep {
            self.say
                .say(&format!("kept: 'assay kube cleanup --run {id}' removes the workers and their volumes"));
            return;
        }
        // The end of a run is not cut short by the wish to stop it.
        match remove(&self.cluster, Some(&id)) {
            Ok(Removed { left, .. }) if left.is_empty() => {}
            Ok(Removed { left, .. }) => self.say.say(&format!(
                "warning: still there after {} s: {}; 'assay kube cleanup --run {id}' removes them",
                GONE_WITHIN.as_secs(),
                left.join(", ")
            )),
            Err(error) => {
                self.say
                    .say(&format!("warning: {error}; 'assay kube cleanup --run {id}' removes what is left"));
            }
        }
    }
}

impl Drop for KubeRun {
    fn drop(&mut self) {
        self.remove();
    }
}

/// A name that no other run has: of the time and the process.
pub fn fresh_id() -> String {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let mut number = (now.as_millis() as u64) << 10 ^ u64::from(std::process::id());
    let mut id = String::new();
    while number > 0 {
        id.insert(0, char::from(b"bcdfghjklmnpqrstvwxz2456789"[(number % 27) as usize]));
        number /= 27;
    }
    format!("r{}", &id[id.len().saturating_sub(8)..])
}

/// What was removed, and what is still there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Removed {
    /// `StatefulSet assay-k3`, in the order of removal.
    pub objects: Vec<String>,
    /// What did not go in time.
    pub left: Vec<String>,
}

/// The objects of a run, or of all runs, that are there.
fn found(cluster: &Cluster, id: Option<&str>, removed: &mut Vec<String>) -> Result<bool, KubeError> {
    let selector = selector(id);
    let before = removed.len();
    macro_rules! kind {
        ($kind:ty, $word:literal) => {
            for object in cluster.list::<$kind>(&selector)? {
                removed.push(format!("{} {}", $word, object.metadata.name.unwrap_or_default()));
            }
        };
    }
    kind!(StatefulSet, "StatefulSet");
    kind!(Pod, "Pod");
    kind!(PersistentVolumeClaim, "PersistentVolumeClaim");
    kind!(ConfigMap, "ConfigMap");
    Ok(removed.len() > before)
}

/// Names of the objects of a kind that the account may list; what it may not list, it has not made.
fn listed<K: super::cluster::Kind>(cluster: &Cluster, selector: &str) -> Vec<String> {
    let names =
        |objects: Vec<K>| objects.into_iter().filter_map(|object| object.meta().name.clone()).collect();
    cluster.list::<K>(selector).map(names).unwrap_or_default()
}

/// Removes the objects of a run, or of all runs in the namespace, and waits until they are gone.
///
/// # Errors
/// [`KubeError`] where something cannot be removed.
pub fn remove(cluster: &Cluster, id: Option<&str>) -> Result<Removed, KubeError> {
    let selector = selector(id);
    let mut removed = Removed::default();
    for name in listed::<Job>(cluster, &selector) {
        cluster.delete::<Job>(&name)?;
        removed.objects.push(format!("Job {name}"));
    }
    for name in listed::<DaemonSet>(cluster, &selector) {
        cluster.delete::<DaemonSet>(&name)?;
        removed.objects.push(format!("DaemonSet {name}"));
    }
    let sets: Vec<StatefulSet> = cluster.list(&selector)?;
    for set in sets {
        let name = set.metadata.name.unwrap_or_default();
        cluster.delete::<StatefulSet>(&name)?;
        removed.objects.push(format!("StatefulSet {name}"));
    }
    // Those that were kept are owned by nothing; and clusters before 1.27 do not know the policy.
    for claim in cluster.list::<PersistentVolumeClaim>(&selector)? {
        let name = claim.metadata.name.unwrap_or_default();
        cluster.delete::<PersistentVolumeClaim>(&name)?;
        removed.objects.push(format!("PersistentVolumeClaim {name}"));
    }
    for anchor in cluster.list::<ConfigMap>(&selector)? {
        let name = anchor.metadata.name.unwrap_or_default();
        cluster.delete::<ConfigMap>(&name)?;
        removed.objects.push(format!("ConfigMap {name}"));
    }
    let until = Instant::now() + GONE_WITHIN;
    loop {
        removed.left.clear();
        if !found(cluster, id, &mut removed.left)? || Instant::now() > until {
            return Ok(removed);
        }
        std::thread::sleep(LOOK);
    }
}

/// The runs that have left something in the namespace.
///
/// # Errors
/// [`KubeError`].
pub fn runs(cluster: &Cluster) -> Result<Vec<String>, KubeError> {
    let anchors: Vec<ConfigMap> = cluster.list(&selector(None))?;
    let id = |anchor: ConfigMap| anchor.metadata.labels.and_then(|labels| labels.get(RUN_LABEL).cloned());
    Ok(anchors.into_iter().filter_map(id).collect())
}
