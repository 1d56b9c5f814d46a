//! Looking for caches below a target: first touches of blocks that nobody has read against re-reads at growing distances.
//!
//! [`Prober`] says what to read next and is told how long it took; it does no I/O and has no clock. A span of chunks is
//! read once, in random order, and then the oldest chunks are read again: between two readings of a chunk lies the whole
//! span, so a cache that replaces what was used least recently serves all re-reads of a span it can hold and none of a
//! larger one (the reuse distance of Mattson et al., 1970). Each stage doubles the span; where the re-reads change pace,
//! the boundary is then narrowed down by halving. First touches are strewn in all along, so that both figures are of the
//! same time.

mod analysis;

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::environment::TargetEnvironment;
use assay_workload::rng::Rng;

pub use analysis::{BurstCredit, CacheLevel};

/// The schema of a stored probe.
pub const SCHEMA: &str = "assay.probe/1";

/// Chunks of the first stage.
const CHUNKS_FIRST: usize = 32;
/// Share of the region that spans may take; the rest is for first touches.
const SPAN_SHARE_MAX: f64 = 0.75;
/// Re-reads that are timed in a stage.
const REREADS: usize = 512;
/// First touches that are timed in a stage.
const TOUCHES: usize = 32;
/// Halvings of the interval in which a cache ends.
const HALVINGS: u32 = 3;
/// Fewer chunks than this tell nothing.
pub const CHUNKS_MIN: usize = 4 * CHUNKS_FIRST;

/// How large and how fine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProbeSpec {
    /// Bytes from the start of the target that may be read.
    pub region_bytes: u64,
    /// What is brought into a cache at a time.
    pub chunk_bytes: u64,
    /// What is read when time is taken.
    pub block_bytes: u64,
    /// Chooses the order.
    pub seed: u64,
}

/// What to do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ask {
    /// Read these bytes, and say how long it took.
    Read {
        /// First byte.
        offset_bytes: u64,
        /// Number of bytes.
        length_bytes: u64,
    },
    /// Nothing: all that can be learnt here is known.
    Done,
}

/// A distribution of read times in brief, nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
#[expect(missing_docs, reason = "the names are the percentiles")]
pub struct Times {
    pub n: u64,
    pub p10: u64,
    pub p50: u64,
    pub p90: u64,
}

impl Times {
    fn of(values: &mut [u64]) -> Times {
        values.sort_unstable();
        let at = |share: f64| {
            let last = values.len().saturating_sub(1) as f64;
            values.get((share * last).round() as usize).copied().unwrap_or(0)
        };
        Times { n: values.len() as u64, p10: at(0.1), p50: at(0.5), p90: at(0.9) }
    }
}

/// Re-reads at one distance, and first touches of the same time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ProbeStage {
    /// Bytes read between two readings of the same chunk.
    pub span_bytes: u64,
    /// Reading again.
    pub again: Times,
    /// Reading for the first time.
    pub first: Times,
    /// Whether it narrows down a boundary that growing spans had found.
    pub refining: bool,
}

/// What a probe found, as stored.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Probe {
    /// [`SCHEMA`].
    pub schema: String,
    /// Its identifier.
    pub id: String,
    /// Start in UTC, RFC 3339.
    pub started: String,
    /// What was read.
    pub target: TargetEnvironment,
    /// Whether past the page cache of this machine.
    pub direct: bool,
    /// Bytes of the target that were used.
    pub region_bytes: u64,
    /// Bytes brought into a cache at a time.
    pub chunk_bytes: u64,
    /// Bytes read when time was taken.
    pub block_bytes: u64,
    /// How long it took, seconds.
    pub elapsed_s: f64,
    /// All first touches.
    pub cold: Times,
    /// In the order in which they were made.
    pub stages: Vec<ProbeStage>,
    /// The caches found, the fastest first.
    pub levels: Vec<CacheLevel>,
    /// A fall of pace of the first touches, if there was one.
    pub burst: Option<BurstCredit>,
    /// Whether it ended before the largest span for want of time.
    pub cut_short: bool,
    /// What a reader should know.
    pub notes: Vec<String>,
}

