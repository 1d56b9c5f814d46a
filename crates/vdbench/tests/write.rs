//! From the workload model to parameter files, and back.

#[path = "../../../xtask/support/skip.rs"]
mod skip;

use std::path::PathBuf;

use assay_formats::loader::MemoryLoader;
use assay_formats::{Diagnostic, Severity};
use assay_vdbench::{Options, lower, parse, write};
use assay_workload::job::{Caching, FlushPolicy, Job, OpenSync, Phase, PhaseKind, Rate, ThinkTime, Workload};
use assay_workload::pattern::{AccessPattern, Distribution, Mix, Placement, Random};
use assay_workload::target::{Extent, Target};
use assay_workload::units::{Bytes, Nanos};

#[track_caller]
fn read(text: &str) -> Workload {
    let (file, diagnostics) = parse("main", text, &Options::default(), &MemoryLoader::default());
    let file = file.unwrap_or_else(|| panic!("{text}\n{diagnostics:#?}"));
    lower("w", &file).0.expect("a small file fits a plan")
}

/// A workload without the names that writing may change.
fn bare(workload: &Workload) -> Vec<(PhaseKind, Nanos, Vec<Job>)> {
    let job = |job: &Job| {
        let mut job = job.clone();
        job.name.clear();
        job.group = None;
        job.targets = job.targets.iter().map(|name| path(workload, name)).collect();
        job
    };
    let measured = workload.phases.iter().filter(|p| p.name != "SD_format");
    measured.map(|p| (p.kind, p.pause_after, p.jobs.iter().map(job).collect())).collect()
}

fn path(workload: &Workload, target: &str) -> String {
    workload.targets.iter().find(|t| t.name == target).map(|t| t.path.clone()).unwrap_or_default()
}

#[track_caller]
fn assert_round_trip(text: &str) {
    let first = read(text);
    let (written, _) = write(&first);
    let second = read(&written);
    for (a, b) in bare(&first).iter().zip(&bare(&second)) {
        assert_eq!(a, b, "{text}\n---\n{written}");
    }
    assert_eq!(bare(&first).len(), bare(&second).len(), "{written}");
}

#[test]
fn what_the_language_can_say_survives_a_round_trip() {
    let sd = "sd=sd1,lun=/dev/a,openflags=o_direct\nsd=sd2,lun=/dev/b,openflags=o_direct\n";
    for rest in [
        "wd=w,sd=sd*,xfersize=8k,rdpct=70\nrd=r,wd=w,iorate=max,threads=4,warmup=10,elapsed=60",
        "wd=w,sd=sd*,xfersize=(4k,30,8k,70)\nrd=r,wd=w,iorate=500,forthreads=(1,2),pause=3",
        "wd=w,sd=sd1,seekpct=30\nrd=r,wd=w,iorate=curve,curve=(10,50)",
        "wd=w,sd=sd1,seekpct=eof,rdpct=0\nrd=r,wd=w,iorate=max",
        "wd=w,sd=sd1,seekpct=seqnz\nrd=r,wd=w,iorate=max,distribution=deterministic",
        "wd=w,sd=sd1,rhpct=40,whpct=20,rdpct=50\nrd=r,wd=w,iorate=max",
        "wd=w,sd=sd1,seekpct=(poisson,5)\nrd=r,wd=w,iorate=max",
        "wd=w,sd=sd1,hotband=(0,100)\nrd=r,wd=w,iorate=max",
        "wd=w,sd=sd1,hotband=(8m,800m)\nrd=r,wd=w,iorate=max",
        "wd=w,sd=sd1,range=(20,60)\nrd=r,wd=w,iorate=max,maxdata=1g",
        "wd=w,sd=sd1,stride=(1m,2m)\nrd=r,wd=w,iorate=max",
        "wd=w,sd=sd1,streams=4,seekpct=0\nrd=r,wd=w,iorate=max",
        "wd=w,sd=sd1,openflags=(o_sync,fsync)\nrd=r,wd=w,iorate=max",
        "wd=a,sd=sd1,skew=30\nwd=b,sd=sd2\nrd=r,wd=*,iorate=1000,distribution=uniform",
    ] {
        assert_round_trip(&format!("{sd}{rest}"));
    }
    assert_round_trip(&format!(
        "compratio=2\ndedupratio=2,dedupunit=4k\ndata_errors=3\n{sd}wd=w,sd=sd1,rdpct=0\nrd=r,wd=w,iorate=max"
    ));
    assert_round_trip(
        "sd=s,lun=/data/a b,size=10m\nwd=w,sd=s,range=(10,90)\nrd=r,wd=w,iorate=max"
            .replace("/data/a b", "\"/data/a b\"")
            .as_str(),
    );
}

