//! Looks for I/Os that do not complete, from outside the threads that wait for them.
//!
//! An I/O that is outstanding for [`HUNG_AFTER_NS`] is named, and named again when it has completed or is given up. A phase that is to
//! end, because it was stopped or because its time is over, does not wait for such an I/O for ever: a thread that waits for it in
//! the kernel cannot be ended, so the phase ends without it.

use assay_results::HostEvent;
use assay_results::event::HungIo;
use assay_workload::units::Nanos;

use crate::job_loop::Outstanding;
use crate::kind::{PhaseContext, ThreadIndex};

/// From this time on an I/O hangs.
pub const HUNG_AFTER_NS: u64 = 5_000_000_000;
/// How long one that hangs is still waited for once the run was stopped.
pub const STOPPED_WAIT_NS: u64 = 1_000_000_000;
/// How long I/Os are waited for once the time of their job is over; fio waits as long (`FIO_REAP_TIMEOUT`).
pub const OVERDUE_AFTER_NS: u64 = 300_000_000_000;
/// The id of the notes.
pub const HUNG_IO: &str = "hung-io";
/// Hung I/Os that are named in a phase at most.
const NAMED_MAX: u32 = 20;

/// Watches one phase.
#[derive(Debug)]
pub struct Watchdog<'p> {
    context: PhaseContext<'p>,
    start_ns: u64,
    /// The one that was told last.
    told: Option<(ThreadIndex, Outstanding)>,
    named: u32,
    stopped_ns: Option<u64>,
}

impl<'p> Watchdog<'p> {
    /// For a phase whose threads start at `start_ns`.
    pub fn new(context: PhaseContext<'p>, start_ns: u64) -> Self {
        Watchdog { context, start_ns, told: None, named: 0, stopped_ns: None }
    }

    /// Looks at the threads that have not ended, each with what it has had outstanding for longest, and tells what there is to tell.
    /// The answer is why the phase should end without them; `None`: it should not.
    pub fn look(
        &mut self,
        now_ns: u64,
        threads: &[(ThreadIndex, Option<Outstanding>)],
        sink: &mut dyn FnMut(HostEvent),
    ) -> Option<String> {
        if self.context.stopped() {
            self.stopped_ns.get_or_insert(now_ns);
        }
        let outstanding = threads.iter().filter_map(|(at, io)| Some((*at, (*io)?)));
        let longest = outstanding.min_by_key(|(_, io)| io.issued_ns);
        let hung = longest.filter(|(_, io)| now_ns.saturating_sub(io.issued_ns) >= HUNG_AFTER_NS);
        if let Some(told) = self.told.filter(|told| longest != Some(*told)) {
            let io = self.hung(told, now_ns);
            self.note(
                format!("job '{}': {} completed after {}", io.job, io.which(), io.outstanding_for),
                sink,
            );
        }
        if let Some(found) = hung.filter(|found| self.told != Some(*found)) {
            self.named += 1;
            let io = self.hung(found, now_ns);
            let text = format!(
                "job '{}': {} has not completed for {}; it was handed over {} after the start of the phase",
                io.job,
                io.which(),
                io.outstanding_for,
                io.since
            );
            self.note(text, sink);
        }
        if hung.is_some() || self.told.is_some() {
            let io = hung.map(|found| Box::new(self.hung(found, now_ns)));
            sink(HostEvent::Hung { phase: self.context.phase as u32, io });
        }
        self.told = hung;
        let (found, why) = (hung?, self.given_up(now_ns, threads)?);
        let io = self.hung(found, now_ns);
        let text = format!("{} has not completed for {} {why}", io.which(), io.outstanding_for);
        self.note(
            format!("job '{}': {text}: it was given up, and what it may still do is not known", io.job),
            sink,
        );
        Some(format!("job '{}': {text}", io.job))
    }

    /// Whether nothing but hung I/Os is waited for, for long enough.
    fn given_up(&self, now_ns: u64, threads: &[(ThreadIndex, Option<Outstanding>)]) -> Option<&'static str> {
        let all_hang = |for_ns: u64| {
            threads.iter().all(|(_, io)| io.is_some_and(|io| now_ns.saturating_sub(io.issued_ns) >= for_ns))
        };
        if self.context.stopped() {
            let stopped_ns = self.stopped_ns.unwrap_or(now_ns);
            let waited = now_ns.saturating_sub(stopped_ns) >= STOPPED_WAIT_NS;
            return (waited && all_hang(HUNG_AFTER_NS)).then_some("when the run was stopped");
        }
        let overdue = threads.iter().all(|(at, _)| {
            let job = self.context.job(at.job);
            let time = job.end.time.map_or(u64::MAX, |time| time.0);
            let end_ns = (self.start_ns + job.start_delay.0 + job.ramp.0).saturating_add(time);
            now_ns >= end_ns.saturating_add(OVERDUE_AFTER_NS)
        });
        (overdue && all_hang(OVERDUE_AFTER_NS)).then_some("after the time of its job was over")
    }

    fn hung(&self, (at, io): (ThreadIndex, Outstanding), now_ns: u64) -> HungIo {
        let job = self.context.job(at.job);
        let site = job.slices[at.thread].sites.get(usize::from(io.target));
        let target = site.and_then(|site| self.context.plan.targets.get(site.target as usize));
        HungIo {
            job: job.name.clone(),
            kind: io.kind,
            target: target.map_or_else(String::new, |target| target.path.clone()),
            offset_bytes: io.offset_bytes,
            len_bytes: io.len_bytes,
            since: Nanos(io.issued_ns.saturating_sub(self.start_ns)),
            outstanding_for: Nanos(now_ns.saturating_sub(io.issued_ns)),
        }
    }

    fn note(&self, text: String, sink: &mut dyn FnMut(HostEvent)) {
        if self.named <= NAMED_MAX {
            let phase = Some(self.context.phase as u32);
            sink(HostEvent::Note { phase, id: HUNG_IO.to_owned(), text });
        }
    }
}

#[cfg(test)]
mod tests;
