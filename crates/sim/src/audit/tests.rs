use assay_workload::job::{Job, Limits, Phase};
use assay_workload::lun;
use assay_workload::pattern::{Mix, Random, Sequential, Zone, ZoneSize};
use assay_workload::target::Extent;
use assay_workload::units::Nanos;

use super::*;

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

fn random(distribution: Distribution) -> Placement {
    Placement::Random(Random { distribution, once_per_pass: false })
}

fn hit_area(mib: u64) -> Placement {
    random(Distribution::HitArea { read_percent: 75.0, write_percent: 10.0, bytes: mib * MIB })
}

fn hotband(corrected: bool) -> Placement {
    random(Distribution::Hotband { low_bytes: 0, high_bytes: 16 * GIB, corrected })
}

fn job(name: &str, mix: Mix, block: u64, placement: Placement) -> Job {
    let limits = Limits { time: Some(Nanos::from_secs(60)), ..Limits::default() };
    lun::job(name, AccessPattern::new(mix, block, placement), 32, limits)
}

fn plan_of(jobs: Vec<Job>) -> Plan {
    lun::plan(5, 16 * GIB, vec![Phase::measure("measure", jobs)]).unwrap()
}

fn two_brick() -> Model {
    Model::shipped("two-brick").unwrap()
}

fn audit_of(jobs: Vec<Job>) -> Audit {
    audit(&plan_of(jobs), &two_brick(), &AuditOptions::default())
}

fn reads(placement: Placement) -> Audit {
    audit_of(vec![job("reads", Mix::READ, 4096, placement)])
}

fn ids(audit: &Audit) -> Vec<&str> {
    audit.findings.iter().map(|finding| finding.id.as_str()).collect()
}

/// The published case and what vdbench's own address trace showed: 16 GiB, 4 KiB, 8 cores, segments of 1 MiB.
#[test]
fn the_table_of_the_case() {
    let rows = [
        (hit_area(1), 78.1, 6.25),
        (hit_area(2), 40.6, 3.25),
        (hit_area(4), 21.9, 1.75),
        (hit_area(8), 12.5, 1.00),
        (hit_area(12), 15.6, 1.25),
        (hit_area(16), 12.5, 1.00),
        (hotband(false), 39.8, 3.19),
        (hotband(true), 12.6, 1.01),
        (Placement::random_independent(), 12.5, 1.00),
    ];
    for (placement, busiest_percent, max_over_mean) in rows {
        let audit = reads(placement.clone());
        let entry = &audit.jobs[0];
        assert_eq!((entry.method, entry.cores.len()), (Method::ClosedForm, 8));
        let busiest = entry.cores.iter().copied().fold(0.0, f64::max) * 100.0;
        assert!((busiest - busiest_percent).abs() < 0.2, "{placement:?}: {busiest} for {busiest_percent}");
        assert!((entry.max_over_mean - max_over_mean).abs() < 0.02, "{placement:?}: {}", entry.max_over_mean);
        assert!((entry.cores.iter().sum::<f64>() - 1.0).abs() < 1e-9);
    }
}

/// Measured with vdbench: 32.7 % of hotband reads fall into the first MiB; the hottest MiB of writes over 16 GiB is the
/// one a hundredth of the band in.
#[test]
fn the_hottest_segments_are_the_measured_ones() {
    let audit = audit_of(vec![job("mixed", Mix::read_write(50.0), 4096, hotband(false))]);
    let (read, write) = (&audit.jobs[0], &audit.jobs[1]);
    let top = &read.segments_top[0];
    assert_eq!((top.target.as_str(), top.offset), ("lun", 0));
    assert!((top.share - 0.327).abs() < 0.002, "{}", top.share);
    let hundredth = 16 * GIB / 4096 / 100 * 4096 / MIB;
    assert_eq!(write.segments_top[0].offset / MIB, hundredth);
    let busiest = write.cores.iter().copied().fold(0.0, f64::max);
    assert!((busiest - 0.254).abs() < 0.01, "{busiest}");
    assert!(read.segments_top.windows(2).all(|pair| pair[0].share >= pair[1].share));
    assert_eq!(read.segments_top.len(), 10);
}