#[test]
fn trees_survive_a_round_trip() {
    let fsd = "fsd=f1,anchor=/t,depth=2,width=3,files=4,sizes=(4k,50,8k,50)\n";
    for rest in [
        "fwd=w,fsd=f1,rdpct=30,fileio=random,fileselect=random,threads=6\nrd=r,fwd=w,fwdrate=100,format=yes,elapsed=20",
        "fwd=w,fsd=f1,operation=getattr,threads=2\nrd=r,fwd=w,fwdrate=max,format=(restart,only)",
        "fwd=w,fsd=f1,operation=write,xfersize=64k,stopafter=9\nrd=r,fwd=w,fwdrate=max,format=(clean,only)\nrd=s,fwd=w,fwdrate=max",
    ] {
        assert_round_trip(&format!("{fsd}{rest}"));
    }
}

/// A job on one device, and the losses of writing it.
fn losses(change: impl Fn(&mut Job)) -> Vec<&'static str> {
    let pattern = AccessPattern::new(Mix::READ, 4096, Placement::random_independent());
    let mut job = Job::new("job one", &["disk"], pattern);
    job.caching = Caching::Direct;
    job.limits.time = Some(Nanos::from_secs(10));
    change(&mut job);
    let disk =
        Target { name: "disk".into(), path: "/dev/sdx".into(), kind: None, size: Some(Bytes(1 << 30)) };
    let phases = vec![Phase::measure("p", vec![job])];
    let (text, notes) =
        write(&Workload { name: "w".into(), seed: None, hosts: Vec::new(), targets: vec![disk], phases });
    let (file, diagnostics) = parse("written", &text, &Options::default(), &MemoryLoader::default());
    assert!(file.is_some(), "{text}\n{diagnostics:?}");
    let lost: Vec<&Diagnostic> = notes.iter().filter(|d| d.severity == Severity::Loss).collect();
    assert!(lost.iter().all(|d| text.contains(&d.message)), "each loss is said in the text: {text}");
    lost.iter().map(|d| d.id).collect()
}

#[test]
fn what_the_language_cannot_say_is_reported() {
    assert!(losses(|_| {}).is_empty());
    assert_eq!(
        losses(|job| job.think_time = Some(ThinkTime { time: Nanos(5), every_ios: 1 })),
        ["think-time"]
    );
    assert_eq!(losses(|job| job.pattern.mix = Mix { trim_percent: 50.0, ..Mix::read_write(50.0) }), ["trim"]);
    assert_eq!(losses(|job| job.limits.ios = Some(5)), ["limit-ios"]);
    assert_eq!(losses(|job| job.limits.time = Some(Nanos(2_500_000_000))), ["sub-second"]);
    assert_eq!(losses(|job| job.engine = assay_workload::job::EngineKind::IoUring), ["engine"]);
    assert_eq!(losses(|job| job.pattern.placement = Placement::random_map()), ["random-map"]);
    let zipf = Random { distribution: Distribution::Zipf { theta: 1.2 }, once_per_pass: false };
    assert_eq!(losses(|job| job.pattern.placement = Placement::Random(zipf.clone())), ["distribution"]);
    let buffered = |job: &mut Job| (job.caching, job.invalidate) = (Caching::Buffered, false);
    assert_eq!(losses(buffered), ["raw-needs-openflags"]);
    let increment = |job: &mut Job| (job.threads, job.offset_increment) = (2, Extent::Bytes(1 << 20));
    assert_eq!(losses(increment), ["offset-increment"]);
    let sync = FlushPolicy { open: OpenSync::Sync, ..FlushPolicy::default() };
    assert!(losses(|job| job.flush = sync).is_empty());
}

#[test]
fn addresses_that_do_not_come_again_are_remarked_on() {
    let mut pattern = AccessPattern::new(Mix::READ, 4096, Placement::random_independent());
    pattern.repeat_passes = true;
    let random = Job::new("random", &["disk"], pattern);
    let walk = Job::new("walk", &["disk"], AccessPattern::new(Mix::READ, 4096, Placement::sequential()));
    let remarks = |jobs: Vec<Job>| -> Vec<String> {
        let disk =
            Target { name: "disk".into(), path: "/dev/sdx".into(), kind: None, size: Some(Bytes(1 << 30)) };
        let phases = vec![Phase::measure("p", jobs)];
        let (_, notes) = write(&Workload {
            name: "w".into(),
            seed: Some(137),
            hosts: Vec::new(),
            targets: vec![disk],
            phases,
        });
        let notes = notes.into_iter().filter(|note| matches!(note.id, "seed" | "repeat-passes"));
        notes.map(|note| format!("{}: {}", note.id, note.message)).collect()
    };
    assert_eq!(
        remarks(vec![random]),
        [
            "seed: the seed 137 is not kept: vdbench draws other addresses in each run",
            "repeat-passes: job `random`: vdbench draws other addresses in each pass"
        ]
    );
    assert_eq!(remarks(vec![walk]), [""; 0], "nothing is drawn");
}

