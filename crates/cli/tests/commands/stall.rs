//! A device that stands still for two seconds, while requests go on to be due, and one that does not come back.

use std::process::Stdio;
use std::time::Duration;

use assay_faultfs::{Fault, FaultFs, Op, Options, Rule, When, missing};
use rustix::process::Signal;

use crate::bounded::Bounded as _;
use crate::skip;
use crate::world::{Said, World, json, path_text, signal, wait_for};

const SIZE: usize = 16 << 20;
/// When it stands still, counted from the first read, and for how long.
const STALL_AFTER: Duration = Duration::from_millis(1000);
const STALL: Duration = Duration::from_secs(2);

/// A file system with one file, `data`; none where nothing can be mounted.
fn with_a_file() -> Option<FaultFs> {
    if let Some(why) = missing() {
        skip::declare("fuse", &why);
        return None;
    }
    let fs = FaultFs::mount(Options::default()).expect("it is mounted");
    std::fs::write(fs.join("data"), vec![1; SIZE]).expect("a file");
    Some(fs)
}

/// Two seconds of requests were due meanwhile: a quarter of those of eight seconds waited, the first of them for all of the
/// time, evenly from there to nothing. A closed loop would have shown as many slow requests as are outstanding.
#[test]
fn a_stall_shows_in_the_response_time_in_full() {
    let world = World::new();
    let Some(fs) = with_a_file() else { return };
    let job = world.path().join("poisson.fio");
    let text = format!(
        "[job]\nfilename={}\nsize={SIZE}\nrw=randread\nbs=4k\nioengine=io_uring\niodepth=16\nnorandommap\n\
         rate_iops=500\nrate_process=poisson\ntime_based\nruntime=8\ninvalidate=0\n",
        path_text(&fs.join("data"))
    );
    std::fs::write(&job, text).expect("a job file");
    let said = std::thread::scope(|scope| {
        scope.spawn(|| {
            wait_for("the first read", || fs.count(Op::Read, "data") > 0);
            std::thread::sleep(STALL_AFTER);
            fs.inject(Rule::new(Op::Read, Fault::Hang));
            std::thread::sleep(STALL);
            fs.clear();
            fs.release();
        });
        world.assay(&["run", path_text(&job), "--json", "--quiet"]).ended(0)
    });
    let run = json(&said.out);
    let read = &run["phases"][0]["jobs"][0]["read"];
    let of = |which: &str, what: &str| read[which][what].as_f64().unwrap_or(0.0) / 1e9;
    let (longest, p95, p90) = (of("response_ns", "max"), of("response_ns", "p95"), of("response_ns", "p90"));
    assert!((1.95..2.3).contains(&longest), "{longest} s: {read}");
    // Of a quarter that waited from 2 s down to 0, 5 % of all waited longer than 1.6 s and 10 % longer than 1.2 s.
    assert!((1.4..1.8).contains(&p95) && (1.0..1.4).contains(&p90), "{p95} s, {p90} s: {read}");
    let ios = read["ios"].as_f64().unwrap_or(0.0);
    assert!((3700.0..4300.0).contains(&ios), "all that were due were done: {ios}");
    // What was outstanding is all that completion latency has to say about it.
    assert!(of("completion_ns", "p95") < 0.1, "{read}");
}

/// Which I/O, where, since when; a signal ends the run, and what was measured is kept.
#[test]
fn an_io_that_hangs_is_named_and_a_signal_ends_the_run() {
    let world = World::new();
    let Some(fs) = with_a_file() else { return };
    fs.inject(Rule::new(Op::Read, Fault::Hang).of_file("data").at(40_960..40_961).when(When::Nth(1)));
    let job = world.path().join("reads.fio");
    let text = format!(
        "[j]\nfilename={}\nsize={SIZE}\nrw=read\nbs=4k\nioengine=libaio\niodepth=4\ndirect=1\nrate_iops=100\n\
         time_based\nruntime=60\n",
        path_text(&fs.join("data"))
    );
    std::fs::write(&job, text).expect("a job file");
    let mut command = world.command(&["run", path_text(&job)]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).start().expect("the program starts");
    wait_for("the read that hangs", || fs.hanging() == 1);
    // It is said after five seconds, and a little later the signal comes.
    std::thread::sleep(Duration::from_millis(6500));
    signal(&child, Signal::INT);
    // A process with asynchronous I/O that hangs ends when the device answers.
    let run = || world.run_directories().pop().map(|run| run.join("run.json"));
    wait_for("the result", || run().is_some_and(|path| path.exists()));
    fs.clear();
    assert_eq!(fs.release(), 1, "it hung until now");
    let said = Said::of(child.wait_with_output().expect("ended")).ended(5);
    let named = "read of 4 KiB at offset 40960 of ";
    assert!(said.err.contains(named) && said.err.contains("has not completed for 5"), "{}", said.err);
    assert!(said.err.contains("when the run was stopped: it was given up"), "{}", said.err);
    assert!(said.out.contains("incomplete") && said.out.contains(named), "{}", said.out);
    let run = world.only_run();
    assert_eq!((&run["verdict"], &run["end"]), (&"incomplete".into(), &"interrupted".into()));
    // The others went on.
    let ios = run["phases"][0]["jobs"][0]["read"]["ios"].as_u64();
    assert!(ios.is_some_and(|ios| ios > 300), "{ios:?}");
}
