//! Service levels: the latencies that a job has to keep for its user to be served.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::steps::{FindRate, LatencyFigure};

/// Share of the arrivals of a target rate that have to be completed, else the job is not served at its rate.
pub const RATE_SHARE_MIN: f64 = 0.98;

/// A latency that a job has to keep: the response time where it has a target rate, else the completion latency.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ServiceLevel {
    /// The operation, as results name it; `None`: all that the job does together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operation: Option<String>,
    /// Which figure.
    pub figure: LatencyFigure,
    /// It has to stay below this, nanoseconds.
    pub limit_ns: u64,
}

impl FromStr for ServiceLevel {
    type Err = String;

    /// `p95<20ms`, `new-order p95<50ms`, `database read mean<20ms`.
    fn from_str(text: &str) -> Result<Self, String> {
        let (what, limit) = text.split_once('<').ok_or_else(|| {
            format!("'{text}' is not a service level such as p95<20ms or new-order p95<50ms")
        })?;
        let (operation, figure) = what.trim().rsplit_once(' ').unwrap_or(("", what.trim()));
        let goal: FindRate = format!("{figure}<{limit}").parse()?;
        let operation = operation.trim();
        Ok(ServiceLevel {
            operation: (!operation.is_empty()).then(|| operation.to_owned()),
            figure: goal.figure,
            limit_ns: goal.limit_ns,
        })
    }
}

impl fmt::Display for ServiceLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(operation) = &self.operation {
            write!(f, "{operation} ")?;
        }
        FindRate::new(self.figure, self.limit_ns).fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_read_and_written() {
        let level: ServiceLevel = "database read mean < 20ms".parse().unwrap();
        assert_eq!(level.operation.as_deref(), Some("database read"));
        assert_eq!((level.figure, level.limit_ns), (LatencyFigure::Mean, 20_000_000));
        for text in
            ["p95<20 ms", "new-order p99.9<1 s", "database read max<100 ms", "p95<4096 ms", "mean<1234567 ns"]
        {
            assert_eq!(text.parse::<ServiceLevel>().unwrap().to_string(), text);
        }
        for text in ["", "p95", "new-order<5ms", "p95<5", "new-order p0<5ms"] {
            assert!(text.parse::<ServiceLevel>().is_err(), "{text}");
        }
    }
}
