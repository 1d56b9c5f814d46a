//! Options of the program fio itself, which describe no job, and what becomes of each. Pure data.
//!
//! None is dropped silently: what ends a run otherwise than asked is refused with what to use instead; what only changes how
//! fio shows its progress is a loss of the report.

/// Whether a value belongs to an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Argument {
    /// Never.
    None,
    /// Only if attached by `=`.
    Optional,
    /// Always: attached, or the next word.
    Required,
}

/// An option that is honoured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Setting {
    /// Nothing may be written.
    Readonly,
    /// Read the options and end.
    ParseOnly,
    /// Print job files as command lines and end.
    ShowCommand,
    /// Only this section of the job files.
    Section,
    /// Print the version and end.
    Version,
    /// Print the help and end.
    Help,
    /// The forms of the report.
    OutputFormat,
    /// The file of the report.
    Output,
    /// The terse form and no other.
    Minimal,
    /// The terse form, too.
    AppendTerse,
    /// The version of the terse form.
    TerseVersion,
    /// Logs of the bandwidth of all jobs together.
    BandwidthLog,
    /// When progress is shown.
    Eta,
    /// How often a report is made while the jobs run.
    StatusInterval,
    /// Messages of what fio does itself.
    Debug,
    /// Whatever is lost is an error.
    WarningsFatal,
    /// A machine that does the jobs.
    Client,
    /// Explain an option and end.
    OptionHelp,
    /// Explain an engine and end.
    EngineHelp,
    /// Print a compressed log as text and end.
    InflateLog,
}

/// What becomes of an option of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    /// It does what it does in fio.
    Set(Setting),
    /// Nothing depends on it; the text says why.
    NoEffect(&'static str),
    /// Nothing runs: what does not happen, and what to use instead.
    Refused(&'static str, &'static str),
}

/// One option of the program.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry {
    /// fio's name.
    pub(super) name: &'static str,
    /// Whether a value belongs to it.
    pub(super) argument: Argument,
    /// What becomes of it.
    pub(super) fate: Fate,
}

const fn entry(name: &'static str, argument: Argument, fate: Fate) -> Entry {
    Entry { name, argument, fate }
}

const NO_NETWORK: &str = "fio's servers are not used: hosts are reached over ssh";
const OVER_SSH: &str = "--client=HOST, which needs nothing that listens there";
const NO_TRIGGER: &str = "nothing is triggered while jobs run";
const ITSELF: &str = "leave it out, or run fio itself: assay judge -- fio ..";

use Argument::{None as No, Optional, Required};
use Fate::{NoEffect, Refused, Set};

/// Every option of fio 3.42 that describes no job.
pub(super) static OPTIONS: &[Entry] = &[
    entry("readonly", No, Set(Setting::Readonly)),
    entry("parse-only", No, Set(Setting::ParseOnly)),
    entry("showcmd", No, Set(Setting::ShowCommand)),
    entry("section", Required, Set(Setting::Section)),
    entry("version", No, Set(Setting::Version)),
    entry("help", No, Set(Setting::Help)),
    entry("output-format", Required, Set(Setting::OutputFormat)),
    entry("output", Required, Set(Setting::Output)),
    entry("minimal", No, Set(Setting::Minimal)),
    entry("append-terse", Optional, Set(Setting::AppendTerse)),
    entry("terse-version", Required, Set(Setting::TerseVersion)),
    entry("bandwidth-log", Optional, Set(Setting::BandwidthLog)),
    entry(
        "latency-log",
        Required,
        Refused("no latency logs are written here", "before the options of fio: --fio-logs DIR"),
    ),
    entry("inflate-log", Required, Set(Setting::InflateLog)),
    entry("eta", Required, Set(Setting::Eta)),
    entry("eta-newline", Required, NoEffect("progress is one line on stderr")),
    entry("eta-interval", Required, NoEffect("progress is shown as it comes")),
    entry("status-interval", Required, Set(Setting::StatusInterval)),
    entry("debug", Required, Set(Setting::Debug)),
    entry(
        "idle-prof",
        Required,
        Refused("idle processors are not profiled", "leave it out: each run keeps the use of its processors"),
    ),
    entry("warnings-fatal", No, Set(Setting::WarningsFatal)),
    entry("max-jobs", Required, NoEffect("fio ignores it too")),
    entry("alloc-size", Required, NoEffect("memory is taken as it is needed")),
    entry("aux-path", Required, NoEffect("no files of state are left")),
    entry("merge-blktrace-only", No, Refused("traces are not merged", ITSELF)),
    entry("cpuclock-test", No, Refused("the clock of the processor is not tested", "assay doctor")),
    entry("crctest", Optional, Refused("checksum functions are not timed", "run fio itself")),
    entry("cmdhelp", Optional, Set(Setting::OptionHelp)),
    entry("enghelp", Optional, Set(Setting::EngineHelp)),
    entry("trigger-file", Required, Refused(NO_TRIGGER, ITSELF)),
    entry("trigger-timeout", Required, Refused(NO_TRIGGER, ITSELF)),
    entry("trigger", Required, Refused(NO_TRIGGER, ITSELF)),
    entry("trigger-remote", Required, Refused(NO_TRIGGER, ITSELF)),
    entry("client", Required, Set(Setting::Client)),
    entry("server", Optional, Refused(NO_NETWORK, OVER_SSH)),
    entry("daemonize", Required, Refused(NO_NETWORK, OVER_SSH)),
    entry("remote-config", Required, Refused(NO_NETWORK, OVER_SSH)),
];

/// The option of a full name.
pub(super) fn option(name: &str) -> Option<&'static Entry> {
    OPTIONS.iter().find(|entry| entry.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_option_of_the_program_is_one_of_a_job() {
        for entry in OPTIONS {
            assert!(crate::table::core(entry.name).is_none(), "{}", entry.name);
            assert_eq!(OPTIONS.iter().filter(|other| other.name == entry.name).count(), 1, "{}", entry.name);
        }
    }
}
