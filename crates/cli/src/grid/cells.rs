//! The cells of a grid: what each worker does, how many of them, and all that can be said against it before anything is measured.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use assay_conduct::grid::{Cell, Common};
use assay_conduct::multiply::{Multiply, multiply, repeat};
use assay_report::format::plural;
use assay_workload::content::Payload;
use assay_workload::host::Host;
use assay_workload::job::{Phase, PhaseKind};
use assay_workload::pattern::{AccessPattern, Mix, Placement};
use assay_workload::steps::{FindRate, LatencyFigure};
use assay_workload::units::Bytes;
use assay_workload::{Job, Workload};

use super::{GridArgs, LatencyTarget, Prefill};
use crate::asked::LoadedWorkload;
use crate::asked::measured_in;
use crate::failure::Failure;
use crate::input::{self, ReadingArgs};
use crate::on;

/// Cells of one grid.
const CELLS_MAX: usize = 10_000;
/// Smaller I/Os have the stricter latency targets.
const LARGE_BYTES: u64 = 64 << 10;
/// Bytes of the smallest sector that devices have.
const SECTOR: u64 = 512;
/// What is written before the first cell is written in these.
const PREFILL_BLOCK: u64 = 1 << 20;

/// A cell, as it is measured.
#[derive(Debug)]
pub(super) struct Asked {
    /// HCIBench's name.
    pub(super) name: String,
    pub(super) workers: u32,
    /// The words for a launcher of so many workers.
    pub(super) on: String,
    workload: Workload,
    directory: std::path::PathBuf,
}

impl Asked {
    /// As what is run.
    pub(super) fn loaded(&self) -> LoadedWorkload {
        LoadedWorkload {
            workload: self.workload.clone(),
            directory: self.directory.clone(),
            notes: Vec::new(),
            diagnostics: Vec::new(),
            commands: Vec::new(),
            directories: Vec::new(),
            work_dir: None,
            format: None,
        }
    }
}

/// All cells, checked.
pub(super) fn asked(args: &GridArgs) -> Result<Vec<Asked>, Failure> {
    measured_in(args.runtime)?;
    if args.working_set <= 0.0 {
        return Err(Failure::usage("--working-set 0: nothing of the targets would be used"));
    }
    let here = args.on.on.as_deref().is_none_or(on::shares_files);
    if here && !args.directory.is_dir() {
        return Err(Failure::usage(format!(
            "--directory {}: there is no such directory",
            args.directory.display()
        )));
    }
    let words = args.on.on.as_deref().unwrap_or("local");
    if !args.group.is_empty() {
        return Ok(vec![groups(args, words)?]);
    }
    let workers: Vec<Option<u32>> =
        if args.workers.is_empty() { vec![None] } else { args.workers.iter().copied().map(Some).collect() };
    let targets = if args.target.is_empty() { &args.targets[..] } else { &[0] };
    let lists =
        [targets.len(), args.block_size.len(), args.read.len(), args.random.len(), args.outstanding.len()];
    let count = lists.iter().product::<usize>() * workers.len();
    if count > CELLS_MAX {
        return Err(Failure::usage(format!("{count} cells, more than {CELLS_MAX}")));
    }
    let mut all = Vec::with_capacity(count);
    for workers in workers {
        let (on, workers) = launched(words, workers, "--workers")?;
        for &targets in targets {
            let common = common(args, targets);
            let mut is_first = true;
            for cell in cells(args) {
                let workload = workload(args, &common, &cell, std::mem::take(&mut is_first))?;
                let (name, directory) = (workload.name.clone(), args.directory.clone());
                all.push(Asked { name, workers, on: on.clone(), workload, directory });
            }
        }
    }
    let mut seen = BTreeSet::new();
    match all.iter().find(|cell| !seen.insert((&cell.name, cell.workers))) {
        Some(twice) => Err(Failure::usage(format!(
            "{} on {} is asked for twice; leave one of the equal values out",
            twice.name,
            plural(twice.workers.into(), "worker")
        ))),
        None => Ok(all),
    }
}

