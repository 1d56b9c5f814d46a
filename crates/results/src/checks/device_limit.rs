//! Limits of the control group on the devices of a job, for `throttled`: which of them were reached, and what they did to the figure.
//!
//! A limit is known from readings of the counters, and may change between two of them. What the intervals did tells the rest: one far above
//! a limit was not held back by it.

use super::draft::{iops_high, iops_low, percent};
use super::subject::{Subject, on_storage};
use crate::evidence::LimitInForce;
use crate::run::{Effect, Finding, FindingSeverity, OpResult, Run, SeriesPoint};
use crate::stats::median;

/// That of `throttled`.
pub(super) const ID: &str = "throttled";

/// This near to a limit is at the limit.
const AT_LIMIT: f64 = 0.9;
/// Further above a limit, it was not this job that it held back, or not all the time.
const ABOVE_LIMIT: f64 = 1.25;
/// An interval this near to a limit was held back by it.
const HELD_SHARE: f64 = 0.05;
/// Intervals that show that a limit was reached, where readings do not say when it held.
const HELD_MIN: usize = 2;
/// Share of the intervals without a limit that may be faster than what they all might have done.
const FASTER: f64 = 0.9;
/// Intervals over which a limit lets a job catch up with what it did not do before.
const CAUGHT_UP_WITHIN: usize = 4;
const NAMES: [&str; 4] =
    ["bytes read a second", "bytes written a second", "reads a second", "writes a second"];
const ADVICE: &str = "lift the limit (io.max, blkio.throttle), or report the figure as that of the limit";

/// The limits that a job met while it was measured.
struct Limits<'s, 'r> {
    subject: &'s Subject<'r>,
    held: Vec<LimitInForce>,
    /// Length of the phase, seconds.
    span_s: f64,
    /// Time between two readings of the counters, seconds.
    reading_s: f64,
    /// What each operation of the job moves: bytes read, bytes written, reads and writes, as shares of all bytes and all operations.
    shares: [f64; 4],
}

/// A limit that was reached.
#[derive(Clone, Copy)]
struct Reached<'h> {
    held: &'h LimitInForce,
    name: &'static str,
    most: u64,
    rate: f64,
}

/// Limits of the control group on a device of the job that were reached while they held.
pub(super) fn device_limit(subject: &Subject<'_>) -> Option<Finding> {
    let limits = Limits::of(subject)?;
    match limits.all_along() {
        Some(reached) => Some(limits.always(reached)),
        None => limits.in_part(),
    }
}

/// Limits that were in force for a time that the readings do not tell: the figure is above them, and nothing shows by how much they lowered it.
pub(super) fn of_unknown_effect(run: &Run) -> Vec<Finding> {
    let of = |subject: &Subject<'_>| Limits::of(subject)?.exceeded();
    on_storage(run)
        .filter(|subject| device_limit(subject).is_none())
        .filter_map(|subject| of(&subject))
        .collect()
}

/// Whether limits on devices changed during the phase.
pub(super) fn set_meanwhile(subject: &Subject<'_>) -> bool {
    subject.phase.evidence.device_limits.iter().any(|held| held.start_s > 0.0)
}

fn most_of(held: &LimitInForce) -> [Option<u64>; 4] {
    let limit = &held.limit;
    [limit.read_bytes_per_s, limit.write_bytes_per_s, limit.read_iops, limit.write_iops]
}

impl<'s, 'r> Limits<'s, 'r> {
    fn of(subject: &'s Subject<'r>) -> Option<Self> {
        let numbers: Vec<String> =
            subject.devices().iter().filter_map(|device| device.number.clone()).collect();
        let evidence = &subject.phase.evidence;
        let span_s = evidence.span_ns as f64 / 1e9;
        // Of a run that did not read them meanwhile, those of its start.
        let in_force = &evidence.device_limits;
        let at_start = subject.run.environment.cgroup.devices.iter().filter(|_| in_force.is_empty());
        let at_start =
            at_start.map(|limit| LimitInForce { limit: limit.clone(), start_s: 0.0, end_s: span_s });
        let held = in_force.iter().cloned().chain(at_start);
        let held: Vec<LimitInForce> = held.filter(|held| numbers.contains(&held.limit.device)).collect();
        let lengths: Vec<f64> = evidence.seconds.iter().map(|reading| reading.length_s).collect();
        let total = &subject.job.total;
        let of = |op: Option<&OpResult>| {
            op.map_or((0.0, 0.0), |op| {
                (op.bytes as f64 / total.bytes.max(1) as f64, op.ios as f64 / total.ios.max(1) as f64)
            })
        };
        let (read, write) = (of(subject.job.read.as_ref()), of(subject.job.write.as_ref()));
        let reading_s = median(&lengths).unwrap_or(0.0);
        let known = subject.alone() && !held.is_empty();
        known.then_some(Limits {
            subject,
            held,
            span_s,
            reading_s,
            shares: [read.0, write.0, read.1, write.1],
        })
    }

