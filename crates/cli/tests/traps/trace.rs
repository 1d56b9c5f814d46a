//! Latencies against the kernel's own trace of the block layer: what is measured is what the device took and a way there
//! and back that can be accounted for.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::bounded::Bounded as _;
use crate::look::until;
use crate::skip;
use crate::stage::{Run, Stage, one_job, said, text};

/// tracefs in a place of our own, with a trace instance that nobody else sees.
struct Trace {
    mount: tempfile::TempDir,
    instance: PathBuf,
}

/// Moments of the requests of one run, seconds.
#[derive(Debug, Default)]
struct Requests {
    /// From the queue of the block layer to completion.
    queue_to_complete: Vec<f64>,
    /// From there until the thread that waits runs again.
    complete_to_running: Vec<f64>,
}

impl Trace {
    /// `None`, declared as a skip, where there is no such file system.
    fn new() -> Option<Trace> {
        let mount = tempfile::tempdir().expect("a directory");
        if said("mount", &["-t", "tracefs", "nodev", text(mount.path())]).is_none() {
            skip::declare("tracefs", "it cannot be mounted");
            return None;
        }
        let instance = mount.path().join(format!("instances/assay-{}", std::process::id()));
        let trace = Trace { mount, instance };
        let made = fs::create_dir(&trace.instance).and_then(|()| trace.set("trace_clock", "mono"));
        if made.and_then(|()| trace.set("buffer_size_kb", "32768")).is_err() {
            skip::declare("tracefs", "no trace instance can be made");
            return None;
        }
        Some(trace)
    }

    fn set(&self, file: &str, value: &str) -> std::io::Result<()> {
        fs::write(self.instance.join(file), value)
    }

    /// Follows reads of this device, and the job's thread.
    fn start(&self, device: u64) -> std::io::Result<()> {
        let of_device = format!("dev == {device}");
        for event in ["block/block_bio_queue", "block/block_rq_complete"] {
            self.set(&format!("events/{event}/filter"), &of_device)?;
            self.set(&format!("events/{event}/enable"), "1")?;
        }
        self.set("events/sched/sched_switch/filter", "next_comm ~ \"assay-0.*\"")?;
        self.set("events/sched/sched_switch/enable", "1")
    }

    fn take(&self) -> Requests {
        let _ = self.set("tracing_on", "0");
        requests(&fs::read_to_string(self.instance.join("trace")).unwrap_or_default())
    }
}

impl Drop for Trace {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.instance);
        said("umount", &[text(self.mount.path())]);
    }
}

/// `assay-0.0-123 [001] d..1. 12.345678: block_bio_queue: 254,0 RS 1234 + 8 [assay-0.0]`
fn requests(trace: &str) -> Requests {
    let mut found = Requests::default();
    let mut queued: HashMap<u64, f64> = HashMap::new();
    let mut completed: Option<f64> = None;
    for line in trace.lines().filter(|line| !line.starts_with('#')) {
        let Some((head, rest)) = line.split_once(": ") else { continue };
        let Some(at) = head.split_whitespace().last().and_then(|word| word.parse::<f64>().ok()) else {
            continue;
        };
        let sector = |rest: &str| -> Option<u64> {
            let words: Vec<&str> = rest.split_whitespace().collect();
            let plus = words.iter().position(|word| *word == "+")?;
            words.get(plus.checked_sub(1)?)?.parse().ok()
        };
        if let Some(event) = rest.strip_prefix("block_bio_queue: ") {
            if event.contains(" R") && event.contains("[assay-0") {
                queued.extend(sector(event).map(|sector| (sector, at)));
            }
        } else if let Some(event) = rest.strip_prefix("block_rq_complete: ") {
            if let Some(begun) = sector(event).and_then(|sector| queued.remove(&sector)) {
                found.queue_to_complete.push(at - begun);
                completed = Some(at);
            }
        } else if rest.starts_with("sched_switch: ")
            && let Some(begun) = completed.take()
        {
            found.complete_to_running.push(at - begun);
        }
    }
    found
}

fn median_us(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0) * 1e6
}

/// `dev_t` of the kernel for the disk below a path.
fn device_of(run: &Run) -> Option<u64> {
    let devices = run.run["environment"]["targets"][0]["devices"].as_array()?;
    let number = devices.last()?["number"].as_str()?;
    let (major, minor) = number.split_once(':')?;
    Some(major.parse::<u64>().ok()? << 20 | minor.parse::<u64>().ok()?)
}

#[test]
fn latencies_are_those_of_the_kernels_trace_and_the_way_there() {
    let stage = Stage::new();
    let file = stage.file("data", 64);
    let job = "op = \"read\"\nblock_size = \"4k\"\npattern = \"random\"\nengine = \"psync\"\ncaching = \"direct\"\n";
    let first = stage.run(text(&file), &format!("{job}ios = 50"));
    let Some(device) = device_of(&first) else { return };
    until("a trace", || {
        let Some(trace) = Trace::new() else { return Ok(()) };
        trace.start(device).expect("events of the block layer");
        let run = traced(&stage, &file, job);
        let mut requests = trace.take();
        let job = &run.run["phases"][0]["jobs"][0];
        let ours = job["read"]["completion_ns"]["p50"].as_f64().ok_or("no median")? / 1e3;
        let ios = job["read"]["ios"].as_u64().unwrap_or(0) as usize;
        let seen = requests.queue_to_complete.len();
        let device = median_us(&mut requests.queue_to_complete);
        let wake = median_us(&mut requests.complete_to_running);
        let line = format!(
            "block trace: {ios} reads, {seen} requests seen; medians: Assay {ours:.1} us, queue to complete {device:.1} us, \
             complete to running {wake:.1} us, the rest {:.1} us\n",
            ours - device - wake
        );
        let _ = std::io::Write::write_all(&mut std::io::stderr(), line.as_bytes());
        assert!(seen * 10 >= ios * 9, "{line}");
        assert!(ours >= device, "an I/O cannot take less than its request: {line}");
        // System call, file system, page pinning, and the way out.
        (ours - device - wake < 40.0).then_some(()).ok_or(line)
    });
}

fn traced(stage: &Stage, file: &Path, job: &str) -> Run {
    let plan = stage.plan(&one_job(text(file), &format!("{job}runtime = \"1s\"")));
    Run::of(stage.command(&["run", text(&plan), "--json", "--quiet"]).output_in_time().expect("assay"))
}
