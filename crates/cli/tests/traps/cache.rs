//! Reads that no storage serves.

use std::process::Command;

use crate::bounded::Bounded as _;
use crate::look::until;
use crate::stage::{Loop, MIB, Run, Stage, one_job, text};

#[test]
fn reads_from_the_page_cache() {
    let stage = Stage::new();
    let file = stage.file("data", 64);
    until("reads from the page cache", || {
        // Idle pages may be taken away: warmed right before.
        std::fs::read(&file).expect("warm");
        let job = "op = \"read\"\nblock_size = \"4k\"\npattern = \"random\"\ncaching = \"buffered\"\n\
                   invalidate = false\nruntime = \"1s\"";
        let run = stage.run("data", job);
        let share = run.run["phases"][0]["jobs"][0]["cached_read_share"].as_f64().ok_or("no share")?;
        (share > 0.9).then_some(()).ok_or(format!("only {share} came from the cache"))?;
        let finding = run.finding("cache-served-reads", "invalid");
        let bias = finding["bias"].as_str().unwrap_or("");
        assert!(
            bias == "IOPS high without bound: the figure is the cache's" || bias.ends_with(" times too high"),
            "{bias}"
        );
        assert_eq!(run.run["verdict"], "invalid");
        Ok(())
    });
}

/// Pages that a job is told to keep stay for all of its passes, also where one is like the other.
#[test]
fn pages_are_kept_over_passes_that_repeat() {
    let stage = Stage::new();
    let file = stage.file("data", 16);
    until("reads from the page cache", || {
        std::fs::read(&file).expect("warm");
        let job = "op = \"read\"\nblock_size = \"4k\"\npattern = \"random\"\nrepeat_passes = true\n\
                   caching = \"buffered\"\ninvalidate = false\npasses = 4";
        let run = stage.run("data", job);
        let share = run.run["phases"][0]["jobs"][0]["cached_read_share"].as_f64().ok_or("no share")?;
        (share > 0.9).then_some(()).ok_or(format!("only {share} came from the cache"))
    });
}

/// Random blocks without a map make no passes, so nothing is dropped after the start, as with fio.
#[test]
fn random_blocks_without_a_map_fill_the_cache() {
    let stage = Stage::new();
    stage.file("data", 16);
    until("reads from the page cache", || {
        let job = "op = \"read\"\nblock_size = \"4k\"\npattern = { random = \"uniform\", once_per_pass = false }\n\
                   caching = \"buffered\"\nios = 80000";
        let run = stage.run("data", job);
        let share = run.run["phases"][0]["jobs"][0]["cached_read_share"].as_f64().ok_or("no share")?;
        (share > 0.9).then_some(()).ok_or(format!("only {share} came from the cache"))
    });
}

#[test]
fn reads_of_a_file_with_holes() {
    let stage = Stage::new();
    stage.sparse("holes", 64);
    let run =
        stage.run("holes", "op = \"read\"\nblock_size = \"4k\"\npattern = \"random\"\nruntime = \"1s\"");
    let finding = run.finding("unwritten-reads", "invalid");
    assert_eq!(finding["bias"], "IOPS high without bound: no storage was measured");
    assert!(run.found("cache-served-reads").is_none(), "{:#?}", run.findings());
}

/// Reserved and never written: no hole, and nothing to read either.
#[test]
fn reads_of_reserved_space_through_the_cache() {
    let stage = Stage::new();
    let file = stage.sparse("reserved", 64);
    if !Command::new("fallocate").args(["-l", "64M", text(&file)]).status_in_time().is_ok_and(|s| s.success())
    {
        return;
    }
    let job = "op = \"read\"\nblock_size = \"64k\"\npattern = \"random\"\ncaching = \"buffered\"\nruntime = \"500ms\"";
    let run = stage.run("reserved", job);
    let finding = run.finding("unwritten-reads", "invalid");
    assert!(finding["message"].as_str().unwrap_or("").contains("100 %"), "{finding:#}");
    let extents = &run.run["environment"]["targets"][0]["extents"];
    assert_eq!(extents["unwritten_bytes"].as_u64(), Some(64 * MIB), "{extents:#}");
}