    /// The one limit that held all the time, where it was reached.
    fn all_along(&self) -> Option<Reached<'_>> {
        let [held] = self.held.as_slice() else { return None };
        if held.start_s > 0.0 || held.end_s < self.span_s {
            return None;
        }
        let own = self.own_per_s();
        let places = moved_per_s(self.subject)?.into_iter().zip(own).zip(most_of(held)).zip(NAMES);
        places.into_iter().find_map(|(((rate, own), most), name)| {
            let (rate, most) = (rate?, most?);
            let above = self.subject.job.direct && own > ABOVE_LIMIT * most as f64;
            let reached = rate >= AT_LIMIT * most as f64 && !above;
            reached.then_some(Reached { held, name, most, rate })
        })
    }

    /// What the job did a second: bytes read, bytes written, reads and writes.
    fn own_per_s(&self) -> [f64; 4] {
        let total = &self.subject.job.total;
        self.rates(total.bytes_per_s, total.iops)
    }

    fn rates(&self, bytes_per_s: f64, iops: f64) -> [f64; 4] {
        let [read, written, reads, writes] = self.shares;
        [bytes_per_s * read, bytes_per_s * written, iops * reads, iops * writes]
    }

    /// The shares of a limit that a rate is, for each that is limited.
    fn of_limit(&self, held: &LimitInForce, bytes_per_s: f64, iops: f64) -> [Option<f64>; 4] {
        let mut shares = [None; 4];
        for ((share, rate), most) in shares.iter_mut().zip(self.rates(bytes_per_s, iops)).zip(most_of(held)) {
            *share = most.map(|most| rate / (most as f64).max(1.0));
        }
        shares
    }

    fn of_point(&self, held: &LimitInForce, point: &SeriesPoint) -> [Option<f64>; 4] {
        self.of_limit(held, point.bytes_per_s, point.iops)
    }

    /// The limits that were reached while they held, of a job past the page cache.
    fn reached(&self) -> Vec<Reached<'_>> {
        let direct = self.subject.job.direct;
        self.held.iter().filter(|_| direct).filter_map(|held| self.reached_of(held)).collect()
    }

    fn reached_of<'h>(&'h self, held: &'h LimitInForce) -> Option<Reached<'h>> {
        // One that came and went is looked at as one.
        let alike: Vec<&LimitInForce> = self.held.iter().filter(|other| other.limit == held.limit).collect();
        let of_any = |in_force: &dyn Fn(&LimitInForce, &SeriesPoint) -> bool| -> Vec<&SeriesPoint> {
            self.points().filter(|point| alike.iter().any(|held| in_force(held, point))).collect()
        };
        let within = of_any(&|held, point| self.within(held, point));
        let near = of_any(&|held, point| self.near(held, point));
        let (bytes_per_s, iops) =
            (mean(&within, |point| point.bytes_per_s), mean(&within, |point| point.iops));
        let at_mean = bytes_per_s.zip(iops).map(|(bytes, iops)| self.of_limit(held, bytes, iops));
        (0..NAMES.len()).find_map(|at| {
            let most = most_of(held)[at]?;
            let reached = Reached { held, name: NAMES[at], most, rate: most as f64 };
            if let Some(share) = at_mean.and_then(|shares| shares[at])
                && (AT_LIMIT..=ABOVE_LIMIT).contains(&share)
            {
                return Some(Reached { rate: share * most as f64, ..reached });
            }
            let exact = |point: &&&SeriesPoint| {
                self.of_point(held, point)[at].is_some_and(|share| (share - 1.0).abs() <= HELD_SHARE)
            };
            // Where readings say when it held, that time; it may be too short for a whole interval.
            let looked = if within.len() < HELD_MIN { &near } else { &within };
            (looked.iter().filter(exact).count() >= HELD_MIN).then_some(reached)
        })
    }

    fn points(&self) -> impl Iterator<Item = &SeriesPoint> {
        self.subject.job.series.iter()
    }

    /// Start and end of an interval, seconds from the first reading of the phase.
    fn place(&self, point: &SeriesPoint) -> (f64, f64) {
        let start_s = self.subject.job.evidence.measured_start_ns as f64 / 1e9 + point.start_s;
        (start_s, start_s + point.length_s)
    }

    /// Whether a limit held in all of an interval, by the readings.
    fn within(&self, held: &LimitInForce, point: &SeriesPoint) -> bool {
        let (start_s, end_s) = self.place(point);
        let edge_s = 0.1 * point.length_s;
        start_s >= held.start_s - edge_s && end_s <= held.end_s + edge_s
    }

    /// Whether it may have held in a part of it: up to the reading before, and from the one behind.
    fn near(&self, held: &LimitInForce, point: &SeriesPoint) -> bool {
        let (start_s, end_s) = self.place(point);
        start_s < held.end_s + self.reading_s && end_s > held.start_s - self.reading_s
    }

    /// Whether no limit held an interval back: none was near, or it is far above all that were.
    fn free(&self, point: &SeriesPoint) -> bool {
        self.held.iter().filter(|held| self.near(held, point)).all(|held| self.above(held, point))
    }

    /// Whether an interval is far above a limit, also together with those before it: what was not done in them is caught up with.
    fn above(&self, held: &LimitInForce, point: &SeriesPoint) -> bool {
        let before = |other: &&SeriesPoint| other.start_s <= point.start_s;
        let all: Vec<&SeriesPoint> = self.points().filter(before).collect();
        let last = &all[all.len().saturating_sub(CAUGHT_UP_WITHIN)..];
        let means = mean(last, |point| point.bytes_per_s).zip(mean(last, |point| point.iops));
        let together = means.map_or([None; 4], |(bytes, iops)| self.of_limit(held, bytes, iops));
        let alone = self.of_point(held, point);
        alone.into_iter().zip(together).any(|shares| {
            matches!(shares, (Some(alone), Some(together)) if alone > ABOVE_LIMIT && together > ABOVE_LIMIT)
        })
    }

    /// What the intervals that no limit held back do.
    fn faster(&self) -> Option<f64> {
        let mut free: Vec<f64> =
            self.points().filter(|point| self.free(point)).map(|point| point.iops).collect();
        free.sort_by(f64::total_cmp);
        let at = (free.len() as f64 * FASTER) as usize;
        free.get(at.min(free.len().saturating_sub(1))).copied()
    }

    /// Share of the time in which a limit like this one was in force, by the readings that showed it.
    fn share_in_force(&self, of: &LimitInForce) -> f64 {
        let alike = self.held.iter().filter(|held| held.limit == of.limit);
        let shown_s: f64 = alike.map(|held| held.end_s - held.start_s + self.reading_s).sum();
        (shown_s / (self.span_s + self.reading_s).max(f64::MIN_POSITIVE)).min(1.0)
    }

    fn always(&self, reached: Reached<'_>) -> Finding {
        let Reached { held, name, most, rate } = reached;
        let message =
            format!("the control group's limit of {most} {name} on {} was reached", held.limit.device);
        self.subject
            .draft(ID, FindingSeverity::Warning, message)
            .bias("the figure is that of the limit; the storage may do more")
            .evidence("limit_per_s", most)
            .evidence("reached_per_s", rate)
            .advise(ADVICE)
    }

    /// Limits that held for a part of the time, or one behind another.
    fn in_part(&self) -> Option<Finding> {
        let reached = self.reached();
        let last = *reached.last()?;
        let mut named: Vec<Reached<'_>> = Vec::new();
        for one in &reached {
            if !named.iter().any(|known| (known.name, known.most) == (one.name, one.most)) {
                named.push(*one);
            }
        }
        let words: Vec<String> = named
            .iter()
            .map(|one| {
                let times =
                    reached.iter().filter(|other| (other.name, other.most) == (one.name, one.most)).count();
                format!(
                    "{} {} on {}, in force {}",
                    one.most,
                    one.name,
                    one.held.limit.device,
                    self.when(one, times)
                )
            })
            .collect();
        let message = match words.as_slice() {
            [one] => format!("the control group's limit of {one}, was reached"),
            several => format!("the control group's limits were reached: {}", several.join("; ")),
        };
        let (bias, effect) = self.effect(&last);
        let finding = self
            .subject
            .draft(ID, FindingSeverity::Warning, message)
            .bias(bias)
            .effect(effect)
            .evidence("limit_per_s", last.most)
            .evidence("reached_per_s", last.rate)
            .evidence("limits_per_s", named.iter().map(|one| one.most).collect::<Vec<u64>>())
            .evidence("in_force_from_s", named.first().map(|one| one.held.start_s))
            .evidence("in_force_to_s", last.held.end_s)
            .evidence("in_force_share", self.share_in_force(last.held))
            .advise(ADVICE);
        Some(finding)
    }

    /// When a limit was in force.
    fn when(&self, one: &Reached<'_>, times: usize) -> String {
        let (from, to) = (one.held.start_s, one.held.end_s);
        let off = self.points().any(|point| self.within(one.held, point) && self.above(one.held, point));
        if times > 1 || off {
            return format!("in {} of the readings", percent(self.share_in_force(one.held)));
        }
        let decimals = usize::from(to - from < 2.0);
        format!("from {from:.decimals$} s to {to:.decimals$} s")
    }

    /// Without the limits all intervals would be as the faster ones that no limit held back; of a limit that still held at the end, what
    /// lasts is what it left.
    fn effect(&self, last: &Reached<'_>) -> (String, Option<Effect>) {
        let figure = self.subject.mean_iops();
        let Some(faster) = self.faster() else {
            return (
                "IOPS low without bound: the figure is that of the limits".to_owned(),
                Effect::low(Effect::UNBOUNDED),
            );
        };
        let within: Vec<&SeriesPoint> = self.points().filter(|point| self.within(last.held, point)).collect();
        let lasting =
            last.held.end_s >= self.span_s && !within.iter().any(|point| self.above(last.held, point));
        let high = match mean(&within, |point| point.iops).filter(|_| lasting) {
            Some(after) => (figure / after.max(f64::MIN_POSITIVE) - 1.0).max(0.0),
            None => 0.0,
        };
        let effect = Effect::between(1.0 - faster / figure, high);
        let low =
            format!("{} against the faster intervals", iops_low(effect.map_or(0.0, |effect| -effect.low)));
        let words = if high > 0.0 { format!("{low}; {} against what lasts", iops_high(high)) } else { low };
        (words, effect)
    }

    /// A limit that was in force in some readings, and that the job was above in the time between them.
    fn exceeded(&self) -> Option<Finding> {
        if !self.subject.job.direct {
            return None;
        }
        let above = |held| {
            let points: Vec<&SeriesPoint> = self.points().filter(|point| self.near(held, point)).collect();
            let rates = mean(&points, |point| point.bytes_per_s).zip(mean(&points, |point| point.iops));
            let (bytes_per_s, iops) = rates?;
            let shares = self.of_limit(held, bytes_per_s, iops);
            let at = shares.iter().position(|share| share.is_some_and(|share| share > ABOVE_LIMIT))?;
            Some((held, at, most_of(held)[at]?))
        };
        let (held, at, most) = self.held.iter().find_map(above)?;
        let share = self.share_in_force(held);
        let message = format!(
            "a limit of the control group of {most} {} on {} was in force in {} of the readings, and the job was above it in between",
            NAMES[at],
            held.limit.device,
            percent(share)
        );
        let finding = self
            .subject
            .draft(ID, FindingSeverity::Warning, message)
            .bias(
                "IOPS low, effect unknown: how long the limit was in force between the readings is not known",
            )
            .evidence("limit_per_s", most)
            .evidence("in_force_from_s", held.start_s)
            .evidence("in_force_to_s", held.end_s)
            .evidence("in_force_share", share)
            .advise(ADVICE);
        Some(finding)
    }
}

