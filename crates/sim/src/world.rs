//! The state of a simulation, and how requests move through it.
//!
//! A station is first come first served and arrivals reach it in order of time, so the moment a visit ends is known when
//! it begins: a visit costs one event, a station holds no queue, and nothing is allocated per request.

mod cores;
mod drives;
mod faults;
pub(crate) mod pages;
mod program;
mod run;
mod station;
#[cfg(test)]
mod tests;
mod write_back;

use assay_engine::{Clock, Completion, Io};
use assay_workload::pattern::OpKind;
use assay_workload::rng::{Rng, derive_seed};

use self::cores::{Cores, Links};
use self::drives::Drives;
use self::faults::{Outage, Slowdown};
use self::pages::PageSet;
use self::program::{KINDS, Programs};
use self::write_back::DirtyPages;
use crate::SimClock;
use crate::events::EventQueue;
use crate::model::{Fault, Model, Protection};
use crate::service::{Service, Timing};
use assay_results::audit::{CacheLoad, OBSERVATIONS_SCHEMA, Observations};

/// No node.
const NONE: u32 = u32::MAX;
/// The port of what no host asked for.
const NO_PORT: u16 = u16::MAX;
/// No such target, or no such place in it.
const EINVAL: i32 = 22;
/// Behind the end.
const ENOSPC: i32 = 28;
/// An I/O error.
const EIO: i32 = 5;

/// A request, or a part of one, on its way: a cache line, found by a shift.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
struct Node {
    address: u64,
    started_ns: u64,
    len_bytes: u32,
    /// The request this is a part of.
    parent: u32,
    /// Parts that are not done yet.
    pending: u32,
    /// The next of the free, or of those that wait for room in the cache.
    next: u32,
    slot: u32,
    result: i32,
    port: u16,
    core: u16,
    step: u16,
    kind: OpKind,
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

impl Volume {
    /// How much of a request lies within, as a block device grants it: reads and writes end at its end, a write behind it
    /// finds no space. Bytes, and the negative errno if it is refused.
    fn grants(&self, io: &Io) -> (u32, i32) {
        let end = io.offset_bytes.saturating_add(u64::from(io.len_bytes));
        let within = self.size_bytes.saturating_sub(io.offset_bytes).min(u64::from(io.len_bytes)) as u32;
        match io.kind {
            _ if end > i64::MAX as u64 => (0, -EINVAL),
            OpKind::Write if within == 0 && io.len_bytes > 0 => (0, -ENOSPC),
            OpKind::Trim if within < io.len_bytes => (0, -EINVAL),
            _ => (within, 0),
        }
    }
}

/// Counts since the last reset.
#[derive(Debug, Default)]
struct Tally {
    from_ns: u64,
    completed: u64,
    failed: u64,
    completion_ns_sum: u64,
    /// Requests inside now, and the integral of that over time less their number times the present time, wrapping.
    inside: u64,
    inside_ns: u64,
    read_hits: u64,
    read_misses: u64,
}

impl Tally {
    /// Counting from `now` on, with so many inside.
    fn new(now: u64, inside: u64) -> Tally {
        let inside_ns = inside.wrapping_mul(now).wrapping_neg();
        Tally { from_ns: now, inside, inside_ns, ..Tally::default() }
    }

    #[inline(always)]
    fn enter(&mut self, now: u64) {
        self.inside += 1;
        self.inside_ns = self.inside_ns.wrapping_sub(now);
    }

    #[inline(always)]
    fn leave(&mut self, now: u64) {
        self.inside -= 1;
        self.inside_ns = self.inside_ns.wrapping_add(now);
    }

