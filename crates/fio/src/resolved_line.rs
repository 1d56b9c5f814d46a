//! One line per job and clone: what fio would run, in fio's own words.

use std::fmt::Write;

use super::distribution::{Distribution, ZonePart};
use super::resolved::*;
use super::value::Size;

impl ResolvedJob {
    /// The job on one line: place in the run, access, region, files, depth, rate, time, durability, content, checks.
    /// Values at fio's defaults are left out, except the ones that no number is complete without.
    pub fn resolved_line(&self) -> String {
        let mut line = Line(String::new());
        line.0.push_str(&format!("{}", self.thread_number));
        line.word("job", &self.name);
        if self.clones > 1 {
            line.word("clone", format!("{}/{}", self.clone_number, self.clones));
        }
        line.word("stage", self.stage);
        line.word("group", self.group);
        if let Some(waitee) = &self.wait_for {
            line.word("wait_for", waitee);
        }
        line.word("engine", &self.engine);
        for (name, value) in &self.engine_options {
            line.word(name, value);
        }
        self.access.describe(&mut line);
        self.region.describe(&mut line);
        self.describe_files(&mut line);
        line.word("iodepth", self.depth.effective);
        line.unless("batch_submit", self.depth.batch_submit, 1);
        line.unless("batch_complete_min", self.depth.batch_complete_min, 1);
        line.unless("iodepth_low", self.depth.low, self.depth.asked);
        self.pacing.describe(&mut line);
        self.lifetime.describe(&mut line);
        self.durability.describe(&mut line);
        self.content.describe(&mut line);
        self.describe_ends(&mut line);
        line.0
    }

    fn describe_files(&self, line: &mut Line) {
        match &self.files {
            FileSet::Named(names) => line.word("filename", names.join(":")),
            FileSet::Generated { count: 1, .. } => line.word("file", self.files.name(0).unwrap_or_default()),
            FileSet::Generated { count, .. } => {
                line.word("files", format!("{}..{count}", self.files.name(0).unwrap_or_default()));
            }
            FileSet::Taken { name } => line.word("no_file", name),
        }
        if self.service.order != "roundrobin" || self.service.parameter.is_some() {
            let parameter = self.service.parameter.as_ref().map(|p| format!(":{p}")).unwrap_or_default();
            line.word("file_service_type", format!("{}{parameter}", self.service.order));
        }
        line.unless("fallocate", self.fallocate, "native");
        line.set("overwrite", self.overwrite);
        line.set("unlink", self.unlink);
    }

    fn describe_ends(&self, line: &mut Line) {
        if let Some(verify) = &self.verify {
            line.word("verify", verify.method);
            line.unless("do_verify", u8::from(verify.read_back), 1);
            line.unless("verify_backlog", verify.backlog, 0);
            line.unless("verify_interval", verify.interval_bytes, 0);
            line.set("verify_only", verify.only);
            line.set("verify_fatal", verify.fatal);
        }
        if let Some(target) = self.latency_target {
            line.word(
                "latency_target",
                format!("{}us/{}us@{}%", target.target_us, target.window_us, target.percentile),
            );
        }
        line.unless("max_latency_us", self.latency_us_max, 0);
        if let Some(steady) = self.steady {
            let unit = if steady.criterion.percent { "%" } else { "" };
            line.word("steadystate", format!("{}:{}{unit}", steady.criterion.metric, steady.criterion.limit));
            line.word("ss_dur_us", steady.duration_us);
        }
        line.unless("continue_on_error", self.errors.continue_on, "none");
        if let Some((weight, id)) = self.flow {
            line.word("flow", format!("{weight}@{id}"));
        }
        if !self.cpus.is_empty() {
            let list: Vec<String> = self.cpus.iter().map(u32::to_string).collect();
            line.word("cpus", list.join(","));
        }
        if let Some(scope) = self.exit_all {
            line.word("exitall", scope);
        }
    }
}

/// Words of one line.
struct Line(String);

