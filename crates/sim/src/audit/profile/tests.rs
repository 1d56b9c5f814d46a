use super::*;
use assay_workload::rng::Rng;

fn random(seed: u64, block: u32, reads: f64, n: u64) -> Profile {
    let model = Model::shipped("two-brick").unwrap();
    let (mut profile, mut rng, mut now) = (Profile::new(&model), Rng::new(seed), 0);
    for _ in 0..n {
        now += rng.below(20_000);
        let kind = if rng.unit() < reads { OpKind::Read } else { OpKind::Write };
        let offset = rng.below(1 << 18) * 4096;
        profile.add(&model, (0, offset, block), kind, Some(now), Some(1 + rng.below(8) as u32));
    }
    profile
}

fn closeness(a: &Profile, b: &Profile) -> Vec<Closeness> {
    a.compare(b).into_iter().map(|comparison| comparison.closeness).collect()
}

#[test]
fn the_same_workload_with_another_seed_is_alike_in_all_dimensions() {
    let found = closeness(&random(1, 4096, 0.7, 50_000), &random(2, 4096, 0.7, 50_000));
    assert_eq!(found, [Closeness::Alike; 10]);
}

#[test]
fn each_difference_shows_in_its_own_dimension() {
    let base = random(1, 4096, 0.7, 50_000);
    let sized = base.compare(&random(2, 8192, 0.7, 50_000));
    assert_eq!(sized[0].distance, Some(1.0));
    assert_eq!((sized[0].first.as_str(), sized[0].second.as_str()), ("4 KiB", "8 KiB"));
    assert_eq!(sized[1].closeness, Closeness::Alike);
    let mixed = base.compare(&random(2, 4096, 0.6, 50_000));
    assert!((mixed[1].distance.unwrap() - 0.1).abs() < 0.01 && mixed[1].closeness == Closeness::Near);
    let model = Model::shipped("two-brick").unwrap();
    let mut walk = Profile::new(&model);
    (0..50_000).for_each(|i| walk.add(&model, (0, i * 4096, 4096), OpKind::Read, None, None));
    let walked = base.compare(&walk);
    assert_eq!(walked[2].second, "none: sequential");
    assert_eq!(walked[2].closeness, Closeness::Different);
    for dimension in
        [Dimension::InterArrival, Dimension::Burstiness, Dimension::QueueWait, Dimension::Outstanding]
    {
        assert_eq!(of(&walked, dimension).closeness, Closeness::Unknown);
    }
}

fn of(found: &[Comparison], dimension: Dimension) -> &Comparison {
    found.iter().find(|one| one.dimension == dimension).expect("a dimension")
}

fn alike(found: &[Comparison], dimension: Dimension) -> bool {
    of(found, dimension).closeness == Closeness::Alike
}

/// A stream of reads of pages at times.
fn stream(ops: impl Iterator<Item = (u64, u64)>) -> Profile {
    let model = Model::shipped("two-brick").unwrap();
    let mut profile = Profile::new(&model);
    ops.for_each(|(at, page)| profile.add(&model, (0, page * 4096, 4096), OpKind::Read, Some(at), None));
    profile
}

/// Pages as a program uses them that works on one area after the other, and the same in another order.
#[test]
fn the_same_requests_in_another_order_are_another_stream() {
    let mut rng = Rng::new(3);
    let working: Vec<u64> = (0..60_000).map(|at| at / 1000 * 7919 % 100_000 + rng.below(200)).collect();
    let mut shuffled = working.clone();
    rng.shuffle(&mut shuffled);
    let timed = |pages: &[u64]| stream(pages.iter().enumerate().map(|(at, page)| (at as u64 * 1000, *page)));
    let found = timed(&working).compare(&timed(&shuffled));
    assert!(alike(&found, Dimension::SegmentShare) && alike(&found, Dimension::CoreShare));
    let reuse = of(&found, Dimension::ReuseDistance);
    assert!(reuse.closeness == Closeness::Different && reuse.distance.unwrap() > 0.2, "{reuse:?}");
}

