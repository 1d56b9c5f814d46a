//! A PostgreSQL server of our own: in a temporary directory, by an unprivileged user, with no service of the system.

use std::net::TcpListener;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use assay_engine::Clock as _;
use assay_engine::clock::RealClock;

use crate::bounded::{Bounded as _, Started};

/// Where Debian and others have its programs.
const PLACES: [&str; 2] = ["/usr/lib/postgresql", "/usr/local"];
/// The user `nobody`, where the tests are root: the server refuses to be.
const NOBODY: u32 = 65_534;

/// How long a server may take to start, nanoseconds.
const PATIENCE_NS: u64 = 30_000_000_000;

/// One that runs.
pub(crate) struct Server {
    child: Started,
    programs: PathBuf,
    pub(crate) port: u16,
    /// Where its socket is.
    pub(crate) directory: tempfile::TempDir,
    data: PathBuf,
}

/// The newest directory with its programs.
fn programs() -> Option<PathBuf> {
    let versions = PLACES.iter().filter_map(|place| std::fs::read_dir(place).ok()).flatten().flatten();
    let mut found: Vec<PathBuf> = versions.map(|entry| entry.path().join("bin")).collect();
    found.retain(|bin| bin.join("postgres").exists() && bin.join("initdb").exists());
    found.sort();
    found.pop()
}

fn as_nobody(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.env_clear().env("LC_ALL", "C").env("PATH", "/usr/bin:/bin").current_dir("/");
    if is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|meta| std::os::unix::fs::MetadataExt::uid(&meta) == 0)
}

impl Server {
    /// Starts one whose user `postgres` has the password `secret`; `Err`: why there is none.
    pub(crate) fn start(settings: &[&str]) -> Result<Self, String> {
        let directory = tempfile::tempdir().map_err(|error| error.to_string())?;
        let data = directory.path().join("data");
        Self::start_with(directory, data, settings)
    }

    /// One whose data are in another place.
    pub(crate) fn start_on(data: &Path, settings: &[&str]) -> Result<Self, String> {
        Self::start_with(tempfile::tempdir().map_err(|error| error.to_string())?, data.to_owned(), settings)
    }

    fn start_with(directory: tempfile::TempDir, data: PathBuf, settings: &[&str]) -> Result<Self, String> {
        let programs = programs().ok_or("no PostgreSQL server is installed (apt-get install postgresql)")?;
        std::fs::create_dir(&data).map_err(|error| error.to_string())?;
        let password = directory.path().join("password");
        std::fs::write(&password, "secret\n").map_err(|error| error.to_string())?;
        if is_root() {
            for path in [directory.path(), &data, &password] {
                std::os::unix::fs::chown(path, Some(NOBODY), Some(NOBODY))
                    .map_err(|error| error.to_string())?;
            }
        }
        let made = as_nobody(&programs.join("initdb"))
            .args(["-U", "postgres", "-A", "scram-sha-256", "--no-locale", "-E", "UTF8", "--no-sync"])
            .args(["--wal-segsize", "1", "-D"])
            .arg(&data)
            .arg("--pwfile")
            .arg(&password)
            .stderr(Stdio::piped())
            .output_in_time()
            .map_err(|error| format!("initdb: {error}"))?;
        if !made.status.success() {
            return Err(format!("initdb: {}", String::from_utf8_lossy(&made.stderr).trim()));
        }
        let port = TcpListener::bind("127.0.0.1:0").and_then(|socket| socket.local_addr());
        let port = port.map_err(|error| error.to_string())?.port();
        let place = (directory.path(), data.as_path());
        let child = Self::spawn(&programs, place, port, settings).map_err(|error| error.to_string())?;
        let server = Server { child, programs, port, directory, data };
        server.wait()?;
        Ok(server)
    }

    fn spawn(
        programs: &Path,
        (directory, data): (&Path, &Path),
        port: u16,
        settings: &[&str],
    ) -> std::io::Result<Started> {
        let mut command = as_nobody(&programs.join("postgres"));
        command.arg("-D").arg(data).arg("-k").arg(directory);
        command.args(["-p", &port.to_string(), "-c", "listen_addresses=127.0.0.1"]);
        for setting in settings {
            command.args(["-c", setting]);
        }
        command.start()
    }

    fn wait(&self) -> Result<(), String> {
        let end_ns = RealClock::new().now_ns() + PATIENCE_NS;
        let ready = || {
            let mut command = as_nobody(&self.programs.join("pg_isready"));
            command.args(["-h", "127.0.0.1", "-p", &self.port.to_string()]);
            command.status_in_time().is_ok_and(|status| status.success())
        };
        while !ready() {
            if RealClock::new().now_ns() > end_ns {
                return Err("the server does not answer".to_owned());
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }

    /// The URL of its database.
    pub(crate) fn url(&self) -> String {
        format!("postgres://postgres:secret@127.0.0.1:{}/postgres", self.port)
    }

    /// Does a statement by the server's own client.
    pub(crate) fn sql(&self, statement: &str) {
        let mut command = as_nobody(&self.programs.join("psql"));
        command.env("PGPASSWORD", "secret").args([
            "-X",
            "-q",
            "-v",
            "ON_ERROR_STOP=1",
            "-U",
            "postgres",
            "-h",
            "127.0.0.1",
        ]);
        command.args(["-p", &self.port.to_string(), "-c", statement, "postgres"]);
        assert!(command.status_in_time().is_ok_and(|status| status.success()), "{statement}");
    }

    /// Who is let in from now on, in the words of pg_hba.conf.
    pub(crate) fn admit(&self, lines: &str) {
        std::fs::write(self.data.join("pg_hba.conf"), lines).expect("it is ours");
        self.sql("SELECT pg_reload_conf()");
    }

    /// Kills all of it at once, as a crash does, and starts it again.
    pub(crate) fn crash(&mut self, settings: &[&str]) -> Result<(), String> {
        // The process that listens; the others notice and end. It may have ended by itself where its files are gone.
        let _ = Child::kill(&mut self.child);
        self.child.wait().map_err(|error| error.to_string())?;
        let end_ns = RealClock::new().now_ns() + PATIENCE_NS;
        loop {
            // Its shared memory is in use until the last of them has ended.
            let place = (self.directory.path(), self.data.as_path());
            self.child =
                Self::spawn(&self.programs, place, self.port, settings).map_err(|error| error.to_string())?;
            std::thread::sleep(Duration::from_millis(300));
            if self.child.try_wait().map_err(|error| error.to_string())?.is_none() {
                return self.wait();
            }
            if RealClock::new().now_ns() > end_ns {
                return Err("it does not start again".to_owned());
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let stop = as_nobody(&self.programs.join("pg_ctl"))
            .args(["stop", "-m", "immediate", "-D"])
            .arg(&self.data)
            .status_in_time();
        if !stop.is_ok_and(|status| status.success()) {
            self.child.kill();
        }
        let _ = self.child.wait();
    }
}
