//! The document of `assay audit --json`, of workload files and of traces.

use assay_results::{Finding, Run};
use assay_sim::Observations;
use assay_sim::audit::{Audit, Closeness, Comparison, JobAudit, PhaseAudit};
use serde::Serialize;

use super::audited::Audited;
use super::simulate::{BoundPoint, Simulation};
use super::tables;
use crate::failure::Failure;
use assay_runner::Simulated;

/// What `assay audit --json` prints.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Document<'a> {
    schema: &'a str,
    /// The array model's name.
    array: &'a str,
    /// Each operation of each job.
    jobs: &'a [JobAudit],
    /// Each phase.
    phases: &'a [PhaseAudit],
    /// What is wrong, and how to repair it.
    findings: &'a [Finding],
    /// The repaired workload; not there where nothing can be repaired.
    #[serde(skip_serializing_if = "Option::is_none")]
    repaired: Option<RepairedAudit<'a>>,
    /// With `--simulate`: what it does on the array model.
    #[serde(skip_serializing_if = "Option::is_none")]
    simulated: Option<SimulatedAudit<'a>>,
    /// With `--against`: how alike the trace is to what it is held against.
    #[serde(skip_serializing_if = "Option::is_none")]
    comparison: Option<Compared<'a>>,
}

/// A workload after its repair.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct RepairedAudit<'a> {
    /// What was changed, a sentence each.
    changes: Vec<String>,
    /// Each operation of each job.
    jobs: &'a [JobAudit],
    /// Each phase.
    phases: &'a [PhaseAudit],
    /// What is still wrong.
    findings: &'a [Finding],
}

/// A workload and its repair on the array model: no storage was used, and times are those of the model.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct SimulatedAudit<'a> {
    /// The workload as it is.
    before: SimulatedRun<'a>,
    /// Repaired; `null` where there is no repair.
    after: Option<SimulatedRun<'a>>,
    /// With `--bound-range`: both over the share of processing that is bound to the address.
    bound_range: &'a [BoundPoint],
}

/// One simulated run.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct SimulatedRun<'a> {
    /// What the job loop measured, in simulated time.
    run: &'a Run,
    /// What the array did in each phase.
    array: &'a [Observations],
}

/// A trace against a workload file or another trace.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct Compared<'a> {
    /// What it is held against.
    pub(super) against: &'a str,
    /// What was compared.
    pub(super) dimensions: &'a [Comparison],
    /// The least alike of them.
    pub(super) fidelity: Closeness,
}

impl<'a> Document<'a> {
    /// Of an audit alone.
    pub(super) fn of(audit: &'a Audit) -> Document<'a> {
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

    /// With what the audited trace is held against.
    pub(super) fn compared(self, comparison: Option<Compared<'a>>) -> Document<'a> {
        Document { comparison, ..self }
    }

    pub(super) fn text(&self) -> Result<String, Failure> {
        serde_json::to_string_pretty(self).map_err(Failure::failed)
    }
}

impl<'a> SimulatedRun<'a> {
    fn of(simulated: &'a Simulated) -> SimulatedRun<'a> {
        SimulatedRun { run: &simulated.finished.run, array: &simulated.observed }
    }
}

/// Of a workload, with its repair where there is one, and its simulation.
pub(super) fn json(audited: &Audited, simulation: Option<&Simulation>) -> Result<String, Failure> {
    let repaired = audited.repaired.as_ref().map(|repaired| RepairedAudit {
        changes: tables::changes(repaired),
        jobs: &repaired.audit.jobs,
        phases: &repaired.audit.phases,
        findings: &repaired.audit.findings,
    });
    let simulated = simulation.map(|simulation| SimulatedAudit {
        before: SimulatedRun::of(&simulation.before),
        after: simulation.after.as_ref().map(SimulatedRun::of),
        bound_range: &simulation.range,
    });
    Document { repaired, simulated, ..Document::of(&audited.audit) }.text()
}
