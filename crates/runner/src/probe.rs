//! Finding the caches below a file or a device, by reading alone.

mod read;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use assay_engine::extents::Kernel;
use assay_host::cache::drop_file;
use assay_host::claim::{Access, Claims};
use assay_host::environment;
use assay_host::guard::check_read;
use assay_results::environment::{TargetEnvironment, TargetKind};
use assay_results::probe::{Ask, Probe, ProbeSpec, Prober};
use assay_workload::units::{Bytes, Nanos};

use crate::error::{ProbeProblem, RunError};
use crate::request::Site;
use crate::seed::{random_seed, random_u64};
use read::Reader;

/// What is read when time is taken.
const BLOCK_BYTES: u64 = 4096;
/// Chunks that a region is divided into, about: enough for steps of a few per cent, few enough to be done.
const CHUNKS: u64 = 8192;
const CHUNK_BYTES_MIN: u64 = 16 << 10;
const CHUNK_BYTES_MAX: u64 = 256 << 10;
/// More than this of a target may be missing before it is refused: what was never written is no storage.
const EMPTY_SHARE_MAX: f64 = 0.01;

/// What is to be probed, and how.
#[derive(Debug, Clone)]
pub struct ProbeRequest {
    /// A file or a block device that holds data.
    pub target: PathBuf,
    /// Read through this host's page cache instead of bypassing it.
    pub buffered: bool,
    /// So much of it, from its start; `None`: all.
    pub size: Option<Bytes>,
    /// Stop growing after this long.
    pub time_max: Nanos,
    /// The seed of the order; `None`: one is drawn.
    pub seed: Option<u64>,
}

/// Probes a target; `progress` is told now and then the span that is read and how long it has taken.
///
/// # Errors
/// [`RunError::Probe`] where the target is unfit, and what the system refused.
pub fn probe(
    request: &ProbeRequest,
    site: &Site,
    progress: &mut dyn FnMut(Bytes, Duration),
) -> Result<Probe, RunError> {
    check_read(&site.host, &request.target)?;
    let claims = Claims::default();
    claims.take(&site.host, &request.target, Access::Shared)?;
    let target = environment_of(&request.target, site);
    let unfit = |problem| RunError::Probe { path: request.target.clone(), problem };
    let region = region(request, &target).map_err(unfit)?;
    let chunk_bytes = (region / CHUNKS).next_power_of_two().clamp(CHUNK_BYTES_MIN, CHUNK_BYTES_MAX);
    let spec = ProbeSpec {
        region_bytes: region / chunk_bytes * chunk_bytes,
        chunk_bytes,
        block_bytes: BLOCK_BYTES,
        seed: request.seed.map_or_else(random_seed, Ok)?,
    };
    let prober = Prober::new(spec).ok_or_else(|| unfit(ProbeProblem::TooSmall { bytes: region }))?;
    let mut reader = Reader::open(&request.target, !request.buffered, chunk_bytes)?;
    let mut notes = Vec::new();
    match drop_file(reader.file(), &Kernel) {
        Ok(report) if report.after_bytes.is_some_and(|bytes| bytes > region / 50) => {
            let left = Bytes(report.after_bytes.unwrap_or(0));
            notes.push(format!("{left} of it stayed in the page cache when it was dropped"));
        }
        Ok(_) => {}
        Err(error) => notes.push(format!("the page cache could not be dropped: {error}")),
    }
    let started = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let (mut found, elapsed) = read_all(prober, &mut reader, request.time_max, site, progress)?;
    found.notes.extend(notes);
    Ok(Probe {
        id: format!("{:08x}", random_u64()? as u32),
        started,
        target,
        direct: !request.buffered,
        elapsed_s: elapsed.as_secs_f64(),
        ..found
    })
}

fn environment_of(target: &Path, site: &Site) -> TargetEnvironment {
    let all = environment::collect_with(&site.host, site.version.clone(), &[target.to_owned()], &Kernel);
    all.targets.into_iter().next().unwrap_or_default()
}

/// Bytes that may be read.
fn region(request: &ProbeRequest, target: &TargetEnvironment) -> Result<u64, ProbeProblem> {
    match target.kind {
        TargetKind::File | TargetKind::BlockDevice => {}
        TargetKind::Missing => return Err(ProbeProblem::Missing),
        TargetKind::Directory => return Err(ProbeProblem::Directory),
        TargetKind::CharDevice | TargetKind::Other => return Err(ProbeProblem::Kind),
    }
    let all = target.size_bytes.unwrap_or(0);
    if let Some(extents) = target.extents {
        let empty = extents.hole_bytes.max(extents.unwritten_bytes.unwrap_or(0));
        if empty as f64 > EMPTY_SHARE_MAX * extents.examined_bytes as f64 {
            return Err(ProbeProblem::Empty { bytes: empty });
        }
    }
    Ok(request.size.map_or(all, |size| size.0.min(all)))
}

/// Carries out what the prober asks for.
fn read_all(
    mut prober: Prober,
    reader: &mut Reader,
    time_max: Nanos,
    site: &Site,
    progress: &mut dyn FnMut(Bytes, Duration),
) -> Result<(Probe, Duration), RunError> {
    let begun = Instant::now();
    let limit = Duration::from_nanos(time_max.0);
    let mut took_ns = 0;
    while let Ask::Read { offset_bytes, length_bytes } = prober.next(took_ns) {
        let start = Instant::now();
        reader.read(offset_bytes, length_bytes)?;
        took_ns = start.elapsed().as_nanos() as u64;
        if site.stopped() {
            break;
        }
        if start - begun >= limit {
            prober.out_of_time();
        }
        progress(Bytes(prober.span_bytes()), start - begun);
    }
    Ok((prober.finish(), begun.elapsed()))
}
