//! Whatever comes, the plan parser returns: a workload or an error with a place, never a panic, never without end.

use assay_formats::native::{parse, recognise, write};
use assay_formats::{Diagnostic, Severity};
use assay_workload::scale::{override_runtime, scale_to};
use assay_workload::units::Nanos;
use proptest::prelude::*;

/// Everything that can be done with a text; gives what was said about it.
fn check(text: &str) -> Vec<Diagnostic> {
    let _ = recognise(text);
    let (workload, said) = parse("x", text);
    assert_eq!(workload.is_none(), said.iter().any(|d| d.severity == Severity::Error));
    assert!(said.len() <= 101, "{} remarks", said.len());
    for diagnostic in &said {
        assert!(diagnostic.to_string().len() < 5000, "{diagnostic}");
    }
    if let Some(mut workload) = workload {
        let written = write(&workload);
        assert_eq!(parse("again", &written).0.as_ref(), Some(&workload), "{written}");
        scale_to(&mut workload, 1 << 20);
        override_runtime(&mut workload, Nanos::from_secs(1));
    }
    said
}

fn first_id(text: &str) -> &'static str {
    check(text).first().map_or("", |diagnostic| diagnostic.id)
}

#[test]
fn large_and_binary_input_is_refused_at_once() {
    let large = "[[job]]\nop = \"read\"\n".repeat(6 << 20);
    assert!(large.len() > 100 << 20);
    assert_eq!(first_id(&large), "too-large");
    assert_eq!(first_id("\u{7f}ELF\u{1}\0\0\0"), "toml-syntax");
}

#[test]
fn nesting_and_repetition_end() {
    for text in ["[", "{", "a.", "a={", "\"", "[[job]]\n", "[[a]]\n", "'''", "\n", "é = 1\n", "#"] {
        check(&text.repeat((1 << 17) / text.len()));
    }
    let keys: String = (0..20_000).map(|key| format!("key{key} = 1\n")).collect();
    let said = check(&keys);
    assert_eq!((said.len(), said[100].id), (101, "more-diagnostics"));
}

const JOB: &str = "[[phase.job]]\nop = \"read\"\nblock_size = \"4k\"\npattern = \"random\"\n";

const MANY_TARGETS: &str = "target = [{ name = \"a{}\", path = \"a{}\", count = 60000 }]\n";
const ONE_TARGET: &str = "target = [{ name = \"a\", path = \"a\" }]\n";

#[test]
fn points_are_bounded() {
    let numbers: Vec<String> = (1..1000).map(|number| number.to_string()).collect();
    let numbers = numbers.join(", ");
    let sweep = format!("sweep = {{ threads = [{numbers}], outstanding = [{numbers}] }}\n");
    assert_eq!(first_id(&format!("{ONE_TARGET}[[phase]]\n{sweep}{JOB}")), "too-large");
    assert_eq!(first_id(&format!("{ONE_TARGET}[[phase]]\nrepeat = 20001\n{JOB}")), "bad-value");
}

#[test]
fn words_of_a_login_cannot_be_options_of_ssh() {
    let plan = |host: &str| format!("{ONE_TARGET}[[host]]\n{host}\n[[phase]]\n{JOB}");
    assert_eq!(first_id(&plan("name = \"h1\"\nsystem = \"db1\"\nuser = \"me\"")), "other-host");
    let option = "-oProxyCommand=touch /tmp/x";
    for (host, line) in [
        (format!("name = \"h1\"\nsystem = \"{option}\""), 4),
        (format!("name = \"h1\"\nsystem = \"db1\"\nuser = \"{option}\""), 5),
        (format!("name = \"{option}\""), 2),
        ("name = \"h1\"\nsystem = \"a b\"".to_owned(), 4),
        ("name = \"h1\"\nsystem = \"a\\u001b[2J\"".to_owned(), 4),
    ] {
        let said = check(&plan(&host));
        let first = said.iter().find(|one| one.severity == Severity::Error).expect("an error");
        assert_eq!(first.id, "bad-value", "{first}");
        let at = first.position.as_ref().expect("a place");
        assert!(at.line.abs_diff(line) <= 1, "{first}");
    }
}

#[test]
fn targets_of_all_jobs_together_are_bounded() {
    assert_eq!(first_id(&format!("{MANY_TARGETS}[[phase]]\nrepeat = 20000\n{JOB}")), "too-large");
    let nothing = format!("{MANY_TARGETS}[defaults]\ntargets = \"z*\"\n{}", "[[job]]\n".repeat(19_000));
    assert_eq!(first_id(&nothing), "unknown-target");
}

#[test]
fn what_defaults_and_repetitions_multiply_is_bounded() {
    let sizes = vec!["4k/1"; 20_000].join(",");
    let text = format!("{ONE_TARGET}[[phase]]\nrepeat = 20000\n{}", JOB.replace("4k", &sizes));
    assert_eq!(first_id(&text), "too-large");
}

/// Words that reach deep into the parser.
fn word() -> impl Strategy<Value = String> {
    let words = "assay name seed target defaults job phase path size kind count op read read_percent trim_percent \
                 block_size pattern random zipf theta zoned zones skip sequential random_percent threads \
                 outstanding rate think_time runtime content hex payload flush open every_writes tree sizes \
                 operations sweep curve repeat point engine length offset targets none";
    let values = "1 0 -1 1.5 1e400 nan true \"4k\" \"4k/1,8k/2\" \"4k-8k\" \"50%\" \"100MiB/s\" \"read\" \"random\" \"a\" \
                  \"a*\" \"\" \"none\" 1979-05-27 [1,2] [] {} 0xffffffffffffffff";
    let list = |words: &'static str| proptest::sample::select(words.split(' ').collect::<Vec<_>>());
    let signs = ["=", " = ", "\n", "[[", "]]\n", "[", "]\n", "{ ", " }", ", ", ".", "#", "\"", "é", "\u{0}"];
    prop_oneof![
        4 => list(words).prop_map(str::to_owned),
        3 => list(values).prop_map(str::to_owned),
        4 => proptest::sample::select(signs.to_vec()).prop_map(str::to_owned),
    ]
}

/// A line that sets a key that a job has, mostly to something it cannot be.
fn setting() -> impl Strategy<Value = String> {
    (word(), word()).prop_map(|(key, value)| format!("{key} = {value}\n"))
}

proptest! {
    #[test]
    fn any_text_ends(text in any::<String>()) {
        check(&text);
    }

    #[test]
    fn any_words_end(words in prop::collection::vec(word(), 0..60)) {
        check(&words.concat());
    }

    #[test]
    fn any_setting_of_a_job_ends(settings in prop::collection::vec(setting(), 0..4)) {
        let target = "target = [{ name = \"a\", path = \"a\", size = \"1g\" }]\n";
        check(&format!("{target}[[phase]]\n{JOB}{}", settings.concat()));
        check(&format!("{target}[[phase]]\n{}{JOB}", settings.concat()));
    }
}
