//! Rule over two places that must agree: the checks that exist, and the page that explains them.
//!
//! An id counts as existing where the source of `results`' checks uses it as one: in a constant named `ID`,
//! `.._ID` or `.._IDS`, in a field `id`, or in a function `id`. It counts as explained where it is a heading of
//! the page (`## not-steady`) or in the first cell of a table row.

use std::collections::BTreeMap;

use syn::visit::{self, Visit};

use super::{Finding, SourceFile};

const PAGE: &str = "docs/methodology/checks.md";
const SOURCES: [&str; 2] = ["crates/results/src/checks.rs", "crates/results/src/checks/"];

/// Id, and the file and line where it is used first.
type Ids = BTreeMap<String, (String, usize)>;

/// `check-ids`; silent as long as there is no page or no check.
pub(super) fn check(files: &[SourceFile]) -> Vec<Finding> {
    let page = files.iter().find(|file| file.path == PAGE).and_then(|file| file.text.as_deref());
    let sources = || files.iter().filter(|file| SOURCES.iter().any(|start| file.path.starts_with(start)));
    let Some(page) = page.filter(|_| sources().next().is_some()) else {
        return Vec::new();
    };
    let mut existing = Ids::new();
    for file in sources() {
        // What does not parse is reported by the other rules.
        let parsed = syn::parse_file(file.text.as_deref().unwrap_or_default());
        if let Ok(parsed) = parsed {
            let mut finder = IdFinder { path: &file.path, in_id: false, ids: &mut existing };
            finder.visit_file(&parsed);
        }
    }
    let explained = explained_ids(page);
    let mut findings =
        missing_from(&explained, &existing, "exists, but is not explained in docs/methodology/checks.md");
    findings.extend(missing_from(&existing, &explained, "is explained, but no check of results has this id"));
    findings
}

fn missing_from(place: &Ids, ids: &Ids, message: &str) -> Vec<Finding> {
    let missing = ids.iter().filter(|(id, _)| !place.contains_key(*id));
    missing
        .map(|(id, (file, line))| Finding::new(file, *line, "check-ids", format!("'{id}' {message}")))
        .collect()
}

fn explained_ids(page: &str) -> Ids {
    let mut ids = Ids::new();
    for (index, line) in page.lines().enumerate() {
        let cell = line.strip_prefix('|').and_then(|row| row.split('|').next());
        let heading = line.strip_prefix("### ").or_else(|| line.strip_prefix("## "));
        // A heading of a table and one in plain words begin with a capital or have spaces.
        for name in cell.or(heading).unwrap_or_default().split(',') {
            let quoted = name.trim();
            let name = quoted.trim_matches('`');
            if is_id(name) && (heading.is_some() || quoted != name) {
                ids.entry(name.to_owned()).or_insert_with(|| (PAGE.to_owned(), index + 1));
            }
        }
    }
    ids
}

fn is_id(text: &str) -> bool {
    text.len() > 2
        && text.split('-').all(|word| !word.is_empty() && word.chars().all(|c| c.is_ascii_lowercase()))
}

struct IdFinder<'a> {
    path: &'a str,
    in_id: bool,
    ids: &'a mut Ids,
}

impl IdFinder<'_> {
    fn within(&mut self, is_id: bool, go_on: impl FnOnce(&mut Self)) {
        let before = self.in_id;
        self.in_id |= is_id;
        go_on(self);
        self.in_id = before;
    }
}

fn names_an_id(ident: &syn::Ident) -> bool {
    let name = ident.to_string();
    ["ID", "IDS"].contains(&name.as_str()) || name.ends_with("_ID") || name.ends_with("_IDS")
}

impl<'ast> Visit<'ast> for IdFinder<'_> {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if item.ident != "tests" {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_const(&mut self, item: &'ast syn::ItemConst) {
        self.within(names_an_id(&item.ident), |finder| visit::visit_item_const(finder, item));
    }

    fn visit_impl_item_const(&mut self, item: &'ast syn::ImplItemConst) {
        self.within(names_an_id(&item.ident), |finder| visit::visit_impl_item_const(finder, item));
    }

    fn visit_field_value(&mut self, field: &'ast syn::FieldValue) {
        let is_id = matches!(&field.member, syn::Member::Named(name) if name == "id");
        self.within(is_id, |finder| visit::visit_field_value(finder, field));
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.within(item.sig.ident == "id", |finder| visit::visit_item_fn(finder, item));
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.within(item.sig.ident == "id", |finder| visit::visit_impl_item_fn(finder, item));
    }

    fn visit_attribute(&mut self, _: &'ast syn::Attribute) {}

    fn visit_lit_str(&mut self, literal: &'ast syn::LitStr) {
        let id = literal.value();
        if self.in_id && is_id(&id) {
            let place = (self.path.to_owned(), literal.span().start().line);
            self.ids.entry(id).or_insert(place);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(page: Option<&str>, source: Option<&str>) -> Vec<String> {
        let file = |path: &str, text: &str| SourceFile {
            path: path.to_owned(),
            bytes: 0,
            text: Some(text.to_owned()),
        };
        let page = page.map(|text| file(PAGE, text));
        let source = source.map(|text| file("crates/results/src/checks/a.rs", text));
        let files: Vec<SourceFile> = page.into_iter().chain(source).collect();
        check(&files).iter().map(ToString::to_string).collect()
    }

    const SOURCE: &str = "pub const STEADY_ID: &str = \"not-steady\";\n\
        fn f() { Finding { id: \"throttled\".to_owned(), advice: \"see-it\" } }\n\
        impl A { const ID: &str = \"short-run\"; fn id(&self) -> &str { match self { B => \"lost-worker\" } } }\n\
        mod tests { const ID: &str = \"made-up\"; }";

    #[test]
    fn ids_that_agree_are_silent() {
        let page = "# Checks\n## How to read\n| id | x |\n|---|---|\n| `not-steady`, `short-run` | y |\n\
                    ## throttled\n### `lost-worker`\n";
        assert_eq!(found(Some(page), Some(SOURCE)), [""; 0]);
    }

    #[test]
    fn ids_on_one_side_only_are_found_there() {
        let found = found(Some("## throttled\n## not-steady\n## gone\n## lost-worker"), Some(SOURCE));
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(
            found[0].starts_with("crates/results/src/checks/a.rs:3: check-ids: 'short-run' exists"),
            "{found:?}"
        );
        assert!(
            found[1].starts_with("docs/methodology/checks.md:3: check-ids: 'gone' is explained"),
            "{found:?}"
        );
    }

    #[test]
    fn the_rule_waits_for_both_sides() {
        assert_eq!(found(None, Some(SOURCE)), [""; 0]);
        assert_eq!(found(Some("## gone"), None), [""; 0]);
    }
}
