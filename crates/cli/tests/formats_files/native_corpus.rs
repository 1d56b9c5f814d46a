//! Files from public repositories are taken for what they are, and what they lower to is written as a plan and read back.

use std::path::{Path, PathBuf};

use assay_fio as fio;
use assay_formats::loader::MemoryLoader;
use assay_formats::native::{self, parse, write};
use assay_vdbench as vdbench;
use assay_workload::Workload;

use crate::skip;

/// The corpus, where it is at hand: `$ASSAY_CORPUS`, else beside the repository.
fn corpus() -> Option<PathBuf> {
    let beside = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus");
    let root = std::env::var_os("ASSAY_CORPUS").map_or_else(beside, PathBuf::from);
    Some(root).filter(|dir| dir.join("fio").is_dir() && dir.join("vdbench").is_dir())
}

/// The files of `dir` that `keep` holds on to by their name.
fn files(dir: &Path, keep: impl Fn(&str) -> bool) -> Vec<(String, String)> {
    let entries = std::fs::read_dir(dir).expect("the corpus is readable").flatten();
    let names =
        entries.filter(|entry| entry.path().is_file()).map(|e| e.file_name().to_string_lossy().into_owned());
    let kept = names.filter(|name| keep(name)).map(|name| {
        let bytes = std::fs::read(dir.join(&name)).expect("a file of the corpus is readable");
        (name, String::from_utf8_lossy(&bytes).into_owned())
    });
    kept.collect()
}

/// Which of the two a text is taken for by the clues of all languages.
fn recognised(text: &str) -> Option<(&'static str, String)> {
    let clues = [
        ("fio", fio::recognise(text)),
        ("vdbench", vdbench::recognise(text)),
        ("toml", native::recognise(text)),
    ];
    let found = clues.into_iter().filter_map(|(name, clue)| Some((name, clue?)));
    found.min_by_key(|(_, clue)| (clue.weight, clue.line)).map(|(name, clue)| (name, clue.reason))
}

#[test]
fn every_file_of_the_corpus_is_told_apart_by_content_alone() {
    let Some(root) = corpus() else {
        return skip::declare("corpus", "no job files to tell apart; ASSAY_CORPUS names their directory");
    };
    let fio = files(&root.join("fio"), |name| name.ends_with(".fio"));
    let vdbench_dir = root.join("vdbench");
    let vdbench = files(&vdbench_dir, |name| vdbench_dir.join(format!("{name}.runs")).is_file());
    assert!(fio.len() >= 300 && vdbench.len() >= 70, "incomplete: {} and {} files", fio.len(), vdbench.len());
    let mut wrong = Vec::new();
    for (format, files) in [("fio", &fio), ("vdbench", &vdbench)] {
        for (name, text) in files {
            // Without its name: the content has to tell.
            match recognised(text) {
                Some((found, _)) if found == format => {}
                found => wrong.push(format!("{name}: {found:?}")),
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), fio.len() + vdbench.len(), wrong.join("\n"));
}

/// How a written workload differs from itself once read; `None` where it does not.
fn difference(name: &str, workload: &Workload) -> Option<String> {
    let text = write(workload);
    let (read, said) = parse(name, &text);
    match read {
        Some(read) if read == *workload => None,
        Some(_) => Some(format!("{name}: it is another workload:\n{text}")),
        None => Some(format!("{name}: {}", said.first().map(ToString::to_string).unwrap_or_default())),
    }
}

#[test]
fn every_file_of_the_corpus_is_the_same_as_a_plan() {
    let Some(root) = corpus() else {
        return skip::declare("corpus", "no job files to convert; ASSAY_CORPUS names their directory");
    };
    let loader = MemoryLoader::default();
    let mut workloads = Vec::new();
    for (name, text) in files(&root.join("fio"), |name| name.ends_with(".fio")) {
        let file = fio::parse(&name, &text, &loader).0;
        workloads.extend(file.and_then(|file| fio::lower(&name, &file).0).map(|workload| (name, workload)));
    }
    for (name, text) in files(&root.join("vdbench"), |name| !name.ends_with(".runs")) {
        let file = vdbench::parse(&name, &text, &vdbench::Options::default(), &loader).0;
        workloads
            .extend(file.and_then(|file| vdbench::lower(&name, &file).0).map(|workload| (name, workload)));
    }
    assert!(workloads.len() >= 200, "only {} files lower to a workload", workloads.len());
    let wrong: Vec<String> =
        workloads.iter().filter_map(|(name, workload)| difference(name, workload)).collect();
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), workloads.len(), wrong.join("\n"));
}
