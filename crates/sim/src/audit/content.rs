//! Where data lands on an array that places it by what it holds: equal data always goes to the same core.
//!
//! The data is made as a run makes it ([`Filler`]) and hashed piece by piece. Pieces that occur once spread evenly; those that
//! occur again load the core that their hash names. Which hash an array has is not known, so which core it is means nothing; how
//! uneven the load becomes hardly depends on it.

use std::collections::{BTreeSet, HashMap};
use std::hash::{BuildHasher as _, BuildHasherDefault, DefaultHasher};

use assay_workload::block::{self, Identity};
use assay_workload::content::Content;
use assay_workload::fill::Filler;
use assay_workload::pattern::OpKind;
use assay_workload::plan::{Plan, PlannedJob};
use assay_workload::rng::derive_seed;

use crate::model::FrontEnd;

/// Pieces that are made and hashed.
const PIECES: usize = 4096;
/// The most buffers of a job that are filled.
const BUFFERS_MAX: usize = 512;

/// Shares of the cores and of repeated data.
pub(super) struct Placed {
    /// Share of each core, 0 to 1.
    pub(super) cores: Vec<f64>,
    /// Share of the pieces whose data occurs more than once, 0 to 1.
    pub(super) repeated_share: f64,
}

/// Where the data of `kind` of a job goes; `None` for trims, and for reads of data that the plan does not write.
pub(super) fn placed(plan: &Plan, job: &PlannedJob, kind: OpKind, front_end: &FrontEnd) -> Option<Placed> {
    let writer = match kind {
        OpKind::Write => job,
        OpKind::Read => writer_of(plan, job)?,
        _ => return None,
    };
    let piece = usize::try_from(front_end.segment.0).ok()?.max(512);
    let counts = count(writer, piece);
    let total: u64 = counts.values().sum();
    let n = u64::from(front_end.cores());
    let mut cores = vec![0.0; n as usize];
    let mut once = 0_u64;
    for (hash, times) in &counts {
        if *times == 1 {
            once += 1;
        } else {
            cores[(hash % n) as usize] += *times as f64 / total as f64;
        }
    }
    let even = once as f64 / total as f64 / n as f64;
    cores.iter_mut().for_each(|share| *share += even);
    Some(Placed { cores, repeated_share: 1.0 - once as f64 / total as f64 })
}

/// The last job of the plan that writes to a target of this one.
fn writer_of<'p>(plan: &'p Plan, reader: &PlannedJob) -> Option<&'p PlannedJob> {
    let jobs = plan.phases.iter().flat_map(|phase| &phase.jobs);
    let targets = |job: &PlannedJob| -> BTreeSet<u32> {
        job.slices.iter().flat_map(|slice| slice.sites.iter().map(|site| site.target)).collect()
    };
    let read = targets(reader);
    let shares = |job: &&PlannedJob| !targets(job).is_disjoint(&read);
    jobs.filter(|job| job.is_blocks() && job.pattern.mix.share(OpKind::Write) > 0.0).rfind(shares)
}

/// How often each piece occurs, by the hash of its data, over buffers as the job's threads have them.
fn count(job: &PlannedJob, piece: usize) -> HashMap<u64, u64> {
    let hasher = BuildHasherDefault::<DefaultHasher>::default();
    let content: &Content = &job.content;
    let block = usize::try_from(job.pattern.write_sizes.max_bytes()).unwrap_or(piece).max(piece);
    // What is written in one piece is what the array hashes, whether or not a block is a multiple of it.
    let per_buffer = block / piece;
    let outstanding = job.outstanding_per_thread as usize;
    let wanted = (job.slices.len() * outstanding).min(BUFFERS_MAX).min(PIECES.div_ceil(per_buffer)).max(1);
    let rounds = (PIECES / per_buffer / wanted).max(1);
    let mut counts: HashMap<u64, u64> = HashMap::new();
    let mut buffer = vec![0_u8; per_buffer * piece];
    for index in 0..wanted {
        let seed = job.slices.get(index / outstanding.max(1)).map_or(0, |slice| slice.seed);
        let mut filler = Filler::new(content, derive_seed(seed, index as u64));
        filler.fill(&mut buffer);
        for round in 0..rounds {
            let at = (index * rounds + round) * buffer.len();
            filler.refresh(&mut buffer);
            if content.verify {
                let generation = round as u64 + 1;
                block::seal(
                    &mut buffer,
                    &Identity {
                        target: 1,
                        offset_bytes: at as u64,
                        generation,
                        run: 1,
                        ..Identity::default()
                    },
                );
            }
            for data in buffer.chunks_exact(piece) {
                *counts.entry(hasher.hash_one(data)).or_default() += 1;
            }
        }
    }
    counts
}