/// Bunches of arrivals, and the same times between them in another order.
#[test]
fn the_same_gaps_in_another_order_are_other_arrivals() {
    let mut rng = Rng::new(4);
    let gaps: Vec<u64> = (0..60_000)
        .map(|at| if at / 50 % 2 == 0 { 200 + rng.below(100) } else { 1700 + rng.below(100) })
        .collect();
    let mut shuffled = gaps.clone();
    rng.shuffle(&mut shuffled);
    let arriving = |gaps: &[u64]| {
        let mut rng = Rng::new(5);
        let times = gaps.iter().scan(0, |now, gap| {
            *now += gap;
            Some(*now)
        });
        stream(times.map(|at| (at, rng.below(5000))))
    };
    let found = arriving(&gaps).compare(&arriving(&shuffled));
    assert!(alike(&found, Dimension::InterArrival) && alike(&found, Dimension::SeekDistance));
    for dimension in [Dimension::Burstiness, Dimension::QueueWait] {
        assert_eq!(of(&found, dimension).closeness, Closeness::Different, "{found:#?}");
    }
}

/// A program that changes every few hundred operations between what it does: two captures differ by chance by more than
/// independent operations could.
#[test]
fn the_same_program_captured_twice_is_not_different() {
    let capture = |seed: u64| {
        let model = Model::shipped("two-brick").unwrap();
        let (mut profile, mut rng, mut now) = (Profile::new(&model), Rng::new(seed), 0);
        let (mut area, mut reads, mut gap) = (0, 0.5, 1000);
        for _ in 0..40_000 {
            if rng.unit() < 0.004 {
                (area, reads, gap) = (rng.below(40) * 5000, rng.unit(), 500 + rng.below(2000));
            }
            now += rng.below(gap);
            let kind = if rng.unit() < reads { OpKind::Read } else { OpKind::Write };
            let offset = (area + rng.below(500)) * 4096;
            profile.add(&model, (0, offset, 4096), kind, Some(now), None);
        }
        profile
    };
    let mut different = 0;
    for seed in 0..10 {
        let found = capture(2 * seed).compare(&capture(2 * seed + 1));
        let said = found.iter().filter(|one| one.closeness == Closeness::Different);
        different += said.count();
        // By the number of operations alone, most would be called different.
        assert!(of(&found, Dimension::Mix).error > 0.02, "{:?}", of(&found, Dimension::Mix));
    }
    // Nine dimensions ten times, each wrong in one case of twenty at most.
    assert!(different <= 9, "{different} of 90");
}

#[test]
fn flushes_count() {
    let model = Model::shipped("two-brick").unwrap();
    let writing = |every: u64| {
        let mut profile = Profile::new(&model);
        for at in 0..20_000_u64 {
            profile.add(&model, (0, at % 500 * 4096, 4096), OpKind::Write, None, None);
            if at % every == 0 {
                profile.add(&model, (0, 0, 0), OpKind::Fsync, None, None);
            }
        }
        profile
    };
    let found = writing(4).compare(&writing(u64::MAX));
    let mix = of(&found, Dimension::Mix);
    assert!(mix.closeness == Closeness::Different && mix.first == "0.0 % reads, 20.0 % flushes", "{mix:?}");
}

#[test]
fn what_captures_of_one_program_differ_by_is_no_difference() {
    let base = random(1, 4096, 0.7, 20_000);
    let (repeat, other) = (random(2, 4096, 0.5, 20_000), random(3, 4096, 0.58, 20_000));
    let found = base.compare(&other);
    assert_eq!(of(&found, Dimension::Mix).closeness, Closeness::Near);
    let found = beside_repeats(found, &[base.compare(&repeat)]);
    let mix = of(&found, Dimension::Mix);
    assert!(mix.closeness == Closeness::Alike && (0.17..0.23).contains(&mix.error), "{mix:?}");
    // What differs by more than they do is still different.
    let found = beside_repeats(base.compare(&random(3, 4096, 0.2, 20_000)), &[base.compare(&repeat)]);
    assert_eq!(of(&found, Dimension::Mix).closeness, Closeness::Different);
}
