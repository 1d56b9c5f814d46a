//! What goes wrong, and when.

use serde::{Deserialize, Serialize};

use crate::service::Time;

/// A stretch of simulated time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Span {
    /// Start.
    #[serde(default)]
    pub from: Time,
    /// End; for ever without one.
    #[serde(default = "for_ever")]
    pub to: Time,
}

/// The largest time TOML can hold.
fn for_ever() -> Time {
    Time(i64::MAX as u64)
}

impl Default for Span {
    fn default() -> Self {
        Span { from: Time(0), to: for_ever() }
    }
}

impl Span {
    /// Whether it holds `now_ns`.
    #[inline]
    pub fn holds(&self, now_ns: u64) -> bool {
        (self.from.0..self.to.0).contains(&now_ns)
    }
}

/// A fault.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Fault {
    /// A drive takes longer.
    SlowDrive {
        /// Its number, from 0.
        drive: u16,
        /// How many times as long.
        factor: f64,
        /// When.
        #[serde(default)]
        during: Span,
    },
    /// A core takes longer.
    SlowCore {
        /// Its number, from 0, controller by controller.
        core: u16,
        /// How many times as long.
        factor: f64,
        /// When.
        #[serde(default)]
        during: Span,
    },
    /// Everything that is not a core or a drive takes longer: the pure delay.
    SlowDelay {
        /// How many times as long.
        factor: f64,
        /// When.
        #[serde(default)]
        during: Span,
    },
    /// A drive is gone. What is not on another one fails with EIO.
    FailedDrive {
        /// Its number, from 0.
        drive: u16,
        /// When.
        #[serde(default)]
        during: Span,
    },
    /// A controller is gone; the next one that is left takes its segments over.
    FailedController {
        /// Its number, from 0.
        controller: u16,
        /// When.
        #[serde(default)]
        during: Span,
    },
    /// The array answers nothing; everything that would have been answered is when it ends.
    Stall {
        /// When.
        during: Span,
    },
    /// A share of the requests fails with EIO.
    Errors {
        /// Which share, 0 to 1.
        share: f64,
        /// When.
        #[serde(default)]
        during: Span,
    },
}

impl Fault {
    /// When it lasts.
    pub fn during(&self) -> Span {
        match self {
            Fault::SlowDrive { during, .. }
            | Fault::SlowCore { during, .. }
            | Fault::SlowDelay { during, .. }
            | Fault::FailedDrive { during, .. }
            | Fault::FailedController { during, .. }
            | Fault::Stall { during }
            | Fault::Errors { during, .. } => *during,
        }
    }
}
