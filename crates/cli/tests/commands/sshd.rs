//! An ssh server of our own on the loopback, with a home of its own.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::bounded::{Bounded as _, Started};
use crate::skip;
use crate::world::{World, path_text, wait_for};

/// A running server. It ends with the value.
pub(crate) struct Sshd {
    server: Started,
    directory: PathBuf,
    /// Home directory of the user that logs in.
    pub(crate) home: PathBuf,
    /// What `ASSAY_SSH` is to be.
    pub(crate) client: String,
}

impl Sshd {
    /// A server whose sessions find programs along `path`. `None`, and a declared skip, where there is none to start.
    pub(crate) fn start(world: &World, path: &str) -> Option<Self> {
        let program = ["/usr/sbin/sshd", "/usr/local/sbin/sshd", "/sbin/sshd", "/usr/bin/sshd"];
        let Some(program) = program.into_iter().find(|path| Path::new(path).exists()) else {
            skip::declare("sshd", "there is no sshd");
            return None;
        };
        if crate::world::is_root() {
            // Where the server hides its unprivileged part; start scripts of the system make it otherwise.
            let _ = fs::create_dir_all("/run/sshd");
        }
        let directory = world.path().join("sshd");
        let home = world.path().join("their home");
        fs::create_dir(&directory).and_then(|()| fs::create_dir(&home)).expect("directories");
        fs::set_permissions(&directory, fs::Permissions::from_mode(0o700)).expect("permissions");
        for key in ["host", "user"] {
            let made = Command::new("ssh-keygen")
                .args(["-q", "-t", "ed25519", "-N", "", "-f"])
                .arg(directory.join(key))
                .status_in_time();
            if !made.is_ok_and(|status| status.success()) {
                skip::declare("sshd", "ssh-keygen made no key");
                return None;
            }
        }
        fs::copy(directory.join("user.pub"), directory.join("authorized")).expect("copied");
        let port = free_port();
        let at = path_text(&directory);
        fs::write(
            directory.join("server"),
            format!(
                "Port {port}\nListenAddress 127.0.0.1\nHostKey {at}/host\nPidFile none\nStrictModes no\nUsePAM no\n\
                 AuthorizedKeysFile {at}/authorized\nPermitRootLogin yes\nPasswordAuthentication no\n\
                 SetEnv \"HOME={}\" PATH={path}\n",
                path_text(&home)
            ),
        )
        .expect("written");
        fs::write(
            directory.join("client"),
            format!(
                "Host *\nHostName 127.0.0.1\nPort {port}\nIdentityFile {at}/user\nIdentitiesOnly yes\n\
                 UserKnownHostsFile {at}/known\nStrictHostKeyChecking no\nLogLevel ERROR\n\
                 BatchMode yes\nConnectTimeout 30\n"
            ),
        )
        .expect("written");
        let log = fs::File::create(directory.join("log")).expect("a log");
        let server = Command::new(program)
            .args(["-D", "-e", "-f"])
            .arg(directory.join("server"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .start()
            .expect("sshd starts");
        let client = format!("ssh -F {at}/client");
        let mut sshd = Sshd { server, directory, home, client };
        let log = sshd.directory.join("log");
        wait_for("sshd", || {
            fs::read_to_string(&log).is_ok_and(|text| text.contains("listening") || text.contains("fatal"))
        });
        if let Ok(Some(_)) = sshd.server.try_wait() {
            skip::declare("sshd", &fs::read_to_string(&log).unwrap_or_default());
            return None;
        }
        Some(sshd)
    }

    /// Copies of the program in the home there.
    pub(crate) fn copies(&self) -> Vec<PathBuf> {
        crate::world::entries(&self.home.join(".cache/assay/bin"))
    }
}

impl Drop for Sshd {
    fn drop(&mut self) {
        self.server.kill();
        let _ = self.server.wait();
    }
}

/// A port that nobody listens on.
pub(crate) fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("its address").port()
}
