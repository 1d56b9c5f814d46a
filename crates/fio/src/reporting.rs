//! How a job file wants its jobs reported and logged: options that change no I/O, read for the writers of reports and logs.

use std::fmt::Write as _;

use assay_results::Run;
use assay_results::run::{JobResult, PhaseResult};
use assay_workload::{PhaseKind, Plan};

use super::compressed::SUFFIX;
use super::job_file::JobFile;
use super::log_value::{LogValue, file_name};
use super::lower::origins;
use super::resolve::Given;
use super::resolved::{Direction, LatencyTarget, ResolvedJob};
use super::value::Value;

/// fio's list of percentiles where none is given.
pub(crate) const PERCENTILES: [f64; 17] =
    [1.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95, 99.99];

/// How reads, writes and trims are reported: `unified_rw_reporting`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Unified {
    /// Each by itself.
    #[default]
    No,
    /// Only their total.
    Mixed,
    /// Each, and their total.
    Both,
}

/// What a log of fio is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LogAbout {
    /// `write_bw_log`.
    Bandwidth,
    /// `write_iops_log`.
    Iops,
    /// `write_lat_log`: three files.
    Latency,
    /// `write_hist_log`.
    Histogram,
}

/// `log_window_value`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum WindowValue {
    /// The mean.
    #[default]
    Mean,
    /// The largest.
    Largest,
    /// Both, in two columns.
    Both,
}

/// The logs of a job.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Logs {
    /// What they are about, and what their names begin with.
    pub(crate) wanted: Vec<(LogAbout, String)>,
    /// `log_avg_msec` and `log_hist_msec`.
    pub(crate) average_ms: u64,
    pub(crate) histogram_ms: u64,
    /// Buckets are merged 2 to the power of this at a time.
    pub(crate) coarseness: u32,
    /// A column for the offset.
    pub(crate) offset: bool,
    /// The priority as a number, not whether it is the highest.
    pub(crate) priority: bool,
    /// A column for the time of issue.
    pub(crate) issue_time: bool,
    /// What stands for a window of `log_avg_msec`.
    pub(crate) window: WindowValue,
    /// Whether they are stored compressed.
    pub(crate) compressed: bool,
    /// `write_iolog`.
    pub(crate) iolog: Option<String>,
    /// Times count from 1970 on, not from the start of the job.
    pub(crate) unix_epoch: bool,
    /// The number of the clone is in their names.
    pub(crate) numbered: bool,
}

/// How one job, or one clone of it, is reported.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct JobReporting {
    /// As given: several may have the same.
    pub(crate) name: String,
    /// fio's number of the reporting group.
    pub(crate) group: u64,
    /// fio's number of the first clone, from 1.
    pub(crate) thread: u32,
    pub(crate) percentiles: Vec<f64>,
    /// Their list as it was given.
    pub(crate) percentile_list: Option<String>,
    pub(crate) slat_percentiles: bool,
    pub(crate) clat_percentiles: bool,
    pub(crate) lat_percentiles: bool,
    pub(crate) unified: Unified,
    pub(crate) logs: Logs,
    /// Whether what verify= reads back counts among its reads.
    pub(crate) read_back: bool,
    /// `verify_only` of a job that writes: its writes are counted, and not done.
    pub(crate) verify_only: bool,
    /// `stats`: whether it is reported at all.
    pub(crate) counted: bool,
    /// `numjobs` as it was given.
    pub(crate) clones: Option<u32>,
    /// `latency_target`.
    pub(crate) search: Option<LatencyTarget>,
    /// `steadystate` as fio prints it, and its window in seconds.
    pub(crate) steady: Option<(String, u64)>,
}

impl Logs {
    /// The columns behind the block size.
    pub(crate) fn end_of_line(&self, text: &mut String, offset_bytes: u64, issued_ns: u64) {
        if self.offset {
            let _ = write!(text, ", {offset_bytes}");
        }
        // No I/O carries a priority.
        text.push_str(if self.priority { ", 0x0000" } else { ", 0" });
        if self.issue_time {
            let _ = write!(text, ", {issued_ns}");
        }
        text.push('\n');
    }

    /// Whether each I/O has a line of its own in one of them.
    fn of_each_io(&self) -> bool {
        let of_ios = |(about, _): &(LogAbout, String)| *about != LogAbout::Histogram;
        self.iolog.is_some() || self.average_ms == 0 && self.wanted.iter().any(of_ios)
    }

    /// Whether there is any.
    pub(crate) fn is_any(&self) -> bool {
        self.iolog.is_some() || !self.wanted.is_empty()
    }
}

impl JobReporting {
    /// As fio does where no option says otherwise.
    pub(crate) fn plain(name: &str, group: u64) -> Self {
        JobReporting {
            name: name.to_owned(),
            group,
            thread: 0,
            percentiles: PERCENTILES.to_vec(),
            percentile_list: None,
            slat_percentiles: false,
            clat_percentiles: true,
            lat_percentiles: false,
            unified: Unified::No,
            logs: Logs::default(),
            read_back: false,
            verify_only: false,
            counted: true,
            clones: None,
            search: None,
            steady: None,
        }
    }

