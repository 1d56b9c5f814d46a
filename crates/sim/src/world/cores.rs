//! Controllers, their cores, and their links.

use std::hint::select_unpredictable;

use assay_workload::rng::{Rng, derive_seed};

use super::faults::{Outage, Slowdown};
use super::program::KINDS;
use super::station::Station;
use crate::model::{CorePlacement, Fault, FrontEnd, Link, Model};
use crate::service::Timing;
use assay_results::audit::{CoreLoad, StationLoad};

/// What one core did.
#[derive(Debug)]
struct Core {
    station: Station,
    owned: u64,
    rng: Rng,
    slow: Slowdown,
}

impl Core {
    /// Serves a visit; when it is done, and the core free again.
    #[inline(always)]
    fn visit(&mut self, free: &mut u64, service: u64, now: u64) -> u64 {
        let start = now.max(*free);
        let end = start + self.slow.stretch(now, service);
        *free = end;
        self.station.visit(now, start, end);
        end
    }
}

/// Where a stage runs, and how long by kind.
#[derive(Debug)]
struct Stage {
    place: CorePlacement,
    timings: [Timing; 5],
}

/// All cores. Segments go to cores by the layout, and to the next controller that is up if theirs is not.
#[derive(Debug)]
pub(crate) struct Cores {
    front_end: FrontEnd,
    /// Segment size and number of cores as shifts, and the core of each segment of a turn: no division on the way of a
    /// request. `None` where they are no powers of two, or the layout is a hash.
    turn: Option<(u32, Box<[u16]>)>,
    per: usize,
    /// The controller of each core.
    controllers: Box<[u16]>,
    /// Whether any stage cares which core owns an address.
    bound: bool,
    stages: Box<[Stage]>,
    /// When each is free; apart from the rest, as it is searched.
    free: Box<[u64]>,
    cores: Box<[Core]>,
    down: Box<[Outage]>,
    any_down: bool,
}

impl Cores {
    pub(crate) fn new(model: &Model, seed: u64) -> Cores {
        let front_end = model.front_end.clone();
        let segment = front_end.segment.0;
        let turns =
            segment.is_power_of_two() && front_end.cores().is_power_of_two() && front_end.is_periodic();
        let turn = (0..u64::from(front_end.cores())).map(|index| front_end.core_of(index) as u16);
        let core = |index: u32| Core {
            station: Station::new(),
            owned: 0,
            rng: Rng::new(derive_seed(seed, 1000 + u64::from(index))),
            slow: Slowdown::new(model, |fault| match fault {
                Fault::SlowCore { core, factor, .. } if u32::from(*core) == index => Some(*factor),
                _ => None,
            }),
        };
        let outage = |index: u16| {
            let failed = |fault: &Fault| matches!(fault, Fault::FailedController { controller, .. } if *controller == index);
            Outage::new(model, failed)
        };
        let stages = front_end.stages.iter().map(|stage| Stage {
            place: stage.place,
            timings: KINDS.map(|kind| Timing::from(stage.service.of(kind))),
        });
        Cores {
            turn: turns.then(|| (segment.trailing_zeros(), turn.collect())),
            per: usize::from(front_end.cores_per_controller),
            controllers: (0..front_end.cores()).map(|core| front_end.controller_of(core) as u16).collect(),
            bound: front_end.cores() > 1
                && front_end.stages.iter().any(|stage| stage.place != CorePlacement::Array),
            stages: stages.collect(),
            free: vec![0; front_end.cores() as usize].into_boxed_slice(),
            cores: (0..front_end.cores()).map(core).collect(),
            down: (0..front_end.controllers).map(outage).collect(),
            any_down: model.faults.iter().any(|fault| matches!(fault, Fault::FailedController { .. })),
            front_end,
        }
    }

    pub(crate) fn segment_bytes(&self) -> u64 {
        self.front_end.segment.0
    }

    /// Whether a request has to be cut because several cores own it.
    #[inline]
    pub(crate) fn crosses(&self, address: u64, len_bytes: u32) -> bool {
        let within = match &self.turn {
            Some((shift, _)) => address & ((1 << shift) - 1),
            None => address % self.front_end.segment.0,
        };
        self.bound && within + u64::from(len_bytes) > self.front_end.segment.0
    }

    /// The core that owns an address now; `None`: no controller is left.
    #[inline(always)]
    pub(crate) fn owner(&self, address: u64, now: u64) -> Option<u16> {
        let core = match &self.turn {
            Some((shift, turn)) => turn[(address >> shift) as usize & (turn.len() - 1)],
            None => self.front_end.core_of(address / self.front_end.segment.0) as u16,
        };
        if self.any_down { self.take_over(core, now) } else { Some(core) }
    }

    /// Counts a request for its owner.
    #[inline]
    pub(crate) fn count(&mut self, owner: u16) {
        self.cores[usize::from(owner)].owned += 1;
    }