/// What the answer to the last question is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Question {
    Nothing,
    /// A chunk that joins the span.
    Fill,
    /// A block of the chunk that is read again; the rest of it follows.
    Again(u32),
    /// The rest of that chunk, so that all of it is as recent.
    Rest,
    First,
}

/// Where it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    /// The span grows to so many chunks.
    Grow(usize),
    /// Chunks are read again at this distance, so many are left.
    Reread {
        distance: usize,
        left: usize,
    },
    Over,
}

/// Decides what is read. See the module.
#[derive(Debug)]
pub struct Prober {
    spec: ProbeSpec,
    /// All chunks in random order: the span takes them from the front, first touches from the back.
    order: Vec<u32>,
    taken: usize,
    left: usize,
    span_max: usize,
    /// Chunks of the span, the least recently read first.
    queue: VecDeque<u32>,
    step: Step,
    asked: Question,
    again: Vec<u64>,
    first: Vec<u64>,
    all_first: Vec<u64>,
    /// Bytes and nanoseconds of each chunk that joined the span.
    fills: Vec<(u64, u64)>,
    stages: Vec<ProbeStage>,
    /// Boundaries still to be narrowed down: spans in chunks below and above, the time that divides them, halvings left.
    open: Vec<(usize, usize, f64, u32)>,
    out_of_time: bool,
}

impl Prober {
    /// A probe at its beginning; `None` where the region has fewer than [`CHUNKS_MIN`] chunks.
    pub fn new(spec: ProbeSpec) -> Option<Self> {
        let chunks = u32::try_from(spec.region_bytes / spec.chunk_bytes.max(1)).ok()?;
        if (chunks as usize) < CHUNKS_MIN || spec.block_bytes == 0 || spec.block_bytes >= spec.chunk_bytes {
            return None;
        }
        let mut order: Vec<u32> = (0..chunks).collect();
        Rng::new(spec.seed).shuffle(&mut order);
        let span_max = (order.len() as f64 * SPAN_SHARE_MAX) as usize;
        Some(Prober {
            spec,
            left: order.len(),
            order,
            taken: 0,
            span_max,
            queue: VecDeque::new(),
            step: Step::Grow(CHUNKS_FIRST),
            asked: Question::Nothing,
            again: Vec::new(),
            first: Vec::new(),
            all_first: Vec::new(),
            fills: Vec::new(),
            stages: Vec::new(),
            open: Vec::new(),
            out_of_time: false,
        })
    }

    /// No span grows further: what was begun is brought to an end.
    pub fn out_of_time(&mut self) {
        self.out_of_time = true;
    }

    /// What to read next, told how long the last reading took (anything for the first call).
    pub fn next(&mut self, took_ns: u64) -> Ask {
        if let Some(ask) = self.take_note(took_ns) {
            return ask;
        }
        loop {
            match self.step {
                Step::Over => return Ask::Done,
                Step::Grow(wanted) => {
                    if self.queue.len() < wanted && self.taken < self.left {
                        let chunk = self.order[self.taken];
                        self.taken += 1;
                        self.queue.push_back(chunk);
                        self.asked = Question::Fill;
                        return self.read(chunk, 0, self.spec.chunk_bytes);
                    }
                    let distance = self.queue.len();
                    self.step = Step::Reread { distance, left: REREADS.min(distance) };
                }
                Step::Reread { left: 0, distance } => self.end_stage(distance),
                Step::Reread { distance, left } => return self.in_stage(distance, left),
            }
        }
    }

