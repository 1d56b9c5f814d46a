//! `assay kube` on a real cluster of one node, which is started once, and taken down behind the tests. What one node cannot show (workers spread over
//! nodes, caches dropped on several) is tried against recorded objects beside the code.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::bounded::Bounded as _;
use crate::skip;
use crate::world::{Said, World, entries, json, path_text};

/// The namespace of the tests, and the account that has the printed Role and no more.
const NAMESPACE: &str = "bench";
const ACCOUNT: &str = "runner";

/// A cluster; it goes with the value.
struct Lab {
    scripts: PathBuf,
    state: PathBuf,
    kubectl: PathBuf,
}

impl Drop for Lab {
    fn drop(&mut self) {
        let mut down = Command::new(self.scripts.join("down.sh"));
        let _ = down.arg(&self.state).stdout(Stdio::null()).stderr(Stdio::null()).output_in_time();
    }
}

impl Lab {
    /// `None`, and a declared skip, where there is no cluster to start.
    fn start() -> Option<Self> {
        let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/k8s");
        let scripts = std::env::var_os("ASSAY_KUBE_LAB").map_or(beside, PathBuf::from);
        if !scripts.join("up.sh").exists() {
            skip::declare(
                "kubernetes",
                "no cluster to start: ../shared/k8s/up.sh is not there, and ASSAY_KUBE_LAB names none",
            );
            return None;
        }
        if !crate::world::is_root() {
            skip::declare("root", "a cluster takes a user that may start containers");
            return None;
        }
        let state = std::env::temp_dir().join(format!("assay-k8s-{}", std::process::id()));
        let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
        let cache = cache.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache")));
        let lab = Lab { scripts, kubectl: cache?.join("kubelab/kubelab"), state };
        let mut up = Command::new(lab.scripts.join("up.sh"));
        let output = up.arg(&lab.state).output_in_time().expect("up.sh");
        assert!(output.status.success(), "up.sh: {}", String::from_utf8_lossy(&output.stderr));
        Some(lab)
    }

    /// As the administrator.
    fn admin(&self) -> PathBuf {
        self.state.join("kubeconfig")
    }

    fn kubectl(&self, words: &[&str]) -> String {
        let output = self.try_kubectl(words);
        assert!(output.status.success(), "kubectl {words:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("UTF-8")
    }

    fn try_kubectl(&self, words: &[&str]) -> std::process::Output {
        let mut command = Command::new(&self.kubectl);
        command.arg("kubectl").args(words).env("KUBECONFIG", self.admin());
        command.output_in_time().expect("kubectl")
    }

    fn apply(&self, world: &World, text: &str) {
        let path = world.path().join("objects.yaml");
        fs::write(&path, text).expect("written");
        self.kubectl(&["apply", "-f", path_text(&path)]);
    }

    /// Objects of ours that are in the namespace.
    fn left(&self) -> String {
        let kinds = "statefulsets,daemonsets,jobs,pods,pvc,configmaps";
        self.kubectl(&[
            "get",
            kinds,
            "-n",
            NAMESPACE,
            "-l",
            "app.kubernetes.io/managed-by=assay",
            "-o",
            "name",
        ])
    }
}

/// The program under the account that has the printed Role.
struct User<'l> {
    lab: &'l Lab,
    world: World,
}

impl User<'_> {
    fn config(&self) -> PathBuf {
        self.world.path().join("kubeconfig")
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = self.world.command(words);
        command.env("KUBECONFIG", self.config());
        command
    }

    fn assay(&self, words: &[&str]) -> Said {
        Said::of(self.command(words).output_in_time().expect("the program starts"))
    }

    fn plan(&self, name: &str, path: &str, seconds: u32) {
        let text = format!(
            "[[target]]\nname = \"data\"\npath = \"{path}\"\nsize = \"16m\"\n[[job]]\nname = \"load\"\ntargets = [\"data\"]\nop = \"write\"\n\
             block_size = \"64k\"\npattern = \"random\"\nengine = \"psync\"\ncaching = \"buffered\"\nruntime = \"{seconds}s\"\n"
        );
        fs::write(self.world.path().join(name), text).expect("written");
    }

    /// Takes the kubeconfig of the administrator with a token of the account in place of the certificate.
    fn log_in(&self) {
        let token = self.lab.kubectl(&["create", "token", ACCOUNT, "-n", NAMESPACE]);
        let mut config: Value = json(&self.lab.kubectl(&["config", "view", "--raw", "-o", "json"]));
        config["users"][0]["user"] = serde_json::json!({ "token": token.trim() });
        config["contexts"][0]["context"]["namespace"] = NAMESPACE.into();
        fs::write(self.config(), config.to_string()).expect("written");
    }
}

