//! The rows of vdbench's reports: what was done in a period, or on average.

use assay_results::run::{JobResult, LatencySummary, OpResult, PhaseResult};
use assay_results::{Interval, LatencyHistogram, OpCounts, Run};
use assay_workload::operation::Counted;
use assay_workload::pattern::OpKind;
use assay_workload::plan::PlannedJob;

use super::Reported;
use assay_results::foreign::Moment;
use assay_results::foreign::{planned_of, reported_phases};

/// Number, mean, spread and maximum of latencies: what adds up without their distribution.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Moments {
    n: f64,
    mean_ns: f64,
    /// Sum of the squared distances from the mean.
    squares: f64,
    max_ns: u64,
}

impl Moments {
    fn new(n: u64, mean_ns: f64, stddev_ns: f64, max_ns: u64) -> Self {
        let n = n as f64;
        Moments { n, mean_ns, squares: (n - 1.0).max(0.0) * stddev_ns.powi(2), max_ns }
    }

    fn of(histogram: &LatencyHistogram) -> Self {
        Moments::new(histogram.n(), histogram.mean_ns(), histogram.stddev_ns(), histogram.max_ns())
    }

    fn of_summary(summary: &LatencySummary) -> Self {
        Moments::new(summary.n, summary.mean, summary.stddev, summary.max)
    }

    fn plus(self, other: Moments) -> Self {
        let n = self.n + other.n;
        if n == 0.0 {
            return Moments::default();
        }
        let apart = other.mean_ns - self.mean_ns;
        Moments {
            n,
            mean_ns: self.mean_ns + apart * other.n / n,
            squares: self.squares + other.squares + apart.powi(2) * self.n * other.n / n,
            max_ns: self.max_ns.max(other.max_ns),
        }
    }

    /// Without those of `part`, which are among them.
    fn minus(self, part: Moments) -> Self {
        let n = self.n - part.n;
        if n < 1.0 {
            return Moments::default();
        }
        let mean_ns = ((self.mean_ns * self.n - part.mean_ns * part.n) / n).max(0.0);
        let apart = mean_ns - part.mean_ns;
        let squares = self.squares - part.squares - apart.powi(2) * part.n * n / self.n;
        Moments { n, mean_ns, squares: squares.max(0.0), max_ns: self.max_ns }
    }

    pub(super) fn mean_ms(self) -> f64 {
        self.mean_ns / 1e6
    }

    pub(super) fn max_ms(self) -> f64 {
        self.max_ns as f64 / 1e6
    }

    pub(super) fn stddev_ms(self) -> f64 {
        if self.n < 2.0 { 0.0 } else { (self.squares / (self.n - 1.0)).sqrt() / 1e6 }
    }
}

/// Reads or writes.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Side {
    pub(super) per_s: f64,
    pub(super) bytes_per_s: f64,
    pub(super) response: Moments,
}

impl Side {
    fn of_counts(counts: &OpCounts, seconds: f64) -> Self {
        Side {
            per_s: counts.ios as f64 / seconds,
            bytes_per_s: counts.bytes as f64 / seconds,
            response: Moments::of(&counts.completion),
        }
    }

    fn of_result(op: &OpResult) -> Self {
        Side { per_s: op.iops, bytes_per_s: op.bytes_per_s, response: Moments::of_summary(&op.completion_ns) }
    }

    /// Over a time of which this was a share.
    fn times(self, share: f64) -> Self {
        Side { per_s: self.per_s * share, bytes_per_s: self.bytes_per_s * share, ..self }
    }

    pub(super) fn plus(self, other: Side) -> Self {
        Side {
            per_s: self.per_s + other.per_s,
            bytes_per_s: self.bytes_per_s + other.bytes_per_s,
            response: self.response.plus(other.response),
        }
    }
}

/// One row.
#[derive(Debug, Clone)]
pub(super) struct Row {
    pub(super) end: Moment,
    /// `1`, or `avg_2-8`.
    pub(super) label: String,
    pub(super) read: Side,
    pub(super) write: Side,
    /// What else was asked for: operations on files and directories.
    pub(super) other: Side,
    /// Time-weighted mean of outstanding I/Os.
    pub(super) queue_depth: f64,
    /// Share of all processors' time in which they worked, and in which the kernel did, as far as the job's own
    /// threads tell; `None`: not known.
    pub(super) cpu: Option<(f64, f64)>,
}

