//! The files and devices that a command has open: what it works on, where nobody says it.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use assay_engine::extents::Kernel;
use assay_host::HostRoot;
use assay_host::extents::summary;
use assay_results::environment::ExtentSummary;

/// More files than this are not looked at: a database may have thousands open.
const FILES_MAX: usize = 4096;
/// The largest ones are the targets.
const TARGETS_MAX: usize = 16;
/// Smaller files are configuration and logs, unless there are no others.
const BYTES_MIN: u64 = 1 << 20;
/// File systems that hold no data of anybody's.
const NO_STORAGE: [&str; 5] = ["/proc/", "/sys/", "/dev/pts/", "/run/", "/dev/shm/"];
/// `O_DIRECT` in the flags that fdinfo shows, and `O_ACCMODE`.
const O_DIRECT: u32 = rustix::fs::OFlags::DIRECT.bits();
const O_ACCMODE: u32 = 0o3;

/// One file or device.
#[derive(Debug, Clone, PartialEq)]
pub struct OpenFile {
    /// Its path.
    pub path: PathBuf,
    /// Whether it is a block device.
    pub is_device: bool,
    /// Its size.
    pub bytes: u64,
    /// Whether every descriptor seen on it was opened with O_DIRECT.
    pub direct: bool,
    /// Whether some descriptor was.
    pub direct_some: bool,
    /// Whether some descriptor was opened for reading, and some for writing.
    pub opened_for: (bool, bool),
    /// What it held when it was first seen; `None` for a device, and for a file that the command made.
    pub extents: Option<ExtentSummary>,
}

/// All that were seen open.
#[derive(Debug)]
pub struct OpenFiles {
    begun: SystemTime,
    found: BTreeMap<PathBuf, OpenFile>,
    /// What was mapped to be executed: programs and libraries, which a loader has open for a moment.
    code: BTreeSet<PathBuf>,
    /// Assay's own standard streams and pipes, which the command has, too.
    inherited: Vec<PathBuf>,
    /// A pipe that the command got for its output.
    pub(super) given: Option<PathBuf>,
    /// What each process had open.
    processes: BTreeMap<u32, ByProcess>,
}

/// What one process had open, for reading and for writing.
#[derive(Debug, Default)]
struct ByProcess {
    files: BTreeMap<PathBuf, (bool, bool)>,
    /// What is no storage: pipes to other processes, `/dev/zero`, a terminal. Not what it has from Assay.
    streams: (bool, bool),
}

fn either(one: (bool, bool), other: (bool, bool)) -> (bool, bool) {
    (one.0 || other.0, one.1 || other.1)
}

impl Default for OpenFiles {
    fn default() -> Self {
        let own = std::fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
        let links = own.filter_map(|entry| Some((entry.file_name(), std::fs::read_link(entry.path()).ok()?)));
        // Of the others, which the command may have got as well, only what is no file matters.
        let is_stream = |name: &OsString, link: &Path| {
            ["0", "1", "2"].iter().any(|stream| name == stream) || link.to_string_lossy().starts_with("pipe:")
        };
        let streams = links.filter(|(name, link)| is_stream(name, link)).map(|(_, link)| link);
        OpenFiles {
            begun: SystemTime::now(),
            found: BTreeMap::new(),
            code: BTreeSet::new(),
            inherited: streams.collect(),
            given: None,
            processes: BTreeMap::new(),
        }
    }
}

impl OpenFiles {
    /// Takes note of what a process has open now.
    pub fn look_at(&mut self, host: &HostRoot, pid: u32) {
        let directory = format!("/proc/{pid}/fd");
        let mut pipes: BTreeMap<PathBuf, (bool, bool)> = BTreeMap::new();
        for name in host.names(&directory) {
            let Ok(path) = std::fs::read_link(host.locate(format!("{directory}/{name}"))) else { continue };
            if self.inherited.contains(&path) || self.given.as_ref() == Some(&path) {
                continue;
            }
            let flags = host.text(format!("/proc/{pid}/fdinfo/{name}")).and_then(|text| flags(&text));
            let flags = flags.unwrap_or(0);
            let text = path.to_string_lossy();
            if text.starts_with("pipe:") {
                let (reads, writes) = opened_for(flags);
                let ends = pipes.entry(path).or_default();
                *ends = either(*ends, (reads, writes));
            } else if text.starts_with('/') && !NO_STORAGE.iter().any(|prefix| text.starts_with(prefix)) {
                self.add(&path, flags);
                self.add_to_process(pid, path, opened_for(flags));
            }
        }
        // A pipe with both ends in one process is how it wakes itself.
        let streams = pipes.into_values().filter(|ends| *ends != (true, true));
        let own = self.processes.entry(pid).or_default();
        own.streams = streams.fold(own.streams, either);
        let maps = host.text(format!("/proc/{pid}/maps")).unwrap_or_default();
        self.code.extend(maps.lines().filter_map(code));
    }

