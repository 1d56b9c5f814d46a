//! fio's `normal` report: what it prints where nothing else is asked for.

use std::fmt::Write as _;

use super::group::{self, GroupDirection};
use super::number::{Base, DIGITS, both, scaled, short};
use super::report::{BYTES, Direction, Disk, FioReport, Job, Search, Stat, Steady};

/// Width of its lines of percentiles, without their margin.
const PERCENTILES_WIDTH: usize = 73;
/// Latency columns in a line.
const COLUMNS_IN_A_LINE: usize = 5;

impl FioReport {
    /// What fio prints before it begins: each job in a line, its version, how many processes.
    pub fn head(&self) -> String {
        let mut text = String::new();
        let mut jobs = self.jobs.iter();
        while let Some(job) = jobs.next() {
            let _ = writeln!(text, "{}: (g={}): {}", job.name, job.group, job.head);
            if job.clones.max(job.clones_asked) > 1 {
                text.push_str("...\n");
            }
            // Its other clones, where each has an entry.
            let rest = job.clones_asked.saturating_sub(job.clones);
            (0..rest).for_each(|_| {
                jobs.next();
            });
        }
        // Whether they were threads, fio's JSON does not say.
        let processes = self.jobs.iter().map(|job| job.clones).fold(0, u64::saturating_add);
        let plural = if processes == 1 { "" } else { "es" };
        let _ = writeln!(text, "{}\nStarting {processes} process{plural}", self.version);
        text
    }

    /// What fio prints at the end: every job, the groups, the disks.
    pub fn normal(&self) -> String {
        let mut text = String::from("\n");
        self.jobs.iter().for_each(|job| self.job(job, &mut text));
        let groups = self.jobs.iter().map(|job| job.group + 1).max().unwrap_or(0);
        for number in 0..groups {
            let _ = writeln!(text, "\nRun status group {number} (all jobs):");
            let jobs = self.jobs.iter().filter(|job| job.group == number);
            let directions = group::directions(jobs.clone());
            directions.iter().for_each(|one| self::directions(one, one.total_bytes_per_s(), &mut text));
            if jobs.clone().any(|job| job.both.is_some()) {
                let (sum, rate) = group::mixed(&directions);
                self::directions(&sum, rate, &mut text);
            }
        }
        if !self.disks.is_empty() {
            text.push_str("\nDisk stats (read/write):\n");
        }
        self.disks.iter().for_each(|one| disk(one, &mut text));
        text
    }

    /// The lines of one job.
    pub(super) fn job(&self, job: &Job, text: &mut String) {
        if job.ios() == 0 && job.directions.iter().all(|one| one.bytes == 0) {
            return;
        }
        let error = match job.errno {
            0 => String::new(),
            errno => format!(" (error={})", message(errno)),
        };
        // fio's JSON does not say the process.
        let _ = writeln!(
            text,
            "{}: (groupid={}, jobs={}): err={:2}{error}: pid=0: {}",
            job.name, job.group, job.clones, job.errno, self.time
        );
        if !job.description.is_empty() {
            let _ = writeln!(text, "  Description  : [{}]", job.description);
        }
        let moved = job.directions.iter().filter(|one| one.bytes > 0);
        moved.chain(&job.both).for_each(|one| direction(one, job.percentile_decimals, text));
        columns("nsec", &job.latency_ns, text);
        columns("usec", &job.latency_us, text);
        columns("msec", &job.latency_ms, text);
        if job.sync.n > 0 {
            let syncfs = if self.has_syncfs() { "/syncfs" } else { "" };
            let _ = writeln!(text, "  fsync/fdatasync/sync_file_range{syncfs}:");
            latency("sync", &job.sync, text);
            percentiles("sync", &job.sync, job.percentile_decimals, text);
        }
        counters(job, text);
        if let Some(search) = &job.search {
            self.search(search, text);
        }
        if let Some(found) = &job.steady {
            steady(found, text);
        }
    }

