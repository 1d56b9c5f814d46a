//! Small file systems of our own, mounted until the value goes.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::bounded::Bounded as _;
use crate::skip;
use crate::world::{World, is_root};

/// A mounted file system; it goes with the value, and so does the loop device under it.
pub(crate) struct Mounted {
    path: PathBuf,
    device: Option<String>,
}

impl Mounted {
    /// In memory. `None`, and a declared skip, where mounting is not possible.
    pub(crate) fn tmpfs(at: &Path, options: &str) -> Option<Self> {
        if !is_root() {
            skip::declare("root", "mounting takes root");
            return None;
        }
        std::fs::create_dir_all(at).expect("a mount point");
        said("root", Command::new("mount").args(["-t", "tmpfs", "-o", options, "none"]).arg(at))?;
        Some(Mounted { path: at.to_owned(), device: None })
    }

    /// In memory, without a size.
    pub(crate) fn ramfs(at: &Path) -> Option<Self> {
        if !is_root() {
            skip::declare("root", "mounting takes root");
            return None;
        }
        std::fs::create_dir_all(at).expect("a mount point");
        said("root", Command::new("mount").args(["-t", "ramfs", "none"]).arg(at))?;
        Some(Mounted { path: at.to_owned(), device: None })
    }

    /// Of `mib` MiB on a file of its own. `None`, and a declared skip, where that is not possible.
    pub(crate) fn on_loop(world: &World, kind: &str, mib: u64) -> Option<Self> {
        Self::made(world, kind, mib, &[])
    }

    /// As [`Mounted::on_loop`], with words for mkfs.
    pub(crate) fn made(world: &World, kind: &str, mib: u64, words: &[&str]) -> Option<Self> {
        if !is_root() {
            skip::declare("root", "mounting takes root");
            return None;
        }
        let (image, at) = (world.path().join(format!("{kind}.img")), world.path().join(kind));
        std::fs::File::create(&image).and_then(|file| file.set_len(mib << 20)).expect("an image");
        std::fs::create_dir_all(&at).expect("a mount point");
        let capability = if matches!(kind, "btrfs" | "xfs") { kind } else { "losetup" };
        let force = if kind == "ext4" { "-F" } else { "-f" };
        said(capability, Command::new(format!("mkfs.{kind}")).arg(force).args(words).arg(&image))?;
        let device = said("losetup", Command::new("losetup").args(["--find", "--show"]).arg(&image))?;
        let mounted = Mounted { path: at, device: Some(device.trim().to_owned()) };
        said(capability, Command::new("mount").args(["-t", kind, device.trim()]).arg(&mounted.path))?;
        Some(mounted)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Free for everyone, in bytes.
    pub(crate) fn available_bytes(&self) -> u64 {
        let stat = rustix::fs::statvfs(&self.path).expect("a file system");
        stat.f_bavail * stat.f_frsize
    }
}

/// What a command printed, or a declared skip with what it complained of.
fn said(capability: &str, command: &mut Command) -> Option<String> {
    let output = match command.output_in_time() {
        Ok(output) if output.status.success() => output,
        Ok(output) => {
            skip::declare(capability, &String::from_utf8_lossy(&output.stderr));
            return None;
        }
        Err(error) => {
            skip::declare(capability, &format!("{command:?}: {error}"));
            return None;
        }
    };
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

impl Drop for Mounted {
    fn drop(&mut self) {
        // A ring that is being taken down may hold a file for a moment after its process has ended.
        let _ = Command::new("umount").arg("--lazy").arg(&self.path).status_in_time();
        if let Some(device) = &self.device {
            let _ = Command::new("losetup").args(["--detach", device]).status_in_time();
        }
    }
}
