//! A socket of another host as one of this host's, over ssh.

use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long a login may take.
const WITHIN: Duration = Duration::from_secs(30);

/// The forwarding; it ends with the value.
#[derive(Debug)]
pub(super) struct Forwarded {
    child: Child,
    local: PathBuf,
}

impl Forwarded {
    /// Forwards `socket` of `host`.
    pub(super) fn to(socket: &str, host: &str, ssh: &[OsString]) -> Result<Self, String> {
        let (program, words) = ssh.split_first().ok_or("there is no ssh")?;
        let now = std::time::UNIX_EPOCH.elapsed().unwrap_or_default().as_nanos();
        let local = std::env::temp_dir().join(format!("assay-vm-{}-{now}", std::process::id()));
        let mut command = Command::new(program);
        command.args(words).args([
            "-N",
            "-T",
            "-o",
            "ExitOnForwardFailure=yes",
            "-o",
            "StreamLocalBindMask=0177",
            "-L",
        ]);
        command.arg(format!("{}:{socket}", local.display())).arg("--").arg(host).process_group(0);
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let child = child.map_err(|error| format!("ssh {host}: {error}"))?;
        let mut forwarded = Forwarded { child, local };
        let until = Instant::now() + WITHIN;
        while !forwarded.local.exists() {
            let ended = forwarded.child.try_wait().is_ok_and(|status| status.is_some());
            if ended || Instant::now() > until {
                return Err(format!("ssh {host}: {socket} could not be forwarded"));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(forwarded)
    }

    pub(super) fn local(&self) -> &str {
        // Made of a number and the temporary directory's name.
        self.local.to_str().unwrap_or_default()
    }
}

impl Drop for Forwarded {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_file(Path::new(&self.local));
    }
}
