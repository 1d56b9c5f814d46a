//! Drawing block numbers from a [`Distribution`].
//!
//! A sampler draws *block indexes* in `0..blocks`; [`crate::ops`] turns them into offsets. Skewed distributions over ranks
//! (zipf, Pareto) scatter their ranks with a keyed permutation, so that popular blocks are not neighbours.

use crate::map::Map;
use crate::pattern::{Distribution, OpKind, Zone};
use crate::permutation::Permutation;
use crate::rng::{Rng, derive_seed};

/// Draws block indexes.
#[derive(Debug, Clone)]
pub enum Sampler {
    /// Uniform, independent.
    Uniform,
    /// Uniform, each block once per pass.
    OncePerPass(Box<Pass>),
    /// Uniform, each of the smallest blocks once per pass, for sizes that vary.
    Mapped(Box<Map>),
    /// Zipf over scattered ranks.
    Zipf(Box<(Zipf, Permutation)>),
    /// Pareto: rank = blocks * u^power, over scattered ranks.
    Pareto(f64, Box<Permutation>),
    /// Normal around the middle; the standard deviation in blocks, and where a block lies if they are scattered.
    Normal(f64, Option<Box<Permutation>>),
    /// A list of blocks.
    Sequence(Box<Sequence>),
    /// Zones: cumulative share, first block, number of blocks.
    Zoned(Vec<(f64, u64, u64)>),
    /// A hit area at the start: read share, write share, blocks in the area.
    HitArea(f64, f64, u64),
    /// Exponential from the start, wrapped; the mean in blocks.
    Exponential(f64),
    /// vdbench's hotband.
    Hotband(Hotband),
    /// Reads of blocks not touched before among those of touched ones.
    ReadMiss(Box<ReadMiss>),
}

/// A list of blocks, and where each operation stands in it.
#[derive(Debug, Clone)]
pub struct Sequence {
    list: Vec<u64>,
    advances: bool,
    next: [u64; 3],
    /// Whether the last block lay behind the range.
    ran_out: bool,
}

impl Sequence {
    fn draw(&mut self, blocks: u64, kind: OpKind) -> u64 {
        let next = &mut self.next[(kind as usize).min(2)];
        let length = (self.list.len() as u64).max(1);
        let round = if self.advances { *next / length * length } else { 0 };
        let block = self.list.get((*next % length) as usize).map_or(0, |block| round.saturating_add(*block));
        *next += 1;
        self.ran_out = block >= blocks;
        block.min(blocks - 1)
    }
}

/// Which blocks were touched: those of the first `touched` places of the permutation, in that order.
#[derive(Debug, Clone)]
pub struct ReadMiss {
    permutation: Permutation,
    touched: u64,
    miss_share: f64,
    /// Hits go to so many blocks, those touched last.
    recent: u64,
    /// Whether a block not touched before was wanted when there was none left.
    ran_out: bool,
}

impl ReadMiss {
    #[inline]
    fn draw(&mut self, kind: OpKind, rng: &mut Rng) -> u64 {
        let miss = self.touched == 0 || (kind == OpKind::Read && rng.unit() < self.miss_share);
        if miss && self.touched < self.permutation.len() {
            self.touched += 1;
            return self.permutation.at(self.touched - 1);
        }
        self.ran_out |= miss;
        self.permutation.at(self.touched - 1 - rng.below(self.touched.min(self.recent)))
    }
}

/// The state of a random map: where in the pass we are, and the permutation of this pass.
#[derive(Debug, Clone)]
pub struct Pass {
    permutation: Permutation,
    next: u64,
    seed: u64,
    pass: u64,
}

impl Pass {
    fn new(blocks: u64, seed: u64) -> Self {
        Pass { permutation: Permutation::new(blocks, derive_seed(seed, 0)), next: 0, seed, pass: 0 }
    }

    fn restart(&mut self) {
        self.permutation = Permutation::new(self.permutation.len(), derive_seed(self.seed, 0));
        (self.next, self.pass) = (0, 0);
    }