    /// The integral over time of the number inside.
    fn integral_ns(&self, now: u64) -> u64 {
        self.inside_ns.wrapping_add(self.inside.wrapping_mul(now))
    }
}

/// The read side of the cache.
#[derive(Debug)]
struct ReadCache {
    pages: PageSet,
    page_bytes: u64,
    /// The page size as a shift, where it is a power of two.
    page_shift: Option<u32>,
    hit: Timing,
    miss: Timing,
    write_allocate: bool,
    rng: Rng,
    dirty: Option<DirtyPages>,
    /// Writes that wait for room: first and last.
    waiting: (u32, u32),
}

impl ReadCache {
    /// First and last page of a piece of the address space.
    #[inline]
    fn pages_of(&self, address: u64, len_bytes: u32) -> (u64, u64) {
        let last = address + u64::from(len_bytes.max(1)) - 1;
        match self.page_shift {
            Some(shift) => (address >> shift, last >> shift),
            None => (address / self.page_bytes, last / self.page_bytes),
        }
    }
}

/// Requests that no station serves.
#[derive(Debug)]
struct Delays {
    services: [Timing; 5],
    slow: Slowdown,
    network: Timing,
    store: Timing,
    copies: u16,
    rng: Rng,
}

#[derive(Debug)]
pub(crate) struct World {
    clock: SimClock,
    events: EventQueue,
    nodes: Vec<Node>,
    free: u32,
    ports: Vec<Port>,
    ready: Vec<u16>,
    programs: Programs,
    delays: Delays,
    cores: Cores,
    links: Option<Links>,
    cache: Option<ReadCache>,
    drives: Option<Drives>,
    stalls: Outage,
    errors: Vec<Fault>,
    error_rng: Rng,
    tally: Tally,
    name: String,
    seed: u64,
}

fn cache_of(model: &Model, seed: u64) -> Option<ReadCache> {
    let cache = model.cache.as_ref()?;
    Some(ReadCache {
        pages: PageSet::new((cache.size.0 / cache.page.0) as usize, cache.policy),
        page_bytes: cache.page.0,
        page_shift: cache.page.0.is_power_of_two().then(|| cache.page.0.trailing_zeros()),
        hit: Timing::from(&cache.hit),
        miss: Timing::from(&cache.miss),
        write_allocate: cache.write_allocate,
        rng: Rng::new(derive_seed(seed, 2)),
        dirty: cache.write_back.as_ref().map(|write_back| DirtyPages::new(cache, write_back)),
        waiting: (NONE, NONE),
    })
}

fn delays_of(model: &Model, seed: u64) -> Delays {
    let protection = model.back_end.as_ref().map(|back_end| &back_end.protection);
    let (network, store, copies) = match protection {
        Some(Protection::Replicated { copies, network, store }) => (network, store, *copies),
        _ => (&Service::ZERO, &Service::ZERO, 1),
    };
    Delays {
        services: KINDS.map(|kind| Timing::from(model.delay.of(kind))),
        slow: Slowdown::new(model, |fault| match fault {
            Fault::SlowDelay { factor, .. } => Some(*factor),
            _ => None,
        }),
        network: Timing::from(network),
        store: Timing::from(store),
        copies,
        rng: Rng::new(derive_seed(seed, 1)),
    }
}

impl World {
    /// The array of a model that has been checked.
    pub(crate) fn new(model: &Model, seed: u64, clock: SimClock) -> World {
        let errors = model.faults.iter().filter(|fault| matches!(fault, Fault::Errors { .. }));
        World {
            clock,
            events: EventQueue::new(),
            nodes: Vec::with_capacity(1024),
            free: NONE,
            ports: Vec::new(),
            ready: Vec::with_capacity(64),
            programs: Programs::new(model),
            delays: delays_of(model, seed),
            cores: Cores::new(model, seed),
            links: model.link.map(|link| Links::new(link, model.front_end.controllers)),
            cache: cache_of(model, seed),
            drives: model.back_end.as_ref().map(|back_end| Drives::new(model, back_end, seed)),
            stalls: Outage::new(model, |fault| matches!(fault, Fault::Stall { .. })),
            errors: errors.copied().collect(),
            error_rng: Rng::new(derive_seed(seed, 3)),
            tally: Tally::default(),
            name: model.name.clone(),
            seed,
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

    /// The port that got completions since the last call, if it is the only one. Closed loops are mostly alone.
    #[inline]
    pub(crate) fn take_only_ready(&mut self) -> Option<u16> {
        let &[port] = self.ready.as_slice() else { return None };
        self.ready.clear();
        self.ports[usize::from(port)].ready = false;
        Some(port)
    }

    /// The ports that got completions since the last call, in `out`.
    pub(crate) fn take_ready(&mut self, out: &mut Vec<u16>) {
        out.clear();
        out.append(&mut self.ready);
        for &port in out.iter() {
            self.ports[usize::from(port)].ready = false;
        }
    }

    /// Whether no request of a host is on its way.
    pub(crate) fn is_idle(&self) -> bool {
        self.tally.inside == 0
    }

    #[inline(always)]
    fn allocate(&mut self, node: Node) -> u32 {
        if self.free == NONE {
            self.nodes.push(node);
            return self.nodes.len() as u32 - 1;
        }
        let index = self.free;
        self.free = self.nodes[index as usize].next;
        self.nodes[index as usize] = node;
        index
    }

    fn release(&mut self, index: u32) {
        self.nodes[index as usize].next = self.free;
        self.free = index;
    }

    /// Takes a request in at the present time.
    pub(crate) fn accept(&mut self, port: u16, io: Io) {
        let now = self.clock.now_ns();
        self.tally.enter(now);
        let volume = self.ports[usize::from(port)].volumes.get(usize::from(io.target)).copied();
        let (len_bytes, refused) = volume.map_or((0, -EINVAL), |volume| volume.grants(&io));
        let mut node = Node {
            address: volume.map_or(0, |volume| volume.base.saturating_add(io.offset_bytes)),
            started_ns: now,
            len_bytes,
            parent: NONE,
            pending: 0,
            next: NONE,
            slot: io.slot,
            result: if matches!(io.kind, OpKind::Read | OpKind::Write) { len_bytes as i32 } else { 0 },
            port,
            core: 0,
            step: self.programs.done,
            kind: io.kind,
        };
        if refused != 0 {
            node.result = refused;
        } else if !self.errors.is_empty() && self.draws_error(now) {
            node.result = -EIO;
        }
        let address = node.address;
        let index = self.allocate(node);
        // What moves nothing never reaches the array.
        if refused != 0 || (len_bytes == 0 && !io.kind.is_flush()) {
            self.events.push(now + 1, index);
        } else if self.cores.crosses(address, len_bytes) {
            self.accept_parts(index);
        } else {
            self.start(index, now);
        }
    }

    #[cold]
    fn draws_error(&mut self, now: u64) -> bool {
        let mut failed = false;
        for fault in &self.errors {
            if let Fault::Errors { share, during } = fault {
                failed |= during.holds(now) && self.error_rng.unit() < *share;
            }
        }
        failed
    }

    /// A request that crosses segments is done when all its parts are.
    fn accept_parts(&mut self, parent: u32) {
        let whole = self.nodes[parent as usize];
        let segment = self.cores.segment_bytes();
        let (mut address, end) = (whole.address, whole.address + u64::from(whole.len_bytes));
        while address < end {
            let part_end = ((address / segment + 1) * segment).min(end);
            self.nodes[parent as usize].pending += 1;
            let part = Node { address, len_bytes: (part_end - address) as u32, parent, ..whole };
            let index = self.allocate(part);
            self.start(index, whole.started_ns);
            address = part_end;
        }
    }

    #[inline(always)]
    fn start(&mut self, index: u32, now: u64) {
        let Node { address, len_bytes, kind, .. } = self.nodes[index as usize];
        match self.cores.owner(address, now) {
            Some(core) => {
                self.cores.count(core);
                let step = self.program_for(kind, address, len_bytes);
                let node = &mut self.nodes[index as usize];
                (node.core, node.step) = (core, step);
            }
            None => self.nodes[index as usize].result = -EIO,
        }
        // Nothing is done in no time at all, or a closed loop would never move the clock.
        self.launch(index, now, now + 1);
    }

    /// The program of a request; reads look the cache up here, in the order they come.
    fn program_for(&mut self, kind: OpKind, address: u64, len_bytes: u32) -> u16 {
        let Some(cache) = &mut self.cache else { return self.programs.of(kind, false) };
        let (first, last) = cache.pages_of(address, len_bytes);
        match kind {
            OpKind::Read => {
                let mut hit = true;
                for page in first..=last {
                    if !cache.pages.touch(page) {
                        hit &= cache.dirty.as_ref().is_some_and(|dirty| dirty.contains(page));
                        cache.pages.insert(page, &mut cache.rng);
                    }
                }
                *if hit { &mut self.tally.read_hits } else { &mut self.tally.read_misses } += 1;
                self.programs.of(OpKind::Read, hit)
            }
            OpKind::Write => {
                if cache.write_allocate {
                    for page in first..=last {
                        if !cache.pages.touch(page) {
                            cache.pages.insert(page, &mut cache.rng);
                        }
                    }
                }
                match &cache.dirty {
                    Some(dirty) if last - first < dirty.write_pages_max() => {
                        self.programs.of(OpKind::Write, false)
                    }
                    _ => self.programs.write_through,
                }
            }
            kind => self.programs.of(kind, false),
        }
    }

    /// Counts from now on.
    pub(crate) fn reset(&mut self) {
        let now = self.clock.now_ns();
        self.tally = Tally::new(now, self.tally.inside);
        self.cores.reset(now);
        if let Some(links) = &mut self.links {
            links.reset(now);
        }
        if let Some(drives) = &mut self.drives {
            drives.reset(now);
        }
        if let Some(dirty) = self.cache.as_mut().and_then(|cache| cache.dirty.as_mut()) {
            (dirty.absorbed, dirty.destaged, dirty.stalled) = (0, 0, 0);
        }
    }

    /// What happened since the last reset.
    pub(crate) fn observe(&self) -> Observations {
        let (from, now) = (self.tally.from_ns, self.clock.now_ns());
        let inside_ns = self.tally.integral_ns(now);
        let links = |inward| self.links.as_ref().map_or(Vec::new(), |links| links.loads(inward, from, now));
        let observed = Observations {
            schema: OBSERVATIONS_SCHEMA.to_owned(),
            model: self.name.clone(),
            seed: self.seed,
            from_ns: from,
            to_ns: now,
            completed: self.tally.completed,
            failed: self.tally.failed,
            completion_ns_sum: self.tally.completion_ns_sum,
            outstanding_mean: inside_ns as f64 / (now - from).max(1) as f64,
            cores: self.cores.loads(from, now),
            links_in: links(true),
            links_out: links(false),
            drives: self.drives.as_ref().map_or(Vec::new(), |drives| drives.loads(from, now)),
            cache: self.cache.as_ref().map(|cache| {
                let dirty = cache.dirty.as_ref();
                CacheLoad {
                    read_hits: self.tally.read_hits,
                    read_misses: self.tally.read_misses,
                    writes_absorbed: dirty.map_or(0, |dirty| dirty.absorbed),
                    writes_stalled: dirty.map_or(0, |dirty| dirty.stalled),
                    pages_destaged: dirty.map_or(0, |dirty| dirty.destaged),
                    dirty_pages: dirty.map_or(0, |dirty| dirty.len() as u64),
                }
            }),
        };
        observed.with_shares()
    }
}
