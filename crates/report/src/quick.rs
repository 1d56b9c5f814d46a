//! The quick series as rows: one per test, whichever renderer shows them.

use std::collections::BTreeMap;

use assay_results::baseline::Baseline;
use assay_results::foreign::planned_of;
use assay_results::run::{JobResult, LatencySummary, Metric, PhaseResult, Row};
use assay_results::stats::{median, median_interval};
use assay_results::{LatencyHistogram, Run};

use assay_workload::PhaseKind;
use assay_workload::job::OpenSync;
use assay_workload::plan::PlannedJob;

use crate::{conditions, format};

/// The series that repeats storage-tuner-benchmark 2.1's tests.
pub const SERIES_STB: &str = "stb-2.1";

/// From this share of read bytes on, a row is marked as served from memory.
const CACHED_SHARE_MIN: f64 = 0.01;

/// One test of a quick series.
#[derive(Debug, Clone, PartialEq)]
pub struct QuickRow {
    /// The test's name.
    pub name: String,
    /// The heading it stands under; empty: none.
    pub group: String,
    /// Operations per second: the one value, or the median over windows with its interval.
    pub iops: Metric,
    /// Bytes per second of the window shown.
    pub bytes_per_s: f64,
    /// Block size in bytes: the one size, or the mean of a distribution.
    pub block_size_bytes: u64,
    /// Outstanding I/Os in total, as asked.
    pub outstanding_io: u64,
    /// The conditions in words.
    pub conditions: Vec<String>,
    /// Completion latency of all windows together, from their merged histograms; where a window stored none, of the
    /// window with the median IOPS. Percentiles of windows are never averaged.
    pub completion: LatencySummary,
    /// Completion latency of the flushes, in the same way.
    pub flush: Option<LatencySummary>,
    /// Share of read bytes that came from no device; `None`: no reads, or not known.
    pub cached_read_share: Option<f64>,
    /// Failed operations, all windows.
    pub errors: u64,
    /// Whether the figure may be believed, and which windows it does not rest on; `None`: not judged.
    pub verdict: Option<Row>,
}

impl QuickRow {
    /// `cached 98 %`, where reads came from memory.
    pub fn cached_mark(&self) -> Option<String> {
        let share = self.cached_read_share.filter(|share| *share >= CACHED_SHARE_MIN)?;
        Some(format!("cached {}", format::percent(share)))
    }

    /// Operations a second in the digits that their interval carries.
    pub fn iops_words(&self) -> String {
        format::rounded(self.iops.value, self.half_width())
    }

    /// Megabytes a second, likewise.
    pub fn mib_per_s_words(&self) -> String {
        let mib = self.bytes_per_s / 1_048_576.0;
        let share = self.half_width().filter(|_| self.iops.value > 0.0).map(|half| half / self.iops.value);
        format::rounded(mib, share.map(|share| share * mib))
    }

    fn half_width(&self) -> Option<f64> {
        let judged = self.verdict.as_ref().and_then(|row| row.figure.interval);
        self.iops.interval.or(judged).map(|(low, high)| (high - low) / 2.0)
    }

    /// What is wrong with it beside its sign: errors, reads from memory, windows that were disturbed.
    pub fn marks(&self) -> Vec<String> {
        let errors = (self.errors > 0).then(|| format::plural(self.errors, "error"));
        let disturbed = self.verdict.as_ref().and_then(crate::findings::disturbed);
        errors.into_iter().chain(self.cached_mark()).chain(disturbed).collect()
    }
}

/// What to compare a row with.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ReferenceIops {
    /// Somebody measured it, once.
    Measured(f64),
    /// What devices of a kind typically do.
    Typical {
        /// The lower end.
        low: f64,
        /// The upper end.
        high: f64,
    },
}

impl ReferenceIops {
    /// The middle of it (geometric for a range), for drawing.
    pub fn middle(self) -> f64 {
        match self {
            ReferenceIops::Measured(iops) => iops,
            ReferenceIops::Typical { low, high } => (low * high).sqrt(),
        }
    }
}

/// A named reference: a baseline, or typical values of a kind of device. IOPS by test name.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reference {
    /// Short, for a column's head: `HDD`.
    pub name: String,
    /// IOPS by test name.
    pub iops: BTreeMap<String, ReferenceIops>,
    /// What it is and what it is worth, as sentences below the table.
    pub footnotes: Vec<String>,
}

