//! A run of one host is stored as it was before runs could have several: a run that was stored then is read, and its events
//! are written again byte for byte.

use std::path::{Path, PathBuf};

use assay_results::series::{Level, SeriesEncoder, SeriesReader};
use assay_results::store::{JournalContent, RunDir, recover};
use assay_results::{HostId, Run, RunEvent};

fn stored() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/one-host")
}

#[test]
fn a_journal_of_one_host_has_the_same_bytes() {
    let text = std::fs::read_to_string(stored().join("journal.jsonl")).expect("the journal");
    let content = JournalContent::read(&stored()).expect("a journal");
    assert_eq!(content.unreadable_lines, 0);
    assert_eq!(content.events.len(), text.lines().count() - 1);
    for (line, event) in text.lines().skip(1).zip(&content.events) {
        let again = serde_json::to_string(event).expect("a line");
        if let RunEvent::RunStarted { .. } = event {
            // It has the plan, whose form was another one.
            assert_eq!(&serde_json::from_str::<RunEvent>(&again).expect("an event"), event);
        } else {
            assert_eq!(again, line);
        }
    }
    assert!(content.events.iter().all(|event| match event {
        RunEvent::Host { host, .. } => *host == HostId::FIRST,
        _ => true,
    }));
}

#[test]
fn a_series_of_one_host_has_the_same_bytes() {
    let bytes = std::fs::read(stored().join("series.bin")).expect("the series");
    let mut reader = SeriesReader::open(bytes.as_slice()).expect("a series");
    let mut encoder = SeriesEncoder::new();
    let mut again = SeriesEncoder::header();
    while let Some(frame) = reader.next_frame().expect("a frame") {
        if frame.level == Level::Period {
            again.extend(encoder.encode(frame.host, &frame.interval));
        }
    }
    again.extend(encoder.finish());
    assert_eq!(again, bytes);
}

#[test]
fn a_run_stored_before_loads_and_is_made_again() {
    let run = RunDir::open(&stored()).and_then(|dir| dir.read_run()).expect("the run");
    let again = recover(&stored()).expect("made again");
    assert!(run.hosts.is_empty() && run.phases[0].hosts.is_empty());
    let brief = |run: &Run| {
        let total = &run.phases[0].jobs[0].total;
        (total.ios, total.bytes, total.completion_ns.p50, total.completion_ns.p99, total.completion_ns.max)
    };
    assert_eq!(brief(&again), brief(&run));
    assert_eq!(again.phases[0].device, run.phases[0].device);
    let text = serde_json::to_string(&again).expect("text");
    assert!(!text.contains("\"hosts\"") && !text.contains("\"common\""), "nothing new in a run of one host");
}
