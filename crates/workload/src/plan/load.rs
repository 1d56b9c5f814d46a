//! What load a plan offers, fact by fact, so that two plans can be compared whatever they are written in.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::{
    Plan, PlannedJob, PlannedPhase, describe_flush, describe_pace, describe_placement, describe_sizes,
};
use crate::application::Body;
use crate::job::PhaseKind;
use crate::pattern::OpKind;
use crate::units::Bytes;

/// What one fact of a load is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LoadAspect {
    /// How many phases measure.
    Phases,
    /// Which files and devices are used.
    Targets,
    /// How much of each of them.
    WorkingSet,
    /// Reads, writes and trims, and their shares.
    Operations,
    /// How large they are.
    BlockSizes,
    /// Where they go.
    Placement,
    /// How many are outstanding on each target.
    Outstanding,
    /// At which rate they are offered.
    Rate,
    /// Pauses between them.
    Pauses,
    /// What ends them.
    Duration,
    /// What is not measured at the start.
    WarmUp,
    /// Page cache or not.
    Caching,
    /// How writes are made durable.
    Durability,
}

impl LoadAspect {
    /// The name in texts.
    pub fn name(self) -> &'static str {
        match self {
            LoadAspect::Phases => "phases",
            LoadAspect::Targets => "targets",
            LoadAspect::WorkingSet => "working set",
            LoadAspect::Operations => "operations",
            LoadAspect::BlockSizes => "block size",
            LoadAspect::Placement => "placement",
            LoadAspect::Outstanding => "outstanding",
            LoadAspect::Rate => "rate",
            LoadAspect::Pauses => "pauses",
            LoadAspect::Duration => "duration",
            LoadAspect::WarmUp => "warm-up",
            LoadAspect::Caching => "caching",
            LoadAspect::Durability => "durability",
        }
    }
}

/// One fact in which two loads differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadDifference {
    /// What it is about.
    pub aspect: LoadAspect,
    /// The phase of the first plan; empty where it is about the whole plan.
    pub phase: String,
    /// What the first plan says.
    pub first: String,
    /// What the second says.
    pub second: String,
    /// Paths that only the first uses, where it is about targets.
    pub first_only: Vec<String>,
    /// Likewise of the second.
    pub second_only: Vec<String>,
}

/// A plan, and the targets whose size is not said in its file.
#[derive(Debug, Clone, Copy)]
pub struct Offer<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// Names of targets that are used as they are found.
    pub sizes_unknown: &'a [String],
}

/// In what two plans offer different loads; each difference once. Phases that prepare or verify are not compared.
pub fn load_differences(first: Offer<'_>, second: Offer<'_>) -> Vec<LoadDifference> {
    let (mine, theirs) = (measured(first.plan), measured(second.plan));
    let mut all = Vec::new();
    if mine.len() != theirs.len() {
        all.push(LoadDifference {
            aspect: LoadAspect::Phases,
            phase: String::new(),
            first: mine.len().to_string(),
            second: theirs.len().to_string(),
            first_only: Vec::new(),
            second_only: Vec::new(),
        });
    }
    let mut said = BTreeSet::new();
    for (mine, theirs) in mine.iter().zip(&theirs) {
        let (a, b) = (facts(first, mine), facts(second, theirs));
        let (own, other) = (paths(first.plan, mine), paths(second.plan, theirs));
        for (aspect, value) in &a {
            let against = &b[aspect];
            if value != against && said.insert((*aspect, value.clone(), against.clone())) {
                let of_targets = *aspect == LoadAspect::Targets;
                let only = |these: &BTreeSet<String>, those: &BTreeSet<String>| {
                    these.difference(those).filter(|_| of_targets).cloned().collect()
                };
                all.push(LoadDifference {
                    aspect: *aspect,
                    phase: mine.point.title(&mine.name),
                    first: value.clone(),
                    second: against.clone(),
                    first_only: only(&own, &other),
                    second_only: only(&other, &own),
                });
            }
        }
    }
    all
}

fn measured(plan: &Plan) -> Vec<&PlannedPhase> {
    plan.phases.iter().filter(|phase| phase.kind == PhaseKind::Measure).collect()
}

fn paths(plan: &Plan, phase: &PlannedPhase) -> BTreeSet<String> {
    let sites = phase.jobs.iter().flat_map(|job| &job.slices).flat_map(|slice| &slice.sites);
    sites.filter_map(|site| Some(plan.targets.get(site.target as usize)?.path.clone())).collect()
}

/// What is done with one target.
#[derive(Debug, Default)]
struct OnTarget {
    first_byte: Option<u64>,
    end: u64,
    outstanding: f64,
    said: BTreeMap<LoadAspect, BTreeSet<String>>,
}

