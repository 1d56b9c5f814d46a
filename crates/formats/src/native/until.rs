//! How often a phase repeats: `until`, `find_rate` and `stop_above`.

use assay_workload::steps::{FindRate, LatencyFigure, LatencyLimit, Until, UntilSteady};
use assay_workload::units::Nanos;

use super::document::PhaseDraft;
use super::forms::{FLAG, PERCENT, count_u32, quote};
use super::key::{About, Form, Key, Need, Shape, Table, key};
use super::node::Fields;
use super::scalar::{regular, write_time};
use super::sink::Sink;

/// A rule with what is not said left open: the rounds that are possible depend on the window.
#[derive(Default)]
pub(super) struct Rule {
    window_rounds: Option<u32>,
    range_percent_max: Option<f64>,
    excursion_percent_max: Option<f64>,
    rounds_max: Option<u32>,
}

const ROUNDS_MAX: u32 = 10_000;

pub(super) const KEYS: Table<Rule> = Table {
    who: "'until'",
    example: "until = { rounds_max = 40 }",
    sections: &[&[
        key!(some "window_rounds", count_u32(2, 1000), window_rounds, "5", "rounds of the window that has to be steady"),
        key!(some "range_percent_max", PERCENT, range_percent_max, "20", "highest minus lowest round of the window, in per cent of its mean"),
        key!(some "excursion_percent_max", PERCENT, excursion_percent_max, "10", "rise or fall of the least-squares line over the window, in per cent of its mean"),
        key!(some "rounds_max", count_u32(1, ROUNDS_MAX), rounds_max, "25", "rounds at most"),
    ]],
};

pub(super) const STEADY: Form<UntilSteady> = Form {
    shape: Shape::Any(&[Shape::Words(|| vec!["steady"]), Shape::Table(|| KEYS.about())]),
    read: |sink, entry, _| {
        let defaults = UntilSteady::default();
        if entry.is("steady") {
            return Some(defaults);
        }
        if entry.as_str().is_some() {
            return sink.bad_value(entry, "not a rule", "\"steady\", or a table such as { rounds_max = 40 }");
        }
        let rule = KEYS.read(sink, entry, Rule::default())?;
        let window_rounds = rule.window_rounds.unwrap_or(defaults.window_rounds);
        if let Some(rounds) = rule.rounds_max.filter(|rounds| *rounds < window_rounds) {
            let place = entry.as_table().and_then(|table| table.get("rounds_max"));
            let span = place.map_or_else(|| entry.span(), |value| value.span());
            let message = format!("'rounds_max': {rounds} is out of range");
            sink.error("bad-value", span, message, format!("{window_rounds} to {ROUNDS_MAX} are possible"));
        }
        Some(UntilSteady {
            window_rounds,
            range_percent_max: rule.range_percent_max.unwrap_or(defaults.range_percent_max),
            excursion_percent_max: rule.excursion_percent_max.unwrap_or(defaults.excursion_percent_max),
            rounds_max: rule.rounds_max.unwrap_or(defaults.rounds_max.max(window_rounds)),
        })
    },
    write: |steady| match *steady == UntilSteady::default() {
        true => quote("steady"),
        false => {
            let rule = Rule {
                window_rounds: Some(steady.window_rounds),
                range_percent_max: Some(steady.range_percent_max),
                excursion_percent_max: Some(steady.excursion_percent_max),
                rounds_max: Some(steady.rounds_max),
            };
            KEYS.inline(&rule, &Rule::default())
        }
    },
};

const GOAL: Form<FindRate> = Form {
    shape: Shape::Matching(
        concat!(r"^\s*(mean|median|max|p[0-9]+(\.[0-9]*)?)\s*<=?", regular!(time), "$"),
        "p99<5ms",
    ),
    read: |sink, entry, _| {
        let goal = sink.string(entry)?.parse();
        sink.checked(entry, goal, "goals look like \"p99<5ms\" or \"mean<800us\"")
    },
    write: |goal| {
        let text = goal.to_string();
        let figure = text.split('<').next().unwrap_or_default();
        quote(&format!("{figure}<{}", write_time(Nanos(goal.limit_ns))))
    },
};

/// A search with its goal as a whole.
pub(super) struct Search {
    goal: FindRate,
    limits_together: bool,
}

impl Search {
    fn of(find: FindRate) -> Self {
        Search { limits_together: find.limits_together, goal: find }
    }

    fn blank() -> Self {
        Search::of(FindRate::new(LatencyFigure::Mean, 0))
    }
}

