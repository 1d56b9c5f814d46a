//! `hot-area-imbalance`: much of the traffic falls into few segments, which one core of an array may serve alone.
//!
//! The operations of the plan are drawn as the generator draws them, and counted by segment of 1 MiB and by core of the
//! default array model: segment k is served by core k mod 8 (the published case of an array that divides its volumes so).

use assay_workload::ops::{Generator, OpBlock, OpSource, SiteSpec};
use assay_workload::pattern::{Distribution, Placement};
use assay_workload::plan::PlannedJob;
use assay_workload::target::ActiveRange;

use super::draft::percent;
use super::subject::{Subject, measured};
use crate::run::{Finding, FindingSeverity, Run};

pub(super) const ID: &str = "hot-area-imbalance";

const SEGMENT_BYTES: u64 = 1 << 20;
const CORES: usize = 8;
/// Operations drawn: the share of one core in even traffic is then known to about a quarter of a per cent.
const DRAWS: usize = 20_000;
/// How much more than its share the busiest core may get.
const OVER_MEAN_MIN: f64 = 1.5;
/// A smaller range has few segments whatever the pattern is.
const RANGE_MIN: u64 = 64 * SEGMENT_BYTES;

pub(super) fn check(run: &Run) -> Vec<Finding> {
    measured(run).filter_map(|subject| of_job(&subject)).collect()
}

fn of_job(subject: &Subject<'_>) -> Option<Finding> {
    if subject.job.evidence.active_bytes < RANGE_MIN
        || !subject.planned.iter().any(|planned| is_skewed(planned))
    {
        return None;
    }
    let shares = core_shares(&subject.planned)?;
    let busiest = shares.iter().copied().fold(0.0, f64::max);
    let over_mean = busiest * CORES as f64;
    if over_mean < OVER_MEAN_MIN {
        return None;
    }
    let message = format!(
        "on an array that serves segments of 1 MiB by {CORES} cores in turn, one core gets {} of the traffic",
        percent(busiest)
    );
    let finding = subject
        .draft(ID, FindingSeverity::Info, message)
        .bias(format!("IOPS of such an array low: one core works {over_mean:.1} times the mean"))
        .evidence("busiest_core_share", busiest)
        .evidence("busiest_over_mean", over_mean)
        .advise(format!("make the hot area a multiple of {CORES} MiB; see the command audit"));
    Some(finding)
}

fn is_skewed(planned: &PlannedJob) -> bool {
    let uneven = |distribution: &Distribution| *distribution != Distribution::Uniform;
    match &planned.pattern.placement {
        Placement::Sequential(_) | Placement::Unknown => false,
        Placement::Random(random) | Placement::Mixed { random, .. } => uneven(&random.distribution),
    }
}

/// Shares of the cores in the operations of all threads; `None` where no operation comes out.
fn core_shares(planned: &[&PlannedJob]) -> Option<[f64; CORES]> {
    let slices: Vec<_> =
        planned.iter().flat_map(|planned| planned.slices.iter().map(move |slice| (planned, slice))).collect();
    let each = DRAWS.div_ceil(slices.len().max(1));
    let mut counts = [0_u64; CORES];
    for (job, slice) in slices {
        let sites: Vec<SiteSpec> = slice
            .sites
            .iter()
            .zip(0..)
            .map(|(site, target)| SiteSpec {
                target,
                range: ActiveRange { offset_bytes: site.offset_bytes, length_bytes: site.length_bytes },
            })
            .collect();
        let fits = sites.iter().all(|site| site.range.length_bytes >= job.pattern.max_block_bytes());
        if sites.is_empty() || !fits || job.pattern.kinds().next().is_none() {
            continue;
        }
        let mut generator =
            Generator::new(&job.pattern, &sites, job.selection, slice.seed, Some(each as u64), None);
        let mut block = OpBlock::default();
        for _ in 0..each {
            generator.fill(&mut block);
            if block.len == 0 {
                break;
            }
            for op in &block.ops[..block.len] {
                counts[(op.offset_bytes / SEGMENT_BYTES) as usize % CORES] += 1;
            }
        }
    }
    let total: u64 = counts.iter().sum();
    (total > 0).then(|| counts.map(|count| count as f64 / total as f64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::tests::{only, silent};
    use crate::fixture::run;
    use assay_workload::pattern::Random;

    fn with_hit_area(bytes: u64) -> Run {
        let mut run = run();
        let distribution = Distribution::HitArea { read_percent: 75.0, write_percent: 75.0, bytes };
        run.plan.phases[0].jobs[0].pattern.placement =
            Placement::Random(Random { distribution, once_per_pass: false });
        run
    }

    #[test]
    fn the_published_case() {
        // 75 % into 1 MiB: one core of eight gets 75 % and an eighth of the rest.
        let finding = only(ID, &with_hit_area(SEGMENT_BYTES));
        let share = finding.evidence["busiest_core_share"].as_f64().unwrap();
        assert!((share - 0.78125).abs() < 0.02, "{share}");
        assert_eq!(finding.severity, FindingSeverity::Info);
    }

    #[test]
    fn its_remedy() {
        silent(ID, &with_hit_area(8 * SEGMENT_BYTES));
        silent(ID, &run());
    }
}
