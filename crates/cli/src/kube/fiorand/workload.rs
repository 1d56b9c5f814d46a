//! What bench_fiorand does, as a workload: sequential writes, then random reads and random writes of the same files by every worker.

use assay_fleet::kube::options::VolumeMode;
use assay_workload::job::{Arrival, Caching, EndsWith, FlushPolicy, Limits, PhaseKind, Rate, TargetSharing};
use assay_workload::pattern::{AccessPattern, Distribution, Mix, Placement, Random};
use assay_workload::target::{Extent, Target, TargetKind};
use assay_workload::units::{Bytes, Nanos};
use assay_workload::{Job, Phase, SweepPoint, Workload};

use super::options::Settings;

/// The file of the ambient load.
const CALM: &str = "calm.0.0";

/// One combination of a sweep.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Cell {
    pub(super) block_kb: u32,
    pub(super) depth: u32,
    pub(super) rate: Option<f64>,
}

impl Cell {
    /// The directory of its results, as kubuculum names it.
    pub(super) fn directory(&self) -> String {
        let rate = self.rate.map_or_else(String::new, |rate| {
            if rate >= 1000.0 && rate % 1000.0 == 0.0 {
                format!("_rate_iops-{}k", rate / 1000.0)
            } else {
                format!("_rate_iops-{rate}")
            }
        });
        format!("bs_kb-{}_iodepth-{}{rate}", self.block_kb, self.depth)
    }

    fn point(&self) -> String {
        let rate = self.rate.map_or_else(String::new, |rate| format!(" rate_iops={rate}"));
        format!("bs={}k iodepth={}{rate}", self.block_kb, self.depth)
    }
}

/// All combinations, in kubuculum's order: block size, outstanding I/Os, rate.
pub(super) fn cells(settings: &Settings) -> Vec<Cell> {
    let rates: Vec<Option<f64>> =
        if settings.rate.is_empty() { vec![None] } else { settings.rate.iter().copied().map(Some).collect() };
    let mut cells = Vec::new();
    for &block_kb in &settings.block_kb {
        for &depth in &settings.depth {
            cells.extend(rates.iter().map(|&rate| Cell { block_kb, depth, rate }));
        }
    }
    cells
}

/// A test, in the order in which they are done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Test {
    Read,
    Write,
}

impl Test {
    /// The name of the phase, and of kubuculum's files.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Test::Read => "randread",
            Test::Write => "randwrite",
        }
    }

    /// The name of fio's job.
    pub(super) const fn job(self) -> &'static str {
        match self {
            Test::Read => "randomread",
            Test::Write => "randomwrite",
        }
    }
}

/// The tests of a combination.
pub(super) fn tests(settings: &Settings) -> impl Iterator<Item = Test> {
    let read = settings.read.then_some(Test::Read);
    read.into_iter().chain(settings.write.then_some(Test::Write))
}

fn file_bytes(settings: &Settings) -> u64 {
    // Whole blocks of any size that is used.
    ((settings.file_gb * f64::from(1 << 30)) as u64).next_multiple_of(1 << 20)
}

/// Names of the files of all jobs, as fio's `f.$jobnum.$filenum`.
fn file_names(settings: &Settings) -> Vec<String> {
    let of = |job: u32| (0..settings.files).map(move |file| format!("f.{job}.{file}"));
    (0..settings.jobs).flat_map(of).collect()
}

/// The workload. `workers` are the pods that are measured, `ambient` those of the ambient load beside them.
pub(super) fn workload(
    settings: &Settings,
    mode: VolumeMode,
    workers: &[String],
    ambient: &[String],
) -> Workload {
    let bytes = file_bytes(settings);
    let target = |name: &str, size: Option<Bytes>, kind: TargetKind| Target {
        name: name.to_owned(),
        path: name.to_owned(),
        kind: Some(kind),
        size,
    };
    let names = match mode {
        VolumeMode::Filesystem => file_names(settings),
        VolumeMode::Block => vec!["volume".to_owned()],
    };
    let mut targets: Vec<Target> = match mode {
        VolumeMode::Filesystem => {
            names.iter().map(|name| target(name, Some(Bytes(bytes)), TargetKind::File)).collect()
        }
        VolumeMode::Block => vec![target("volume", None, TargetKind::BlockDevice)],
    };
    if !ambient.is_empty() && mode == VolumeMode::Filesystem {
        targets.push(target(CALM, Some(Bytes(bytes)), TargetKind::File));
    }
    let shape = Shape { settings, mode, names: &names, bytes, workers, ambient };
    let mut phases = vec![shape.prepare()];
    for cell in cells(settings) {
        phases.extend(tests(settings).map(|test| shape.test(test, cell)));
    }
    Workload { name: "bench_fiorand".to_owned(), seed: None, hosts: Vec::new(), targets, phases }
}

