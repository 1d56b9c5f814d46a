//! `assay vdbench -f FILE -o DIR ..`: vdbench's command line, console lines and files.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use crate::bounded::Bounded as _;
use crate::world::{Said, World, entries};

const FILE: &str = "sd=sd1,lun=d.dat,size=8m,threads=2\nwd=wd1,sd=sd1,xfersize=4k,rdpct=70,seekpct=100\n\
                    rd=run1,wd=wd1,iorate=(400,800),elapsed=9,interval=1\n";

fn world() -> World {
    let world = World::new();
    fs::write(world.path().join("p.parm"), FILE).expect("written");
    world
}

#[test]
fn runs_are_listed_as_vdbench_lists_them() {
    let said = world().assay(&["vdbench", "-f", "p.parm", "-s", "-e", "20"]).ended(0);
    let lines: Vec<&str> = said.out.lines().collect();
    assert!(lines[0].starts_with("Simulating RD=SD_format"), "{}", said.out);
    assert!(
        lines[1].starts_with("Simulating RD=run1; I/O rate: 400; elapsed=20; For loops: iorate=400"),
        "{}",
        said.out
    );
    assert_eq!(lines.len(), 3);
}

#[test]
fn console_lines_and_files_are_vdbenchs() {
    let world = world();
    let said = world.assay(&["vdbench", "-fp.parm", "-o", "out", "-e2", "-i", "1"]).ended(0);
    assert_eq!(said.err, "");
    let lines: Vec<&str> = said.out.lines().collect();
    assert!(lines[0].starts_with("Vdbench distribution: vdbench50407"), "{}", said.out);
    assert!(said.out.contains(" input argument scanned: '-fp.parm'\n"), "{}", said.out);
    let starts: Vec<&&str> = lines.iter().filter(|line| line.contains(" Starting RD=run1")).collect();
    assert_eq!(starts.len(), 2, "{}", said.out);
    assert!(starts[0].contains("; I/O rate: 400; elapsed=2; For loops: iorate=400"), "{}", starts[0]);
    // A row for each interval, the first of which is not in the average.
    let rows =
        |number: &str| lines.iter().filter(|line| line.split_whitespace().nth(1) == Some(number)).count();
    assert_eq!([rows("1"), rows("2"), rows("3"), rows("avg_2-2")], [2, 2, 0, 2], "{}", said.out);
    // The columns of a row: time of day, interval, 13 numbers.
    let averages: Vec<Vec<&str>> = lines
        .iter()
        .filter(|line| line.contains(" avg_"))
        .map(|line| line.split_whitespace().collect())
        .collect();
    assert_eq!(averages.len(), 2);
    for (average, rate) in averages.iter().zip([400.0, 800.0]) {
        assert_eq!(average.len(), 15, "{average:?}");
        let done: f64 = average[2].parse().expect("a rate");
        // One real second: a busy machine does less, none does more.
        assert!(done > 0.0 && done < 1.3 * rate, "{average:?}");
        assert_eq!(average[4], "4096");
    }
    assert!(
        said.out.contains("Vdbench execution completed successfully. Output directory: /"),
        "{}",
        said.out
    );
    assert!(lines.last().expect("a line").starts_with("assay: "), "{}", said.out);
    let flat = fs::read_to_string(world.path().join("out/flatfile.html")).expect("a flat file");
    let header =
        flat.lines().find(|line| line.contains(" reqrate ") && line.contains(" cpu_idle")).expect("a header");
    assert_eq!(header.split_whitespace().count(), 34);
}

#[test]
fn the_console_says_that_nothing_could_be_compared() {
    let world = World::new();
    let definitions = "sd=sd1,lun=d.dat,size=1m\nwd=wd1,sd=sd1,xfersize=4k,rdpct=100,seekpct=seqnz\nrd=run1,wd=wd1,iorate=max,elapsed=2,interval=1\n";
    fs::write(world.path().join("p.parm"), definitions).expect("written");
    fs::write(world.path().join("d.dat"), vec![0; 1 << 20]).expect("written");
    let said = world.assay(&["vdbench", "-v", "-f", "p.parm", "-o", "out"]).ended(0);
    let last = said.out.lines().last().expect("a line");
    assert!(
        last.starts_with("assay: invalid: 100 % of ")
            && last.contains(" could not be compared with their last write"),
        "{}",
        said.out
    );
}

#[test]
fn further_output_directories_are_numbered_and_words_are_checked() {
    let world = world();
    for _ in 0..2 {
        world.assay(&["vdbench", "-f", "p.parm", "-o", "out+", "-e", "2", "+", "iorate=300"]).ended(0);
    }
    let names: Vec<String> = entries(world.path()).iter().map(|path| path.display().to_string()).collect();
    assert!(names.iter().any(|name| name.ends_with("out001")), "{names:?}");
    for (words, expected) in [
        (vec!["vdbench", "-f", "p.parm", "-e", "soon"], "a number of seconds"),
        (vec!["vdbench", "p.parm"], "stands behind -f"),
        (vec!["vdbench", "-f", "p.parm", "-c"], "-c is not honoured"),
    ] {
        let said = world.assay(&words);
        assert!(matches!(said.code, Some(1 | 2)) && said.err.contains(expected), "{words:?}: {}", said.err);
    }
    let link = world.path().join("vdbench");
    symlink(env!("CARGO_BIN_EXE_assay"), &link).expect("a link");
    let mut command = Command::new(&link);
    command.args(["-f", "p.parm", "-s"]).current_dir(world.path());
    let said = Said::of(command.output_in_time().expect("it starts")).ended(0);
    assert!(said.out.contains("Simulating RD=run1"), "{}", said.out);
}
