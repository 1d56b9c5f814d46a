//! What two generators did with the same plan, compared pair by pair.

use serde::Serialize;

use crate::done_by::DoneBy;
use crate::run::{JobResult, OpResult, PhaseResult, Run};
use crate::stats::{Estimate, Interval95, Margins, paired_ratio};

/// The schema of a comparison of two generators.
pub const SCHEMA: &str = "assay.crosscheck/1";

/// Two windows of the same phase of the file, one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pair {
    /// Index of the phase in the file's plan.
    pub phase: usize,
    /// Index of Assay's window in the plan that was run.
    pub assay: usize,
    /// Index of fio's.
    pub fio: usize,
}

/// What is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Figure {
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
    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            Figure::Iops => "IOPS",
            Figure::BytesPerS => "MiB/s",
            Figure::CompletionNsMean => "mean completion latency",
            Figure::CpuNsPerIo => "CPU per I/O",
        }
    }

    /// Whether the two are asked to agree in it. What a generator costs is its own affair.
    pub fn counts(self) -> bool {
        self != Figure::CpuNsPerIo
    }
}

/// What the pairs say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Agreement {
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
}

/// One figure of one operation of one job.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Row {
    /// The phase of the file.
    pub phase: String,
    /// The job's name.
    pub job: String,
    /// `read`, `write`, `trim`, `flush`; `total` for what is not had by operation.
    pub op: String,
    /// What is compared, and its unit.
    pub figure: Figure,
    /// Assay's values, one of each pair.
    pub assay: Vec<f64>,
    /// fio's values, one of each pair.
    pub fio: Vec<f64>,
    /// fio over Assay.
    pub ratio: Option<Estimate>,
    /// What the pairs say of it.
    pub agreement: Agreement,
}

/// All comparisons of a run, in the order of the file.
pub fn rows(run: &Run, pairs: &[Pair], margins: &Margins) -> Vec<Row> {
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
fn whole_latency_ns(result: &OpResult, engine: &DoneBy) -> f64 {
    let submit = result.submit_ns.filter(|_| engine.is_fio()).map_or(0.0, |submit| submit.mean);
    result.completion_ns.mean + submit
}

/// Whether the two agree as a whole: they do where no figure differs, and none can be said to where all have too few pairs.
pub fn agree(rows: &[Row]) -> Option<bool> {
    let mut counting = rows.iter().filter(|row| row.figure.counts());
    if rows.iter().any(|row| row.figure.counts() && row.agreement == Agreement::Differ) {
        return Some(false);
    }
    counting
        .any(|row| matches!(row.agreement, Agreement::Same | Agreement::NoDifferenceShown))
        .then_some(true)
}

/// The figure with the widest interval among those that are not known to be the same; `None`: all of them are.
pub fn least_certain(rows: &[Row]) -> Option<(&Row, Interval95)> {
    rows.iter()
        .filter(|row| row.figure.counts() && row.agreement == Agreement::NoDifferenceShown)
        .filter_map(|row| Some((row, row.ratio.as_ref()?.interval?)))
        .max_by(|a, b| (a.1.high / a.1.low).total_cmp(&(b.1.high / b.1.low)))
}

/// What `assay crosscheck --json` prints.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Document<'a> {
    schema: &'static str,
    /// The id of the run that holds the windows of both.
    pub run: &'a str,
    /// fio's version.
    pub fio: &'a str,
    /// Pairs of windows.
    pub pairs: usize,
    /// Whether the two agree in every figure that counts; `null`: so few pairs cannot say.
    pub agree: Option<bool>,
    /// The share by which a figure may differ and is the same still.
    pub margin: f64,
    /// Every figure of every operation of every job.
    pub rows: &'a [Row],
    /// CPU of the whole process of fio, its start and reports included, per operation, nanoseconds.
    pub fio_process_cpu_ns_per_io: Option<f64>,
    /// What the file asks for and neither did, because Assay does not support it.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    pub not_honoured: &'a [String],
    /// What the words mean where the two tools differ.
    definitions: [&'static str; 2],
}

impl<'a> Document<'a> {
    /// Of these rows; nothing was lost.
    pub fn of(run: &'a Run, fio: &'a str, pairs: usize, rows: &'a [Row], margins: &Margins) -> Document<'a> {
        Document {
            schema: SCHEMA,
            run: &run.id,
            fio,
            pairs,
            agree: agree(rows),
            margin: margins.equivalent,
            rows,
            fio_process_cpu_ns_per_io: None,
            not_honoured: &[],
            definitions: DEFINITIONS,
        }
    }
}

/// What the words mean where the two tools differ.
pub const DEFINITIONS: [&str; 2] = [
    "Completion latency is from before the submitting call to completion: Assay's own; of fio, submit and completion \
     latency added, because its completion latency begins behind the call.",
    "CPU per I/O is user and system time: of Assay's job threads and the kernel's workers for them; of fio what its \
     report says of its jobs.",
];

/// CPU of the whole of fio over all its windows, per operation, nanoseconds.
pub fn whole_process_ns(run: &Run, fio_cpu_ns: &[(usize, u64)]) -> Option<f64> {
    let (mut cpu_ns, mut ios) = (0, 0);
    for (phase, process_ns) in fio_cpu_ns {
        let found = run.phases.iter().find(|found| found.plan_phase as usize == *phase)?;
        cpu_ns += process_ns;
        ios += found.jobs.iter().map(|job| job.total.ios).sum::<u64>();
    }
    (ios > 0).then(|| cpu_ns as f64 / ios as f64)
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
    }
}
