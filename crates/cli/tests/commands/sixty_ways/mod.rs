//! Sixty ways to make Assay write to, cut, fill or remove what is not its own: each is refused, or does not touch it.
//!
//! A case prepares its scene, the bytes and attributes of everything in it are noted, the command runs, and all is compared; a refusal
//! ends with status 1 or 2 and says what it is about. `@V` is a file of another user of the machine, `@D` the directory above it and
//! `@R` the root of this world. What the options for outputs replace is in `outputs`, what consent covers in `consent`.

mod devices;
mod fio_files;
mod marks;
mod races;
mod room_and_neighbours;
mod strangers;
mod users;
mod vdbench_files;
mod words;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::bounded::Bounded as _;
use crate::world::{World, entries, path_text};

const FOREIGN: &str = "is a file that Assay did not make";

/// A world with a victim in it, and ways that lead there.
struct Scene {
    world: World,
    theirs: PathBuf,
}

impl Scene {
    fn new() -> Self {
        let world = World::new();
        let theirs = world.path().join("theirs");
        fs::create_dir(&theirs).expect("made");
        let scene = Scene { world, theirs };
        let (precious, data) = (scene.victim(), scene.world.data());
        fs::write(&precious, vec![7; 1 << 20]).expect("written");
        symlink(&precious, data.join("link")).expect("linked");
        symlink(&scene.theirs, data.join("above")).expect("linked");
        symlink("nowhere", data.join("dangling")).expect("linked");
        fs::hard_link(&precious, data.join("hard")).expect("linked");
        let mode = rustix::fs::Mode::from_raw_mode(0o644);
        rustix::fs::mknodat(rustix::fs::CWD, data.join("pipe"), rustix::fs::FileType::Fifo, mode, 0)
            .expect("a pipe");
        scene.job("job.fio", "data/x");
        scene.job("victim.fio", path_text(&precious));
        for (name, target) in [("job.vdb", "data/x"), ("victim.vdb", path_text(&precious))] {
            let rest = "wd=w,sd=s,rdpct=0\nrd=r,wd=w,iorate=max,elapsed=2,interval=1\n";
            scene.write(name, &format!("sd=s,lun={target},size=1m\n{rest}"));
        }
        scene
    }

    fn victim(&self) -> PathBuf {
        self.theirs.join("precious")
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.world.path().join(name), text).expect("written");
    }

    /// A job that writes 64 KiB.
    fn job(&self, name: &str, target: &str) {
        self.write(name, &format!("[a]\nrw=write\nbs=64k\nsize=64k\nfilename={target}\n"));
    }

    fn filled(&self, text: &str) -> String {
        let text = text.replace("@V", path_text(&self.victim())).replace("@D", path_text(&self.theirs));
        text.replace("@T", "depth=1,width=1,files=2,size=4k")
            .replace("@E", "elapsed=2,interval=1")
            .replace("@R", path_text(self.world.path()))
    }

    /// Runs a command that is to be refused; what is wrong with that, if anything.
    fn refused(&self, words: &[&str], why: &str) -> Option<String> {
        let before = (state(&self.theirs), state(&self.world.data()));
        let said = self.world.assay(words);
        let same = before == (state(&self.theirs), state(&self.world.data()));
        let ended =
            matches!(said.code, Some(1 | 2)) && said.err.contains("error: ") && said.err.contains(why);
        (!same || !ended)
            .then(|| format!("{words:?} (nothing changed: {same}): {:?} {}{}", said.code, said.out, said.err))
    }
}

/// What is wrong with any of the cases.
#[track_caller]
fn assert_refused(cases: impl Iterator<Item = Option<String>>) {
    let through: Vec<String> = cases.flatten().collect();
    assert!(through.is_empty(), "{}", through.join("\n"));
}

/// Everything that stands in a directory and below: content, permissions, links, times.
fn state(directory: &Path) -> BTreeMap<PathBuf, (Vec<u8>, u32, u64, i64)> {
    let mut found = BTreeMap::new();
    for path in entries(directory) {
        let meta = fs::symlink_metadata(&path).expect("there");
        if meta.is_dir() {
            found.extend(state(&path));
        }
        let content = if meta.is_file() { fs::read(&path).expect("read") } else { Vec::new() };
        found.insert(path, (content, meta.mode(), meta.nlink(), meta.mtime_nsec()));
    }
    found
}

/// What a tool of the system prints; `None` where it is missing or fails.
fn tool(program: &str, words: &[&str]) -> Option<String> {
    let output = Command::new(program).args(words).output_in_time().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
