//! The output directory as kubuculum names it: `run_DATE_EPOCH` with the manifests, the nodes, what each pod sees of its volume, and fio's text of each
//! phase. It can be packed and passed on.

use std::path::{Path, PathBuf};

use assay_fio::{FioReport, fio_json};
use assay_fleet::kube::facts::NodeFacts;
use assay_fleet::kube::run::KubeRun;
use assay_fleet::kube::yaml;
use assay_results::store::run_of_host;
use assay_results::{HostId, Run};
use assay_runner::Finished;
use assay_workload::job::PhaseKind;
use serde::Deserialize;

use super::options::Settings;
use super::workload::{Cell, Test, cells, job_file, tests};
use crate::failure::Failure;
use crate::output::Outputs;

/// Where its words come from in messages.
const OPTION: &str = "--directory";

/// What is gathered of the cluster while the pods are there.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    manifests: String,
    nodes: Vec<NodeFacts>,
    /// Of each pod: its name, its node, and what it sees.
    pods: Vec<(String, String, Result<Listing, String>)>,
    /// What came of each drop of caches, with its time.
    pub(super) drops: Vec<String>,
    version: String,
    facts: Vec<(String, String)>,
}

#[derive(Debug, Default, Deserialize)]
struct Listing {
    ls_l: String,
    df_h: String,
    mount: String,
}

impl Gathered {
    /// Looks at the cluster and the pods.
    pub(super) fn look(&mut self, run: &KubeRun) {
        self.manifests = yaml::documents(&run.manifests());
        self.nodes = run.cluster.nodes().unwrap_or_default();
        self.version = run.cluster.version().unwrap_or_default();
        self.facts = run.notes();
        let listing = |pod| {
            let text = run.listing(pod)?;
            serde_json::from_str(&text).map_err(|error| error.to_string())
        };
        self.pods = run.pods.iter().map(|pod| (pod.name.clone(), pod.node.clone(), listing(pod))).collect();
    }

    fn environment(&self) -> String {
        let mut text = format!("Kubernetes {}\n\nNODE READY ZONE SIZE SOFTWARE\n", self.version);
        for node in &self.nodes {
            let zone = node.zone.as_deref().unwrap_or("-");
            text.push_str(&format!(
                "{} {} {zone} {} {}\n",
                node.name,
                node.is_ready,
                node.size,
                node.software.join(", ")
            ));
        }
        text.push_str(&self.placement());
        for (_, fact) in &self.facts {
            text.push_str(&format!("{fact}\n"));
        }
        text
    }

    fn placement(&self) -> String {
        let mut text = String::from("\nPOD NODE\n");
        self.pods.iter().for_each(|(pod, node, _)| text.push_str(&format!("{pod} {node}\n")));
        text.push('\n');
        text
    }
}

/// The fio text of one phase: each worker's jobs, then all of them together.
fn fio_text(hosts: &[(String, Run)], phase: u32) -> String {
    let mut reports = Vec::new();
    for (host, run) in hosts {
        let mut run = run.clone();
        run.phases.retain(|one| one.plan_phase == phase);
        // The prepare write is reported as the tests are; the ambient load is no part of them.
        for one in &mut run.phases {
            one.kind = PhaseKind::Measure;
            one.jobs.retain(|job| job.name != "calm");
        }
        if run.phases.iter().all(|one| one.jobs.is_empty()) {
            continue;
        }
        if let Some(report) = FioReport::read(&fio_json(&run, true)) {
            reports.push((host, report));
        }
    }
    let mut text = String::new();
    for (host, report) in &reports {
        text.push_str(&format!("<{host}> {}", report.head()));
    }
    for (host, report) in &reports {
        text.push_str(&format!("\n<{host}>{}", report.normal()));
    }
    let all: Vec<FioReport> = reports.into_iter().map(|(_, report)| report).collect();
    text.push('\n');
    text.push_str(&FioReport::all_clients(&all));
    text
}

/// What is written: the directory below the run's, and its files.
struct Files(Vec<(String, Vec<(String, String)>)>);

impl Files {
    fn add(&mut self, directory: &str, name: &str, text: String) {
        let at = self.0.iter().position(|(known, _)| known == directory).unwrap_or_else(|| {
            self.0.push((directory.to_owned(), Vec::new()));
            self.0.len() - 1
        });
        self.0[at].1.push((name.to_owned(), text));
    }
}

