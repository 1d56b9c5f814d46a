//! A coordinator in the cluster: a Job whose pod carries a plan out on workers of its own, and keeps the run until it was fetched. For
//! hundreds of pods, whose streams then end in the cluster, and for runs that outlive the connection of the user.

use std::io::{self, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use assay_results::store::BUNDLE_BYTES_MAX;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{ConfigMap, Pod};

use super::Say;
use super::access::Need;
use super::cluster::Cluster;
use super::error::KubeError;
use super::forward::Said;
use super::manifests::{COORDINATOR, Errand, Objects, Owner};
use super::options::Options;
use super::pods::{self, Running};
use super::run::{fresh_id, remove};
use crate::coordinate::{Ended, Follower, STOP};

/// How often it is looked whether the user wants to stop.
const LOOK: Duration = Duration::from_millis(200);
/// Between two streams.
const AGAIN: Duration = Duration::from_secs(1);
/// A coordinator that tells nothing for so long cannot be followed any more; it tells something every few seconds.
const SILENCE: Duration = Duration::from_secs(120);

/// A coordinator that runs.
#[derive(Debug)]
pub struct Coordinator {
    cluster: Cluster,
    id: String,
    pod: Running,
}

impl Coordinator {
    /// Makes its objects, and waits until its pod runs. What was made goes where that fails.
    ///
    /// # Errors
    /// [`KubeError`].
    pub fn begin(
        cluster: Cluster,
        options: &Options,
        errand: &Errand<'_>,
        say: &Say,
    ) -> Result<Self, KubeError> {
        cluster.check_permissions(&[Need::Run, Need::InCluster])?;
        let id = options.id.clone().unwrap_or_else(fresh_id);
        let objects = Self::objects(&cluster, &id, options);
        let anchor: ConfigMap = cluster.create(&objects.errand(errand))?;
        let owner = Owner { name: objects.name.clone(), uid: anchor.metadata.uid.unwrap_or_default() };
        say.say(&format!(
            "run {id}: its coordinator is in namespace {}; 'assay kube collect {id}' follows it from anywhere",
            cluster.namespace()
        ));
        let started = cluster
            .create::<Job>(&objects.coordinator(&owner, errand))
            .and_then(|_| pods::wait_running(&cluster, &objects, COORDINATOR, &|text| say.say(text)));
        match started.map(|pods| pods.into_iter().next()) {
            Ok(Some(pod)) => Ok(Coordinator { cluster, id, pod }),
            failed => {
                let _ = remove(&cluster, Some(&id));
                Err(failed.err().unwrap_or(KubeError::Gone { what: "the coordinator".to_owned() }))
            }
        }
    }

    /// The one of a run that was begun before.
    ///
    /// # Errors
    /// [`KubeError`]; `Gone`: there is none.
    pub fn find(cluster: Cluster, id: &str, say: &Say) -> Result<Self, KubeError> {
        let options = Options::default();
        let objects = Self::objects(&cluster, id, &options);
        let gone = || KubeError::Gone { what: format!("a coordinator of run '{id}'") };
        if pods::pods_of(&cluster, &objects, COORDINATOR)?.is_empty() {
            return Err(gone());
        }
        // It was begun a moment ago, perhaps, and its node has not said yet that it runs.
        let pods = pods::wait_running(&cluster, &objects, COORDINATOR, &|text| say.say(text))?;
        let pod = pods.into_iter().next().ok_or_else(gone)?;
        Ok(Coordinator { cluster, id: id.to_owned(), pod })
    }

    fn objects<'o>(cluster: &Cluster, id: &str, options: &'o Options) -> Objects<'o> {
        let namespace = cluster.namespace().to_owned();
        Objects { name: format!("assay-{id}"), namespace, workers: 1, options }
    }

    /// The run's name in the cluster.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Passes on what it says until it has ended; `stop` is passed on to it.
    ///
    /// # Errors
    /// [`KubeError`]: it is gone, or cannot be reached. It may still run.
    pub fn follow(&self, stop: &AtomicBool, say: &mut dyn FnMut(&[u8])) -> Result<Ended, KubeError> {
        let mut follower = Follower::new(BUNDLE_BYTES_MAX as usize);
        let mut heard = Instant::now();
        loop {
            let said = Said::default();
            follower.begin();
            let stream = self.cluster.forward(&self.pod, &said).map(UnixStream::from);
            let broke = match stream.and_then(|stream| one(stream, &mut follower, stop, &mut heard, say)) {
                Ok(Some(ended)) => return Ok(ended),
                Ok(None) => said.words(),
                Err(error) => error.to_string(),
            };
            if let Ok(pod) = self.cluster.get::<Pod>(&self.pod.name)
                && let Some(what) = pods::what_became(&self.pod, pod.as_ref())
            {
                return Err(KubeError::Gone { what: format!("the coordinator ({what})") });
            }
            if heard.elapsed() > SILENCE {
                return Err(KubeError::Late {
                    what: format!("the coordinator's answer ({broke})"),
                    after: SILENCE,
                });
            }
            std::thread::sleep(AGAIN);
        }
    }

    /// Removes it, once its run is stored here. Its workers went with its run.
    ///
    /// # Errors
    /// [`KubeError`]; what is left goes with `assay kube cleanup`.
    pub fn dismiss(self) -> Result<(), KubeError> {
        let left = remove(&self.cluster, Some(&self.id))?.left;
        match left.is_empty() {
            true => Ok(()),
            false => Err(KubeError::Late { what: format!("removing {}", left.join(", ")), after: LOOK }),
        }
    }
}

/// Follows one stream to its end; `None`: it broke.
fn one(
    mut stream: UnixStream,
    follower: &mut Follower,
    stop: &AtomicBool,
    heard: &mut Instant,
    say: &mut dyn FnMut(&[u8]),
) -> io::Result<Option<Ended>> {
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(LOOK))?;
    let (mut part, mut told_to_stop) = (vec![0; 64 << 10], false);
    loop {
        if stop.load(Ordering::Relaxed) && !std::mem::replace(&mut told_to_stop, true) {
            stream.write_all(&[STOP])?;
        }
        match stream.read(&mut part) {
            Ok(0) => return Ok(None),
            Ok(got) => {
                *heard = Instant::now();
                let ended = follower.take(&part[..got], say).map_err(io::Error::other)?;
                if ended.is_some() {
                    return Ok(ended);
                }
            }
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                if heard.elapsed() > SILENCE {
                    return Ok(None);
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}
