//! What can keep a chore from reaching a verdict.

use std::path::PathBuf;

/// A chore could not be carried out. (A finding is not an error: it is the chore's result.)
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("failed to read {path}: {source}")]
    Read { path: PathBuf, source: std::io::Error },
    #[error("failed to write {path}: {source}")]
    Write { path: PathBuf, source: std::io::Error },
    #[error("failed to start {program}: {source}")]
    Start { program: String, source: std::io::Error },
    #[error("failed to read the output of {program}: {source}")]
    Output { program: String, source: std::io::Error },
    #[error("{program} said: {message}")]
    Program { program: String, message: String },
    #[error("unexpected output of cargo metadata: {0}")]
    Metadata(#[from] serde_json::Error),
    #[error("{path} is not a list of capabilities: {source}")]
    Capabilities { path: PathBuf, source: Box<toml::de::Error> },
    #[error("usage: cargo xtask {0}")]
    Usage(&'static str),
}
