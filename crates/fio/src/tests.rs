//! The language as a whole: traps, order, groups, and what is said about each.

use super::resolved::*;
use super::*;
use assay_formats::loader::MemoryLoader;
use assay_formats::{Affects, Diagnostic, Severity};

fn read(text: &str) -> (Option<JobFile>, Vec<Diagnostic>) {
    parse("t.fio", text, &MemoryLoader::default())
}

fn jobs(text: &str) -> Vec<ResolvedJob> {
    let (file, said) = read(text);
    file.unwrap_or_else(|| panic!("{text}\n{said:?}")).expand()
}

/// One job with these lines.
fn job(lines: &str) -> ResolvedJob {
    jobs(&format!("[a]\n{lines}\n")).remove(0)
}

fn ids(text: &str) -> Vec<&'static str> {
    read(text).1.iter().map(|d| d.id).collect()
}

/// The remarks about a job with these lines.
fn said(lines: &str) -> Vec<&'static str> {
    ids(&format!("[a]\n{lines}\n"))
}

fn fixed(sizes: &PerDirection<BlockSizes>) -> [u64; 3] {
    std::array::from_fn(|slot| match sizes[slot] {
        BlockSizes::Fixed(bytes) => bytes,
        ref other => panic!("{other:?}"),
    })
}

#[test]
fn defaults_are_fios() {
    let job = job("size=1m");
    assert_eq!(job.access().direction, Direction::Read);
    assert!(!job.access().random);
    assert_eq!(fixed(&job.access().sizes), [4096; 3]);
    assert_eq!(job.engine(), "psync");
    assert_eq!((job.depth().effective, job.clones, job.lifetime().loops), (1, 1, 1));
    assert!(!job.durability().direct && job.durability().invalidate);
    assert_eq!(job.access().seed, Some(0x89));
    assert_eq!(job.files.name(0).as_deref(), Some("a.0.0"));
    assert!(job.content().scramble && !job.content().refill);
}

#[test]
fn globals_accumulate_and_reach_only_later_jobs() {
    let all = jobs(
        "[global]\nbs=8k\n[a]\nsize=1m\n[global]\nrw=write\nbs=16k\n[b]\nsize=1m\n[globalx]\nbs=1k\n[c]\nsize=1m\n",
    );
    let sizes: Vec<_> = all.iter().map(|job| fixed(&job.access().sizes)[0]).collect();
    assert_eq!(sizes, [8192, 16384, 1024]);
    assert_eq!(all[0].access().direction, Direction::Read);
    assert_eq!(all[2].access().direction, Direction::Write);
}

#[test]
fn block_sizes_by_direction() {
    assert_eq!(fixed(&job("size=1m\nbs=4k,8k,16k").access().sizes), [4096, 8192, 16384]);
    assert_eq!(fixed(&job("size=1m\nbs=4k,8k").access().sizes), [4096, 8192, 8192]);
    assert_eq!(fixed(&job("size=1m\nbs=,8k").access().sizes), [4096, 8192, 8192]);
    assert_eq!(fixed(&job("size=1m\nbs=8k,").access().sizes), [8192, 4096, 4096]);
    assert_eq!(fixed(&job("size=1m\nbs=4k-8k").access().sizes), [4096, 8192, 8192]);
    assert_eq!(job("size=1m\nbsrange=8k-4k").access().sizes[0], BlockSizes::Range { min: 4096, max: 8192 });
    assert_eq!(
        job("size=1m\nbsrange=1k-2k,4k-8k").access().sizes[2],
        BlockSizes::Range { min: 4096, max: 8192 }
    );
    let split = job("size=1m\nbssplit=4k/10:64k/50:32k/40").access().sizes[0].clone();
    assert_eq!((split.min_bytes(), split.max_bytes()), (4096, 65536));
}

#[test]
fn kb_base_counts_from_the_first_line_wherever_it_stands() {
    assert_eq!(fixed(&job("size=1m\nbs=4k\nkb_base=1000").access().sizes)[0], 4000);
    assert_eq!(fixed(&job("size=1m\nbs=4KiB\nkb_base=1000").access().sizes)[0], 4096);
}

