//! What an audit objects to, and the repair.

use assay_results::checks::iops_low;
use assay_results::run::Effect;
use assay_results::{Finding, FindingSeverity};
use assay_workload::pattern::{Distribution, OpKind, Placement, Random};
use assay_workload::plan::{PlannedJob, PlannedPhase};
use assay_workload::units::Bytes;
use serde_json::{Map, Value, json};

use super::{Auditor, JobAudit, PhaseAudit, place, repair, shares, sites_of};
use assay_results::audit::Imbalance;

/// From here on cores count as unevenly loaded, and from here on it is worth a warning.
const UNEVEN: f64 = 1.2;
const VERY_UNEVEN: f64 = 1.5;
/// What offsets should be multiples of whatever is below.
const UNIT_BYTES: u64 = 4096;

/// A finding in the making.
fn finding(id: &str, severity: FindingSeverity, entry: &JobAudit, message: String) -> Finding {
    Finding {
        id: id.to_owned(),
        severity,
        phase: Some(entry.phase.clone()),
        repeat: None,
        job: Some(entry.name.clone()),
        message,
        bias: None,
        effect: None,
        evidence: Map::new(),
        advice: String::new(),
    }
}

fn with(mut finding: Finding, evidence: Value, bias: &str, advice: String) -> Finding {
    if let Value::Object(map) = evidence {
        finding.evidence = map;
    }
    finding.bias = Some(bias.to_owned());
    finding.advice = advice;
    finding
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

impl Auditor<'_> {
    pub(super) fn findings(
        &self,
        phase: &PlannedPhase,
        entries: &[JobAudit],
        together: &PhaseAudit,
    ) -> Vec<Finding> {
        let mut findings = Vec::new();
        for entry in entries {
            let Some(job) = phase.jobs.iter().find(|job| job.name == entry.name) else { continue };
            findings.extend(self.imbalance(Some(job), entry, together));
            findings.extend(self.fits_cache(job, entry));
            findings.extend(self.crossing_segments(job, entry));
            // The rest does not depend on the operation: said once a job.
            if entries.iter().find(|first| first.name == entry.name) == Some(entry) {
                findings.extend(misaligned(job, entry));
                findings.extend(overlapping_walks(job, entry));
                findings.extend(self.one_core_at_a_time(job, entry));
            }
        }
        findings
    }

    /// One core gets much more than its share; `job` is what made the traffic, where that is known.
    pub(super) fn imbalance(
        &self,
        job: Option<&PlannedJob>,
        entry: &JobAudit,
        together: &PhaseAudit,
    ) -> Option<Finding> {
        let certain = entry.max_over_mean - entry.error * entry.cores.len() as f64;
        // Jobs that are uneven one by one may complement each other.
        if certain < UNEVEN || together.max_over_mean < UNEVEN || entry.cores.len() < 2 {
            return None;
        }
        let hot = Imbalance::of(&entry.cores)?;
        if let Some(repeated) = entry.repeated_data_share {
            return Some(content_imbalance(entry, hot.share_max, repeated));
        }
        let core =
            entry.cores.iter().position(|share| *share == hot.share_max * entry.cores.iter().sum::<f64>());
        let first = entry.segments_top.first();
        let message = format!(
            "{} of the {}s go to one core of {}{}: {:.2} times the mean",
            percent(hot.share_max),
            entry.op,
            entry.cores.len(),
            first.map_or(String::new(), |top| format!(
                ", the hottest segment (at {} of {}) alone gets {}",
                Bytes(top.offset),
                top.target,
                percent(top.share)
            )),
            entry.max_over_mean
        );
        let severity =
            if entry.max_over_mean >= VERY_UNEVEN { FindingSeverity::Warning } else { FindingSeverity::Info };
        let repair = match job {
            Some(job) => self.repair(job, entry),
            None => self.spread(),
        };
        let mut evidence = json!({
            "busiest_core_share": hot.share_max,
            "busiest_over_mean": entry.max_over_mean,
            "busiest_core": core,
            "hottest_segment_share": first.map(|top| top.share),
        });
        if let (Value::Object(map), Some(predicted)) = (&mut evidence, repair.predicted) {
            map.insert("repaired_over_mean".to_owned(), json!(predicted));
        }
        let bias = low_by("binds addresses to cores", entry.max_over_mean);
        let finding =
            with(finding("hot-area-imbalance", severity, entry, message), evidence, &bias, repair.advice);
        Some(Finding { effect: Effect::low(entry.max_over_mean - 1.0), ..finding })
    }

    /// Bytes after which the layout begins again at the first core.
    fn turn_bytes(&self) -> u64 {
        self.model.front_end.segment.0 * u64::from(self.model.front_end.cores())
    }

    fn repair(&self, job: &PlannedJob, entry: &JobAudit) -> Repair {
        let (turn, cores) = (self.turn_bytes(), self.model.front_end.cores());
        let segment = Bytes(self.model.front_end.segment.0);
        match random_of(&job.pattern.placement).map(|random| &random.distribution) {
            Some(Distribution::HitArea { read_percent, write_percent, bytes }) => {
                let left_out = repair::left_out(job, turn);
                let bytes = repair::hit_area(*bytes, turn, left_out);
                let (read_percent, write_percent) = (*read_percent, *write_percent);
                let repaired = Distribution::HitArea { read_percent, write_percent, bytes };
                let predicted = self.over_mean(job, entry, |_| Some(repaired.clone()));
                let advice = format!(
                    "make the hit area {} (hitarea={}): the smallest multiple of {cores} cores x {segment} that is not \
                     smaller than it is",
                    Bytes(bytes + left_out),
                    Bytes(bytes + left_out).short()
                );
                Repair::new(advice, predicted)
            }
            Some(Distribution::Hotband { low_bytes, high_bytes, corrected: false }) => {
                self.hotband_repair(job, entry, *low_bytes, *high_bytes)
            }
            Some(Distribution::Zoned(_)) => Repair::new(
                format!("make every zone a multiple of {} ({cores} cores x {segment})", Bytes(turn)),
                None,
            ),
            _ if job.slices.iter().flat_map(|slice| &slice.sites).all(|site| site.length_bytes < turn) => {
                Repair::new(
                    format!("use a range of at least {} ({cores} cores x {segment})", Bytes(turn)),
                    None,
                )
            }
            _ if matches!(&job.pattern.placement, Placement::Sequential(walk) if walk.skip_max_bytes > 0) => {
                Repair::new(
                    format!(
                        "choose a stride that is not a multiple of {} ({cores} cores x {segment}), {segment} more or \
                         less for example",
                        Bytes(turn)
                    ),
                    None,
                )
            }
            _ => self.spread(),
        }
    }

    fn hotband_repair(&self, job: &PlannedJob, entry: &JobAudit, low: u64, high: u64) -> Repair {
        let (segment, cores) = (self.model.front_end.segment.0, self.model.front_end.cores());
        let corrected = Distribution::Hotband { low_bytes: low, high_bytes: high, corrected: true };
        let predicted = self.over_mean(job, entry, |_| Some(corrected.clone()));
        let site = job.slices.iter().flat_map(|slice| &slice.sites).next();
        let (offset, length) = site.map_or((0, 0), |site| (site.offset_bytes, site.length_bytes));
        let high = high.min(length);
        let end = offset + high.saturating_sub(self.turn_bytes()).max(low);
        let advice = format!(
            "let the units of the hotband be corrected{}, or split the workload into {cores} with the band moved on by \
             {} each: hotband=({start}+i*{segment},{end}+i*{segment}) for i = 0 to {}{}",
            stated(predicted),
            Bytes(segment),
            cores - 1,
            stated(self.staggered(job, entry, low, high)),
            start = offset + low,
        );
        Repair::new(advice, predicted)
    }

    fn spread(&self) -> Repair {
        let turn = Bytes(self.turn_bytes());
        Repair::new(
            format!("spread the hot data over at least {turn} in one piece, or over multiples of it"),
            None,
        )
    }

    /// The busiest core over the mean if the job's distribution were another one.
    fn over_mean(
        &self,
        job: &PlannedJob,
        entry: &JobAudit,
        change: impl Fn(&Distribution) -> Option<Distribution>,
    ) -> Option<f64> {
        let mut pattern = job.pattern.clone();
        let Placement::Random(random) = &mut pattern.placement else { return None };
        random.distribution = change(&random.distribution)?;
        let kind = OpKind::DATA.into_iter().find(|kind| kind.name() == entry.op)?;
        let front_end = &self.model.front_end;
        let density = place::closed_form(&pattern, kind, &sites_of(job), front_end.cores())?;
        Imbalance::of(&shares::of_cores(&density, front_end)).map(|imbalance| imbalance.max_over_mean)
    }

    /// The same for one workload a core, each with its band a segment further on.
    fn staggered(&self, job: &PlannedJob, entry: &JobAudit, low: u64, high: u64) -> Option<f64> {
        let front_end = &self.model.front_end;
        let mut pattern = job.pattern.clone();
        let kind = OpKind::DATA.into_iter().find(|kind| kind.name() == entry.op)?;
        let sites = sites_of(job);
        let mut sum = vec![0.0; front_end.cores() as usize];
        // All bands have to fit.
        let high = high.saturating_sub(self.turn_bytes()).max(low + 1);
        for step in 0..u64::from(front_end.cores()) {
            let Placement::Random(random) = &mut pattern.placement else { return None };
            let shift = step * front_end.segment.0;
            random.distribution =
                Distribution::Hotband { low_bytes: low + shift, high_bytes: high + shift, corrected: false };
            let density = place::closed_form(&pattern, kind, &sites, front_end.cores())?;
            let shares = shares::of_cores(&density, front_end);
            sum.iter_mut().zip(shares).for_each(|(sum, share)| *sum += share);
        }
        Imbalance::of(&sum).map(|imbalance| imbalance.max_over_mean)
    }

    fn fits_cache(&self, job: &PlannedJob, entry: &JobAudit) -> Option<Finding> {
        let cache = self.model.cache.as_ref()?.size.0;
        let expected = entry.reuse.caches.iter().find(|expectation| expectation.bytes == cache)?;
        if entry.op != OpKind::Read.name() || expected.hit_ratio < 0.9 || job.end.time.is_none() {
            return None;
        }
        let message = format!(
            "an array cache of {} would answer {} of the reads: 99 % of them go to {}",
            Bytes(cache),
            percent(expected.hit_ratio),
            Bytes(entry.working_set.p99_bytes)
        );
        let evidence = json!({
            "cache_bytes": cache,
            "hit_ratio": expected.hit_ratio,
            "working_set_p99_bytes": entry.working_set.p99_bytes,
        });
        let advice =
            "make the working set several times the cache, unless the cache is what is to be measured";
        Some(with(
            finding("working-set-fits-cache", FindingSeverity::Info, entry, message),
            evidence,
            "IOPS high: the drives are hardly used",
            advice.to_owned(),
        ))
    }

    fn crossing_segments(&self, job: &PlannedJob, entry: &JobAudit) -> Option<Finding> {
        let segment = self.model.front_end.segment.0;
        if entry.crossing < 0.05 || job.pattern.max_block_bytes() > segment {
            return None;
        }
        let message = format!(
            "{} of the {}s cross a boundary of {} and are served by two cores",
            percent(entry.crossing),
            entry.op,
            Bytes(segment)
        );
        let advice = "align offsets to the block size, and use a block size that divides the segment";
        Some(with(
            finding("crossing-segments", FindingSeverity::Info, entry, message),
            json!({ "crossing_share": entry.crossing, "segment_bytes": segment }),
            "IOPS low: each of these requests is two for the array",
            advice.to_owned(),
        ))
    }

    /// A walk keeps as many cores busy as segments are covered by what is outstanding.
    fn one_core_at_a_time(&self, job: &PlannedJob, entry: &JobAudit) -> Option<Finding> {
        let Placement::Sequential(walk) = &job.pattern.placement else { return None };
        let (segment, cores) = (self.model.front_end.segment.0, self.model.front_end.cores());
        let block = job.pattern.max_block_bytes() + walk.skip_min_bytes;
        let covered = u64::from(job.outstanding_per_thread) * block;
        let busy = (covered.div_ceil(segment)).max(1) * job.slices.len() as u64;
        if busy >= u64::from(cores) || entry.repeated_data_share.is_some() {
            return None;
        }
        let message = format!(
            "what is outstanding covers {} of each walk: at most {busy} of {cores} cores own any of it at a time",
            Bytes(covered)
        );
        let advice = format!(
            "use more threads on ranges of their own, or more outstanding: {cores} cores x {} each",
            Bytes(segment)
        );
        Some(with(
            finding("few-cores-at-a-time", FindingSeverity::Info, entry, message),
            json!({ "covered_bytes": covered, "cores_at_a_time": busy, "cores": cores }),
            "bandwidth low on an array that binds addresses to cores",
            advice,
        ))
    }
}

