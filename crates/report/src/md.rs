//! Markdown: what goes into an issue or a wiki. Tables in GitHub's dialect.

mod compare;
mod curve;
mod grid;
mod repeats;

use assay_workload::PhaseKind;
use std::fmt::Write as _;

use assay_results::Run;
use assay_results::baseline::percent_of;
use assay_results::run::OpResult;

pub use self::compare::comparison;
use crate::answer::answer;
use crate::findings::{PLACES_MAX, causes, folded, group, severity_word, verdict_sign};
use crate::quick::{QuickRow, RangePosition, Reference, ReferenceIops, against, reference_notes, rows};
use crate::records::{Record, records};
use crate::text::visible;
use crate::together::together;
use crate::{conditions, facts, format, hosts};

/// The document: verdict, findings, results, where and by what.
pub fn markdown(run: &Run, references: &[Reference]) -> String {
    let mut text = String::new();
    let series =
        run.plan.series.as_ref().map_or_else(String::new, |series| format!(" (series {})", escape(series)));
    let _ = writeln!(text, "# {}{series}\n", escape(&run.name));
    let [like, best, verdict] = answer(run);
    let _ = writeln!(text, "{}\n\n{}\n\n**{}**\n", escape(&like), escape(&best), escape(&verdict));
    let place = conditions::of_place(run).into_iter().chain(conditions::of_targets(&run.environment.targets));
    for fact in place {
        let _ = writeln!(text, "- {}", escape(&fact));
    }
    let _ = writeln!(
        text,
        "- started {}, took {}{}",
        escape(&run.started),
        format::seconds(run.elapsed_s),
        conditions::of_seed(run).map_or_else(String::new, |seed| format!(", {seed}"))
    );
    push_findings(&mut text, run);
    text.push_str("\n## Results\n\n");
    if run.plan.series.is_none() {
        push_results(&mut text, run)
    } else {
        push_quick(&mut text, run, references)
    }
    push_notes(&mut text, run);
    push_environment(&mut text, run);
    text
}

fn push_findings(text: &mut String, run: &Run) {
    if run.findings.is_empty() {
        return;
    }
    text.push_str("\n## Findings\n\n");
    let causes = causes(&run.findings);
    for cause in &causes {
        let finding = cause.group.finding;
        let place = cause.place(PLACES_MAX);
        let place = if place.is_empty() { String::new() } else { format!(": {}", escape(&place)) };
        let severity = severity_word(finding.severity);
        let _ = writeln!(text, "- **{severity}: {}**: {}{place}", escape(&finding.id), escape(&cause.words));
    }
    let folded = folded(&run.findings).map_or_else(String::new, |folded| format!(" ({folded})"));
    let gap = if causes.is_empty() { "" } else { "\n" };
    let _ = writeln!(text, "{gap}<details><summary>Evidence{folded}</summary>\n");
    push_evidence(text, run);
    text.push_str("\n</details>\n");
}

fn push_evidence(text: &mut String, run: &Run) {
    for one in group(&run.findings) {
        let _ = writeln!(text, "- **{}** ({})", escape(&one.finding.id), severity_word(one.finding.severity));
        for place in &one.places {
            let name =
                if place.name.is_empty() { String::new() } else { format!("{}: ", escape(&place.name)) };
            let _ = writeln!(text, "  - {name}{}", escape(&place.words()));
        }
        if let Some(bias) = one.bias {
            let _ = writeln!(text, "  - possible bias: {}", escape(bias));
        }
        if !one.finding.advice.is_empty() {
            let _ = writeln!(text, "  - advice: {}", escape(&one.finding.advice));
        }
    }
}

/// What was noted of the run, above all what of a foreign file was not honoured.
fn push_notes(text: &mut String, run: &Run) {
    if !run.notes.is_empty() {
        text.push_str("\n## Notes\n\n");
        run.notes.iter().for_each(|note| text.push_str(&format!("- {}\n", escape(note))));
    }
}

