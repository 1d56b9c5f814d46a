//! `verify-failed`: blocks did not hold what was written to them.

use assay_workload::PhaseKind;
use assay_workload::operation::OpId;

use super::draft::{Draft, count, percent};
use super::io_errors::VERIFY_KIND;
use super::subject::{Subject, all};
use crate::run::{Finding, FindingSeverity, Run};

pub(super) const ID: &str = "verify-failed";

const BIAS: &str = "results of storage that loses data are meaningless";
/// Below this share nothing is said: readers of metadata and the ends of windows do not balance exactly.
const CACHED_SHARE_MIN: f64 = 0.02;
const ADVICE: &str = "do not use this storage for data until the cause is known";
/// What is told of the journal of writes.
const JOURNAL: &str = "validation-journal";

pub(super) fn check(run: &Run) -> Vec<Finding> {
    let told = run.remarks.iter().filter(|remark| remark.id == ID).map(|remark| {
        Draft::new(ID, FindingSeverity::Invalid, remark.text.as_str()).bias(BIAS).advise(ADVICE)
    });
    let journal = run.remarks.iter().filter(|remark| remark.id == JOURNAL).map(|remark| {
        let draft = Draft::new(ID, FindingSeverity::Warning, remark.text.as_str());
        draft.advise("keep the journal on other storage: `directory` of the job's `journal`")
    });
    let of_jobs = all(run).flat_map(|subject| {
        [wrong(&subject), not_verified(&subject), from_cache(&subject), after_crash(&subject)]
    });
    of_jobs.flatten().chain(told).chain(journal).collect()
}

/// What a run that crashed left, by its journal.
fn after_crash(subject: &Subject<'_>) -> Option<Finding> {
    let data = subject.job.data.as_ref()?;
    let crash = data.crash.as_ref()?;
    let proved = match data.wrong {
        0 => "it or a later one".to_owned(),
        wrong => format!("it or a later one, but for {}", count(wrong, "block")),
    };
    if crash.acknowledged == 0 && crash.in_flight > 0 {
        let message = format!(
            "nothing could be proved: no write of {} was acknowledged by a flush, and {} of them hold the last one",
            count(crash.in_flight, "block"),
            crash.newer
        );
        let draft = subject.draft(ID, FindingSeverity::Warning, message);
        let draft = draft.evidence("blocks_in_flight", crash.in_flight);
        return Some(
            draft.advise("flush during the run (`flush_every`), or keep the journal of durable writes"),
        );
    }
    let first = crash.torn_first.first().map_or(String::new(), |torn| format!(": first {}", torn.describe()));
    let message = format!(
        "{} with an acknowledged write: each holds {proved}; {} with a write in flight at the crash: {} hold it, {} torn{first}",
        count(crash.acknowledged, "block"),
        count(crash.in_flight, "block"),
        crash.newer,
        crash.torn
    );
    let draft =
        subject.draft(ID, FindingSeverity::Info, message).evidence("blocks_acknowledged", crash.acknowledged);
    let draft = draft.evidence("blocks_in_flight", crash.in_flight).evidence("blocks_torn", crash.torn);
    Some(
        draft.advise(
            "storage promises whole sectors only: torn writes that were not acknowledged are no loss",
        ),
    )
}

fn wrong(subject: &Subject<'_>) -> Option<Finding> {
    let kinds = subject.job.errors_by_kind.iter().filter(|(kind, _)| kind == VERIFY_KIND);
    let blocks: u64 = kinds.map(|entry| entry.1).sum();
    if blocks == 0 {
        return None;
    }
    let first = subject.job.data.as_ref().and_then(|data| data.errors.first());
    let first_text = first.map_or(String::new(), |error| format!(": first {}", error.describe()));
    let message = format!("{} did not hold what was written{first_text}", count(blocks, "block"));
    let draft = subject.draft(ID, FindingSeverity::Invalid, message).bias(BIAS).evidence("blocks", blocks);
    let draft = match first {
        Some(error) => draft
            .evidence("host", error.host.as_deref())
            .evidence("expected", error.expected_hex.as_str())
            .evidence("found", error.found_hex.as_str()),
        None => draft,
    };
    Some(draft.advise(ADVICE))
}

