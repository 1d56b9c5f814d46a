//! Workers that come to their coordinator over the pod network, where it runs in the cluster and is asked to: by mutual TLS with certificates
//! made for the run, as workers of `attach:` do. The API server carries none of it then, and a port of the coordinator's pod is open.

use std::net::{IpAddr, SocketAddr};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::Secret;

use super::cluster::Cluster;
use super::error::KubeError;
use super::manifests::{JOIN_PORT, Objects};
use super::options::Owner;
use super::pods::Running;
use crate::attach::{Authority, Door};

/// How often it is looked who has joined.
const LOOK: Duration = Duration::from_millis(100);
/// How long one try to have a worker, or to have it again, waits.
const TAKE_WITHIN: Duration = Duration::from_secs(2);

/// The open port, and what workers join with.
#[derive(Debug)]
pub(super) struct PodNetwork {
    door: Door,
}

impl PodNetwork {
    /// Opens the port, and makes the Secret with what workers need.
    ///
    /// # Errors
    /// [`KubeError`].
    pub(super) fn open(
        cluster: &Cluster,
        objects: &Objects<'_>,
        owner: &Owner,
        address: IpAddr,
    ) -> Result<Self, KubeError> {
        let address = SocketAddr::new(address, JOIN_PORT);
        let refused = |error: std::io::Error| KubeError::Refused {
            doing: format!("listen on {address}"),
            why: error.to_string(),
        };
        let authority = Authority::new().map_err(refused)?;
        let door = Door::open(address, objects.workers, &authority).map_err(refused)?;
        let _: Secret = cluster.create(&objects.ticket(owner, &authority.ticket.to_text()))?;
        Ok(PodNetwork { door })
    }

    /// Waits until all have joined.
    ///
    /// # Errors
    /// [`KubeError::Late`] with those that have not.
    pub(super) fn await_all(
        &self,
        cluster: &Cluster,
        pods: &[Running],
        limit: Duration,
    ) -> Result<(), KubeError> {
        let until = Instant::now() + limit;
        loop {
            let joined = self.door.joined();
            let missing: Vec<&str> = pods
                .iter()
                .map(|pod| pod.name.as_str())
                .filter(|name| joined.iter().all(|(_, joined)| joined != name))
                .collect();
            let Some(first) = missing.first() else { return Ok(()) };
            if Instant::now() > until {
                let what = format!(
                    "joining over the pod network ({first}, {} of {} workers; a NetworkPolicy may forbid port {JOIN_PORT})",
                    missing.len(),
                    pods.len()
                );
                return Err(KubeError::Late { what, after: limit });
            }
            cluster.pause(LOOK)?;
        }
    }

    /// The stream to the worker of a pod, as it came, or came again.
    pub(super) fn stream(&self, pod: &str) -> std::io::Result<UnixStream> {
        let joined = self.door.joined();
        let (id, _) = joined.iter().find(|(_, name)| name == pod).ok_or(std::io::ErrorKind::NotFound)?;
        self.door.take(id, TAKE_WITHIN)
    }

    /// What a result says of it.
    pub(super) fn note(&self) -> String {
        format!(
            "workers came over the pod network by mutual TLS; {} was open to it during the run",
            self.door.address
        )
    }
}
