//! Names and directories in texts, and what stands for them.

use std::collections::{BTreeMap, BTreeSet};

/// Directories of the system's own, whose files tell nothing of who uses it.
const SYSTEM_DIRECTORIES: [&str; 3] = ["/sys/", "/proc/", "/usr/"];
/// What stands for a device with a name that people or makers gave it.
const DEVICE: &str = "/dev/device-";

/// Numbers of directories, in the order in which they are met.
#[derive(Debug, Default)]
pub(super) struct Directories {
    numbers: BTreeMap<String, usize>,
    /// Paths that are directories themselves, and not files in one.
    known: BTreeSet<String>,
}

impl Directories {
    /// Notes that a path is a directory's.
    pub(super) fn is_one(&mut self, path: &str) {
        self.known.insert(path.trim_end_matches('/').to_owned());
    }

    fn number(&mut self, path: &str) -> usize {
        let next = self.numbers.len() + 1;
        *self.numbers.entry(path.to_owned()).or_insert(next)
    }

    /// What stands for a path: its last word stays, unless it is that of a directory or of a device with a name.
    pub(super) fn neutral(&mut self, path: &str) -> String {
        let whole = path.trim_end_matches('/');
        let neutral = whole.starts_with("/directory-") || whole.starts_with(DEVICE);
        if whole.is_empty() || neutral || SYSTEM_DIRECTORIES.iter().any(|system| whole.starts_with(system)) {
            return path.to_owned();
        }
        if let Some(device) = whole.strip_prefix("/dev/").filter(|device| !device.starts_with("shm")) {
            return match device.contains('/') {
                true => format!("{DEVICE}{}", self.number(whole)),
                false => path.to_owned(),
            };
        }
        let root = if whole.starts_with('/') { "/" } else { "" };
        let (above, last) = whole.rsplit_once('/').unwrap_or(("", whole));
        // Below /home is a user's name.
        if self.known.contains(whole) || ["/home", "/Users"].contains(&above) {
            return format!("{root}directory-{}", self.number(whole));
        }
        match above {
            "" | "." => path.to_owned(),
            above => format!("{root}directory-{}/{last}", self.number(above)),
        }
    }
}

/// What is known to be a name or a path.
#[derive(Debug)]
pub(super) struct Known {
    hosts: BTreeMap<String, String>,
    others: BTreeMap<String, String>,
    counts: BTreeMap<&'static str, usize>,
}

impl Known {
    pub(super) fn new(hosts: BTreeMap<String, String>) -> Self {
        Known { hosts, others: BTreeMap::new(), counts: BTreeMap::new() }
    }

    /// Notes a path.
    pub(super) fn path(&mut self, path: &str, directories: &mut Directories) {
        let neutral = directories.neutral(path);
        if neutral != path {
            self.others.insert(path.to_owned(), neutral);
        }
    }

    /// Notes a name, which gets a number among those of its kind.
    pub(super) fn numbered(&mut self, kind: &'static str, name: Option<&str>) {
        let Some(name) = name.filter(|name| !name.is_empty() && *name != "lo") else { return };
        if self.hosts.contains_key(name) || self.others.contains_key(name) {
            return;
        }
        let count = self.counts.entry(kind).or_default();
        *count += 1;
        self.others.insert(name.to_owned(), format!("{kind}-{count}"));
    }

    /// A text without names. One word is the name of a host only where it `names` something.
    pub(super) fn replaced(&self, text: &str, names: bool, directories: &mut Directories) -> String {
        if let Some(instead) = self.others.get(text) {
            return instead.clone();
        }
        let one_word = !text.contains(|c: char| c.is_whitespace() || "/:@".contains(c));
        if one_word {
            let instead = self.hosts.get(text).filter(|_| names);
            return instead.cloned().unwrap_or_else(|| without_identifiers(text));
        }
        let mut out = String::with_capacity(text.len());
        let mut at = 0;
        while let Some(c) = text[at..].chars().next() {
            let before = text[..at].chars().next_back();
            let (length, instead) = match () {
                () if before.is_some_and(is_of_word) => (c.len_utf8(), None),
                () => self.at(text, at, directories).map_or((c.len_utf8(), None), |(n, s)| (n, Some(s))),
            };
            match instead {
                Some(instead) => {
                    if before == Some('@') {
                        // Who logs in there.
                        out.pop();
                        out.truncate(out.trim_end_matches(is_of_word).len());
                    }
                    out.push_str(&instead);
                }
                None => out.push(c),
            }
            at += length;
        }
        out
    }