/// Every closed form against the generator: core shares within the drawing error.
#[test]
fn closed_forms_agree_with_the_generator() {
    let zones = vec![
        Zone { access_percent: 60.0, size: ZoneSize::Bytes(3 * MIB) },
        Zone { access_percent: 30.0, size: ZoneSize::RangePercent(20.0) },
        Zone { access_percent: 10.0, size: ZoneSize::RangePercent(80.0) },
    ];
    let stride = Sequential { skip_min_bytes: 3 * MIB, skip_max_bytes: 3 * MIB, ..Sequential::default() };
    let placements = [
        hit_area(3),
        hotband(false),
        random(Distribution::Zoned(zones)),
        random(Distribution::Normal { stddev_percent: 0.01, scattered: false }),
        random(Distribution::Exponential { midpoint: 3000.0 }),
        random(Distribution::Zipf { theta: 1.2 }),
        random(Distribution::Pareto { h: 0.05 }),
        Placement::random_map(),
        Placement::Sequential(stride),
    ];
    for placement in placements {
        let sizes = [(4096, None), (65_536, Some(4096)), (6144, Some(512))];
        let count = if scatters(&placement) { 1 } else { 3 };
        for (block, align) in sizes.into_iter().take(count) {
            let mut job = job("mixed", Mix::read_write(60.0), block, placement.clone());
            job.pattern.align_bytes = align;
            job.offset = Extent::Bytes(MIB / 2);
            let plan = plan_of(vec![job]);
            let model = two_brick();
            let options = AuditOptions { draws: 100_000, ..AuditOptions::default() };
            let auditor = Auditor { targets: &["lun".to_owned()], model: &model, options: &options };
            let audit = audit(&plan, &model, &options);
            let stream = auditor.stream(&plan.phases[0].jobs[0]);
            for (entry, kind) in audit.jobs.iter().zip([OpKind::Read, OpKind::Write]) {
                let drawn = stream.density(kind);
                let drawn_cores = shares::of_cores(&drawn, &model.front_end);
                for (closed, drawn_share) in entry.cores.iter().zip(&drawn_cores) {
                    // A request over two segments counts for both when drawn, and in part when computed.
                    let tolerance = drawn.error + entry.error + entry.crossing * closed;
                    let difference = (closed - drawn_share).abs();
                    assert!(difference < tolerance, "{placement:?} {block}: {closed} {drawn_share}");
                }
            }
        }
    }
}

#[test]
fn what_has_no_closed_form_is_drawn_with_its_error() {
    let mixed = Placement::Mixed {
        random_percent: 10.0,
        random: Random {
            distribution: Distribution::HitArea { read_percent: 75.0, write_percent: 0.0, bytes: MIB },
            once_per_pass: false,
        },
        sequential: Sequential::default(),
    };
    let audit = reads(mixed);
    let entry = &audit.jobs[0];
    assert_eq!(entry.method, Method::Drawn);
    assert!(entry.error > 0.0 && entry.error < 0.005, "{}", entry.error);
    assert!((9.0..11.0).contains(&entry.sequential_run_ios), "{}", entry.sequential_run_ios);
    assert!(entry.max_over_mean > 5.0, "{}", entry.max_over_mean);
}

