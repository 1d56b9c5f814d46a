//! Counters of one block device.

use serde::{Deserialize, Serialize};

/// `/sys/block/NAME/stat` with its meaning from the kernel's Documentation/block/stat.rst.
///
/// The times are milliseconds because the kernel counts them so; they wrap at 2^32 and the difference undoes
/// one such wrap.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct DeviceCounters {
    /// Kernel name of the device.
    pub name: String,
    /// Monotonic clock when this device was read; in a delta, the time between the two readings.
    pub at_ns: u64,
    /// Reads completed.
    pub reads: u64,
    /// Reads merged into another request before they were issued.
    pub read_merges: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Sum over all reads of the time each took.
    pub read_time_ms: u64,
    /// Writes completed.
    pub writes: u64,
    /// Writes merged.
    pub write_merges: u64,
    /// Bytes written.
    pub write_bytes: u64,
    /// Sum over all writes of the time each took.
    pub write_time_ms: u64,
    /// Gauge: requests issued and not completed.
    pub in_flight: u64,
    /// Time during which at least one request was in flight.
    pub busy_time_ms: u64,
    /// Integral of requests in flight over time.
    pub weighted_time_ms: u64,
    /// Discards completed (kernel 4.18 and later).
    pub discards: Option<u64>,
    /// Bytes discarded.
    pub discard_bytes: Option<u64>,
    /// Flushes completed (kernel 5.5 and later).
    pub flushes: Option<u64>,
    /// Sum over all flushes of the time each took.
    pub flush_time_ms: Option<u64>,
}

impl DeviceCounters {
    /// What the device did between two snapshots.
    pub fn delta(earlier: &Self, later: &Self) -> Self {
        let total = |field: fn(&Self) -> u64| field(later).saturating_sub(field(earlier));
        let time = |field: fn(&Self) -> u64| wrapping_ms(field(earlier), field(later));
        let maybe = |field: fn(&Self) -> Option<u64>| super::known_delta(field(earlier), field(later));
        Self {
            name: later.name.clone(),
            at_ns: total(|d| d.at_ns),
            reads: total(|d| d.reads),
            read_merges: total(|d| d.read_merges),
            read_bytes: total(|d| d.read_bytes),
            read_time_ms: time(|d| d.read_time_ms),
            writes: total(|d| d.writes),
            write_merges: total(|d| d.write_merges),
            write_bytes: total(|d| d.write_bytes),
            write_time_ms: time(|d| d.write_time_ms),
            in_flight: later.in_flight,
            busy_time_ms: time(|d| d.busy_time_ms),
            weighted_time_ms: time(|d| d.weighted_time_ms),
            discards: maybe(|d| d.discards),
            discard_bytes: maybe(|d| d.discard_bytes),
            flushes: maybe(|d| d.flushes),
            flush_time_ms: earlier.flush_time_ms.zip(later.flush_time_ms).map(|(a, b)| wrapping_ms(a, b)),
        }
    }

    /// Of a delta: requests in flight at the device, averaged over time. `None` for an empty span.
    ///
    /// The kernel integrates this itself (it is not computed from our own counts), which is what makes it
    /// evidence about the depth that reached the device. It counts whole requests: two I/Os merged into one
    /// count once.
    pub fn time_weighted_depth(&self) -> Option<f64> {
        (self.at_ns > 0).then(|| self.weighted_time_ms as f64 * 1e6 / self.at_ns as f64)
    }

    /// Of a delta: share of the time, 0 to 1, during which something was in flight. `None` for an empty span.
    ///
    /// For a device that works on many requests at once a value of 1 does not mean that it is saturated.
    pub fn busy_share(&self) -> Option<f64> {
        (self.at_ns > 0).then(|| (self.busy_time_ms as f64 * 1e6 / self.at_ns as f64).min(1.0))
    }

    /// Of a delta: I/Os of all kinds.
    pub fn ios(&self) -> u64 {
        self.reads + self.writes + self.discards.unwrap_or(0)
    }
}

/// Difference of a millisecond total that the kernel keeps in 32 bits.
fn wrapping_ms(earlier: u64, later: u64) -> u64 {
    const WRAP: u64 = 1 << 32;
    match later.checked_sub(earlier) {
        Some(difference) => difference,
        // Only a total near its end can have wrapped; anything else was reset.
        None if earlier < WRAP && earlier > WRAP / 2 && later < WRAP / 2 => later + WRAP - earlier,
        None => 0,
    }
}
