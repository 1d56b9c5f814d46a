//! Assay's side: a run, and its operations generated again.

use assay_workload::ops::{Generator, OpBlock, OpSource as _, SiteSpec};
use assay_workload::pattern::AccessPattern;
use assay_workload::plan::ThreadSlice;
use assay_workload::{ActiveRange, Plan, PlannedJob};
use serde_json::Value;

use super::{Did, End, Traced};
use crate::support::Place;

/// What Assay did in a job, and with how many threads.
pub(super) struct Job {
    pub(super) threads: usize,
    planned: PlannedJob,
    pub(super) did: Did,
}

/// Runs `job.fio` and returns its jobs in order.
pub(super) fn run(place: &Place, names: &[(&str, End)]) -> Vec<Job> {
    let said = place.assay(&["run", "job.fio", "--json", "--seed", "11"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let run: Value = serde_json::from_str(&said.out).unwrap_or_else(|error| panic!("{error}: {said:?}"));
    let plan: Plan = serde_json::from_value(run["plan"].clone()).expect("a plan in the run");
    let jobs: Vec<Job> = plan
        .phases
        .iter()
        .enumerate()
        .flat_map(|(p, phase)| phase.jobs.iter().enumerate().map(move |(j, job)| (p, j, job)))
        .map(|(p, j, job)| Job {
            threads: job.slices.len(),
            planned: job.clone(),
            did: did(job, &run["phases"][p]["jobs"][j]),
        })
        .collect();
    let found: Vec<&str> =
        plan.phases.iter().flat_map(|phase| &phase.jobs).map(|job| job.name.as_str()).collect();
    let wanted: Vec<&str> = names.iter().map(|(name, _)| *name).collect();
    assert_eq!(found, wanted, "the jobs of the plan");
    jobs
}

fn did(job: &PlannedJob, result: &Value) -> Did {
    let mut did = Did::default();
    for name in ["read", "write", "trim", "flush"] {
        let ios = result[name]["ios"].as_u64().unwrap_or(0);
        if ios > 0 {
            did.totals.insert(name, ios);
            did.rates.insert(name, result[name]["iops"].as_f64().unwrap_or(0.0));
        }
    }
    let data: u64 = ["read", "write", "trim"].iter().filter_map(|name| did.totals.get(name)).sum();
    let each = data as usize / job.slices.len().max(1);
    did.trace = job.slices.iter().flat_map(|slice| operations(job, slice, each)).collect();
    did
}

/// The first operations of a thread, at most `count`.
pub(super) fn operations(job: &PlannedJob, slice: &ThreadSlice, count: usize) -> Vec<Traced> {
    let mut generator = generator(job, slice, slice.seed);
    let (mut traced, mut block) = (Vec::with_capacity(count), OpBlock::default());
    while traced.len() < count {
        generator.fill(&mut block);
        let ops = block.ops[..block.len].iter().map(|op| Traced {
            kind: op.kind,
            offset_bytes: op.offset_bytes,
            len_bytes: u64::from(op.len_bytes),
        });
        traced.extend(ops);
        if block.last {
            break;
        }
    }
    traced.truncate(count);
    traced
}

fn generator(job: &PlannedJob, slice: &ThreadSlice, seed: u64) -> Generator {
    let sites = slice.sites.iter().map(|site| SiteSpec {
        target: site.target as u16,
        range: ActiveRange { offset_bytes: site.offset_bytes, length_bytes: site.length_bytes },
    });
    let sites: Vec<SiteSpec> = sites.collect();
    let pattern = AccessPattern { mix: job.mix(), ..job.pattern.clone() };
    Generator::new(&pattern, &sites, job.selection, seed, slice.ios, slice.bytes)
}

/// How many operations a thread of the job does until it ends, for so many seeds.
pub(super) fn counts(job: &Job, seeds: u64) -> Vec<u64> {
    let slice = &job.planned.slices[0];
    let count = |seed| {
        let (mut generator, mut block, mut ios) =
            (generator(&job.planned, slice, seed), OpBlock::default(), 0);
        while !block.last {
            generator.fill(&mut block);
            ios += block.len as u64;
        }
        ios
    };
    (1..=seeds).map(count).collect()
}