    /// What stands for what a text has at a place, and how many bytes that has; `None`: it has nothing of that kind there.
    fn at(&self, text: &str, at: usize, directories: &mut Directories) -> Option<(usize, String)> {
        let (front, rest) = text.split_at(at);
        let before = front.chars().next_back();
        let ends = |length: usize| is_end(&rest[length..]);
        let all = self.others.iter().filter(|(name, _)| rest.starts_with(name.as_str()) && ends(name.len()));
        let hosts = self.hosts.iter().filter(|(name, _)| rest.starts_with(name.as_str()) && ends(name.len()));
        let longest = all.chain(hosts).max_by_key(|(name, _)| name.len());
        if let Some((name, instead)) =
            longest.filter(|(name, _)| !rest[name.len()..].starts_with('/') || !name.contains('/'))
        {
            return Some((name.len(), instead.clone()));
        }
        let begins = before.is_none_or(|c| c.is_whitespace() || "'\"`=:(,[<>".contains(c));
        if rest.starts_with('/') && !rest.starts_with("//") && begins {
            let end =
                rest.find(|c: char| c.is_whitespace() || "'\"`,;:)]}<>".contains(c)).unwrap_or(rest.len());
            let path = rest[..end].trim_end_matches('.');
            let neutral = directories.neutral(path);
            // A name of a host in what stays of it is found as elsewhere.
            return Some((path.len(), self.last_word(neutral))).filter(|_| path.len() > 1);
        }
        // The server of a database; pages that messages name are nobody's.
        let page = front.ends_with("http:") || front.ends_with("https:");
        if let Some(server) = rest.strip_prefix("//").filter(|_| before == Some(':') && !page) {
            let end = server
                .find(|c: char| c.is_whitespace() || "/'\"`,;)]}<>".contains(c))
                .unwrap_or(server.len());
            return Some((2 + end, "//server".to_owned()));
        }
        let word = rest.find(|c: char| !is_of_word(c)).unwrap_or(rest.len());
        let plain = without_identifiers(&rest[..word]);
        (plain != rest[..word]).then_some((word, plain))
    }

    /// A path whose last word is no host.
    fn last_word(&self, path: String) -> String {
        let host = path.rsplit_once('/').and_then(|(above, last)| Some((above, self.hosts.get(last)?)));
        host.map_or_else(|| path.clone(), |(above, instead)| format!("{above}/{instead}"))
    }
}

fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() || "-_.".contains(c)
}

/// Whether a word ends before `rest`; a full stop ends a sentence where nothing follows it.
fn is_end(rest: &str) -> bool {
    let after = rest.trim_start_matches('.');
    !after.chars().next().is_some_and(is_of_word)
}

/// A word that is an identifier of one thing in the world: a UUID, a world wide name.
fn without_identifiers(word: &str) -> String {
    let parts: Vec<&str> = word.split('-').collect();
    let hex = |part: &&str| part.bytes().all(|byte| byte.is_ascii_hexdigit());
    let uuid = parts.iter().map(|part| part.len()).eq([8, 4, 4, 4, 12]) && parts.iter().all(hex);
    let digits = |rest: &str| rest.len() >= 16 && hex(&rest);
    let worldwide =
        ["wwn-0x", "eui.", "naa.", "0x"].iter().any(|start| word.strip_prefix(start).is_some_and(digits));
    if uuid || worldwide { "identifier".to_owned() } else { word.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known() -> (Known, Directories) {
        let hosts = [("vm", "host-1"), ("alice-vm.example.com", "host-2")];
        let hosts = hosts.into_iter().map(|(name, instead)| (name.to_owned(), instead.to_owned())).collect();
        (Known::new(hosts), Directories::default())
    }

    fn free(text: &str) -> String {
        let (known, mut directories) = known();
        known.replaced(text, false, &mut directories)
    }

    #[test]
    fn a_host_is_replaced_where_its_name_is_a_whole_word() {
        assert_eq!(
            free("vm: on vm-1, not vmlinuz, not vm.local; on vm."),
            "host-1: on vm-1, not vmlinuz, not vm.local; on host-1."
        );
        assert_eq!(free("acme-vm-test on alice-vm.example.com"), "acme-vm-test on host-2");
        assert_eq!(free("root@vm is asked"), "host-1 is asked");
        // A word of the format that happens to be a host's name is none.
        assert_eq!(free("vm"), "vm");
        let (known, mut directories) = known();
        assert_eq!(known.replaced("vm", true, &mut directories), "host-1");
        assert_eq!(known.replaced("acme-vm-test", true, &mut directories), "acme-vm-test");
    }

    #[test]
    fn directories_are_numbered_and_last_words_stay() {
        let (mut known, mut directories) = known();
        directories.is_one("/mnt/customer x");
        known.path("/mnt/customer x", &mut directories);
        known.path("/mnt/customer x/a b.bin", &mut directories);
        let mut all = |text: &str| known.replaced(text, false, &mut directories);
        assert_eq!(all("/mnt/customer x"), "/directory-1");
        assert_eq!(all("wrote /mnt/customer x/a b.bin."), "wrote /directory-1/a b.bin.");
        assert_eq!(all("/srv/alice/x/a and /srv/alice/y/a"), "/directory-2/a and /directory-3/a");
        assert_eq!(all(&["/srv/alice/x/b:/home", "alice"].join("/")), "/directory-2/b:/directory-4");
        assert_eq!(
            all("/dev/vda1, /sys/block/vda/queue, I/Os at 5 MB/s"),
            "/dev/vda1, /sys/block/vda/queue, I/Os at 5 MB/s"
        );
        assert_eq!(all("on /dev/disk/by-id/nvme-SERIAL."), "on /dev/device-5.");
        assert_eq!(all("root UUID=01234567-89ab-cdef-0123-456789abcdef"), "root UUID=identifier");
        let once = all("/srv/alice/x/a");
        assert_eq!(all(&once), once, "what is neutral stays as it is");
    }
}
