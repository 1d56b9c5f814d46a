//! `journal.jsonl`: the events but the intervals, and the way back from it to the run.

use std::io::{BufRead, BufReader};
use std::path::Path;

use serde::Deserialize;

use super::{JOURNAL_FILE, SERIES_FILE, StoreError, open_regular};
use crate::build::RunBuilder;
use crate::event::{HostEvent, HostId, RunEvent};
use crate::run::Run;
use crate::series::{SeriesReader, Tail};

/// The first line; a reader refuses another major version and ignores events that it does not know.
pub(super) const FIRST_LINE: &str = "{\"journal\":\"assay.journal/1\"}\n";
const JOURNAL_MAJOR: &str = "assay.journal/1";

#[derive(Deserialize)]
struct FirstLine {
    journal: String,
}

/// An event as a line, with its end. Events are plain data, so nothing but an interval (which has no line) fails here.
pub(super) fn line_of(event: &RunEvent) -> Vec<u8> {
    let mut line = serde_json::to_vec(event).unwrap_or_default();
    line.push(b'\n');
    line
}

/// The events of a journal.
#[derive(Debug, Default)]
pub struct JournalContent {
    /// In order.
    pub events: Vec<RunEvent>,
    /// Lines that could not be read: a torn last one, or events of a later version.
    pub unreadable_lines: u64,
}

impl JournalContent {
    /// Reads the journal of a run directory, as far as it goes.
    ///
    /// # Errors
    /// When there is no journal, when it cannot be read, or when it is one of another major version.
    pub fn read(dir: &Path) -> Result<Self, StoreError> {
        let path = dir.join(JOURNAL_FILE);
        let file = open_regular(&path).map_err(StoreError::io("read", &path))?;
        let mut content = JournalContent::default();
        for (number, line) in BufReader::new(file).split(b'\n').enumerate() {
            let line = line.map_err(StoreError::io("read", &path))?;
            if line.is_empty() {
                continue;
            }
            if number == 0
                && let Ok(first) = serde_json::from_slice::<FirstLine>(&line)
            {
                let same = first.journal == JOURNAL_MAJOR || first.journal.starts_with("assay.journal/1.");
                if !same {
                    return Err(StoreError::OtherSchema { path, found: first.journal });
                }
                continue;
            }
            match serde_json::from_slice(&line) {
                Ok(event) => content.events.push(event),
                Err(_) => content.unreadable_lines += 1,
            }
        }
        Ok(content)
    }
}

/// Makes the run again from journal and series, by the same builder as while recording. Without its last event (it was
/// killed) it is incomplete. What was lost is among its notes. Writes nothing.
///
/// # Errors
/// When journal or series cannot be read, or when the journal lacks its beginning.
pub fn recover(dir: &Path) -> Result<Run, StoreError> {
    let mut journal = JournalContent::read(dir)?;
    let mut builder = RunBuilder::new();
    // The plan and the hosts first, then the intervals: how they lay between the other events makes no difference.
    let (first, rest): (Vec<RunEvent>, Vec<RunEvent>) =
        std::mem::take(&mut journal.events).into_iter().partition(is_announcement);
    first.iter().for_each(|event| builder.feed(event));
    let tail = feed_series(dir, &mut builder, &mut Some)?;
    rest.iter().for_each(|event| builder.feed(event));
    let mut note = |text: String| {
        builder.feed(&HostEvent::Note { phase: None, id: "recovered".to_owned(), text }.into());
    };
    if journal.unreadable_lines > 0 {
        note(format!("{} lines of the journal could not be read", journal.unreadable_lines));
    }
    if tail.damaged_frames > 0 {
        note(format!("{} damaged frames of the series were left out", tail.damaged_frames));
    }
    if tail.lost_bytes > 0 {
        note(format!("the last {} bytes of the series were torn and cut", tail.lost_bytes));
    }
    builder.finish().map_err(|source| StoreError::Unrecoverable { path: dir.to_owned(), source })
}

/// Whether an event says what the run is, and what its hosts are.
fn is_announcement(event: &RunEvent) -> bool {
    matches!(event, RunEvent::RunStarted { .. } | RunEvent::Host { event: HostEvent::Environment { .. }, .. })
}

/// Feeds the intervals of the hosts that `of` gives a number.
pub(super) fn feed_series(
    dir: &Path,
    builder: &mut RunBuilder,
    of: &mut dyn FnMut(HostId) -> Option<HostId>,
) -> Result<Tail, StoreError> {
    let path = dir.join(SERIES_FILE);
    let file = open_regular(&path).map_err(StoreError::io("read", &path))?;
    let series = |source| StoreError::Series { path: path.clone(), source };
    if file.metadata().map_err(StoreError::io("read", &path))?.len() == 0 {
        return Ok(Tail::default());
    }
    let mut reader = SeriesReader::open(BufReader::new(file)).map_err(series)?;
    while let Some(frame) = reader.next_frame().map_err(StoreError::io("read", &path))? {
        if frame.level == crate::series::Level::Period
            && let Some(host) = of(frame.host)
        {
            builder.feed(&HostEvent::Interval(Box::new(frame.interval)).of(host));
        }
    }
    Ok(reader.tail())
}
