//! What happens above the device: processors, rates, repetitions.

use std::process::{Command, Stdio};
use std::time::Duration;

use crate::bounded::Bounded as _;
use crate::look::until;
use crate::stage::{Group, Loop, Run, Running, Stage, one_job, random_file, text};

#[test]
fn a_job_on_a_processor_that_others_use() {
    let stage = Stage::new();
    let file = stage.file("data", 64);
    let _other = Running::start(Command::new("taskset").args(["-c", "0", "sh", "-c", "while :; do :; done"]));
    std::fs::read(&file).expect("warm");
    let job = "op = \"read\"\nblock_size = \"4k\"\npattern = \"random\"\ncaching = \"buffered\"\ninvalidate = false\n\
               engine = \"psync\"\nruntime = \"1500ms\"";
    let plan = stage.plan(&one_job(text(&file), job));
    let mut command = stage.wrapped(&["taskset", "-c", "0"], &["run", text(&plan), "--json", "--quiet"]);
    let run = Run::of(command.output_in_time().expect("assay"));
    let finding = run.finding("generator-bound", "warning");
    assert!(finding["message"].as_str().unwrap_or("").contains("waited for a CPU"), "{finding:#}");
    let share = finding["evidence"]["run_queue_share"].as_f64().unwrap_or(0.0);
    assert!((0.2..0.9).contains(&share), "{share}");
}

/// A quota of the group above holds the job back as well as its own would.
#[test]
fn a_cpu_quota_of_the_group_above() {
    let stage = Stage::new();
    let file = stage.file("data", 64);
    let Some(above) = Group::new("cpu", "cgroup-v1-cpu") else { return };
    above.set("cpu.cfs_quota_us", "10000").expect("a quota");
    let group = above.child();
    std::fs::read(&file).expect("warm");
    let job = "op = \"read\"\nblock_size = \"4k\"\npattern = \"random\"\ncaching = \"buffered\"\ninvalidate = false\n\
               engine = \"psync\"\nruntime = \"2s\"";
    let plan = stage.plan(&one_job(text(&file), job));
    let enter = group.enter();
    let enter: Vec<&str> = enter.iter().map(String::as_str).collect();
    let mut command = stage.wrapped(&enter, &["run", text(&plan), "--json", "--quiet"]);
    let run = Run::of(command.output_in_time().expect("assay"));
    drop(group);
    let quota = run.findings().into_iter().find(|finding| finding["evidence"]["throttled_share"].is_number());
    let share = quota.and_then(|finding| finding["evidence"]["throttled_share"].as_f64()).unwrap_or(0.0);
    assert!((0.2..=1.0).contains(&share), "{:#?}", run.findings());
}

/// Stops far shorter than an interval: neither the storage's latencies nor readings once a second tell them.
#[test]
fn a_process_that_is_stopped_again_and_again() {
    use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
    let half = Duration::from_millis(10);
    for (engine, outstanding) in [("psync", 1), ("io_uring", 8)] {
        until(&format!("stops, {engine}"), || {
            let stage = Stage::new();
            let file = stage.file("data", 64);
            let job = format!(
                "op = \"read\"\nblock_size = \"4k\"\npattern = \"random\"\nengine = \"{engine}\"\n\
                 outstanding = {outstanding}\nruntime = \"2s\""
            );
            let plan = stage.plan(&one_job(text(&file), &job));
            let mut command = stage.command(&["run", text(&plan), "--json", "--quiet"]);
            let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("assay");
            // Its number may be another's once it has ended.
            let process = pidfd_open(Pid::from_child(&child), PidfdFlags::empty()).expect("the process");
            let stopper = std::thread::spawn(move || {
                while pidfd_send_signal(&process, Signal::STOP).is_ok() {
                    std::thread::sleep(half);
                    let _ = pidfd_send_signal(&process, Signal::CONT);
                    std::thread::sleep(half);
                }
            });
            let run = Run::of(child.wait_with_output().expect("its end"));
            stopper.join().expect("signals");
            let found = run.found("generator-bound").ok_or("nothing was found")?;
            let share = found["evidence"]["stopped_share"].as_f64().unwrap_or(0.0);
            if (0.3..0.7).contains(&share) { Ok(()) } else { Err(format!("{found:#}")) }
        });
    }
}

#[test]
fn a_rate_beyond_the_device() {
    let stage = Stage::new();
    let file = stage.file("data", 64);
    let job = "op = \"read\"\nblock_size = \"4k\"\npattern = \"random\"\noutstanding = 4\nrate = 5000000\nruntime = \"1s\"";
    let run = stage.run(text(&file), job);
    run.finding("rate-not-reached", "invalid");
}

#[test]
fn a_job_of_a_few_operations() {
    let stage = Stage::new();
    let file = stage.file("data", 64);
    let run = stage.run(text(&file), "op = \"read\"\nblock_size = \"4k\"\npattern = \"random\"\nios = 10");
    run.finding("too-few-samples", "warning");
    run.finding("short-run", "warning");
}

#[test]
fn a_hot_area_for_one_core() {
    let stage = Stage::new();
    let file = stage.file("data", 128);
    let job = "op = \"read\"\nblock_size = \"4k\"\nruntime = \"500ms\"\n\
               pattern = { random = \"hit-area\", read_percent = 90, write_percent = 90, size = \"1m\" }";
    let run = stage.run(text(&file), job);
    run.finding("hot-area-imbalance", "info");
}

/// One of seven repetitions on a device that was held back for its time. The device is in memory and all of its pace a
/// limit, so that nothing else differs between them.
#[test]
fn a_repetition_that_differs() {
    until("an outlier", || {
        let stage = Stage::new();
        let memory = stage.memory();
        let file = random_file(memory.path().join("image"), 32);
        let Some(device) = Loop::over(&file, false) else { return Ok(()) };
        let Some(group) = Group::new("blkio", "cgroup-v1-blkio") else { return Ok(()) };
        let limit = |iops: u64| {
            let line = format!("{} {iops}", device.number());
            group.set("blkio.throttle.read_iops_device", &line).expect("a limit");
        };
        limit(2000);
        let job =
            "op = \"read\"\nblock_size = \"4k\"\npattern = \"random\"\noutstanding = 4\nruntime = \"600ms\"";
        let plan = stage.plan(&one_job(&device.device, job));
        let enter = group.enter();
        let enter: Vec<&str> = enter.iter().map(String::as_str).collect();
        let words = ["run", text(&plan), "--json", "--quiet", "--repeat", "7"];
        let mut command = stage.wrapped(&enter, &words);
        let child = command
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .start()
            .expect("assay");
        stage.wait_until_begun(2);
        limit(700);
        stage.wait_until_begun(3);
        limit(2000);
        let run = Run::of(child.wait_with_output().expect("its end"));
        drop(group);
        run.found("outlier-run").map(|_| ()).ok_or(format!("{:#}", run.run["findings"]))
    });
}
