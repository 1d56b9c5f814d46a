//! The fio of another machine, where this program does not run: series `stb-2.1`, which is made of fio's options.
//!
//! An executor like any other: a phase is one fio, and what fio reports becomes the events of a run.

mod options;
mod output;

use std::sync::Arc;
use std::time::Instant;

use assay_conduct::series::{Prepared, Series, stb};
use assay_conduct::{Executor, PhaseOutcome};
use assay_results::environment::{Environment, Machine as MachineFacts, Resolution, TargetEnvironment};
use assay_results::{HostEvent, HostId, HostSink, Interval, IntervalKey};
use assay_workload::job::EngineKind;
use assay_workload::plan::{Carrier, PlannedJob};
use assay_workload::resolve::{self, Inventory, TargetFacts};
use assay_workload::target::TargetKind;
use assay_workload::{Plan, Workload};

use super::RemoteDirectory;
use crate::context::Context;
use crate::failure::Failure;
use crate::live::Live;
use crate::series::{self, QuickArgs};
use assay_fleet::login::{
    Connection, EndedCommand, LoginError, Machine, SEARCH_PATH, TaggedDirectory, all_of, last_line,
};
use assay_runner::Finished;

/// The fio that stands in, and for what reason.
#[derive(Debug)]
pub(super) struct SubstituteFio<'a> {
    /// The machine it is on.
    pub(super) machine: &'a Machine,
    /// Its version, such as `3.33`.
    pub(super) version: &'a str,
    /// Why Assay does not measure itself.
    pub(super) refusal: &'a str,
}

/// Runs `stb-2.1` there and records it here.
pub(super) fn run(
    args: &QuickArgs,
    asked: &Series,
    there: RemoteDirectory<'_>,
    directory: &str,
    stand: &SubstituteFio<'_>,
    connection: &Connection,
    context: &Context,
) -> Result<Finished, Failure> {
    let host = there.host;
    if asked.id != stb::ID {
        let series = assay_conduct::series::by_id(stb::ID).unwrap_or(asked);
        series::check_test(args.test.as_deref(), series).map_err(|_| {
            let test = args.test.as_deref().unwrap_or_default();
            Failure::failed(format!(
                "cannot measure '{test}' on {host}: {}; its fio can do the tests of --series {} instead",
                stand.refusal,
                stb::ID
            ))
        })?;
    }
    let replaced = if asked.id == stb::ID { "" } else { ", not the series asked for" };
    let reason = format!(
        "{}; fio {} there did the I/O, in series {}{replaced}",
        stand.refusal,
        stand.version,
        stb::ID
    );
    let work = TaggedDirectory::make(connection, directory)?;
    let result = record(args, there, stand, &reason, &work, connection, context);
    if result.is_err() {
        work.remove_if_made(connection);
    }
    result
}

fn record(
    args: &QuickArgs,
    there: RemoteDirectory<'_>,
    stand: &SubstituteFio<'_>,
    reason: &str,
    work: &TaggedDirectory,
    connection: &Connection,
    context: &Context,
) -> Result<Finished, Failure> {
    let mut prepared = series::stb_tests(args, work.usable_bytes())?;
    let mut notes = vec![("fio".to_owned(), reason.to_owned())];
    notes.extend(leave_out_native_aio(&mut prepared.workload, &stand.machine.system));
    if prepared.workload.phases.is_empty() {
        let system = &stand.machine.system;
        return Err(Failure::failed(format!("{}: that test needs libaio, which {system} lacks", there.host)));
    }
    let shown = work.shown(there.dir);
    series::announce(&prepared, std::path::Path::new(&shown), context);
    let seed = args.seed.map_or_else(assay_runner::random_seed, Ok)?;
    let plan = Arc::new(plan(&prepared, &shown, work, seed)?);
    let environment = environment(stand.machine, &shown, work);
    let mut executor = FioExecutor { connection, work, stand, started: Instant::now() };
    let site = context.site(Default::default());
    Ok(assay_runner::record(plan, environment, notes, &mut executor, &site, &mut Live::new(context))?)
}

/// Linux has libaio and Solaris its own; elsewhere the original skips those tests, and so do we.
fn leave_out_native_aio(workload: &mut Workload, system: &str) -> Option<(String, String)> {
    if matches!(system, "Linux" | "SunOS") {
        return None;
    }
    let before = workload.phases.len();
    workload.phases.retain(|phase| phase.jobs.iter().all(|job| job.engine != EngineKind::Libaio));
    let left_out = before - workload.phases.len();
    let text = format!("{left_out} tests with native aio are left out: {system} has none that fio knows");
    (left_out > 0).then(|| ("skipped".to_owned(), text))
}

