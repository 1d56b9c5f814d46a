//! How fast, with which pauses, and how long.

use assay_workload::job::{Arrival, Flow, Job, OperationRates, Rate, ThinkTime};
use assay_workload::pattern::Placement;

use super::super::resolved::*;
use super::super::value::Size;
use super::{Lowering, Source, nanos};

/// The rate of one direction of one clone.
#[derive(Clone, Copy, PartialEq)]
enum Limit {
    /// I/Os per second.
    Ios(f64),
    /// Bytes per second.
    Bytes(f64),
}

/// The limit of a direction.
///
/// Where sizes vary, fio counts a rate in smallest blocks. Even arrivals then keep the bytes that this means; Poisson
/// arrivals keep the I/Os, whatever their sizes are.
fn limit(job: &ResolvedJob, slot: usize) -> Option<Limit> {
    let sizes = &job.access().sizes[slot];
    let smallest = sizes.min_bytes() as f64;
    let (ios, bytes) = match (job.pacing().rate_bytes_per_s[slot], job.pacing().rate_iops[slot]) {
        (Some(bytes), _) => (bytes as f64 / smallest.max(1.0), bytes as f64),
        (None, ios) => (ios? as f64, ios? as f64 * smallest),
    };
    let by_bytes = job.pacing().rate_bytes_per_s[slot].is_some() || !matches!(sizes, BlockSizes::Fixed(_));
    // Below one block a second fio has no Poisson arrivals to be faithful to.
    let by_bytes = by_bytes && !(job.pacing().poisson && ios >= 1.0);
    Some(if by_bytes { Limit::Bytes(bytes) } else { Limit::Ios(ios) })
}

/// I/Os per second that a limit means, at the mean block size.
fn ios_per_s(job: &ResolvedJob, slot: usize) -> Option<f64> {
    let mean = match &job.access().sizes[slot] {
        BlockSizes::Fixed(bytes) => *bytes as f64,
        BlockSizes::Range { min, max } => (*min + *max) as f64 / 2.0,
        BlockSizes::Split(parts) => {
            parts.iter().map(|part| part.bytes as f64 * f64::from(part.percent)).sum::<f64>() / 100.0
        }
    };
    limit(job, slot).map(|limit| match limit {
        Limit::Ios(ios) => ios,
        Limit::Bytes(bytes) => bytes / mean,
    })
}

