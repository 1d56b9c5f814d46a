//! From parameter files to the workload model.

#[path = "../../../xtask/support/skip.rs"]
mod skip;

use std::path::PathBuf;

use assay_formats::loader::MemoryLoader;
use assay_formats::{Diagnostic, Severity};
use assay_vdbench::{Options, expand, lower, parse};
use assay_workload::content::{Acknowledged, DataJournal};
use assay_workload::host::HostRanges;
use assay_workload::job::{
    Arrival, Caching, EngineKind, Job, OpenSync, Phase, PhaseKind, Rate, TargetSharing, Workload,
};
use assay_workload::pattern::{BlockSizes, Distribution, Placement};
use assay_workload::resolve::{self, Inventory, TargetFacts};
use assay_workload::target::{Extent, TargetKind};
use assay_workload::tree::{FileSelection, FileState};
use assay_workload::units::{Bytes, Nanos};

#[track_caller]
fn lowered(text: &str) -> (Workload, Vec<Diagnostic>) {
    let (file, mut diagnostics) = parse("main", text, &Options::default(), &MemoryLoader::default());
    let file = file.unwrap_or_else(|| panic!("{text}\n{diagnostics:#?}"));
    let (workload, more) = lower("w", &file);
    diagnostics.extend(more);
    (workload.expect("a small file fits a plan"), diagnostics)
}

/// The jobs of the first phase.
#[track_caller]
fn jobs(text: &str) -> Vec<Job> {
    lowered(text).0.phases.swap_remove(0).jobs
}

fn losses(text: &str) -> Vec<&'static str> {
    lowered(text).1.iter().filter(|d| d.severity == Severity::Loss).map(|d| d.id).collect()
}

#[test]
fn data_that_would_not_be_checked_is_another_test() {
    for general in
        ["journal=recover", "data_errors=stop.sh", "pattern=file", "validate=yes\ndedupratio=2,dedupunit=4k"]
    {
        let said = lowered(&format!("{general}\n{}", one("xf=4k,rdpct=0", "iorate=max,elapsed=2"))).1;
        let lost: Vec<&Diagnostic> = said.iter().filter(|d| d.severity == Severity::Loss).collect();
        assert!(!lost.is_empty() && lost.iter().all(|d| d.changes_test()), "{general}: {lost:?}");
    }
}

/// One device, one workload, one run.
fn one(wd: &str, rd: &str) -> String {
    format!("sd=sd1,lun=/dev/sdx,size=1g,openflags=o_direct\nwd=wd1,sd=sd1,{wd}\nrd=r,wd=wd1,{rd}")
}

const SECOND: u64 = 1_000_000_000;

#[test]
fn the_published_comparison_carries_over() {
    let text = "debug=86\ndata_errors=10000\nsd=default,openflags=o_direct,hitarea=0,range=(0,100),threads=8\n\
                sd=sd1,lun=/dev/sda\nsd=sd2,lun=/dev/sdb\nwd=wd1,sd=(sd1,sd2),xfersize=4k,rdpct=100,seekpct=100\n\
                rd=run1,wd=wd1,iorate=max,elapsed=300,warmup=60,interval=1";
    let (workload, diagnostics) = lowered(text);
    assert!(diagnostics.iter().all(|d| d.severity == Severity::Note), "{diagnostics:?}");
    assert_eq!(workload.targets[1].path, "/dev/sdb");
    let job = &workload.phases[0].jobs[0];
    assert_eq!(job.targets, ["sd1", "sd2"]);
    assert_eq!((job.threads, job.outstanding_per_thread, job.sharing), (2, 8, TargetSharing::PerThread));
    assert_eq!((job.ramp, job.limits.time), (Nanos(60 * SECOND), Some(Nanos(300 * SECOND))));
    assert_eq!((job.caching, job.rate, job.errors_tolerated), (Caching::Direct, Rate::Unlimited, 9999));
    assert_eq!(job.pattern.read_sizes, BlockSizes::Fixed(4096));
    let Placement::Random(random) = &job.pattern.placement else { panic!("{:?}", job.pattern.placement) };
    assert_eq!((&random.distribution, random.once_per_pass), (&Distribution::Uniform, false));
    assert_eq!(
        (job.offset, job.length),
        (Extent::Bytes(4096), None),
        "the first block of a device is left alone"
    );
}

