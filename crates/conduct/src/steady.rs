//! Rounds until they are steady.

use assay_results::steady::{SniaOutcome, SniaRule, SniaWindow};
use assay_workload::pattern::OpKind;
use assay_workload::steps::{Step, UntilSteady};
use assay_workload::{PhaseKind, Plan};

use crate::following::{After, Note};
use crate::seen::PhaseFigures;

/// Cells of a round that are looked at, where it has more.
const TRACKED_MAX: usize = 3;

/// What follows a phase of a block of rounds.
pub(crate) fn after(
    plan: &Plan,
    phase: usize,
    step: &Step,
    rule: &UntilSteady,
    seen: &PhaseFigures,
) -> After {
    let last_of_round = step.first + (step.round + 1) * step.phases - 1;
    let done = step.round + 1;
    if phase as u32 != last_of_round || done < rule.window_rounds {
        return After::next(phase);
    }
    let cells = tracked(plan, step);
    let series: Vec<Vec<f64>> = cells
        .iter()
        .map(|cell| {
            (0..done).map(|round| seen.iops((step.first + round * step.phases + cell) as usize)).collect()
        })
        .collect();
    let snia = SniaRule::from(rule);
    let series: Vec<&[f64]> = series.iter().map(Vec::as_slice).collect();
    let verdict = snia.assess_all(&series);
    match verdict.outcome {
        SniaOutcome::NotYet => After::next(phase),
        outcome => {
            let steady = outcome == SniaOutcome::Steady;
            let mut after = ended(plan, step, rule, done);
            after.note = Some(note(plan, step, done, steady, &verdict.windows, cells.len()));
            after
        }
    }
}

/// The block is over: the rounds of the last window are what was measured, those before it led there.
fn ended(plan: &Plan, step: &Step, rule: &UntilSteady, done: u32) -> After {
    let window_from = done - rule.window_rounds;
    let mut resolved = Vec::new();
    for round in 0..done {
        for cell in 0..step.phases {
            let index = (step.first + round * step.phases + cell) as usize;
            let mut planned = plan.phases[index].clone();
            if round >= window_from {
                planned.repeat = round - window_from;
            } else if planned.kind == PhaseKind::Measure {
                planned.kind = PhaseKind::Ramp;
            }
            resolved.push((index, planned));
        }
    }
    After { next: step.next_phase(), resolved, note: None }
}

fn note(plan: &Plan, step: &Step, done: u32, steady: bool, windows: &[SniaWindow], cells: usize) -> Note {
    let widest =
        |share: fn(&SniaWindow) -> Option<f64>| 100.0 * windows.iter().filter_map(share).fold(0.0, f64::max);
    let first = windows.first().map_or(0, |window| window.first_round + 1);
    let name = &plan.phases[step.first as usize].name;
    let of = if step.phases > 1 { format!(" of {cells} of {} points", step.phases) } else { String::new() };
    let figures = format!(
        "IOPS{of} range over {:.1} % of their mean, and their line moves {:.1} %",
        widest(|window| window.range_share),
        widest(|window| window.excursion_share)
    );
    let text = if steady {
        format!("{name}: steady after {done} rounds; rounds {first} to {done} count: {figures}")
    } else {
        format!(
            "{name}: not steady after {done} rounds, the most that were allowed; rounds {first} to {done} count: {figures}"
        )
    };
    Note { id: if steady { "steady-state" } else { "never-steady" }, text }
}

/// The points of a round that the rule is applied to: all, or of many the one with most writes and smallest blocks, the one with
/// most reads and largest blocks, and the one in the middle between them.
fn tracked(plan: &Plan, step: &Step) -> Vec<u32> {
    let mut cells: Vec<u32> = (0..step.phases).collect();
    if cells.len() <= TRACKED_MAX {
        return cells;
    }
    let key = |cell: &u32| {
        let jobs = &plan.phases[(step.first + cell) as usize].jobs;
        let reads = jobs.iter().map(|job| job.pattern.mix.share(OpKind::Read)).sum::<f64>();
        let block = jobs.iter().map(|job| job.pattern.max_block_bytes()).max().unwrap_or(0);
        ((reads * 1e6) as u64, block)
    };
    cells.sort_by_key(key);
    vec![cells[0], cells[cells.len() / 2], cells[cells.len() - 1]]
}
