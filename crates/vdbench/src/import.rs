//! vdbench's `flatfile.html`: columns with names, a line for each reporting period and one for the average of each run.

mod run;

use std::collections::HashMap;

use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use assay_results::event::RunEnd;
use assay_results::foreign::{ENTRIES_MAX, Found, TEXT_BYTES_MAX, assemble, cut};
use assay_results::run::Run;
use assay_workload::SweepPoint;

use self::run::{Group, phase_of};

/// What vdbench calls response time.
const DEFINITION: &str = "vdbench's response time: how long a thread was in the call that did the I/O; what an I/O waited for a free thread is not in it";

/// Why a text is not a result of vdbench that can be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ImportError {
    /// It is longer than [`TEXT_BYTES_MAX`].
    #[error("the text is longer than {} MiB", TEXT_BYTES_MAX >> 20)]
    TooLong,
    /// There is no result in it.
    #[error("there is no result in it: {0}")]
    Empty(String),
    /// More than [`ENTRIES_MAX`] rows.
    #[error("it holds more than {ENTRIES_MAX} results")]
    TooMany,
}

/// Reads a flat file; `None`: the text is none.
pub fn import(text: &str) -> Option<Result<Run, ImportError>> {
    let (columns, skip) = header(text)?;
    Some(if text.len() > TEXT_BYTES_MAX {
        Err(ImportError::TooLong)
    } else {
        vdbench_flatfile(text, &columns, skip)
    })
}

/// The columns of a file by their names in lower case.
#[derive(Debug, Clone, Default)]
pub(super) struct Columns(HashMap<String, usize>);

impl Columns {
    fn of(header: &str) -> Self {
        let names = header.split_whitespace().take(1000).enumerate();
        Columns(names.map(|(index, name)| (name.to_ascii_lowercase(), index)).collect())
    }

    fn are_of_a_flat_file(&self) -> bool {
        ["run", "interval", "rate", "resp"].iter().all(|name| self.0.contains_key(*name))
    }
}

/// One line.
#[derive(Debug, Clone)]
pub(super) struct Line<'t> {
    columns: &'t Columns,
    fields: Vec<&'t str>,
}

impl<'t> Line<'t> {
    pub(super) fn text(&self, name: &str) -> Option<&'t str> {
        self.columns.0.get(name).and_then(|index| self.fields.get(*index)).copied()
    }

    /// A number that is neither negative nor beyond all bounds; `None` for `n/a`.
    pub(super) fn number(&self, name: &str) -> Option<f64> {
        let value: f64 = self.text(name)?.parse().ok()?;
        (0.0..1e15).contains(&value).then_some(value)
    }

    fn run(&self) -> &'t str {
        self.text("run").unwrap_or("")
    }

    /// The numbers of the first and last period of an average.
    pub(super) fn average(&self) -> Option<(u64, u64)> {
        let (first, last) = self.text("interval")?.strip_prefix("avg_")?.split_once('-')?;
        let (first, last): (u64, u64) = (first.parse().ok()?, last.parse().ok()?);
        (first <= last && last < 1 << 32).then_some((first, last))
    }

    pub(super) fn interval(&self) -> Option<u64> {
        self.text("interval")?.parse().ok()
    }

    /// Seconds since midnight.
    pub(super) fn time_of_day_s(&self) -> Option<f64> {
        let mut parts = self.text("tod")?.split(':');
        let mut next = || parts.next()?.parse::<f64>().ok().filter(|part| (0.0..100.0).contains(part));
        Some((next()? * 60.0 + next()?) * 60.0 + next()?)
    }

    /// Milliseconds since 1970 of `11/21/2026-18:42:08-UTC`, whatever the zone: its letters do not tell which.
    fn moment_ms(&self) -> Option<i64> {
        let text = self.text("timestamp")?.get(..19)?;
        let civil = DateTime::strptime("%m/%d/%Y-%H:%M:%S", text).ok()?;
        Some(civil.to_zoned(TimeZone::UTC).ok()?.timestamp().as_millisecond())
    }

    fn zone(&self) -> &'t str {
        self.text("timestamp").and_then(|text| text.get(20..)).unwrap_or("")
    }
}

