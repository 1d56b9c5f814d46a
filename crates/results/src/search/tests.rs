use assay_workload::plan::SliceRate;

use super::*;
use crate::checks;
use crate::fixture;
use crate::run::Verdict;

/// A search whose steps offered these rates, each with its response time in microseconds and what it reached.
fn search(steps: &[(f64, u64, f64)]) -> Run {
    let mut run = fixture::run();
    let find: FindRate = "p99<1ms".parse().unwrap();
    let (phase, planned) = (run.phases[0].clone(), run.plan.phases[0].clone());
    run.phases.clear();
    run.plan.phases.clear();
    for (round, (rate, micros, reached)) in steps.iter().enumerate() {
        let step = Step { first: 0, phases: 1, round: round as u32, until: Until::Rate(find) };
        let mut planned = PlannedPhase {
            step: Some(step),
            point: assay_workload::SweepPoint::new(format!("find={round}")),
            ..planned.clone()
        };
        let slices = planned.jobs[0].slices.len() as f64;
        planned.jobs[0]
            .slices
            .iter_mut()
            .for_each(|slice| slice.rate = (*rate > 0.0).then(|| SliceRate::Iops(rate / slices)));
        let mut phase =
            PhaseResult { plan_phase: round as u32, point: planned.point.clone(), ..phase.clone() };
        let job = &mut phase.jobs[0];
        let mut response = LatencyHistogram::new();
        response.record_n(micros * 1000, 10_000);
        if *rate > 0.0 {
            job.read.as_mut().unwrap().response_histogram = Some(response.to_sparse());
            job.evidence.offered_iops = Some(*rate);
            job.evidence.missed_share = Some(1.0 - reached / rate);
        }
        job.total.iops = *reached;
        run.plan.phases.push(planned);
        run.phases.push(phase);
    }
    run
}

#[test]
fn rates_that_are_too_high_on_purpose_do_not_count() {
    let mut run =
        search(&[(0.0, 0, 1000.0), (1000.0, 9000, 600.0), (500.0, 400, 499.0), (750.0, 3000, 600.0)]);
    checks::judge(&mut run);
    assert_eq!(run.verdict, Verdict::Valid, "{:#?}", run.findings);
    let missed: Vec<&Finding> =
        run.findings.iter().filter(|finding| finding.id == "rate-not-reached").collect();
    assert!(!missed.is_empty() && missed.iter().all(|finding| finding.severity == FindingSeverity::Info));
    // The answer lies between the highest rate that met the goal and the lowest that did not.
    add_answers(&mut run);
    let metric = &run.phases[2].metrics["highest rate with p99<1 ms"];
    assert_eq!((metric.value, metric.interval, metric.n), (500.0, Some((500.0, 750.0)), 3));
    // What is quoted is judged like any figure.
    run.phases[2].jobs[0].cached_read_share = Some(0.9);
    run.phases[2].jobs[0].direct = false;
    checks::judge(&mut run);
    assert_eq!(run.verdict, Verdict::Invalid);
}

/// A search that no rate satisfies has that for its answer, and the step with the lowest rate is no best figure.
#[test]
fn a_goal_that_no_rate_meets_has_no_rate_for_its_answer() {
    let mut run = search(&[(0.0, 0, 1000.0), (406.0, 9000, 406.0), (203.0, 2680, 195.0)]);
    checks::judge(&mut run);
    let [found] = answers(&run).try_into().expect("one search");
    assert_eq!((found.rate, found.lowest_iops, found.phases.len()), (None, Some(203.0), 3));
    let mut run = search(&[(0.0, 0, 1000.0), (1000.0, 9000, 600.0), (500.0, 400, 499.0)]);
    checks::judge(&mut run);
    let [found] = answers(&run).try_into().expect("one search");
    assert_eq!(found.rate.map(|rate| rate.value), Some(500.0));
}

/// A search that was stopped on its way down says nothing of the goal, nor of the rates that were too high on purpose.
#[test]
fn a_search_that_was_stopped_before_a_rate_met_the_goal_has_no_findings_about_its_steps() {
    let mut run = search(&[(0.0, 0, 1000.0), (1000.0, 9000, 600.0), (500.0, 9000, 200.0)]);
    checks::judge(&mut run);
    assert_eq!(answers(&run)[0].lowest_iops, Some(500.0));
    run.end = Some(crate::RunEnd::Interrupted);
    checks::judge(&mut run);
    assert_eq!(run.verdict, Verdict::Incomplete);
    let severe = run.findings.iter().filter(|finding| finding.severity >= FindingSeverity::Warning);
    assert_eq!(severe.count(), 0, "{:#?}", run.findings);
    let [found] = answers(&run).try_into().expect("one search");
    assert_eq!((found.rate, found.lowest_iops), (None, None));
}

/// Windows that alternate at both bounds make the interval; the ones that looked for them do not count.
#[test]
fn windows_at_both_bounds_make_the_interval() {
    let mut steps = vec![(0.0, 0, 1000.0), (1000.0, 9000, 999.0), (500.0, 400, 500.0), (750.0, 9000, 750.0)];
    for _ in 0..6 {
        steps.extend([(500.0, 400, 500.0), (750.0, 9000, 750.0)]);
    }
    let answer = |steps: &[(f64, u64, f64)]| {
        let mut run = search(steps);
        checks::judge(&mut run);
        answers(&run)[0].rate.clone().expect("a rate")
    };
    let found = answer(&steps);
    assert_eq!((found.value, found.interval), (500.0, Some((500.0, 750.0))));
    assert!(found.basis.as_deref().unwrap_or_default().contains("in 6 windows of 6"), "{:?}", found.basis);
    // One of them met the goal at the upper bound, which is none then.
    steps[5].1 = 400;
    assert_eq!(answer(&steps).interval, Some((500.0, 1000.0)));
}

