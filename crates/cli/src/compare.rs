//! `assay compare`: results side by side.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use assay_report::{html, md, terminal};
use assay_results::Run;
use assay_results::compare::{self, CompareOptions, Comparison, Side};
use assay_results::stats::{CompareVerdict, Margins};
use assay_results::store::{self, RunState, matches_pattern};
use clap::{Args, ValueEnum};

use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::import::read;
use crate::languages;
use crate::output::{FLATFILE, Outputs};
use crate::shown;

#[derive(Debug, Args)]
#[command(after_help = "Each RUN is a side, and the first is what the others are compared with.
A side is
  a run: the start of its id, its directory, its run.json, or 'last'
  several runs: a plan's name, a pattern ('*before*'), or a directory of runs
  another tool's result: fio's JSON, vdbench's flatfile.html or output directory
With --vs, everything before it is one side and everything behind it the
other.

Examples:
  # two runs, against what runs are known to differ by
  assay compare 3f9c 77aa
  assay compare 3f9c 41d0 5b2e 9c11 --vs 77aa 80c2 91f3 a0d4
  assay compare '*before*' '*after*' --fail-on worse
  assay compare old-fio.json new-fio.json --html difference.html

One run per side cannot show run-to-run variation: it is taken from stored runs
of the same plan (at least five), else assumed. From four runs per side on, it
is measured.
better, worse, equivalent and no evidence are defined against the margin,
below the table and in docs/methodology/compare.md.")]
pub(crate) struct CompareArgs {
    /// What to compare, the reference first
    #[arg(value_name = "RUN", required = true)]
    pub(crate) runs: Vec<String>,
    /// The runs of the other side
    #[arg(long, value_name = "RUN", num_args = 1..)]
    pub(crate) vs: Vec<String>,
    /// Differences whose whole interval lies within this are equivalent
    #[arg(long, value_name = "PERCENT", default_value = "5%", value_parser = percent)]
    pub(crate) margin: f64,
    /// Chance that any figure is called better or worse by accident
    #[arg(long, value_name = "PERCENT", default_value = "5%", value_parser = percent)]
    pub(crate) alpha: f64,
    /// Compare even runs that were measured under different conditions
    #[arg(long)]
    pub(crate) anyway: bool,
    /// End with status 4 if a figure is worse, or not shown to be equivalent or better
    #[arg(long, value_enum, value_name = "WHAT")]
    pub(crate) fail_on: Option<FailOn>,
    /// Print the comparison as one JSON document
    #[arg(long)]
    pub(crate) json: bool,
    /// Write a self-contained page
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Write Markdown
    #[arg(long, value_name = "FILE")]
    pub(crate) md: Option<PathBuf>,
    /// Replace files that Assay did not write, too
    #[arg(long)]
    pub(crate) force: bool,
}

/// What a comparison may fail on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FailOn {
    /// Any figure is worse
    Worse,
    /// Any figure is neither equivalent nor better
    NotEquivalent,
}

/// `5%`, `5 %` or `5` as a share of one.
fn percent(text: &str) -> Result<f64, String> {
    let number = text.trim().trim_end_matches('%').trim();
    let value: f64 = number.parse().map_err(|_| format!("'{text}' is not a percentage, such as 5%"))?;
    if value > 0.0 && value < 100.0 {
        Ok(value / 100.0)
    } else {
        Err(format!("{text} is not between 0 and 100 %"))
    }
}

