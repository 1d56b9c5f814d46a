//! Logs with a line for each I/O, as fio writes them where `log_avg_msec` is 0, and its log of I/Os (`write_iolog`).

use std::collections::BTreeMap;
use std::fmt::Write as _;

use assay_results::Run;
use assay_results::run::PhaseResult;
use assay_workload::pattern::OpKind;

use crate::log_value::{LogValue, submits};
use crate::reporting::{JobReporting, Logs};

/// One I/O of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoggedIo {
    /// Index of the phase in the plan.
    pub phase: u32,
    /// Index of the job in its phase.
    pub job: u32,
    /// Index of the target in the plan.
    pub target: u16,
    /// What it was.
    pub kind: OpKind,
    /// Length in bytes.
    pub len_bytes: u32,
    /// Byte offset within the target.
    pub offset_bytes: u64,
    /// When it was handed to the engine, nanoseconds of the monotonic clock.
    pub at_ns: u64,
    /// From then until the call that submitted it was back, nanoseconds.
    pub submit_ns: u32,
    /// From then until it had completed, nanoseconds; `None`: it had not when the run ended.
    pub latency_ns: Option<u64>,
}

/// The I/Os of one job.
pub(crate) struct JobIos<'a> {
    /// In the order in which they were handed over.
    ios: Vec<&'a LoggedIo>,
    /// When its measured part began, as `at_ns`.
    origin_ns: u64,
    /// Whether its engine keeps I/Os outstanding, so that submitting them takes a time of its own.
    asynchronous: bool,
}

impl<'a> JobIos<'a> {
    /// Those behind the ramp; `None`: none were kept.
    pub(crate) fn of(run: &Run, phase: &PhaseResult, job: u32, all: &'a [LoggedIo]) -> Option<JobIos<'a>> {
        let own = |io: &&LoggedIo| io.phase == phase.plan_phase && io.job == job;
        let planned = run.plan.phases.get(phase.plan_phase as usize)?.jobs.get(job as usize)?;
        let mut ios: Vec<&LoggedIo> = all.iter().filter(own).collect();
        ios.sort_by_key(|io| io.at_ns);
        let origin_ns = ios.first()?.at_ns.saturating_add(planned.ramp.0);
        ios.retain(|io| io.at_ns >= origin_ns);
        let asynchronous = submits(planned);
        Some(JobIos { ios, origin_ns, asynchronous })
    }

    /// The text of a log.
    pub(crate) fn log(&self, value: LogValue, logs: &Logs, start_ms: u64) -> String {
        let moved = self.ios.iter().filter(|io| OpKind::DATA.contains(&io.kind));
        let mut done: Vec<(u64, u64, &LoggedIo)> = moved
            .filter_map(|io| {
                let latency_ns = io.latency_ns?;
                let seen_ns = if value == LogValue::Slat { u64::from(io.submit_ns) } else { latency_ns };
                Some((io.at_ns.saturating_add(seen_ns), self.value(value, io, latency_ns)?, *io))
            })
            .collect();
        done.sort_by_key(|(seen_ns, ..)| *seen_ns);
        let mut text = String::new();
        for (seen_ns, shown, io) in done {
            let ms = start_ms + seen_ns.saturating_sub(self.origin_ns) / 1_000_000;
            let _ = write!(text, "{ms}, {shown}, {}, {}", io.kind as u8, io.len_bytes);
            // fio has the time of issue in these two; it is 0 in the others.
            let issued_ns = match value {
                LogValue::Clat | LogValue::Slat => {
                    start_ms * 1_000_000 + io.at_ns.saturating_sub(self.origin_ns)
                }
                _ => 0,
            };
            logs.end_of_line(&mut text, io.offset_bytes, issued_ns);
        }
        text
    }

    fn value(&self, value: LogValue, io: &LoggedIo, latency_ns: u64) -> Option<u64> {
        let submit_ns = u64::from(io.submit_ns).min(latency_ns);
        match value {
            // fio's: bytes a microsecond, times 1000.
            LogValue::Bandwidth => Some(u64::from(io.len_bytes) * 1_000_000 / latency_ns.max(1)),
            LogValue::Iops => Some(1),
            LogValue::Lat => Some(latency_ns),
            LogValue::Clat if self.asynchronous => Some(latency_ns - submit_ns),
            LogValue::Clat => Some(latency_ns),
            LogValue::Slat => self.asynchronous.then_some(submit_ns),
            LogValue::Histogram => None,
        }
    }
}

/// The logs of I/Os that jobs ask for, by name: version 3, in microseconds from the first I/O of a job on. Jobs that name one file
/// are in it together.
pub(crate) fn iologs<'a>(
    run: &Run,
    jobs: impl Iterator<Item = (&'a JobReporting, JobIos<'a>)>,
) -> Vec<(String, String)> {
    let mut by_name: BTreeMap<&str, Vec<(u64, &LoggedIo)>> = BTreeMap::new();
    let mut before_ns = 0;
    for (how, of) in jobs {
        let Some(name) = how.logs.iolog.as_deref() else { continue };
        let lines = by_name.entry(name).or_default();
        // A later phase goes on where the one before has ended.
        if lines.last().is_some_and(|(_, last)| of.ios.first().is_some_and(|io| io.phase > last.phase)) {
            before_ns = lines.iter().map(|(at_ns, _)| *at_ns).max().unwrap_or(0);
        }
        lines.extend(of.ios.iter().map(|io| (before_ns + io.at_ns.saturating_sub(of.origin_ns), *io)));
    }
    by_name.into_iter().map(|(name, lines)| (name.to_owned(), iolog(run, lines))).collect()
}

fn iolog(run: &Run, mut lines: Vec<(u64, &LoggedIo)>) -> String {
    lines.sort_by_key(|(at_ns, _)| *at_ns);
    let path = |target: u16| run.plan.targets.get(usize::from(target)).map_or("", |target| &target.name);
    let mut targets: Vec<u16> = lines.iter().map(|(_, io)| io.target).collect();
    targets.sort_unstable();
    targets.dedup();
    let mut text = "fio version 3 iolog\n".to_owned();
    let each = |text: &mut String, us: u64, action: &str| {
        targets.iter().for_each(|target| {
            let _ = writeln!(text, "{us} {} {action}", path(*target));
        });
    };
    each(&mut text, 0, "add");
    each(&mut text, 0, "open");
    for (at_ns, io) in &lines {
        let action = match io.kind {
            OpKind::Read => "read",
            OpKind::Write => "write",
            OpKind::Trim => "trim",
            OpKind::Fsync => "sync",
            OpKind::Fdatasync => "datasync",
        };
        let (us, path) = (at_ns / 1000, path(io.target));
        let _ = writeln!(text, "{us} {path} {action} {} {}", io.offset_bytes, io.len_bytes);
    }
    let last = lines.last().map_or(0, |(at_ns, _)| at_ns / 1000);
    each(&mut text, last, "close");
    text
}
