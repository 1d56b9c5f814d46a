//! `--on slurm`: a cluster of Debian's Slurm, all of whose nodes are this machine.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::bounded::{Bounded as _, Started};
use crate::skip;
use crate::world::{World, entries, json, path_text, wait_for};

const NODES: usize = 3;

/// A cluster; it goes with the value.
struct Cluster {
    config: PathBuf,
    _daemons: Vec<Started>,
}

/// A port of the loopback that nobody has.
fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address").port()
}

fn daemon(program: &str, words: &[&str], config: &Path, log: &Path) -> Option<Started> {
    let log = fs::File::create(log).expect("a log");
    let mut command = Command::new(program);
    command.args(words).env("SLURM_CONF", config).stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
    command.start().ok()
}

impl Cluster {
    /// Nodes that share this machine, each with a host name of its own. `None`, and a declared skip, where it cannot be.
    fn start(world: &World) -> Option<Self> {
        if !crate::world::is_root() {
            skip::declare("root", "a cluster of several host names takes a user that may unshare them");
            return None;
        }
        let at = world.path().join("cluster");
        for directory in ["state", "spool", "log"] {
            fs::create_dir_all(at.join(directory)).expect("directories");
        }
        let (config, key, place) = (at.join("slurm.conf"), at.join("key"), path_text(&at));
        fs::write(&key, [7_u8; 1024]).expect("written");
        fs::set_permissions(&key, std::os::unix::fs::PermissionsExt::from_mode(0o400)).expect("permissions");
        fs::write(&config, settings(place)).expect("written");
        let socket = format!("--socket={place}/munge");
        let munge = [
            "--foreground",
            "--force",
            &format!("--key-file={place}/key"),
            &socket,
            &format!("--pid-file={place}/munge.pid"),
            &format!("--seed-file={place}/seed"),
        ];
        let mut daemons = vec![daemon("munged", &munge, &config, &at.join("log/munged"))];
        wait_for("munged", || at.join("munge").exists() || daemons[0].is_none());
        daemons.push(daemon("slurmctld", &["-D"], &config, &at.join("log/slurmctld")));
        for node in 1..=NODES {
            let named = format!("hostname node{node} && exec slurmd -D -N node{node}");
            daemons.push(daemon("unshare", &["--uts", "sh", "-c", &named], &config, &at.join("log/slurmd")));
        }
        let Some(daemons) = daemons.into_iter().collect::<Option<Vec<Started>>>() else {
            skip::declare("slurm", "munged, slurmctld or unshare is not there");
            return None;
        };
        let cluster = Cluster { config, _daemons: daemons };
        wait_for("idle nodes", || {
            cluster.asked("sinfo", &["-h", "-o", "%D", "-t", "idle"]) == NODES.to_string()
        });
        Some(cluster)
    }

    fn asked(&self, program: &str, words: &[&str]) -> String {
        let mut command = Command::new(program);
        let output = command.args(words).env("SLURM_CONF", &self.config).output_in_time();
        output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned()).unwrap_or_default()
    }

    /// The jobs that wait or run.
    fn queue(&self) -> String {
        self.asked("squeue", &["-h"])
    }
}

fn settings(place: &str) -> String {
    let host = fs::read_to_string("/proc/sys/kernel/hostname").expect("a host name");
    let host = host.trim().split('.').next().unwrap_or_default().to_owned();
    let nodes = (1..=NODES).map(|node| {
        let port = free_port();
        format!("NodeName=node{node} NodeHostname=node{node} NodeAddr=127.0.0.1 Port={port} CPUs=4 RealMemory=500\n")
    });
    format!(
        "ClusterName=test\nSlurmctldHost={host}(127.0.0.1)\nSlurmctldPort={}\nSlurmUser=root\nSlurmdUser=root\n\
         AuthInfo=socket={place}/munge\nStateSaveLocation={place}/state\nSlurmdSpoolDir={place}/spool/%n\n\
         SlurmctldPidFile={place}/slurmctld.pid\nSlurmdPidFile={place}/slurmd-%n.pid\n\
         ProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\nSelectType=select/cons_tres\n\
         SelectTypeParameters=CR_CPU\nSlurmdParameters=config_overrides\nReturnToService=2\nKillWait=2\n{}\
         PartitionName=main Nodes=node[1-{NODES}] Default=YES State=UP\n",
        free_port(),
        nodes.collect::<String>()
    )
}

fn plan(world: &World, length: &str) {
    let text = format!(
        "[[target]]\nname = \"data\"\npath = \"data.bin\"\nsize = \"4m\"\n[[job]]\nname = \"load\"\ntargets = [\"data\"]\n\
         op = \"read\"\nblock_size = \"4k\"\npattern = \"random\"\nengine = \"psync\"\ncaching = \"buffered\"\n{length}\n"
    );
    fs::write(world.path().join("plan.toml"), text).expect("written");
}

#[test]
fn nodes_of_a_cluster_make_one_run_and_are_given_back() {
    let world = World::new();
    let Some(cluster) = Cluster::start(&world) else { return };
    let data = world.data();
    let assay = |words: &[&str]| {
        let words = [&["run", "plan.toml", "--target", path_text(&data)], words].concat();
        let mut command = world.command(&words);
        command.env("SLURM_CONF", &cluster.config);
        command
    };
    plan(&world, "ios = 1000");
    let output =
        assay(&["--on", "slurm:2", "--json", "--watch", "counters"]).output_in_time().expect("ended");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let run = json(&String::from_utf8_lossy(&output.stdout));
    let names: Vec<&str> =
        run["hosts"].as_array().expect("hosts").iter().filter_map(|host| host["name"].as_str()).collect();
    assert_eq!(names, ["node1", "node2"]);
    assert_eq!(run["phases"][0]["jobs"][0]["total"]["ios"], 2000);
    let files: Vec<PathBuf> = ["data.bin.1", "data.bin.2"].map(|name| data.join(name)).into();
    assert_eq!(entries(&data), files, "each has a file of its own: nodes share file systems");
    assert_eq!(cluster.queue(), "");

    // What Slurm does not grant is told in its words.
    let mut refused = assay(&["--on", "slurm:2"]);
    let output = refused.env("SALLOC_PARTITION", "other").output_in_time().expect("ended");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("no allocation of 2 nodes") && said.contains("invalid partition"), "{said}");
    assert_eq!(cluster.queue(), "");

    // Within an allocation its nodes are used, and it stays.
    let own = [
        "-N3",
        "sh",
        "-c",
        "\"$0\" \"$@\" && squeue -h -j $SLURM_JOB_ID -o %T",
        env!("CARGO_BIN_EXE_assay"),
        "run",
        "plan.toml",
        "--target",
        path_text(&data),
        "--on",
        "slurm",
        "--json",
        "--watch",
        "counters",
    ];
    let like = assay(&[]);
    let mut salloc = Command::new("salloc");
    salloc.args(own).current_dir(like.get_current_dir().expect("a directory"));
    salloc.envs(like.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let output = salloc.output_in_time().expect("ended");
    let out = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && out.trim_end().ends_with("RUNNING"), "{out}{output:?}");
    assert!(out.contains("\"node3\""), "{out}");

    // A coordinator that is killed leaves no job behind, and no load.
    plan(&world, "runtime = \"300s\"");
    let mut command = assay(&["--on", "slurm:3", "--watch", "nothing"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).start().expect("started");
    wait_for("a job that runs", || {
        cluster.asked("squeue", &["-h", "-o", "%T", "-s"]).lines().count() >= NODES
    });
    child.kill();
    let _ = child.wait();
    wait_for("an empty queue", || cluster.queue().is_empty());
}
