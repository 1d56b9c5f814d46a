//! Ways to make Assay write to, cut, fill or remove what is not its own: each is refused, or does not touch it.
//!
//! `@V` is a file of somebody, `@D` the directory above it and `@R` the root of this world.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::{Path, PathBuf};

use crate::world::{World, entries, path_text};

const FOREIGN: &str = "is a file that Assay did not make";

/// Lines of a fio job that writes 64 KiB, and what is said of them.
const FIO: &[(&str, &str)] = &[
    ("filename=@V", FOREIGN),
    ("directory=@D\nfilename=precious", FOREIGN),
    ("filename=data/../theirs/precious", FOREIGN),
    ("filename=@R/data/new:@V", FOREIGN),
    ("filename=@D/pre\\:x:@V", FOREIGN),
    ("filename=/nowhere/at/all:@V", "cannot be made"),
    ("directory=@D\nfilename_format=precious", FOREIGN),
    ("directory=@V", "Not a directory"),
    ("filename=@D/../theirs/./precious", FOREIGN),
    ("filename=/proc/self/cwd/theirs/precious", FOREIGN),
    ("filename=/proc/self/root@V", FOREIGN),
    ("filename=data/link", FOREIGN),
    ("filename=data/above/precious", FOREIGN),
    ("filename=data/hard", FOREIGN),
    ("filename=data/dangling", "neither a file nor a block device"),
    ("filename=/proc/self/fd/0", "neither a file nor a block device"),
    ("filename=/dev/fd/1", "neither a file nor a block device"),
    ("filename=/dev/stdout", "neither a file nor a block device"),
    ("filename=/proc/sysrq-trigger", "stores no data"),
    ("filename=/sys/power/state", "stores no data"),
    ("filename=/dev/no-such-disk", "has no size"),
    ("filename=-", "standard input and output"),
    ("filename=@D", "was not made by Assay"),
    ("filename=@V\nverify=crc32c\nverify_state_load=1", FOREIGN),
    ("filename=@V\noffset=50%", FOREIGN),
    ("filename=@V\nfile_append=1", FOREIGN),
    ("filename=@V\ncreate_only=1", FOREIGN),
    ("filename=@V\nallow_file_create=0", FOREIGN),
    ("filename=@V\nrw=trim", FOREIGN),
    ("filename=@V\nrw=randtrim", FOREIGN),
    ("filename=@V\nrw=trimwrite", FOREIGN),
    ("filename=@V\nioengine=mmap", FOREIGN),
    ("filename=@V\nzonemode=zbd", FOREIGN),
    ("filename=@V\noverwrite=1\nrw=read\nsize=4m", "not extended"),
    ("filename=@V\nfilesize=4m\nrw=read", "not extended"),
    ("filename=@V\nioengine=filecreate", "does not run here"),
    ("filename=@V\nioengine=filedelete", "does not run here"),
    ("filename=@V\nioengine=ftruncate", "does not run here"),
    ("filename=@V\nioengine=falloc", "does not run here"),
    ("filename=data/x\nioengine=e4defrag\ndonorname=@V", "does not run here"),
    ("filename=data/x\nioengine=external:@V", "does not run here"),
    ("include @V", "bytes"),
];

/// vdbench files, and what is said of them.
const VDBENCH: &[(&str, &str)] = &[
    ("sd=s,lun=@V,size=1m\nwd=w,sd=s,rdpct=0\nrd=r,wd=w,iorate=max,elapsed=2,interval=1", FOREIGN),
    ("sd=s,lun=@V,size=4m\nwd=w,sd=s,rdpct=100\nrd=r,wd=w,iorate=max,elapsed=2,interval=1", FOREIGN),
    (
        "fsd=f,anchor=@D,@T\nfwd=w,fsd=f,operation=write\nrd=r,fwd=w,fwdrate=max,format=yes,@E",
        "was not made by Assay",
    ),
    (
        "fsd=f,anchor=@D,@T\nfwd=w,fsd=f,operation=read\nrd=r,fwd=w,fwdrate=max,format=(clean,only),@E",
        "was not made by",
    ),
    (
        "fsd=f,anchor=data/../theirs,@T\nfwd=w,fsd=f,operation=write\nrd=r,fwd=w,fwdrate=max,format=yes,@E",
        "was not made by",
    ),
    (
        "fsd=f,anchor=data/above,@T\nfwd=w,fsd=f,operation=write\nrd=r,fwd=w,fwdrate=max,format=yes,@E",
        "was not made by",
    ),
    ("fsd=f,anchor=@V,@T\nfwd=w,fsd=f,operation=write\nrd=r,fwd=w,fwdrate=max,format=yes,@E", "it is a"),
    ("output=@D\nsd=s,lun=data/x,size=1m\nwd=w,sd=s\nrd=r,wd=w,iorate=max,elapsed=2", "not a keyword"),
    ("include=@V", "holds no parameter"),
];

