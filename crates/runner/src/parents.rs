//! Directories above files that do not exist yet, for languages whose own program makes them (fio does).

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use assay_host::HostRoot;
use assay_host::guard::{Consent, check_write};
use assay_workload::Plan;
use assay_workload::target::TargetKind;

use crate::error::RunError;

/// Directories that were made for a run. Dropped before they are kept, those that are empty are removed again: a start that is refused
/// leaves nothing behind.
#[derive(Debug, Default)]
pub(crate) struct Parents(Vec<PathBuf>);

impl Parents {
    /// Makes the missing directories above the files of a plan, where a file might be made as well; but neither those that are `named`, nor
    /// what is in them.
    ///
    /// # Errors
    /// The guard's refusal, or [`RunError::MakeFile`] naming the directory.
    pub(crate) fn make(plan: &Plan, named: &[PathBuf], host: &HostRoot) -> Result<Self, RunError> {
        let mut parents = Parents::default();
        let absent: Vec<PathBuf> = named
            .iter()
            .filter_map(|path| std::path::absolute(path).ok())
            .filter(|path| !host.locate(path).is_dir())
            .collect();
        let is_named = |path: &Path| absent.iter().any(|named| path.starts_with(named));
        let files = plan.targets.iter().filter(|target| target.kind == TargetKind::File);
        for above in
            files.filter_map(|target| Path::new(&target.path).parent()).filter(|above| !is_named(above))
        {
            let located = |path: &Path| host.locate(path);
            let missing: Vec<&Path> =
                above.ancestors().take_while(|path| located(path).symlink_metadata().is_err()).collect();
            for directory in missing.into_iter().rev() {
                // Not in what stores nothing, nor behind a link to nothing.
                check_write(host, directory, &Consent::none())?;
                let path = located(directory);
                // As fio has them.
                let made = DirBuilder::new().mode(0o700).create(&path);
                made.map_err(|source| RunError::MakeFile { path: path.clone(), source })?;
                parents.0.push(path);
            }
        }
        Ok(parents)
    }

    /// They stay: the run has begun.
    pub(crate) fn keep(mut self) {
        self.0.clear();
    }
}

impl Drop for Parents {
    fn drop(&mut self) {
        for directory in self.0.iter().rev() {
            // What somebody put something into stays.
            let _ = std::fs::remove_dir(directory);
        }
    }
}

#[cfg(test)]
mod tests {
    use assay_workload::plan::PlannedTarget;

    use super::*;

    fn plan(paths: &[&Path]) -> Plan {
        let target = |path: &&Path| PlannedTarget {
            name: path.display().to_string(),
            host: Default::default(),
            path: path.display().to_string(),
            kind: TargetKind::File,
            size_bytes: 4096,
            existing_bytes: 0,
            direct_align_bytes: None,
        };
        Plan {
            schema: assay_workload::plan::SCHEMA.to_owned(),
            name: "p".to_owned(),
            series: None,
            seed: 1,
            seed_given: false,
            hosts: Vec::new(),
            targets: paths.iter().map(target).collect(),
            phases: Vec::new(),
        }
    }

    #[test]
    fn directories_stay_only_where_they_are_kept() {
        let place = tempfile::tempdir().unwrap();
        let (one, two) = (place.path().join("a/b/c"), place.path().join("a/d/e"));
        let host = HostRoot::real();
        let made = Parents::make(&plan(&[&one, &two]), &[], &host).unwrap();
        assert!(place.path().join("a/b").is_dir() && place.path().join("a/d").is_dir());
        drop(made);
        assert!(!place.path().join("a").exists());
        Parents::make(&plan(&[&one]), &[], &host).unwrap().keep();
        assert!(place.path().join("a/b").is_dir());
        let made = Parents::make(&plan(&[&two]), &[], &host).unwrap();
        std::fs::write(&two, "theirs").unwrap();
        drop(made);
        let named = [place.path().join("x")];
        Parents::make(&plan(&[&place.path().join("x/y")]), &named, &host).unwrap().keep();
        assert!(!place.path().join("x").exists(), "a directory that is named is not made");
        assert!(two.exists() && place.path().join("a/b").is_dir());
    }

    #[test]
    fn no_directory_is_made_where_no_file_may_be() {
        let place = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("nowhere", place.path().join("link")).unwrap();
        let host = HostRoot::real();
        assert!(Parents::make(&plan(&[Path::new("/dev/no-such-place/x")]), &[], &host).is_err());
        // A link to nothing is left to the guard.
        Parents::make(&plan(&[&place.path().join("link/x")]), &[], &host).unwrap().keep();
        assert!(!place.path().join("nowhere").exists());
    }
}
