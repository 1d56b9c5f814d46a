//! When the threads of a phase are let go: at once, or at a moment that hosts have in common.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::clock::RealClock;
use crate::seam::Clock;

/// Time between all threads being ready and the start, so that they are waiting when it comes.
const AHEAD_NS: u64 = 2_000_000;
/// The same where the moment is given: sleeping until then may take longer than asked for.
const WAKE_AHEAD_NS: u64 = 5_000_000;
/// How often it is looked whether to stop.
const LOOK: Duration = Duration::from_millis(20);

/// Waits until a start is known, or a flag is set.
type Moment = dyn Fn(&AtomicBool) -> Option<u64> + Send + Sync;

/// What says when a phase starts. It is called once all threads are ready, and waits until it knows the moment, in nanoseconds of this
/// host's monotonic clock; `None`: the phase is called off. It looks at the stop flag meanwhile.
#[derive(Clone)]
pub struct CommonStart(Arc<Moment>);

impl CommonStart {
    /// Asks `moment`.
    pub fn new(moment: impl Fn(&AtomicBool) -> Option<u64> + Send + Sync + 'static) -> Self {
        CommonStart(Arc::new(moment))
    }
}

impl fmt::Debug for CommonStart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CommonStart")
    }
}

/// Waits until shortly before the start, and says when it is; `None`: there is none. One that was told too late is as soon as
/// possible.
pub(super) fn wait_for(common: Option<&CommonStart>, stop: &AtomicBool) -> Option<u64> {
    let clock = RealClock::new();
    let Some(common) = common else { return Some(clock.now_ns() + AHEAD_NS) };
    let at_ns = (common.0)(stop)?;
    loop {
        if stop.load(Ordering::Relaxed) {
            return None;
        }
        let now_ns = clock.now_ns();
        let left_ns = at_ns.saturating_sub(now_ns);
        if left_ns <= WAKE_AHEAD_NS {
            // Half of the usual time is enough for threads that wait already.
            return Some(if left_ns >= AHEAD_NS / 2 { at_ns } else { now_ns + AHEAD_NS });
        }
        std::thread::sleep(LOOK.min(Duration::from_nanos(left_ns - WAKE_AHEAD_NS)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_that_is_known_in_time_is_kept() {
        let at_ns = RealClock::new().now_ns() + 30_000_000;
        let common = CommonStart::new(move |_| Some(at_ns));
        let start_ns = wait_for(Some(&common), &AtomicBool::new(false)).expect("a start");
        // A machine under load wakes late, and then says so.
        assert!(start_ns >= at_ns, "{start_ns} before {at_ns}");
    }

    #[test]
    fn one_that_is_told_too_late_is_soon() {
        let common = CommonStart::new(|_| Some(1));
        let before_ns = RealClock::new().now_ns();
        let start_ns = wait_for(Some(&common), &AtomicBool::new(false));
        assert!(start_ns.is_some_and(|start_ns| start_ns > before_ns));
    }

    #[test]
    fn a_phase_that_is_to_stop_does_not_start() {
        let late = CommonStart::new(|_| Some(u64::MAX));
        assert_eq!(wait_for(Some(&late), &AtomicBool::new(true)), None);
        assert_eq!(wait_for(Some(&CommonStart::new(|_| None)), &AtomicBool::new(false)), None);
    }
}
