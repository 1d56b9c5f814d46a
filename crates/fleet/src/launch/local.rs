//! Workers as processes of this machine: `local:8`. What tests simulate a fleet with.

use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::Command;

use assay_workload::Workload;
use assay_workload::host::Host;

use super::{Connection, Launcher, Place, Setting, WORKERS_MAX, own_paths};
use crate::program::OWN;

/// What a process of this machine is reached as.
const HERE: &str = "localhost";

#[derive(Debug)]
struct Local {
    hosts: Vec<Host>,
    directory: PathBuf,
}

pub(super) fn parse(
    rest: Option<&str>,
    hosts: &[Host],
    setting: &Setting,
) -> Result<Box<dyn Launcher>, String> {
    let number = rest.map(|rest| {
        let number = rest.parse::<usize>().ok().filter(|number| (1..=WORKERS_MAX).contains(number));
        number.ok_or_else(|| format!("'{rest}' is not a number of workers from 1 to {WORKERS_MAX}"))
    });
    let number = number.transpose()?;
    if let Some(number) = number.filter(|number| !hosts.is_empty() && *number != hosts.len()) {
        return Err(format!(
            "the plan names {} hosts, and {number} workers cannot stand for them",
            hosts.len()
        ));
    }
    let named = hosts.iter().map(|host| host.name.clone());
    let named: Vec<String> = if hosts.is_empty() {
        (1..=number.unwrap_or(1)).map(|n| format!("w{n}")).collect()
    } else {
        named.collect()
    };
    let host = |name: &String| Host { system: Some(HERE.to_owned()), ..Host::new(name) };
    Ok(Box::new(Local { hosts: named.iter().map(host).collect(), directory: setting.directory.clone() }))
}

impl Launcher for Local {
    fn places(&self, workload: &Workload) -> Vec<Place> {
        let alone = self.hosts.len() == 1;
        let numbered = (1..).zip(&self.hosts);
        let place = |(number, host): (usize, &Host)| {
            let paths = if alone { Default::default() } else { own_paths(&workload.targets, number) };
            Place { host: Host { paths, ..host.clone() }, directory: self.directory.clone() }
        };
        numbered.map(place).collect()
    }

    fn start(&self, _: &Place) -> io::Result<Connection> {
        let mut command = Command::new(OWN);
        command.arg0("assay").arg("worker");
        Connection::of_process(command, None, None)
    }
}
