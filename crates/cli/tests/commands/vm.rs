//! `assay vm`: an image is built twice, boots once, measures on its data disk, and hands its results out, also over HTTP; a fleet of machines under
//! libvirt starts, measures, and is gone afterwards. Processors are emulated: nothing here is a measurement.

use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::bounded::Bounded as _;
use crate::skip;
use crate::world::{Said, World, json, path_text};

const CAPABILITY: &str = "vm-image";
const TOOLS: &[&str] = &["qemu-system-x86_64", "qemu-img", "grub-mkimage", "apt-get", "dpkg-deb", "xmllint"];
/// An image is built in seconds and boots in less than a minute, where the machine has nothing else to do.
const BUILD_WITHIN: Duration = Duration::from_secs(300);
const BOOT_WITHIN: Duration = Duration::from_secs(400);

/// A program of the PATH, or one that scripts/prepare.sh built for the tests.
fn tool(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let built = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/tools");
    let directories = std::env::split_paths(&path).chain([built]);
    directories.map(|directory| directory.join(program)).find(|path| path.is_file())
}

fn is_there(program: &str) -> bool {
    tool(program).is_some()
}

/// A port of the loopback that is free.
fn free_port() -> u16 {
    let bound = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|socket| socket.local_addr());
    bound.expect("a port").port()
}

/// Whether images can be built and booted here; else a declared skip.
fn can_build() -> bool {
    let missing: Vec<&str> = TOOLS.iter().copied().filter(|tool| !is_there(tool)).collect();
    let grub = ["i386-pc/boot.img", "x86_64-efi/kernel.img"];
    let grub = grub.iter().all(|file| Path::new("/usr/lib/grub").join(file).exists());
    if missing.is_empty() && grub {
        return true;
    }
    skip::declare(CAPABILITY, &format!("missing: {} {}", missing.join(" "), if grub { "" } else { "GRUB" }));
    false
}

/// Runs a command to its end within some time.
fn ended(mut command: Command, within: Duration) -> Said {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("started");
    let (out, err) = (child.stdout.take().expect("stdout"), child.stderr.take().expect("stderr"));
    let reading = |stream: Box<dyn std::io::Read + Send>| {
        std::thread::spawn(move || std::io::read_to_string(stream).unwrap_or_default())
    };
    let (out, err) = (reading(Box::new(out)), reading(Box::new(err)));
    let until = Instant::now() + within;
    let status = loop {
        match child.try_wait().expect("waited for") {
            Some(status) => break status,
            None if Instant::now() > until => {
                child.kill().expect("killed");
                break child.wait().expect("collected");
            }
            None => std::thread::sleep(Duration::from_millis(100)),
        }
    };
    Said { code: status.code(), signal: None, out: out.join().expect("read"), err: err.join().expect("read") }
}

/// Packages are downloaded once for all tests of a checkout.
fn packages() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("vm-packages")
}

/// Where nothing is booted, any program will do, and a small one is packed much sooner.
const SMALL: &[&str] = &["--program", "/bin/true"];

fn build(world: &World, directory: &str, formats: &str, program: &[&str]) -> Said {
    let (at, lock, kept) = (world.path().join(directory), world.path().join("vm.lock.toml"), packages());
    let words = ["vm", "build", path_text(&at), "--format", formats, "--packages", path_text(&kept)];
    let more = ["--lock", path_text(&lock), "--update-lock", "--system-size", "2g", "--data-size", "8g"];
    ended(world.command(&[&words[..], &more, program].concat()), BUILD_WITHIN)
}

fn same(one: &Path, other: &Path) -> bool {
    fs::read(one).expect("a file") == fs::read(other).expect("a file")
}

