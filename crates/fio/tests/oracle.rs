//! The installed fio as a judge: the same lines accepted, the same numbers read, the same command line printed.

#[path = "../../../xtask/support/skip.rs"]
mod skip;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use assay_fio::{self as fio, System};
use assay_formats::loader::MemoryLoader;

/// Lines of one job each; `|` separates lines. Without a mark both sides have to agree.
const LINES: &str = r#"
time_based=1 ; time_based=2 ; stonewall=abc ; bssplit=4k/50:8k/60 ; bssplit=4k/50:8k ; bssplit=4k/60:8k/60:1k:2k
bssplit=4k/50,8k/100 ; bs=abc ; bs=0 ; bs=4k- ; bs=4kz ; bs=4z ; bs=4k,foo ; bs=foo,4k ; bs=,8k ; bs=4k,, ; bs=1.5k ; bs
iodepth=1.5 ; iodepth=4% ; iodepth=0 ; iodepth=4-8 ; iodepth= ; size=50% ; size=10zz ; size=10z ; io_size=4 k ; io_size= 4k
io_size=0x10k ; io_size=1e6 ; size= ; io_size=4k-8k ; runtime=10x ; runtime=60sec ; runtime=1.9s ; runtime=abc ; rwmixread=101
rwmixread=30,40 ; random_distribution=zipf ; random_distribution=zipf:1 ; random_distribution=zipf:abc
random_distribution=zipf:0 ; random_distribution=zipf:-1 ; random_distribution=pareto:0 ; random_distribution=pareto:1
random_distribution=pareto:1.2 ; random_distribution=normal:100 ; random_distribution=zoned:50/5:40/20
random_distribution=zoned:50/5:30/15:20/ ; random_distribution=zipf:1.2:0.3 ; random_distribution=zipf:1.2:1.3
random_distribution=zoned_abs:60/1g:40/2g ; random_distribution=foo ; percentage_random=50,60,70 ; percentage_random=150
rate=1m,1m, ; rate=,100k ; rate_process=foo ; latency_target=10ms ; latency_percentile=99.9 ; latency_percentile=x
steadystate=iops:5 ; steadystate=iops:5% ; steadystate=foo:5 ; thinktime=5|thinktime_blocks=0 ; file_service_type=random:5
file_service_type=zipf:1.2 ; file_service_type=foo ; sync_file_range=write,wait_after:8 ; sync_file_range=8 ; sync=dsync
sync=2 ; verify=md5sum ; verify=md5 ; buffer_pattern=0xdeadbeef ; buffer_pattern="abc"-12 ; buffer_pattern=abc
buffer_pattern='/nonexistent' ; mem=foo ; mem=malloc ; ioengine=libaio:foo ; cpus_allowed=0,1 ; norandommap=0
ignore_error=EIO,ENOSPC:5 ; rw=randread:8 ; rw=read:4k ; rw=read:-8k ; rw=read:foo ; rw=READ ; rw=read,write ; rw= ; rw
startdelay=5-10 ; filesize=1m-2m ; filesize=1m:2m ; filesize=2m-1m ; bsrange=4k ; bsrange=4k-8k,1k-2k ; bsrange=8k-4k
bsrange=4k,8k ; bsrange=4k:8k ; percentile_list=99.9:99 ; percentile_list=a ; log_avg_msec=x ; kb_base=1000 ; kb_base=1001
unit_base=8 ; nice=-21 ; nice=5 ; hugepage-size=3 ; flow=5 ; unified_rw_reporting=mixed ; exit_what=foo ; fallocate=1
write_bw_log ; write_bw_log=foo ; write_lat_log= ; write_hist_log ; disable_lat=2 ; disable_lat=1 ; group_reporting=2
filename= ; filename=/a:b ; filename=/a#b ; name= ; direct= ; direct ; direct=true ; direct=0x1 ; direct= 1 ; loops=3
verify_interval=4k ; randseed=0x12 ; dedupe_percentage=200 ; fsync=x ; fsync=8 ; description=foo bar ; zonemode=zbd
max_open_zones=4 ; rate_cycle=5 ; prio=3 ; prio=9 ; prioclass=4 ; verifysort=1 ; percentage_sequential=4
flow_watermark=1 ; rwmixcycle=4 ; thread=2 ; create_only=2 ; threads=4 ; dir=/x ; zie=1g ; RUNTIME=10 ; hipri
ioengine=io_uring|hipri ; hipri|ioengine=io_uring ; ioengine=libaio|hipri ; ioengine=io_uring|sqthread_poll=1|registerfiles
iodepth_batch_complete=8 ; blocksize=8k ; readwrite=randrw ; wait_for_previous ; io_limit=1m ; iomem_align=4k
number_ios=5 ; offset=50% ; offset_increment=1g ; ba=8k ; lockfile=exclusive ; opendir=/tmp ; continue_on_error=all
continue_on_error=1 ; ss=bw_slope:1% ; ss_dur=10|ss_ramp=5 ; cgroup_weight=50 ; log_hist_coarseness=6 ; zone_reset_threshold=0.5
dedupe_mode=working_set ; trim_percentage=5 ; write_hint=short ; filetype=file ; clocksource=cpu ; exitall=0 ; numjobs=3
buffer_compress_percentage=50|buffer_compress_chunk=4k ; size=8*$pagesize ; size=${NOPE} ; bs=${SIZE_OF_BLOCK}
"#;

