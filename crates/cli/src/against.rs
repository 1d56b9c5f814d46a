//! `assay plan A --against B`: do two files, of whatever languages, offer the same load?

use std::collections::BTreeSet;
use std::path::Path;

use assay_workload::Plan;
use assay_workload::plan::{LoadAspect, LoadDifference, Offer, load_differences};
use assay_workload::scale;
use assay_workload::units::Bytes;
use serde_json::json;

use crate::asked::runtime_of;
use crate::audit::{self, source};
use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::input::{self, ReadingArgs};
use crate::languages::{Format, lines_of};

/// One of the two files.
struct Side {
    name: String,
    format: Format,
    /// As far as it can be read here: lines are looked up in it.
    text: String,
    plan: Plan,
    sizes_unknown: Vec<String>,
}

/// How the two are planned.
pub(crate) struct Comparing<'a> {
    pub(crate) reading: &'a ReadingArgs,
    /// What targets without a size are taken to have; `None`: all of them, whatever that is.
    pub(crate) size: Option<Bytes>,
    pub(crate) runtime: Option<&'a str>,
    pub(crate) json: bool,
}

impl Side {
    fn read(file: &Path, how: &Comparing<'_>, context: &Context) -> Result<Side, Failure> {
        let text = input::text_of_file(file)?;
        let input = input::read_file(file, how.reading, None)?.refuse_unset();
        let format = input.format;
        // Losses are of `run`; an error says that the file cannot be planned.
        let (mut workload, _) = input.checked(false, context)?;
        if let Some(time) = how.runtime {
            let time = runtime_of(time)?;
            scale::override_runtime(&mut workload, time);
        }
        let size = how.size.unwrap_or_else(audit::size_default);
        let (plan, mut sizes_unknown) = source::planned(&workload, size, None)?;
        if how.size.is_some() {
            sizes_unknown.clear();
        }
        let name = file.display().to_string();
        Ok(Side { name, format, text, plan: plan.on_one_machine(), sizes_unknown })
    }

    fn offer(&self) -> Offer<'_> {
        Offer { plan: &self.plan, sizes_unknown: &self.sizes_unknown }
    }

    /// Where the file says it: the first line that names one of `only`, else the first with a word for the aspect.
    fn line(&self, aspect: LoadAspect, only: &[String]) -> Option<usize> {
        let only: BTreeSet<&str> = only.iter().map(String::as_str).collect();
        let naming = (1..).zip(self.text.lines()).find(|(_, line)| only.iter().any(|path| names(line, path)));
        naming.map(|(number, _)| number).or_else(|| lines_of(self.format, &self.text, aspect))
    }

    fn place(&self, aspect: LoadAspect, only: &[String]) -> String {
        match self.line(aspect, only) {
            Some(line) => format!("{}:{line}", self.name),
            None => format!("{} does not say it", self.name),
        }
    }
}

/// Whether a line names a path as a whole word.
fn names(line: &str, path: &str) -> bool {
    let part = |c: char| c.is_alphanumeric() || "/._-".contains(c);
    line.match_indices(path)
        .any(|(at, _)| !line[..at].ends_with(part) && !line[at + path.len()..].starts_with(part))
}

/// Compares the two files, and says each difference with its lines.
pub(crate) fn compare(files: [&Path; 2], how: &Comparing<'_>, context: &Context) -> Result<Outcome, Failure> {
    let [first, second] = files.map(|file| Side::read(file, how, context));
    let (first, second) = (first?, second?);
    let found = load_differences(first.offer(), second.offer());
    if how.json {
        let list: Vec<_> = found.iter().map(|one| as_json(one, &first, &second)).collect();
        let document = json!({
            "schema": "assay.load-difference/1",
            "first": first.name, "second": second.name, "same": found.is_empty(), "differences": list,
        });
        context.out(&format!("{document:#}"));
    } else if found.is_empty() {
        context.out(&format!("{} and {} offer the same load.", first.name, second.name));
    } else {
        context.out(&said(&found, &first, &second));
    }
    Ok(if found.is_empty() { Outcome::Done } else { Outcome::Regression })
}

fn said(found: &[LoadDifference], first: &Side, second: &Side) -> String {
    let number = found.len();
    let what = if number == 1 { "1 difference" } else { &format!("{number} differences") };
    let mut text = format!("{} and {} do not offer the same load: {what}.", first.name, second.name);
    let several = found.iter().any(|one| one.phase != found[0].phase);
    for one in found {
        let phase =
            if several && !one.phase.is_empty() { format!(" ({})", one.phase) } else { String::new() };
        text.push_str(&format!("\n\n{}{phase}", one.aspect.name()));
        let sides = [(first, &one.first, &one.first_only), (second, &one.second, &one.second_only)];
        for (side, value, only) in sides {
            let value = if value.is_empty() { "none" } else { value };
            text.push_str(&format!("\n  {value}\n      {}", side.place(one.aspect, only)));
        }
    }
    text
}

fn as_json(one: &LoadDifference, first: &Side, second: &Side) -> serde_json::Value {
    let side = |side: &Side, value: &str, only: &[String]| json!({ "value": value, "line": side.line(one.aspect, only), "only": only });
    json!({
        "aspect": one.aspect.name(),
        "phase": one.phase,
        "first": side(first, &one.first, &one.first_only),
        "second": side(second, &one.second, &one.second_only),
    })
}