/// Whole commands, and what is said of them.
const COMMANDS: &[(&[&str], &str)] = &[
    (&["run", "job.fio", "--html", "@V"], "Assay did not write it"),
    (&["run", "job.fio", "--html", "data/link", "--force"], "symbolic link"),
    (&["run", "job.fio", "--trace", "@V"], "Assay did not write it"),
    (&["run", "job.fio", "--fio-json", "data/link", "--force"], "symbolic link"),
    (&["run", "job.fio", "--fio-logs", "@V"], "not a directory"),
    (&["run", "job.fio", "--vdbench", "@D"], "not empty"),
    (&["run", "job.fio", "--out", "@V"], "not a directory"),
    (&["run", "job.fio", "--out", "@V/below"], ""),
    (&["run", "victim.fio", "--engine", "fio"], ""),
    (&["run", "victim.fio", "--destroy-data", "@D"], FOREIGN),
    (&["run", "victim.fio", "--destroy-data", "@D/*"], FOREIGN),
    (&["run", "victim.fio", "--destroy-data", "/"], FOREIGN),
    (&["crosscheck", "victim.fio", "--pairs", "1"], ""),
    (&["fio", "--name=a", "--rw=write", "--size=64k", "--filename=@V"], FOREIGN),
    (&["fio", "--output=@V", "--name=a", "--rw=write", "--size=64k", "--filename=data/x"], "fio's report"),
    (&["convert", "job.fio", "--to", "toml", "-o", "@V"], "Assay did not write it"),
    (&["convert", "job.fio", "--to", "toml", "-o", "job.fio", "--force"], "reads or measures"),
    (&["convert", "job.fio", "--to", "toml", "-o", "@D", "--force"], "directory"),
    (&["convert", "job.fio", "--to", "toml", "-o", "/proc/self/cwd/data/link", "--force"], "symbolic link"),
    (&["audit", "job.fio", "--fix", "@V"], "Assay did not write it"),
    (&["runs", "rm", "../theirs"], "is not a run directory"),
    (&["runs", "rm", "@D"], "is not a run directory"),
    (&["runs", "rm", "/"], "is not a run directory"),
    (&["runs", "rm", "."], "is not a run directory"),
    (&["runs", "rm", ""], ""),
    (&["runs", "rm", "*"], "no run"),
    (&["runs", "recover", "@D"], "is not a run directory"),
    (&["baseline", "rm", "../../theirs/precious"], "not a name for a baseline"),
    (&["baseline", "save", "@V", "last"], ""),
    (&["quick", "@V"], "is not a directory"),
    (&["cleanup", "@V"], "is not a directory"),
    (&["cleanup", "data/above"], "symbolic link"),
    (&["import", "@V"], ""),
];

/// Jobs that run and leave the file alone; what of them would touch it is not honoured.
const UNTOUCHED: &[&str] = &[
    "filename=data/w\nwrite_iolog=@V",
    "filename=data/b\nwrite_bw_log=@V\nwrite_lat_log=@D/precious",
    "filename=data/e\nexec_prerun=sh -c \"echo x > @V\"\nexec_postrun=rm @V",
    "filename=data/s\nverify=crc32c\nverify_state_save=1",
    "filename=@V\nunlink=1\nrw=read",
    "filename=@V\nfallocate=truncate\nrw=read\ninvalidate=1",
];

/// A world with something of somebody's in it, and ways that lead there.
fn with_theirs() -> (World, PathBuf) {
    let world = World::new();
    let theirs = world.path().join("theirs");
    fs::create_dir(&theirs).expect("made");
    let precious = theirs.join("precious");
    fs::write(&precious, vec![7; 1 << 20]).expect("written");
    symlink(&precious, world.data().join("link")).expect("linked");
    symlink(&theirs, world.data().join("above")).expect("linked");
    symlink("nowhere", world.data().join("dangling")).expect("linked");
    fs::hard_link(&precious, world.data().join("hard")).expect("linked");
    let job = |name: &str, target: &str| {
        let text = format!("[a]\nrw=write\nbs=64k\nsize=64k\nfilename={target}\n");
        fs::write(world.path().join(name), text).expect("written");
    };
    job("job.fio", "data/x");
    job("victim.fio", path_text(&precious));
    (world, theirs)
}

/// Everything that stands in a directory: content, permissions, links, times.
fn state(directory: &Path) -> BTreeMap<PathBuf, (Vec<u8>, u32, u64, i64)> {
    let of = |path: PathBuf| {
        let meta = fs::symlink_metadata(&path).expect("there");
        let content = if meta.is_file() { fs::read(&path).expect("read") } else { Vec::new() };
        (path, (content, meta.mode(), meta.nlink(), meta.mtime_nsec()))
    };
    entries(directory).into_iter().map(of).collect()
}

fn filled(text: &str, world: &World, theirs: &Path) -> String {
    let text = text.replace("@V", path_text(&theirs.join("precious"))).replace("@D", path_text(theirs));
    text.replace("@T", "depth=1,width=1,files=2,size=4k")
        .replace("@E", "elapsed=2,interval=1")
        .replace("@R", path_text(world.path()))
}

