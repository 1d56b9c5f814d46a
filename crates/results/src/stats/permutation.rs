//! Permutation tests: of one comparison, and of a whole suite by its largest statistic.

use serde::{Deserialize, Serialize};

use super::special::choose;
use super::usable;
use assay_workload::rng::Rng;

/// Relabellings are all visited up to this many; above it they are drawn at random.
const ENUMERATE_LIMIT: f64 = 20_000.0;

/// Outcome of a permutation test of two groups.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PermutationTest {
    /// Mean of `b` minus mean of `a`.
    pub difference: f64,
    /// Two-sided p: share of relabellings with a difference at least as large; drawn at random, the seen one
    /// counts among the draws, so p is never zero (Phipson and Smyth 2010).
    pub p: f64,
    /// True when every relabelling was visited.
    pub exact: bool,
}

/// Two-sided permutation test of a difference in means.
///
/// Visits all relabellings up to 20000 of them, else draws `draws` with this seed. `None` when a group is empty
/// or holds a value that is not finite.
#[must_use]
pub fn permutation_test(a: &[f64], b: &[f64], draws: usize, seed: u64) -> Option<PermutationTest> {
    let suite = [TwoSamples { a, b }];
    let result = max_t(&suite, draws, seed)?;
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    Some(PermutationTest { difference: mean(b) - mean(a), p: result.p[0], exact: result.exact })
}

/// The runs of one test of a suite on two sides.
#[derive(Clone, Copy, Debug)]
pub struct TwoSamples<'a> {
    /// Figures of the runs on the first side, in order of the passes.
    pub a: &'a [f64],
    /// Figures of the runs on the second side, in order of the passes.
    pub b: &'a [f64],
}

/// Family-wise p-values of a suite.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MaxT {
    /// Student's t of each test (`b` minus `a`), in the order given; 0 for a test without any variation.
    pub t: Vec<f64>,
    /// Adjusted two-sided p of each test, in the order given.
    pub p: Vec<f64>,
    /// True when every relabelling was visited.
    pub exact: bool,
    /// Relabellings used.
    pub relabellings: u64,
    /// True when whole passes were relabelled; false when the tests had different numbers of runs and each was
    /// relabelled by itself.
    pub joint: bool,
}

