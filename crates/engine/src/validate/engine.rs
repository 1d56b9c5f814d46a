//! An engine around another one that gives writes their headers and looks at what was read.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use assay_results::data::DataChecks;
use assay_workload::block;
use assay_workload::fill::PlacedPattern;
use assay_workload::pattern::OpKind;

use super::TargetMap;
use super::checked::Checked;
use super::checksum::checksums;
use super::journal::TargetJournal;
use crate::clock::RealClock;
use crate::seam::{
    AnyEngine, Buffer, BufferPool, Capabilities, Clock as _, Completion, Completions, Engine, EngineError,
    Io, Notes, QueueFull, Submitted, TargetTable, Wait,
};

/// Looks for a block that another thread uses before sleeping between them.
const YIELDS: u32 = 100;
/// The sleep between two looks.
const NAP: Duration = Duration::from_micros(20);

/// Bytes of a line of a cache.
const LINE_BYTES: usize = 64;
/// How many lines of a read are asked for at once: the nearest cache has room for them beside other things.
const LINES_FETCHED: usize = 128;

/// An I/O in a slot.
#[derive(Debug, Clone)]
struct Held {
    io: Io,
    keys: Range<usize>,
    exclusive: bool,
}

/// An engine whose data is validated.
pub(crate) struct ValidatedEngine {
    // It goes before the buffers do.
    inner: Box<dyn AnyEngine>,
    /// What is known of each target of the thread; `None`: it is not verified.
    maps: Vec<Option<Arc<TargetMap>>>,
    buffers: Vec<Buffer>,
    /// What each slot holds of a map.
    held: Vec<Option<Held>>,
    /// I/Os on blocks that others use, in their order.
    waiting: Vec<Io>,
    /// I/Os that the inner engine has.
    running: usize,
    checked: Checked,
    /// What blocks hold, where it follows from their places.
    pattern: Option<PlacedPattern>,
    /// Writes are acknowledged when they complete; else a flush behind them does it.
    acknowledges: bool,
    /// The flush in each slot: its target, and its number in the journal.
    flushes: Vec<Option<(u16, u64)>>,
}

impl ValidatedEngine {
    /// Around `inner`, for a thread with `depth` outstanding I/Os on targets of which `maps` know.
    pub(crate) fn new(
        inner: Box<dyn AnyEngine>,
        maps: Vec<Option<Arc<TargetMap>>>,
        run: u64,
        depth: u32,
    ) -> ValidatedEngine {
        ValidatedEngine {
            inner,
            maps,
            buffers: Vec::new(),
            held: vec![None; depth as usize],
            waiting: Vec::with_capacity(depth as usize),
            running: 0,
            checked: Checked::new(run),
            pattern: None,
            acknowledges: false,
            flushes: vec![None; depth as usize],
        }
    }

    /// The journal takes writes for acknowledged when they complete, if that is so.
    pub(crate) fn acknowledging(mut self, acknowledges: bool) -> ValidatedEngine {
        self.acknowledges = acknowledges;
        self
    }

    /// Blocks hold this pattern, with or without headers.
    pub(crate) fn with_pattern(mut self, pattern: Option<PlacedPattern>) -> ValidatedEngine {
        self.pattern = pattern;
        self
    }

    /// All that is read was written with headers, by this run or an earlier one, if that is so; `targets` are all of the plan, as their
    /// sectors name them.
    pub(crate) fn expecting_headers(mut self, expects: bool, targets: Box<[u32]>) -> ValidatedEngine {
        (self.checked.expects_headers, self.checked.targets) = (expects, targets);
        self
    }

    fn journal(&self, target: u16) -> Option<&TargetJournal> {
        self.maps.get(usize::from(target))?.as_ref()?.journal.as_ref()
    }

    /// Keeps in the journal that a flush ended, where one was in the slot.
    #[cold]
    fn flush_ended(&mut self, completion: Completion) {
        let flush = self.flushes.get_mut(completion.slot as usize).and_then(Option::take);
        let Some((target, flush)) = flush else { return };
        if let Some(journal) = self.journal(target) {
            journal.flush_ended(flush, completion.result == 0);
        }
    }

