//! Targets on other hosts, by real parts: an sshd in a network namespace, a link that the kernel says the speed of, sshfs.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::bounded::Bounded as _;
use crate::skip;
use crate::stage::{Run, Running, Stage, said, text};

const PATIENCE: Duration = Duration::from_secs(20);

/// Runs a command whose failure is a declared skip.
fn done(words: &[&str]) -> Option<()> {
    let output = Command::new(words[0]).args(&words[1..]).output_in_time();
    let why = match output {
        Ok(output) if output.status.success() => return Some(()),
        Ok(output) => String::from_utf8_lossy(&output.stderr).into_owned(),
        Err(error) => error.to_string(),
    };
    skip::declare("network", &format!("{}: {why}", words.join(" ")));
    None
}

fn wait(what: &str, there: impl Fn() -> bool) -> Option<()> {
    let begun = Instant::now();
    while !there() {
        if begun.elapsed() > PATIENCE {
            skip::declare("network", what);
            return None;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    Some(())
}

/// Names and ports of this process, so that two of them share a machine.
fn number() -> u32 {
    100 + std::process::id() % 900
}

/// Keys, and what a server and its clients need to know, in a directory.
struct Keys(PathBuf);

impl Keys {
    fn new(stage: &Stage) -> Option<Keys> {
        let at = stage.path("ssh");
        fs::create_dir(&at).expect("a directory");
        fs::set_permissions(&at, fs::Permissions::from_mode(0o700)).expect("permissions");
        fs::create_dir_all("/run/sshd").ok()?;
        for key in ["host", "user"] {
            done(&["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", text(&at.join(key))])?;
        }
        let (at, port) = (text(&at), 20_000 + number());
        fs::copy(format!("{at}/user.pub"), format!("{at}/authorized")).expect("copied");
        let server = format!(
            "Port {port}\nHostKey {at}/host\nPidFile none\nStrictModes no\nUsePAM no\nPermitRootLogin yes\n\
             AuthorizedKeysFile {at}/authorized\nPermitTunnel yes\nSubsystem sftp internal-sftp\n"
        );
        let client = format!(
            "Host *\nPort {port}\nIdentityFile {at}/user\nIdentitiesOnly yes\nLogLevel ERROR\n\
             BatchMode yes\nConnectTimeout 10\nServerAliveInterval 15\nUserKnownHostsFile /dev/null\nStrictHostKeyChecking no\n"
        );
        fs::write(format!("{at}/server"), server).expect("written");
        fs::write(format!("{at}/client"), client).expect("written");
        Some(Keys(PathBuf::from(at)))
    }

    /// A server, started by other words: `ip netns exec there`.
    fn serve(&self, by: &[&str]) -> Running {
        let config = self.0.join("server");
        let words = [by, &["/usr/sbin/sshd", "-D", "-e", "-f", text(&config)]].concat();
        Running::start(Command::new(words[0]).args(&words[1..]))
    }

    fn ssh(&self) -> String {
        format!("ssh -F {}", text(&self.0.join("client")))
    }

    /// Waits until the server answers there.
    fn answers(&self, address: &str) -> Option<()> {
        let config = self.0.join("client");
        let login = format!("root@{address}");
        wait(&format!("no sshd at {address}"), || {
            said("ssh", &["-F", text(&config), &login, "true"]).is_some()
        })
    }
}

/// A directory of a server, mounted with sshfs.
struct Mounted {
    at: PathBuf,
    _program: Running,
}

impl Mounted {
    fn new(keys: &Keys, address: &str, directory: &Path, at: PathBuf) -> Option<Mounted> {
        keys.answers(address)?;
        fs::create_dir(&at).expect("a directory");
        let option = format!("ssh_command={}", keys.ssh());
        let source = format!("root@{address}:{}", text(directory));
        let program = Running::start(Command::new("sshfs").args(["-f", "-o", &option, &source, text(&at)]));
        let mounted = Mounted { at, _program: program };
        // A program, which can be killed where the mount does not answer.
        let there = || said("ls", &["-A", text(&mounted.at)]).is_some_and(|names| !names.is_empty());
        wait(&format!("sshfs does not mount {source}"), there)?;
        Some(mounted)
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = said("umount", &["--lazy", text(&self.at)]);
    }
}

/// A network namespace with a server in it, reached over a pair of interfaces of 10 Gbit/s.
struct There {
    name: String,
    number: u32,
    _server: Running,
}

impl There {
    fn new(keys: &Keys) -> Option<There> {
        let number = number();
        let name = format!("assay-{number}");
        done(&["ip", "netns", "add", &name])?;
        let server = keys.serve(&["ip", "netns", "exec", &name]);
        let there = There { name, number, _server: server };
        let (here, peer) = (format!("avh{number}"), format!("avp{number}"));
        done(&["ip", "link", "add", &here, "type", "veth", "peer", "name", &peer, "netns", &there.name])?;
        there.up(&here, &peer, "10.231.0")?;
        Some(there)
    }

    /// Gives both ends of a link an address.
    fn up(&self, here: &str, there: &str, network: &str) -> Option<()> {
        done(&["ip", "addr", "add", &format!("{network}.1/30"), "dev", here])?;
        done(&["ip", "link", "set", here, "up"])?;
        self.within(&["ip", "addr", "add", &format!("{network}.2/30"), "dev", there])?;
        self.within(&["ip", "link", "set", there, "up"])
    }

    fn within(&self, words: &[&str]) -> Option<()> {
        done(&[&["ip", "netns", "exec", &self.name], words].concat())
    }

    /// A second way there, an Ethernet through ssh: the only link whose speed can be set here, to 10 Mbit/s.
    fn slow(&self, keys: &Keys) -> Option<Running> {
        let (number, tap) = (self.number, format!("tap{}", self.number));
        let config = keys.0.join("client");
        let tunnel = || {
            let ends = format!("{number}:{number}");
            let words = ["-F", text(&config), "-o", "Tunnel=ethernet", "-N", "-w", &ends, "root@10.231.0.2"];
            Running::start(Command::new("ssh").args(words))
        };
        let tunnel = tunnel();
        wait("ssh makes no Ethernet", || Path::new("/sys/class/net").join(&tap).exists())?;
        self.up(&tap, &tap, "10.232.0")?;
        done(&["ethtool", "-s", &tap, "speed", "10", "duplex", "full", "autoneg", "off"])?;
        let limit = ["tc", "qdisc", "add", "dev", &tap, "root", "tbf", "rate", "10mbit"];
        self.within(&[&limit[..], &["burst", "32k", "latency", "50ms"]].concat())?;
        Some(tunnel)
    }
}

impl Drop for There {
    fn drop(&mut self) {
        let _ = said("ip", &["netns", "delete", &self.name]);
    }
}

fn can(stage: &Stage) -> Option<Keys> {
    if said("id", &["-u"]).as_deref() != Some("0") {
        skip::declare("root", "network namespaces need root");
        return None;
    }
    done(&["sshfs", "--version"])?;
    fs::create_dir(stage.path("served")).expect("a directory");
    fs::rename(stage.file("data", 64), stage.path("served/data")).expect("moved");
    Keys::new(stage)
}

fn read(stage: &Stage, mounted: &Mounted) -> Run {
    let file = format!("--filename={}", text(&mounted.at.join("data")));
    let words = ["fio", "--name=r", "--rw=read", "--bs=128k", "--size=64m", "--time_based", "--runtime=4"];
    Run::of(
        stage
            .command(&[&["--quiet"], &words[..1], &["--json"], &words[1..], &[&file]].concat())
            .output_in_time()
            .expect("assay"),
    )
}

#[test]
fn a_link_at_its_speed_and_one_with_room() {
    let stage = Stage::new();
    let Some(keys) = can(&stage) else { return };
    let Some(there) = There::new(&keys) else { return };
    let served = stage.path("served");
    let Some(_tunnel) = keys.answers("10.231.0.2").and_then(|()| there.slow(&keys)) else { return };
    let Some(slow) = Mounted::new(&keys, "10.232.0.2", &served, stage.path("slow")) else { return };
    let run = read(&stage, &slow);
    let network = &run.run["environment"]["targets"][0]["network"];
    assert_eq!((&network["bits_per_s"], &network["on_this_host"]), (&10_000_000.into(), &false.into()));
    let message = run.finding("network-bound", "warning")["message"].as_str().expect("a message");
    assert!(message.contains("of its 10 Mbit/s: the network to 10.232.0.2 was the limit"), "{message}");
    assert!(run.found("server-on-this-host").is_none());
    drop(slow);
    let Some(fast) = Mounted::new(&keys, "10.231.0.2", &served, stage.path("fast")) else { return };
    let run = read(&stage, &fast);
    assert_eq!(run.run["environment"]["targets"][0]["network"]["bits_per_s"], 10_000_000_000_u64);
    assert!(run.found("network-bound").is_none() && run.found("server-on-this-host").is_none());
}

#[test]
fn a_server_on_this_host() {
    let stage = Stage::new();
    let Some(keys) = can(&stage) else { return };
    let _server = keys.serve(&[]);
    let Some(mounted) = Mounted::new(&keys, "127.0.0.1", &stage.path("served"), stage.path("mounted")) else {
        return;
    };
    let run = read(&stage, &mounted);
    assert!(run.found("server-on-this-host").is_some() && run.found("network-bound").is_none());
}