fn plan(prepared: &Prepared, shown: &str, work: &TaggedDirectory, seed: u64) -> Result<Plan, Failure> {
    let facts = |name: &str| TargetFacts {
        path: format!("{shown}/{name}"),
        kind: TargetKind::File,
        existing_bytes: work.existing_bytes(name),
        direct_align_bytes: None,
        engine_choice: None,
        direct_refused: None,
    };
    let targets = &prepared.workload.targets;
    let inventory = Inventory {
        targets: targets.iter().map(|target| (target.name.clone(), facts(&target.path))).collect(),
        engines: vec![EngineKind::Psync, EngineKind::PosixAio, EngineKind::Libaio],
        ..Inventory::default()
    };
    let mut plan = resolve::plan(&prepared.workload, &inventory, seed).map_err(Failure::failed)?;
    plan.series = Some(stb::ID.to_owned());
    plan.phases.iter_mut().for_each(|phase| phase.carried_by = Carrier::Fio);
    Ok(plan)
}

/// What is known of a machine that Assay does not run on.
fn environment(machine: &Machine, shown: &str, work: &TaggedDirectory) -> Environment {
    let said = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    let reason = "Assay does not run on that machine; its kernel was not asked".to_owned();
    Environment {
        assay: Context::version(),
        machine: MachineFacts {
            hostname: said(&machine.hostname),
            os: said(&machine.system),
            kernel_release: said(&machine.release),
            arch: machine.architecture.clone(),
            ..MachineFacts::default()
        },
        targets: vec![TargetEnvironment {
            path: shown.to_owned(),
            kind: assay_results::environment::TargetKind::Directory,
            file_system: work.file_system(),
            resolution: Resolution::NotResolvable { reason },
            ..TargetEnvironment::default()
        }],
        ..Environment::default()
    }
}

/// Runs each phase as one fio on the other machine.
struct FioExecutor<'a> {
    connection: &'a Connection,
    work: &'a TaggedDirectory,
    stand: &'a SubstituteFio<'a>,
    started: Instant,
}

impl FioExecutor<'_> {
    fn test(&self, job: &PlannedJob) -> Result<EndedCommand<Vec<u8>>, LoginError> {
        let prepare = format!("{SEARCH_PATH}cd {} || exit 1\n", self.work.word());
        let command = format!("fio {}", options::of(job, &self.stand.machine.system).join(" "));
        self.connection.attended(&prepare, &command, all_of)
    }

    /// The events of one job, or why there are none.
    fn report(&self, phase: u32, job: &PlannedJob, sink: &mut HostSink<'_>) -> Result<(), String> {
        let attended = self.test(job).map_err(|broken| broken.to_string())?;
        if attended.is_lost() {
            return Err(format!("the connection to {} is lost", self.connection.host()));
        }
        let report = output::Done::parse(&attended.stdout).map_err(|why| {
            let said = last_line(&attended.stderr);
            format!("fio on {}: {why}: {said}", self.connection.host())
        })?;
        let mut outcome = report.outcome(self.stand.version, job, &self.stand.machine.system);
        outcome.engine_fallback = Some(self.stand.refusal.to_owned()).filter(|why| !why.is_empty());
        let (counts, length_ns) = (report.counts(), outcome.measured_ns);
        let failed = report.error(&self.stand.machine.system);
        let key = IntervalKey { phase, job: 0, index: 0, ramp: false, start_ns: 0, length_ns };
        sink(HostId::FIRST, HostEvent::Interval(Box::new(Interval { key, counts })));
        sink(HostId::FIRST, HostEvent::JobFinished { phase, job: 0, outcome: Box::new(outcome) });
        failed.map_or(Ok(()), |why| Err(format!("fio on {}: {why}", self.connection.host())))
    }
}

impl Executor for FioExecutor<'_> {
    fn execute(&mut self, plan: &Arc<Plan>, phase: usize, sink: &mut HostSink<'_>) -> PhaseOutcome {
        for job in &plan.phases[phase].jobs {
            let result = self.report(phase as u32, job, sink);
            if self.stopped() {
                return PhaseOutcome::Stopped;
            }
            if let Err(why) = result {
                return PhaseOutcome::Failed(why);
            }
        }
        PhaseOutcome::Done
    }

    fn stopped(&self) -> bool {
        self.connection.stopped()
    }

    fn settle(&mut self, _: &Arc<Plan>, _: usize, _: &mut HostSink<'_>) {
        // The original does not wait between its tests either.
    }

    fn elapsed_ms(&self) -> u64 {
        self.started.elapsed().as_millis() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn native_aio_is_left_out_where_there_is_none() {
        let mut workload = stb::prepare(None, 1, u64::MAX).expect("prepared").workload;
        assert_eq!(leave_out_native_aio(&mut workload, "Linux"), None);
        let (_, text) = leave_out_native_aio(&mut workload, "Darwin").expect("a note");
        assert!(text.starts_with("4 tests"), "{text}");
        assert_eq!(workload.phases.len(), 22);
    }
}