    fn search(&self, search: &Search, text: &mut String) {
        let Search { depth, target, window, percentile } = *search;
        let (target, window) = if self.scales_targets() {
            (scaled_ns(target), scaled_ns(window.saturating_mul(1000)))
        } else {
            (target.to_string(), window.to_string())
        };
        let _ = writeln!(
            text,
            "     latency   : target={target}, window={window}, percentile={percentile:.2}%, depth={depth}"
        );
    }
}

/// A time with the unit that leaves few digits.
fn scaled_ns(ns: u64) -> String {
    let (divisor, unit) = match ns {
        0..2_000 => (1.0, "ns"),
        2_000..2_000_000 => (1e3, "us"),
        2_000_000..2_000_000_000 => (1e6, "ms"),
        _ => (1e9, "s"),
    };
    format!("{:.2}{unit}", ns as f64 / divisor)
}

/// What the system says of an error.
fn message(errno: u64) -> String {
    let text = std::io::Error::from_raw_os_error(i32::try_from(errno).unwrap_or(0)).to_string();
    text.split(" (os error").next().unwrap_or_default().to_owned()
}

/// The lines of one direction of a job.
fn direction(one: &Direction, decimals: usize, text: &mut String) {
    if one.runtime_ms == 0 {
        return;
    }
    let iops = short(one.ios_per_s(), DIGITS, Base::Decimal, "");
    let [binary, decimal] = both(one.bytes_per_s(), "B/s");
    let bytes = short(one.bytes, DIGITS, BYTES, "B");
    let _ = writeln!(
        text,
        "  {}: IOPS={iops}, BW={binary} ({decimal})({bytes}/{}msec)",
        one.name, one.runtime_ms
    );
    latency("slat", &one.slat, text);
    latency("clat", &one.clat, text);
    latency(" lat", &one.lat, text);
    percentiles("slat", &one.slat, decimals, text);
    percentiles("clat", &one.clat, decimals, text);
    percentiles("lat", &one.lat, decimals, text);
    bandwidth(one, text);
    let iops = &one.iops;
    if iops.n > 0 {
        let _ = writeln!(
            text,
            "   iops        : min={:5}, max={:5}, avg={:5.2}, stdev={:5.2}, samples={}",
            iops.min, iops.max, iops.mean, iops.deviation, iops.n
        );
    }
}

/// Minimum, maximum, mean and deviation, in the unit that suits all of them.
fn latency(name: &str, stat: &Stat, text: &mut String) {
    if stat.n == 0 {
        return;
    }
    let suits = |step: f64| {
        stat.min as f64 > 2.0 * step && stat.max as f64 > 100.0 * step - 1.0 && stat.deviation > step
    };
    let (step, unit) = match () {
        () if suits(1e6) => (1_000_000, "msec"),
        () if suits(1e3) => (1000, "usec"),
        () => (1, "nsec"),
    };
    let [min, max] = [stat.min, stat.max].map(|ns| short(ns / step, 6, Base::Decimal, ""));
    let [mean, deviation] = [stat.mean, stat.deviation].map(|ns| ns / step as f64);
    let _ =
        writeln!(text, "    {name} ({unit}): min={min}, max={max}, avg={mean:5.2}, stdev={deviation:5.2}");
}

fn percentiles(name: &str, stat: &Stat, decimals: usize, text: &mut String) {
    let listed = &stat.percentiles;
    let values = || listed.iter().map(|entry| entry.1);
    let (Some(min), Some(max)) = (values().min(), values().max()) else { return };
    if stat.n == 0 {
        return;
    }
    let (times, unit) = match () {
        () if min > 2_000_000 && max > 99_999_999 => (2, "msec"),
        () if min > 2000 && max > 99_999 => (1, "usec"),
        () => (0, "nsec"),
    };
    let largest = max / 1000_u64.pow(times);
    let width = largest.to_string().len().max(5);
    let in_a_line = (PERCENTILES_WIDTH / (decimals + 10 + width)).max(1);
    let column = decimals + 3;
    let _ = write!(text, "    {name} percentiles ({unit}):\n     |");
    for (index, (percent, ns)) in listed.iter().enumerate() {
        if index > 0 && index % in_a_line == 0 {
            text.push_str("     |");
        }
        let value = (0..times).fold(*ns, |value, _| value.div_ceil(1000));
        let last = index + 1 == listed.len();
        let end = if last { "\n" } else { "," };
        let _ = write!(text, " {percent:column$.decimals$}th=[{value:width$}]{end}");
        if !last && index % in_a_line == in_a_line - 1 {
            text.push('\n');
        }
    }
}

