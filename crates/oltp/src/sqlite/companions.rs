//! What SQLite puts beside a database while it is in use, and opens and writes without a question.

use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use assay_host::workdir::{Ownership, ownership};

use super::foreign;
use crate::error::Error;

/// The ends of their names.
pub(super) const COMPANIONS: [&str; 2] = ["-wal", "-shm"];
/// And of the one of another journal mode: SQLite rolls back what stands there.
const ROLLBACK: &str = "-journal";
/// How they begin (sqlite.org/fileformat2.html and walformat.html): the log with one of two words, its index with a version of the
/// machine's byte order.
const LOG: [[u8; 4]; 2] = [[0x37, 0x7f, 0x06, 0x82], [0x37, 0x7f, 0x06, 0x83]];
const INDEX: [u8; 4] = 3_007_000_u32.to_ne_bytes();

/// Refuses what stands beside the database at `path` and is not SQLite's: a link, a file with another name, a file of somebody.
///
/// # Errors
/// [`crate::Unfit::Foreign`]
pub(super) fn check_companions(path: &Path, place: &str) -> Result<(), Error> {
    for end in COMPANIONS.into_iter().chain([ROLLBACK]) {
        let companion =
            path.with_file_name(format!("{}{end}", path.file_name().unwrap_or_default().to_string_lossy()));
        let Ok(meta) = companion.symlink_metadata() else { continue };
        // One that a power cut left has lost its mark, perhaps.
        let is_ours = meta.is_file()
            && meta.nlink() == 1
            && (ownership(&companion) != Ownership::Foreign || begins_right(&companion, end));
        if !is_ours {
            let name = companion.file_name().unwrap_or_default().to_string_lossy();
            return Err(foreign(place, format!("'{name}', a link or a file of another program")));
        }
    }
    Ok(())
}

/// Whether a file is empty, or begins as SQLite's of that end does.
fn begins_right(path: &Path, end: &str) -> bool {
    let mut head = Vec::new();
    let read = File::open(path).and_then(|file| file.take(4).read_to_end(&mut head));
    // A power cut may leave a length without its content.
    let is_known = match end {
        "-wal" => LOG.iter().any(|word| head == word) || head == [0; 4],
        "-shm" => head == INDEX || head == [0; 4],
        _ => false,
    };
    read.is_ok() && (head.is_empty() || is_known)
}
