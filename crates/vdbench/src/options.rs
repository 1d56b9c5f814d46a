//! What comes from outside the parameter file: the command line, and bounds that keep the parser total.

use std::collections::BTreeMap;

/// Bounds on what a parameter file may expand to. Beyond them a file is an error, never a hang.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Text in all, includes and substituted variables counted, in bytes.
    pub text_bytes: usize,
    /// Characters of one list that goes on over several lines.
    pub line_chars: usize,
    /// Definitions of one kind after `count=` and host repetition.
    pub definitions: usize,
    /// Elements that ranges may generate, in all.
    pub elements: usize,
    /// References from one definition to another, in all.
    pub references: usize,
    /// Runs after expansion.
    pub runs: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            text_bytes: 64 << 20,
            line_chars: 1 << 20,
            definitions: 200_000,
            elements: 1_000_000,
            references: 4_000_000,
            runs: 1_000_000,
        }
    }
}

/// Words of the command line that change what a parameter file means.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// `name=value` words: `$name` and `!name` in the file become the value. Where no line uses them, `validate`, `journal` and
    /// `data_errors` are general parameters of the file.
    pub variables: Vec<(String, String)>,
    /// Words behind `+`: appended to each run definition's line.
    pub extra: Vec<String>,
    /// `-r NAME`: skip the run definitions before this one.
    pub restart_at: Option<String>,
    /// `-e`: replaces every `elapsed=`, in seconds.
    pub elapsed_s: Option<u64>,
    /// `-i`: replaces every `interval=`, in seconds.
    pub interval_s: Option<u64>,
    /// `-w`: replaces every `warmup=`, in seconds.
    pub warmup_s: Option<u64>,
    /// Sizes in bytes of files that exist already: a file SD that is large enough needs no format run.
    pub existing_files: BTreeMap<String, u64>,
    /// The rate that stands for the measured maximum when the points of a curve are listed, in operations a second.
    pub simulated_max_rate: f64,
    /// Whether the unit error of vdbench's hotband is repaired.
    pub hotband_corrected: bool,
    /// Names of the machine that runs the file, beside localhost: an hd with one of them as its system is no other host.
    pub local_names: Vec<String>,
    /// Bounds on the expansion.
    pub limits: Limits,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            variables: Vec::new(),
            extra: Vec::new(),
            restart_at: None,
            elapsed_s: None,
            interval_s: None,
            warmup_s: None,
            existing_files: BTreeMap::new(),
            simulated_max_rate: 10_000.0,
            hotband_corrected: false,
            local_names: Vec::new(),
            limits: Limits::default(),
        }
    }
}
