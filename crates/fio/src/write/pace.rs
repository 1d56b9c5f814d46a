//! How fast, with which pauses, and how long, in fio's words.

use assay_workload::job::{Arrival, Job, Limits, OperationRates, Rate, TargetSharing};
use assay_workload::pattern::{BlockSizes, OpKind, Placement, Sequential};
use assay_workload::target::Extent;

use super::{Lines, Section, Writer, time_text};

/// The option of rates of single operations, and those of each clone: in bytes where I/Os are no whole numbers.
fn of_each(job: &Job, rates: OperationRates) -> (&'static str, [f64; 3]) {
    let ios = OpKind::DATA.map(|kind| rates.of(kind).unwrap_or(0.0));
    let fixed = |kind| matches!(job.pattern.sizes(kind), BlockSizes::Fixed(_));
    let whole = ios.iter().all(|rate| (rate - rate.round()).abs() <= 0.01);
    if job.arrival == Arrival::Poisson || (whole && rates.rated().all(|(kind, _)| fixed(kind))) {
        return ("rate_iops", ios);
    }
    let bytes = |kind: OpKind| rates.of(kind).unwrap_or(0.0) * job.pattern.sizes(kind).mean_bytes();
    ("rate", OpKind::DATA.map(bytes))
}

/// The option of a rate and its value for each direction; `total` is of one clone.
fn by_direction(job: &Job, total: f64) -> (&'static str, [f64; 3]) {
    let pattern = &job.pattern;
    let share = |kind: OpKind| pattern.mix.share(kind);
    let used = || OpKind::DATA.into_iter().filter(|kind| share(*kind) > 0.0);
    let mean = |kind: OpKind| pattern.sizes(kind).mean_bytes();
    // fio's Poisson arrivals are I/Os. Even ones are counted in smallest blocks where sizes vary, unless in bytes.
    let ios = match (job.arrival, job.rate) {
        (Arrival::Poisson, _) => true,
        (_, Rate::BytesPerS(_)) => false,
        _ => used().all(|kind| matches!(pattern.sizes(kind), BlockSizes::Fixed(_))),
    };
    let mean_all = used().map(|kind| share(kind) * mean(kind)).sum::<f64>() / used().map(share).sum::<f64>();
    let total = match (job.rate, ios) {
        (Rate::BytesPerS(_), true) => total / mean_all,
        (Rate::Iops(_), false) => total * mean_all,
        _ => total,
    };
    // Bytes are shared among directions by their mean sizes.
    let weight = |kind: OpKind| share(kind) * if ios { 1.0 } else { mean(kind) };
    let sum: f64 = used().map(weight).sum();
    let rates = OpKind::DATA.map(|kind| if share(kind) > 0.0 { total * weight(kind) / sum } else { 0.0 });
    (if ios { "rate_iops" } else { "rate" }, rates)
}