#[test]
fn without_warmup_the_first_interval_is_left_out() {
    let job = jobs(&one("xfersize=8k", "iorate=max,elapsed=60,interval=5")).remove(0);
    assert_eq!((job.ramp, job.limits.time), (Nanos(5 * SECOND), Some(Nanos(55 * SECOND))));
}

#[test]
fn rates_are_split_by_skew_and_over_targets() {
    let text = "sd=sd1,lun=/dev/a,openflags=o_direct,threads=4\nsd=sd2,lun=/dev/b,openflags=o_direct,threads=8\n\
                wd=a,sd=*,skew=75\nwd=b,sd=sd1\nrd=r,wd=*,iorate=1000,distribution=uniform";
    let jobs = jobs(text);
    let facts: Vec<(&str, u32, Rate)> =
        jobs.iter().map(|j| (j.name.as_str(), j.outstanding_per_thread, j.rate)).collect();
    assert_eq!(
        facts,
        [("a@sd1", 3, Rate::Iops(375.0)), ("a@sd2", 8, Rate::Iops(375.0)), ("b", 1, Rate::Iops(250.0))]
    );
    assert!(jobs.iter().all(|j| j.arrival == Arrival::Uniform));
    assert_eq!(jobs[0].group.as_deref(), Some("a"));
}

#[test]
fn a_skew_at_the_maximum_rate_is_a_loss() {
    let text = "sd=sd1,lun=/dev/a,openflags=o_direct\nwd=a,sd=*,skew=75\nwd=b,sd=sd1\nrd=r,wd=*,iorate=";
    assert_eq!(losses(&format!("{text}max")), ["skew-at-max"]);
    assert!(losses(&format!("{text}100")).is_empty());
}

#[test]
fn curves_become_percentages_of_the_maximum() {
    let (workload, _) = lowered(&one("rdpct=0", "iorate=curve,curve=(10,50),forthreads=(1,2)"));
    let facts: Vec<(String, Rate)> =
        workload.phases.iter().map(|p| (format!("{} {}", p.name, p.point), p.jobs[0].rate)).collect();
    assert_eq!(facts[0], ("r threads=1 curve=max".to_owned(), Rate::Unlimited));
    assert_eq!(facts[5], ("r_(50%) threads=2 curve=50%".to_owned(), Rate::PercentOfMax(50.0)));
    assert_eq!(workload.phases[5].jobs[0].outstanding_per_thread, 2);
}

#[test]
fn placements_carry_over() {
    let placed = |wd: &str| jobs(&one(wd, "iorate=max")).remove(0).traits.pattern.placement;
    assert!(matches!(placed("seekpct=20"), Placement::Mixed { random_percent: 20.0, .. }));
    let Placement::Sequential(walk) = placed("seekpct=0") else { panic!() };
    assert!(walk.wrap && !walk.cursor_per_operation && !walk.random_start);
    let Placement::Sequential(walk) = placed("seekpct=eof") else { panic!() };
    assert!(!walk.wrap);
    let Placement::Sequential(walk) = placed("stride=(1m,2m)") else { panic!() };
    assert_eq!((walk.skip_min_bytes, walk.skip_max_bytes), (1 << 20, 2 << 20));
    let Placement::Random(random) = placed("seekpct=(poisson,4)") else { panic!() };
    assert_eq!(random.distribution, Distribution::Exponential { midpoint: 4.0 });
    let Placement::Random(random) = placed("rhpct=75,whpct=50,xfersize=4k") else { panic!() };
    let area = Distribution::HitArea { read_percent: 75.0, write_percent: 50.0, bytes: (1 << 20) - 4096 };
    assert_eq!(random.distribution, area, "on a raw device the area ends at hitarea");
    let Placement::Random(random) = placed("hotband=(10,60)") else { panic!() };
    assert!(matches!(random.distribution, Distribution::Hotband { corrected: false, .. }));
}

