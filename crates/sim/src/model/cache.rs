//! The cache of an array.

use serde::{Deserialize, Serialize};

use super::Size;
use crate::service::Service;

/// Which page goes when there is no room.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Policy {
    /// The least recently used.
    #[default]
    Lru,
    /// The first that came.
    Fifo,
    /// Any.
    Random,
}

/// Writes acknowledged from the cache and written to the drives later.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WriteBack {
    /// Most that may be dirty; writes wait when it is reached.
    pub dirty_max: Size,
    /// Storing a write in the cache, its mirror included.
    #[serde(default)]
    pub service: Service,
    /// Share of `dirty_max`, 0 to 1, up to which nothing is written to the drives: what is overwritten meanwhile never is.
    #[serde(default)]
    pub destage_above: f64,
    /// Background writes to the drives at a time.
    pub destage_outstanding: u32,
    /// Neighbouring dirty pages are written together, up to this.
    pub destage_max: Size,
}

/// A cache in front of the drives. A page counts as there from the moment it is asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cache {
    /// Bytes.
    pub size: Size,
    /// The unit that is kept or dropped.
    pub page: Size,
    /// Which goes.
    #[serde(default)]
    pub policy: Policy,
    /// Answering a read whose pages are all there.
    #[serde(default)]
    pub hit: Service,
    /// Added to a read that goes to the drives.
    #[serde(default)]
    pub miss: Service,
    /// Whether written pages are kept for reading.
    #[serde(default = "yes")]
    pub write_allocate: bool,
    /// `None`: writes wait for the drives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_back: Option<WriteBack>,
}

fn yes() -> bool {
    true
}