    /// The core in place of `core` on the first controller from its own on that is up.
    #[cold]
    fn take_over(&self, core: u16, now: u64) -> Option<u16> {
        let (home, within) = (usize::from(core) / self.per, usize::from(core) % self.per);
        let controllers = self.down.len();
        let up =
            (0..controllers).map(|step| (home + step) % controllers).find(|&index| self.is_up(index, now))?;
        Some((up * self.per + within) as u16)
    }

    fn is_up(&self, controller: usize, now: u64) -> bool {
        self.down[controller].at(now).is_none()
    }

    /// The controllers behind that of `core`, those that are up, nearest first.
    pub(crate) fn others(&self, core: u16, now: u64) -> impl Iterator<Item = u16> + '_ {
        let (home, controllers) = (usize::from(core) / self.per, self.down.len());
        let others = (1..controllers).map(move |step| (home + step) % controllers);
        others.filter(move |&index| self.is_up(index, now)).map(|index| (index * self.per) as u16)
    }

    /// The controller of a core.
    #[inline]
    pub(crate) fn controller(&self, core: u16) -> usize {
        usize::from(self.controllers[usize::from(core)])
    }

    /// Runs a stage for a request owned by `owner`; when it is done.
    #[inline(always)]
    pub(crate) fn stage(&mut self, stage: usize, kind: usize, owner: u16, now: u64) -> u64 {
        let Stage { place, timings } = &self.stages[stage];
        let index = match place {
            CorePlacement::Bound => usize::from(owner),
            CorePlacement::Array => first_free(&self.free, 0),
            CorePlacement::Controller => self.first_free_of(owner),
        };
        let core = &mut self.cores[index];
        let service = timings[kind].draw_ns(&mut core.rng);
        core.visit(&mut self.free[index], service, now)
    }

    /// Runs something on the first free core of the controller of `core`.
    pub(crate) fn on_controller(&mut self, core: u16, service: &Timing, now: u64) -> u64 {
        let index = self.first_free_of(core);
        let core = &mut self.cores[index];
        let service = service.draw_ns(&mut core.rng);
        core.visit(&mut self.free[index], service, now)
    }

    fn first_free_of(&self, core: u16) -> usize {
        let first = self.controller(core) * self.per;
        first_free(&self.free[first..first + self.per], first)
    }

    pub(crate) fn reset(&mut self, now: u64) {
        for (core, free) in self.cores.iter_mut().zip(&self.free) {
            core.station.reset(now, std::slice::from_ref(free));
            core.owned = 0;
        }
    }

    pub(crate) fn loads(&self, from: u64, now: u64) -> Vec<CoreLoad> {
        let cores = self.cores.iter().zip(&self.free).enumerate();
        cores
            .map(|(index, (core, free))| CoreLoad {
                controller: self.front_end.controller_of(index as u32),
                owned: core.owned,
                load: core.station.load(from, now, std::slice::from_ref(free)),
            })
            .collect()
    }
}

/// The index, counted from `base`, of the smallest.
#[inline(always)]
fn first_free(free: &[u64], base: usize) -> usize {
    let (mut best, mut least) = (0, u64::MAX);
    for (index, &at) in free.iter().enumerate() {
        // Which core it is cannot be guessed, so that choosing without a branch is faster.
        let sooner = at < least;
        best = select_unpredictable(sooner, index, best);
        least = select_unpredictable(sooner, at, least);
    }
    base + best
}

/// The links of all controllers, each direction on its own.
#[derive(Debug)]
pub(crate) struct Links {
    ns_per_byte: f64,
    /// The last length, bytes, and how long it takes: most are as long as the one before.
    last: (u32, u64),
    /// In and out of each controller: when it is free, and what it did.
    links: Box<[[(u64, Station); 2]]>,
}

impl Links {
    pub(crate) fn new(link: Link, controllers: u16) -> Links {
        let links = (0..controllers).map(|_| std::array::from_fn(|_| (0, Station::new())));
        Links { ns_per_byte: 1e9 / link.bytes_per_s, last: (0, 0), links: links.collect() }
    }

    /// Moves bytes over the link of a controller; when they have arrived.
    #[inline(always)]
    pub(crate) fn transfer(&mut self, controller: usize, inward: bool, len_bytes: u32, now: u64) -> u64 {
        if self.last.0 != len_bytes {
            self.last = (len_bytes, (f64::from(len_bytes) * self.ns_per_byte) as u64);
        }
        let (free, station) = &mut self.links[controller][usize::from(!inward)];
        let start = now.max(*free);
        *free = start + self.last.1;
        station.visit(now, start, *free);
        *free
    }

    pub(crate) fn reset(&mut self, now: u64) {
        for (free, station) in self.links.iter_mut().flatten() {
            station.reset(now, std::slice::from_ref(free));
        }
    }

    pub(crate) fn loads(&self, inward: bool, from: u64, now: u64) -> Vec<StationLoad> {
        let one = |link: &[(u64, Station); 2]| {
            let (free, station) = &link[usize::from(!inward)];
            station.load(from, now, std::slice::from_ref(free))
        };
        self.links.iter().map(one).collect()
    }
}
