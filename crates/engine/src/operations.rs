//! What is counted of a job whose operations have names of their own (on files and directories, transactions, mail): a table
//! made before the measured part, with one entry an operation.

use std::sync::Arc;

use assay_results::{JobCounts, LatencyHistogram, OpCounts};
use assay_workload::operation::{Counted, OpId};
use assay_workload::pattern::OpKind;

use crate::recorder::{Counting, Histograms, Recorder, Shared};

/// Where the counts of an operation go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entry {
    /// To the reads, writes or trims.
    Data(OpKind),
    /// To an operation that the planned job names.
    Named(OpId),
}

/// One operation, counted in one way.
#[derive(Debug)]
struct Tally {
    completion: Histograms<1>,
    bytes: u64,
}

impl Tally {
    fn new() -> Self {
        Tally { completion: Histograms::new(), bytes: 0 }
    }
}

/// The counts of one half of a recorder, by the place of an operation in the table.
#[derive(Debug)]
pub struct OperationCounts {
    entries: Vec<Entry>,
    in_total: Vec<Tally>,
    beside: Vec<Tally>,
    response: Vec<Histograms<1>>,
    flush: Histograms<1>,
    lateness: Histograms<1>,
    errors: u64,
}

fn record(histogram: &mut Histograms<1>, value_ns: u64) {
    // SAFETY: it holds one.
    unsafe { histogram.record(0, value_ns, 1) };
}

impl OperationCounts {
    fn new(entries: &[Entry]) -> Self {
        let each = || entries.iter();
        OperationCounts {
            entries: entries.to_vec(),
            in_total: each().map(|_| Tally::new()).collect(),
            beside: each().map(|_| Tally::new()).collect(),
            response: each().map(|_| Histograms::new()).collect(),
            flush: Histograms::new(),
            lateness: Histograms::new(),
            errors: 0,
        }
    }

    /// Both halves for a job with these operations.
    pub fn shared(entries: &[Entry]) -> Arc<Shared<Self>> {
        Shared::of([OperationCounts::new(entries), OperationCounts::new(entries)])
    }
}

impl Counting for OperationCounts {
    fn take(&mut self, counts: &mut JobCounts) {
        for (index, entry) in self.entries.iter().enumerate() {
            let ways = [(Counted::InTotal, &mut self.in_total), (Counted::Beside, &mut self.beside)];
            for (counted, tallies) in ways {
                let mut latencies = LatencyHistogram::new();
                let Some((ios, sum_ns)) = tallies[index].completion.take(0, &mut latencies) else { continue };
                counts.busy_slot_ns += sum_ns;
                let op: &mut OpCounts = match *entry {
                    Entry::Data(kind) => counts.op_mut(kind),
                    Entry::Named(operation) => counts.named_mut(operation, counted),
                };
                op.ios += ios;
                op.bytes += std::mem::take(&mut tallies[index].bytes);
                op.completion.merge(&latencies);
                if counted == Counted::InTotal {
                    self.response[index].take(0, &mut op.response);
                }
            }
        }
        let flush = counts.op_mut(OpKind::Fsync);
        if let Some((ios, _)) = self.flush.take(0, &mut flush.completion) {
            flush.ios += ios;
        }
        self.lateness.take(0, &mut counts.lateness);
        counts.errors += std::mem::take(&mut self.errors);
    }
}

/// `operation` is its place in the table.
impl Recorder<OperationCounts> {
    /// Records an operation that was asked for; `response_ns` where it had an intended arrival.
    pub fn requested(&mut self, operation: usize, completion_ns: u64, response_ns: Option<u64>, bytes: u64) {
        let counts = self.counts();
        let tally = &mut counts.in_total[operation];
        record(&mut tally.completion, completion_ns);
        tally.bytes += bytes;
        if let Some(response_ns) = response_ns {
            record(&mut counts.response[operation], response_ns);
        }
    }

    /// Records an operation that another one consists of or brought along: the opening of a file that is read, the pages of
    /// a transaction.
    pub fn beside(&mut self, operation: usize, completion_ns: u64, bytes: u64) {
        let tally = &mut self.counts().beside[operation];
        record(&mut tally.completion, completion_ns);
        tally.bytes += bytes;
    }

    /// Records a flush.
    pub fn flushed(&mut self, completion_ns: u64) {
        record(&mut self.counts().flush, completion_ns);
    }

    /// Records how late an operation was begun.
    pub fn late(&mut self, lateness_ns: u64) {
        record(&mut self.counts().lateness, lateness_ns);
    }

    /// Counts a failed operation.
    pub fn failed(&mut self) {
        self.counts().errors += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recorder::Schedule;

    #[test]
    fn every_operation_arrives_where_the_table_says() {
        let id = OpId::new;
        let table =
            [Entry::Named(id(0)), Entry::Data(OpKind::Read), Entry::Named(id(7)), Entry::Data(OpKind::Write)];
        let shared = OperationCounts::shared(&table);
        let schedule = Schedule { start_ns: 0, measured_start_ns: 0, interval_ns: 1000 };
        let mut recorder = Recorder::new(Arc::clone(&shared), schedule);
        for index in 0..table.len() {
            for _ in 0..=index {
                recorder.requested(index, 100, Some(200), 10);
            }
        }
        recorder.beside(2, 5, 4096);
        recorder.flushed(7);
        recorder.late(3);
        recorder.failed();
        recorder.finish(500);
        let counts = &shared.take()[0].counts;
        assert_eq!((counts.op(OpKind::Read).ios, counts.op(OpKind::Write).ios), (2, 4));
        assert_eq!((counts.op(OpKind::Fsync).ios, counts.lateness.n(), counts.errors), (1, 1, 1));
        assert_eq!(counts.data_ios(), 10, "1 + 2 + 3 + 4: what is done beside is not among them");
        assert_eq!(counts.data().bytes, 100);
        let named: Vec<_> =
            counts.named.iter().map(|n| (n.operation, n.counted, n.counts.ios, n.counts.bytes)).collect();
        let in_total = |number, ios| (id(number), Counted::InTotal, ios, 10 * ios);
        assert_eq!(named, [in_total(0, 1), (id(7), Counted::Beside, 1, 4096), in_total(7, 3)]);
        assert_eq!(counts.named[2].counts.response.max_ns(), 200);
        assert_eq!(counts.busy_slot_ns, 10 * 100 + 5);
    }
}