const SMALL: [&str; 4] = ["--pvc-size", "64Mi", "--pull", "Never"];

#[test]
fn a_cluster_is_measured_and_left_as_it_was() {
    let Some(lab) = Lab::start() else { return };
    let user = User { lab: &lab, world: World::new() };
    let image = user.world.path().join("image.tar");
    user.world.assay(&["kube", "image", "--save", path_text(&image)]).ended(0);
    let mut load = Command::new(lab.scripts.join("load-image.sh"));
    let loaded = load.arg(&lab.state).arg(&image).output_in_time().expect("load-image.sh");
    assert!(loaded.status.success(), "{}", String::from_utf8_lossy(&loaded.stderr));
    let _ = fs::remove_file(&image);
    lab.kubectl(&["create", "namespace", NAMESPACE]);
    let role = user
        .world
        .assay(&[
            "kube",
            "rbac",
            "-n",
            NAMESPACE,
            "--account",
            ACCOUNT,
            "--drop-caches",
            "--facts",
            "--in-cluster",
            "--pod-network",
        ])
        .ended(0);
    lab.apply(&user.world, &role.out);
    user.log_in();

    fiorand_measures_both_workers(&user);
    block_volumes_are_measured(&user);
    a_pod_that_is_deleted_is_lost_by_name(&user);
    what_cannot_run_says_why(&user);
    what_is_kept_is_removed_by_one_command(&user);
    a_coordinator_in_the_cluster_outlives_its_user(&user);
    workers_come_over_the_pod_network_where_that_is_asked_for(&user);
    a_missing_verb_is_named(&user, &role.out);
}

/// Everything that listens in the pods of the workers, by their network namespaces: only the loopback.
fn listening(command: &str) -> Vec<String> {
    let mut found = Vec::new();
    for process in entries(Path::new("/proc")) {
        let line = fs::read(process.join("cmdline")).unwrap_or_default();
        if !String::from_utf8_lossy(&line).contains(command) {
            continue;
        }
        for table in ["net/tcp", "net/tcp6"] {
            let text = fs::read_to_string(process.join(table)).unwrap_or_default();
            let listens = text.lines().filter(|line| line.split_whitespace().nth(3) == Some("0A"));
            found.extend(listens.filter_map(|line| line.split_whitespace().nth(1)).map(str::to_owned));
        }
    }
    found
}

fn fiorand_measures_both_workers(user: &User<'_>) {
    let words = [
        &[
            "kube",
            "fiorand",
            "--json",
            "--directory",
            ".",
            "-e",
            "bench_fiorand_ninstances=2",
            "-e",
            "bench_fiorand_fsz_gb=0.02",
        ][..],
        &[
            "-e",
            "bench_fiorand_run_sec=2",
            "-e",
            "bench_fiorand_iodepth=4",
            "-e",
            "dopcaches_postprepare=True",
        ],
        &["-e", "allow_osrootpods=True", "--id", "both"],
        &SMALL,
    ]
    .concat();
    let mut command = user.command(&words);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).start().expect("started");
    let until = Instant::now() + Duration::from_secs(60);
    let mut seen = Vec::new();
    while seen.len() < 4 && Instant::now() < until {
        seen = listening("worker\0--loopback");
        std::thread::sleep(Duration::from_millis(100));
    }
    assert!(seen.len() >= 4 && seen.iter().all(|at| at.starts_with("0100007F:")), "{seen:?}");
    let said = Said::of(child.wait_with_output().expect("ended")).ended(0);
    let run = json(&said.out);
    let names: Vec<&str> =
        run["hosts"].as_array().expect("hosts").iter().filter_map(|host| host["name"].as_str()).collect();
    assert_eq!(names, ["assay-both-0", "assay-both-1"]);
    for (phase, operation) in [(1, "read"), (2, "write")] {
        let job = &run["phases"][phase]["jobs"][0];
        let own = job["workers"].as_array().map_or(0, Vec::len);
        assert!(job[operation]["ios"].as_u64().is_some_and(|ios| ios > 100), "{job} {own}");
    }
    let text = run.to_string();
    // The Role is enough for it: before each test the caches of the node were dropped, and the result says so.
    let remarks = run["remarks"].to_string();
    assert_eq!(remarks.matches("page cache of node node1 dropped").count(), 2, "{remarks}");
    assert!(!text.contains("cache-drop-failed") && text.contains("2 workers share 1 nodes"), "{text}");
    assert!(text.contains("storage class local: kubelab/local"), "{text}");
    assert!(!text.contains("unwritten-reads"), "the files have no holes");
    output_is_as_kubuculum_names_it(user, &run);
    assert_eq!(user.lab.left(), "");
}