    fn map(&self, io: &Io) -> Option<&TargetMap> {
        map_of(&self.maps, io)
    }

    /// Whether an I/O that came before this one waits for the same block.
    fn is_behind(&self, io: &Io, waiting: usize) -> bool {
        let end = |io: &Io| io.offset_bytes + u64::from(io.len_bytes);
        let touches = |other: &Io| {
            other.target == io.target && other.offset_bytes < end(io) && io.offset_bytes < end(other)
        };
        !io.kind.is_flush() && self.waiting[..waiting].iter().any(touches)
    }

    /// Starts an I/O if its blocks are free; whether they are.
    fn start(&mut self, io: Io) -> Result<bool, QueueFull> {
        if let Some(map) = map_of(&self.maps, &io) {
            let keys = map.keys(io.offset_bytes, u64::from(io.len_bytes));
            let exclusive = io.kind != OpKind::Read;
            if !map.acquire(keys.clone(), exclusive) {
                return Ok(false);
            }
            if exclusive {
                map.begins(io.offset_bytes, u64::from(io.len_bytes), io.kind == OpKind::Write);
            }
            let bytes = bytes_of(&mut self.buffers, &io);
            match io.kind {
                OpKind::Write => {
                    self.checked.found.written +=
                        prepare_write(self.pattern.as_mut(), map, &io, keys.clone(), bytes);
                }
                OpKind::Read => block::spoil(bytes),
                _ => {}
            }
            if let Some(held) = self.held.get_mut(io.slot as usize) {
                *held = Some(Held { io, keys, exclusive });
            }
        } else if io.kind.is_flush() {
            let flush = self.journal(io.target).map(|journal| (io.target, journal.flush_begins()));
            if let Some(place) = self.flushes.get_mut(io.slot as usize) {
                *place = flush;
            }
        }
        let queued = self.inner.queue(io);
        if queued.is_err() {
            self.give_back(io.slot);
        }
        queued?;
        self.running += 1;
        Ok(true)
    }

    /// Starts what waited and need not any more, in the order it came.
    fn start_waiting(&mut self) {
        let mut index = 0;
        while let Some(io) = self.waiting.get(index).copied() {
            // The inner engine has room for every slot.
            if !self.is_behind(&io, index) && self.start(io).unwrap_or(false) {
                self.waiting.remove(index);
            } else {
                index += 1;
            }
        }
    }

    /// Waits until something that waits may start: all of it is for blocks that other threads use.
    #[cold]
    fn wait_for_others(&mut self, wait: Wait) {
        let clock = RealClock::new();
        let mut looks = 0;
        while self.running == 0 && wait != Wait::Poll {
            if matches!(wait, Wait::Until(at_ns) if clock.now_ns() >= at_ns) {
                return;
            }
            if looks < YIELDS {
                std::thread::yield_now();
            } else {
                std::thread::sleep(NAP);
            }
            looks += 1;
            self.start_waiting();
        }
    }

    /// Gives the blocks of a slot back as they were: nothing happened to them.
    fn give_back(&mut self, slot: u32) {
        let Some(Held { io, keys, exclusive }) = self.held.get_mut(slot as usize).and_then(Option::take)
        else {
            return;
        };
        if let Some(map) = self.map(&io) {
            keys.for_each(|key| map.release(key, exclusive));
        }
    }

