//! The default text of blkparse: `MAJ,MIN CPU SEQUENCE SECONDS PID ACTION RWBS SECTOR + SECTORS [PROCESS]`.
//!
//! A request shows up several times on its way. Counted is its issue to the driver (`D`), or where a trace has none its
//! arrival in the queue (`Q`): whichever of the two comes first in the file. Completions (`C`) make the number outstanding
//! known. All other lines, and the summary at the end, are passed over.

use assay_workload::pattern::OpKind;

use super::{Dialect, LineResult, Problem, Targets, TraceEvent, TraceOp, length, number};
use crate::diagnostic::{Diagnostic, Position, Severity};

const SECTOR_BYTES: u64 = 512;
/// So many queued requests without one issued, and the trace is taken as one of arrivals.
const QUEUED_MAX: usize = 64;

/// The parser's state.
#[derive(Debug, Default)]
struct Blkparse {
    /// Which action counts; not known yet: `None`.
    counted: Option<char>,
    queued: usize,
    issued: u64,
    completed: u64,
}

/// The reader of any line: what is of no other language may be a message of blkparse.
pub fn blkparse(_text: &str) -> Option<(Box<dyn Dialect>, bool)> {
    Some((Box::new(Blkparse::default()), false))
}

impl Dialect for Blkparse {
    fn describe(&self) -> &'static str {
        "text of blkparse"
    }

    fn line(&mut self, text: &str, _index: u64, targets: &mut Targets) -> LineResult {
        let words: Vec<&str> = text.split_whitespace().take(10).collect();
        if !words.first().is_some_and(|word| is_device(word)) {
            // The summary at the end, messages and the like.
            return if self.counted.is_some() || self.queued > 0 { Ok(None) } else { Err(unknown(text)) };
        }
        let [device, _, _, time, _, action, rwbs, sector, plus, sectors] = words[..] else { return Ok(None) };
        let at_ns = seconds(time)?;
        if plus != "+" || action.len() != 1 {
            return Ok(None);
        }
        match action {
            "C" => {
                // What was issued before the trace began is not missed.
                let known = self.completed < self.issued;
                self.completed += u64::from(known);
                Ok(known.then_some(TraceEvent::Completed { at_ns }))
            }
            "D" | "Q" if self.counts(action) => {
                let Some(kind) = kind_of(rwbs) else { return Ok(None) };
                let (sector, sectors) = (number(sector, "sector")?, number(sectors, "number of sectors")?);
                let bytes = |count: u64| count.saturating_mul(SECTOR_BYTES);
                let len_bytes = length(&bytes(sectors).to_string())?;
                self.issued += 1;
                Ok(Some(TraceEvent::Issued(TraceOp {
                    at_ns,
                    target: targets.index(device)?,
                    kind,
                    offset_bytes: bytes(sector).min(i64::MAX as u64),
                    len_bytes,
                    latency_ns: None,
                })))
            }
            _ => Ok(None),
        }
    }

    fn remark(&self, name: &str) -> Option<Diagnostic> {
        let queued = self.counted == Some('Q');
        let message = if queued {
            format!(
                "requests are counted as they came into the queue (Q); the first {QUEUED_MAX} are left out, because the \
                 trace might have shown when they were issued (D)"
            )
        } else {
            "requests are counted as they were issued to the driver (D)".to_owned()
        };
        (self.issued > 0).then(|| Diagnostic {
            severity: Severity::Note,
            id: "blkparse-action",
            position: Some(Position { file: name.to_owned(), line: 1, column: 0 }),
            affects: None,
            word: if queued { "Q" } else { "D" }.to_owned(),
            message,
            help: String::new(),
        })
    }
}

impl Blkparse {
    /// Whether requests are counted at this action.
    fn counts(&mut self, action: &str) -> bool {
        match self.counted {
            Some(counted) => action.starts_with(counted),
            None if action == "D" => {
                self.counted = Some('D');
                true
            }
            None => {
                self.queued += 1;
                if self.queued > QUEUED_MAX {
                    self.counted = Some('Q');
                }
                self.counted.is_some()
            }
        }
    }
}

fn unknown(text: &str) -> Problem {
    let help = "read are fio iologs (head: fio version 3 iolog), the text of blkparse, and CSV (head: time,op,offset,length)";
    Problem::new(text, "not a line of any trace that can be read", help)
}

/// `8,0`.
fn is_device(word: &str) -> bool {
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    word.split_once(',').is_some_and(|(major, minor)| is_number(major) && is_number(minor))
}

/// Seconds with up to nine digits behind the point, as nanoseconds.
fn seconds(word: &str) -> Result<u64, Problem> {
    let refused = || Problem::new(word, format!("'{}' is no time", super::clip(word)), "times are seconds");
    let (whole, part) = word.split_once('.').unwrap_or((word, ""));
    let whole: u64 = whole.parse().map_err(|_| refused())?;
    if !part.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(refused());
    }
    let digits: String = part.chars().chain("000000000".chars()).take(9).collect();
    let ns: u64 = digits.parse().map_err(|_| refused())?;
    whole.checked_mul(1_000_000_000).and_then(|value| value.checked_add(ns)).ok_or_else(refused)
}

/// The operation of an RWBS field; flushes alone and what moves nothing have none.
fn kind_of(rwbs: &str) -> Option<OpKind> {
    if rwbs.contains('D') {
        Some(OpKind::Trim)
    } else if rwbs.contains('W') {
        Some(OpKind::Write)
    } else if rwbs.contains('R') {
        Some(OpKind::Read)
    } else {
        None
    }
}