    /// Takes what was learnt; where a chunk was begun, the rest of it comes next.
    fn take_note(&mut self, took_ns: u64) -> Option<Ask> {
        match std::mem::replace(&mut self.asked, Question::Nothing) {
            Question::Nothing | Question::Rest => {}
            Question::Fill => self.fills.push((self.spec.chunk_bytes, took_ns)),
            Question::First => {
                self.first.push(took_ns);
                self.all_first.push(took_ns);
            }
            Question::Again(chunk) => {
                self.again.push(took_ns);
                self.asked = Question::Rest;
                let block = self.spec.block_bytes;
                return Some(self.read(chunk, block, self.spec.chunk_bytes - block));
            }
        }
        None
    }

    fn in_stage(&mut self, distance: usize, left: usize) -> Ask {
        let wanted = REREADS.min(distance);
        // First touches are strewn evenly among the re-reads.
        let due = (wanted - left) * TOUCHES / wanted.max(1);
        if self.first.len() < due && self.left > self.taken {
            self.left -= 1;
            self.asked = Question::First;
            return self.read(self.order[self.left], 0, self.spec.block_bytes);
        }
        self.step = Step::Reread { distance, left: left - 1 };
        let at = self.queue.len() - distance;
        let Some(chunk) = self.queue.remove(at) else { return Ask::Done };
        self.queue.push_back(chunk);
        self.asked = Question::Again(chunk);
        self.read(chunk, 0, self.spec.block_bytes)
    }

    fn end_stage(&mut self, distance: usize) {
        let refining = !self.open.is_empty();
        let stage = ProbeStage {
            span_bytes: distance as u64 * self.spec.chunk_bytes,
            again: Times::of(&mut self.again),
            first: Times::of(&mut self.first),
            refining,
        };
        self.again.clear();
        self.first.clear();
        self.stages.push(stage);
        if refining {
            self.narrow(distance, stage.again.p50);
        } else if distance < self.span_max && !self.out_of_time {
            self.step = Step::Grow((2 * distance).min(self.span_max));
            return;
        } else {
            let chunk = self.spec.chunk_bytes;
            self.open = analysis::boundaries(&self.stages)
                .into_iter()
                .map(|(low, high, divide)| {
                    ((low / chunk) as usize, (high / chunk) as usize, divide, HALVINGS)
                })
                .collect();
        }
        self.refine();
    }

    /// A boundary is above or below the distance just tried.
    fn narrow(&mut self, distance: usize, median_ns: u64) {
        let Some((low, high, divide, halvings)) = self.open.pop() else { return };
        let (low, high) = if (median_ns as f64) <= divide { (distance, high) } else { (low, distance) };
        if halvings > 1 && high - low > 1 {
            self.open.push((low, high, divide, halvings - 1));
        }
    }

    fn refine(&mut self) {
        self.step = match self.open.last() {
            Some((low, high, _, _)) => {
                let distance = usize::midpoint(*low, *high).clamp(1, self.queue.len());
                Step::Reread { distance, left: REREADS.min(distance) }
            }
            None => Step::Over,
        };
    }

    fn read(&self, chunk: u32, from: u64, length_bytes: u64) -> Ask {
        Ask::Read { offset_bytes: u64::from(chunk) * self.spec.chunk_bytes + from, length_bytes }
    }

    /// Bytes of the span by now, for progress.
    pub fn span_bytes(&self) -> u64 {
        self.queue.len() as u64 * self.spec.chunk_bytes
    }

    /// What was found; the fields that say where and when are the caller's to fill.
    pub fn finish(mut self) -> Probe {
        let cold = Times::of(&mut self.all_first);
        Probe {
            schema: SCHEMA.to_owned(),
            region_bytes: self.spec.region_bytes,
            chunk_bytes: self.spec.chunk_bytes,
            block_bytes: self.spec.block_bytes,
            levels: analysis::levels(&self.stages, cold.p50),
            burst: analysis::burst(&self.fills),
            notes: analysis::kept_longer(&self.stages).into_iter().collect(),
            cut_short: self.out_of_time,
            stages: self.stages,
            cold,
            ..Probe::default()
        }
    }
}

#[cfg(test)]
mod tests;
