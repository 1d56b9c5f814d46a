//! Real files of other people through the whole program.

use std::path::{Path, PathBuf};

use crate::skip;
use crate::support::Place;

/// The files of one tool: `$ASSAY_CORPUS/TOOL`, else beside the checkout.
fn corpus(tool: &str) -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus");
    let root = std::env::var_os("ASSAY_CORPUS").map_or(beside, PathBuf::from);
    let directory = root.join(tool);
    if directory.is_dir() {
        return Some(directory);
    }
    skip::declare("corpus", &format!("no files of {tool}; ASSAY_CORPUS names their directory"));
    None
}

fn files(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).expect("a readable directory").flatten();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(|path| path.is_file()).collect();
    files.sort();
    files
}

#[test]
fn parameter_files_list_the_runs_that_vdbench_lists() {
    let Some(directory) = corpus("vdbench") else { return };
    let place = Place::new();
    let lists =
        files(&directory).into_iter().filter(|path| path.extension().is_some_and(|end| end == "runs"));
    let mut compared = 0;
    for list in lists {
        let file = list.with_extension("");
        let wanted = std::fs::read_to_string(&list).expect("a list");
        let wanted: Vec<&str> = wanted.lines().filter(|line| !line.is_empty()).collect();
        let said = place.assay(&["plan", &file.to_string_lossy(), "--runs", "--quiet"]);
        assert_eq!(said.code, Some(0), "{}: {}", file.display(), said.err);
        let listed: Vec<&str> = said.out.lines().filter(|line| !line.is_empty()).collect();
        assert!(listed == wanted, "{}: {} lines for {}", file.display(), listed.len(), wanted.len());
        compared += 1;
    }
    assert!(compared >= 70, "the corpus is incomplete: {compared} lists");
}

#[test]
fn every_file_is_converted_or_refused_with_its_place() {
    let mut converted = 0;
    for tool in ["fio", "vdbench"] {
        let Some(directory) = corpus(tool) else { return };
        let place = Place::new();
        let wanted = |path: &PathBuf| {
            path.extension()
                .is_none_or(|end| end != "runs" && end != "json" && end != "md" && end != "showcmd")
        };
        for file in files(&directory).into_iter().filter(wanted) {
            let shown = file.to_string_lossy().into_owned();
            let said = place.assay(&["convert", &shown, "--format", tool, "--to", "toml", "-o", "out.toml"]);
            assert!(!said.err.contains("panicked"), "{shown}: {}", said.err);
            match said.code {
                Some(0) => {
                    converted += 1;
                    let again = place.assay(&["convert", "out.toml", "--to", "toml", "-o", "out-2.toml"]);
                    assert_eq!(again.code, Some(0), "{shown}: what was written is not read: {}", again.err);
                }
                Some(2) => assert!(said.err.contains("error: "), "{shown}: {}", said.err),
                _ => panic!("{shown}: {:?}", said.code),
            }
        }
    }
    assert!(converted >= 300, "{converted} files were converted");
}
