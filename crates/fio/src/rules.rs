//! What options do: each rule makes its part of a job of the options that belong together, and writes them for one.
//!
//! Options of one rule interact (`iodepth_low` means nothing without the depth), so the table names the rule and the rule
//! asks for its options. What it does not ask for is lost at its line, see [`Given`](super::resolve::Given).

use super::lower::{Lowering, Source};
use super::write::{Lines, Section, Writer};
use assay_workload::job::Job;

/// What some options do together.
pub(super) struct Rule {
    /// What they decide, for a message.
    pub(super) decides: &'static str,
    /// From the options to the job of the model.
    pub(super) lower: fn(&mut Lowering<'_>, Source<'_>, &mut Job),
    /// From the job of the model to the options.
    pub(super) write: fn(&mut Writer<'_>, &Section<'_>, &mut Lines),
    /// Whether the sections of one job are written with values of their own.
    pub(super) each: bool,
}

/// In the order in which options are written.
pub(super) static RULES: [&Rule; 12] =
    [&ENGINE, &ACCESS, &PACE, &LIMITS, &CONTENT, &FLUSH, &ERRORS, &STEADY, &ORDER, &REGION, &FILES, &SEARCH];

/// What does the I/O, and how much of it at once.
pub(super) static ENGINE: Rule = Rule {
    decides: "what does the I/O",
    lower: |lowering, source, job| lowering.engine(source, job),
    write: |writer, section, lines| writer.engine(section, lines),
    each: false,
};

/// Which operation, how large, and where.
pub(super) static ACCESS: Rule = Rule {
    decides: "where I/O goes",
    lower: |lowering, source, job| job.pattern = lowering.pattern(source),
    write: |writer, section, lines| writer.access(section.job, lines),
    each: false,
};

/// How fast, with which pauses.
pub(super) static PACE: Rule = Rule {
    decides: "the pace",
    lower: |lowering, source, job| lowering.pace(source, job),
    write: |writer, section, lines| writer.pace(section, lines),
    each: false,
};

/// How long.
pub(super) static LIMITS: Rule = Rule {
    decides: "how long the job lasts",
    lower: |lowering, source, job| lowering.limits(source, job),
    write: |writer, section, lines| writer.limits(section.job, lines),
    each: false,
};

/// What is written.
pub(super) static CONTENT: Rule = Rule {
    decides: "what is written",
    lower: |lowering, source, job| job.content = lowering.content(source),
    write: |writer, section, lines| writer.content(&section.job.name, &section.job.content, lines),
    each: false,
};

/// How writes reach the medium.
pub(super) static FLUSH: Rule = Rule {
    decides: "how writes reach the medium",
    lower: |lowering, source, job| job.flush = lowering.flush(source),
    write: |writer, section, lines| writer.flush(section.job, lines),
    each: false,
};

/// Which errors do not end the job.
pub(super) static ERRORS: Rule = Rule {
    decides: "which errors end the job",
    lower: |lowering, source, job| job.errors_tolerated = lowering.errors(source),
    write: |_, section, lines| {
        if section.job.errors_tolerated > 0 {
            lines.set("continue_on_error", "all");
        }
    },
    each: false,
};

/// Whether the job ends when it is steady. The writer says what of it is lost with the limits.
pub(super) static STEADY: Rule = Rule {
    decides: "when the job is steady",
    lower: |lowering, source, job| lowering.steady(source, job),
    write: |_, _, _| {},
    each: false,
};

/// Which jobs run beside and behind each other: made of all sections together, see `lower::phases` and `Writer::phase`.
pub(super) static ORDER: Rule = Rule {
    decides: "which jobs run together",
    lower: |_, _, _| {},
    write: |_, section, lines| {
        if !section.alone {
            lines.set("numjobs", section.job.threads);
        }
    },
    each: true,
};

/// Which part of the files.
pub(super) static REGION: Rule = Rule {
    decides: "which part of the files is used",
    lower: |lowering, source, job| lowering.region(source, job),
    write: |writer, section, lines| writer.region(section, lines),
    each: true,
};

/// Which file next. The files themselves follow from all clones, see `lower::targets` and `Writer::section`.
pub(super) static FILES: Rule = Rule {
    decides: "which files are used",
    lower: |lowering, source, job| job.selection = lowering.selection(source),
    write: |writer, section, lines| writer.selection(section, lines),
    each: true,
};

/// The search for a load that keeps a latency: it concerns the phase, see `lower::ends`. Never written, since a search
/// is a rule of its phase here.
pub(super) static SEARCH: Rule =
    Rule { decides: "the load that is looked for", lower: |_, _, _| {}, write: |_, _, _| {}, each: false };
