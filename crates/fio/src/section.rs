//! One section of a job file that is a job.

use assay_formats::Position;

use super::report::WordPosition;
use super::settings::Settings;

/// fio's limit on jobs with all their clones.
pub(super) const JOBS_MAX: usize = 4096;

/// One section that is a job.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct JobSection {
    /// Name between the brackets.
    pub(super) name: String,
    /// Where it starts.
    pub(super) at: Position,
    /// The options in force: globals before it, and its own.
    pub(super) settings: Settings,
    /// Whether it waits for everything before it because it opens a further job file.
    pub(super) opens_file: bool,
}

/// The place of an option in force, else of the section.
pub(super) fn place(section: &JobSection, option: &str) -> WordPosition {
    match section.settings.get(option) {
        Some(setting) => WordPosition { at: setting.at.clone(), word: setting.text.clone() },
        None => WordPosition { at: section.at.clone(), word: section.name.clone() },
    }
}
