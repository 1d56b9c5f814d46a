//! What libblkid recognises on a device, asked through its tools: it knows formats that the table beside this does not.
//!
//! `wipefs` lists every signature; `blkid -p` weighs them, and says when it cannot decide (exit status 8). A tool that is missing or
//! fails leaves the device unknown, which is no permission.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde::Deserialize;

use super::signature::Signature;

/// Searched before PATH: root often lacks these in it, and what runs as root is better not found by a list that others set.
const SYSTEM_DIRECTORIES: [&str; 5] =
    ["/usr/sbin", "/sbin", "/usr/bin", "/bin", "/run/current-system/sw/bin"];
/// Exit statuses of `blkid -p` (blkid(8)).
const BLKID_NOTHING: i32 = 2;
const BLKID_AMBIVALENT: i32 = 8;

/// Where the first partition begins: at 1 MiB, and on older disks behind the first track of 63 sectors.
const PARTITION_STARTS: [u64; 2] = [1 << 20, 63 * 512];

/// Looks for what the tools recognise on the device of `size_bytes` at `path`; where that is nothing, also where its first partition
/// would begin: what is in it is still there when the partition table was overwritten.
///
/// # Errors
/// Why it cannot be told.
pub(super) fn recognised(path: &Path, size_bytes: u64) -> Result<Vec<Signature>, String> {
    let listed = run("wipefs", &["--no-act".as_ref(), "--json".as_ref(), path.as_os_str()])?;
    if !listed.status.success() {
        return Err(failed("wipefs", &listed));
    }
    let mut found = listed_by_wipefs(&listed.stdout)?;
    found.extend(weighed(path, 0)?);
    for start in PARTITION_STARTS.into_iter().filter(|start| *start < size_bytes) {
        if !found.is_empty() {
            break;
        }
        found.extend(weighed(path, start)?);
    }
    Ok(found)
}

/// What blkid settles on at an offset.
fn weighed(path: &Path, offset_bytes: u64) -> Result<Option<Signature>, String> {
    let offset = offset_bytes.to_string();
    let words = ["-p", "-o", "export", "-O", &offset].map(OsStr::new);
    let weighed = run("blkid", &[&words[..], &[path.as_os_str()]].concat())?;
    match weighed.status.code() {
        Some(0) => Ok(named_by_blkid(&String::from_utf8_lossy(&weighed.stdout), offset_bytes)),
        Some(BLKID_NOTHING) => Ok(None),
        Some(BLKID_AMBIVALENT) => Err("blkid finds several signatures that exclude each other".to_owned()),
        _ => Err(failed("blkid", &weighed)),
    }
}

#[derive(Deserialize)]
struct Listed {
    signatures: Vec<ListedSignature>,
}

#[derive(Deserialize)]
struct ListedSignature {
    offset: String,
    #[serde(rename = "type")]
    name: String,
}

fn listed_by_wipefs(json: &[u8]) -> Result<Vec<Signature>, String> {
    // Some versions print nothing at all where nothing was found.
    if json.iter().all(u8::is_ascii_whitespace) {
        return Ok(Vec::new());
    }
    let listed: Listed =
        serde_json::from_slice(json).map_err(|error| format!("what wipefs lists is unreadable: {error}"))?;
    let signature = |one: ListedSignature| {
        let offset = one.offset.strip_prefix("0x").map(|hex| u64::from_str_radix(hex, 16));
        Signature { name: one.name.into(), offset_bytes: offset.and_then(Result::ok).unwrap_or(0) }
    };
    Ok(listed.signatures.into_iter().map(signature).collect())
}

/// The file system or partition table that blkid settles on; it does not say where that is behind the offset.
fn named_by_blkid(export: &str, offset_bytes: u64) -> Option<Signature> {
    let value = |key: &str| export.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
    let name =
        value("TYPE").map(str::to_owned).or_else(|| Some(format!("{} partition table", value("PTTYPE")?)))?;
    Some(Signature { name: name.into(), offset_bytes })
}

fn run(tool: &str, arguments: &[&OsStr]) -> Result<Output, String> {
    let missing =
        || format!("{tool} is not installed, and what is on it cannot be told without (package util-linux)");
    let program = find(tool).ok_or_else(missing)?;
    let mut command = Command::new(program);
    command.args(arguments).env_clear().env("LC_ALL", "C").stdin(Stdio::null());
    command.output().map_err(|error| format!("{tool} cannot be run: {error}"))
}

fn find(tool: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let system = SYSTEM_DIRECTORIES.iter().map(PathBuf::from);
    system
        .chain(std::env::split_paths(&path))
        .map(|directory| directory.join(tool))
        .find(|path| path.is_file())
}

fn failed(tool: &str, output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stderr);
    format!("{tool} fails ({}): {}", output.status, said.lines().next().unwrap_or("it does not say why"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_wipefs_lists_is_read() {
        let json = br#"{"signatures": [{"device": "loop0", "offset": "0x438", "type": "ext4", "uuid": null, "label": null}]}"#;
        let found = listed_by_wipefs(json).expect("readable");
        assert_eq!((found.len(), &*found[0].name, found[0].offset_bytes), (1, "ext4", 0x438));
        assert!(listed_by_wipefs(br#"{"signatures": []}"#).expect("none").is_empty());
        assert!(listed_by_wipefs(b"\n").expect("none").is_empty());
        assert!(listed_by_wipefs(b"DEVICE OFFSET").is_err());
    }

    #[test]
    fn what_blkid_settles_on_is_read() {
        let name = |export: &str| named_by_blkid(export, 0).map(|found| found.name.into_owned());
        assert_eq!(name("DEVNAME=/dev/x\nTYPE=vfat\nPTTYPE=dos\n").as_deref(), Some("vfat"));
        assert_eq!(name("PTUUID=1\nPTTYPE=sun\n").as_deref(), Some("sun partition table"));
        assert_eq!(name("DEVNAME=/dev/x\n"), None);
    }

    #[test]
    fn a_device_that_is_not_there_is_no_permission() {
        assert!(recognised(Path::new("/nothing-is-here"), 1 << 30).is_err());
    }

    #[test]
    fn a_file_system_whose_partition_table_is_gone_is_found() {
        let place = tempfile::tempdir().expect("a directory");
        for start in PARTITION_STARTS {
            let path = place.path().join(start.to_string());
            std::fs::File::create(&path).and_then(|file| file.set_len(64 << 20)).expect("an image");
            let offset = format!("offset={start}");
            let words = ["-q", "-F", "-E", &offset, path.to_str().expect("a name"), "32M"].map(OsStr::new);
            if !run("mkfs.ext4", &words).is_ok_and(|made| made.status.success()) {
                return;
            }
            let found = recognised(&path, 64 << 20).expect("told");
            assert_eq!((found.len(), found[0].offset_bytes), (1, start), "{found:?}");
            assert!(recognised(&path, start).expect("told").is_empty(), "not behind the end");
        }
    }
}
