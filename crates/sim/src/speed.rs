//! How fast the simulator is, in release builds.

use std::io::Write as _;

use assay_workload::AccessPattern;
use assay_workload::pattern::{Distribution, Mix, Placement, Random};

use crate::Model;
use crate::testing::{Pace, run};

/// CPU time of this thread: the machine may be busy with other things.
fn cpu_ns() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    text.split(' ').next().unwrap().parse().unwrap()
}

/// Simulated I/Os per second of CPU time, written to stderr for each model; a generous lower limit for the case.
#[test]
fn speed() {
    let names = std::env::var("SIM_MODELS").unwrap_or_else(|_| "two-brick".to_owned());
    let ios = std::env::var("SIM_IOS").map_or(2_000_000, |ios| ios.parse().unwrap());
    for name in names.split(',') {
        let model = Model::shipped(name).unwrap();
        let hit = Distribution::HitArea { read_percent: 75.0, write_percent: 75.0, bytes: 8 << 20 };
        let hit = Placement::Random(Random { distribution: hit, once_per_pass: false });
        let uniform = Placement::random_independent();
        for (label, mix, placement, paces) in [
            ("reads, hit area", Mix::READ, &hit, vec![Pace::Closed(64)]),
            ("reads, uniform", Mix::READ, &uniform, vec![Pace::Closed(64)]),
            ("reads, uniform, 8 threads", Mix::READ, &uniform, vec![Pace::Closed(8); 8]),
            ("70 % reads, uniform", Mix::read_write(70.0), &uniform, vec![Pace::Closed(64)]),
        ] {
            let pattern = AccessPattern::new(mix, 4096, placement.clone());
            let before = cpu_ns();
            let (simulation, _) = run(&model, 1, 1 << 34, &pattern, ios / paces.len() as u64, &paces);
            let observed = simulation.observe();
            let per_s = observed.completed as f64 * 1e9 / (cpu_ns() - before);
            let _ = writeln!(
                std::io::stderr(),
                "{name}, {label}: {:.2} M/s of CPU; {:.0} IOPS, {:.0} us, hits {:.2?}, busy {:.2?}",
                per_s / 1e6,
                observed.iops(),
                observed.completion_ns_mean() / 1e3,
                observed.cache.and_then(|cache| cache.read_hit_ratio()),
                observed.core_imbalance(),
            );
            assert!(per_s > 3e5, "{per_s}");
        }
    }
}

/// Operations per second of CPU time that an audit counts one by one: 10^8 of them in less than five seconds.
#[test]
fn counting_a_stream_is_fast() {
    use assay_workload::pattern::OpKind;
    use assay_workload::rng::Rng;
    let model = Model::shipped("two-brick").unwrap();
    let mut stream = crate::audit::StreamAudit::new(&model, 1);
    let mut rng = Rng::new(1);
    let before = cpu_ns();
    let count = 10_000_000;
    for _ in 0..count {
        stream.add(0, OpKind::Read, rng.below(1 << 24) * 4096, 4096);
    }
    let ns_each = (cpu_ns() - before) / f64::from(count);
    let _ = writeln!(std::io::stderr(), "audit: {ns_each:.1} ns of CPU an operation");
    assert!(ns_each < 150.0, "{ns_each}");
}
