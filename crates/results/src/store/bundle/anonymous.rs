//! Host names out of a run.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::run::Run;

/// The names of all hosts of a run, the longest first, each with what stands for it.
pub(super) fn names_of(run: &Run) -> Vec<(String, String)> {
    let mut names: BTreeSet<&str> = BTreeSet::new();
    let environments = std::iter::once(&run.environment).chain(run.environments());
    names.extend(environments.filter_map(|environment| environment.machine.hostname.as_deref()));
    names.extend(run.hosts.iter().map(|host| host.name.as_str()));
    for phase in &run.phases {
        names.extend(phase.hosts.iter().map(|host| host.name.as_str()));
        let workers = phase.jobs.iter().flat_map(|job| &job.evidence.workers);
        names.extend(workers.map(|worker| worker.name.as_str()));
    }
    names.remove("");
    let number = |(index, name): (usize, &str)| (name.to_owned(), format!("host-{}", index + 1));
    let mut named: Vec<(String, String)> = names.into_iter().enumerate().map(number).collect();
    // A host is also known by the first word of its name.
    let short: Vec<(String, String)> = named
        .iter()
        .filter_map(|(name, instead)| Some((name.split_once('.')?.0.to_owned(), instead.clone())))
        .filter(|(name, _)| !name.is_empty() && !name.bytes().all(|byte| byte.is_ascii_digit()))
        .collect();
    named.extend(short);
    named.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
    named
}

/// Replaces the names in every text of a document.
pub(super) fn remove_names(value: &mut Value, names: &[(String, String)]) {
    match value {
        Value::String(text) => {
            for (name, instead) in names {
                if let Some(replaced) = replaced(text, name, instead) {
                    *text = replaced;
                }
            }
        }
        Value::Array(values) => values.iter_mut().for_each(|value| remove_names(value, names)),
        Value::Object(map) => map.values_mut().for_each(|value| remove_names(value, names)),
        _ => {}
    }
}

/// `text` with each `name` that is not part of a longer word replaced; `None`: it has none.
fn replaced(text: &str, name: &str, instead: &str) -> Option<String> {
    let mut out = String::new();
    let mut done = 0;
    for (at, _) in text.match_indices(name) {
        let end = at + name.len();
        let word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
        if word(text[..at].chars().next_back()) || word(text[end..].chars().next()) {
            continue;
        }
        out.push_str(&text[done..at]);
        out.push_str(instead);
        done = end;
    }
    out.push_str(&text[done..]);
    (done > 0).then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_replaced_where_it_is_a_word() {
        assert_eq!(
            replaced("vm: on vm-1, not vmlinuz", "vm", "host-1").as_deref(),
            Some("host-1: on host-1-1, not vmlinuz")
        );
        assert_eq!(replaced("vmlinuz", "vm", "host-1"), None);
    }
}
