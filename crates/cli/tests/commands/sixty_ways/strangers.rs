//! Names of strangers that a page, a table or a shell would carry out.

use std::fs;
use std::path::{Path, PathBuf};

use super::Scene;
use crate::world::{entries, path_text};

const MARKUP: &str = "<img src=x onerror=alert(1)>";
const FORMULA: &str = "=cmd|'/c calc'!A0";

/// Every file below a directory.
fn files(directory: &Path) -> Vec<PathBuf> {
    let (below, mut files): (Vec<PathBuf>, Vec<PathBuf>) =
        entries(directory).into_iter().partition(|path| path.is_dir());
    files.extend(below.iter().flat_map(|path| self::files(path)));
    files
}

#[test]
fn what_strangers_name_is_carried_out_by_no_reader() {
    let scene = Scene::new();
    let root = scene.world.path();
    fs::create_dir(root.join("out")).expect("made");
    let job = format!(
        "[{FORMULA}]\nfilename=data/{MARKUP}\ndescription={FORMULA}\nsize=64k\nrw=write\nbs=4k\n\
         exec_prerun=touch {}\n",
        path_text(&root.join("executed"))
    );
    scene.write("j.fio", &job);
    let outputs = "--html out/page.html --fio-json out/fio.json --vdbench out/pages --fio-logs out/logs";
    let words: Vec<&str> = ["run", "j.fio", "--allow-loss"].into_iter().chain(outputs.split(' ')).collect();
    let said = scene.world.assay(&words).ended(0);
    assert!(said.err.contains("exec_prerun") && !root.join("executed").exists(), "{}", said.err);
    let run = scene.world.run_directories().remove(0);
    let report = ["report", path_text(&run), "--csv", "out/rows.csv", "--md", "out/text.md"];
    scene.world.assay(&report).ended(0);
    let written = files(&root.join("out"));
    assert!(written.len() > 5, "{written:?}");
    for path in &written {
        let text = fs::read_to_string(path).expect("text");
        let page = path.extension().is_some_and(|kind| kind == "html" || kind == "md");
        assert!(!page || !text.contains(MARKUP), "{}: {text}", path.display());
    }
    let rows = fs::read_to_string(root.join("out/rows.csv")).expect("rows");
    assert!(
        rows.contains(FORMULA)
            && !rows.lines().flat_map(|row| row.split(',')).any(|cell| cell.starts_with(FORMULA)),
        "{rows}"
    );
}