/// O_DIRECT on a loop device ends at the page cache of its file.
#[test]
fn a_cache_that_direct_reads_do_not_pass() {
    let stage = Stage::new();
    let file = stage.file("image", 64);
    let Some(device) = Loop::over(&file, false) else { return };
    until("a cache below", || {
        std::fs::read(&file).expect("warm");
        let job =
            "op = \"read\"\nblock_size = \"4k\"\npattern = \"random\"\noutstanding = 4\nruntime = \"1s\"";
        let run = stage.run(&device.device, job);
        let served = run.run["phases"][0]["device"]["device_read_bytes"].as_u64().ok_or("no device")?;
        let fetched = run.run["phases"][0]["device"]["process_read_bytes"].as_u64().ok_or("no process")?;
        (served * 10 < fetched).then_some(()).ok_or(format!("{served} of {fetched} came from below"))?;
        let finding = run.finding("cache-served-reads", "invalid");
        assert!(finding["message"].as_str().unwrap_or("").contains("a layer above"), "{finding:#}");
        Ok(())
    });
}

#[test]
fn writes_that_stayed_in_memory() {
    let stage = Stage::new();
    let job = "op = \"write\"\nblock_size = \"64k\"\npattern = \"sequential\"\ncaching = \"buffered\"\n\
               bytes = \"64m\"";
    let plan = "name = \"trap\"\ntarget = [{ name = \"t\", path = \"new\", size = \"64m\" }]\n[[job]]\n";
    let plan = stage.plan(&format!("{plan}{job}\n"));
    let output = stage.command(&["run", text(&plan), "--json", "--quiet"]).output_in_time().expect("assay");
    let run = Run::of(output);
    run.finding("working-set-fits-cache", "invalid");
}

/// O_DIRECT on a loop device ends in the page cache of its file: the device below gets each block once, later, if at all.
#[test]
fn direct_writes_that_a_loop_device_keeps() {
    let stage = Stage::new();
    let file = stage.file("image", 32);
    let Some(device) = Loop::over(&file, false) else { return };
    let job = "op = \"write\"\nblock_size = \"64k\"\npattern = \"random\"\noutstanding = 4\nruntime = \"1s\"";
    let plan = stage.plan(&one_job(&device.device, job));
    let words = ["run", text(&plan), "--json", "--quiet", "--destroy-data", &device.device];
    let run = Run::of(stage.command(&words).output_in_time().expect("assay"));
    let finding = run.finding("cache-absorbed-writes", "invalid");
    assert!(finding["message"].as_str().unwrap_or("").contains("without direct I/O"), "{finding:#}");
    assert_eq!(run.run["verdict"], "invalid");
}

/// A hole that the job does not reach is nobody's; the same hole within its range is.
#[test]
fn a_hole_counts_where_it_is_read() {
    let stage = Stage::new();
    let file = stage.file("half", 16);
    std::fs::OpenOptions::new()
        .write(true)
        .open(&file)
        .and_then(|file| file.set_len(64 * MIB))
        .expect("longer");
    let job = |range: &str| {
        format!(
            "op = \"read\"\nblock_size = \"64k\"\npattern = \"random\"\ncaching = \"buffered\"\nios = 100\n{range}"
        )
    };
    let run = stage.run("half", &job("length = \"16m\""));
    assert!(run.found("unwritten-reads").is_none(), "{:#?}", run.findings());
    assert_eq!(run.run["environment"]["targets"][0]["extents"]["examined_bytes"].as_u64(), Some(16 * MIB));
    let run = stage.run("half", &job("offset = \"8m\""));
    run.finding("unwritten-reads", "invalid");
}

/// Zeros that were written are read from the device like all else.
#[test]
fn zeros_that_were_written_do_not_condemn() {
    let stage = Stage::new();
    let path = stage.path("zeros");
    std::fs::write(&path, vec![0; 32 * MIB as usize]).expect("zeros");
    std::fs::File::open(&path).and_then(|file| file.sync_all()).expect("durable");
    let run = stage.run(
        text(&path),
        "op = \"read\"\nblock_size = \"4k\"\npattern = \"random\"\noutstanding = 16\npasses = 3",
    );
    run.finding("unwritten-reads", "info");
}
