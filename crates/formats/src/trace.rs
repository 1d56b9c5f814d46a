//! Recorded I/O: what reads traces of any language, the text of blkparse, and CSV of time, operation, offset and length.
//!
//! A [`Parser`] takes one line after the other, so that a trace of any length needs no memory; [`parse`] is for those that
//! are held in memory. Lines that cannot be read are counted, the first of them said with their number; nothing panics on
//! any text.

mod blkparse;
mod csv;
mod reader;
#[cfg(test)]
mod tests;

use assay_workload::pattern::OpKind;

use crate::diagnostic::{Affects, Diagnostic, Position, Severity};

pub use blkparse::blkparse;
pub use csv::csv;
pub use reader::TraceReader;

/// Lines that cannot be read are said one by one up to here.
const SAID_MAX: usize = 8;
/// Different files or devices in one trace.
const TARGETS_MAX: usize = 4096;
/// Requests longer than this are no requests.
const LENGTH_MAX: u64 = 1 << 30;

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
pub struct Problem {
    word: String,
    message: String,
    help: &'static str,
}

impl Problem {
    /// Of a word, which is cut short.
    pub fn new(word: &str, message: impl Into<String>, help: &'static str) -> Self {
        let word = word.chars().take(40).filter(|c| !c.is_control()).collect();
        Problem { word, message: message.into(), help }
    }
}

/// What a line says; `None`: nothing that counts.
pub type LineResult = Result<Option<TraceEvent>, Problem>;

/// What reads one language.
pub trait Dialect: std::fmt::Debug {
    /// The language, as people call it.
    fn describe(&self) -> &'static str;

    /// Whether its lines carry times.
    fn is_timed(&self) -> bool {
        true
    }

    /// What a line says; `index` operations came before it.
    ///
    /// # Errors
    /// Where it cannot be read.
    fn line(&mut self, text: &str, index: u64, targets: &mut Targets) -> LineResult;

    /// What there is to say at the end of the trace of this name.
    fn remark(&self, _name: &str) -> Option<Diagnostic> {
        None
    }
}

/// The reader for a trace that begins with this line, if it is of a language, and whether the line is only its head.
pub type Begin = fn(&str) -> Option<(Box<dyn Dialect>, bool)>;

/// Reads a trace line by line.
#[derive(Debug)]
pub struct Parser {
    name: String,
    known: &'static [Begin],
    dialect: Option<Box<dyn Dialect>>,
    line: u32,
    ops: u64,
    targets: Targets,
    unread: u64,
    diagnostics: Vec<Diagnostic>,
}

/// Names of files and devices by index.
#[derive(Debug, Default)]
pub struct Targets {
    names: Vec<String>,
    last: usize,
}

impl Targets {
    /// The index of a name, which is new or not.
    pub fn index(&mut self, name: &str) -> Result<u16, Problem> {
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
    /// For a trace that goes by this name in diagnostics. `known` are its possible languages; the first that fits counts.
    pub fn new(name: &str, known: &'static [Begin]) -> Parser {
        Parser {
            name: name.to_owned(),
            known,
            dialect: None,
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
        if self.dialect.is_none()
            && let Some((dialect, is_head)) = self.known.iter().find_map(|begin| begin(text))
        {
            self.dialect = Some(dialect);
            if is_head {
                return None;
            }
        }
        let found = match &mut self.dialect {
            None => Ok(None),
            Some(dialect) => dialect.line(text, self.ops, &mut self.targets),
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
                affects: Some(Affects::Test),
                word: problem.word,
                message: problem.message,
                help: problem.help.to_owned(),
            });
        }
    }

    /// The language, as soon as a line has shown it.
    pub fn dialect(&self) -> Option<&dyn Dialect> {
        self.dialect.as_deref()
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
        self.diagnostics.extend(self.dialect.as_ref().and_then(|dialect| dialect.remark(&self.name)));
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
            affects: (severity == Severity::Loss).then_some(Affects::Test),
            word: String::new(),
            message,
            help: String::new(),
        });
    }
}

/// A trace in memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trace {
    /// Its language, as people call it.
    pub language: &'static str,
    /// Files and devices.
    pub targets: Vec<String>,
    /// In the order of the lines.
    pub events: Vec<TraceEvent>,
}

/// Reads a whole trace; `None` where there is no operation in it.
pub fn parse(name: &str, text: &str, known: &'static [Begin]) -> (Option<Trace>, Vec<Diagnostic>) {
    let mut parser = Parser::new(name, known);
    let events: Vec<TraceEvent> = text.lines().filter_map(|line| parser.line(line)).collect();
    let trace = parser.dialect().filter(|_| parser.ops() > 0).map(|dialect| Trace {
        language: dialect.describe(),
        targets: parser.targets().to_vec(),
        events,
    });
    (trace, parser.finish())
}

/// A whole number of bytes that is no larger than addresses are.
pub fn number(word: &str, what: &str) -> Result<u64, Problem> {
    let refused =
        || Problem::new(word, format!("'{}' is no {what}", clip(word)), "give a whole number of bytes");
    word.parse::<u64>().ok().filter(|value| *value <= i64::MAX as u64).ok_or_else(refused)
}

/// The length of a request.
pub fn length(word: &str) -> Result<u32, Problem> {
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

/// A word short enough for a message.
pub fn clip(word: &str) -> String {
    word.chars().take(40).filter(|c| !c.is_control()).collect()
}
