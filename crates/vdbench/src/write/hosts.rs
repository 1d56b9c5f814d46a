//! Host definitions, and the hosts of storages and workloads.

use std::collections::BTreeMap;

use assay_workload::host::HostRanges;
use assay_workload::job::Job;
use assay_workload::target::Target;

use super::Writer;
use super::storage::list;

impl Writer<'_> {
    /// A definition for each host.
    pub(super) fn hosts(&mut self) -> Vec<String> {
        let mut lines = Vec::new();
        for host in &self.workload.hosts {
            let name = self.host_names.of(&host.name, "hd");
            let mut line = format!("hd={name},system={}", self.path(host.system()));
            if let Some(user) = &host.user {
                line += &format!(",user={}", self.path(user));
            }
            if host.instances > 1 {
                line += &format!(",jvms={}", host.instances);
            }
            lines.push(line);
        }
        lines
    }

    /// The path of a target, or each of them behind the hosts that have it there.
    pub(super) fn luns(&mut self, target: &Target) -> String {
        let mut paths: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for host in &self.workload.hosts {
            let path = host.paths.get(&target.name).unwrap_or(&target.path);
            paths.entry(path).or_default().push(self.host_names.of(&host.name, "hd"));
        }
        if paths.len() < 2 {
            let path = paths.into_keys().next().unwrap_or(&target.path);
            return format!("lun={}", self.path(path));
        }
        let lun =
            |(path, hosts): (&str, Vec<String>)| format!("host={},lun={}", list(&hosts), self.path(path));
        // What the target is called where nothing else is said comes first: it is the path of the target.
        let (own, others): (Vec<_>, Vec<_>) = paths.into_iter().partition(|(path, _)| *path == target.path);
        own.into_iter().chain(others).map(lun).collect::<Vec<_>>().join(",")
    }

    /// `,host=` where a job does not run on all hosts.
    pub(super) fn host_words(&mut self, job: &Job) -> String {
        if self.hosts_of(job) > 1 && job.host_ranges == HostRanges::Divided {
            let message =
                format!("job `{}`: every host uses the whole range, not a part of its own", job.name);
            self.lose("host-ranges", &job.name, message, "use range= in one workload for each host");
        }
        let names: Vec<String> = job.hosts.iter().map(|name| self.host_names.of(name, "hd")).collect();
        if names.is_empty() { String::new() } else { format!(",host={}", list(&names)) }
    }

    /// The hosts that do a job.
    pub(super) fn hosts_of(&self, job: &Job) -> usize {
        let all = if job.hosts.is_empty() { self.workload.hosts.len() } else { job.hosts.len() };
        all.max(1)
    }

    /// Its threads on all hosts together, which is how the language counts them.
    pub(super) fn threads_of(&self, job: &Job) -> f64 {
        f64::from(job.threads) * self.hosts_of(job) as f64
    }
}
