//! From the model to text: what [`super::parse`] reads as exactly the same.

use assay_workload::job::{Job, Phase, Workload};
use assay_workload::target::Target;

use super::document::{PHASE, PLAN, PhaseDraft, Plan, TARGET, TargetDraft};
use super::host;
use super::job::{Draft, KEYS};

/// `workload` as a plan: values that are the default are left out, what all jobs have in common stands once under
/// `[defaults]`. Parsing the text gives the same workload, whatever it holds, provided it is one that can be planned
/// (jobs, targets with different names, shares of 100 %, block sizes above 0).
pub fn write(workload: &Workload) -> String {
    let mut text = String::new();
    lines(&mut text, &PLAN.pairs(&Plan::of(workload), &Plan::default()));
    for host in host::tables(workload) {
        text.push_str("\n[[host]]\n");
        lines(&mut text, &host);
    }
    for target in &workload.targets {
        text.push_str("\n[[target]]\n");
        lines(&mut text, &TARGET.pairs(&TargetDraft::of(target.clone()), &TargetDraft::blank()));
    }
    let jobs = workload.phases.iter().flat_map(|phase| &phase.jobs);
    let entries: Vec<Vec<String>> = jobs.map(|job| job_entries(job, &workload.targets)).collect();
    let common = common(&entries);
    if !common.is_empty() {
        text.push_str("\n[defaults]\n");
        text.push_str(&common.concat());
    }
    let mut own = entries.iter().map(|entries| entries.iter().filter(|entry| !common.contains(entry)));
    for phase in &workload.phases {
        let alone = workload.phases.len() == 1 && is_plain(phase);
        if !alone {
            text.push_str("\n[[phase]]\n");
            lines(&mut text, &PHASE.pairs(&PhaseDraft::of(phase), &PhaseDraft::new("")));
        }
        for (job, entries) in phase.jobs.iter().zip(&mut own) {
            text.push_str(if alone { "\n[[job]]\n" } else { "\n[[phase.job]]\n" });
            lines(&mut text, &[("name", super::forms::quote(&job.name))]);
            entries.for_each(|entry| text.push_str(entry));
        }
    }
    text
}

/// Whether `[[job]]` alone says all of the phase.
fn is_plain(phase: &Phase) -> bool {
    *phase == Phase { jobs: phase.jobs.clone(), ..Phase::measure("measure", Vec::new()) }
}

fn lines(text: &mut String, pairs: &[(&str, String)]) {
    for (key, value) in pairs {
        text.push_str(&format!("{key} = {value}\n"));
    }
}

/// All a job says but its name: lines, those together that stand and fall together.
fn job_entries(job: &Job, targets: &[Target]) -> Vec<String> {
    let (draft, default) = (Draft::of(job, targets), Draft::new(""));
    let mut entries: Vec<String> = Vec::new();
    let mut last: &[&str] = &[];
    for key in KEYS.keys().filter(|key| key.about.name != "name") {
        let Some(value) = (key.write)(&draft, &default) else { continue };
        let line = format!("{} = {value}\n", key.about.name);
        match entries.last_mut().filter(|_| last.contains(&key.about.name)) {
            Some(entry) => entry.push_str(&line),
            None => entries.push(line),
        }
        last = key.about.together;
    }
    entries
}

/// The entries that all jobs share, if there are several jobs.
fn common(jobs: &[Vec<String>]) -> Vec<String> {
    let [first, rest @ ..] = jobs else { return Vec::new() };
    if rest.is_empty() {
        return Vec::new();
    }
    let shared = first.iter().filter(|entry| rest.iter().all(|job| job.contains(entry)));
    shared.cloned().collect()
}
