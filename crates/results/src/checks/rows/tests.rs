use proptest::prelude::*;

use super::*;
use crate::checks::judge;
use crate::fixture::repeated;
use crate::run::Effect;

const FIVE: [f64; 5] = [1000.0, 1010.0, 990.0, 1005.0, 995.0];

/// The run with the hypervisor taking so much of these repetitions.
fn stolen(iops: &[f64], windows: &[usize], share: f64) -> Run {
    let mut run = repeated(iops);
    for window in windows {
        run.phases[*window].evidence.steal_share = Some(share);
    }
    judge(&mut run);
    run
}

fn with(mut iops: [f64; 5], windows: &[usize], factor: f64) -> [f64; 5] {
    windows.iter().for_each(|window| iops[*window] *= factor);
    iops
}

#[test]
fn one_disturbed_repetition_of_five_leaves_the_median_valid() {
    let run = stolen(&with(FIVE, &[3], 0.7), &[3], 0.3);
    assert_eq!(run.verdict, Verdict::Valid, "{:#?}", run.findings);
    assert_eq!((run.rows[0].verdict, run.rows[0].disturbed.as_slice()), (Verdict::Valid, &[3][..]));
    let note = run.findings.iter().find(|finding| finding.id == "throttled").expect("it is still told");
    assert_eq!((note.severity, note.repeat), (FindingSeverity::Info, Some(3)));
    assert_eq!(note.evidence["set_aside"], true);
}

#[test]
fn two_disturbed_repetitions_of_five_make_it_suspect() {
    let run = stolen(&with(FIVE, &[1, 3], 0.7), &[1, 3], 0.3);
    assert_eq!((run.verdict, run.rows[0].verdict), (Verdict::Suspect, Verdict::Suspect));
    assert_eq!(run.rows[0].causes, ["throttled", "outlier-run"]);
    assert!(
        run.rows[0].because.as_deref().unwrap_or_default().starts_with("vCPU steal was 30 %"),
        "{}",
        run.rows[0].because.as_deref().unwrap_or_default()
    );
    assert!(run.rows[0].disturbed.is_empty());
}

#[test]
fn of_few_repetitions_each_counts() {
    for iops in [&FIVE[..1], &FIVE[..3], &FIVE[..4]] {
        assert_eq!(stolen(iops, &[0], 0.3).verdict, Verdict::Suspect, "{}", iops.len());
    }
}

#[test]
fn repetitions_that_scatter_excuse_no_relevant_effect() {
    let scattered = [1000.0, 1200.0, 850.0, 1100.0, 900.0];
    let run = stolen(&scattered, &[0, 1, 2, 3, 4], 0.06);
    assert_eq!(run.verdict, Verdict::Suspect, "what takes the CPU scatters them: {:#?}", run.findings);
    assert_eq!(stolen(&FIVE, &[0, 1, 2, 3, 4], 0.06).verdict, Verdict::Suspect, "known to 1 %");
}

/// A repetition that others held back widens the interval of all five, and must not excuse what all of them suffer from.
#[test]
fn an_interval_that_a_disturbance_made_excuses_nothing() {
    let mut run = repeated(&with(FIVE, &[3], 0.4));
    run.phases.iter_mut().for_each(|phase| phase.evidence.steal_share = Some(0.1));
    judge(&mut run);
    assert_eq!(run.verdict, Verdict::Suspect, "{:#?}", run.findings);
}

#[test]
fn an_outlier_is_a_disturbed_repetition_of_its_row() {
    let mut run = repeated(&[1000.0, 1010.0, 990.0, 1005.0, 400.0, 995.0, 1002.0]);
    judge(&mut run);
    assert_eq!(run.verdict, Verdict::Valid, "{:#?}", run.findings);
    assert_eq!(run.rows[0].disturbed, [4]);
    assert!(run.findings.iter().any(|finding| finding.id == "outlier-run"));
}