#[test]
fn ranges_are_rounded_to_the_largest_transfer() {
    const GIB: u64 = 1 << 30;
    let job = jobs(&one("xfersize=1m,range=(10,50)", "iorate=max")).remove(0);
    assert_eq!(job.offset, Extent::Bytes((GIB / 10) >> 20 << 20));
    assert_eq!(job.length, Some(Extent::Bytes(GIB / 2 - ((GIB / 10) >> 20 << 20))));
    let unsized_text = one("range=(10,50)", "iorate=max").replace(",size=1g", "");
    let job = jobs(&unsized_text).remove(0);
    assert_eq!((job.offset, job.length), (Extent::Percent(10.0), Some(Extent::Percent(40.0))));
    assert_eq!(losses(&one("range=(90,110)", "iorate=max")), ["range-wraps"]);
}

#[test]
fn streams_split_the_target() {
    let job = jobs(&one("streams=4,seekpct=0", "iorate=max")).remove(0);
    assert_eq!((job.threads, job.outstanding_per_thread), (4, 2));
    assert_eq!((job.offset_increment, job.length), (Extent::Percent(25.0), Some(Extent::Percent(25.0))));
}

#[test]
fn flags_content_and_limits_carry_over() {
    let text = format!(
        "compratio=2\ndedupratio=3\ndedupunit=8k\n{}",
        one("rdpct=0,openflags=(o_sync,fsync)", "iorate=max,maxdata=8m")
    );
    let job = jobs(&text).remove(0);
    assert_eq!((job.caching, job.flush.open, job.flush.at_end), (Caching::Buffered, OpenSync::Dsync, true));
    assert_eq!(
        (job.content.compression_ratio, job.content.dedup_ratio, job.content.dedup_unit_bytes),
        (2.0, 3.0, 8192)
    );
    assert_eq!(job.limits.bytes, Some(8 << 20));
    let job = jobs(&one("seekpct=eof", "iorate=max,maxdata=2,openflags=0x105000")).remove(0);
    assert_eq!((job.limits.passes, job.flush.open, job.caching), (Some(2), OpenSync::Sync, Caching::Direct));
}

/// Identifiers of what is said about hosts.
fn of_hosts(text: &str) -> Vec<&'static str> {
    let (_, said) = lowered(text);
    said.iter().map(|d| d.id).filter(|id| ["other-host", "launcher", "no-host"].contains(id)).collect()
}

#[test]
fn a_single_remote_host_is_not_forgotten() {
    let text = format!("hd=h1,system=10.0.0.9\n{}", one("rdpct=50", "iorate=max"));
    assert_eq!((of_hosts(&text), losses(&text)), (vec!["other-host"], vec![]));
    assert_eq!(lowered(&text).0.hosts[0].system(), "10.0.0.9");
    let here = text.replace("10.0.0.9", "localhost,jvms=4");
    let without = one("rdpct=50", "iorate=max");
    assert!(of_hosts(&here).is_empty());
    assert_eq!(lowered(&here).0, lowered(&without).0, "the processes of this machine share the same threads");
}

#[test]
fn hosts_that_are_this_machine_lose_nothing() {
    let hosts =
        "hd=default,shell=vdbench,jvms=2\nhd=h1,system=localhost\nhd=h2,system=127.0.0.1\nhd=h3,system=db1\n";
    let text = format!("{hosts}{}", one("rdpct=50,host=h1", "iorate=max"));
    let options = Options { local_names: vec!["db1".to_owned()], ..Options::default() };
    let (file, _) = parse("main", &text, &options, &MemoryLoader::default());
    let (workload, said) = lower("w", &file.expect("a file"));
    assert!(said.iter().all(|d| d.severity == Severity::Note), "{said:?}");
    assert!(workload.expect("a workload").hosts.is_empty());
    assert_eq!(of_hosts(&text), ["other-host", "launcher"], "db1 is another machine");
}