/// Runs a command that is to be refused; what is wrong with that, if anything.
fn refused(world: &World, theirs: &Path, words: &[&str], why: &str) -> Option<String> {
    let before = (state(theirs), entries(&world.data()));
    let said = world.assay(words);
    let same = before == (state(theirs), entries(&world.data()));
    let ended = matches!(said.code, Some(1 | 2)) && said.err.contains("error: ") && said.err.contains(why);
    (!same || !ended)
        .then(|| format!("{words:?} (nothing changed: {same}): {:?} {}{}", said.code, said.out, said.err))
}

#[test]
fn foreign_job_files_do_not_reach_what_is_not_ours() {
    let (world, theirs) = with_theirs();
    let mut through = Vec::new();
    for (lines, why) in FIO {
        let text = format!("[a]\nrw=write\nbs=64k\nsize=256k\n{}\n", filled(lines, &world, &theirs));
        fs::write(world.path().join("j.fio"), text).expect("written");
        let words = ["run", "j.fio", "--allow-loss"];
        through.extend(refused(&world, &theirs, &words, why).map(|said| format!("{lines}: {said}")));
    }
    for (text, why) in VDBENCH {
        fs::write(world.path().join("parm"), filled(text, &world, &theirs) + "\n").expect("written");
        let words = ["run", "parm", "--format", "vdbench", "--allow-loss"];
        through.extend(refused(&world, &theirs, &words, why).map(|said| format!("{text}: {said}")));
    }
    assert!(through.is_empty(), "{}", through.join("\n"));
}

#[test]
fn commands_do_not_reach_what_is_not_ours() {
    let (world, theirs) = with_theirs();
    let mut through = Vec::new();
    for (words, why) in COMMANDS {
        let words: Vec<String> = words.iter().map(|word| filled(word, &world, &theirs)).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        through.extend(refused(&world, &theirs, &words, why));
    }
    assert!(through.is_empty(), "{}", through.join("\n"));
}

#[test]
fn what_is_not_honoured_touches_nothing() {
    let (world, theirs) = with_theirs();
    for lines in UNTOUCHED {
        let text = format!("[a]\nrw=write\nbs=64k\nsize=256k\n{}\n", filled(lines, &world, &theirs));
        fs::write(world.path().join("j.fio"), text).expect("written");
        let before = state(&theirs);
        let said = world.assay(&["run", "j.fio", "--allow-loss"]);
        assert_eq!(said.code, Some(0), "{lines}: {}", said.err);
        assert!(before == state(&theirs), "{lines}: {}", said.err);
    }
}

#[test]
fn the_places_of_the_environment_are_not_written_over() {
    let (world, theirs) = with_theirs();
    let precious = theirs.join("precious");
    for name in ["HOME", "TMPDIR", "XDG_DATA_HOME", "XDG_RUNTIME_DIR", "ASSAY_RUNS"] {
        let before = state(&theirs);
        let mut command = world.command(&["run", "job.fio", "-q"]);
        let said = crate::world::Said::of(command.env(name, &precious).output().expect("started"));
        assert!(matches!(said.code, Some(0 | 2)), "{name}: {}", said.err);
        assert!(before == state(&theirs), "{name}");
    }
}

#[test]
fn what_takes_a_name_during_a_run_is_not_written_to() {
    for how in ["link", "moved", "directory"] {
        let (world, theirs) = with_theirs();
        let (precious, data) = (theirs.join("precious"), world.data());
        fs::remove_file(data.join("hard")).expect("removed");
        fs::write(theirs.join("x"), "mine").expect("written");
        let before = (fs::read(&precious).expect("read"), fs::read(theirs.join("x")).expect("read"));
        let job = "[a]\nrw=write\nbs=4k\nsize=64k\nfilename=data/x\nruntime=30\ntime_based\nthinktime=1000\n";
        fs::write(world.path().join("j.fio"), job).expect("written");
        let mut child = world
            .command(&["run", "j.fio", "-q"])
            .stdout(std::process::Stdio::null())
            .spawn()
            .expect("started");
        crate::world::wait_for("the target", || data.join("x").metadata().is_ok_and(|meta| meta.len() > 0));
        match how {
            "link" => {
                fs::remove_file(data.join("x")).expect("removed");
                symlink(&precious, data.join("x")).expect("linked");
            }
            "moved" => fs::rename(&precious, data.join("x")).expect("moved"),
            _ => {
                fs::rename(&data, world.path().join("old")).expect("moved");
                symlink(&theirs, &data).expect("linked");
            }
        }
        std::thread::sleep(std::time::Duration::from_millis(300));
        crate::world::signal(&child, rustix::process::Signal::INT);
        child.wait().expect("ended");
        let again = world.assay(&["run", "j.fio"]);
        assert_eq!(again.code, Some(2), "{how}: {}", again.err);
        if how == "moved" {
            fs::rename(data.join("x"), &precious).expect("moved");
        }
        let after = (fs::read(&precious).expect("read"), fs::read(theirs.join("x")).expect("read"));
        assert!(before == after, "{how}");
    }
}
