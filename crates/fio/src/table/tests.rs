//! Every option of the table does something, or says that it does not.

#[path = "../../../../xtask/support/skip.rs"]
mod skip;

use std::collections::BTreeSet;
use std::process::Command;

use assay_formats::Diagnostic;
use assay_formats::loader::MemoryLoader;
use assay_workload::Workload;

use super::*;
use crate::{lower, parse};

#[test]
fn names_are_unique_within_core_and_within_an_engine() {
    let mut seen = BTreeSet::new();
    for entry in options() {
        assert!(seen.insert(entry.name), "{}", entry.name);
        for alias in &entry.aliases {
            assert!(seen.insert(alias), "{alias}");
        }
    }
    for engine in &TABLE.engine {
        let mut own = BTreeSet::new();
        for entry in engine.options() {
            assert!(own.insert(entry.name), "{} {}", engine.name, entry.name);
            assert!(core(entry.name).is_none(), "{} {}", engine.name, entry.name);
        }
    }
}

#[test]
fn every_lost_option_says_what_is_lost() {
    let all = options().iter().chain(TABLE.engine.iter().flat_map(EngineEntry::options));
    for entry in all {
        if let Effect::Lost { what, .. } = entry.effect {
            assert!(what.len() > 10, "{}", entry.name);
        }
        assert!(entry.min <= entry.max, "{}", entry.name);
    }
}

/// Lines that go with any option: a job beside this one, and one behind it.
const BASE: &str = "[z]\nsize=64m\nrw=read\nfilename=z\ngroup_reporting\n[a]\nsize=64m\nrw=randrw\nioengine=io_uring\niodepth=8\nrate_iops=100\n";
const BEHIND: &str = "[b]\nsize=64m\nrw=randread\nfilename=b\nstonewall\n";

/// The line of an option with a value of its shape.
fn line_of(entry: &Entry) -> String {
    let number = entry.min.max(3).min(entry.max);
    let value = match &entry.kind {
        Kind::Flag | Kind::OptionalText => return entry.name.to_owned(),
        Kind::Bool => if entry.neutral.contains(&"1") { "0" } else { "1" }.to_owned(),
        Kind::Word(words) | Kind::Words(words) => {
            words.iter().rfind(|word| !entry.neutral.contains(word)).map_or("", |word| word).to_owned()
        }
        Kind::Int | Kind::LastInt | Kind::Triple | Kind::Cpus | Kind::Floats => number.to_string(),
        Kind::Size | Kind::ByteSpan | Kind::Ranges => "8k".to_owned(),
        Kind::Seconds | Kind::Micros | Kind::TimeSpan => "5s".to_owned(),
        _ => "x".to_owned(),
    };
    format!("{}={value}", entry.name)
}

fn read(text: &str) -> (Option<Workload>, Vec<Diagnostic>) {
    let (file, mut said) = parse("t", text, &MemoryLoader::default());
    let lowered = file.as_ref().map(|file| lower("t", file));
    let (workload, more) = lowered.unwrap_or_default();
    said.extend(more);
    (workload, said)
}

/// Why the sample of an option shows nothing of it; `None`: it changes the workload or is remarked on at its line.
fn silent(entry: &Entry, engine: &str) -> Option<String> {
    let sample = if entry.sample.is_empty() { line_of(entry) } else { entry.sample.to_owned() };
    let (context, own) = sample.rsplit_once('\n').unwrap_or(("", &sample));
    assert!(entry.is_named(own.split('=').next().unwrap_or_default()), "{}: {own}", entry.name);
    let context = if context.is_empty() { String::new() } else { format!("{context}\n") };
    let before = format!("{BASE}{engine}{context}");
    let (without, unsaid) = read(&format!("{before}{BEHIND}"));
    let (with, said) = read(&format!("{before}{own}\n{BEHIND}"));
    let texts = |said: &[Diagnostic]| said.iter().map(|said| said.message.clone()).collect::<Vec<_>>();
    let line = before.lines().count() as u32 + 1;
    let at_line = said.iter().any(|said| said.position.as_ref().is_some_and(|at| at.line == line));
    // An option may also take away a reason to remark on another one.
    (with == without && !at_line && texts(&said) == texts(&unsaid))
        .then(|| format!("{}: {own} ({said:?})", entry.name))
}

