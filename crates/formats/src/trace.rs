//! Recorded I/O: fio's iolog (versions 2 and 3), the text of blkparse, and CSV of time, operation, offset and length.
//!
//! A [`Parser`] takes one line after the other, so that a trace of any length needs no memory; [`parse`] is for those that
//! are held in memory. Lines that cannot be read are counted, the first of them said with their number; nothing panics on
//! any text.

mod blkparse;
mod csv;
mod iolog;
#[cfg(test)]
mod tests;

use assay_workload::pattern::OpKind;

use crate::diagnostic::{Diagnostic, Position, Severity};

/// Lines that cannot be read are said one by one up to here.
const SAID_MAX: usize = 8;
/// Different files or devices in one trace.
const TARGETS_MAX: usize = 4096;
/// Requests longer than this are no requests.
const LENGTH_MAX: u64 = 1 << 30;

/// The language of a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TraceFormat {
    /// fio's text log, version 2: without times.
    IologV2,
    /// fio's text log, version 3: times in milliseconds.
    IologV3,
    /// The default output of blkparse.
    Blkparse,
    /// `time,op,offset,length`, optionally `target` and `latency`.
    Csv,
}

impl TraceFormat {
    /// In a few words.
    pub fn describe(self) -> &'static str {
        match self {
            TraceFormat::IologV2 => "fio iolog version 2, without times",
            TraceFormat::IologV3 => "fio iolog version 3",
            TraceFormat::Blkparse => "text of blkparse",
            TraceFormat::Csv => "CSV",
        }
    }

    /// Whether its operations have times.
    pub fn is_timed(self) -> bool {
        self != TraceFormat::IologV2
    }
}

/// One operation of a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceOp {
    /// When it was issued, nanoseconds on the trace's clock; its number where the trace has no times.
    pub at_ns: u64,
    /// Index of the file or device in [`Parser::targets`].
    pub target: u16,
    /// What it was.
    pub kind: OpKind,
    /// Where, bytes.
    pub offset_bytes: u64,
    /// How much, bytes.
    pub len_bytes: u32,
    /// How long it took, where the line says so.
    pub latency_ns: Option<u64>,
}

/// What a line says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TraceEvent {
    /// An operation was issued.
    Issued(TraceOp),
    /// One that was issued before has completed.
    Completed {
        /// When, nanoseconds on the trace's clock.
        at_ns: u64,
    },
}

/// Why a line is not part of a trace: the word, what is wrong, and the fix.
struct Problem {
    word: String,
    message: String,
    help: &'static str,
}

impl Problem {
    fn new(word: &str, message: impl Into<String>, help: &'static str) -> Self {
        let word = word.chars().take(40).filter(|c| !c.is_control()).collect();
        Problem { word, message: message.into(), help }
    }
}

/// The parser of each language.
#[derive(Debug)]
enum State {
    Unknown,
    Iolog(iolog::Iolog),
    Blkparse(blkparse::Blkparse),
    Csv(csv::Csv),
}

/// Reads a trace line by line.
#[derive(Debug)]
pub struct Parser {
    name: String,
    state: State,
    line: u32,
    ops: u64,
    targets: Targets,
    unread: u64,
    diagnostics: Vec<Diagnostic>,
}

/// Names of files and devices by index.
#[derive(Debug, Default)]
struct Targets {
    names: Vec<String>,
    last: usize,
}

impl Targets {
    /// The index of a name, which is new or not.
    fn index(&mut self, name: &str) -> Result<u16, Problem> {
        if self.names.get(self.last).is_some_and(|last| last == name) {
            return Ok(self.last as u16);
        }
        let found = self.names.iter().position(|known| known == name);
        self.last = match found {
            Some(index) => index,
            None if self.names.len() < TARGETS_MAX => {
                self.names.push(name.chars().filter(|c| !c.is_control()).collect());
                self.names.len() - 1
            }
            None => {
                let message = format!("more than {TARGETS_MAX} files or devices");
                return Err(Problem::new(name, message, "cut the trace into several"));
            }
        };
        Ok(self.last as u16)
    }
}

impl Parser {
    /// For a trace that goes by this name in diagnostics.
    pub fn new(name: &str) -> Parser {
        Parser {
            name: name.to_owned(),
            state: State::Unknown,
            line: 0,
            ops: 0,
            targets: Targets::default(),
            unread: 0,
            diagnostics: Vec::new(),
        }
    }

