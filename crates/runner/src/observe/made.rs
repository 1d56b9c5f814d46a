//! The run that is made of what was seen of a command, with its own figures where it wrote some.

use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;

use assay_engine::extents::Kernel;
use assay_host::environment;
use assay_results::Run;
use assay_results::build::observed::{CommandEnd, MissedTarget, Observation, adopt, run_of};
use assay_results::counters::Counters;
use assay_results::environment::Environment;
use assay_workload::host::HostId;
use assay_workload::plan::PlannedTarget;
use assay_workload::target::TargetKind;

use super::{ObservedCommand, OpenFile};
use crate::error::RunError;
use crate::request::Site;
use crate::seed::random_u64;

/// A command that was followed.
#[derive(Debug)]
pub struct Followed<'a> {
    /// What it worked on, where that was said.
    pub named: &'a [PathBuf],
    /// What the run is called.
    pub name: &'a str,
    /// The program that did the work.
    pub program: &'a str,
    /// Start in UTC, RFC 3339.
    pub started: String,
    /// What was seen of it.
    pub seen: &'a ObservedCommand,
}

/// The run of what was seen, with the command's own figures where it wrote some.
///
/// # Errors
/// What was seen makes no run.
pub fn run_of_followed(followed: Followed<'_>, figures: Option<Run>, site: &Site) -> Result<Run, RunError> {
    let Followed { named, name, program, started, seen } = followed;
    let Targets { files, missed } = targets_of(named, seen);
    let environment = environment_of(&files, site);
    let direct = !files.is_empty() && files.iter().all(|file| file.direct);
    let version = site.version.clone();
    let mut during = seen.during.clone();
    let opened_for = seen.members.leave_out_streams(&mut during, &seen.files, &files);
    if let Some(figures) = &figures {
        during = part_of(&during, figures);
    }
    let observation = Observation {
        own_figures: figures.is_some(),
        id: format!("{:08x}", random_u64()? as u32),
        started,
        producer: (version.version, version.commit),
        name: name.to_owned(),
        program: program.to_owned(),
        targets: files.iter().map(|file| planned(file, &environment)).collect(),
        environment,
        missed,
        direct,
        partly_direct: !direct && files.iter().any(|file| file.direct_some),
        opened_for,
        threads: seen.threads_max.clamp(1, 4096) as u32,
        before: seen.before.clone(),
        cpu: during
            .first()
            .zip(during.last())
            .and_then(|(first, last)| seen.members.cpu_between(first.at_ns, last.at_ns)),
        during,
        after: seen.after.clone(),
        ended: match (seen.status.code(), seen.status.signal()) {
            (Some(0), _) => CommandEnd::Success,
            (Some(status), _) => CommandEnd::Status(status),
            (None, signal) => CommandEnd::Signal(signal.unwrap_or(0)),
        },
        left_running: seen.left_running.clone(),
    };
    let observed = run_of(&observation)?;
    Ok(match figures {
        Some(figures) => adopt(observed, Run { name: name.to_owned(), ..figures }),
        None => observed,
    })
}

/// The readings of the time that fio's figures are about: the last part of its life, behind laying out files and ramps.
/// Of several groups of jobs all of it.
fn part_of(during: &[Counters], figures: &Run) -> Vec<Counters> {
    let [phase] = figures.phases.as_slice() else { return during.to_vec() };
    let active = |pair: &[Counters]| {
        let delta = Counters::delta(&pair[0], &pair[1]);
        let cpu: u64 = delta.processes.iter().map(|process| process.cpu_ns()).sum();
        let moved =
            delta.processes.iter().filter_map(|p| Some(p.storage_read_bytes? + p.storage_write_bytes?));
        cpu * 10 >= delta.at_ns || moved.sum::<u64>() > 0
    };
    let end = during.windows(2).rposition(active).map_or(during.len(), |at| at + 2).min(during.len());
    let Some(ended) = during.get(end.wrapping_sub(1)).map(|reading| reading.at_ns) else {
        return during.to_vec();
    };
    let begun = ended.saturating_sub((phase.measured_s * 1e9) as u64);
    let start = during.iter().rposition(|reading| reading.at_ns <= begun).unwrap_or(0);
    // A reading more on either side: what was fetched must not lack a part of what was asked for.
    during[start.saturating_sub(1)..(end + 1).min(during.len())].to_vec()
}

