//! The committed list of exceptions: `RULE PATH[:FUNCTION] REASON..`, a line each, `#` for comments.

use super::Finding;

/// Where the list is kept.
pub(super) const FILE: &str = "xtask/tidy-exceptions.txt";

/// The only rules that can be excepted: a table has no parts to split into, a recorded fixture stays as recorded.
const EXCEPTABLE: &[&str] = &["function-length", "file-length", "machine-path", "unfinished"];

struct Exception<'a> {
    line: usize,
    rule: &'a str,
    path: &'a str,
    item: Option<&'a str>,
    used: bool,
}

impl Exception<'_> {
    fn covers(&self, finding: &Finding) -> bool {
        self.rule == finding.rule && self.path == finding.file && self.item == finding.item.as_deref()
    }
}

/// Removes the findings that `list` excepts and adds those about the list itself.
pub(super) fn apply(list: &str, findings: Vec<Finding>) -> Vec<Finding> {
    let (mut exceptions, mut kept) = parse(list);
    for finding in findings {
        match exceptions.iter_mut().find(|exception| exception.covers(&finding)) {
            Some(exception) => exception.used = true,
            None => kept.push(finding),
        }
    }
    for exception in exceptions.iter().filter(|exception| !exception.used) {
        let message = format!("nothing needs the exception for {} any more; remove it", exception.path);
        kept.push(Finding::new(FILE, exception.line, "exceptions", message));
    }
    kept
}

fn parse(list: &str) -> (Vec<Exception<'_>>, Vec<Finding>) {
    let mut exceptions = Vec::new();
    let mut findings = Vec::new();
    for (index, text) in list.lines().enumerate() {
        let text = text.trim();
        if text.is_empty() || text.starts_with('#') {
            continue;
        }
        let line = index + 1;
        let mut words = text.split_whitespace();
        match (words.next(), words.next(), words.next()) {
            (Some(rule), Some(_), Some(_)) if !EXCEPTABLE.contains(&rule) => {
                findings.push(Finding::new(
                    FILE,
                    line,
                    "exceptions",
                    format!("the rule {rule} has no exceptions"),
                ));
            }
            (Some(rule), Some(place), Some(_)) => {
                let (path, item) =
                    place.split_once(':').map_or((place, None), |(path, item)| (path, Some(item)));
                exceptions.push(Exception { line, rule, path, item, used: false });
            }
            _ => {
                findings.push(Finding::new(FILE, line, "exceptions", "expected RULE PATH[:FUNCTION] REASON"))
            }
        }
    }
    (exceptions, findings)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn long_function(name: &str) -> Finding {
        let mut finding = Finding::new("a.rs", 3, "function-length", "long");
        finding.item = Some(name.to_owned());
        finding
    }

    #[test]
    fn an_exception_covers_only_what_it_names() {
        let list = "# tables\nfunction-length a.rs:table one row per option\n";
        let kept = apply(list, vec![long_function("table"), long_function("other")]);
        assert_eq!(kept, [long_function("other")]);
    }

    #[test]
    fn a_stale_exception_is_a_finding() {
        let kept = apply("file-length a.rs a table", Vec::new());
        assert_eq!((kept.len(), kept[0].line, kept[0].rule), (1, 1, "exceptions"));
    }

    #[test]
    fn an_exception_without_a_reason_or_for_a_strict_rule_is_a_finding() {
        let kept = apply("file-length a.rs\nunsafe a.rs because it is fast", Vec::new());
        assert_eq!(kept.len(), 2);
        assert!(kept[0].message.contains("REASON"), "{kept:?}");
        assert!(kept[1].message.contains("no exceptions"), "{kept:?}");
    }
}