/// What was to be verified and could not be.
fn not_verified(subject: &Subject<'_>) -> Option<Finding> {
    if !subject.planned.iter().any(|job| job.content.verify) || !subject.job.evidence.finished {
        return None;
    }
    let Some(data) = &subject.job.data else {
        let message = format!("no data was verified: engine {} does not compare data", subject.job.engine);
        let draft = subject.draft(ID, FindingSeverity::Unchecked, message);
        return Some(draft.advise("verify with an engine that reads and writes real targets"));
    };
    let (read, unknown) = (data.read(), data.of_earlier_runs.saturating_add(data.unverifiable));
    if unknown == 0 {
        return None;
    }
    let message = format!(
        "{} of {} read could not be compared with their last write: {} of earlier runs (whole and in place{}), {} trimmed, \
         written in part, or of unknown content",
        percent(unknown as f64 / read as f64),
        count(read, "block"),
        data.of_earlier_runs,
        data.several_earlier_runs().map_or_else(String::new, |runs| format!("; {runs}")),
        data.unverifiable
    );
    // What this run wrote may well be a part of the range. What an earlier run left out is not known here, and what is gone looks like
    // what was never there.
    let may_be_lost = data.unverifiable > 0 && data.verified == 0;
    let (severity, advice) = match subject.phase.kind == PhaseKind::Verify && may_be_lost {
        true => (
            FindingSeverity::Warning,
            "where an earlier run wrote the whole range, say so (`written = true` in content): each block without its headers is wrong then",
        ),
        false => (FindingSeverity::Unchecked, "write the whole range in an earlier phase of the same plan"),
    };
    let draft = subject.draft(ID, severity, message);
    let draft = draft.evidence("blocks_verified", data.verified).evidence("blocks_unverifiable", unknown);
    Some(draft.advise(advice))
}

