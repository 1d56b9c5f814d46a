//! No circle of imports of more than three files: such files can only be understood, moved and tested together.

use std::collections::{BTreeMap, BTreeSet};

use syn::visit::{self, Visit};
use syn::{Attribute, Item, ItemMod, ItemUse, UseTree, Visibility};

use super::{Finding, SourceFile};

/// The most files that may import each other.
const FILES_MAX: usize = 3;

/// A path as it is written: `super::a::b`.
type Words = Vec<String>;

/// One file of a crate.
#[derive(Default)]
struct Module {
    /// Its path in the tree.
    file: String,
    /// What it names of its crate.
    names: Vec<Words>,
    /// Names that it hands on, and where they are from.
    hands_on: BTreeMap<String, Words>,
}

/// The modules of one crate by their path: `a::b`; the root is empty.
type Modules = BTreeMap<String, Module>;

/// `circle`: a circle of too many files, told at the first of them.
pub(super) fn check(files: &[SourceFile]) -> Vec<Finding> {
    let mut crates: BTreeMap<&str, Modules> = BTreeMap::new();
    for file in files {
        let Some((crate_name, module)) = place(&file.path) else { continue };
        let Some(parsed) = file.text.as_deref().and_then(|text| syn::parse_file(text).ok()) else { continue };
        let mut reader = Reader { module: Module { file: file.path.clone(), ..Module::default() } };
        reader.visit_file(&parsed);
        crates.entry(crate_name).or_default().insert(module, reader.module);
    }
    crates.values().flat_map(findings).collect()
}

/// The crate and the module of a source file; tests are none.
fn place(path: &str) -> Option<(&str, String)> {
    let (crate_name, file) = path.strip_prefix("crates/")?.split_once("/src/")?;
    let module = file.strip_suffix(".rs")?;
    let module = module.strip_suffix("/mod").unwrap_or(module);
    if module.split('/').any(|part| part == "tests") {
        return None;
    }
    let module = if matches!(module, "lib" | "main") { "" } else { module };
    Some((crate_name, module.replace('/', "::")))
}

/// Collects what a file names.
struct Reader {
    module: Module,
}

fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && attribute.meta.require_list().is_ok_and(|list| list.tokens.to_string().contains("test"))
    })
}