impl Reference {
    /// Of a baseline, with where its figures come from.
    pub fn of_baseline(baseline: &Baseline) -> Self {
        let iops = baseline.tests.iter().map(|test| (test.name.clone(), ReferenceIops::Measured(test.iops)));
        let mut footnotes = baseline.footnotes.clone();
        if footnotes.is_empty() {
            let from = &baseline.provenance;
            footnotes.push(format!(
                "{}: {}, {}, kernel {}, {}",
                baseline.name, from.device, from.file_system, from.kernel, from.date
            ));
        }
        footnotes.extend(baseline.doubts());
        Reference { name: baseline.name.clone(), iops: iops.collect(), footnotes }
    }

    /// Of a kind of drive: its name, what it does in each test from and to (the same where it was measured), and a footnote.
    pub fn typical_of((name, values, footnote): (&str, Vec<(&str, f64, f64)>, String)) -> Self {
        let value = |(test, low, high): (&str, f64, f64)| {
            let iops =
                if low == high { ReferenceIops::Measured(low) } else { ReferenceIops::Typical { low, high } };
            (test.to_owned(), iops)
        };
        let iops = values.into_iter().map(value).collect();
        Reference { name: name.to_owned(), iops, footnotes: vec![footnote] }
    }

    /// Its name as people write it: a baseline called `hdd` is an HDD.
    pub fn title(&self) -> &str {
        match self.name.as_str() {
            "hdd" => "HDD",
            "ssd" => "SSD",
            "nvme" => "NVMe",
            name => name,
        }
    }

    /// The value for a row.
    pub fn of(&self, row: &QuickRow) -> Option<ReferenceIops> {
        self.iops.get(&row.name).copied()
    }

    /// Whether it has a value for at least half of the rows.
    pub fn covers(&self, rows: &[QuickRow]) -> bool {
        2 * rows.iter().filter(|row| self.of(row).is_some()).count() >= rows.len()
    }

    /// Whether its values are typical ranges and not measurements.
    pub fn is_typical(&self) -> bool {
        self.iops.values().any(|value| matches!(value, ReferenceIops::Typical { .. }))
    }
}

/// How a value lies to a typical range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RangePosition {
    /// Below its lower end.
    Below,
    /// In it.
    Within,
    /// Above its upper end.
    Above,
}

/// Where `iops` lies in a range; `None` for a measured reference, which has a ratio instead.
pub fn against(iops: f64, reference: ReferenceIops) -> Option<RangePosition> {
    match reference {
        ReferenceIops::Measured(_) => None,
        ReferenceIops::Typical { low, .. } if iops < low => Some(RangePosition::Below),
        ReferenceIops::Typical { high, .. } if iops > high => Some(RangePosition::Above),
        ReferenceIops::Typical { .. } => Some(RangePosition::Within),
    }
}

/// The rows of a run: its measuring phases, windows of one name together, groups together.
///
/// storage-tuner-benchmark's tests stand in the order of the plan. Other series visit their tests in a random order, so
/// theirs are sorted: by group, random before sequential, then by block size and outstanding I/Os.
pub fn rows(run: &Run) -> Vec<QuickRow> {
    let stb = run.plan.series.as_deref() == Some(SERIES_STB);
    let mut rows: Vec<(SortKey, QuickRow)> = Vec::new();
    for (name, jobs) in windows(run) {
        let planned = planned_row(run, &name);
        let Some(mut row) = row(stb, &name, (&jobs, planned)) else { continue };
        row.verdict = run.rows.iter().find(|known| known.name == name).cloned();
        let groups: &[&str] = if stb { &STB_GROUPS } else { &KIND_GROUPS };
        let group = groups.iter().position(|group| *group == row.group).unwrap_or(groups.len());
        let sequential = planned.is_some_and(|planned| !planned.pattern.placement.is_random());
        let key = if stb {
            (group, false, 0, 0)
        } else {
            (group, sequential, row.block_size_bytes, row.outstanding_io)
        };
        rows.push((key, row));
    }
    rows.sort_by_key(|(key, _)| *key);
    rows.into_iter().map(|(_, row)| row).collect()
}

