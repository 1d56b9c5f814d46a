//! What a cluster says of itself: nodes, volumes, storage classes. All of it is told beside results; what may not be read is left out.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Node, PersistentVolume, PersistentVolumeClaim, ResourceQuota};
use k8s_openapi::api::storage::v1::StorageClass;
use kube::Api;
use kube::api::ListParams;

use super::cluster::Cluster;
use super::error::KubeError;
use super::run::KubeRun;

/// The annotation of a cluster's default class.
const IS_DEFAULT: &str = "storageclass.kubernetes.io/is-default-class";
/// The label of a node's zone.
const ZONE: &str = "topology.kubernetes.io/zone";

/// A storage class.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Class {
    /// Its name.
    pub name: String,
    /// What makes its volumes.
    pub provisioner: String,
    /// Whether it is taken where none is named.
    pub is_default: bool,
    /// `Immediate` or `WaitForFirstConsumer`.
    pub binding: String,
    /// `Delete` or `Retain`.
    pub reclaim: String,
    /// Its parameters: replication, type, what the provisioner knows.
    pub parameters: BTreeMap<String, String>,
    /// Options that its volumes are mounted with.
    pub mount_options: Vec<String>,
}

impl From<StorageClass> for Class {
    fn from(class: StorageClass) -> Self {
        let annotations = class.metadata.annotations.unwrap_or_default();
        Class {
            name: class.metadata.name.unwrap_or_default(),
            provisioner: class.provisioner,
            is_default: annotations.get(IS_DEFAULT).is_some_and(|value| value == "true"),
            binding: class.volume_binding_mode.unwrap_or_default(),
            reclaim: class.reclaim_policy.unwrap_or_default(),
            parameters: class.parameters.unwrap_or_default().into_iter().collect(),
            mount_options: class.mount_options.unwrap_or_default(),
        }
    }
}

impl Class {
    /// What it is, in a line.
    pub fn describe(&self) -> String {
        let parameters: Vec<String> =
            self.parameters.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let parameters =
            if parameters.is_empty() { "no parameters".to_owned() } else { parameters.join(", ") };
        let mount = if self.mount_options.is_empty() {
            String::new()
        } else {
            format!(", mount options {}", self.mount_options.join(","))
        };
        let Class { provisioner, binding, reclaim, .. } = self;
        format!("{provisioner}, {parameters}{mount}, {binding}, {reclaim}")
    }
}

/// A node, as far as it matters for what is measured on it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NodeFacts {
    /// Its name.
    pub name: String,
    /// Its zone.
    pub zone: Option<String>,
    /// Kernel, system, container runtime, kubelet.
    pub software: Vec<String>,
    /// Its CPUs and memory.
    pub size: String,
    /// Whether it is ready.
    pub is_ready: bool,
}

impl From<Node> for NodeFacts {
    fn from(node: Node) -> Self {
        let status = node.status.unwrap_or_default();
        let capacity = status.capacity.unwrap_or_default();
        let of =
            |name: &str| capacity.get(name).map_or_else(|| "?".to_owned(), |quantity| quantity.0.clone());
        let info = status.node_info;
        let software = info.map_or_else(Vec::new, |info| {
            vec![info.kernel_version, info.os_image, info.container_runtime_version, info.kubelet_version]
        });
        NodeFacts {
            name: node.metadata.name.unwrap_or_default(),
            zone: node.metadata.labels.and_then(|labels| labels.get(ZONE).cloned()),
            software,
            size: format!("{} CPUs, {}", of("cpu"), of("memory")),
            is_ready: status
                .conditions
                .iter()
                .flatten()
                .any(|one| one.type_ == "Ready" && one.status == "True"),
        }
    }
}

/// A volume of a worker.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct VolumeFacts {
    /// Its claim.
    pub claim: String,
    /// The volume.
    pub volume: String,
    /// Its class.
    pub class: String,
    /// What it can hold, bytes; `None`: it is not said.
    pub bytes: Option<u64>,
    /// What made it, or what it is; `None`: the volume may not be read.
    pub source: Option<String>,
}

/// A quantity of Kubernetes in bytes: `10Gi`, `1500M`, `107374182400`.
pub fn quantity_bytes(text: &str) -> Option<u64> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let number: f64 = text[..end].parse().ok()?;
    let factor = match &text[end..] {
        "" => 1.0,
        "k" => 1e3,
        "M" => 1e6,
        "G" => 1e9,
        "T" => 1e12,
        "Ki" => f64::from(1 << 10),
        "Mi" => f64::from(1 << 20),
        "Gi" => f64::from(1 << 30),
        "Ti" => (1_u64 << 40) as f64,
        _ => return None,
    };
    Some((number * factor) as u64)
}

impl Cluster {
    /// The storage classes.
    ///
    /// # Errors
    /// [`KubeError`], also where they may not be read.
    pub fn classes(&self) -> Result<Vec<Class>, KubeError> {
        let api: Api<StorageClass> = Api::all(self.client.clone());
        let all = self.ask("list storage classes", async { api.list(&ListParams::default()).await })?;
        Ok(all.items.into_iter().map(Class::from).collect())
    }

    /// The nodes.
    ///
    /// # Errors
    /// [`KubeError`], also where they may not be read.
    pub fn nodes(&self) -> Result<Vec<NodeFacts>, KubeError> {
        let api: Api<Node> = Api::all(self.client.clone());
        let all = self.ask("list nodes", async { api.list(&ListParams::default()).await })?;
        Ok(all.items.into_iter().map(NodeFacts::from).collect())
    }