fn output_is_as_kubuculum_names_it(user: &User<'_>, run: &Value) {
    let all = entries(user.world.path());
    let base = all
        .iter()
        .find(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("run_2")));
    let base = base.expect("run_DATE_EPOCH");
    for name in [
        "out.get_envinfo.txt",
        "run.json",
        "report.html",
        "server_fio/fioserver_statefulset.yaml",
        "server_fio/assay-both-0/ls_l.txt",
        "server_fio/assay-both-1/df_h.txt",
        "server_fio/assay-both-1/mount.txt",
        "bench_fiorand/prepare_fio-both/fio.initwrite.run.txt",
        "bench_fiorand/fio-both/jobfile.fiorandread",
        "bench_fiorand/fio-both/fio.randwrite.run.txt",
        "bench_fiorand/fio-both/benchmark.run.completed.txt",
        "os_rootpods/command.log.txt",
    ] {
        assert!(fs::metadata(base.join(name)).is_ok_and(|meta| meta.len() > 0), "{name}");
    }
    let text =
        fs::read_to_string(base.join("bench_fiorand/fio-both/fio.randread.run.txt")).expect("fio's text");
    let mut lines = text.lines().skip_while(|line| !line.contains("All clients"));
    // What `grep -A 1 "All clients"` shows.
    let (head, figures) = (lines.next().expect("All clients"), lines.next().expect("a line behind it"));
    assert!(head.starts_with("All clients: (groupid=0, jobs="), "{head}");
    assert!(figures.trim_start().starts_with("read: IOPS="), "{figures}");
    assert_eq!(text.matches("issued rwts: total=").count(), 3, "each of two workers, and all: {text}");
    let totals: Vec<u64> = text
        .lines()
        .filter_map(|line| line.split("issued rwts: total=").nth(1)?.split(',').next()?.parse().ok())
        .collect();
    let (all, each) = totals.split_last().expect("totals");
    assert_eq!(*all, each.iter().sum::<u64>());
    // The run's totals are those of the time in which both measured.
    let measured = run["phases"][1]["jobs"][0]["read"]["ios"].as_u64().expect("a count");
    assert!(measured <= *all && measured > all - all / 5, "{measured} of {all}");
    let listed = fs::read_to_string(base.join("server_fio/assay-both-0/ls_l.txt")).expect("a listing");
    assert!(listed.contains("f.0.0") && listed.contains("f.1.0"), "{listed}");
}

fn block_volumes_are_measured(user: &User<'_>) {
    user.plan("block.toml", "volume", 1);
    let words =
        [&["kube", "run", "block.toml", "--workers", "2", "--mode", "block", "--json"][..], &SMALL].concat();
    let text = fs::read_to_string(user.world.path().join("block.toml"))
        .expect("a plan")
        .replace("size = \"16m\"\n", "");
    fs::write(user.world.path().join("block.toml"), text).expect("written");
    let run = json(&user.assay(&words).ended(0).out);
    let targets = run["plan"]["targets"].as_array().expect("targets");
    assert_eq!(targets.len(), 2);
    assert!(
        targets.iter().all(|target| target["path"] == "/assay/block0" && target["kind"] == "block_device"),
        "{targets:?}"
    );
    assert!(run["phases"][0]["jobs"][0]["write"]["ios"].as_u64().is_some_and(|ios| ios > 10));
    assert_eq!(user.lab.left(), "");
}

