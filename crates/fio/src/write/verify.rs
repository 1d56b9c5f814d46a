//! Options that check data: what a phase reads back behind another one is part of the jobs of that one in fio.

use assay_workload::content::Payload;
use assay_workload::fill::OFFSET_BYTES;
use assay_workload::job::{Job, PhaseKind};
use assay_workload::pattern::OpKind;

use super::{Lines, PhaseView, Section, Writer};

/// A pattern as fio has it, `%o` where the offset stands.
fn pattern(bytes: &[u8], offset_at: &[u32]) -> String {
    let hex = |bytes: &[u8]| match bytes {
        [] => String::new(),
        bytes => bytes.iter().fold("0x".to_owned(), |text, byte| text + &format!("{byte:02x}")),
    };
    let (mut text, mut from) = (String::new(), 0);
    for at in offset_at.iter().map(|at| *at as usize).filter(|at| at + OFFSET_BYTES <= bytes.len()) {
        text += &hex(bytes.get(from..at).unwrap_or_default());
        text += "%o";
        from = at + OFFSET_BYTES;
    }
    text + &hex(bytes.get(from..).unwrap_or_default())
}

fn writes(job: &Job) -> bool {
    job.content.verify && job.pattern.kinds().any(|kind| kind == OpKind::Write)
}

/// Whether a phase only reads back what the jobs of the one before it wrote.
pub(super) fn reads_back(before: &PhaseView<'_>, phase: &PhaseView<'_>) -> bool {
    let written =
        |job: &Job| before.jobs.iter().any(|writer| writes(writer) && writer.targets == job.targets);
    let only_reads = |job: &Job| job.content.verify && !job.may_write() && job.is_blocks();
    before.kind != PhaseKind::Verify
        && phase.kind == PhaseKind::Verify
        && phase.jobs.iter().all(|job| only_reads(job) && written(job))
}

impl Writer<'_> {
    /// Which errors do not end the job.
    pub(in super::super) fn errors(&mut self, job: &Job, lines: &mut Lines) {
        let never = Some(u64::MAX);
        let most = job.content.data_errors_max;
        match (job.errors_tolerated > 0, most) {
            (true, Some(1)) => lines.set("continue_on_error", "io"),
            (true, _) => lines.set("continue_on_error", "all"),
            (false, most) if most == never => lines.set("continue_on_error", "verify"),
            (false, _) => {}
        }
        if most.is_some_and(|most| most > 1 && most != u64::MAX) {
            let what = "fio ends the job at the first wrong block, or at none";
            self.lost("fio-data-errors", &job.name, what);
        }
    }

    pub(in super::super) fn verify(&mut self, section: &Section<'_>, lines: &mut Lines) {
        let job = section.job;
        if !job.content.verify {
            return;
        }
        match (&job.content.pattern_blocks, &job.content.payload) {
            (Some(blocks), Payload::Pattern(bytes)) => {
                lines.set("verify", if blocks.headers { "pattern_hdr" } else { "pattern" });
                lines.set("verify_pattern", pattern(bytes, &blocks.offset_at));
                if blocks.restart_bytes > 0 {
                    lines.set("verify_pattern_interval", blocks.restart_bytes);
                    let what = "fio before 3.42 does not know verify_pattern_interval";
                    self.note("fio-pattern-interval", &job.name, what);
                }
            }
            _ => {
                let what = "fio writes and checks headers of its own, one a block, with CRC-32C";
                self.note("fio-verify-header", &job.name, what);
                lines.set("verify", "crc32c");
            }
        }
        if job.content.written_beside_reads_percent.is_some() {
            let what = "which blocks another job wrote is not said: all are read";
            self.lost("fio-verify-only", &job.name, what);
        }
        if job.content.journal.is_some() {
            let what = "fio keeps no journal of its writes, by which they could be proved after a crash";
            self.lost("fio-journal", &job.name, what);
        }
        if job.content.data_errors_max == Some(1) && job.errors_tolerated == 0 {
            lines.set("verify_fatal", 1);
        }
        if !writes(job) {
            return;
        }
        if job.content.reread {
            lines.set("verify_backlog", 1);
        } else {
            let read_back = self.read_back.iter().any(|reading| reading.targets == job.targets);
            lines.set("do_verify", u8::from(read_back));
        }
    }
}
