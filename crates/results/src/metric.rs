//! Figures with names, beside what is counted of operations.

use serde::{Deserialize, Serialize};

/// A value with what is needed to believe it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Metric {
    /// The value.
    pub value: f64,
    /// Its unit.
    pub unit: String,
    /// Number of runs or windows behind it.
    pub n: u32,
    /// Interval of about 95 %: low, high; `None` where n is too small.
    pub interval: Option<(f64, f64)>,
    /// What the interval is made of, in words; `None`: it is that of the median of `n` values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub basis: Option<String>,
}

/// Something that happened once while a job ran, to be marked where its figures are drawn over time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Moment {
    /// Seconds from the start of the measured part.
    pub at_s: f64,
    /// What, in a word or two: `checkpoint`.
    pub what: String,
}
