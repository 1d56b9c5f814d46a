//! The simulator against what theory knows exactly.

use assay_workload::AccessPattern;
use assay_workload::pattern::{Mix, OpKind, Placement};

use crate::testing::{Pace, run};
use crate::{Model, Service};

const GIB: u64 = 1 << 30;

fn reads_4k() -> AccessPattern {
    AccessPattern::new(Mix::READ, 4096, Placement::random_independent())
}

/// The share of measured times at or below each true quantile is within five binomial deviations, whatever the depth:
/// a delay does not queue.
#[test]
fn known_latency_is_measured_as_it_is() {
    let model = Model::shipped("known-latency").unwrap();
    let pattern = AccessPattern::new(Mix::read_write(70.0), 4096, Placement::random_independent());
    let (_, loops) = run(&model, 7, GIB, &pattern, 100_000, &[Pace::Closed(32)]);
    for (kind, truth) in [(OpKind::Read, &model.delay.read), (OpKind::Write, model.delay.of(OpKind::Write))] {
        let histogram = &loops[0].latency[kind as usize];
        let n = histogram.n() as f64;
        for quantile in [0.01, 0.5, 0.9, 0.99, 0.999] {
            let measured = histogram.quantile_ns(quantile).unwrap() as f64;
            let share = truth.share_at_or_below(measured);
            // The histogram's buckets add to the binomial error what they are wide.
            let width = truth.share_at_or_below(measured * 1.01) - truth.share_at_or_below(measured * 0.99);
            let tolerance = 5.0 * (quantile * (1.0 - quantile) / n).sqrt() + width;
            assert!((share - quantile).abs() < tolerance, "{kind:?} {quantile}: {share}");
        }
        let mean = histogram.mean_ns();
        assert!((mean / truth.mean_ns() - 1.0).abs() < 0.02, "{kind:?}: {mean}");
    }
}

#[test]
fn a_closed_loop_on_a_constant_delay_has_the_rate_it_must() {
    let model = Model::known_latency(Service::Constant(crate::service::Time(50_000)), Service::ZERO);
    let (_, loops) = run(&model, 7, GIB, &reads_4k(), 8_000, &[Pace::Closed(8), Pace::Closed(8)]);
    for one in &loops {
        assert_eq!(one.last_ns, 1000 * 50_000, "8 at a time, 50 us each");
        assert_eq!((one.n, one.errors), (8_000, 0));
    }
}