#[test]
fn an_image_is_built_alike_twice_boots_and_hands_its_results_out() {
    if !can_build() {
        return;
    }
    let world = World::new();
    build(&world, "one", "qcow2,ova", &[]).ended(0);
    build(&world, "two", "qcow2,ova", &[]).ended(0);
    for name in ["assay-vm.qcow2", "assay-vm.ova"] {
        assert!(same(&world.path().join("one").join(name), &world.path().join("two").join(name)), "{name}");
    }
    let (image, data) = (world.path().join("one/assay-vm.qcow2"), world.path().join("data.raw"));
    let (config, results) = (world.path().join("config.raw"), world.path().join("results.tar"));
    File::create(&data).and_then(|file| file.set_len(1 << 30)).expect("a disk");
    world
        .assay(&["vm", "config", path_text(&config), "run=short", "out=http,virtio", "poweroff=yes"])
        .ended(0);
    let (port, said) = (free_port(), world.path().join("console"));
    let client = std::thread::spawn(move || over_network(&said, port));
    let console = boot(&world, &[&image, &data, &config], &results, port);
    let copied = client.join().expect("a client");
    let archive = fs::read(&results).unwrap_or_default();
    assert!(archive.len() > 10_000, "no results came out: {console}");
    assert!(
        copied == archive,
        "{} bytes over the network instead of {}: {console}",
        copied.len(),
        archive.len()
    );
    assert!(console.contains("results were copied to 10.0.2.2"), "{console}");
    assert!(console.contains("the network is off"), "{console}");
    let unpacked = world.path().join("out");
    fs::create_dir(&unpacked).expect("a directory");
    let tar =
        Command::new("tar").args(["-xf", path_text(&results), "-C", path_text(&unpacked)]).output_in_time();
    assert!(tar.expect("tar").status.success(), "{console}");
    let sheet = fs::read_to_string(unpacked.join("SHEET.TXT")).expect("a sheet");
    for part in
        ["12717 IOPS", "199.57 MB/s", "2800 IOPS at 181 ms", "1013.577", "7845 NOPM", "comparable", "no: "]
    {
        assert!(sheet.contains(part), "{part} in {sheet}");
    }
    let entries = fs::read_dir(&unpacked).expect("files").flatten().map(|entry| entry.path());
    let runs: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|end| end == "tar")).collect();
    assert!(runs.len() >= 6, "four profiles, mail and OLTP: {runs:?}, {sheet}");
    for run in &runs {
        world.assay(&["import", path_text(run)]).ended(0);
    }
    let checked = json(&world.assay(&["check", "last", "--json"]).ended(0).out);
    assert!(checked["environment"]["machine"]["suite"].is_string(), "the suite is in the result");
    assert!(checked["findings"].to_string().contains("software-emulation"), "{}", checked["findings"]);
}

/// What a client of a machine that offers results gets, who is refused without the token on the console.
fn over_network(console: &Path, port: u16) -> Vec<u8> {
    let until = Instant::now() + BOOT_WITHIN;
    let token = loop {
        let text = String::from_utf8_lossy(&fs::read(console).unwrap_or_default()).into_owned();
        if let Some((_, rest)) = text.split_once("token: ")
            && let Some((token, _)) = rest.split_once(' ')
        {
            break token.to_owned();
        }
        if Instant::now() > until {
            return Vec::new();
        }
        std::thread::sleep(Duration::from_millis(100));
    };
    let ask = |words: &str, token: &str| {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).expect("a connection");
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a limit");
        let request = format!("{words} HTTP/1.1\r\nHost: assay-vm\r\nAuthorization: Bearer {token}\r\n\r\n");
        stream.write_all(request.as_bytes()).expect("sent");
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).expect("an answer");
        let end = answer.windows(4).position(|four| four == b"\r\n\r\n").expect("a head") + 4;
        let body = answer.split_off(end);
        (String::from_utf8_lossy(&answer).into_owned(), body)
    };
    for (words, token, status) in [
        ("GET /results.tar", "", "401"),
        ("GET /results.tar", "0000000000000000", "401"),
        ("GET /", token.as_str(), "404"),
        ("POST /results.tar", &token, "405"),
    ] {
        let (head, body) = ask(words, token);
        assert!(head.starts_with(&format!("HTTP/1.1 {status}")), "{words}: {head}");
        assert_eq!(String::from_utf8_lossy(&body).lines().count(), 1, "{words}");
    }
    let (head, body) = ask("GET /results.tar", &token);
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    body
}