    fn add(&mut self, path: &Path, flags: u32) {
        let direct = flags & O_DIRECT != 0;
        let (reads, writes) = opened_for(flags);
        if let Some(known) = self.found.get_mut(path) {
            known.direct &= direct;
            known.direct_some |= direct;
            known.opened_for = either(known.opened_for, (reads, writes));
            return;
        }
        let Ok(meta) = std::fs::metadata(path) else { return };
        let kind = meta.file_type();
        if !(kind.is_file() || kind.is_block_device()) || self.found.len() >= FILES_MAX {
            return;
        }
        let new = meta.created().is_ok_and(|made| made >= self.begun);
        let extents = (kind.is_file() && !new && meta.len() >= BYTES_MIN)
            .then(|| summary(&std::fs::File::open(path).ok()?, 0, meta.len(), &Kernel).ok())
            .flatten();
        let bytes = meta.len().max(meta.blocks() * 512);
        let file = OpenFile {
            path: path.to_owned(),
            is_device: kind.is_block_device(),
            bytes,
            direct,
            direct_some: direct,
            opened_for: (reads, writes),
            extents,
        };
        self.found.insert(path.to_owned(), file);
    }

    /// Takes note of what is open in a process: a file or a device of those that are kept, or a stream.
    fn add_to_process(&mut self, pid: u32, path: PathBuf, opened_for: (bool, bool)) {
        let own = self.processes.entry(pid).or_default();
        if self.found.contains_key(&path) {
            if own.files.len() < FILES_MAX {
                let known = own.files.entry(path).or_default();
                *known = either(*known, opened_for);
            }
        } else if std::fs::metadata(&path).is_ok_and(|meta| meta.file_type().is_char_device()) {
            own.streams = either(own.streams, opened_for);
        }
    }

    /// Whether a process had data files or devices open for reading (`direction` 0) or for writing (1), and streams that
    /// it does not have from Assay.
    pub fn opened_by(&self, pid: u32, direction: usize, data: &BTreeSet<PathBuf>) -> (bool, bool) {
        let Some(own) = self.processes.get(&pid) else { return (false, false) };
        let so = |opened: (bool, bool)| if direction == 0 { opened.0 } else { opened.1 };
        (own.files.iter().any(|(path, opened)| so(*opened) && data.contains(path)), so(own.streams))
    }

    /// Whether any process had streams open for reading (`direction` 0) or for writing (1) that it does not have from Assay.
    pub fn have_streams(&self, direction: usize) -> bool {
        let so = |opened: (bool, bool)| if direction == 0 { opened.0 } else { opened.1 };
        self.processes.values().any(|own| so(own.streams))
    }

    /// Whether something of a process was seen open.
    pub fn knows(&self, pid: u32) -> bool {
        self.processes.contains_key(&pid)
    }

    /// Whether something was seen open, and not more than is kept.
    pub fn are_known(&self) -> bool {
        !self.found.is_empty() && self.found.len() < FILES_MAX
    }

    /// What was seen open at a path or below it, under whatever name.
    pub fn at(&self, path: &Path) -> Vec<&OpenFile> {
        let identity = |path: &Path| std::fs::metadata(path).ok().map(|meta| (meta.dev(), meta.ino()));
        let wanted = identity(path);
        let is_at = |file: &&OpenFile| {
            file.path.starts_with(path) || wanted.is_some() && identity(&file.path) == wanted
        };
        self.found.values().filter(is_at).collect()
    }

    /// What the command most likely works on: devices, and the largest files as they are now.
    pub fn targets(&self) -> Vec<OpenFile> {
        let mut files = self.data();
        files.truncate(TARGETS_MAX);
        files
    }

