use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;

use assay_results::counters::ProcessRole;

use super::*;
use crate::testing::FakeHost;

fn staged() -> FakeHost {
    let host = FakeHost::new();
    host.disk("sda", "8:0", 100);
    host.write("/sys/block/sda/stat", "10 0 80 5 0 0 0 0 2 9 100 0 0 0 0 3 1\n");
    host.write(
        "/proc/stat",
        "cpu  30 10 20 400 5 2 3 4 0 0\ncpu0 15 5 10 200 5 1 1 4 0 0\ncpu1 15 5 10 200 0 1 2 0 0 0\n\
         intr 77 1 2 3\nctxt 1234\nprocs_running 3\nprocs_blocked 1\n",
    );
    host.write(
        "/proc/vmstat",
        "pgpgin 4\npgpgout 5\npgsteal_direct 6\nworkingset_refault_file 7\noom_kill 0\n",
    );
    host.write("/proc/meminfo", "Cached: 8 kB\nDirty: 2 kB\nWriteback: 1 kB\nWritebackTmp: 9 kB\n");
    host.write(
        "/proc/pressure/io",
        "some avg10=0.00 avg60=0.00 avg300=0.00 total=55\nfull avg10=0 total=44\n",
    );
    host.write("/sys/class/net/eth1/statistics/rx_bytes", "5000\n");
    host.write("/sys/class/net/eth1/statistics/tx_bytes", "700\n");
    // utime 700, stime 300, 4 threads, minflt 11, majflt 2.
    host.write(
        "/proc/42/stat",
        "42 (a (odd) name) S 1 42 42 0 -1 4194560 11 0 2 0 700 300 0 0 20 0 4 0 5 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 \
         0 0 0 0 8 0 0",
    );
    host.write("/proc/42/io", "rchar: 100\nwchar: 200\nsyscr: 1\nread_bytes: 4096\nwrite_bytes: 8192\n");
    for (tid, name) in [(42, "assay"), (43, "job-0"), (44, "iou-wrk-43"), (45, "iou-sqp-42")] {
        host.write(&format!("/proc/42/task/{tid}/comm"), format!("{name}\n"));
        host.write(&format!("/proc/42/task/{tid}/schedstat"), format!("{tid}000 7 3\n"));
    }
    host
}

fn selection() -> Selection {
    Selection {
        devices: vec!["sda".into(), "gone".into()],
        interfaces: vec!["eth1".into(), "gone".into()],
        processes: vec![42, 99],
        threads: true,
    }
}

#[test]
fn everything_is_read_and_what_is_missing_is_left_out() {
    let host = staged();
    let now = Sampler::new(&host.root(), &selection()).snapshot();
    assert_eq!(now.devices.len(), 1);
    assert_eq!(now.interfaces.len(), 1);
    let interface = &now.interfaces[0];
    assert_eq!(
        (interface.name.as_str(), interface.received_bytes, interface.sent_bytes),
        ("eth1", 5000, 700)
    );
    assert_eq!(now.processes.len(), 1);
    let tick = tick_ns();
    let process = &now.processes[0];
    assert_eq!(process.command, "a (odd) name");
    assert_eq!((process.user_ns, process.system_ns), (700 * tick, 300 * tick));
    assert_eq!((process.minor_faults, process.major_faults, process.threads), (11, 2, 4));
    assert_eq!((process.storage_read_bytes, process.asked_write_bytes), (Some(4096), Some(200)));
    assert_eq!((process.io_workers, process.submission_pollers), (1, 1));
    assert_eq!(process.block_wait_ns, Some(8 * tick));
    assert_eq!(process.thread_list[1].run_ns, 43_000);
    let system = &now.system;
    assert_eq!((system.context_switches, system.interrupts), (1234, 77));
    assert_eq!((system.cpu.user_ns, system.cpu.steal_ns, system.cpus.len()), (40 * tick, 4 * tick, 2));
    assert_eq!((system.paged_in_bytes, system.dirty_bytes), (Some(4096), Some(2048)));
    assert_eq!((system.writeback_bytes, system.refaulted_file_pages), (Some(1024), Some(7)));
    assert_eq!((system.pressure.io_some_us, system.pressure.io_full_us), (Some(55), Some(44)));
    assert_eq!(system.pressure.cpu_some_us, None);
    assert_eq!(now.cgroup, None);
}

#[test]
fn a_second_snapshot_sees_what_changed() {
    let host = staged();
    let mut sampler = Sampler::new(&host.root(), &selection());
    let before = sampler.snapshot();
    // Written in place: the sampler keeps the file open, as it does with the kernel's.
    host.write("/sys/block/sda/stat", "110 0 880 5 0 0 0 0 0 9 100 0 0 0 0 3 1\n");
    let span = Counters::delta(&before, &sampler.snapshot());
    assert_eq!((span.devices[0].reads, span.devices[0].read_bytes), (100, 800 * 512));
    assert_eq!(span.devices[0].in_flight, 0);
    assert!(span.at_ns > 0);
}

