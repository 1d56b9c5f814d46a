//! A PostgreSQL server of our own, for crashes: in a new directory, on a free port of this host, with no service of the system.

use std::net::TcpListener;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use assay_engine::Clock as _;
use assay_engine::clock::RealClock;
use rustix::process::{Pid, Signal, kill_process};

use super::ServerUrl;
use crate::error::Error;

/// Where distributions and the source's own installation have its programs.
const PLACES: [&str; 3] = ["/usr/lib/postgresql", "/usr/local", "/usr"];
/// How long it may take to start: recovery replays what a crash left.
const PATIENCE_NS: u64 = 120_000_000_000;
const NAP: Duration = Duration::from_millis(100);
/// The user that runs the server where this program is root: the server refuses to be root.
const USERS: [&str; 2] = ["postgres", "nobody"];

/// One that runs.
#[derive(Debug)]
pub(crate) struct OwnServer {
    programs: PathBuf,
    /// The user and group it runs as; `None`: ours.
    user: Option<(u32, u32)>,
    directory: PathBuf,
    port: u16,
    password: String,
    postmaster: Option<Child>,
}

fn failed(what: impl Into<String>) -> Error {
    Error::OwnServer { what: what.into() }
}

/// The newest directory with its programs.
fn programs() -> Result<PathBuf, Error> {
    let inside = PLACES.iter().filter_map(|place| std::fs::read_dir(place).ok()).flatten().flatten();
    let all = inside.map(|entry| entry.path().join("bin")).chain([PathBuf::from("/usr/bin")]);
    let mut found: Vec<PathBuf> =
        all.filter(|bin| bin.join("postgres").exists() && bin.join("initdb").exists()).collect();
    let version = |bin: &PathBuf| {
        let parent =
            bin.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy().into_owned();
        parent.parse::<f64>().unwrap_or(0.0)
    };
    found.sort_by(|a, b| version(a).total_cmp(&version(b)));
    found.pop().ok_or_else(|| failed("no server is installed: no initdb and postgres in /usr/lib/postgresql (apt-get install postgresql)"))
}

/// The numbers of an unprivileged user.
fn unprivileged() -> Option<(u32, u32)> {
    let is_root = std::fs::metadata("/proc/self").is_ok_and(|meta| meta.uid() == 0);
    let users = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let of = |name: &str| {
        let line = users.lines().find(|line| line.split(':').next() == Some(name))?;
        let mut words = line.split(':').skip(2);
        Some((words.next()?.parse().ok()?, words.next()?.parse().ok()?))
    };
    is_root.then(|| USERS.iter().find_map(|name| of(name))).flatten()
}

