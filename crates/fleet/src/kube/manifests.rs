//! The objects of a run. One ConfigMap owns all others, so that removing it removes them; workers have no privilege, no API token and no
//! port that is reachable from outside their pod.

use std::net::SocketAddr;

use assay_workload::units::Bytes;
use serde_json::{Map, Value, json};

use super::cluster::workers_id;
pub use super::options::Owner;
use super::options::{Options, Spread, VolumeMode};

/// The label of all objects of a run.
pub const RUN_LABEL: &str = "assay/run";
/// The label of everything that Assay makes.
pub const MANAGED_LABEL: &str = "app.kubernetes.io/managed-by";
/// Its value.
pub const MANAGED_BY: &str = "assay";
/// What an object is of a run.
pub const PART_LABEL: &str = "app.kubernetes.io/component";
/// What workers are of it.
pub const WORKER: &str = "worker";
/// What a coordinator in the cluster is of it.
pub const COORDINATOR: &str = "coordinator";
/// Set to `NAME:UID` in the pod of a coordinator: the ConfigMap that is to own what it makes.
pub const OWNER_VARIABLE: &str = "ASSAY_KUBE_OWNER";
/// Where its plan is.
const PLAN: &str = "/assay/plan";
/// It removes its workers before it ends.
const COORDINATOR_GRACE_S: u32 = 90;
/// The container of a worker.
pub const CONTAINER: &str = "worker";
/// The port of a worker, on the loopback of its pod.
pub const PORT: u16 = 7411;
/// The port of a coordinator's pod that workers come to over the pod network: always the same, so that a NetworkPolicy can allow it.
pub const JOIN_PORT: u16 = 7413;
/// Set to the address of that pod.
pub const ADDRESS_VARIABLE: &str = "ASSAY_POD_IP";
/// Where everything of ours is in a pod. Outside of /dev: in a privileged container the device path of a volume is
/// ignored, and a name below /dev may be a disk of the node (kubernetes/kubernetes#85624).
pub const ROOT: &str = "/assay";
/// What a program may be asked to end within, seconds.
const GRACE_S: u32 = 10;
/// For what the program keeps itself.
const HOME: &str = "/assay/home";

/// What a coordinator in the cluster is to do.
#[derive(Debug, Clone, Copy)]
pub struct Errand<'e> {
    /// The service account that it has.
    pub account: &'e str,
    /// The name of the file with the plan: letters, digits, `-`, `_` and `.`.
    pub file: &'e str,
    /// The plan.
    pub text: &'e str,
    /// More words for `assay kube run`.
    pub words: &'e [String],
}

/// What the objects of one run have in common.
#[derive(Debug, Clone)]
pub struct Objects<'o> {
    /// The name that all begin with: `assay-ID`.
    pub name: String,
    /// The namespace.
    pub namespace: String,
    /// Workers.
    pub workers: usize,
    /// What was asked for.
    pub options: &'o Options,
}

/// Where the i-th volume of a worker is, in a pod.
pub fn volume_path(mode: VolumeMode, index: u32) -> String {
    match mode {
        VolumeMode::Filesystem => format!("{ROOT}/volume{index}"),
        VolumeMode::Block => format!("{ROOT}/block{index}"),
    }
}

/// A size as Kubernetes writes it.
fn quantity(size: Bytes) -> String {
    for (shift, unit) in [(40, "Ti"), (30, "Gi"), (20, "Mi"), (10, "Ki")] {
        if size.0.is_multiple_of(1 << shift) {
            return format!("{}{unit}", size.0 >> shift);
        }
    }
    size.0.to_string()
}

fn member(object: &mut Value, name: &str, value: Value) {
    if let Some(members) = object.as_object_mut() {
        members.insert(name.to_owned(), value);
    }
}