impl Line {
    fn word(&mut self, name: &str, value: impl std::fmt::Display) {
        let text = value.to_string();
        // A line stays a line, and a word with blanks stays a word.
        if text.is_empty() || text.contains(|c: char| c.is_whitespace() || c.is_control() || c == '"') {
            let _ = write!(self.0, " {name}={text:?}");
        } else {
            let _ = write!(self.0, " {name}={text}");
        }
    }

    fn unless<T: std::fmt::Display + PartialEq>(&mut self, name: &str, value: T, default: T) {
        if value != default {
            self.word(name, value);
        }
    }

    fn set(&mut self, name: &str, on: bool) {
        if on {
            self.word(name, 1);
        }
    }
}

fn size_text(size: Size) -> String {
    match size {
        Size::Bytes(bytes) => bytes.to_string(),
        Size::Percent(percent) => format!("{percent}%"),
        Size::Zones(zones) => format!("{zones}z"),
    }
}

fn sizes_text(sizes: &BlockSizes) -> String {
    match sizes {
        BlockSizes::Fixed(bytes) => bytes.to_string(),
        BlockSizes::Range { min, max } => format!("{min}-{max}"),
        BlockSizes::Split(parts) => {
            let list: Vec<String> =
                parts.iter().map(|part| format!("{}/{}", part.bytes, part.percent)).collect();
            list.join(":")
        }
    }
}

/// Three values, or one where they are equal.
fn per_direction<T: PartialEq>(values: &PerDirection<T>, text: impl Fn(&T) -> String) -> String {
    if values[0] == values[1] && values[1] == values[2] {
        return text(&values[0]);
    }
    values.iter().map(text).collect::<Vec<_>>().join(",")
}

fn rates(values: &PerDirection<Option<u64>>) -> String {
    per_direction(values, |rate| rate.map(|rate| rate.to_string()).unwrap_or_default())
}

impl Access {
    fn describe(&self, line: &mut Line) {
        let word = match self.direction {
            Direction::Read => "read",
            Direction::Write => "write",
            Direction::Trim => "trim",
            Direction::ReadWrite => "rw",
            Direction::TrimWrite => "trimwrite",
        };
        let postfix = match self.postfix {
            Postfix::None => String::new(),
            Postfix::Stride(bytes) => format!(":{bytes}"),
            Postfix::Every(ios) => format!(":{ios}"),
        };
        line.word("rw", format!("{}{word}{postfix}", if self.random { "rand" } else { "" }));
        if self.postfix != Postfix::None && self.sequencer == Sequencer::Identical {
            line.word("rw_sequencer", "identical");
        }
        if self.direction == Direction::ReadWrite {
            line.word("rwmixread", self.read_percent);
        }
        line.word("bs", per_direction(&self.sizes, sizes_text));
        line.set("bs_unaligned", self.unaligned);
        line.set("bs_is_seq_rand", self.sizes_by_randomness);
        if self.align_bytes != [None; 3] {
            line.word("ba", rates(&self.align_bytes));
        }
        if !self.random {
            return;
        }
        if self.random_percent != [100; 3] {
            line.word("percentage_random", per_direction(&self.random_percent, u8::to_string));
        }
        if self.distribution != Distribution::Random {
            line.word("random_distribution", distribution_text(&self.distribution));
        }
        line.word("random_map", u8::from(self.random_map));
        line.unless("random_generator", self.generator, "tausworthe");
        line.word("seed", self.seed.map_or_else(|| "any".to_owned(), |seed| seed.to_string()));
    }
}