/// What is judged, and what was named and not seen.
struct Targets {
    files: Vec<OpenFile>,
    missed: Vec<MissedTarget>,
}

/// What was named and seen open, or may have been open unseen; else what the command had open.
fn targets_of(named: &[PathBuf], seen: &ObservedCommand) -> Targets {
    let mut targets = Targets { files: Vec::new(), missed: Vec::new() };
    for path in named {
        let path = path.canonicalize().unwrap_or_else(|_| path.clone());
        let open = seen.files.at(&path);
        let known = seen.files.are_known();
        if open.is_empty() {
            targets.missed.push(MissedTarget { path: path.to_string_lossy().into_owned(), known });
        }
        if !open.is_empty() || !known {
            targets.files.push(named_target(path, &open));
        }
    }
    if targets.files.is_empty() {
        targets.files = seen.files.targets();
    }
    targets
}

/// A target that was named, by what was seen open there; nothing: it may have been open unseen.
fn named_target(path: PathBuf, open: &[&OpenFile]) -> OpenFile {
    let meta = std::fs::metadata(&path).ok();
    OpenFile {
        is_device: path.starts_with("/dev"),
        bytes: meta.map_or(0, |meta| meta.len()),
        direct: !open.is_empty() && open.iter().all(|file| file.direct),
        direct_some: open.iter().any(|file| file.direct_some),
        opened_for: (
            open.is_empty() || open.iter().any(|file| file.opened_for.0),
            open.is_empty() || open.iter().any(|file| file.opened_for.1),
        ),
        extents: open.iter().find(|file| file.path == path).and_then(|file| file.extents),
        path,
    }
}

/// The environment, files as they were when they were first seen.
fn environment_of(files: &[OpenFile], site: &Site) -> Environment {
    let paths: Vec<PathBuf> = files.iter().map(|file| file.path.clone()).collect();
    let mut environment = environment::collect_with(&site.host, site.version.clone(), &paths, &Kernel);
    for (target, file) in environment.targets.iter_mut().zip(files) {
        target.extents = file.extents;
    }
    environment
}

fn planned(file: &OpenFile, environment: &Environment) -> PlannedTarget {
    let path = file.path.to_string_lossy().into_owned();
    let size = environment.target(&path).and_then(|target| target.size_bytes).unwrap_or(file.bytes);
    PlannedTarget {
        name: path.clone(),
        host: HostId::FIRST,
        path,
        kind: match (file.is_device, file.path.is_dir()) {
            (true, _) => TargetKind::BlockDevice,
            (false, true) => TargetKind::Directory,
            (false, false) => TargetKind::File,
        },
        size_bytes: size,
        // What the command made itself was not there before.
        existing_bytes: if file.extents.is_some() || file.is_device { size } else { 0 },
        direct_align_bytes: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_about_the_end() {
        let reading = |ms: u64, read: u64| {
            let mut record = Counters { at_ns: ms * 1_000_000, ..Counters::default() };
            record.processes.push(assay_results::counters::ProcessCounters {
                pid: 1,
                storage_read_bytes: Some(read),
                storage_write_bytes: Some(0),
                ..Default::default()
            });
            record
        };
        // Reads from 1 s to 3 s, and half a second for its report.
        let during: Vec<Counters> = (0..=17).map(|i| reading(i * 200, (i.clamp(5, 15) - 5) * 1000)).collect();
        let mut figures = assay_fio::import(
            r#"{"fio version": "fio-3.33", "jobs": [{"jobname": "a", "read": {"total_ios": 5, "io_bytes": 20480,
                "runtime": 2000, "iops": 2.5, "clat_ns": {"N": 5, "min": 1, "max": 2, "mean": 1.5}}}]}"#,
        )
        .unwrap()
        .unwrap();
        let times = |figures: &Run| -> Vec<u64> {
            part_of(&during, figures).iter().map(|reading| reading.at_ns / 1_000_000).collect()
        };
        let part = times(&figures);
        assert_eq!((part[0], part[part.len() - 1]), (800, 3200));
        figures.phases.clear();
        assert_eq!(times(&figures).len(), 18);
    }
}
