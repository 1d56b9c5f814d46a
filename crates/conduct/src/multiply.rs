//! Curves, searches, rounds and repetitions: the phases of a workload multiplied.

use assay_workload::job::{Arrival, Phase, PhaseKind, Rate};
use assay_workload::rng::{Rng, derive_seed};
use assay_workload::steps::{FindRate, Until, UntilSteady};

/// What becomes of each measuring phase.
#[derive(Debug, Clone, PartialEq)]
pub enum Multiply {
    /// Measured without a rate, then at these per cents of what that reached.
    Curve(Vec<f64>),
    /// The highest rate that keeps a response time is looked for.
    Find(FindRate),
    /// Repeated until it is steady by SNIA's rule.
    UntilSteady,
}

/// Why a phase cannot be multiplied.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum MultiplyError {
    /// A per cent that makes no sense.
    #[error("--curve: {0} is not a per cent between 0 and 1000")]
    Percent(f64),
    /// It repeats already.
    #[error("{option}: phase '{phase}' repeats until something of its own")]
    Repeats {
        /// What was asked for.
        option: &'static str,
        /// The phase.
        phase: String,
    },
    /// A job has a rate of its own.
    #[error("{option} sets the rate, and job '{job}' of phase '{phase}' has one; take it away there")]
    Rated {
        /// What was asked for.
        option: &'static str,
        /// The job.
        job: String,
        /// The phase.
        phase: String,
    },
}

/// Multiplies the measuring phases of `phases` as asked.
///
/// # Errors
/// Where a phase has a rate of its own already, or a per cent makes no sense.
pub fn multiply(phases: Vec<Phase>, how: &Multiply) -> Result<Vec<Phase>, MultiplyError> {
    if let Multiply::Curve(percents) = how
        && let Some(bad) = percents.iter().find(|percent| !(**percent > 0.0 && **percent <= 1000.0))
    {
        return Err(MultiplyError::Percent(*bad));
    }
    let mut all = Vec::new();
    for phase in phases {
        if phase.kind != PhaseKind::Measure {
            all.push(phase);
            continue;
        }
        check(&phase, how)?;
        match how {
            Multiply::UntilSteady => {
                all.push(Phase { until: Some(Until::Steady(UntilSteady::default())), ..phase });
            }
            Multiply::Find(find) => all.push(Phase { until: Some(Until::Rate(*find)), ..phase }),
            Multiply::Curve(percents) => all.extend(curve(&phase, percents)),
        }
    }
    Ok(all)
}

fn check(phase: &Phase, how: &Multiply) -> Result<(), MultiplyError> {
    let option = match how {
        Multiply::UntilSteady => "--until-steady",
        Multiply::Find(_) => "--find-rate",
        Multiply::Curve(_) => "--curve",
    };
    let name = || phase.name.clone();
    if phase.until.is_some() {
        return Err(MultiplyError::Repeats { option, phase: name() });
    }
    let rated = phase.jobs.iter().find(|job| job.rate != Rate::Unlimited);
    match rated.filter(|_| *how != Multiply::UntilSteady) {
        None => Ok(()),
        Some(job) => Err(MultiplyError::Rated { option, job: job.name.clone(), phase: name() }),
    }
}

/// The phase without a rate, then at each share; arrivals by chance, as independent clients make them.
fn curve(phase: &Phase, percents: &[f64]) -> Vec<Phase> {
    let at = |word: String, rate: Option<f64>| {
        let mut phase = phase.clone();
        phase.point = phase.point.with(&word);
        for job in phase.jobs.iter_mut().filter(|_| rate.is_some()) {
            job.arrival = Arrival::Poisson;
            job.rate = rate.map_or(Rate::Unlimited, Rate::PercentOfMax);
        }
        phase
    };
    let max = at("curve=max".to_owned(), None);
    let shares = percents.iter().map(|percent| at(format!("curve={percent}%"), Some(*percent)));
    std::iter::once(max).chain(shares).collect()
}

