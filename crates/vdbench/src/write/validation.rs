//! `validate=`, which holds for all runs of a file.

use assay_workload::content::Acknowledged;
use assay_workload::job::{Job, Phase, PhaseKind};
use assay_workload::pattern::OpKind;

use super::Writer;

/// Whether a phase only reads back what was written and compares it: vdbench compares blocks whenever it reads them.
pub(super) fn reads_back(phase: &Phase) -> bool {
    let only_reads = |job: &Job| job.content.verify && job.is_blocks() && !job.may_write();
    phase.kind == PhaseKind::Verify && phase.jobs.iter().all(only_reads)
}

impl Writer<'_> {
    /// The line, where data is validated.
    pub(super) fn validation(&mut self) -> Option<String> {
        let phases = &self.workload.phases;
        let jobs = || phases.iter().flat_map(|phase| &phase.jobs).filter(|job| job.is_blocks());
        let verifies = |job: &&Job| job.content.verify;
        let bounded = jobs().find(|job| job.content.data_errors_max.is_some());
        let others = jobs().find(|job| !verifies(job));
        jobs().find(verifies)?;
        if let Some(job) = bounded {
            let what = "wrong blocks and failed operations are counted together";
            self.lose_of_job(job, "data-errors", what, "give errors_tolerated alone");
        }
        if let Some(job) = others {
            let what = "its data is validated like that of all others";
            self.lose_of_job(job, "validation-differs", what, "write a file for each");
        }
        let reread = jobs().any(|job| job.content.reread);
        let kept =
            jobs().filter(verifies).filter(|job| job.pattern.kinds().any(|kind| kind == OpKind::Write));
        if reread && kept.clone().any(|job| !job.content.reread) {
            let message = "every write of every workload is read back at once";
            self.lose("validation-differs", "", message, "write a file for each");
        }
        let mut words = vec!["yes"];
        words.extend(reread.then_some("read"));
        if kept.count() > 0 && !phases.iter().any(reads_back) {
            words.push("no_preread");
        }
        let journal = if self.keeps_journal() { "\njournal=yes" } else { "" };
        Some(match words.as_slice() {
            [word] => format!("validate={word}{journal}"),
            words => format!("validate=({}){journal}", words.join(",")),
        })
    }

    /// Whether writes are kept in a journal, which is said of all of a file.
    fn keeps_journal(&mut self) -> bool {
        let workload = self.workload;
        let jobs = || workload.phases.iter().flat_map(|phase| &phase.jobs).filter(|job| job.is_blocks());
        let mut kept = jobs().filter_map(|job| Some((job, job.content.journal.as_ref()?)));
        let Some((job, journal)) = kept.next() else { return false };
        if journal.acknowledged == Acknowledged::Flushed {
            let what = "a write counts as acknowledged when it completes, not when it was flushed";
            self.lose_of_job(job, "journal-acknowledged", what, "give openflags=o_sync");
        }
        if let Some(directory) = &journal.directory {
            let what = "where the journal is kept is said of each sd";
            self.lose_of_job(job, "journal-directory", what, &format!("add journal={directory} to the sd"));
        }
        true
    }
}