    #[inline]
    fn draw(&mut self) -> u64 {
        if self.next == self.permutation.len() {
            self.pass += 1;
            self.permutation = Permutation::new(self.permutation.len(), derive_seed(self.seed, self.pass));
            self.next = 0;
        }
        let block = self.permutation.at(self.next);
        self.next += 1;
        block
    }

    /// Hands the next `n` blocks to `take` with their place in the row, a pass's worth at a time: without the question
    /// whether the pass has ended between them, several are worked out at once.
    #[inline]
    pub(crate) fn draw_each(&mut self, n: usize, mut take: impl FnMut(usize, u64)) {
        let mut done = 0;
        while done < n {
            if self.next == self.permutation.len() {
                take(done, self.draw());
                done += 1;
                continue;
            }
            let left = (self.permutation.len() - self.next).min((n - done) as u64);
            for index in 0..left {
                take(done + index as usize, self.permutation.at(self.next + index));
            }
            self.next += left;
            done += left as usize;
        }
    }
}

/// Zipf by rejection-inversion (Hörmann and Derflinger 1996): exact for any exponent and any number of elements,
/// without the sum over all of them that Gray's method needs.
#[derive(Debug, Clone)]
pub struct Zipf {
    n: f64,
    theta: f64,
    h_half: f64,
    h_n: f64,
    s: f64,
}

impl Zipf {
    /// Ranks `0..n` with probability proportional to 1 / (rank + 1)^theta; `theta` above 0.
    pub fn new(n: u64, theta: f64) -> Self {
        let mut zipf = Zipf { n: n as f64, theta, h_half: 0.0, h_n: 0.0, s: 0.0 };
        zipf.h_half = zipf.integral(1.5) - 1.0;
        zipf.h_n = zipf.integral(zipf.n + 0.5);
        zipf.s = 2.0 - zipf.inverse(zipf.integral(2.5) - 2_f64.powf(-theta));
        zipf
    }

    /// The integral of x^-theta, chosen so that it is continuous in theta at 1.
    fn integral(&self, x: f64) -> f64 {
        let log = x.ln();
        let t = (1.0 - self.theta) * log;
        // (e^t - 1) / t, and 1 at t = 0.
        let ratio = if t.abs() > 1e-8 { t.exp_m1() / t } else { 1.0 + t / 2.0 };
        ratio * log
    }

    fn inverse(&self, x: f64) -> f64 {
        let t = (x * (1.0 - self.theta)).max(-1.0);
        let ratio = if t.abs() > 1e-8 { t.ln_1p() / t } else { 1.0 - t / 2.0 };
        (ratio * x).exp()
    }

    /// A rank in `0..n`, 0 the most popular.
    pub fn draw(&self, rng: &mut Rng) -> u64 {
        loop {
            let u = self.h_n + rng.unit() * (self.h_half - self.h_n);
            let x = self.inverse(u);
            let k = x.round().clamp(1.0, self.n);
            if k - x <= self.s || u >= self.integral(k + 0.5) - k.powf(-self.theta) {
                return k as u64 - 1;
            }
        }
    }
}

/// vdbench's hotband as it behaves: a cumulative curve of hit probability over cache size (in 10^6 bytes), inverted;
/// the result is in units of 1000 bytes but used as bytes, unless corrected.
#[derive(Debug, Clone)]
pub struct Hotband {
    low_block: u64,
    blocks: u64,
    block_bytes: f64,
    bytes_per_unit: f64,
}

/// vdbench's curve of hits: a cache's size in units of 10^6 bytes, and the probability that it holds a block.
pub const HOTBAND_CURVE: [(f64, f64); 29] = [
    (0.0, 0.0),
    (16.0, 0.087_217),
    (32.0, 0.101_01),
    (64.0, 0.132_206),
    (128.0, 0.159_946),
    (256.0, 0.201_713),
    (512.0, 0.262_602),
    (1024.0, 0.326_45),
    (2048.0, 0.366_902),
    (4096.0, 0.386_175),
    (8192.0, 0.436_941),
    (16_384.0, 0.482_631),
    (32_768.0, 0.523_752),
    (65_536.0, 0.560_76),
    (131_072.0, 0.594_068),
    (262_144.0, 0.624_045),
    (524_288.0, 0.651_024),
    (1_048_576.0, 0.675_305),
    (2_097_152.0, 0.697_159),
    (4_194_304.0, 0.716_827),
    (8_388_608.0, 0.734_528),
    (16_777_216.0, 0.750_459),
    (33_554_432.0, 0.764_797),
    (67_108_864.0, 0.777_701),
    (134_217_728.0, 0.789_314),
    (268_435_456.0, 0.799_767),
    (536_870_912.0, 0.809_174),
    (1_073_741_824.0, 0.817_64),
    (10_737_418_240.0, 1.0),
];