/// What fio takes in a dry run although no run comes of it, and what Assay therefore refuses.
const STRICTER: &[&str] = &[
    "bs=-4k",
    "size=101%",
    "numjobs=0",
    "loops=0",
    "nrfiles=0",
    "rate=1m|rate_iops=5",
    "bs=2g|size=1m",
    "wait_for=nobody",
    "cpus_allowed=x",
    "zonesize=1m|zonemode=none",
];

/// Lines that newer fios read and the judge may not: it is only asked about the others.
const NEWER: &[&str] = &["filetype=file", "latency_percentile=x"];

fn fio() -> Option<()> {
    let found = Command::new("fio").arg("--version").output().is_ok_and(|out| out.status.success());
    if !found {
        skip::declare("fio", "no fio on the path");
    }
    found.then_some(())
}

fn text(lines: &str) -> String {
    format!("[a]\nioengine=null\nsize=1g\n{}\n", lines.trim().replace('|', "\n"))
}

fn directory() -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR"))
}

/// Runs fio on a text in a directory of its own; whether it accepted, and what it printed.
fn judge(name: &str, text: &str, options: &[&str]) -> (bool, String) {
    let path = directory().join(name);
    std::fs::write(&path, text).expect("the directory for tests is writable");
    let out = Command::new("fio")
        .args(options)
        .arg(&path)
        .env("SIZE_OF_BLOCK", "8k")
        .env_remove("NOPE")
        .current_dir(Path::new("/"))
        .output()
        .expect("fio runs");
    (out.status.success(), String::from_utf8_lossy(&out.stdout).into_owned())
}

fn ours(text: &str) -> Option<fio::JobFile> {
    let loader = MemoryLoader {
        env: BTreeMap::from([("SIZE_OF_BLOCK".to_owned(), "8k".to_owned())]),
        ..MemoryLoader::default()
    };
    fio::parse_with("a", text, &loader, &System::default()).0
}

