//! What jobs that verify their data need.

use super::ResolveError;
use crate::block::SECTOR_BYTES;
use crate::content::Payload;
use crate::plan::{Carrier, Plan, PlannedJob, PlannedPhase, PlannedSite};

/// # Errors
/// [`ResolveError::Invalid`]: a job verifies blocks that are not whole sectors, or another one would overwrite them unsaid, or
/// an option of verifying stands without it.
pub(super) fn check(plan: &Plan) -> Result<(), ResolveError> {
    let jobs = plan.phases.iter().flat_map(|phase| &phase.jobs);
    for job in jobs.filter(|job| !job.content.verify) {
        let options = [
            ("reread", job.content.reread),
            ("written", job.content.written),
            ("pattern_blocks", job.content.pattern_blocks.is_some()),
            ("data_errors_max", job.content.data_errors_max.is_some()),
        ];
        if let Some((option, _)) = options.into_iter().find(|option| option.1) {
            let what = format!("'{option}' does nothing without 'verify': add verify = true, or remove it");
            return Err(ResolveError::Invalid { job: job.name.clone(), what });
        }
    }
    for job in plan.phases.iter().flat_map(|phase| &phase.jobs) {
        let invalid =
            |what: &str| Err(ResolveError::Invalid { job: job.name.clone(), what: what.to_owned() });
        let has_pattern = matches!(job.content.payload, Payload::Pattern(_));
        if job.content.pattern_blocks.is_some() && !has_pattern {
            return invalid("'pattern_blocks' needs a pattern: payload = { hex = \"c0ffee\" }");
        }
        if job.content.written_beside_reads_percent.is_some() && job.may_write() {
            return invalid("'written_beside_reads_percent' is for jobs that only read");
        }
    }
    check_journals(plan)?;
    plan.phases.iter().try_for_each(|phase| {
        phase.jobs.iter().filter(|job| job.verifies(phase)).try_for_each(|job| of_job(plan, phase, job))
    })
}

/// A run has one journal, and it is of writes that carry headers.
fn check_journals(plan: &Plan) -> Result<(), ResolveError> {
    let mut directory: Option<&Option<String>> = None;
    let other = plan.phases.iter().find(|phase| phase.carried_by != Carrier::Native);
    if let Some(((job, _), phase)) = plan.journals().next().zip(other) {
        let what = format!(
            "its journal knows nothing of phase '{}', which Assay's own engines do not carry out",
            phase.name
        );
        return Err(ResolveError::Invalid { job: job.name.clone(), what });
    }
    for job in plan.phases.iter().flat_map(|phase| &phase.jobs) {
        let invalid = |what| Err(ResolveError::Invalid { job: job.name.clone(), what });
        let Some(journal) = &job.content.journal else { continue };
        if !job.content.verify {
            return invalid("'journal' needs 'verify = true'".to_owned());
        }
        if let Some(relative) = journal.directory.as_deref().filter(|path| !path.starts_with('/')) {
            return invalid(format!(
                "'{relative}', the directory of its journal, is to be found after a crash: give an absolute path"
            ));
        }
        if *directory.get_or_insert(&journal.directory) != &journal.directory {
            let place = journal.directory.as_deref().unwrap_or("the run's own directory");
            return invalid(format!(
                "its journal is in {place} and that of an earlier job elsewhere: a run has one journal, name the same directory"
            ));
        }
    }
    Ok(())
}

fn of_job(plan: &Plan, phase: &PlannedPhase, job: &PlannedJob) -> Result<(), ResolveError> {
    let invalid = |what| Err(ResolveError::Invalid { job: job.name.clone(), what });
    let is_odd = |bytes: &u64| !bytes.is_multiple_of(SECTOR_BYTES as u64);
    let offsets = sites(job).map(|site| site.offset_bytes);
    if let Some(odd) = std::iter::once(job.pattern.align()).chain(offsets).find(is_odd) {
        return invalid(format!(
            "'verify' needs blocks of whole sectors, and offsets follow multiples of {odd} bytes: a multiple of {SECTOR_BYTES} is possible"
        ));
    }
    let others = phase.jobs.iter().filter(|other| other.changes_data() && !other.verifies(phase));
    for other in others {
        let shared = sites(job).find(|mine| sites(other).any(|theirs| overlap(plan, mine, theirs)));
        if let Some(site) = shared {
            return invalid(format!(
                "it verifies '{}', which job '{}' of the same phase writes without 'verify': give both jobs 'verify', or \
                 ranges that do not overlap",
                plan.targets[site.target as usize].name, other.name
            ));
        }
    }
    Ok(())
}

fn sites(job: &PlannedJob) -> impl Iterator<Item = &PlannedSite> {
    job.slices.iter().flat_map(|slice| &slice.sites)
}

fn overlap(plan: &Plan, a: &PlannedSite, b: &PlannedSite) -> bool {
    let place =
        |site: &PlannedSite| plan.targets.get(site.target as usize).map(|target| (target.host, &target.path));
    let end = |site: &PlannedSite| site.offset_bytes.saturating_add(site.length_bytes);
    place(a) == place(b) && a.offset_bytes < end(b) && b.offset_bytes < end(a)
}

#[cfg(test)]
mod tests {
    use crate::content::DataJournal;
    use crate::job::{EngineKind, Job, Phase, Workload};
    use crate::pattern::{AccessPattern, Mix, Placement};
    use crate::plan::{Plan, VerifiedTarget};
    use crate::resolve::{self, Inventory, ResolveError, TargetFacts};
    use crate::target::{Extent, Target, TargetKind};
    use crate::units::Bytes;

