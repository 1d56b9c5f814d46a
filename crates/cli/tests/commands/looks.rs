//! Colours, widths, characters, and readers that go away.

use std::process::Stdio;

use crate::bounded::Bounded as _;
use crate::stored::measured;
use crate::world::Said;

const ESCAPE: char = '\u{1b}';

/// `assay runs show last` with variables set.
fn shown(words: &[&str], variables: &[(&str, &str)]) -> Said {
    let mut command = measured().command(&[&["runs", "show", "last"], words].concat());
    Said::of(command.envs(variables.iter().copied()).output_in_time().expect("the program starts")).ended(0)
}

#[test]
fn colour_is_for_terminals_and_for_those_who_ask() {
    let plain = shown(&[], &[]);
    assert!(!plain.out.contains(ESCAPE) && !plain.err.contains(ESCAPE), "a pipe is no terminal");
    assert!(shown(&["--color", "always"], &[]).out.contains(ESCAPE));
    assert!(!shown(&["--color", "never"], &[]).out.contains(ESCAPE));
    assert!(!shown(&[], &[("NO_COLOR", "1")]).out.contains(ESCAPE));
}

#[test]
fn errors_are_coloured_by_the_same_rule() {
    let world = measured();
    let plain = world.assay(&["runs", "show", "nosuch"]).ended(2);
    assert!(plain.err.starts_with("error: "), "{}", plain.err);
    let coloured = world.assay(&["runs", "show", "nosuch", "--color", "always"]).ended(2);
    assert!(coloured.err.contains(ESCAPE), "{}", coloured.err);
}

#[test]
fn narrow_terminals_get_narrow_tables() {
    for columns in [40, 60, 80, 120] {
        let said = shown(&[], &[("COLUMNS", &columns.to_string())]);
        // A path is one word, and words are not cut.
        let lines = said.out.lines().filter(|line| line.split_whitespace().count() > 1);
        let widest = lines.map(|line| line.chars().count()).max().unwrap_or(0);
        assert!(widest <= columns, "{widest} columns where there are {columns}:\n{}", said.out);
        assert!(said.out.contains("IOPS"), "{columns}: the rate is never left out");
    }
}

#[test]
fn a_terminal_without_unicode_gets_none() {
    let said = shown(&[], &[("LC_ALL", "C")]);
    assert!(said.out.is_ascii(), "{}", said.out);
}

#[test]
fn quiet_says_results_only() {
    let world = crate::world::World::new();
    let said = world.quick(&["--quiet"]).ended(0);
    assert_eq!(said.err, "");
    assert!(said.out.contains("Verdict:"));
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let mut command = measured().command(&["runs", "show", "last", "--json"]);
    let mut child =
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).start().expect("the program starts");
    drop(child.stdout.take());
    let said = Said::of(child.wait_with_output().expect("ended"));
    assert!(!said.err.contains("panicked"), "{}", said.err);
    assert_eq!(said.code, Some(0), "{:?} {}", said.signal, said.err);
}