    /// What is logged, with the names of the files.
    pub(crate) fn log_names(&self) -> Vec<(LogValue, String)> {
        let number = if self.logs.numbered { format!(".{}", self.thread) } else { String::new() };
        let values = |about: LogAbout| match about {
            LogAbout::Bandwidth => &[LogValue::Bandwidth][..],
            LogAbout::Iops => &[LogValue::Iops],
            LogAbout::Latency => &[LogValue::Slat, LogValue::Clat, LogValue::Lat],
            LogAbout::Histogram => &[LogValue::Histogram],
        };
        let named = |(about, prefix): &(LogAbout, String)| {
            let name = |value: &LogValue| {
                // Counts of buckets are no samples.
                let stored = self.logs.compressed && *value != LogValue::Histogram;
                let end = if stored { SUFFIX } else { "" };
                (*value, format!("{prefix}_{}{number}.log{end}", value.word()))
            };
            values(*about).iter().map(name).collect::<Vec<_>>()
        };
        self.logs.wanted.iter().flat_map(named).collect()
    }

    /// Puts the name, the number of clones and the percentiles as they were given among the options of a result.
    pub(crate) fn name(&self, options: &mut Vec<(String, String)>) {
        options.extend(self.percentile_list.iter().map(|list| ("percentile_list".to_owned(), list.clone())));
        for (name, value) in options {
            match (name.as_str(), self.clones) {
                ("name", _) => value.clone_from(&self.name),
                ("numjobs", Some(clones)) => *value = clones.to_string(),
                _ => {}
            }
        }
    }
}

/// How a job file wants its jobs reported and logged. Of none: as fio does where no option says otherwise.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Reporting {
    /// By phase of the workload that the file is lowered to, and job of it.
    phases: Vec<Vec<JobReporting>>,
}

impl Reporting {
    /// That of a file.
    pub fn of(file: &JobFile) -> Reporting {
        let clones = file.resolved(false);
        let job = |thread: &u32| clones.iter().find(|clone| clone.thread_number == *thread).map(job);
        let phases = origins(file).iter().map(|jobs| jobs.iter().filter_map(job).collect()).collect();
        Reporting { phases }
    }

    /// How a result is reported; `None`: the run is not one of this file.
    pub(crate) fn job(&self, run: &Run, phase: &PhaseResult, job: &JobResult) -> Option<&JobReporting> {
        self.planned(run, phase, *job.evidence.plan_jobs.first()?)
    }

    /// How a planned job is reported.
    pub(crate) fn planned(&self, run: &Run, phase: &PhaseResult, plan_job: u32) -> Option<&JobReporting> {
        let (before, of) = run
            .plan
            .phases
            .get(..=phase.plan_phase as usize)?
            .split_last()
            .map(|(of, before)| (before, of))?;
        if of.kind != PhaseKind::Measure {
            return None;
        }
        let index = before.iter().filter(|phase| phase.kind == PhaseKind::Measure).count();
        self.phases.get(index)?.get(plan_job as usize)
    }

    /// The place in the plan of the first loop of the jobs of a phase, where this is a later one. Clones of a file run in one stage
    /// alone: two phases of the same ones are loops.
    pub(crate) fn first_loop(&self, run: &Run, phase: &PhaseResult) -> Option<u32> {
        let planned = &run.plan.phases;
        let at = phase.plan_phase as usize;
        let behind = usize::from(planned.get(at)?.kind == PhaseKind::Verify);
        let measured: Vec<usize> = (0..=at.checked_sub(behind)?)
            .filter(|index| planned.get(*index).is_some_and(|phase| phase.kind == PhaseKind::Measure))
            .collect();
        let of = |index: usize| self.phases.get(index)?.first().map(|job| job.thread);
        let last = measured.len().checked_sub(1)?;
        let first = (0..last).find(|index| of(*index).is_some() && of(*index) == of(last))?;
        u32::try_from(measured[first] + behind).ok()
    }

    /// Whether a job wants a log.
    pub(crate) fn wants_logs(&self) -> bool {
        self.phases.iter().flatten().any(|job| job.logs.is_any())
    }

    /// Phases of the plan and their jobs whose logs have a line for each I/O.
    pub fn logged_by_io(&self, plan: &Plan) -> Vec<(usize, usize)> {
        self.planned_jobs(plan, |how| how.logs.of_each_io())
    }

    /// Phases of the plan and their jobs that report percentiles of submission, or log it.
    pub fn timed_submission(&self, plan: &Plan) -> Vec<(usize, usize)> {
        let logs_it = |how: &JobReporting| how.logs.wanted.iter().any(|wanted| wanted.0 == LogAbout::Latency);
        self.planned_jobs(plan, |how| how.slat_percentiles || logs_it(how))
    }

