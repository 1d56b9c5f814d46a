//! From sections to jobs and clones in the order fio creates and starts them.

use std::collections::HashSet;
use std::sync::Arc;

use super::job_file::JobFile;
use super::read_value::split_names;
use super::resolve::{Given, resolve};
use super::resolved::{FileSet, ResolvedJob};
use super::section::JobSection;
use super::substitute::replace_keyword;

impl JobFile {
    /// All jobs and clones, in the order fio creates them: sections in file order, clones 0, n-1, .., 1.
    ///
    /// Jobs with the same `stage` run side by side; `wait_for` delays single jobs within a stage.
    pub fn expand(&self) -> Vec<ResolvedJob> {
        self.resolved(false)
    }

    /// As [`JobFile::expand`]; with `marks`, what is read of the options takes effect.
    pub(super) fn resolved(&self, marks: bool) -> Vec<ResolvedJob> {
        let mut all = Vec::new();
        let mut names = Names::default();
        let (mut stage, mut group, mut thread) = (0, 0, 0);
        for (index, section) in self.jobs.iter().enumerate() {
            let read = Given { settings: &section.settings, marks };
            let walls = read.flag("stonewall", false) || section.opens_file;
            let regroups = read.flag("new_group", false);
            // On the first job there is nothing to wait for and no group to leave.
            if index > 0 {
                stage += u32::from(walls);
                group += u32::from(walls || regroups);
            }
            let clones = clone_count(section, marks);
            for clone in clone_order(clones) {
                thread += 1;
                let files = names.files(section, clone, marks);
                let mut job = resolve(section, files, marks);
                job.section_index = index;
                (job.clone_number, job.clones, job.thread_number) = (clone, clones, thread);
                (job.stage, job.group) = (stage, group);
                all.push(job);
            }
        }
        all
    }
}

/// `numjobs`, which is checked to be at least 1 and bounded when the file is read.
pub(super) fn clone_count(section: &JobSection, marks: bool) -> u32 {
    let count = Given { settings: &section.settings, marks }.number("numjobs", 1);
    u32::try_from(count).unwrap_or(1)
}

/// fio numbers clones downwards.
fn clone_order(clones: u32) -> impl Iterator<Item = u32> {
    std::iter::once(0).chain((1..clones).rev())
}

/// The file names in use, to see which clones find theirs taken.
#[derive(Default)]
pub(super) struct Names(HashSet<String>);

impl Names {
    /// The files of one clone.
    pub(super) fn files(&mut self, section: &JobSection, clone: u32, marks: bool) -> FileSet {
        let read = Given { settings: &section.settings, marks };
        // What is named by filename needs none of the others, and in fio they then do nothing.
        let directories = read.text("directory").map(split_names).unwrap_or_default();
        let format = read.text("filename_format").unwrap_or("$jobname.$jobnum.$filenum");
        let count = u64::try_from(read.number("nrfiles", 1)).unwrap_or(1);
        if let Some(names) = read.files() {
            if clone == 0 {
                self.0.extend(names.iter().cloned());
            }
            return FileSet::Named(Arc::clone(names));
        }
        // A section named like a device works on that device.
        if section.name.starts_with("/dev/") {
            return FileSet::Named(Arc::new(vec![section.name.clone()]));
        }
        let directory = match directories.len() {
            0 => None,
            count => directories.get(clone as usize % count).cloned(),
        };
        let format = replace_keyword(format, "$jobname", &section.name);
        let format = replace_keyword(&format, "$jobnum", &clone.to_string());
        let format = replace_keyword(&format, "$clientuid", "");
        let set = FileSet::Generated { directory, format, count };
        let first = set.name(0).unwrap_or_default();
        // Clone 0 shares a name that is already there; later clones go without a file.
        let fresh = self.0.insert(first.clone());
        if clone > 0 && !fresh && !first.starts_with("/dev/") { FileSet::Taken { name: first } } else { set }
    }
}
