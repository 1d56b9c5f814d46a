//! Other tools, watched.

use std::process::Output;

use crate::bounded::Bounded as _;
use crate::clean::doubts;
use crate::look::{stolen_since, ticks, until};
use crate::skip;
use crate::stage::{Run, Stage, text};

fn has_fio() -> bool {
    let there = crate::stage::said("fio", &["--version"]).is_some();
    if !there {
        skip::declare("fio", "there is no fio in PATH");
    }
    there
}

fn judged(stage: &Stage, more: &[&str], command: &[&str]) -> Output {
    let words = [&["judge"], more, &["--"], command].concat();
    stage.command(&words).output_in_time().expect("assay")
}

fn fio(stage: &Stage, file: &str, more: &[&str]) -> Output {
    let file = format!("--filename={file}");
    let words = [
        "fio",
        "--output-format=json+",
        "--name=j",
        "--rw=randread",
        "--bs=4k",
        "--runtime=2",
        "--time_based",
    ];
    judged(stage, &["--json"], &[&words[..], &[file.as_str()], more].concat())
}

#[test]
fn fio_on_a_cached_file() {
    if !has_fio() {
        return;
    }
    let stage = Stage::new();
    let file = stage.file("data", 64);
    until("fio, cached", || {
        std::fs::read(&file).expect("warm");
        let run = Run::of(fio(&stage, text(&file), &["--invalidate=0", "--ioengine=psync"]));
        assert!(run.run["assay"]["engine"].as_str().unwrap_or("").starts_with("fio"), "{}", run.run["assay"]);
        run.found("cache-served-reads").map(|_| ()).ok_or(format!("{:#?}", run.findings()))?;
        run.finding("cache-served-reads", "invalid");
        Ok(())
    });
}

#[test]
fn fio_on_holes() {
    if !has_fio() {
        return;
    }
    let stage = Stage::new();
    let file = stage.sparse("holes", 64);
    let run = Run::of(fio(&stage, text(&file), &["--direct=1", "--ioengine=libaio", "--iodepth=8"]));
    run.finding("unwritten-reads", "invalid");
}

#[test]
fn fio_on_a_clean_file() {
    if !has_fio() {
        return;
    }
    let stage = Stage::new();
    let file = stage.file("data", 64);
    until("fio, clean", || {
        let begun = ticks();
        let run = Run::of(fio(&stage, text(&file), &["--direct=1", "--ioengine=libaio", "--iodepth=8"]));
        let truth = &run.run["phases"][0]["device"];
        let share = truth["process_read_bytes"].as_f64().unwrap_or(0.0)
            / truth["asked_read_bytes"].as_f64().unwrap_or(1.0);
        assert!((0.9..1.2).contains(&share), "{truth:#}");
        let depth = truth["device_depth_mean"].as_f64().unwrap_or(0.0);
        if !(3.0..9.0).contains(&depth) {
            return Err(format!("the device saw a depth of {depth}"));
        }
        doubts(&run, &begun)?;
        // Without a doubt of any kind it is called valid.
        assert!(stolen_since(&begun).is_some() || run.run["verdict"] == "valid", "{}", run.run["verdict"]);
        Ok(())
    });
}

#[test]
fn a_copy_out_of_the_cache_passes_its_status_on() {
    let stage = Stage::new();
    let file = stage.file("data", 64);
    std::fs::read(&file).expect("warm");
    let input = format!("if={}", text(&file));
    let output = judged(&stage, &[], &["dd", &input, "of=/dev/null", "bs=4k"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("cache-served-reads") && said.contains("kept in"), "{said}");
    assert!(!said.contains("working-set-fits-cache"), "what went to /dev/null was not stored: {said}");
    let output = judged(&stage, &["--require-valid"], &["dd", &input, "of=/dev/null", "bs=4k"]);
    assert_eq!(output.status.code(), Some(3));
    assert_eq!(judged(&stage, &["--require-valid"], &["sh", "-c", "exit 42"]).status.code(), Some(42));
    assert_eq!(judged(&stage, &[], &["/no/such/program"]).status.code(), Some(2));
    assert_eq!(judged(&stage, &[], &["sh", "-c", "kill -9 $$"]).status.code(), Some(137));
    let command = format!("dd {input} of=/dev/null bs=64k; exit 7");
    let output = judged(&stage, &["--json"], &["sh", "-c", &command]);
    assert_eq!(output.status.code(), Some(7));
    let run = Run::of(output);
    assert_eq!(run.run["verdict"], "incomplete", "{:#?}", run.findings());
    let says =
        |finding: &&serde_json::Value| finding["message"].to_string().contains("ended with exit status 7");
    assert!(run.findings().iter().any(says), "{:#?}", run.findings());
    assert_eq!(run.run["plan"]["phases"][0]["jobs"][0]["job"]["pattern"]["placement"], "unknown");
    assert_eq!(judged(&stage, &["--target", "/no/such/file"], &["true"]).status.code(), Some(2));
    // What the command prints is its own.
    assert_eq!(judged(&stage, &[], &["echo", "hello"]).stdout, b"hello\n");
}

#[test]
fn a_target_may_appear_while_the_command_runs() {
    let stage = Stage::new();
    let file = stage.path("later");
    let command = format!("dd if=/dev/urandom of={} bs=64k count=64 conv=fsync", text(&file));
    let run = Run::of(judged(&stage, &["--json", "--target", text(&file)], &["sh", "-c", &command]));
    assert_eq!(run.run["plan"]["targets"][0]["path"], text(&file));
    assert_eq!(run.run["plan"]["targets"][0]["size_bytes"], 64 * 64 * 1024);
    let job = &run.run["phases"][0]["jobs"][0];
    // Only what the kernel counts: 64 writes and what the shell and dd say.
    assert!(job["write"]["ios"].as_u64().is_some_and(|ios| (64..80).contains(&ios)), "{job:#}");
    assert_eq!((&job["outstanding_io"], &job["durability"]), (&0.into(), &"".into()));
}
