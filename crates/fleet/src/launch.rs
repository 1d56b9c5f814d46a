//! What starts workers: a launcher is a file here, and a line of `LAUNCHERS`.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use assay_workload::host::Host;
use assay_workload::resolve::Inventory;
use assay_workload::{Target, Workload};

use crate::error::{BadWords, FleetError};
use crate::kube::{Options as KubeOptions, Say};

#[cfg(feature = "attach")]
mod attach;
mod connection;
pub mod kube;
mod local;
mod slurm;
mod ssh;
pub mod vm;

pub use connection::{Connection, Peer, Remote};

/// Workers of one run at most: a thousand hosts, and what they need of file descriptors.
pub const WORKERS_MAX: usize = 4000;

/// What a launcher is told.
#[derive(Debug, Clone)]
pub struct Setting {
    /// Targets with relative paths are in it, where workers run on this machine.
    pub directory: PathBuf,
    /// The words of the command to use for ssh.
    pub ssh: Vec<OsString>,
    /// Set when the user wants to stop: nothing is waited for any more.
    pub stop: Arc<AtomicBool>,
    /// A worker that was not heard for so long is lost.
    pub silence: Duration,
    /// Where workers that join are listened for; `None`: any port of the loopback address.
    pub listen: Option<SocketAddr>,
    /// How virtual machines are made.
    pub machines: vm::Machines,
    /// What is asked of Kubernetes, beside what the words say.
    pub kube: KubeOptions,
    /// Says what is waited for, and what the user has to do.
    pub say: Say,
}

/// A worker that is to be started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// What it is called in results, and how it is reached; with paths of its own for targets.
    pub host: Host,
    /// Targets with relative paths are in it; empty: the directory that the worker is started in.
    pub directory: PathBuf,
}

/// Starts workers. What it holds for them, it gives back when it is dropped: that is when the run has ended.
pub trait Launcher: std::fmt::Debug + Send + Sync {
    /// Makes what the workers run in, where that is made for the run. Called once, before anything else.
    ///
    /// # Errors
    /// Why there will be no workers.
    fn set_up(&self, _: &Workload) -> Result<(), FleetError> {
        Ok(())
    }

    /// Which, in the order of their numbers. `workload` says which targets they will use.
    fn places(&self, workload: &Workload) -> Vec<Place>;

    /// Starts one of them, and connects to it.
    ///
    /// # Errors
    /// What the system says.
    fn start(&self, place: &Place) -> io::Result<Connection>;

    /// Whether each place is a machine of its own, whatever its system says that it is called: guests of one image have one name.
    fn are_machines(&self) -> bool {
        false
    }

    /// Whether a connection that broke can be replaced. Where it cannot, as over standard streams, its end is the end of the worker.
    fn reconnects(&self) -> bool {
        false
    }

    /// Connects again to the worker of a place whose connection broke. It tries once, and waits for some seconds at most: it is
    /// called on a thread of its own, and again until the worker counts as lost. That it is the same worker, the fleet finds out.
    ///
    /// # Errors
    /// What the system, or what is asked for the connection, says. [`io::ErrorKind::NotFound`]: the worker is gone for good.
    fn reconnect(&self, _: &Place) -> io::Result<Connection> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Whether what a worker found is what it was given.
    ///
    /// # Errors
    /// A sentence: nothing is written.
    fn check(&self, _worker: &str, _found: &Inventory) -> Result<(), String> {
        Ok(())
    }

    /// Devices that were made for the run: no one else has to allow that they are overwritten.
    fn consent(&self) -> Vec<PathBuf> {
        Vec::new()
    }

    /// What a reader of the result should know of where the workers were: a word, and a sentence.
    fn notes(&self) -> Vec<(String, String)> {
        Vec::new()
    }
}

/// What is behind the colon, the hosts that the workload names, and the setting.
type Parse = fn(Option<&str>, &[Host], &Setting) -> Result<Box<dyn Launcher>, String>;

/// All launchers: the word, the form of what follows, and what reads it.
const LAUNCHERS: [(&str, &str, Parse); 6] = [
    ("local", "local[:N]", local::parse),
    ("ssh", "ssh[:HOST,..|@FILE]", ssh::parse),
    ("slurm", "slurm[:N]", slurm::parse),
    ("vm", "vm:N", vm::parse),
    ("kube", "kube:N[,OPTION=VALUE..]", kube::parse),
    ("attach", "attach[:N]", ATTACH),
];

#[cfg(feature = "attach")]
const ATTACH: Parse = attach::parse;
#[cfg(not(feature = "attach"))]
const ATTACH: Parse = |_, _, _| {
    Err("this build has no 'attach'; build one with cargo build --release --features attach".to_owned())
};

/// The launcher of `--on WORDS`.
///
/// # Errors
/// What is wrong with the words, and what is possible.
pub fn launcher(words: &str, hosts: &[Host], setting: &Setting) -> Result<Box<dyn Launcher>, BadWords> {
    let bad = |what: String| BadWords { words: words.to_owned(), what };
    let (name, rest) = words.split_once(':').map_or((words, None), |(name, rest)| (name, Some(rest)));
    let Some((_, _, parse)) = LAUNCHERS.iter().find(|(known, _, _)| *known == name) else {
        let forms: Vec<&str> = LAUNCHERS.iter().map(|(_, form, _)| *form).collect();
        return Err(bad(format!("there is no launcher '{name}'; available: {}", forms.join(", "))));
    };
    parse(rest, hosts, setting).map_err(bad)
}

