//! The root below which everything is read: the machine's own, or a directory that stands in for it.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Where `/proc`, `/sys`, `/dev` and the targets are looked up.
///
/// Reads return `None` for whatever cannot be read: a missing file, a refused one and an unreadable one all
/// mean "not known" to the callers, who say so.
#[derive(Clone, Debug, Default)]
pub struct HostRoot {
    prefix: Option<PathBuf>,
}

impl HostRoot {
    /// The machine itself.
    pub fn real() -> Self {
        Self { prefix: None }
    }

    /// A directory that holds a tree like the machine's: `DIR/proc/stat`, `DIR/sys/block/sda/..`.
    ///
    /// Below such a root an ordinary file `DIR/dev/NAME` counts as the block device NAME if
    /// `DIR/sys/class/block/NAME` exists, so that whole device chains can be staged without privileges.
    pub fn at(directory: impl Into<PathBuf>) -> Self {
        Self { prefix: Some(directory.into()) }
    }

    /// Whether this is the machine itself.
    pub fn is_real(&self) -> bool {
        self.prefix.is_none()
    }

    /// Where an absolute path of the (stand-in) machine is found on the real one.
    pub fn locate(&self, path: impl AsRef<Path>) -> PathBuf {
        let path = path.as_ref();
        match &self.prefix {
            None => path.to_owned(),
            Some(prefix) => prefix.join(path.strip_prefix("/").unwrap_or(path)),
        }
    }

    /// The canonical path as the (stand-in) machine sees it.
    ///
    /// # Errors
    /// What [`fs::canonicalize`] says, and `InvalidInput` for a link that leads out of a stand-in root.
    pub fn canonicalize(&self, path: &Path) -> io::Result<PathBuf> {
        let real = fs::canonicalize(self.locate(path))?;
        let Some(prefix) = &self.prefix else { return Ok(real) };
        let prefix = fs::canonicalize(prefix)?;
        match real.strip_prefix(&prefix) {
            Ok(inner) => Ok(Path::new("/").join(inner)),
            Err(_) => Err(io::Error::new(io::ErrorKind::InvalidInput, "leads out of the stand-in root")),
        }
    }

    /// The text of a file without white space around it; invalid UTF-8 is replaced.
    pub fn text(&self, path: impl AsRef<Path>) -> Option<String> {
        let bytes = fs::read(self.locate(path)).ok()?;
        Some(String::from_utf8_lossy(&bytes).trim().to_owned())
    }

    /// The text of a file, `None` also when it is empty.
    pub fn nonempty_text(&self, path: impl AsRef<Path>) -> Option<String> {
        self.text(path).filter(|text| !text.is_empty())
    }

    /// A file that holds one number.
    pub fn number<T: FromStr>(&self, path: impl AsRef<Path>) -> Option<T> {
        self.text(path)?.parse().ok()
    }

    /// A file that holds 0 or 1 (or Y/N).
    pub fn flag(&self, path: impl AsRef<Path>) -> Option<bool> {
        match self.text(path)?.as_str() {
            "0" | "N" | "n" => Some(false),
            "1" | "Y" | "y" => Some(true),
            _ => None,
        }
    }

    /// Names in a directory, sorted; empty when it cannot be read.
    pub fn names(&self, path: impl AsRef<Path>) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.locate(path)) else { return Vec::new() };
        let mut names: Vec<String> =
            entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    /// Whether something is there.
    pub fn exists(&self, path: impl AsRef<Path>) -> bool {
        self.locate(path).exists()
    }

    /// Opens a file for reading.
    ///
    /// # Errors
    /// What [`File::open`] says.
    pub fn open(&self, path: impl AsRef<Path>) -> io::Result<File> {
        File::open(self.locate(path))
    }
}

/// The word in brackets of a kernel choice list: `mq` of `none [mq] kyber`; the only word when none is
/// bracketed.
pub(crate) fn chosen(list: &str) -> Option<String> {
    let mut words = list.split_whitespace();
    let bracketed = words.clone().find_map(|word| word.strip_prefix('[')?.strip_suffix(']'));
    match (bracketed, words.next(), words.next()) {
        (Some(word), _, _) | (None, Some(word), None) => Some(word.to_owned()),
        _ => None,
    }
}

/// How many processors a kernel list such as `0-3,8` names; `None` when it is not such a list.
pub(crate) fn count_listed(list: &str) -> Option<u32> {
    list.trim().split(',').filter(|part| !part.is_empty()).try_fold(0_u32, |sum, part| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        sum.checked_add(last.checked_sub(first)?.checked_add(1)?)
    })
}

/// The number after `key` in a file of `Key: value kB` or `key value` lines.
pub(crate) fn keyed_number(text: &str, key: &str) -> Option<u64> {
    text.lines().find_map(|line| {
        let rest = line.strip_prefix(key)?;
        let rest = rest.strip_prefix(':').unwrap_or(rest);
        rest.starts_with(char::is_whitespace).then(|| rest.split_whitespace().next()?.parse().ok()).flatten()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::FakeHost;

    #[test]
    fn reads_stay_below_a_stand_in_root() {
        let host = FakeHost::new();
        host.write("/proc/sys/kernel/osrelease", "6.1.0\n");
        assert_eq!(host.root().text("/proc/sys/kernel/osrelease").as_deref(), Some("6.1.0"));
        assert_eq!(host.root().text("/proc/sys/kernel/ostype"), None);
    }

    #[test]
    fn a_link_out_of_the_stand_in_root_is_refused() {
        let host = FakeHost::new();
        host.symlink("/escape", "/");
        assert!(host.root().canonicalize(Path::new("/escape")).is_err());
    }

    #[test]
    fn choice_lists() {
        assert_eq!(chosen("none [mq-deadline] kyber").as_deref(), Some("mq-deadline"));
        assert_eq!(chosen("none").as_deref(), Some("none"));
        assert_eq!(chosen("a b"), None);
    }

    #[test]
    fn processor_lists() {
        assert_eq!(count_listed("0-3,8"), Some(5));
        assert_eq!(count_listed("0"), Some(1));
        assert_eq!(count_listed("3-1"), None);
        assert_eq!(count_listed("x"), None);
    }

    #[test]
    fn keyed_numbers_match_whole_keys() {
        let text = "MemTotal:  100 kB\nMemAvailable: 7 kB\npgpgin 12\npgpginx 13\n";
        assert_eq!(keyed_number(text, "MemAvailable"), Some(7));
        assert_eq!(keyed_number(text, "pgpgin"), Some(12));
        assert_eq!(keyed_number(text, "Mem"), None);
    }
}
