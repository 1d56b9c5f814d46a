//! Where the traffic of a plan lands, without simulating it: by segment, core and controller, with the working set, the
//! reuse of data, and the alignment.
//!
//! Uniform, hit area, zoned, hotband, normal, exponential, zipf, Pareto and sequential placement are computed; what has no
//! closed form (random and sequential mixed, random skips) is drawn from the generator, and the error is stated.

mod capture;
mod content;
mod density;
mod distances;
mod draw;
mod findings;
mod heat;
mod hotband;
mod place;
mod profile;
mod ranks;
mod repair;
mod reuse;
mod shares;
mod stream;

use std::collections::BTreeMap;

pub use self::capture::{Capture, Recorded};
use self::density::{Class, Density, TargetDensity};
pub use self::heat::{Drawing, HeatGrid, heat, heat_near};
use self::place::Site;
pub use self::profile::{Profile, beside_repeats};
pub use self::repair::{Hotbands, repair};
use self::reuse::Order;
pub use self::stream::StreamAudit;
use crate::model::{Layout, Model};
use assay_results::audit::{
    Audit, CacheExpectation, Imbalance, JobAudit, Method, PhaseAudit, Reuse, SCHEMA, SegmentShare, WorkingSet,
};
use assay_workload::job::TargetSelection;
use assay_workload::ops::{Generator, OpBlock, OpSource, SiteSpec};
use assay_workload::pattern::{AccessPattern, BlockSizes, Distribution, OpKind, Placement, Random};
use assay_workload::plan::{Plan, PlannedJob, PlannedPhase};
use assay_workload::target::ActiveRange;

/// The most offsets within a segment that are looked at one by one.
const PLACES_MAX: u64 = 1 << 20;

/// What an audit is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditOptions {
    /// LRU caches to expect hit ratios for, bytes. The model's own comes in addition.
    pub cache_bytes: Vec<u64>,
    /// How many of the hottest segments are listed.
    pub segments: usize,
    /// Operations drawn where there is no closed form.
    pub draws: u64,
}

impl Default for AuditOptions {
    fn default() -> Self {
        AuditOptions { cache_bytes: Vec::new(), segments: 10, draws: 1_000_000 }
    }
}

/// Audits the jobs of `plan` on the array of `model`. Repetitions of a phase are not audited again; file-tree jobs have no
/// addresses and are left out.
pub fn audit(plan: &Plan, model: &Model, options: &AuditOptions) -> Audit {
    let mut audit = Audit {
        schema: SCHEMA.to_owned(),
        array: model.name.clone(),
        jobs: Vec::new(),
        phases: Vec::new(),
        findings: Vec::new(),
    };
    let targets: Vec<String> = plan.targets.iter().map(|target| target.name.clone()).collect();
    let auditor = Auditor { targets: &targets, model, options };
    for phase in plan.phases.iter().filter(|phase| phase.repeat == 0) {
        let name = phase_name(phase);
        let mut cores = vec![0.0; model.front_end.cores() as usize];
        let mut total = 0.0;
        let first = audit.jobs.len();
        for job in phase.jobs.iter().filter(|job| job.is_blocks() && job.file_operation.is_none()) {
            let weight = load_of(job, phase);
            for mut entry in auditor.job(&name, job) {
                auditor.place_by_content(plan, job, &mut entry);
                let weight = weight * entry.share_of_job;
                cores.iter_mut().zip(&entry.cores).for_each(|(sum, share)| *sum += share * weight);
                total += weight;
                audit.jobs.push(entry);
            }
        }
        if total > 0.0 {
            cores.iter_mut().for_each(|share| *share /= total);
            let together = auditor.together(name, cores);
            audit.findings.extend(auditor.findings(phase, &audit.jobs[first..], &together));
            audit.phases.push(together);
        }
    }
    audit
}

fn phase_name(phase: &PlannedPhase) -> String {
    phase.point.title(&phase.name)
}

/// A job's share of the load of its phase: by rates where all jobs have one, else by outstanding I/Os.
fn load_of(job: &PlannedJob, phase: &PlannedPhase) -> f64 {
    if phase.jobs.iter().all(|job| job.slices_iops().is_some()) {
        job.slices_iops().unwrap_or(0.0)
    } else {
        job.outstanding_io() as f64
    }
}

