//! Results on their way out of the machine: as text on the serial line, over a virtio-serial port, into a FAT partition,
//! over HTTP.

use std::io::Write as _;
use std::path::Path;

use assay_results::store;
use assay_vm::ova;

use super::console::Console;
use super::disks::Disk;
use super::offer::{self, Until};
use super::settings::Out;
use super::{RUNS, ports};

/// Letters of base64 in a line.
const LINE: usize = 76;
const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// The sheet and every run as an archive, by their names.
pub(super) fn files(sheet: &str, console: &Console) -> Vec<(String, Vec<u8>)> {
    let mut files = vec![("SHEET.TXT".to_owned(), sheet.replace('\n', "\r\n").into_bytes())];
    for entry in store::list(Path::new(RUNS)).unwrap_or_default() {
        let directory = entry.dir;
        let packed = directory.read_run().map_err(|error| error.to_string()).and_then(|run| {
            store::export_run(directory.path(), &run, false).map_err(|error| error.to_string())
        });
        match packed {
            Ok(bytes) => files.push((format!("assay-run-{}.tar", entry.id), bytes)),
            Err(why) => console.say(&format!("run {}: {why}", entry.id)),
        }
    }
    files
}

/// Hands files out in every way that is asked for.
pub(super) fn hand_out(files: &[(String, Vec<u8>)], ways: &[Out], (disks, console): (&[Disk], &Console)) {
    // What waits for a client is the last: the others are done by then.
    let (last, first): (Vec<&Out>, Vec<&Out>) = ways.iter().partition(|way| **way == Out::Http);
    for way in first.into_iter().chain(last) {
        let done = match way {
            Out::Serial => {
                serial(files, console);
                Ok("the serial line".to_owned())
            }
            Out::Virtio => virtio(files).map(|()| format!("the virtio-serial port {}", ports::RESULTS)),
            Out::Disk => to_disk(files, disks),
            Out::Http => {
                over_network(files, Until::FirstCopy, console);
                continue;
            }
        };
        match done {
            Ok(place) => console.say(&format!("results written to {place}: {} files", files.len())),
            Err(error) => console.say(&format!("results could not be handed out: {error}")),
        }
    }
}

/// All files as one tar archive.
fn archive(files: &[(String, Vec<u8>)]) -> std::io::Result<Vec<u8>> {
    let mut archive = Vec::new();
    ova::write(files, 0, &mut archive)?;
    Ok(archive)
}

fn virtio(files: &[(String, Vec<u8>)]) -> std::io::Result<()> {
    let archive = archive(files)?;
    let mut port = ports::open(ports::RESULTS)?;
    port.write_all(&archive)?;
    port.flush()
}

/// Offers files to who has the token, and waits as long as they are offered.
pub(super) fn over_network(files: &[(String, Vec<u8>)], until: Until, console: &Console) {
    let archive = archive(files).map_err(|error| error.to_string());
    if let Err(why) = archive.and_then(|archive| offer::over_network(archive, until, console)) {
        console.say(&format!("results are not offered over the network: {why}"));
    }
}

fn to_disk(files: &[(String, Vec<u8>)], disks: &[Disk]) -> std::io::Result<String> {
    let own = disks.iter().find(|disk| disk.is_own);
    let own = own.ok_or_else(|| std::io::Error::other("the machine was not started from its own disk"))?;
    let files: Vec<(String, &[u8])> =
        files.iter().map(|(name, content)| (name.clone(), &content[..])).collect();
    own.put(&files)
}

/// As text that `base64 -d | gunzip` reads.
fn serial(files: &[(String, Vec<u8>)], console: &Console) {
    for (name, content) in files {
        let Ok(packed) = assay_vm::gzip(content) else { continue };
        console.say(&format!("-----BEGIN {name}.gz-----"));
        let text = base64(&packed);
        for line in text.as_bytes().chunks(LINE) {
            console.say(&String::from_utf8_lossy(line));
        }
        console.say(&format!("-----END {name}.gz-----"));
    }
}

/// RFC 4648, section 4.
fn base64(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let of = |index: usize| u32::from(three.get(index).copied().unwrap_or(0));
        let all = of(0) << 16 | of(1) << 8 | of(2);
        for (index, shift) in [18, 12, 6, 0].into_iter().enumerate() {
            let letter = LETTERS[(all >> shift & 63) as usize];
            text.push(if index <= three.len() { char::from(letter) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_that_of_the_standard() {
        for (plain, text) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")]
        {
            assert_eq!(base64(plain.as_bytes()), text);
        }
    }
}