impl Lowering<'_> {
    pub(crate) fn pace(&mut self, source: Source<'_>, job: &mut Job) {
        let resolved = source.job;
        job.rate = self.rate(source);
        job.arrival = if resolved.pacing().poisson { Arrival::Poisson } else { Arrival::Deterministic };
        let pacing = resolved.pacing();
        if pacing.think_us > 0 {
            job.think_time = Some(ThinkTime {
                time: nanos(pacing.think_us),
                every_ios: u32::try_from(pacing.think_blocks).unwrap_or(u32::MAX),
            });
            if pacing.is_limited() && !pacing.ignore_think_time {
                let message = "arrivals of a rate do not wait for pauses";
                self.loss(source, "rate-with-thinktime", "thinktime", message, "a lower rate");
            }
        }
        job.flow = pacing.flow.map(|(weight, id, pause_us)| Flow { id, weight, pause: nanos(pause_us) });
        let (low, high) = resolved.lifetime().start_delay_us;
        if high > low {
            let message = "the job starts after the shorter delay, not a random one";
            self.loss(source, "random-start-delay", "startdelay", message, "startdelay=<seconds>");
        }
        job.start_delay = nanos(low);
        // fio counts it from the start of the run.
        job.delay_from_run = low > 0 && resolved.stage > 0;
        job.ramp = nanos(resolved.lifetime().ramp_us);
    }

    /// The rate of one clone: of each direction on its own where there are two.
    fn rate(&mut self, source: Source<'_>) -> Rate {
        let job = source.job;
        match (job.access().direction, job.access().direction.slots()) {
            (Direction::TrimWrite, slots) => self.rate_of_trimwrite(source, slots),
            (_, [slot]) => match limit(job, *slot) {
                None => Rate::Unlimited,
                Some(Limit::Ios(ios)) => Rate::Iops(ios),
                Some(Limit::Bytes(bytes)) => Rate::BytesPerS(bytes),
            },
            // A direction without a share is never done.
            _ => {
                let share = [job.access().read_percent, 100 - job.access().read_percent];
                let of = |slot: usize| ios_per_s(job, slot).filter(|_| share[slot] > 0);
                let rates = OperationRates::new([of(0), of(1), None]);
                if rates == OperationRates::default() { Rate::Unlimited } else { Rate::Each(rates) }
            }
        }
    }

    /// Every block is trimmed and then written, so both go at the lower rate.
    fn rate_of_trimwrite(&mut self, source: Source<'_>, slots: &[usize]) -> Rate {
        let rates: Vec<f64> = slots.iter().filter_map(|slot| ios_per_s(source.job, *slot)).collect();
        if let [rate] = rates.as_slice() {
            let option =
                if source.job.pacing().rate_iops.iter().any(Option::is_some) { "rate_iops" } else { "rate" };
            let message = format!("trims and writes take turns, so that both are held to {rate} a second");
            self.loss(source, "rate-by-direction", option, message, "one job for each direction");
        }
        let lowest = rates.into_iter().reduce(f64::min);
        lowest.map_or(Rate::Unlimited, |rate| Rate::Iops(2.0 * rate))
    }

    /// Rates of fio hold for each clone, those of the model for all threads together.
    pub(super) fn scale_rate(&mut self, source: Source<'_>, job: &mut Job) {
        job.rate = job.rate.scaled(f64::from(job.threads));
        if job.threads > 1 && job.rate != Rate::Unlimited {
            let message = format!(
                "a rate in fio holds for each clone: {} of them share {}",
                job.threads,
                rate_text(job.rate)
            );
            let bytes = source.job.pacing().rate_bytes_per_s.iter().any(Option::is_some);
            self.note(source, "rate-per-clone", if bytes { "rate" } else { "rate_iops" }, message, "");
        }
    }

    /// What ends the job.
    pub(crate) fn limits(&mut self, source: Source<'_>, job: &mut Job) {
        self.extent_of_work(source, job);
        if let Placement::Sequential(walk) = job.pattern.placement
            && walk.skip_min_bytes > 0
        {
            self.stride_laps(source, job, walk.skip_min_bytes);
        }
    }

    fn extent_of_work(&mut self, source: Source<'_>, job: &mut Job) {
        let resolved = source.job;
        let life = resolved.lifetime();
        // A trimmed and rewritten block counts twice here.
        let doubled = if resolved.access().direction == Direction::TrimWrite { 2 } else { 1 };
        if life.runtime_us > 0 {
            job.limits.time = Some(nanos(life.runtime_us));
        }
        if life.time_based {
            return;
        }
        let loops = life.loops.saturating_mul(doubled);
        if life.number_ios > 0 {
            job.limits.ios = Some(life.number_ios.saturating_mul(loops));
        }
        match (resolved.region().io_size, resolved.region().size) {
            // What a pass moves is not the length of the file.
            (None, Some(Size::Bytes(bytes))) | (Some(Size::Bytes(bytes)), _)
                if matches!(resolved.region().zones, ZoneMode::Strided { .. }) =>
            {
                job.limits.bytes = Some(bytes.saturating_mul(loops));
            }
            (None, Some(Size::Bytes(size))) if super::targets::is_part(resolved, size) => {
                if loops > 1 && !resolved.access().random {
                    let message = "further loops go on behind the part that was done, not again at its start"
                        .to_owned();
                    self.loss(source, "loops-of-a-part", "loops", message, "loops=1 and a region of size=");
                }
                job.limits.bytes = Some(size.saturating_mul(loops));
            }
            // Blocks without a map are not bound to places: one that does not fit behind the others is done as well.
            (None, Some(Size::Bytes(size))) if super::targets::has_rest(resolved, size) => {
                job.limits.bytes = Some(size.saturating_mul(loops));
            }
            (None, _) => job.limits.passes = Some(u32::try_from(loops).unwrap_or(u32::MAX)),
            (Some(Size::Bytes(bytes)), _) => {
                job.limits.bytes = Some(super::targets::reached(resolved, bytes).saturating_mul(doubled));
            }
            (Some(Size::Percent(percent)), Some(Size::Bytes(size))) => {
                job.limits.bytes =
                    Some((size / 100).saturating_mul(u64::from(percent)).saturating_mul(loops));
            }
            (Some(_), _) => {
                let message = "io_size in per cent of an unknown size is not known: the whole region is done"
                    .to_owned();
                self.loss(source, "io-size-of-unknown", "io_size", message, "io_size=<bytes>");
                job.limits.passes = Some(u32::try_from(loops).unwrap_or(u32::MAX));
            }
        }
    }
}

fn rate_text(rate: Rate) -> String {
    match rate {
        Rate::Iops(iops) => format!("{iops} I/Os a second"),
        Rate::BytesPerS(bytes) => format!("{bytes} bytes a second"),
        Rate::Each(rates) => format!("{} a second", rates.describe()),
        _ => "no limit".to_owned(),
    }
}