impl Objects<'_> {
    /// The name that the run's objects are told by.
    pub fn id(&self) -> &str {
        self.name.strip_prefix("assay-").unwrap_or(&self.name)
    }

    fn labels(&self, part: &str) -> Value {
        json!({
            "app.kubernetes.io/name": "assay", MANAGED_LABEL: MANAGED_BY, PART_LABEL: part, RUN_LABEL: self.id(),
        })
    }

    fn meta(&self, name: &str, part: &str, owner: Option<&Owner>) -> Value {
        let mut meta = json!({ "name": name, "namespace": self.namespace, "labels": self.labels(part) });
        if let Some(Owner { name, uid }) = owner {
            let owner = json!({ "apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": uid });
            member(&mut meta, "ownerReferences", json!([owner]));
        }
        meta
    }

    /// The ConfigMap that owns the run's objects.
    pub fn anchor(&self) -> Value {
        json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": self.meta(&self.name, "run", self.options.owner.as_ref()),
            "data": { "run": self.id(), "remove": format!("assay kube cleanup --run {}", self.id()) },
        })
    }

    /// The anchor of a run that is coordinated in the cluster, with its plan.
    pub fn errand(&self, errand: &Errand<'_>) -> Value {
        let mut anchor = self.anchor();
        member(&mut anchor["data"], errand.file, json!(errand.text));
        anchor
    }

    /// The Job of the coordinator.
    pub fn coordinator(&self, owner: &Owner, errand: &Errand<'_>) -> Value {
        let (options, labels) = (self.options, self.labels(COORDINATOR));
        let mut command: Vec<String> =
            ["/assay/bin/assay", "worker", "--coordinate"].map(str::to_owned).into();
        command.extend([PORT.to_string(), "--".to_owned(), "kube".to_owned(), "run".to_owned()]);
        command.push(format!("{PLAN}/{}", errand.file));
        command.extend_from_slice(errand.words);
        command
            .extend([format!("--namespace={}", self.namespace), format!("--id={}", workers_id(self.id()))]);
        let container = json!({
            "name": COORDINATOR, "image": options.image, "imagePullPolicy": options.pull.name(), "command": command,
            "env": [
                { "name": "HOME", "value": HOME }, { "name": "ASSAY_RUNS", "value": format!("{HOME}/runs") },
                { "name": OWNER_VARIABLE, "value": format!("{}:{}", owner.name, owner.uid) },
                { "name": ADDRESS_VARIABLE, "valueFrom": { "fieldRef": { "fieldPath": "status.podIP" } } },
            ],
            "workingDir": HOME, "securityContext": security(options),
            "volumeMounts": [{ "name": "home", "mountPath": HOME }, { "name": "plan", "mountPath": PLAN, "readOnly": true }],
        });
        let mut spec = json!({
            "serviceAccountName": errand.account, "restartPolicy": "Never", "enableServiceLinks": false,
            "terminationGracePeriodSeconds": COORDINATOR_GRACE_S, "containers": [container],
            "volumes": [{ "name": "home", "emptyDir": {} }, { "name": "plan", "configMap": { "name": self.name } }],
        });
        user(&mut spec, options);
        tolerate(&mut spec, options);
        json!({
            "apiVersion": "batch/v1", "kind": "Job", "metadata": self.meta(&self.name, COORDINATOR, Some(owner)),
            "spec": { "backoffLimit": 0, "template": { "metadata": { "labels": labels }, "spec": spec } },
        })
    }

    /// The Secret with what workers join with over the pod network.
    pub fn ticket(&self, owner: &Owner, text: &str) -> Value {
        json!({
            "apiVersion": "v1", "kind": "Secret", "type": "Opaque", "immutable": true,
            "metadata": self.meta(&self.name, WORKER, Some(owner)), "stringData": { "join": text },
        })
    }

    /// The name of the i-th worker's pod.
    pub fn pod(&self, index: usize) -> String {
        format!("{}-{index}", self.name)
    }

    /// The StatefulSet of the workers, with their volumes.
    pub fn workers(&self, owner: Option<&Owner>) -> Value {
        let (options, labels) = (self.options, self.labels(WORKER));
        let selector = json!({ RUN_LABEL: self.id(), PART_LABEL: WORKER });
        let mut spec = json!({
            "automountServiceAccountToken": false,
            "enableServiceLinks": false,
            "terminationGracePeriodSeconds": GRACE_S,
            "containers": [self.container()],
            "volumes": [{ "name": "home", "emptyDir": {} }],
        });
        user(&mut spec, options);
        place(&mut spec, options);
        if let Some(constraints) = spread(options.spread, &selector) {
            member(&mut spec, "topologySpreadConstraints", constraints);
        }
        let templates: Vec<Value> = (0..options.volumes).map(|index| self.claim(index)).collect();
        // What a run needs again is kept; else the volumes go with the workers.
        let retention =
            json!({ "whenDeleted": if options.keep { "Retain" } else { "Delete" }, "whenScaled": "Retain" });
        json!({
            "apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": self.meta(&self.name, WORKER, owner),
            "spec": {
                "replicas": self.workers, "serviceName": self.name, "podManagementPolicy": "Parallel",
                "selector": { "matchLabels": selector },
                "persistentVolumeClaimRetentionPolicy": retention,
                "template": { "metadata": { "labels": labels }, "spec": spec },
                "volumeClaimTemplates": templates,
            },
        })
    }

    fn container(&self) -> Value {
        let options = self.options;
        let mut command = vec!["/assay/bin/assay".to_owned(), "worker".to_owned()];
        command.extend(match options.pod_network {
            None => ["--loopback".to_owned(), PORT.to_string()],
            Some(ip) => {
                ["--name=$(ASSAY_POD)".to_owned(), format!("--join={}", SocketAddr::new(ip, JOIN_PORT))]
            }
        });
        let mut mounts = vec![json!({ "name": "home", "mountPath": HOME })];
        let mut devices = Vec::new();
        for index in 0..options.volumes {
            let path = volume_path(options.mode, index);
            command.extend([
                format!("--{}", if options.mode == VolumeMode::Block { "block" } else { "volume" }),
                path.clone(),
            ]);
            match options.mode {
                VolumeMode::Filesystem => {
                    mounts.push(json!({ "name": claim_name(index), "mountPath": path }))
                }
                VolumeMode::Block => devices.push(json!({ "name": claim_name(index), "devicePath": path })),
            }
        }
        let node =
            json!({ "name": "ASSAY_NODE", "valueFrom": { "fieldRef": { "fieldPath": "spec.nodeName" } } });
        let mut variables = vec![node, json!({ "name": "HOME", "value": HOME })];
        if options.pod_network.is_some() {
            let name = json!({ "fieldRef": { "fieldPath": "metadata.name" } });
            variables.push(json!({ "name": "ASSAY_POD", "valueFrom": name }));
            let secret = json!({ "secretKeyRef": { "name": self.name, "key": "join" } });
            variables.push(json!({ "name": "ASSAY_JOIN", "valueFrom": secret }));
        }
        let mut container = json!({
            "name": CONTAINER, "image": options.image, "imagePullPolicy": options.pull.name(), "command": command,
            "env": variables,
            "workingDir": volume_directory(options), "volumeMounts": mounts,
            "securityContext": security(options),
        });
        if !devices.is_empty() {
            member(&mut container, "volumeDevices", Value::Array(devices));
        }
        let wanted: Map<String, Value> = [("cpu", &options.cpu), ("memory", &options.memory)]
            .into_iter()
            .filter_map(|(name, value)| Some((name.to_owned(), Value::String(value.clone()?))))
            .collect();
        if !wanted.is_empty() {
            member(&mut container, "resources", json!({ "requests": wanted, "limits": wanted }));
        }
        container
    }

    fn claim(&self, index: u32) -> Value {
        let options = self.options;
        let mut spec = json!({
            "accessModes": ["ReadWriteOnce"], "volumeMode": options.mode.name(),
            "resources": { "requests": { "storage": quantity(options.size) } },
        });
        if let Some(class) = &options.storage_class {
            member(&mut spec, "storageClassName", json!(class));
        }
        json!({ "metadata": { "name": claim_name(index), "labels": self.labels("volume") }, "spec": spec })
    }

    /// A DaemonSet that writes back and drops the page caches of the nodes that have these names. It is the one object with a privilege, made
    /// only when it is asked for and removed at once: the setting is the node's, and of no namespace.
    pub fn cache_dropper(&self, name: &str, nodes: &[String], owner: Option<&Owner>) -> Value {
        let selector = json!({ RUN_LABEL: self.id(), PART_LABEL: name });
        let terms: Vec<Value> = nodes
            .iter()
            .map(|node| json!({ "matchFields": [{ "key": "metadata.name", "operator": "In", "values": [node] }] }))
            .collect();
        let mut wait = json!({
            "name": "done", "image": self.options.image, "imagePullPolicy": self.options.pull.name(),
            "command": ["/assay/bin/assay", "worker", "--loopback", PORT.to_string()],
            "securityContext": { "allowPrivilegeEscalation": false, "capabilities": { "drop": ["ALL"] } },
        });
        let mut drop = wait.clone();
        member(&mut drop, "name", json!("drop"));
        member(
            &mut drop,
            "command",
            json!(["/assay/bin/assay", "worker", "--drop-caches", "/dev/termination-log"]),
        );
        member(&mut drop, "securityContext", json!({ "privileged": true, "runAsUser": 0 }));
        member(&mut wait, "resources", json!({ "requests": { "cpu": "1m", "memory": "32Mi" } }));
        let mut spec = json!({
            "automountServiceAccountToken": false, "enableServiceLinks": false, "terminationGracePeriodSeconds": 0,
            "initContainers": [drop], "containers": [wait],
            "affinity": { "nodeAffinity": { "requiredDuringSchedulingIgnoredDuringExecution": { "nodeSelectorTerms": terms } } },
        });
        tolerate(&mut spec, self.options);
        json!({
            "apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": self.meta(&format!("{}-{name}", self.name), name, owner),
            "spec": {
                "selector": { "matchLabels": selector },
                "template": { "metadata": { "labels": self.labels(name) }, "spec": spec },
            },
        })
    }
}