/// One core gets much more than its share because equal data goes to the same core.
fn content_imbalance(entry: &JobAudit, busiest: f64, repeated: f64) -> Finding {
    let message = format!(
        "{} of the {}s go to one core of {}: {:.2} times the mean; {} of the data occurs more than once, and equal data has one core",
        percent(busiest),
        entry.op,
        entry.cores.len(),
        entry.max_over_mean,
        percent(repeated)
    );
    let severity =
        if entry.max_over_mean >= VERY_UNEVEN { FindingSeverity::Warning } else { FindingSeverity::Info };
    let evidence = json!({
        "busiest_core_share": busiest,
        "busiest_over_mean": entry.max_over_mean,
        "repeated_data_share": repeated,
    });
    let bias = low_by("places data by content", entry.max_over_mean);
    let advice = "write data of which no two blocks are equal (random, refreshed for every write, dedup_ratio = 1), or the ratio of \
                  real data in many different blocks";
    let finding =
        with(finding("content-imbalance", severity, entry, message), evidence, &bias, advice.to_owned());
    Finding { effect: Effect::low(entry.max_over_mean - 1.0), ..finding }
}

/// The possible bias of an uneven load. Where the busiest core is the limit, even load would be faster by as much as that core has above
/// the mean; where another stage is, by less.
fn low_by(how: &str, over_mean: f64) -> String {
    format!("{} on an array that {how}, and latency high", iops_low((over_mean - 1.0).max(0.0)))
}

