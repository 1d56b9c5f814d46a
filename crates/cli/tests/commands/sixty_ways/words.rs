//! Whole commands.

use super::{Scene, assert_refused, state};

use crate::bounded::Bounded as _;

const FOREIGN: &str = super::FOREIGN;

/// Whole commands, and what is said of them.
const COMMANDS: &[(&[&str], &str)] = &[
    (&["run", "job.fio", "--html", "@V"], "Assay did not write it"),
    (&["run", "job.fio", "--html", "data/link", "--force"], "symbolic link"),
    (&["run", "job.fio", "--trace", "@V"], "Assay did not write it"),
    (&["run", "job.fio", "--fio-json", "data/link", "--force"], "symbolic link"),
    (&["run", "job.fio", "--fio-logs", "@V"], "not a directory"),
    (&["run", "job.fio", "--vdbench", "@D"], "not empty"),
    (&["run", "job.fio", "--out", "@V"], "not a directory"),
    (&["run", "job.fio", "--out", "@V/below"], ""),
    (&["run", "victim.fio", "--engine", "fio"], ""),
    (&["run", "victim.fio", "--destroy-data", "@D"], FOREIGN),
    (&["run", "victim.fio", "--destroy-data", "@D/*"], FOREIGN),
    (&["run", "victim.fio", "--destroy-data", "/"], FOREIGN),
    (&["crosscheck", "victim.fio", "--pairs", "1"], ""),
    (&["fio", "--name=a", "--rw=write", "--size=64k", "--filename=@V"], FOREIGN),
    (
        &["fio", "--output=@V", "--name=a", "--rw=write", "--size=64k", "--filename=data/x"],
        "did not write it",
    ),
    (&["convert", "job.fio", "--to", "toml", "-o", "@V"], "Assay did not write it"),
    (&["convert", "job.fio", "--to", "toml", "-o", "job.fio", "--force"], "reads or measures"),
    (&["convert", "job.fio", "--to", "toml", "-o", "@D", "--force"], "directory"),
    (&["convert", "job.fio", "--to", "toml", "-o", "/proc/self/cwd/data/link", "--force"], "symbolic link"),
    (&["audit", "job.fio", "--fix", "@V"], "Assay did not write it"),
    (&["runs", "rm", "../theirs"], "is not a run directory"),
    (&["runs", "rm", "@D"], "is not a run directory"),
    (&["runs", "rm", "/"], "is not a run directory"),
    (&["runs", "rm", "."], "is not a run directory"),
    (&["runs", "rm", ""], ""),
    (&["runs", "rm", "*"], "no run"),
    (&["runs", "recover", "@D"], "is not a run directory"),
    (&["baseline", "rm", "../../theirs/precious"], "not a name for a baseline"),
    (&["baseline", "save", "@V", "last"], ""),
    (&["quick", "@V"], "is not a directory"),
    (&["quick", "/proc"], "/proc/assay-quick"),
    (&["quick", "/sys/kernel"], "/sys/kernel/assay-quick"),
    (&["probe", "/sys/kernel/uevent_seqnum"], "stores no data"),
    (&["probe", "/proc/version"], "stores no data"),
    (&["probe", "data/pipe"], "neither a file nor a block device"),
    (&["cleanup", "@V"], "Assay did not make it"),
    (&["cleanup", "data/link"], "symbolic link"),
    (&["cleanup", "data/hard"], "Assay did not make it"),
    (&["cleanup", "nowhere"], "nowhere"),
    (&["fio", "--readonly", "--name=a", "--rw=write", "--size=64k", "--filename=data/x"], "readonly"),
    (&["fio", "--readonly", "--name=a", "--rw=randtrim", "--size=64k", "--filename=@V"], "readonly"),
    (&["fio", "--readonly", "victim.fio"], "readonly"),
    (&["fio", "--readonly", "--showcmd", "victim.fio"], "readonly"),
    (&["fio", "--readonly", "--parse-only", "victim.fio"], "readonly"),
    (&["report", "@V", "--html", "out.html"], ""),
    (&["compare", "@V", "@V", "--html", "@V"], ""),
    (&["new", "--target", "@V", "--size", "1m", "-o", "@V", "--force"], "reads or measures"),
    (&["new", "--target", "@V", "--size", "1m", "--grid", "4k,8k x 100", "-o", "@D"], "not empty"),
    (&["convert", "job.fio", "--to", "toml", "-o", "data/pipe", "--force"], "pipe"),
    (&["convert", "job.fio", "--to", "toml", "-o", "data/dangling", "--force"], "symbolic link"),
    (&["cleanup", "data/above"], "symbolic link"),
    (&["import", "@V"], ""),
    (&["vdbench", "-f", "job.vdb", "-o", "@V"], "not a directory"),
    (&["vdbench", "-f", "job.vdb", "-o", "@D"], "not empty"),
    (&["vdbench", "-f", "job.vdb", "-o", "data/above"], "symbolic link"),
    (&["vdbench", "-f", "job.vdb", "-o", "data/dangling+"], "symbolic link"),
    (&["vdbench", "-f", "victim.vdb", "-o", "out"], FOREIGN),
    (&["vdbench", "-f", "victim.vdb", "-o", "out", "-vr", "-jn"], FOREIGN),
    (&["vdbench", "-f", "job.vdb", "-o", "out", "--html", "@V"], "did not write it"),
    (&["vm", "config", "@V", "run=suite"], "did not write it"),
    (&["vm", "config", "data/link", "run=suite", "--force"], "symbolic link"),
    (&["vm", "build", "out", "--lock", "@V", "--update-lock"], "did not write it"),
    (&["vm", "build", "out", "--lock", "data/link", "--update-lock", "--force"], "symbolic link"),
    (&["kube", "image", "--save", "@V"], "did not write it"),
    (&["kube", "image", "--save", "data/link", "--force"], "symbolic link"),
    (&["worker", "--drop-caches", "@V"], "/dev/termination-log"),
];

#[test]
fn a_command_does_not_reach_what_is_not_ours() {
    let scene = Scene::new();
    let cases = COMMANDS.iter().map(|(words, why)| {
        let words: Vec<String> = words.iter().map(|word| scene.filled(word)).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        scene.refused(&words, why)
    });
    assert_refused(cases);
}

#[test]
fn what_only_looks_changes_nothing() {
    let scene = Scene::new();
    for words in
        ["fio --showcmd victim.fio", "fio --parse-only victim.fio", "plan job.fio", "run job.fio --dry-run"]
    {
        let before = (state(&scene.theirs), state(&scene.world.data()));
        let words: Vec<&str> = words.split(' ').collect();
        let said = scene.world.assay(&words).ended(0);
        assert!(before == (state(&scene.theirs), state(&scene.world.data())), "{words:?}: {}", said.err);
    }
}

#[test]
fn the_places_of_the_environment_are_not_written_over() {
    let Scene { world, theirs } = &Scene::new();
    let precious = theirs.join("precious");
    for name in ["HOME", "TMPDIR", "XDG_DATA_HOME", "XDG_RUNTIME_DIR", "ASSAY_RUNS"] {
        let before = state(theirs);
        let mut command = world.command(&["run", "job.fio", "-q"]);
        let said = crate::world::Said::of(command.env(name, &precious).output_in_time().expect("started"));
        assert!(matches!(said.code, Some(0 | 2)), "{name}: {}", said.err);
        assert!(before == state(theirs), "{name}");
    }
}
