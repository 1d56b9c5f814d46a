//! The machines a workload runs on.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::rng::{derive_seed, splitmix64};

/// Which host of a run: its number in the order in which they were named.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct HostId(pub u16);

/// Hosts a plan may have.
pub const HOSTS_MAX: usize = u16::MAX as usize;

impl HostId {
    /// The first host, and the only one of most runs.
    pub const FIRST: HostId = HostId(0);

    /// Whether it is [`HostId::FIRST`], which is left out where events and plans are stored.
    pub fn is_first(&self) -> bool {
        *self == HostId::FIRST
    }
}

/// A machine that does I/O, as it was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Host {
    /// The name jobs refer to it by.
    pub name: String,
    /// Its address or host name; `None`: the name.
    pub system: Option<String>,
    /// The user to log in as; `None`: the calling user.
    pub user: Option<String>,
    /// Worker processes on it (vdbench `jvms`). They share the threads of the host's jobs.
    pub instances: u32,
    /// Paths of targets, by the target's name, where they are not those of the other hosts.
    pub paths: BTreeMap<String, String>,
}

/// What a machine is called by itself.
const LOCAL_SYSTEMS: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

impl Host {
    /// A host with one worker process, reached under its name.
    pub fn new(name: &str) -> Self {
        let name = name.to_owned();
        Host { name, system: None, user: None, instances: 1, paths: BTreeMap::new() }
    }

    /// Its address or host name.
    pub fn system(&self) -> &str {
        self.system.as_deref().unwrap_or(&self.name)
    }

    /// Whether it is the machine that makes the plan, by its address alone.
    pub fn is_local(&self) -> bool {
        is_local(self.system())
    }
}

/// What speaks against a word as the address, the host name or the user of a login; `None`: nothing. ssh takes a word that begins with
/// `-` for an option, and an option can name a command to run here.
pub fn login_fault(word: &str) -> Option<&'static str> {
    if word.is_empty() {
        Some("it is empty")
    } else if word.starts_with('-') {
        Some("it begins with '-', which ssh takes for an option")
    } else if word.contains(char::is_control) {
        Some("it holds a control character")
    } else if word.contains(char::is_whitespace) {
        Some("it holds a space")
    } else {
        None
    }
}

/// What is possible as the word that [`login_fault`] speaks against.
pub const LOGIN_HELP: &str = "name a host, an address or a user without spaces, as in db1 or 10.0.0.1";

/// Whether an address or host name is that of the machine that uses it.
pub fn is_local(system: &str) -> bool {
    LOCAL_SYSTEMS.contains(&system)
}

/// A host as it will be used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlannedHost {
    /// The name in results.
    pub name: String,
    /// Its address or host name.
    pub system: String,
    /// The user to log in as.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// Worker processes on it.
    pub instances: u32,
}

impl PlannedHost {
    /// What it is in a few words: `10.0.0.2, user bench, 2 worker processes`.
    pub fn describe(&self) -> String {
        let user = self.user.as_ref().map_or_else(String::new, |user| format!(", user {user}"));
        let workers = match self.instances {
            1 => String::new(),
            more => format!(", {more} worker processes"),
        };
        format!("{}{user}{workers}", self.system)
    }
}

impl From<&Host> for PlannedHost {
    fn from(host: &Host) -> Self {
        let (name, system) = (host.name.clone(), host.system().to_owned());
        PlannedHost { name, system, user: host.user.clone(), instances: host.instances }
    }
}

/// Hosts as messages name them: `h1 (10.0.0.1), h2 (10.0.0.2), and 6 more`.
pub fn describe_hosts(hosts: &[PlannedHost]) -> String {
    const SHOWN: usize = 3;
    let shown = hosts.iter().take(SHOWN).map(|host| {
        let system = if host.system == host.name { String::new() } else { format!(" ({})", host.system) };
        format!("{}{system}", host.name)
    });
    let shown = shown.collect::<Vec<_>>().join(", ");
    match hosts.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown}, and {more} more"),
    }
}

/// The seed of a job's part on the host of this name: the same whichever other hosts there are, and in whichever order.
pub fn host_seed(seed: u64, name: &str) -> u64 {
    let mixed = name.bytes().fold(name.len() as u64, |mixed, byte| {
        let mut state = mixed ^ u64::from(byte);
        splitmix64(&mut state)
    });
    derive_seed(seed, mixed)
}

/// How the hosts of a job share the active range of each target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum HostRanges {
    /// Every host works on the whole range.
    #[default]
    Whole,
    /// Each host has a part of it for itself: all blocks once, in the order of the hosts.
    Divided,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_a_login_are_no_options_and_hold_nothing_that_is_not_seen() {
        for word in ["db1", "10.0.0.1", "fe80::1%eth0", "me.too", "a-b", "größe"] {
            assert_eq!(login_fault(word), None, "{word}");
        }
        for word in [
            "",
            "-oProxyCommand=touch /tmp/x",
            "-l",
            "a b",
            "a\tb",
            "a\nb",
            "a\u{1b}[31m",
            "a\u{7f}",
            "a\u{9b}1m",
        ] {
            assert!(login_fault(word).is_some(), "{word:?}");
        }
    }
}
