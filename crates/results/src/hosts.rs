//! The hosts of a run: what is known of each where there are several. A run of one host has none of this.

use serde::{Deserialize, Serialize};

use crate::environment::Environment;
use crate::event::{HostClock, HostId, LostReason};
use crate::evidence::PhaseEvidence;
use crate::run::DeviceTruth;

/// One of several hosts of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunHost {
    /// Its number in the run: what [`HostPhase::host`] refers to.
    pub id: HostId,
    /// Its name.
    pub name: String,
    /// What it is.
    pub environment: Environment,
    /// Its clock against that of the run, as last measured; `None`: it is not known.
    pub clock: Option<HostClock>,
    /// Where and why it was lost; `None`: it was not.
    pub lost: Option<HostLoss>,
}

/// The loss of a host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HostLoss {
    /// Index in the plan of the phase it was lost in.
    pub phase: u32,
    /// Why.
    pub why: LostReason,
}

/// One of several hosts in one phase.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct HostPhase {
    /// Which, by its number in the run.
    pub host: HostId,
    /// Its name.
    pub name: String,
    /// What its devices and its kernel counted against what its jobs asked for; `None`: not counted.
    pub device: Option<DeviceTruth>,
    /// Share of the bytes its jobs read that did not come from a device; `None`: not known.
    pub cached_read_share: Option<f64>,
    /// The machine meanwhile.
    pub evidence: PhaseEvidence,
}

/// The time in which all hosts measured: totals of several hosts are over this time only.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct CommonWindow {
    /// Start, nanoseconds from the start of the phase on the first host that started.
    pub start_ns: u64,
    /// Length, nanoseconds; 0: hosts measured at different moments, and totals are sums of what each did at its own.
    pub length_ns: u64,
    /// Operations outside it, which the totals leave out: those of reporting periods whose middle is not in it.
    pub trimmed_ios: u64,
    /// The longest time by which a host's measured part is longer, nanoseconds.
    pub trimmed_ns_max: u64,
}
