//! Names that the language accepts, each used once.

use std::collections::{BTreeMap, BTreeSet};

/// Gives out names.
#[derive(Default)]
pub(super) struct Names {
    used: BTreeSet<String>,
    /// The last number behind a base, so that thousands of one base take no time.
    numbers: BTreeMap<String, u64>,
    by_origin: BTreeMap<String, String>,
    changed: Vec<(String, String)>,
}

impl Names {
    /// A new name near `wanted`.
    pub(super) fn fresh(&mut self, wanted: &str, fallback: &str) -> String {
        let name = self.near(wanted, fallback);
        if name != wanted {
            self.changed.push((wanted.to_owned(), name.clone()));
        }
        name
    }

    /// What was wanted and what was given instead, where that differs.
    pub(super) fn take_changed(&mut self) -> Vec<(String, String)> {
        std::mem::take(&mut self.changed)
    }

    fn near(&mut self, wanted: &str, fallback: &str) -> String {
        const RESERVED: [&str; 5] = ["default", "concat", "format", "single", "range"];
        let mut base: String =
            wanted.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).take(64).collect();
        while base.ends_with('_') {
            base.pop();
        }
        if !base.starts_with(|c: char| c.is_ascii_alphabetic()) || RESERVED.contains(&base.as_str()) {
            base = format!("{fallback}{base}");
        }
        if self.used.insert(base.clone()) {
            return base;
        }
        let number = self.numbers.entry(base.clone()).or_insert(1);
        loop {
            *number += 1;
            let name = format!("{base}_{number}");
            if self.used.insert(name.clone()) {
                return name;
            }
        }
    }

    /// The name that stands for `origin`, the same one each time.
    pub(super) fn of(&mut self, origin: &str, fallback: &str) -> String {
        if let Some(name) = self.by_origin.get(origin) {
            return name.clone();
        }
        let name = self.fresh(origin, fallback);
        self.by_origin.insert(origin.to_owned(), name.clone());
        name
    }

    /// The name given for `origin` earlier.
    pub(super) fn known(&self, origin: &str) -> Option<&str> {
        self.by_origin.get(origin).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::Names;

    #[test]
    fn names_are_plain_and_unique() {
        let mut names = Names::default();
        assert_eq!(names.fresh("r_(50%)", "rd"), "r__50");
        assert_eq!(names.fresh("r_(50%)", "rd"), "r__50_2");
        assert_eq!(names.fresh("default", "sd"), "sddefault");
        assert_eq!(names.fresh("/dev/sda", "sd"), "sd_dev_sda");
        assert_eq!(names.of("x y", "sd"), names.of("x y", "sd"));
        assert_eq!(names.known("z"), None);
        let changed = names.take_changed();
        assert!(
            changed.contains(&("r_(50%)".to_owned(), "r__50_2".to_owned())) && changed.len() == 5,
            "{changed:?}"
        );
        names.fresh("plain", "sd");
        assert!(names.take_changed().is_empty());
    }
}
