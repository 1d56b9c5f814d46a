//! Lines of foreign fio files.

use super::{Scene, assert_refused, state};

const FOREIGN: &str = super::FOREIGN;

/// Lines of a fio job that writes 64 KiB, and what is said of them.
const FIO: &[(&str, &str)] = &[
    ("filename=@V", FOREIGN),
    ("directory=@D\nfilename=precious", FOREIGN),
    ("filename=data/../theirs/precious", FOREIGN),
    ("filename=@R/data/new:@V", FOREIGN),
    ("filename=@D/pre\\:x:@V", FOREIGN),
    ("filename=@D/no/where/x:@V", FOREIGN),
    ("filename=/proc/no/where:@V", "stores no data"),
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
    ("filename=@V\nioengine=filecreate", FOREIGN),
    ("filename=@V\nioengine=filedelete", FOREIGN),
    ("filename=@V\nioengine=filedelete\nrw=read", FOREIGN),
    ("filename=data/link\nioengine=filedelete", "symbolic link"),
    ("filename=@D\nioengine=dirdelete", "was not made by Assay"),
    ("filename=@D\nioengine=dircreate", "was not made by Assay"),
    ("filename=@V\nioengine=dirdelete", FOREIGN),
    ("filename=/dev/no-such-disk\nioengine=filecreate", "is no file"),
    ("filename=@V\nioengine=ftruncate", FOREIGN),
    ("filename=@V\nioengine=falloc", FOREIGN),
    ("filename=@V\nioengine=falloc\nrw=read\nsize=4k\nbs=4k", FOREIGN),
    ("filename=data/x\nioengine=e4defrag\ndonorname=@V", "does not run here"),
    ("filename=data/x\nioengine=external:@V", "does not run here"),
    ("include @V", "bytes"),
    // Reading an interface of the kernel may do something.
    ("filename=/sys/kernel/uevent_seqnum\nrw=read\nbs=4k\nsize=4k", "stores no data"),
    ("filename=/proc/version\nrw=read\nbs=4k\nsize=4k", "stores no data"),
    ("filename=/dev/kmsg\nrw=read\nbs=4k\nsize=4k", "neither a file nor a block device"),
    ("filename=data/pipe\nrw=read\nbs=4k\nsize=4k", "neither a file nor a block device"),
    ("directory=/proc/self\nrw=read\nbs=4k\nsize=4k", "stores no data"),
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

#[test]
fn a_fio_file_does_not_reach_what_is_not_ours() {
    let scene = Scene::new();
    let cases = FIO.iter().map(|(lines, why)| {
        let text = format!("[a]\nrw=write\nbs=64k\nsize=256k\n{}\n", scene.filled(lines));
        scene.write("j.fio", &text);
        scene.refused(&["run", "j.fio", "--allow-loss"], why).map(|said| format!("{lines}: {said}"))
    });
    assert_refused(cases);
}

#[test]
fn what_is_not_honoured_touches_nothing() {
    let scene = Scene::new();
    for lines in UNTOUCHED {
        let text = format!("[a]\nrw=write\nbs=64k\nsize=256k\n{}\n", scene.filled(lines));
        scene.write("j.fio", &text);
        let before = state(&scene.theirs);
        let said = scene.world.assay(&["run", "j.fio", "--allow-loss"]);
        assert_eq!(said.code, Some(0), "{lines}: {}", said.err);
        assert!(before == state(&scene.theirs), "{lines}: {}", said.err);
    }
}
