//! What options do: each rule makes its part of a job of the options that belong together, and writes them for one.
//!
//! Options of one rule interact (`iodepth_low` means nothing without the depth), so the table names the rule and the rule
//! asks for its options. What it does not ask for is lost at its line, see [`Given`](super::resolve::Given).

use super::lower::{Lowering, Source};
use super::table::Rule;
use super::write::{Lines, Section, Writer};
use assay_workload::job::Job;

/// What a rule does, both ways.
pub(super) struct Doing {
    /// The rule.
    pub(super) rule: Rule,
    /// From the options to the job of the model.
    pub(super) lower: fn(&mut Lowering<'_>, Source<'_>, &mut Job),
    /// From the job of the model to the options.
    pub(super) write: fn(&mut Writer<'_>, &Section<'_>, &mut Lines),
    /// Whether the sections of one job are written with values of their own.
    pub(super) each: bool,
}

/// All rules, in the order in which options are written.
pub(super) static RULES: [Doing; Rule::ALL.len()] = [
    Doing {
        rule: Rule::Engine,
        lower: |lowering, source, job| lowering.engine(source, job),
        write: |writer, section, lines| writer.engine(section.job, lines),
        each: false,
    },
    Doing {
        rule: Rule::Access,
        lower: |lowering, source, job| job.pattern = lowering.pattern(source),
        write: |writer, section, lines| writer.access(section.job, lines),
        each: false,
    },
    Doing {
        rule: Rule::Pace,
        lower: |lowering, source, job| lowering.pace(source, job),
        write: |writer, section, lines| writer.pace(section, lines),
        each: false,
    },
    Doing {
        rule: Rule::Limits,
        lower: |lowering, source, job| lowering.limits(source, job),
        write: |writer, section, lines| writer.limits(section.job, lines),
        each: false,
    },
    Doing {
        rule: Rule::Content,
        lower: |lowering, source, job| job.content = lowering.content(source),
        write: |writer, section, lines| writer.content(&section.job.name, &section.job.content, lines),
        each: false,
    },
    Doing {
        rule: Rule::Flush,
        lower: |lowering, source, job| job.flush = lowering.flush(source),
        write: |writer, section, lines| writer.flush(section.job, lines),
        each: false,
    },
    Doing {
        rule: Rule::Errors,
        lower: |lowering, source, job| job.errors_tolerated = lowering.errors(source),
        write: |_, section, lines| {
            if section.job.errors_tolerated > 0 {
                lines.set("continue_on_error", "all");
            }
        },
        each: false,
    },
    // Whether the job ends when it is steady. The writer says what of it is lost with the limits.
    Doing {
        rule: Rule::Steady,
        lower: |lowering, source, job| lowering.steady(source, job),
        write: |_, _, _| {},
        each: false,
    },
    // Which jobs run beside and behind each other: made of all sections together, see `lower::phases` and `Writer::phase`.
    Doing {
        rule: Rule::Order,
        lower: |_, _, _| {},
        write: |_, section, lines| {
            if !section.alone {
                lines.set("numjobs", section.job.threads);
            }
        },
        each: true,
    },
    Doing {
        rule: Rule::Region,
        lower: |lowering, source, job| lowering.region(source, job),
        write: |writer, section, lines| writer.region(section, lines),
        each: true,
    },
    // Which file next. The files themselves follow from all clones, see `lower::targets` and `Writer::section`.
    Doing {
        rule: Rule::Files,
        lower: |lowering, source, job| job.selection = lowering.selection(source),
        write: |writer, section, lines| writer.selection(section, lines),
        each: true,
    },
    // The search for a load that keeps a latency: it concerns the phase, see `lower::ends`. Never written, since a search
    // is a rule of its phase here.
    Doing { rule: Rule::Search, lower: |_, _, _| {}, write: |_, _, _| {}, each: false },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rule_does_something_and_stands_once() {
        assert_eq!(RULES.each_ref().map(|doing| doing.rule), Rule::ALL);
    }
}