/// The phases `passes` times. Behind phases that write through the page cache dirty pages are written back, so that no pass pays
/// for another; with `shuffle`, measuring phases that stand side by side trade places, differently in each pass.
pub fn repeat(once: Vec<Phase>, passes: u32, shuffle: Option<u64>) -> Vec<Phase> {
    if passes < 2 {
        return once;
    }
    let mut all = Vec::with_capacity(once.len() * passes as usize);
    for pass in 0..passes {
        let mut phases = once.clone();
        let writes = |phase: &Phase| phase.jobs.iter().any(|job| job.may_write());
        phases.iter_mut().for_each(|phase| phase.drain_after |= writes(phase));
        if let Some(seed) = shuffle {
            shuffle_measured(&mut phases, derive_seed(seed, u64::from(pass)));
        }
        all.extend(phases);
    }
    all
}

/// Only whole blocks move: a point of a curve needs the one without a rate before it.
fn shuffle_measured(phases: &mut [Phase], seed: u64) {
    let mut rng = Rng::new(seed);
    let free = |phase: &Phase| {
        phase.kind == PhaseKind::Measure
            && phase.until.is_none()
            && phase.jobs.iter().all(|job| !matches!(job.rate, Rate::PercentOfMax(_)))
            && !phase.point.words().any(|word| word.starts_with("curve="))
    };
    for run in phases.chunk_by_mut(|a, b| free(a) && free(b)) {
        rng.shuffle(run);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_workload::Job;
    use assay_workload::pattern::{AccessPattern, Mix, Placement};

    fn phase(name: &str, mix: Mix) -> Phase {
        let pattern = AccessPattern::new(mix, 4096, Placement::random_map());
        Phase::measure(name, vec![Job::new(name, &["t"], pattern)])
    }

    fn names(phases: &[Phase]) -> Vec<&str> {
        phases.iter().map(|phase| phase.name.as_str()).collect()
    }

    #[test]
    fn a_curve_is_points_of_measuring_phases_only() {
        let fill = Phase { kind: PhaseKind::Precondition, ..phase("fill", Mix::WRITE) };
        let args = Multiply::Curve(vec![10.0, 50.0]);
        let all = multiply(vec![fill, phase("m", Mix::READ)], &args).unwrap();
        let points: Vec<&str> = all.iter().map(|phase| phase.point.as_str()).collect();
        assert_eq!(points, ["", "curve=max", "curve=10%", "curve=50%"]);
        assert_eq!((all[1].jobs[0].rate, all[3].jobs[0].rate), (Rate::Unlimited, Rate::PercentOfMax(50.0)));
        assert_eq!(all[3].jobs[0].arrival, Arrival::Poisson);
    }

    #[test]
    fn a_phase_with_a_rate_of_its_own_is_refused() {
        let mut rated = phase("m", Mix::READ);
        rated.jobs[0].rate = Rate::Iops(5.0);
        let args = Multiply::Find("p99<5ms".parse().unwrap());
        let error = multiply(vec![rated.clone()], &args).unwrap_err();
        assert!(error.to_string().contains("--find-rate sets the rate, and job 'm'"), "{error}");
        let steady = Multiply::UntilSteady;
        assert!(multiply(vec![rated], &steady).unwrap()[0].until.is_some(), "a rate may be steady, too");
        let args = Multiply::Curve(vec![0.0]);
        assert!(multiply(vec![phase("m", Mix::READ)], &args).is_err());
    }

    #[test]
    fn passes_are_shuffled_each_for_itself_and_drained() {
        let fill = Phase { kind: PhaseKind::Precondition, ..phase("fill", Mix::WRITE) };
        let tests: Vec<Phase> = ["a", "b", "c", "d", "e", "f"].map(|name| phase(name, Mix::READ)).to_vec();
        let once: Vec<Phase> = std::iter::once(fill).chain(tests).collect();
        let all = repeat(once.clone(), 3, Some(7));
        assert_eq!(all.len(), 21);
        assert_eq!(all, repeat(once.clone(), 3, Some(7)), "the seed replays it");
        let pass = |n: usize| names(&all[7 * n..7 * (n + 1)]);
        assert!((0..3).all(|n| pass(n)[0] == "fill") && pass(0) != pass(1));
        let mut sorted = pass(2);
        sorted.sort_unstable();
        assert_eq!(sorted, ["a", "b", "c", "d", "e", "f", "fill"]);
        assert!(all[0].drain_after && !all[1].drain_after);
        assert_eq!(names(&repeat(once.clone(), 2, None)), [names(&once), names(&once)].concat());
    }
}
