//! What is known of the place a run was made in, as titled lists: for a page, a document or a terminal.

use assay_results::Run;
use assay_results::environment::{
    BlockDevice, CgroupLimits, Environment, Machine, Resolution, TargetEnvironment, TargetKind, Turbo,
};

use crate::format;
use crate::terminal::{Mark, Section};

/// Names and values; a value that is not known is left out.
struct Facts(Vec<(String, String, Mark)>);

impl Facts {
    fn add(&mut self, name: &str, value: Option<impl Into<String>>) {
        if let Some(value) = value {
            self.0.push((name.to_owned(), value.into(), Mark::Plain));
        }
    }

    fn section(self, title: impl Into<String>) -> Option<Section> {
        (!self.0.is_empty()).then(|| Section { title: title.into(), rows: self.0 })
    }
}

/// Machine, limits, then each target with its file system and devices.
pub fn environment(environment: &Environment) -> Vec<Section> {
    let mut sections: Vec<Section> = machine(&environment.machine).into_iter().collect();
    sections.extend(limits(&environment.cgroup));
    for target in &environment.targets {
        sections.extend(of_target(target));
        sections.extend(target.devices.iter().filter_map(of_device));
    }
    sections
}

/// What made a run, and how it went.
pub fn provenance(run: &Run) -> Section {
    let mut facts = Facts(Vec::new());
    let commit = run.assay.commit.as_ref().map_or_else(String::new, |commit| format!(", commit {commit}"));
    facts.add("made by", Some(format!("Assay {}{commit}", run.assay.version)));
    facts.add("run", Some(run.id.as_str()));
    facts.add("schema", Some(run.schema.as_str()));
    facts.add("started", Some(run.started.as_str()));
    facts.add("took", Some(format::seconds(run.elapsed_s)));
    facts.add("seed", Some(run.plan.seed.to_string()));
    facts.add("engine", (!run.assay.engine.is_empty()).then_some(run.assay.engine.as_str()));
    facts.add(
        "generator overhead",
        run.assay.overhead_ns_per_io.map(|ns| format!("{} per I/O on the null engine", format::time_ns(ns))),
    );
    facts.add("stopped by", run.error.as_deref());
    Section { title: "Provenance".to_owned(), rows: facts.0 }
}

fn machine(machine: &Machine) -> Option<Section> {
    let mut facts = Facts(Vec::new());
    facts.add("host", machine.hostname.as_deref());
    facts.add("system", machine.os.as_deref());
    facts.add("kernel", machine.kernel_release.as_deref());
    facts.add("architecture", (!machine.arch.is_empty()).then_some(machine.arch.as_str()));
    facts.add("processor", machine.cpu.model.as_deref());
    facts.add("processors online", machine.cpu.online.map(|n| n.to_string()));
    facts.add("processors allowed", machine.cpu.allowed.map(|n| n.to_string()));
    facts.add(
        "frequency governor",
        (!machine.cpu.governors.is_empty()).then(|| machine.cpu.governors.join(", ")),
    );
    facts.add(
        "turbo",
        machine.cpu.turbo.map(|turbo| match turbo {
            Turbo::On => "on",
            Turbo::Off => "off",
        }),
    );
    facts.add("memory", machine.memory.total_bytes.map(format::bytes));
    facts.add("memory available at the start", machine.memory.available_bytes.map(format::bytes));
    let virtualisation = &machine.virtualisation;
    facts.add("hypervisor", virtualisation.hypervisor.as_deref());
    facts.add("platform", virtualisation.platform.as_deref());
    facts.add("container", virtualisation.container.as_deref());
    facts.add("clock", machine.clock.source.as_deref());
    facts.section("Machine")
}

