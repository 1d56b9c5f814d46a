//! The conditions a number holds under, in words that all renderers share.

use assay_results::Run;
use assay_results::environment::{BlockDevice, Resolution, TargetEnvironment};
use assay_results::run::{JobResult, OpResult};

use assay_workload::operation::OpId;

use crate::{data, format, hosts};

/// One fact a phrase: pattern, outstanding I/Os, engine, caching, durability, how long and on how many workers.
pub(crate) fn of_job(job: &JobResult) -> Vec<String> {
    let mut facts = Vec::new();
    if !job.pattern.is_empty() {
        facts.push(job.pattern.clone());
    }
    facts.extend(mean_request(job));
    if job.outstanding_io > 0 {
        facts.push(outstanding(job));
    }
    facts.extend(match (job.evidence.offered_each, job.evidence.offered_iops) {
        (Some(rates), _) => Some(format!("{} IOPS offered", rates.describe())),
        (None, rate) => rate.map(|rate| format!("{} IOPS offered", format::iops(rate))),
    });
    let caching = match (job.direct, job.partly_direct) {
        (true, _) => "direct",
        (false, true) => "partly direct",
        (false, false) => "buffered",
    };
    facts.push(caching.to_owned());
    if has_writes(job) && !job.durability.is_empty() {
        facts.push(format!("writes {}", job.durability));
    }
    if job.engine.is_known() {
        facts.push(format!("engine {}", job.engine));
    }
    if job.workers > 1 {
        facts.push(format!("{} workers", job.workers));
    }
    let from_s = job.evidence.measured_start_ns as f64 / 1e9;
    let from =
        if from_s < DELAY_MIN_S { String::new() } else { format!(" from {} on", format::seconds(from_s)) };
    facts.push(format!("{} measured{from}", format::seconds(job.measured_s)));
    facts
}

/// Measured parts that begin later in their phase say so: those before them may have ended by then.
const DELAY_MIN_S: f64 = 0.5;

/// The mean size of what was asked for, where the block size is not known.
pub(crate) fn mean_request(job: &JobResult) -> Option<String> {
    job.total.request_bytes_mean().map(|bytes| format!("mean request {}", format::bytes(bytes)))
}

/// Whether the durability of writes says something about a job's numbers.
pub(crate) fn has_writes(job: &JobResult) -> bool {
    job.write.is_some() || job.flush.is_some()
}

/// Outstanding I/Os as asked, and the mean where it was another number.
pub(crate) fn outstanding(job: &JobResult) -> String {
    let asked = job.outstanding_io as f64;
    let mean = job.outstanding_io_mean;
    let asked_text = format!("{} outstanding", format::count(job.outstanding_io));
    if mean > 0.0 && mean.is_finite() && (mean - asked).abs() > 0.05 * asked {
        format!("{asked_text} (mean {})", format::significant(mean))
    } else {
        asked_text
    }
}

/// The operations of a job that happened, with their names; the total only where it adds something.
pub(crate) fn operations(job: &JobResult) -> Vec<(&str, &OpResult)> {
    let mut list: Vec<(&str, &OpResult)> = job.operations().collect();
    if total_adds(job) {
        list.insert(list.len() - usize::from(job.flush.is_some()), ("total", &job.total));
    }
    list
}

/// Whether the total says more than an operation does: one may be all that was asked for, with others that came along.
pub(crate) fn total_adds(job: &JobResult) -> bool {
    !job.operations().any(|(name, op)| name != "flush" && op.ios == job.total.ios)
}

/// What a reader must know beside the numbers.
pub(crate) fn remarks(job: &JobResult) -> Vec<String> {
    let mut remarks = Vec::new();
    if job.errors > 0 {
        let kinds: Vec<String> =
            job.errors_by_kind.iter().map(|(name, n)| format!("{name} {}", format::count(*n))).collect();
        let kinds = if kinds.is_empty() { String::new() } else { format!(": {}", kinds.join(", ")) };
        remarks.push(format!("{}{kinds}", format::plural(job.errors, "error")));
    }
    if let Some(found) = &job.data {
        remarks.push(data::summary(found));
        remarks.extend(data::errors(found));
    }
    if let Some(reread) = job.ops.get(OpId::REREAD_NAME) {
        let writes = format::plural(reread.ios, "write");
        remarks.push(format!(
            "{writes} read back at once: these reads ('reread') are in no other figure of the job"
        ));
    }
    let short = job.evidence.short;
    if !short.is_none() {
        let both =
            format!("{} and {}", format::plural(short.reads, "read"), format::plural(short.writes, "write"));
        remarks.push(format!("{both} moved less than asked and were continued with the rest"));
    }
    if let Some(share) = job.cached_read_share.filter(|share| *share >= 0.01) {
        remarks.push(format!("{} of the bytes read came from no device", format::percent(share)));
    }
    if let Some(p99) = job.lateness_ns.and_then(|lateness| lateness.p99) {
        remarks.push(format!("p99 submission delay: {}", format::time_ns(p99 as f64)));
    }
    remarks.extend(hosts::trimmed(job));
    remarks
}

