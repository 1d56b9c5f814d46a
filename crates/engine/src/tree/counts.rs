//! What is counted of operations on files and directories: a fixed table of the thirteen, made before the measured part.

use assay_results::JobCounts;
use assay_workload::pattern::OpKind;
use assay_workload::tree::TreeOperation;

use crate::recorder::{Counting, Histograms, Recorder};

const OPERATIONS: usize = TreeOperation::COUNT;
/// Operations that were asked for, their response times, those that came along, lateness, flushes.
const HISTOGRAMS: usize = 3 * OPERATIONS + 2;
const RESPONSE: usize = OPERATIONS;
const ALONG: usize = 2 * OPERATIONS;
const LATENESS: usize = 3 * OPERATIONS;
const FLUSH: usize = 3 * OPERATIONS + 1;

/// The counts of one half of a tree recorder.
#[derive(Debug)]
pub struct TreeCounts {
    histograms: Histograms<HISTOGRAMS>,
    bytes: [u64; OPERATIONS],
    errors: u64,
}

impl TreeCounts {
    fn record(&mut self, histogram: usize, value_ns: u64) {
        assert!(histogram < HISTOGRAMS);
        // SAFETY: checked right above.
        unsafe { self.histograms.record(histogram, value_ns, 1) };
    }
}

impl Counting for TreeCounts {
    fn new() -> Self {
        TreeCounts { histograms: Histograms::new(), bytes: [0; OPERATIONS], errors: 0 }
    }

    fn take(&mut self, counts: &mut JobCounts) {
        for operation in TreeOperation::ALL {
            let index = operation as usize;
            for (base, requested) in [(0, true), (ALONG, false)] {
                let mut latencies = assay_results::LatencyHistogram::new();
                let Some((ios, sum_ns)) = self.histograms.take(base + index, &mut latencies) else {
                    continue;
                };
                counts.busy_slot_ns += sum_ns;
                let op = match operation {
                    TreeOperation::Read => counts.op_mut(OpKind::Read),
                    TreeOperation::Write => counts.op_mut(OpKind::Write),
                    named => counts.named_mut(named, requested),
                };
                op.ios += ios;
                op.completion.merge(&latencies);
                if requested {
                    self.histograms.take(RESPONSE + index, &mut op.response);
                    op.bytes += std::mem::take(&mut self.bytes[index]);
                }
            }
        }
        let flush = counts.op_mut(OpKind::Fsync);
        if let Some((ios, _)) = self.histograms.take(FLUSH, &mut flush.completion) {
            flush.ios += ios;
        }
        self.histograms.take(LATENESS, &mut counts.lateness);
        counts.errors += std::mem::take(&mut self.errors);
    }
}

impl Recorder<TreeCounts> {
    /// Records an operation that was asked for; `response_ns` where it had an intended arrival.
    pub(super) fn requested(
        &mut self,
        operation: TreeOperation,
        completion_ns: u64,
        response_ns: Option<u64>,
        bytes: u64,
    ) {
        let counts = self.counts();
        counts.record(operation as usize, completion_ns);
        counts.bytes[operation as usize] += bytes;
        if let Some(response_ns) = response_ns {
            counts.record(RESPONSE + operation as usize, response_ns);
        }
    }

    /// Records an operation that came along with another.
    pub(super) fn along(&mut self, operation: TreeOperation, completion_ns: u64) {
        self.counts().record(ALONG + operation as usize, completion_ns);
    }

    /// Records a flush.
    pub(super) fn flushed(&mut self, completion_ns: u64) {
        self.counts().record(FLUSH, completion_ns);
    }

    /// Records how late an operation was begun.
    pub(super) fn late(&mut self, lateness_ns: u64) {
        self.counts().record(LATENESS, lateness_ns);
    }

    /// Counts a failed operation.
    pub(super) fn failed(&mut self) {
        self.counts().errors += 1;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::recorder::{Schedule, Shared};

    #[test]
    fn every_operation_arrives_under_its_name() {
        let shared = Shared::<TreeCounts>::new();
        let schedule = Schedule { start_ns: 0, measured_start_ns: 0, interval_ns: 1000 };
        let mut recorder = Recorder::new(Arc::clone(&shared), schedule);
        for (index, operation) in TreeOperation::ALL.into_iter().enumerate() {
            for _ in 0..=index {
                recorder.requested(operation, 100, Some(200), 10);
            }
        }
        recorder.along(TreeOperation::Open, 5);
        recorder.flushed(7);
        recorder.late(3);
        recorder.failed();
        recorder.finish(500);
        let counts = &shared.take()[0].counts;
        assert_eq!((counts.op(OpKind::Read).ios, counts.op(OpKind::Write).ios), (7, 8));
        assert_eq!((counts.op(OpKind::Fsync).ios, counts.lateness.n(), counts.errors), (1, 1, 1));
        assert_eq!(counts.data_ios(), 91, "1 + 2 + .. + 13: what came along is not among them");
        assert_eq!(counts.data().bytes, 910);
        let open: Vec<_> = counts.named.iter().filter(|n| n.operation == TreeOperation::Open).collect();
        assert_eq!(
            open.iter().map(|n| (n.requested, n.counts.ios)).collect::<Vec<_>>(),
            [(false, 1), (true, 5)]
        );
        assert_eq!(open[1].counts.response.max_ns(), 200);
        assert_eq!(counts.busy_slot_ns, 91 * 100 + 5);
    }
}
