//! Validated data: what is compared during the runs, and the phase behind them that reads back what they wrote.

use assay_workload::job::{Caching, FlushPolicy, Job, Limits, Phase, PhaseKind, Rate};
use assay_workload::pattern::{AccessPattern, Mix, OpKind, Placement};
use assay_workload::units::Nanos;

use super::{At, Lowering, Named as _, placed};

impl Lowering<'_> {
    /// What validation asks for and the model does not hold.
    pub(super) fn validation_losses(&mut self) {
        let general = &self.file.general;
        if !general.validation.is_some_and(|validation| validation.journal) {
            for sd in self.file.storages.iter().filter(|sd| sd.journal.is_some()) {
                let message = format!("sd `{}`, `journal=`: no journal is kept", sd.name);
                self.note("no-effect", sd.place("journal"), "journal", message, "journal=yes keeps one");
            }
        }
        let Some(validation) = general.validation else { return };
        let place = |key: &str| placed(&general.set, key, At { line: 1, ..At::default() });
        let key = if general.set.iter().any(|(key, _)| *key == "validate") { "validate" } else { "journal" };
        let (at, dedup_at) = (place(key), place("dedupratio"));
        let deduplicates = general.dedup.ratio.is_some_and(|ratio| ratio > 1.0);
        if validation.preread {
            let message = "blocks are not read before they are written over: what the runs wrote is read back and compared behind the last run, and before that when a workload reads it";
            self.note("preread", at, key, message, "validate=(yes,read) reads each write back at once");
        }
        if deduplicates {
            let message =
                "`dedupratio=`: sectors with headers are all different, so that nothing can be deduplicated";
            self.lose("validated-dedup", dedup_at, "dedupratio", message, "remove validate= or dedupratio=");
        }
        if !self.file.file_workloads.is_empty() {
            let message = "the data of files in a tree is not validated";
            self.lose("data-validation", at, key, message, super::super::keyword::JUDGE);
        }
    }

    /// Adds the phase that reads back everything that the runs wrote, each range once.
    pub(super) fn read_back(&self, phases: &mut Vec<Phase>) {
        if !self.file.general.validation.is_some_and(|validation| validation.preread) {
            return;
        }
        let mut jobs: Vec<Job> = Vec::new();
        for written in phases.iter().flat_map(|phase| &phase.jobs) {
            let writes = written.is_blocks() && written.pattern.kinds().any(|kind| kind == OpKind::Write);
            if writes && written.content.verify && !jobs.iter().any(|job| same_range(job, written)) {
                jobs.push(reading(written, jobs.len() + 1));
            }
        }
        let (Some(last), false) = (phases.last_mut(), jobs.is_empty()) else { return };
        // What is cached has to reach the storage before it is read from there.
        last.drain_after = jobs.iter().any(|job| job.caching != Caching::Direct);
        phases.push(Phase { kind: PhaseKind::Verify, ..Phase::measure("read_back", jobs) });
    }
}

/// Whether two jobs work on the same bytes.
fn same_range(a: &Job, b: &Job) -> bool {
    (&a.targets, &a.hosts, a.sharing, a.threads) == (&b.targets, &b.hosts, b.sharing, b.threads)
        && (a.offset, a.offset_increment, a.length) == (b.offset, b.offset_increment, b.length)
}

fn reading(written: &Job, number: usize) -> Job {
    let block_bytes = written.pattern.write_sizes.max_bytes();
    written.clone().with(|job| {
        job.name = format!("read_back{number}");
        job.group = None;
        job.pattern = AccessPattern::new(Mix::READ, block_bytes, Placement::sequential());
        job.limits = Limits { passes: Some(1), ..Limits::default() };
        job.rate = Rate::Unlimited;
        (job.ramp, job.flush, job.content.reread) = (Nanos(0), FlushPolicy::default(), false);
        job.content.journal = None;
        job.invalidate = true;
    })
}
