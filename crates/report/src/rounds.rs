//! Rounds of a block that repeats until it is steady.

use assay_results::Run;
use assay_results::run::PhaseResult;
use assay_workload::PhaseKind;
use assay_workload::steps::Until;

use crate::svg::{Axis, Chart, Line, Scale};
use crate::{charts, format};

/// Lines of a drawing: a round may have many points.
const LINES_MAX: usize = 6;

/// Whether a phase is a round that led to the steady ones: it says nothing by itself.
pub(crate) fn is_lead_in(run: &Run, phase: &PhaseResult) -> bool {
    let planned = run.plan.phases.get(phase.plan_phase as usize);
    phase.kind == PhaseKind::Ramp && planned.is_some_and(|planned| planned.step.is_some())
}

/// IOPS from round to round of each block, with the rounds that count.
pub(crate) fn rounds(run: &Run) -> Vec<Chart> {
    let mut firsts: Vec<u32> = Vec::new();
    for phase in &run.phases {
        let step = run.plan.phases.get(phase.plan_phase as usize).and_then(|planned| planned.step);
        if let Some(step) = step.filter(|step| matches!(step.until, Until::Steady(_)))
            && !firsts.contains(&step.first)
        {
            firsts.push(step.first);
        }
    }
    firsts.iter().enumerate().filter_map(|(index, first)| of_block(run, index, *first)).collect()
}

fn of_block(run: &Run, index: usize, first: u32) -> Option<Chart> {
    let mut lines: Vec<Line> = Vec::new();
    let (mut counted, mut name) = (None::<(f64, f64)>, "");
    for phase in &run.phases {
        let Some(step) = run.plan.phases.get(phase.plan_phase as usize).and_then(|planned| planned.step)
        else {
            continue;
        };
        if step.first != first {
            continue;
        }
        name = &phase.name;
        let round = f64::from(step.round + 1);
        let iops: f64 = phase.jobs.iter().map(|job| job.total.iops).sum();
        let label = if phase.point.is_none() { phase.name.as_str() } else { phase.point.as_str() };
        match lines.iter_mut().find(|line| line.name == label) {
            Some(line) => line.points.push((round, Some(iops))),
            None => lines.push(Line {
                name: label.to_owned(),
                colour: lines.len(),
                points: vec![(round, Some(iops))],
                marked: true,
                ..Line::default()
            }),
        }
        if phase.kind == PhaseKind::Measure {
            let (low, high) = counted.unwrap_or((round, round));
            counted = Some((low.min(round), high.max(round)));
        }
    }
    let rounds = lines.first()?.points.len();
    let left_out = lines.len().saturating_sub(LINES_MAX);
    lines.truncate(LINES_MAX);
    let highest = lines.iter().flat_map(|line| line.points.iter().filter_map(|point| point.1));
    let y = Axis::new("IOPS", Scale::from_zero(highest), charts::tick_name);
    let count = counted.map_or_else(String::new, |(low, high)| format!(" Rounds {low} to {high} count."));
    let more = if left_out > 0 { format!(" {left_out} more points are not drawn.") } else { String::new() };
    (rounds > 1).then(|| Chart {
        id: format!("rounds-{index}"),
        title: format!("{name}: IOPS from round to round"),
        description: format!("{} of {name}.{count}{more}", format::plural(rounds as u64, "round")),
        x: Axis::new("round", Scale::Linear { low: 1.0, high: rounds as f64 }, charts::tick_name),
        y,
        lines,
        hints: Vec::new(),
        marks: Vec::new(),
    })
}