impl Hotband {
    fn new(low_bytes: u64, high_bytes: u64, corrected: bool, block_bytes: u64) -> Self {
        let blocks = (high_bytes.saturating_sub(low_bytes) / block_bytes).max(1);
        Hotband {
            low_block: low_bytes / block_bytes,
            blocks,
            block_bytes: block_bytes as f64,
            bytes_per_unit: if corrected { 1e6 } else { 1e3 },
        }
    }

    /// The share of accesses of `kind` that fall into each stretch of the band is fixed by this quantile function.
    fn draw(&self, kind: OpKind, rng: &mut Rng) -> u64 {
        let u = rng.unit();
        let above = HOTBAND_CURVE.partition_point(|point| point.1 <= u).min(HOTBAND_CURVE.len() - 1);
        let (x0, p0) = HOTBAND_CURVE[above - 1];
        let (x1, p1) = HOTBAND_CURVE[above];
        let x = x0 + (u - p0) / (p1 - p0) * (x1 - x0);
        let block = (x * self.bytes_per_unit / self.block_bytes) as u64;
        // Writes are hot one per cent further into the band.
        let shift = if kind == OpKind::Read { 0 } else { self.blocks / 100 };
        self.low_block + (block + shift) % self.blocks
    }
}

/// The share, 0 to 1, of the operations of `kind` that vdbench's hotband sends to the first `head_bytes` of a band of
/// `band_bytes`: the curve, wrapped around the band, as [`Sampler::draw`] draws it, but for the rounding to blocks.
pub fn hotband_head_share(head_bytes: u64, band_bytes: u64, corrected: bool, kind: OpKind) -> f64 {
    let band = (band_bytes.max(1)) as f64;
    let head = (head_bytes as f64).min(band);
    let unit = if corrected { 1e6 } else { 1e3 };
    let shift = if kind == OpKind::Read { 0.0 } else { band / 100.0 };
    // Bytes below `x` that lie in the head of some turn around the band.
    let in_head = |x: f64| (x / band).floor() * head + (x % band).min(head);
    let stretches = HOTBAND_CURVE.windows(2).map(|points| {
        let (from, to) = (points[0].0 * unit + shift, points[1].0 * unit + shift);
        (points[1].1 - points[0].1) * (in_head(to) - in_head(from)) / (to - from)
    });
    stretches.sum()
}

fn zones(list: &[Zone], blocks: u64, block_bytes: u64) -> Vec<(f64, u64, u64)> {
    let total: f64 = list.iter().map(|zone| zone.access_percent).sum();
    let (mut first, mut share, mut result) = (0, 0.0, Vec::with_capacity(list.len()));
    for zone in list {
        let count = (zone.size.of(blocks * block_bytes) / block_bytes).min(blocks - first);
        share += zone.access_percent / total;
        if count > 0 {
            result.push((share, first, count));
        }
        first += count;
    }
    result
}