/// A row of a table. The cells are escaped.
fn push_row(text: &mut String, cells: &[String]) {
    let _ = writeln!(text, "| {} |", cells.join(" | "));
}

/// The head of a table whose columns behind the first `left` hold numbers.
fn push_head(text: &mut String, heads: &[String], left: usize) {
    push_row(text, heads);
    let rules: Vec<String> = (0..heads.len())
        .map(|index| if index < left { "---".to_owned() } else { "---:".to_owned() })
        .collect();
    push_row(text, &rules);
}

fn words(heads: &[&str]) -> Vec<String> {
    heads.iter().map(|head| (*head).to_owned()).collect()
}

fn push_results(text: &mut String, run: &Run) {
    let measured: Vec<Record<'_>> = records(run).into_iter().filter(is_shown).collect();
    if measured.is_empty() {
        text.push_str("No phase was measured.\n");
        return;
    }
    grid::push_grids(text, run);
    curve::push_curves(text, run);
    repeats::push_repeats(text, run);
    let heads = [
        "phase, job",
        "",
        "conditions",
        "operation",
        "latency",
        "block",
        "IOPS",
        "MiB/s",
        "p50",
        "p99",
        "p99.9",
        "max",
    ];
    push_head(text, &words(&heads), 5);
    for record in &measured {
        push_record(text, run, record);
    }
    let sums: Vec<String> = run
        .phases
        .iter()
        .filter_map(|phase| Some(format!("- {}: {}", escape(&phase.title()), together(run, phase)?.words())))
        .collect();
    if !sums.is_empty() {
        let _ = writeln!(text, "\n{}", sums.join("\n"));
    }
    push_hosts(text, run);
}

/// A row per host of each measured job, where there are several.
fn push_hosts(text: &mut String, run: &Run) {
    let measured = run.phases.iter().filter(|phase| phase.kind == PhaseKind::Measure);
    let jobs = measured.flat_map(|phase| phase.jobs.iter().map(move |job| (phase, job)));
    let hosts: Vec<_> = jobs
        .flat_map(|(phase, job)| hosts::of_job(phase, job).into_iter().map(move |row| (phase, job, row)))
        .collect();
    if hosts.is_empty() {
        return;
    }
    text.push_str("\n### Hosts\n\n");
    let heads: Vec<&str> = ["phase, job", "host", ""].into_iter().chain(hosts::NUMBERS).collect();
    push_head(text, &words(&heads), 3);
    for (phase, job, row) in hosts {
        let name =
            if job.name == phase.name { phase.name.clone() } else { format!("{}, {}", phase.name, job.name) };
        let mut cells = vec![escape(&name), escape(&row.name), escape(&row.lost)];
        cells.extend(row.numbers);
        push_row(text, &cells);
    }
}

/// Measuring phases; a total only where it adds something.
fn is_shown(record: &Record<'_>) -> bool {
    record.phase.kind == PhaseKind::Measure
        && (record.operation != "total" || conditions::total_adds(record.job))
}

fn push_record(text: &mut String, run: &Run, record: &Record<'_>) {
    let Record { phase, job, operation, op } = *record;
    let repeat =
        if phase.repeat > 0 { format!(" ({})", phase.repeat.saturating_add(1)) } else { String::new() };
    let job_name = if job.name == phase.name { String::new() } else { format!(", {}", job.name) };
    let cells = vec![
        escape(&format!("{}{repeat}{job_name}", phase.title())),
        run.row_of_repetition(phase, job).map_or_else(String::new, |row| escape(verdict_sign(row.verdict))),
        escape(&conditions::of_job(job).join(", ")),
        operation.to_owned(),
        if op.block_size > 0 { format::bytes(op.block_size) } else { String::new() },
        conditions::iops(op),
        bandwidth(op),
    ];
    // Each definition has its own row, and says which it is.
    let kinds = [("response time", op.response_ns), ("completion latency", Some(op.completion_ns))];
    for (kind, latency) in kinds {
        let Some(latency) = latency else { continue };
        let mut row = cells.clone();
        row.insert(4, kind.to_owned());
        let max = (latency.n > 0).then_some(latency.max);
        row.extend([latency.p50, latency.p99, latency.p99_9, max].map(format::latency));
        push_row(text, &row);
    }
}

