use super::*;
use crate::loader::MemoryLoader;
use crate::{Severity, fio, native, vdbench};

#[track_caller]
fn found(word: &str) -> Vec<&'static str> {
    match find(word) {
        Found::Terms(terms) => terms.iter().map(|term| term.name).collect(),
        Found::Nearest(near) => panic!("{word} is not found, only {near:?}"),
    }
}

#[test]
fn words_of_every_tool_lead_to_the_same_term() {
    for word in ["xfersize", "bs", "block_size", "Block Size", "bs=4k", "BLOCKSIZE"] {
        assert_eq!(found(word), ["block-size"], "{word}");
    }
    assert_eq!(found("iodepth"), ["outstanding-io"]);
    assert!(found("threads").starts_with(&["threads"]), "its own name comes first");
    assert!(found("threads").contains(&"outstanding-io"), "vdbench's threads are outstanding I/Os");
}

#[test]
fn near_words_are_offered_and_far_ones_not() {
    assert_eq!(find("iodepht"), Found::Nearest(vec!["iodepth"]));
    let Found::Nearest(near) = find("percentil") else { panic!("there is no such word") };
    assert!(near.contains(&"percentile"), "{near:?}");
    assert_eq!(find("wombat"), Found::Nearest(vec![]));
}

#[test]
fn names_are_unique_and_pages_are_complete() {
    let mut names: Vec<&str> = all().map(|term| term.name).collect();
    let number = names.len();
    assert!(number >= 45, "{number} terms");
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), number);
    for term in all() {
        assert!(term.meaning.ends_with('.') && term.meaning.len() > 40, "{}", term.name);
        assert!(!term.traps.is_empty(), "{}", term.name);
        for text in term.traps.iter().chain([&term.meaning]) {
            assert!(!text.contains("  "), "{}: {text}", term.name);
        }
    }
}

/// Whether a line of an example stands for one of the frame.
fn replaced<'a>(frame: &'a str, example: &str, key: impl Fn(&str) -> String) -> Vec<&'a str> {
    let given: Vec<String> = example.lines().map(&key).collect();
    frame.lines().filter(|line| !given.contains(&key(line))).collect()
}

fn errors(diagnostics: Vec<crate::Diagnostic>) -> Vec<String> {
    let unwanted = |d: &crate::Diagnostic| d.severity == Severity::Error || d.id.contains("unknown");
    diagnostics.iter().filter(|d| unwanted(d)).map(ToString::to_string).collect()
}

#[test]
fn fio_examples_are_job_files() {
    let frame = "size=64m\nfilename=a.bin\nrw=randread\nbs=4k";
    let key = |line: &str| line.split('=').next().unwrap_or_default().to_owned();
    for term in all().filter(|term| !term.example.fio.is_empty()) {
        let rest = replaced(frame, term.example.fio, key).join("\n");
        let text = format!("[first]\n{frame}\n[j]\n{rest}\n{}\n", term.example.fio);
        let (file, said) = fio::parse("example", &text, &MemoryLoader::default());
        assert_eq!(errors(said), Vec::<String>::new(), "{}: {text}", term.name);
        assert!(file.is_some(), "{}", term.name);
    }
}

#[test]
fn vdbench_examples_are_parameter_files() {
    let frame = "sd=sd1,lun=a.bin,size=64m\nwd=wd1,sd=sd1,xfersize=4k\nrd=rd1,wd=wd1,iorate=max,elapsed=10,interval=1";
    let tree = "fsd=fsd1,anchor=/tree,depth=1,width=1,files=1,size=4k\nfwd=fwd1,fsd=fsd1\n\
                rd=rd1,fwd=fwd1,fwdrate=max,format=yes,elapsed=10,interval=1";
    let order = ["hd=", "fsd=", "sd=", "wd=", "fwd=", "rd="];
    let rank = |line: &&str| order.iter().position(|key| line.starts_with(key)).map_or(0, |at| at + 1);
    let key = |line: &str| line.split(',').next().unwrap_or_default().to_owned();
    for term in all().filter(|term| !term.example.vdbench.is_empty()) {
        let frame = if term.example.vdbench.contains("fsd") { tree } else { frame };
        let mut lines = replaced(frame, term.example.vdbench, key);
        lines.extend(term.example.vdbench.lines());
        lines.sort_by_key(rank);
        let text = lines.join("\n");
        let (file, said) =
            vdbench::parse("example", &text, &vdbench::Options::default(), &MemoryLoader::default());
        assert_eq!(errors(said), Vec::<String>::new(), "{}: {text}", term.name);
        assert!(file.is_some(), "{}", term.name);
    }
}

#[test]
fn plan_examples_are_plans() {
    let target = "[[target]]\nname = \"a\"\npath = \"a.bin\"\nsize = \"1g\"\n";
    let frame = "op = \"read\"\nblock_size = \"4k\"\npattern = \"random\"";
    let key = |line: &str| match line.split(" = ").next().unwrap_or_default() {
        mix if mix.ends_with("_percent") => "op".to_owned(),
        other => other.to_owned(),
    };
    for term in all().filter(|term| !term.example.plan.is_empty()) {
        let example = term.example.plan;
        let job = || format!("[[job]]\n{}\n", replaced(frame, example, key).join("\n"));
        let text = match example {
            tables if tables.starts_with("[[phase]]") => format!("{target}{tables}\n"),
            table if table.starts_with("[[target]]") => format!("{table}\n{}", job()),
            keys => format!("{target}{}{keys}\n", job()),
        };
        let (workload, said) = native::parse("example", &text);
        assert_eq!(errors(said), Vec::<String>::new(), "{}: {text}", term.name);
        assert!(workload.is_some(), "{}", term.name);
    }
}