/// Place of the group, sequential, block size, outstanding I/Os.
type SortKey = (usize, bool, u64, u64);

/// The groups of storage-tuner-benchmark 2.1 in its order.
const STB_GROUPS: [&str; 5] =
    ["1 file series", "16 file series", "O_SYNC series", "read series", "native aio series"];
/// The groups of other series.
const KIND_GROUPS: [&str; 5] = ["reads", "writes", "durable writes", "mixed", "other"];

/// The results behind the row of that name: one, or one a window.
pub fn row_jobs<'r>(run: &'r Run, name: &str) -> Vec<&'r JobResult> {
    windows(run).into_iter().find(|(known, _)| known == name).map(|(_, jobs)| jobs).unwrap_or_default()
}

/// The windows of a row as one result whose distributions are those of all windows; everything else is of the first.
/// `None` where there are none.
pub(crate) fn merged(windows: &[&JobResult]) -> Option<JobResult> {
    let mut whole = (*windows.first()?).clone();
    let slots = [&mut whole.read, &mut whole.write, &mut whole.trim, &mut whole.flush];
    for (index, slot) in slots.into_iter().enumerate() {
        let of = |job: &JobResult| [&job.read, &job.write, &job.trim, &job.flush][index].clone();
        let stored = windows.iter().filter_map(|job| of(job)?.completion_histogram);
        let mut all = LatencyHistogram::new();
        stored.for_each(|sparse| all.merge(&LatencyHistogram::from_sparse(&sparse)));
        if let Some(op) = slot.as_mut().filter(|_| !all.is_empty()) {
            op.completion_ns = LatencySummary::of(&all);
            op.completion_histogram = Some(all.to_sparse());
        }
    }
    Some(whole)
}

/// Results by row name, in the order of their first appearance.
fn windows(run: &Run) -> Vec<(String, Vec<&JobResult>)> {
    let mut windows: Vec<(String, Vec<&JobResult>)> = Vec::new();
    for phase in run.phases.iter().filter(|phase| phase.kind == PhaseKind::Measure) {
        for job in &phase.jobs {
            let name = row_name(phase, job);
            match windows.iter_mut().find(|(known, _)| *known == name) {
                Some((_, jobs)) => jobs.push(job),
                None => windows.push((name, vec![job])),
            }
        }
    }
    windows
}

/// The job of a row as it was planned; `None`: no plan has it.
fn planned_row<'r>(run: &'r Run, name: &str) -> Option<&'r PlannedJob> {
    let mut jobs = run.phases.iter().flat_map(|phase| phase.jobs.iter().map(move |job| (phase, job)));
    let (phase, job) = jobs.find(|(phase, job)| row_name(phase, job) == name)?;
    planned_of(run, phase, job).1.first().copied()
}

fn row_name(phase: &PhaseResult, job: &JobResult) -> String {
    let title = phase.title();
    if phase.jobs.len() > 1 { format!("{title} / {}", job.name) } else { title }
}

fn row(stb: bool, name: &str, row: (&[&JobResult], Option<&PlannedJob>)) -> Option<QuickRow> {
    let (windows, planned) = row;
    let iops: Vec<f64> = windows.iter().map(|job| job.total.iops).collect();
    let bytes_per_s: Vec<f64> = windows.iter().map(|job| job.total.bytes_per_s).collect();
    let shown = median_window(windows)?;
    let interval = median_interval(&iops).map(|interval| (interval.low, interval.high));
    let known: Vec<f64> = windows.iter().filter_map(|job| job.cached_read_share).collect();
    Some(QuickRow {
        name: name.to_owned(),
        group: if stb { stb_group(name) } else { kind_group(shown, planned) }.to_owned(),
        iops: Metric {
            value: median(&iops).unwrap_or(shown.total.iops),
            unit: "IOPS".to_owned(),
            n: u32::try_from(windows.len()).unwrap_or(u32::MAX),
            interval,
            basis: None,
        },
        bytes_per_s: median(&bytes_per_s).unwrap_or(shown.total.bytes_per_s),
        block_size_bytes: shown.total.block_size,
        outstanding_io: shown.outstanding_io,
        conditions: conditions::of_job(shown),
        completion: together(windows.iter().map(|job| job.completion_histogram()))
            .unwrap_or(shown.total.completion_ns),
        flush: together(windows.iter().map(|job| flush_histogram(job)))
            .or(shown.flush.as_ref().map(|flush| flush.completion_ns)),
        cached_read_share: known.into_iter().max_by(f64::total_cmp),
        errors: windows.iter().map(|job| job.errors).fold(0, u64::saturating_add),
        verdict: None,
    })
}

