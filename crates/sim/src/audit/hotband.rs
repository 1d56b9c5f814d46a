//! vdbench's hotband in closed form: its curve, wrapped around the band.

use assay_workload::distribution::HOTBAND_CURVE as CURVE;

/// The band in blocks, with where its reads or writes begin: stretches of blocks (first, behind the last, share).
pub(crate) fn stretches(
    low_block: f64,
    blocks: f64,
    shift: f64,
    blocks_per_unit: f64,
) -> Vec<(f64, f64, f64)> {
    let mut result = Vec::with_capacity(CURVE.len() * 2);
    let mut even = 0.0;
    for pair in CURVE.windows(2) {
        let share = pair[1].1 - pair[0].1;
        let (from, to) = (pair[0].0 * blocks_per_unit + shift, pair[1].0 * blocks_per_unit + shift);
        // Whole rounds of the band are even; what is left is a stretch, or two where it goes over the end.
        let rounds = ((to - from) / blocks).floor();
        even += share * rounds * blocks / (to - from);
        let left = (to - from) - rounds * blocks;
        let density = share / (to - from);
        let start = from % blocks;
        let first = left.min(blocks - start);
        result.push((low_block + start, low_block + start + first, density * first));
        if left > first {
            result.push((low_block, low_block + left - first, density * (left - first)));
        }
    }
    result.push((low_block, low_block + blocks, even));
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_workload::distribution::Sampler;
    use assay_workload::pattern::{Distribution, OpKind};
    use assay_workload::rng::Rng;

    /// The generator's own draws fall into each 64th of the band as the stretches say.
    #[test]
    fn the_closed_form_is_what_is_drawn() {
        let blocks = 1 << 16;
        for (kind, shift) in [(OpKind::Read, 0.0), (OpKind::Write, (blocks / 100) as f64)] {
            let distribution =
                Distribution::Hotband { low_bytes: 0, high_bytes: blocks * 4096, corrected: false };
            let mut sampler = Sampler::new(&distribution, false, blocks, 4096, 1);
            let mut rng = Rng::new(6);
            let (n, parts) = (400_000, 64);
            let mut counts = vec![0_u32; parts];
            for _ in 0..n {
                counts[(sampler.draw(blocks, kind, &mut rng) * parts as u64 / blocks) as usize] += 1;
            }
            let stretches = stretches(0.0, blocks as f64, shift, 1e3 / 4096.0);
            let total: f64 = stretches.iter().map(|stretch| stretch.2).sum();
            assert!((total - 1.0).abs() < 1e-12, "{total}");
            for (part, count) in counts.iter().enumerate() {
                let width = blocks as f64 / parts as f64;
                let (low, high) = (part as f64 * width, (part + 1) as f64 * width);
                let share = |&(from, to, share): &(f64, f64, f64)| {
                    (to.min(high) - from.max(low)).max(0.0) / (to - from).max(1e-300) * share
                };
                let expected: f64 = stretches.iter().map(share).sum();
                let deviation = (expected * (1.0 - expected) / f64::from(n)).sqrt();
                let measured = f64::from(*count) / f64::from(n);
                assert!(
                    (measured - expected).abs() < 5.0 * deviation,
                    "{kind:?} {part}: {measured} {expected}"
                );
            }
        }
    }
}