/// Every aspect but the number of phases, in words that do not depend on names of jobs and targets.
fn facts(offer: Offer<'_>, phase: &PlannedPhase) -> BTreeMap<LoadAspect, String> {
    let mut targets: BTreeMap<u32, OnTarget> = BTreeMap::new();
    for job in &phase.jobs {
        let said = of_job(job);
        for slice in &job.slices {
            for site in &slice.sites {
                let on = targets.entry(site.target).or_default();
                on.first_byte =
                    Some(on.first_byte.map_or(site.offset_bytes, |was| was.min(site.offset_bytes)));
                on.end = on.end.max(site.offset_bytes.saturating_add(site.length_bytes));
                on.outstanding += f64::from(job.outstanding_per_thread) / slice.sites.len() as f64;
                for (aspect, value) in &said {
                    on.said.entry(*aspect).or_default().insert(value.clone());
                }
            }
        }
    }
    let mut words: BTreeMap<LoadAspect, BTreeMap<String, usize>> = BTreeMap::new();
    for (index, on) in targets {
        // Up to an end that nobody knows.
        let target = offer.plan.targets.get(index as usize);
        let unknown = target
            .is_some_and(|target| on.end >= target.size_bytes && offer.sizes_unknown.contains(&target.name));
        let mut say = |aspect, value: String| {
            *words.entry(aspect).or_default().entry(value).or_default() += 1;
        };
        say(LoadAspect::WorkingSet, working_set(&on, unknown));
        let outstanding = (on.outstanding * 100.0).round() / 100.0;
        say(LoadAspect::Outstanding, format!("{outstanding} on each target"));
        for (aspect, values) in on.said {
            say(aspect, values.into_iter().collect::<Vec<_>>().join(" and "));
        }
    }
    let mut facts: BTreeMap<LoadAspect, String> =
        words.into_iter().map(|(aspect, values)| (aspect, counted(&values))).collect();
    facts.insert(LoadAspect::Targets, listed(&paths(offer.plan, phase)));
    for aspect in OF_JOBS.into_iter().chain([LoadAspect::WorkingSet, LoadAspect::Outstanding]) {
        facts.entry(aspect).or_default();
    }
    facts
}

/// The aspects that a job says for all of its targets.
const OF_JOBS: [LoadAspect; 9] = [
    LoadAspect::Operations,
    LoadAspect::BlockSizes,
    LoadAspect::Placement,
    LoadAspect::Rate,
    LoadAspect::Pauses,
    LoadAspect::Duration,
    LoadAspect::WarmUp,
    LoadAspect::Caching,
    LoadAspect::Durability,
];

fn of_job(job: &PlannedJob) -> [(LoadAspect, String); 9] {
    let pattern = &job.pattern;
    let [operations, sizes, placement] = match job.body() {
        Body::Blocks(_) => {
            let mix = pattern.kinds().map(|kind| {
                let share = (job.mix().share(kind) * 1000.0).round() / 10.0;
                format!("{share} % {}", kind.name())
            });
            let sizes = pattern.kinds().map(|kind| (kind, describe_sizes(pattern.sizes(kind))));
            let sizes: Vec<(OpKind, String)> = sizes.collect();
            let same = sizes.iter().all(|(_, size)| *size == sizes[0].1);
            let sizes = sizes.iter().map(|(kind, size)| format!("{} {size}", kind.name()));
            let first = sizes.clone().next().unwrap_or_default();
            let alike = first.split_once(' ').map_or(String::new(), |(_, size)| size.to_owned());
            [
                mix.collect::<Vec<_>>().join(", "),
                if same { alike } else { sizes.collect::<Vec<_>>().join(", ") },
                describe_placement(&pattern.placement, pattern.repeat_passes),
            ]
        }
        Body::Tree(_) | Body::Application(_) => {
            [super::describe_work(job, PhaseKind::Measure), String::new(), String::new()]
        }
    };
    let think = job.think_time.map(|think| format!("{} after {} I/Os", think.time, think.every_ios));
    [
        (LoadAspect::Operations, operations),
        (LoadAspect::BlockSizes, sizes),
        (LoadAspect::Placement, placement),
        (LoadAspect::Rate, describe_pace(job.pace)),
        (LoadAspect::Pauses, think.unwrap_or_else(|| "none".to_owned())),
        (LoadAspect::Duration, duration(job)),
        (LoadAspect::WarmUp, if job.ramp.0 > 0 { job.ramp.to_string() } else { "none".to_owned() }),
        (LoadAspect::Caching, if job.direct { "direct" } else { "page cache" }.to_owned()),
        (LoadAspect::Durability, if job.may_write() { describe_flush(&job.flush) } else { String::new() }),
    ]
}

fn duration(job: &PlannedJob) -> String {
    let mut parts: Vec<String> = job.end.time.iter().map(ToString::to_string).collect();
    let bytes: Option<u64> = job.slices.iter().map(|slice| slice.bytes).sum();
    parts.extend(bytes.map(|bytes| Bytes(bytes).to_string()));
    let ios: Option<u64> = job.slices.iter().map(|slice| slice.ios).sum();
    parts.extend(ios.map(|ios| format!("{ios} I/Os")));
    if parts.is_empty() { "one pass".to_owned() } else { parts.join(" or ") }
}