#[test]
fn each_row_has_its_own_verdict_and_the_run_the_gravest() {
    let mut run = repeated(&[1000.0]);
    let mut other = run.phases[0].clone();
    other.name = "other".to_owned();
    other.jobs[0].errors = 1;
    other.evidence.steal_share = Some(0.3);
    run.phases.push(other);
    judge(&mut run);
    let verdicts: Vec<_> = run.rows.iter().map(|row| (row.name.as_str(), row.verdict)).collect();
    assert_eq!(verdicts[0], ("measure", Verdict::Valid));
    assert_ne!(verdicts[1].1, Verdict::Valid);
    assert_eq!(run.verdict, verdicts[1].1);
}

#[test]
fn a_single_window_is_known_as_well_as_its_periods_tell() {
    let mut run = repeated(&[1000.0]);
    let point = run.phases[0].jobs[0].series[0];
    let course = |scatter: f64| {
        (0..40_u32).map(move |i| {
            let noise = f64::from(i * 7919 % 41) / 20.0 - 1.0;
            crate::run::SeriesPoint { start_s: f64::from(i), iops: 1000.0 * (1.0 + scatter * noise), ..point }
        })
    };
    let width = |run: &Run| half_width(&run.rows[0].figure).unwrap();
    let widths = [0.01, 0.1].map(|scatter| {
        run.phases[0].jobs[0].series = course(scatter).collect();
        judge(&mut run);
        width(&run)
    });
    assert!(widths[0] < 0.01 && widths[1] > 5.0 * widths[0], "{widths:?}");
}

/// A quota of half a processor stops the job half of each period: it makes the window's scatter, and is no smaller for it.
#[test]
fn a_quota_does_not_excuse_itself_by_the_scatter_it_makes() {
    for held_back in [0.1, 0.25, 0.5, 0.75] {
        for seed in 1..=20_u32 {
            let mut run = repeated(&[1000.0]);
            let point = run.phases[0].jobs[0].series[0];
            // Reporting periods beat with those of the quota: of each, another share is without a processor.
            run.phases[0].jobs[0].series = (0..20_u32)
                .map(|i| {
                    let beat = f64::from((i * 7919 + seed * 104_729) % 41) / 20.0 - 1.0;
                    let iops = 1000.0 * (1.0 - held_back) * (1.0 + beat);
                    crate::run::SeriesPoint { start_s: f64::from(i), iops, ..point }
                })
                .collect();
            let span_ns = run.phases[0].evidence.span_ns;
            run.phases[0].evidence.throttled_ns = Some((held_back * span_ns as f64) as u64);
            judge(&mut run);
            let quota =
                run.findings.iter().find(|finding| finding.id == "throttled").expect("a quota held it back");
            assert_eq!(quota.severity, FindingSeverity::Warning, "{held_back} {seed}: {:#?}", run.rows);
            assert_eq!(run.verdict, Verdict::Suspect);
        }
    }
}

proptest! {
    /// Which repetition is disturbed and how much changes nothing; two are too many.
    #[test]
    fn one_of_five_is_set_aside_and_two_are_not(one in 0_usize..5, two in 0_usize..5, share in 0.1..0.9_f64) {
        let run = stolen(&with(FIVE, &[one], 1.0 - share), &[one], share);
        prop_assert_eq!(run.verdict, Verdict::Valid);
        prop_assert_eq!(&run.rows[0].disturbed, &vec![one as u32]);
        if one != two {
            let run = stolen(&with(FIVE, &[one, two], 1.0 - share), &[one, two], share);
            prop_assert_eq!(run.verdict, Verdict::Suspect);
        }
    }

    /// The median that is quoted lies where it would lie without the disturbance, within the interval that is quoted.
    #[test]
    fn what_is_set_aside_does_not_move_the_median_out_of_the_interval(
        values in proptest::collection::vec(900.0..1100.0_f64, 5..12),
        truth in 0.0..3000.0_f64,
        at in 0_usize..12,
    ) {
        let at = at % values.len();
        if tolerable(&values, &[at]) {
            let mut undisturbed = values.clone();
            undisturbed[at] = truth;
            let interval = median_interval(&values).unwrap();
            prop_assert!(interval.contains(median(&undisturbed).unwrap()));
        }
    }

    #[test]
    fn more_that_was_disturbed_is_never_more_tolerable(values in proptest::collection::vec(900.0..1100.0_f64, 1..12)) {
        let more: Vec<usize> = (0..values.len()).collect();
        for k in 1..values.len() {
            prop_assert!(!tolerable(&values, &more[..=k]) || tolerable(&values, &more[..k]));
        }
    }

    /// A larger effect on a row never lowers its verdict.
    #[test]
    fn a_larger_effect_never_lowers_the_verdict(a in 0.05..0.9_f64, b in 0.05..0.9_f64) {
        let of = |share: f64| stolen(&FIVE, &[0, 1, 2, 3, 4], share).verdict;
        prop_assert!(of(a.min(b)) <= of(a.max(b)));
    }
}

