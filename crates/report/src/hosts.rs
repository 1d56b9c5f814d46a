//! What each of several hosts did of a job: the same rows for every renderer.

use assay_results::evidence::WorkerLatency;
use assay_results::run::{JobResult, PhaseResult};

use crate::format;

/// The columns behind the host's name.
pub(crate) const NUMBERS: [&str; 7] = ["IOPS", "MiB/s", "p50", "p99", "max", "cached", "start"];

/// One host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HostRow {
    /// Its name.
    pub(crate) name: String,
    /// As [`NUMBERS`]: over its own measured time, also the completion latencies; the share of its reads that no device served; how long after the first
    /// host it began.
    pub(crate) numbers: [String; 7],
    /// Why its numbers end early; empty: they do not.
    pub(crate) lost: String,
}

/// The hosts of a job; empty where there is one.
pub(crate) fn of_job(phase: &PhaseResult, job: &JobResult) -> Vec<HostRow> {
    let workers = &job.evidence.workers;
    if workers.len() < 2 {
        return Vec::new();
    }
    let row = |worker: &assay_results::evidence::WorkerReport| {
        let known = worker.measured_ns > 0;
        let per_s = |count: u64| count as f64 * 1e9 / worker.measured_ns.max(1) as f64;
        let host = phase.hosts.iter().find(|host| host.name == worker.name);
        let cached = host.and_then(|host| host.cached_read_share).filter(|_| job.read.is_some());
        let shown = |text: String| if known { text } else { format::NOTHING.to_owned() };
        let latency = |field: fn(&WorkerLatency) -> Option<u64>| {
            let known = worker.completion_ns.as_ref().and_then(field);
            known.map_or_else(String::new, |ns| format::time_ns(ns as f64))
        };
        HostRow {
            name: worker.name.clone(),
            numbers: [
                shown(format::iops(per_s(worker.ios))),
                shown(format::mib_per_s(per_s(worker.bytes))),
                latency(|latency| latency.p50),
                latency(|latency| latency.p99),
                latency(|latency| Some(latency.max)),
                cached.map_or_else(String::new, format::percent),
                start(worker.start_skew_ns, worker.start_error_ns),
            ],
            lost: worker.lost_because.as_ref().map_or_else(String::new, |why| match known {
                true => {
                    format!("lost after {}: {why}", format::seconds(worker.measured_ns as f64 / 1e9))
                }
                false => format!("lost: {why}"),
            }),
        }
    };
    workers.iter().map(row).collect()
}

/// Hosts shown at each end, where there are too many.
const ENDS: usize = 3;

/// Of many hosts the slowest, the fastest and the lost ones, in their order.
pub(crate) fn ends(rows: Vec<HostRow>, job: &JobResult) -> Vec<HostRow> {
    let iops: Vec<Option<f64>> = iops(job).into_iter().map(|(_, iops)| iops).collect();
    let mut order: Vec<usize> = (0..rows.len()).filter(|index| iops[*index].is_some()).collect();
    order.sort_by(|a, b| iops[*a].unwrap_or(0.0).total_cmp(&iops[*b].unwrap_or(0.0)));
    let at_an_end = |index: usize| {
        let place = order.iter().position(|known| *known == index);
        place.is_some_and(|place| place < ENDS || place + ENDS >= order.len())
    };
    let keep = |(index, row): (usize, HostRow)| (at_an_end(index) || !row.lost.is_empty()).then_some(row);
    rows.into_iter().enumerate().filter_map(keep).collect()
}

/// What is said of all of them where [`ends`] are shown.
pub(crate) fn left_out(all: usize, job: &JobResult) -> String {
    let mut known: Vec<f64> = iops(job).into_iter().filter_map(|(_, iops)| iops).collect();
    known.sort_by(f64::total_cmp);
    let of =
        |value: Option<&f64>| value.map_or_else(|| format::NOTHING.to_owned(), |iops| format::iops(*iops));
    format!(
        "the {ENDS} slowest and {ENDS} fastest of {all} hosts; IOPS of each: lowest {}, median {}, highest {}; the page has all",
        of(known.first()),
        of(known.get(known.len() / 2)),
        of(known.last())
    )
}

/// Operations a second of each host, by name; `None`: not known.
pub(crate) fn iops(job: &JobResult) -> Vec<(&str, Option<f64>)> {
    job.evidence.workers.iter().map(|worker| (worker.name.as_str(), worker.iops())).collect()
}

