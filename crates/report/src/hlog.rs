//! HdrHistogram's interval log, version 1.3, as HistogramLogAnalyzer, HdrHistogram's plotter and the libraries of eight
//! languages read it: every reporting period with the whole distribution of its latencies.
//!
//! Our buckets are those of an HdrHistogram with two significant digits and a lowest value of 1 ns (256 sub-buckets), so
//! that counts go over one to one. Format: HdrHistogram's `HistogramLogWriter` and `EncodableHistogram` (V2, compressed).

mod encoding;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use assay_results::foreign::Moment;
use assay_results::run::{JobResult, OpResult, PhaseResult};
use assay_results::{Interval, JobCounts, LatencyHistogram, OpCounts, Run};

use crate::text::visible;

/// Nanoseconds in the unit of the column of maxima, milliseconds: what the tools expect.
const MAX_UNIT_NS: f64 = 1e6;

/// The log: of each job and operation a line per reporting period of the measured part, under the tag
/// `PHASE/JOB/OPERATION/completion` or `../response`. `intervals` may be in any order; an operation that has none there has one
/// line over the whole of its measured time.
pub fn hlog(run: &Run, intervals: &[Interval]) -> String {
    let start = Moment::parse(&run.started);
    let mut text = format!(
        "#[Assay {}: run {}, {}]\n#[Histogram log format version 1.3]\n#[StartTime: {:.3} (seconds since epoch), {}]\n\
         #[latencies in nanoseconds; Interval_Max in milliseconds; times are seconds from the start of each phase]\n\
         \"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n",
        visible(&run.assay.version),
        visible(&run.id),
        visible(&run.name),
        start.unix_ms() as f64 / 1e3,
        start.ctime(),
    );
    let mut tags = BTreeMap::new();
    for phase in &run.phases {
        for job in &phase.jobs {
            let own = intervals.iter().filter(|interval| {
                interval.key.phase == phase.plan_phase
                    && !interval.key.ramp
                    && job.evidence.plan_jobs.contains(&interval.key.job)
            });
            let own: Vec<&Interval> = own.collect();
            for (operation, op) in job.operations() {
                let tag = unique(&mut tags, &format!("{}/{}/{operation}", phase_name(run, phase), job.name));
                lines(&mut text, &tag, job, (operation, op), &own);
            }
        }
    }
    text
}

fn phase_name(run: &Run, phase: &PhaseResult) -> String {
    let repeat = if run.repeats_of(phase) > 1 {
        format!("#{}", phase.repeat.saturating_add(1))
    } else {
        String::new()
    };
    format!("{}{repeat}", phase.title())
}

/// A tag holds no comma, blank or line end; two things of one name are told apart by a number.
fn unique(used: &mut BTreeMap<String, u32>, name: &str) -> String {
    let plain: String =
        name.chars().map(|c| if c.is_whitespace() || c.is_control() || c == ',' { '_' } else { c }).collect();
    let count = used.entry(plain.clone()).and_modify(|count| *count += 1).or_insert(1);
    if *count > 1 { format!("{plain}~{count}") } else { plain }
}

fn lines(text: &mut String, tag: &str, job: &JobResult, (name, op): (&str, &OpResult), own: &[&Interval]) {
    let index = JobCounts::NAMES.iter().position(|known| *known == name);
    let periods = index.map(|index| periods(own, index)).unwrap_or_default();
    let mut response = false;
    for (start_ns, length_ns, counts) in &periods {
        let span = (*start_ns as f64 / 1e9, *length_ns as f64 / 1e9);
        line(text, tag, "completion", span, &counts.completion);
        line(text, tag, "response", span, &counts.response);
        response |= !counts.response.is_empty();
    }
    let start = job.evidence.measured_start_ns as f64 / 1e9;
    let whole = [
        ("completion", &op.completion_histogram, periods.is_empty()),
        ("response", &op.response_histogram, !response),
    ];
    for (what, sparse, wanted) in whole {
        if let Some(sparse) = sparse.as_ref().filter(|_| wanted) {
            line(text, tag, what, (start, job.measured_s), &LatencyHistogram::from_sparse(sparse));
        }
    }
}

/// The counts of an operation by period: start and length in nanoseconds. What came late, or from other hosts, is added.
fn periods(own: &[&Interval], index: usize) -> Vec<(u64, u64, OpCounts)> {
    let mut periods: BTreeMap<u32, (u64, u64, OpCounts)> = BTreeMap::new();
    for interval in own {
        let counts = &interval.counts.ops[index];
        if counts.completion.is_empty() && counts.response.is_empty() {
            continue;
        }
        let key = &interval.key;
        let of = periods.entry(key.index).or_insert((key.start_ns, 0, OpCounts::default()));
        let end = (of.0 + of.1).max(key.end_ns());
        of.0 = of.0.min(key.start_ns);
        of.1 = end - of.0;
        of.2.merge(counts);
    }
    periods.into_values().collect()
}

fn line(text: &mut String, tag: &str, what: &str, (start, length): (f64, f64), histogram: &LatencyHistogram) {
    if histogram.is_empty() {
        return;
    }
    let max = histogram.max_ns() as f64 / MAX_UNIT_NS;
    let payload = encoding::compressed_base64(histogram);
    let _ = writeln!(text, "Tag={tag}/{what},{start:.3},{length:.3},{max:.3},{payload}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_is_one_word_and_its_own() {
        let mut used = BTreeMap::new();
        assert_eq!(unique(&mut used, "a b,c/read"), "a_b_c/read");
        assert_eq!(unique(&mut used, "a b,c/read"), "a_b_c/read~2");
    }

    #[test]
    fn words_of_a_stranger_move_no_cursor() {
        let evil = "x\u{1b}[2J\u{9b}2J\r\n#";
        let mut run = assay_results::samples::run(evil, evil, Vec::new());
        run.assay.version = evil.to_owned();
        run.id = evil.to_owned();
        let text = hlog(&run, &[]);
        assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "{text:?}");
        assert_eq!(text.lines().count(), 5, "{text}");
    }

    #[test]
    fn nothing_is_written_of_what_was_not_done() {
        let mut text = String::new();
        line(&mut text, "a", "completion", (0.0, 1.0), &LatencyHistogram::new());
        assert_eq!(text, "");
        let mut histogram = LatencyHistogram::new();
        histogram.record(2_500_000);
        line(&mut text, "a", "completion", (1.0, 0.5), &histogram);
        assert!(text.starts_with("Tag=a/completion,1.000,0.500,2.500,HISTF"), "{text}");
    }
}