/// Audits operations that were counted one by one: a trace. Targets go by their names.
pub fn audit_stream(
    name: &str,
    targets: &[String],
    stream: &StreamAudit,
    model: &Model,
    options: &AuditOptions,
) -> Audit {
    let auditor = Auditor { targets, model, options };
    let total: u64 = stream.kinds.iter().map(|tally| tally.ops).sum();
    let mut audit = Audit {
        schema: SCHEMA.to_owned(),
        array: model.name.clone(),
        jobs: Vec::new(),
        phases: Vec::new(),
        findings: Vec::new(),
    };
    let mut cores = vec![0.0; model.front_end.cores() as usize];
    for kind in OpKind::DATA.into_iter().filter(|kind| stream.kinds[*kind as usize].ops > 0) {
        let share = stream.kinds[kind as usize].ops as f64 / total as f64;
        let entry = auditor.entry((name, name), kind, share, auditor.counted(stream, kind));
        cores.iter_mut().zip(&entry.cores).for_each(|(sum, part)| *sum += part * share);
        audit.jobs.push(entry);
    }
    let together = auditor.together(name.to_owned(), cores);
    let findings = audit.jobs.iter().filter_map(|entry| auditor.imbalance(None, entry, &together));
    audit.findings = findings.collect();
    audit.phases.push(together);
    audit
}

/// What does not change from job to job.
#[derive(Debug, Clone, Copy)]
struct Auditor<'a> {
    targets: &'a [String],
    model: &'a Model,
    options: &'a AuditOptions,
}

/// Where operations land, and how well that is known.
struct Landing {
    density: Density,
    /// The density without overlaps, and its popularity classes.
    flat: Vec<TargetDensity>,
    classes: Vec<Class>,
    method: Method,
    sequential_run_ios: f64,
    reuse: Reuse,
    crossing: f64,
}