#[test]
fn blanks_round_the_equals_sign() {
    assert_eq!(fixed(&job("size=1m\nbs = 4k").access().sizes)[0], 4);
    assert_eq!(said("size=1m\nbs = 4k"), ["fio-unit-lost"]);
    assert_eq!(said("rw = read"), ["bad-value"]);
    assert_eq!(
        said("ioengine= null\nhipri"),
        ["fio-blank-in-value", "engine-not-available", "unknown-engine-option"]
    );
}

#[test]
fn traps_are_noted_and_the_meaning_is_kept() {
    for (lines, id) in [
        ("size=1.5g\nbs=1", "fio-fraction-cut"),
        ("size=1m\nbs=4KiB", "fio-kib-is-1000"),
        ("size=1m\nbs=4k-16k", "fio-not-a-range"),
        ("size=1m\nbs=4096x", "fio-suffix-ignored"),
        ("size=1m\nruntime=60sec", "fio-time-unit-unknown"),
        ("size=1m\ntime_based", "fio-time-based-without-runtime"),
        ("size=1m\nrate_process=poisson", "fio-rate-process-without-rate"),
        ("size=1m\niodepth=8", "fio-depth-on-sync-engine"),
        ("size=1m\nioengine=libaio\niodepth=8", "fio-buffered-libaio"),
        ("size=1m\nnumjobs=3\nfilename_format=shared", "fio-clones-without-file"),
        ("size=1m\nnumjobs=3\nfilename=f", "fio-clones-share-region"),
        ("size=1m\nfilename=/a:b", "fio-colon-splits-names"),
        ("size=1m\nfilename=f.$jobnum", "fio-keyword-in-filename"),
        ("size=1m\nfilename=f#1", "fio-comment-inside-value"),
        ("size=1m\npercentage_random=50", "fio-percentage-random-ignored"),
        ("size=1m\nthreads=4", "option-moot"),
        ("size=(2*512k)", "fio-arithmetic"),
        ("size=1m\nrw=randread\nrandom_distribution=zipf:1.2", "fio-distribution-without-map"),
    ] {
        assert_eq!(said(lines), [id], "{lines}");
        assert!(read(&format!("[a]\n{lines}\n")).0.is_some(), "{lines}");
    }
}

#[test]
fn exitall_cannot_be_switched_off() {
    assert_eq!(said("size=1m\nexitall=0"), ["fio-exitall-zero"]);
    assert_eq!(job("size=1m\nexitall=0").exit_all(), Some("group"));
}

#[test]
fn a_note_on_a_global_line_is_made_once() {
    let text = "[global]\ntime_based\nsize=1m\n[a]\nrw=read\n[b]\nrw=write\n";
    assert_eq!(ids(text), ["fio-time-based-without-runtime"]);
}

#[test]
fn clean_files_are_read_in_silence() {
    let text = "[global]\nioengine=io_uring\ndirect=1\nfilename=/dev/x\nruntime=30s\ntime_based\ngroup_reporting\n\
                [r]\nrw=randread\nbs=4k\niodepth=32\nnumjobs=4\nnorandommap\nrandrepeat=0\n[w]\nstonewall\nrw=write\nbs=1M\nsize=100%\n";
    assert_eq!(ids(text), Vec::<&str>::new());
}

#[test]
fn what_fio_refuses_is_an_error_with_its_place() {
    for (lines, id, column) in [
        ("direct=true", "bad-value", 8),
        ("iodepth=0", "bad-value", 9),
        ("rwmixread=101", "bad-value", 11),
        ("rw=READ", "bad-value", 4),
        ("bs=${NOPE}", "bad-value", 4),
        ("zie=1g", "unknown-option", 1),
        ("hipri", "unknown-option", 1),
        ("rwmixcycle=4", "option-removed", 1),
        ("buffer_pattern=abc", "bad-value", 16),
        ("random_distribution=zipf:1", "bad-value", 21),
        ("numjobs=0", "numjobs-zero", 1),
        ("size=1m\nwait_for=b", "wait-for-unknown", 1),
        ("size=1k", "size-below-block", 1),
        ("size=1m\nrate=1m\nrate_iops=5", "rate-twice", 1),
    ] {
        let (file, said) = read(&format!("[a]\n{lines}\n"));
        assert!(file.is_none(), "{lines}");
        let error = said.iter().find(|d| d.severity == Severity::Error).unwrap();
        assert_eq!((error.id, error.position.as_ref().unwrap().column), (id, column), "{lines}");
    }
}

