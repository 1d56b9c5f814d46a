//! Where, what was planned, what the words mean, and what made the page.

use assay_results::Run;
use maud::{Markup, html};

use crate::facts;
use crate::terminal::Section;

/// So many parts of the environment are named in the line that they stand behind.
const NAMED_MAX: usize = 4;

/// What was known of the machine and the targets, behind a line that names them: the header says the most important.
pub(super) fn environment(run: &Run) -> Markup {
    let mut sections: Vec<Section> = Vec::new();
    for one in facts::environment(&run.environment) {
        // A device below several targets is one device.
        if !sections.iter().any(|other| (&other.title, &other.rows) == (&one.title, &one.rows)) {
            sections.push(one);
        }
    }
    let names: Vec<&str> = sections.iter().map(|one| one.title.as_str()).collect();
    let (named, more) = names.split_at(names.len().min(NAMED_MAX));
    html! {
        @if !sections.is_empty() {
            section #environment {
                h2 { "Environment" }
                details {
                    summary { (named.join(", ")) @if !more.is_empty() { " and " (more.len()) " more" } }
                    div .facts { @for one in &sections { (facts_list(one)) } }
                }
            }
        }
    }
}

fn facts_list(section: &Section) -> Markup {
    html! {
        div .card {
            h3 { (section.title) }
            dl { @for (name, value, _) in &section.rows { dt { (name) } dd { (value) } } }
        }
    }
}

/// The plan, every default resolved, as `--dry-run` prints it.
pub(super) fn plan(run: &Run) -> Markup {
    html! {
        section #plan {
            h2 { "Plan" }
            details {
                summary { "Everything that was to be done, with every default and seed" }
                pre tabindex="0" { (run.plan.describe()) }
            }
        }
    }
}

/// The words of the page.
pub(super) fn how_to_read(run: &Run) -> Markup {
    let words: &[(&str, &str)] = &[
        (
            "IOPS",
            "Operations a second. It means something only together with the block size, the mix of reads and writes, how many operations were outstanding at once, and how long each took; so these stand beside every number here.",
        ),
        (
            "outstanding",
            "How many operations were under way at the same time, all threads together, as asked. Where the mean that was reached is another number, it is told.",
        ),
        ("completion latency", "From handing an operation to the kernel until it was done."),
        (
            "response time",
            "From the moment an operation was due until it was done. It is given where operations were due at a fixed rate, and includes the time an operation waited because earlier ones were slow.",
        ),
        (
            "p50, p99, p99.9",
            "Half, 99 of 100, 999 of 1000 operations were at or below. They come from the whole distribution, never from an average of percentiles. A dash stands where too few operations were seen to tell.",
        ),
        (
            "latency by percentile",
            "The further to the right, the rarer: each further nine takes as much room as the one before. A flat line that jumps late shows a few very slow operations.",
        ),
        (
            "interval",
            "If the whole was repeated, the value would be expected in it about 19 times of 20. Five windows give lowest to highest, at 93.75 %.",
        ),
        ("cached", "Share of the bytes read that no device delivered. Such a number is the speed of memory."),
        (
            "verdict",
            "Valid: nothing that was checked speaks against the numbers. Suspect: they may be off by what the warnings state. Invalid: some do not mean what they seem to. Incomplete: the run ended early or is still going.",
        ),
    ];
    html! {
        section #reading {
            h2 { "How to read this" }
            details {
                summary { "What the words and drawings mean" }
                dl .words {
                    @for (word, meaning) in words { dt { (word) } dd { (meaning) } }
                    @if run.plan.series.is_some() {
                        dt { "log scale" }
                        dd { "The bar starts at the line of 100 % of the reference and goes right where this is faster, left where it is slower. Each line of the grid is a factor." }
                    }
                }
            }
        }
    }
}

/// What made the run.
pub(super) fn provenance(run: &Run) -> Markup {
    let section = facts::provenance(run);
    html! {
        section #provenance {
            h2 { (section.title) }
            p .place { @for (name, value, _) in &section.rows { span { (name) " " (value) } } }
        }
    }
}
