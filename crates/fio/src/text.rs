//! fio's reports as it prints them: the `normal` one for people, the terse one for scripts.
//!
//! Both are made from what fio's JSON holds ([`FioReport`]), so that a run is written once, and what real fio wrote can be
//! printed the same way and held against what real fio printed.

mod clients;
mod former;
mod group;
pub(crate) mod head;
mod normal;
mod number;
mod report;
mod terse;

use assay_results::{Interval, Run, Verdict};

pub use former::{LOG, OUTPUT, is_former};
pub use report::FioReport;
pub use terse::TerseVersion;

use crate::json::fio_json_reported;
use crate::reporting::Reporting;

/// A form of fio's report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReportForm {
    /// For people.
    Normal,
    /// A line for each job.
    Terse,
    /// JSON.
    Json,
    /// JSON with the counts of all latency buckets.
    JsonPlus,
}

/// Which forms of fio's report are wanted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReportForms {
    /// In any order; fio has its own.
    pub forms: Vec<ReportForm>,
    /// The version of the terse form.
    pub terse: TerseVersion,
}

/// Which of the reports of a run one is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// The only one.
    Only,
    /// The first of several.
    First,
    /// Neither the first nor the last.
    Middle,
    /// The last of several, of the ended run.
    Last,
}

impl ReportForms {
    /// A run in all these forms, in fio's order: what the jobs are, terse lines, JSON, and the report for people with the verdict
    /// of Assay in one line behind it.
    pub fn print(&self, run: &Run, intervals: &[Interval], reporting: &Reporting) -> String {
        self.part(run, intervals, reporting, Part::Only)
    }

    /// One of several reports: what the jobs are stands before the first, the verdict behind the last.
    pub(crate) fn part(
        &self,
        run: &Run,
        intervals: &[Interval],
        reporting: &Reporting,
        part: Part,
    ) -> String {
        let has = |form| self.forms.contains(&form);
        let plus = has(ReportForm::JsonPlus);
        let json = fio_json_reported(run, intervals, plus, reporting);
        let report = FioReport::read(&json).unwrap_or_default();
        let mut text = String::new();
        if has(ReportForm::Normal) && matches!(part, Part::Only | Part::First) {
            text.push_str(&report.head());
        }
        if has(ReportForm::Terse) {
            text.push_str(&report.terse(self.terse));
        }
        if plus || has(ReportForm::Json) {
            text.push_str(&json);
        }
        if has(ReportForm::Normal) {
            text.push_str(&report.normal());
        }
        if has(ReportForm::Normal) && matches!(part, Part::Only | Part::Last) {
            text.push_str(&format!("\n{}\n", verdict(run)));
        }
        text
    }
}

/// How far the numbers can be trusted, in a line.
fn verdict(run: &Run) -> String {
    let doubted = run.findings.iter().filter(|_| run.verdict != Verdict::Valid);
    let worst = doubted.max_by_key(|finding| finding.severity);
    let why = worst.map_or(String::new(), |finding| format!(" ({}: {})", finding.id, finding.message));
    let how = if run.id.is_empty() { String::new() } else { format!("; assay check {}", run.id) };
    format!("assay: {}{why}{how}", run.verdict.word()).replace('\n', " ")
}