/// A repair, and the imbalance that is left.
struct Repair {
    advice: String,
    predicted: Option<f64>,
}

impl Repair {
    fn new(advice: String, predicted: Option<f64>) -> Repair {
        Repair { advice, predicted }
    }
}

fn stated(predicted: Option<f64>) -> String {
    predicted.map_or(String::new(), |over_mean| format!(" (busiest core then {over_mean:.2} times the mean)"))
}

fn random_of(placement: &Placement) -> Option<&Random> {
    match placement {
        Placement::Sequential(_) | Placement::Unknown => None,
        Placement::Random(random) | Placement::Mixed { random, .. } => Some(random),
    }
}

fn misaligned(job: &PlannedJob, entry: &JobAudit) -> Option<Finding> {
    let align = job.pattern.align();
    let starts = job.slices.iter().flat_map(|slice| &slice.sites);
    let offset = starts.map(|site| site.offset_bytes).find(|offset| !offset.is_multiple_of(UNIT_BYTES));
    if align.is_multiple_of(UNIT_BYTES) && offset.is_none() {
        return None;
    }
    let message = match offset {
        Some(offset) => format!("the range starts at byte {offset}, which is no multiple of 4 KiB"),
        None => format!("offsets are multiples of {} only", Bytes(align)),
    };
    Some(with(
        finding("misaligned-offsets", FindingSeverity::Warning, entry, message),
        json!({ "align_bytes": align, "offset_bytes": offset }),
        "IOPS low: the storage reads or rewrites parts of its own units",
        "align the range and the offsets to 4 KiB or more".to_owned(),
    ))
}

fn overlapping_walks(job: &PlannedJob, entry: &JobAudit) -> Option<Finding> {
    let Placement::Sequential(walk) = &job.pattern.placement else { return None };
    let first = job.slices.first()?;
    let same = job.slices.iter().filter(|slice| slice.sites == first.sites).count();
    if same < 2 || walk.random_start {
        return None;
    }
    let message =
        format!("{same} threads walk the same range from its start: all but the first find what is cached");
    Some(with(
        finding("overlapping-walks", FindingSeverity::Warning, entry, message),
        json!({ "threads": same }),
        "bandwidth high: the same data is served several times",
        "give each thread a range of its own (fio offset_increment), or start at random places".to_owned(),
    ))
}
