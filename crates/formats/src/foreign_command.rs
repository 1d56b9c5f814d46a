//! Commands that foreign files want run beside their jobs.

use std::fmt;

use super::diagnostic::Position;

/// When a command is to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandTime {
    /// Before the first job.
    Before,
    /// After the last one.
    After,
}

/// A command that a file names, for a shell. Nothing runs it unless the user allows that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForeignCommand {
    /// When.
    pub when: CommandTime,
    /// The option that asks for it.
    pub option: &'static str,
    /// The job or run that it belongs to; empty: the whole file.
    pub of: String,
    /// As it was written.
    pub command: String,
    /// Where.
    pub position: Position,
}

impl fmt::Display for ForeignCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = if self.of.is_empty() { String::new() } else { format!(" of {}", self.of) };
        write!(f, "{}{of} (`{}`)", self.option, self.command)
    }
}