fn bandwidth(one: &Direction, text: &mut String) {
    let stat = &one.bandwidth;
    if stat.n == 0 {
        return;
    }
    let large = stat.mean > 1024.0 * 1024.0;
    let (step, unit) = if large { (1024.0, "MiB") } else { (1.0, "  KiB") };
    let [min, max] = [stat.min, stat.max].map(|kib| (kib as f64 / step) as u64);
    let [mean, deviation] = [stat.mean, stat.deviation].map(|kib| kib / step);
    let _ = writeln!(
        text,
        "   bw ({unit:>5}/s): min={min:5}, max={max:5}, per={:3.2}%, avg={mean:5.2}, stdev={deviation:5.2}, samples={}",
        one.percent_of_group, stat.n
    );
}

/// Shares of latencies, those that occur.
fn columns(unit: &str, shares: &[f64], text: &mut String) {
    let edges = ["2", "4", "10", "20", "50", "100", "250", "500", "750", "1000", "2000", ">=2000"];
    let some = shares.iter().zip(edges).filter(|(share, _)| **share > 0.0);
    let some: Vec<String> = some.map(|(share, edge)| format!("{edge}={share:.2}%")).collect();
    for line in some.chunks(COLUMNS_IN_A_LINE) {
        let _ = writeln!(text, "  lat ({unit})   : {}", line.join(", "));
    }
}

fn counters(job: &Job, text: &mut String) {
    let _ = writeln!(
        text,
        "  cpu          : usr={:.2}%, sys={:.2}%, ctx={}, majf={}, minf={}",
        job.user_percent, job.system_percent, job.switches, job.major_faults, job.minor_faults
    );
    let mut shares = |name: &str, columns: [&str; 7], shares: &[f64; 7]| {
        let parts: Vec<String> =
            columns.iter().zip(shares).map(|(column, share)| format!("{column}={share:.1}%")).collect();
        let _ = writeln!(text, "{name}: {}", parts.join(", "));
    };
    let batches = ["0", "4", "8", "16", "32", "64", ">=64"];
    shares("  IO depths    ", ["1", "2", "4", "8", "16", "32", ">=64"], &job.depths);
    shares("     submit    ", batches, &job.submitted);
    shares("     complete  ", batches, &job.completed);
    let three = |of: fn(&Direction) -> u64| {
        let at = |index: usize| job.directions.get(index).map_or(0, of);
        format!("{},{},{}", at(0), at(1), at(2))
    };
    let _ = writeln!(
        text,
        "     issued rwts: total={},{} short={},0 dropped={},0",
        three(|one| one.ios),
        job.syncs,
        three(|one| one.short),
        three(|one| one.dropped)
    );
    if let Some((total, first)) = job.errors {
        let _ = writeln!(text, "     errors    : total={total}, first_error={first}/<{}>", message(first));
    }
}

fn steady(found: &Steady, text: &mut String) {
    // fio cuts the bandwidth to whole KiB.
    let [binary, decimal] =
        [Base::Binary, Base::Decimal].map(|base| scaled(found.bytes_per_s / 1024, 1, DIGITS, base, "B/s"));
    let iops = short(found.iops, DIGITS, Base::Decimal, "");
    let latency = found
        .lat_ns
        .map_or(String::new(), |ns| format!(", lat={}nsec", short(ns, DIGITS, Base::Decimal, "")));
    let word = found.rule.split(':').next().unwrap_or_default();
    let (what, how) = word.strip_suffix("_slope").map_or((word, "mean dev"), |what| (what, "slope"));
    let (number, percent) =
        found.criterion.strip_suffix('%').map_or((found.criterion.as_str(), ""), |number| (number, "%"));
    let criterion: f64 = number.parse().unwrap_or(0.0);
    let attained = if found.attained { "yes" } else { "no" };
    let _ = writeln!(
        text,
        "  steadystate  : attained={attained}, bw={binary} ({decimal}), iops={iops}{latency}, {what} {how}={criterion:.3}{percent}"
    );
}

