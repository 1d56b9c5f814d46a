//! Time: the processor's time-stamp counter where it may be trusted, else CLOCK_MONOTONIC.
//!
//! A read of the counter costs about 10 ns where `clock_gettime` costs 24. It is used only if the kernel itself uses
//! it as its clock source (then it is invariant and synchronised), and is calibrated against CLOCK_MONOTONIC.

use std::sync::OnceLock;

use crate::seam::Clock;

/// How many bits the tick-to-nanosecond factor is shifted by.
const SHIFT: u32 = 32;

/// Reads CLOCK_MONOTONIC, nanoseconds.
pub fn monotonic_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid timespec, and CLOCK_MONOTONIC always exists.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn ticks() -> u64 {
    // SAFETY: every x86-64 processor has the instruction; Linux does not disable it for user space.
    unsafe { core::arch::x86_64::_rdtsc() }
}

#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn ticks() -> u64 {
    0
}

/// The relation between ticks and CLOCK_MONOTONIC.
#[derive(Debug, Clone, Copy)]
struct Calibration {
    base_ticks: u64,
    base_ns: u64,
    ns_per_tick_shifted: u64,
}

/// What calibration found.
#[derive(Debug, Clone, Copy)]
enum Source {
    Ticks(Calibration),
    Monotonic,
}

static SOURCE: OnceLock<Source> = OnceLock::new();
/// The first pair of readings: (ticks, nanoseconds).
static BEGINNING: OnceLock<(u64, u64)> = OnceLock::new();

/// The shortest time to calibrate over: it bounds the error of the factor to about 20 ns / 10 ms = 2 ppm.
const CALIBRATION_NS: u64 = 10_000_000;

/// Takes the first reading, so that what a program does before it first needs a [`RealClock`] is time to calibrate over.
pub fn begin() {
    BEGINNING.get_or_init(pair);
}

/// A pair of readings as close together as three tries give.
fn pair() -> (u64, u64) {
    let tries = (0..3).map(|_| {
        let before = ticks();
        let ns = monotonic_ns();
        let after = ticks();
        (after - before, before + (after - before) / 2, ns)
    });
    tries.min_by_key(|entry| entry.0).map_or((0, 0), |entry| (entry.1, entry.2))
}

fn kernel_trusts_ticks() -> bool {
    let path = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    cfg!(target_arch = "x86_64") && std::fs::read_to_string(path).is_ok_and(|name| name.trim() == "tsc")
}

fn calibrate() -> Source {
    if !kernel_trusts_ticks() {
        return Source::Monotonic;
    }
    let (start_ticks, start_ns) = *BEGINNING.get_or_init(pair);
    let left_ns = (start_ns + CALIBRATION_NS).saturating_sub(monotonic_ns());
    std::thread::sleep(std::time::Duration::from_nanos(left_ns));
    let (end_ticks, end_ns) = pair();
    if end_ticks <= start_ticks || end_ns <= start_ns {
        return Source::Monotonic;
    }
    let factor = (u128::from(end_ns - start_ns) << SHIFT) / u128::from(end_ticks - start_ticks);
    Source::Ticks(Calibration {
        base_ticks: start_ticks,
        base_ns: start_ns,
        ns_per_tick_shifted: factor as u64,
    })
}

/// The clock of real runs. Nanoseconds on CLOCK_MONOTONIC's scale, the same for all threads.
#[derive(Debug, Clone, Copy)]
pub struct RealClock {
    source: Source,
}

impl RealClock {
    /// The clock; the first call of the process calibrates it, and takes what is left of 10 ms since [`begin`].
    pub fn new() -> Self {
        RealClock { source: *SOURCE.get_or_init(calibrate) }
    }

    /// `TSC` or `CLOCK_MONOTONIC`.
    pub fn name(&self) -> &'static str {
        match self.source {
            Source::Ticks(_) => "TSC",
            Source::Monotonic => "CLOCK_MONOTONIC",
        }
    }
}

impl Default for RealClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for RealClock {
    #[inline(always)]
    fn now_ns(&self) -> u64 {
        match &self.source {
            Source::Ticks(c) => {
                let elapsed = ticks().wrapping_sub(c.base_ticks);
                c.base_ns + ((u128::from(elapsed) * u128::from(c.ns_per_tick_shifted)) >> SHIFT) as u64
            }
            Source::Monotonic => monotonic_ns(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_the_kernel() {
        let clock = RealClock::new();
        let (ours, kernel) = (clock.now_ns(), monotonic_ns());
        std::thread::sleep(std::time::Duration::from_millis(200));
        let (ours, kernel) = (clock.now_ns() - ours, monotonic_ns() - kernel);
        assert!(ours.abs_diff(kernel) < kernel / 1000, "{ours} ns against {kernel} ns");
    }

    #[test]
    fn never_goes_back() {
        let clock = RealClock::new();
        let mut last = clock.now_ns();
        for _ in 0..100_000 {
            let now = clock.now_ns();
            assert!(now >= last);
            last = now;
        }
    }
}