    /// Devices and data files: the large ones, or what there is.
    pub fn data(&self) -> Vec<OpenFile> {
        let data = |file: &&OpenFile| !self.code.contains(&file.path);
        let mut files: Vec<OpenFile> = self.found.values().filter(data).cloned().collect();
        for file in files.iter_mut().filter(|file| !file.is_device) {
            file.bytes = std::fs::metadata(&file.path).map_or(file.bytes, |meta| meta.len().max(file.bytes));
        }
        if files.iter().any(|file| file.is_device || file.bytes >= BYTES_MIN) {
            files.retain(|file| file.is_device || file.bytes >= BYTES_MIN);
        } else if files.iter().any(|file| file.opened_for.1) {
            // Of small files those that it writes: the rest is its program and its configuration.
            files.retain(|file| file.opened_for.1);
        }
        files.sort_by_key(|file| (!file.is_device, std::cmp::Reverse(file.bytes)));
        files
    }
}

/// The file of a line of `/proc/PID/maps`, where it is mapped to be executed.
fn code(line: &str) -> Option<PathBuf> {
    let mut words = line.split_ascii_whitespace();
    let executable = words.nth(1)?.contains('x');
    // A path may contain blanks: it is what is left behind offset, device and inode.
    let path = line.find('/').map(|at| PathBuf::from(&line[at..]))?;
    executable.then_some(path)
}

/// For reading, for writing: `O_ACCMODE` is 0, 1, or 2 for both.
fn opened_for(flags: u32) -> (bool, bool) {
    (flags & O_ACCMODE != 1, flags & O_ACCMODE != 0)
}

/// The flags of a descriptor, as `/proc/PID/fdinfo/N` shows them in octal.
fn flags(text: &str) -> Option<u32> {
    let word = text.lines().find_map(|line| line.strip_prefix("flags:"))?;
    u32::from_str_radix(word.trim(), 8).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_octal() {
        assert_eq!(flags("pos:\t0\nflags:\t0100002\nmnt_id:\t29\n"), Some(0o100_002));
        assert_eq!(flags("pos:\t0\n"), None);
    }

    #[test]
    fn a_library_that_is_being_loaded_is_no_target() {
        let line = "7f00-7f10 r-xp 00001000 fe:00 131 /usr/lib/a library.so.2";
        assert_eq!(code(line), Some(PathBuf::from("/usr/lib/a library.so.2")));
        assert_eq!(code("7f00-7f10 r--p 00001000 fe:00 131 /var/data"), None);
        assert_eq!(code("7f00-7f10 r-xp 00000000 00:00 0 [vdso]"), None);
        let directory = tempfile::tempdir().unwrap();
        let [library, data] = ["library", "data"].map(|name| directory.path().join(name));
        let mut files = OpenFiles { begun: SystemTime::UNIX_EPOCH, ..OpenFiles::default() };
        for path in [&library, &data] {
            std::fs::write(path, vec![1; 2 << 20]).unwrap();
            files.add(path, 0);
        }
        files.code.extend(code(&format!("7f00-7f10 r-xp 00000000 fe:00 131 {}", library.display())));
        let targets: Vec<PathBuf> = files.targets().into_iter().map(|file| file.path).collect();
        assert_eq!(targets, [data]);
    }

    #[test]
    fn the_large_files_are_the_targets() {
        let directory = tempfile::tempdir().unwrap();
        let (large, small) = (directory.path().join("large"), directory.path().join("small"));
        std::fs::write(&large, vec![1; 2 << 20]).unwrap();
        std::fs::write(&small, b"x").unwrap();
        let mut files = OpenFiles { begun: SystemTime::UNIX_EPOCH, ..OpenFiles::default() };
        files.add(&small, O_DIRECT);
        assert_eq!(files.targets().len(), 1);
        files.add(&large, O_DIRECT);
        files.add(&large, 0o2);
        files.add(directory.path(), 0);
        let targets = files.targets();
        assert_eq!(targets.len(), 1);
        assert_eq!(
            (targets[0].path.as_path(), targets[0].direct, targets[0].direct_some, targets[0].opened_for),
            (large.as_path(), false, true, (true, true))
        );
    }
}
