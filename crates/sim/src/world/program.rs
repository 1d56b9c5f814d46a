//! The way of each kind of request through the array, as a list of steps.

use assay_workload::pattern::OpKind;

use crate::model::{Model, Protection, When};

/// One step; every list ends with `Done`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// The pure delay.
    Delay,
    /// From the host to the controller.
    LinkIn,
    /// From the controller to the host.
    LinkOut,
    /// The stage of this index.
    Stage(u8),
    /// Answered from the cache.
    Hit,
    /// Not answered from the cache.
    Miss,
    /// Into the write-back cache.
    Admit,
    /// To the drives, all copies that are on this controller.
    Drives,
    /// Starts the copies on other controllers.
    Copies,
    /// Over to the controller of a copy.
    Network,
    /// Work of that controller.
    Store,
    /// Waits for the copies.
    Join,
    /// The end.
    Done,
}

impl Step {
    /// Whether it takes time, but no place at a station.
    fn is_delay(self) -> bool {
        matches!(self, Step::Delay | Step::Hit | Step::Miss | Step::Network)
    }
}

/// A step, and the pure delay behind it, which needs no event of its own; `Done`: there is none.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Hop {
    pub(crate) step: Step,
    pub(crate) delay: Step,
}

/// Hops of all programs in one list, and where each begins.
#[derive(Debug)]
pub(crate) struct Programs {
    /// Read by index at every event.
    pub(crate) hops: Box<[Hop]>,
    requests: [u16; 10],
    /// A write that does not fit into the write-back cache.
    pub(crate) write_through: u16,
    /// Dirty pages on their way to the drives.
    pub(crate) destage: u16,
    /// A copy on another controller.
    pub(crate) copy: u16,
    /// Nothing to do.
    pub(crate) done: u16,
}

/// All kinds, in the order of their discriminants.
pub(crate) const KINDS: [OpKind; 5] =
    [OpKind::Read, OpKind::Write, OpKind::Trim, OpKind::Fsync, OpKind::Fdatasync];

impl Programs {
    pub(crate) fn new(model: &Model) -> Programs {
        let mut hops = Vec::new();
        let mut add = |program: Vec<Step>| {
            let start = hops.len() as u16;
            let mut steps = program.into_iter().peekable();
            while let Some(step) = steps.next() {
                hops.push(Hop { step, delay: steps.next_if(|step| step.is_delay()).unwrap_or(Step::Done) });
            }
            hops.push(Hop { step: Step::Done, delay: Step::Done });
            start
        };
        let requests =
            std::array::from_fn(|index| add(request(model, KINDS[index / 2], index % 2 == 1, true)));
        Programs {
            requests,
            write_through: add(request(model, OpKind::Write, false, false)),
            destage: add(to_drives(model, true)),
            copy: add(vec![Step::Network, Step::Store, Step::Drives]),
            done: add(Vec::new()),
            hops: hops.into_boxed_slice(),
        }
    }

    /// Where the program of a request begins.
    #[inline]
    pub(crate) fn of(&self, kind: OpKind, hit: bool) -> u16 {
        self.requests[kind as usize * 2 + usize::from(hit)]
    }
}

fn to_drives(model: &Model, write: bool) -> Vec<Step> {
    match model.back_end.as_ref().map(|back_end| &back_end.protection) {
        None => Vec::new(),
        Some(Protection::Replicated { .. }) if write => vec![Step::Copies, Step::Drives, Step::Join],
        Some(_) => vec![Step::Drives],
    }
}

fn request(model: &Model, kind: OpKind, hit: bool, write_back: bool) -> Vec<Step> {
    let (read, write) = (kind == OpKind::Read, kind == OpKind::Write);
    let write_back = write_back && model.cache.as_ref().is_some_and(|cache| cache.write_back.is_some());
    let mut steps = Vec::new();
    if !model.delay.of(kind).is_zero() {
        steps.push(Step::Delay);
    }
    if model.link.is_some() && write {
        steps.push(Step::LinkIn);
    }
    // A write that is acknowledged from the cache does not go to the drives.
    let hit = hit || (write && write_back);
    for (index, stage) in model.front_end.stages.iter().enumerate() {
        let applies = match stage.when {
            When::Always => true,
            When::Hit => hit,
            When::Miss => !hit,
        };
        if applies && !stage.service.of(kind).is_zero() {
            steps.push(Step::Stage(index as u8));
        }
    }
    match kind {
        OpKind::Read if hit => steps.push(Step::Hit),
        OpKind::Read => {
            if model.cache.as_ref().is_some_and(|cache| !cache.miss.is_zero()) {
                steps.push(Step::Miss);
            }
            steps.extend(to_drives(model, false));
        }
        OpKind::Write if write_back => steps.push(Step::Admit),
        OpKind::Write => steps.extend(to_drives(model, true)),
        _ => {}
    }
    if model.link.is_some() && read {
        steps.push(Step::LinkOut);
    }
    steps
}