    fn job(name: &str, target: &str, block: u64, verify: bool) -> Job {
        Job::new(name, &[target], AccessPattern::new(Mix::WRITE, block, Placement::sequential())).with(
            |job| {
                job.traits.content.verify = verify;
                job.engine = EngineKind::Psync;
            },
        )
    }

    /// Two names of one file, and another file.
    fn plan(jobs: Vec<Job>) -> Result<Plan, ResolveError> {
        let facts = |path: &str| TargetFacts {
            path: path.to_owned(),
            kind: TargetKind::File,
            existing_bytes: 0,
            direct_align_bytes: None,
            engine_choice: None,
            direct_refused: None,
        };
        let named = |name: &str| Target {
            name: name.to_owned(),
            path: name.to_owned(),
            kind: None,
            size: Some(Bytes(1 << 20)),
        };
        let workload = Workload {
            name: "w".to_owned(),
            seed: Some(1),
            hosts: Vec::new(),
            targets: ["a", "b", "other"].map(named).to_vec(),
            phases: vec![Phase::measure("p", jobs)],
        };
        let inventory = Inventory {
            targets: [("a", "/x"), ("b", "/x"), ("other", "/y")]
                .map(|(name, path)| (name.to_owned(), facts(path)))
                .into(),
            engines: vec![EngineKind::Psync],
            ..Inventory::default()
        };
        resolve::plan(&workload, &inventory, 0)
    }

    #[test]
    fn blocks_are_whole_sectors() {
        let error = plan(vec![job("odd", "a", 1000, true)]).unwrap_err().to_string();
        assert!(error.contains("job 'odd'") && error.contains("multiples of 1000 bytes"), "{error}");
        assert!(plan(vec![job("odd", "a", 1000, false)]).is_ok());
    }

    #[test]
    fn options_of_verifying_stand_with_it() {
        let with = |option: &str, verify: bool| {
            plan(vec![job("one", "a", 4096, verify).with(|job| match option {
                "'reread'" => job.content.reread = true,
                _ => job.content.data_errors_max = Some(3),
            })])
        };
        for option in ["'reread'", "'data_errors_max'"] {
            let error = with(option, false).unwrap_err().to_string();
            assert!(error.contains("job 'one'") && error.contains(option), "{error}");
            assert!(with(option, true).is_ok());
        }
    }

    #[test]
    fn nobody_overwrites_unsaid_what_a_job_verifies() {
        let error =
            plan(vec![job("one", "a", 4096, true), job("two", "b", 4096, false)]).unwrap_err().to_string();
        assert!(error.contains("'a'") && error.contains("job 'two'"), "{error}");
        assert!(plan(vec![job("one", "a", 4096, true), job("two", "other", 4096, false)]).is_ok());
        let behind = job("two", "b", 4096, false).with(|job| job.offset = Extent::Bytes(1 << 19));
        let before = job("one", "a", 4096, true).with(|job| job.length = Some(Extent::Bytes(1 << 19)));
        assert!(plan(vec![before, behind]).is_ok());
    }

    #[test]
    fn a_run_has_one_journal_of_writes_with_headers() {
        let with = |name: &str, verify: bool, directory: Option<&str>| {
            job(name, "a", 4096, verify).with(|job| {
                job.traits.content.journal =
                    Some(DataJournal { directory: directory.map(str::to_owned), ..DataJournal::default() });
            })
        };
        let error = plan(vec![with("one", false, None)]).unwrap_err().to_string();
        assert!(error.contains("'journal' needs 'verify = true'"), "{error}");
        let two = vec![with("one", true, Some("/j")), with("two", true, None)];
        let error = plan(two).unwrap_err().to_string();
        assert!(error.contains("job 'two'") && error.contains("one journal"), "{error}");
        let error = plan(vec![with("one", true, Some("j"))]).unwrap_err().to_string();
        assert!(error.contains("'j'") && error.contains("absolute path"), "{error}");
        let both = vec![
            with("one", true, Some("/j")),
            with("two", true, Some("/j")),
            job("three", "other", 4096, true),
        ];
        let plan = plan(both).unwrap();
        assert_eq!(plan.journaled().into_keys().collect::<Vec<_>>(), [0]);
        assert_eq!(plan.journal_directory(), Some("/j"));
        let mut without = plan.clone();
        without.phases[0].jobs.iter_mut().for_each(|job| job.traits.content.journal = None);
        assert_eq!(plan.memory_bytes_max() - without.memory_bytes_max(), 256 * 8, "256 key blocks");
    }

    #[test]
    fn key_blocks_suit_all_jobs_on_a_path() {
        let shifted = job("two", "b", 8192, true).with(|job| job.offset = Extent::Bytes(4096 * 3));
        let plan =
            plan(vec![job("one", "a", 16384, true), shifted, job("three", "other", 512, false)]).unwrap();
        let verified = plan.verified();
        let expected =
            VerifiedTarget { key_block_bytes: 4096, end_bytes: 1 << 20, stands_for: 0, bare: false };
        assert_eq!(verified.into_iter().collect::<Vec<_>>(), [(0, expected), (1, expected)]);
        assert_eq!(expected.state_bytes(), 1024);
        assert_eq!(plan.memory_bytes_max() % 4096, 1024);
    }
}