/// A trace of the case: what was counted agrees with what is computed.
#[test]
fn a_trace_is_audited_by_the_same_measures() {
    let model = two_brick();
    let computed = &reads(hit_area(1)).jobs[0];
    let plan = plan_of(vec![job("reads", Mix::READ, 4096, hit_area(1))]);
    let mut generator = generator(&plan.phases[0].jobs[0], &plan.phases[0].jobs[0].slices[0]);
    let mut stream = StreamAudit::new(&model, 1);
    let mut block = OpBlock::default();
    for _ in 0..3000 {
        generator.fill(&mut block);
        block.ops.iter().for_each(|op| stream.add(op.target, op.kind, op.offset_bytes, op.len_bytes));
    }
    let audit = audit_stream("trace", &["lun".to_owned()], &stream, &model, &AuditOptions::default());
    let counted = &audit.jobs[0];
    assert_eq!((counted.method, counted.segments_top[0].offset), (Method::Drawn, 0));
    assert!((counted.max_over_mean / computed.max_over_mean - 1.0).abs() < 0.02, "{}", counted.max_over_mean);
    assert!(counted.reuse.p50_bytes.unwrap() < 64 * MIB, "{:?}", counted.reuse);
    assert_eq!(ids(&audit), ["hot-area-imbalance"]);
}

#[test]
fn working_sets_hold_what_they_say() {
    let hit = &reads(hit_area(1)).jobs[0];
    assert_eq!(hit.working_set.p50_bytes, MIB * 2 / 3);
    // 75 % in the first MiB, and 15 of the other 25 % in 15 / 25 of the rest.
    let p90 = MIB as f64 + 0.6 * (16 * GIB - MIB) as f64;
    assert!((hit.working_set.p90_bytes as f64 / p90 - 1.0).abs() < 1e-3, "{}", hit.working_set.p90_bytes);
    let uniform = &reads(Placement::random_independent()).jobs[0];
    assert!((uniform.working_set.p99_bytes as f64 / (0.99 * 16e9 * 1.073_741_824) - 1.0).abs() < 1e-3);
    let zipf = &reads(random(Distribution::Zipf { theta: 1.2 })).jobs[0];
    // The sum of the first k of 4194304 terms reaches 90 % of them all at k = 20 thousand and a few.
    let blocks = zipf.working_set.p90_bytes / 4096;
    let sum = |n: u64| (1..=n).map(|i| (i as f64).powf(-1.2)).sum::<f64>();
    let share = sum(blocks) / sum(16 * GIB / 4096);
    assert!((share - 0.9).abs() < 0.002, "{blocks}: {share}");
}

#[test]
fn a_cache_is_expected_to_answer_what_fits() {
    let audit = reads(hit_area(1));
    let expected = audit.jobs[0].reuse.caches[0];
    assert_eq!(expected.bytes, two_brick().cache.unwrap().size.0);
    let part = expected.bytes as f64 / (16 * GIB) as f64;
    let ratio = 0.75 + 0.25 * part.min(1.0);
    assert!((expected.hit_ratio - ratio).abs() < 0.01, "{}", expected.hit_ratio);
    let walk = &reads(Placement::sequential()).jobs[0];
    assert_eq!(walk.reuse.p50_bytes, Some(16 * GIB), "all of it comes in between");
}

#[test]
fn a_hit_area_is_repaired_by_a_multiple_of_cores_and_segment() {
    for (mib, repaired) in [(1, "8m"), (8, ""), (9, "16m"), (12, "16m")] {
        let audit = reads(hit_area(mib));
        let finding = audit.findings.iter().find(|finding| finding.id == "hot-area-imbalance");
        assert_eq!(finding.is_some(), !repaired.is_empty(), "{mib}");
        if let Some(finding) = finding {
            assert!(finding.advice.contains(&format!("hitarea={repaired})")), "{}", finding.advice);
            let left = finding.evidence["repaired_over_mean"].as_f64().unwrap();
            assert!((left - 1.0).abs() < 0.01, "{left}");
        }
    }
    let severe = &reads(hit_area(1)).findings[0];
    assert_eq!(severe.severity, assay_results::FindingSeverity::Warning);
    assert!(severe.message.starts_with("78.1 % of the reads go to one core of 8"), "{}", severe.message);
}