#[test]
fn a_label_that_is_the_address_is_no_option_of_ssh() {
    for (text, fits) in [("hd=-oProxy,system=db1\n", true), ("hd=-oProxy\n", false)] {
        let text = format!("{text}{}", one("rdpct=50", "iorate=max"));
        let (file, _) = parse("main", &text, &Options::default(), &MemoryLoader::default());
        let said = lower("w", &file.expect("a file")).1;
        let found = said.iter().any(|said| said.id == "bad-value" && said.severity == Severity::Error);
        assert_eq!(found, !fits, "{said:?}");
    }
}

const FLEET: &str = "hd=default,user=bench,jvms=2\nhd=h1,system=10.0.0.1\nhd=h2,system=10.0.0.2\nhd=h3\n\
    sd=default,openflags=o_direct,size=1g\nsd=s1,host=(h1,h2),lun=/dev/sdb,host=h3,lun=/dev/sdc,threads=8\n\
    sd=s2,host=h1,lun=/dev/sdd,threads=4\n\
    wd=all,sd=s1,rdpct=70\nwd=some,sd=s1,host=(h2,h3)\nwd=own,sd=s2\nwd=walk,sd=s1,seekpct=0\n";

#[test]
fn hosts_share_the_threads_of_what_they_do_and_have_paths_of_their_own() {
    let runs = [
        "rd=r1,wd=all,iorate=800",
        "rd=r2,wd=some,iorate=max",
        "rd=r3,wd=own,iorate=max",
        "rd=r4,wd=walk,iorate=max",
    ];
    let text = format!("{FLEET}{}\n", runs.join("\n"));
    let (workload, _) = lowered(&text);
    let hosts: Vec<(&str, &str, Option<&str>, u32)> = workload
        .hosts
        .iter()
        .map(|host| (host.name.as_str(), host.system(), host.user.as_deref(), host.instances))
        .collect();
    let user = Some("bench");
    assert_eq!(hosts, [("h1", "10.0.0.1", user, 2), ("h2", "10.0.0.2", user, 2), ("h3", "h3", user, 2)]);
    assert_eq!(workload.targets[0].path, "/dev/sdb");
    assert_eq!(workload.hosts[2].paths.get("s1").map(String::as_str), Some("/dev/sdc"));
    assert!(workload.hosts[0].paths.is_empty());
    let parts = |phase: usize| -> Vec<(Vec<&str>, u32, Rate)> {
        let jobs = workload.phases[phase].jobs.iter();
        jobs.map(|job| (job.hosts.iter().map(String::as_str).collect(), job.outstanding_per_thread, job.rate))
            .collect()
    };
    // 8 threads on three hosts: 3, 3 and 2; the rate goes in equal parts to the hosts.
    let (two, one) = (Rate::Iops(800.0 * (2.0 / 3.0)), Rate::Iops(800.0 * (1.0 / 3.0)));
    assert_eq!(parts(0), [(vec!["h1", "h2"], 3, two), (vec!["h3"], 2, one)]);
    assert_eq!(parts(1), [(vec!["h2", "h3"], 4, Rate::Unlimited)]);
    assert_eq!(parts(2), [(vec!["h1"], 4, Rate::Unlimited)], "only h1 has s2");
    assert_eq!(parts(3), [(vec!["h1"], 8, Rate::Unlimited)], "one process walks");
    let alone = text.replace("wd=own,sd=s2", "wd=own,sd=s2,host=h2");
    assert!(of_hosts(&alone).contains(&"no-host"));
}

#[test]
fn trees_divide_their_threads_among_the_hosts() {
    let text = "hd=h1,system=a\nhd=h2,system=b\nfsd=f1,anchor=/t,depth=1,width=1,files=4,size=4k\n\
                fwd=w,fsd=f1,threads=6\nfwd=v,fsd=f1,threads=6,host=h2\nrd=r,fwd=(w,v),fwdrate=100,format=yes\n";
    let (workload, _) = lowered(text);
    let of = |phase: usize| -> Vec<(u32, usize)> {
        workload.phases[phase].jobs.iter().map(|job| (job.threads, job.hosts.len())).collect()
    };
    assert_eq!((of(0), of(1)), (vec![(4, 0)], vec![(3, 0), (6, 1)]));
    let (workload, said) = lowered(&text.replace("size=4k", "size=4k,shared=yes"));
    assert_eq!(workload.phases[0].jobs[0].hosts, ["h1"], "a shared tree is made once");
    assert!(said.iter().any(|d| d.id == "shared-tree"));
}