#[test]
fn waiting_for_block_io_is_unknown_where_it_is_not_accounted() {
    let host = staged();
    host.write("/proc/sys/kernel/task_delayacct", "0\n");
    let now = Sampler::new(&host.root(), &selection()).snapshot();
    assert_eq!(now.processes[0].block_wait_ns, None);
}

#[test]
fn a_group_of_version_2_with_a_quota_above_it() {
    let host = staged();
    host.mounts(&[("0:30", "/cg", "cgroup2", "cgroup2", "rw")]);
    host.write("/proc/self/cgroup", "0::/pod/c\n");
    host.write("/cg/cgroup.controllers", "cpu io memory\n");
    host.write("/cg/pod/cpu.max", "100000 100000\n");
    host.write("/cg/pod/cpu.stat", "usage_usec 99\nnr_periods 50\nnr_throttled 7\nthrottled_usec 3\n");
    host.write("/cg/pod/c/cpu.max", "max 100000\n");
    host.write("/cg/pod/c/cpu.stat", "usage_usec 5\nnr_periods 0\nnr_throttled 0\nthrottled_usec 0\n");
    host.write("/cg/pod/c/memory.current", "4096\n");
    host.write("/cg/pod/c/memory.events", "low 0\nhigh 0\nmax 3\noom 0\n");
    host.write("/cg/pod/c/io.stat", "8:0 rbytes=4096 wbytes=0 rios=1 wios=0 dbytes=0 dios=0\n");
    let group = Sampler::new(&host.root(), &selection()).snapshot().cgroup.expect("a group");
    assert_eq!((group.cpu_ns, group.memory_bytes), (Some(5000), Some(4096)));
    assert_eq!((group.throttled_periods, group.throttled_ns), (Some(7), Some(3000)));
    assert_eq!(group.memory_limit_hits, Some(3));
    assert_eq!((group.io[0].device.as_str(), group.io[0].reads), ("8:0", 1));
}

#[test]
fn a_group_of_version_1() {
    let host = staged();
    host.mounts(&[
        ("0:30", "/cg/cpu", "cgroup", "cgroup", "rw,cpu"),
        ("0:31", "/cg/blkio", "cgroup", "cgroup", "rw,blkio"),
    ]);
    host.write("/proc/self/cgroup", "2:blkio:/\n1:cpu:/\n");
    host.write("/cg/cpu/cpu.stat", "nr_periods 9\nnr_throttled 2\nthrottled_time 77\n");
    let io = "8:0 Read 4096\n8:0 Write 512\n8:0 Total 4608\nTotal 4608\n";
    host.write("/cg/blkio/blkio.throttle.io_service_bytes", io);
    host.write("/cg/blkio/blkio.throttle.io_serviced", "8:0 Read 1\n8:0 Write 2\nTotal 3\n");
    let group = Sampler::new(&host.root(), &selection()).snapshot().cgroup.expect("a group");
    assert_eq!((group.cpu_ns, group.throttled_ns), (None, Some(77)));
    let io = &group.io[0];
    assert_eq!((io.read_bytes, io.write_bytes, io.reads, io.writes), (4096, 512, 1, 2));
    assert_eq!(group.io.len(), 1);
}

#[test]
fn quotas_of_groups_above_are_counted_together() {
    let host = staged();
    host.mounts(&[("0:30", "/cg/cpu", "cgroup", "cgroup", "rw,cpu")]);
    host.write("/proc/self/cgroup", "1:cpu:/pod/c\n");
    // As recorded with a quota of 20 ms in 100 ms on the parent alone.
    host.write("/cg/cpu/pod/c/cpu.stat", "nr_periods 0\nnr_throttled 0\nthrottled_time 0\n");
    host.write("/cg/cpu/pod/cpu.stat", "nr_periods 40\nnr_throttled 39\nthrottled_time 2900000000\n");
    let group = Sampler::new(&host.root(), &selection()).snapshot().cgroup.expect("a group");
    assert_eq!((group.throttled_periods, group.throttled_ns), (Some(39), Some(2_900_000_000)));
    host.write("/cg/cpu/pod/c/cpu.stat", "nr_periods 3\nnr_throttled 1\nthrottled_time 100\n");
    let group = Sampler::new(&host.root(), &selection()).snapshot().cgroup.expect("a group");
    assert_eq!((group.periods, group.throttled_ns), (Some(43), Some(2_900_000_100)));
}