/// A distribution as a job file writes it.
pub(super) fn distribution_text(distribution: &Distribution) -> String {
    let with_center = |name: &str, value: f64, center: Option<f64>| {
        format!("{name}:{value}{}", center.map(|center| format!(":{center}")).unwrap_or_default())
    };
    let zones = |name: &str, all: &PerDirection<Vec<ZonePart>>| {
        let one = |zones: &Vec<ZonePart>| {
            let list: Vec<String> =
                zones.iter().map(|zone| format!("{}/{}", zone.access_percent, zone.length)).collect();
            list.join(":")
        };
        format!("{name}:{}", per_direction(all, one))
    };
    match distribution {
        Distribution::Random => "random".to_owned(),
        Distribution::Zipf { theta, center } => with_center("zipf", *theta, *center),
        Distribution::Pareto { h, center } => with_center("pareto", *h, *center),
        Distribution::Normal { deviation_percent, center } => {
            with_center("normal", *deviation_percent, *center)
        }
        Distribution::Zoned(all) => zones("zoned", all),
        Distribution::ZonedAbsolute(all) => zones("zoned_abs", all),
        Distribution::Sequence(text) => format!("sequence:{text}"),
    }
}

impl Region {
    fn describe(&self, line: &mut Line) {
        line.word("size", self.size.map_or_else(|| "all".to_owned(), size_text));
        if let Some(size) = self.io_size {
            line.word("io_size", size_text(size));
        }
        if let Some((low, high)) = self.file_size {
            line.word("filesize", format!("{low}-{high}"));
        }
        for (name, size) in [("offset", self.offset), ("offset_increment", self.offset_increment)] {
            if size != Size::Bytes(0) {
                line.word(name, size_text(size));
            }
        }
        line.unless("offset_align", self.offset_align_bytes, 0);
    }
}

impl Pacing {
    fn describe(&self, line: &mut Line) {
        let all = [
            ("rate", &self.rate_bytes_per_s),
            ("rate_iops", &self.rate_iops),
            ("rate_min", &self.rate_bytes_per_s_min),
            ("rate_iops_min", &self.rate_iops_min),
        ];
        for (name, values) in all {
            if values.iter().any(Option::is_some) {
                line.word(name, rates(values));
            }
        }
        if self.is_limited() {
            line.word("rate_process", if self.poisson { "poisson" } else { "linear" });
        }
        if self.think_us > 0 {
            line.word("thinktime_us", self.think_us);
            line.unless("thinktime_spin_us", self.think_spin_us, 0);
            line.word("thinktime_blocks", self.think_blocks);
            line.set("thinktime_by_issue", self.think_by_issue);
            line.unless("thinktime_iotime_us", self.think_iotime_us, 0);
        }
    }
}

impl Lifetime {
    fn describe(&self, line: &mut Line) {
        line.unless("runtime_us", self.runtime_us, 0);
        line.set("time_based", self.time_based);
        line.unless("ramp_us", self.ramp_us, 0);
        let (low, high) = self.start_delay_us;
        if high > 0 {
            line.word("startdelay_us", if low == high { low.to_string() } else { format!("{low}-{high}") });
        }
        line.unless("loops", self.loops, 1);
        line.unless("number_ios", self.number_ios, 0);
    }
}

impl Durability {
    fn describe(&self, line: &mut Line) {
        line.word("direct", u8::from(self.direct));
        line.unless("sync", self.open_sync, "none");
        line.unless("fsync", self.fsync_every, 0);
        line.unless("fdatasync", self.fdatasync_every, 0);
        if let Some((flags, every)) = &self.sync_file_range {
            line.word("sync_file_range", format!("{}:{every}", flags.join(",")));
        }
        line.set("end_fsync", self.end_fsync);
        line.set("end_syncfs", self.end_syncfs);
        line.set("fsync_on_close", self.fsync_on_close);
        line.unless("invalidate", u8::from(self.invalidate), 1);
        line.unless("fadvise_hint", u8::from(self.access_hint), 1);
    }
}

impl Content {
    fn describe(&self, line: &mut Line) {
        line.set("zero_buffers", self.zero);
        line.set("refill_buffers", self.refill);
        if let Some(pattern) = &self.pattern {
            line.word("buffer_pattern", format!("{} bytes", pattern.bytes.len()));
        }
        line.unless("buffer_compress_percentage", self.compress_percent, 0);
        if self.dedupe_percent > 0 {
            line.word("dedupe_percentage", self.dedupe_percent);
            line.word("dedupe_mode", self.dedupe_mode);
        }
    }
}
