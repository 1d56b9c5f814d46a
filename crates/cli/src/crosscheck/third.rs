//! A third side of a crosscheck: the vdbench that the user has, on the same parameter file and the same targets.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use assay_results::crosscheck::Pair;
use assay_results::run::PhaseResult;
use assay_results::stats::median;
use assay_results::{Run, store};
use assay_workload::units::Nanos;

use crate::context::Context;
use crate::failure::Failure;
use crate::languages;
use crate::output::FLATFILE;

/// The program of `--with vdbench=PATH`.
///
/// # Errors
/// Another tool, or nothing that can be run.
pub(super) fn program(word: &str) -> Result<PathBuf, Failure> {
    let Some(path) = word.strip_prefix("vdbench=").map(PathBuf::from) else {
        return Err(Failure::usage(format!(
            "--with {word}: only vdbench=PATH is known, the script of vdbench"
        )));
    };
    if !path.is_file() {
        return Err(Failure::usage(format!("--with {word}: {} is no file", path.display())));
    }
    std::path::absolute(&path).map_err(Failure::failed)
}

/// What is run, and how often.
pub(super) struct Third<'a> {
    pub(super) program: &'a Path,
    pub(super) file: &'a Path,
    pub(super) variables: &'a [String],
    pub(super) runtime: Option<&'a str>,
    pub(super) target: &'a Path,
    pub(super) repeat: u32,
}

impl Third<'_> {
    /// Runs it; its output directories are kept in `kept`.
    pub(super) fn runs(&self, kept: &Path, context: &Context) -> Result<Vec<Run>, Failure> {
        let file = std::path::absolute(self.file).map_err(Failure::failed)?;
        let seconds = self.runtime.map(str::parse::<Nanos>).transpose().map_err(Failure::usage)?;
        let one = |number: u32| {
            let output = kept.join(format!("vdbench-{number}"));
            let mut command = Command::new(self.program);
            command.arg("-f").arg(&file).arg("-o").arg(&output);
            // vdbench measures whole seconds.
            command.args(
                seconds.iter().flat_map(|time| ["-e".to_owned(), time.0.div_ceil(1_000_000_000).to_string()]),
            );
            command.args(self.variables).current_dir(self.target).stdin(Stdio::null());
            context.say(&format!("vdbench, run {number} of {}", self.repeat));
            let shown = self.program.display();
            let done = command.output().map_err(|error| Failure::failed(format!("{shown}: {error}")))?;
            if !done.status.success() {
                let said = String::from_utf8_lossy(&done.stdout);
                let last = said.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
                return Err(Failure::failed(format!("{shown} ended with {}: {last}", done.status)));
            }
            let flat = output.join(FLATFILE);
            let text = store::open_regular(&flat).and_then(std::io::read_to_string);
            let text = text.map_err(|error| Failure::failed(format!("{}: {error}", flat.display())))?;
            languages::import(&text).map_err(|error| Failure::failed(format!("{}: {error}", flat.display())))
        };
        (1..=self.repeat).map(one).collect()
    }
}

/// I/Os a second and mean latency in milliseconds of a phase.
fn figures(phase: &PhaseResult) -> (f64, f64) {
    let ops = phase.jobs.iter().flat_map(|job| [&job.read, &job.write]).flatten();
    let (iops, weighted) =
        ops.fold((0.0, 0.0), |(iops, sum), op| (iops + op.iops, sum + op.iops * op.completion_ns.mean));
    (iops, if iops > 0.0 { weighted / iops / 1e6 } else { 0.0 })
}

/// All three sides by run definition: medians.
pub(super) fn table(run: &Run, pairs: &[Pair], third: &[Run]) -> String {
    let mut phases: Vec<usize> = pairs.iter().map(|pair| pair.phase).collect();
    phases.dedup();
    let mut text = format!("with vdbench, {} runs (medians)", third.len());
    for (index, phase) in phases.iter().enumerate() {
        let own = |of: fn(&Pair) -> usize| {
            let windows = pairs.iter().filter(|pair| pair.phase == *phase).map(of);
            let found = windows.filter_map(|at| run.phases.iter().find(|one| one.plan_phase as usize == at));
            found.map(figures).collect::<Vec<_>>()
        };
        let theirs: Vec<(f64, f64)> =
            third.iter().filter_map(|run| run.phases.get(index)).map(figures).collect();
        let name = third.iter().find_map(|run| run.phases.get(index)).map_or("", |phase| phase.name.as_str());
        text.push_str(&format!("\n  {name}"));
        for (who, sides) in
            [("Assay", own(|pair| pair.assay)), ("fio", own(|pair| pair.fio)), ("vdbench", theirs)]
        {
            let middle = |of: fn(&(f64, f64)) -> f64| median(&sides.iter().map(of).collect::<Vec<_>>());
            match (middle(|side| side.0), middle(|side| side.1)) {
                (Some(iops), Some(ms)) => {
                    text.push_str(&format!(
                        "\n    {who:<8} {iops:>10.0} IOPS  {ms:>9.3} ms mean completion latency"
                    ));
                }
                _ => text.push_str(&format!("\n    {who:<8} no figures")),
            }
        }
    }
    text
}