/// The window with the median IOPS; of an even number the better of the two in the middle.
fn median_window<'j>(windows: &[&'j JobResult]) -> Option<&'j JobResult> {
    let mut order: Vec<&JobResult> = windows.to_vec();
    order.sort_by(|a, b| a.total.iops.total_cmp(&b.total.iops));
    order.get(order.len() / 2).copied()
}

fn flush_histogram(job: &JobResult) -> LatencyHistogram {
    let sparse = job.flush.as_ref().and_then(|flush| flush.completion_histogram.as_ref());
    sparse.map_or_else(LatencyHistogram::new, LatencyHistogram::from_sparse)
}

/// The summary of several windows' values together; `None` for a single window, or where one stored nothing.
fn together(windows: impl ExactSizeIterator<Item = LatencyHistogram>) -> Option<LatencySummary> {
    if windows.len() < 2 {
        return None;
    }
    let mut merged = LatencyHistogram::new();
    for window in windows {
        if window.is_empty() {
            return None;
        }
        merged.merge(&window);
    }
    Some(LatencySummary::of(&merged))
}

/// The series that a test of storage-tuner-benchmark 2.1 belongs to.
fn stb_group(name: &str) -> &'static str {
    match name {
        _ if name.contains("native aio") => STB_GROUPS[4],
        _ if name.contains("o_sync") => STB_GROUPS[2],
        _ if name.contains(" reads") => STB_GROUPS[3],
        _ if name.starts_with("16 files") => STB_GROUPS[1],
        _ => STB_GROUPS[0],
    }
}

fn kind_group(job: &JobResult, planned: Option<&PlannedJob>) -> &'static str {
    let synchronous = planned.is_some_and(|planned| planned.flush.open != OpenSync::None);
    match (&job.read, &job.write) {
        (Some(_), Some(_)) => KIND_GROUPS[3],
        (Some(_), None) => KIND_GROUPS[0],
        (None, Some(_)) if job.flush.is_some() || synchronous => KIND_GROUPS[2],
        (None, Some(_)) => KIND_GROUPS[1],
        (None, None) => KIND_GROUPS[4],
    }
}

/// The rows as sentences that can be read aloud, one each.
pub fn spoken(rows: &[QuickRow], references: &[Reference]) -> Vec<String> {
    rows.iter().map(|row| spoken_row(row, references)).collect()
}

fn spoken_row(row: &QuickRow, references: &[Reference]) -> String {
    let mut text = format!("{}: {} a second", row.name, row.iops_words());
    if let Some(interval) = row.iops.interval {
        let windows = format::plural(u64::from(row.iops.n), "window");
        text += &format!(" ({} over {windows})", format::interval(interval).replace('–', " to "));
    }
    match (row.completion.p50, row.completion.p99) {
        (Some(p50), Some(p99)) => {
            let (half, most) = (format::time_ns(p50 as f64), format::time_ns(p99 as f64));
            text += &format!("; half of them completed within {half}, 99 of 100 within {most}");
        }
        _ => text += &format!("; the longest took {}", format::time_ns(row.completion.max as f64)),
    }
    if let Some(p99) = row.flush.and_then(|flush| flush.p99) {
        text += &format!(", and 99 of 100 flushes within {}", format::time_ns(p99 as f64));
    }
    if let Some(share) = row.cached_read_share.filter(|share| *share >= CACHED_SHARE_MIN) {
        text += &format!("; {} of what was read came from memory", format::percent(share));
    }
    let places = places(row, references);
    if !places.is_empty() {
        text += &format!("; {places}");
    }
    text + "."
}