/// The directory that relative paths of targets are in.
pub fn volume_directory(options: &Options) -> String {
    match options.mode {
        VolumeMode::Filesystem => volume_path(VolumeMode::Filesystem, 0),
        VolumeMode::Block => ROOT.to_owned(),
    }
}

fn claim_name(index: u32) -> String {
    format!("data{index}")
}

fn security(options: &Options) -> Value {
    let mut context = json!({
        "privileged": false, "allowPrivilegeEscalation": false, "capabilities": { "drop": ["ALL"] },
    });
    match options.run_as {
        // What the restricted profile of pod security asks for, too.
        Some(1..) => member(&mut context, "seccompProfile", json!({ "type": "RuntimeDefault" })),
        _ => member(&mut context, "runAsUser", json!(0)),
    }
    context
}

/// Which user the pod's programs are.
fn user(spec: &mut Value, options: &Options) {
    if let Some(user) = options.run_as {
        let context =
            json!({ "runAsNonRoot": user > 0, "runAsUser": user, "runAsGroup": user, "fsGroup": user });
        member(spec, "securityContext", context);
    }
}

/// Where pods may be placed.
fn place(spec: &mut Value, options: &Options) {
    if !options.node_selector.is_empty() {
        let labels =
            options.node_selector.iter().map(|label| (label.key.clone(), Value::String(label.value.clone())));
        member(spec, "nodeSelector", Value::Object(labels.collect()));
    }
    tolerate(spec, options);
}

