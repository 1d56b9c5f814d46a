//! Workers on other machines, by the system's ssh: `ssh:db1,admin@db2:/data` or `ssh:@hosts`. The standard streams of ssh are the worker's,
//! so that no port is open; all logins go on at the same time.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

use assay_workload::Workload;
use assay_workload::host::{Host, LOGIN_HELP, login_fault};

use super::{Connection, Launcher, Place, Setting, WORKERS_MAX};
use crate::program::Program;
use crate::shell::{command_line, directory_word};

/// ssh's own exit status.
const SSH_FAILED: i32 = 255;

/// Options of the login. Nothing asks on the terminal, and nothing is forwarded; a host that does not answer is noticed.
const OPTIONS: [&str; 5] = [
    "BatchMode=yes",
    "ConnectTimeout=30",
    "ServerAliveCountMax=3",
    "ClearAllForwardings=yes",
    "PermitLocalCommand=no",
];

#[derive(Debug)]
struct Ssh {
    places: Vec<(Place, String)>,
    program: Vec<OsString>,
    /// How often ssh asks whether the host is there, seconds: it gives a link up when the worker counts as lost, and not before.
    alive_s: u64,
    /// Read when the first worker is started.
    binary: OnceLock<Program>,
}

/// A host as it is written: `[user@]host[:directory]`, and paths of targets in a file of hosts.
fn host(words: &str) -> Result<(Place, String), String> {
    let mut words = words.split_whitespace();
    let first = words.next().unwrap_or_default();
    // The colons of an IPv6 address are in brackets.
    let behind = first.rfind(']').map_or(0, |at| at + 1);
    let (login, directory) = match first[behind..].split_once(':') {
        Some((rest, directory)) => (&first[..behind + rest.len()], directory),
        None => (first, ""),
    };
    let (user, system) = login.rsplit_once('@').map_or((None, login), |(user, system)| (Some(user), system));
    let system = system.trim_start_matches('[').trim_end_matches(']');
    if system.is_empty() {
        return Err(format!("'{first}' names no host"));
    }
    if system.contains(',') {
        return Err(format!("'{first}' is not one host; a file of hosts has a host a line"));
    }
    let mut paths = BTreeMap::new();
    for word in words {
        let (name, path) =
            word.split_once('=').ok_or_else(|| format!("'{word}' of host {system} is not TARGET=PATH"))?;
        paths.insert(name.to_owned(), path.to_owned());
    }
    let user = user.map(str::to_owned);
    let host = Host { user, paths, ..Host::new(system) };
    Ok((Place { host, directory: PathBuf::new() }, directory.to_owned()))
}

/// The lines of a file of hosts, with their numbers; `#` begins a comment.
fn lines(path: &str) -> Result<Vec<(usize, String)>, String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("cannot read {path}: {error}"))?;
    let line = |line: &str| line.split('#').next().unwrap_or_default().trim().to_owned();
    // What some editors write in front of UTF-8.
    let text = text.trim_start_matches('\u{feff}');
    Ok((1..).zip(text.lines().map(line)).filter(|(_, line)| !line.is_empty()).collect())
}

/// Refuses what ssh would take for something else than a login, wherever it comes from.
fn check_login(host: &Host) -> Result<(), String> {
    let words = [Some(host.system()), host.user.as_deref()];
    let fault = words.into_iter().flatten().find_map(|word| Some((word, login_fault(word)?)));
    fault.map_or(Ok(()), |(word, why)| Err(format!("'{}': {why}; {LOGIN_HELP}", word.escape_debug())))
}