#[test]
fn a_hotband_is_repaired_by_its_units_or_by_staggering() {
    let audit = reads(hotband(false));
    let finding = &audit.findings[0];
    assert_eq!(finding.id, "hot-area-imbalance");
    assert!(
        finding.advice.contains("corrected (busiest core then 1.01 times the mean)"),
        "{}",
        finding.advice
    );
    assert!(finding.advice.contains("split the workload into 8"), "{}", finding.advice);
    let staggered = finding.advice.rsplit("busiest core then ").next().unwrap();
    let over_mean: f64 = staggered.split(' ').next().unwrap().parse().unwrap();
    assert!(over_mean < 1.02, "{over_mean}");
    assert!(!ids(&reads(hotband(true))).contains(&"hot-area-imbalance"));
}

/// Measured with vdbench: eight workloads whose bands are one segment apart have 1.009 times the mean.
#[test]
fn jobs_that_complement_each_other_are_balanced_together() {
    let jobs = (0..8).map(|i| {
        let band = Distribution::Hotband {
            low_bytes: (8 + i) * MIB,
            high_bytes: (16_000 + i) * MIB,
            corrected: false,
        };
        job(&format!("hb{i}"), Mix::READ, 4096, random(band))
    });
    let audit = audit_of(jobs.collect());
    assert!(audit.jobs.iter().all(|entry| entry.max_over_mean > 2.5));
    assert!(audit.phases[0].max_over_mean < 1.01, "{}", audit.phases[0].max_over_mean);
    assert!(!ids(&audit).contains(&"hot-area-imbalance"), "{:?}", ids(&audit));
}

#[test]
fn strides_that_meet_one_core_only_are_found() {
    let skip = 8 * MIB - 4096;
    let stride = Sequential { skip_min_bytes: skip, skip_max_bytes: skip, ..Sequential::default() };
    let audit = reads(Placement::Sequential(stride));
    assert!((audit.jobs[0].max_over_mean - 8.0).abs() < 1e-6);
    assert!(audit.findings[0].advice.contains("stride"), "{}", audit.findings[0].advice);
}

#[test]
fn other_traps_of_addresses() {
    let mut walks = job("walks", Mix::READ, 65_536, Placement::sequential());
    walks.threads = 4;
    walks.outstanding_per_thread = 1;
    assert_eq!(ids(&audit_of(vec![walks])), ["overlapping-walks", "few-cores-at-a-time"]);
    let mut odd = job("odd", Mix::READ, 300_000, Placement::random_independent());
    odd.pattern.align_bytes = Some(1000);
    let audit = audit_of(vec![odd]);
    assert_eq!(ids(&audit), ["crossing-segments", "misaligned-offsets"]);
    assert!((audit.jobs[0].crossing - 0.286).abs() < 0.01, "{}", audit.jobs[0].crossing);
    let mut small = job("small", Mix::READ, 4096, Placement::random_independent());
    small.length = Some(Extent::Bytes(GIB));
    assert_eq!(ids(&audit_of(vec![small])), ["working-set-fits-cache"]);
}

#[test]
fn a_plain_random_load_is_not_objected_to() {
    let audit = audit_of(vec![job("plain", Mix::read_write(70.0), 8192, Placement::random_map())]);
    assert_eq!(ids(&audit), Vec::<&str>::new());
    assert_eq!(audit.schema, "assay.audit/1");
    let text = serde_json::to_string(&audit).unwrap();
    assert_eq!(serde_json::from_str::<Audit>(&text).unwrap(), audit);
}

#[test]
fn a_hash_layout_is_asked_segment_by_segment() {
    let cluster = Model::shipped("cluster-4").unwrap();
    let plan = plan_of(vec![job("reads", Mix::READ, 4096, hit_area(1))]);
    let audit = audit(&plan, &cluster, &AuditOptions::default());
    let entry = &audit.jobs[0];
    assert_eq!((entry.cores.len(), entry.controllers.len()), (32, 4));
    assert!(entry.max_over_mean > 20.0, "{}", entry.max_over_mean);
    let owner = cluster.front_end.core_of(0) as usize;
    assert!(entry.cores[owner] > 0.75);
}

