use super::*;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// A cache that replaces what was used least recently, in pages of 4 KiB.
struct Lru {
    pages: u64,
    now: u64,
    used: std::collections::HashMap<u64, u64>,
    order: std::collections::BTreeMap<u64, u64>,
}

impl Lru {
    fn of(bytes: u64) -> Lru {
        Lru { pages: bytes / 4096, now: 0, used: Default::default(), order: Default::default() }
    }

    /// Whether all pages were there; they are now.
    fn read(&mut self, offset: u64, length: u64) -> bool {
        let mut hit = true;
        for page in offset / 4096..(offset + length) / 4096 {
            self.now += 1;
            match self.used.insert(page, self.now) {
                Some(before) => {
                    self.order.remove(&before);
                }
                None => hit = false,
            }
            self.order.insert(self.now, page);
            if self.order.len() as u64 > self.pages
                && let Some((_, oldest)) = self.order.pop_first()
            {
                self.used.remove(&oldest);
            }
        }
        hit
    }
}

fn spec() -> ProbeSpec {
    ProbeSpec { region_bytes: 512 * MIB, chunk_bytes: 64 * KIB, block_bytes: 4 * KIB, seed: 3 }
}

/// Probes caches of these sizes and times, storage of 100 us below, with noise of a tenth.
fn probe(caches: &[(u64, u64)]) -> Probe {
    let mut caches: Vec<(Lru, u64)> = caches.iter().map(|(size, ns)| (Lru::of(*size), *ns)).collect();
    probe_with(|offset, length, _| {
        let hits = caches.iter_mut().map(|(cache, ns)| cache.read(offset, length).then_some(*ns));
        hits.collect::<Vec<_>>().into_iter().flatten().next().unwrap_or(100_000)
    })
}

/// A cache of two lists of equal size, as a kernel's page cache or 2Q has them: what is read again while it is in the
/// first list, or soon after it left it, goes to the second one, which reads of new pages never empty.
struct TwoLists {
    new: Lru,
    known: Lru,
    left: Lru,
}

impl TwoLists {
    fn of(bytes: u64) -> TwoLists {
        TwoLists { new: Lru::of(bytes / 2), known: Lru::of(bytes / 2), left: Lru::of(2 * bytes) }
    }

    fn read(&mut self, offset: u64, length: u64) -> bool {
        let holds = |cache: &Lru| cache.used.contains_key(&(offset / 4096));
        let hit = holds(&self.new) || holds(&self.known);
        if hit || holds(&self.left) {
            self.known.read(offset, length);
        } else {
            self.new.read(offset, length);
            self.left.read(offset, length);
        }
        hit
    }
}

/// Probes what answers by `time_ns` (offset, length, bytes read until then), with noise of a tenth.
fn probe_with(mut time_ns: impl FnMut(u64, u64, u64) -> u64) -> Probe {
    let mut prober = Prober::new(spec()).unwrap();
    let mut rng = Rng::new(9);
    let (mut took, mut read) = (0, 0);
    while let Ask::Read { offset_bytes, length_bytes } = prober.next(took) {
        took = time_ns(offset_bytes, length_bytes, read) * (90 + rng.below(21)) / 100;
        read += length_bytes;
    }
    prober.finish()
}

fn holds(level: &CacheLevel, bytes: u64) {
    let exceeded = level.exceeded_bytes.expect("a larger span was tried");
    // Between the readings of a chunk lie the span and the first touches strewn in.
    let low = level.holds_bytes as f64 <= bytes as f64;
    let high = exceeded as f64 * 1.1 >= bytes as f64;
    assert!(low && high, "{level:?} for {} MiB", bytes / MIB);
    assert!((exceeded as f64) < 1.3 * level.holds_bytes as f64, "{level:?}");
}

#[test]
fn the_size_of_one_cache() {
    for size in [12 * MIB, 48 * MIB, 200 * MIB] {
        let found = probe(&[(size, 2000)]);
        assert_eq!(found.levels.len(), 1, "{:#?}", found.levels);
        holds(&found.levels[0], size);
        assert!((1800..2300).contains(&found.levels[0].read_ns));
        assert!((90_000..111_000).contains(&found.cold.p50));
        assert_eq!(found.burst, None);
    }
}

#[test]
fn one_cache_above_another() {
    let found = probe(&[(16 * MIB, 2000), (128 * MIB, 20_000)]);
    assert_eq!(found.levels.len(), 2, "{:#?}", found.levels);
    holds(&found.levels[0], 16 * MIB);
    holds(&found.levels[1], 128 * MIB);
}

#[test]
fn no_cache_and_one_that_holds_everything() {
    assert_eq!(probe(&[]).levels, []);
    let found = probe(&[(1 << 30, 5000)]);
    assert_eq!((found.levels.len(), found.levels[0].exceeded_bytes), (1, None));
    assert_eq!(found.levels[0].holds_bytes, 384 * MIB);
}

#[test]
fn what_is_kept_because_it_was_read_twice_is_no_further_cache() {
    let mut cache = TwoLists::of(160 * MIB);
    let found = probe_with(|offset, length, _| if cache.read(offset, length) { 2000 } else { 100_000 });
    let fast_behind_slow = found.stages.windows(2).any(|pair| {
        let [before, after] = [pair[0].again.p50, pair[1].again.p50];
        !pair[1].refining && before > 50_000 && after < 10_000
    });
    assert!(fast_behind_slow, "the staging: a larger span that is served again: {:#?}", found.stages);
    assert_eq!(found.levels.len(), 1, "{:#?}", found.levels);
    let level = found.levels[0];
    assert!((40 * MIB..=160 * MIB).contains(&level.holds_bytes), "{level:?}");
    assert!((1800..2300).contains(&level.read_ns), "{level:?}");
    assert_eq!(found.notes.len(), 1, "{:?}", found.notes);
    assert!(found.notes[0].contains("read more than once"), "{:?}", found.notes);
}

#[test]
fn storage_that_becomes_slower_is_no_cache() {
    let found = probe_with(|_, _, read| if read < 40 * MIB { 10_000 } else { 40_000 });
    assert_eq!(found.levels, [], "re-reads were never faster than first touches of the same time");
}

#[test]
fn out_of_time_says_what_is_known() {
    let mut prober = Prober::new(spec()).unwrap();
    let mut took = 0;
    while let Ask::Read { .. } = prober.next(took) {
        took = 100_000;
        if prober.span_bytes() >= 16 * MIB {
            prober.out_of_time();
        }
    }
    let found = prober.finish();
    assert!(found.cut_short);
    assert_eq!(found.stages.last().map(|stage| stage.span_bytes), Some(16 * MIB));
}

#[test]
fn credit_that_runs_out() {
    let mut prober = Prober::new(spec()).unwrap();
    let (mut took, mut read) = (0, 0);
    let mut rng = Rng::new(4);
    while let Ask::Read { length_bytes, .. } = prober.next(took) {
        read += length_bytes;
        took = length_bytes * if read < 100 * MIB { 2 } else { 10 } * (95 + rng.below(11)) / 100;
    }
    let burst = prober.finish().burst.expect("a fall");
    assert!((4e8..6e8).contains(&burst.before_bytes_per_s), "{burst:?}");
    assert!(burst.then_bytes_per_s < 1.5e8 && burst.after_bytes > 30 * MIB, "{burst:?}");
}

#[test]
fn a_region_that_is_too_small_is_refused() {
    assert!(Prober::new(ProbeSpec { region_bytes: 127 * 64 * KIB, ..spec() }).is_none());
    assert!(Prober::new(ProbeSpec { block_bytes: 64 * KIB, ..spec() }).is_none());
}
