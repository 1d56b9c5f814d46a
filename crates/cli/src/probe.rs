//! `assay probe TARGET`: caches below a file or a device, found by reading alone.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use assay_results::store;
use assay_runner::probe::{self, ProbeRequest};
use assay_workload::units::{Bytes, Nanos};
use clap::Args;

use crate::context::{Context, to_stderr};
use crate::failure::{Failure, Outcome};
use crate::signals;

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
    /// Read through this host's page cache instead of bypassing it
    #[arg(long)]
    pub(crate) buffered: bool,
    /// Part of the target to use, from its start [default: all of it]
    #[arg(long, value_name = "SIZE")]
    pub(crate) size: Option<Bytes>,
    /// Time limit; what is known by then is reported
    #[arg(long, value_name = "TIME", default_value = "60s")]
    pub(crate) time: Nanos,
    /// Seed: the same seed gives the same order
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) fn probe(args: &ProbeArgs, context: &Context) -> Result<Outcome, Failure> {
    let root = context.probes_root()?;
    let site = context.site(signals::stop_flag()?);
    let request = ProbeRequest {
        target: args.target.clone(),
        buffered: args.buffered,
        size: args.size,
        time_max: args.time,
        seed: args.seed,
    };
    let mut said = Instant::now();
    let mut progress = |span: Bytes, elapsed: Duration| {
        if context.live && said.elapsed() >= SAY_EVERY {
            said = Instant::now();
            to_stderr(format_args!("\r\x1b[2Kprobe  span {span}  {:.0} s", elapsed.as_secs_f64()));
        }
    };
    let probe = probe::probe(&request, &site, &mut progress);
    if context.live {
        to_stderr(format_args!("\r\x1b[2K"));
    }
    let probe = probe?;
    let path = store::save_probe(&root, &probe).map_err(Failure::failed)?;
    if args.json {
        context.out(&serde_json::to_string_pretty(&probe).map_err(Failure::failed)?);
    } else {
        context.out(&assay_report::probe::probe(&probe, &context.style));
    }
    context.say(&format!("kept in {}", path.display()));
    Ok(if site.stopped() { Outcome::Interrupted } else { Outcome::Done })
}
