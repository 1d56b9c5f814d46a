//! The file system, mounted: it injects what it says, records what it injects, and loses in a power cut what was not flushed.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::time::{Duration, Instant};

use assay_faultfs::{Cut, Fault, FaultFs, Op, Options, Rule, When, missing};

#[path = "../../../xtask/support/skip.rs"]
mod skip;

fn mounted(options: Options) -> Option<FaultFs> {
    if let Some(why) = missing() {
        skip::declare("fuse", &why);
        return None;
    }
    Some(FaultFs::mount(options).expect("it mounts"))
}

fn power() -> Option<FaultFs> {
    mounted(Options { power_cuts: true, ..Options::default() })
}

fn opened(fs: &FaultFs, name: &str) -> File {
    let path = fs.join(name);
    OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path).expect("opened")
}

fn sync_dir(path: &std::path::Path) {
    File::open(path).and_then(|directory| directory.sync_all()).expect("synced");
}

fn read_at(file: &File, offset: u64, len: usize) -> io::Result<Vec<u8>> {
    let mut buffer = vec![0; len];
    file.read_at(&mut buffer, offset).map(|n| buffer[..n].to_vec())
}

fn errno<T: std::fmt::Debug>(result: io::Result<T>) -> Option<i32> {
    result.expect_err("it fails").raw_os_error()
}

#[test]
fn it_is_a_file_system() {
    for cached in [false, true] {
        let Some(fs) = mounted(Options { cached, ..Options::default() }) else { return };
        fs::create_dir(fs.join("d")).expect("a directory");
        fs::write(fs.join("d/a"), b"hello").expect("written");
        fs::rename(fs.join("d/a"), fs.join("d/b")).expect("renamed");
        fs::hard_link(fs.join("d/b"), fs.join("c")).expect("linked");
        assert_eq!(fs::read(fs.join("c")).expect("read"), b"hello");
        assert_eq!(fs::metadata(fs.join("c")).map(|meta| meta.len()).expect("its size"), 5);
        let mut names: Vec<_> =
            fs::read_dir(fs.path()).expect("listed").flatten().map(|e| e.file_name()).collect();
        names.sort();
        assert_eq!(names, ["c", "d"]);
        assert!(fs::remove_dir(fs.join("d")).is_err());
        fs::remove_file(fs.join("d/b")).expect("removed");
        fs::remove_dir(fs.join("d")).expect("removed");
        let file = opened(&fs, "c");
        file.set_len(3).expect("cut");
        file.sync_all().expect("synced");
        assert_eq!(fs::read(fs.join("c")).expect("read"), b"hel");
        assert!(fs.injected().is_empty());
    }
}

#[test]
fn each_fault_is_what_its_name_says_and_is_recorded() {
    let Some(fs) = mounted(Options::default()) else { return };
    let file = opened(&fs, "data");
    let (ones, twos) = (vec![1_u8; 4096], vec![2_u8; 4096]);
    file.write_all_at(&[ones.clone(), ones.clone()].concat(), 0).expect("written");
    let once = |op, fault| fs.inject(Rule::new(op, fault).of_file("data").times(1));
    for (op, fault) in [(Op::Read, 5), (Op::Write, 28), (Op::Flush, 5)].map(|(op, no)| (op, Fault::Error(no)))
    {
        once(op, fault);
    }
    assert_eq!(errno(read_at(&file, 0, 4096)), Some(5));
    assert_eq!(errno(file.write_at(&twos, 0)), Some(28));
    assert_eq!(errno(file.sync_data()), Some(5));
    assert_eq!(read_at(&file, 0, 4096).expect("as it was"), ones);
    once(Op::Read, Fault::Short(100));
    once(Op::Write, Fault::Short(512));
    assert_eq!(read_at(&file, 0, 4096).expect("read").len(), 100);
    assert_eq!(file.write_at(&twos, 0).expect("written"), 512);
    assert_eq!(read_at(&file, 0, 4096).expect("read"), [&twos[..512], &ones[512..]].concat());
    once(Op::Write, Fault::Torn(2));
    assert_eq!(file.write_at(&twos, 0).expect("acknowledged"), 4096);
    assert_eq!(read_at(&file, 0, 4096).expect("read"), [&twos[..1024], &ones[1024..]].concat());
    once(Op::Write, Fault::Lost);
    assert_eq!(file.write_at(&ones, 0).expect("acknowledged"), 4096);
    assert_eq!(read_at(&file, 0, 1).expect("read"), [2]);
    once(Op::Write, Fault::Misdirected(4096));
    assert_eq!(file.write_at(&twos, 0).expect("acknowledged"), 4096);
    assert_eq!(read_at(&file, 4096, 4096).expect("read"), twos);
    assert_eq!(read_at(&file, 2048, 1).expect("read"), [1]);
    file.write_all_at(&[3; 4096], 0).expect("written");
    once(Op::Read, Fault::Stale);
    assert_eq!(read_at(&file, 0, 4096).expect("read"), [&twos[..1024], &ones[1024..]].concat());
    once(Op::Read, Fault::BitFlip(13));
    assert_eq!(read_at(&file, 0, 3).expect("read"), [3, 3 ^ 32, 3]);
    let injected = fs.injected();
    let of = |op| injected.iter().filter(|one| one.op == op).count();
    assert_eq!((of(Op::Read), of(Op::Write), of(Op::Flush)), (4, 5, 1));
    assert_eq!((injected[9].offset, injected[9].len, injected[9].fault), (0, 3, Fault::BitFlip(13)));
    assert_eq!(fs.count(Op::Flush, "data"), 1);
}