impl<'ast> Visit<'ast> for Reader {
    fn visit_item(&mut self, item: &'ast Item) {
        let tests = match item {
            Item::Mod(ItemMod { attrs, .. }) | Item::Use(ItemUse { attrs, .. }) => is_test(attrs),
            _ => false,
        };
        if !tests {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        let hands_on = !matches!(item.vis, Visibility::Inherited);
        self.tree(&item.tree, &mut Vec::new(), hands_on);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        if path.segments.len() > 1 {
            self.module.names.push(path.segments.iter().map(|segment| segment.ident.to_string()).collect());
        }
        visit::visit_path(self, path);
    }
}

impl Reader {
    fn tree(&mut self, tree: &UseTree, prefix: &mut Words, hands_on: bool) {
        let mut leaf = |name: String, known_as: String| {
            let path: Words = prefix.iter().cloned().chain([name]).collect();
            if hands_on {
                self.module.hands_on.insert(known_as, path.clone());
            }
            self.module.names.push(path);
        };
        match tree {
            UseTree::Path(path) => {
                prefix.push(path.ident.to_string());
                self.tree(&path.tree, prefix, hands_on);
                prefix.pop();
            }
            UseTree::Name(name) => leaf(name.ident.to_string(), name.ident.to_string()),
            UseTree::Rename(name) => leaf(name.ident.to_string(), name.rename.to_string()),
            UseTree::Glob(_) => self.module.names.push(prefix.clone()),
            UseTree::Group(group) => {
                group.items.iter().for_each(|item| self.tree(item, prefix, hands_on));
            }
        }
    }
}

/// The module that a path leads to from `module`; `None`: it leaves the crate.
fn target(modules: &Modules, module: &str, path: &[String], depth: usize) -> Option<String> {
    let mut at: Vec<&str> = module.split("::").filter(|part| !part.is_empty()).collect();
    let mut rest = path;
    match rest.first()?.as_str() {
        "crate" => at.clear(),
        "self" => {}
        "super" => drop(at.pop()),
        child => {
            let full = at.iter().copied().chain([child]).collect::<Vec<_>>().join("::");
            if !modules.contains_key(&full) {
                return None;
            }
            at.push(child);
        }
    }
    rest = &rest[1..];
    while let Some((first, behind)) = rest.split_first() {
        if first == "super" {
            at.pop();
        } else {
            let full = at.iter().copied().chain([first.as_str()]).collect::<Vec<_>>().join("::");
            if !modules.contains_key(&full) {
                break;
            }
            at.push(first);
        }
        rest = behind;
    }
    let found = at.join("::");
    // Handed on from where it is defined: that is the file that is needed.
    let origin = rest.first().and_then(|name| modules.get(&found)?.hands_on.get(name));
    match origin.filter(|_| depth < 8) {
        Some(path) => target(modules, &found, path, depth + 1).or(Some(found)),
        None => Some(found),
    }
}

fn findings(modules: &Modules) -> Vec<Finding> {
    let mut imports: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for (name, module) in modules {
        let targets = module.names.iter().filter_map(|path| target(modules, name, path, 0));
        imports.insert(name, targets.filter(|target| !is_within(name, target)).collect());
    }
    let reached: BTreeMap<&str, BTreeSet<&str>> =
        imports.keys().map(|name| (*name, reachable(&imports, name))).collect();
    let mut told: BTreeSet<&str> = BTreeSet::new();
    let mut findings = Vec::new();
    for name in imports.keys() {
        let circle: Vec<&str> = reached[name]
            .iter()
            .copied()
            .filter(|other| reached.get(other).is_some_and(|back| back.contains(name)))
            .collect();
        if circle.len() > FILES_MAX && !circle.iter().any(|file| told.contains(file)) {
            told.extend(&circle);
            let files: Vec<&str> = circle.iter().map(|name| modules[*name].file.as_str()).collect();
            let message =
                format!("{} files import each other in a circle: {}", files.len(), files.join(", "));
            findings.push(Finding::new(files[0], 1, "circle", message));
        }
    }
    findings
}

/// Whether `module` is `ancestor` or below it: what a module shares with the parts that it is divided into ties nothing new.
fn is_within(module: &str, ancestor: &str) -> bool {
    ancestor.is_empty()
        || module.strip_prefix(ancestor).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}

/// Every module that `from` needs, by whatever way.
fn reachable<'m>(imports: &'m BTreeMap<&str, BTreeSet<String>>, from: &str) -> BTreeSet<&'m str> {
    let mut found = BTreeSet::new();
    let mut open: Vec<&str> = imports.get(from).into_iter().flatten().map(String::as_str).collect();
    while let Some(next) = open.pop() {
        if found.insert(next) {
            open.extend(imports.get(next).into_iter().flatten().map(String::as_str));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> SourceFile {
        SourceFile { path: path.to_owned(), bytes: text.len() as u64, text: Some(text.to_owned()) }
    }

    #[test]
    fn four_files_in_a_circle_are_too_many() {
        let ring = |last: &str| {
            [
                file("crates/x/src/lib.rs", "//! x\nmod a; mod b; mod c; mod d;"),
                file("crates/x/src/a.rs", "use crate::b::B; pub struct A;"),
                file("crates/x/src/b.rs", "pub struct B; fn f() { super::c::c(); }"),
                file("crates/x/src/c.rs", "use super::{d::D}; pub fn c() {}"),
                file("crates/x/src/d.rs", last),
            ]
        };
        let found = check(&ring("use crate::a; pub struct D;"));
        assert_eq!(found.len(), 1);
        assert!(found[0].message.starts_with("4 files"), "{}", found[0].message);
        assert!(check(&ring("#[cfg(test)] mod tests { use crate::a; }\npub struct D;")).is_empty());
    }

    #[test]
    fn what_a_parent_hands_on_is_needed_from_where_it_is_defined() {
        let files = [
            file("crates/x/src/lib.rs", "mod p;"),
            file("crates/x/src/p.rs", "mod a; mod b; mod c; mod d; pub use a::A; use {b::B, c::C, d::D};"),
            file("crates/x/src/p/a.rs", "pub struct A;"),
            file("crates/x/src/p/b.rs", "use super::A; pub struct B;"),
            file("crates/x/src/p/c.rs", "use super::A; pub struct C;"),
            file("crates/x/src/p/d.rs", "use super::A; pub struct D;"),
        ];
        assert!(check(&files).is_empty());
    }
}
