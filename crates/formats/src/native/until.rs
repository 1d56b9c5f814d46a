//! How often a phase repeats: `until` and `find_rate`.

use assay_workload::steps::{FindRate, LatencyLimit, Until, UntilSteady};
use assay_workload::units::Nanos;

use super::node::{Entry, Fields};
use super::scalar::{write_number, write_time};
use super::sink::Sink;

/// The rule of a phase; `None` where it has none, or a wrong one, which is reported.
pub(super) fn until(sink: &mut Sink, phase: &Fields<'_>) -> Option<Until> {
    let steady = phase.get("until");
    let find = phase.get("find_rate");
    let several = [steady, find, phase.get("curve"), phase.get("repeat")];
    let mut rules = several.into_iter().flatten();
    if let (Some(_), Some(second), true) = (rules.next(), rules.next(), steady.or(find).is_some()) {
        let message = "'until', 'find_rate', 'curve' and 'repeat' each say how often the phase runs";
        sink.error("conflict", second.span(), message, "one of them is possible");
        return None;
    }
    if let Some(entry) = phase.get("stop_above") {
        if let Some(other) = steady.or(find) {
            let message = "'stop_above' ends a curve, which 'until' and 'find_rate' are not";
            sink.error("conflict", other.span(), message, "one of them is possible");
            return None;
        }
        return sink.time(entry).map(|limit| Until::Below(LatencyLimit { limit_ns: limit.0 }));
    }
    match (steady, find) {
        (Some(entry), _) => self::steady(sink, entry).map(Until::Steady),
        (None, Some(entry)) => find_rate(sink, entry).map(Until::Rate),
        (None, None) => None,
    }
}

fn steady(sink: &mut Sink, entry: Entry<'_>) -> Option<UntilSteady> {
    let defaults = UntilSteady::default();
    if entry.is("steady") {
        return Some(defaults);
    }
    let known = &["window_rounds", "range_percent_max", "excursion_percent_max", "rounds_max"];
    if entry.as_str().is_some() {
        return sink.bad_value(entry, "not a rule", "\"steady\", or a table such as { rounds_max = 40 }");
    }
    let table = sink.table(entry, known)?;
    let window = table.read(sink, "window_rounds", |sink, e| sink.count_u32(e, 2..=1000));
    let window_rounds = window.unwrap_or(defaults.window_rounds);
    let rounds = table.read(sink, "rounds_max", |sink, e| sink.count_u32(e, window_rounds..=10_000));
    let mut share = |key: &str, otherwise: f64| table.read(sink, key, Sink::percent).unwrap_or(otherwise);
    Some(UntilSteady {
        window_rounds,
        range_percent_max: share("range_percent_max", defaults.range_percent_max),
        excursion_percent_max: share("excursion_percent_max", defaults.excursion_percent_max),
        rounds_max: rounds.unwrap_or(defaults.rounds_max.max(window_rounds)),
    })
}

fn find_rate(sink: &mut Sink, entry: Entry<'_>) -> Option<FindRate> {
    match sink.string(entry)?.parse() {
        Ok(find) => Some(find),
        Err(message) => sink.bad_value(entry, &message, "goals look like \"p99<5ms\" or \"mean<800us\""),
    }
}

/// Key and value as a plan says them.
pub(super) fn write_until(until: &Until) -> (&'static str, String) {
    match until {
        Until::Steady(steady) if *steady == UntilSteady::default() => ("until", "\"steady\"".to_owned()),
        Until::Steady(steady) => (
            "until",
            format!(
                "{{ window_rounds = {}, range_percent_max = {}, excursion_percent_max = {}, rounds_max = {} }}",
                steady.window_rounds,
                write_number(steady.range_percent_max),
                write_number(steady.excursion_percent_max),
                steady.rounds_max
            ),
        ),
        Until::Below(limit) => ("stop_above", format!("\"{}\"", write_time(Nanos(limit.limit_ns)))),
        Until::Rate(find) => ("find_rate", format!("\"{}\"", find.to_string().replace(' ', ""))),
    }
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