/// The words for a launcher of `workers` workers, and how many those are; `option`: where that number comes from.
fn launched(words: &str, workers: Option<u32>, option: &str) -> Result<(String, u32), Failure> {
    let (name, rest) = words.split_once(':').map_or((words, None), |(name, rest)| (name, Some(rest)));
    if name == "ssh" {
        let hosts: Vec<String> = hosts(rest.unwrap_or_default())?;
        let number = workers.unwrap_or(hosts.len() as u32);
        if hosts.is_empty() || number as usize > hosts.len() {
            return Err(Failure::usage(format!(
                "{option} {number}: --on {words} names {}",
                plural(hosts.len() as u64, "host")
            )));
        }
        return Ok((format!("ssh:{}", hosts[..number as usize].join(",")), number));
    }
    if name == "attach" {
        return Err(Failure::usage(format!(
            "--on {words}: workers that join do one run, and each cell is one; ssh, slurm and kube start them for each"
        )));
    }
    // What is behind the number are options of the launcher.
    let (first, more) = rest.map_or((None, None), |rest| match rest.split_once(',') {
        Some((first, more)) => (Some(first), Some(more)),
        None => (Some(rest), None),
    });
    let most = match first.map(|first| (first, first.parse::<u32>())) {
        None => None,
        Some((_, Ok(most))) => Some(most),
        Some((first, Err(_))) => {
            return Err(Failure::usage(format!("--on {words}: '{first}' is not a number of workers")));
        }
    };
    let number = workers.or(most).unwrap_or(1);
    if number == 0 {
        return Err(Failure::usage(format!("--on {words}: a grid needs one worker at least")));
    }
    if most.is_some_and(|most| number > most) {
        return Err(Failure::usage(format!("{option} {number}: --on {words} has fewer")));
    }
    let more = more.map_or_else(String::new, |more| format!(",{more}"));
    Ok((format!("{name}:{number}{more}"), number))
}

/// The hosts of `ssh:`, one word each.
fn hosts(words: &str) -> Result<Vec<String>, Failure> {
    let mut all = Vec::new();
    for word in words.split(',').map(str::trim).filter(|word| !word.is_empty()) {
        let Some(path) = word.strip_prefix('@') else {
            all.push(word.to_owned());
            continue;
        };
        let text = std::fs::read_to_string(path);
        let text = text.map_err(|error| Failure::usage(format!("--on: cannot read {path}: {error}")))?;
        for line in text.lines().map(|line| line.split('#').next().unwrap_or_default().trim()) {
            if line.split_whitespace().count() > 1 {
                return Err(Failure::usage(format!(
                    "--on: {path} gives a host paths of targets of its own; a grid has the same paths on all hosts"
                )));
            }
            all.extend((!line.is_empty()).then(|| line.to_owned()));
        }
    }
    Ok(all)
}

fn common(args: &GridArgs, targets: u32) -> Common {
    let files = (1..=targets).map(|number| format!("assay-grid-disk{number}"));
    Common {
        targets: if args.target.is_empty() { files.collect() } else { args.target.clone() },
        size: Some(args.size),
        working_set: args.working_set,
        runtime: args.runtime,
        ramp: args.warm_up,
        rate: None,
        buffered: args.buffered,
    }
}

fn cells(args: &GridArgs) -> Vec<Cell> {
    let mut cells = Vec::new();
    for &block_size in &args.block_size {
        for &read in &args.read {
            for &random in &args.random {
                let of = |&outstanding| Cell { block_size, read, random, outstanding };
                cells.extend(args.outstanding.iter().map(of));
            }
        }
    }
    cells
}

/// What each worker does for a cell; `is_first`: targets are filled before.
fn workload(args: &GridArgs, common: &Common, cell: &Cell, is_first: bool) -> Result<Workload, Failure> {
    if cell.block_size.0 == 0 {
        return Err(Failure::usage("--block-size 0: a block has one byte at least"));
    }
    if !args.buffered && !cell.block_size.0.is_multiple_of(SECTOR) {
        return Err(Failure::usage(format!(
            "--block-size {} is not a multiple of {SECTOR} bytes, the smallest sector of direct I/O; --buffered goes through \
             the page cache, which takes any size",
            cell.block_size
        )));
    }
    if args.size.0 < cell.block_size.0 {
        return Err(Failure::usage(format!(
            "--size {} is less than one block of {}",
            args.size, cell.block_size
        )));
    }
    let mut workload = common.workload(&common.file_name("assay", cell), cell);
    let mut phases = std::mem::take(&mut workload.phases);
    if let Some(find) = find(args.latency_target, cell.block_size) {
        phases = multiply(phases, &Multiply::Find(find)).map_err(Failure::usage)?;
    }
    workload.phases = repeat(phases, args.repeat, None);
    let fills = workload.targets.iter().any(|target| target.path.starts_with("/dev/"));
    if is_first && (args.prefill == Prefill::Zero || args.prefill == Prefill::Random && fills) {
        let names: Vec<&str> = workload.targets.iter().map(|target| target.name.as_str()).collect();
        workload.phases.insert(0, fill(&names, args.prefill));
    }
    Ok(workload)
}

