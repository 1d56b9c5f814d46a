//! What options do: each rule makes its part of a job of the options that belong together, and writes them for one.
//!
//! Options of one rule interact (`iodepth_low` means nothing without the depth), so the table names the rule and the rule
//! asks for its options. What it does not ask for is lost at its line, see [`Given`](super::resolve::Given).

use super::lower::{Lowering, Source};
use super::table::Rule;
use super::write::{Lines, Section, Writer};
use assay_workload::job::Job;

impl Rule {
    /// From the options to the job of the model.
    pub(super) fn lower(self, lowering: &mut Lowering<'_>, source: Source<'_>, job: &mut Job) {
        match self {
            Rule::Engine => lowering.engine(source, job),
            Rule::Access => job.pattern = lowering.pattern(source),
            Rule::Pace => lowering.pace(source, job),
            Rule::Limits => lowering.limits(source, job),
            Rule::Content => job.content = lowering.content(source),
            Rule::Flush => job.flush = lowering.flush(source),
            Rule::Errors => job.errors_tolerated = lowering.errors(source),
            Rule::Verify => lowering.verify(source, job),
            Rule::Steady => lowering.steady(source, job),
            Rule::Region => lowering.region(source, job),
            // The files themselves follow from all clones, see `lower::targets`.
            Rule::Files => lowering.files(source, job),
            // Made of all sections together, see `lower::phases`; of the whole phase, see `lower::ends`.
            Rule::Order | Rule::Search => {}
        }
    }

    /// From the job of the model to the options.
    pub(super) fn write(self, writer: &mut Writer<'_>, section: &Section<'_>, lines: &mut Lines) {
        let job = section.job;
        match self {
            Rule::Engine => writer.engine(job, lines),
            Rule::Access => writer.access(job, lines),
            Rule::Pace => writer.pace(section, lines),
            Rule::Limits => writer.limits(job, lines),
            Rule::Content => writer.content(job, lines),
            Rule::Flush => writer.flush(job, lines),
            Rule::Errors => writer.errors(job, lines),
            Rule::Verify => writer.verify(section, lines),
            Rule::Order if !section.alone => lines.set("numjobs", job.threads),
            Rule::Region => writer.region(section, lines),
            // The names of the files are written with the section itself.
            Rule::Files => writer.selection(section, lines),
            // What is lost of steadiness is said with the limits; a search is a rule of its phase here, and is never written.
            Rule::Order | Rule::Steady | Rule::Search => {}
        }
    }

    /// Whether the sections of one job are written with values of their own.
    pub(super) fn is_of_each_section(self) -> bool {
        matches!(self, Rule::Order | Rule::Region | Rule::Files)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rule_stands_once() {
        let decides = Rule::ALL.map(Rule::decides);
        let unique: std::collections::BTreeSet<&str> = decides.into_iter().collect();
        assert_eq!(unique.len(), Rule::ALL.len());
    }
}