#[test]
fn hosts_are_written_as_they_are_read() {
    let text = format!(
        "{FLEET}rd=r1,wd=all,iorate=800,elapsed=20,warmup=5\nrd=r2,wd=some,iorate=max,elapsed=20,warmup=5\n"
    );
    let (workload, _) = lowered(&text.replace("hd=h3", "hd=h3,system=h3"));
    let (written, said) = assay_vdbench::write(&workload);
    let (again, _) = lowered(&written);
    assert_eq!(again.hosts, workload.hosts, "{written}");
    let some = |workload: &Workload| {
        workload.phases[1]
            .jobs
            .iter()
            .map(|job| (job.hosts.clone(), job.outstanding_per_thread))
            .collect::<Vec<_>>()
    };
    assert_eq!(some(&again), some(&workload), "{written}");
    assert!(said.iter().all(|d| d.id != "host-ranges"), "{said:?}");
    let mut divided = workload.clone();
    divided.phases[1].jobs[0].host_ranges = HostRanges::Divided;
    assert!(assay_vdbench::write(&divided).1.iter().any(|d| d.id == "host-ranges"));
}

#[test]
fn a_hotband_is_faithful_unless_its_units_are_to_be_repaired() {
    let text = "sd=sd1,lun=a.dat,size=16g\nwd=w,sd=sd1,hotband=(0,100),rdpct=50\nrd=r,wd=w,iorate=max";
    let read = |hotband_corrected: bool| {
        let options = Options { hotband_corrected, ..Options::default() };
        let (file, said) = parse("main", text, &options, &MemoryLoader::default());
        let (workload, _) = lower("w", &file.expect("a file"));
        let job = workload.expect("a workload").phases.pop().expect("a phase").jobs.remove(0);
        let Placement::Random(random) = job.traits.pattern.placement else { panic!("not random") };
        let Distribution::Hotband { corrected, .. } = random.distribution else { panic!("no hotband") };
        let said = said.into_iter().find(|d| d.id.starts_with("hotband")).expect("a note");
        (corrected, said.message)
    };
    let (corrected, said) = read(false);
    assert!(!corrected && said.contains("16.4 % of the traffic to the first MiB"), "half of 32.7 %: {said}");
    let (corrected, said) = read(true);
    assert!(
        corrected && said.contains("repaired sends 0.3 %") && said.contains("16.4 % as in vdbench"),
        "{said}"
    );
}

#[test]
fn missing_files_are_written_first() {
    let (workload, _) = lowered("sd=sd1,lun=/data/f,size=10m\nwd=w,sd=sd1\nrd=r,wd=w,iorate=max,pause=7");
    assert_eq!(workload.targets[0].kind, Some(TargetKind::File));
    assert_eq!(workload.targets[0].size, Some(Bytes(10 << 20)));
    let format = &workload.phases[0];
    assert_eq!((format.name.as_str(), format.kind), ("SD_format", PhaseKind::Precondition));
    assert_eq!(format.jobs[0].pattern.mix.write_percent, 100.0);
    assert_eq!((format.jobs[0].limits.passes, format.jobs[0].limits.time), (Some(1), None));
    assert_eq!(workload.phases[1].pause_after, Nanos(7 * SECOND));
}