fn working_set(on: &OnTarget, unknown: bool) -> String {
    let start = on.first_byte.unwrap_or(0);
    let from = if start > 0 { format!(" from {}", Bytes(start)) } else { String::new() };
    match unknown {
        true => format!("all of each target{from} (its size is not said)"),
        false => format!("{}{from} of each target", Bytes(on.end.saturating_sub(start))),
    }
}

/// `a`, or `a (2 targets), b (1 target)`.
fn counted(values: &BTreeMap<String, usize>) -> String {
    if let (1, Some(value)) = (values.len(), values.keys().next()) {
        return value.clone();
    }
    let parts = values
        .iter()
        .map(|(value, count)| format!("{value} ({count} target{})", if *count == 1 { "" } else { "s" }));
    parts.collect::<Vec<_>>().join(", ")
}

/// The first and the last of many paths.
fn listed(paths: &BTreeSet<String>) -> String {
    let mut text = String::new();
    match (paths.len(), paths.first(), paths.last()) {
        (4.., Some(first), Some(last)) => {
            let _ = write!(text, "{first} .. {last} ({})", paths.len());
        }
        _ => text = paths.iter().cloned().collect::<Vec<_>>().join(", "),
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::{Job, Phase, Workload};
    use crate::pattern::{AccessPattern, Mix, Placement};
    use crate::resolve::{Inventory, TargetFacts, plan};
    use crate::target::{Target, TargetKind};
    use crate::units::Nanos;

    /// Random reads of each path by a job of its own (`apart`), or by one job with a thread for each.
    fn offered(paths: &[&str], size_bytes: u64, apart: bool, seconds: u64) -> Plan {
        let pattern = AccessPattern::new(Mix::READ, 4096, Placement::random_map());
        let job = |name: &str, targets: &[&str]| {
            Job::new(name, targets, pattern.clone()).with(|job| {
                job.outstanding_per_thread = 8;
                job.limits.time = Some(Nanos(seconds * 1_000_000_000));
                job.sharing = crate::job::TargetSharing::PerThread;
                job.threads = targets.len() as u32;
            })
        };
        let jobs = match apart {
            true => paths.iter().map(|path| job(path, &[path])).collect(),
            false => vec![job("all", paths)],
        };
        let target = |path: &&str| Target {
            name: (*path).to_owned(),
            path: (*path).to_owned(),
            kind: Some(TargetKind::File),
            size: Some(Bytes(size_bytes)),
        };
        let facts = |path: &&str| {
            let (path, kind) = ((*path).to_owned(), TargetKind::File);
            let facts = TargetFacts {
                path: path.clone(),
                kind,
                existing_bytes: size_bytes,
                direct_align_bytes: Some(1),
                engine_choice: None,
                direct_refused: None,
            };
            (path, facts)
        };
        let workload = Workload {
            name: "w".to_owned(),
            seed: Some(1),
            hosts: Vec::new(),
            targets: paths.iter().map(target).collect(),
            phases: vec![Phase::measure("p", jobs)],
        };
        let inventory = Inventory {
            targets: paths.iter().map(facts).collect(),
            engines: vec![crate::job::EngineKind::Sim],
            engine_override: Some(crate::job::EngineKind::Sim),
            ..Inventory::default()
        };
        plan(&workload, &inventory, 1).expect("a plan")
    }

    fn differ(a: &Plan, b: &Plan, unknown: &[String]) -> Vec<LoadDifference> {
        let second = Offer { plan: b, sizes_unknown: &[] };
        load_differences(Offer { plan: a, sizes_unknown: unknown }, second)
    }

    #[test]
    fn jobs_of_their_own_and_threads_of_one_job_offer_the_same() {
        let (one, many) = (offered(&["a", "b"], 1 << 20, false, 10), offered(&["a", "b"], 1 << 20, true, 10));
        assert_eq!(differ(&one, &many, &[]), []);
    }

    #[test]
    fn targets_working_set_and_duration_are_told_apart() {
        let (one, other) =
            (offered(&["a", "b"], 1 << 20, false, 300), offered(&["b", "c"], 2 << 20, true, 60));
        let found = differ(&one, &other, &["a".to_owned(), "b".to_owned()]);
        let told: Vec<(&str, &str, &str)> =
            found.iter().map(|one| (one.aspect.name(), one.first.as_str(), one.second.as_str())).collect();
        let expected = [
            ("targets", "a, b", "b, c"),
            ("working set", "all of each target (its size is not said)", "2 MiB of each target"),
            ("duration", "300 s", "60 s"),
        ];
        assert_eq!(told, expected);
        assert_eq!(
            (found[0].first_only.clone(), found[0].second_only.clone()),
            (vec!["a".to_owned()], vec!["c".to_owned()])
        );
    }
}