/// Boots a machine from the first disk, until it is off; its console. It reaches nothing, and is reached at a port of the loopback.
fn boot(world: &World, disks: &[&Path], results: &Path, port: u16) -> String {
    let console = world.path().join("console");
    let mut qemu = Command::new("qemu-system-x86_64");
    qemu.args(["-machine", "q35,accel=tcg", "-cpu", "max", "-m", "768", "-smp", "2", "-display", "none"]);
    let network = format!("user,id=n,restrict=on,hostfwd=tcp:127.0.0.1:{port}-:8477");
    qemu.args(["-netdev", &network, "-device", "virtio-net-pci,netdev=n,romfile="]);
    qemu.args(["-serial", &format!("file:{}", path_text(&console))]);
    for (index, disk) in disks.iter().enumerate() {
        let format = if index == 0 { "qcow2" } else { "raw" };
        qemu.args(["-drive", &format!("file={},format={format},if=virtio,cache=unsafe", path_text(disk))]);
    }
    qemu.args(["-device", "virtio-serial", "-chardev", &format!("file,id=r,path={}", path_text(results))]);
    qemu.args(["-device", "virtserialport,chardev=r,name=assay.results"]);
    let said = ended(qemu, BOOT_WITHIN);
    let text = String::from_utf8_lossy(&fs::read(&console).unwrap_or_default()).into_owned();
    let last: Vec<&str> = text.lines().rev().take(40).collect();
    let text: String = last.into_iter().rev().map(|line| format!("{line}\n")).collect();
    assert_eq!(said.code, Some(0), "the machine did not turn itself off: {} {text}", said.err);
    text
}

/// The descriptor of a package, written to a file.
fn descriptor(world: &World) -> PathBuf {
    let at = world.path().join("one");
    build(world, "one", "ova", SMALL).ended(0);
    let mut tar = Command::new("tar");
    let status = tar.args(["-xf", "assay-vm.ova", "assay.ovf", "assay.mf"]).current_dir(&at).output_in_time();
    assert!(status.expect("tar").status.success());
    at.join("assay.ovf")
}

/// The DMTF's schema is found where it is named: no package of a registry carries it.
#[test]
fn the_descriptor_follows_the_schema_and_a_broken_one_does_not() {
    let Some(schema) = std::env::var_os("ASSAY_OVF_SCHEMA").filter(|_| can_build()) else {
        skip::declare(
            "ovf-schema",
            "ASSAY_OVF_SCHEMA does not name dsp8023.xsd, with the CIM schemas beside it",
        );
        return;
    };
    let world = World::new();
    let file = descriptor(&world);
    let follows = |file: &Path| {
        let mut xmllint = Command::new("xmllint");
        xmllint.args(["--nonet", "--noout", "--schema"]).arg(&schema).arg(file);
        xmllint.output_in_time().expect("xmllint").status.success()
    };
    assert!(follows(&file));
    let text = fs::read_to_string(&file).expect("a descriptor");
    for (part, broken) in
        [("ovf:diskId=\"disk1\" ", ""), ("<References>", "<Referenced>"), ("VirtualQuantity", "Quantity")]
    {
        let other = world.path().join("broken.ovf");
        fs::write(&other, text.replace(part, broken)).expect("written");
        assert!(text.contains(part) && !follows(&other), "without {part}");
    }
}