    /// Asks for the memory of what was read, which the device wrote past this processor's caches: all of it at once, while something else
    /// is done, and not line by line as it is looked at.
    #[inline]
    fn fetch(&mut self, completion: &Completion) {
        #[cfg(target_arch = "x86_64")]
        if let Some(Some(Held { io, .. })) = self.held.get(completion.slot as usize)
            && io.kind == OpKind::Read
        {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            let io = *io;
            for line in bytes_of(&mut self.buffers, &io).chunks(LINE_BYTES).take(LINES_FETCHED) {
                // SAFETY: nothing is read by it.
                unsafe { _mm_prefetch::<_MM_HINT_T0>(line.as_ptr().cast::<i8>()) };
            }
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = completion;
    }

    /// Takes note of what an I/O did; how many blocks are not as they should be.
    fn judge(&mut self, completion: Completion) -> u32 {
        let held = self.held.get_mut(completion.slot as usize).and_then(Option::take);
        let Some(Held { io, keys, .. }) = held else {
            self.flush_ended(completion);
            return 0;
        };
        let Some(map) = map_of(&self.maps, &io) else { return 0 };
        match io.kind {
            OpKind::Read => {
                let bytes = bytes_of(&mut self.buffers, &io);
                let read = (&*bytes, completion.result);
                match &mut self.pattern {
                    Some(pattern) if !pattern.has_headers() => {
                        judge_pattern(&mut self.checked, pattern, map, &io, keys, read)
                    }
                    _ => judge_read(&mut self.checked, map, &io, keys, read),
                }
            }
            OpKind::Write => {
                let succeeded = completion.result == io.len_bytes as i32;
                if succeeded {
                    map.completed(io.offset_bytes, u64::from(io.len_bytes), self.acknowledges);
                }
                for key in keys {
                    match map.part(key, io.offset_bytes, u64::from(io.len_bytes)) {
                        (_, true) => map.written(key, succeeded),
                        (_, false) => map.overwritten(key),
                    }
                }
                0
            }
            _ => {
                keys.for_each(|key| map.overwritten(key));
                0
            }
        }
    }
}

/// What is known of the target of an I/O; `None`: it is not verified, or nothing is to be of this I/O.
fn map_of<'m>(maps: &'m [Option<Arc<TargetMap>>], io: &Io) -> Option<&'m TargetMap> {
    if io.kind.is_flush() { None } else { maps.get(usize::from(io.target))?.as_deref() }
}

/// The bytes of an I/O that is not outstanding.
fn bytes_of<'b>(buffers: &'b mut [Buffer], io: &Io) -> &'b mut [u8] {
    let Some(buffer) = buffers.get(io.slot as usize) else { return &mut [] };
    // SAFETY: the pool outlives the engine, slots do not overlap, and this one's I/O is not outstanding.
    unsafe { std::slice::from_raw_parts_mut(buffer.address, buffer.len_bytes.min(io.len_bytes as usize)) }
}

/// Gives what is written its pattern and its headers; how many key blocks are written whole.
#[inline]
fn prepare_write(
    pattern: Option<&mut PlacedPattern>,
    map: &TargetMap,
    io: &Io,
    keys: Range<usize>,
    bytes: &mut [u8],
) -> u64 {
    let Some(pattern) = pattern else { return seal(map, io, keys, bytes) };
    pattern.fill(io.offset_bytes, bytes);
    if pattern.has_headers() {
        return seal(map, io, keys, bytes);
    }
    keys.map(|key| u64::from(map.part(key, io.offset_bytes, u64::from(io.len_bytes)).1)).sum()
}

/// Compares what was read with the pattern; how many blocks are not as they should be.
fn judge_pattern(
    checked: &mut Checked,
    pattern: &mut PlacedPattern,
    map: &TargetMap,
    io: &Io,
    keys: Range<usize>,
    (bytes, result): (&[u8], i32),
) -> u32 {
    let mut wrong = 0;
    for key in keys {
        let (part, _) = map.part(key, io.offset_bytes, u64::from(io.len_bytes));
        let is_right = match usize::try_from(result) {
            // It failed, and is counted as failed.
            Err(_) => true,
            Ok(moved) if moved < part.end => checked.missing(map, key, &bytes[part.start.min(moved)..moved]),
            Ok(_) => checked.read_pattern(map, key, pattern, io.offset_bytes, part, bytes),
        };
        wrong += u32::from(!is_right);
        map.release(key, false);
    }
    wrong
}

