//! Repairs of a workload: what an audit objects to, and can be changed without changing what is meant.

use assay_results::audit::{Audit, Change};
use assay_workload::job::{Job, Workload};
use assay_workload::pattern::{Distribution, Placement, Random, Zone, ZoneSize};
use assay_workload::plan::{Plan, PlannedJob, PlannedSite};
use assay_workload::target::Extent;
use assay_workload::units::Bytes;

use super::phase_name;
use crate::model::Model;

/// What offsets should be multiples of.
const UNIT_BYTES: u64 = 4096;

/// What the language that the repair is written in can say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hotbands {
    /// A band with its units corrected.
    Corrected,
    /// Only the band as vdbench has it: the workload is split into one for each core, a segment apart.
    Staggered,
}

/// Repairs what the findings of `audit` name: hit areas, hotbands and zones that overload a core, ranges that are too
/// small, strides that meet one core, misaligned offsets, walks over the same range. `plan` is that of `workload`.
pub fn repair(
    workload: &mut Workload,
    plan: &Plan,
    audit: &Audit,
    model: &Model,
    hotbands: Hotbands,
) -> Vec<Change> {
    let turn = model.front_end.segment.0 * u64::from(model.front_end.cores());
    let mut changes = Vec::new();
    for (phase, planned) in workload.phases.iter_mut().zip(&plan.phases) {
        let name = phase_name(planned);
        let mut jobs = Vec::with_capacity(phase.jobs.len());
        for (job, planned_job) in phase.jobs.drain(..).zip(&planned.jobs) {
            let of_job = |id: &str| {
                audit.findings.iter().any(|finding| {
                    finding.id == id
                        && finding.phase.as_deref() == Some(name.as_str())
                        && finding.job.as_deref() == Some(job.name.as_str())
                })
            };
            let mut one =
                Repair { turn, segment: model.front_end.segment.0, planned: planned_job, said: Vec::new() };
            let mut repaired = job.clone();
            if of_job("misaligned-offsets") {
                one.align(&mut repaired);
            }
            if of_job("overlapping-walks") {
                one.part(&mut repaired);
            }
            let staggered =
                if of_job("hot-area-imbalance") { one.balance(&mut repaired, hotbands) } else { Vec::new() };
            let change = |what| Change { phase: name.clone(), job: job.name.clone(), what };
            changes.extend(one.said.into_iter().map(change));
            if staggered.is_empty() {
                jobs.push(repaired);
            } else {
                jobs.extend(staggered);
            }
        }
        phase.jobs = jobs;
    }
    changes
}

/// The hit area that keeps all cores alike: the smallest multiple of a turn that is not smaller than it is, where
/// `left_out` bytes before the range count to it.
pub(super) fn hit_area(bytes: u64, turn: u64, left_out: u64) -> u64 {
    (bytes.saturating_add(left_out)).div_ceil(turn).max(1) * turn - left_out
}

/// Bytes before a range that count to its hit area: vdbench leaves out the first block of a raw device.
pub(super) fn left_out(job: &PlannedJob, turn: u64) -> u64 {
    let offset = job.slices.iter().flat_map(|slice| &slice.sites).map(|site| site.offset_bytes).next();
    offset.map(|offset| offset % turn).filter(|offset| *offset <= job.pattern.max_block_bytes()).unwrap_or(0)
}

/// The repair of one job.
struct Repair<'a> {
    turn: u64,
    segment: u64,
    planned: &'a PlannedJob,
    said: Vec<String>,
}