#[test]
fn the_same_lines_are_accepted() {
    let Some(()) = fio() else { return };
    let lines = LINES.lines().flat_map(|line| line.split(" ; ")).filter(|line| !line.is_empty());
    let (accepted, refused): (Vec<&str>, Vec<&str>) =
        lines.filter(|line| !NEWER.contains(line)).partition(|line| ours(&text(line)).is_some());
    // One file with a section per line: each fio process takes a tenth of a second.
    let all: String = accepted.iter().map(|line| text(line)).collect();
    let (taken, printed) = judge("accepted.fio", &all, &["--showcmd"]);
    let words = ours(&all).expect("every line alone is accepted").command_lines()[0].join(" ");
    let printed = without_warnings(&printed);
    let differs = printed
        .split(" --name=")
        .zip(words.split(" --name="))
        .find(|(fio, ours)| fio.trim_end() != ours.trim_end());
    assert_eq!(differs, None, "fio on the left");
    assert!(taken, "fio refuses a line that is accepted here");
    let wrong: Vec<&str> =
        refused.into_iter().filter(|line| judge("refused.fio", &text(line), &["--parse-only"]).0).collect();
    assert!(wrong.is_empty(), "fio accepts these: {wrong:?}");
}

/// fio prints warnings about old options between the words of its command line.
fn without_warnings(printed: &str) -> String {
    let mut rest = printed.to_owned();
    while let Some(start) = rest.find("Option ") {
        let end = rest[start..].find('\n').map_or(rest.len(), |end| start + end + 1);
        rest.replace_range(start..end, "");
    }
    rest
}

#[test]
fn what_cannot_run_is_refused_although_a_dry_run_passes() {
    let Some(()) = fio() else { return };
    for line in STRICTER {
        let text = text(line);
        let (accepted, _) = judge("strict.fio", &text, &["--parse-only"]);
        assert!(accepted, "{line}: fio refuses it too: move it to the others");
        assert!(ours(&text).is_none(), "{line}");
    }
}

/// fio's own reading of these values, from its parser's debug output.
fn numbers_read(option: &str, values: &[&str]) -> Vec<Option<u64>> {
    let all: String = values.iter().map(|value| text(&format!("{option}={value}"))).collect();
    let (_, printed) = judge("numbers.fio", &all, &["--parse-only", "--debug=parse"]);
    let start = format!("__handle_option={option}, ");
    let read = |from: &str| from.split("ret=0, out=").nth(1)?.lines().next()?.parse().ok();
    printed.split(start.as_str()).skip(1).map(read).collect()
}

#[test]
fn numbers_mean_the_same() {
    let Some(()) = fio() else { return };
    let values =
        "4k 4K 4kb 4KB 4KiB 4kib 1m 1Mi 2g 3G 1t 512b 512B 4096x 1.5g 0x10 0x1000 1e6 4kfoo 7 010 12pib 5TB";
    let values: Vec<&str> = values.split(' ').collect();
    let limits = |line: String| {
        let file = ours(&text(&line)).unwrap_or_else(|| panic!("{line}"));
        let (workload, said) = fio::lower("a", &file);
        workload.unwrap_or_else(|| panic!("{line}: {said:?}")).phases[0].jobs[0].limits
    };
    let sizes = |value: &&str| limits(format!("io_size={value}")).bytes;
    assert_eq!(values.iter().map(sizes).collect::<Vec<_>>(), numbers_read("io_size", &values));
    let values = "60 60s 60sec 1min 2m 1h 1d 1500ms 5us 1.9s 3S 7M 0x10 100msec 9usec 4seconds";
    let values: Vec<&str> = values.split(' ').collect();
    let times = |value: &&str| limits(format!("runtime={value}")).time.map(|time| time.0 / 1000);
    assert_eq!(values.iter().map(times).collect::<Vec<_>>(), numbers_read("runtime", &values));
}

/// What fio did: name, I/Os and bytes of reads and of writes of each job it reports.
fn results(name: &str, text: &str) -> Vec<(String, [u64; 4])> {
    let (ran, printed) = judge(name, text, &["--output-format=json"]);
    assert!(ran, "{printed}");
    let json = &printed[printed.find('{').expect("a JSON document")..];
    let root: serde_json::Value = serde_json::from_str(json).expect("a JSON document");
    let number = |job: &serde_json::Value, kind: &str, key: &str| job[kind][key].as_u64().expect("a number");
    let jobs = root["jobs"].as_array().expect("a list of jobs").iter();
    jobs.map(|job| {
        let name = job["jobname"].as_str().expect("a name").to_owned();
        let [read, write] =
            ["read", "write"].map(|kind| [number(job, kind, "total_ios"), number(job, kind, "io_bytes")]);
        (name, [read[0], read[1], write[0], write[1]])
    })
    .collect()
}