/// The mean of a rate over intervals, by their length; `None` without any.
fn mean(points: &[&SeriesPoint], field: fn(&SeriesPoint) -> f64) -> Option<f64> {
    let time_s: f64 = points.iter().map(|point| point.length_s).sum();
    let sum: f64 = points.iter().map(|point| field(point) * point.length_s).sum();
    (time_s > 0.0).then_some(sum / time_s)
}

/// Bytes read, bytes written, reads and writes a second: at the devices where they say it, else those of a job past the
/// page cache, whose every I/O is at least a request to the upper device.
fn moved_per_s(subject: &Subject<'_>) -> Option<[Option<f64>; 4]> {
    let truth = subject.truth()?;
    let per_s =
        |count: Option<u64>| count.map(|count| count as f64 / (subject.phase.evidence.span_ns as f64 / 1e9));
    let at_devices =
        [truth.device_read_bytes, truth.device_written_bytes, truth.device_reads, truth.device_writes]
            .map(per_s);
    if at_devices.iter().any(Option::is_some) || !subject.job.direct {
        return Some(at_devices);
    }
    let (read, write) = (subject.job.read.as_ref(), subject.job.write.as_ref());
    let bytes = |op: Option<&OpResult>| op.map(|op| op.bytes);
    let ios = |op: Option<&OpResult>| op.map(|op| op.ios);
    Some([bytes(read), bytes(write), ios(read), ios(write)].map(per_s))
}

#[cfg(test)]
#[path = "device_limit/tests.rs"]
mod tests;
