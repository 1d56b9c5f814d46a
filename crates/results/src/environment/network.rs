//! How a target is reached over a network.

use serde::{Deserialize, Serialize};

/// The server of a target, and the way to it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct NetworkPath {
    /// Address of the server; `unix socket` for a server that is reached through one.
    pub server: String,
    /// The interface of this host that the route to it takes.
    pub interface: Option<String>,
    /// Speed of that interface in each direction, bits a second, as its driver says. Virtual interfaces often say none.
    pub bits_per_s: Option<u64>,
    /// Whether the server runs on this host: its address is one of this host's own.
    pub on_this_host: Option<bool>,
}
