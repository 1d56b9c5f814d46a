//! A job of series `stb-2.1` as options of fio: those that storage-tuner-benchmark 2.1 gives it, but for three.
//!
//! The original switches completion latencies off and asks for terse output; here they stay on, because a rate without
//! its latency is half a result, and the output is JSON with the histogram.

use assay_workload::job::OpenSync;
use assay_workload::pattern::{OpKind, Placement};
use assay_workload::plan::{PlannedEngine, PlannedJob};
use assay_workload::units::Nanos;

/// The same for every test. `test` makes the files' names `test.N.0`, which all tests share.
const COMMON: [&str; 9] = [
    "--name=test",
    "--output-format=json+",
    "--fallocate=none",
    "--group_reporting",
    "--verify=0",
    "--disable_lat=1",
    "--disable_slat=1",
    "--refill_buffers",
    "--randrepeat=0",
];

/// The options, each a word without anything that a shell would touch.
pub(super) fn of(job: &PlannedJob, system: &str) -> Vec<String> {
    let writes = job.pattern.mix.share(OpKind::Write) > 0.0;
    let block = job.pattern.max_block_bytes();
    let sequential = matches!(job.pattern.placement, Placement::Sequential(_));
    let size = job.slices.iter().flat_map(|slice| &slice.sites).map(|site| site.length_bytes).max();
    let direction = match (sequential, writes) {
        (true, true) => "write",
        (true, false) => "read",
        (false, true) => "randwrite",
        (false, false) => "randread",
    };
    let mut options: Vec<String> = COMMON.map(str::to_owned).to_vec();
    options.push(format!("--size={}", size.unwrap_or(0)));
    options.push(format!("--numjobs={}", job.slices.len()));
    options.push(format!("--rw={direction}"));
    options.push(format!("--bs={block}"));
    options.push(format!("--ioengine={}", engine(job.engine, system)));
    options.push(format!("--iodepth={}", job.outstanding_per_thread));
    options.extend(job.end.time.map(|time| format!("--runtime={} --time_based", seconds(time))));
    let flush = &job.flush;
    if flush.periodic.is_some() {
        options.push("--fdatasync=1".to_owned());
    }
    if flush.open == OpenSync::Sync {
        options.push("--sync=1".to_owned());
    }
    if flush.at_end {
        options.push("--end_fsync=1".to_owned());
    }
    if !writes {
        options.push("--invalidate=1".to_owned());
    }
    options
}

/// fio's name of an engine.
pub(super) fn engine(planned: PlannedEngine, system: &str) -> &'static str {
    match (planned, system) {
        (PlannedEngine::PosixAio, _) => "posixaio",
        (PlannedEngine::Libaio, "SunOS") => "solarisaio",
        (PlannedEngine::Libaio, _) => "libaio",
        _ => "sync",
    }
}

fn seconds(time: Nanos) -> String {
    if time.0.is_multiple_of(1_000_000_000) {
        (time.0 / 1_000_000_000).to_string()
    } else {
        format!("{}ms", (time.0 / 1_000_000).max(1))
    }
}

#[cfg(test)]
mod tests {
    use assay_conduct::series::stb;

    use super::*;
    use crate::remote::fio::plan;

    fn options(test: &str) -> String {
        let prepared = stb::prepare(Some(test), 1, u64::MAX).expect("a test");
        let plan = plan(&prepared, "/d", &Default::default(), 1).expect("a plan");
        of(&plan.phases[0].jobs[0], "Linux")[COMMON.len()..].join(" ")
    }

    #[test]
    fn the_options_are_the_published_ones() {
        let cases = [
            (
                "1 file, 1 thread, seq 1M writes, simple",
                "--size=536870912 --numjobs=1 --rw=write --bs=1048576 --ioengine=sync --iodepth=1 --end_fsync=1",
            ),
            (
                "16 files, 16 threads each, rnd 16k writes, posixaio",
                "--size=33554432 --numjobs=16 --rw=randwrite --bs=16384 --ioengine=posixaio --iodepth=16 \
                 --runtime=5 --time_based --fdatasync=1",
            ),
            (
                "1 file, 16 threads, rnd 16k writes, posixaio, o_sync",
                "--size=536870912 --numjobs=1 --rw=randwrite --bs=16384 --ioengine=posixaio --iodepth=16 \
                 --runtime=5 --time_based --sync=1",
            ),
            (
                "16 files, 1 thread each, seq 1M reads, simple",
                "--size=33554432 --numjobs=16 --rw=read --bs=1048576 --ioengine=sync --iodepth=1 --runtime=5 \
                 --time_based --invalidate=1",
            ),
            (
                "1 file, 16 threads, rnd 16k reads, native aio",
                "--size=536870912 --numjobs=1 --rw=randread --bs=16384 --ioengine=libaio --iodepth=16 --runtime=5 \
                 --time_based --sync=1 --invalidate=1",
            ),
        ];
        for (test, expected) in cases {
            assert_eq!(options(test), expected, "{test}");
        }
    }

    #[test]
    fn solaris_has_an_engine_of_its_own() {
        assert_eq!(engine(PlannedEngine::Libaio, "SunOS"), "solarisaio");
        assert_eq!(seconds(Nanos(200_000_000)), "200ms");
    }
}