impl Writer<'_> {
    pub(crate) fn pace(&mut self, section: &Section<'_>, lines: &mut Lines) {
        let Section { job, phase, .. } = *section;
        self.rate(job, lines);
        if let Some(think) = job.think_time {
            lines.set("thinktime", think.time.0.div_ceil(1000));
            lines.set("thinktime_blocks", think.every_ios.max(1));
        }
        if let Some(flow) = job.flow {
            lines.set("flow", flow.weight);
            lines.set("flow_id", flow.id);
            if flow.pause.0 > 0 {
                lines.set("flow_sleep", flow.pause.0.div_ceil(1000));
            }
        }
        if job.ramp.0 > 0 {
            lines.set("ramp_time", time_text(job.ramp));
        }
        if job.start_delay.0 > 0 {
            if phase == 0 {
                lines.set("startdelay", time_text(job.start_delay));
            } else {
                let help = "fio counts a start delay from the start of the run; it is left out";
                self.lost("fio-start-delay", &job.name, help);
            }
        }
    }

    fn rate(&mut self, job: &Job, lines: &mut Lines) {
        let clones = f64::from(job.threads.max(1));
        let (option, exact) = match job.rate.scaled(1.0 / clones) {
            Rate::Unlimited => return,
            Rate::PercentOfMax(_) => {
                let help = "a rate relative to an earlier result is not known to fio; it runs unlimited";
                return self.lost("fio-symbolic-rate", &job.name, help);
            }
            Rate::Iops(rate) | Rate::BytesPerS(rate) => by_direction(job, rate),
            Rate::Each(rates) => of_each(job, rates),
        };
        if exact.iter().any(|rate| (rate - rate.round()).abs() > 0.01) {
            let help = "fio's rates are whole numbers for each clone and direction: they are rounded";
            self.lost("fio-whole-rate", &job.name, help);
        }
        let texts =
            exact.map(|rate| if rate > 0.0 { rate.round().max(1.0).to_string() } else { "0".to_owned() });
        lines.set(option, texts.join(","));
        match job.arrival {
            Arrival::Deterministic => {}
            Arrival::Poisson => lines.set("rate_process", "poisson"),
            Arrival::Uniform => {
                let help = "fio has even and Poisson arrivals; even ones are written";
                self.lost("fio-uniform-arrivals", &job.name, help);
            }
        }
    }

    pub(crate) fn limits(&mut self, job: &Job, lines: &mut Lines) {
        let Limits { time, bytes, ios, passes, .. } = job.limits;
        if let Placement::Sequential(walk) = &job.pattern.placement
            && !walk.wrap
        {
            return self.limits_of_ending(job, walk, lines);
        }
        if let Some(time) = time {
            lines.set("runtime", time_text(time));
            if bytes.is_none() && ios.is_none() && passes.is_none() {
                return lines.flag("time_based");
            }
        }
        if let Some(ios) = ios {
            lines.set("number_ios", ios);
        }
        match (bytes, ios, passes) {
            (Some(bytes), _, passes) => {
                lines.set("io_size", bytes);
                if passes.is_some() {
                    let help = "fio counts bytes or passes: the bytes are written";
                    self.lost("fio-bytes-or-passes", &job.name, help);
                }
            }
            // Without it fio would stop at the end of the region.
            (None, Some(ios), None) => {
                lines.set("io_size", ios.saturating_mul(job.pattern.max_block_bytes()))
            }
            (None, _, Some(passes)) if passes != 1 => lines.set("loops", passes),
            _ => {}
        }
    }

    /// A walk that ends with its region: what fio does without `time_based`, `io_size` and `loops`. With gaps it is
    /// counted in I/Os, because fio may begin again.
    fn limits_of_ending(&mut self, job: &Job, walk: &Sequential, lines: &mut Lines) {
        let Limits { time, bytes, ios, .. } = job.limits;
        if let Some(time) = time {
            lines.set("runtime", time_text(time));
        }
        let lap = if walk.skip_max_bytes > 0 { self.lap_ios(job, walk) } else { Some(u64::MAX) };
        if lap.is_none() || bytes.is_some() {
            let what = "fio may go on at the start of the region when it reaches the end";
            self.lost("fio-wraps", &job.name, what);
        }
        if let Some(bytes) = bytes {
            lines.set("io_size", bytes);
        }
        if let Some(ios) = [ios, lap.filter(|lap| *lap < u64::MAX)].into_iter().flatten().min() {
            lines.set("number_ios", ios);
        }
    }

    /// I/Os of a walk from the start to the end of the region, for all files of a thread together.
    fn lap_ios(&self, job: &Job, walk: &Sequential) -> Option<u64> {
        let mut kinds = job.pattern.kinds();
        let (Some(BlockSizes::Fixed(block)), None) =
            (kinds.next().map(|kind| job.pattern.sizes(kind)), kinds.next())
        else {
            return None;
        };
        let lap = |name: &String| {
            let size = self.targets[*self.by_name.get(name.as_str())?].size;
            let region = match (job.length, size) {
                (Some(Extent::Bytes(length)), _) => length,
                (Some(length), size) => length.of(size?),
                (None, size) => size?.saturating_sub(job.offset.of(size?)),
            };
            Some(region.checked_sub(*block)? / block.saturating_add(walk.skip_min_bytes) + 1)
        };
        let laps = job.targets.iter().map(lap).collect::<Option<Vec<u64>>>()?;
        match job.sharing {
            TargetSharing::Shared => Some(laps.into_iter().fold(0, u64::saturating_add)),
            TargetSharing::PerThread => {
                laps.first().copied().filter(|first| laps.iter().all(|lap| lap == first))
            }
        }
    }
}
