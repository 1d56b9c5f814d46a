//! For tests: a machine that measures nothing.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use assay_conduct::workplace::{Look, MonotonicClock, Part, Prepared, Refused, Start, Workplace};
use assay_conduct::{Executor, PhaseOutcome};
use assay_results::environment::{AssayVersion, Environment};
use assay_results::{HostEvent, HostId, HostSink};
use assay_workload::Plan;
use assay_workload::resolve::Inventory;

/// A machine that tells a number of notes in each phase, then waits for the stop flag where it is told to.
pub(crate) struct Toy {
    pub(crate) stop: Arc<AtomicBool>,
    pub(crate) hangs: bool,
    pub(crate) ended: Arc<Mutex<Vec<bool>>>,
}

struct ToyExecutor {
    stop: Arc<AtomicBool>,
    hangs: bool,
    start: Start,
}

impl Workplace for Toy {
    fn node(&self) -> String {
        "toy".to_owned()
    }

    fn version(&self) -> AssayVersion {
        AssayVersion::default()
    }

    fn clock(&self) -> MonotonicClock {
        let started = Instant::now();
        Arc::new(move || started.elapsed().as_nanos() as u64)
    }

    fn stop(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.stop)
    }

    fn look(&mut self, look: &Look) -> Result<Inventory, Refused> {
        let message = format!("{} is no place", look.directory.display());
        if look.directory == PathBuf::new() {
            Ok(Inventory::default())
        } else {
            Err(Refused { message, is_request: true })
        }
    }

    fn prepare(&mut self, _: Part, start: Start) -> Result<Prepared, Refused> {
        let executor = Box::new(ToyExecutor { stop: Arc::clone(&self.stop), hangs: self.hangs, start });
        Ok(Prepared { environment: Environment::default(), executor })
    }

    fn end(&mut self, came_to_nothing: bool) {
        self.ended.lock().expect("whole").push(came_to_nothing);
    }
}

impl Executor for ToyExecutor {
    fn execute(&mut self, _: &Arc<Plan>, phase: usize, sink: &mut HostSink<'_>) -> PhaseOutcome {
        let Some(at_ns) = (self.start)(&self.stop) else { return PhaseOutcome::Stopped };
        sink(HostId::FIRST, HostEvent::Started { phase: phase as u32, at_ns });
        for n in 0..100 {
            sink(HostId::FIRST, note(n));
        }
        while self.hangs && !self.stopped() {
            std::thread::sleep(Duration::from_millis(1));
        }
        if self.stopped() { PhaseOutcome::Stopped } else { PhaseOutcome::Done }
    }

    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn settle(&mut self, _: &Arc<Plan>, _: usize, _: &mut HostSink<'_>) {}

    fn elapsed_ms(&self) -> u64 {
        0
    }
}

pub(crate) fn note(n: u32) -> HostEvent {
    HostEvent::Note { phase: None, id: "n".to_owned(), text: n.to_string() }
}

/// A plan of one phase without jobs.
pub(crate) fn part() -> Part {
    let phase = r#"{"name":"p","kind":"measure","jobs":[],"drain_after":false,"pause_after":0,"point":"","repeat":0}"#;
    let plan = Plan {
        schema: assay_workload::plan::SCHEMA.to_owned(),
        name: "p".to_owned(),
        series: None,
        seed: 1,
        seed_given: false,
        hosts: Vec::new(),
        targets: Vec::new(),
        phases: vec![serde_json::from_str(phase).expect("a phase")],
    };
    Part { plan, consent: Vec::new(), really: false, watch: Default::default(), run: Default::default() }
}