    /// What quotas of the namespace allow and what is used: `requests.storage 10Gi of 100Gi`.
    ///
    /// # Errors
    /// [`KubeError`], also where they may not be read.
    pub fn quotas(&self) -> Result<Vec<String>, KubeError> {
        let api = self.api::<ResourceQuota>();
        let all = self.ask("list quotas", async { api.list(&ListParams::default()).await })?;
        let mut lines = Vec::new();
        for quota in all.items {
            let name = quota.metadata.name.unwrap_or_default();
            let status = quota.status.unwrap_or_default();
            let used = status.used.unwrap_or_default();
            for (what, hard) in status.hard.unwrap_or_default() {
                let used = used.get(&what).map_or("0", |used| &used.0);
                lines.push(format!("{name}: {what} {used} of {}", hard.0));
            }
        }
        Ok(lines)
    }
}

impl KubeRun {
    /// The volumes of a worker, in the order of their numbers.
    ///
    /// # Errors
    /// [`KubeError`].
    pub fn volumes(&self, worker: usize) -> Result<Vec<VolumeFacts>, KubeError> {
        let mut volumes = Vec::new();
        for index in 0..self.options.volumes {
            let claim = format!("data{index}-{}-{worker}", self.name);
            let Some(found) = self.cluster.get::<PersistentVolumeClaim>(&claim)? else { continue };
            let spec = found.spec.unwrap_or_default();
            let capacity = found.status.and_then(|status| status.capacity).unwrap_or_default();
            let volume = spec.volume_name.unwrap_or_default();
            volumes.push(VolumeFacts {
                claim,
                class: spec.storage_class_name.unwrap_or_default(),
                bytes: capacity.get("storage").and_then(|quantity| quantity_bytes(&quantity.0)),
                source: self.source(&volume),
                volume,
            });
        }
        Ok(volumes)
    }

    /// What a volume is made of, where it may be read.
    fn source(&self, volume: &str) -> Option<String> {
        let api: Api<PersistentVolume> = Api::all(self.cluster.client.clone());
        let found = self.cluster.ask("get a volume", async { api.get(volume).await }).ok()?;
        let spec = found.spec?;
        Some(if let Some(csi) = spec.csi {
            format!("{} {}", csi.driver, csi.volume_handle)
        } else if let Some(local) = spec.local {
            format!("local {}", local.path)
        } else if let Some(nfs) = spec.nfs {
            format!("nfs {}:{}", nfs.server, nfs.path)
        } else if let Some(host) = spec.host_path {
            format!("hostPath {}", host.path)
        } else {
            return None;
        })
    }

    /// What a reader of the result should know of where workers were: their pods and nodes, how they are spread, their volumes and the
    /// parameters of the class. What may not be read is said.
    pub fn notes(&self) -> Vec<(String, String)> {
        let note = |text: String| ("kubernetes".to_owned(), text);
        let mut notes = Vec::new();
        for (number, pod) in self.pods.iter().enumerate() {
            let volumes = self.volumes(number).unwrap_or_default();
            let volumes: Vec<String> = volumes
                .iter()
                .map(|one| {
                    let size = one.bytes.map_or_else(String::new, |bytes| {
                        format!(", {}", assay_workload::units::Bytes(bytes))
                    });
                    let source = one.source.as_ref().map_or_else(String::new, |source| format!(", {source}"));
                    format!(
                        "{} of class {}{size}{source}",
                        one.claim,
                        if one.class.is_empty() { "(none)" } else { &one.class }
                    )
                })
                .collect();
            notes.push(note(format!(
                "worker {} runs on node {}; {}",
                pod.name,
                pod.node,
                volumes.join("; ")
            )));
        }
        notes.extend(self.pod_network.as_ref().map(|network| note(network.note())));
        notes.extend(self.spread_note().map(note));
        let class =
            self.volumes(0).ok().and_then(|volumes| volumes.into_iter().next()).map(|volume| volume.class);
        match (class, self.cluster.classes()) {
            (Some(class), Ok(all)) => {
                let known = all.into_iter().find(|one| one.name == class);
                notes.extend(known.map(|one| note(format!("storage class {class}: {}", one.describe()))));
            }
            (_, Err(error)) => {
                notes.push(note(format!("the parameters of the storage class are not known: {error}")))
            }
            (None, Ok(_)) => {}
        }
        notes
    }

    fn spread_note(&self) -> Option<String> {
        let mut by_node: BTreeMap<&str, usize> = BTreeMap::new();
        self.pods.iter().for_each(|pod| *by_node.entry(&pod.node).or_default() += 1);
        spread_words(&by_node, self.pods.len())
    }
}

/// What is to be said of workers that share nodes.
fn spread_words(by_node: &BTreeMap<&str, usize>, workers: usize) -> Option<String> {
    let most = by_node.values().copied().max().unwrap_or(0);
    if workers < 2 || most < 2 {
        return None;
    }
    let words: Vec<String> = by_node.iter().map(|(node, count)| format!("{count} on {node}")).collect();
    Some(format!(
        "{workers} workers share {} nodes ({}): they share CPU, memory and network of a node, and figures are not those of one worker a node",
        by_node.len(),
        words.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_bytes() {
        for (text, bytes) in
            [("10Gi", 10 << 30), ("1500M", 1_500_000_000), ("4096", 4096), ("1.5Gi", 3 << 29)]
        {
            assert_eq!(quantity_bytes(text), Some(bytes), "{text}");
        }
        assert_eq!(quantity_bytes("10 apples"), None);
    }

    #[test]
    fn workers_that_share_a_node_are_told() {
        let uneven = BTreeMap::from([("n1", 3), ("n2", 1)]);
        let words = spread_words(&uneven, 4).expect("they share");
        assert!(words.contains("4 workers share 2 nodes (3 on n1, 1 on n2)"), "{words}");
        assert_eq!(spread_words(&BTreeMap::from([("n1", 1), ("n2", 1)]), 2), None);
    }
}