/// All targets written once, in sequence.
fn fill(names: &[&str], prefill: Prefill) -> Phase {
    let pattern = AccessPattern::new(Mix::read_write(0.0), PREFILL_BLOCK, Placement::sequential());
    let job = Job::new("prefill", names, pattern).with(|job| {
        job.outstanding_per_thread = 8;
        job.limits.passes = Some(1);
        if prefill == Prefill::Zero {
            job.content.payload = Payload::Zero;
        }
    });
    Phase { kind: PhaseKind::Precondition, drain_after: true, ..Phase::measure("prefill", vec![job]) }
}

/// HCIBench's goals: the guide's, which are not those of its code.
fn find(target: LatencyTarget, block_size: Bytes) -> Option<FindRate> {
    let is_large = block_size.0 >= LARGE_BYTES;
    let limit_ms = match (target, is_large) {
        (LatencyTarget::Max, _) => return None,
        (LatencyTarget::Low, false) => 1,
        (LatencyTarget::Low, true) | (LatencyTarget::Medium, false) => 3,
        (LatencyTarget::Medium, true) | (LatencyTarget::High, false) => 5,
        (LatencyTarget::High, true) => 10,
    };
    Some(FindRate::new(LatencyFigure::Quantile(0.95), limit_ms * 1_000_000))
}

/// One cell of several groups of workers, each with a file of its own.
fn groups(args: &GridArgs, words: &str) -> Result<Asked, Failure> {
    let mut all = Workload { name: "groups".to_owned(), seed: args.seed, ..Workload::default() };
    let mut phase = Phase::measure("measure", Vec::new());
    let mut names = Vec::new();
    for (number, word) in (1..).zip(&args.group) {
        let (count, file) = word.split_once('=').unwrap_or(("", word));
        let count = count.parse::<u32>().ok().filter(|count| (1..=4000).contains(count));
        let count = count.ok_or_else(|| {
            Failure::usage(format!("--group {word}: not N=FILE, with a number of workers from 1 to 4000"))
        })?;
        let first = all.hosts.len();
        all.hosts.extend((0..count as usize).map(|at| Host::new(&format!("w{}", first + at + 1))));
        let hosts: Vec<String> = all.hosts[first..].iter().map(|host| host.name.clone()).collect();
        join(&mut all, &mut phase, (number, &hosts), Path::new(file), args)?;
        names.push(format!("{count}x{}", Path::new(file).file_stem().unwrap_or_default().to_string_lossy()));
    }
    all.phases = repeat(vec![phase], args.repeat, None);
    all.name = names.join("+");
    let (on, workers) = launched(words, Some(all.hosts.len() as u32), "the workers of --group, together")?;
    Ok(Asked { name: all.name.clone(), workers, on, workload: all, directory: args.directory.clone() })
}

