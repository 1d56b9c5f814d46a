//! What the jobs of a reporting group did together.

use super::report::{Job, per_second};

/// One direction of a group.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct GroupDirection {
    pub(super) name: &'static str,
    pub(super) bytes: u64,
    /// Least and most of any job.
    pub(super) bytes_per_s: [u64; 2],
    pub(super) runtime_ms: [u64; 2],
}

impl GroupDirection {
    /// Of all jobs, over the longest runtime.
    pub(super) fn total_bytes_per_s(&self) -> u64 {
        per_second(self.bytes, self.runtime_ms[1])
    }

    fn add(&mut self, other: &GroupDirection) {
        let first = self.runtime_ms[1] == 0;
        let both = |[low, high]: [u64; 2], [other_low, other_high]: [u64; 2]| {
            [if first { other_low } else { low.min(other_low) }, high.max(other_high)]
        };
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.bytes_per_s = both(self.bytes_per_s, other.bytes_per_s);
        self.runtime_ms = both(self.runtime_ms, other.runtime_ms);
    }
}

/// Reads, writes and trims of the jobs of a group, as far as there are any, in this order.
pub(super) fn directions<'a>(jobs: impl Iterator<Item = &'a Job> + Clone) -> Vec<GroupDirection> {
    let mut all = Vec::new();
    for name in ["read", "write", "trim", "mixed"] {
        let mut sum = GroupDirection { name, ..GroupDirection::default() };
        for one in jobs.clone().flat_map(|job| &job.directions).filter(|one| one.name == name) {
            if one.runtime_ms > 0 {
                let rate = one.bytes_per_s();
                sum.add(&GroupDirection {
                    name,
                    bytes: one.bytes,
                    bytes_per_s: [rate; 2],
                    runtime_ms: [one.runtime_ms; 2],
                });
            }
        }
        all.extend((sum.runtime_ms[1] > 0).then_some(sum));
    }
    all
}

/// All directions of a group as one; fio adds up their rates.
pub(super) fn mixed(directions: &[GroupDirection]) -> (GroupDirection, u64) {
    let mut sum = GroupDirection { name: "mixed", ..GroupDirection::default() };
    directions.iter().for_each(|one| sum.add(one));
    let rate = directions.iter().map(GroupDirection::total_bytes_per_s).fold(0, u64::saturating_add);
    (sum, rate)
}
