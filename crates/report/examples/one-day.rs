//! Stores a run of many jobs with a reporting period a second, for `benches/bench-day.sh`: `one-day DIRECTORY JOBS SECONDS`.

use std::path::Path;
use std::process::ExitCode;

use assay_results::run::{JobResult, SeriesPoint};
use assay_results::store::{RunDir, StoreError};
use assay_results::{Run, checks, samples};
use assay_workload::rng::Rng;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [directory, jobs, seconds] = words.as_slice() else { return ExitCode::from(2) };
    let (Ok(jobs), Ok(seconds)) = (jobs.parse(), seconds.parse()) else { return ExitCode::from(2) };
    match store(Path::new(directory), &run(jobs, seconds)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn store(root: &Path, run: &Run) -> Result<(), StoreError> {
    RunDir::create(root, &run.started, &run.name, &run.id)?.write_run(run)
}

/// Each job has a level of its own that drifts over the day, with a dip of a few seconds now and then.
fn run(jobs: u32, seconds: u32) -> Run {
    let mut rng = Rng::new(11);
    let job = |index: u32| {
        let name = format!("disk{index}");
        let op = samples::op(4_000.0 + 250.0 * f64::from(index), 4096, 900_000, f64::from(seconds));
        let mut job = samples::job(&name, "write 4k, random uniform", "write", op, 4, 2);
        job.measured_s = f64::from(seconds);
        job.series = (0..seconds).map(|second| point(&job, second, seconds, &mut rng)).collect();
        job.latency_over_time = samples::latencies(&job.series);
        job
    };
    let jobs: Vec<JobResult> = (0..jobs).map(job).collect();
    let mut run = samples::run("one day", "", vec![samples::phase("day", jobs)]);
    run.elapsed_s = f64::from(seconds);
    run.id = "da710001".to_owned();
    checks::judge(&mut run);
    run
}

fn point(job: &JobResult, second: u32, seconds: u32, rng: &mut Rng) -> SeriesPoint {
    let drift = 1.0 + 0.1 * (f64::from(second) / f64::from(seconds) * std::f64::consts::TAU).sin();
    let dip = if rng.unit() < 0.001 { 0.2 } else { 1.0 };
    let iops = job.total.iops * drift * dip * (1.0 + 0.03 * rng.normal());
    let p50_ns = (900_000.0 / (drift * dip)) as u64;
    SeriesPoint {
        start_s: f64::from(second),
        length_s: 1.0,
        iops,
        bytes_per_s: iops * 4096.0,
        p50_ns: Some(p50_ns),
        p99_ns: Some(p50_ns * 3 + (rng.unit() * 400_000.0) as u64),
    }
}
