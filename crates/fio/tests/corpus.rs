//! Real job files: what fio accepts is read here with the same result, what it refuses is refused for the same reason.
//!
//! The files are not part of this repository. They are looked for in `$ASSAY_CORPUS/fio`, else beside the checkout; without
//! them the test says so and ends.

#[path = "../../../xtask/support/skip.rs"]
mod skip;

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use assay_fio::{self as fio, OptionFate, System};
use assay_formats::loader::{Loader, MemoryLoader};
use assay_formats::{Diagnostic, Severity};
use assay_workload::job::{EngineKind, Phase, Workload};
use assay_workload::resolve::{Inventory, TargetFacts, plan};
use assay_workload::target::{Target, TargetKind};
use serde::Deserialize;

#[derive(Debug, Deserialize)]
struct Entry {
    file: String,
    fio: String,
    reason: String,
}

struct Corpus {
    directory: PathBuf,
    entries: Vec<Entry>,
}

/// Includes from the directory, where every file carries the name of its repository in front; variables as given.
struct DirectoryLoader<'a> {
    directory: &'a Path,
    repository: &'a str,
    env: BTreeMap<String, String>,
}

impl Loader for DirectoryLoader<'_> {
    fn load(&self, path: &str) -> Result<Option<String>, String> {
        let base = path.rsplit('/').next().unwrap_or(path);
        let name = format!("{}__{base}", self.repository);
        Ok(std::fs::read_to_string(self.directory.join(name)).ok())
    }

    fn env(&self, name: &str) -> Option<String> {
        self.env.get(name).cloned()
    }
}

/// The shares are to be seen in the test's output.
fn say(text: &str) {
    let _ = std::io::stderr().write_all(format!("{text}\n").as_bytes());
}

fn corpus() -> Option<Corpus> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus");
    let root = std::env::var_os("ASSAY_CORPUS").map_or(beside, PathBuf::from);
    let directory = root.join("fio");
    let Ok(manifest) = std::fs::read_to_string(directory.join("MANIFEST.json")) else {
        skip::declare("corpus", "no job files; ASSAY_CORPUS names their directory");
        return None;
    };
    let entries = serde_json::from_str(&manifest).expect("the manifest is JSON");
    Some(Corpus { directory, entries })
}

impl Corpus {
    fn text(&self, entry: &Entry) -> String {
        let bytes = std::fs::read(self.directory.join(&entry.file)).expect("a file of the manifest");
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// The text and behind it those of its includes that are at hand.
    fn with_includes(&self, text: &str, repository: &str) -> String {
        let included =
            text.lines().filter_map(|line| line.trim().strip_prefix("include ")).filter_map(|name| {
                std::fs::read_to_string(self.directory.join(format!("{repository}__{name}"))).ok()
            });
        std::iter::once(text.to_owned()).chain(included).collect::<Vec<_>>().join("\n")
    }

    fn golden(&self, entry: &Entry) -> Option<String> {
        let name = entry.file.replace(".fio", ".showcmd");
        std::fs::read_to_string(self.directory.join("golden").join(name)).ok()
    }

    fn parse(&self, entry: &Entry) -> (Option<fio::JobFile>, Vec<Diagnostic>) {
        let text = self.text(entry);
        let repository = entry.file.split("__").next().unwrap_or("");
        let env = dummies(&self.with_includes(&text, repository), self.golden(entry).as_deref());
        let loader = DirectoryLoader { directory: &self.directory, repository, env };
        let system = System { page_size_bytes: 4096, memory_mib: Some(MEMORY_MIB), cpus: Some(2) };
        fio::parse_with(&entry.file, &text, &loader, &system)
    }
}

/// What `$mb_memory` stood for when the expected command lines were made is not known; no number of them depends on it.
const MEMORY_MIB: u64 = 1000;

/// The values variables had when fio printed its command line: what stands there in their place.
fn dummies(text: &str, golden: Option<&str>) -> BTreeMap<String, String> {
    text.split("${")
        .skip(1)
        .filter_map(|rest| rest.split_once('}'))
        .map(|(name, _)| (name.to_owned(), dummy(text, name, golden.unwrap_or(""))))
        .collect()
}

fn dummy(text: &str, name: &str, golden: &str) -> String {
    let marker = format!("${{{name}}}");
    let mut kind = "1";
    for line in text.lines().filter(|line| line.contains(&marker)) {
        let Some((option, value)) = line.trim().split_once('=') else { continue };
        let Some((before, after)) = value.split_once(marker.as_str()) else { continue };
        kind = match option.trim() {
            "rw" => "randread",
            "bs" => "4k",
            "size" | "filesize" => "1g",
            "ioengine" => "libaio",
            "filename" | "directory" => "x1",
            _ => kind,
        };
        let start = format!(" --{}={before}", option.trim());
        let found: Vec<&str> = golden
            .split(start.as_str())
            .skip(1)
            .filter_map(|rest| rest.split(' ').next()?.strip_suffix(after))
            .collect();
        let plain = !before.contains("${") && !after.contains("${");
        match found.as_slice() {
            [first, ..] if plain => return (if found.contains(&"1") { "1" } else { first }).to_owned(),
            _ => {}
        }
    }
    kind.to_owned()
}

fn ids(diagnostics: &[Diagnostic], severity: Severity) -> Vec<&'static str> {
    diagnostics.iter().filter(|d| d.severity == severity).map(|d| d.id).collect()
}