impl Row {
    pub(super) fn total(&self) -> Side {
        self.transfers().plus(self.other)
    }

    fn transfers(&self) -> Side {
        self.read.plus(self.write)
    }

    pub(super) fn read_percent(&self) -> f64 {
        let total = self.transfers().per_s;
        if total > 0.0 { 100.0 * self.read.per_s / total } else { 0.0 }
    }

    /// Mean bytes of an I/O.
    pub(super) fn bytes_per_io(&self) -> f64 {
        let total = self.transfers();
        if total.per_s > 0.0 { total.bytes_per_s / total.per_s } else { 0.0 }
    }
}

/// A phase as a run definition.
#[derive(Debug, Clone)]
pub(super) struct Definition<'r> {
    pub(super) name: String,
    /// The point of a sweep; `None` where there is none.
    pub(super) loops: String,
    pub(super) phase: &'r PhaseResult,
    pub(super) planned: Vec<&'r PlannedJob>,
    pub(super) start: Moment,
    pub(super) ramp_s: f64,
    /// Whether the file says so.
    pub(super) ramp_said: bool,
    pub(super) rows: Vec<Row>,
    pub(super) average: Row,
}

impl Definition<'_> {
    /// I/Os a second asked for; `None`: as many as possible.
    pub(super) fn rate(&self) -> Option<f64> {
        if self.planned.is_empty() { None } else { self.planned.iter().map(|job| job.offered_iops()).sum() }
    }
}

/// The phases that measure.
pub(super) fn definitions<'r>(run: &'r Run, intervals: &[Interval], how: Reported) -> Vec<Definition<'r>> {
    let together = merged(intervals, how.interval_s.saturating_mul(1_000_000_000));
    let intervals = if how.interval_s > 0 { &together[..] } else { intervals };
    let mut start = Moment::parse(&run.started);
    let mut list = Vec::new();
    for phase in reported_phases(run) {
        let planned: Vec<&PlannedJob> =
            phase.jobs.iter().flat_map(|job| planned_of(run, phase, job).1).collect();
        let ramp_s = planned.iter().map(|job| job.ramp.as_secs_f64()).fold(0.0, f64::max);
        let end = start.plus_seconds(ramp_s + phase.measured_s);
        let known = phase.evidence.cpu_busy_share;
        let own = known.is_none().then(|| own_busy(run, phase)).flatten();
        let (rows, measured) = rows(phase, start, intervals, own);
        let label = match measured {
            Some((first, last)) => format!("avg_{first}-{last}"),
            None => "avg_1-1".to_owned(),
        };
        list.push(Definition {
            name: one_word(&phase.name),
            loops: phase.point.as_option().map_or_else(|| "None".to_owned(), super::escaped),
            average: average(phase, end, label, known.or(own)),
            phase,
            planned,
            start,
            ramp_s,
            ramp_said: !how.first_left_out,
            rows,
        });
        start = end;
    }
    list
}

/// The periods of each job put together to `length_ns`, counted from its first one; those of a ramp by themselves.
fn merged(intervals: &[Interval], length_ns: u64) -> Vec<Interval> {
    if length_ns == 0 {
        return Vec::new();
    }
    let mut sorted: Vec<&Interval> = intervals.iter().filter(|one| one.key.length_ns > 0).collect();
    sorted.sort_by_key(|one| (one.key.phase, one.key.job, one.key.start_ns));
    let mut all: Vec<Interval> = Vec::new();
    let mut at: Option<(u32, u32, u64, bool)> = None;
    let mut origin_ns = 0;
    for one in sorted {
        let key = one.key;
        if at.is_none_or(|(phase, job, ..)| (phase, job) != (key.phase, key.job)) {
            origin_ns = key.start_ns;
        }
        // By its middle: ends of periods scatter by what a thread comes late.
        let middle_ns = key.start_ns.saturating_sub(origin_ns) + key.length_ns / 2;
        let place = Some((key.phase, key.job, middle_ns / length_ns, key.ramp));
        match all.last_mut().filter(|_| at == place) {
            Some(last) => last.merge(one),
            None => all.push(one.clone()),
        }
        at = place;
    }
    all
}

