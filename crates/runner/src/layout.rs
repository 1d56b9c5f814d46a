//! Laying out files for a phase that another program carries out: on a thread of its own, which owns what it works with, so that it can
//! be left behind where storage does not answer.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use assay_engine::Clock as _;
use assay_engine::clock::RealClock;
use assay_engine::preparation::Preparation;
use assay_engine::targets::lay_out_seen;
use assay_engine::watchdog::PreparationWatch;
use assay_results::HostEvent;
use assay_workload::Plan;

use crate::hold::Holding;

/// How often the thread is looked at.
const LOOK: Duration = Duration::from_millis(500);

/// Lays out what a phase reads beyond the end of its files. `None`: the run was stopped, and what is left of it hangs.
///
/// # Errors
/// Why a file cannot be laid out, in a sentence.
pub(crate) fn lay_out(
    plan: &Plan,
    phase: usize,
    holding: Holding,
    stop: &Arc<AtomicBool>,
    sink: &mut dyn FnMut(HostEvent),
) -> Result<Option<Holding>, String> {
    let (tell, told) = mpsc::channel();
    let (clock, preparation) = (RealClock::new(), Arc::new(Preparation::default()));
    let mut watch = PreparationWatch::new(phase, clock.now_ns());
    let work = {
        let (plan, stop, preparation) = (plan.clone(), Arc::clone(stop), Arc::clone(&preparation));
        move || {
            let go_on = || !stop.load(Ordering::Relaxed);
            let done = lay_out_seen(&plan, phase, &holding.held, &preparation, &go_on);
            let _ = tell.send((done, holding));
        }
    };
    let spawned = std::thread::Builder::new().name("assay-layout".to_owned()).spawn(work);
    let thread = spawned.map_err(|error| format!("cannot start a thread: {error}"))?;
    loop {
        match told.recv_timeout(LOOK) {
            Ok((done, holding)) => {
                for file in done.map_err(|error| error.to_string())? {
                    let (id, text) = ("layout".to_owned(), file.to_string());
                    sink(HostEvent::Note { phase: Some(phase as u32), id, text });
                }
                return Ok(Some(holding));
            }
            Err(mpsc::RecvTimeoutError::Timeout) => {}
            Err(mpsc::RecvTimeoutError::Disconnected) => match thread.join() {
                Err(panic) => std::panic::resume_unwind(panic),
                Ok(()) => return Ok(None),
            },
        }
        let stopped = stop.load(Ordering::Relaxed);
        if watch.look(clock.now_ns(), &preparation, stopped, sink).is_break() {
            return Ok(None);
        }
    }
}