fn bandwidth(op: &OpResult) -> String {
    if op.bytes > 0 { format::mib_per_s(op.bytes_per_s) } else { String::new() }
}

fn push_quick(text: &mut String, run: &Run, references: &[Reference]) {
    let rows = rows(run);
    if rows.is_empty() {
        text.push_str("No test was measured.\n");
        return;
    }
    let mut heads = words(&["test", "conditions", "", "IOPS"]);
    heads.extend(references.iter().map(|reference| {
        let how = if reference.is_typical() { "typical" } else { "%" };
        escape(&format!("{how} {}", reference.title()))
    }));
    heads.extend(words(&["MiB/s", "p50", "p99", "p99.9", "flush p99", "marks"]));
    for group in rows.chunk_by(|a, b| a.group == b.group) {
        if !group[0].group.is_empty() {
            let _ = writeln!(text, "### {}\n", escape(&group[0].group));
        }
        push_head(text, &heads, 3);
        for row in group {
            push_quick_row(text, row, references);
        }
        text.push('\n');
    }
    text.push_str("p50, p99 and p99.9 are completion latencies (submission to completion). ✓ valid, ! suspect, ✗ invalid.\n");
    for note in reference_notes(references) {
        let _ = writeln!(text, "- {}", escape(&note));
    }
}

fn push_quick_row(text: &mut String, row: &QuickRow, references: &[Reference]) {
    let interval = row.iops.interval.map_or_else(String::new, |interval| {
        format!(" ({}, n = {})", format::interval(interval), row.iops.n)
    });
    let sign = row.verdict.as_ref().map_or("", |row| verdict_sign(row.verdict));
    let mut cells = vec![
        escape(&row.name),
        escape(&row.conditions.join(", ")),
        escape(sign),
        format!("{}{interval}", row.iops_words()),
    ];
    cells.extend(references.iter().map(|reference| reference_cell(row, reference)));
    cells.push(row.mib_per_s_words());
    cells.extend([row.completion.p50, row.completion.p99, row.completion.p99_9].map(format::latency));
    cells.push(row.flush.map_or_else(String::new, |flush| format::latency(flush.p99)));
    cells.push(escape(&row.marks().join(", ")));
    push_row(text, &cells);
}

fn reference_cell(row: &QuickRow, reference: &Reference) -> String {
    let Some(value) = reference.of(row) else { return String::new() };
    match (value, against(row.iops.value, value)) {
        (ReferenceIops::Typical { low, high }, place) => {
            let place = match place {
                Some(RangePosition::Below) => "below ",
                Some(RangePosition::Above) => "above ",
                _ => "",
            };
            format!("{place}{}–{}", format::iops(low), format::iops(high))
        }
        (ReferenceIops::Measured(iops), _) => percent_of(row.iops.value, iops)
            .map_or_else(String::new, |percent| format!("{} %", format::count(percent))),
    }
}

fn push_environment(text: &mut String, run: &Run) {
    for section in facts::environment(&run.environment).iter().chain([&facts::provenance(run)]) {
        let _ = writeln!(text, "\n## {}\n", escape(&section.title));
        for (name, value, _) in &section.rows {
            let _ = writeln!(text, "- {}: {}", escape(name), escape(value));
        }
    }
}

/// `text` on one line, with everything that Markdown or HTML would take for markup made plain.
fn escape(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for c in visible(text).chars() {
        match c {
            '&' => plain.push_str("&amp;"),
            '<' => plain.push_str("&lt;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' | '~' | '!' => {
                plain.push('\\');
                plain.push(c);
            }
            c => plain.push(c),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_markup() {
        assert_eq!(escape("a|b *c* <d> [e](f)\n_g_"), "a\\|b \\*c\\* &lt;d> \\[e\\](f)\\\\n\\_g\\_");
    }
}
