//! A cpio archive in the "newc" form: what Linux unpacks as its first file system (Documentation/driver-api/early-userspace/buffer-format).

use std::collections::BTreeMap;

const DIRECTORY: u32 = 0o040_755;
const EXECUTABLE: u32 = 0o100_755;
const LINK: u32 = 0o120_777;
const CHARACTERS: u32 = 0o020_600;

enum Entry {
    Directory,
    File(Vec<u8>),
    Link(String),
    Device { major: u32, minor: u32 },
}

/// Files of an initial file system. Names are relative; the directories above a file are made with it.
#[derive(Default)]
pub struct Initramfs {
    entries: BTreeMap<String, Entry>,
}

impl std::fmt::Debug for Initramfs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.entries.keys()).finish()
    }
}

impl Initramfs {
    /// Adds a directory.
    pub fn directory(&mut self, name: &str) {
        let name = name.trim_matches('/');
        for (at, _) in name.match_indices('/') {
            self.entries.entry(name[..at].to_owned()).or_insert(Entry::Directory);
        }
        self.entries.entry(name.to_owned()).or_insert(Entry::Directory);
    }

    fn add(&mut self, name: &str, entry: Entry) {
        let name = name.trim_matches('/');
        if let Some((above, _)) = name.rsplit_once('/') {
            self.directory(above);
        }
        self.entries.insert(name.to_owned(), entry);
    }

    /// Adds a file that can be executed.
    pub fn file(&mut self, name: &str, content: Vec<u8>) {
        self.add(name, Entry::File(content));
    }

    /// Adds a symbolic link to `target`.
    pub fn link(&mut self, name: &str, target: &str) {
        self.add(name, Entry::Link(target.to_owned()));
    }

    /// Adds a character device.
    pub fn device(&mut self, name: &str, major: u32, minor: u32) {
        self.add(name, Entry::Device { major, minor });
    }

    /// The archive: the same files give the same bytes, and all of them are of the second `seconds` after 1970.
    pub fn archive(&self, seconds: u32) -> Vec<u8> {
        let mut out = Vec::new();
        for (number, (name, entry)) in (1..).zip(&self.entries) {
            let (mode, content, device): (u32, &[u8], _) = match entry {
                Entry::Directory => (DIRECTORY, &[], (0, 0)),
                Entry::File(content) => (EXECUTABLE, content, (0, 0)),
                Entry::Link(target) => (LINK, target.as_bytes(), (0, 0)),
                Entry::Device { major, minor } => (CHARACTERS, &[], (*major, *minor)),
            };
            put(&mut out, number, (mode, seconds, device), name, content);
        }
        put(&mut out, 0, (0, 0, (0, 0)), "TRAILER!!!", &[]);
        out.resize(out.len().next_multiple_of(512), 0);
        out
    }
}

/// One entry: a header of hexadecimal fields, the name, the content, each padded to four bytes.
fn put(out: &mut Vec<u8>, number: u32, of: (u32, u32, (u32, u32)), name: &str, content: &[u8]) {
    let (mode, seconds, (major, minor)) = of;
    let links = if mode == DIRECTORY { 2 } else { 1 };
    let fields = [
        number,
        mode,
        0,
        0,
        links,
        seconds,
        content.len() as u32,
        0,
        0,
        major,
        minor,
        name.len() as u32 + 1,
        0,
    ];
    out.extend_from_slice(b"070701");
    fields.iter().for_each(|field| out.extend_from_slice(format!("{field:08X}").as_bytes()));
    out.extend_from_slice(name.as_bytes());
    out.push(0);
    out.resize(out.len().next_multiple_of(4), 0);
    out.extend_from_slice(content);
    out.resize(out.len().next_multiple_of(4), 0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_archive_has_directories_before_what_is_in_them_and_ends_in_a_trailer() {
        let mut files = Initramfs::default();
        files.file("a/b/c", b"12345".to_vec());
        files.link("lib64", "lib");
        let bytes = files.archive(7);
        assert_eq!(bytes, files.archive(7));
        assert_ne!(bytes, files.archive(8));
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let at = |what: &str| text.find(what).unwrap_or_else(|| panic!("{what}"));
        assert!(text.starts_with("070701") && at("a\0") < at("a/b\0") && at("a/b\0") < at("a/b/c\0"));
        assert!(at("a/b/c\0") < at("12345") && at("12345") < at("TRAILER!!!"));
        assert_eq!(bytes.len() % 512, 0);
    }
}
