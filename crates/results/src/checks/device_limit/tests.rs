use super::*;
use crate::checks::tests::{only, silent};
use crate::environment::CgroupDeviceLimit;
use crate::fixture::run;
use crate::run::Run;

fn reads(read_iops: u64) -> CgroupDeviceLimit {
    CgroupDeviceLimit { device: "8:0".to_owned(), read_iops: Some(read_iops), ..CgroupDeviceLimit::default() }
}

/// A job of intervals of 0.2 s with these IOPS, under limits of reads a second that readings of every 0.2 s saw from and to these seconds.
fn limited(iops: &[f64], limits: &[(u64, f64, f64)]) -> Run {
    let mut run = run();
    run.environment.targets[0].devices[0].number = Some("8:0".to_owned());
    let (phase, span_s) = (&mut run.phases[0], 0.2 * iops.len() as f64);
    phase.evidence.span_ns = (span_s * 1e9) as u64;
    phase.evidence.seconds = (0..iops.len())
        .map(|at| crate::evidence::MachineSecond {
            start_s: 0.2 * at as f64,
            length_s: 0.2,
            ..Default::default()
        })
        .collect();
    let held = |&(most, start_s, end_s)| LimitInForce { limit: reads(most), start_s, end_s };
    phase.evidence.device_limits = limits.iter().map(held).collect();
    let job = &mut phase.jobs[0];
    job.evidence.measured_start_ns = 0;
    job.total.iops = iops.iter().sum::<f64>() / iops.len() as f64;
    job.total.bytes_per_s = job.total.iops * 4096.0;
    let point = job.series[0];
    job.series = (0..iops.len())
        .map(|at| SeriesPoint {
            start_s: 0.2 * at as f64,
            length_s: 0.2,
            iops: iops[at],
            bytes_per_s: 4096.0 * iops[at],
            ..point
        })
        .collect();
    run
}

#[test]
fn a_figure_that_was_under_some_limit_all_the_time_has_no_faster_part() {
    // As recorded: 3000 a second, 2500 from 2 s on; without limits 14,000.
    let mut iops = vec![3000.0; 10];
    iops.extend([2500.0; 10]);
    let finding = only(ID, &limited(&iops, &[(3000, 0.0, 1.8), (2500, 2.0, 4.0)]));
    assert_eq!(finding.bias_words(), "IOPS low without bound: the figure is that of the limits");
    assert_eq!(
        finding.message,
        "the control group's limits were reached: 3000 reads a second on 8:0, in force from 0.0 s to 1.8 s; \
         2500 reads a second on 8:0, in force from 2 s to 4 s"
    );
    // As recorded on a busy machine, which caught up in one interval with what it had not done before.
    let seen = [3000.0, 3000.0, 2458.0, 1925.0, 2100.0, 4545.0, 3000.0, 3000.0, 2600.0, 2580.0];
    let iops: Vec<f64> = seen.into_iter().chain([2500.0; 10]).collect();
    let finding = only(ID, &limited(&iops, &[(3000, 0.0, 1.8), (2500, 2.0, 4.0)]));
    assert_eq!(finding.bias_words(), "IOPS low without bound: the figure is that of the limits");
    // 1000, then 3000 to the end, with the interval of the change between them.
    let mut iops = vec![1000.0; 9];
    iops.push(2100.0);
    iops.extend([3000.0; 10]);
    let finding = only(ID, &limited(&iops, &[(1000, 0.0, 1.8), (3000, 2.0, 4.0)]));
    assert_eq!(finding.effect.unwrap().low, -Effect::UNBOUNDED);
    assert!(finding.message.contains("1000 reads") && finding.message.contains("3000 reads"));
}

#[test]
fn every_limit_that_was_reached_is_named() {
    // As recorded: 400, 1200, 5000, none.
    let mut iops = vec![400.0; 6];
    iops.extend([900.0, 1200.0, 1200.0, 1200.0, 3400.0, 5000.0, 5000.0, 9800.0]);
    iops.extend([14_000.0, 13_900.0, 14_200.0, 14_100.0, 14_000.0, 14_050.0]);
    let run = limited(&iops, &[(400, 0.0, 1.2), (1200, 1.4, 2.0), (5000, 2.2, 2.4)]);
    let finding = only(ID, &run);
    for limit in ["400 reads", "1200 reads", "5000 reads"] {
        assert!(finding.message.contains(limit), "{}", finding.message);
    }
    let figure = run.phases[0].jobs[0].total.iops;
    let twin = figure * (1.0 - finding.effect.unwrap().low);
    assert!((13_900.0..14_500.0).contains(&twin), "{twin}: {}", finding.bias_words());
}

#[test]
fn a_limit_that_comes_and_goes_is_bounded_by_the_intervals_without_it() {
    // 200 a second in every other 0.35 s; readings saw it on and off.
    let share_on = |at: usize| -> f64 {
        (0..20)
            .filter(|part| (((0.2 * at as f64 + 0.01 * *part as f64) / 0.35) as u64).is_multiple_of(2))
            .count() as f64
            / 20.0
    };
    let iops: Vec<f64> = (0..24).map(|at| share_on(at) * 200.0 + (1.0 - share_on(at)) * 14_500.0).collect();
    let all_along = limited(&iops, &[(200, 0.0, 4.8)]);
    let on_and_off = limited(
        &iops,
        &[(200, 0.0, 0.2), (200, 0.8, 1.0), (200, 1.4, 1.6), (200, 2.2, 2.4), (200, 2.8, 3.0)],
    );
    for run in [all_along, on_and_off] {
        let finding = only(ID, &run);
        assert!(finding.message.contains("of the readings"), "{}", finding.message);
        let twin = run.phases[0].jobs[0].total.iops * (1.0 - finding.effect.unwrap().low);
        assert!((14_000.0..15_000.0).contains(&twin), "{twin}: {}", finding.bias_words());
    }
}

