//! Which hosts do a workload, and how they share its threads.

use assay_workload::host::{HOSTS_MAX, Host, login_fault};
use assay_workload::job::Job;

use super::super::access::Seek;
use super::super::file::ParameterFile;
use super::super::sink::shorten;
use super::super::{FileWorkloadDef, StorageDef, WorkloadDef};
use super::{Lowering, narrow, placed};

/// The label of this machine, which needs no definition.
const LOCAL: &str = "localhost";

/// Whether a file names this machine by the label that it does not define.
pub(super) fn names_local(file: &ParameterFile) -> bool {
    let mut words = file.workloads.iter().flat_map(|wd| &wd.hosts);
    let mut more = file.file_workloads.iter().flat_map(|fwd| &fwd.hosts);
    let mut luns = file.storages.iter().flat_map(|sd| &sd.luns).flat_map(|lun| &lun.hosts);
    let is = |word: &String| word == LOCAL;
    (words.any(is) || more.any(is) || luns.any(is)) && file.hosts.iter().all(|host| host.name != LOCAL)
}

impl Lowering<'_> {
    /// The hosts of the workload; none where all of them are this machine, which then does all of it.
    pub(super) fn hosts(&mut self) -> Vec<Host> {
        if !self.several_hosts {
            return Vec::new();
        }
        let local = self.local_host.then(|| Host::new(LOCAL));
        let hosts = self.file.hosts.iter().map(|def| Host {
            name: def.name.clone(),
            system: def.system.clone(),
            user: def.user.clone(),
            instances: narrow(def.jvms.unwrap_or(1)),
            paths: std::collections::BTreeMap::new(),
        });
        let mut hosts: Vec<Host> = hosts.chain(local).collect();
        for index in self.storages_used.clone() {
            let Some(sd) = self.file.storages.get(index).filter(|sd| sd.luns.len() > 1) else { continue };
            let Some(first) = sd.luns.first() else { continue };
            for lun in sd.luns.iter().filter(|lun| lun.path != first.path) {
                for at in self.selected(&lun.hosts) {
                    hosts[at].paths.insert(sd.name.clone(), lun.path.clone());
                }
            }
        }
        hosts
    }

    /// What is to be said of hosts that are other machines.
    pub(super) fn host_remarks(&mut self) {
        let file = self.file;
        if file.hosts.len() > HOSTS_MAX && self.several_hosts {
            let (at, message) = (file.hosts[0].at, format!("more than {HOSTS_MAX} hosts"));
            self.sink.error("too-large", at, "hd", message, "use fewer hosts");
            self.several_hosts = false;
        }
        for host in file.hosts.iter().filter(|host| host.system.is_none()) {
            if let Some(why) = login_fault(&host.name) {
                let message = format!("hd `{}`: {why}, and the label is its address", shorten(&host.name));
                self.sink.error(
                    "bad-value",
                    host.at,
                    &host.name,
                    message,
                    "give it a system=, or another label",
                );
            }
        }
        for host in file.remote_hosts() {
            let message = format!("hd `{}`: {} is another machine", host.name, host.machine());
            let help = "its part can be planned, not run yet; remove the hd lines to do all of it here";
            self.note("other-host", host.at, "hd", message, help);
            if host.shell.as_deref().is_some_and(|shell| shell != "ssh") {
                let at = placed(&host.set, "shell", host.at);
                let message = format!("hd `{}`: remote workers are started by ssh only", host.name);
                self.lose("launcher", at, "shell", message, "set up ssh with a key");
            }
        }
    }

    /// Indices of the hosts that labels and `prefix*` patterns select; none: all.
    fn selected(&mut self, words: &[String]) -> Vec<usize> {
        let hosts = &self.file.hosts;
        self.pairs = self.pairs.saturating_add(words.len().saturating_mul(hosts.len()) / 16);
        let named = |label: &str, word: &String| match word.strip_suffix('*') {
            Some(prefix) => label.starts_with(prefix),
            None => label == word,
        };
        let chosen = |label: &str| words.is_empty() || words.iter().any(|word| named(label, word));
        let local = self.local_host && words.iter().any(|word| word == LOCAL);
        (0..hosts.len()).filter(|at| chosen(&hosts[*at].name)).chain(local.then_some(hosts.len())).collect()
    }

    /// The hosts that do `wd` on `sd`: those that it names and that have the storage.
    fn storage_hosts(&mut self, wd: &WorkloadDef, sd: &StorageDef) -> Vec<usize> {
        let mut hosts = self.selected(&wd.hosts);
        if sd.luns.iter().all(|lun| !lun.hosts.is_empty()) {
            let mut with: Vec<usize> = sd.luns.iter().flat_map(|lun| self.selected(&lun.hosts)).collect();
            with.sort_unstable();
            hosts.retain(|at| with.binary_search(at).is_ok());
        }
        hosts
    }

    /// The jobs that `job` of `wd` on `sd` becomes on the hosts: its outstanding I/Os are dealt out to them, so that there are two
    /// where they do not divide evenly. What walks through a target is done by one host, as in vdbench.
    pub(super) fn on_hosts(&mut self, job: Job, wd: &WorkloadDef, sd: &StorageDef) -> Vec<Job> {
        if !self.several_hosts {
            return vec![job];
        }
        let mut hosts = self.storage_hosts(wd, sd);
        let walks = matches!(wd.seek, Seek::Sequential | Seek::SequentialFromRandom | Seek::UntilEnd);
        if walks || wd.streams.is_some() {
            hosts.truncate(1);
        }
        if hosts.is_empty() {
            let message = format!("wd `{}`: none of its hosts has sd `{}`", wd.name, sd.name);
            let at = placed(&wd.set, "host", wd.at);
            self.sink.error("no-host", at, "host", message, "name a host of the sd");
            return Vec::new();
        }
        let outstanding = job.outstanding_per_thread as usize;
        hosts.truncate(outstanding.max(1));
        let (each, more) = (outstanding / hosts.len(), outstanding % hosts.len());
        let groups = [(&hosts[..more], each + 1), (&hosts[more..], each)];
        let part = |(group, outstanding): (&[usize], usize)| {
            let mut part = job.clone();
            part.outstanding_per_thread = outstanding as u32;
            part.rate = job.rate.scaled(group.len() as f64 / hosts.len() as f64);
            part.hosts = self.names(group);
            part
        };
        let parts = groups.into_iter().filter(|(group, _)| !group.is_empty()).map(part).collect::<Vec<Job>>();
        self.pairs = self.pairs.saturating_add(parts.iter().map(|part| part.hosts.len()).sum());
        parts
    }

    /// Gives the first of the hosts of `sd` a job that is to be done once.
    pub(super) fn on_one_host(&mut self, job: &mut Job, sd: &StorageDef) {
        if self.several_hosts {
            let hosts = self.storage_hosts(&WorkloadDef::default(), sd);
            job.hosts = self.names(&hosts[..hosts.len().min(1)]);
        }
    }

    /// Gives a job on a tree the hosts of its workloads, each with its share of the threads.
    pub(super) fn tree_on_hosts(&mut self, job: &mut Job, fwds: &[&FileWorkloadDef], once: bool) {
        if !self.several_hosts {
            return;
        }
        let mut hosts: Vec<usize> = fwds.iter().flat_map(|fwd| self.selected(&fwd.hosts)).collect();
        hosts.sort_unstable();
        hosts.dedup();
        hosts.truncate(if once { 1 } else { usize::MAX });
        job.threads = (job.threads / (hosts.len().max(1) as u32)).max(1);
        job.hosts = self.names(&hosts);
        self.pairs = self.pairs.saturating_add(job.hosts.len());
    }

    /// Names of hosts for a job: none where it is all of them.
    fn names(&self, hosts: &[usize]) -> Vec<String> {
        let all = &self.file.hosts;
        if hosts.len() == all.len() + usize::from(self.local_host) {
            return Vec::new();
        }
        hosts.iter().map(|at| all.get(*at).map_or(LOCAL, |host| &host.name).to_owned()).collect()
    }
}
