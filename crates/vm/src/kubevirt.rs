//! Virtual machines of KubeVirt (kubevirt.io/v1) with the same image, as a document to be applied.

use serde_json::{Value, json};

/// What is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Machines {
    /// What they are called; each has a number behind it.
    pub name: String,
    /// Their namespace.
    pub namespace: String,
    /// How many.
    pub number: u32,
    /// Virtual processors of each.
    pub cpus: u32,
    /// Bytes of memory of each.
    pub memory: u64,
    /// Disks of each that are tested.
    pub disks: u32,
    /// Bytes of each disk.
    pub disk_bytes: u64,
    /// The storage class of the disks; empty: the cluster's default.
    pub storage_class: String,
    /// The container image with the kernel and the initial file system in `/boot`.
    pub image: String,
    /// The words for the kernel.
    pub words: String,
}

/// The machines, each on a node of its own as far as there are enough nodes, each disk a block volume of its own.
pub fn machines(of: &Machines) -> Vec<Value> {
    (1..=of.number).map(|number| machine(of, &format!("{}-{number}", of.name))).collect()
}

/// As a stream of documents that `kubectl apply -f -` takes: JSON is YAML.
pub fn documents(of: &Machines) -> String {
    let document = |value: Value| format!("---\n{value:#}\n");
    machines(of).into_iter().map(document).collect()
}

fn machine(of: &Machines, name: &str) -> Value {
    let volume = |number: u32| format!("{name}-data-{number}");
    let templates: Vec<Value> = (1..=of.disks)
        .map(|number| {
            let mut storage = json!({
                "accessModes": ["ReadWriteOnce"],
                "volumeMode": "Block",
                "resources": {"requests": {"storage": of.disk_bytes.to_string()}},
            });
            if !of.storage_class.is_empty() {
                storage["storageClassName"] = json!(of.storage_class);
            }
            json!({"metadata": {"name": volume(number)}, "spec": {"source": {"blank": {}}, "storage": storage}})
        })
        .collect();
    let disks: Vec<Value> = (1..=of.disks)
        .map(|number| {
            json!({"name": format!("data-{number}"), "disk": {"bus": "virtio"}, "cache": "none", "io": "native"})
        })
        .collect();
    let volumes: Vec<Value> = (1..=of.disks)
        .map(|number| json!({"name": format!("data-{number}"), "dataVolume": {"name": volume(number)}}))
        .collect();
    let labels = json!({"app.kubernetes.io/managed-by": "assay", "app.kubernetes.io/name": of.name});
    let spread = json!([{
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": labels},
    }]);
    let boot = json!({
        "container": {"image": of.image, "kernelPath": "/boot/vmlinuz", "initrdPath": "/boot/initramfs"},
        "kernelArgs": of.words,
    });
    json!({
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachine",
        "metadata": {"name": name, "namespace": of.namespace, "labels": labels},
        "spec": {
            "runStrategy": "RerunOnFailure",
            "dataVolumeTemplates": templates,
            "template": {
                "metadata": {"labels": labels},
                "spec": {
                    "domain": {
                        "firmware": {"kernelBoot": boot},
                        "cpu": {"cores": of.cpus},
                        "memory": {"guest": of.memory.to_string()},
                        "devices": {"disks": disks, "autoattachGraphicsDevice": false},
                        "resources": {},
                    },
                    "topologySpreadConstraints": spread,
                    "volumes": volumes,
                },
            },
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_machine_has_disks_of_its_own() {
        let of = Machines {
            name: "assay".to_owned(),
            namespace: "bench".to_owned(),
            number: 3,
            cpus: 4,
            memory: 8 << 30,
            disks: 8,
            disk_bytes: 10 << 30,
            storage_class: "fast".to_owned(),
            image: "registry.example/assay-vm:1".to_owned(),
            words: "console=ttyS0 assay.run=suite".to_owned(),
        };
        let all = machines(&of);
        assert_eq!(all.len(), 3);
        let spec = &all[2]["spec"];
        assert_eq!(spec["dataVolumeTemplates"].as_array().map(Vec::len), Some(8));
        assert_eq!(spec["dataVolumeTemplates"][7]["metadata"]["name"], "assay-3-data-8");
        let devices = &spec["template"]["spec"]["domain"]["devices"]["disks"];
        let volumes = &spec["template"]["spec"]["volumes"];
        assert_eq!(devices[7]["name"], volumes[7]["name"]);
        assert_eq!(volumes[7]["dataVolume"]["name"], "assay-3-data-8");
        assert_eq!(documents(&of).matches("---").count(), 3);
        let own = Machines { storage_class: String::new(), ..of };
        assert!(
            machines(&own)[0]["spec"]["dataVolumeTemplates"][0]["spec"]["storage"]
                .get("storageClassName")
                .is_none()
        );
    }
}