impl Auditor<'_> {
    fn job(&self, phase: &str, job: &PlannedJob) -> Vec<JobAudit> {
        let pattern = &job.pattern;
        let sites = sites_of(job);
        let usable = sites.iter().all(|site| site.length >= pattern.max_block_bytes().max(1));
        if sites.is_empty() || !usable || pattern.max_block_bytes() == 0 {
            return Vec::new();
        }
        let mut drawn: Option<StreamAudit> = None;
        let mut entries = Vec::new();
        for kind in pattern.kinds() {
            let cores = self.model.front_end.cores();
            let landing = match place::closed_form(pattern, kind, &sites, cores) {
                Some(density) => self.computed(pattern, kind, &sites, density),
                None => self.counted(drawn.get_or_insert_with(|| self.stream(job)), kind),
            };
            entries.push(self.entry((phase, &job.name), kind, pattern.mix.share(kind), landing));
        }
        entries
    }

    /// On an array that places data by what it holds, cores have the shares of the data in the place of those of addresses.
    fn place_by_content(&self, plan: &Plan, job: &PlannedJob, entry: &mut JobAudit) {
        let front_end = &self.model.front_end;
        let kind = OpKind::DATA.into_iter().find(|kind| kind.name() == entry.op);
        let by_content = kind.filter(|_| front_end.layout == Layout::Content);
        let Some(placed) = by_content.and_then(|kind| content::placed(plan, job, kind, front_end)) else {
            return;
        };
        entry.controllers = shares::of_controllers(&placed.cores, front_end);
        entry.max_over_mean = Imbalance::of(&placed.cores).map_or(1.0, |imbalance| imbalance.max_over_mean);
        entry.repeated_data_share = Some(placed.repeated_share);
        entry.cores = placed.cores;
    }

    /// Puts the load of a phase together.
    fn together(&self, phase: String, cores: Vec<f64>) -> PhaseAudit {
        let max_over_mean = Imbalance::of(&cores).map_or(1.0, |imbalance| imbalance.max_over_mean);
        let controllers = shares::of_controllers(&cores, &self.model.front_end);
        PhaseAudit { phase, cores, controllers, max_over_mean }
    }

    fn entry(
        &self,
        (phase, name): (&str, &str),
        kind: OpKind,
        share_of_job: f64,
        landing: Landing,
    ) -> JobAudit {
        let front_end = &self.model.front_end;
        let cores = shares::of_cores(&landing.density, front_end);
        let working_set = shares::working_set(&landing.classes, &[0.5, 0.9, 0.99]);
        let hottest = shares::hottest(&landing.flat, front_end, self.options.segments);
        let target = |index: u16| self.targets.get(usize::from(index)).cloned().unwrap_or_default();
        let top = |hot: &shares::Hot| SegmentShare {
            target: target(hot.target),
            offset: hot.segment * front_end.segment.0,
            share: hot.share,
        };
        JobAudit {
            phase: phase.to_owned(),
            name: name.to_owned(),
            op: kind.name().to_owned(),
            share_of_job,
            method: landing.method,
            error: landing.density.error,
            segments_top: hottest.iter().map(top).collect(),
            controllers: shares::of_controllers(&cores, front_end),
            max_over_mean: Imbalance::of(&cores).map_or(1.0, |imbalance| imbalance.max_over_mean),
            cores,
            working_set: WorkingSet {
                p50_bytes: working_set[0],
                p90_bytes: working_set[1],
                p99_bytes: working_set[2],
            },
            reuse: landing.reuse,
            sequential_run_ios: landing.sequential_run_ios,
            crossing: landing.crossing,
            repeated_data_share: None,
        }
    }

    fn computed(&self, pattern: &AccessPattern, kind: OpKind, sites: &[Site], density: Density) -> Landing {
        let flat = density.flat();
        let classes = density.popularity(&flat);
        Landing {
            method: Method::ClosedForm,
            sequential_run_ios: run_ios(pattern, sites),
            reuse: self.reuse(pattern, &classes),
            crossing: self.crossing(pattern, kind, sites),
            density,
            flat,
            classes,
        }
    }

    fn cache_sizes(&self) -> Vec<u64> {
        let own = self.model.cache.as_ref().map(|cache| cache.size.0);
        let mut sizes: Vec<u64> = self.options.cache_bytes.iter().copied().chain(own).collect();
        sizes.sort_unstable();
        sizes.dedup();
        sizes
    }

    fn reuse(&self, pattern: &AccessPattern, classes: &[Class]) -> Reuse {
        let order = match &pattern.placement {
            Placement::Sequential(_) => Order::Round,
            Placement::Random(random) if random.once_per_pass && pattern.repeat_passes => Order::Round,
            Placement::Random(random) if random.once_per_pass => Order::Pass,
            _ => Order::Independent,
        };
        let block = pattern.align() as f64;
        let caches = self.cache_sizes().into_iter().map(|bytes| CacheExpectation {
            bytes,
            hit_ratio: reuse::lru_hit_ratio(classes, block, order, bytes as f64),
        });
        Reuse {
            p50_bytes: Some(reuse::distance(classes, block, order, 0.5)),
            p90_bytes: Some(reuse::distance(classes, block, order, 0.9)),
            first_use_share: None,
            caches: caches.collect(),
        }
    }

    /// Draws operations of all threads in turn.
    fn stream(&self, job: &PlannedJob) -> StreamAudit {
        let mut stream = StreamAudit::new(self.model, self.targets.len());
        let mut generators: Vec<Generator> = job.slices.iter().map(|slice| generator(job, slice)).collect();
        let mut block = OpBlock::default();
        let mut left = self.options.draws;
        while left > 0 {
            let before = left;
            for generator in &mut generators {
                generator.fill(&mut block);
                for op in &block.ops[..block.len] {
                    stream.add(op.target, op.kind, op.offset_bytes, op.len_bytes);
                }
                left = left.saturating_sub(block.len as u64);
            }
            if left == before {
                break;
            }
        }
        stream
    }

    fn counted(&self, stream: &StreamAudit, kind: OpKind) -> Landing {
        let tally = &stream.kinds[kind as usize];
        let ops = tally.ops.max(1) as f64;
        let caches = self
            .cache_sizes()
            .into_iter()
            .map(|bytes| CacheExpectation { bytes, hit_ratio: tally.distances.hit_ratio(bytes) });
        let density = stream.density(kind);
        let flat = density.flat();
        Landing {
            classes: density.popularity(&flat),
            density,
            flat,
            method: Method::Drawn,
            sequential_run_ios: ops / (ops - tally.sequential as f64).max(1.0),
            reuse: Reuse {
                p50_bytes: tally.distances.distance(0.5),
                p90_bytes: tally.distances.distance(0.9),
                first_use_share: Some(tally.distances.first_use_share()),
                caches: caches.collect(),
            },
            crossing: tally.crossing as f64 / ops,
        }
    }

    /// The share of requests that cross a segment, over all places a request may start at.
    fn crossing(&self, pattern: &AccessPattern, kind: OpKind, sites: &[Site]) -> f64 {
        let (segment, align) = (self.model.front_end.segment.0, pattern.align());
        let crossing = |site: &Site, size: u64| {
            // Offsets within segments repeat after segment / gcd places.
            let period = segment / greatest_common_divisor(segment, align);
            let places = ((site.length.saturating_sub(size)) / align + 1).min(period).min(PLACES_MAX);
            let crosses = |index: &u64| (site.offset + index * align) % segment + size > segment;
            (0..places).filter(crosses).count() as f64 / places as f64
        };
        let largest: f64 = sites.iter().map(|site| site.weight).sum();
        let sizes = match pattern.sizes(kind) {
            BlockSizes::Weighted(list) => list.clone(),
            sizes => vec![(sizes.mean_bytes() as u64, 1.0)],
        };
        let total: f64 = sizes.iter().map(|size| size.1).sum();
        let of_size = |(size, weight): &(u64, f64)| {
            sites.iter().map(|site| crossing(site, *size) * site.weight).sum::<f64>() * weight
        };
        sizes.iter().map(of_size).sum::<f64>() / total / largest.max(f64::MIN_POSITIVE)
    }
}

fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a.max(1) } else { greatest_common_divisor(b, a % b) }
}

fn generator(job: &PlannedJob, slice: &assay_workload::plan::ThreadSlice) -> Generator {
    let sites = slice.sites.iter().map(|site| SiteSpec {
        // A plan for one machine has no more targets than that.
        target: site.target as u16,
        range: ActiveRange { offset_bytes: site.offset_bytes, length_bytes: site.length_bytes },
    });
    let sites: Vec<SiteSpec> = sites.collect();
    let pattern = AccessPattern { mix: job.mix(), ..job.pattern.clone() };
    Generator::new(&pattern, &sites, job.selection, slice.seed, slice.ios, slice.bytes)
}

/// The parts of targets that the threads of a job work on, with their shares.
fn sites_of(job: &PlannedJob) -> Vec<Site> {
    let mean = {
        let pattern = &job.pattern;
        pattern.kinds().map(|kind| pattern.sizes(kind).mean_bytes() * pattern.mix.share(kind)).sum::<f64>()
    };
    let threads = job.slices.len() as f64;
    let mut sites = Vec::new();
    for slice in &job.slices {
        let all: u64 = slice.sites.iter().map(|site| site.length_bytes).sum();
        let by_ios = slice.ios.map(|ios| (ios as f64 * mean) as u64);
        let bytes_max = slice.bytes.into_iter().chain(by_ios).min().unwrap_or(u64::MAX);
        for (index, site) in slice.sites.iter().enumerate() {
            let part = match job.selection {
                TargetSelection::Sequential => site.length_bytes as f64 / all.max(1) as f64,
                TargetSelection::RoundRobin | TargetSelection::Random => 1.0 / slice.sites.len() as f64,
            };
            sites.push(Site {
                target: site.target as u16,
                offset: site.offset_bytes,
                length: site.length_bytes,
                seed: place::site_seed(slice.seed, index),
                weight: part / threads,
                bytes_max: if slice.sites.len() == 1 { bytes_max } else { u64::MAX },
            });
        }
    }
    merged(sites, scatters(&job.pattern.placement))
}

/// Whether hot blocks are scattered by a key that each thread has of its own.
fn scatters(placement: &Placement) -> bool {
    let ranked = |random: &Random| {
        matches!(random.distribution, Distribution::Zipf { .. } | Distribution::Pareto { .. })
    };
    match placement {
        Placement::Sequential(_) | Placement::Unknown => false,
        Placement::Random(random) | Placement::Mixed { random, .. } => ranked(random),
    }
}

/// Threads that do the same on the same site are one, unless their hot blocks are scattered by their own seeds.
fn merged(sites: Vec<Site>, scattered: bool) -> Vec<Site> {
    let mut merged: BTreeMap<(u16, u64, u64, u64, u64), Site> = BTreeMap::new();
    for site in sites {
        let seed = if scattered { site.seed } else { 0 };
        let key = (site.target, site.offset, site.length, site.bytes_max, seed);
        merged.entry(key).and_modify(|one| one.weight += site.weight).or_insert(site);
    }
    merged.into_values().collect()
}

/// Length of a sequential run in operations: a whole pass, or one operation where something is skipped.
fn run_ios(pattern: &AccessPattern, sites: &[Site]) -> f64 {
    let Placement::Sequential(sequential) = &pattern.placement else { return 1.0 };
    if sequential.skip_max_bytes > 0 {
        return 1.0;
    }
    let mean = pattern.kinds().map(|kind| pattern.sizes(kind).mean_bytes() * pattern.mix.share(kind));
    let mean: f64 = mean.sum();
    let longest = sites.iter().map(|site| site.length.min(site.bytes_max)).max().unwrap_or(0);
    (longest as f64 / mean.max(1.0)).max(1.0)
}

#[cfg(test)]
mod tests;