/// What was compared and did not come from the storage.
fn from_cache(subject: &Subject<'_>) -> Option<Finding> {
    subject.job.data.as_ref().filter(|data| data.verified > 0)?;
    let reread = subject.job.ops.get(OpId::REREAD_NAME).filter(|_| !subject.job.direct);
    let share = subject.job.cached_read_share.filter(|share| *share >= CACHED_SHARE_MIN);
    let (message, advice) = match (reread, share) {
        (Some(reread), _) => (
            format!(
                "{} read back at once came from the page cache: whether the storage holds the data is not known",
                count(reread.ios, "write")
            ),
            "use direct I/O",
        ),
        (None, Some(share)) => (
            format!(
                "{} of the bytes read for validation came from the page cache, not from the storage",
                percent(share)
            ),
            "use direct I/O, or write dirty pages back (drain_after) before a phase that reads with invalidate",
        ),
        (None, None) => return None,
    };
    Some(subject.draft(ID, FindingSeverity::Unchecked, message).advise(advice))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::tests::{only, silent};
    use crate::data::{CrashChecks, DataChecks, DataError, Fault, Identity};
    use crate::evidence::Remark;
    use crate::fixture::run;

    #[test]
    fn wrong_content() {
        let mut run = run();
        silent(ID, &run);
        run.phases[0].jobs[0].errors_by_kind = vec![("EIO".to_owned(), 4), ("verify".to_owned(), 2)];
        assert!(only(ID, &run).message.starts_with("2 blocks"));
        run.phases[0].jobs[0].errors_by_kind.clear();
        run.remarks = vec![Remark { phase: None, id: ID.to_owned(), text: "block 7 is torn".to_owned() }];
        assert_eq!(only(ID, &run).message, "block 7 is torn");
    }

    #[test]
    fn the_first_error_is_named_with_its_bytes() {
        let mut run = run();
        let expected =
            Identity { target: 1, offset_bytes: 8192, generation: 2, run: 3, ..Identity::default() };
        let error = DataError {
            host: None,
            target: "data".to_owned(),
            offset_bytes: 8192,
            sectors: 8,
            fault: Fault::Stale,
            expected,
            failed_writes: 0,
            found: Some(Identity { generation: 1, ..expected }),
            expected_hex: "02".to_owned(),
            found_hex: "01".to_owned(),
        };
        let job = &mut run.phases[0].jobs[0];
        job.errors_by_kind = vec![("verify".to_owned(), 1)];
        job.data = Some(DataChecks { verified: 9, wrong: 1, errors: vec![error], ..DataChecks::default() });
        let finding = only(ID, &run);
        assert_eq!(finding.severity, FindingSeverity::Invalid);
        assert!(finding.message.contains("first data offset 8192: 8 sectors stale"), "{}", finding.message);
        assert_eq!((&finding.evidence["expected"], &finding.evidence["found"]), (&"02".into(), &"01".into()));
    }

    #[test]
    fn what_came_from_the_page_cache_is_said() {
        let mut run = run();
        run.plan.phases[0].jobs[0].traits.content.verify = true;
        let job = &mut run.phases[0].jobs[0];
        job.data = Some(DataChecks { verified: 3, ..DataChecks::default() });
        (job.direct, job.cached_read_share) = (false, Some(0.4));
        let finding = only(ID, &run);
        assert_eq!(finding.severity, FindingSeverity::Unchecked);
        assert!(finding.message.starts_with("40 % of the bytes read"), "{}", finding.message);
        let job = &mut run.phases[0].jobs[0];
        job.cached_read_share = None;
        job.ops.insert(OpId::REREAD_NAME.to_owned(), crate::run::OpResult { ios: 7, ..job.total.clone() });
        assert!(only(ID, &run).message.starts_with("7 writes read back at once came from the page cache"));
        run.phases[0].jobs[0].direct = true;
        silent(ID, &run);
    }

    #[test]
    fn what_a_crash_left_is_said() {
        let mut run = run();
        let crash = CrashChecks { acknowledged: 9, in_flight: 3, newer: 1, torn: 1, torn_first: Vec::new() };
        let data = DataChecks { verified: 9, crash: Some(crash), ..DataChecks::default() };
        run.phases[0].jobs[0].data = Some(data);
        let finding = only(ID, &run);
        assert_eq!(finding.severity, FindingSeverity::Info);
        assert_eq!(
            finding.message,
            "9 blocks with an acknowledged write: each holds it or a later one; 3 blocks with a write in flight at the crash: \
             1 hold it, 1 torn"
        );
        run.phases[0].jobs[0].data = None;
        run.remarks =
            vec![Remark { phase: None, id: JOURNAL.to_owned(), text: "it is on the device".to_owned() }];
        assert_eq!(only(ID, &run).severity, FindingSeverity::Warning);
    }

    #[test]
    fn what_was_not_compared_is_said() {
        let mut run = run();
        run.plan.phases[0].jobs[0].traits.content.verify = true;
        let finding = only(ID, &run);
        assert_eq!(finding.severity, FindingSeverity::Unchecked);
        assert!(finding.message.starts_with("no data was verified"), "{}", finding.message);
        let part = DataChecks { verified: 3, unverifiable: 1, ..DataChecks::default() };
        run.phases[0].jobs[0].data = Some(part);
        let finding = only(ID, &run);
        assert_eq!(finding.severity, FindingSeverity::Unchecked);
        assert!(finding.message.starts_with("25 % of 4 blocks read"), "{}", finding.message);
        run.phases[0].jobs[0].data = Some(DataChecks { verified: 3, ..DataChecks::default() });
        silent(ID, &run);
        let lost = DataChecks { of_earlier_runs: 2, unverifiable: 1, ..DataChecks::default() };
        run.phases[0].jobs[0].data = Some(lost);
        assert_eq!(only(ID, &run).severity, FindingSeverity::Unchecked);
        run.phases[0].kind = PhaseKind::Verify;
        let finding = only(ID, &run);
        assert_eq!(finding.severity, FindingSeverity::Warning, "{finding:?}");
        assert!(finding.advice.contains("`written = true`"), "{}", finding.advice);
    }
}