#[test]
fn controllers_split_between_the_versions_are_read_from_both() {
    let host = staged();
    host.mounts(&[
        ("0:30", "/cg/cpu", "cgroup", "cgroup", "rw,cpu"),
        ("0:31", "/cg/unified", "cgroup2", "cgroup2", "rw"),
    ]);
    host.write("/proc/self/cgroup", "1:cpu:/\n0::/\n");
    host.write("/cg/cpu/cpu.stat", "nr_periods 9\nnr_throttled 2\nthrottled_time 77\n");
    host.write("/cg/unified/cgroup.controllers", "io\n");
    host.write("/cg/unified/cpu.stat", "usage_usec 5\n");
    host.write("/cg/unified/io.stat", "8:0 rbytes=1 wbytes=2 rios=3 wios=4\n");
    host.write("/cg/unified/io.max", "");
    let mut sampler = Sampler::new(&host.root(), &selection());
    let group = sampler.snapshot().cgroup.expect("a group");
    assert_eq!(group.device_limits, []);
    // A limit that is set meanwhile, as a kernel with an io controller of version 2 writes it.
    host.write("/cg/unified/io.max", "8:0 rbps=max wbps=max riops=500 wiops=max\n");
    let limits = sampler.snapshot().cgroup.expect("a group").device_limits;
    assert_eq!((limits.len(), limits[0].device.as_str(), limits[0].read_iops), (1, "8:0", Some(500)));
    assert_eq!((group.throttled_ns, group.cpu_ns), (Some(77), Some(5000)));
    assert_eq!(group.io[0].writes, 4);
}

#[test]
fn time_of_the_kernels_threads_counts_from_the_first_look() {
    let host = staged();
    let stat = |name: &str, flags: u64| format!("7 ({name}) S 2 0 0 0 -1 {flags} 0 0");
    host.write("/proc/7/stat", stat("kworker/u8:1-loop0", 69_238_880));
    host.write("/proc/7/schedstat", "5000 1 1\n");
    host.write("/proc/8/stat", stat("ksoftirqd/0", 69_238_880));
    host.write("/proc/8/schedstat", "9000 1 1\n");
    let mut sampler = Sampler::new(&host.root(), &selection());
    assert_eq!(sampler.snapshot().system.kernel_threads_ns, Some(0));
    host.write("/proc/7/schedstat", "5700 1 1\n");
    host.write("/proc/8/schedstat", "9900 1 1\n");
    host.write("/proc/42/schedstat", "99000 1 1\n");
    // One that was made meanwhile counts from its beginning.
    host.write("/proc/9/stat", stat("kworker/1:2", 69_238_880));
    host.write("/proc/9/schedstat", "40 1 1\n");
    assert_eq!(sampler.snapshot().system.kernel_threads_ns, Some(740));
    assert_eq!(Sampler::new(&FakeHost::new().root(), &selection()).snapshot().system.kernel_threads_ns, None);
}

#[test]
fn processes_can_be_exchanged() {
    let host = staged();
    let mut sampler = Sampler::new(&host.root(), &selection());
    sampler.select_processes(&[99]);
    assert!(sampler.process_snapshot().is_empty());
    sampler.select_processes(&[42]);
    let process = &sampler.process_snapshot()[0];
    assert_eq!((process.role, process.is_command()), (Some(ProcessRole::Command), true));
}

#[test]
fn a_tree_of_processes() {
    let host = FakeHost::new();
    for (pid, parent) in [(10, 1), (11, 10), (12, 11), (13, 1), (14, 10)] {
        host.write(&format!("/proc/{pid}/stat"), format!("{pid} (x) S {parent} 0"));
    }
    assert_eq!(process_tree(&host.root(), 10), [10, 11, 14, 12]);
    assert_eq!(process_tree(&host.root(), 77), [77]);
}

#[test]
fn this_process_is_seen_working() {
    let root = HostRoot::real();
    let mut sampler =
        Sampler::new(&root, &Selection { processes: vec![own_pid()], threads: true, ..Selection::default() });
    let before = sampler.snapshot();
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("file");
    let mut file = std::fs::OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(&path)
        .expect("file");
    file.write_all(&vec![7; 1 << 20]).expect("written");
    let mut back = Vec::new();
    std::fs::File::open(&path).expect("open").read_to_end(&mut back).expect("read");
    // The kernel brings a running thread's account up to date at clock ticks only.
    let begin = monotonic_ns();
    while monotonic_ns() - begin < 50_000_000 {}
    let span = Counters::delta(&before, &sampler.snapshot());
    let process = &span.processes[0];
    assert!(process.asked_write_bytes.is_some_and(|bytes| bytes >= 1 << 20), "{process:?}");
    assert!(process.asked_read_bytes.is_some_and(|bytes| bytes >= 1 << 20));
    assert!(process.threads >= 1 && !process.thread_list.is_empty() && !process.is_command());
    assert!(process.scheduled_ns().is_some_and(|ns| ns > 0));
    assert!(before.system.context_switches > 0 && before.system.cpu.total_ns() > 0);
}

#[test]
fn a_snapshot_is_cheap() {
    let root = HostRoot::real();
    let devices = crate::list_block_devices(&root).into_iter().take(2).collect();
    let mut sampler =
        Sampler::new(&root, &Selection { devices, processes: vec![own_pid()], ..Selection::default() });
    sampler.snapshot();
    // The best of several: another program on the processor is not our cost. A snapshot takes some 150 us.
    let best = (0..20)
        .map(|_| {
            let begin = monotonic_ns();
            sampler.snapshot();
            monotonic_ns() - begin
        })
        .min();
    assert!(best.is_some_and(|ns| ns < 20_000_000), "{best:?} ns");
}
