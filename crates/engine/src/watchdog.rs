//! Looks for I/Os that do not complete, from outside the threads that wait for them.
//!
//! An I/O that is outstanding for [`HUNG_AFTER_NS`] is named, and named again when it has completed or is given up. A phase that is to
//! end, because it was stopped or because its time is over, does not wait for such an I/O for ever: a thread that waits for it in
//! the kernel cannot be ended, so the phase ends without it. The same holds for operations on files and directories, and for
//! what is done before a phase starts ([`Preparation`]).

use std::ops::ControlFlow;

use assay_results::HostEvent;
use assay_results::event::HungIo;
use assay_workload::units::Nanos;

use crate::in_flight::{InFlight, Waits};
use crate::kind::{PhaseContext, ThreadIndex};
use crate::preparation::{Preparation, Step};

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

/// Tells what hangs: when it is found, while it lasts, and when it is over.
#[derive(Debug)]
struct Teller {
    phase: u32,
    /// From when on times are told.
    origin: &'static str,
    origin_ns: u64,
    /// What was told last.
    told: Option<HungIo>,
    named: u32,
}

impl Teller {
    fn new(phase: usize, origin: &'static str, origin_ns: u64) -> Self {
        Teller { phase: phase as u32, origin, origin_ns, told: None, named: 0 }
    }

    /// `longest` is what has been outstanding for longest; the answer is the same if it hangs.
    fn look(
        &mut self,
        now_ns: u64,
        longest: Option<HungIo>,
        sink: &mut dyn FnMut(HostEvent),
    ) -> Option<HungIo> {
        if let Some(told) = &self.told
            && !longest.as_ref().is_some_and(|io| io.is(told))
        {
            let took = Nanos(now_ns.saturating_sub(self.origin_ns + told.since.0));
            self.note(format!("{}: {} completed after {took}", of(told), told.which()), sink);
        }
        let hung = longest.filter(|io| io.outstanding_for.0 >= HUNG_AFTER_NS);
        if let Some(found) = &hung
            && !self.told.as_ref().is_some_and(|told| told.is(found))
        {
            self.named += 1;
            let text = format!(
                "{}: {} has not completed for {}; it was handed over {} after {}",
                of(found),
                found.which(),
                found.outstanding_for,
                found.since,
                self.origin
            );
            self.note(text, sink);
        }
        if hung.is_some() || self.told.is_some() {
            sink(HostEvent::Hung { phase: self.phase, io: hung.clone().map(Box::new) });
        }
        self.told.clone_from(&hung);
        hung
    }

    /// Tells that `io` is not waited for any longer; the reason, a sentence.
    fn give_up(&self, io: &HungIo, why: &str, sink: &mut dyn FnMut(HostEvent)) -> String {
        let text = format!("{}: {} has not completed for {} {why}", of(io), io.which(), io.outstanding_for);
        self.note(format!("{text}: it was given up, and what it may still do is not known"), sink);
        text
    }

    fn note(&self, text: String, sink: &mut dyn FnMut(HostEvent)) {
        if self.named <= NAMED_MAX {
            sink(HostEvent::Note { phase: Some(self.phase), id: HUNG_IO.to_owned(), text });
        }
    }
}

/// Whose it is.
fn of(io: &HungIo) -> String {
    if io.job.is_empty() { "before the phase".to_owned() } else { format!("job '{}'", io.job) }
}

/// Watches one phase.
#[derive(Debug)]
pub struct Watchdog<'p> {
    context: PhaseContext<'p>,
    start_ns: u64,
    teller: Teller,
    stopped_ns: Option<u64>,
}

impl<'p> Watchdog<'p> {
    /// For a phase whose threads start at `start_ns`.
    pub fn new(context: PhaseContext<'p>, start_ns: u64) -> Self {
        let teller = Teller::new(context.phase, "the start of the phase", start_ns);
        Watchdog { context, start_ns, teller, stopped_ns: None }
    }

