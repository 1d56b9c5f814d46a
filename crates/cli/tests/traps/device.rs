//! What happens at the device: limits, others, sizes, data.

use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::bounded::Bounded as _;
use crate::look::until;
use crate::skip;
use crate::stage::{Group, Loop, Run, Running, Stage, one_job, random_file, text};

const LIMIT: &str = "blkio.throttle.read_iops_device";

/// A loop device over memory in a group whose limits change while it is read, and are all of its pace: `(after ms, IOPS)`.
fn limited(job: &str, course: &[(u64, u64)]) -> Option<Run> {
    let stage = Stage::new();
    let memory = stage.memory();
    let file = random_file(memory.path().join("image"), 32);
    let device = Loop::over(&file, false)?;
    let group = Group::new("blkio", "cgroup-v1-blkio")?;
    let number = device.number();
    let limit = |iops: u64| group.set(LIMIT, &format!("{number} {iops}")).expect("a limit");
    if let Some((0, iops)) = course.first() {
        limit(*iops);
    }
    let plan = stage.plan(&one_job(&device.device, job));
    let enter = group.enter();
    let enter: Vec<&str> = enter.iter().map(String::as_str).collect();
    let mut command = stage.wrapped(&enter, &["run", text(&plan), "--json", "--quiet", "--seed", "7"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).start().expect("assay");
    // The first interval has passed then.
    stage.wait_until_measured();
    let mut at = 200;
    for (after, iops) in course.iter().filter(|(after, _)| *after > 0) {
        std::thread::sleep(Duration::from_millis(after.saturating_sub(at)));
        at = at.max(*after);
        limit(*iops);
    }
    let run = Run::of(child.wait_with_output().expect("its end"));
    drop(group);
    Some(run)
}

const READS: &str = "op = \"read\"\nblock_size = \"4k\"\npattern = \"random\"\noutstanding = 4\n";

#[test]
fn a_device_that_is_throttled_midway() {
    until("a throttle midway", || {
        let Some(run) = limited(&format!("{READS}runtime = \"3s\""), &[(0, 2000), (1500, 800)]) else {
            return Ok(());
        };
        let Some(finding) = run.found("throttled") else { return Err(format!("{:#?}", run.findings())) };
        // Nothing of it is without a limit that it could be held against.
        assert_eq!(
            finding["bias"], "IOPS low without bound: the figure is that of the limits",
            "{finding:#}"
        );
        let message = finding["message"].as_str().unwrap_or("");
        assert!(message.contains("800 reads a second"), "{message}");
        let depth = run.found("effective-depth").map(|finding| finding["severity"].clone());
        assert!(depth.is_none_or(|severity| severity == "unchecked"), "{:#?}", run.findings());
        Ok(())
    });
}

#[test]
fn a_limit_from_the_beginning_to_the_end() {
    let Some(run) = limited(&format!("{READS}runtime = \"2s\""), &[(0, 1000)]) else { return };
    assert!((900.0..1300.0).contains(&run.iops()), "{}", run.iops());
    // The host may take its share besides, which the same check tells.
    let said = |finding: &&Value| {
        finding["id"] == "throttled"
            && finding["severity"] == "warning"
            && finding["message"].as_str().unwrap_or("").contains("limit of 1000 reads a second")
    };
    let findings = run.findings();
    assert!(findings.iter().any(said), "{findings:#?}");
}

#[test]
fn a_pace_that_falls_all_along() {
    until("a drift", || {
        let course: Vec<(u64, u64)> = (0..14).map(|i| (i * 200, 2400 - 130 * i)).collect();
        let Some(run) = limited(&format!("{READS}runtime = \"3s\""), &course) else { return Ok(()) };
        let moved = run.found("not-steady").or_else(|| run.found("throttled"));
        moved.map(|_| ()).ok_or(format!("{:#?}", run.findings()))
    });
}

#[test]
fn a_stall_of_some_intervals() {
    until("a stall", || {
        let Some(run) =
            limited(&format!("{READS}runtime = \"3500ms\""), &[(0, 2000), (1400, 40), (1800, 2000)])
        else {
            return Ok(());
        };
        run.found("outlier-interval").map(|_| ()).ok_or(format!("{:#?}", run.findings()))
    });
}

#[test]
fn a_second_process_on_the_device() {
    let stage = Stage::new();
    let ours = stage.file("ours", 64);
    let theirs = stage.file("theirs", 64);
    let script = format!("while :; do dd if={} of=/dev/null bs=128k iflag=direct; done", text(&theirs));
    let _other = Running::start(Command::new("sh").args(["-c", &script]));
    std::thread::sleep(Duration::from_millis(100));
    let job = "op = \"read\"\nblock_size = \"4k\"\npattern = \"random\"\noutstanding = 4\nruntime = \"2s\"";
    let run = stage.run(text(&ours), job);
    let finding = run.finding("foreign-io", "warning");
    assert!(finding["bias"].as_str().unwrap_or("").starts_with("IOPS "), "{finding:#}");
    assert!(run.run["phases"][0]["evidence"]["quiet_before"]["read_bytes"].as_u64() > Some(1 << 20));
}

#[test]
fn posix_aio_on_one_file() {
    let stage = Stage::new();
    let file = stage.file("data", 64);
    let job = "op = \"read\"\nblock_size = \"16k\"\npattern = \"random\"\noutstanding = 16\n\
               engine = \"posix-aio\"\ncaching = \"direct\"\nruntime = \"1s\"";
    until("posix-aio", || {
        let run = stage.run(text(&file), job);
        let finding = run.finding("effective-depth", "warning");
        assert_eq!(finding["evidence"]["outstanding_io_possible"], 1, "{finding:#}");
        let depth = finding["evidence"]["device_depth_mean"].as_f64().unwrap_or(0.0);
        // The device has others' requests, too, where there are any.
        if (0.2..2.5).contains(&depth) { Ok(()) } else { Err(format!("the device saw {depth}")) }
    });
}

#[test]
fn blocks_of_a_sector() {
    let stage = Stage::new();
    let file = stage.file("data", 64);
    let job = "op = \"read\"\nblock_size = \"512\"\npattern = \"random\"\nruntime = \"500ms\"";
    let run = stage.run(text(&file), job);
    run.finding("unrepresentative-block-size", "warning");
}

/// A device in memory that stores nothing for zeros.
struct Zram {
    device: String,
    number: String,
}

impl Zram {
    fn new() -> Option<Zram> {
        let made = std::fs::read_to_string("/sys/class/zram-control/hot_add").ok();
        let number = made.map(|number| number.trim().to_owned());
        let sized = number
            .as_ref()
            .is_some_and(|number| std::fs::write(format!("/sys/block/zram{number}/disksize"), "64M").is_ok());
        match number {
            Some(number) if sized => Some(Zram { device: format!("/dev/zram{number}"), number }),
            _ => {
                skip::declare("zram", "no device could be added");
                None
            }
        }
    }
}

impl Drop for Zram {
    fn drop(&mut self) {
        let _ = std::fs::write(format!("/sys/block/zram{}/reset", self.number), "1");
        let _ = std::fs::write("/sys/class/zram-control/hot_remove", &self.number);
    }
}

#[test]
fn zeros_on_a_device_that_compresses() {
    let stage = Stage::new();
    let Some(zram) = Zram::new() else { return };
    let job =
        "op = \"write\"\nblock_size = \"4k\"\npattern = \"random\"\ncontent = \"zero\"\nruntime = \"500ms\"";
    let plan = stage.plan(&one_job(&zram.device, job));
    let words = ["run", text(&plan), "--json", "--quiet", "--destroy-data", &zram.device];
    let run = Run::of(stage.command(&words).output_in_time().expect("assay"));
    run.finding("compressible-data", "invalid");
    // What was never written there reads as zeros, and only the buffers show it.
    let job = "op = \"read\"\nblock_size = \"4k\"\npattern = \"random\"\nruntime = \"500ms\"";
    let run = stage.run(&zram.device, job);
    let finding = run.finding("unwritten-reads", "invalid");
    assert!(finding["message"].as_str().unwrap_or("").contains("sampled read buffers"), "{finding:#}");
}
