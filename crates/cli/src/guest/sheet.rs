//! One sheet: what was measured beside what was published of the I/O test VM, and whether the two can be compared.

use assay_results::Run;
use assay_results::run::{JobResult, Verdict};
use assay_vm::suite::Image;
use assay_workload::job::PhaseKind;

use super::settings::Mode;
use super::suite::{Done, Kind};

/// Files of the published measurements: 320 GiB, which no cache of that array held.
const WORKING_SET: u64 = 300 << 30;

/// A line: what, the published value, ours, and why they are not comparable.
struct Line {
    what: &'static str,
    published: &'static str,
    own: String,
    obstacles: Vec<String>,
}

/// The sheet.
pub(super) fn text(done: &[Done], mode: Mode, image: &Image) -> String {
    let mut text = format!(
        "\nI/O test VM, suite {}\n{}, {}\nPublished: Windows 2008 R2 with 4 vCPUs, fio 2.1.1, Jetstress and HammerDB on a NetApp FAS2020\n",
        image.suite, image.assay, image.kernel
    );
    if mode == Mode::Short {
        text.push_str(
            "Short steps: these show that everything works, and are no measurement of a storage system.\n",
        );
    }
    text.push_str(&format!("\n{:<44} {:>24} {:>24}  comparable\n", "", "published", "here"));
    for line in done.iter().flat_map(|one| lines(one, mode)) {
        let verdict = if line.obstacles.is_empty() {
            "yes".to_owned()
        } else {
            format!("no: {}", line.obstacles.join("; "))
        };
        text.push_str(&format!("{:<44} {:>24} {:>24}  {verdict}\n", line.what, line.published, line.own));
    }
    for one in done {
        if let Ok(run) = &one.run {
            let findings: Vec<String> = run.findings.iter().map(|finding| finding.id.to_string()).collect();
            let findings =
                if findings.is_empty() { String::new() } else { format!(": {}", findings.join(", ")) };
            text.push_str(&format!("{} (run {}): {}{findings}\n", run.name, run.id, run.verdict.word()));
        }
    }
    text
}

/// The job that was measured.
fn measured(run: &Run) -> Option<&JobResult> {
    let phases = run.phases.iter().filter(|phase| phase.kind == PhaseKind::Measure);
    phases.flat_map(|phase| &phase.jobs).next()
}

fn lines(done: &Done, mode: Mode) -> Vec<Line> {
    let (what, published): (&[&str], &[&str]) = match done.kind {
        Kind::MaxRealIo => (&["sequential reads, 8 KiB, 16 x 32 outstanding"], &["12717 IOPS"]),
        Kind::MaxBandwidth => (&["sequential reads, 1 MiB, 16 x 32 outstanding"], &["199.57 MB/s"]),
        Kind::RealLife => (&["random 8 KiB, 80 % reads, 16 x 32 outst."], &["2800 IOPS at 181 ms"]),
        Kind::Silly => (&["sequential reads, 512 bytes, 16 x 32 outst."], &["about 23000 IOPS"]),
        Kind::Mail => (&["mail, transactional I/Os"], &["1013.577 IOPS"]),
        Kind::Oltp => (
            &["OLTP, transactions a minute", "OLTP, new orders a minute"],
            &["17790 TPM (peak 28896)", "7845 NOPM"],
        ),
        Kind::Preparation => (&[], &[]),
    };
    let line = |(index, (what, published)): (usize, (&&'static str, &&'static str))| {
        let (own, obstacles) = match &done.run {
            Err(why) => ("failed".to_owned(), vec![why.clone()]),
            Ok(run) => match measured(run) {
                None => ("failed".to_owned(), vec!["nothing was measured".to_owned()]),
                Some(job) => (value(done.kind, index, job), obstacles(done.kind, mode, run, job)),
            },
        };
        Line { what, published, own, obstacles }
    };
    what.iter().zip(published).enumerate().map(line).collect()
}

fn value(kind: Kind, index: usize, job: &JobResult) -> String {
    let total = &job.total;
    let operation = |name: &str| job.ops.get(name).map_or(0.0, |op| op.iops);
    match kind {
        Kind::MaxBandwidth => format!("{:.2} MB/s", total.bytes_per_s / 1e6),
        Kind::RealLife => {
            let mean = total.completion_ns.mean / 1e6;
            format!("{:.0} IOPS at {mean:.3} ms", total.iops)
        }
        Kind::Mail => format!("{:.3} IOPS", operation("database read") + operation("database write")),
        Kind::Oltp if index == 0 => format!("{:.0} TPM", total.iops * 60.0),
        Kind::Oltp => format!("{:.0} NOPM", operation("new-order") * 60.0),
        _ => format!("{:.0} IOPS", total.iops),
    }
}

/// Why the figure says nothing beside the published one.
fn obstacles(kind: Kind, mode: Mode, run: &Run, job: &JobResult) -> Vec<String> {
    let mut found = Vec::new();
    if run.verdict != Verdict::Valid {
        found.push(format!("the run is {}", run.verdict.word()));
    }
    if mode == Mode::Short {
        found.push("short".to_owned());
    }
    match kind {
        Kind::Mail => found.push("the published engine was Exchange's (ESE)".to_owned()),
        Kind::Oltp => found.push("SQLite in this machine; the published database was a server".to_owned()),
        _ => {
            let active = job.evidence.active_bytes;
            if active < WORKING_SET {
                found.push(format!(
                    "working set of {} instead of 320 GiB",
                    assay_workload::units::Bytes(active)
                ));
            }
            if !job.direct {
                found.push("through the page cache".to_owned());
            }
        }
    }
    found
}
