use assay_formats::Diagnostic;
use assay_formats::loader::MemoryLoader;
use assay_workload::Workload;

use super::*;
use crate::keyword::{Definition, Effect, full_name};
use crate::{Options, lower, parse};

#[test]
fn short_keywords_take_the_first_match() {
    for (kind, key, full) in [
        (Kind::Run, "el", "elapsed"),
        (Kind::Run, "io", "iorate"),
        (Kind::Run, "in", "interval"),
        (Kind::Run, "forx", "forxfersize"),
        (Kind::Run, "th", "threads"),
        (Kind::Run, "maxdata", "maxdata"),
        (Kind::Run, "operation", "operations"),
        (Kind::Workload, "seek", "seekpct"),
        (Kind::Workload, "xf", "xfersize"),
        (Kind::FileSystem, "size", "sizes"),
        (Kind::FileSystem, "file", "files"),
        (Kind::FileSystem, "openflag", "openflags"),
        (Kind::General, "concatenate", "concatenatesds"),
        (Kind::FileWorkload, "xfersize", "xfersizes"),
    ] {
        assert_eq!(full_name(&names_of(kind), key), Some(full), "{key}");
    }
}

#[test]
fn exact_and_one_letter_keywords_are_not_shortened() {
    assert_eq!(full_name(&names_of(Kind::Workload), "x"), None);
    assert_eq!(full_name(&names_of(Kind::General), "jour"), None);
    assert_eq!(full_name(&names_of(Kind::Run), "maxdata_read"), None);
    assert_eq!(full_name(&names_of(Kind::FileWorkload), "filei"), None);
}

#[test]
fn unknown_keywords_come_with_help() {
    assert_eq!(suggestion(Kind::Run, "elapsd"), "did you mean `elapsed`?");
    assert!(suggestion(Kind::Workload, "lun").contains("storage definition"));
}

/// A run over devices, and one over files.
const DEVICES: [(Kind, &str); 5] = [
    (Kind::General, "compratio=3\n"),
    (Kind::Host, "hd=default\nhd=other,system=other\n"),
    (Kind::Storage, "sd=sd2,lun=/tmp/s2,size=64m\nsd=sd1,lun=/tmp/s1,size=64m\n"),
    (Kind::Workload, "wd=wd2,sd=sd1\nwd=wd1,sd=sd1,xfersize=4k,rdpct=50,seekpct=100,rhpct=10\n"),
    (Kind::Run, "rd=rd1,wd=wd1,iorate=100,elapsed=10,interval=1\n"),
];
const FILES: [(Kind, &str); 5] = [
    (Kind::General, "compratio=3\n"),
    (Kind::Host, "hd=default\nhd=other,system=other\n"),
    (Kind::FileSystem, "fsd=fsd2,anchor=/tmp/t2\nfsd=fsd1,anchor=/tmp/t1,depth=1,width=2,files=3,sizes=8k\n"),
    (Kind::FileWorkload, "fwd=fwd2,fsd=fsd1\nfwd=fwd1,fsd=fsd1,operation=read,fileio=random\n"),
    (Kind::Run, "rd=rd1,fwd=fwd1,fwdrate=100,elapsed=10,interval=1,format=yes\n"),
];

fn read(text: &str) -> (Option<Workload>, Vec<Diagnostic>) {
    let (file, mut said) = parse("t", text, &Options::default(), &MemoryLoader::default());
    let lowered = file.as_ref().map(|file| lower("t", file));
    let (workload, more) = lowered.unwrap_or_default();
    said.extend(more);
    (workload, said)
}

/// Whether a line behind the last definition of its kind changes the workload or is remarked on there.
fn shows(frame: &[(Kind, &str)], kind: Kind, own: &str) -> bool {
    let text = |own: &str| {
        let part = |(of, lines): &(Kind, &str)| {
            if *of == kind { format!("{lines}{own}") } else { (*lines).to_owned() }
        };
        frame.iter().map(part).collect::<String>()
    };
    let before =
        frame.iter().take_while(|(of, _)| *of != kind).map(|(_, lines)| lines.lines().count()).sum::<usize>();
    let within = frame.iter().find(|(of, _)| *of == kind).map_or(0, |(_, lines)| lines.lines().count());
    let line = (before + within + 1) as u32;
    let ((without, unsaid), (with, said)) = (read(&text("")), read(&text(&format!("{own}\n"))));
    assert!(without.is_some(), "{:?}", read(&text("")).1);
    let texts = |said: &[Diagnostic]| said.iter().map(|said| said.message.clone()).collect::<Vec<_>>();
    with != without
        || texts(&said) != texts(&unsaid)
        || said.iter().any(|said| said.position.as_ref().is_some_and(|at| at.line == line))
}

fn silent<D: Definition>(kind: Kind) -> Vec<String> {
    let mut silent = Vec::new();
    for keyword in D::KEYWORDS.iter().filter(|keyword| !matches!(keyword.effect, Effect::Opens)) {
        for name in keyword.names {
            let own = format!("{name}={}", keyword.sample);
            let of =
                |frame: &[(Kind, &str)]| frame.iter().any(|(of, _)| *of == kind) && shows(frame, kind, &own);
            if !of(&DEVICES) && !of(&FILES) {
                silent.push(own);
            }
        }
    }
    silent
}

#[test]
fn the_sample_of_each_keyword_shows() {
    let all = [
        silent::<General>(Kind::General),
        silent::<HostDef>(Kind::Host),
        silent::<FileSystemDef>(Kind::FileSystem),
        silent::<StorageDef>(Kind::Storage),
        silent::<WorkloadDef>(Kind::Workload),
        silent::<FileWorkloadDef>(Kind::FileWorkload),
        silent::<RunDef>(Kind::Run),
    ];
    assert_eq!(all.concat(), [""; 0]);
}