#[test]
fn trees_become_tree_jobs() {
    let text = "fsd=f1,anchor=/t,depth=2,width=3,files=4,sizes=(4k,50,8k,50),distribution=all\n\
                fwd=w,fsd=f1,rdpct=30,fileio=random,fileselect=random,threads=6,xfersize=4k,stopafter=10\n\
                rd=r,fwd=w,fwdrate=100,format=yes,elapsed=20,interval=1\n\
                rd=c,fwd=w,fwdrate=max,format=(clean,only)";
    let (workload, diagnostics) = lowered(text);
    assert!(diagnostics.iter().all(|d| d.severity == Severity::Note), "{diagnostics:?}");
    let kinds: Vec<PhaseKind> = workload.phases.iter().map(|p| p.kind).collect();
    assert_eq!(kinds, [PhaseKind::Precondition, PhaseKind::Measure, PhaseKind::Cleanup]);
    assert_eq!(workload.targets[0].kind, Some(TargetKind::Directory));
    let job = &workload.phases[1].jobs[0];
    let tree = job.tree.as_ref().expect("a tree job");
    assert_eq!((tree.depth, tree.width, tree.files, tree.files_in_all_directories), (2, 3, 4, true));
    assert_eq!(tree.sizes, [(4096, 50.0), (8192, 50.0)]);
    assert_eq!(tree.operations, [("read".to_owned(), 30.0), ("write".to_owned(), 70.0)]);
    assert_eq!(
        (tree.file_selection, tree.random_io, tree.stop_after_ios),
        (FileSelection::Random, true, Some(10))
    );
    assert_eq!((job.threads, job.rate), (6, Rate::Iops(100.0)));
}

#[test]
fn all_of_a_tree_carries_over() {
    let text = "fsd=f1,anchor=/t,depth=1,width=1,files=19,sizes=(64k,0),totalsize=1m,wss=256k\n\
                fsd=f2,anchor=/u,depth=1,width=1,files=19,sizes=(64k,0),totalsize=1m,wss=256k\n\
                fwd=w,fsd=f1,operation=copy,target=f2,fileselect=(poisson,2,full),fileio=(seq,delete),stopafter=50%\n\
                rd=r,fwd=w,fwdrate=max,format=yes,elapsed=20";
    let (workload, diagnostics) = lowered(text);
    assert!(diagnostics.iter().all(|d| d.severity == Severity::Note), "{diagnostics:?}");
    let tree = workload.phases[1].jobs[0].tree.clone().expect("a tree job");
    assert_eq!((tree.total_bytes, tree.working_set_bytes), (Some(1 << 20), Some(256 << 10)));
    assert_eq!((tree.sizes_around_mean, tree.delete_before_write), (true, true));
    assert_eq!(tree.file_selection, FileSelection::Skewed { midpoint: 2.0 });
    assert_eq!((tree.file_state, tree.stop_after_percent), (FileState::Full, Some(50.0)));
    assert_eq!(tree.copy_to.as_deref(), Some("f2"));
    assert_eq!(workload.targets.len(), 2);
    let formats = &workload.phases[0].jobs;
    let steps = |job: &Job| -> Vec<String> {
        job.tree.iter().flat_map(|tree| tree.operations.iter().map(|entry| entry.0.clone())).collect()
    };
    assert_eq!(steps(&formats[0]), ["delete", "mkdir", "create", "write"]);
    assert_eq!(steps(&formats[1]), ["delete", "mkdir"]);
    assert_eq!(losses(&text.replacen("wss=256k", "wss=128k", 1)), ["copy-target"]);
}

#[test]
fn a_journal_of_writes_is_kept_where_it_is_asked_for() {
    let kept = |general: &str, sd: &str| {
        let text =
            one("xf=4k,rdpct=0", "iorate=max,elapsed=2").replacen("sd=sd1,", &format!("sd=sd1,{sd}"), 1);
        let (workload, said) = lowered(&format!("{general}\n{text}"));
        let lost = said.iter().any(|said| said.severity == Severity::Loss);
        (workload.phases[0].jobs[0].content.journal.clone(), lost)
    };
    let completed = |directory: Option<&str>| {
        let directory = directory.map(str::to_owned);
        Some(DataJournal { acknowledged: Acknowledged::Completed, directory })
    };
    assert_eq!(kept("validate=yes", ""), (None, false));
    for general in
        ["journal=yes", "journal=noflush", "validate=(yes,read)\njournal=yes", "journal=(yes,max=100m)"]
    {
        assert_eq!(kept(general, ""), (completed(None), false), "{general}");
    }
    assert_eq!(kept("journal=recover", ""), (completed(None), true), "nothing is recovered first");
    assert_eq!(kept("journal=yes", "journal=/other,"), (completed(Some("/other")), false));
    assert_eq!(kept("validate=yes", "journal=/other,"), (None, false));
}

