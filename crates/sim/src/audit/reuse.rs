//! How soon data is used again, and what a cache makes of it.

use super::density::Class;

/// How the next use of a block follows from the last.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Order {
    /// Independent of it.
    Independent,
    /// After everything else, in the same order: a walk that goes round.
    Round,
    /// In the next pass over everything, in another order.
    Pass,
}

/// The share of accesses that an LRU cache of `cache_bytes` answers once it is full, where everything is accessed again and
/// again.
///
/// Independent accesses by Che's approximation (Che, Tung, Wang 2002): a block stays in the cache for a time T that is the
/// same for all of them, and T is such that the cache is full. Rounds: all or nothing. Passes in random order: with
/// positions U and V of a block in two passes, 1 - U (1 - V) of all others come in between.
pub(crate) fn lru_hit_ratio(classes: &[Class], block_bytes: f64, order: Order, cache_bytes: f64) -> f64 {
    let total_bytes: f64 = classes.iter().map(|class| class.bytes).sum();
    let total_share: f64 = classes.iter().map(|class| class.share).sum();
    if total_bytes <= 0.0 || total_share <= 0.0 {
        return 0.0;
    }
    if cache_bytes >= total_bytes {
        return 1.0;
    }
    let part = cache_bytes / total_bytes;
    match order {
        Order::Round => 0.0,
        Order::Pass => part + (1.0 - part) * (1.0 - part).ln(),
        Order::Independent => {
            let time = crossing(|time| filled_and_hit(classes, block_bytes, time).0, cache_bytes);
            filled_and_hit(classes, block_bytes, time).1 / total_share
        }
    }
}

/// The bytes that were used within the last `time` accesses, and the share of accesses that go to them.
fn filled_and_hit(classes: &[Class], block_bytes: f64, time: f64) -> (f64, f64) {
    let total: f64 = classes.iter().map(|class| class.share).sum();
    classes.iter().fold((0.0, 0.0), |(filled, hit), class| {
        let kept = -(-class.share / total / class.bytes * block_bytes * time).exp_m1();
        (filled + kept * class.bytes, hit + kept * class.share)
    })
}

/// Where an increasing function of a positive variable reaches `value`.
fn crossing(function: impl Fn(f64) -> f64, value: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    while function(high) < value && high < 1e20 {
        low = high;
        high *= 4.0;
    }
    for _ in 0..50 {
        let middle = (low + high) / 2.0;
        if function(middle) < value {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

/// The number of distinct bytes used between two uses of a block, for the given share of accesses: the cache size that
/// has this hit ratio.
pub(crate) fn distance(classes: &[Class], block_bytes: f64, order: Order, quantile: f64) -> u64 {
    let total: f64 = classes.iter().map(|class| class.bytes).sum();
    let bytes = match order {
        Order::Round => total,
        Order::Pass => {
            crossing(|bytes| lru_hit_ratio(classes, block_bytes, order, bytes), quantile).min(total)
        }
        Order::Independent => {
            let share: f64 = classes.iter().map(|class| class.share).sum();
            let time = crossing(|time| filled_and_hit(classes, block_bytes, time).1 / share, quantile);
            filled_and_hit(classes, block_bytes, time).0
        }
    };
    bytes as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Policy;
    use assay_workload::rng::Rng;

    #[test]
    fn even_independent_accesses_hit_by_size() {
        let classes = [Class { bytes: 1e9, share: 1.0 }];
        let ratio = lru_hit_ratio(&classes, 4096.0, Order::Independent, 3e8);
        assert!((ratio - 0.3).abs() < 1e-6, "{ratio}");
        assert_eq!(lru_hit_ratio(&classes, 4096.0, Order::Round, 9.9e8), 0.0);
        assert_eq!(lru_hit_ratio(&classes, 4096.0, Order::Round, 1e9), 1.0);
    }

    /// A hot and a cold class against the simulator's own cache.
    #[test]
    fn the_approximation_agrees_with_a_real_lru() {
        let classes =
            [Class { bytes: 100.0 * 4096.0, share: 0.7 }, Class { bytes: 3000.0 * 4096.0, share: 0.3 }];
        let mut rng = Rng::new(2);
        for capacity in [50, 150, 1000] {
            let mut cache = crate::world::pages::PageSet::new(capacity, Policy::Lru);
            let (mut hits, n, warm) = (0, 300_000, 50_000);
            for access in 0..n + warm {
                let page = if rng.unit() < 0.7 { rng.below(100) } else { 100 + rng.below(3000) };
                if cache.touch(page) {
                    hits += u32::from(access >= warm);
                } else {
                    cache.insert(page, &mut rng);
                }
            }
            let expected = lru_hit_ratio(&classes, 4096.0, Order::Independent, capacity as f64 * 4096.0);
            let measured = f64::from(hits) / f64::from(n);
            assert!((measured - expected).abs() < 0.005, "{capacity}: {measured} {expected}");
        }
    }

    #[test]
    fn passes_in_random_order_hit_as_the_formula_says() {
        let (pages, capacity) = (2000, 1200);
        let mut rng = Rng::new(3);
        let mut cache = crate::world::pages::PageSet::new(capacity, Policy::Lru);
        let mut order: Vec<u64> = (0..pages).collect();
        let (mut hits, passes) = (0, 60);
        for pass in 0..=passes {
            rng.shuffle(&mut order);
            for &page in &order {
                if cache.touch(page) {
                    hits += u64::from(pass > 0);
                } else {
                    cache.insert(page, &mut rng);
                }
            }
        }
        let measured = hits as f64 / (pages * passes) as f64;
        let classes = [Class { bytes: pages as f64, share: 1.0 }];
        let expected = lru_hit_ratio(&classes, 1.0, Order::Pass, capacity as f64);
        assert!((measured - expected).abs() < 0.005, "{measured} {expected}");
        let median = distance(&classes, 1.0, Order::Pass, expected);
        assert!((1199..=1201).contains(&median), "{median}");
    }
}