/// Paths of a worker that shares its machine with others, so that each has files of its own: `data.bin` is `data.bin.2` of the second.
/// Devices cannot be made: they stay, and are shared.
fn own_paths(targets: &[Target], number: usize) -> BTreeMap<String, String> {
    let own = targets.iter().filter(|target| !target.path.starts_with("/dev/"));
    own.map(|target| (target.name.clone(), format!("{}.{number}", target.path))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setting() -> Setting {
        Setting {
            directory: PathBuf::from("/d"),
            ssh: vec!["ssh".into()],
            stop: Arc::default(),
            silence: Duration::from_secs(15),
            listen: None,
            machines: vm::Machines::default(),
            kube: KubeOptions::default(),
            say: Say::default(),
        }
    }

    fn names(words: &str, hosts: &[Host]) -> Result<Vec<String>, String> {
        let launcher = launcher(words, hosts, &setting()).map_err(|bad| bad.to_string())?;
        let places = launcher.places(&Workload::default());
        Ok(places.into_iter().map(|place| place.host.name).collect())
    }

    #[test]
    fn words_choose_a_launcher() {
        assert_eq!(names("local:3", &[]).expect("three"), ["w1", "w2", "w3"]);
        assert_eq!(names("local", &[]).expect("one"), ["w1"]);
        let named = [Host::new("db1"), Host::new("db2")];
        assert_eq!(names("local", &named).expect("as named"), ["db1", "db2"]);
        assert_eq!(names("ssh:db1,me@db2:/srv/x", &[]).expect("two"), ["db1", "db2"]);
        assert_eq!(names("ssh", &named).expect("as named"), ["db1", "db2"]);
    }

    #[test]
    fn what_is_wrong_is_said_with_what_is_possible() {
        let named = [Host::new("db1"), Host::new("db2")];
        let cases: [(&str, &[Host], &str); 24] = [
            (
                "nomad:4",
                &[],
                "available: local[:N], ssh[:HOST,..|@FILE], slurm[:N], vm:N, kube:N[,OPTION=VALUE..], attach[:N]",
            ),
            ("vm", &[], "how many machines? vm:N"),
            ("vm:0", &[], "a number of machines from 1 to 4000"),
            ("vm:2", &named, "made for the run"),
            ("vm:2", &[], "which image? 'assay vm build"),
            ("kube", &[], "how many workers? kube:N"),
            ("kube:0,size=1Gi", &[], "'0' is not a number of workers from 1 to 4000"),
            ("kube:2,clas=x", &[], "no option of kube"),
            ("kube:2", &named, "pods are named by Kubernetes"),
            ("slurm", &[], "how many nodes? slurm:N"),
            ("slurm:0", &[], "a number of nodes from 1 to 4000"),
            ("slurm:2", &named, "the nodes are chosen by Slurm"),
            ("local:0", &[], "from 1 to 4000"),
            ("local:x", &[], "from 1 to 4000"),
            ("local:3", &named, "the plan names 2 hosts"),
            ("ssh", &[], "no hosts"),
            ("ssh:db1,db1", &[], "twice"),
            ("ssh:", &[], "no hosts"),
            ("ssh:-oProxyCommand=x", &[], "begins with '-'"),
            ("ssh:[-oProxyCommand=x]", &[], "begins with '-'"),
            ("ssh:-oProxyCommand=x@db1", &[], "begins with '-'"),
            ("ssh:me@-oProxyCommand=x", &[], "begins with '-'"),
            ("ssh:db1\u{1b}[2J", &[], "'db1\\u{1b}[2J': it holds a control character"),
            ("ssh:@/nowhere/at/all", &[], "/nowhere/at/all"),
        ];
        for (words, hosts, expected) in cases {
            let why = names(words, hosts).expect_err(words);
            assert!(why.starts_with(&format!("--on {words}: ")) && why.contains(expected), "{why}");
        }
    }

    #[test]
    fn a_plan_and_a_file_cannot_give_ssh_an_option() {
        let option = "-oProxyCommand=touch /tmp/x";
        let system = Host { system: Some(option.to_owned()), ..Host::new("db1") };
        let user = Host { user: Some(option.to_owned()), ..Host::new("db1") };
        for host in [system, user, Host::new(option)] {
            let why = names("ssh", &[host]).expect_err("no host");
            assert!(why.contains("begins with '-'") && why.contains("touch"), "{why}");
        }
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(&file, "db1\n\n-oProxyCommand=x\n").expect("written");
        let path = file.path().to_str().expect("text");
        let why = names(&format!("ssh:@{path}"), &[]).expect_err("no host");
        assert!(why.contains(&format!("{path}:3: '-oProxyCommand=x'")), "{why}");
    }

    #[test]
    fn workers_of_one_machine_have_files_of_their_own() {
        let target = |name: &str, path: &str| Target {
            name: name.to_owned(),
            path: path.to_owned(),
            kind: None,
            size: None,
        };
        let paths = own_paths(&[target("a", "data.bin"), target("b", "/dev/sdx")], 2);
        assert_eq!(paths, BTreeMap::from([("a".to_owned(), "data.bin.2".to_owned())]));
    }
}
