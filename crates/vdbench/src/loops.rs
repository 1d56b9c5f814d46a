//! Loops of a run definition: one run for each combination of their values.

use super::args::{Args, to_u64};
use super::file_workload::{FileOperation, operations};
use super::keyword::worded;
use super::number::{Number, show, show_size};

worded! {
    /// What a loop changes, with the keyword that run labels have for it.
    pub enum LoopKind {
        TransferSize = "xfersize",
        Threads = "threads",
        ReadPct = "rdpct",
        ReadHitPct = "rhpct",
        WriteHitPct = "whpct",
        SeekPct = "seekpct",
        HitArea = "hitarea",
        CompressionRatio = "compratio",
        Compression = "compression",
        Depth = "depth",
        Width = "width",
        Files = "files",
        Sizes = "sizes",
        TotalSize = "totalsize",
        WorkingSet = "wss",
        Operation = "operation",
        Rate = "iorate",
        FileRate = "fwdrate",
    }
}

impl LoopKind {
    /// What a keyword of a run varies, with `for` before it or without.
    pub(crate) fn from_keyword(keyword: &str) -> Option<Self> {
        let word = match keyword.strip_prefix("for").unwrap_or(keyword) {
            "workingsetsize" => "wss",
            "operations" => "operation",
            word => word,
        };
        Self::WORDS.iter().find(|(_, own)| *own == word).map(|(kind, _)| *kind)
    }

    fn is_size(self) -> bool {
        matches!(self, Self::TransferSize | Self::HitArea | Self::Sizes | Self::TotalSize | Self::WorkingSet)
    }

    fn is_percent(self) -> bool {
        matches!(self, Self::ReadPct | Self::ReadHitPct | Self::WriteHitPct)
    }
}

/// One value of a loop.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum LoopValue {
    /// A number.
    Number(Number),
    /// An operation.
    Operation(FileOperation),
}

impl LoopValue {
    /// As run labels print it.
    #[must_use]
    pub fn show(self, kind: LoopKind) -> String {
        match self {
            Self::Operation(op) => op.word().to_owned(),
            Self::Number(n) if n.percent => format!("{}%", show(n.value)),
            Self::Number(n) if kind.is_size() => show_size(n.value),
            Self::Number(n) => show(n.value),
        }
    }
}

/// A loop over one parameter.
#[derive(Debug, Clone, PartialEq)]
pub struct Loop {
    /// What changes.
    pub kind: LoopKind,
    /// The values, in order.
    pub values: Vec<LoopValue>,
}

/// Adds a loop; a repeated keyword replaces the earlier one and becomes the innermost loop.
pub(crate) fn add_loop(loops: &mut Vec<Loop>, kind: LoopKind, args: &mut Args<'_>) {
    let values: Vec<LoopValue> = if kind == LoopKind::Operation {
        operations(args).into_iter().map(LoopValue::Operation).collect()
    } else {
        loop_numbers(kind, args).into_iter().map(LoopValue::Number).collect()
    };
    if values.is_empty() {
        return;
    }
    loops.retain(|l| l.kind != kind);
    loops.push(Loop { kind, values });
}

fn loop_numbers(kind: LoopKind, args: &mut Args<'_>) -> Vec<Number> {
    if kind == LoopKind::SeekPct && args.values.iter().any(|v| v.number.is_none()) {
        let message = "vdbench takes only numbers for seekpct in a run; the word is taken as its number";
        args.note("seekpct-word-in-run", message, "write 100 for random, 0 for sequential, -1 for eof");
        for value in &mut args.values {
            value.number = value.number.or(match value.word.text.to_ascii_lowercase().as_str() {
                "eof" => Some(Number::plain(-1.0)),
                w if w.starts_with("seq") => Some(Number::plain(0.0)),
                w if w.starts_with("rand") => Some(Number::plain(100.0)),
                _ => None,
            });
        }
    }
    let numbers = args.numbers().unwrap_or_default();
    let wrong = |n: &Number| match kind {
        LoopKind::TransferSize => n.value < 512.0 || n.value % 512.0 != 0.0,
        LoopKind::SeekPct => !(-1.0..=100.0).contains(&n.value),
        LoopKind::CompressionRatio => !(1.0..=25.0).contains(&n.value),
        _ if kind.is_percent() => !(0.0..=100.0).contains(&n.value),
        LoopKind::HitArea => n.value < 0.0,
        _ => n.value <= 0.0,
    };
    if let Some(bad) = numbers.iter().position(wrong) {
        let help = match kind {
            LoopKind::TransferSize => "in a run, a list is one run for each size; sizes are multiples of 512",
            _ => "choose a value within bounds",
        };
        args.reject(bad, "out of bounds", help);
        return Vec::new();
    }
    numbers
}

/// A loop value as a whole number, for callers that need one.
#[must_use]
pub fn loop_u64(value: LoopValue) -> Option<u64> {
    match value {
        LoopValue::Number(n) if n.value >= 0.0 => Some(to_u64(n.value)),
        _ => None,
    }
}