/// Of govmomi, a simulator of vSphere and its client, which scripts/prepare.sh builds.
#[test]
fn a_package_is_imported_into_the_simulator_of_vsphere_and_a_broken_one_is_not() {
    let (Some(vcsim), Some(govc)) = (tool("vcsim"), tool("govc")) else {
        skip::declare("vcsim", "no vcsim and govc (scripts/prepare.sh test builds them where there is Go)");
        return;
    };
    if !can_build() {
        return;
    }
    let world = World::new();
    build(&world, "one", "ova", SMALL).ended(0);
    let address = format!("127.0.0.1:{}", free_port());
    let mut vcsim = Command::new(vcsim);
    let mut vcsim =
        vcsim.args(["-l", &address]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("vcsim");
    let govc = |words: &[&str]| {
        let mut command = Command::new(&govc);
        command
            .args(words)
            .env("GOVC_URL", format!("https://user:pass@{address}/sdk"))
            .env("GOVC_INSECURE", "1");
        command
            .env("GOVC_DATASTORE", "LocalDS_0")
            .env("GOVC_RESOURCE_POOL", "DC0_C0/Resources")
            .env("GOVC_NETWORK", "VM Network");
        ended(command, Duration::from_secs(60))
    };
    let until = Instant::now() + Duration::from_secs(20);
    while govc(&["about"]).code != Some(0) && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(200));
    }
    let at = world.path().join("one");
    let imported = govc(&["import.ova", "-name", "whole", path_text(&at.join("assay-vm.ova"))]);
    let shown = govc(&["vm.info", "whole"]);
    let unpacked = Command::new("tar").args(["-xf", "assay-vm.ova"]).current_dir(&at).output_in_time();
    assert!(unpacked.expect("tar").status.success());
    let text = fs::read_to_string(at.join("assay.ovf")).expect("a descriptor");
    let broken = [("<References>", "<Referenced>"), ("assay-disk2.vmdk", "none.vmdk"), (">17<", ">16<")];
    let refused = broken.map(|(part, other)| {
        let file = at.join("broken.ovf");
        fs::write(&file, text.replace(part, other)).expect("written");
        govc(&["import.ovf", "-name", "broken", path_text(&file)])
    });
    vcsim.kill().expect("ended");
    vcsim.wait().expect("collected");
    assert_eq!(imported.code, Some(0), "{}", imported.err);
    assert!(shown.out.contains("4096MB") && shown.out.contains("4 vCPU"), "{}", shown.out);
    for said in refused {
        assert_ne!(said.code, Some(0), "{}", said.out);
    }
}

#[test]
fn settings_and_names_that_cannot_be_are_refused_with_what_is_possible() {
    let world = World::new();
    let file = world.path().join("config.raw");
    let said = world.assay(&["vm", "config", path_text(&file), "run=everything"]).ended(2);
    assert!(said.err.contains("run is suite or short") && !file.exists(), "{}", said.err);
    let said = world.assay(&["vm", "manifests", "--image", "x", "--name", "Not_A_Name"]).ended(2);
    assert!(said.err.contains("--name Not_A_Name"), "{}", said.err);
    let said = world.assay(&["vm", "build", "x", "--lock", "/nowhere/lock"]).ended(2);
    assert!(said.err.contains("/nowhere/lock"), "{}", said.err);
    let said = world
        .assay(&["vm", "manifests", "--image", "r.example/vm", "--machines", "2", "--disks", "3"])
        .ended(0);
    assert_eq!(said.out.matches("\"kind\": \"VirtualMachine\"").count(), 2);
}

/// Where the laboratory with libvirt is.
fn laboratory() -> Option<PathBuf> {
    let named = std::env::var_os("ASSAY_LIBVIRT_LAB").map(PathBuf::from);
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/vm");
    let elsewhere = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../../shared/vm");
    named.into_iter().chain([beside, elsewhere]).find(|path| path.join("libvirt-up.sh").exists())
}

/// libvirt's daemons; they end with the value.
struct Libvirt {
    scripts: PathBuf,
    state: PathBuf,
}

impl Libvirt {
    /// `None`, and a declared skip, where it cannot be.
    fn start(world: &World) -> Option<Self> {
        let scripts = laboratory().filter(|_| crate::world::is_root() && is_there("virsh"));
        let Some(scripts) = scripts else {
            skip::declare(
                "libvirt",
                "no laboratory with libvirt (ASSAY_LIBVIRT_LAB, or ../shared/vm), or no root",
            );
            return None;
        };
        let state = world.path().join("libvirt");
        let mut up = Command::new("bash");
        up.arg(scripts.join("libvirt-up.sh")).arg(&state);
        let status = up.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
        let lab = Libvirt { scripts, state };
        if !status.is_ok_and(|status| status.success()) {
            skip::declare("libvirt", "libvirt-up.sh failed");
            return None;
        }
        Some(lab)
    }

    fn virsh(words: &[&str]) -> String {
        let output = Command::new("virsh").args(["-q", "-c", "qemu:///system"]).args(words).output_in_time();
        output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned()).unwrap_or_default()
    }

    fn machines() -> Vec<String> {
        Self::virsh(&["list", "--all", "--name"]).split_whitespace().map(str::to_owned).collect()
    }
}