    /// What the next line says; `None`: nothing, or nothing that could be read.
    pub fn line(&mut self, text: &str) -> Option<TraceEvent> {
        self.line = self.line.saturating_add(1);
        let text = text.trim_end_matches(['\n', '\r']);
        let text = if self.line == 1 { text.trim_start_matches('\u{feff}') } else { text };
        if text.trim().is_empty() {
            return None;
        }
        if matches!(self.state, State::Unknown) {
            let (state, is_head) = begin(text);
            self.state = state;
            if is_head {
                return None;
            }
        }
        let found = match &mut self.state {
            State::Unknown => Ok(None),
            State::Iolog(iolog) => iolog.line(text, self.ops, &mut self.targets),
            State::Blkparse(blkparse) => blkparse.line(text, &mut self.targets),
            State::Csv(csv) => csv.line(text, &mut self.targets),
        };
        match found {
            Ok(event) => {
                self.ops += u64::from(matches!(event, Some(TraceEvent::Issued(_))));
                event
            }
            Err(problem) => {
                self.refuse(problem);
                None
            }
        }
    }

    fn refuse(&mut self, problem: Problem) {
        self.unread += 1;
        if self.diagnostics.len() < SAID_MAX {
            self.diagnostics.push(Diagnostic {
                severity: Severity::Loss,
                id: "trace-line",
                position: Some(Position { file: self.name.clone(), line: self.line, column: 0 }),
                word: problem.word,
                message: problem.message,
                help: problem.help.to_owned(),
            });
        }
    }

    /// The language, as soon as a line has shown it.
    pub fn format(&self) -> Option<TraceFormat> {
        match &self.state {
            State::Unknown => None,
            State::Iolog(iolog) => Some(iolog.format()),
            State::Blkparse(_) => Some(TraceFormat::Blkparse),
            State::Csv(_) => Some(TraceFormat::Csv),
        }
    }

    /// Names of files and devices in the order they came.
    pub fn targets(&self) -> &[String] {
        &self.targets.names
    }

    /// Operations so far.
    pub fn ops(&self) -> u64 {
        self.ops
    }

    /// What there is to say at the end. An error where there was no operation at all.
    pub fn finish(mut self) -> Vec<Diagnostic> {
        let said = self.diagnostics.len() as u64;
        if let State::Blkparse(blkparse) = &self.state {
            self.diagnostics.extend(blkparse.remark(&self.name));
        }
        if self.unread > said {
            self.remark(Severity::Loss, format!("{} more lines could not be read", self.unread - said));
        }
        if self.ops == 0 {
            let read =
                "read are fio iologs, the text of blkparse, and CSV with the head time,op,offset,length";
            self.remark(Severity::Error, format!("there is no operation in it; what can be {read}"));
        }
        self.diagnostics
    }

    fn remark(&mut self, severity: Severity, message: String) {
        self.diagnostics.push(Diagnostic {
            severity,
            id: "trace",
            position: Some(Position { file: self.name.clone(), line: self.line.max(1), column: 0 }),
            word: String::new(),
            message,
            help: String::new(),
        });
    }
}

/// The parser for a trace that begins with this line, and whether the line is only its head.
fn begin(text: &str) -> (State, bool) {
    if let Some(iolog) = iolog::Iolog::of_head(text) {
        return (State::Iolog(iolog), true);
    }
    if let Some(csv) = csv::Csv::of_head(text) {
        return (State::Csv(csv), true);
    }
    if text.contains(',') && csv::looks_like(text) {
        return (State::Csv(csv::Csv::default()), false);
    }
    (State::Blkparse(blkparse::Blkparse::default()), false)
}

/// A trace in memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trace {
    /// Its language.
    pub format: TraceFormat,
    /// Files and devices.
    pub targets: Vec<String>,
    /// In the order of the lines.
    pub events: Vec<TraceEvent>,
}

/// Reads a whole trace; `None` where there is no operation in it.
pub fn parse(name: &str, text: &str) -> (Option<Trace>, Vec<Diagnostic>) {
    let mut parser = Parser::new(name);
    let events: Vec<TraceEvent> = text.lines().filter_map(|line| parser.line(line)).collect();
    let trace = parser.format().filter(|_| parser.ops() > 0).map(|format| Trace {
        format,
        targets: parser.targets().to_vec(),
        events,
    });
    (trace, parser.finish())
}

/// A whole number of bytes that is no larger than addresses are.
fn number(word: &str, what: &str) -> Result<u64, Problem> {
    let refused =
        || Problem::new(word, format!("'{}' is no {what}", clip(word)), "give a whole number of bytes");
    word.parse::<u64>().ok().filter(|value| *value <= i64::MAX as u64).ok_or_else(refused)
}

/// The length of a request.
fn length(word: &str) -> Result<u32, Problem> {
    let bytes = number(word, "length")?;
    if bytes > LENGTH_MAX {
        return Err(Problem::new(
            word,
            format!("a request of {bytes} bytes"),
            "requests are at most 1 GiB long",
        ));
    }
    Ok(bytes as u32)
}

fn clip(word: &str) -> String {
    word.chars().take(40).filter(|c| !c.is_control()).collect()
}
