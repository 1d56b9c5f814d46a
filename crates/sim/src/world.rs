//! The state of a simulation, and how requests move through it.
//!
//! A station is first come first served and arrivals reach it in order of time, so the moment a visit ends is known when
//! it begins: a visit costs one event, a station holds no queue, and nothing is allocated per request.

use assay_engine::{Clock, Completion, Io};
use assay_workload::pattern::OpKind;
use assay_workload::rng::{Rng, derive_seed};

use crate::SimClock;
use crate::events::EventHeap;
use crate::model::{FrontEnd, Model, Place, When};
use crate::service::Service;

/// No node.
const NONE: u32 = u32::MAX;

/// A request, or a part of one, on its way.
#[derive(Debug, Clone, Copy)]
struct Node {
    address: u64,
    len_bytes: u32,
    /// The request this is a part of.
    parent: u32,
    /// Parts that are not done yet; also the link of the free list.
    pending: u32,
    slot: u32,
    result: i32,
    port: u16,
    core: u16,
    program: u8,
    step: u8,
    kind: OpKind,
}

/// One step of a request's way; the last is always `Done`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Delay,
    Stage(u8),
    Done,
}

/// What came of a step.
enum Hop {
    At(u64),
    Done,
}

/// A server, or several behind one queue.
#[derive(Debug)]
struct Station {
    free_ns: u64,
    busy_ns: u64,
    served: u64,
    rng: Rng,
}

/// Where an engine's completions are put.
#[derive(Debug)]
struct Port {
    volumes: Box<[Volume]>,
    completed: Vec<Completion>,
    ready: bool,
}

/// A target's place in the array's address space.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Volume {
    pub(crate) base: u64,
    pub(crate) size_bytes: u64,
}

/// EINVAL: outside the target.
const EINVAL: i32 = 22;

#[derive(Debug)]
pub(crate) struct World {
    clock: SimClock,
    events: EventHeap,
    nodes: Vec<Node>,
    free: u32,
    ports: Vec<Port>,
    ready: Vec<u16>,
    front_end: FrontEnd,
    splits: bool,
    programs: [Box<[Step]>; 10],
    delays: [Service; 5],
    delay_rng: Rng,
    stages: Vec<[Service; 5]>,
    cores: Vec<Station>,
}

const KINDS: [OpKind; 5] = [OpKind::Read, OpKind::Write, OpKind::Trim, OpKind::Fsync, OpKind::Fdatasync];

fn program(model: &Model, kind: OpKind, hit: bool) -> Box<[Step]> {
    let mut steps = Vec::new();
    if !model.delay.of(kind).is_zero() {
        steps.push(Step::Delay);
    }
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
    steps.push(Step::Done);
    steps.into_boxed_slice()
}

impl World {
    pub(crate) fn new(model: &Model, seed: u64, clock: SimClock) -> World {
        let front_end = model.front_end.clone();
        let station = |index: u32| Station {
            free_ns: 0,
            busy_ns: 0,
            served: 0,
            rng: Rng::new(derive_seed(seed, 1000 + u64::from(index))),
        };
        World {
            clock,
            events: EventHeap::with_capacity(1024),
            nodes: Vec::with_capacity(1024),
            free: NONE,
            ports: Vec::new(),
            ready: Vec::with_capacity(64),
            splits: front_end.cores() > 1 && front_end.stages.iter().any(|stage| stage.place != Place::Array),
            programs: std::array::from_fn(|index| program(model, KINDS[index / 2], index % 2 == 1)),
            delays: KINDS.map(|kind| model.delay.of(kind).clone()),
            delay_rng: Rng::new(derive_seed(seed, 1)),
            stages: front_end
                .stages
                .iter()
                .map(|stage| KINDS.map(|kind| stage.service.of(kind).clone()))
                .collect(),
            cores: (0..front_end.cores()).map(station).collect(),
            front_end,
        }
    }

    pub(crate) fn add_port(&mut self, volumes: Box<[Volume]>, slots: u32) -> u16 {
        let port = self.ports.len() as u16;
        self.ports.push(Port { volumes, completed: Vec::with_capacity(slots as usize), ready: false });
        self.nodes.reserve(slots as usize);
        port
    }

    pub(crate) fn completed(&mut self, port: u16) -> &mut Vec<Completion> {
        &mut self.ports[usize::from(port)].completed
    }

    /// The ports that got completions since the last call, in `out`.
    pub(crate) fn take_ready(&mut self, out: &mut Vec<u16>) {
        out.clear();
        out.append(&mut self.ready);
        for &port in out.iter() {
            self.ports[usize::from(port)].ready = false;
        }
    }

    fn allocate(&mut self, node: Node) -> u32 {
        if self.free == NONE {
            self.nodes.push(node);
            return self.nodes.len() as u32 - 1;
        }
        let index = self.free;
        self.free = self.nodes[index as usize].pending;
        self.nodes[index as usize] = node;
        index
    }

    fn release(&mut self, index: u32) {
        self.nodes[index as usize].pending = self.free;
        self.free = index;
    }