impl Sampler {
    /// A sampler of block indexes `0..blocks` for blocks of `block_bytes`; `once_per_pass` applies to uniform only.
    pub fn new(
        distribution: &Distribution,
        once_per_pass: bool,
        blocks: u64,
        block_bytes: u64,
        seed: u64,
    ) -> Sampler {
        let scatter = || Permutation::new(blocks, derive_seed(seed, 1));
        match distribution {
            Distribution::Uniform if once_per_pass => Sampler::OncePerPass(Box::new(Pass::new(blocks, seed))),
            Distribution::Uniform => Sampler::Uniform,
            Distribution::Zipf { theta } => Sampler::Zipf(Box::new((Zipf::new(blocks, *theta), scatter()))),
            // fio: the share h of the blocks receives 1 - h of the accesses.
            Distribution::Pareto { h } => Sampler::Pareto(h.ln() / (1.0 - h).ln(), Box::new(scatter())),
            Distribution::Normal { stddev_percent, scattered } => Sampler::Normal(
                blocks as f64 * stddev_percent / 100.0,
                scattered.then(|| Box::new(scatter())),
            ),
            Distribution::Sequence { blocks, advances } => Sampler::Sequence(Box::new(Sequence {
                list: blocks.clone(),
                advances: *advances,
                next: [0; 3],
                ran_out: false,
            })),
            Distribution::Zoned(list) => Sampler::Zoned(zones(list, blocks, block_bytes)),
            Distribution::HitArea { read_percent, write_percent, bytes } => {
                let area = (bytes / block_bytes).clamp(1, blocks.saturating_sub(1).max(1));
                Sampler::HitArea(read_percent / 100.0, write_percent / 100.0, area)
            }
            Distribution::Exponential { midpoint } => Sampler::Exponential(blocks as f64 / midpoint),
            Distribution::Hotband { low_bytes, high_bytes, corrected } => {
                let high = (*high_bytes).min(blocks * block_bytes);
                Sampler::Hotband(Hotband::new(*low_bytes, high, *corrected, block_bytes))
            }
            Distribution::ReadMiss { miss_percent, hit_bytes } => Sampler::ReadMiss(Box::new(ReadMiss {
                permutation: scatter(),
                touched: 0,
                miss_share: miss_percent / 100.0,
                recent: (hit_bytes / block_bytes).max(1),
                ran_out: false,
            })),
        }
    }

    /// Whether each block is visited once per pass.
    pub(crate) fn is_map(&self) -> bool {
        matches!(self, Sampler::OncePerPass(_) | Sampler::Mapped(_))
    }

    /// Whether every block of a pass was visited.
    #[inline]
    pub(crate) fn map_is_full(&self) -> bool {
        match self {
            Sampler::OncePerPass(pass) => pass.next == pass.permutation.len(),
            Sampler::Mapped(map) => map.is_full(),
            _ => false,
        }
    }

    /// Whether it comes to an end: no block counts as not touched twice, a list leads out of the range.
    pub(crate) fn runs_out(&self) -> bool {
        matches!(self, Sampler::ReadMiss(_) | Sampler::Sequence(_))
    }

    /// Whether that end was reached, and the last block drawn is not one to use.
    #[inline]
    pub(crate) fn has_run_out(&self) -> bool {
        match self {
            Sampler::ReadMiss(misses) => misses.ran_out,
            Sampler::Sequence(sequence) => sequence.ran_out,
            _ => false,
        }
    }

    /// Forgets which blocks were visited; the next pass has another order.
    pub(crate) fn renew(&mut self) {
        match self {
            Sampler::OncePerPass(pass) => pass.next = pass.permutation.len(),
            other => other.restart(),
        }
    }

    /// As it was made. The other distributions do not remember what was drawn.
    pub(crate) fn restart(&mut self) {
        match self {
            Sampler::OncePerPass(pass) => pass.restart(),
            Sampler::Mapped(map) => map.clear(),
            Sampler::Sequence(sequence) => (sequence.next, sequence.ran_out) = ([0; 3], false),
            Sampler::ReadMiss(misses) => (misses.touched, misses.ran_out) = (0, false),
            _ => {}
        }
    }

