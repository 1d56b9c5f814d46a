//! The suite of the I/O test VM: the four profiles, mail and OLTP, each as a command that a person could type.

use std::io::{BufRead as _, BufReader};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use assay_results::{Run, store};

use super::console::Console;
use super::settings::Mode;
use super::{DATA, RUNS};

/// What a step measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Sequential reads of 8 KiB.
    MaxRealIo,
    /// Sequential reads of 1 MiB.
    MaxBandwidth,
    /// Random 8 KiB, 80 % reads.
    RealLife,
    /// Sequential reads of 512 bytes.
    Silly,
    /// Transactions of mail.
    Mail,
    /// Transactions of a shop.
    Oltp,
    /// What another step needs.
    Preparation,
}

/// A step: what it measures, its words, and those that make it short.
struct Step {
    kind: Kind,
    full: &'static str,
    short: &'static str,
}

const STEPS: &[Step] = &[
    Step {
        kind: Kind::MaxRealIo,
        full: "run --profile max-real-io --target /data",
        short: "run --profile max-real-io --target /data --scale 0.0002 --runtime 2s",
    },
    Step {
        kind: Kind::MaxBandwidth,
        full: "run --profile max-bandwidth --target /data",
        short: "run --profile max-bandwidth --target /data --scale 0.0002 --runtime 2s",
    },
    Step {
        kind: Kind::RealLife,
        full: "run --profile real-life --target /data",
        short: "run --profile real-life --target /data --scale 0.0002 --runtime 2s",
    },
    Step {
        kind: Kind::Silly,
        full: "run --profile silly-512b --target /data",
        short: "run --profile silly-512b --target /data --scale 0.0002 --runtime 2s",
    },
    Step { kind: Kind::Preparation, full: "cleanup /data", short: "cleanup /data" },
    Step {
        kind: Kind::Preparation,
        full: "mail build /data/mail size=100g databases=1",
        short: "mail build /data/mail size=64m databases=1 cache_min=8m cache_max=8m",
    },
    Step {
        kind: Kind::Mail,
        full: "mail run /data/mail size=100g databases=1 threads=15",
        short: "mail run /data/mail size=64m databases=1 cache_min=8m cache_max=8m threads=2 time=2s ramp=0s",
    },
    Step {
        kind: Kind::Oltp,
        full: "oltp run /data --warehouses 100 --users 10 --time 5m",
        short: "oltp run /data --warehouses 1 --users 1 --time 2s",
    },
];

/// The words of all steps: part of the suite's id.
pub(crate) fn text() -> String {
    STEPS.iter().map(|step| format!("{}\n", step.full)).collect()
}

/// A step that was carried out.
pub(super) struct Done {
    pub(super) kind: Kind,
    /// The run, or why there is none.
    pub(super) run: Result<Run, String>,
}

/// Carries all steps out, one after the other.
pub(super) fn run(mode: Mode, console: &Console) -> Vec<Done> {
    let mut done = Vec::new();
    for (number, step) in (1..).zip(STEPS) {
        let words = if mode == Mode::Suite { step.full } else { step.short };
        console.say(&format!("step {number} of {}: assay {words}", STEPS.len()));
        let before = ids();
        let ended = carry_out(words, console);
        let fresh = ids().into_iter().find(|id| !before.contains(id));
        if step.kind != Kind::Preparation {
            let run =
                match fresh.map(|id| store::find(Path::new(RUNS), &id).and_then(|found| found.read_run())) {
                    Some(Ok(run)) => Ok(run),
                    Some(Err(error)) => Err(error.to_string()),
                    None => Err(ended.err().unwrap_or_else(|| "it left no run".to_owned())),
                };
            done.push(Done { kind: step.kind, run });
        }
    }
    done
}

fn ids() -> Vec<String> {
    store::list(Path::new(RUNS)).unwrap_or_default().into_iter().map(|entry| entry.id).collect()
}

/// Runs a command of this program; its progress goes to the console, and its last words are why it failed.
fn carry_out(words: &str, console: &Console) -> Result<(), String> {
    let mut command = Command::new("/proc/self/exe");
    command.arg0("assay").args(words.split(' ')).current_dir(DATA);
    command.env("ASSAY_RUNS", RUNS).env("HOME", "/home").env("TMPDIR", "/tmp").env("PATH", "/bin:/sbin");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| error.to_string())?;
    let mut last = String::new();
    for line in
        child.stderr.take().into_iter().flat_map(|said| BufReader::new(said).lines()).map_while(Result::ok)
    {
        if !line.trim().is_empty() {
            console.say(&format!("  {line}"));
            last = line;
        }
    }
    let status = child.wait().map_err(|error| error.to_string())?;
    if status.success() { Ok(()) } else { Err(format!("{last} ({status})")) }
}