struct Shape<'s> {
    settings: &'s Settings,
    mode: VolumeMode,
    names: &'s [String],
    bytes: u64,
    workers: &'s [String],
    ambient: &'s [String],
}

impl Shape<'_> {
    /// What all workers do: a job with a thread for each of kubuculum's jobs, each with a file or a part of the device of its own. Where jobs have
    /// several files, each is a job by itself, and they are reported as one.
    fn jobs(&self, name: &str, pattern: &AccessPattern, change: impl Fn(&mut Job)) -> Vec<Job> {
        let (settings, names) = (self.settings, self.names.iter().map(String::as_str).collect::<Vec<&str>>());
        let of = |name: &str, targets: &[&str]| {
            Job::new(name, targets, pattern.clone()).with(|job| job.hosts = self.workers.to_vec())
        };
        let mut jobs = match self.mode {
            VolumeMode::Block => {
                let part = Extent::Bytes(self.bytes * u64::from(settings.files));
                vec![of(name, &names).with(|job| {
                    job.threads = settings.jobs;
                    (job.offset_increment, job.length) = (part, Some(part));
                })]
            }
            VolumeMode::Filesystem if settings.files == 1 => vec![of(name, &names).with(|job| {
                (job.threads, job.sharing) = (settings.jobs, TargetSharing::PerThread);
            })],
            VolumeMode::Filesystem => {
                let parts = (0..).zip(names.chunks(settings.files as usize));
                let job = |(number, files): (u32, &[&str])| {
                    of(&format!("{name}.{number}"), files)
                        .with(|job| job.traits.group = Some(name.to_owned()))
                };
                parts.map(job).collect()
            }
        };
        jobs.iter_mut().for_each(change);
        jobs
    }

    fn prepare(&self) -> Phase {
        let block = u64::from(self.settings.prepare_block_kb) << 10;
        let sequential = AccessPattern::new(Mix::read_write(0.0), block, Placement::sequential());
        let write = |job: &mut Job| {
            // Buffered, as kubuculum does it, with a flush behind all of it.
            job.caching = if self.mode == VolumeMode::Block { Caching::Direct } else { Caching::Buffered };
            job.traits.flush = FlushPolicy { at_end: true, ..FlushPolicy::default() };
        };
        let mut jobs = self.jobs("initwrite", &sequential, write);
        if !self.ambient.is_empty() {
            jobs.push(self.calm(sequential).with(write));
        }
        Phase { kind: PhaseKind::Precondition, drain_after: true, ..Phase::measure("initwrite", jobs) }
    }

    fn test(&self, test: Test, cell: Cell) -> Phase {
        let block = u64::from(cell.block_kb) << 10;
        let random =
            |once_per_pass| Placement::Random(Random { distribution: Distribution::Uniform, once_per_pass });
        let reads = if test == Test::Read { 100.0 } else { 0.0 };
        let pattern = AccessPattern::new(Mix::read_write(reads), block, random(true));
        let mut jobs = self.jobs(test.job(), &pattern, |job| {
            job.traits.outstanding_per_thread = cell.depth;
            job.caching = Caching::Direct;
            job.limits =
                Limits { time: Some(Nanos((self.settings.seconds * 1e9) as u64)), ..Limits::default() };
            // fio's rate is of each job; here it is of all threads on all workers.
            let threads = f64::from(job.threads) * self.workers.len() as f64;
            job.rate = cell.rate.map_or(Rate::Unlimited, |rate| Rate::Iops(rate * threads));
            if test == Test::Write {
                job.traits.flush = FlushPolicy { at_end: true, ..FlushPolicy::default() };
            }
        });
        if !self.ambient.is_empty() {
            let pattern = AccessPattern::new(Mix::read_write(50.0), block, random(false));
            jobs.push(self.calm(pattern).with(|job| {
                job.caching = Caching::Direct;
                job.traits.outstanding_per_thread = 16;
                job.rate = Rate::Iops(self.settings.calm_rate * self.ambient.len() as f64);
                job.arrival = Arrival::Poisson;
                job.limits = Limits { ends_with: Some(EndsWith::Others), ..job.limits };
            }));
        }
        let swept = cells(self.settings).len() > 1;
        let point = if swept { SweepPoint::new(cell.point()) } else { SweepPoint::default() };
        Phase { point, ..Phase::measure(test.name(), jobs) }
    }

    /// A job of the pods of the ambient load.
    fn calm(&self, pattern: AccessPattern) -> Job {
        let name = if self.mode == VolumeMode::Block { self.names[0].as_str() } else { CALM };
        Job::new("calm", &[name], pattern).with(|job| {
            job.hosts = self.ambient.to_vec();
            job.length = Some(Extent::Bytes(self.bytes));
        })
    }
}