impl Drop for Libvirt {
    fn drop(&mut self) {
        let mut down = Command::new("bash");
        let _ = down.arg(self.scripts.join("libvirt-down.sh")).arg(&self.state).stdin(Stdio::null()).status();
    }
}

const PLAN: &str = r#"assay = 1
name = "fleet"
target = [
    { name = "a", path = "/dev/vda" }, { name = "b", path = "/dev/vdb" }, { name = "c", path = "/dev/vdc" },
    { name = "d", path = "/dev/vdd" }, { name = "e", path = "/dev/vde" }, { name = "f", path = "/dev/vdf" },
    { name = "g", path = "/dev/vdg" }, { name = "h", path = "/dev/vdh" },
]
[[phase]]
name = "measure"
[[phase.job]]
name = "reads"
op = "read"
block_size = "4k"
pattern = "random"
outstanding = 8
runtime = "RUNTIME"
"#;

fn fleet(world: &World, runtime: &str) -> Command {
    let plan = world.path().join(format!("plan-{runtime}.toml"));
    fs::write(&plan, PLAN.replace("RUNTIME", runtime)).expect("written");
    let image = world.path().join("one/assay-vm.qcow2");
    let pool = world.path().join("pool");
    fs::create_dir_all(&pool).expect("a directory");
    let words = ["run", path_text(&plan), "--on", "vm:3", "--vm-image", path_text(&image), "--json"];
    let more =
        ["--vm-disk-size", "64m", "--vm-memory", "512m", "--vm-cpus", "1", "--vm-pool", path_text(&pool)];
    let rest = ["--vm-accel", "software", "--vm-boot", "600", "--lost-after", "60", "--watch", "counters"];
    world.command(&[&words[..], &more, &rest].concat())
}

/// Nothing of the run is left: machines, volumes, pools.
fn nothing_is_left(world: &World) {
    assert_eq!(Libvirt::machines(), Vec::<String>::new());
    assert!(!Libvirt::virsh(&["pool-list", "--all", "--name"]).contains("assay"), "pools");
    assert_eq!(fs::read_dir(world.path().join("pool")).expect("the pool").count(), 0, "volumes");
}

#[test]
fn a_fleet_of_machines_measures_together_and_is_gone_afterwards() {
    if !can_build() {
        return;
    }
    let world = World::new();
    let Some(_lab) = Libvirt::start(&world) else { return };
    build(&world, "one", "qcow2", &[]).ended(0);
    let said = ended(fleet(&world, "3s"), Duration::from_secs(400)).ended(0);
    let run = json(&said.out);
    let hosts = run["hosts"].as_array().expect("hosts");
    assert_eq!(hosts.len(), 3, "{}", run["hosts"]);
    assert_eq!(run["plan"]["targets"].as_array().map(Vec::len), Some(24));
    assert!(run["findings"].to_string().contains("software-emulation"), "{}", run["findings"]);
    nothing_is_left(&world);

    // One machine is destroyed while all measure.
    let mut child =
        fleet(&world, "60s").stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("started");
    let until = Instant::now() + Duration::from_secs(300);
    // Intervals of several hosts are there, and no result yet.
    let measures = |world: &World| {
        let runs = fs::read_dir(world.runs()).into_iter().flatten().flatten();
        let series =
            |entry: &fs::DirEntry| fs::metadata(entry.path().join("series.bin")).map_or(0, |file| file.len());
        runs.filter(|entry| !entry.path().join("run.json").exists()).any(|entry| series(&entry) > 8_000)
    };
    while !measures(&world) && Instant::now() < until && child.try_wait().expect("waited for").is_none() {
        std::thread::sleep(Duration::from_millis(200));
    }
    let second = Libvirt::machines().into_iter().find(|name| name.ends_with("-2")).expect("a second machine");
    Libvirt::virsh(&["destroy", &second]);
    let output = child.wait_with_output().expect("ended");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(5), "{said}");
    assert!(said.contains("vm2"), "the lost machine is named: {said}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("\"verdict\": \"incomplete\""));
    nothing_is_left(&world);
}
