//! Two generators held against each other, for a terminal.

use assay_results::crosscheck::{Agreement, DEFINITIONS, Document, Figure, Row, least_certain};
use assay_results::stats::{Estimate, Margins, median};

use crate::format;
use crate::terminal::{self, Words};
use crate::text::Style;

/// Everything about it: `title`, the figures, and whether they agree.
pub fn crosscheck(document: &Document<'_>, title: String, margins: &Margins, style: &Style) -> String {
    let heads = ["", "Assay", "fio", "fio / Assay", ""];
    let mut text = terminal::page(&[Words::Title(title)], style);
    text.push_str(&terminal::figures(&heads, &groups(document.rows, margins), style));
    let mut parts = vec![Words::Gap, Words::Text(verdict(document.agree, document.rows))];
    if let Some(whole) = document.fio_process_cpu_ns_per_io {
        let whole = format::time_ns(whole);
        parts.push(Words::Text(format!(
            "The whole process of fio, its start and reports included, took {whole} of CPU per I/O."
        )));
    }
    parts.extend(document.not_honoured.iter().map(|text| Words::Item('!', text.clone())));
    parts.extend(DEFINITIONS.map(|text| Words::Item('-', text.to_owned())));
    text + &terminal::page(&parts, style)
}

fn verdict(agree: Option<bool>, rows: &[Row]) -> String {
    match agree {
        Some(true) => match least_certain(rows) {
            None => "They agree: every figure is the same within the margin.".to_owned(),
            Some((row, interval)) => format!(
                "No difference was shown. The least certain figure is {} {}, for which fio / Assay is between {:.2} and {:.2}: \
                 less than that would not have been seen.",
                row.op,
                row.figure.name(),
                interval.low,
                interval.high
            ),
        },
        Some(false) => {
            let count = rows.iter().filter(|row| row.agreement == Agreement::Differ).count();
            format!("They do not agree: {count} of {} figures differ.", rows.len())
        }
        None => "Whether they agree cannot be said from so few pairs; six are the least.".to_owned(),
    }
}

fn show(figure: Figure, value: f64) -> String {
    match figure {
        Figure::Iops => format::iops(value),
        Figure::BytesPerS => format::mib_per_s(value),
        Figure::CompletionNsMean | Figure::CpuNsPerIo => format::time_ns(value),
    }
}

fn words(agreement: Agreement, margins: &Margins) -> String {
    match agreement {
        Agreement::Same => format!("the same within {} %", margins.equivalent * 100.0),
        Agreement::NoDifferenceShown => "no difference shown".to_owned(),
        Agreement::Differ => "they differ".to_owned(),
        Agreement::TooFewPairs => "too few pairs".to_owned(),
        Agreement::NotComparable => "not comparable".to_owned(),
    }
}

/// The rows as groups of a table: a title for each job, and lines of cells.
fn groups(rows: &[Row], margins: &Margins) -> Vec<(String, Vec<Vec<String>>)> {
    let mut groups: Vec<(String, Vec<Vec<String>>)> = Vec::new();
    for row in rows {
        let title =
            if row.phase == row.job { row.job.clone() } else { format!("{}, job {}", row.phase, row.job) };
        if groups.last().is_none_or(|(last, _)| *last != title) {
            groups.push((title, Vec::new()));
        }
        let typical =
            |values: &[f64]| median(values).map_or("–".to_owned(), |value| show(row.figure, value));
        let op = if row.figure == Figure::CpuNsPerIo { String::new() } else { format!("{} ", row.op) };
        let cells = vec![
            format!("{op}{}", row.figure.name()),
            typical(&row.assay),
            typical(&row.fio),
            ratio_words(row.ratio.as_ref()),
            if row.figure.counts() { words(row.agreement, margins) } else { String::new() },
        ];
        if let Some((_, lines)) = groups.last_mut() {
            lines.push(cells);
        }
    }
    groups
}

fn ratio_words(ratio: Option<&Estimate>) -> String {
    let Some(ratio) = ratio else { return "–".to_owned() };
    match ratio.interval {
        Some(interval) if interval.reaches_95() => {
            format!("{:.3} [{:.3}, {:.3}]", ratio.value, interval.low, interval.high)
        }
        _ => format!("{:.3}", ratio.value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_a_line_under_its_job() {
        let (phase, job, op) = ("p".to_owned(), "j".to_owned(), "read".to_owned());
        let (figure, agreement) = (Figure::Iops, Agreement::Same);
        let row = Row { phase, job, op, figure, assay: vec![1.0], fio: vec![1.0], ratio: None, agreement };
        let groups = groups(&[row], &Margins::default());
        assert_eq!(groups[0].1[0], ["read IOPS", "1.00", "1.00", "–", "the same within 5 %"]);
    }
}
