//! Threads that keep their operations in proportion: fio's `flow`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use assay_workload::job::Flow;
use assay_workload::plan::PlannedPhase;

/// What the threads of one flow have in common.
#[derive(Debug, Default)]
struct Common {
    /// Weights of the threads that have not ended.
    weight: AtomicU64,
    /// Their operations.
    done: AtomicU64,
}

/// The flows of a phase.
#[derive(Debug, Default)]
pub(crate) struct Flows(BTreeMap<u32, Arc<Common>>);

impl Flows {
    /// Of all jobs: each thread counts from the start, whenever it starts.
    pub(crate) fn of(phase: &PlannedPhase) -> Flows {
        let mut flows: BTreeMap<u32, Arc<Common>> = BTreeMap::new();
        for (flow, threads) in phase.jobs.iter().filter_map(|job| Some((job.flow?, job.slices.len()))) {
            let common = flows.entry(flow.id).or_default();
            common.weight.fetch_add(u64::from(flow.weight) * threads as u64, Ordering::Relaxed);
        }
        Flows(flows)
    }

    /// A thread's share.
    pub(crate) fn share(&self, flow: Flow) -> Option<FlowShare> {
        let common = Arc::clone(self.0.get(&flow.id)?);
        Some(FlowShare { common, weight: u64::from(flow.weight), pause_ns: flow.pause.0, done: 0 })
    }
}

/// One thread's share of a flow. A thread that has ended leaves the proportion to the others.
#[derive(Debug)]
pub struct FlowShare {
    common: Arc<Common>,
    weight: u64,
    pause_ns: u64,
    done: u64,
}

impl FlowShare {
    /// Takes a turn, if the thread is not ahead of its share; else how long it waits before it asks again, in nanoseconds.
    pub(crate) fn take_turn(&mut self) -> Result<(), u64> {
        let of_all = u128::from(self.common.done.load(Ordering::Relaxed)) * u128::from(self.weight);
        let own = u128::from(self.done) * u128::from(self.common.weight.load(Ordering::Relaxed));
        if own > of_all {
            return Err(self.pause_ns);
        }
        self.common.done.fetch_add(1, Ordering::Relaxed);
        self.done += 1;
        Ok(())
    }
}

impl Drop for FlowShare {
    fn drop(&mut self) {
        self.common.done.fetch_sub(self.done, Ordering::Relaxed);
        self.common.weight.fetch_sub(self.weight, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_workload::units::Nanos;

    fn flows(weights: &[u32]) -> (Flows, Vec<FlowShare>) {
        let common = Common::default();
        common.weight.store(weights.iter().map(|weight| u64::from(*weight)).sum(), Ordering::Relaxed);
        let flows = Flows(BTreeMap::from([(1, Arc::new(common))]));
        let share = |weight: &u32| flows.share(Flow { id: 1, weight: *weight, pause: Nanos(5) });
        let shares = weights.iter().filter_map(share).collect();
        (flows, shares)
    }

    /// Operations of each, where all want one all the time.
    fn done(shares: &mut [FlowShare], rounds: usize) -> Vec<u64> {
        for _ in 0..rounds {
            for share in shares.iter_mut() {
                let _ = share.take_turn();
            }
        }
        shares.iter().map(|share| share.done).collect()
    }

    #[test]
    fn operations_are_in_the_proportion_of_the_weights() {
        let (_flows, mut shares) = flows(&[1, 2, 3]);
        let done = done(&mut shares, 6000);
        assert!(done[0] > 500, "{done:?}");
        for (share, weight) in done.iter().zip([1.0, 2.0, 3.0]) {
            assert!((*share as f64 / done[0] as f64 / weight - 1.0).abs() < 0.02, "{done:?}");
        }
        assert_eq!(shares.iter_mut().find_map(|share| share.take_turn().err()).unwrap_or(5), 5);
    }

    #[test]
    fn those_that_stay_share_what_is_left() {
        let (_flows, mut shares) = flows(&[1, 1, 8]);
        let before = done(&mut shares, 1000);
        shares.pop();
        let after = done(&mut shares, 1000);
        let more: Vec<u64> = after.iter().zip(&before).map(|(after, before)| after - before).collect();
        assert!(more[0] > 400 && more[0].abs_diff(more[1]) <= 2, "{before:?} {after:?}");
        // Alone nobody waits for others.
        shares.pop();
        assert!((0..100).all(|_| shares[0].take_turn().is_ok()));
    }
}