    /// The next block index in `0..blocks` for an operation of `kind`.
    #[inline]
    pub fn draw(&mut self, blocks: u64, kind: OpKind, rng: &mut Rng) -> u64 {
        match self {
            Sampler::Uniform => rng.below(blocks),
            Sampler::OncePerPass(pass) => pass.draw(),
            Sampler::Mapped(map) => map.draw(1, kind, rng).0,
            Sampler::Zipf(both) => both.1.at(both.0.draw(rng)),
            Sampler::Pareto(power, scatter) => {
                let rank = (blocks as f64 * (1.0 - rng.unit()).powf(*power)) as u64;
                scatter.at(rank.min(blocks - 1))
            }
            Sampler::Normal(stddev, scatter) => loop {
                let x = blocks as f64 / 2.0 + *stddev * rng.normal();
                if x >= 0.0 && x < blocks as f64 {
                    return scatter.as_ref().map_or(x as u64, |scatter| scatter.at(x as u64));
                }
            },
            Sampler::Sequence(sequence) => sequence.draw(blocks, kind),
            Sampler::Zoned(list) => {
                let u = rng.unit();
                let index = list.partition_point(|zone| zone.0 <= u).min(list.len().saturating_sub(1));
                list.get(index).map_or(0, |&(_, first, count)| first + rng.below(count))
            }
            Sampler::HitArea(read, write, area) => {
                let share = if kind == OpKind::Read { *read } else { *write };
                if rng.unit() < share { rng.below(*area) } else { *area + rng.below((blocks - *area).max(1)) }
            }
            Sampler::Exponential(mean) => ((rng.exponential() * *mean) as u64) % blocks,
            Sampler::Hotband(band) => band.draw(kind, rng).min(blocks - 1),
            Sampler::ReadMiss(misses) => misses.draw(kind, rng),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLOCK: u64 = 4096;
    const GIB: u64 = 1 << 30;

    fn share_of_first(distribution: &Distribution, kind: OpKind, range_bytes: u64, first_bytes: u64) -> f64 {
        let blocks = range_bytes / BLOCK;
        let mut sampler = Sampler::new(distribution, false, blocks, BLOCK, 1);
        let mut rng = Rng::new(2);
        let n = 200_000;
        let hits = (0..n).filter(|_| sampler.draw(blocks, kind, &mut rng) < first_bytes / BLOCK).count();
        hits as f64 / f64::from(n)
    }

    #[test]
    fn hotband_is_as_far_off_as_the_original() {
        let faithful = Distribution::Hotband { low_bytes: 0, high_bytes: 16 * GIB, corrected: false };
        let share = share_of_first(&faithful, OpKind::Read, 16 * GIB, 1 << 20);
        assert!((share - 0.327).abs() < 0.005, "measured with the original: 32.7 %, here {share}");
        let corrected = Distribution::Hotband { low_bytes: 0, high_bytes: 16 * GIB, corrected: true };
        let share = share_of_first(&corrected, OpKind::Read, 16 * GIB, 1 << 20);
        assert!((share - 0.0058).abs() < 0.002, "{share}");
    }

    #[test]
    fn the_share_of_the_first_mib_of_a_hotband_is_what_is_drawn() {
        for (band, corrected, kind) in [
            (16 * GIB, false, OpKind::Read),
            (16 * GIB, true, OpKind::Read),
            (16 * GIB, true, OpKind::Write),
            // Writes begin 1 % into the band: 0.6 MiB here, so that their hot spot reaches into the first MiB.
            (64 << 20, false, OpKind::Write),
            (64 << 20, true, OpKind::Read),
        ] {
            let drawn = Distribution::Hotband { low_bytes: 0, high_bytes: band, corrected };
            let drawn = share_of_first(&drawn, kind, band, 1 << 20);
            let computed = hotband_head_share(1 << 20, band, corrected, kind);
            assert!(
                (drawn - computed).abs() < 0.005,
                "{band} {corrected} {kind:?}: {drawn}, computed {computed}"
            );
        }
        assert!((hotband_head_share(GIB, GIB, false, OpKind::Read) - 1.0).abs() < 1e-9, "the whole band");
    }

    #[test]
    fn a_hit_area_gets_its_share_by_direction() {
        let area = Distribution::HitArea { read_percent: 75.0, write_percent: 10.0, bytes: 1 << 20 };
        assert!((share_of_first(&area, OpKind::Read, GIB, 1 << 20) - 0.75).abs() < 0.005);
        assert!((share_of_first(&area, OpKind::Write, GIB, 1 << 20) - 0.10).abs() < 0.005);
    }

    #[test]
    fn zipf_has_the_right_probabilities() {
        for theta in [0.5, 0.9, 1.2] {
            let n = 1000;
            let zipf = Zipf::new(n, theta);
            let mut rng = Rng::new(5);
            let draws = 400_000;
            let mut counts = vec![0_u32; n as usize];
            for _ in 0..draws {
                counts[zipf.draw(&mut rng) as usize] += 1;
            }
            let norm: f64 = (1..=n).map(|k| (k as f64).powf(-theta)).sum();
            for rank in [0_usize, 1, 9, 99] {
                let expected = f64::from(draws) * ((rank + 1) as f64).powf(-theta) / norm;
                let z = (f64::from(counts[rank]) - expected) / expected.sqrt();
                assert!(z.abs() < 5.0, "theta {theta} rank {rank}: {} for {expected}", counts[rank]);
            }
        }
    }

    #[test]
    fn pareto_gives_the_share_it_is_named_for() {
        let blocks = 100_000;
        let mut sampler = Sampler::new(&Distribution::Pareto { h: 0.2 }, false, blocks, BLOCK, 3);
        let Sampler::Pareto(_, scatter) = sampler.clone() else { panic!("pareto") };
        let hot: std::collections::HashSet<u64> = (0..blocks / 5).map(|rank| scatter.at(rank)).collect();
        let mut rng = Rng::new(4);
        let hits =
            (0..100_000).filter(|_| hot.contains(&sampler.draw(blocks, OpKind::Read, &mut rng))).count();
        assert!((hits as f64 / 100_000.0 - 0.8).abs() < 0.01, "{hits}");
    }

    #[test]
    fn a_list_is_taken_block_by_block_by_each_operation() {
        let of = |advances| {
            let list = Distribution::Sequence { blocks: vec![2, 0, 1], advances };
            let mut sampler = Sampler::new(&list, false, 8, BLOCK, 1);
            let kinds = [OpKind::Read, OpKind::Read, OpKind::Write, OpKind::Read, OpKind::Read, OpKind::Read];
            let mut rng = Rng::new(2);
            let mut draw = |kind| sampler.draw(8, kind, &mut rng);
            let drawn: Vec<u64> = kinds.into_iter().chain([OpKind::Read; 2]).map(&mut draw).collect();
            (drawn, sampler.has_run_out())
        };
        assert_eq!(of(false), (vec![2, 0, 2, 1, 2, 0, 1, 2], false));
        assert_eq!(of(true), (vec![2, 0, 2, 1, 5, 3, 4, 7], true), "block 8 lies behind the range");
    }

    #[test]
    fn zones_get_their_shares() {
        use crate::pattern::ZoneSize::RangePercent;
        let zoned = Distribution::Zoned(vec![
            Zone { access_percent: 60.0, size: RangePercent(10.0) },
            Zone { access_percent: 30.0, size: RangePercent(20.0) },
            Zone { access_percent: 10.0, size: RangePercent(70.0) },
        ]);
        assert!((share_of_first(&zoned, OpKind::Read, GIB, GIB / 10) - 0.6).abs() < 0.01);
        assert!((share_of_first(&zoned, OpKind::Read, GIB, GIB / 10 * 3) - 0.9).abs() < 0.01);
    }

    #[test]
    fn every_distribution_stays_in_range() {
        let all = [
            Distribution::Uniform,
            Distribution::Zipf { theta: 1.1 },
            Distribution::Pareto { h: 0.3 },
            Distribution::Normal { stddev_percent: 30.0, scattered: false },
            Distribution::Exponential { midpoint: 3.0 },
            Distribution::HitArea { read_percent: 50.0, write_percent: 50.0, bytes: 1 << 20 },
            Distribution::Hotband { low_bytes: 0, high_bytes: 1 << 30, corrected: false },
            Distribution::ReadMiss { miss_percent: 30.0, hit_bytes: u64::MAX },
        ];
        for distribution in &all {
            for blocks in [2_u64, 3, 1000] {
                let mut sampler = Sampler::new(distribution, false, blocks, BLOCK, 1);
                let mut rng = Rng::new(1);
                for kind in [OpKind::Read, OpKind::Write] {
                    for _ in 0..1000 {
                        assert!(sampler.draw(blocks, kind, &mut rng) < blocks, "{distribution:?}");
                    }
                }
            }
        }
    }
}