#[test]
fn delays_overlap_and_what_hangs_waits_to_be_released() {
    let Some(fs) = mounted(Options::default()) else { return };
    let file = opened(&fs, "data");
    file.write_all_at(&[7; 8192], 0).expect("written");
    fs.inject(Rule::new(Op::Read, Fault::Delay(Duration::from_millis(300))).at(0..4096));
    fs.inject(Rule::new(Op::Read, Fault::Hang).when(When::Nth(1)));
    let start = Instant::now();
    std::thread::scope(|scope| {
        let hangs = scope.spawn(|| read_at(&file, 4096, 1).map(|_| start.elapsed()));
        let late = [0, 1].map(|_| scope.spawn(|| read_at(&file, 0, 1).map(|_| start.elapsed())));
        for one in late {
            let took = one.join().expect("no panic").expect("read");
            assert!((300..550).contains(&took.as_millis()), "{took:?}");
        }
        assert_eq!(fs.hanging(), 1);
        assert_eq!(fs.release(), 1);
        let took = hangs.join().expect("no panic").expect("read");
        assert!(took >= Duration::from_millis(300), "{took:?}");
    });
}

#[test]
fn a_file_that_is_open_at_the_unmount_fails_at_once() {
    let Some(fs) = mounted(Options::default()) else { return };
    let file = opened(&fs, "f");
    file.write_all_at(b"data", 0).unwrap();
    drop(fs);
    // The server is gone: neither this nor the close may wait for it.
    assert_eq!(errno(file.sync_all()), Some(libc::ENOTCONN));
}

#[test]
fn direct_io_arrives_as_it_was_asked_for() {
    let Some(fs) = mounted(Options::default()) else { return };
    let direct = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .custom_flags(libc::O_DIRECT)
        .open(fs.join("data"))
        .expect("opened");
    fs.inject(Rule::new(Op::Write, Fault::Delay(Duration::ZERO)));
    // Alignment is the file system's choice, and this one has none.
    for len in [512_usize, 4096, 65536, 1 << 19] {
        direct.write_all_at(&vec![1; len], 4096).expect("written");
        let last = fs.injected().pop().expect("one");
        assert_eq!((last.offset, last.len as usize), (4096, len));
    }
    assert_eq!(fs.injected().len(), 4);
}

#[test]
fn what_does_not_fit_is_refused() {
    let Some(fs) = mounted(Options { capacity_bytes: 10_000, ..Options::default() }) else { return };
    let file = opened(&fs, "data");
    assert_eq!(file.write_at(&[1; 8192], 0).expect("it fits"), 8192);
    assert_eq!(file.write_at(&[1; 4096], 8192).expect("part of it fits"), 1808);
    assert_eq!(errno(file.write_at(&[1], 10_000)), Some(libc::ENOSPC));
    assert_eq!(file.write_at(&[2; 8192], 0).expect("over what is there"), 8192);
    fs.set_capacity(20_000);
    assert_eq!(file.write_at(&[1; 4096], 10_000).expect("now it fits"), 4096);
}