impl Repair<'_> {
    fn sites(&self) -> impl Iterator<Item = &PlannedSite> {
        self.planned.slices.iter().flat_map(|slice| &slice.sites)
    }

    fn align(&mut self, job: &mut Job) {
        let align = job.pattern.align();
        if !align.is_multiple_of(UNIT_BYTES) {
            let aligned = align.next_multiple_of(UNIT_BYTES);
            job.pattern.align_bytes = Some(aligned);
            self.said.push(format!(
                "offsets are multiples of {} instead of {}",
                Bytes(aligned),
                Bytes(align)
            ));
        }
        if let Extent::Bytes(offset) = job.offset
            && !offset.is_multiple_of(UNIT_BYTES)
        {
            job.offset = Extent::Bytes(offset.next_multiple_of(UNIT_BYTES));
            self.said.push(format!(
                "the range starts at {} instead of byte {offset}",
                Bytes(offset.next_multiple_of(UNIT_BYTES))
            ));
        }
    }

    /// Gives each thread a part of the range.
    fn part(&mut self, job: &mut Job) {
        let threads = u64::from(job.threads);
        let shortest = self.sites().map(|site| site.length_bytes).min().unwrap_or(0);
        let unit = job.pattern.align().max(job.pattern.max_block_bytes()).max(1);
        let part = shortest / threads.max(1) / unit * unit;
        if part < job.pattern.max_block_bytes() || part == 0 {
            return;
        }
        job.offset_increment = Extent::Bytes(part);
        job.length = Some(Extent::Bytes(part));
        self.said.push(format!("each of the {threads} threads walks {} of its own", Bytes(part)));
    }

    /// Spreads what is hot over all cores; the jobs that stand for this one, where one is not enough.
    fn balance(&mut self, job: &mut Job, hotbands: Hotbands) -> Vec<Job> {
        let first = self.sites().next().copied();
        let align = job.pattern.align();
        match &mut job.pattern.placement {
            Placement::Random(random) | Placement::Mixed { random, .. }
                if matches!(random.distribution, Distribution::Hotband { corrected: false, .. }) =>
            {
                return self.hotband(job, hotbands);
            }
            Placement::Random(Random { distribution, .. })
            | Placement::Mixed { random: Random { distribution, .. }, .. } => match distribution {
                Distribution::HitArea { bytes, .. } => {
                    let before = *bytes;
                    let left_out = left_out(self.planned, self.turn);
                    *bytes = hit_area(before, self.turn, left_out);
                    let (now, before) = (Bytes(*bytes + left_out), Bytes(before + left_out));
                    self.said.push(format!("the hit area is {now} instead of {before}"));
                    return Vec::new();
                }
                Distribution::Zoned(zones) => {
                    let range = first.map_or(0, |site| site.length_bytes);
                    round_zones(zones, range, self.turn);
                    self.said.push(format!("every zone is a multiple of {}", Bytes(self.turn)));
                    return Vec::new();
                }
                _ => {}
            },
            Placement::Sequential(walk) if walk.skip_max_bytes > 0 => {
                walk.skip_min_bytes += self.segment;
                walk.skip_max_bytes += self.segment;
                self.said.push(format!("the stride is longer by {}", Bytes(self.segment)));
                return Vec::new();
            }
            Placement::Sequential(_) | Placement::Unknown => {}
        }
        if self.sites().all(|site| site.length_bytes < self.turn) {
            // An offset near the end may leave no room for it; then the plan says so.
            let length = self.turn.next_multiple_of(align.max(1));
            job.length = Some(Extent::Bytes(length));
            self.said.push(format!("the range is {} long", Bytes(length)));
        }
        Vec::new()
    }

    fn hotband(&mut self, job: &mut Job, hotbands: Hotbands) -> Vec<Job> {
        let (Placement::Random(random) | Placement::Mixed { random, .. }) = &mut job.pattern.placement else {
            return Vec::new();
        };
        let Distribution::Hotband { low_bytes, high_bytes, corrected } = &mut random.distribution else {
            return Vec::new();
        };
        if hotbands == Hotbands::Corrected {
            *corrected = true;
            self.said.push("the units of the hotband are corrected".to_owned());
            return Vec::new();
        }
        let Some(site) = self.planned.slices.iter().flat_map(|slice| &slice.sites).next().copied() else {
            return Vec::new();
        };
        let (low, high) = (*low_bytes, (*high_bytes).min(site.length_bytes));
        let cores = self.turn / self.segment;
        let Some(length) = high.checked_sub(low + self.turn).filter(|length| *length > self.turn) else {
            self.said.push(format!(
                "nothing: a band of {} has no room for {cores} of them",
                Bytes(high - low.min(high))
            ));
            return Vec::new();
        };
        random.distribution = Distribution::Hotband { low_bytes: 0, high_bytes: u64::MAX, corrected: false };
        let outstanding = u64::from(job.threads) * u64::from(job.outstanding_per_thread);
        self.said
            .push(format!("replaced by {cores} workloads whose bands start {} apart", Bytes(self.segment)));
        (0..cores)
            .map(|core| {
                let mut one = job.clone();
                one.name = format!("{}-{core}", job.name);
                one.offset = Extent::Bytes(site.offset_bytes + low + core * self.segment);
                one.length = Some(Extent::Bytes(length));
                one.threads = 1;
                let share = outstanding / cores + u64::from(core < outstanding % cores);
                one.outstanding_per_thread = share.max(1) as u32;
                one.rate = job.rate.scaled(1.0 / cores as f64);
                one
            })
            .collect()
    }
}

/// Zones in bytes, each but the last a multiple of `turn`.
fn round_zones(zones: &mut [Zone], range: u64, turn: u64) {
    let mut left = range;
    for zone in zones {
        let size = zone.size.of(range).div_ceil(turn).max(1).saturating_mul(turn).min(left);
        zone.size = ZoneSize::Bytes(size);
        left -= size;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn a_hit_area_is_rounded_up_to_turns() {
        assert_eq!(hit_area(MIB, 8 * MIB, 0), 8 * MIB);
        assert_eq!(hit_area(8 * MIB, 8 * MIB, 0), 8 * MIB);
        assert_eq!(hit_area(12 * MIB, 8 * MIB, 0), 16 * MIB);
        // Of a raw device the first block is left out: hitarea=8m is what is written.
        assert_eq!(hit_area(MIB - 4096, 8 * MIB, 4096), 8 * MIB - 4096);
    }

    #[test]
    fn zones_become_multiples_and_fill_the_range() {
        let zone = |percent| Zone { access_percent: 50.0, size: ZoneSize::RangePercent(percent) };
        let mut zones = [zone(1.0), zone(99.0)];
        round_zones(&mut zones, 100 * MIB, 8 * MIB);
        assert_eq!(zones.map(|zone| zone.size), [ZoneSize::Bytes(8 * MIB), ZoneSize::Bytes(92 * MIB)]);
    }
}