pub(crate) fn compare(args: &CompareArgs, context: &Context) -> Result<Outcome, Failure> {
    let words = args.runs.iter().chain(&args.vs);
    let mut outputs = words.fold(Outputs::new(args.force), |all, word| all.reading_run(word, context));
    if args.json {
        outputs.take_stdout("--json")?;
    }
    outputs.check("--html", args.html.as_deref())?;
    outputs.check("--md", args.md.as_deref())?;
    let sides = sides(args, context)?;
    for id in on_both_sides(&sides) {
        context.warn(&format!("run {id} is on more than one side: it is compared with itself there"));
    }
    let mut borrowed: Vec<Side<'_>> =
        sides.iter().map(|(name, runs)| Side::new(name, runs.iter().collect())).collect();
    let options = options(args);
    let earlier = match compare::wants_history(&borrowed, &options.margins) {
        true => earlier(&borrowed, context),
        false => Vec::new(),
    };
    for side in &mut borrowed {
        side.history = earlier.iter().filter(|run| compare::alike(side.runs[0], run)).collect();
    }
    let found = compare::compare(&borrowed, &options).map_err(Failure::usage)?;
    if args.json {
        context.out(&serde_json::to_string_pretty(&found).map_err(Failure::failed)?);
    } else {
        context.out(&terminal::comparison(&found, &context.style));
    }
    if let Some(path) = &args.html {
        outputs.write("--html", path, &html::comparison(&found))?;
    }
    if let Some(path) = &args.md {
        outputs.write("--md", path, &md::comparison(&found))?;
    }
    if let Some(reason) = found.nothing_ranked() {
        let hint = if args.anyway { "" } else { "; --anyway ranks what is not comparable, too" };
        return Err(Failure::usage(format!("nothing could be ranked: {reason}{hint}")));
    }
    Ok(outcome(&found, args.fail_on))
}

fn options(args: &CompareArgs) -> CompareOptions {
    let defaults = Margins::default();
    CompareOptions {
        // What is equivalent is not worth a word of its own.
        margins: Margins {
            equivalent: args.margin,
            relevant: defaults.relevant.min(args.margin),
            alpha: args.alpha,
        },
        anyway: args.anyway,
        ..CompareOptions::default()
    }
}

fn outcome(found: &Comparison, fail_on: Option<FailOn>) -> Outcome {
    // What could not be ranked, as a figure that is not valid, has shown nothing.
    let worse = found.count(CompareVerdict::Worse) + found.unranked();
    let bad = match fail_on {
        None => 0,
        Some(FailOn::Worse) => worse,
        Some(FailOn::NotEquivalent) => worse + found.count(CompareVerdict::NoEvidence),
    };
    if bad > 0 { Outcome::Regression } else { Outcome::Done }
}

/// The sides with their runs.
fn sides(args: &CompareArgs, context: &Context) -> Result<Vec<(String, Vec<Run>)>, Failure> {
    if !args.vs.is_empty() {
        return Ok(vec![side(&args.runs, context)?, side(&args.vs, context)?]);
    }
    if args.runs.len() < 2 {
        return Err(Failure::usage(
            "a comparison takes two sides: name another run, or put the other side behind --vs",
        ));
    }
    args.runs.iter().map(|word| side(std::slice::from_ref(word), context)).collect()
}

/// The runs that are on more than one side.
fn on_both_sides(sides: &[(String, Vec<Run>)]) -> BTreeSet<&str> {
    let (mut seen, mut twice) = (BTreeSet::new(), BTreeSet::new());
    for (_, runs) in sides {
        let own: BTreeSet<&str> = runs.iter().map(|run| run.id.as_str()).collect();
        twice.extend(own.intersection(&seen).copied());
        seen.extend(own);
    }
    twice
}

/// Most stored runs of a plan that are looked at for what runs differ by; the newest ones.
const EARLIER_RUNS_MAX: usize = 40;

