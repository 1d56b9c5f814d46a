//! Moving requests: from event to event, from step to step.

use assay_engine::{Clock, Completion};
use assay_workload::pattern::OpKind;

use super::program::Step;
use super::{EIO, NO_PORT, NONE, Node, World};

/// What came of a hop.
enum Next {
    /// It takes until then.
    At(u64),
    /// Another event will wake it.
    Waiting,
    /// That was the last.
    Done,
}

impl World {
    /// Starts a node's program; its first event is not before `earliest_ns`.
    #[inline(always)]
    pub(super) fn launch(&mut self, index: u32, now: u64, earliest_ns: u64) {
        match self.hop(index, now) {
            Next::At(at) => self.events.push(at.max(earliest_ns), index),
            Next::Done => self.events.push(earliest_ns, index),
            Next::Waiting => {}
        }
    }

    /// Runs events up to `limit_ns`, but no further than the first instant at which anything completes. The clock stands
    /// there afterwards, or at the limit.
    pub(crate) fn run_until(&mut self, limit_ns: u64) {
        let mut stop_ns = limit_ns;
        while self.events.first_ns() <= stop_ns {
            let Some(event) = self.events.pop() else { break };
            match self.hop(event.payload, event.at_ns) {
                Next::At(at) => self.events.push(at, event.payload),
                Next::Waiting => {}
                Next::Done => {
                    let stall = if self.stalls.is_empty() { None } else { self.stalls.at(event.at_ns) };
                    if let Some(stall) = stall {
                        self.events.push(stall.to.0, event.payload);
                    } else if self.finish(event.payload, event.at_ns) {
                        stop_ns = event.at_ns;
                    }
                }
            }
        }
        // Nothing looks at the clock in between.
        if !self.ready.is_empty() {
            self.clock.set_ns(stop_ns);
        } else if limit_ns != u64::MAX {
            self.clock.set_ns(limit_ns.max(self.clock.now_ns()));
        }
    }

    /// Does the node's next steps, up to the first that takes time.
    #[inline(always)]
    fn hop(&mut self, index: u32, now: u64) -> Next {
        let Node { kind, core, len_bytes, mut step, .. } = self.nodes[index as usize];
        loop {
            let hop = self.programs.hops[usize::from(step)];
            let mut at = match hop.step {
                Step::Done => return Next::Done,
                Step::Stage(stage) => self.cores.stage(usize::from(stage), kind as usize, core, now),
                Step::LinkIn | Step::LinkOut => match &mut self.links {
                    Some(links) => {
                        let controller = self.cores.controller(core);
                        links.transfer(controller, hop.step == Step::LinkIn, len_bytes, now)
                    }
                    None => now,
                },
                Step::Drives => self.visit_drives(index, now),
                other => match self.rare_step(index, other, now) {
                    Some(at) => at,
                    None => return Next::Waiting,
                },
            };
            if hop.delay != Step::Done {
                at = self.delay(kind, hop.delay, at);
            }
            step += 1;
            self.nodes[index as usize].step = step;
            if at > now {
                return Next::At(at);
            }
        }
    }

    /// The steps that few requests take, or that do little; `None`: another event will wake the node.
    #[inline(never)]
    fn rare_step(&mut self, index: u32, step: Step, now: u64) -> Option<u64> {
        let Node { kind, core, .. } = self.nodes[index as usize];
        match step {
            Step::Delay | Step::Hit | Step::Miss | Step::Network => Some(self.delay(kind, step, now)),
            Step::Store => Some(self.cores.on_controller(core, &self.delays.store, now)),
            Step::Admit => self.admit(index, now),
            Step::Copies => {
                self.start_copies(index, now);
                Some(now)
            }
            Step::Join => {
                let node = &mut self.nodes[index as usize];
                node.pending -= 1;
                if node.pending > 0 {
                    node.step += 1;
                    return None;
                }
                Some(now)
            }
            Step::Done | Step::Stage(_) | Step::LinkIn | Step::LinkOut | Step::Drives => Some(now),
        }
    }

    /// A step that takes time, but no place at a station: when it is over.
    #[inline(always)]
    fn delay(&mut self, kind: OpKind, step: Step, now: u64) -> u64 {
        let delay = match (step, &mut self.cache) {
            (Step::Delay, _) => {
                let delay = self.delays.services[kind as usize].draw_ns(&mut self.delays.rng);
                self.delays.slow.stretch(now, delay)
            }
            (Step::Network, _) => self.delays.network.draw_ns(&mut self.delays.rng),
            (Step::Hit, Some(cache)) => cache.hit.draw_ns(&mut cache.rng),
            (Step::Miss, Some(cache)) => cache.miss.draw_ns(&mut cache.rng),
            _ => 0,
        };
        now + delay
    }

    #[inline(never)]
    fn visit_drives(&mut self, index: u32, now: u64) -> u64 {
        let node = &mut self.nodes[index as usize];
        let Some(drives) = &mut self.drives else { return now };
        let write = node.kind != OpKind::Read;
        let copy = self.cores.controller(node.core);
        match drives.request(now, node.address, u64::from(node.len_bytes), write, copy) {
            Ok(at) => at,
            Err(_) => {
                node.result = -EIO;
                now
            }
        }
    }

