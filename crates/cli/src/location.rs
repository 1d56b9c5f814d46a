//! WHERE: a directory here, or `[user@]host[:dir]`.

use std::path::PathBuf;

use assay_workload::host::login_fault;

use crate::failure::Failure;

/// Where to measure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Location {
    /// A directory on this machine.
    Local(PathBuf),
    /// Another machine, as ssh names it, and a directory there (empty: the home directory).
    Remote {
        /// `[user@]host`.
        host: String,
        /// The directory.
        dir: String,
    },
}

impl Location {
    /// What a word means. A path that exists, or one that starts with `/`, `.` or `~`, is here; a word with `@`, or with
    /// a colon before any slash, is there. Everything else is a path.
    ///
    /// # Errors
    /// A host that could be mistaken for an option of ssh, or is empty.
    pub(crate) fn parse(word: &str) -> Result<Location, Failure> {
        let local = word.starts_with(['/', '.', '~']) || std::path::Path::new(word).exists();
        // The colons of an address in brackets are its own.
        let address = word.find('[').and_then(|open| Some(open + word[open..].find("]:")? + 1));
        let colon = address.or_else(|| word.find(':')).filter(|&at| !word[..at].contains('/'));
        let remote = !local && (colon.is_some() || word.contains('@') && !word.contains('/'));
        if !remote {
            return Ok(Location::Local(PathBuf::from(word)));
        }
        let (host, dir) = match colon {
            Some(at) => (&word[..at], &word[at + 1..]),
            None => (word, ""),
        };
        let login = host.replace(['[', ']'], "");
        let (user, name) = login.rsplit_once('@').unwrap_or(("me", login.as_str()));
        if [user, name].into_iter().any(|word| login_fault(word).is_some()) {
            return Err(Failure::usage(format!(
                "'{host}' is not a host; say [user@]host[:dir], or ./{word} for a path"
            )));
        }
        Ok(Location::Remote { host: login, dir: dir.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn there(host: &str, dir: &str) -> Location {
        Location::Remote { host: host.into(), dir: dir.into() }
    }

    #[test]
    fn hosts_and_paths_are_told_apart() {
        assert_eq!(Location::parse("db1:/srv/a b").unwrap(), there("db1", "/srv/a b"));
        assert_eq!(Location::parse("root@db1").unwrap(), there("root@db1", ""));
        assert_eq!(Location::parse("me@[fe80::1]:/srv").unwrap(), there("me@fe80::1", "/srv"));
        assert_eq!(Location::parse("/srv/a:b").unwrap(), Location::Local("/srv/a:b".into()));
        assert_eq!(Location::parse("./db1:x").unwrap(), Location::Local("./db1:x".into()));
        assert_eq!(Location::parse("nowhere/at:all").unwrap(), Location::Local("nowhere/at:all".into()));
    }

    #[test]
    fn nothing_reaches_ssh_as_an_option() {
        assert!(Location::parse("-oProxyCommand=x:/a").is_err());
        assert!(Location::parse("[-oProxyCommand=x]:/a").is_err());
        assert!(Location::parse("me@-oProxyCommand=x:/a").is_err());
        assert!(Location::parse("db1\u{1b}[2J:/a").is_err());
        assert!(Location::parse("@:x").is_err());
    }
}