#[test]
fn unknown_options_name_the_nearest_one() {
    let (_, said) = read("[a]\nzie=1g\n");
    assert_eq!(said[0].to_string(), "t.fio:2:1: error: fio has no option `zie` (did you mean size?)");
    let (_, said) = read("[a]\nioengine=libaio\nhipri\n");
    assert!(said[0].help.contains("io_uring"), "{}", said[0].help);
}

#[test]
fn losses_name_the_equivalent_and_neutral_values_lose_nothing() {
    let (file, said) = read("[a]\nsize=1m\nlockmem=1g\nnice=0\nlockfile=none\nwrite_bw_log=x\n");
    assert!(file.is_some());
    let severities: Vec<_> = said.iter().map(|d| (d.severity, d.position.as_ref().unwrap().line)).collect();
    assert_eq!(severities, [(Severity::Loss, 3), (Severity::Loss, 6)]);
    assert!(!said[0].help.is_empty());
    assert!(said[1].help.contains("--fio-logs"), "{}", said[1].help);
}

#[test]
fn a_loss_says_whether_the_test_changes() {
    let of = |line: &str| {
        let (file, mut said) = read(&format!("[a]\nsize=1m\nrw=write\n{line}\n[b]\nsize=1m\nrw=randread\n"));
        let file = file.unwrap_or_else(|| panic!("{line}: {said:?}"));
        said.extend(lower("t", &file).1);
        let lost: Vec<_> = said.iter().filter(|d| d.severity == Severity::Loss).map(|d| d.affects).collect();
        assert!(said.iter().all(|d| d.affects.is_some() == (d.severity == Severity::Loss)), "{said:?}");
        lost
    };
    for line in [
        "verify=md5\nverify_only",
        "rw=write\nverify=pattern",
        "trim_percentage=10",
        "cpus_allowed=0",
        "lockmem=1g",
        "zonemode=zbd",
        "ioengine=mmap",
    ] {
        assert_eq!(of(line), [Some(Affects::Test)], "{line}");
    }
    for line in ["write_iolog=x", "stats=0", "write_bw_log", "write_lat_log=x"] {
        assert_eq!(of(line), [Some(Affects::Report)], "{line}");
    }
    for line in
        ["verify=0\nverify_fatal=1\ndo_verify=1", "verify=md5", "verify_pattern=0x1", "percentile_list=99"]
    {
        assert_eq!(of(line), [], "{line}");
    }
}

#[test]
fn file_names_add_up_and_join_the_directory_of_their_moment() {
    let all = jobs("[global]\nsize=1m\nfilename=g\n[a]\ndirectory=/d\nfilename=x:y\n[b]\nrw=read\n");
    assert_eq!(all[0].files, FileSet::Named(vec!["g".into(), "/d/x".into(), "/d/y".into()].into()));
    assert_eq!(all[1].files, FileSet::Named(vec!["g".into()].into()));
    let FileSet::Named(names) = job(r"filename=a\:b:c").files else { panic!("not named") };
    assert_eq!(*names, ["a:b", "c"]);
}

#[test]
fn generated_names_follow_the_format_and_rotate_directories() {
    let all = jobs("[j]\nsize=1m\nnumjobs=3\ndirectory=/a:/b\nnrfiles=2\n");
    let names: Vec<_> = all.iter().map(|job| job.files.name(1).unwrap()).collect();
    assert_eq!(names, ["/a/j.0.1", "/a/j.2.1", "/b/j.1.1"]);
    let all = jobs("[j]\nsize=1m\nfilename_format=$JobName-$jobNum\nnumjobs=2\n");
    assert_eq!(all[1].files.name(0).as_deref(), Some("j-1"));
    let all = jobs("[/dev/sdb]\nsize=1m\n");
    assert_eq!(all[0].files, FileSet::Named(vec!["/dev/sdb".into()].into()));
}

