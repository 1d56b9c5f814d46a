use super::*;

#[test]
fn depth_is_the_kernels_integral_over_the_span() {
    let a = DeviceCounters { at_ns: 1_000_000_000, weighted_time_ms: 500, ..DeviceCounters::default() };
    let b = DeviceCounters { at_ns: 3_000_000_000, weighted_time_ms: 64_500, in_flight: 7, ..a.clone() };
    let span = DeviceCounters::delta(&a, &b);
    assert_eq!(span.time_weighted_depth(), Some(32.0));
    assert_eq!(span.in_flight, 7);
    assert_eq!(DeviceCounters::delta(&a, &a).time_weighted_depth(), None);
}

#[test]
fn a_wrapped_time_is_undone_and_a_reset_is_zero() {
    let with = |ms| DeviceCounters { weighted_time_ms: ms, reads: ms, ..DeviceCounters::default() };
    let wrapped = DeviceCounters::delta(&with(u64::from(u32::MAX) - 9), &with(10));
    assert_eq!(wrapped.weighted_time_ms, 20);
    let reset = DeviceCounters::delta(&with(5000), &with(10));
    assert_eq!((reset.weighted_time_ms, reset.reads), (0, 0));
}

#[test]
fn unknown_totals_stay_unknown() {
    let known = ProcessCounters { pid: 1, storage_read_bytes: Some(10), ..ProcessCounters::default() };
    let unknown = ProcessCounters { pid: 1, ..ProcessCounters::default() };
    assert_eq!(ProcessCounters::delta(&unknown, &known).storage_read_bytes, None);
    assert_eq!(ProcessCounters::delta(&known, &known).storage_read_bytes, Some(0));
}

#[test]
fn a_new_thread_counts_from_zero_and_a_gone_one_is_left_out() {
    let thread = |tid, run_ns| ThreadCounters { tid, run_ns, ..ThreadCounters::default() };
    let a =
        ProcessCounters { thread_list: vec![thread(1, 100), thread(2, 100)], ..ProcessCounters::default() };
    let b =
        ProcessCounters { thread_list: vec![thread(1, 150), thread(3, 40)], ..ProcessCounters::default() };
    let span = ProcessCounters::delta(&a, &b);
    assert_eq!(span.scheduled_ns(), Some(90));
    assert_eq!(span.thread_list.len(), 2);
}

#[test]
fn shares_of_processor_time() {
    let span =
        CpuTimes { user_ns: 20, system_ns: 10, idle_ns: 55, iowait_ns: 5, interrupt_ns: 5, steal_ns: 5 };
    assert_eq!(span.busy_share(), Some(0.35));
    assert_eq!(span.steal_share(), Some(0.05));
    assert_eq!(CpuTimes::default().steal_share(), None);
}

#[test]
fn devices_and_processes_are_paired_by_name_not_by_position() {
    let device = |name: &str, reads| DeviceCounters { name: name.into(), reads, ..DeviceCounters::default() };
    let a = Counters { at_ns: 5, devices: vec![device("sda", 1), device("sdb", 10)], ..Counters::default() };
    let b = Counters { at_ns: 9, devices: vec![device("sdb", 12), device("sdc", 99)], ..Counters::default() };
    let span = Counters::delta(&a, &b);
    assert_eq!(span.at_ns, 4);
    assert_eq!(span.devices, vec![device("sdb", 2)]);
    assert!(span.device("sda").is_none());
}

#[test]
fn a_cgroup_device_seen_first_in_the_span_counts_in_full() {
    let io = CgroupIo { device: "8:0".into(), reads: 3, read_bytes: 4096, ..CgroupIo::default() };
    let a = CgroupCounters { throttled_ns: Some(5), ..CgroupCounters::default() };
    let b = CgroupCounters { throttled_ns: Some(9), io: vec![io.clone()], ..CgroupCounters::default() };
    let span = CgroupCounters::delta(&a, &b);
    assert_eq!((span.throttled_ns, span.io), (Some(4), vec![io]));
}