#[test]
fn a_limit_that_comes_and_goes_faster_than_intervals_has_an_unknown_effect() {
    // 500 a second in every other 0.15 s.
    let iops: Vec<f64> = (0..30).map(|at| if at % 3 == 0 { 3900.0 } else { 9100.0 }).collect();
    let finding = only(ID, &limited(&iops, &[(500, 1.0, 5.0)]));
    assert!(
        finding.message.contains(
            "limit of the control group of 500 reads a second on 8:0 was in force in 68 % of the readings"
        ),
        "{}",
        finding.message
    );
    assert!(finding.bias_words().starts_with("IOPS low, effect unknown"), "{}", finding.bias_words());
    // A limit that the job did not come near says nothing.
    silent(ID, &limited(&iops, &[(50_000, 1.0, 5.0)]));
}

#[test]
fn a_device_limit_that_was_reached() {
    let mut run = run();
    run.environment.targets[0].devices[0].number = Some("8:0".to_owned());
    let limit =
        |read_iops| CgroupDeviceLimit { device: "8:0".to_owned(), read_iops, ..CgroupDeviceLimit::default() };
    run.environment.cgroup.devices = vec![limit(Some(2000))];
    assert!(only(ID, &run).message.contains("limit of 2000 reads a second"));
    run.environment.cgroup.devices = vec![limit(Some(20_000))];
    silent(ID, &run);
}

#[test]
fn a_limit_that_was_set_meanwhile_is_named_and_no_matter_of_depth() {
    let mut run = run();
    run.environment.targets[0].devices[0].number = Some("8:0".to_owned());
    // Two fast seconds, then a limit of 500 reads a second, as recorded.
    for (at, point) in run.phases[0].jobs[0].series.iter_mut().enumerate() {
        point.iops = if at < 2 { 5000.0 } else { 502.0 };
        point.bytes_per_s = point.iops * 4096.0;
    }
    let limit =
        CgroupDeviceLimit { device: "8:0".to_owned(), read_iops: Some(500), ..CgroupDeviceLimit::default() };
    run.phases[0].evidence.device_limits = vec![LimitInForce { limit, start_s: 2.0, end_s: 5.0 }];
    run.phases[0].device.as_mut().unwrap().device_depth_mean = Some(0.8);
    let finding = only(ID, &run);
    assert!(
        finding.message.contains("limit of 500 reads a second on 8:0, in force from 2 s to 5 s,"),
        "{}",
        finding.message
    );
    silent("effective-depth", &run);
    // Two of five seconds at 5000, then 502: the mean is 2301.
    assert_eq!(
        finding.bias_words(),
        "IOPS low: without it up to 2.2 times as many against the faster intervals; \
         IOPS 0-358 % high against what lasts"
    );
    let effect = finding.effect.unwrap();
    assert!((effect.low + 1.17).abs() < 0.01 && (effect.high - 3.58).abs() < 0.01, "{effect:?}");
    // One that was lifted again is no level that lasts: a sawtooth.
    for (at, point) in run.phases[0].jobs[0].series.iter_mut().enumerate() {
        point.iops = if at == 2 || at == 3 { 502.0 } else { 2000.0 };
    }
    run.phases[0].evidence.device_limits[0].end_s = 4.0;
    assert_eq!(only(ID, &run).bias_words(), "IOPS 0-43 % low against the faster intervals");
    run.phases[0].evidence.device_limits[0].end_s = 5.0;
    // A limit that was not reached explains nothing.
    run.phases[0].evidence.device_limits[0].limit.read_iops = Some(2000);
    silent(ID, &run);
    assert_eq!(only("effective-depth", &run).severity, FindingSeverity::Warning);
}

#[test]
fn a_limit_on_a_device_over_something_that_does_not_count() {
    let mut run = run();
    run.environment.targets[0].devices[0].number = Some("7:0".to_owned());
    let truth = run.phases[0].device.as_mut().unwrap();
    (truth.device_read_bytes, truth.device_written_bytes) = (None, None);
    (truth.device_reads, truth.device_writes) = (None, None);
    let span_s = run.phases[0].evidence.span_ns as f64 / 1e9;
    let reads_per_s = (run.phases[0].jobs[0].read.as_ref().unwrap().ios as f64 / span_s) as u64;
    let limit = CgroupDeviceLimit {
        device: "7:0".to_owned(),
        read_iops: Some(reads_per_s),
        ..CgroupDeviceLimit::default()
    };
    run.environment.cgroup.devices = vec![limit];
    run.phases[0].jobs[0].direct = true;
    assert!(only(ID, &run).message.contains(&format!("limit of {reads_per_s} reads a second")));
    run.phases[0].jobs[0].direct = false;
    silent(ID, &run);
}