pub(super) fn parse(
    rest: Option<&str>,
    hosts: &[Host],
    setting: &Setting,
) -> Result<Box<dyn Launcher>, String> {
    let mut places = Vec::new();
    for word in rest.unwrap_or_default().split(',').map(str::trim).filter(|word| !word.is_empty()) {
        match word.strip_prefix('@') {
            Some(path) => {
                for (number, line) in lines(path)? {
                    let place = host(&line).and_then(|read| check_login(&read.0.host).map(|()| read));
                    places.push(place.map_err(|what| format!("{path}:{number}: {what}"))?);
                }
            }
            None => places.push(host(word)?),
        }
    }
    if rest.is_none() {
        let of = |host: &Host| (Place { host: host.clone(), directory: PathBuf::new() }, String::new());
        places = hosts.iter().map(of).collect();
    } else if !hosts.is_empty() && hosts.len() != places.len() {
        return Err(format!("the plan names {} hosts, and {} are given", hosts.len(), places.len()));
    } else {
        // Jobs name the hosts of the plan: each is reached as the one in its place here.
        for ((place, _), named) in places.iter_mut().zip(hosts) {
            let system = std::mem::replace(&mut place.host.name, named.name.clone());
            place.host.system = Some(system);
        }
    }
    if places.is_empty() {
        return Err("no hosts are named, here or in the plan".to_owned());
    }
    if places.len() > WORKERS_MAX {
        return Err(format!("{} hosts; {WORKERS_MAX} are possible", places.len()));
    }
    let mut seen = BTreeSet::new();
    if let Some((twice, _)) = places.iter().find(|(place, _)| !seen.insert(place.host.name.clone())) {
        return Err(format!("host {} is named twice", twice.host.name));
    }
    for (place, directory) in &places {
        check_login(&place.host)?;
        directory_word(directory)?;
    }
    let alive_s = setting.silence.as_secs().div_ceil(3).max(1);
    Ok(Box::new(Ssh { places, program: setting.ssh.clone(), alive_s, binary: OnceLock::new() }))
}

impl Ssh {
    fn binary(&self) -> io::Result<&Program> {
        if let Some(known) = self.binary.get() {
            return Ok(known);
        }
        let own = Program::own()?;
        Ok(self.binary.get_or_init(|| own))
    }
}

impl Launcher for Ssh {
    fn places(&self, _: &Workload) -> Vec<Place> {
        self.places.iter().map(|(place, _)| place.clone()).collect()
    }

    fn start(&self, place: &Place) -> io::Result<Connection> {
        let binary = self.binary()?;
        let directory =
            self.places.iter().find(|(one, _)| one.host == place.host).map_or("", |(_, directory)| directory);
        let word = directory_word(directory).map_err(io::Error::other)?;
        let script = format!("cd {word} || exit 1\n{}", binary.worker_script());
        let (first, words) = self.program.split_first().ok_or(io::ErrorKind::InvalidInput)?;
        let mut command = Command::new(first);
        command.args(words).args(["-a", "-x", "-T"]);
        for option in OPTIONS {
            command.args(["-o", option]);
        }
        command.arg("-o").arg(format!("ServerAliveInterval={}", self.alive_s));
        let system = place.host.system();
        let login = place.host.user.as_ref().map_or(system.to_owned(), |user| format!("{user}@{system}"));
        command.arg("--").arg(login).arg(command_line(&script));
        Connection::of_process(command, Some(std::sync::Arc::clone(binary.content())), Some(SSH_FAILED))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_has_a_user_a_directory_and_paths() {
        let (place, directory) = host("me@db1:/srv/x data=/dev/sdb log=/dev/sdc").expect("a host");
        assert_eq!((place.host.name.as_str(), place.host.user.as_deref()), ("db1", Some("me")));
        assert_eq!(place.host.paths["data"], "/dev/sdb");
        assert_eq!(directory, "/srv/x");
        let (place, directory) = host("root@[fe80::1]:d").expect("a host");
        assert_eq!((place.host.system(), directory.as_str()), ("fe80::1", "d"));
        assert!(host("db1 data").is_err());
        assert!(host("db1,db2").is_err_and(|why| why.contains("a host a line")));
        assert!(host("me@").is_err());
    }

    #[test]
    fn a_file_has_a_host_a_line() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(&file, "\u{feff}# rack 1\ndb1\n\n db2 data=/dev/sdb # the fast one\n")
            .expect("written");
        let path = file.path().to_str().expect("text");
        assert_eq!(lines(path).expect("read"), [(2, "db1".to_owned()), (4, "db2 data=/dev/sdb".to_owned())]);
    }
}