/// Step-down max-T adjustment of Westfall and Young (1993) over the tests of a suite.
///
/// A pass runs all tests once, so passes are relabelled as wholes where all tests have the same number of runs
/// on each side: that keeps what the tests of a pass have in common, and is exact when passes are exchangeable.
/// All relabellings up to 20000, else `draws` random ones. `None` for an empty suite, or one with a group that
/// is empty or not finite.
#[must_use]
pub fn max_t(suite: &[TwoSamples<'_>], draws: usize, seed: u64) -> Option<MaxT> {
    if suite.is_empty() || suite.iter().any(|test| !usable(test.a) || !usable(test.b)) {
        return None;
    }
    let tests: Vec<Pooled> = suite.iter().map(Pooled::new).collect();
    let (n_a, n_b) = (suite[0].a.len(), suite[0].b.len());
    let joint = suite.iter().all(|test| test.a.len() == n_a && test.b.len() == n_b);
    let seen: Vec<f64> = tests.iter().map(|test| test.t_of(test.sum_of_first())).collect();
    let mut count = StepDown::new(&seen);
    let total = choose(n_a + n_b, n_a);
    let exact = joint && total <= ENUMERATE_LIMIT;
    if exact {
        for_each_choice(n_a + n_b, n_a, |chosen| {
            count.add(tests.iter().map(|test| test.t_of(test.sum_of(chosen))));
        });
    } else {
        count.add(seen.iter().copied());
        draw(&tests, joint, draws, seed, &mut count);
    }
    Some(MaxT { p: count.adjusted(), t: seen, exact, relabellings: count.relabellings, joint })
}

/// Adds random relabellings to the count.
fn draw(tests: &[Pooled], joint: bool, draws: usize, seed: u64, count: &mut StepDown) {
    let mut rng = Rng::new(seed);
    let mut labels: Vec<Vec<usize>> = tests.iter().map(|test| (0..test.values.len()).collect()).collect();
    for _ in 0..draws {
        let labelled = if joint { 1 } else { tests.len() };
        for (test, order) in tests.iter().zip(&mut labels).take(labelled) {
            choose_to_front(&mut rng, order, test.n_a);
        }
        count.add(tests.iter().enumerate().map(|(i, test)| {
            let order = if joint { &labels[0] } else { &labels[i] };
            test.t_of(test.sum_of(&order[..test.n_a]))
        }));
    }
}

/// Moves a random choice of `k` items to the front, each choice equally likely.
fn choose_to_front(rng: &mut Rng, items: &mut [usize], k: usize) {
    for i in 0..k.min(items.len()) {
        let j = i + rng.below((items.len() - i) as u64) as usize;
        items.swap(i, j);
    }
}

/// The pooled values of one test, centred, and what does not change when they are relabelled.
struct Pooled {
    values: Vec<f64>,
    n_a: usize,
    squares: f64,
}

impl Pooled {
    fn new(test: &TwoSamples<'_>) -> Self {
        let n = (test.a.len() + test.b.len()) as f64;
        let mean = test.a.iter().chain(test.b).map(|v| v / n).sum::<f64>();
        let values: Vec<f64> = test.a.iter().chain(test.b).map(|v| v - mean).collect();
        let squares = values.iter().map(|v| v * v).sum();
        Self { values, n_a: test.a.len(), squares }
    }

    fn sum_of(&self, chosen: &[usize]) -> f64 {
        chosen.iter().map(|i| self.values[*i]).sum()
    }

    fn sum_of_first(&self) -> f64 {
        self.values[..self.n_a].iter().sum()
    }

    /// Student's t with pooled variance, `b` minus `a`, from the centred sum of `a`. Two groups that are each
    /// constant get a large finite value instead of infinity, so that they still compare.
    fn t_of(&self, sum_a: f64) -> f64 {
        let n = self.values.len() as f64;
        let (n_a, n_b) = (self.n_a as f64, n - self.n_a as f64);
        // The centred sums add to zero, so the difference of means follows from one of them.
        let difference = -sum_a / n_b - sum_a / n_a;
        let between = difference * difference * n_a * n_b / n;
        let within = (self.squares - between).max(1e-12 * self.squares);
        if within <= 0.0 || n <= 2.0 {
            return 0.0;
        }
        difference / (within / (n - 2.0) * (1.0 / n_a + 1.0 / n_b)).sqrt()
    }
}

/// Counts, for each test in order of falling |t|, how often the largest |t| of it and all weaker tests reached
/// what was seen.
struct StepDown {
    order: Vec<usize>,
    seen: Vec<f64>,
    reached: Vec<u64>,
    relabellings: u64,
    current: Vec<f64>,
}

impl StepDown {
    fn new(seen: &[f64]) -> Self {
        let mut order: Vec<usize> = (0..seen.len()).collect();
        order.sort_by(|i, j| seen[*j].abs().total_cmp(&seen[*i].abs()));
        // A relabelling that gives the same groups must count as reached in spite of rounding.
        let seen = seen.iter().map(|t| t.abs() * (1.0 - 1e-9)).collect();
        Self { reached: vec![0; order.len()], current: vec![0.0; order.len()], order, seen, relabellings: 0 }
    }

    fn add(&mut self, t: impl Iterator<Item = f64>) {
        for (place, value) in self.current.iter_mut().zip(t) {
            *place = value.abs();
        }
        let mut largest = 0.0f64;
        for i in self.order.iter().rev() {
            largest = largest.max(self.current[*i]);
            self.reached[*i] += u64::from(largest >= self.seen[*i]);
        }
        self.relabellings += 1;
    }

    fn adjusted(&self) -> Vec<f64> {
        let mut adjusted = vec![1.0; self.order.len()];
        let mut highest = 0.0f64;
        for i in &self.order {
            highest = highest.max(self.reached[*i] as f64 / self.relabellings as f64);
            adjusted[*i] = highest;
        }
        adjusted
    }
}

/// Calls back with every choice of `k` of `0..n`, in lexicographic order.
fn for_each_choice(n: usize, k: usize, mut visit: impl FnMut(&[usize])) {
    let mut chosen: Vec<usize> = (0..k).collect();
    loop {
        visit(&chosen);
        let Some(i) = (0..k).rev().find(|i| chosen[*i] < n - k + i) else { return };
        chosen[i] += 1;
        for j in i + 1..k {
            chosen[j] = chosen[j - 1] + 1;
        }
    }
}

#[cfg(test)]
mod tests;