fn limits(cgroup: &CgroupLimits) -> Option<Section> {
    let mut facts = Facts(Vec::new());
    facts.add("processors", cgroup.cpu_quota_cpus.map(format::significant));
    facts.add("processor set", cgroup.cpu_set.as_deref());
    facts.add("memory", cgroup.memory_bytes.map(format::bytes));
    for device in &cgroup.devices {
        let mut parts = Vec::new();
        let mut part =
            |what: &str, value: Option<String>| parts.extend(value.map(|value| format!("{what} {value}")));
        part("read", device.read_bytes_per_s.map(|rate| format::bandwidth(rate as f64)));
        part("write", device.write_bytes_per_s.map(|rate| format::bandwidth(rate as f64)));
        part("read IOPS", device.read_iops.map(format::count));
        part("write IOPS", device.write_iops.map(format::count));
        facts.add(&format!("device {}", device.device), (!parts.is_empty()).then(|| parts.join(", ")));
    }
    facts.section("Limits of the control group")
}

fn of_target(target: &TargetEnvironment) -> Option<Section> {
    let mut facts = Facts(Vec::new());
    facts.add("leads to", target.canonical_path.as_deref().filter(|path| *path != target.path));
    // What was looked at before it was filled says nothing of what was measured.
    let was_empty = target.kind == TargetKind::File && target.size_bytes == Some(0);
    let size = if was_empty {
        Some("nothing before the run".to_owned())
    } else {
        target.size_bytes.map(format::bytes)
    };
    facts.add("size", size);
    if let Some(fs) = &target.file_system {
        facts.add(
            "file system",
            Some(format!("{} on {}, mounted at {}", fs.fs_type, fs.source, fs.mount_point)),
        );
        let options: Vec<String> = fs
            .options
            .iter()
            .map(|(name, value)| {
                value.as_ref().map_or_else(|| name.clone(), |value| format!("{name}={value}"))
            })
            .collect();
        facts.add("mount options", (!options.is_empty()).then(|| options.join(", ")));
        facts.add("free", fs.available_bytes.map(format::bytes));
        facts.add("compresses", fs.compresses.map(yes));
    }
    if let Some(extents) = target.extents.as_ref().filter(|_| !was_empty) {
        let hole = format!(
            "{} data, {} holes",
            format::bytes(extents.data_bytes),
            format::bytes(extents.hole_bytes)
        );
        facts.add("extents", Some(hole));
    }
    if let Resolution::NotResolvable { reason } = &target.resolution {
        facts.add("devices below", Some(format!("not known: {reason}")));
    }
    facts.section(format!("Target {}", target.path))
}

fn of_device(device: &BlockDevice) -> Option<Section> {
    let mut facts = Facts(Vec::new());
    facts.add("model", device.model.as_deref());
    facts.add("firmware", device.firmware.as_deref());
    facts.add("size", device.size_bytes.map(format::bytes));
    facts.add("kind", Some(words_of(&format!("{:?}", device.kind))));
    facts.add("attached by", device.transport.map(|transport| words_of(&format!("{transport:?}"))));
    facts.add("stands on", (!device.below.is_empty()).then(|| device.below.join(", ")));
    facts.add("rotating", device.rotational.map(yes));
    facts.add("volatile write cache", device.queue.write_back_cache.map(yes));
    facts.add("scheduler", device.queue.scheduler.as_deref());
    facts.add("logical block", device.queue.logical_block_bytes.map(format::bytes));
    facts.add("physical block", device.queue.physical_block_bytes.map(format::bytes));
    facts.add("read-ahead", device.queue.read_ahead_bytes.map(format::bytes));
    facts.section(format!("Device {}", device.name))
}

fn yes(value: bool) -> &'static str {
    if value { "yes" } else { "no" }
}

/// `DeviceMapper` as `device mapper`.
fn words_of(name: &str) -> String {
    let mut words = String::new();
    for (index, c) in name.chars().enumerate() {
        if c.is_uppercase() && index > 0 {
            words.push(' ');
        }
        words.extend(c.to_lowercase());
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_known_is_left_out() {
        assert!(environment(&Environment::default()).is_empty());
    }

    #[test]
    fn variants_become_words() {
        assert_eq!(words_of("DeviceMapper"), "device mapper");
        assert_eq!(words_of("Disk"), "disk");
    }
}
