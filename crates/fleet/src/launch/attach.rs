//! Workers that something else starts, and that join over mutual TLS: `attach:4`. The only launcher with an open port: on the loopback
//! address unless another one is asked for, and the run says so.

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use assay_workload::Workload;
use assay_workload::host::Host;

use super::{Connection, Launcher, Place, Setting, WORKERS_MAX, own_paths};
use crate::attach::{Authority, Door};

/// How long workers may take to join.
const JOIN_WITHIN: Duration = Duration::from_secs(600);
/// How long one try to have a worker again waits.
const AGAIN_WITHIN: Duration = Duration::from_secs(2);
/// How often it is looked who has joined.
const LOOK: Duration = Duration::from_millis(50);

#[derive(Debug)]
struct Attach {
    /// What each is called, and what it is known by.
    workers: Vec<(Host, [u8; 16])>,
    door: Door,
}

/// What workers need, in a file that goes with the run.
#[derive(Debug)]
struct TicketFile {
    path: PathBuf,
}

impl TicketFile {
    fn write(text: &str) -> io::Result<Self> {
        let path = std::env::temp_dir().join(format!("assay-join-{}", std::process::id()));
        let mut options = std::fs::OpenOptions::new();
        let made = options.write(true).create_new(true).mode(0o600).open(&path);
        let mut file = match made {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                // Left by a process of our number that was killed. Another user's cannot be removed, and is refused.
                std::fs::remove_file(&path)?;
                options.open(&path)?
            }
            made => made?,
        };
        let file_of = TicketFile { path };
        file.write_all(text.as_bytes()).and_then(|()| file.write_all(b"\n"))?;
        Ok(file_of)
    }
}

impl Drop for TicketFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

pub(super) fn parse(
    rest: Option<&str>,
    hosts: &[Host],
    setting: &Setting,
) -> Result<Box<dyn Launcher>, String> {
    let number = match rest {
        None if hosts.is_empty() => return Err("how many workers? attach:N".to_owned()),
        None => hosts.len(),
        Some(rest) => {
            let number = rest.parse::<usize>().ok().filter(|number| (1..=WORKERS_MAX).contains(number));
            number.ok_or_else(|| format!("'{rest}' is not a number of workers from 1 to {WORKERS_MAX}"))?
        }
    };
    if !hosts.is_empty() && number != hosts.len() {
        return Err(format!(
            "the plan names {} hosts, and {number} workers cannot stand for them",
            hosts.len()
        ));
    }
    let address = setting.listen.unwrap_or(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0));
    let authority = Authority::new().map_err(|error| format!("no certificates can be made: {error}"))?;
    let door = Door::open(address, number, &authority)
        .map_err(|error| format!("cannot listen on {address}: {error}"))?;
    let file = TicketFile::write(&authority.ticket.to_text())
        .map_err(|error| format!("cannot write what workers need to join: {error}"))?;
    invite(number, &door, &file, setting);
    let workers = await_all(number, &door, setting)?;
    Ok(Box::new(Attach { workers: called(workers, hosts), door }))
}

/// Says what workers are to be started with.
fn invite(number: usize, door: &Door, file: &TicketFile, setting: &Setting) {
    let port = door.address.port();
    let host = match door.address.ip() {
        ip if ip.is_unspecified() => this_host(),
        IpAddr::V6(ip) => format!("[{ip}]"),
        IpAddr::V4(ip) => ip.to_string(),
    };
    let path = file.path.display();
    setting.say.say(&format!("port {port} of {} is open until the run ends", door.address.ip()));
    setting.say.say(&format!("waiting for {number} workers; start each with"));
    setting.say.say(&format!("    assay worker --join {host}:{port} --token-file {path}"));
    setting.say.say("where that file cannot be read, with its content in the variable ASSAY_JOIN");
}

fn this_host() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// Waits until all have joined.
fn await_all(number: usize, door: &Door, setting: &Setting) -> Result<Vec<([u8; 16], String)>, String> {
    let (until, mut known) = (Instant::now() + JOIN_WITHIN, 0);
    loop {
        let joined = door.joined();
        for (_, name) in joined.iter().skip(known) {
            known += 1;
            setting.say.say(&format!("worker {name} joined ({known} of {number})"));
        }
        if joined.len() >= number {
            return Ok(joined);
        }
        if setting.stop.load(Ordering::Relaxed) {
            return Err("interrupted".to_owned());
        }
        if Instant::now() > until {
            let waited = JOIN_WITHIN.as_secs();
            return Err(format!("{} of {number} workers joined in {waited} s", joined.len()));
        }
        std::thread::sleep(LOOK);
    }
}

/// The workers in the order of their names; as the hosts of the plan are called where it names some. Names that come twice are numbered.
fn called(mut workers: Vec<([u8; 16], String)>, hosts: &[Host]) -> Vec<(Host, [u8; 16])> {
    workers.sort_by(|one, other| (&one.1, one.0).cmp(&(&other.1, other.0)));
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let host = |(at, (id, node)): (usize, ([u8; 16], String))| {
        let number = seen.entry(node.clone()).and_modify(|number| *number += 1).or_insert(1);
        let own = if *number == 1 { node.clone() } else { format!("{node}-{number}") };
        let name = hosts.get(at).map_or(own, |host| host.name.clone());
        (Host { system: Some(node), ..Host::new(&name) }, id)
    };
    workers.into_iter().enumerate().map(host).collect()
}

impl Launcher for Attach {
    fn places(&self, workload: &Workload) -> Vec<Place> {
        let alone = self.workers.len() == 1;
        let place = |(number, (host, _)): (usize, &(Host, [u8; 16]))| {
            // They may be of one machine, or see one file system: files of one name would be one file.
            let paths = if alone { BTreeMap::new() } else { own_paths(&workload.targets, number) };
            Place { host: Host { paths, ..host.clone() }, directory: PathBuf::new() }
        };
        (1..).zip(&self.workers).map(place).collect()
    }

    fn start(&self, place: &Place) -> io::Result<Connection> {
        self.reconnect(place)
    }

    fn reconnects(&self) -> bool {
        true
    }

    fn reconnect(&self, place: &Place) -> io::Result<Connection> {
        let worker = self.workers.iter().find(|(host, _)| host.name == place.host.name);
        let (_, id) = worker.ok_or(io::ErrorKind::NotFound)?;
        Connection::of_stream(self.door.take(id, AGAIN_WITHIN)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_are_called_as_they_say_and_numbered_where_two_say_the_same() {
        let joined = vec![([2; 16], "b".to_owned()), ([1; 16], "a".to_owned()), ([3; 16], "b".to_owned())];
        let names = |hosts: &[Host]| -> Vec<String> {
            called(joined.clone(), hosts).into_iter().map(|(host, _)| host.name).collect()
        };
        assert_eq!(names(&[]), ["a", "b", "b-2"]);
        assert_eq!(names(&[Host::new("x"), Host::new("y"), Host::new("z")]), ["x", "y", "z"]);
    }
}
