//! The examples of the look-up table are text of the languages they are of.

use assay_fio as fio;
use assay_formats::loader::MemoryLoader;
use assay_formats::native;
use assay_formats::terms::all;
use assay_formats::{Diagnostic, Severity};
use assay_vdbench as vdbench;

/// Whether a line of an example stands for one of the frame.
fn replaced<'a>(frame: &'a str, example: &str, key: impl Fn(&str) -> String) -> Vec<&'a str> {
    let given: Vec<String> = example.lines().map(&key).collect();
    frame.lines().filter(|line| !given.contains(&key(line))).collect()
}

fn errors(diagnostics: Vec<Diagnostic>) -> Vec<String> {
    let unwanted = |d: &Diagnostic| d.severity == Severity::Error || d.id.contains("unknown");
    diagnostics.iter().filter(|d| unwanted(d)).map(ToString::to_string).collect()
}

#[test]
fn fio_examples_are_job_files() {
    let frame = "size=64m\nfilename=a.bin\nrw=randread\nbs=4k";
    let key = |line: &str| line.split('=').next().unwrap_or_default().to_owned();
    for term in all().filter(|term| !term.example.fio.is_empty()) {
        let rest = replaced(frame, &term.example.fio, key).join("\n");
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
        let mut lines = replaced(frame, &term.example.vdbench, key);
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
        let example = term.example.plan.as_str();
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