    /// Looks at the threads that have not ended, each with what it waits for longest, and tells what there is to tell.
    /// The answer is why the phase should end without them; `None`: it should not.
    pub fn look(
        &mut self,
        now_ns: u64,
        threads: &[(ThreadIndex, Option<Waits>)],
        sink: &mut dyn FnMut(HostEvent),
    ) -> Option<String> {
        if self.context.stopped() {
            self.stopped_ns.get_or_insert(now_ns);
        }
        let outstanding = threads.iter().filter_map(|(at, waits)| match waits {
            Some(Waits::For(io)) => Some((*at, *io)),
            _ => None,
        });
        let longest = outstanding.min_by_key(|(_, io)| io.issued_ns);
        let longest = longest.map(|(at, io)| self.hung(at, io, now_ns));
        let hung = self.teller.look(now_ns, longest, sink)?;
        let why = self.given_up(now_ns, threads)?;
        Some(self.teller.give_up(&hung, why, sink))
    }

    /// Whether nothing but hung I/Os is waited for, for long enough.
    fn given_up(&self, now_ns: u64, threads: &[(ThreadIndex, Option<Waits>)]) -> Option<&'static str> {
        let all_hang =
            |for_ns: u64| threads.iter().all(|(_, waits)| waits.is_some_and(|one| one.hangs(now_ns, for_ns)));
        if self.context.stopped() {
            let waited = has_waited(self.stopped_ns, now_ns);
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

    fn hung(&self, at: ThreadIndex, io: InFlight, now_ns: u64) -> HungIo {
        let job = self.context.job(at.job);
        HungIo {
            job: job.name.clone(),
            operation: io.operation.into(),
            target: io.path(self.context.plan, job, &job.slices[at.thread]).unwrap_or_default(),
            offset_bytes: io.offset_bytes,
            len_bytes: io.len_bytes,
            since: Nanos(io.issued_ns.saturating_sub(self.start_ns)),
            outstanding_for: Nanos(now_ns.saturating_sub(io.issued_ns)),
        }
    }
}

/// Whether a run that was stopped then has waited long enough for what hangs.
fn has_waited(stopped_ns: Option<u64>, now_ns: u64) -> bool {
    stopped_ns.is_some_and(|stopped_ns| now_ns.saturating_sub(stopped_ns) >= STOPPED_WAIT_NS)
}

/// Watches what is done before a phase starts.
#[derive(Debug)]
pub struct PreparationWatch {
    begun_ns: u64,
    teller: Teller,
    stopped_ns: Option<u64>,
}

impl PreparationWatch {
    /// For a phase whose preparation begins at `begun_ns`.
    pub fn new(phase: usize, begun_ns: u64) -> Self {
        let teller = Teller::new(phase, "its preparation began", begun_ns);
        PreparationWatch { begun_ns, teller, stopped_ns: None }
    }

    /// Looks at what is under way, and tells what there is to tell. [`ControlFlow::Break`]: the run was `stopped`, and all that is
    /// left of the preparation hangs, so that it should end without it.
    pub fn look(
        &mut self,
        now_ns: u64,
        preparation: &Preparation,
        stopped: bool,
        sink: &mut dyn FnMut(HostEvent),
    ) -> ControlFlow<()> {
        if stopped {
            self.stopped_ns.get_or_insert(now_ns);
        }
        let steps = preparation.under_way();
        let longest = steps.first().map(|step| self.hung(step, now_ns));
        let Some(hung) = self.teller.look(now_ns, longest, sink) else { return ControlFlow::Continue(()) };
        let all_hang = steps.iter().all(|step| now_ns.saturating_sub(step.since_ns) >= HUNG_AFTER_NS);
        if !(all_hang && has_waited(self.stopped_ns, now_ns)) {
            return ControlFlow::Continue(());
        }
        self.teller.give_up(&hung, "when the run was stopped", sink);
        ControlFlow::Break(())
    }

    fn hung(&self, step: &Step, now_ns: u64) -> HungIo {
        HungIo {
            job: String::new(),
            operation: step.operation.into(),
            target: step.path.clone(),
            offset_bytes: step.offset_bytes,
            len_bytes: step.len_bytes,
            since: Nanos(step.since_ns.saturating_sub(self.begun_ns)),
            outstanding_for: Nanos(now_ns.saturating_sub(step.since_ns)),
        }
    }
}

#[cfg(test)]
mod tests;
