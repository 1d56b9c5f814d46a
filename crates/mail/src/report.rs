//! The result of a mail test as text: the blocks and tables that published reports have, from a run.

use std::fmt::Write as _;

use assay_results::Run;
use assay_results::run::{JobResult, OpResult, PhaseResult};
use assay_workload::plan::PlannedJob;
use assay_workload::units::{Bytes, Nanos};

use crate::disk::Class;
use crate::operations::Transaction;
use crate::page::PAGE_BYTES;
use crate::plan::{KIND, NAME};
use crate::planned::settings_of;
use crate::settings::{Settings, Task, Test};

/// The mean of database reads has to stay below.
const READ_MEAN_NS_MAX: f64 = 20e6;
/// The mean of log writes has to stay below.
const LOG_WRITE_MEAN_NS_MAX: f64 = 10e6;
/// Up to this length of a test the stricter limit of single I/Os holds.
const STRICT_LENGTH: Nanos = Nanos::from_secs(6 * 3600);

/// One criterion of one database.
#[derive(Debug, Clone, PartialEq)]
pub struct Criterion {
    /// Which database.
    pub database: String,
    /// What is held against the limit.
    pub what: &'static str,
    /// Nanoseconds.
    pub value_ns: f64,
    /// Nanoseconds; it has to stay below.
    pub limit_ns: f64,
}

impl Criterion {
    /// Whether it holds.
    pub fn passes(&self) -> bool {
        self.value_ns < self.limit_ns
    }
}

/// A job of a run with its settings and its result.
struct Instance<'r> {
    settings: Settings,
    planned: &'r PlannedJob,
    result: &'r JobResult,
}

impl Instance<'_> {
    fn op(&self, class: Class) -> OpResult {
        self.result.ops.get(class.name()).cloned().unwrap_or_default()
    }
}

fn instances<'r>(run: &'r Run, phase: &'r PhaseResult) -> Vec<Instance<'r>> {
    let Some(planned) = run.plan.phases.get(phase.plan_phase as usize) else { return Vec::new() };
    let of = |planned: &'r PlannedJob| {
        let settings = settings_of(planned)?.ok()?;
        let result = phase.jobs.iter().find(|job| job.name == planned.name)?;
        Some(Instance { settings, planned, result })
    };
    planned.jobs.iter().filter_map(of).collect()
}

/// The phases of a run with mail jobs that do `task`.
fn phases(run: &Run, task: Task) -> impl Iterator<Item = Vec<Instance<'_>>> {
    let all = run.phases.iter().map(|phase| instances(run, phase));
    all.filter(move |instances| instances.first().is_some_and(|instance| instance.settings.task == task))
}

/// Largest latencies that single I/Os may have.
fn single_ns_max(settings: &Settings) -> f64 {
    if settings.measured() <= STRICT_LENGTH { 100e6 } else { 200e6 }
}

/// What a run's databases are held against, those of all phases with measured transactions.
pub fn criteria(run: &Run) -> Vec<Criterion> {
    let mut all = Vec::new();
    for instance in phases(run, Task::Transactions).flatten() {
        let (read, log) = (instance.op(Class::DatabaseRead), instance.op(Class::LogWrite));
        let single = single_ns_max(&instance.settings);
        let entries = [
            ("average database read latency", read.completion_ns.mean, READ_MEAN_NS_MAX),
            ("average log write latency", log.completion_ns.mean, LOG_WRITE_MEAN_NS_MAX),
            ("longest database read", read.completion_ns.max as f64, single),
            ("longest log write", log.completion_ns.max as f64, single),
        ];
        let database = &instance.result.name;
        all.extend(entries.map(|(what, value_ns, limit_ns)| Criterion {
            database: database.clone(),
            what,
            value_ns,
            limit_ns,
        }));
    }
    all
}

/// Whether a run with measured transactions meets its criteria; `None`: it has none.
pub fn passed(run: &Run) -> Option<bool> {
    let criteria = criteria(run);
    (!criteria.is_empty()).then(|| criteria.iter().all(Criterion::passes))
}

/// Why a run's test failed; `None`: it did not, or has no criteria.
pub fn failure(run: &Run) -> Option<String> {
    let criteria = criteria(run);
    let failed = criteria.iter().find(|criterion| !criterion.passes())?;
    let Criterion { database, what, value_ns, limit_ns } = failed;
    Some(format!(
        "the test failed: {database}: {what} {:.1} ms, limit {:.0} ms",
        value_ns / 1e6,
        limit_ns / 1e6
    ))
}