/// The job file that fio would take for a test: what was done can be done again with fio.
pub(super) fn job_file(settings: &Settings, what: Option<(Test, Cell)>) -> String {
    let Settings { file_gb, jobs, files, prepare_block_kb, seconds, .. } = settings;
    let mut text = match what {
        None => format!(
            "[initwrite]\nrw=write\nioengine=sync\ndirect=0\ncreate_on_open=1\nend_fsync=1\nbs={prepare_block_kb}k\n"
        ),
        Some((test, cell)) => {
            let end = if test == Test::Write { "end_fsync=1\n" } else { "" };
            let rate = cell.rate.map_or_else(String::new, |rate| format!("rate_iops={rate}\n"));
            format!(
                "[{}]\nrw={}\nioengine=libaio\ndirect=1\nbs={}k\niodepth={}\ntime_based=1\nruntime={seconds}\n{rate}{end}",
                test.job(),
                test.name(),
                cell.block_kb,
                cell.depth
            )
        }
    };
    text.push_str(&format!(
        "directory=/dataset\nfilename_format=f.$jobnum.$filenum\nfilesize={}m\nnrfiles={files}\nnumjobs={jobs}\n",
        (file_gb * 1024.0) as u64
    ));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(words: &[(&str, &str)]) -> Settings {
        let mut settings = Settings::default();
        for (name, value) in words {
            settings.take(name, value).expect("an option");
        }
        settings
    }

    #[test]
    fn phases_are_prepare_then_reads_and_writes_of_each_combination() {
        let settings = settings(&[
            ("bs_kb_list", "[4,8]"),
            ("iodepth_list", "[1]"),
            ("rate_iops_list", "[1k]"),
            ("ninstances", "2"),
        ]);
        let workers = ["assay-t-0".to_owned(), "assay-t-1".to_owned()];
        let workload = workload(&settings, VolumeMode::Filesystem, &workers, &[]);
        let names: Vec<String> = workload.phases.iter().map(|phase| phase.point.title(&phase.name)).collect();
        assert_eq!(names[0], "initwrite");
        assert_eq!(names[1], "randread [bs=4k iodepth=1 rate_iops=1000]");
        assert_eq!(names.len(), 5);
        assert_eq!(
            workload.targets.iter().map(|target| target.path.as_str()).collect::<Vec<_>>(),
            ["f.0.0", "f.1.0"]
        );
        // Two jobs on each of two workers.
        assert_eq!(workload.phases[1].jobs[0].rate, Rate::Iops(4000.0));
        assert_eq!(cells(&settings)[0].directory(), "bs_kb-4_iodepth-1_rate_iops-1k");
    }

    #[test]
    fn the_ambient_load_is_of_pods_of_its_own_and_ends_with_the_test() {
        let settings = settings(&[("calm_enabled", "true")]);
        let workload = workload(&settings, VolumeMode::Filesystem, &["a".to_owned()], &["b".to_owned()]);
        let test = &workload.phases[1];
        assert_eq!(
            (test.jobs[0].hosts.as_slice(), test.jobs[1].hosts.as_slice()),
            (&["a".to_owned()][..], &["b".to_owned()][..])
        );
        assert_eq!(test.jobs[1].limits.ends_with, Some(EndsWith::Others));
    }

    #[test]
    fn jobs_with_several_files_are_reported_as_one() {
        let settings = settings(&[("njobs", "2"), ("nrfiles", "3"), ("fsz_gb", "1")]);
        let workload = workload(&settings, VolumeMode::Filesystem, &["a".to_owned()], &[]);
        let jobs = &workload.phases[1].jobs;
        assert_eq!(jobs.iter().map(|job| job.targets.len()).collect::<Vec<_>>(), [3, 3]);
        assert!(jobs.iter().all(|job| job.group.as_deref() == Some("randomread")));
        assert_eq!(jobs[1].targets[2], "f.1.2");
    }

    #[test]
    fn a_device_is_divided_among_the_jobs() {
        let settings = settings(&[("njobs", "3"), ("fsz_gb", "1")]);
        let workload = workload(&settings, VolumeMode::Block, &["a".to_owned()], &[]);
        let job = &workload.phases[1].jobs[0];
        assert_eq!(
            (job.threads, job.offset_increment, job.length),
            (3, Extent::Bytes(1 << 30), Some(Extent::Bytes(1 << 30)))
        );
    }
}
