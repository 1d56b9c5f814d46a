//! What two generators did with the same plan, compared pair by pair.

use assay_report::format;
use assay_results::Run;
use assay_results::run::{JobResult, OpResult, PhaseResult};
use assay_results::stats::{Estimate, Interval95, Margins, median, paired_ratio};
use serde::Serialize;

/// Two windows of the same phase of the file, one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pair {
    /// Index of the phase in the file's plan.
    pub(super) phase: usize,
    /// Index of Assay's window in the plan that was run.
    pub(super) assay: usize,
    /// Index of fio's.
    pub(super) fio: usize,
}

/// What is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(super) enum Figure {
    /// Operations per second.
    Iops,
    /// Bytes per second.
    BytesPerS,
    /// Mean nanoseconds from before the submitting call to completion.
    CompletionNsMean,
    /// Nanoseconds of the generator's and the kernel's CPU time per operation.
    CpuNsPerIo,
}

impl Figure {
    pub(super) fn name(self) -> &'static str {
        match self {
            Figure::Iops => "IOPS",
            Figure::BytesPerS => "MiB/s",
            Figure::CompletionNsMean => "mean completion latency",
            Figure::CpuNsPerIo => "CPU per I/O",
        }
    }

    fn show(self, value: f64) -> String {
        match self {
            Figure::Iops => format::iops(value),
            Figure::BytesPerS => format::mib_per_s(value),
            Figure::CompletionNsMean | Figure::CpuNsPerIo => format::time_ns(value),
        }
    }

    /// Whether the two are asked to agree in it. What a generator costs is its own affair.
    fn counts(self) -> bool {
        self != Figure::CpuNsPerIo
    }
}

/// What the pairs say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(super) enum Agreement {
    /// The interval of the ratio lies within the margin of equivalence.
    Same,
    /// The interval holds 1, and reaches beyond the margin.
    NoDifferenceShown,
    /// The interval excludes 1, and the ratio is a relevant one.
    Differ,
    /// Too few pairs for an interval of 95 %.
    TooFewPairs,
    /// One side has no such figure.
    NotComparable,
}

impl Agreement {
    fn of(ratio: Option<&Estimate>, margins: &Margins) -> Agreement {
        let Some((ratio, interval)) = ratio.and_then(|ratio| Some((ratio.value, ratio.interval?))) else {
            return if ratio.is_some() { Agreement::TooFewPairs } else { Agreement::NotComparable };
        };
        let relevant = ratio.ln().abs() >= margins.relevant.ln_1p();
        match interval {
            _ if interval.shows_equivalence(margins.equivalent) => Agreement::Same,
            _ if !interval.reaches_95() => Agreement::TooFewPairs,
            _ if !interval.contains(1.0) && relevant => Agreement::Differ,
            _ => Agreement::NoDifferenceShown,
        }
    }

    fn words(self, margins: &Margins) -> String {
        match self {
            Agreement::Same => format!("the same within {} %", margins.equivalent * 100.0),
            Agreement::NoDifferenceShown => "no difference shown".to_owned(),
            Agreement::Differ => "they differ".to_owned(),
            Agreement::TooFewPairs => "too few pairs".to_owned(),
            Agreement::NotComparable => "not comparable".to_owned(),
        }
    }
}

/// One figure of one operation of one job.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct Row {
    /// The phase of the file.
    pub(super) phase: String,
    /// The job's name.
    pub(super) job: String,
    /// `read`, `write`, `trim`, `flush`; `total` for what is not had by operation.
    pub(super) op: String,
    /// What is compared, and its unit.
    pub(super) figure: Figure,
    /// Assay's values, one of each pair.
    pub(super) assay: Vec<f64>,
    /// fio's values, one of each pair.
    pub(super) fio: Vec<f64>,
    /// fio over Assay.
    pub(super) ratio: Option<Estimate>,
    /// What the pairs say of it.
    pub(super) agreement: Agreement,
}

/// All comparisons of a run, in the order of the file.
pub(super) fn rows(run: &Run, pairs: &[Pair], margins: &Margins) -> Vec<Row> {
    let found = |index: usize| run.phases.iter().find(|phase| phase.plan_phase as usize == index);
    let mut phases: Vec<usize> = pairs.iter().map(|pair| pair.phase).collect();
    phases.dedup();
    phases.sort_unstable();
    phases.dedup();
    let mut rows = Vec::new();
    for phase in phases {
        let windows = pairs.iter().filter(|pair| pair.phase == phase);
        let both: Vec<(&PhaseResult, &PhaseResult)> =
            windows.filter_map(|pair| found(pair.assay).zip(found(pair.fio))).collect();
        let Some((first, _)) = both.first() else { continue };
        for job in 0..first.jobs.len() {
            let jobs: Vec<(&JobResult, &JobResult)> =
                both.iter().filter_map(|(a, b)| a.jobs.get(job).zip(b.jobs.get(job))).collect();
            push_job(&mut rows, &first.name, &jobs, margins);
        }
    }
    rows
}