/// The remarks that stand for one of fio's reasons.
fn same_reason(reason: &str, diagnostics: &[Diagnostic]) -> bool {
    let errors = ids(diagnostics, Severity::Error);
    let any = |wanted: &[&str]| errors.iter().any(|id| wanted.contains(id));
    match reason {
        "bad_value" => any(&["bad-value", "option-removed"]),
        "bad_option" => any(&["unknown-option"]),
        "outside_section" => any(&["option-outside-section"]),
        // The fio that judged was built without these engines; here they are known, and said not to run.
        "engine_missing" => {
            any(&["unknown-engine-option"])
                || ids(diagnostics, Severity::Loss).contains(&"engine-not-available")
        }
        _ => false,
    }
}

#[test]
fn accepted_files_are_read_and_refused_ones_refused_for_the_same_reason() {
    let Some(corpus) = corpus() else { return };
    let mut wrong = Vec::new();
    let mut without_parts = 0;
    for entry in &corpus.entries {
        let (file, diagnostics) = corpus.parse(entry);
        let errors: Vec<String> =
            diagnostics.iter().filter(|d| d.severity == Severity::Error).map(ToString::to_string).collect();
        assert_eq!(file.is_none(), !errors.is_empty(), "{}", entry.file);
        let all_of =
            |id| !errors.is_empty() && ids(&diagnostics, Severity::Error).iter().all(|found| *found == id);
        // Includes that are not in the corpus, and files of defaults only, which fio takes in a dry run alone.
        let beyond_judgement = all_of("include-missing") || all_of("no-jobs");
        without_parts += usize::from(entry.fio == "accept" && beyond_judgement);
        if entry.fio == "accept" && file.is_none() && !beyond_judgement {
            wrong.push(format!("{}: fio reads it: {}", entry.file, errors.join(" | ")));
        }
        if entry.fio == "reject" && !same_reason(&entry.reason, &diagnostics) {
            wrong.push(format!("{}: fio refuses it ({}): {}", entry.file, entry.reason, errors.join(" | ")));
        }
    }
    say(&format!(
        "fio corpus: {} files, {without_parts} of them lack an include or a job",
        corpus.entries.len()
    ));
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), corpus.entries.len(), wrong.join("\n"));
}

