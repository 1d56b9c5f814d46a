use assay_workload::pattern::{AccessPattern, Mix, Placement};

use super::*;
use crate::answer::{best, quoted};
use crate::checks;
use crate::fixture;
use crate::run::{LatencySummary, Run};

/// Random 4 KiB reads: outstanding, IOPS, p50; sequential MiB/s; p50 of durable writes.
type Device = (&'static [(u64, f64, f64)], Option<f64>, Option<f64>);

/// A run with a phase for each figure.
fn run_of((reads, sequential, durable): Device) -> Run {
    let mut run = fixture::run();
    let (phase, planned) = (run.phases.remove(0), run.plan.phases.remove(0));
    let mut add = |name: String,
                   mix: Mix,
                   block: u64,
                   random: bool,
                   (outstanding, iops, p50_ns): (u64, f64, f64),
                   durable: bool| {
        let (mut phase, mut planned) = (phase.clone(), planned.clone());
        phase.plan_phase = run.plan.phases.len() as u32;
        (phase.name, planned.name) = (name.clone(), name);
        let placement = if random { Placement::random_map() } else { Placement::sequential() };
        planned.jobs[0].pattern = AccessPattern::new(mix, block, placement);
        if durable {
            planned.jobs[0].flush.open = assay_workload::job::OpenSync::Dsync;
        }
        let job = &mut phase.jobs[0];
        job.outstanding_io = outstanding;
        let mut op = job.read.take().expect("the fixture reads");
        op.completion_histogram = None;
        op.completion_ns = LatencySummary { p50: Some(p50_ns as u64), ..op.completion_ns };
        (op.iops, op.bytes_per_s, op.block_size) = (iops, iops * block as f64, block);
        job.total = op.clone();
        if mix == Mix::READ {
            job.read = Some(op)
        } else {
            job.write = Some(op)
        }
        run.phases.push(phase);
        run.plan.phases.push(planned);
    };
    for (outstanding, iops, p50_ns) in reads {
        add(format!("reads {outstanding}"), Mix::READ, 4096, true, (*outstanding, *iops, *p50_ns), false);
    }
    if let Some(mib) = sequential {
        add("sequential".to_owned(), Mix::READ, 1 << 20, false, (8, mib, 8e9 / mib), false);
    }
    if let Some(p50_ns) = durable {
        add("durable".to_owned(), Mix::WRITE, 4096, true, (1, 1e9 / p50_ns, p50_ns), true);
    }
    for phase in &mut run.phases {
        (phase.device, phase.evidence) = (None, Default::default());
    }
    checks::judge(&mut run);
    run
}

fn kinds_of(device: Device) -> Vec<StorageKind> {
    likeness(&quoted(&run_of(device))).kinds
}

#[test]
fn figures_of_known_devices_are_recognised() {
    let nvme: Device = (&[(1, 11e3, 85e3), (32, 300e3, 100e3)], Some(3000.0), Some(1.2e6));
    let sata: Device = (&[(1, 8e3, 120e3), (32, 90e3, 340e3)], Some(530.0), Some(900e3));
    let disk: Device = (&[(1, 80.0, 12e6), (32, 260.0, 110e6)], Some(180.0), Some(16e6));
    let volume: Device = (&[(1, 1500.0, 650e3), (32, 30e3, 1.0e6)], Some(250.0), Some(1.4e6));
    let memory: Device = (&[(1, 200e3, 4e3), (32, 900e3, 30e3)], Some(9000.0), Some(5e3));
    assert_eq!(kinds_of(nvme), [StorageKind::Nvme]);
    // Throughput of a fast SATA SSD is that of a slow NVMe one, too.
    assert_eq!(kinds_of(sata), [StorageKind::Nvme, StorageKind::SataSsd]);
    assert_eq!(kinds_of((&[(1, 4e3, 240e3), (32, 60e3, 500e3)], Some(400.0), None))[0], StorageKind::SataSsd);
    assert_eq!(kinds_of(disk), [StorageKind::HardDisk]);
    assert_eq!(kinds_of(volume), [StorageKind::Network]);
    assert_eq!(kinds_of(memory), [StorageKind::Memory]);
}

#[test]
fn a_slow_volume_is_told_from_a_disk_by_what_it_does_side_by_side() {
    assert_eq!(kinds_of((&[(1, 250.0, 4e6), (32, 6e3, 5e6)], Some(100.0), None)), [StorageKind::Network]);
    assert_eq!(kinds_of((&[(1, 120.0, 8e6), (32, 400.0, 80e6)], Some(100.0), None)), [StorageKind::HardDisk]);
}

#[test]
fn what_lacks_the_figures_cannot_be_told() {
    assert!(kinds_of((&[], Some(500.0), None)).is_empty());
    assert!(kinds_of((&[], Some(500.0), Some(2e6))).is_empty(), "several kinds flush in 2 ms");
    // Reads as from memory and flushes as of a disk: a cache in front.
    let run = run_of((&[(1, 200e3, 4e3)], None, Some(12e6)));
    let quoted = quoted(&run);
    let found = likeness(&quoted);
    assert!(found.kinds.is_empty());
    assert_eq!(found.read.expect("reads").kinds, [StorageKind::Memory]);
    // Latency with many outstanding says only what the storage is not slower than.
    assert!(kinds_of((&[(32, 30e3, 1.0e6)], None, None)).len() != 1);
}

#[test]
fn reads_from_the_page_cache_and_the_null_engine_are_no_storage() {
    let mut run = run_of((&[(1, 11e3, 85e3)], None, None));
    run.phases[0].jobs[0].cached_read_share = Some(0.5);
    assert!(likeness(&quoted(&run)).read.is_none());
    run.phases[0].jobs[0].cached_read_share = None;
    assert!(likeness(&quoted(&run)).read.is_some());
    run.plan.phases[0].jobs[0].engine = assay_workload::plan::PlannedEngine::Null;
    assert!(likeness(&quoted(&run)).read.is_none());
}

#[test]
fn the_best_figures_are_valid_ones_where_there_are_some() {
    let mut run = run_of((&[(1, 11e3, 85e3), (32, 300e3, 100e3)], Some(3000.0), None));
    let named = |run: &Run| {
        let quoted = quoted(run);
        let best = best(&quoted).expect("figures");
        let names = [best.iops, best.bandwidth, best.latency];
        names.map(|quoted| quoted.expect("a figure").row.name.clone())
    };
    assert_eq!(named(&run), ["reads 32", "sequential", "reads 1"]);
    run.rows[1].verdict = Verdict::Suspect;
    assert_eq!(named(&run), ["reads 1", "sequential", "reads 1"]);
    run.rows.iter_mut().for_each(|row| row.verdict = Verdict::Suspect);
    assert_eq!(named(&run), ["reads 32", "sequential", "reads 1"]);
    run.rows.iter_mut().for_each(|row| row.verdict = Verdict::Invalid);
    assert!(best(&quoted(&run)).is_none());
}
