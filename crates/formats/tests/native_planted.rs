//! Every error of a plan is said at once, each where it stands.

use assay_formats::native::parse;

/// A plan with twelve errors in it, of every kind of key: top, target, defaults, phase, job, and tables within.
const PLANTED: &str = r#"sead = 1
name = "planted"

[[target]]
name = "data"
path = "data.bin"
size = "1q"

[defaults]
pattern = { random = "zipf", theta = -1 }
flush = { every_write = 8 }

[[phase]]
name = "grid"
kind = "mesure"
pause = true

[[phase.job]]
op = "reed"
block_size = "64k-4k"
outstanding = 0
content = { payload = { hex = "abc" } }
engine_options = { iopoll = "yes", sqpol = true }
"#;

/// What is said, as `line:column id word`.
const EXPECTED: [&str; 12] = [
    "1:1 unknown-key sead",
    "7:8 bad-value \"1q\"",
    "10:38 bad-value -1",
    "11:11 unknown-key every_write",
    "15:8 bad-value \"mesure\"",
    "16:9 wrong-type true",
    "19:6 bad-value \"reed\"",
    "20:14 bad-value \"64k-4k\"",
    "21:15 bad-value 0",
    "22:31 bad-value \"abc\"",
    "23:29 wrong-type \"yes\"",
    "23:36 unknown-key sqpol",
];

#[test]
fn twelve_errors_are_twelve_diagnostics_in_their_places() {
    let (workload, said) = parse("planted.toml", PLANTED);
    assert!(workload.is_none());
    let said: Vec<String> = said
        .iter()
        .map(|one| {
            let at = one.position.as_ref().expect("each has a place");
            format!("{}:{} {} {}", at.line, at.column, one.id, one.word)
        })
        .collect();
    assert_eq!(said, EXPECTED);
}
