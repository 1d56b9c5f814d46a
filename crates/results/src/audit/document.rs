//! The document of `assay audit --json`, of workload files and of traces.

use serde::Serialize;

use super::{Audit, BoundPoint, Closeness, Comparison, JobAudit, Observations, PhaseAudit};
use crate::{Finding, Run};

/// What `assay audit --json` prints.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Document<'a> {
    schema: &'a str,
    /// The array model's name.
    pub array: &'a str,
    /// Each operation of each job.
    pub jobs: &'a [JobAudit],
    /// Each phase.
    pub phases: &'a [PhaseAudit],
    /// What is wrong, and how to repair it.
    pub findings: &'a [Finding],
    /// The repaired workload; not there where nothing can be repaired.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repaired: Option<RepairedAudit<'a>>,
    /// With `--simulate`: what it does on the array model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub simulated: Option<SimulatedAudit<'a>>,
    /// With `--against`: how alike the trace is to what it is held against.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comparison: Option<Compared<'a>>,
}

/// A workload after its repair.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RepairedAudit<'a> {
    /// What was changed, a sentence each.
    pub changes: Vec<String>,
    /// Each operation of each job.
    pub jobs: &'a [JobAudit],
    /// Each phase.
    pub phases: &'a [PhaseAudit],
    /// What is still wrong.
    pub findings: &'a [Finding],
}

/// A workload and its repair on the array model: no storage was used, and times are those of the model.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SimulatedAudit<'a> {
    /// The workload as it is.
    pub before: SimulatedRun<'a>,
    /// Repaired; `null` where there is no repair.
    pub after: Option<SimulatedRun<'a>>,
    /// With `--bound-range`: both over the share of processing that is bound to the address.
    pub bound_range: &'a [BoundPoint],
}

/// One simulated run.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SimulatedRun<'a> {
    /// What the job loop measured, in simulated time.
    pub run: &'a Run,
    /// What the array did in each phase.
    pub array: &'a [Observations],
}

/// A trace against a workload file or another trace.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Compared<'a> {
    /// What it is held against.
    pub against: &'a str,
    /// What was compared.
    pub dimensions: &'a [Comparison],
    /// The least alike of them.
    pub fidelity: Closeness,
}

impl<'a> Document<'a> {
    /// Of an audit alone.
    pub fn of(audit: &'a Audit) -> Document<'a> {
        Document {
            schema: &audit.schema,
            array: &audit.array,
            jobs: &audit.jobs,
            phases: &audit.phases,
            findings: &audit.findings,
            repaired: None,
            simulated: None,
            comparison: None,
        }
    }
}

impl<'a> RepairedAudit<'a> {
    /// Of the audit of a repaired workload.
    pub fn of(changes: Vec<String>, audit: &'a Audit) -> RepairedAudit<'a> {
        RepairedAudit { changes, jobs: &audit.jobs, phases: &audit.phases, findings: &audit.findings }
    }
}