/// A name that is one column.
fn one_word(name: &str) -> String {
    let word: String = name
        .chars()
        .map(|c| if c.is_whitespace() || c.is_control() || ",;&<>".contains(c) { '_' } else { c })
        .collect();
    if word.is_empty() { "run".to_owned() } else { word }
}

/// What all jobs did in one reporting period.
#[derive(Debug, Clone, Copy)]
struct Period {
    start_ns: u64,
    length_ns: u64,
    ramp: bool,
    read: Side,
    write: Side,
    other: Side,
    busy_slot_ns: u64,
}

impl Period {
    fn of(interval: &Interval) -> Self {
        let key = interval.key;
        let seconds = key.length_ns as f64 / 1e9;
        let side = |kind: OpKind| Side::of_counts(interval.counts.op(kind), seconds);
        let named = interval.counts.named.iter().filter(|named| named.counted == Counted::InTotal);
        let named = named.map(|named| &named.counts);
        Period {
            start_ns: key.start_ns,
            length_ns: key.length_ns,
            ramp: key.ramp,
            read: side(OpKind::Read),
            write: side(OpKind::Write).plus(side(OpKind::Trim)),
            other: named.map(|counts| Side::of_counts(counts, seconds)).fold(Side::default(), Side::plus),
            busy_slot_ns: interval.counts.busy_slot_ns,
        }
    }

    /// Whether another job's period is the same one.
    fn is_with(&self, other: &Period) -> bool {
        other.start_ns.abs_diff(self.start_ns) < self.length_ns.min(other.length_ns) / 2
    }
}

/// The rows of the periods, ramp included, and the numbers of the first and the last that were measured. A period that
/// is cut short to less than a tenth is left out.
/// `own`: the share of the processors' time that the jobs used, where nothing else is known.
fn rows(
    phase: &PhaseResult,
    start: Moment,
    intervals: &[Interval],
    own: Option<f64>,
) -> (Vec<Row>, Option<(usize, usize)>) {
    let jobs: Vec<u32> = phase.jobs.iter().flat_map(|job| job.evidence.plan_jobs.iter().copied()).collect();
    let mine = |interval: &&Interval| {
        let key = interval.key;
        key.phase == phase.plan_phase && jobs.contains(&key.job) && key.length_ns > 0
    };
    let mut parts: Vec<Period> = intervals.iter().filter(mine).map(Period::of).collect();
    parts.sort_by_key(|period| period.start_ns);
    let mut periods: Vec<Period> = Vec::new();
    for part in parts {
        match periods.last_mut().filter(|last| last.is_with(&part)) {
            Some(last) => {
                last.read = last.read.plus(part.read);
                last.write = last.write.plus(part.write);
                last.other = last.other.plus(part.other);
                last.busy_slot_ns = last.busy_slot_ns.saturating_add(part.busy_slot_ns);
                last.ramp &= part.ramp;
            }
            None => periods.push(part),
        }
    }
    let longest = periods.iter().map(|period| period.length_ns).max().unwrap_or(0);
    periods.retain(|period| period.length_ns >= longest / 10);
    let numbers = periods.iter().zip(1..).filter(|(period, _)| !period.ramp).map(|(_, number)| number);
    let measured = numbers.clone().min().zip(numbers.max());
    let row = |(period, number): (&Period, usize)| {
        let end_ns = period.start_ns.saturating_add(period.length_ns);
        let middle_s = (period.start_ns as f64 + period.length_ns as f64 / 2.0) / 1e9;
        Row {
            end: start.plus_seconds(end_ns as f64 / 1e9),
            label: number.to_string(),
            read: period.read,
            write: period.write,
            other: period.other,
            queue_depth: period.busy_slot_ns as f64 / period.length_ns as f64,
            cpu: busy_at(phase, middle_s).or(own).map(|busy| (busy, busy * kernel_share(&phase.jobs))),
        }
    };
    (periods.iter().zip(1..).map(row).collect(), measured)
}

