//! The free space while files are prepared: the plan fits, but others write too.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use assay_host::space;
use assay_workload::target::TargetKind;
use assay_workload::units::Bytes;
use assay_workload::{PhaseKind, Plan};

/// Between two looks.
const EVERY: Duration = Duration::from_millis(50);

/// Looks at the free space until it is ended.
#[derive(Debug)]
pub(crate) struct SpaceWatch {
    halt: Arc<AtomicBool>,
    over: Arc<AtomicBool>,
    thread: JoinHandle<Option<String>>,
}

impl SpaceWatch {
    /// Of the file systems that a phase prepares something on; `None` for one that does not.
    pub(crate) fn of(plan: &Plan, phase: usize, stop: &Arc<AtomicBool>) -> Option<Self> {
        let phase = &plan.phases[phase];
        if phase.kind != PhaseKind::Precondition {
            return None;
        }
        let sites = phase.jobs.iter().flat_map(|job| &job.slices).flat_map(|slice| &slice.sites);
        let mut used: Vec<u32> = sites.map(|site| site.target).collect();
        used.sort_unstable();
        used.dedup();
        let targets = used.iter().filter_map(|index| plan.targets.get(*index as usize));
        let kinds = |kind| matches!(kind, TargetKind::File | TargetKind::Directory);
        let places = targets.filter(|target| kinds(target.kind)).map(|target| PathBuf::from(&target.path));
        Self::over(places.collect(), stop)
    }

    /// Of the file systems of `places`.
    pub(crate) fn over(places: Vec<PathBuf>, stop: &Arc<AtomicBool>) -> Option<Self> {
        if places.is_empty() {
            return None;
        }
        let (halt, over) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let (stop, halts, ends) = (Arc::clone(stop), Arc::clone(&halt), Arc::clone(&over));
        let look = move || {
            while !ends.load(Ordering::Relaxed) {
                let low = places.iter().find_map(|place| low(place));
                if low.is_some() || stop.load(Ordering::Relaxed) {
                    halts.store(true, Ordering::Relaxed);
                    return low;
                }
                std::thread::park_timeout(EVERY);
            }
            None
        };
        let thread = std::thread::Builder::new().name("assay-space".to_owned()).spawn(look).ok()?;
        Some(SpaceWatch { halt, over, thread })
    }

    /// Set when what is watched has to stop.
    pub(crate) fn halt(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.halt)
    }

    /// Ends it. Why it had to stop, if that was for the space.
    pub(crate) fn end(self) -> Option<String> {
        self.over.store(true, Ordering::Relaxed);
        self.thread.thread().unpark();
        self.thread.join().ok().flatten()
    }
}

/// What there is to say where others have taken the space. Half of the reserve is for what a file system needs beside data.
fn low(place: &Path) -> Option<String> {
    let existing = place.ancestors().find(|place| place.exists())?;
    let space = space::of(existing).ok()?;
    let reserve = space.reserve_bytes();
    (space.available_bytes < reserve / 2).then(|| {
        format!(
            "{}: the file system is being filled by something else: {} available, of which {} stay free (free some space)",
            place.display(),
            Bytes(space.available_bytes),
            Bytes(reserve)
        )
    })
}
