//! Blocks that repeat until a rule holds, laid out to their longest.

use super::ResolveError;
use crate::job::{Arrival, Phase, Rate};
use crate::steps::{Step, Until};

/// Phases a plan may have with all rounds counted.
const PHASES_MAX: usize = 20_000;

/// The phases in the order in which they would run, those of blocks with their step.
pub(super) fn unrolled(phases: &[Phase]) -> Result<Vec<(Phase, Option<Step>)>, ResolveError> {
    let mut all: Vec<(Phase, Option<Step>)> = Vec::with_capacity(phases.len());
    let mut rest = phases;
    while let Some(phase) = rest.first() {
        let length = match phase.until {
            None => {
                all.push((phase.clone(), None));
                rest = &rest[1..];
                continue;
            }
            // Each phase is searched by itself; a round is all points of a phase.
            Some(Until::Rate(_)) => 1,
            // The points of a curve have names of their own in vdbench.
            Some(Until::Below(_) | Until::Held) => {
                rest.iter().take_while(|next| next.until == phase.until).count()
            }
            Some(Until::Steady(_)) => {
                rest.iter().take_while(|next| next.until == phase.until && next.name == phase.name).count()
            }
        };
        let (block, behind) = rest.split_at(length);
        push_block(&mut all, block)?;
        rest = behind;
    }
    Ok(all)
}

fn push_block(all: &mut Vec<(Phase, Option<Step>)>, block: &[Phase]) -> Result<(), ResolveError> {
    let Some(until) = block[0].until else { return Ok(()) };
    let first = all.len() as u32;
    let rounds = until.rounds_max();
    if all.len().saturating_add(block.len().saturating_mul(rounds as usize)) > PHASES_MAX {
        return Err(ResolveError::TooManyRounds { name: block[0].name.clone(), max: PHASES_MAX });
    }
    for round in 0..rounds {
        let step = Step { first, phases: block.len() as u32, round, until };
        for phase in block {
            let mut phase = phase.clone();
            if let Until::Rate(_) = until {
                search_step(&mut phase, round);
            }
            all.push((phase, Some(step)));
        }
    }
    Ok(())
}

/// The first step of a search has no limit; the rate of the others is not known yet, and 100 % stands for it.
fn search_step(phase: &mut Phase, round: u32) {
    let word = if round == 0 { "find=max".to_owned() } else { format!("find={round}") };
    phase.point = phase.point.with(&word);
    for job in &mut phase.jobs {
        if round == 0 {
            job.rate = Rate::Unlimited;
        } else {
            // Even arrivals would hide the queue that arrivals by chance make.
            job.arrival = Arrival::Poisson;
            job.rate = Rate::PercentOfMax(100.0);
        }
    }
}