/// Database reads and writes a second of all databases: neither the log's nor maintenance's are among them.
fn transactional_iops(instances: &[Instance<'_>]) -> f64 {
    let of = |class| instances.iter().map(|instance| instance.op(class).iops).sum::<f64>();
    of(Class::DatabaseRead) + of(Class::DatabaseWrite)
}

/// One row of figures of an operation.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Figures {
    /// I/Os a second.
    pub per_s: f64,
    /// Milliseconds on average.
    pub mean_ms: f64,
    /// Bytes on average.
    pub mean_bytes: f64,
}

impl Figures {
    fn of(op: &OpResult) -> Self {
        let mean_bytes = if op.ios == 0 { 0.0 } else { op.bytes as f64 / op.ios as f64 };
        Figures { per_s: op.iops, mean_ms: op.completion_ns.mean / 1e6, mean_bytes }
    }

    /// Both together: means are weighted by the I/Os.
    #[must_use]
    pub fn with(self, other: Figures) -> Figures {
        let per_s = self.per_s + other.per_s;
        let mean = |one: f64, two: f64| {
            if per_s == 0.0 { 0.0 } else { (one * self.per_s + two * other.per_s) / per_s }
        };
        Figures {
            per_s,
            mean_ms: mean(self.mean_ms, other.mean_ms),
            mean_bytes: mean(self.mean_bytes, other.mean_bytes),
        }
    }
}

fn line(text: &mut String, name: &str, value: impl std::fmt::Display) {
    let _ = writeln!(text, "  {name:<42} {value}");
}

/// The name of a row, and its figures.
type TableRow<'a> = (&'a str, &'a dyn Fn(&Instance<'_>) -> Figures);

/// A table: one column a database.
fn table(text: &mut String, title: &str, instances: &[Instance<'_>], rows: &[TableRow<'_>]) {
    let _ = write!(text, "\n{title}\n  {:<42}", "");
    for instance in instances {
        let _ = write!(text, " {:>14}", instance.result.name);
    }
    text.push('\n');
    type Column = fn(Figures) -> f64;
    let columns: [(&str, Column); 3] = [
        ("average latency, ms", |figures| figures.mean_ms),
        ("per second", |figures| figures.per_s),
        ("average bytes", |figures| figures.mean_bytes),
    ];
    for (name, figures) in rows {
        for (column, value) in columns {
            let _ = write!(text, "  {:<42}", format!("{name}, {column}"));
            for instance in instances {
                let _ = write!(text, " {:>14.3}", value(figures(instance)));
            }
            text.push('\n');
        }
    }
}

