//! What a station did: counts, and how busy and how full it was over time.

use assay_results::audit::StationLoad;

/// Bins of a timeline; at twice as many, neighbours are joined.
const BINS: usize = 512;
/// The first width of a bin is 2^20 ns, about a millisecond.
const SHIFT_START: u32 = 20;

#[derive(Debug, Clone, Copy, Default)]
struct Bin {
    busy_ns: u64,
    inside_ns: u64,
}

impl Bin {
    #[inline(always)]
    fn add(&mut self, other: Bin) {
        self.busy_ns += other.busy_ns;
        self.inside_ns += other.inside_ns;
    }
}

/// Time spent serving, and by requests inside, in at most [`BINS`] bins whose width doubles as time goes on: memory stays
/// the same however long a simulation is.
#[derive(Debug)]
struct Timeline {
    /// The bin that visits fall into now, from `from_ns` to before `until_ns`; what it holds comes on top of `bins`.
    open: Bin,
    from_ns: u64,
    until_ns: u64,
    origin_ns: u64,
    shift: u32,
    bins: Vec<Bin>,
}

impl Timeline {
    fn new(origin_ns: u64) -> Timeline {
        Timeline {
            open: Bin::default(),
            from_ns: origin_ns,
            until_ns: origin_ns,
            origin_ns,
            shift: SHIFT_START,
            bins: Vec::with_capacity(BINS),
        }
    }

    /// A visit that came at `now_ns`, was served from `start_ns` and left at `end_ns`.
    #[inline(always)]
    fn add(&mut self, now_ns: u64, start_ns: u64, end_ns: u64) {
        // Nearly all visits lie within a bin.
        if end_ns < self.until_ns && now_ns >= self.from_ns {
            self.open.add(Bin { busy_ns: end_ns - start_ns, inside_ns: end_ns - now_ns });
        } else {
            self.add_across(now_ns, start_ns, end_ns);
        }
    }

    #[inline(never)]
    fn add_across(&mut self, now_ns: u64, start_ns: u64, end_ns: u64) {
        self.add_slowly(start_ns, end_ns, true);
        self.add_slowly(now_ns, end_ns, false);
        if now_ns >= self.until_ns {
            self.open_at(now_ns);
        }
    }

    /// The bin at `now_ns`, which exists, is the one that visits fall into from now on.
    fn open_at(&mut self, now_ns: u64) {
        self.close();
        let index = now_ns.saturating_sub(self.origin_ns) >> self.shift;
        self.from_ns = self.origin_ns + (index << self.shift);
        self.until_ns = self.from_ns + (1 << self.shift);
    }

    /// Puts what the open bin holds into its place.
    fn close(&mut self) {
        let (open, index) = (std::mem::take(&mut self.open), self.open_index());
        if let Some(bin) = self.bins.get_mut(index) {
            bin.add(open);
        }
        self.until_ns = self.from_ns;
    }

    fn open_index(&self) -> usize {
        ((self.from_ns - self.origin_ns) >> self.shift) as usize
    }

    /// Bin `index` with what is still open.
    fn bin(&self, index: usize) -> Bin {
        let mut bin = self.bins.get(index).copied().unwrap_or_default();
        if index == self.open_index() {
            bin.add(self.open);
        }
        bin
    }

    fn total(&self) -> Bin {
        let mut total = self.open;
        self.bins.iter().for_each(|bin| total.add(*bin));
        total
    }

    fn add_slowly(&mut self, from_ns: u64, to_ns: u64, busy: bool) {
        let (mut from, to) = (from_ns.saturating_sub(self.origin_ns), to_ns.saturating_sub(self.origin_ns));
        while (to >> self.shift) as usize >= BINS {
            self.fold();
        }
        let last = (to >> self.shift) as usize;
        if last >= self.bins.len() {
            self.bins.resize(last + 1, Bin::default());
        }
        while from < to {
            let index = from >> self.shift;
            let end = ((index + 1) << self.shift).min(to);
            let bin = &mut self.bins[index as usize];
            *if busy { &mut bin.busy_ns } else { &mut bin.inside_ns } += end - from;
            from = end;
        }
    }

    fn fold(&mut self) {
        self.close();
        self.shift += 1;
        for index in 0..self.bins.len().div_ceil(2) {
            let mut joined = self.bins[2 * index];
            joined.add(self.bins.get(2 * index + 1).copied().unwrap_or_default());
            self.bins[index] = joined;
        }
        self.bins.truncate(self.bins.len().div_ceil(2));
    }
}

