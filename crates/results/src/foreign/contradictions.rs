//! Figures of another tool's result that cannot all be true.

/// Two ways to the same figure may differ by so much: results are rounded, and each operation has its own time.
const TOLERANCE: f64 = 0.05;
/// So many are told of one result.
const TOLD_MAX: usize = 5;

/// What contradicts itself in one result, in sentences that name fields and values.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Contradictions {
    told: Vec<String>,
    more: usize,
}

impl Contradictions {
    /// Notes a figure that another way to it does not bear out. What is 0 is not known.
    pub fn agree(&mut self, (field, stated): (&str, f64), (how, derived): (&str, f64)) {
        let off = (stated - derived).abs() > TOLERANCE * stated.min(derived);
        if stated > 0.0 && derived > 0.0 && off {
            self.tell(format!("{field} is {}, but {how} is {}", number(stated), number(derived)));
        }
    }

    /// Notes a figure that is above what bounds it, by more than rounding.
    pub fn at_most(&mut self, (field, value): (&str, f64), (bound, limit): (&str, f64)) {
        if value > limit * (1.0 + TOLERANCE) {
            self.tell(format!("{field} is {}, but {bound} is {}", number(value), number(limit)));
        }
    }

    /// Notes a figure that is negative and cannot be.
    pub fn not_negative(&mut self, field: &str, value: f64) {
        if value < 0.0 {
            self.tell(format!("{field} is {}, and cannot be negative", number(value)));
        }
    }

    fn tell(&mut self, text: String) {
        if self.told.len() < TOLD_MAX { self.told.push(text) } else { self.more += 1 }
    }

    /// The sentences; empty: nothing contradicts itself.
    pub fn sentences(self) -> Vec<String> {
        let more = (self.more > 0).then(|| format!("{} more figures contradict each other", self.more));
        self.told.into_iter().chain(more).collect()
    }
}

/// Whole, or with three digits behind the point.
fn number(value: f64) -> String {
    if value.abs() >= 1e15 {
        return format!("{value:.2e}");
    }
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_true_is_named_with_its_values() {
        let mut found = Contradictions::default();
        found.agree(("iops", 100.0), ("total_ios / runtime", 104.0));
        found.agree(("iops", 0.0), ("total_ios / runtime", 104.0));
        found.at_most(("mean", 1.0), ("max", 1.0));
        found.not_negative("errors", 0.0);
        assert_eq!(found, Contradictions::default());
        found.agree(("iops", 1e6), ("total_ios / runtime", 104.5));
        found.at_most(("min", 7.0), ("max", 1.0));
        found.not_negative("errors", -3.0);
        (0..4).for_each(|_| found.not_negative("n", -1.0));
        let told = found.sentences();
        assert_eq!(told[0], "iops is 1000000, but total_ios / runtime is 104.5");
        assert_eq!(told[1..3], ["min is 7, but max is 1", "errors is -3, and cannot be negative"]);
        assert_eq!(told[5], "2 more figures contradict each other");
    }
}
