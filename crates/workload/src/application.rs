//! Jobs that are neither block I/O nor a file tree: transactions of a database, sessions of a mail server.

use serde::{Deserialize, Serialize};

use crate::job::Caching;
use crate::pattern::AccessPattern;
use crate::tree::TreeWorkload;

/// The load of an application. The kind of job of that name carries it out, and alone knows its settings; where there is
/// none, the plan is refused.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Application {
    /// The kind of job: `oltp`, `mail`.
    pub kind: String,
    /// What it does, in one line for people: `TPC-C derived, 10 warehouses`.
    pub words: String,
    /// Its settings, as the kind defines them.
    #[serde(default)]
    pub settings: serde_json::Map<String, serde_json::Value>,
}

/// What is wrong with a setting of an application.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingFault {
    /// Its name; empty: it is about several together.
    pub name: String,
    /// What is wrong.
    pub what: String,
    /// What is possible.
    pub help: String,
}

/// A kind of application, as far as those need it who read plans: in a plan the settings are texts.
pub trait ApplicationKind: Sync {
    /// The word for it.
    fn kind(&self) -> &'static str;

    /// The names of its settings.
    fn names(&self) -> Vec<&'static str>;

    /// Whether it goes around the page cache where a job does not say.
    fn caching(&self) -> Caching {
        Caching::Buffered
    }

    /// Whether a job with these settings works on a server that they name, so that it has no target where it names none.
    fn is_elsewhere(&self, _settings: &serde_json::Map<String, serde_json::Value>) -> bool {
        false
    }

    /// What a job with these settings does, in a line for people.
    ///
    /// # Errors
    /// The first setting that cannot be.
    fn words(&self, settings: &serde_json::Map<String, serde_json::Value>) -> Result<String, SettingFault>;
}

/// What a job consists of.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Body<'j> {
    /// Reads, writes and trims of blocks.
    Blocks(&'j AccessPattern),
    /// Operations on the files of a tree.
    Tree(&'j TreeWorkload),
    /// Operations of an application.
    Application(&'j Application),
}
