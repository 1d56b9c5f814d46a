//! fio's terse report: a line for each job, its fields separated by semicolons.

use std::fmt::Write as _;

use super::group::{self, GroupDirection};
use super::report::{Direction, Disk, FioReport, Job, Stat};

/// Percentiles have as many fields, used or not.
const PERCENTILE_FIELDS: usize = 20;

/// A version of fio's terse report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum TerseVersion {
    /// Without fio's version and disks.
    V2,
    /// What fio writes where nothing else is asked for.
    #[default]
    V3,
    /// With trims.
    V4,
    /// With the samples of bandwidth and IOPS.
    V5,
}

impl TerseVersion {
    /// The version of a number, as `--terse-version` takes it.
    pub fn from_number(number: &str) -> Option<TerseVersion> {
        let all = [("2", Self::V2), ("3", Self::V3), ("4", Self::V4), ("5", Self::V5)];
        all.into_iter().find(|(name, _)| *name == number).map(|(_, version)| version)
    }

    fn number(self) -> u8 {
        match self {
            Self::V2 => 2,
            Self::V3 => 3,
            Self::V4 => 4,
            Self::V5 => 5,
        }
    }
}

impl FioReport {
    /// fio's terse report.
    pub fn terse(&self, version: TerseVersion) -> String {
        let mut text = String::new();
        for job in &self.jobs {
            let groups = group::directions(self.jobs.iter().filter(|other| other.group == job.group));
            self.terse_job(job, &groups, version, &mut text);
        }
        text
    }

    fn terse_job(&self, job: &Job, groups: &[GroupDirection], version: TerseVersion, text: &mut String) {
        let number = version.number();
        let of = if version == TerseVersion::V2 { String::new() } else { format!("{};", self.version) };
        let _ = write!(text, "{number};{of}{};{};{}", job.name, job.group, job.errno);
        let has_trims = version != TerseVersion::V3;
        let group_of = |name: &str| {
            groups.iter().find(|one| one.name == name).map_or(0, GroupDirection::total_bytes_per_s)
        };
        let listed = job.directions.iter().filter(|one| has_trims || one.name != "trim");
        listed.for_each(|one| direction(one, job, group_of(one.name), version, text));
        // fio holds the total of all directions against the reads of the group.
        job.both.iter().for_each(|one| direction(one, job, group_of("read"), version, text));
        let _ = write!(
            text,
            ";{:.6}%;{:.6}%;{};{};{}",
            job.user_percent, job.system_percent, job.switches, job.major_faults, job.minor_faults
        );
        job.depths.iter().for_each(|share| text.push_str(&format!(";{share:.1}%")));
        // Nanoseconds count in the first column of microseconds. The columns of JSON are rounded up to 0.01 each.
        let mut microseconds = job.latency_us;
        microseconds[0] = (microseconds[0] + job.latency_ns.iter().sum::<f64>()).min(100.0);
        microseconds.iter().chain(&job.latency_ms).for_each(|share| text.push_str(&format!(";{share:.2}%")));
        if version != TerseVersion::V2 {
            self.disks.iter().for_each(|one| disk(one, text));
        }
        if let Some((total, first)) = job.errors {
            let _ = write!(text, ";{total};{first}");
        }
        if !job.description.is_empty() {
            let line = if version == TerseVersion::V2 { "\n" } else { "" };
            let _ = write!(text, "{line};{}", job.description);
        }
        text.push('\n');
    }
}

fn direction(one: &Direction, job: &Job, group_bytes_per_s: u64, version: TerseVersion, text: &mut String) {
    let _ = write!(
        text,
        ";{};{};{};{}",
        one.bytes / 1024,
        one.bytes_per_s() / 1024,
        one.ios_per_s(),
        one.runtime_ms
    );
    latency(&one.slat, text);
    latency(&one.clat, text);
    let listed = if one.lat.percentiles.is_empty() { &one.clat.percentiles } else { &one.lat.percentiles };
    for index in 0..PERCENTILE_FIELDS {
        // Where nothing was done, its percentiles are listed with 0.
        let ns = listed.get(index).map_or(0, |entry| entry.1);
        let _ = match job.percentiles.get(index) {
            Some(percent) => write!(text, ";{percent:.6}%={}", ns / 1000),
            None => write!(text, ";0%=0"),
        };
    }
    latency(&one.lat, text);
    let Stat { n, min, max, mean, deviation, .. } = one.bandwidth;
    let group_kib = group_bytes_per_s / 1024;
    let share = match (n, group_kib) {
        (0, _) => 0.0,
        (_, 0) => 100.0,
        (_, kib) => (mean * 100.0 / kib as f64).min(100.0),
    };
    let _ = write!(text, ";{min};{max};{share:.6}%;{mean:.6};{deviation:.6}");
    if version == TerseVersion::V5 {
        let Stat { n: samples, min, max, mean, deviation, .. } = one.iops;
        let _ = write!(text, ";{n};{min};{max};{mean:.6};{deviation:.6};{samples}");
    }
}

/// Microseconds.
fn latency(stat: &Stat, text: &mut String) {
    let [min, max] = [stat.min, stat.max].map(|ns| ns / 1000);
    let [mean, deviation] = [stat.mean, stat.deviation].map(|ns| ns / 1000.0);
    let _ = write!(text, ";{min};{max};{mean:.6};{deviation:.6}");
}

fn disk(one: &Disk, text: &mut String) {
    let _ = write!(text, ";{}", one.name);
    disk_counts(one, text);
    if let Some(below) = &one.below {
        text.push_str(";slaves");
        disk_counts(below, text);
    }
}

fn disk_counts(one: &Disk, text: &mut String) {
    let counts = one.ios.iter().chain(&one.merges).chain(&one.ticks).chain([&one.in_queue]);
    counts.for_each(|count| text.push_str(&format!(";{count}")));
    let _ = write!(text, ";{:.2}%", one.busy_percent);
}