#[test]
fn the_sample_of_each_option_shows() {
    let own = options().iter().filter_map(|entry| silent(entry, ""));
    let of_engines = TABLE.engine.iter().flat_map(|engine| {
        let line = format!("ioengine={}\n", engine.name);
        // An engine that does not run here is an error, whatever its options.
        let foreign = matches!(engine.fate, EngineFate::Foreign(_));
        let asked = engine
            .options()
            .iter()
            .filter(move |entry| !(foreign && matches!(entry.effect, Effect::Rule(_))));
        asked.filter_map(move |entry| silent(entry, &line))
    });
    let silent: Vec<String> = own.chain(of_engines).collect();
    assert!(silent.is_empty(), "{} options do nothing and say nothing:\n{}", silent.len(), silent.join("\n"));
}

/// Names that fio lists, one a line, `name : what it is`.
fn listed(arguments: &[&str]) -> Option<BTreeSet<String>> {
    let output = Command::new("fio").args(arguments).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let names = text.lines().filter_map(|line| line.split_once(':')).map(|(name, _)| name.trim().to_owned());
    Some(names.filter(|name| !name.is_empty() && !name.contains(' ')).collect())
}

/// What fio 3.33 takes without listing it, once had, or has since 3.34 (the table is that of 3.42).
const NOT_LISTED: [&str; 48] = [
    "ramp_size",
    "job_start_clock_id",
    "filetype",
    "rwmixcycle",
    "percentage_sequential",
    "random_sequence_stride",
    "softrandommap",
    "sprandom",
    "spr_num_regions",
    "spr_op",
    "spr_cs",
    "num_range",
    "bs_is_seq_rand",
    "recover_zbd_write_error",
    "write_zone_remainder",
    "fdp",
    "dataplacement",
    "plid_select",
    "plids",
    "dp_scheme",
    "iomem_align",
    "gpu_dev_id",
    "thinkcycles",
    "flow_watermark",
    "end_syncfs",
    "comm",
    "priohint",
    "verify_policy",
    "verifysort",
    "verifysort_nr",
    "verify_pattern_interval",
    "verify_async_cpus",
    "verify_write_sequence",
    "verify_header_seed",
    "steadystate_check_interval",
    "log_window_value",
    "log_issue_time",
    "threads",
    "block",
    "numruns",
    "dir",
    "device-names",
    "load",
    "test-duration",
    "threads-per-queue",
    "read-req-num-512-blocks",
    "large-block-op-kbytes",
    "prep",
];

#[test]
fn the_options_are_those_of_fio() {
    let Some(names) = listed(&["--cmdhelp=all"]) else {
        return skip::declare("fio", "the table is not held against the real list of options");
    };
    let missing: Vec<&String> = names.iter().filter(|name| core(name).is_none()).collect();
    assert!(names.len() > 150 && missing.is_empty(), "of {} fio lists {missing:?}", names.len());
    let more: Vec<&str> =
        options().iter().map(|entry| entry.name).filter(|name| !names.contains(*name)).collect();
    assert_eq!(more, NOT_LISTED);
    for engine in &TABLE.engine {
        let argument = format!("--enghelp={}", engine.name);
        // fio lists nothing of an engine that it was built without.
        let names = listed(&[&argument]).unwrap_or_default();
        let known = |name: &&String| engine.options().iter().any(|entry| entry.is_named(name));
        let missing: Vec<&String> = names.iter().filter(|name| !known(name)).collect();
        assert!(missing.is_empty(), "{}: {missing:?}", engine.name);
    }
}