/// The record of one station.
#[derive(Debug)]
pub(crate) struct Station {
    served: u64,
    /// What its servers still had to do when counting began.
    carried_ns: u64,
    timeline: Timeline,
}

impl Station {
    pub(crate) fn new() -> Station {
        Station { served: 0, carried_ns: 0, timeline: Timeline::new(0) }
    }

    /// A visit that came at `now_ns`, was served from `start_ns` and left at `end_ns`.
    #[inline(always)]
    pub(crate) fn visit(&mut self, now_ns: u64, start_ns: u64, end_ns: u64) {
        self.served += 1;
        self.timeline.add(now_ns, start_ns, end_ns);
    }

    /// Forgets what was, keeping what its servers, free at `free_ns`, still have to do.
    pub(crate) fn reset(&mut self, now_ns: u64, free_ns: &[u64]) {
        let carried_ns = committed_ns(now_ns, free_ns);
        *self = Station { served: 0, carried_ns, timeline: Timeline::new(now_ns) };
    }

    /// What it did from its last reset, at `from_ns`, to `now_ns`; its servers are free at `free_ns`.
    pub(crate) fn load(&self, from_ns: u64, now_ns: u64, free_ns: &[u64]) -> StationLoad {
        let total = self.timeline.total();
        let busy_ns = (self.carried_ns + total.busy_ns).saturating_sub(committed_ns(now_ns, free_ns));
        let elapsed = (now_ns - from_ns).max(1) as f64;
        let servers = free_ns.len() as f64;
        let per_bin = |value: u64, index: usize, servers: f64| {
            let start = (index as u64) << self.timeline.shift;
            let width = (now_ns - from_ns).saturating_sub(start).min(1 << self.timeline.shift);
            if width == 0 { 0.0 } else { value as f64 / width as f64 / servers }
        };
        let bins = (0..self.timeline.bins.len()).map(|index| (index, self.timeline.bin(index)));
        let bins = bins.take_while(|(index, _)| (*index as u64) << self.timeline.shift < now_ns - from_ns);
        StationLoad {
            share: 0.0,
            served: self.served,
            busy_ns,
            utilisation: busy_ns as f64 / elapsed / servers,
            waited_ns_mean: (total.inside_ns - total.busy_ns) as f64 / self.served.max(1) as f64,
            inside_mean: total.inside_ns as f64 / elapsed,
            interval_ns: 1 << self.timeline.shift,
            utilisation_over_time: bins
                .clone()
                .map(|(index, bin)| per_bin(bin.busy_ns, index, servers).min(1.0))
                .collect(),
            inside_over_time: bins.map(|(index, bin)| per_bin(bin.inside_ns, index, 1.0)).collect(),
        }
    }
}

/// Work that is known already, but lies behind `now_ns`. A server that is busy now stays so until it is free.
fn committed_ns(now_ns: u64, free_ns: &[u64]) -> u64 {
    free_ns.iter().map(|free| free.saturating_sub(now_ns)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_is_neither_lost_nor_doubled_when_bins_join() {
        let mut station = Station::new();
        let mut free = 0;
        // 3 ms of service every 4 ms for 4000 s: bins of a millisecond become bins of 8 seconds.
        for visit in 0..1_000_000_u64 {
            let now = visit * 4_000_000;
            free = now + 3_000_000;
            station.visit(now, now, free);
        }
        let load = station.load(0, 4_000_000_000_000, &[free]);
        assert_eq!(load.busy_ns, 3_000_000_000_000);
        assert_eq!(load.served, 1_000_000);
        assert!((load.utilisation - 0.75).abs() < 1e-12);
        assert!(load.utilisation_over_time.len() <= BINS);
        assert!(load.utilisation_over_time.iter().all(|share| (share - 0.75).abs() < 1e-3), "{load:?}");
        assert!((load.inside_mean - 0.75).abs() < 1e-12);
    }

    #[test]
    fn work_that_lies_ahead_is_not_counted_yet() {
        let mut station = Station::new();
        station.visit(0, 0, 1_000);
        station.visit(0, 1_000, 2_000);
        assert_eq!(station.load(0, 1_500, &[2_000]).busy_ns, 1_500);
        station.reset(1_500, &[2_000]);
        assert_eq!(station.load(1_500, 3_000, &[2_000]).busy_ns, 500);
        assert!((station.load(1_500, 3_000, &[2_000]).utilisation - 1.0 / 3.0).abs() < 1e-12);
    }
}