    /// Takes a request in at the present time.
    pub(crate) fn accept(&mut self, port: u16, io: Io) {
        let volume = self.ports[usize::from(port)].volumes.get(usize::from(io.target)).copied();
        let fits = volume.is_some_and(|volume| {
            io.offset_bytes.checked_add(u64::from(io.len_bytes)).is_some_and(|end| end <= volume.size_bytes)
        });
        let mut node = Node {
            address: volume.map_or(0, |volume| volume.base) + if fits { io.offset_bytes } else { 0 },
            len_bytes: io.len_bytes,
            parent: NONE,
            pending: 0,
            slot: io.slot,
            result: match io.kind {
                OpKind::Read | OpKind::Write => io.len_bytes as i32,
                _ => 0,
            },
            port,
            core: 0,
            program: io.kind as u8 * 2,
            step: 0,
            kind: io.kind,
        };
        if !fits {
            node.result = -EINVAL;
            node.step = self.programs[usize::from(node.program)].len() as u8 - 1;
            let index = self.allocate(node);
            return self.events.push(self.clock.now_ns() + 1, index);
        }
        let segment = self.front_end.segment.0;
        if self.splits && node.address % segment + u64::from(node.len_bytes) > segment {
            self.accept_parts(node, segment);
        } else {
            self.start(node);
        }
    }

    /// A request that crosses segments is done when all its parts are.
    fn accept_parts(&mut self, whole: Node, segment: u64) {
        let parent = self.allocate(whole);
        let (mut address, end) = (whole.address, whole.address + u64::from(whole.len_bytes));
        while address < end {
            let part_end = ((address / segment + 1) * segment).min(end);
            self.nodes[parent as usize].pending += 1;
            self.start(Node { address, len_bytes: (part_end - address) as u32, parent, pending: 0, ..whole });
            address = part_end;
        }
    }

    fn start(&mut self, mut node: Node) {
        node.core = self.front_end.core_of(node.address / self.front_end.segment.0) as u16;
        let now = self.clock.now_ns();
        let index = self.allocate(node);
        // Nothing is done in no time at all, or a closed loop would never move the clock.
        let at = match self.hop(index, now) {
            Hop::At(at) => at.max(now + 1),
            Hop::Done => now + 1,
        };
        self.events.push(at, index);
    }

    /// Does the node's next steps, up to the first that takes time.
    #[inline]
    fn hop(&mut self, index: u32, now: u64) -> Hop {
        loop {
            let node = &mut self.nodes[index as usize];
            let (kind, core) = (node.kind as usize, node.core);
            let at = match self.programs[usize::from(node.program)][usize::from(node.step)] {
                Step::Done => return Hop::Done,
                Step::Delay => {
                    node.step += 1;
                    now + self.delays[kind].draw_ns(&mut self.delay_rng)
                }
                Step::Stage(stage) => {
                    node.step += 1;
                    self.visit_core(usize::from(stage), kind, core, now)
                }
            };
            if at > now {
                return Hop::At(at);
            }
        }
    }

    fn visit_core(&mut self, stage: usize, kind: usize, owner: u16, now: u64) -> u64 {
        let core = match self.front_end.stages[stage].place {
            Place::Bound => usize::from(owner),
            Place::Array => first_free(&self.cores, 0..self.cores.len()),
            Place::Controller => {
                let per = usize::from(self.front_end.cores_per_controller);
                let first = usize::from(owner) / per * per;
                first_free(&self.cores, first..first + per)
            }
        };
        let station = &mut self.cores[core];
        let service = self.stages[stage][kind].draw_ns(&mut station.rng);
        station.free_ns = station.free_ns.max(now) + service;
        station.busy_ns += service;
        station.served += 1;
        station.free_ns
    }

    /// Runs events up to `limit_ns`, but no further than the first instant at which anything completes. The clock stands
    /// there afterwards, or at the limit. Whether there are completions.
    pub(crate) fn run_until(&mut self, limit_ns: u64) -> bool {
        let mut stop_ns = limit_ns;
        while let Some(event) = self.events.first() {
            if event.at_ns > stop_ns {
                break;
            }
            self.clock.set_ns(event.at_ns);
            match self.hop(event.payload, event.at_ns) {
                Hop::At(at) => self.events.replace_first(at, event.payload),
                Hop::Done => {
                    self.events.pop();
                    if self.finish(event.payload) {
                        stop_ns = event.at_ns;
                    }
                }
            }
        }
        if self.ready.is_empty() && limit_ns != u64::MAX {
            self.clock.set_ns(limit_ns.max(self.clock.now_ns()));
        }
        !self.ready.is_empty()
    }

    /// Ends a node; whether that completed a request.
    fn finish(&mut self, mut index: u32) -> bool {
        let mut node = self.nodes[index as usize];
        if node.parent != NONE {
            self.release(index);
            index = node.parent;
            let parent = &mut self.nodes[index as usize];
            parent.result = parent.result.min(if node.result < 0 { node.result } else { i32::MAX });
            parent.pending -= 1;
            if parent.pending > 0 {
                return false;
            }
            node = *parent;
        }
        self.release(index);
        let port = &mut self.ports[usize::from(node.port)];
        port.completed.push(Completion { slot: node.slot, result: node.result });
        if !port.ready {
            port.ready = true;
            self.ready.push(node.port);
        }
        true
    }

    /// Whether anything is on its way.
    pub(crate) fn is_idle(&self) -> bool {
        self.events.first().is_none()
    }
}

fn first_free(stations: &[Station], range: std::ops::Range<usize>) -> usize {
    let start = range.start;
    let least = stations[range].iter().enumerate().min_by_key(|entry| entry.1.free_ns);
    start + least.map_or(0, |entry| entry.0)
}