#[test]
fn clones_whose_name_is_taken_have_no_file() {
    let all = jobs("[j]\nsize=1m\nfilename_format=shared\nnumjobs=3\n");
    let counts: Vec<_> = all.iter().map(|job| job.files.len()).collect();
    assert_eq!(counts, [1, 0, 0]);
}

#[test]
fn order_stages_and_groups() {
    let all = jobs(
        "[a]\nsize=1m\nstonewall\n[b]\nsize=1m\nnumjobs=3\nstonewall\n[c]\nsize=1m\n[d]\nsize=1m\nnew_group\n[e]\nsize=1m\nwait_for=d\n",
    );
    let seen: Vec<_> = all.iter().map(|j| (j.name.as_str(), j.clone_number, j.stage, j.group)).collect();
    assert_eq!(
        seen,
        [
            ("a", 0, 0, 0),
            ("b", 0, 1, 1),
            ("b", 2, 1, 1),
            ("b", 1, 1, 1),
            ("c", 0, 1, 1),
            ("d", 0, 1, 2),
            ("e", 0, 1, 2)
        ]
    );
    assert_eq!(all[6].wait_for.as_deref(), Some("d"));
}

#[test]
fn reported_name_and_section_name_differ() {
    let all = jobs("[s]\nname=n\nsize=1m\n");
    assert_eq!((all[0].name.as_str(), all[0].files.name(0).unwrap().as_str()), ("n", "s.0.0"));
}

#[test]
fn engine_options_need_their_engine() {
    let text =
        "[global]\nioengine=io_uring\nhipri\n[a]\nsize=1m\n[b]\nioengine=libaio\nsize=1m\nuserspace_reap\n";
    let all = jobs(text);
    assert!(all[0].engine_flag("hipri"));
    assert!(all[1].engine_flag("userspace_reap"));
    assert!(ids(text).contains(&"fio-engine-option-not-inherited"));
    assert_eq!(ids("[global]\nhipri\n[a]\nioengine=io_uring\n"), ["unknown-option"]);
}

#[test]
fn later_lines_win() {
    let found = job("size=1m\ndirect=1\nbuffered=1\nrwmixread=70\nrwmixwrite=40\nsync=dsync\nsync=1");
    assert!(!found.durability().direct);
    assert_eq!(found.access().read_percent, 60);
    assert_eq!(found.durability().open_sync, "sync");
}

#[test]
fn rw_postfixes() {
    assert_eq!(job("size=1m\nrw=read:-8k").access().postfix, Postfix::Stride(-8192));
    assert_eq!(job("size=1m\nrw=randread:8").access().postfix, Postfix::Every(8));
    assert_eq!(job("size=1m\nrw=randread:foo").access().postfix, Postfix::None);
    assert_eq!(job("size=1m\nrw=randtrimwrite").access().direction, Direction::TrimWrite);
}

#[test]
fn content_rules() {
    assert!(job("size=1m\nrw=write\nzero_buffers").content().zero);
    assert!(job("size=1m\nrw=write\nbuffer_compress_percentage=100").content().zero);
    let pattern = job("size=1m\nrw=write\nbuffer_pattern=0xab\nrefill_buffers");
    let pattern = pattern.content();
    assert!(!pattern.refill && !pattern.scramble && pattern.pattern.is_some());
    assert!(job("size=1m\nrw=write\nverify=md5").content().refill);
}