#[test]
fn an_effect_is_a_number() {
    assert_eq!(Effect::high(f64::INFINITY).map(|effect| effect.largest()), Some(1000.0));
    assert_eq!(Effect::high(f64::NAN), None);
}

/// The first repetition lost little and another a lot: the row says what is worst, as the line of its cause does.
#[test]
fn a_row_names_the_worst_of_its_cause() {
    let mut run = repeated(&FIVE[..3]);
    for (phase, share) in run.phases.iter_mut().zip([0.1, 0.4, 0.2]) {
        phase.evidence.steal_share = Some(share);
    }
    judge(&mut run);
    assert!(
        run.rows[0].because.as_deref().unwrap_or_default().starts_with("vCPU steal was 40 %"),
        "{}",
        run.rows[0].because.as_deref().unwrap_or_default()
    );
}

/// As recorded under a quota of 20 % of a CPU: other processes took up to 8.8 %, the quota up to 1.7 times the figure.
#[test]
fn a_row_names_the_cause_of_the_largest_effect() {
    const SECOND: u64 = crate::fixture::SECOND;
    let mut run = crate::fixture::run();
    let evidence = &mut run.phases[0].jobs[0].evidence;
    evidence.run_queue_ns = Some(65 * 5 * SECOND / 100);
    run.phases[0].evidence.throttled_ns = Some(57 * 5 * SECOND / 100);
    judge(&mut run);
    let grave: Vec<&str> = run
        .findings
        .iter()
        .filter(|finding| finding.severity == FindingSeverity::Warning)
        .map(|finding| finding.id.as_str())
        .collect();
    assert_eq!(grave, ["throttled", "generator-bound"]);
    assert_eq!(run.rows[0].causes, grave);
    assert!(
        run.rows[0].because.as_deref().unwrap_or_default().starts_with("a CPU quota"),
        "{}",
        run.rows[0].because.as_deref().unwrap_or_default()
    );
    // What has no number comes behind what has one, and the gravest before both.
    run.phases[0].jobs[0].errors = 1;
    judge(&mut run);
    let severities: Vec<FindingSeverity> = run.findings.iter().map(|finding| finding.severity).collect();
    assert!(severities.is_sorted_by(|a, b| a >= b), "{severities:?}");
    let first = run.findings[0].severity;
    let main = run.findings.iter().filter(|one| one.severity == first).map(Finding::size).fold(0.0, f64::max);
    assert_eq!(
        (run.findings[0].size(), run.rows[0].because.as_ref()),
        (main, Some(&run.findings[0].message))
    );
}

#[test]
fn of_each_repetition_only_what_was_found_about_it_is_told() {
    let run = stolen(&with(FIVE, &[1, 3], 0.7), &[1, 3], 0.3);
    let own = |window: usize| {
        let phase = &run.phases[window];
        run.row_of_repetition(phase, &phase.jobs[0]).expect("it is quoted")
    };
    assert_eq!([0, 2, 4].map(|window| own(window).verdict), [Verdict::Valid; 3]);
    assert_eq!((own(1).verdict, own(1).causes), (Verdict::Suspect, run.rows[0].causes.clone()));
    assert_eq!((own(0).because, own(0).figure), (None, run.rows[0].figure.clone()));
}
