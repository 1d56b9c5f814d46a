//! Parameter files of vdbench: definitions in their order, each a line of `keyword=value`.

use assay_formats::loader::MemoryLoader;
use assay_vdbench::{Limits, Options, lower, parse};

use crate::Grammar;
use crate::random::Random;

/// A kind of definition: the keyword that opens it, what it cannot do without, and what else may stand in it.
struct Kind {
    opener: &'static str,
    needed: &'static [&'static str],
    more: &'static [&'static str],
}

const GENERAL: usize = 0;

/// In the order in which a file gives them.
const KINDS: [Kind; 7] = [
    Kind {
        opener: "",
        needed: &[],
        more: &[
            "compratio=2",
            "compression=50",
            "dedupratio=2,dedupunit=4k",
            "dedupratio=3,dedupunit=8k",
            "validate=yes",
            "data_errors=7",
            "formatxfersize=64k",
            "formatsds=no",
            "concatenatesds=yes",
            "messagescan=yes",
            "fwd_thread_adjust=no",
            "histogram=(default,1u)",
            "create_anchors=yes",
        ],
    },
    Kind {
        opener: "hd",
        needed: &["system=localhost"],
        more: &["jvms=2", "clients=2", "user=root", "shell=ssh", "vdbench=/opt/vdbench"],
    },
    Kind {
        opener: "fsd",
        needed: &["anchor=/data/tree", "depth=2", "width=3", "files=4", "sizes=64k"],
        more: &[
            "sizes=(4k,80,1m,20)",
            "sizes=(64k,0)",
            "distribution=all",
            "distribution=bottom",
            "shared=yes",
            "wss=1m",
            "totalsize=16m",
            "openflags=o_direct",
            "count=(1,2)",
            "depth=1",
            "width=7",
            "files=100",
        ],
    },
    Kind {
        opener: "sd",
        needed: &["lun=/data/a", "size=64m"],
        more: &[
            "threads=8",
            "range=(10,90)",
            "hitarea=2m",
            "offset=4k",
            "align=8k",
            "openflags=o_direct",
            "openflags=(o_direct,o_sync)",
            "count=(1,2)",
            "size=1g",
            "dedupratio=2",
        ],
    },
    Kind {
        opener: "wd",
        needed: &["sd=sd*", "xfersize=4k"],
        more: &[
            "rdpct=70",
            "rdpct=100",
            "seekpct=100",
            "seekpct=eof",
            "seekpct=seq",
            "rhpct=20",
            "whpct=20",
            "xfersize=(4k,60,64k,40)",
            "xfersize=(4k,64k,4k)",
            "skew=20",
            "range=(10,50)",
            "hotband=(10,50)",
            "stride=(1m,2m)",
            "priority=1",
            "iorate=100",
            "threads=3",
            "streams=2",
            "openflags=o_direct",
        ],
    },
    Kind {
        opener: "fwd",
        needed: &["fsd=fsd*", "operation=read"],
        more: &[
            "fileio=random",
            "fileio=sequential",
            "fileio=(random,shared)",
            "fileselect=random",
            "fileselect=seq",
            "fileselect=(random,5)",
            "xfersize=4k",
            "xfersize=(4k,60,64k,40)",
            "threads=4",
            "operation=write",
            "operation=create",
            "operation=getattr",
            "rdpct=70",
            "stopafter=7",
            "stopafter=50%",
            "skew=50",
            "openflags=o_direct",
        ],
    },
    Kind {
        opener: "rd",
        needed: &["elapsed=10", "interval=1"],
        more: &[
            "iorate=max",
            "iorate=curve",
            "iorate=(100,200)",
            "iorate=(100-1000,100)",
            "fwdrate=max",
            "fwdrate=50",
            "curve=(10,50),iorate=curve",
            "stopcurve=5",
            "warmup=2",
            "pause=5",
            "maxdata=1m",
            "maxdataread=1m",
            "maxdatawritten=1m",
            "forthreads=(1-64,d)",
            "forthreads=(1,2,4)",
            "forxfersize=(4k,8k)",
            "forrdpct=(20,30)",
            "forseekpct=(0,100)",
            "forrhpct=(20,30)",
            "forwhpct=(20,30)",
            "forhitarea=(1m,2m)",
            "forcompratio=(2,3)",
            "fordepth=(1,2)",
            "forwidth=(2,3)",
            "forfiles=(2,3)",
            "forsizes=(8k,16k)",
            "fortotalsize=(8m,16m)",
            "forwss=(8m,16m)",
            "foroperations=(read,write)",
            "operations=(read,write)",
            "distribution=exponential",
            "distribution=uniform",
            "distribution=deterministic",
            "format=yes",
            "format=only",
            "format=(restart,yes)",
            "openflags=o_direct",
            "threads=5",
        ],
    },
];

