//! Debian packages for an image: downloaded by apt, checked against the lock, taken apart and never installed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use assay_vm::lock::{self, Lock, Package};
use assay_vm::ova;

use crate::failure::Failure;

/// The package that names the newest kernel.
const KERNEL_META: &str = "linux-image-cloud-amd64";
/// What makes a file system on the data disk, with what it is linked with.
const OTHERS: &[&str] = &["e2fsprogs", "libblkid1", "libc6", "libcom-err2", "libext2fs2", "libuuid1"];

/// Runs a tool; what it prints.
///
/// # Errors
/// It is missing, which names its package, or it failed, with its last words.
pub(super) fn tool(package: &str, command: &mut Command) -> Result<String, Failure> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.stdin(Stdio::null()).output().map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => {
            Failure::usage(format!("{name} is not installed: apt-get install {package}"))
        }
        _ => Failure::failed(format!("{name}: {error}")),
    })?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let mut lines = said.lines().filter(|line| !line.trim().is_empty() && !line.starts_with("W: "));
    Err(Failure::failed(format!("{name} failed: {}", lines.next_back().unwrap_or("it said nothing"))))
}

/// The newest packages that apt knows.
pub(super) fn newest() -> Result<Lock, Failure> {
    let depends = tool("apt", Command::new("apt-cache").args(["depends", KERNEL_META]))?;
    let kernel = depends.lines().find_map(|line| line.trim().strip_prefix("Depends: linux-image-"));
    let kernel = kernel.ok_or_else(|| {
        Failure::failed(format!("apt knows no kernel of {KERNEL_META}: apt-get update, on Debian for amd64"))
    })?;
    let kernel = format!("linux-image-{kernel}");
    let names = OTHERS.iter().copied().chain([kernel.as_str()]);
    let package = names.map(newest_of).collect::<Result<_, _>>()?;
    Ok(Lock { package })
}

fn newest_of(name: &str) -> Result<Package, Failure> {
    let shown = tool("apt", Command::new("apt-cache").args(["show", "--no-all-versions", name]))?;
    let field = |key: &str| {
        let value = shown.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(": "));
        value
            .map(str::to_owned)
            .ok_or_else(|| Failure::failed(format!("apt knows no {} of {name}", key.to_lowercase())))
    };
    Ok(Package { name: name.to_owned(), version: field("Version")?, sha256: field("SHA256")? })
}

/// The lock in a file, or the one that comes with the program.
pub(super) fn locked(file: Option<&Path>) -> Result<Lock, Failure> {
    let Some(file) = file else { return lock::parse(lock::SHIPPED).map_err(Failure::failed) };
    let text = fs::read_to_string(file);
    let text = text.map_err(|error| Failure::usage(format!("{}: {error}", file.display())))?;
    lock::parse(&text).map_err(|error| Failure::usage(format!("{}: {error}", file.display())))
}

/// Downloads the packages that are not there yet, and takes all of them apart into `files`.
pub(super) fn unpack(lock: &Lock, kept: &Path, files: &Path) -> Result<(), Failure> {
    let made = fs::create_dir_all(kept).and_then(|()| fs::create_dir_all(files));
    made.map_err(|error| Failure::failed(format!("{}: {error}", kept.display())))?;
    for package in &lock.package {
        let file = deb(package, kept)?;
        tool("dpkg", Command::new("dpkg-deb").arg("--extract").arg(&file).arg(files))?;
    }
    Ok(())
}

/// The file of a package with its checksum.
fn deb(package: &Package, kept: &Path) -> Result<PathBuf, Failure> {
    let Package { name, version, sha256 } = package;
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "+-.:~".contains(letter);
    if name.is_empty() || name.starts_with('-') || !name.chars().chain(version.chars()).all(plain) {
        return Err(Failure::usage(format!("the lock names a package '{name}={version}': that is none")));
    }
    let file = kept.join(format!("{sha256}.deb"));
    let right = |path: &Path| fs::read(path).is_ok_and(|content| ova::hex(&content) == *sha256);
    if right(&file) {
        return Ok(file);
    }
    let fresh = kept.join(format!("fresh-{}", std::process::id()));
    let failed = |error: std::io::Error| Failure::failed(format!("{}: {error}", fresh.display()));
    // It is removed below: what is there already is not ours to remove.
    fs::create_dir(&fresh).map_err(failed)?;
    let mut apt = Command::new("apt-get");
    let got = tool("apt", apt.arg("download").arg(format!("{name}={version}")).current_dir(&fresh));
    let downloaded = fs::read_dir(&fresh).ok().and_then(|mut entries| Some(entries.next()?.ok()?.path()));
    let taken = match (got, downloaded) {
        (Ok(_), Some(path)) if right(&path) => fs::rename(path, &file).map_err(failed).map(|()| file),
        (Ok(_), _) => Err(Failure::failed(format!(
            "{name} {version} from the mirror has another SHA-256 than {sha256} in the lock"
        ))),
        (Err(why), _) => Err(Failure::failed(format!(
            "{why}; is {name} {version} still on the mirror? apt-get update, or --lock FILE --update-lock"
        ))),
    };
    let _ = fs::remove_dir_all(&fresh);
    taken
}