impl OwnServer {
    /// Makes a cluster in a new directory below `place`, and starts it.
    pub(crate) fn start(place: &Path, random: u64) -> Result<Self, Error> {
        let at = |path: &Path| {
            let path = path.to_owned();
            move |source| Error::File { path, source }
        };
        let place = std::fs::canonicalize(place).map_err(at(place))?;
        let directory = place.join(format!("assay-oltp-server-{random:016x}"));
        let data = directory.join("data");
        let mut private = std::fs::DirBuilder::new();
        private.mode(0o700);
        private.create(&directory).map_err(at(&directory))?;
        let mut server = OwnServer {
            programs: PathBuf::new(),
            user: unprivileged(),
            directory: directory.clone(),
            port: 0,
            password: format!("{random:016x}"),
            postmaster: None,
        };
        server.programs = programs()?;
        private.create(&data).map_err(at(&data))?;
        let secret = directory.join("password");
        let file = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&secret);
        std::io::Write::write_all(&mut file.map_err(at(&secret))?, server.password.as_bytes())
            .map_err(at(&secret))?;
        if let Some((user, group)) = server.user {
            for path in [&directory, &data, &secret] {
                chown(path, Some(user), Some(group)).map_err(at(path))?;
            }
        }
        let mut initdb = server.program("initdb");
        initdb.args(["-U", "postgres", "-A", "scram-sha-256", "--no-locale", "-E", "UTF8", "-D"]).arg(&data);
        let made = initdb.arg("--pwfile").arg(&secret).stderr(Stdio::piped()).output();
        let made = made.map_err(|error| failed(format!("initdb: {error}")))?;
        if !made.status.success() {
            let why = String::from_utf8_lossy(&made.stderr).trim().to_owned();
            return Err(failed(format!("initdb in {}: {why}", data.display())));
        }
        let port = TcpListener::bind("127.0.0.1:0").and_then(|socket| socket.local_addr());
        server.port = port.map_err(|error| failed(error.to_string()))?.port();
        server.launch()?;
        Ok(server)
    }

    fn program(&self, name: &str) -> Command {
        let mut command = Command::new(self.programs.join(name));
        command.env_clear().env("LC_ALL", "C").env("PATH", "/usr/bin:/bin").current_dir("/");
        if let Some((user, group)) = self.user {
            command.uid(user).gid(group);
        }
        // An interrupt of the terminal is ours to handle.
        command.process_group(0);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    /// Where it is.
    pub(crate) fn url(&self) -> Result<ServerUrl, Error> {
        Ok(ServerUrl::parse(&self.shown())?.or_password(Some(self.password.clone())))
    }

    /// The same without its password.
    pub(crate) fn shown(&self) -> String {
        format!("postgres://postgres@127.0.0.1:{}/postgres", self.port)
    }

    /// The password of its user.
    pub(crate) fn password(&self) -> &str {
        &self.password
    }

    fn launch(&mut self) -> Result<(), Error> {
        let clock = RealClock::new();
        let end_ns = clock.now_ns() + PATIENCE_NS;
        let url = self.url()?;
        loop {
            if self.postmaster.is_none() {
                let mut postgres = self.program("postgres");
                postgres.arg("-D").arg(self.directory.join("data")).arg("-k").arg(&self.directory);
                postgres.args(["-p", &self.port.to_string(), "-c", "listen_addresses=127.0.0.1"]);
                postgres.args([
                    "-c",
                    "fsync=on",
                    "-c",
                    "synchronous_commit=on",
                    "-c",
                    "logging_collector=on",
                ]);
                self.postmaster =
                    Some(postgres.spawn().map_err(|error| failed(format!("postgres: {error}")))?);
            }
            match super::PostgresAdmin::connect(&url) {
                Ok(_) => return Ok(()),
                Err(error) if clock.now_ns() > end_ns => {
                    return Err(failed(format!(
                        "it does not answer after {} s: {error}",
                        PATIENCE_NS / 1_000_000_000
                    )));
                }
                Err(_) => std::thread::sleep(NAP),
            }
            // Its shared memory is in use until the last process of the one before has ended.
            let ended = self.postmaster.as_mut().is_some_and(|child| !matches!(child.try_wait(), Ok(None)));
            if ended {
                self.postmaster = None;
            }
        }
    }

    /// Kills all of its processes at once, and starts it again.
    pub(crate) fn crash(&mut self) -> Result<(), Error> {
        self.kill();
        self.launch()
    }

    /// Kills what listens and, as far as they are known, the processes it started.
    fn kill(&mut self) {
        let Some(mut postmaster) = self.postmaster.take() else { return };
        let own = postmaster.id();
        let children =
            std::fs::read_to_string(format!("/proc/{own}/task/{own}/children")).unwrap_or_default();
        let _ = postmaster.kill();
        for child in
            children.split_whitespace().filter_map(|word| word.parse().ok()).filter_map(Pid::from_raw)
        {
            let _ = kill_process(child, Signal::KILL);
        }
        let _ = postmaster.wait();
    }
}

impl Drop for OwnServer {
    fn drop(&mut self) {
        self.kill();
        // Made by `start`, with nothing in it but the server's.
        let clock = RealClock::new();
        let end_ns = clock.now_ns() + 10_000_000_000;
        while std::fs::remove_dir_all(&self.directory).is_err()
            && self.directory.exists()
            && clock.now_ns() < end_ns
        {
            std::thread::sleep(NAP);
        }
    }
}