#[test]
fn what_the_model_lacks_is_reported_once_with_its_place() {
    let text = one("seekpct=100,priority=1", "iorate=(1,2,3),stopcurve=5,startcmd=\"echo\"");
    let (_, diagnostics) = lowered(&format!("journal=recover\n{text}"));
    let lost: Vec<(&str, Option<u32>)> = diagnostics
        .iter()
        .filter(|d| d.severity == Severity::Loss)
        .map(|d| (d.id, d.position.as_ref().map(|p| p.line)))
        .collect();
    assert_eq!(
        lost,
        [("data-validation", Some(1)), ("command", Some(4)), ("priority", Some(3)), ("stop-curve", Some(4))]
    );
}

/// A machine on which every target is a device of 9 TiB that takes direct I/O of 512 bytes.
fn inventory(workload: &Workload) -> Inventory {
    let facts = |path: &str| TargetFacts {
        path: path.to_owned(),
        kind: TargetKind::BlockDevice,
        existing_bytes: 9 << 40,
        direct_align_bytes: Some(512),
        engine_choice: None,
        direct_refused: None,
    };
    Inventory {
        targets: workload.targets.iter().map(|t| (t.name.clone(), facts(&t.path))).collect(),
        engines: vec![EngineKind::IoUring],
        ..Inventory::default()
    }
}

#[test]
fn every_corpus_file_becomes_one_phase_for_each_run() {
    let beside = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus");
    let dir = std::env::var_os("ASSAY_CORPUS").map_or_else(beside, PathBuf::from).join("vdbench");
    let Ok(entries) = std::fs::read_dir(&dir) else {
        return skip::declare("corpus", "no parameter files; ASSAY_CORPUS names their directory");
    };
    let mut count = 0;
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let Some(file) = name.strip_suffix(".runs") else { continue };
        let text = std::fs::read(dir.join(file)).expect("each list has its parameter file");
        let text = String::from_utf8_lossy(&text);
        let (file, _) = parse(file, &text, &Options::default(), &MemoryLoader::default());
        let file = file.expect("the corpus parses");
        let (workload, diagnostics) = lower(&name, &file);
        let workload = workload.expect("the corpus is small");
        assert_eq!(workload.phases.len(), expand(&file).len(), "{name}");
        assert!(workload.phases.iter().all(|p| !p.jobs.is_empty()), "{name}");
        assert!(diagnostics.iter().all(|d| d.severity != Severity::Error), "{name}: {diagnostics:?}");
        if workload.targets.iter().all(|t| t.kind != Some(TargetKind::Directory)) {
            let plan = resolve::plan(&workload, &inventory(&workload), 1);
            assert!(plan.is_ok(), "{name}: {:?}", plan.err());
        }
        count += 1;
    }
    assert!(count >= 70, "the corpus is incomplete: {count} lists");
}

#[test]
fn a_curve_ends_above_its_response_time() {
    use assay_workload::steps::{LatencyLimit, Until};
    let (workload, said) = lowered(&one("seekpct=100", "iorate=curve,curve=(50,90),stopcurve=5"));
    let until: Vec<Option<Until>> = workload.phases.iter().map(|phase| phase.until).collect();
    let limit = Some(Until::Below(LatencyLimit { limit_ns: 5_000_000 }));
    assert_eq!(until, [None, limit, limit]);
    assert!(said.iter().all(|one| one.id != "stop-curve"), "{said:?}");
}