fn a_pod_that_is_deleted_is_lost_by_name(user: &User<'_>) {
    user.plan("long.toml", "data.bin", 60);
    let words = [&["kube", "run", "long.toml", "--workers", "2", "--id", "torn"][..], &SMALL].concat();
    let mut command = user.command(&words);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).start().expect("started");
    let until = Instant::now() + Duration::from_secs(60);
    let series = || {
        let runs = user.world.run_directories().into_iter().map(|run| run.join("series.bin"));
        runs.filter(|path| fs::metadata(path).is_ok_and(|meta| meta.len() > 2048)).count()
    };
    let before = series();
    while series() == before && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(100));
    }
    user.lab.kubectl(&[
        "delete",
        "pod",
        "assay-torn-1",
        "-n",
        NAMESPACE,
        "--grace-period=0",
        "--force",
        "--wait=false",
    ]);
    let said = Said::of(child.wait_with_output().expect("ended")).ended(5);
    let all = format!("{}{}", said.out, said.err);
    assert!(all.contains("lost-worker") && all.contains("lost: assay-torn-1"), "{all}");
    assert_eq!(user.lab.left(), "");
}

fn what_cannot_run_says_why(user: &User<'_>) {
    user.plan("short.toml", "data.bin", 1);
    let run = |more: &[&str]| {
        user.assay(&[&["kube", "run", "short.toml", "--pvc-size", "64Mi"][..], more].concat()).ended(1).err
    };
    let said = run(&["--workers", "2", "--cpu", "1000", "--pod-wait", "3s", "--pull", "Never"]);
    assert!(said.contains("0 of 2 pods run after") && said.contains("Insufficient cpu"), "{said}");
    let said = run(&["--image", "localhost/nothing:1", "--pull", "Never", "--pod-wait", "20s"]);
    assert!(said.contains("ErrImageNeverPull"), "{said}");
    let said = run(&["--storage-class", "nowhere", "--pod-wait", "3s", "--pull", "Never"]);
    assert!(said.contains("nowhere"), "{said}");
    assert_eq!(user.lab.left(), "");
    let said = user.assay(&["kube", "check", "--storage-class", "nowhere"]).ended(1);
    assert!(
        said.err.contains("storage class nowhere") && said.out.contains("available: "),
        "{}{}",
        said.out,
        said.err
    );
    // What was asked for is not what the pods have.
    let said = user.assay(&["run", "short.toml", "--on", "kube:1,mode=raw"]).ended(2).err;
    assert!(said.contains("possible: filesystem, block"), "{said}");
}

fn what_is_kept_is_removed_by_one_command(user: &User<'_>) {
    let words =
        [&["run", "short.toml", "--on", "kube:1,keep,id=held,size=64Mi,pull=Never", "--json"][..]].concat();
    user.assay(&words).ended(0);
    assert!(user.lab.left().contains("statefulset.apps/assay-held"), "{}", user.lab.left());
    let said = user.assay(&["kube", "cleanup", "--run", "other"]).ended(2).err;
    assert!(said.contains("there: held"), "{said}");
    let said = user.assay(&["kube", "cleanup", "--run", "held"]).ended(0).out;
    assert!(
        said.contains("removed StatefulSet assay-held")
            && said.contains("PersistentVolumeClaim data0-assay-held-0"),
        "{said}"
    );
    assert_eq!(user.lab.left(), "");
}

fn a_coordinator_in_the_cluster_outlives_its_user(user: &User<'_>) {
    user.plan("far.toml", "data.bin", 6);
    let words =
        [
            &[
                "kube",
                "run",
                "far.toml",
                "--workers",
                "2",
                "--in-cluster",
                "--account",
                ACCOUNT,
                "--id",
                "far",
            ][..],
            &SMALL,
        ]
        .concat();
    let mut command = user.command(&words);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).start().expect("started");
    let until = Instant::now() + Duration::from_secs(60);
    while !user.lab.left().contains("pod/assay-far-w-1") && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(200));
    }
    child.kill();
    let said = user.assay(&["kube", "collect", "far", "--json"]).ended(0);
    assert!(said.err.contains("run far-w: 2 workers"), "all that was said is said again: {}", said.err);
    let run = json(&said.out);
    let names: Vec<&str> =
        run["hosts"].as_array().expect("hosts").iter().filter_map(|host| host["name"].as_str()).collect();
    assert_eq!(names, ["assay-far-w-0", "assay-far-w-1"]);
    assert!(run["phases"][0]["jobs"][0]["write"]["ios"].as_u64().is_some_and(|ios| ios > 10));
    assert_eq!(user.lab.left(), "", "neither workers nor the coordinator");
    // It is stored here now, and not there.
    let said = user.assay(&["kube", "collect", "far"]).ended(1).err;
    assert!(said.contains("a coordinator of run 'far' is not there"), "{said}");
}

