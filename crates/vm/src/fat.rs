//! A FAT32 file system as bytes: what firmware starts from, and what a person carries files in.

use std::io::{self, Cursor, Write as _};

use fatfs::{Date, DateTime, FatType, FileSystem, FormatVolumeOptions, FsOptions, Time, TimeProvider};

/// FAT32 has at least 65525 clusters: with clusters of one sector, and what its tables take.
pub const BYTES_MIN: u64 = 36 << 20;
/// Clusters of eight sectors above this.
const LARGE: u64 = 300 << 20;

/// The same moment for every file, so that the same files give the same bytes: the first that FAT knows.
#[derive(Debug, Clone, Copy)]
struct Then;

const DATE: Date = Date { year: 1980, month: 1, day: 1 };
const TIME: Time = Time { hour: 0, min: 0, sec: 0, millis: 0 };

impl TimeProvider for Then {
    fn get_current_date(&self) -> Date {
        DATE
    }

    fn get_current_date_time(&self) -> DateTime {
        DateTime { date: DATE, time: TIME }
    }
}

/// A file system of `bytes` with `files` in it, by their paths.
///
/// # Errors
/// The files do not fit, or a name is none.
pub fn image(bytes: u64, label: &str, files: &[(String, &[u8])]) -> io::Result<Vec<u8>> {
    let mut volume = Cursor::new(vec![0; bytes as usize]);
    let mut padded = [b' '; 11];
    label.bytes().zip(&mut padded).for_each(|(letter, to)| *to = letter);
    let cluster = if bytes < LARGE { 512 } else { 4096 };
    let options =
        FormatVolumeOptions::new().fat_type(FatType::Fat32).volume_label(padded).volume_id(0xa55a_1001);
    fatfs::format_volume(&mut volume, options.bytes_per_cluster(cluster))?;
    put(&mut volume, files)?;
    Ok(volume.into_inner())
}

/// Writes files into a file system that is there; those of the same names are replaced.
///
/// # Errors
/// It is no FAT file system, or it is full.
pub fn put(volume: &mut (impl io::Read + io::Write + io::Seek), files: &[(String, &[u8])]) -> io::Result<()> {
    volume.seek(io::SeekFrom::Start(0))?;
    let system = FileSystem::new(volume, FsOptions::new().time_provider(&Then).update_accessed_date(false))?;
    let root = system.root_dir();
    for (path, content) in files {
        for (at, _) in path.match_indices('/') {
            root.create_dir(&path[..at])?;
        }
        let mut file = root.create_file(path)?;
        file.truncate()?;
        file.write_all(content)?;
    }
    drop(root);
    system.unmount()
}

/// The content of a file of a FAT file system with this label, of at most `bytes_max`; `None`: there is no such file system or file.
pub fn read(
    volume: impl io::Read + io::Write + io::Seek,
    label: &str,
    path: &str,
    bytes_max: u64,
) -> Option<Vec<u8>> {
    let system = FileSystem::new(volume, FsOptions::new()).ok()?;
    if system.volume_label().trim() != label {
        return None;
    }
    let mut content = Vec::new();
    let file = system.root_dir().open_file(path).ok()?;
    io::Read::read_to_end(&mut io::Read::take(file, bytes_max), &mut content).ok()?;
    Some(content)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_come_back_and_the_same_files_give_the_same_bytes() {
        let files =
            [("EFI/BOOT/BOOTX64.EFI".to_owned(), &b"loader"[..]), ("a long name.txt".to_owned(), b"x")];
        let one = image(BYTES_MIN, "ASSAY", &files).expect("fits");
        assert_eq!(one, image(BYTES_MIN, "ASSAY", &files).expect("fits"));
        let system = FileSystem::new(Cursor::new(one.clone()), FsOptions::new()).expect("a file system");
        assert_eq!(system.fat_type(), FatType::Fat32);
        let found = |path| read(Cursor::new(one.clone()), "ASSAY", path, 100);
        assert_eq!(found("EFI/BOOT/BOOTX64.EFI").as_deref(), Some(&b"loader"[..]));
        assert_eq!(found("a long name.txt").as_deref(), Some(&b"x"[..]));
        assert_eq!(found("other"), None);
        assert_eq!(read(Cursor::new(one), "OTHER", "a long name.txt", 100), None);
        let large = vec![1; BYTES_MIN as usize];
        assert!(image(BYTES_MIN, "ASSAY", &[("large".to_owned(), &large)]).is_err());
    }
}