fn average(phase: &PhaseResult, end: Moment, label: String, busy: Option<f64>) -> Row {
    let span_ns = span_ns(phase);
    let share = |job: &JobResult| share_of_time(job, span_ns);
    let sum = |of: fn(&JobResult) -> &Option<OpResult>| {
        let sides =
            phase.jobs.iter().filter_map(|job| Some(Side::of_result(of(job).as_ref()?).times(share(job))));
        sides.fold(Side::default(), Side::plus)
    };
    let (read, write) = (sum(|job| &job.read), sum(|job| &job.write).plus(sum(|job| &job.trim)));
    let transfers = read.plus(write);
    let totals = phase.jobs.iter().map(|job| Side::of_result(&job.total).times(share(job)));
    let all = totals.fold(Side::default(), Side::plus);
    Row {
        end,
        label,
        read,
        write,
        other: Side {
            per_s: (all.per_s - transfers.per_s).max(0.0),
            bytes_per_s: (all.bytes_per_s - transfers.bytes_per_s).max(0.0),
            response: all.response.minus(transfers.response),
        },
        queue_depth: phase.jobs.iter().map(|job| job.outstanding_io_mean * share(job)).sum(),
        cpu: busy.map(|busy| (busy, busy * kernel_share(&phase.jobs))),
    }
}

/// From the start of the first job's measured part to the end of the last one's; 0 where that is not known of all.
fn span_ns(phase: &PhaseResult) -> u64 {
    let parts = || phase.jobs.iter().map(|job| &job.evidence);
    if parts().any(|evidence| evidence.measured_ns == 0) {
        return 0;
    }
    let start = parts().map(|evidence| evidence.measured_start_ns).min().unwrap_or(0);
    let end = parts().map(|evidence| evidence.measured_start_ns.saturating_add(evidence.measured_ns)).max();
    end.unwrap_or(0).saturating_sub(start)
}

/// The share of the phase in which a job was measured: a rate that held for half of it is half a rate of the whole.
fn share_of_time(job: &JobResult, span_ns: u64) -> f64 {
    if span_ns == 0 { 1.0 } else { job.evidence.measured_ns as f64 / span_ns as f64 }
}

/// Share of all processors' time that the threads of the jobs used; of a phase that was over before the counters of the system were
/// read a second time. `None`: not known.
fn own_busy(run: &Run, phase: &PhaseResult) -> Option<f64> {
    let processors: u32 = run.environments().filter_map(|host| host.machine.cpu.online).sum();
    let used = |job: &JobResult| job.evidence.cpu_user_ns.saturating_add(job.evidence.cpu_system_ns);
    let used_ns = phase.jobs.iter().map(used).fold(0, u64::saturating_add);
    let time_ns = phase.measured_s * 1e9 * f64::from(processors);
    (used_ns > 0 && time_ns > 0.0).then(|| (used_ns as f64 / time_ns).min(1.0))
}

/// Share of all processors' time in which they worked around a second of the phase.
fn busy_at(phase: &PhaseResult, at_s: f64) -> Option<f64> {
    let seconds = &phase.evidence.seconds;
    let found =
        seconds.iter().find(|second| (second.start_s..second.start_s + second.length_s).contains(&at_s));
    found?.cpu_busy_share
}

/// Share of the kernel in the processor time of the jobs' threads; not a number where it is not known.
fn kernel_share(jobs: &[JobResult]) -> f64 {
    let sum = |of: fn(&JobResult) -> u64| jobs.iter().map(of).fold(0, u64::saturating_add) as f64;
    let (user, kernel) = (sum(|job| job.evidence.cpu_user_ns), sum(|job| job.evidence.cpu_system_ns));
    if user + kernel > 0.0 { kernel / (user + kernel) } else { f64::NAN }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_add_up_as_their_values() {
        let of = |values: &[u64]| {
            let mut histogram = LatencyHistogram::new();
            values.iter().for_each(|value| histogram.record(*value));
            Moments::of(&histogram)
        };
        let (a, b) = ([100, 110, 120], [200, 210, 250, 90]);
        let (sum, whole) = (of(&a).plus(of(&b)), of(&[a.as_slice(), &b].concat()));
        assert!((sum.mean_ns - whole.mean_ns).abs() < 1e-9);
        assert!((sum.stddev_ms() - whole.stddev_ms()).abs() < 1e-12);
        assert_eq!((sum.max_ns, sum.n), (250, 7.0));
        assert_eq!(Moments::default().plus(Moments::default()), Moments::default());
        assert_eq!(Moments::default().plus(of(&a)), of(&a));
    }

    #[test]
    fn a_name_is_one_column() {
        assert_eq!(one_word("1 file, seq\t1M"), "1_file__seq_1M");
        assert_eq!(one_word(""), "run");
    }
}