fn workers_come_over_the_pod_network_where_that_is_asked_for(user: &User<'_>) {
    let words = [
        &[
            "kube",
            "run",
            "short.toml",
            "--workers",
            "2",
            "--in-cluster",
            "--pod-network",
            "--account",
            ACCOUNT,
        ][..],
        &["--id", "near", "--json"],
        &SMALL,
    ]
    .concat();
    let mut command = user.command(&words);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).start().expect("started");
    let until = Instant::now() + Duration::from_secs(60);
    while !user.lab.left().contains("pod/assay-near-w-1") && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(200));
    }
    assert!(listening("worker\0--name=").is_empty(), "workers open no port");
    let said = Said::of(child.wait_with_output().expect("ended")).ended(0);
    let run = json(&said.out);
    assert!(said.err.contains(":7413 was open"), "{}", said.err);
    assert!(run["remarks"].to_string().contains("over the pod network by mutual TLS"), "{}", run["remarks"]);
    let names: Vec<&str> =
        run["hosts"].as_array().expect("hosts").iter().filter_map(|host| host["name"].as_str()).collect();
    assert_eq!(names, ["assay-near-w-0", "assay-near-w-1"]);
    let job = &run["phases"][0]["jobs"][0];
    assert!(job["write"]["ios"].as_u64().is_some_and(|ios| ios > 10), "{job}");
    assert_eq!(user.lab.left(), "");
    let outside = [&["kube", "run", "short.toml", "--pod-network"][..], &SMALL].concat();
    let said = user.assay(&outside).ended(2).err;
    assert!(said.contains("--pod-network goes with --in-cluster"), "{said}");
}

/// The Role without each of its verbs in turn: the run does not begin, and says which.
fn a_missing_verb_is_named(user: &User<'_>, role: &str) {
    let mut whole = json(&user.lab.kubectl(&["get", "role", "assay", "-n", NAMESPACE, "-o", "json"]));
    // Without the version that it has there, it replaces whatever is there.
    whole["metadata"] = serde_json::json!({ "name": "assay", "namespace": NAMESPACE });
    assert!(role.contains("pods/portforward"));
    let rules = whole["rules"].as_array().expect("rules").clone();
    let mut tried = 0;
    for (index, rule) in rules.iter().enumerate() {
        let verbs = rule["verbs"].as_array().expect("verbs");
        for verb in verbs.iter().filter_map(Value::as_str) {
            let resource = rule["resources"][0].as_str().expect("a resource");
            if matches!(resource, "daemonsets" | "jobs" | "secrets") {
                // Only runs that drop caches or are coordinated in the cluster need it.
                continue;
            }
            let mut less = whole.clone();
            if verbs.len() == 1 {
                // A rule without a verb is none.
                less["rules"].as_array_mut().expect("rules").remove(index);
            } else {
                less["rules"][index]["verbs"] =
                    verbs.iter().filter(|other| other.as_str() != Some(verb)).cloned().collect();
            }
            user.lab.apply(&user.world, &less.to_string());
            let expected = format!("{verb} {resource}");
            let words = [&["kube", "run", "short.toml", "--id", "less"][..], &SMALL].concat();
            let until = Instant::now() + Duration::from_secs(10);
            // The API server takes a moment to know it.
            let said = loop {
                let said = user.assay(&words);
                if said.code == Some(1) || Instant::now() > until {
                    break said.ended(1).err;
                }
            };
            assert!(said.contains(&expected) && said.contains("assay kube rbac"), "{expected}: {said}");
            tried += 1;
        }
    }
    assert_eq!(tried, 14);
    user.lab.apply(&user.world, &whole.to_string());
    assert_eq!(user.lab.left(), "");
}