/// The newest finished runs of the sides' plans. What cannot be read is left out: nothing was asked of it.
fn earlier(sides: &[Side<'_>], context: &Context) -> Vec<Run> {
    let names: Vec<&str> = sides.iter().map(|side| side.runs[0].plan.name.as_str()).collect();
    let entries = context.runs_root().ok().and_then(|root| store::list(&root).ok()).unwrap_or_default();
    let named =
        entries.iter().rev().filter(|entry| entry.name.as_deref().is_some_and(|name| names.contains(&name)));
    named.take(EARLIER_RUNS_MAX).filter_map(|entry| entry.dir.read_run().ok()).collect()
}

fn side(words: &[String], context: &Context) -> Result<(String, Vec<Run>), Failure> {
    let mut runs = Vec::new();
    for word in words {
        runs.extend(runs_of(word, context)?);
    }
    Ok((side_name(words, &runs), runs))
}

/// One word is the name that the user gave; of several, which are often paths, the runs' own names say more.
fn side_name(words: &[String], runs: &[Run]) -> String {
    if let [word] = words {
        return word.clone();
    }
    let mut names: Vec<&str> = Vec::new();
    for run in runs {
        if !names.contains(&run.name.as_str()) {
            names.push(&run.name);
        }
    }
    names.join(", ")
}

/// The runs that a word of the command line stands for: at least one.
fn runs_of(word: &str, context: &Context) -> Result<Vec<Run>, Failure> {
    let path = Path::new(word);
    if path.is_file() {
        return Ok(vec![file(path, word, context)?]);
    }
    if path.is_dir() {
        return directory(path, word, context);
    }
    let root = context.runs_root()?;
    if !word.contains(['*', '?']) {
        match store::find(&root, word) {
            Ok(_) => return Ok(vec![shown::load(word, context)?]),
            Err(error @ (store::StoreError::NotFound { .. } | store::StoreError::Ambiguous { .. })) => {
                // Several runs of one plan are found by its name.
                let named = matching(&root, |entry| entry.name.as_deref() == Some(word), context)?;
                return if named.is_empty() { Err(Failure::usage(error)) } else { Ok(named) };
            }
            Err(error) => return Err(Failure::usage(error)),
        }
    }
    let found = matching(
        &root,
        |entry| {
            let names = [entry.name.as_deref(), Some(entry.id.as_str()), Some(entry.dir.name())];
            names.into_iter().flatten().any(|name| matches_pattern(word, name))
        },
        context,
    )?;
    if found.is_empty() {
        return Err(Failure::usage(format!("no run in {} matches '{word}'", root.display())));
    }
    Ok(found)
}

fn file(path: &Path, word: &str, context: &Context) -> Result<Run, Failure> {
    let (name, text) = read(path)?;
    match languages::import_known(&text) {
        None => shown::load(word, context),
        Some(read) => read.map_err(|error| Failure::usage(format!("{name}: {error}"))),
    }
}

fn directory(path: &Path, word: &str, context: &Context) -> Result<Vec<Run>, Failure> {
    if store::RunDir::open(path).is_ok() {
        return Ok(vec![shown::load(word, context)?]);
    }
    if path.join(FLATFILE).is_file() {
        return Ok(vec![file(&path.join(FLATFILE), word, context)?]);
    }
    let runs = matching(path, |_| true, context)?;
    if runs.is_empty() {
        return Err(Failure::usage(format!("{word} is neither a run nor a directory of runs")));
    }
    Ok(runs)
}

/// The finished runs below `root` that are wanted, the oldest first; what cannot be read is said.
fn matching(
    root: &Path,
    wanted: impl Fn(&store::RunEntry) -> bool,
    context: &Context,
) -> Result<Vec<Run>, Failure> {
    let mut runs = Vec::new();
    for entry in store::list(root).map_err(Failure::usage)? {
        if !wanted(&entry) {
            continue;
        }
        if entry.state == RunState::Done {
            runs.push(entry.dir.read_run().map_err(Failure::usage)?);
        } else {
            context.say(&format!("left out {}: it has no result", entry.dir.name()));
        }
    }
    Ok(runs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentages() {
        assert_eq!(percent("5%"), Ok(0.05));
        assert_eq!(percent("2.5 %"), Ok(0.025));
        assert!(percent("0").is_err() && percent("x").is_err() && percent("100").is_err());
    }
}