/// The two-brick array, but with 8 KiB of data placed by their hash.
fn by_content(content: assay_workload::content::Content, read_back: bool) -> Audit {
    let mut model = two_brick();
    model.front_end.layout = crate::model::Layout::Content;
    model.front_end.segment = crate::model::Size(8192);
    let mut writes = job("writes", Mix::WRITE, 8192, Placement::random_independent());
    writes.content = content;
    let mut phases = vec![Phase::measure("writes", vec![writes])];
    if read_back {
        let reads = job("reads", Mix::READ, 8192, Placement::random_independent());
        phases.push(Phase::measure("reads", vec![reads]));
    }
    let plan = lun::plan(5, 16 * GIB, phases).unwrap();
    audit(&plan, &model, &AuditOptions::default())
}

#[test]
fn zeros_and_patterns_all_go_to_one_core_where_content_places_them() {
    use assay_workload::content::{Content, Payload};
    for payload in [Payload::Zero, Payload::Pattern(vec![0xab, 0xcd])] {
        let audit = by_content(Content { payload, ..Content::default() }, true);
        assert_eq!(
            ids(&audit),
            ["content-imbalance", "content-imbalance"],
            "writes, and reads of what was written"
        );
        for entry in &audit.jobs {
            assert!((entry.max_over_mean - 8.0).abs() < 1e-9, "{}", entry.max_over_mean);
            assert_eq!(entry.repeated_data_share, Some(1.0));
        }
        assert!(audit.findings[0].message.starts_with("100.0 % of the writes go to one core of 8"));
        assert!(
            audit.findings[0]
                .bias
                .as_ref()
                .is_some_and(|bias| bias.starts_with("IOPS low: without it up to 8.0 times as many")),
            "{:?}",
            audit.findings[0].bias
        );
        assert!(audit.findings[0].effect.is_some_and(|effect| (effect.low + 7.0).abs() < 1e-9));
    }
}

#[test]
fn duplicates_of_a_small_pool_load_the_cores_unevenly_and_unique_data_does_not() {
    use assay_workload::content::{Content, Refresh};
    // Nine of ten blocks are one of 16: their hashes cannot be two on each of eight cores but by luck.
    let duplicates = Content {
        dedup_ratio: 10.0,
        dedup_unit_bytes: 8192,
        refresh: Refresh::EveryWrite,
        ..Content::default()
    };
    let audit = by_content(duplicates, false);
    let repeated = audit.jobs[0].repeated_data_share.unwrap();
    assert!((repeated - 0.9).abs() < 0.03, "{repeated}");
    assert_eq!(ids(&audit), ["content-imbalance"], "{:?}", audit.jobs[0].cores);
    for content in [Content::default(), Content { refresh: Refresh::EveryWrite, ..Content::default() }] {
        let audit = by_content(content, true);
        assert!(ids(&audit).is_empty(), "{:?}", audit.findings);
        assert!(audit.jobs.iter().all(|entry| (entry.max_over_mean - 1.0).abs() < 1e-9));
    }
}

#[test]
fn buffers_that_are_written_again_and_again_are_as_many_contents_as_buffers() {
    use assay_workload::content::{Content, Refresh};
    let audit = by_content(Content { refresh: Refresh::Never, ..Content::default() }, false);
    // 32 outstanding: 32 contents on eight cores.
    assert_eq!(audit.jobs[0].repeated_data_share, Some(1.0));
    assert!(audit.jobs[0].max_over_mean > 1.2, "{:?}", audit.jobs[0].cores);
}

#[test]
fn an_array_that_places_by_address_does_not_look_at_the_data() {
    use assay_workload::content::{Content, Payload};
    let mut writes = job("writes", Mix::WRITE, 8192, Placement::random_independent());
    writes.content = Content { payload: Payload::Zero, ..Content::default() };
    let audit = audit_of(vec![writes]);
    assert!(ids(&audit).is_empty());
    assert_eq!(audit.jobs[0].repeated_data_share, None);
}
