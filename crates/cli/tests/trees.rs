//! Workloads on trees of files, from a vdbench parameter file to the numbers and to what is on disk.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

#[path = "../../../xtask/support/bounded.rs"]
mod bounded;

use crate::bounded::Bounded as _;

/// 3 + 9 directories, 36 files at the bottom, half of them of 8 KiB and half of 16 KiB.
const TREE: &str = "fsd=fsd1,anchor=tree,depth=2,width=3,files=4,sizes=(8k,50,16k,50)\n";

struct Place {
    root: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let place = Place { root: tempfile::tempdir().expect("a temporary directory") };
        fs::create_dir(place.data()).expect("a directory");
        place
    }

    fn data(&self) -> PathBuf {
        self.root.path().join("data")
    }

    fn tree(&self) -> PathBuf {
        self.data().join("tree")
    }

    /// `assay run` on a file of this text, with more words.
    fn run(&self, text: &str, words: &[&str]) -> Output {
        let file = self.root.path().join("workload");
        fs::write(&file, text).expect("a file");
        let mut command = Command::new(env!("CARGO_BIN_EXE_assay"));
        command.arg("run").arg(&file).arg("--target").arg(self.data()).args(words);
        command.env_clear().env("HOME", self.root.path()).env("ASSAY_RUNS", self.root.path().join("runs"));
        command.current_dir(self.root.path()).output_in_time().expect("the program starts")
    }

    /// The run as JSON; it must have come to its end.
    fn done(&self, text: &str, words: &[&str]) -> Value {
        let output = self.run(text, &[&["--json"], words].concat());
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(0), "{said}");
        serde_json::from_slice(&output.stdout).expect("a JSON document")
    }

    /// What it says when it refuses.
    fn refused(&self, text: &str) -> String {
        let output = self.run(text, &[]);
        assert_eq!(output.status.code(), Some(2), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stderr).into_owned()
    }
}

/// Directories and files of the scheme below `path`, and the bytes of the files.
fn standing(path: &Path) -> (usize, usize, u64) {
    let mut sum = (0, 0, 0);
    for entry in fs::read_dir(path).expect("a directory").map(|entry| entry.expect("an entry")) {
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.path().is_dir() {
            let below = standing(&entry.path());
            sum = (sum.0 + 1 + below.0, sum.1 + below.1, sum.2 + below.2);
        } else if name.starts_with("vdb_f") {
            sum = (sum.0, sum.1 + 1, sum.2 + entry.metadata().expect("attributes").len());
        }
    }
    sum
}

/// Operations of one job, by name.
fn operations(run: &Value, phase: usize, job: usize) -> BTreeMap<String, u64> {
    let job = &run["phases"][phase]["jobs"][job];
    let named = job["ops"].as_object().into_iter().flatten();
    let named = named.map(|(name, op)| (name.clone(), op["ios"].as_u64().unwrap_or(0)));
    let data = ["read", "write"].map(|name| (name.to_owned(), job[name]["ios"].as_u64().unwrap_or(0)));
    named.chain(data).filter(|entry| entry.1 > 0).collect()
}

fn of(list: &[(&str, u64)]) -> BTreeMap<String, u64> {
    list.iter().map(|(name, ios)| ((*name).to_owned(), *ios)).collect()
}

#[test]
fn a_parameter_file_makes_its_tree_uses_it_and_removes_it() {
    let place = Place::new();
    let text = format!(
        "{TREE}fwd=default,fsd=fsd1,xfersize=4k,threads=2\n\
         fwd=reads,operation=read,fileio=sequential,fileselect=sequential\n\
         fwd=stats,operation=getattr,fileselect=random\n\
         rd=one,fwd=(reads,stats),fwdrate=200,format=yes,elapsed=3,warmup=1,interval=1\n\
         rd=two,fwd=reads,fwdrate=max,format=no,elapsed=2,warmup=1,interval=1,operations=(access,open,setattr)\n"
    );
    // At the maximum rate, workloads go at their own pace here and share it in vdbench.
    let run = place.done(&text, &["--allow-loss"]);
    let (half, files) = (18, 36);
    let bytes = half * (8 << 10) + half * (16 << 10);
    assert_eq!(standing(&place.tree()), (12, 36, bytes));
    let names: Vec<&str> = run["phases"].as_array().expect("phases").iter().map(name_of).collect();
    assert_eq!(names, ["format_for_one", "one", "two"]);
    let format = [("mkdir", 12), ("create", files), ("write", files), ("open", files), ("close", 2 * files)];
    assert_eq!(operations(&run, 0, 0), of(&format), "each file is smaller than a block of the format");
    // 100 a second each for 3 s, Poisson: standard deviation 17. Files have two or four blocks, three on average.
    let (reads, stats) = (operations(&run, 1, 0), operations(&run, 1, 1));
    assert!((210..=390).contains(&reads["read"]), "{reads:?}");
    for name in ["open", "close"] {
        assert!((3 * reads[name]).abs_diff(reads["read"]) <= 24, "{reads:?}");
    }
    assert_eq!(stats.keys().collect::<Vec<_>>(), ["getattr"]);
    assert!((210..=390).contains(&stats["getattr"]), "{stats:?}");
    let mixed = operations(&run, 2, 0);
    assert!(["access", "open", "setattr"].iter().all(|name| mixed.contains_key(*name)), "{mixed:?}");

    fs::write(place.tree().join("vdb.1_1.dir/mine.txt"), "mine").expect("a file");
    let clean = format!("{TREE}fwd=f,fsd=fsd1,operation=read\nrd=r,fwd=f,fwdrate=max,format=(clean,only)\n");
    let run = place.done(&clean, &[]);
    // The directory of the stranger stays, and the stranger in it.
    assert_eq!(operations(&run, 0, 0), of(&[("delete", files), ("rmdir", 11)]));
    assert_eq!(fs::read(place.tree().join("vdb.1_1.dir/mine.txt")).expect("there"), b"mine");
    let notes = run["notes"].to_string();
    assert!(notes.contains("1 files or directories that are not the tree's"), "{notes}");
}

