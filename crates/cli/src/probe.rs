//! `assay probe TARGET`: caches below a file or a device, found by reading alone.

mod read;
mod words;

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use assay_engine::extents::Kernel;
use assay_host::cache::drop_file;
use assay_host::environment;
use assay_results::environment::{TargetEnvironment, TargetKind};
use assay_results::probe::{Ask, Probe, ProbeSpec, Prober};
use assay_results::store;
use assay_workload::units::{Bytes, Nanos};
use clap::Args;

use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::session::{random_seed, random_u64};
use crate::signals;
use read::Reader;

/// What is read when time is taken.
const BLOCK_BYTES: u64 = 4096;
/// Chunks that a region is divided into, about: enough for steps of a few per cent, few enough to be done.
const CHUNKS: u64 = 8192;
const CHUNK_BYTES_MIN: u64 = 16 << 10;
const CHUNK_BYTES_MAX: u64 = 256 << 10;
/// More than this of a target may be missing before it is refused: what was never written is no storage.
const EMPTY_SHARE_MAX: f64 = 0.01;
/// How often the live line is drawn.
const SAY_EVERY: Duration = Duration::from_millis(300);

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  # an array's or a controller's cache below a device
  assay probe /dev/sdx
  # what is below the file, past the page cache of this machine
  assay probe /mnt/data/file
  # the page cache itself, as far as it is allowed to grow
  assay probe /mnt/data/file --buffered
  # judge a run by what a probe found
  assay run plan.toml --probe 5f3a

It reads, and writes nothing. The target must hold data: use a file or a range
that was written before. What was written shortly before may still be in a
cache below: the probe then finds first touches as fast as re-reads.")]
pub(crate) struct ProbeArgs {
    /// A file or a block device that holds data
    #[arg(value_name = "TARGET")]
    pub(crate) target: PathBuf,
    /// Through the page cache of this machine instead of past it
    #[arg(long)]
    pub(crate) buffered: bool,
    /// Use so much of the target, from its start [default: all of it]
    #[arg(long, value_name = "SIZE")]
    pub(crate) size: Option<Bytes>,
    /// Stop growing after this long: what is known by then is reported
    #[arg(long, value_name = "TIME", default_value = "60s")]
    pub(crate) time: Nanos,
    /// The seed that replays the same order
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) fn probe(args: &ProbeArgs, context: &Context) -> Result<Outcome, Failure> {
    let target = environment_of(&args.target, context);
    let region = region(args, &target)?;
    let root = context.probes_root()?;
    let stop = signals::stop_flag()?;
    let chunk_bytes = (region / CHUNKS).next_power_of_two().clamp(CHUNK_BYTES_MIN, CHUNK_BYTES_MAX);
    let spec = ProbeSpec {
        region_bytes: region / chunk_bytes * chunk_bytes,
        chunk_bytes,
        block_bytes: BLOCK_BYTES,
        seed: args.seed.map_or_else(random_seed, Ok)?,
    };
    let prober = Prober::new(spec)
        .ok_or_else(|| Failure::usage(format!("{} is too little to probe: 2 MiB at least", Bytes(region))))?;
    let mut reader = Reader::open(&args.target, !args.buffered, chunk_bytes)?;
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
    let stopped = || stop.load(Ordering::Relaxed);
    let (mut found, elapsed) = go(prober, &mut reader, args.time, &stopped, context)?;
    found.notes.extend(notes);
    let probe = Probe {
        id: format!("{:08x}", random_u64()? as u32),
        started,
        target,
        direct: !args.buffered,
        elapsed_s: elapsed.as_secs_f64(),
        ..found
    };
    let path = store::save_probe(&root, &probe).map_err(Failure::failed)?;
    if args.json {
        context.out(&serde_json::to_string_pretty(&probe).map_err(Failure::failed)?);
    } else {
        context.out(&words::of(&probe, &context.style));
    }
    context.say(&format!("kept in {}", path.display()));
    Ok(if stopped() { Outcome::Interrupted } else { Outcome::Done })
}

fn environment_of(target: &Path, context: &Context) -> TargetEnvironment {
    let all = environment::collect_with(&context.host, Context::version(), &[target.to_owned()], &Kernel);
    all.targets.into_iter().next().unwrap_or_default()
}

/// Bytes that may be read.
fn region(args: &ProbeArgs, target: &TargetEnvironment) -> Result<u64, Failure> {
    let shown = args.target.display();
    match target.kind {
        TargetKind::File | TargetKind::BlockDevice => {}
        TargetKind::Missing => return Err(Failure::usage(format!("{shown}: there is no such file"))),
        TargetKind::Directory => {
            return Err(Failure::usage(format!("{shown} is a directory; name a file in it that holds data")));
        }
        TargetKind::CharDevice | TargetKind::Other => {
            return Err(Failure::usage(format!("{shown} is neither a file nor a block device")));
        }
    }
    let all = target.size_bytes.unwrap_or(0);
    if let Some(extents) = target.extents {
        let empty = extents.hole_bytes.max(extents.unwritten_bytes.unwrap_or(0));
        if empty as f64 > EMPTY_SHARE_MAX * extents.examined_bytes as f64 {
            return Err(Failure::usage(format!(
                "{} of {shown} were never written, and reading them tells nothing of storage; fill it first",
                Bytes(empty)
            )));
        }
    }
    Ok(args.size.map_or(all, |size| size.0.min(all)))
}

/// Carries out what the prober asks for.
fn go(
    mut prober: Prober,
    reader: &mut Reader,
    time_max: Nanos,
    stopped: &dyn Fn() -> bool,
    context: &Context,
) -> Result<(Probe, Duration), Failure> {
    let (begun, mut said) = (Instant::now(), Instant::now());
    let limit = Duration::from_nanos(time_max.0);
    let mut took_ns = 0;
    while let Ask::Read { offset_bytes, length_bytes } = prober.next(took_ns) {
        let start = Instant::now();
        reader.read(offset_bytes, length_bytes)?;
        took_ns = start.elapsed().as_nanos() as u64;
        if stopped() {
            break;
        }
        if start - begun >= limit {
            prober.out_of_time();
        }
        if context.live && start - said >= SAY_EVERY {
            said = start;
            eprint!(
                "\r\x1b[2Kprobe  span {}  {:.0} s",
                Bytes(prober.span_bytes()),
                begun.elapsed().as_secs_f64()
            );
        }
    }
    if context.live {
        eprint!("\r\x1b[2K");
    }
    Ok((prober.finish(), begun.elapsed()))
}