/// What was asked for, and where its results go.
#[derive(Debug)]
pub(super) struct RunDirectory<'r> {
    pub(super) settings: &'r Settings,
    pub(super) path: PathBuf,
    pub(super) id: String,
    /// The pods that are measured.
    pub(super) workers: &'r [String],
}

impl RunDirectory<'_> {
    /// Writes everything.
    ///
    /// # Errors
    /// What cannot be written.
    pub(super) fn write(&self, gathered: &Gathered, finished: &Finished, page: &str) -> Result<(), Failure> {
        let mut files = Files(Vec::new());
        files.add("", "out.get_envinfo.txt", gathered.environment());
        files.add("", "out.server_fio.txt", gathered.placement());
        files.add(
            "",
            "out.bench_fiorand.txt",
            format!(
                "{}\n{}",
                finished.run.id,
                gathered.facts.iter().map(|(_, fact)| format!("{fact}\n")).collect::<String>()
            ),
        );
        files.add("", "run.json", serde_json::to_string_pretty(&finished.run).map_err(Failure::failed)?);
        files.add("", "report.html", page.to_owned());
        files.add("server_fio", "fioserver_statefulset.yaml", gathered.manifests.clone());
        for (pod, _, listing) in &gathered.pods {
            let directory = format!("server_fio/{pod}");
            match listing {
                Ok(Listing { ls_l, df_h, mount }) => {
                    files.add(&directory, "ls_l.txt", ls_l.clone());
                    files.add(&directory, "df_h.txt", df_h.clone());
                    files.add(&directory, "mount.txt", format!("{mount}\n"));
                }
                Err(why) => files.add(&directory, "not_available.txt", format!("{why}\n")),
            }
        }
        if !gathered.drops.is_empty() {
            files.add("os_rootpods", "command.log.txt", format!("{}\n", gathered.drops.join("\n")));
        }
        self.results(finished, &mut files);
        self.put(files)
    }

    fn results(&self, finished: &Finished, files: &mut Files) {
        // What is not stored has no parts.
        let of = |(number, pod): (u16, &String)| {
            Some((pod.clone(), run_of_host(&finished.directory, HostId(number)).ok()?))
        };
        let hosts: Vec<(String, Run)> = (0..).zip(self.workers).filter_map(of).collect();
        let hostlist: String = hosts.iter().map(|(pod, _)| format!("{pod}\n")).collect();
        let prepare = format!("bench_fiorand/prepare_fio-{}", self.id);
        files.add(&prepare, "hostlist", hostlist.clone());
        files.add(&prepare, "jobfile.fioinit", job_file(self.settings, None));
        files.add(&prepare, "fio.initwrite.run.txt", fio_text(&hosts, 0));
        let all = cells(self.settings);
        let mut phase = 0;
        for cell in &all {
            let mut directory = format!("bench_fiorand/fio-{}", self.id);
            if all.len() > 1 {
                directory = format!("{directory}/{}", cell.directory());
            }
            files.add(&directory, "hostlist", hostlist.clone());
            for test in tests(self.settings) {
                phase += 1;
                self.test(&directory, (test, *cell), fio_text(&hosts, phase), files);
            }
            if finished.error.is_none() && !finished.lost {
                files.add(&directory, "benchmark.run.completed.txt", format!("{}\n", finished.run.started));
            }
        }
    }

    fn test(&self, directory: &str, (test, cell): (Test, Cell), text: String, files: &mut Files) {
        files.add(
            directory,
            &format!("jobfile.fio{}", test.name()),
            job_file(self.settings, Some((test, cell))),
        );
        files.add(directory, &format!("fio.{}.run.txt", test.name()), text);
    }

    fn put(&self, files: Files) -> Result<(), Failure> {
        let outputs = Outputs::new(false);
        for (directory, files) in files.0 {
            let path = self.path.join(directory);
            make(&path)?;
            outputs.write_directory(OPTION, &path, &files)?;
        }
        Ok(())
    }
}

fn make(path: &Path) -> Result<(), Failure> {
    let failed = |error| Failure::failed(format!("cannot make {}: {error}", path.display()));
    std::fs::create_dir_all(path).map_err(failed)
}