fn sizing(text: &mut String, instances: &[Instance<'_>]) {
    let Some(first) = instances.first() else { return };
    let settings = &first.settings;
    let transactions = |which: Transaction| {
        instances.iter().filter_map(|one| one.result.ops.get(which.name())).map(|op| op.iops).sum::<f64>()
    };
    let all: f64 = Transaction::ALL.into_iter().map(transactions).sum();
    let _ = writeln!(text, "\nSizing and throughput");
    line(text, "achieved transactional I/O per second", format!("{:.3}", transactional_iops(instances)));
    line(text, "transactions per second", format!("{all:.1}"));
    line(text, "capacity", format!("{} % of {}", settings.capacity, Bytes(settings.size)));
    line(text, "throughput", format!("{} %", settings.throughput));
    let _ = writeln!(text, "\nSystem parameters");
    let tuned = if settings.threads == 0 { " at most, tuned" } else { "" };
    line(text, "threads per database", format!("{}{tuned}", first.planned.slices.len()));
    line(
        text,
        "buffer pool per database",
        format!("{} to {}", Bytes(settings.cache_min), Bytes(settings.cache_max)),
    );
    line(
        text,
        "insert, delete, replace, read",
        format!("{}, {}, {}, {} %", settings.insert, settings.delete, settings.replace, settings.read),
    );
    line(text, "lazy commits", format!("{} %", settings.lazy));
    line(text, "checkpoint depth", Bytes(settings.checkpoint_depth));
    let maintenance = match settings.maintenance {
        0 => "off".to_owned(),
        rate => format!("{:.2} MB/s per database", rate as f64 / 1e6),
    };
    line(text, "background database maintenance", maintenance);
    line(text, "O_DIRECT", if settings.direct { "yes" } else { "no: database reads may come from RAM" });
    let _ = writeln!(text, "\nDatabase configuration");
    line(text, "databases", settings.databases);
    line(text, "copies per database", settings.copies);
    line(text, "page size", Bytes(PAGE_BYTES as u64));
    line(text, "space per database, growth included", Bytes(settings.capacity_pages() * PAGE_BYTES as u64));
}

fn tables(text: &mut String, instances: &[Instance<'_>]) {
    let of = |class: Class| move |instance: &Instance<'_>| Figures::of(&instance.op(class));
    let (read, write) = (of(Class::DatabaseRead), of(Class::DatabaseWrite));
    let (log_read, log_write) = (of(Class::LogRead), of(Class::LogWrite));
    let maintenance = of(Class::MaintenanceRead);
    table(
        text,
        "Transactional I/O",
        instances,
        &[
            ("database reads", &read),
            ("database writes", &write),
            ("log reads", &log_read),
            ("log writes", &log_write),
        ],
    );
    table(text, "Background database maintenance I/O", instances, &[("maintenance reads", &maintenance)]);
    table(
        text,
        "Total I/O",
        instances,
        &[
            ("database reads", &|instance| read(instance).with(maintenance(instance))),
            ("database writes", &write),
            ("log reads", &log_read),
            ("log writes", &log_write),
        ],
    );
}

fn verdict(text: &mut String, run: &Run) {
    let criteria = criteria(run);
    let Some(passed) = passed(run) else { return };
    let _ = writeln!(text, "\nTest result: {}", if passed { "pass" } else { "FAIL" });
    for criterion in criteria {
        let Criterion { database, what, value_ns, limit_ns } = &criterion;
        let word = if criterion.passes() { "pass" } else { "FAIL" };
        let name = format!("{database}: {what}");
        line(text, &name, format!("{word}: {:.3} ms, limit {:.0} ms", value_ns / 1e6, limit_ns / 1e6));
    }
}

/// A rate of bytes that a phase of one task reached.
fn rate(text: &mut String, instances: &[Instance<'_>], title: &str, class: Class) {
    let _ = writeln!(text, "\n{title}");
    for instance in instances {
        let op = instance.op(class);
        line(
            text,
            &instance.result.name,
            format!("{:.2} MB/s, {:.1} reads/s", op.bytes_per_s / 1e6, op.iops),
        );
    }
    let sum: f64 = instances.iter().map(|instance| instance.op(class).bytes_per_s).sum();
    line(text, "all databases", format!("{:.2} MB/s", sum / 1e6));
}

/// The result of a mail run as text.
pub fn text(run: &Run) -> String {
    let mut text = format!("Mail test ({NAME})\n");
    for instances in phases(run, Task::Transactions) {
        let settings = &instances[0].settings;
        let full = settings.test.full_length().map_or_else(String::new, |full| format!(" of {full}"));
        let short = if settings.is_short() { ", short test: not the length of a full one" } else { "" };
        let _ = writeln!(text, "{} test: {}{full}{short}", settings.test.name(), settings.measured());
        verdict(&mut text, run);
        sizing(&mut text, &instances);
        tables(&mut text, &instances);
    }
    for instances in phases(run, Task::Backup) {
        let title = format!("{} test: sequential reads of {}", Test::Backup.name(), Bytes(256 << 10));
        rate(&mut text, &instances, &title, Class::ScanRead);
    }
    for instances in phases(run, Task::Recover) {
        rate(&mut text, &instances, "recovery test: log reads", Class::LogRead);
    }
    let said: Vec<&str> =
        run.remarks.iter().filter(|remark| remark.id == KIND).map(|remark| remark.text.as_str()).collect();
    if !said.is_empty() {
        let _ = writeln!(text, "\nTest log");
        for said in said {
            let _ = writeln!(text, "  {said}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The arithmetic of a published report: reads of transactions and of maintenance together.
    #[test]
    fn totals_are_weighted_by_the_number_of_io() {
        let reads = Figures { per_s: 501.278, mean_ms: 19.557, mean_bytes: 33_147.0 };
        let maintenance = Figures { per_s: 24.789, mean_ms: 0.0, mean_bytes: 240_015.0 };
        let total = reads.with(maintenance);
        assert!((total.per_s - 526.067).abs() < 1e-9);
        assert!((total.mean_bytes - 42_894.7).abs() < 1.0, "{}", total.mean_bytes);
        assert_eq!(Figures::default().with(Figures::default()), Figures::default());
    }
}
