//! Filling a file with random data before it is read, for a bounded time.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use assay_engine::Blocks;
use assay_host::claim::Claims;
use assay_host::guard::Consent;
use assay_host::workdir::is_cut_short;
use assay_results::HostEvent;
use assay_workload::growth::Layout;
use assay_workload::job::{FlushPolicy, Job, Limits, Phase, PhaseKind, Workload};
use assay_workload::pattern::{AccessPattern, Mix, Placement};
use assay_workload::resolve;
use assay_workload::target::{Extent, Target, TargetKind};
use assay_workload::units::{Bytes, Nanos};

use crate::consent::{check_consent, claim};
use crate::error::RunError;
use crate::files::make_files;
use crate::hold::hold;
use crate::inventory;
use crate::phase_thread::PhaseThread;
use crate::request::Site;
use crate::space::{SpaceWatch, check_space};

const BLOCK: u64 = 1 << 20;

/// What is in the file now.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Filled {
    /// Bytes that may be used.
    pub bytes: u64,
    /// Bytes that were there already.
    kept: u64,
    /// Seconds it took.
    took_s: f64,
    /// Whether the time was up before the file was full.
    capped: bool,
}

impl Filled {
    /// What was done, in a sentence.
    pub fn sentence(&self) -> String {
        if self.bytes == self.kept {
            return format!("prefill: {} of random data were there already", Bytes(self.bytes));
        }
        let written = self.bytes - self.kept;
        let capped = if self.capped { ", all that the time allowed" } else { "" };
        format!("prefill: wrote {} of random data in {:.1} s{capped}", Bytes(written), self.took_s)
    }
}

/// Bytes of files in a directory.
pub fn bytes_in(directory: &Path) -> u64 {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.metadata().ok())
        .filter(|meta| meta.is_file())
        .map(|meta| meta.len())
        .sum()
}

/// Makes `file` hold `wanted` bytes of random data, stopping after `time_max`. The file is claimed from then on. `progress` is told what the file holds.
///
/// # Errors
/// [`RunError`] if the file may not be written, or holds too little after that time.
pub fn fill(
    file: &Path,
    wanted: u64,
    time_max: Nanos,
    seed: u64,
    (claims, site): (&Claims, &Site),
    progress: &mut dyn FnMut(Bytes),
) -> Result<Filled, RunError> {
    // Nothing is known of what a killed run left.
    let there = std::fs::metadata(file).ok().filter(|_| !is_cut_short(file));
    let kept = there.map_or(0, |meta| meta.len()) / BLOCK * BLOCK;
    if kept >= wanted {
        return Ok(Filled { bytes: wanted, kept: wanted, took_s: 0.0, capped: false });
    }
    let directory = file.parent().unwrap_or(Path::new("."));
    let workload = workload(file, kept, wanted, time_max);
    let inventory =
        inventory::look_at(&workload, directory, None, &site.host, site.engine_choices.as_deref())?;
    let plan = Arc::new(resolve::plan(&workload, &inventory, seed)?);
    claim(&plan, claims, &site.host)?;
    let mut permits = check_consent(&plan, &site.host, &Consent::none())?;
    check_space(&plan, Layout::AsNeeded, &[], &site.host)?;
    make_files(&plan, &mut permits, &site.host)?;
    claim(&plan, claims, &site.host)?;
    let failed = |why| RunError::Prefill { why, written_bytes: 0 };
    let holding = hold(&plan, 0, &permits, &site.host).map_err(failed)?;
    let space = SpaceWatch::over(vec![file.to_owned()], &site.stop);
    let halt = space.as_ref().map_or_else(|| Arc::clone(&site.stop), SpaceWatch::halt);
    let blocks = Arc::new(Blocks { held: holding.held.clone(), ..Blocks::default() });
    let (interval, preparation) = (Duration::from_millis(500), Arc::clone(&blocks.preparation));
    let thread = PhaseThread {
        plan: Arc::clone(&plan),
        phase: 0,
        interval,
        stop: halt,
        start: None,
        kinds: vec![blocks],
        holding,
        preparation,
    };
    let started = Instant::now();
    let mut written = 0;
    let mut sink = |event: HostEvent| {
        if let HostEvent::Interval(interval) = event {
            written += interval.counts.data().bytes;
            progress(Bytes(kept + written));
        }
    };
    let end = thread.run(&mut sink, &mut |_| {});
    if let Some(why) = space.and_then(SpaceWatch::end) {
        return Err(RunError::Prefill { why, written_bytes: written });
    }
    let end = end?;
    if site.stopped() {
        return Err(RunError::Interrupted);
    }
    if let Some(why) = end.error {
        return Err(RunError::Prefill { why, written_bytes: written });
    }
    let bytes = std::fs::metadata(file).map_or(0, |meta| meta.len()).min(wanted) / BLOCK * BLOCK;
    if bytes < 16 * BLOCK {
        return Err(RunError::PrefillShort { written_bytes: bytes });
    }
    let capped = bytes < wanted;
    Ok(Filled { bytes, kept, took_s: started.elapsed().as_secs_f64(), capped })
}

fn workload(file: &Path, kept: u64, wanted: u64, time_max: Nanos) -> Workload {
    let name = file.file_name().map_or(String::new(), |name| name.to_string_lossy().into_owned());
    let job = Job::new("prefill", &["data"], AccessPattern::new(Mix::WRITE, BLOCK, Placement::sequential()))
        .with(|job| {
            job.offset = Extent::Bytes(kept);
            job.outstanding_per_thread = 8;
            job.limits = Limits { time: Some(time_max), passes: Some(1), ..Limits::default() };
            job.flush = FlushPolicy { at_end: true, ..FlushPolicy::default() };
        });
    Workload {
        name: "prefill".to_owned(),
        seed: None,
        hosts: Vec::new(),
        targets: vec![Target {
            name: "data".to_owned(),
            path: name,
            kind: Some(TargetKind::File),
            size: Some(Bytes(wanted)),
        }],
        phases: vec![Phase { kind: PhaseKind::Precondition, ..Phase::measure("prefill", vec![job]) }],
    }
}