fn name_of(phase: &Value) -> &str {
    phase["name"].as_str().unwrap_or_default()
}

#[test]
fn a_rate_is_split_over_operations_and_shown_by_name() {
    let place = Place::new();
    let text = format!(
        "{TREE}fwd=f,fsd=fsd1,xfersize=4k,threads=4,fileio=random,fileselect=random\n\
         rd=r,fwd=f,fwdrate=200,format=yes,elapsed=4,warmup=1,interval=1,operations=(read,getattr,access,setattr)\n"
    );
    let output = place.run(&text, &[]);
    let shown = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(0), "{shown}");
    for name in ["read", "getattr", "access", "setattr", "open", "close", "total"] {
        assert!(shown.lines().any(|line| line.trim_start().starts_with(name)), "{name}: {shown}");
    }
    assert!(shown.contains("tree of 12 directories, 36 files"), "{shown}");
    let run = place.done(&text, &[]);
    let done = operations(&run, 1, 0);
    // 50 a second for 4 s, Poisson: standard deviation 14.
    for name in ["read", "getattr", "access", "setattr"] {
        assert!((120..=280).contains(&done[name]), "{done:?}");
    }
    assert_eq!(standing(&place.tree()).1, 36);
}

#[test]
fn a_tree_needs_a_directory_of_its_own_or_consent() {
    let place = Place::new();
    fs::create_dir(place.tree()).expect("a directory");
    fs::write(place.tree().join("vdb_control.file"), "theirs").expect("a file");
    let text = format!("{TREE}fwd=f,fsd=fsd1,operation=read\nrd=r,fwd=f,fwdrate=max,format=(yes,only)\n");
    let said = place.refused(&text);
    assert!(said.contains("--destroy-data"), "{said}");
    assert_eq!(standing(&place.tree()), (0, 0, 0));
    let tree = place.tree();
    let named = ["--destroy-data", tree.to_str().expect("text")];
    place.done(&text, &named);
    assert_eq!(standing(&place.tree()).1, 36);
    assert_eq!(fs::read(place.tree().join("vdb_control.file")).expect("there"), b"theirs");
    // It stays theirs: the next time it has to be named again.
    assert!(place.refused(&text).contains("--destroy-data"));
}

#[test]
fn a_plan_of_its_own_format_works_too() {
    let place = Place::new();
    let text = "assay = 1\n[[target]]\nname = 't'\npath = 'tree'\nkind = 'directory'\n\
        [[phase]]\nname = 'make'\nkind = 'precondition'\n[[phase.job]]\nblock_size = '8k'\nop = 'write'\n\
        pattern = 'sequential'\n[phase.job.tree]\nwidth = 2\ndepth = 1\nfiles = 10\nsizes = '20000'\n\
        operations = 'delete,mkdir,create,write'\n\
        [[phase]]\nname = 'use'\n[[phase.job]]\nblock_size = '8k'\nop = 'read'\npattern = 'sequential'\nthreads = 2\n\
        [phase.job.tree]\nwidth = 2\ndepth = 1\nfiles = 10\nsizes = '20000'\noperations = 'read'\n";
    let run = place.done(text, &[]);
    assert_eq!(standing(&place.tree()), (2, 20, 20 * 20_000));
    // 20000 bytes are two blocks of 8 KiB and a shorter one.
    assert_eq!(operations(&run, 1, 0)["read"], 60);
    assert_eq!(run["phases"][1]["jobs"][0]["read"]["bytes"], 400_000);
}
