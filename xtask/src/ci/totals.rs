//! Adds up what the many test programs of a workspace print.

/// Sums over test programs and doc tests.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Totals {
    pub(super) passed: u64,
    pub(super) failed: u64,
    pub(super) ignored: u64,
    failures: Vec<String>,
}

impl Totals {
    /// Takes a line of `cargo test`'s standard output.
    pub(super) fn add(&mut self, line: &str) {
        if let Some((_, sums)) = line.split_once("test result: ") {
            self.passed += count(sums, "passed");
            self.failed += count(sums, "failed");
            self.ignored += count(sums, "ignored");
        } else if let Some(name) =
            line.strip_prefix("test ").and_then(|rest| rest.strip_suffix(" ... FAILED"))
        {
            self.failures.push(name.to_owned());
        }
    }

    /// Takes what did not end by itself, a sentence each.
    pub(super) fn add_killed(&mut self, killed: Vec<String>) {
        self.failures.extend(killed.into_iter().map(|told| format!("(killed) {told}")));
    }

    /// The names of the tests that failed, and what was killed.
    pub(super) fn failures(&self) -> &[String] {
        &self.failures
    }
}

/// The number before `word` in `ok. 3 passed; 1 failed; ..`.
fn count(sums: &str, word: &str) -> u64 {
    let words: Vec<&str> = sums.split([' ', ';']).filter(|part| !part.is_empty()).collect();
    let pair = words.windows(2).find(|pair| pair[1] == word);
    pair.and_then(|pair| pair[0].parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_of_several_programs_are_summed() {
        let output = "running 2 tests\ntest a ... ok\ntest b::c ... FAILED\n\
            test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s\n\
            cut off test result: ok. 40 passed; 0 failed; 2 ignored; 0 measured; 7 filtered out; finished in 1.20s\n";
        let mut totals = Totals::default();
        output.lines().for_each(|line| totals.add(line));
        assert_eq!((totals.passed, totals.failed, totals.ignored), (41, 1, 2));
        assert_eq!(totals.failures(), ["b::c"]);
    }

    #[test]
    fn other_output_counts_nothing() {
        let mut totals = Totals::default();
        ["12 passed the gate", "test result", "", "test x ... ok"].iter().for_each(|line| totals.add(line));
        assert_eq!(totals, Totals::default());
    }
}