#[test]
fn the_command_line_is_the_one_fio_prints() {
    let Some(corpus) = corpus() else { return };
    let mut wrong = Vec::new();
    let mut same = 0;
    for entry in &corpus.entries {
        let (Some(golden), (Some(file), _)) = (corpus.golden(entry), corpus.parse(entry)) else { continue };
        let ours = file.command_lines()[0].join(" ");
        // fio prints this warning between the words.
        let golden = golden.replace("Option flow_watermark is deprecated\n", "");
        if ours == golden.trim_end() {
            same += 1;
        } else {
            wrong.push(format!("{}\n  fio  {}\n  ours {ours}", entry.file, golden.trim_end()));
        }
    }
    say(&format!("fio corpus: {same} command lines equal"));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What `assay fio` does beside the run, whose plan knows nothing of it.
const BY_PROGRAM: [&str; 7] = [
    "write_bw_log",
    "write_lat_log",
    "write_iops_log",
    "write_hist_log",
    "write_iolog",
    "log_offset",
    "stats",
];

#[test]
fn shares_of_what_becomes_of_options() {
    let Some(corpus) = corpus() else { return };
    let mut counts: BTreeMap<OptionFate, usize> = BTreeMap::new();
    let mut lost: BTreeMap<&str, usize> = BTreeMap::new();
    let (mut files, mut changed) = (0, 0);
    for entry in &corpus.entries {
        let (Some(file), diagnostics) = corpus.parse(entry) else { continue };
        let lowered = fio::lower(&entry.file, &file);
        if lowered.0.is_some() {
            files += 1;
            changed += usize::from(diagnostics.iter().chain(&lowered.1).any(Diagnostic::changes_test));
        }
        for line in file.option_lines() {
            *counts.entry(line.fate).or_default() += 1;
            if line.fate == OptionFate::Lost {
                *lost.entry(line.name).or_default() += 1;
            }
        }
        let said =
            ids(&diagnostics, Severity::Loss).iter().filter(|id| **id == "option-not-honoured").count();
        let silent = file.option_lines().filter(|line| line.fate == OptionFate::Lost).count();
        assert_eq!(said, silent, "{}: every lost option is reported", entry.file);
    }
    let total: usize = counts.values().sum();
    let share = |fate| 100.0 * counts.get(&fate).copied().unwrap_or(0) as f64 / total as f64;
    say(&format!(
        "fio corpus: {total} option lines: {:.1} % honoured, {:.1} % without effect here (noted), {:.1} % lost (reported)",
        share(OptionFate::Honoured),
        share(OptionFate::NoEffect),
        share(OptionFate::Lost),
    ));
    say(&format!("fio corpus: lost: {lost:?}"));
    let kept: usize = lost.iter().filter(|(name, _)| BY_PROGRAM.contains(name)).map(|(_, count)| count).sum();
    let left = share(OptionFate::Lost) - 100.0 * kept as f64 / total as f64;
    say(&format!("fio corpus: {left:.1} % lost by `assay fio`, which writes the logs that jobs ask for"));
    assert!(left <= 2.0, "{left:.1} % of the option lines are lost");
    say(&format!("fio corpus: {changed} of {files} files that can run here would be another test"));
    assert!(share(OptionFate::Honoured) > 80.0);
}

#[test]
fn every_accepted_file_expands_to_one_line_per_job() {
    let Some(corpus) = corpus() else { return };
    for entry in &corpus.entries {
        let (Some(file), _) = corpus.parse(entry) else { continue };
        let jobs = file.expand();
        assert!(jobs.len() >= file.job_count(), "{}", entry.file);
        for (index, job) in jobs.iter().enumerate() {
            let line = job.resolved_line();
            assert!(line.starts_with(&format!("{} job=", index + 1)), "{line}");
            assert!(!line.contains('\n') && line.contains(" rw="), "{line}");
        }
    }
}

/// Why a file that fio accepts may not run here.
const REFUSED: [&str; 4] = ["engine-not-runnable", "file-below-block", "too-many-targets", "block-too-large"];

/// A system where every path is a large file and every engine works.
fn inventory(workload: &Workload) -> Inventory {
    let facts = |target: &Target| TargetFacts {
        path: target.path.clone(),
        kind: target.kind.unwrap_or(TargetKind::File),
        existing_bytes: 1 << 50,
        direct_align_bytes: Some(1),
        engine_choice: None,
        direct_refused: None,
    };
    Inventory {
        targets: workload.targets.iter().map(|target| (target.name.clone(), facts(target))).collect(),
        engines: EngineKind::ALL.to_vec(),
        ..Inventory::default()
    }
}

#[test]
fn accepted_files_become_workloads_that_can_be_planned() {
    let Some(corpus) = corpus() else { return };
    let (mut files, mut foreign, mut unplannable) = (0, 0, Vec::new());
    let mut written = Vec::new();
    let mut losses: BTreeMap<&str, usize> = BTreeMap::new();
    for entry in &corpus.entries {
        let (Some(file), _) = corpus.parse(entry) else { continue };
        files += 1;
        let (workload, diagnostics) = fio::lower(&entry.file, &file);
        for id in ids(&diagnostics, Severity::Loss) {
            *losses.entry(id).or_default() += 1;
        }
        let Some(workload) = workload else {
            let errors = ids(&diagnostics, Severity::Error);
            assert!(errors.iter().all(|id| REFUSED.contains(id)), "{}: {errors:?}", entry.file);
            foreign += 1;
            continue;
        };
        if let Err(error) = plan(&workload, &inventory(&workload), 1) {
            unplannable.push(format!("{}: {error}", entry.file));
        }
        written.push(written_again(entry, &workload));
    }
    say(&format!(
        "fio corpus: {files} read, {foreign} that cannot run here (engine, files below a block, or too many files), {} not to be planned",
        unplannable.len()
    ));
    say(&format!("fio corpus: losses in workloads {losses:?}"));
    say(&unplannable.join("\n"));
    assert!(unplannable.is_empty(), "{}", unplannable.join("\n"));
    judge_written(&written);
}

/// The workload as a job file, which reads as the same number of phases.
fn written_again(entry: &Entry, workload: &Workload) -> String {
    let (text, diagnostics) = fio::write(workload);
    assert_eq!(ids(&diagnostics, Severity::Error), Vec::<&str>::new(), "{}", entry.file);
    let (file, said) = fio::parse(&entry.file, &text, &MemoryLoader::default());
    let file = file.unwrap_or_else(|| panic!("{}: {said:?}\n{text}", entry.file));
    let (again, said) = fio::lower(&entry.file, &file);
    let again = again.unwrap_or_else(|| panic!("{}: {said:?}\n{text}", entry.file));
    assert_eq!(again.phases.len(), workload.phases.len(), "{}\n{text}", entry.file);
    for (before, after) in workload.phases.iter().zip(&again.phases) {
        let threads = |phase: &Phase| phase.jobs.iter().map(|job| u64::from(job.threads)).sum::<u64>();
        assert_eq!(threads(before), threads(after), "{}\n{text}", entry.file);
    }
    text
}

/// The installed fio accepts what was written.
fn judge_written(texts: &[String]) {
    let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    // fio 3.33 does not have the engines of directories.
    let known: Vec<&String> = texts.iter().filter(|text| !text.contains("ioengine=dir")).collect();
    for (index, chunk) in known.chunks(50).enumerate() {
        let name = |number: usize| directory.join(format!("written-{index}-{number}.fio"));
        let mut fio = Command::new("fio");
        fio.arg("--parse-only");
        for (number, text) in chunk.iter().enumerate() {
            std::fs::write(name(number), text).expect("the directory for tests is writable");
            fio.arg(name(number));
        }
        let Ok(out) = fio.output() else {
            return skip::declare("fio", "no fio on the path");
        };
        let printed = [out.stdout, out.stderr].concat();
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&printed));
    }
}
