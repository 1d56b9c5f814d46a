//! What ends a job besides its own limits: other jobs, that it is steady, that a latency is known.

use std::collections::BTreeSet;

use assay_workload::job::{EndsWith, Job, Limits, Phase, Rate, SteadyFigure, SteadyLimit};
use assay_workload::steps::{FindRate, LatencyFigure, Until};
use assay_workload::units::Nanos;

use super::super::resolved::{LatencyTarget, ResolvedJob};
use super::{BY_FIO, Lowering, Source, nanos};

/// A step of a search takes this long where the file does not say.
const WINDOW: Nanos = Nanos(10_000_000_000);
/// And no shorter than a reporting interval.
const WINDOW_MIN: Nanos = Nanos(1_000_000_000);

impl Lowering<'_> {
    /// `exitall`: the first clone that ends, of any job, ends the others. `stages` is how many there are.
    pub(super) fn exit_all(&mut self, clones: &[&ResolvedJob], stages: usize, jobs: &mut [Job]) {
        let file = self.file;
        let firsts = || clones.iter().filter(|clone| clone.clone_number == 0);
        let Some((job, what)) = firsts().find_map(|job| job.exit_all().map(|what| (*job, what))) else {
            return;
        };
        let source = Source { section: &file.jobs[job.section_index], job };
        let groups: BTreeSet<u32> = clones.iter().map(|clone| clone.group).collect();
        if what == "group" && groups.len() > 1 {
            let message = "the end of one job ends all that run beside it, not only those of its group";
            self.loss(source, "exitall-beside", "exitall", message, "stonewall between the groups");
        }
        if what == "all" && stages > 1 {
            let message =
                "the end of one job ends those that run beside it; jobs behind a stonewall still run";
            let help = "exit_what=stonewall says so";
            self.loss(source, "exitall-later", "exit_what", message.to_owned(), help);
        }
        jobs.iter_mut().for_each(|job| job.limits.ends_with = Some(EndsWith::First));
    }

    /// `steadystate`: ends the job once its figures lie close together.
    pub(crate) fn steady(&mut self, source: Source<'_>, job: &mut Job) {
        let Some(steady) = source.job.steady() else { return };
        let criterion = steady.criterion;
        if !criterion.percent {
            let message =
                "the limit of a steady state is per cent of the mean; without one the job runs its time";
            let help = format!("steadystate={}:5%", criterion.metric);
            return self.loss(source, "steady-unit", "steadystate", message.to_owned(), &help);
        }
        if steady.interval_us != 1_000_000 {
            let message = "a steady state is looked for at the end of each reporting interval";
            let help = "steadystate_check_interval=1";
            self.loss(source, "steady-interval", "steadystate_check_interval", message, help);
        }
        let (metric, slope) = match criterion.metric.strip_suffix("_slope") {
            Some(metric) => (metric, true),
            None => (criterion.metric, false),
        };
        job.limits.steady = Some(SteadyLimit {
            figure: match metric {
                "bw" => SteadyFigure::Bandwidth,
                "lat" => SteadyFigure::Latency,
                _ => SteadyFigure::Iops,
            },
            slope,
            percent_max: criterion.limit,
            window: nanos(steady.duration_us),
            skip: nanos(steady.ramp_us),
        });
    }

    /// `latency_target`: a phase of this job alone becomes a search for the highest rate that keeps it.
    pub(super) fn latency_target(&mut self, clones: &[&ResolvedJob], phase: &mut Phase) {
        let file = self.file;
        let mut found = clones.iter().filter(|clone| clone.clone_number == 0);
        let Some((job, target)) = found.find_map(|job| job.latency_target().map(|target| (*job, target)))
        else {
            return;
        };
        let source = Source { section: &file.jobs[job.section_index], job };
        let [only] = phase.jobs.as_mut_slice() else {
            let message = "a latency is held by one job; with others beside it the job runs without";
            let help = "stonewall, so that it runs alone";
            return self.loss(source, "latency-target-beside", "latency_target", message, help);
        };
        if only.rate != Rate::Unlimited {
            let message = "a search for a rate takes no rate; the job runs at its own";
            return self.loss(source, "latency-target-rate", "latency_target", message, "leave out rate=");
        }
        let message = "the highest rate, arriving by chance, whose latency stays below it is looked for, with iodepth as \
            the most that is outstanding; fio looks for the queue depth";
        self.loss(source, "latency-target-by-rate", "latency_target", message.to_owned(), BY_FIO);
        if target.keep_running {
            let message = "the run ends when the rate is known";
            self.loss(source, "latency-run", "latency_run", message, "a job at that rate");
        }
        // Without time_based the size is all that the search may move.
        only.limits = Limits { time: Some(window(&target)), ..only.limits };
        phase.until = Some(Until::Rate(goal(&target)));
    }
}

fn window(target: &LatencyTarget) -> Nanos {
    if target.window_us == 0 { WINDOW } else { nanos(target.window_us).max(WINDOW_MIN) }
}

fn goal(target: &LatencyTarget) -> FindRate {
    let figure = LatencyFigure::Quantile((target.percentile / 100.0).min(1.0));
    FindRate { limits_together: true, ..FindRate::new(figure, nanos(target.target_us).0) }
}