#[test]
fn a_power_cut_loses_what_was_not_flushed() {
    let Some(fs) = power() else { return };
    let (kept, lost) = (opened(&fs, "kept"), opened(&fs, "lost"));
    kept.write_all_at(b"durable", 0).expect("written");
    kept.sync_data().expect("synced");
    kept.write_all_at(b"DUR", 0).expect("written");
    lost.write_all_at(b"all of it", 0).expect("written");
    sync_dir(fs.path());
    fs::write(fs.join("nameless"), b"x")
        .and_then(|()| File::open(fs.join("nameless"))?.sync_all())
        .expect("synced");
    fs.cut(Cut::KeepNothing);
    assert_eq!(errno(read_at(&kept, 0, 1)), Some(libc::EIO), "what was open is gone");
    assert_eq!(errno(lost.write_at(b"x", 0)), Some(libc::EIO));
    assert_eq!(fs::read(fs.join("kept")).expect("there"), b"durable");
    assert_eq!(fs::read(fs.join("lost")).expect("there, and empty"), b"");
    assert!(!fs.join("nameless").exists(), "its directory was not synced");
    // It goes on from there.
    fs::write(fs.join("kept"), b"new").expect("written");
    assert_eq!(fs::read(fs.join("kept")).expect("there"), b"new");
}

#[test]
fn synchronous_writes_survive() {
    for flag in [libc::O_DSYNC, libc::O_SYNC] {
        let Some(fs) = power() else { return };
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false).custom_flags(flag);
        let mut file = options.open(fs.join("a")).expect("opened");
        sync_dir(fs.path());
        file.write_all(b"there").expect("written");
        fs.cut(Cut::KeepNothing);
        assert_eq!(fs::read(fs.join("a")).expect("there"), b"there");
    }
}

#[test]
fn a_rename_is_durable_with_its_directory_and_whole() {
    let Some(fs) = power() else { return };
    for name in ["a", "b"] {
        fs::create_dir(fs.join(name)).expect("a directory");
    }
    fs::write(fs.join("a/x"), b"x").and_then(|()| File::open(fs.join("a/x"))?.sync_all()).expect("synced");
    for path in [fs.path().to_owned(), fs.join("a")] {
        sync_dir(&path);
    }
    fs::rename(fs.join("a/x"), fs.join("b/y")).expect("renamed");
    fs.cut(Cut::KeepNothing);
    assert!(fs.join("a/x").exists() && !fs.join("b/y").exists());
    fs::rename(fs.join("a/x"), fs.join("b/y")).expect("renamed");
    sync_dir(&fs.join("a"));
    fs.cut(Cut::KeepNothing);
    assert!(!fs.join("a/x").exists());
    assert_eq!(fs::read(fs.join("b/y")).expect("there"), b"x");
}

#[test]
fn a_flush_that_lies_makes_nothing_durable() {
    let Some(fs) = power() else { return };
    let file = opened(&fs, "a");
    sync_dir(fs.path());
    fs.inject(Rule::new(Op::Flush, Fault::Lost));
    file.write_all_at(b"x", 0).and_then(|()| file.sync_all()).expect("said to be durable");
    file.write_all_at(b"y", 1).expect("written");
    fs.cut(Cut::KeepNothing);
    assert_eq!(fs::read(fs.join("a")).expect("there"), b"");
    assert_eq!((fs.promised("a").as_deref(), fs.promised("b")), (Some(&b"x"[..]), None));
}

#[test]
fn what_some_survives_is_torn_reordered_and_the_same_for_a_seed() {
    let survived = |seed| {
        let fs = power()?;
        let file = opened(&fs, "a");
        file.write_all_at(&[9; 64 * 4096], 0).and_then(|()| file.sync_all()).expect("durable");
        sync_dir(fs.path());
        for block in 0..64_u8 {
            file.write_all_at(&[1; 4096], u64::from(block) * 4096).expect("written");
            file.write_all_at(&[2; 4096], u64::from(block) * 4096).expect("written");
        }
        fs.cut(Cut::KeepSome { seed, probability: 0.5 });
        Some(fs::read(fs.join("a")).expect("there"))
    };
    let Some(first) = survived(1) else { return };
    assert_eq!(Some(&first), survived(1).as_ref());
    assert_ne!(Some(&first), survived(2).as_ref());
    let sectors: Vec<u8> = first.chunks(512).map(|sector| sector[0]).collect();
    assert!(first.chunks(512).all(|sector| sector.iter().all(|byte| *byte == sector[0])), "whole sectors");
    let count = |byte| sectors.iter().filter(|found| **found == byte).count();
    // 512 sectors: each of the two writes reaches one with 3/8, and the later one is not always on top.
    assert!(count(9) > 100 && count(1) > 60 && count(2) > 60, "{} {} {}", count(9), count(1), count(2));
    let torn = sectors.chunks(8).filter(|block| block.iter().any(|byte| *byte != block[0])).count();
    assert!(torn > 10, "{torn} blocks are torn");
}