#[test]
fn a_run_ends_with_its_workloads_of_seekpct_eof() {
    use assay_workload::job::EndsWith;
    let text = "sd=sd1,lun=/dev/x,openflags=o_direct,size=1g\nwd=w1,sd=sd1,seekpct=eof\nwd=w2,sd=sd1,seekpct=100\n\
                rd=r,wd=w*,iorate=max,elapsed=60";
    let with: Vec<Option<EndsWith>> = jobs(text).iter().map(|job| job.limits.ends_with).collect();
    assert_eq!(with, [None, Some(EndsWith::Others)]);
}

type Checked = (PhaseKind, Vec<(bool, bool)>);

/// Kinds of the phases, and of each job whether its data is verified and read back at once.
fn validated(general: &str, wd: &str) -> (Vec<Checked>, Vec<Diagnostic>) {
    let (workload, said) = lowered(&format!("{general}\n{}", one(wd, "iorate=max,elapsed=2")));
    let job = |job: &Job| (job.content.verify, job.content.reread);
    let phase = |phase: &Phase| (phase.kind, phase.jobs.iter().map(job).collect());
    (workload.phases.iter().map(phase).collect(), said)
}

#[test]
fn validated_data_is_compared_and_read_back_in_the_end() {
    let write = "xf=4k,rdpct=50";
    let (measure, verify) = (PhaseKind::Measure, PhaseKind::Verify);
    let (yes, at_once) = (vec![(true, false)], vec![(true, true)]);
    for (general, phases) in [
        ("validate=yes", vec![(measure, yes.clone()), (verify, yes.clone())]),
        ("validate=(yes,read)", vec![(measure, at_once.clone()), (verify, yes.clone())]),
        ("validate=no_preread", vec![(measure, yes.clone())]),
        ("validate=(read,no_preread,time)", vec![(measure, at_once)]),
        ("validate=no", vec![(measure, vec![(false, false)])]),
        ("journal=yes", vec![(measure, yes.clone()), (verify, yes.clone())]),
    ] {
        let (found, said) = validated(general, write);
        assert_eq!(found, phases, "{general}");
        assert!(said.iter().all(|said| said.severity != Severity::Loss), "{general}: {said:?}");
    }
    assert_eq!(validated("validate=yes", "xf=4k,rdpct=100").0, [(measure, yes)], "nothing was written");
    let (workload, _) = lowered(&format!("validate=yes\n{}", one(write, "iorate=max,elapsed=2")));
    let [written, read] = workload.phases.as_slice() else { panic!("{:?}", workload.phases) };
    let read = &read.jobs[0];
    let write = &written.jobs[0];
    assert_eq!((&read.targets, read.offset, read.length), (&write.targets, write.offset, write.length));
    assert!(!read.may_write() && read.rate == Rate::Unlimited && read.limits.time.is_none());
    assert_eq!(read.errors_tolerated, 49, "vdbench stops at the fiftieth wrong block or failed operation");
}

#[test]
fn several_runs_on_one_range_are_read_back_once() {
    let text = "validate=yes\nsd=sd1,lun=/dev/sdx,size=1g,openflags=o_direct\nwd=wd1,sd=sd1,xf=4k,rdpct=0\n\
                rd=r,wd=wd1,iorate=max,elapsed=2,forthreads=(1,2)\nrd=s,wd=wd1,iorate=100,elapsed=2";
    let phases = lowered(text).0.phases;
    assert_eq!(phases.iter().map(|phase| phase.jobs.len()).collect::<Vec<_>>(), [1, 1, 1, 1]);
    assert_eq!(phases[3].kind, PhaseKind::Verify);
}

#[test]
fn formatted_files_have_headers_before_they_are_read() {
    let text = "validate=yes\nsd=sd1,lun=/tmp/nowhere/f,size=8m\nwd=wd1,sd=sd1,xf=4k,rdpct=100\nrd=r,wd=wd1,iorate=max,elapsed=2";
    let phases = lowered(text).0.phases;
    assert_eq!((phases[0].name.as_str(), phases[0].jobs[0].content.verify), ("SD_format", true));
    assert!(phases[0].drain_after || phases.iter().any(|phase| phase.drain_after), "{phases:?}");
}