fn push_job(rows: &mut Vec<Row>, phase: &str, jobs: &[(&JobResult, &JobResult)], margins: &Margins) {
    let Some((first, _)) = jobs.first() else { return };
    let mut push = |op: &str, figure, value: &dyn Fn(&JobResult) -> Option<f64>| {
        let values = jobs.iter().filter_map(|(a, b)| value(a).zip(value(b)));
        let values: Vec<(f64, f64)> = values.filter(|(a, b)| *a > 0.0 && *b > 0.0).collect();
        let ratio = paired_ratio(&values);
        rows.push(Row {
            phase: phase.to_owned(),
            job: first.name.clone(),
            op: op.to_owned(),
            figure,
            assay: values.iter().map(|pair| pair.0).collect(),
            fio: values.iter().map(|pair| pair.1).collect(),
            agreement: Agreement::of(ratio.as_ref(), margins),
            ratio,
        });
    };
    for (op, _) in first.operations() {
        let of = |job: &JobResult, value: &dyn Fn(&OpResult) -> f64| {
            job.operations().find(|(name, _)| *name == op).map(|(_, result)| value(result))
        };
        push(op, Figure::Iops, &|job| of(job, &|result| result.iops));
        if op != "flush" {
            push(op, Figure::BytesPerS, &|job| of(job, &|result| result.bytes_per_s));
        }
        push(op, Figure::CompletionNsMean, &|job| of(job, &|result| whole_latency_ns(result, &job.engine)));
    }
    push("total", Figure::CpuNsPerIo, &|job| Some(job.cpu_ns_per_io));
}

/// From before the submitting call to completion. Assay's completion latency begins there; fio's begins when the call
/// has returned, and its submit latency comes before.
fn whole_latency_ns(result: &OpResult, engine: &str) -> f64 {
    let submit = result.submit_ns.filter(|_| engine.starts_with("fio")).map_or(0.0, |submit| submit.mean);
    result.completion_ns.mean + submit
}

/// Whether the two agree as a whole: they do where no figure differs, and none can be said to where all have too few pairs.
pub(super) fn agree(rows: &[Row]) -> Option<bool> {
    let mut counting = rows.iter().filter(|row| row.figure.counts());
    if rows.iter().any(|row| row.figure.counts() && row.agreement == Agreement::Differ) {
        return Some(false);
    }
    counting
        .any(|row| matches!(row.agreement, Agreement::Same | Agreement::NoDifferenceShown))
        .then_some(true)
}

/// The figure with the widest interval among those that are not known to be the same; `None`: all of them are.
pub(super) fn least_certain(rows: &[Row]) -> Option<(&Row, Interval95)> {
    rows.iter()
        .filter(|row| row.figure.counts() && row.agreement == Agreement::NoDifferenceShown)
        .filter_map(|row| Some((row, row.ratio.as_ref()?.interval?)))
        .max_by(|a, b| (a.1.high / a.1.low).total_cmp(&(b.1.high / b.1.low)))
}

/// The rows as groups of a table: a title for each job, and lines of cells.
pub(super) fn groups(rows: &[Row], margins: &Margins) -> Vec<(String, Vec<Vec<String>>)> {
    let mut groups: Vec<(String, Vec<Vec<String>>)> = Vec::new();
    for row in rows {
        let title =
            if row.phase == row.job { row.job.clone() } else { format!("{}, job {}", row.phase, row.job) };
        if groups.last().is_none_or(|(last, _)| *last != title) {
            groups.push((title, Vec::new()));
        }
        let typical =
            |values: &[f64]| median(values).map_or("–".to_owned(), |value| row.figure.show(value));
        let op = if row.op == "total" { String::new() } else { format!("{} ", row.op) };
        let cells = vec![
            format!("{op}{}", row.figure.name()),
            typical(&row.assay),
            typical(&row.fio),
            ratio_words(row.ratio.as_ref()),
            if row.figure.counts() { row.agreement.words(margins) } else { String::new() },
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

    fn of(pairs: &[(f64, f64)]) -> Agreement {
        Agreement::of(paired_ratio(pairs).as_ref(), &Margins::default())
    }

    #[test]
    fn agreement_is_about_intervals() {
        let around = |ratio: f64, spread: f64| -> Vec<(f64, f64)> {
            (0..7).map(|i| (100.0, 100.0 * ratio * (1.0 + spread * (f64::from(i) - 3.0)))).collect()
        };
        assert_eq!(of(&around(1.0, 0.001)), Agreement::Same);
        assert_eq!(of(&around(1.03, 0.001)), Agreement::Same, "within 5 %, though real");
        assert_eq!(of(&around(1.2, 0.01)), Agreement::Differ);
        assert_eq!(of(&around(0.8, 0.01)), Agreement::Differ);
        assert_eq!(of(&around(1.0, 0.1)), Agreement::NoDifferenceShown);
        assert_eq!(of(&around(1.2, 0.01)[..3]), Agreement::TooFewPairs);
        assert_eq!(of(&[]), Agreement::NotComparable);
    }

    fn row(figure: Figure, agreement: Agreement) -> Row {
        let (phase, job) = ("p".to_owned(), "j".to_owned());
        Row {
            phase,
            job,
            op: "read".to_owned(),
            figure,
            assay: vec![1.0],
            fio: vec![1.0],
            ratio: None,
            agreement,
        }
    }

    #[test]
    fn one_difference_is_a_difference_and_cost_is_none() {
        let same = row(Figure::Iops, Agreement::Same);
        assert_eq!(agree(&[same.clone(), row(Figure::CompletionNsMean, Agreement::Differ)]), Some(false));
        assert_eq!(agree(&[same.clone(), row(Figure::CpuNsPerIo, Agreement::Differ)]), Some(true));
        assert_eq!(agree(&[row(Figure::Iops, Agreement::TooFewPairs)]), None);
        let groups = groups(&[same], &Margins::default());
        assert_eq!(groups[0].1[0], ["read IOPS", "1.00", "1.00", "–", "the same within 5 %"]);
    }
}
