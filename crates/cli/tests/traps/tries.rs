//! What becomes of a trap that is staged again, from what came of each try.

/// Failures where something else was seen, until the machine counts as one that is never left alone.
const DISTURBED_MAX: usize = 5;
/// Failures where nothing was seen, until the check counts as wrong: an independent look sees some seconds, at their ends,
/// and a disk may have changed its pace in between.
const UNDISTURBED_MAX: usize = 3;

/// What came of one try: why it failed, if it did, and what an independent look saw meanwhile.
#[derive(Debug)]
pub(crate) struct Try {
    pub(crate) result: Result<(), String>,
    pub(crate) seen: Option<String>,
}

/// What is to be done then.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Next {
    Pass,
    /// Stage it again; what is printed about the last try.
    Again(String),
    /// With every reason of a try that nothing disturbed.
    Fail(String),
    /// With what was seen last.
    Skip(String),
}

/// Decides by all tries so far, the last of which is new.
pub(crate) fn next(tries: &[Try]) -> Next {
    let Some(last) = tries.last() else { return Next::Again("not tried yet".to_owned()) };
    let Err(why) = &last.result else { return Next::Pass };
    let failed = |tried: &&Try| tried.result.is_err();
    let disturbed = tries.iter().filter(failed).filter_map(|tried| tried.seen.as_ref()).count();
    let reasons: Vec<&str> = tries
        .iter()
        .filter(|tried| tried.seen.is_none())
        .filter_map(|tried| tried.result.as_ref().err().map(String::as_str))
        .collect();
    if reasons.len() >= UNDISTURBED_MAX {
        let numbered = reasons.iter().enumerate().map(|(at, why)| format!("{}: {why}", at + 1));
        return Next::Fail(numbered.collect::<Vec<_>>().join("\n"));
    }
    match &last.seen {
        Some(seen) if disturbed >= DISTURBED_MAX => {
            Next::Skip(format!("{disturbed} times something else went on, at last {seen}"))
        }
        Some(seen) => Next::Again(format!("{why}; meanwhile {seen}")),
        None => Next::Again(format!("{why}; nothing else was seen, {} of {UNDISTURBED_MAX}", reasons.len())),
    }
}

fn failed(why: &str, seen: Option<&str>) -> Try {
    Try { result: Err(why.to_owned()), seen: seen.map(str::to_owned) }
}

/// What is decided after each of these tries.
fn decided(tries: Vec<Try>) -> Vec<Next> {
    (1..=tries.len()).map(|count| next(&tries[..count])).collect()
}

#[test]
fn what_shows_passes_whatever_came_before() {
    assert_eq!(next(&[Try { result: Ok(()), seen: None }]), Next::Pass);
    let disturbed = Try { result: Ok(()), seen: Some("busy".to_owned()) };
    assert_eq!(next(&[failed("a", None), failed("b", Some("busy")), disturbed]), Next::Pass);
}

#[test]
fn the_third_failure_that_nothing_disturbed_fails_with_all_three_reasons() {
    let tries = decided(vec![failed("faster", None), failed("slower", None), failed("wrong", None)]);
    assert_eq!(tries[0], Next::Again("faster; nothing else was seen, 1 of 3".to_owned()));
    assert_eq!(tries[1], Next::Again("slower; nothing else was seen, 2 of 3".to_owned()));
    assert_eq!(tries[2], Next::Fail("1: faster\n2: slower\n3: wrong".to_owned()));
}

#[test]
fn the_fifth_failure_with_something_seen_is_a_skip() {
    let tries = decided((0..5).map(|n| failed("late", Some(&format!("busy {n}")))).collect());
    assert_eq!(tries[3], Next::Again("late; meanwhile busy 3".to_owned()));
    assert_eq!(tries[4], Next::Skip("5 times something else went on, at last busy 4".to_owned()));
}

#[test]
fn failures_of_both_kinds_are_counted_apart() {
    let busy = || failed("late", Some("busy"));
    let quiet = |why| failed(why, None);
    // Two that nothing disturbed do not fail, and do not count among the five.
    let tries = vec![busy(), quiet("a"), busy(), busy(), quiet("b"), busy(), busy()];
    let skipped = decided(tries);
    assert!(skipped[..6].iter().all(|next| matches!(next, Next::Again(_))), "{skipped:?}");
    assert!(matches!(&skipped[6], Next::Skip(why) if why.starts_with("5 times")), "{skipped:?}");
    // Only reasons of those that nothing disturbed are told.
    let tries = vec![quiet("a"), busy(), quiet("b"), busy(), busy(), busy(), quiet("c")];
    assert_eq!(next(&tries), Next::Fail("1: a\n2: b\n3: c".to_owned()));
}