fn tolerate(spec: &mut Value, options: &Options) {
    let toleration = |taint: &super::options::Toleration| {
        let mut toleration = match &taint.value {
            Some(value) => json!({ "key": taint.key, "operator": "Equal", "value": value }),
            None => json!({ "key": taint.key, "operator": "Exists" }),
        };
        if let Some(effect) = &taint.effect {
            member(&mut toleration, "effect", json!(effect));
        }
        toleration
    };
    if !options.tolerations.is_empty() {
        member(spec, "tolerations", options.tolerations.iter().map(toleration).collect());
    }
}

fn spread(spread: Spread, selector: &Value) -> Option<Value> {
    let unsatisfiable = match spread {
        Spread::None => return None,
        Spread::Even => "ScheduleAnyway",
        Spread::Required => "DoNotSchedule",
    };
    Some(json!([{
        "maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": unsatisfiable,
        "labelSelector": { "matchLabels": selector },
    }]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(words: &str, see: impl FnOnce(&Objects<'_>)) {
        let mut options = Options::default();
        options.take(words).expect("options");
        see(&Objects {
            name: "assay-t1".to_owned(),
            namespace: "bench".to_owned(),
            workers: 3,
            options: &options,
        });
    }

    #[test]
    fn workers_have_no_privilege_and_volumes_of_their_own() {
        with(
            "mode=block,volumes=2,size=5Gi,storage-class=fast,cpu=2,memory=1Gi,toleration=a=b:NoSchedule",
            |objects| {
                let owner = Owner { name: "assay-t1".to_owned(), uid: "u1".to_owned() };
                let set = objects.workers(Some(&owner));
                assert_eq!(set["metadata"]["ownerReferences"][0]["uid"], "u1");
                assert_eq!(
                    (&set["spec"]["replicas"], &set["spec"]["podManagementPolicy"]),
                    (&json!(3), &json!("Parallel"))
                );
                let pod = &set["spec"]["template"]["spec"];
                assert_eq!(pod["automountServiceAccountToken"], false);
                let container = &pod["containers"][0];
                assert_eq!(container["securityContext"]["privileged"], false);
                assert_eq!(container["securityContext"]["capabilities"]["drop"], json!(["ALL"]));
                assert_eq!(container["resources"]["requests"], container["resources"]["limits"]);
                assert_eq!(container["volumeDevices"][1]["devicePath"], "/assay/block1");
                assert!(container.get("ports").is_none());
                let claims = set["spec"]["volumeClaimTemplates"].as_array().expect("claims");
                assert_eq!(claims.len(), 2);
                assert_eq!(claims[0]["spec"]["resources"]["requests"]["storage"], "5Gi");
                assert_eq!(claims[0]["spec"]["volumeMode"], "Block");
                assert_eq!(set["spec"]["persistentVolumeClaimRetentionPolicy"]["whenDeleted"], "Delete");
                assert!(!set.to_string().contains("hostPath") && !set.to_string().contains("hostNetwork"));
            },
        );
    }

    #[test]
    fn over_the_pod_network_workers_join_with_what_is_in_a_secret() {
        let mut options = Options::default();
        let set = |options: &Options| {
            let (name, namespace) = ("assay-t1".to_owned(), "bench".to_owned());
            Objects { name, namespace, workers: 1, options }.workers(None)["spec"]["template"]["spec"]["containers"][0].clone()
        };
        assert!(set(&options)["command"].to_string().contains("--loopback"));
        options.pod_network = Some([10, 1, 2, 3].into());
        let worker = set(&options);
        let command = worker["command"].to_string();
        assert!(command.contains("--join=10.1.2.3:7413") && !command.contains("--loopback"), "{command}");
        assert!(
            worker["env"].to_string().contains(r#""secretKeyRef":{"key":"join","name":"assay-t1"}"#),
            "{worker}"
        );
    }

    #[test]
    fn spread_and_the_user_are_as_asked() {
        with("spread=required,run-as=1000,keep,node-selector=disk=nvme", |objects| {
            let set = objects.workers(None);
            let pod = &set["spec"]["template"]["spec"];
            assert_eq!(pod["topologySpreadConstraints"][0]["whenUnsatisfiable"], "DoNotSchedule");
            assert_eq!(pod["securityContext"]["runAsNonRoot"], true);
            assert_eq!(pod["containers"][0]["securityContext"]["seccompProfile"]["type"], "RuntimeDefault");
            assert_eq!(pod["nodeSelector"]["disk"], "nvme");
            assert_eq!(set["spec"]["persistentVolumeClaimRetentionPolicy"]["whenDeleted"], "Retain");
        });
        with("spread=none", |objects| {
            assert!(!objects.workers(None).to_string().contains("topologySpread"));
        });
    }

    #[test]
    fn caches_are_dropped_on_the_nodes_of_the_workers_alone() {
        with("", |objects| {
            let set = objects.cache_dropper("drop1", &["n1".to_owned(), "n2".to_owned()], None);
            let pod = &set["spec"]["template"]["spec"];
            let terms = &pod["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"];
            assert_eq!(terms.as_array().map(Vec::len), Some(2));
            assert_eq!(terms[1]["matchFields"][0]["values"], json!(["n2"]));
            assert_eq!(pod["initContainers"][0]["securityContext"]["privileged"], true);
            assert!(pod["containers"][0]["securityContext"].get("privileged").is_none());
            assert!(pod.get("hostPID").is_none() && pod.get("hostNetwork").is_none());
        });
    }

    #[test]
    fn sizes_are_as_kubernetes_writes_them() {
        assert_eq!(quantity(Bytes(20 << 30)), "20Gi");
        assert_eq!(quantity(Bytes(1536 << 20)), "1536Mi");
        assert_eq!(quantity(Bytes(1_000_000_000)), "1000000000");
    }
}