/// The line of one direction of a group.
fn directions(one: &GroupDirection, rate: u64, text: &mut String) {
    let [total, total_decimal] = both(rate, "B/s");
    let [min, min_decimal] = both(one.bytes_per_s[0], "B/s");
    let [max, max_decimal] = both(one.bytes_per_s[1], "B/s");
    let [bytes, bytes_decimal] = both(one.bytes, "B");
    let [shortest, longest] = one.runtime_ms;
    let _ = writeln!(
        text,
        "{:>7}: bw={total} ({total_decimal}), {min}-{max} ({min_decimal}-{max_decimal}), io={bytes} ({bytes_decimal}), run={shortest}-{longest}msec",
        one.name.to_uppercase()
    );
}

fn disk(one: &Disk, text: &mut String) {
    let indent = if one.below.is_some() { "    " } else { "  " };
    let _ = write!(text, "{indent}{}: {}", one.name, disk_counts(one, ["", "", ""]));
    if let Some(below) = &one.below {
        let _ = write!(text, ", {}", disk_counts(below, ["aggr", "agg", "aggr"]));
    }
    text.push('\n');
}

/// `prefixes` stand before the names of I/Os, of sectors, and of the rest.
fn disk_counts(one: &Disk, [ios, sectors, rest]: [&str; 3]) -> String {
    let pair = |[reads, writes]: [u64; 2]| format!("{reads}/{writes}");
    let sectors = one.sectors.map_or(String::new(), |both| format!("{sectors}sectors={}, ", pair(both)));
    format!(
        "{ios}ios={}, {sectors}{rest}merge={}, {rest}ticks={}, {rest}in_queue={}, {rest}util={:.2}%",
        pair(one.ios),
        pair(one.merges),
        pair(one.ticks),
        one.in_queue,
        one.busy_percent
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(stat: &Stat) -> String {
        let mut text = String::new();
        latency("clat", stat, &mut text);
        percentiles("clat", stat, 2, &mut text);
        text
    }

    #[test]
    fn units_suit_all_numbers_of_a_line() {
        let stat = |min, max, deviation| Stat { n: 10, min, max, mean: 5e4, deviation, ..Stat::default() };
        assert!(
            said(&stat(2001, 100_000, 1001.0))
                .contains("clat (usec): min=2, max=100, avg=50.00, stdev= 1.00")
        );
        assert!(
            said(&stat(2000, 100_000, 1001.0)).contains("clat (nsec): min=2000, max=100000, avg=50000.00")
        );
        assert!(said(&stat(2001, 99_999, 1001.0)).contains("(nsec)"));
        assert!(said(&stat(2_000_001, 100_000_000, 1e7)).contains("(msec): min=2, max=100"));
        assert_eq!(said(&Stat::default()), "");
    }

    #[test]
    fn percentiles_are_rounded_up_and_broken_into_lines() {
        let listed = [1.0, 5.0, 50.0, 99.0, 99.9].map(|percent| (percent, 150_001 + (percent * 1e3) as u64));
        let stat = Stat { n: 1, percentiles: listed.to_vec(), ..Stat::default() };
        assert_eq!(
            said(&stat).lines().skip(1).collect::<Vec<_>>(),
            [
                "    clat percentiles (usec):",
                "     |  1.00th=[  152],  5.00th=[  156], 50.00th=[  201], 99.00th=[  250],",
                "     | 99.90th=[  250]"
            ]
        );
    }

    #[test]
    fn targets_have_units() {
        assert_eq!(
            ["0", "1999", "2000000"].map(|ns| scaled_ns(ns.parse().unwrap())),
            ["0.00ns", "1999.00ns", "2.00ms"]
        );
    }
}