/// How a row lies to the typical ranges: `above a typical HDD and SATA SSD, like a typical NVMe`.
fn places(row: &QuickRow, references: &[Reference]) -> String {
    let mut places: Vec<(RangePosition, Vec<&str>)> = Vec::new();
    for reference in references {
        let Some(place) = reference.of(row).and_then(|value| against(row.iops.value, value)) else {
            continue;
        };
        match places.last_mut() {
            Some((last, names)) if *last == place => names.push(reference.title()),
            _ => places.push((place, vec![reference.title()])),
        }
    }
    let words = places.iter().map(|(place, names)| {
        let how = match place {
            RangePosition::Below => "below",
            RangePosition::Within => "like",
            RangePosition::Above => "above",
        };
        format!("{how} a typical {}", names.join(" and "))
    });
    words.collect::<Vec<_>>().join(", ")
}

/// The kind of device whose typical range a row falls in: `SATA SSD`; `HDD / SATA SSD` in the range of both or between
/// the two; `> NVMe` beyond all of them. Empty where there are no typical ranges. References ascend from slow to fast.
pub fn like(row: &QuickRow, references: &[Reference]) -> String {
    let places: Vec<(&str, RangePosition)> = references
        .iter()
        .filter_map(|reference| Some((reference.title(), against(row.iops.value, reference.of(row)?)?)))
        .collect();
    let names = |wanted: RangePosition| {
        places.iter().filter(move |(_, place)| *place == wanted).map(|(name, _)| *name).collect::<Vec<_>>()
    };
    let within = names(RangePosition::Within);
    if !within.is_empty() {
        return within.join(" / ");
    }
    match (names(RangePosition::Above).last(), names(RangePosition::Below).first()) {
        (Some(slower), Some(faster)) => format!("{slower} / {faster}"),
        (Some(slower), None) => format!("> {slower}"),
        (None, Some(faster)) => format!("< {faster}"),
        (None, None) => String::new(),
    }
}

/// The footnotes of the references, each with the name it is about; one that several share is told once.
pub(crate) fn reference_notes(references: &[Reference]) -> Vec<String> {
    let mut notes: Vec<(&str, Vec<&str>)> = Vec::new();
    for reference in references {
        for note in &reference.footnotes {
            let note = without_name(note, reference.title());
            match notes.iter_mut().find(|(known, _)| *known == note) {
                Some((_, names)) => names.push(reference.title()),
                None => notes.push((note, vec![reference.title()])),
            }
        }
    }
    notes.iter().map(|(note, names)| format!("{}: {note}", names.join(", "))).collect()
}

/// A note without the name that it may begin with.
fn without_name<'n>(note: &'n str, name: &str) -> &'n str {
    match note.split_once(": ") {
        Some((head, rest)) if head.eq_ignore_ascii_case(name) => rest,
        _ => note,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_groups_of_the_original() {
        let cases = [
            ("1 file, 16 threads, rnd 4k writes, posixaio", "1 file series"),
            ("16 files, 1 thread each, seq 1M writes, simple", "16 file series"),
            ("1 file, 1 thread, rnd 16k writes, simple, o_sync", "O_SYNC series"),
            ("16 files, 1 thread each, seq 1M reads, simple", "read series"),
            ("1 file, 16 threads, rnd 16k reads, native aio", "native aio series"),
        ];
        for (name, group) in cases {
            assert_eq!(stb_group(name), group, "{name}");
        }
    }

    #[test]
    fn a_shared_footnote_is_told_once_under_all_names() {
        let note = |name: &str, text: &str| Reference {
            name: name.to_owned(),
            footnotes: vec![text.to_owned()],
            ..Reference::default()
        };
        let references =
            [note("hdd", "HDD: old"), note("SATA SSD", "SATA SSD: typical"), note("NVMe", "typical")];
        assert_eq!(reference_notes(&references), ["HDD: old", "SATA SSD, NVMe: typical"]);
    }

    #[test]
    fn a_range_is_below_within_or_above() {
        let typical = ReferenceIops::Typical { low: 100.0, high: 200.0 };
        assert_eq!(against(99.0, typical), Some(RangePosition::Below));
        assert_eq!(against(100.0, typical), Some(RangePosition::Within));
        assert_eq!(against(201.0, typical), Some(RangePosition::Above));
        assert_eq!(against(1.0, ReferenceIops::Measured(1.0)), None);
        assert!((typical.middle() - 141.42).abs() < 0.01);
    }
}