/// Adds the jobs of a file to the phase of all groups.
fn join(
    all: &mut Workload,
    phase: &mut Phase,
    (number, hosts): (usize, &[String]),
    file: &Path,
    args: &GridArgs,
) -> Result<(), Failure> {
    let reading = ReadingArgs { variables: Vec::new(), format: "auto".to_owned(), hotband: None };
    let read = input::read_file(file, &reading, Some(&args.directory))?;
    let Some(workload) = read.workload else {
        let first = read.diagnostics.first().map_or_else(String::new, ToString::to_string);
        return Err(Failure::usage(format!("{} cannot be used: {first}", file.display())));
    };
    let [only] = &workload.phases[..] else {
        return Err(Failure::usage(format!(
            "{} has {} phases; a group has one, as all groups measure at the same time",
            file.display(),
            workload.phases.len()
        )));
    };
    let name_of = |name: &str| format!("g{number}-{name}");
    let targets: BTreeMap<String, String> =
        workload.targets.iter().map(|target| (target.name.clone(), name_of(&target.name))).collect();
    for mut target in workload.targets {
        target.name = name_of(&target.name);
        all.targets.push(target);
    }
    for job in &only.jobs {
        phase.jobs.push(job.clone().with(|job| {
            job.name = name_of(&job.name);
            job.hosts = hosts.to_vec();
            job.targets = job.targets.iter().map(|name| targets.get(name).unwrap_or(name).clone()).collect();
            job.limits.time = job.limits.time.or(Some(args.runtime));
        }));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::super::kept::Line;
    use super::*;

    fn cells_of(words: &[&str]) -> Result<Vec<Asked>, String> {
        let line = Line::try_parse_from([&["grid"], words].concat()).map_err(|error| error.to_string())?;
        asked(&line.args).map_err(|failure| failure.to_string())
    }

    #[test]
    fn the_published_grid_is_one_cell_of_three_repetitions() {
        let words = ["--on", "local", "--workers", "4", "--targets", "8", "--repeat", "3"];
        let cells = cells_of(&words).expect("a grid");
        assert_eq!(cells.len(), 1);
        assert_eq!(cells[0].name, "assay-8vmdk-100ws-4k-100rdpct-100randompct-8threads");
        assert_eq!((cells[0].workers, cells[0].on.as_str()), (4, "local:4"));
        let workload = &cells[0].workload;
        assert_eq!((workload.targets.len(), workload.phases.len()), (8, 3));
        let job = &workload.phases[0].jobs[0];
        assert_eq!((job.threads, job.outstanding_per_thread), (8, 8));
    }

    #[test]
    fn lists_are_multiplied_and_hosts_are_taken_from_the_first_on() {
        let words = ["--on", "ssh:a,b,c", "--workers", "1,3", "--block-size", "4k,8k", "--read", "100,70"];
        let cells = cells_of(&words).expect("a grid");
        assert_eq!(cells.len(), 8);
        assert_eq!((cells[0].on.as_str(), cells[7].on.as_str()), ("ssh:a", "ssh:a,b,c"));
        let names: BTreeSet<&str> = cells.iter().map(|cell| cell.name.as_str()).collect();
        assert_eq!(names.len(), 4);
        let words = ["--on", "kube:4,storage-class=fast", "--workers", "2"];
        assert_eq!(cells_of(&words).expect("a grid")[0].on, "kube:2,storage-class=fast");
    }

    #[test]
    fn what_cannot_be_is_said_before_anything_is_measured() {
        let cases = [
            (vec!["--on", "ssh:a,b", "--workers", "3"], "names 2 hosts"),
            (vec!["--on", "local:2", "--workers", "3"], "has fewer"),
            (vec!["--on", "local:two"], "'two' is not a number of workers"),
            (vec!["--on", "attach:2"], "workers that join do one run"),
            (vec!["--prefill", "none"], "possible values: zero, random"),
            (vec!["--on", "local:0"], "needs one worker"),
            (vec!["--working-set", "0"], "nothing of the targets"),
            (vec!["--directory", "/nowhere/at/all"], "there is no such directory"),
            (vec!["--block-size", "0", "--buffered"], "one byte at least"),
            (vec!["--block-size", "1000"], "not a multiple of 512"),
            (vec!["--size", "4k", "--block-size", "1m"], "less than one block"),
            (vec!["--read", "70,70"], "asked for twice"),
            (vec!["--group", "x=y"], "not N=FILE"),
            (vec!["--group", "1=/nowhere/at/all.fio"], "/nowhere/at/all.fio"),
            (vec!["--workers", "0"], "0"),
        ];
        for (words, expected) in cases {
            let why = cells_of(&words).expect_err("bad");
            assert!(why.contains(expected), "{words:?}: {why}");
        }
    }

    #[test]
    fn zeros_are_written_once_before_the_first_cell() {
        let cells = cells_of(&["--prefill", "zero", "--block-size", "4k,8k"]).expect("a grid");
        let kinds = |cell: &Asked| cell.workload.phases.iter().map(|phase| phase.kind).collect::<Vec<_>>();
        assert_eq!(kinds(&cells[0]), [PhaseKind::Precondition, PhaseKind::Measure]);
        assert_eq!(kinds(&cells[1]), [PhaseKind::Measure]);
        assert_eq!(cells[0].workload.phases[0].jobs[0].content.payload, Payload::Zero);
    }

    #[test]
    fn groups_are_jobs_on_hosts_of_their_own() {
        let directory = tempfile::tempdir().expect("a directory");
        let file = directory.path().join("a.fio");
        std::fs::write(&file, "[j]\nrw=randread\nbs=4k\nsize=1m\nfilename=f\n").expect("written");
        let path = file.to_str().expect("text");
        let groups = [format!("2={path}"), format!("1={path}")];
        let cells = cells_of(&["--group", &groups[0], "--group", &groups[1]]).expect("groups");
        let jobs = &cells[0].workload.phases[0].jobs;
        let seen: Vec<(&str, usize, &str)> =
            jobs.iter().map(|job| (job.name.as_str(), job.hosts.len(), job.targets[0].as_str())).collect();
        assert_eq!(seen.len(), 2);
        assert_eq!((seen[0].0, seen[0].1, seen[1].0, seen[1].1), ("g1-j", 2, "g2-j", 1));
        assert_ne!(seen[0].2, seen[1].2);
        assert_eq!(cells[0].name, "2xa+1xa");
        let few = ["--on", "local:1", "--group", &groups[0]];
        let why = cells_of(&few).expect_err("too many");
        assert!(why.contains("--group") && !why.contains("--workers"), "{why}");
    }
}