/// The columns, and the number of lines up to them.
fn header(text: &str) -> Option<(Columns, usize)> {
    const LINES_MAX: usize = 1000;
    let lines = text.lines().enumerate().take(LINES_MAX);
    lines
        .filter(|(_, line)| !line.starts_with('*') && line.len() < 10_000)
        .map(|(index, line)| (Columns::of(line), index + 1))
        .find(|(columns, _)| columns.are_of_a_flat_file())
}

/// Reads the flat file of vdbench, that of raw devices and files and that of file systems. Each run that it was given is a
/// phase; where there are several of one name the columns that tell them apart are its point. The average is vdbench's own,
/// which leaves out the first period and the warm-up; a run that was stopped before it had one gets that of its
/// periods, by the same rule.
///
/// # Errors
/// Where the columns or the lines are missing.
fn vdbench_flatfile(text: &str, columns: &Columns, skip: usize) -> Result<Run, ImportError> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    let mut rows = 0;
    for line in text.lines().skip(skip).filter(|line| !line.starts_with('*')) {
        let fields: Vec<&str> = line.split_whitespace().take(columns.0.len() + 1).collect();
        let line = Line { columns, fields };
        let (average, interval) = (line.average(), line.interval());
        if average.is_none() && interval.is_none() || line.number("rate").is_none() {
            continue;
        }
        rows += 1;
        if rows > ENTRIES_MAX {
            return Err(ImportError::TooMany);
        }
        let open = groups.last_mut().filter(|group| group.takes(line.run(), interval));
        let group = match open {
            Some(group) => group,
            None => {
                groups.push(Group::new(line.run()));
                let Some(group) = groups.last_mut() else { continue };
                group
            }
        };
        match average {
            Some(_) => group.average = Some(line),
            None => group.periods.push(line),
        }
    }
    let first = groups.first().and_then(Group::first).ok_or_else(|| {
        ImportError::Empty("a flat file with columns, but without a line under them".to_owned())
    })?;
    let interval_s = groups.first().map_or(1.0, Group::interval_s);
    let mut found = Found {
        tool: "vdbench".to_owned(),
        definition: DEFINITION.to_owned(),
        name: cut(first.run()),
        started_ms: first.moment_ms().map(|ms| ms.saturating_sub((interval_s * 1e3) as i64)),
        ..Found::default()
    };
    note(first, &mut found);
    found.end = if groups.iter().all(|group| group.average.is_some()) {
        Some(RunEnd::Completed)
    } else {
        let text =
            "a run has no line of averages: it was stopped; its periods were averaged without the first";
        found.notes.push(("no-average", text.to_owned()));
        Some(RunEnd::Interrupted)
    };
    let points = run::points(&groups);
    for (group, (point, repeat)) in groups.iter().zip(points) {
        if let Some((mut phase, planned)) = phase_of(group, &mut found.targets) {
            (phase.point, phase.repeat) = (SweepPoint::new(point), repeat);
            let periods_s = group.periods.len() as f64 * group.interval_s();
            found.elapsed_s += phase.measured_s.max(periods_s);
            let wrong = run::contradictions(group).into_iter().map(|text| (found.phases.len(), text));
            found.contradictions.extend(wrong);
            found.phases.push((phase, planned));
        }
    }
    Ok(assemble(found, text))
}

fn note(first: &Line<'_>, found: &mut Found) {
    let text = "vdbench gives means, maxima and deviations: there are no percentiles, and no minima";
    found.notes.push(("no-percentiles", text.to_owned()));
    let zone = first.zone();
    if !["UTC", "GMT", ""].contains(&zone) {
        let text = format!("times are those of the zone {}, taken as if they were UTC", cut(zone));
        found.notes.push(("zone-unknown", text));
    }
}