/// What the instrument itself cost and how exact its stamps were.
pub(crate) fn instrument(job: &JobResult) -> String {
    let mut parts = Vec::new();
    if job.cpu_ns_per_io > 0.0 {
        parts.push(format!("{} of CPU per I/O", format::time_ns(job.cpu_ns_per_io)));
    }
    if job.stamp_error_ns_mean > 0.0 {
        parts.push(format!("mean completion timestamp delay {}", format::time_ns(job.stamp_error_ns_mean)));
    }
    parts.extend(job.engine_notes.iter().cloned());
    if parts.is_empty() { String::new() } else { format!("instrument: {}", parts.join(", ")) }
}

/// The seed; `None` of a command that was only observed, whose addresses are its own.
pub(crate) fn of_seed(run: &Run) -> Option<String> {
    let ids = ["observed", "judged", "nothing-seen"];
    let observed = run.remarks.iter().any(|remark| ids.contains(&remark.id.as_str()));
    (!observed).then(|| run.plan.describe_seed())
}

/// Operations a second; a dash where only the bytes are known.
pub(crate) fn iops(op: &OpResult) -> String {
    op.known_iops().map_or_else(|| format::NOTHING.to_owned(), format::iops)
}

/// Where a run ran, as facts: host, kernel, then each target with its file system and device.
pub(crate) fn of_place(run: &Run) -> Vec<String> {
    let machine = &run.environment.machine;
    let mut facts: Vec<String> = machine.hostname.iter().map(|name| format!("host {name}")).collect();
    facts.extend(machine.kernel_release.iter().map(|release| format!("kernel {release}")));
    facts.extend(machine.cpu.online.map(|cpus| format::plural(u64::from(cpus), "CPU")));
    facts.extend(machine.memory.total_bytes.map(|bytes| format!("{} memory", format::bytes(bytes))));
    facts
}

/// Each target in words; of files that differ in their names alone only the first, with how many more there are.
pub(crate) fn of_targets(targets: &[TargetEnvironment]) -> Vec<String> {
    let place = |target: &TargetEnvironment| {
        let path = target.path.rsplit_once('/').map_or("", |(directory, _)| directory).to_owned();
        let nameless = TargetEnvironment { path: String::new(), ..target.clone() };
        (path, of_target(&nameless))
    };
    let mut found: Vec<((String, String), String, u64)> = Vec::new();
    for target in targets {
        let place = place(target);
        match found.iter_mut().find(|entry| entry.0 == place) {
            Some(entry) => entry.2 += 1,
            None => found.push((place, of_target(target), 0)),
        }
    }
    let told = found.into_iter().map(|(_, words, more)| match more {
        0 => words,
        more => format!("{words}; and {more} more like it"),
    });
    told.collect()
}

/// One target: path, file system, device.
pub(crate) fn of_target(target: &TargetEnvironment) -> String {
    let mut parts = vec![target.path.clone()];
    if let Some(fs) = &target.file_system {
        parts.push(format!("{} on {}", fs.fs_type, fs.source));
    }
    parts.extend(target.bottom_devices().map(of_device));
    if let Resolution::NotResolvable { reason } = &target.resolution {
        parts.push(format!("devices below not known: {reason}"));
    }
    parts.join(", ")
}

/// A device in a few words: `nvme0n1 (Samsung 980, 1 TiB, rotating)`.
pub(crate) fn of_device(device: &BlockDevice) -> String {
    let mut facts: Vec<String> = device.model.iter().cloned().collect();
    facts.extend(device.size_bytes.map(format::bytes));
    if device.rotational == Some(true) {
        facts.push("rotating".to_owned());
    }
    if device.queue.write_back_cache == Some(true) {
        facts.push("volatile write cache on".to_owned());
    }
    if facts.is_empty() { device.name.clone() } else { format!("{} ({})", device.name, facts.join(", ")) }
}