    fn planned_jobs(&self, plan: &Plan, wanted: impl Fn(&JobReporting) -> bool) -> Vec<(usize, usize)> {
        let measured = plan.phases.iter().enumerate().filter(|(_, phase)| phase.kind == PhaseKind::Measure);
        let jobs = measured.zip(&self.phases).flat_map(|((phase, _), jobs)| {
            jobs.iter().enumerate().map(move |(job, how)| (how, (phase, job)))
        });
        jobs.filter(|(how, _)| wanted(how)).map(|(_, at)| at).collect()
    }

    /// The names of all logs that the jobs may write.
    pub(crate) fn log_names(&self) -> Vec<String> {
        let jobs = self.phases.iter().flatten();
        let mut names: Vec<String> =
            jobs.clone().flat_map(|job| job.log_names().into_iter().map(|(_, name)| name)).collect();
        names.extend(jobs.filter_map(|job| job.logs.iolog.clone()));
        names.sort_unstable();
        names.dedup();
        names
    }
}

/// Options of logs that are honoured where logs are written.
const HONOURED: [&str; 8] = [
    "write_bw_log",
    "write_iops_log",
    "write_lat_log",
    "write_hist_log",
    "write_iolog",
    "log_offset",
    "log_issue_time",
    "log_store_compressed",
];

/// Whether an option line is one that the writers of logs and reports honour, where they write any.
pub(crate) fn is_honoured(line: &str, logged: bool, reported: bool) -> bool {
    let name = line.trim_start_matches('-').split('=').next().unwrap_or_default().trim();
    logged && HONOURED.contains(&name) || reported && name == "stats"
}

/// How a clone is reported.
fn job(clone: &ResolvedJob) -> JobReporting {
    let read = clone.given();
    let unified = match read.word("unified_rw_reporting", "none").0 {
        "mixed" | "1" => Unified::Mixed,
        "both" | "2" => Unified::Both,
        _ => Unified::No,
    };
    JobReporting {
        name: clone.name.clone(),
        group: u64::from(clone.group),
        thread: clone.thread_number,
        percentiles: percentiles(read),
        percentile_list: read.settings.get("percentile_list").map(|setting| setting.written().to_owned()),
        slat_percentiles: read.flag("slat_percentiles", false),
        clat_percentiles: read.flag("clat_percentiles", true),
        lat_percentiles: read.flag("lat_percentiles", false),
        unified,
        logs: logs(read, &clone.name),
        read_back: true,
        verify_only: clone.verify().only
            && clone.verify().method.is_some()
            && clone.access().direction != Direction::Read,
        counted: read.flag("stats", true),
        clones: Some(clone.clones),
        search: clone.latency_target(),
        steady: clone.steady().map(|steady| {
            let unit = if steady.criterion.percent { "%" } else { "" };
            let rule = format!("{}:{:.6}{unit}", steady.criterion.metric, steady.criterion.limit);
            (rule, steady.duration_us / 1_000_000)
        }),
    }
}

/// Ascending; a list that is cut at a zero, as fio reads it.
pub(crate) fn percentiles(read: Given<'_>) -> Vec<f64> {
    let given = match read.settings.get("percentile_list").map(|setting| &setting.value) {
        Some(Value::Floats(list)) => list.iter().copied().take_while(|percent| *percent > 0.0).collect(),
        _ => PERCENTILES.to_vec(),
    };
    let mut given: Vec<f64> = given;
    given.sort_by(f64::total_cmp);
    given
}

/// The logs that the options of a job ask for.
pub(crate) fn logs(read: Given<'_>, name: &str) -> Logs {
    let all = [
        ("write_bw_log", LogAbout::Bandwidth),
        ("write_iops_log", LogAbout::Iops),
        ("write_lat_log", LogAbout::Latency),
        ("write_hist_log", LogAbout::Histogram),
    ];
    let wanted = all.into_iter().filter_map(|(option, about)| {
        let prefix = read.text(option)?;
        // Of a job that is named like a device, the device's name.
        let own = || file_name(name.rsplit('/').next().unwrap_or_default());
        Some((about, if prefix.is_empty() { own() } else { prefix.to_owned() }))
    });
    Logs {
        wanted: wanted.collect(),
        average_ms: read.unsigned("log_avg_msec", 0),
        histogram_ms: read.unsigned("log_hist_msec", 0),
        coarseness: u32::try_from(read.unsigned("log_hist_coarseness", 0)).unwrap_or(0).min(6),
        offset: read.flag("log_offset", false),
        priority: read.flag("log_prio", false),
        issue_time: read.flag("log_issue_time", false),
        window: match read.word("log_window_value", "avg").0 {
            "max" | "1" => WindowValue::Largest,
            "both" => WindowValue::Both,
            _ => WindowValue::Mean,
        },
        // A sample has no room for more.
        compressed: read.flag("log_store_compressed", false)
            && !read.flag("log_issue_time", false)
            && !matches!(read.word("log_window_value", "avg").0, "both"),
        iolog: read.text("write_iolog").filter(|path| !path.is_empty()).map(str::to_owned),
        unix_epoch: read.flag("log_alternate_epoch", false),
        numbered: read.flag("per_job_logs", true),
    }
}
