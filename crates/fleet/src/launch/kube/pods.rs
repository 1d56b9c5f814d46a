//! The launcher itself: pods that are made when the plan is known, and streams to them.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};

use assay_results::event::LostReason;
use assay_workload::Workload;
use assay_workload::host::Host;
use assay_workload::resolve::Inventory;
use assay_workload::target::TargetKind;
use assay_workload::units::Bytes;

use super::targets::{check, real};
use crate::error::FleetError;
use crate::kube::access::Need;
use crate::kube::cluster::Cluster;
use crate::kube::error::KubeError;
use crate::kube::forward::Said;
use crate::kube::manifests::{volume_directory, volume_path};
use crate::kube::options::VolumeMode;
use crate::kube::run::KubeRun;
use crate::kube::{Options, Say};
use crate::launch::{Connection, Launcher, Peer, Place, Setting};

/// A volume may be larger than asked for by what its storage rounds up to.
const ROUNDING_BYTES: u64 = 1 << 30;

/// Workers in pods.
#[derive(Debug)]
pub struct Pods {
    count: usize,
    options: Options,
    needs: Vec<Need>,
    stop: Arc<AtomicBool>,
    say: Say,
    /// From when they are made on. Shared with those that look at the cluster meanwhile.
    run: Arc<OnceLock<KubeRun>>,
}

impl Pods {
    /// As many workers; nothing is made yet.
    pub fn new(count: usize, options: Options, setting: &Setting) -> Self {
        let (stop, say) = (Arc::clone(&setting.stop), setting.say.clone());
        let network = options.pod_network.map(|_| Need::PodNetwork);
        let needs = [Need::Run].into_iter().chain(network).collect();
        Pods { count, options, needs, stop, say, run: Arc::default() }
    }

    /// The same where something else is done in the cluster, too, so that its permissions are looked at beforehand.
    #[must_use]
    pub fn needing(mut self, need: Need) -> Self {
        self.needs.push(need);
        self
    }

    /// The run, once there is one: what holds it has to be dropped before the objects go.
    pub fn run(&self) -> Arc<OnceLock<KubeRun>> {
        Arc::clone(&self.run)
    }

    fn place(&self, workload: &Workload, pod: &str) -> Place {
        let Options { mode, volumes, .. } = self.options;
        let mut paths = BTreeMap::new();
        for (number, target) in (0..).zip(real(workload)) {
            let volume = volume_path(mode, number % volumes);
            match mode {
                VolumeMode::Block => drop(paths.insert(target.name.clone(), volume)),
                VolumeMode::Filesystem if volumes > 1 => {
                    paths.insert(target.name.clone(), format!("{volume}/{}", target.path));
                }
                VolumeMode::Filesystem => {}
            }
        }
        Place {
            host: Host { paths, ..Host::new(pod) },
            directory: PathBuf::from(volume_directory(&self.options)),
        }
    }

    fn connect(&self, place: &Place) -> io::Result<Connection> {
        let run = self.run.get().ok_or(io::ErrorKind::NotConnected)?;
        let pod = run.pods.iter().find(|pod| pod.name == place.host.name).ok_or(io::ErrorKind::NotFound)?;
        let said = Said::default();
        let connection = Connection::of_stream(run.stream(pod, &said)?)?;
        Ok(Connection { peer: Box::new(Forward { said }), ..connection })
    }
}

/// What is known of a stream that was forwarded.
#[derive(Debug)]
struct Forward {
    said: Said,
}

impl Peer for Forward {
    fn why_ended(&mut self) -> Option<LostReason> {
        let words = self.said.words();
        Some(if words.is_empty() {
            LostReason::ConnectionClosed
        } else {
            LostReason::Failed { error: words }
        })
    }
}

