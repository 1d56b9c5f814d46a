//! Windows of two generators in turns, so that slow changes of the machine cancel.

use assay_results::crosscheck::Pair;
use assay_workload::{PhaseKind, Plan, PlannedPhase};

/// Every measuring phase as pairs of windows, alternately begun by one and the other; the others once, before them.
pub fn interleaved(base: &Plan, wanted: u32) -> (Plan, Vec<Pair>) {
    let (mut phases, mut pairs) = (Vec::new(), Vec::new());
    for (index, phase) in base.phases.iter().enumerate() {
        if phase.kind != PhaseKind::Measure {
            phases.push(phase.clone());
            continue;
        }
        for repeat in 0..wanted {
            let mut window = |by: &str| {
                let point = phase.point.with(&format!("by={by}"));
                phases.push(PlannedPhase { point, repeat, ..phase.clone() });
                phases.len() - 1
            };
            let (assay, fio) = if repeat % 2 == 0 {
                let assay = window("assay");
                (assay, window("fio"))
            } else {
                let fio = window("fio");
                (window("assay"), fio)
            };
            pairs.push(Pair { phase: index, assay, fio });
        }
    }
    (Plan { phases, name: format!("{}-crosscheck", base.name), ..base.clone() }, pairs)
}

#[cfg(test)]
mod tests {
    use assay_workload::SweepPoint;

    use super::*;

    fn phase(name: &str, kind: PhaseKind) -> PlannedPhase {
        PlannedPhase {
            name: name.to_owned(),
            kind,
            jobs: Vec::new(),
            drain_after: false,
            pause_after: assay_workload::units::Nanos(0),
            point: SweepPoint::default(),
            repeat: 0,
            step: None,
            carried_by: Default::default(),
            despite_failure: false,
        }
    }

    #[test]
    fn windows_alternate_and_preparation_comes_once() {
        let base = Plan {
            schema: String::new(),
            name: "x".to_owned(),
            series: None,
            seed: 1,
            seed_given: false,
            hosts: Vec::new(),
            targets: Vec::new(),
            phases: vec![phase("fill", PhaseKind::Precondition), phase("m", PhaseKind::Measure)],
        };
        let (plan, pairs) = interleaved(&base, 3);
        let points: Vec<&str> = plan.phases.iter().map(|phase| phase.point.as_str()).collect();
        assert_eq!(points, ["", "by=assay", "by=fio", "by=fio", "by=assay", "by=assay", "by=fio"]);
        let windows: Vec<(usize, usize)> = pairs.iter().map(|pair| (pair.assay, pair.fio)).collect();
        assert_eq!(windows, [(1, 2), (4, 3), (5, 6)]);
    }
}