pub(super) const SEARCH_KEYS: Table<Search> = Table {
    who: "'find_rate'",
    example: "find_rate = \"p99<5ms\"",
    sections: &[&[
        key!(must "goal", GOAL, goal, "required", "`\"p99<5ms\"`, `\"mean<800us\"`, `\"max<20ms\"`"),
        key!(set "limits_together", FLAG, limits_together, "`false`", "`true`: `bytes`, `ios` and `passes` of the jobs limit all steps of the search together, as fio's `latency_target` does, and there are 13 of them at most; `false`: each step, at most 37"),
    ]],
};

/// A goal, or a table.
pub(super) const SEARCH: Form<FindRate> = Form {
    shape: Shape::Any(&[GOAL.shape, Shape::Table(|| SEARCH_KEYS.about())]),
    read: |sink, entry, _| {
        if entry.as_table().is_none() {
            return GOAL.take(sink, entry);
        }
        let search = SEARCH_KEYS.read(sink, entry, Search::blank())?;
        Some(FindRate { limits_together: search.limits_together, ..search.goal })
    },
    write: |find| match find.limits_together {
        false => (GOAL.write)(find),
        true => SEARCH_KEYS.inline(&Search::of(*find), &Search::blank()),
    },
};

/// The rule of a phase; `None` where it has none, or two, which is reported.
pub(super) fn until(sink: &mut Sink, phase: &Fields<'_>, draft: &PhaseDraft) -> Option<Until> {
    let rule = phase.get("until").or(phase.get("find_rate"));
    let several = ["until", "find_rate", "curve", "repeat"];
    let several: Vec<_> = several.into_iter().filter_map(|key| phase.get(key)).collect();
    if let (Some(_), [_, second, ..]) = (rule, several.as_slice()) {
        let message = "'until', 'find_rate', 'curve' and 'repeat' each say how often the phase runs";
        sink.error("conflict", second.span(), message, "only one of them is possible");
        return None;
    }
    if let (Some(rule), Some(_)) = (rule, phase.get("stop_above")) {
        let message = "'stop_above' ends a curve, which 'until' and 'find_rate' are not";
        sink.error("conflict", rule.span(), message, "only one of them is possible");
        return None;
    }
    let below = draft.stop_above.map(|limit| Until::Below(LatencyLimit { limit_ns: limit.0 }));
    below.or(draft.until.map(Until::Steady)).or(draft.find_rate.map(Until::Rate))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::native::{parse, write};

    fn plan(line: &str) -> String {
        format!(
            "name = \"p\"\ntarget = [{{ name = \"t\", path = \"t\", size = \"1g\" }}]\n[[phase]]\nname = \"m\"\n{line}\n\
             [[phase.job]]\nop = \"read\"\nblock_size = \"4k\"\npattern = \"random\"\nruntime = \"1m\"\n"
        )
    }

    #[test]
    fn rules_are_read_and_written_back() {
        for line in [
            "until = \"steady\"",
            "until = { rounds_max = 40 }",
            "until = { window_rounds = 3, range_percent_max = 7.5 }",
            "find_rate = \"p99.9<800us\"",
            "find_rate = \"max<20ms\"",
            "find_rate = { goal = \"p99<92728us\", limits_together = true }",
        ] {
            let (workload, said) = parse("p", &plan(line));
            assert!(said.is_empty(), "{line}: {said:?}");
            let workload = workload.unwrap();
            assert!(workload.phases[0].until.is_some(), "{line}");
            let text = write(&workload);
            assert_eq!(parse("p", &text).0.unwrap().phases, workload.phases, "{line}: {text}");
        }
    }

    #[test]
    fn a_curve_ends_above_a_latency_but_not_with_its_maximum() {
        let (workload, said) = parse("p", &plan("curve = [50, 90]\nstop_above = \"5ms\""));
        assert!(said.is_empty(), "{said:?}");
        let workload = workload.unwrap();
        let limit = Some(Until::Below(LatencyLimit { limit_ns: 5_000_000 }));
        let until: Vec<Option<Until>> = workload.phases.iter().map(|phase| phase.until).collect();
        assert_eq!(until, [None, limit, limit]);
        assert_eq!(parse("p", &write(&workload)).0.unwrap().phases, workload.phases);
    }

    #[test]
    fn what_makes_no_sense_is_said() {
        let cases = [
            ("until = \"stedy\"", "not a rule"),
            ("until = { rounds_max = 3 }", "out of range"),
            ("find_rate = \"p99\"", "is not a goal"),
            ("until = \"steady\"\nfind_rate = \"p99<5ms\"", "each say how often"),
            ("until = \"steady\"\nstop_above = \"1ms\"", "ends a curve"),
            ("until = \"steady\"\nrepeat = 3", "each say how often"),
        ];
        for (line, expected) in cases {
            let (_, said) = parse("p", &plan(line));
            assert!(said.iter().any(|one| one.message.contains(expected)), "{line}: {said:?}");
        }
    }
}
