//! Makes a directory of stored runs, for the history: `many-runs DIRECTORY NUMBER`. Of each plan the figures drop by 10 % at the
//! fifth eighth of its runs.

use std::path::Path;
use std::process::ExitCode;

use assay_results::store::{self, RunDir};
use assay_results::{Run, Verdict, checks, samples};
use assay_workload::rng::Rng;

const PLANS: [&str; 4] = ["quick", "nightly", "database volume", "backup target"];
const HOSTS: [&str; 2] = ["db1", "db2"];

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [directory, number] = words.as_slice() else { return ExitCode::from(2) };
    let Ok(number) = number.parse::<usize>() else { return ExitCode::from(2) };
    let mut rng = Rng::new(7);
    let base = samples::assay_run();
    for index in 0..number {
        if make(Path::new(directory), &base, (index, number), &mut rng).is_err() {
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

fn make(
    root: &Path,
    base: &Run,
    (index, number): (usize, usize),
    rng: &mut Rng,
) -> Result<(), store::StoreError> {
    let (plan, host) = (PLANS[index % PLANS.len()], HOSTS[index / PLANS.len() % HOSTS.len()]);
    let level = if index * 8 >= number * 5 { 0.9 } else { 1.0 };
    let factor = level * (1.0 + 0.015 * rng.normal());
    let mut run = base.clone();
    run.id = format!("{:08x}", 0x1000_0000 + index * 7919);
    run.name = plan.to_owned();
    run.plan.name.clone_from(&run.name);
    let minutes = index * 17;
    let (day, minute) = (minutes / 1440, minutes % 1440);
    let (year, month) = (2024 + day / 336, day / 28 % 12 + 1);
    run.started = format!("{year}-{month:02}-{:02}T{:02}:{:02}:00Z", day % 28 + 1, minute / 60, minute % 60);
    run.environment.machine.hostname = Some(host.to_owned());
    for op in run.phases.iter_mut().flat_map(|phase| &mut phase.jobs).map(|job| &mut job.total) {
        op.iops *= factor;
        op.bytes_per_s *= factor;
    }
    checks::judge(&mut run);
    for row in &mut run.rows {
        row.verdict = Verdict::Valid;
    }
    run.verdict = if index % 50 == 7 { Verdict::Suspect } else { Verdict::Valid };
    let directory = RunDir::create(root, &run.started, &run.name, &run.id)?;
    directory.write_run(&run)?;
    if index % 40 == 3 {
        store::save_tags(&directory, &["before upgrade".to_owned()])?;
    }
    Ok(())
}
