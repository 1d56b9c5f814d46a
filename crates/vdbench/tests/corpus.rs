//! Parameter files from public repositories against the run lists that vdbench 5.04.07 prints for them.

#[path = "../../../xtask/support/skip.rs"]
mod skip;

use std::path::PathBuf;

use assay_formats::Severity;
use assay_formats::loader::MemoryLoader;
use assay_vdbench::{Options, expand, parse};

/// The corpus, where it is at hand: `$ASSAY_CORPUS/vdbench`, else beside the repository.
fn corpus() -> Option<PathBuf> {
    let beside = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus");
    let root = std::env::var_os("ASSAY_CORPUS").map_or_else(beside, PathBuf::from);
    Some(root.join("vdbench")).filter(|dir| dir.is_dir())
}

/// Pairs of parameter file and expected run list.
fn cases(dir: &PathBuf) -> Vec<(String, String, Vec<String>)> {
    let mut cases = Vec::new();
    for entry in std::fs::read_dir(dir).expect("the corpus is readable").flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let Some(file) = name.strip_suffix(".runs") else { continue };
        let text = std::fs::read(dir.join(file)).expect("each list has its parameter file");
        let runs = std::fs::read_to_string(entry.path()).expect("a list is text");
        let runs = runs.lines().filter(|l| !l.is_empty()).map(str::to_owned).collect();
        cases.push((file.to_owned(), String::from_utf8_lossy(&text).into_owned(), runs));
    }
    cases.sort();
    cases
}

#[test]
fn every_run_list_matches_line_for_line() {
    let Some(dir) = corpus() else {
        return skip::declare("corpus", "no parameter files; ASSAY_CORPUS names their directory");
    };
    let cases = cases(&dir);
    assert!(cases.len() >= 70, "the corpus is incomplete: {} lists", cases.len());
    let mut failures = Vec::new();
    for (name, text, expected) in &cases {
        let (file, diagnostics) = parse(name, text, &Options::default(), &MemoryLoader::default());
        let Some(file) = file else {
            let errors: Vec<String> = diagnostics
                .iter()
                .filter(|d| d.severity == Severity::Error)
                .map(ToString::to_string)
                .collect();
            failures.push(format!("{name}: {}", errors.join("; ")));
            continue;
        };
        let listed: Vec<String> = expand(&file).iter().map(|run| run.simulating_line()).collect();
        if &listed != expected {
            let at = listed
                .iter()
                .zip(expected)
                .position(|(a, b)| a != b)
                .unwrap_or(listed.len().min(expected.len()));
            failures.push(format!(
                "{name}: {} lines for {}; line {}: {:?} for {:?}",
                listed.len(),
                expected.len(),
                at + 1,
                listed.get(at),
                expected.get(at)
            ));
        }
    }
    let share = 100 * (cases.len() - failures.len()) / cases.len();
    assert!(failures.is_empty(), "{share} % of {} files match; not:\n{}", cases.len(), failures.join("\n"));
}
