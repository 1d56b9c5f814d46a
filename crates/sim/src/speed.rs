//! How fast the simulator is, in release builds.

use std::io::Write as _;

#[test]
fn speed() {
    use crate::Model;
    use crate::testing::*;
    use assay_workload::AccessPattern;
    use assay_workload::pattern::*;
    for name in std::env::var("SIM_MODELS").unwrap_or("two-brick".into()).split(",") {
        let model = Model::shipped(name).unwrap();
        for (mix, paces) in [
            (Mix::READ, vec![Pace::Closed(64)]),
            (Mix::READ, vec![Pace::Closed(8); 8]),
            (Mix::read_write(70.0), vec![Pace::Closed(64)]),
        ] {
            let pattern = AccessPattern::new(mix, 4096, Placement::random_independent());
            let n = 2_000_000 / paces.len() as u64;
            let t = std::time::Instant::now();
            let (sim, loops) = run(&model, 1, 1 << 34, &pattern, n, &paces);
            let dt = t.elapsed();
            let o = sim.observe();
            let _ = writeln!(
                std::io::stderr(),
                "{name} {} loops {:?}: {:.2} M/s; {:.0} iops mean {:.0} us hit {:?} cores {:.2?} drive {:.2}",
                paces.len(),
                mix.read_percent,
                o.completed as f64 / dt.as_secs_f64() / 1e6,
                o.iops(),
                o.completion_ns_mean() / 1e3,
                o.cache.map(|c| c.read_hit_ratio()),
                o.cores.iter().take(8).map(|c| c.load.utilisation).collect::<Vec<_>>(),
                o.drives.first().map_or(0.0, |d| d.utilisation)
            );
            assert!(loops.iter().all(|l| l.errors == 0));
        }
    }
}
