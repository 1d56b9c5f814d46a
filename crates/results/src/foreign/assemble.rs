//! The run around what was read.

use assay_workload::job::{EngineKind, PhaseKind};
use assay_workload::plan::{Plan, PlannedEngine, PlannedJob, PlannedPhase, PlannedTarget};
use assay_workload::units::Nanos;
use jiff::Timestamp;

use crate::checks;
use crate::environment::Environment;
use crate::event::RunEnd;
use crate::evidence::Remark;
use crate::run::{PhaseResult, Producer, Run, SCHEMA, Verdict};

/// What a reader of a format found.
#[derive(Debug)]
pub struct Found {
    /// The other tool with its version: `fio 3.33`.
    pub tool: String,
    /// What its latencies mean.
    pub definition: String,
    /// The name of the run.
    pub name: String,
    /// Start, milliseconds since 1970; `None`: not known.
    pub started_ms: Option<i64>,
    /// How long it ran.
    pub elapsed_s: f64,
    /// Files and devices.
    pub targets: Vec<PlannedTarget>,
    /// Results and what they were planned as, phase by phase.
    pub phases: Vec<(PhaseResult, Vec<PlannedJob>)>,
    /// What a reader should know: a stable word and a sentence.
    pub notes: Vec<(&'static str, String)>,
    /// What in its figures cannot be true: the index of the phase, and a sentence.
    pub contradictions: Vec<(usize, String)>,
    /// How it ended.
    pub end: Option<RunEnd>,
}

impl Default for Found {
    fn default() -> Self {
        Found {
            tool: String::new(),
            definition: String::new(),
            name: String::new(),
            started_ms: None,
            elapsed_s: 0.0,
            targets: Vec::new(),
            phases: Vec::new(),
            notes: Vec::new(),
            contradictions: Vec::new(),
            end: Some(RunEnd::Completed),
        }
    }
}

/// The run, judged. Its id follows from the text, so that the same file is the same run.
pub fn assemble(found: Found, text: &str) -> Run {
    let mut remarks = vec![Remark {
        phase: None,
        id: "imported".to_owned(),
        text: format!("measured by {}, not by Assay; latencies are {}", found.tool, found.definition),
    }];
    remarks.extend(found.notes.into_iter().map(|(id, text)| Remark { phase: None, id: id.to_owned(), text }));
    remarks.extend(found.contradictions.into_iter().map(|(phase, text)| Remark {
        phase: Some(phase as u32),
        id: checks::CONTRADICTORY.to_owned(),
        text,
    }));
    let mut phases = Vec::new();
    let mut planned = Vec::new();
    for (index, (mut phase, jobs)) in found.phases.into_iter().enumerate() {
        phase.plan_phase = index as u32;
        planned.push(PlannedPhase {
            name: phase.name.clone(),
            kind: PhaseKind::Measure,
            jobs,
            drain_after: false,
            pause_after: Nanos(0),
            point: phase.point.clone(),
            repeat: phase.repeat,
            step: None,
            carried_by: Default::default(),
            despite_failure: false,
        });
        phases.push(phase);
    }
    let mut run = Run {
        names_removed: false,
        going: false,
        hosts: Vec::new(),
        schema: SCHEMA.to_owned(),
        id: format!("{:08x}", fnv1a(text) as u32),
        name: found.name.clone(),
        started: found.started_ms.map_or_else(|| rfc3339(0), rfc3339),
        elapsed_s: found.elapsed_s,
        verdict: Verdict::Valid,
        assay: Producer {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            commit: None,
            engine: found.tool,
            overhead_ns_per_io: None,
            latency_definition: Some(found.definition),
        },
        environment: Environment::default(),
        plan: Plan {
            schema: assay_workload::plan::SCHEMA.to_owned(),
            name: found.name,
            series: None,
            seed: 0,
            seed_given: false,
            hosts: Vec::new(),
            targets: found.targets,
            phases: planned,
        },
        phases,
        findings: Vec::new(),
        rows: Vec::new(),
        steps: Vec::new(),
        tiles: None,
        probes: Vec::new(),
        notes: remarks.iter().map(|remark| remark.text.clone()).collect(),
        remarks,
        end: found.end,
        error: None,
    };
    checks::judge(&mut run);
    run
}

fn rfc3339(ms: i64) -> String {
    let moment = Timestamp::from_millisecond(ms).unwrap_or(Timestamp::UNIX_EPOCH);
    moment.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// The FNV-1a hash.
fn fnv1a(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// The engine of that name; [`PlannedEngine::Foreign`] where Assay has none like it.
pub fn engine_of(name: &str) -> PlannedEngine {
    EngineKind::from_name(name).map_or(PlannedEngine::Foreign, PlannedEngine::from)
}

/// A word of the text, cut to a length that a line can hold.
pub fn cut(text: &str) -> String {
    const CHARS_MAX: usize = 200;
    text.chars().filter(|c| !c.is_control()).take(CHARS_MAX).collect()
}