#[test]
fn a_step_that_was_repeated_is_not_the_answer() {
    let mut run =
        search(&[(0.0, 0, 1000.0), (1000.0, 400, 999.0), (1000.0, 9000, 999.0), (500.0, 300, 500.0)]);
    run.remarks.push(crate::evidence::Remark {
        phase: Some(1),
        id: REPEATED.to_owned(),
        text: String::new(),
    });
    assert_eq!(not_quoted(&run).into_iter().collect::<Vec<_>>(), [0, 1, 2]);
}

/// What disturbed a step marks it, and a step that missed the goal so bounds nothing.
#[test]
fn a_disturbed_step_is_marked_and_does_not_bound_the_answer() {
    let mut run =
        search(&[(0.0, 0, 1000.0), (1000.0, 9000, 999.0), (500.0, 9000, 500.0), (250.0, 400, 250.0)]);
    let answer = |run: &Run| run.phases[3].metrics["highest rate with p99<1 ms"].clone();
    checks::judge(&mut run);
    assert_eq!(answer(&run).interval, Some((250.0, 500.0)));
    assert!(run.steps.len() == 3 && run.steps.iter().all(|step| step.verdict == Verdict::Valid));
    run.phases[2].jobs[0].cached_read_share = Some(0.9);
    run.phases[2].jobs[0].direct = false;
    checks::judge(&mut run);
    let steps: Vec<_> = run.steps.iter().map(|step| (step.point.as_str(), step.verdict)).collect();
    let (valid, invalid) = (Verdict::Valid, Verdict::Invalid);
    assert_eq!(steps, [("find=0", valid), ("find=1", valid), ("find=2", invalid)]);
    assert_eq!(run.verdict, Verdict::Valid, "it is not quoted: {:#?}", run.findings);
    let found = answer(&run);
    assert_eq!(found.interval, Some((250.0, 1000.0)));
    assert!(
        found
            .basis
            .as_deref()
            .unwrap_or_default()
            .ends_with("1 step that missed it was disturbed and does not count"),
        "{:?}",
        found.basis
    );
}

/// The interval holds what chance did to the figure of a step, too.
#[test]
fn a_step_near_the_limit_bounds_nothing() {
    let mut run =
        search(&[(0.0, 0, 1000.0), (1000.0, 9000, 999.0), (500.0, 400, 500.0), (750.0, 400, 750.0)]);
    let near = |slow: u64| {
        let mut response = LatencyHistogram::new();
        response.record_n(400_000, 10_000 - slow);
        response.record_n(5_000_000, slow);
        Some(response.to_sparse())
    };
    // 1 % of 10,000 may be slower; 95 of them are too close to tell, 30 are not.
    for (slow, low) in [(95, 500.0), (30, 750.0)] {
        run.phases[3].jobs[0].read.as_mut().unwrap().response_histogram = near(slow);
        checks::judge(&mut run);
        let found = &run.phases[3].metrics["highest rate with p99<1 ms"];
        assert_eq!((found.value, found.interval), (750.0, Some((low, 1000.0))), "{slow}");
    }
}

#[test]
fn fewer_random_arrivals_than_expected_are_no_missed_rate() {
    let find: FindRate = "p99<1ms".parse().unwrap();
    let mut response = LatencyHistogram::new();
    response.record_n(400_000, 2556);
    // 2,626 were expected in these two seconds: 1.4 standard deviations more.
    assert!(meets(&find, &response, 1278.0, 1313.0));
    assert!(!meets(&find, &response, 1278.0, 1500.0));
}

#[test]
fn others_disturb_and_overload_does_not() {
    let finding = |id: &str, severity, cpus: Option<f64>| Finding {
        id: id.to_owned(),
        severity,
        message: "m".to_owned(),
        evidence: cpus.map(|cpus| ("cpus_of_others".to_owned(), cpus.into())).into_iter().collect(),
        phase: None,
        repeat: None,
        job: None,
        bias: None,
        effect: None,
        advice: String::new(),
    };
    let seen = |finding| disturbance(&[finding]).is_some();
    assert!(seen(finding("foreign-io", FindingSeverity::Warning, None)));
    assert!(seen(finding("generator-bound", FindingSeverity::Warning, Some(0.8))));
    assert!(!seen(finding("generator-bound", FindingSeverity::Warning, None)));
    assert!(!seen(finding("rate-not-reached", FindingSeverity::Invalid, None)));
    assert!(!seen(finding("foreign-io", FindingSeverity::Unchecked, None)));
}

#[test]
fn a_cell_of_a_grid_is_the_rate_found_and_not_the_middle_of_all_steps() {
    let cell_of = |steps: &[(f64, u64, f64)]| {
        let mut run = search(steps);
        checks::judge(&mut run);
        add_answers(&mut run);
        let mut cell = crate::worker_grid::WorkerCell::new("assay-1vmdk", 1);
        cell.take(&run);
        cell
    };
    let cell = cell_of(&[(0.0, 0, 1000.0), (1000.0, 9000, 600.0), (500.0, 400, 499.0), (750.0, 3000, 600.0)]);
    assert_eq!((cell.iops(), cell.goal.as_deref()), (Some(499.0), Some("p99<1 ms")));
    // None is said to be reached where no rate met the goal.
    let cell = cell_of(&[(0.0, 0, 1000.0), (1000.0, 9000, 600.0), (500.0, 4000, 499.0)]);
    assert_eq!((cell.iops(), cell.goal.as_deref()), (None, Some("p99<1 ms")));
}