    /// Starts the writes of the other copies; the node joins them later.
    fn start_copies(&mut self, index: u32, now: u64) {
        let node = self.nodes[index as usize];
        let mut homes = [0; 16];
        let others =
            self.cores.others(node.core, now).take(usize::from(self.delays.copies).saturating_sub(1));
        let mut count = 0;
        for (home, core) in homes.iter_mut().zip(others) {
            *home = core;
            count += 1;
        }
        self.nodes[index as usize].pending = count as u32 + 1;
        for &core in &homes[..count] {
            let step = self.programs.copy;
            let copy = self.allocate(Node { core, step, parent: index, pending: 0, ..node });
            self.launch(copy, now, now);
        }
    }

    /// Puts a write into the write-back cache: when it is there, or `None` if it has to wait for room.
    fn admit(&mut self, index: u32, now: u64) -> Option<u64> {
        let node = self.nodes[index as usize];
        let Some(cache) = &mut self.cache else { return Some(now) };
        let (first, last) = cache.pages_of(node.address, node.len_bytes);
        let Some(dirty) = &mut cache.dirty else { return Some(now) };
        // Who came earlier goes first.
        if cache.waiting.0 != NONE || !dirty.admit(first..=last, &mut cache.rng) {
            dirty.stalled += 1;
            self.nodes[index as usize].next = NONE;
            match cache.waiting.1 {
                NONE => cache.waiting.0 = index,
                last => self.nodes[last as usize].next = index,
            }
            cache.waiting.1 = index;
            return None;
        }
        let at = now + dirty.service.draw_ns(&mut cache.rng);
        self.destage(now);
        Some(at)
    }

    /// Starts as many background writes as may run.
    fn destage(&mut self, now: u64) {
        loop {
            let Some(cache) = &mut self.cache else { return };
            let page_bytes = cache.page_bytes;
            let Some(run) = cache.dirty.as_mut().and_then(|dirty| dirty.next_run()) else { return };
            let address = run.first * page_bytes;
            let node = Node {
                address,
                started_ns: now,
                len_bytes: run.pages * page_bytes as u32,
                parent: NONE,
                pending: 0,
                next: NONE,
                slot: run.pages,
                result: 0,
                port: NO_PORT,
                core: self.cores.owner(address, now).unwrap_or(0),
                step: self.programs.destage,
                kind: OpKind::Write,
            };
            let index = self.allocate(node);
            // An event even if it takes no time: it must not end before it has begun.
            self.launch(index, now, now);
        }
    }

    /// A background write has ended: there is room for those who waited.
    fn destaged(&mut self, pages: u32, now: u64) {
        if let Some(dirty) = self.cache.as_mut().and_then(|cache| cache.dirty.as_mut()) {
            dirty.destaged(pages);
        }
        while let Some((index, at)) = self.admit_first_waiting(now) {
            self.events.push(at, index);
        }
        self.destage(now);
    }

    /// Admits the write that waits longest, if there is room: which it is, and when it is stored.
    fn admit_first_waiting(&mut self, now: u64) -> Option<(u32, u64)> {
        let cache = self.cache.as_mut()?;
        let index = cache.waiting.0;
        let node = self.nodes.get_mut(index as usize)?;
        let (first, last) = cache.pages_of(node.address, node.len_bytes);
        let dirty = cache.dirty.as_mut()?;
        if !dirty.admit(first..=last, &mut cache.rng) {
            return None;
        }
        node.step += 1;
        cache.waiting.0 = node.next;
        if cache.waiting.0 == NONE {
            cache.waiting.1 = NONE;
        }
        Some((index, now + dirty.service.draw_ns(&mut cache.rng)))
    }

    /// Ends a node; whether that completed a request of a host.
    #[inline(always)]
    fn finish(&mut self, index: u32, now: u64) -> bool {
        let node = &self.nodes[index as usize];
        if node.parent == NONE && node.port != NO_PORT {
            self.complete(index, now);
            return true;
        }
        self.finish_part(index, now)
    }

    /// Ends a part of a request, or a background write.
    #[inline(never)]
    fn finish_part(&mut self, mut index: u32, now: u64) -> bool {
        let mut node = self.nodes[index as usize];
        while node.parent != NONE {
            self.release(index);
            index = node.parent;
            let parent = &mut self.nodes[index as usize];
            if node.result < 0 {
                parent.result = node.result;
            }
            parent.pending -= 1;
            if parent.pending > 0 {
                return false;
            }
            node = *parent;
            match self.hop(index, now) {
                Next::At(at) => {
                    self.events.push(at, index);
                    return false;
                }
                Next::Waiting => return false,
                Next::Done => {}
            }
        }
        if node.port == NO_PORT {
            self.release(index);
            self.destaged(node.slot, now);
            return false;
        }
        self.complete(index, now);
        true
    }

    /// Hands a request of a host back.
    #[inline(always)]
    fn complete(&mut self, index: u32, now: u64) {
        let node = &mut self.nodes[index as usize];
        node.next = self.free;
        self.free = index;
        self.tally.leave(now);
        self.tally.completed += 1;
        self.tally.failed += u64::from(node.result < 0);
        self.tally.completion_ns_sum += now - node.started_ns;
        let port = &mut self.ports[usize::from(node.port)];
        port.completed.push(Completion { slot: node.slot, result: node.result });
        if !port.ready {
            port.ready = true;
            self.ready.push(node.port);
        }
    }
}
