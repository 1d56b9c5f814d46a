use assay_results::interval::{IntervalKey, JobCounts};
use assay_workload::units::Nanos;

use super::*;

const INTERVAL: Duration = Duration::from_secs(1);

fn endings(ends_with: &[Option<EndsWith>]) -> Endings {
    let flag = || Arc::new(AtomicBool::new(false));
    Endings {
        all: flag(),
        flags: ends_with.iter().map(|_| flag()).collect(),
        ends_with: ends_with.to_vec(),
        steady: ends_with.iter().map(|_| None).collect(),
    }
}

fn set(endings: &Endings, threads: &[(usize, bool)]) -> Vec<bool> {
    endings.look(threads.iter().copied());
    endings.flags.iter().map(|flag| flag.load(Ordering::Relaxed)).collect()
}

#[test]
fn the_first_that_ends_ends_those_that_say_so() {
    let first = Some(EndsWith::First);
    let endings = endings(&[first, first, None]);
    assert_eq!(set(&endings, &[(0, false), (0, false), (1, false), (2, true)]), [false, false, false]);
    assert_eq!(set(&endings, &[(0, false), (0, true), (1, false), (2, true)]), [true, true, false]);
}

#[test]
fn a_job_ends_when_all_others_have() {
    let others = Some(EndsWith::Others);
    let endings = endings(&[None, None, others]);
    assert_eq!(set(&endings, &[(0, true), (1, false), (2, false)]), [false, false, false]);
    assert_eq!(set(&endings, &[(0, true), (1, true), (2, false)]), [false, false, true]);
    let alone = self::endings(&[others]);
    assert_eq!(set(&alone, &[(0, false)]), [false], "nobody is left to wait for");
}

#[test]
fn an_end_from_outside_reaches_all() {
    let endings = endings(&[Some(EndsWith::First), None]);
    endings.all.store(true, Ordering::Relaxed);
    assert_eq!(set(&endings, &[(0, false), (1, false)]), [true, true]);
}

fn interval(index: u32, ios: u64, length_ns: u64) -> Interval {
    let mut counts = JobCounts::default();
    counts.ops[0].ios = ios;
    let key = IntervalKey { phase: 0, job: 0, index, ramp: false, start_ns: 0, length_ns };
    Interval { key, counts }
}

#[test]
fn a_job_is_steady_where_fio_would_end_it() {
    let limit = SteadyLimit {
        figure: SteadyFigure::Iops,
        slope: false,
        percent_max: 5.0,
        window: Nanos::from_secs(3),
        skip: Nanos::from_secs(2),
    };
    let mut watch = Watch::new(limit, INTERVAL);
    let second = 1_000_000_000;
    let fed: Vec<bool> = [100, 100, 100, 100, 200, 100, 102, 101]
        .into_iter()
        .zip(0..)
        .map(|(ios, index)| watch.feed(&interval(index, ios, second)))
        .collect();
    assert_eq!(fed, [false, false, false, false, false, false, false, true]);
    assert!(
        watch.describe().starts_with("steady after 6 intervals: IOPS 0.99 % of the mean"),
        "{}",
        watch.describe()
    );
    let mut watch = Watch::new(limit, INTERVAL);
    for (index, ios) in [(2, 100), (3, 100), (4, 50)] {
        assert!(!watch.feed(&interval(index, ios, second)));
    }
    assert!(watch.feed(&interval(4, 52, second)), "what a late thread adds belongs to its period");
    let mut watch = Watch::new(limit, INTERVAL);
    for index in 0..4 {
        assert!(!watch.feed(&interval(index, 100, second)));
    }
    assert!(!watch.feed(&interval(4, 50, second / 2)), "the tail is not compared");
    assert!(watch.describe().starts_with("not steady"), "{}", watch.describe());
}