#[test]
fn verify_kinds() {
    assert!(
        !job("size=1m
verify=0")
        .content()
        .refill
    );
    assert!(job("size=1m\nrw=write\nverify_pattern=0xff").content().refill);
    assert!(job("size=1m\nrw=write\nverify=pattern\nverify_pattern=%o").content().refill);
}

#[test]
fn units_of_times() {
    let found = job(
        "size=1m\nruntime=2m\nramp_time=5\nthinktime=1ms\nlatency_target=500\nlatency_window=1s\nstartdelay=5-10",
    );
    let found = found.lifetime();
    assert_eq!(
        (found.runtime_us, found.ramp_us, found.start_delay_us),
        (120_000_000, 5_000_000, (5_000_000, 10_000_000))
    );
}

#[test]
fn rates_and_the_latency_search() {
    let found = job(
        "size=1m\nrw=randrw\nrate_iops=,500\nrate_process=poisson\nlatency_target=10ms\nlatency_window=1s\nlatency_percentile=99.9",
    );
    assert_eq!(found.pacing().rate_iops, [None, Some(500), Some(500)]);
    assert!(found.pacing().poisson);
    let target = found.latency_target().unwrap();
    assert_eq!((target.target_us, target.window_us, target.percentile), (10_000, 1_000_000, 99.9));
}

#[test]
fn one_line_per_job() {
    let found = job(
        "size=1g\nrw=randrw\nrwmixread=70\nbs=8k\nioengine=libaio\niodepth=16\ndirect=1\nfilename=/x y\nruntime=30\ntime_based",
    );
    assert_eq!(
        found.resolved_line(),
        "1 job=a stage=0 group=0 engine=libaio rw=randrw rwmixread=70 bs=8192 random_map=1 seed=137 size=1073741824 \
         filename=\"/x y\" iodepth=16 runtime=30 time_based=1 direct=1"
    );
}

#[test]
fn too_many_jobs_are_refused() {
    assert_eq!(said("size=1m\nnumjobs=5000"), ["too-many-jobs"]);
    assert_eq!(said("size=1m\nnumjobs=9223372036854775807"), ["too-many-jobs"]);
    assert!(ids(&"[a]\n".repeat(5000)).contains(&"too-many-jobs"));
}

#[test]
fn a_file_of_defaults_only_has_no_job() {
    assert_eq!(ids("[global]\nbs=4k\n"), ["no-jobs"]);
    assert_eq!(ids(""), ["no-jobs"]);
}

#[test]
fn many_complaints_are_summed_up() {
    let (file, said) = read(&format!("[a]\n{}", "zz=1\n".repeat(20_000)));
    assert!(file.is_none());
    assert!(said.len() <= 1001);
    assert_eq!(said.last().unwrap().id, "too-many-diagnostics");
}

mod command_line {
    use super::*;

    fn run(words: &[&str]) -> (Option<JobFile>, Vec<Diagnostic>) {
        let mut loader = MemoryLoader::default();
        loader.files.insert("one.fio".into(), "[f]\nsize=1m\n[g]\nsize=1m\n".into());
        loader.files.insert("two.fio".into(), "[h]\nsize=1m\n".into());
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        parse_command_line(&words, &loader)
    }

    #[test]
    fn jobs_and_defaults() {
        let (file, said) = run(&[
            "--bs=8k",
            "--name=a",
            "--rw=randread",
            "--size",
            "1m",
            "--name=b",
            "--size=1m",
            "--alloc-size=x",
            "--thread",
        ]);
        assert!(said.iter().all(|d| d.severity == Severity::Note), "{said:?}");
        let all = file.unwrap().expand();
        assert_eq!(all.len(), 2);
        assert!(all[0].access().random && !all[1].access().random);
        assert_eq!(fixed(&all[1].access().sizes)[0], 8192);
    }

    #[test]
    fn files_follow_and_only_the_first_sees_the_defaults() {
        let (file, _) = run(&["--rw=write", "one.fio", "two.fio"]);
        let all = file.unwrap().expand();
        let seen: Vec<_> = all.iter().map(|j| (j.name.as_str(), j.access().direction, j.stage)).collect();
        assert_eq!(seen, [("f", Direction::Write, 0), ("g", Direction::Write, 0), ("h", Direction::Read, 1)]);
    }

    #[test]
    fn clients_stand_before_the_files_and_a_port_is_a_number() {
        let job = ["--name=a", "--size=1m", "--rw=read"];
        let read = |words: &[&str]| {
            let words: Vec<String> = words.iter().chain(&job).map(|word| (*word).to_owned()).collect();
            parse_command_line_with(&words, &MemoryLoader::default(), &System::default())
        };
        let known = read(&["--client=h1", "--client=ip:10.0.0.2,8765"]);
        assert!(known.jobs.is_some());
        assert_eq!(known.program.clients, ["h1", "10.0.0.2"]);
        let refused = |words: &[&str], said: &str| {
            let read = read(words);
            let texts: Vec<String> = read.diagnostics.iter().map(ToString::to_string).collect();
            assert!(read.jobs.is_none() && texts.iter().any(|text| text.contains(said)), "{texts:?}");
        };
        refused(&["--client=h1,h2"], "--client=h1 --client=h2");
        // In fio each client has the files behind it; all would do both.
        refused(&["--client=h1", "one.fio", "--client=h2", "two.fio"], "comes behind a job file");
    }

    #[test]
    fn what_is_asked_of_the_program() {
        let read = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            parse_command_line_with(&words, &MemoryLoader::default(), &System::default())
        };
        let asked = |words: &[&str]| Program {
            reporting: Reporting::default(),
            ..read(&[words, &["--name=a", "--size=1m", "--rw=trim"]].concat()).program
        };
        assert_eq!(asked(&[]), Program::default());
        assert_eq!(asked(&["--reado"]), Program { readonly: true, ..Program::default() });
        assert_eq!(asked(&["--showcmd", "-parse-only"]).action, Action::Show);
        assert_eq!(asked(&["--parse"]).action, Action::Parse);
        assert!(read(&["--showcmd"]).jobs.is_some() && read(&["--readonly"]).jobs.is_none());
        let jobs = read(&["--name=a", "--size=1m", "--rw=trim", "--name=b", "--size=1m"]).jobs.unwrap();
        let refused = jobs.writing_jobs();
        let places: Vec<_> =
            refused.iter().map(|d| (d.severity, d.position.as_ref().unwrap().line)).collect();
        assert_eq!(places, [(Severity::Error, 3)]);
        for word in
            ["--output", "--minimal=1", "--trigger=x", "--output-format=xml", "--readonly=1", "--section"]
        {
            assert!(read(&["--name=a", "--size=1m", word]).jobs.is_none(), "{word}");
        }
        let forms = |words: &[&str]| asked(words).report.forms;
        assert_eq!(forms(&["--append-terse"]), [ReportForm::Normal, ReportForm::Terse]);
        assert_eq!(
            forms(&["--minimal", "--output-format=json+,normal"]),
            [ReportForm::JsonPlus, ReportForm::Normal]
        );
        assert_eq!(forms(&["--output=x"]), [ReportForm::Normal]);
        assert!(asked(&["--bandwidth-log"]).paths()[0].1.ends_with("agg-read_bw.log"));
        let said = read(&["--status-interval=2", "--max-jobs=3", "--name=a", "--size=1m"]).diagnostics;
        assert_eq!(said.iter().map(|d| d.affects).collect::<Vec<_>>(), [None, Some(Affects::Report)]);
        assert_eq!(
            asked(&["--status-interval=2", "--minimal"]).status_interval,
            Some(std::time::Duration::from_secs(2))
        );
    }

    #[test]
    fn sections_are_chosen() {
        let (file, _) = run(&["--section=g", "one.fio"]);
        assert_eq!(file.unwrap().expand()[0].name, "g");
        assert_eq!(run(&["--section=x", "one.fio"]).1[0].id, "section-missing");
    }

    #[test]
    fn nothing_is_replaced_and_comments_are_not_cut() {
        let (file, _) = run(&["--name=a", "--size=1m", "--filename=/a#b"]);
        assert_eq!(file.unwrap().expand()[0].files, FileSet::Named(vec!["/a#b".into()].into()));
        assert!(run(&["--name=a", "--bs=$pagesize"]).0.is_none());
        assert!(run(&["missing.fio"]).0.is_none());
        assert!(run(&["--server", "one.fio"]).0.is_none());
    }

    #[test]
    fn abbreviations_are_completed_where_they_are_unique() {
        let (file, _) = run(&["--name=a", "--size=1m", "-iodep=1", "--rwmixr=30"]);
        assert!(file.is_none());
        let (file, _) = run(&["--name=a", "--size=1m", "--rwmixr=30"]);
        assert_eq!(file.unwrap().expand()[0].access().read_percent, 30);
    }
}