#[test]
fn a_workload_written_as_a_job_file_does_the_same_in_fio() {
    let Some(()) = fio() else { return };
    let directory = directory().join("same-in-fio");
    std::fs::create_dir_all(&directory).expect("the directory for tests is writable");
    let text = format!(
        "[global]\ndirectory={}\nsize=1m\nbs=16k\n[fill]\nfilename=a:b\nrw=write\n[own]\nnumjobs=2\nrw=randwrite\n\
         group_reporting\nnew_group\n[again]\nstonewall\nfilename=a\nrw=randread\nbs=4k\nio_size=512k\n[steps]\nnew_group\n\
         filename=a\nrw=read\nsize=256k\noffset_increment=256k\nnumjobs=2\ngroup_reporting\nloops=2\n",
        directory.display()
    );
    let file = ours(&text).expect("a job file");
    let (workload, said) = fio::lower("same", &file);
    let (written, lost) = fio::write(&workload.unwrap_or_else(|| panic!("{said:?}")));
    assert!(lost.iter().all(|d| d.severity == assay_formats::Severity::Note), "{lost:?}");
    let expected = results("asked.fio", &text);
    assert_eq!(results("written.fio", &written), expected, "{written}");
    let ios: Vec<u64> = expected.iter().map(|(_, counts)| counts[0] + counts[2]).collect();
    assert_eq!(ios, [64, 128, 128, 64]);
    std::fs::remove_dir_all(&directory).expect("the directory is removed");
}

/// Every file below a directory, as it is named in it.
fn files_below(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).expect("it can be read").map(|entry| entry.expect("an entry"));
    entries
        .flat_map(|entry| match entry.path() {
            path if path.is_dir() => files_below(&path),
            path => vec![path],
        })
        .collect()
}

#[test]
fn clones_go_to_the_directories_and_files_that_fio_gives_them() {
    let Some(()) = fio() else { return };
    for (number, sections) in [
        "[g]\nDIRECTORIES\nnumjobs=5\n",
        "[g]\nDIRECTORIES\nnumjobs=4\nnrfiles=2\n[h]\nDIRECTORIES\nnumjobs=2\n",
        "[one]\nDIRECTORIES\n[two]\nDIRECTORIES\n[three]\nDIRECTORIES\nnumjobs=4\nfilename_format=$jobnum-$filenum.$jobname\n",
        // Named files are all in the first.
        "[g]\nDIRECTORIES\nfilename=x:y\nnumjobs=3\n",
        "[g]\nDIRECTORIES\nnumjobs=4\noffset_increment=4k\n",
    ]
    .iter()
    .enumerate()
    {
        let place = directory().join(format!("directories-{number}"));
        let directories = ["a", "b", "c"].map(|name| place.join(name));
        directories.iter().for_each(|directory| std::fs::create_dir_all(directory).expect("it is writable"));
        let list = directories.each_ref().map(|path| path.to_string_lossy().into_owned()).join(":");
        let sections = sections.replace("DIRECTORIES", &format!("directory={list}"));
        let text = format!("[global]\nrw=write\nbs=4k\nsize=64k\n{sections}");
        let (workload, said) = fio::lower("clones", &ours(&text).expect("a job file"));
        let targets = workload.unwrap_or_else(|| panic!("{said:?}")).targets;
        let mut mine: Vec<PathBuf> = targets.iter().map(|target| PathBuf::from(&target.path)).collect();
        let (ran, printed) = judge(&format!("directories-{number}.fio"), &text, &[]);
        assert!(ran, "{printed}");
        let mut theirs = files_below(&place);
        mine.sort();
        theirs.sort();
        assert_eq!(mine, theirs, "{text}");
        std::fs::remove_dir_all(&place).expect("the directory is removed");
    }
}
