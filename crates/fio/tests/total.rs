//! Whatever bytes come, the parser returns: a file or an error, never a panic, never without end.

use assay_fio::{self as fio, System};
use assay_formats::Severity;
use assay_formats::loader::MemoryLoader;
use proptest::prelude::*;

fn loader() -> MemoryLoader {
    let mut loader = MemoryLoader::default();
    loader.files.insert("inc".into(), "bs=8k\ninclude inc\n".into());
    loader.env.insert("V".into(), "4k".into());
    loader
}

fn check(text: &str) {
    let system = System { page_size_bytes: 4096, memory_mib: Some(1000), cpus: Some(2) };
    let (file, diagnostics) = fio::parse_with("x", text, &loader(), &system);
    let errors = diagnostics.iter().filter(|d| d.severity == Severity::Error).count();
    assert_eq!(file.is_none(), errors > 0);
    assert!(diagnostics.len() <= 1001);
    if let Some(file) = file {
        for job in file.expand() {
            assert!(!job.resolved_line().contains('\n'));
        }
        let (workload, said) = fio::lower("x", &file);
        assert_eq!(workload.is_none(), said.iter().any(|d| d.severity == Severity::Error));
        if let Some(workload) = workload {
            let (text, _) = fio::write(&workload);
            assert!(text.starts_with("; x\n"));
        }
        let words = file.command_lines().concat();
        let (again, _) = fio::parse_command_line(&words[1..], &loader());
        drop(again);
    }
}

/// Words that reach deep into the parser.
fn word() -> impl Strategy<Value = String> {
    let names = [
        "rw",
        "bs",
        "bsrange",
        "bssplit",
        "size",
        "filesize",
        "offset",
        "runtime",
        "startdelay",
        "thinktime",
        "rate",
        "random_distribution",
        "percentage_random",
        "buffer_pattern",
        "verify_pattern",
        "filename",
        "filename_format",
        "directory",
        "numjobs",
        "nrfiles",
        "cpus_allowed",
        "cpumask",
        "steadystate",
        "sync_file_range",
        "ignore_error",
        "percentile_list",
        "kb_base",
        "ioengine",
        "hipri",
        "wait_for",
        "stonewall",
        "include inc",
        "name",
        "rwmixwrite",
        "latency_percentile",
        "file_service_type",
        "iodepth",
        "iodepth_batch",
        "ba",
        "zonesize",
        "loops",
        "flow",
    ];
    let values = prop_oneof![
        "[0-9kmgtpzibKMGT.,:/%()+*^x$-]{0,12}",
        "(zipf|pareto|normal|zoned|zoned_abs|random|read|randrw|iops|write|gauss|libaio|io_uring)[:,/%0-9.k-]{0,12}",
        "\\PC{0,12}",
        r"[$]\{[A-Z]?\}?.{0,4}",
    ];
    (prop::sample::select(names.to_vec()), values, "( ?= ?|=|)")
        .prop_map(|(name, value, sign)| format!("{name}{sign}{value}"))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_bytes(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        check(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn arbitrary_text(text in "\\PC{0,80}") {
        check(&format!("[a]\n{text}\n"));
    }

    #[test]
    fn plausible_lines(lines in prop::collection::vec(word(), 0..12)) {
        check(&format!("[global]\n{}\n[a]\n{}\n", lines.join("\n"), lines.join("\n")));
    }

    #[test]
    fn arbitrary_command_lines(words in prop::collection::vec("(--)?[a-z_]{0,10}=?\\PC{0,8}", 0..8)) {
        let (file, diagnostics) = fio::parse_command_line(&words, &loader());
        prop_assert_eq!(file.is_none(), diagnostics.iter().any(|d| d.severity == Severity::Error));
    }
}

#[test]
fn a_hundred_megabytes_are_refused_at_once() {
    check(&"a".repeat(100 << 20));
}

#[test]
fn sixteen_megabytes_of_junk_end_soon() {
    check(&"[a]\nzz=1\n".repeat(1 << 20));
    check(&format!("[a]\n{}", "bs=4k,8k\n".repeat(1 << 20)));
    check(&format!("[a]\n{}", "filename=/a/b/c:d\n".repeat(1 << 19)));
}
