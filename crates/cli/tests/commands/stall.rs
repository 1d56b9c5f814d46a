//! A device that stands still for two seconds, while requests go on to be due.

use std::ffi::OsStr;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use fuser::{
    FileAttr, FileType, Filesystem, MountOption, ReplyAttr, ReplyData, ReplyEntry, ReplyOpen, Request,
};

use crate::skip;
use crate::world::{World, is_root, json, path_text};

const SIZE: u64 = 16 << 20;
const ROOT: u64 = 1;
const FILE: u64 = 2;
/// When it stands still, counted from the first read, and for how long.
const STALL_AFTER: Duration = Duration::from_millis(1000);
const STALL: Duration = Duration::from_secs(2);

/// A file system with one file, `data`, whose reads all wait while it stands still.
struct Stalling {
    first_read: Option<Instant>,
}

fn attributes(inode: u64) -> FileAttr {
    let directory = inode == ROOT;
    FileAttr {
        ino: inode,
        size: if directory { 0 } else { SIZE },
        blocks: SIZE / 512,
        atime: SystemTime::UNIX_EPOCH,
        mtime: SystemTime::UNIX_EPOCH,
        ctime: SystemTime::UNIX_EPOCH,
        crtime: SystemTime::UNIX_EPOCH,
        kind: if directory { FileType::Directory } else { FileType::RegularFile },
        perm: 0o755,
        nlink: 1,
        uid: 0,
        gid: 0,
        rdev: 0,
        blksize: 4096,
        flags: 0,
    }
}

impl Filesystem for Stalling {
    fn lookup(&mut self, _: &Request<'_>, _: u64, name: &OsStr, reply: ReplyEntry) {
        if name == "data" {
            reply.entry(&Duration::from_secs(60), &attributes(FILE), 0);
        } else {
            reply.error(2);
        }
    }

    fn getattr(&mut self, _: &Request<'_>, inode: u64, _: Option<u64>, reply: ReplyAttr) {
        reply.attr(&Duration::from_secs(60), &attributes(inode));
    }

    fn open(&mut self, _: &Request<'_>, _: u64, _: i32, reply: ReplyOpen) {
        reply.opened(0, fuser::consts::FOPEN_DIRECT_IO);
    }

    fn read(
        &mut self,
        _: &Request<'_>,
        _: u64,
        _: u64,
        _: i64,
        size: u32,
        _: i32,
        _: Option<u64>,
        reply: ReplyData,
    ) {
        let since = self.first_read.get_or_insert_with(Instant::now).elapsed();
        if since >= STALL_AFTER && since < STALL_AFTER + STALL {
            // Requests are served one after the other, so nothing else is served meanwhile.
            std::thread::sleep(STALL_AFTER + STALL - since);
        }
        reply.data(&vec![1; size as usize]);
    }
}

/// Two seconds of requests were due meanwhile: a quarter of those of eight seconds waited, the first of them for all of the
/// time, evenly from there to nothing. A closed loop would have shown as many slow requests as are outstanding.
#[test]
fn a_stall_shows_in_the_response_time_in_full() {
    let world = World::new();
    let at = world.path().join("stalling");
    std::fs::create_dir(&at).expect("a mount point");
    if !is_root() || !Path::new("/dev/fuse").exists() {
        return skip::declare("fuse", "no /dev/fuse, or no right to mount");
    }
    let options = [MountOption::FSName("stalling".to_owned()), MountOption::RO];
    let mounted = fuser::spawn_mount2(Stalling { first_read: None }, &at, &options).expect("it is mounted");
    let job = world.path().join("poisson.fio");
    let text = format!(
        "[job]\nfilename={}\nsize={SIZE}\nrw=randread\nbs=4k\nioengine=io_uring\niodepth=16\nnorandommap\n\
         rate_iops=500\nrate_process=poisson\ntime_based\nruntime=8\ninvalidate=0\n",
        path_text(&at.join("data"))
    );
    std::fs::write(&job, text).expect("a job file");
    let said = world.assay(&["run", path_text(&job), "--json", "--quiet"]).ended(0);
    // A ring that is being taken down may hold the file for a moment, and then the mount would stay.
    let _ = std::process::Command::new("umount").arg("--lazy").arg(&at).status();
    drop(mounted);
    let run = json(&said.out);
    let read = &run["phases"][0]["jobs"][0]["read"];
    let of = |which: &str, what: &str| read[which][what].as_f64().unwrap_or(0.0) / 1e9;
    let (longest, p95, p90) = (of("response_ns", "max"), of("response_ns", "p95"), of("response_ns", "p90"));
    assert!((1.95..2.3).contains(&longest), "{longest} s: {read}");
    // Of a quarter that waited from 2 s down to 0, 5 % of all waited longer than 1.6 s and 10 % longer than 1.2 s.
    assert!((1.4..1.8).contains(&p95) && (1.0..1.4).contains(&p90), "{p95} s, {p90} s: {read}");
    let ios = read["ios"].as_f64().unwrap_or(0.0);
    assert!((3700.0..4300.0).contains(&ios), "all that were due were done: {ios}");
    // What was outstanding is all that completion latency has to say about it.
    assert!(of("completion_ns", "p95") < 0.1, "{read}");
}