/// Gives what is written its headers; how many key blocks are written whole.
fn seal(map: &TargetMap, io: &Io, keys: Range<usize>, bytes: &mut [u8]) -> u64 {
    let mut whole = 0;
    for key in keys {
        let (part, is_whole) = map.part(key, io.offset_bytes, u64::from(io.len_bytes));
        whole += u64::from(is_whole);
        let first = map.next(key, io.offset_bytes + part.start as u64, is_whole);
        if let Some(bytes) = bytes.get_mut(part) {
            block::seal_by(bytes, &first, checksums);
        }
    }
    whole
}

/// Looks at what was read; how many blocks are not as they should be.
fn judge_read(
    checked: &mut Checked,
    map: &TargetMap,
    io: &Io,
    keys: Range<usize>,
    (bytes, result): (&[u8], i32),
) -> u32 {
    let mut wrong = 0;
    for key in keys {
        let (part, is_whole) = map.part(key, io.offset_bytes, u64::from(io.len_bytes));
        let is_right = match usize::try_from(result) {
            // It failed, and is counted as failed.
            Err(_) => true,
            Ok(_) if !is_whole => {
                checked.found.unverifiable += 1;
                true
            }
            Ok(moved) if moved < part.end => checked.missing(map, key, &bytes[part.start.min(moved)..moved]),
            Ok(_) => bytes.get(part).is_none_or(|bytes| checked.read(map, key, bytes)),
        };
        wrong += u32::from(!is_right);
        map.release(key, false);
    }
    wrong
}

impl Drop for ValidatedEngine {
    /// What a thread leaves outstanding must not keep others waiting; its writes may have happened or not.
    fn drop(&mut self) {
        for slot in 0..self.held.len() as u32 {
            let Some(Held { io, keys, exclusive }) = self.held[slot as usize].take() else { continue };
            let Some(map) = self.map(&io) else { continue };
            keys.for_each(|key| if exclusive { map.overwritten(key) } else { map.release(key, false) });
        }
    }
}

impl Notes for ValidatedEngine {
    fn notes(&self) -> Vec<String> {
        self.inner.notes()
    }

    fn data(&self) -> Option<DataChecks> {
        Some(self.checked.found.clone())
    }
}

impl Engine for ValidatedEngine {
    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    fn prepare(&mut self, targets: &TargetTable, buffers: &dyn BufferPool) -> Result<(), EngineError> {
        self.buffers = (0..buffers.slots()).map(|slot| buffers.buffer(slot)).collect();
        self.inner.prepare(targets, buffers)
    }

    fn queue(&mut self, io: Io) -> Result<(), QueueFull> {
        let waits = self.is_behind(&io, self.waiting.len()) || !self.start(io)?;
        if waits {
            self.checked.found.waited += 1;
            self.waiting.push(io);
        }
        Ok(())
    }

    fn submit(&mut self, wait: Wait) -> Result<Submitted, EngineError> {
        if !self.waiting.is_empty() {
            self.start_waiting();
            self.wait_for_others(wait);
        }
        if self.running == 0 { Ok(Submitted::default()) } else { self.inner.submit(wait) }
    }

    fn reap(&mut self, out: &mut Completions, wait: Wait) -> Result<(), EngineError> {
        // Of what only waits nothing can complete.
        if self.running == 0 {
            return Ok(());
        }
        let before = out.as_slice().len();
        self.inner.reap(out, wait)?;
        self.running -= out.as_slice().len() - before;
        // It is looked at once everything is recorded.
        out.as_slice().iter().skip(before).take(1).for_each(|first| self.fetch(first));
        Ok(())
    }

    fn judge(&mut self, completed: &Completions) -> u32 {
        let completed = completed.as_slice();
        let each = completed.iter().enumerate().map(|(index, completion)| {
            completed.get(index + 1).into_iter().for_each(|next| self.fetch(next));
            self.judge(*completion)
        });
        each.sum()
    }
}
