//! Reports in fio's forms while a run goes on, beside what shows where it stands.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use assay_fio::{Interim, Program};
use assay_results::{Run, RunEvent};
use assay_runner::Observer;
use assay_workload::Plan;

use crate::failure::Failure;
use crate::live::Live;
use crate::output::Outputs;

/// The option that says where reports of fio go.
const OPTION: &str = "--output";

/// Where reports have gone so far; nothing as long as there was none. Held, so that they all go into one file.
pub(crate) type Begun = Arc<OnceLock<Option<File>>>;

/// What `--status-interval` asks for.
#[derive(Debug)]
struct Reports {
    program: Box<Program>,
    interim: Interim,
    outputs: Outputs,
    begun: Begun,
    since: Instant,
}

/// An observer that shows where a run stands and reports on it.
#[derive(Debug)]
pub(crate) struct Status {
    live: Live,
    reports: Option<Reports>,
}

impl Status {
    /// `outputs` are those of the command, `begun` where its reports go.
    pub(crate) fn new(live: Live, program: Option<&Program>, outputs: &Outputs, begun: &Begun) -> Self {
        let reports = program.and_then(|program| {
            let interim = program.interim()?;
            let outputs = outputs.of_fio();
            let (program, begun) = (Box::new(program.clone()), Arc::clone(begun));
            Some(Reports { program, interim, outputs, begun, since: Instant::now() })
        });
        Status { live, reports }
    }
}

impl Reports {
    fn report(&self, run: &Run) -> Result<(), Failure> {
        let first = self.begun.get().is_none();
        let Some((path, text)) = self.program.interim_report(run, self.interim.intervals(), first) else {
            return Ok(());
        };
        if first {
            let _ = self.begun.set(self.outputs.begin(OPTION, &path, &text)?);
            return Ok(());
        }
        append(&self.begun, &self.outputs, &path, &text)
    }
}

/// A further report behind those that were begun.
pub(crate) fn append(begun: &Begun, outputs: &Outputs, path: &Path, text: &str) -> Result<(), Failure> {
    match begun.get().and_then(Option::as_ref) {
        Some(mut file) => file
            .write_all(text.as_bytes())
            .map_err(|error| Failure::failed(format!("cannot write {OPTION} {}: {error}", path.display()))),
        None => outputs.write(OPTION, path, text),
    }
}

impl Observer for Status {
    fn event(&mut self, event: &RunEvent) {
        self.live.event(event);
        let Some(reports) = &mut self.reports else { return };
        let due = reports.interim.hear(event, reports.since.elapsed());
        if let Some(Err(failure)) = due.map(|run| reports.report(&run)) {
            // The last report meets the same and ends the command with it.
            self.live.warn(&failure.to_string());
            self.reports = None;
        }
    }

    fn before_writing(&mut self, plan: &Plan) -> bool {
        self.live.before_writing(plan)
    }
}
