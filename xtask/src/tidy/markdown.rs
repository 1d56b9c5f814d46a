//! Rules over Markdown: relative links resolve.

use std::collections::BTreeSet;
use std::ops::Range;

use pulldown_cmark::{Event, LinkType, Parser, Tag};

use super::Finding;

/// `link`: every relative link of the page at `path` must name one of `paths` (files and directories of the
/// tree, relative to the workspace).
pub(super) fn check_links(path: &str, text: &str, paths: &BTreeSet<String>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (target, range) in links(text) {
        let target = target.split(['#', '?']).next().unwrap_or_default();
        if target.is_empty() {
            continue;
        }
        let resolved = resolve(path, target);
        if !resolved.as_ref().is_some_and(|resolved| paths.contains(resolved)) {
            let line = text[..range.start].matches('\n').count() + 1;
            findings.push(Finding::new(path, line, "link", format!("'{target}' leads nowhere")));
        }
    }
    findings
}

/// The targets that have no scheme, and where each link stands.
fn links(text: &str) -> Vec<(String, Range<usize>)> {
    let mut found = Vec::new();
    for (event, range) in Parser::new(text).into_offset_iter() {
        let Event::Start(Tag::Link { link_type, dest_url, .. } | Tag::Image { link_type, dest_url, .. }) =
            event
        else {
            continue;
        };
        let elsewhere = dest_url.contains("://") || dest_url.starts_with("mailto:");
        if link_type != LinkType::Email && !elsewhere {
            found.push((dest_url.into_string(), range));
        }
    }
    found
}

/// `target` as seen from the directory of `page`; `None` where it leaves the tree.
fn resolve(page: &str, target: &str) -> Option<String> {
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    if target.starts_with('/') {
        return None;
    }
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn broken(text: &str) -> Vec<(usize, String)> {
        let paths = ["", "docs", "docs/a.md", "docs/b.md", "LICENSE"].map(str::to_owned);
        let found = check_links("docs/a.md", text, &BTreeSet::from(paths));
        found.into_iter().map(|finding| (finding.line, finding.message)).collect()
    }

    #[test]
    fn links_that_resolve_are_silent() {
        let text = "[b](b.md) [part](b.md#part) [here](#here) [l](../LICENSE) [up](..) [dir](../docs/) <me@example.org>\n\
                    [web](https://example.org/x) ![i](b.md \"title\") [r]\n\n[r]: b.md\n";
        assert_eq!(broken(text), []);
    }

    #[test]
    fn links_that_lead_nowhere_are_found_on_their_line() {
        let found = broken("one\n\n[x](gone.md) and\n[y](../../outside.md) [z](/b.md)\n\n- ![i](no.svg)\n");
        assert_eq!(found.iter().map(|(line, _)| *line).collect::<Vec<_>>(), [3, 4, 4, 6]);
        assert_eq!(found[0].1, "'gone.md' leads nowhere");
    }

    #[test]
    fn code_is_not_a_link() {
        assert_eq!(broken("`[x](gone.md)`\n\n```\n[x](gone.md)\n```\n"), []);
    }
}