/// `+300 ms ± 2 ms`; empty for the first, and where it is not known.
fn start(skew_ns: i64, error_ns: u64) -> String {
    if (skew_ns, error_ns) == (0, 0) {
        return String::new();
    }
    let sign = if skew_ns < 0 { "-" } else { "+" };
    let error =
        if error_ns > 0 { format!(" ± {}", format::time_ns(error_ns as f64)) } else { String::new() };
    format!("{sign}{}{error}", format::time_ns(skew_ns.unsigned_abs() as f64))
}

/// What the totals of several hosts leave out, in a sentence; `None`: nothing, or there is one host.
pub(crate) fn trimmed(job: &JobResult) -> Option<String> {
    let common = job.evidence.common.filter(|common| common.trimmed_ios > 0)?;
    let lost = job.evidence.workers.iter().any(|worker| worker.lost_because.is_some());
    let hosts = if lost { "the hosts that were not lost" } else { "all hosts" };
    Some(format!(
        "totals are over the {} in which {hosts} measured; {} outside it {} left out",
        format::seconds(common.length_ns as f64 / 1e9),
        format::plural(common.trimmed_ios, "operation"),
        if common.trimmed_ios == 1 { "is" } else { "are" }
    ))
}

#[cfg(test)]
mod tests {
    use assay_results::evidence::WorkerReport;
    use assay_results::hosts::{CommonWindow, HostPhase};

    use super::*;

    fn worker(name: &str, start_skew_ns: i64, lost: &str) -> WorkerReport {
        WorkerReport {
            name: name.to_owned(),
            ios: 10_000,
            bytes: 10_000 * 4096,
            start_skew_ns,
            start_error_ns: 2_000_000,
            measured_ns: 5_000_000_000,
            completion_ns: Some(WorkerLatency { p50: Some(100_000), p99: Some(900_000), max: 7_000_000 }),
            lost_because: Some(lost.to_owned()).filter(|why| !why.is_empty()),
            over_time: None,
        }
    }

    #[test]
    fn a_row_a_host_and_none_for_one() {
        let mut job = JobResult { read: Some(Default::default()), ..JobResult::default() };
        job.evidence.workers = vec![worker("a", 0, "")];
        let host = HostPhase { name: "b".to_owned(), cached_read_share: Some(0.5), ..HostPhase::default() };
        let phase = PhaseResult { hosts: vec![host], ..PhaseResult::default() };
        assert_eq!(of_job(&phase, &job), []);
        job.evidence.workers.push(worker("b", 300_000_000, "connection closed"));
        let rows = of_job(&phase, &job);
        assert_eq!(
            rows[1].numbers,
            ["2,000", "7.81", "100 µs", "900 µs", "7.00 ms", "50 %", "+300 ms ± 2.00 ms"]
        );
        assert_eq!(
            (rows[1].lost.as_str(), rows[0].numbers[5].as_str()),
            ("lost after 5 s: connection closed", "")
        );
        assert_eq!(trimmed(&job), None);
        job.evidence.workers =
            (0..20).map(|n| WorkerReport { ios: n * 1000, ..worker(&format!("w{n}"), 0, "") }).collect();
        job.evidence.workers[9].lost_because = Some("gone".to_owned());
        let shown: Vec<String> = ends(of_job(&phase, &job), &job).into_iter().map(|row| row.name).collect();
        assert_eq!(shown, ["w0", "w1", "w2", "w9", "w17", "w18", "w19"]);
        assert!(
            left_out(20, &job).contains("of 20 hosts; IOPS of each: lowest 0, median 2,000, highest 3,800")
        );
        job.evidence.workers.truncate(2);
        job.evidence.common =
            Some(CommonWindow { length_ns: 4_700_000_000, trimmed_ios: 1200, ..CommonWindow::default() });
        let words =
            "totals are over the 4.7 s in which all hosts measured; 1,200 operations outside it are left out";
        assert_eq!(trimmed(&job).as_deref(), Some(words));
        job.evidence.common.as_mut().expect("a window").trimmed_ios = 1;
        assert!(trimmed(&job).expect("words").ends_with("; 1 operation outside it is left out"));
        job.evidence.common.as_mut().expect("a window").trimmed_ios = 1200;
        job.evidence.workers[0].lost_because = Some("gone".to_owned());
        let words = trimmed(&job).unwrap();
        assert!(words.contains("in which the hosts that were not lost measured"), "{words}");
    }
}