/// The bounds of a text that a fuzzer makes: none may take long. A variable that is given must be used.
pub fn options(text: &str) -> Options {
    Options {
        variables: if text.contains("$v") { vec![("v".to_owned(), "1".to_owned())] } else { Vec::new() },
        limits: Limits {
            runs: 1000,
            references: 20_000,
            definitions: 2000,
            elements: 10_000,
            ..Limits::default()
        },
        ..Options::default()
    }
}

/// Parameter files.
#[derive(Debug)]
pub struct Parameters;

fn kind_of(line: &str) -> usize {
    let opens = |kind: &Kind| !kind.opener.is_empty() && line.split('=').next() == Some(kind.opener);
    KINDS.iter().position(opens).unwrap_or(GENERAL)
}

/// What a run of block storage, and one of trees, cannot do without.
const RUNS: [&str; 2] = ["wd=wd*,iorate=max", "fwd=fwd*,fwdrate=max"];

/// A definition of a kind; `runs` is what it runs if it is a run.
fn definition(kind: usize, number: usize, runs: &str, random: &mut Random) -> String {
    let Kind { opener, needed, more } = &KINDS[kind];
    let mut words: Vec<String> = Vec::new();
    if !opener.is_empty() {
        words.push(format!("{opener}={opener}{number}"));
    }
    if *opener == "rd" {
        words.push(runs.to_owned());
    }
    words.extend(needed.iter().map(|word| (*word).to_owned()));
    for _ in 0..random.below(4) + usize::from(needed.is_empty()) {
        words.push((*random.pick(more)).to_owned());
    }
    words.join(",")
}

/// A whole file: of block storage, or of trees.
fn file(random: &mut Random) -> Vec<String> {
    let (storage, workload, runs) = if random.one_in(2) { (3, 4, RUNS[0]) } else { (2, 5, RUNS[1]) };
    let mut lines = Vec::new();
    if random.one_in(3) {
        lines.push(definition(GENERAL, 0, runs, random));
    }
    for kind in [storage, workload] {
        for number in 1..2 + random.below(2) {
            let line = definition(kind, number, runs, random);
            // Anchors of two trees, and files of two definitions, are not the same.
            lines.push(line.replacen("/data/tree", &format!("/data/tree{number}"), 1).replacen(
                "/data/a",
                &format!("/data/a{number}"),
                1,
            ));
        }
    }
    for number in 1..2 + random.below(2) {
        lines.push(definition(6, number, runs, random));
    }
    lines
}

impl Grammar for Parameters {
    fn mutate(&self, text: &str, random: &mut Random) -> String {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        if lines.is_empty() || random.one_in(30) {
            return file(random).join("\n") + "\n";
        }
        let at = random.below(lines.len());
        let kind = kind_of(&lines[at]);
        let more = KINDS[kind].more;
        match random.below(8) {
            0..3 => {
                let comma = if lines[at].trim().is_empty() { "" } else { "," };
                lines[at] = format!("{}{comma}{}", lines[at], random.pick(more));
            }
            3 => {
                // Not within brackets, and not what opens the definition.
                let words: Vec<&str> = lines[at].split(',').collect();
                let left_out = 1 + random.below(words.len());
                let kept = words.iter().enumerate().filter(|(index, _)| *index != left_out);
                lines[at] = kept.map(|(_, word)| *word).collect::<Vec<_>>().join(",");
            }
            4 => {
                let number = 10 + random.below(5);
                let behind = lines.iter().rposition(|line| kind_of(line) <= kind).map_or(0, |last| last + 1);
                let runs = RUNS[usize::from(text.contains("fsd="))];
                lines.insert(behind, definition(kind, number, runs, random));
            }
            5 if lines.len() > 3 => drop(lines.remove(at)),
            _ => lines[at] = random.with_another_number(&lines[at]),
        }
        lines.join("\n") + "\n"
    }

    fn accepts(&self, text: &str) -> bool {
        let (file, _) = parse("fuzz", text, &options(text), &MemoryLoader::default());
        file.is_some_and(|file| lower("fuzz", &file).0.is_some())
    }
}