#[test]
fn a_path_cannot_smuggle_lines_in() {
    let path = "/t/a\nrd=evil,wd=*,iorate=max\"";
    let disk = Target { name: "d".into(), path: path.into(), kind: None, size: Some(Bytes(1 << 20)) };
    let mut job = Job::new("j", &["d"], AccessPattern::new(Mix::READ, 4096, Placement::random_independent()));
    job.limits.time = Some(Nanos::from_secs(10));
    let phases = vec![Phase::measure("p\nrd=evil", vec![job])];
    let (text, notes) = write(&Workload {
        name: "w\nrd=evil".into(),
        seed: None,
        hosts: Vec::new(),
        targets: vec![disk],
        phases,
    });
    assert!(!text.lines().any(|line| line.starts_with("rd=evil")), "{text}");
    assert!(notes.iter().any(|d| d.id == "unwritable-path"));
    assert_eq!(read(&text).targets.len(), 1);
}

#[test]
fn limited_and_unlimited_jobs_get_rates_and_priorities() {
    let job = |name: &str, rate: Rate| {
        let mut job =
            Job::new(name, &["d"], AccessPattern::new(Mix::READ, 4096, Placement::random_independent()));
        job.rate = rate;
        job.limits.time = Some(Nanos::from_secs(10));
        job
    };
    let disk = Target { name: "d".into(), path: "/dev/sdx".into(), kind: None, size: None };
    let phases = vec![Phase::measure("p", vec![job("slow", Rate::Iops(5.0)), job("fast", Rate::Unlimited)])];
    let (text, _) =
        write(&Workload { name: "w".into(), seed: None, hosts: Vec::new(), targets: vec![disk], phases });
    assert!(
        text.contains("iorate=5,priority=1") && text.contains("priority=2") && text.contains("iorate=max"),
        "{text}"
    );
    let jobs = read(&text).phases.swap_remove(0).jobs;
    assert_eq!([jobs[0].rate, jobs[1].rate], [Rate::Iops(5.0), Rate::Unlimited]);
}

#[test]
fn corpus_files_can_be_written_and_read_again() {
    let beside = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus");
    let dir = std::env::var_os("ASSAY_CORPUS").map_or_else(beside, PathBuf::from).join("vdbench");
    let Ok(entries) = std::fs::read_dir(&dir) else {
        return skip::declare("corpus", "no parameter files; ASSAY_CORPUS names their directory");
    };
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let Some(file) = name.strip_suffix(".runs") else { continue };
        let text = std::fs::read(dir.join(file)).expect("each list has its parameter file");
        let first = read(&String::from_utf8_lossy(&text));
        let (written, _) = write(&first);
        let second = read(&written);
        assert_eq!(second.phases.len(), first.phases.len(), "{name}\n{written}");
    }
}

#[test]
fn validation_survives_a_round_trip() {
    let sd = "sd=sd1,lun=/dev/a,openflags=o_direct\n";
    for general in [
        "validate=yes",
        "validate=(yes,read)",
        "validate=no_preread",
        "validate=(read,no_preread)",
        "journal=yes",
    ] {
        let text = format!(
            "{general}\n{sd}wd=w,sd=sd1,rdpct=50\nrd=r,wd=w,iorate=max,threads=4,warmup=10,elapsed=60"
        );
        assert_round_trip(&text);
        let (written, said) = write(&read(&text));
        assert!(written.contains("\nvalidate="), "{written}");
        assert!(said.iter().all(|said| said.severity == Severity::Note), "{general}: {said:?}");
    }
}

#[test]
fn what_validation_cannot_say_is_lost() {
    let mut first = read(
        "validate=(yes,read)\nsd=sd1,lun=/dev/a,openflags=o_direct\nwd=w,sd=sd1,rdpct=50\nwd=v,sd=sd1\n\
                          rd=r,wd=(w,v),iorate=max,elapsed=60",
    );
    first.phases[0].jobs[1].content = assay_workload::content::Content::default();
    first.phases[0].jobs[0].content.data_errors_max = Some(3);
    let directory = Some("/other".to_owned());
    first.phases[0].jobs[0].content.journal =
        Some(assay_workload::content::DataJournal { directory, ..Default::default() });
    let ids: Vec<&str> =
        write(&first).1.iter().filter(|said| said.severity == Severity::Loss).map(|said| said.id).collect();
    for id in ["validation-differs", "data-errors", "journal-acknowledged", "journal-directory"] {
        assert!(ids.contains(&id), "{id}: {ids:?}");
    }
}
