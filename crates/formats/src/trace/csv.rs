//! CSV: a head that names the columns, in any order. `time`, `op`, `offset` and `length` are needed, `target` and `latency` may be
//! there. Times are seconds, or what their names end in: `time_ns`, `time_us`, `time_ms`. Without a head the columns are time,
//! op, offset, length.

use assay_workload::pattern::OpKind;

use super::{Dialect, LineResult, Problem, Targets, TraceEvent, TraceOp, length, number};

/// Columns by position.
#[derive(Debug)]
struct Csv {
    time: (usize, f64),
    op: usize,
    offset: usize,
    length: usize,
    target: Option<usize>,
    latency: Option<(usize, f64)>,
}

impl Default for Csv {
    fn default() -> Self {
        Csv { time: (0, 1e9), op: 1, offset: 2, length: 3, target: None, latency: None }
    }
}

/// Nanoseconds in a unit of a column's name: `time_us`.
fn unit_ns(name: &str, column: &str) -> Option<f64> {
    match name.strip_prefix(column)? {
        "" | "_s" => Some(1e9),
        "_ms" => Some(1e6),
        "_us" => Some(1e3),
        "_ns" => Some(1.0),
        _ => None,
    }
}

/// The reader of a text with such a head, or with lines of four columns.
pub fn csv(text: &str) -> Option<(Box<dyn Dialect>, bool)> {
    match Csv::of_head(text) {
        Some(csv) => Some((Box::new(csv), true)),
        None => looks_like(text).then(|| (Box::new(Csv::default()) as Box<dyn Dialect>, false)),
    }
}

/// Whether a line without a head may be one of this language.
fn looks_like(text: &str) -> bool {
    let words: Vec<&str> = text.split(',').map(str::trim).collect();
    words.len() >= 4 && words[0].parse::<f64>().is_ok() && kind(words[1]).is_some()
}

impl Csv {
    /// Of a head.
    fn of_head(text: &str) -> Option<Csv> {
        let names: Vec<String> =
            text.split(',').map(|name| name.trim().trim_matches('"').to_lowercase()).collect();
        let find = |wanted: &[&str]| names.iter().position(|name| wanted.contains(&name.as_str()));
        let timed = |column: &str| {
            names.iter().enumerate().find_map(|(index, name)| Some((index, unit_ns(name, column)?)))
        };
        Some(Csv {
            time: timed("time")?,
            op: find(&["op", "operation", "rw"])?,
            offset: find(&["offset", "offset_bytes"])?,
            length: find(&["length", "len", "size", "length_bytes"])?,
            target: find(&["target", "file", "device"]),
            latency: timed("latency"),
        })
    }
}

impl Dialect for Csv {
    fn describe(&self) -> &'static str {
        "CSV"
    }

    fn line(&mut self, text: &str, _index: u64, targets: &mut Targets) -> LineResult {
        let words: Vec<&str> = text.split(',').map(str::trim).collect();
        let word = |index: usize, what: &str| {
            let help = "each line has the columns of the head";
            words
                .get(index)
                .copied()
                .ok_or_else(|| Problem::new(text, format!("no {what} in this line"), help))
        };
        let op = word(self.op, "operation")?;
        let kind = kind(op).ok_or_else(|| {
            let message = format!("an operation '{}' is not known", super::clip(op));
            Problem::new(op, message, "known are read, write, trim, fsync and fdatasync, or R, W and T")
        })?;
        let latency = match self.latency {
            Some((index, unit)) => Some(words.get(index).copied().unwrap_or(""))
                .filter(|word| !word.is_empty())
                .map(|word| time(word, unit)),
            None => None,
        };
        let target = self.target.and_then(|index| words.get(index).copied()).unwrap_or("trace");
        Ok(Some(TraceEvent::Issued(TraceOp {
            at_ns: time(word(self.time.0, "time")?, self.time.1)?,
            target: targets.index(target)?,
            kind,
            offset_bytes: number(word(self.offset, "offset")?, "offset")?,
            len_bytes: length(word(self.length, "length")?)?,
            latency_ns: latency.transpose()?,
        })))
    }
}

/// A time in nanoseconds: exactly where it is a whole number of them.
fn time(word: &str, unit_ns: f64) -> Result<u64, Problem> {
    if unit_ns == 1.0
        && let Ok(ns) = word.parse::<u64>()
    {
        return Ok(ns);
    }
    let value = word.parse::<f64>().ok().map(|value| value * unit_ns);
    let value = value.filter(|ns| ns.is_finite() && (0.0..9e18).contains(ns));
    let message = || format!("'{}' is no time", super::clip(word));
    value.map(|ns| ns.round() as u64).ok_or_else(|| Problem::new(word, message(), "times are numbers from 0"))
}

fn kind(word: &str) -> Option<OpKind> {
    Some(match word.trim_matches('"').to_ascii_lowercase().as_str() {
        "r" | "read" => OpKind::Read,
        "w" | "write" => OpKind::Write,
        "t" | "d" | "trim" | "discard" => OpKind::Trim,
        "fsync" | "sync" | "f" => OpKind::Fsync,
        "fdatasync" | "datasync" => OpKind::Fdatasync,
        _ => return None,
    })
}
