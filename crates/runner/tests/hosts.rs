//! One plan on two hosts: two executions of it, each with a directory of its own, joined in one run.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::time::Instant;

use assay_conduct::{Executor, HostInfo, PhaseOutcome};
use assay_results::event::{HostClock, LostReason};
use assay_results::{HostEvent, HostId, HostSink, Run, RunEnd, RunEvent, Verdict, store};
use assay_runner::{Finished, Observer, Request, Watch, carry_out, environment_of, plan, record};
use assay_workload::job::Limits;
use assay_workload::plan::Plan;

mod support;

use support::{site, writes};

/// Passes over the file on each host.
const PASSES: u32 = 40;

fn request(directory: &Path) -> Request {
    let workload = writes(Limits { passes: Some(PASSES), ..Limits::default() });
    support::request(workload, Watch::Counters, directory)
}

/// Passes on what a host tells.
struct Told(HostId, Sender<(HostId, HostEvent)>);

impl Observer for Told {
    fn event(&mut self, event: &RunEvent) {
        if let RunEvent::Host { event, .. } = event {
            let _ = self.1.send((self.0, event.clone()));
        }
    }
}

/// Each host is a thread that carries the plan out for itself.
struct Joined {
    hosts: Vec<HostInfo>,
    directories: Vec<PathBuf>,
    started: Instant,
    /// The host that is cut off as soon as it tells something.
    cut: Option<HostId>,
}

impl Executor for Joined {
    fn hosts(&self) -> &[HostInfo] {
        &self.hosts
    }

    fn execute(&mut self, _: &Arc<Plan>, phase: usize, sink: &mut HostSink<'_>) -> PhaseOutcome {
        let (sender, events) = channel();
        let workers: Vec<_> = self
            .hosts
            .iter()
            .zip(self.directories.clone())
            .map(|(host, directory)| {
                let mut told = Told(host.id, sender.clone());
                std::thread::spawn(move || {
                    let store = tempfile::tempdir().expect("a store");
                    let done = carry_out(request(&directory), &site(store.path()), &mut told);
                    done.expect("carried out").expect("begun").finished.end
                })
            })
            .collect();
        drop(sender);
        // Threads of one machine share its clock.
        self.hosts.iter().for_each(|host| sink(host.id, HostEvent::Clock(HostClock::default())));
        let mut lost = Vec::new();
        for (host, event) in events {
            if Some(host) == self.cut && lost.is_empty() {
                sink(host, HostEvent::Lost { phase: phase as u32, why: LostReason::ConnectionClosed });
                lost.push(host);
            }
            if !lost.contains(&host) {
                sink(host, event);
            }
        }
        workers
            .into_iter()
            .for_each(|worker| assert_eq!(worker.join().expect("no panic"), RunEnd::Completed));
        if lost.is_empty() { PhaseOutcome::Done } else { PhaseOutcome::Lost(lost) }
    }

    fn stopped(&self) -> bool {
        false
    }

    fn settle(&mut self, _: &Arc<Plan>, _: usize, _: &mut HostSink<'_>) {}

    fn elapsed_ms(&self) -> u64 {
        self.started.elapsed().as_millis() as u64
    }
}

fn joined(cut: Option<HostId>) -> Finished {
    let places = [tempfile::tempdir().expect("left"), tempfile::tempdir().expect("right")];
    let store = tempfile::tempdir().expect("a store");
    let site = site(store.path());
    let directories: Vec<PathBuf> = places.iter().map(|place| place.path().to_owned()).collect();
    let planned = plan(&request(&directories[0]), &site).expect("a plan");
    let host = |(id, (name, directory)): (u16, (&str, &PathBuf))| HostInfo {
        id: HostId(id),
        name: name.to_owned(),
        environment: environment_of(
            &plan(&request(directory), &site).expect("a plan"),
            &site.host,
            site.version.clone(),
        ),
    };
    let hosts: Vec<HostInfo> = (0..).zip(["left", "right"].into_iter().zip(&directories)).map(host).collect();
    let environment = hosts[0].environment.clone();
    let mut executor = Joined { hosts, directories, started: Instant::now(), cut };
    let finished = record(Arc::new(planned), environment, Vec::new(), &mut executor, &site, &mut ());
    let finished = finished.expect("begun");
    let again = store::recover(&finished.directory).expect("made again");
    let kept = |run: &Run| {
        let job = &run.phases[0].jobs[0];
        (job.total.ios, job.total.completion_ns.p99, job.evidence.workers.clone(), job.evidence.common)
    };
    assert_eq!(kept(&again), kept(&finished.run));
    finished
}

#[test]
fn two_hosts_make_one_run() {
    let finished = joined(None);
    let run = &finished.run;
    assert_eq!((finished.end, finished.error.as_deref()), (RunEnd::Completed, None));
    assert_eq!(run.hosts.iter().map(|host| host.name.as_str()).collect::<Vec<_>>(), ["left", "right"]);
    let job = &run.phases[0].jobs[0];
    let each: Vec<u64> = job.evidence.workers.iter().map(|worker| worker.ios).collect();
    assert_eq!(each, [256 * u64::from(PASSES); 2]);
    let trimmed = job.evidence.common.map_or(0, |common| common.trimmed_ios);
    assert_eq!(job.total.ios + trimmed, 2 * 256 * u64::from(PASSES), "what is not in the totals is shown");
    assert_eq!((job.workers, job.write.as_ref().map(|op| op.completion_ns.n)), (2, Some(job.total.ios)));
    assert_eq!(run.phases[0].hosts.iter().map(|host| host.host).collect::<Vec<_>>(), [HostId(0), HostId(1)]);
}

#[test]
fn a_host_that_is_lost_leaves_the_run_incomplete() {
    let finished = joined(Some(HostId(1)));
    let run = &finished.run;
    assert_eq!((finished.end, finished.error.as_deref()), (RunEnd::Failed, Some("worker lost: right")));
    assert_eq!(run.verdict, Verdict::Incomplete);
    let lost = run.findings.iter().find(|finding| finding.id == "lost-worker").expect("the finding");
    assert_eq!(lost.message, "1 of 2 workers lost: right (connection closed)");
    assert_eq!(run.phases[0].jobs[0].total.ios, 256 * u64::from(PASSES));
}