impl Launcher for Pods {
    fn set_up(&self, workload: &Workload) -> Result<(), FleetError> {
        check(workload, &self.options).map_err(FleetError::Targets)?;
        let failed = |error: KubeError| match error {
            KubeError::Stopped => FleetError::Stopped,
            error => FleetError::Kube(Box::new(error)),
        };
        let Options { context, namespace, .. } = &self.options;
        let cluster = Cluster::connect(context.as_deref(), namespace.as_deref(), Arc::clone(&self.stop))
            .map_err(failed)?;
        let run = KubeRun::begin(cluster, self.options.clone(), self.count, &self.needs, self.say.clone());
        // Set once, before anything else is asked of the launcher.
        let _ = self.run.set(run.map_err(failed)?);
        Ok(())
    }

    fn places(&self, workload: &Workload) -> Vec<Place> {
        let pods = self.run.get().map_or(&[][..], |run| &run.pods);
        pods.iter().map(|pod| self.place(workload, &pod.name)).collect()
    }

    fn start(&self, place: &Place) -> io::Result<Connection> {
        self.connect(place)
    }

    fn reconnects(&self) -> bool {
        true
    }

    fn reconnect(&self, place: &Place) -> io::Result<Connection> {
        let run = self.run.get().ok_or(io::ErrorKind::NotConnected)?;
        let pod = run.pods.iter().find(|pod| pod.name == place.host.name).ok_or(io::ErrorKind::NotFound)?;
        match run.what_became(pod) {
            // One that was made again has other contents in memory, and maybe another node.
            Ok(Some(gone)) => Err(io::Error::new(io::ErrorKind::NotFound, gone)),
            Ok(None) => self.connect(place),
            Err(error) => Err(io::Error::other(error.to_string())),
        }
    }

    fn check(&self, worker: &str, found: &Inventory) -> Result<(), String> {
        let devices = found.targets.iter().filter(|(_, facts)| facts.kind == TargetKind::BlockDevice);
        let Some(run) = self.run.get() else { return Ok(()) };
        let number = run.pods.iter().position(|pod| pod.name == worker).unwrap_or_default();
        let volumes = run.volumes(number).map_err(|error| error.to_string())?;
        for (_, facts) in devices {
            let index = volumes
                .iter()
                .zip(0..)
                .find(|(_, index)| volume_path(VolumeMode::Block, *index) == facts.path);
            let Some((volume, _)) = index else {
                return Err(format!("{} is no volume of the worker", facts.path));
            };
            fits(facts.existing_bytes, volume.bytes, &volume.claim, &facts.path)?;
        }
        if self.options.mode == VolumeMode::Block
            && let Some((name, _)) = found.targets.iter().find(|(_, facts)| facts.kind == TargetKind::File)
        {
            return Err(format!("target '{name}' is a file there, and its volume is a block device"));
        }
        Ok(())
    }

    fn consent(&self) -> Vec<PathBuf> {
        // They were made for the run. What they carry all the same is refused as anywhere.
        let volumes = if self.options.mode == VolumeMode::Block { self.options.volumes } else { 0 };
        (0..volumes).map(|index| PathBuf::from(volume_path(VolumeMode::Block, index))).collect()
    }

    fn notes(&self) -> Vec<(String, String)> {
        self.run.get().map_or_else(Vec::new, KubeRun::notes)
    }
}

/// Refuses a device that is not of the size of its claim: it is another one.
fn fits(device: u64, claim: Option<u64>, name: &str, path: &str) -> Result<(), String> {
    let Some(claim) = claim else { return Ok(()) };
    if (claim..=claim + ROUNDING_BYTES.max(claim / 20)).contains(&device) {
        Ok(())
    } else {
        Err(format!(
            "{path} has {}, and its claim {name} {}: it is not the volume that was asked for",
            Bytes(device),
            Bytes(claim)
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_of_another_size_is_another_device() {
        let claim = Some(10 << 30);
        assert_eq!(fits(10 << 30, claim, "c", "/assay/block0"), Ok(()));
        assert_eq!(fits((10 << 30) + (1 << 29), claim, "c", "/assay/block0"), Ok(()));
        for device in [(10 << 30) - 512, 480 << 30, 0] {
            let why = fits(device, claim, "data0-assay-t-0", "/assay/block0").expect_err("another");
            assert!(why.contains("not the volume that was asked for"), "{why}");
        }
    }
}
