//! The coordinator: an executor whose hosts are workers.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use assay_conduct::workplace::{Look, OfRun, Part, Sought, Watch};
use assay_conduct::{Executor, HostInfo, PhaseOutcome, When};
use assay_results::environment::{AssayVersion, Environment};
use assay_results::event::{HostClock, LostReason};
use assay_results::{HostId, HostSink};
use assay_workload::host::HostRanges;
use assay_workload::job::{EngineKind, Job};
use assay_workload::resolve::Inventory;
use assay_workload::target::TargetKind;
use assay_workload::{Plan, Target, Workload};

use crate::error::FleetError;
use crate::frame::{PAYLOAD_BYTES_MAX, PROTOCOL};
use crate::launch::{Launcher, Place, Setting, launcher};
use crate::links::{Again, Heard, Links, Patience};
use crate::message::{Beside, Command, Hello, Report, Told};

mod round;

/// How long it is waited for something to happen.
const LOOK: Duration = Duration::from_millis(20);
/// How long workers may take to end when nothing more is wanted.
const FINISH: Duration = Duration::from_secs(10);

/// What becomes of a phase when a worker is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnLoss {
    /// It ends at once, and the run with it; what was measured is kept.
    #[default]
    Stop,
    /// The others go on, and the result says so.
    Continue,
}

/// What a fleet is told of itself.
#[derive(Debug, Clone)]
pub struct Options {
    /// How long things may take.
    pub patience: Patience,
    /// What becomes of a phase when a worker is lost.
    pub on_loss: OnLoss,
    /// Which Assay this is: workers are the same.
    pub version: AssayVersion,
    /// Set to end everything.
    pub stop: Arc<AtomicBool>,
    /// The directory of targets with relative paths, where a launcher names none; `None`: the one that the worker is started in.
    pub directory: Option<PathBuf>,
}

/// What workers may do for their part.
#[derive(Debug, Clone, Default)]
pub struct Terms {
    /// Targets that may be overwritten although Assay did not make them.
    pub consent: Vec<PathBuf>,
    /// Whether that is so for what devices among them carry.
    pub really: bool,
    /// What is observed beside the jobs.
    pub watch: Watch,
    /// The name of the run's directory.
    pub run: String,
}

/// A message for a worker, where it has a frame: the worker could only cut the stream off, and say nothing.
fn sendable(worker: &str, payload: Vec<u8>) -> Result<Vec<u8>, FleetError> {
    match payload.len() {
        0..=PAYLOAD_BYTES_MAX => Ok(payload),
        bytes => Err(FleetError::TooLarge { worker: worker.to_owned(), bytes: bytes as u64 }),
    }
}

/// One worker.
#[derive(Debug)]
struct Member {
    place: Place,
    id: HostId,
    hello: Option<Hello>,
    clock: Option<HostClock>,
    /// How often its clock was measured.
    measured: u32,
    round_trip_ns: u64,
    lost: Option<(LostReason, String)>,
    /// Whether the run knows that it is lost.
    told_lost: bool,
}

impl Member {
    fn name(&self) -> &str {
        &self.place.host.name
    }

    /// Why it was lost, in the most telling words.
    fn why_lost(&self) -> String {
        let Some((why, said)) = &self.lost else { return String::new() };
        if said.is_empty() {
            why.to_string()
        } else {
            said.trim_start_matches("ssh: ").trim_start_matches("srun: error: ").to_owned()
        }
    }
}

/// What is done before a phase begins on the workers; it may tell events of hosts.
pub type BeforePhase = Box<dyn FnMut(&Plan, usize, &mut HostSink<'_>)>;

/// See [`Fleet::before_phases`].
#[derive(Default)]
struct Before {
    action: Option<BeforePhase>,
    /// The phase that it was done for last.
    done: Option<usize>,
}

impl std::fmt::Debug for Before {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Before").field("done", &self.done).finish_non_exhaustive()
    }
}

/// All workers of a run.
#[derive(Debug)]
pub struct Fleet {
    members: Vec<Member>,
    links: Links,
    options: Options,
    hosts: Vec<HostInfo>,
    /// What is to be said of workers' clocks with the next phase: which, and a sentence.
    remarks: Vec<(usize, String)>,
    before: Before,
    /// Behind the streams: what it holds for the workers goes after them.
    launcher: Arc<dyn Launcher>,
}

/// Refuses targets without a size that a worker cannot say the size of.
fn check_found(worker: &str, workload: &Workload, found: &Inventory) -> Result<(), FleetError> {
    for target in workload.targets.iter().filter(|target| target.size.is_none()) {
        let Some(facts) = found.targets.get(&target.name) else { continue };
        // Trees and applications make what they need in a directory.
        let used = |job: &&Job| job.targets.contains(&target.name) && job.is_blocks();
        let jobs = || workload.phases.iter().flat_map(|phase| &phase.jobs).filter(used);
        let what = match facts.kind {
            TargetKind::Directory => "is a directory",
            TargetKind::File if facts.existing_bytes == 0 => "does not exist or is empty",
            _ => continue,
        };
        if jobs().next().is_some() {
            return Err(FleetError::Targets(format!(
                "{worker}: {} {what} (target '{}'); name a file that is there, or give the target a size",
                facts.path, target.name
            )));
        }
    }
    Ok(())
}

/// Refuses paths for targets that the plan does not have.
fn check_paths(places: &[Place], workload: &Workload) -> Result<(), FleetError> {
    for Place { host, .. } in places {
        let is_known = |name: &&String| workload.targets.iter().any(|target| target.name == **name);
        if let Some(name) = host.paths.keys().find(|name| !is_known(name)) {
            let known: Vec<&str> = workload.targets.iter().map(|target| target.name.as_str()).collect();
            return Err(FleetError::Targets(format!(
                "host {} has a path for '{name}', and the plan has no such target; its targets are: {}",
                host.name,
                known.join(", ")
            )));
        }
    }
    Ok(())
}

/// Refuses to share files that a launcher gave each worker under a name of its own.
fn check_shared(places: &[Place], workload: &Workload) -> Result<(), FleetError> {
    let own = |target: &Target| {
        let mut paths = places.iter().filter_map(|place| place.host.paths.get(&target.name));
        let own = paths.clone().count() == places.len() && paths.all(|path| is_numbered(path, &target.path));
        own.then(|| format!("{}.1", target.path))
    };
    let files: Vec<String> = workload.targets.iter().filter_map(own).collect();
    match files.first().filter(|_| files.len() == workload.targets.len()) {
        Some(first) => Err(FleetError::Targets(format!(
            "--share: each of these workers has files of its own ({first}, ..), so that there is nothing to share; it is for devices, and \
             for volumes that hosts see under one path"
        ))),
        None => Ok(()),
    }
}

/// Whether a path is that of a file that a worker has for itself, beside those of others on its machine.
fn is_numbered(path: &str, of: &str) -> bool {
    let number = path.strip_prefix(of).and_then(|rest| rest.strip_prefix('.'));
    number.is_some_and(|number| number.parse::<usize>().is_ok())
}

impl Fleet {
    /// Starts the workers that `words` choose (`local:8`, `ssh:db1,db2`), and waits until all have answered. `workload` has their hosts
    /// from then on. `share` says how hosts share the ranges of targets that are the same storage.
    ///
    /// # Errors
    /// [`FleetError`] naming the workers that cannot be reached.
    pub fn launch(
        words: &str,
        workload: &mut Workload,
        share: Option<HostRanges>,
        setting: &Setting,
        options: Options,
    ) -> Result<Self, FleetError> {
        let launcher = match launcher(words, &workload.hosts, setting) {
            Err(_) if setting.stop.load(Ordering::Relaxed) => return Err(FleetError::Stopped),
            chosen => chosen?,
        };
        Fleet::over(launcher, workload, share, options)
    }

    /// As [`Fleet::launch`], with workers of a launcher that words do not choose.
    ///
    /// # Errors
    /// [`FleetError`] naming the workers that cannot be reached.
    pub fn over(
        launcher: Box<dyn Launcher>,
        workload: &mut Workload,
        share: Option<HostRanges>,
        options: Options,
    ) -> Result<Self, FleetError> {
        launcher.set_up(workload)?;
        let mut places = launcher.places(workload);
        check_paths(&places, workload)?;
        if share.is_some() {
            check_shared(&places, workload)?;
        }
        for place in places.iter_mut().filter(|place| place.directory.as_os_str().is_empty()) {
            place.directory = options.directory.clone().unwrap_or_default();
        }
        workload.hosts = places.iter().map(|place| place.host.clone()).collect();
        let jobs = workload.phases.iter_mut().flat_map(|phase| &mut phase.jobs);
        for job in jobs.filter(|_| share.is_some()) {
            if share == Some(HostRanges::Whole) && job.traits.content.verify && places.len() > 1 {
                return Err(FleetError::VerifiesShared { job: job.name.clone() });
            }
            job.host_ranges = share.unwrap_or_default();
        }
        let mut fleet = Fleet::start(launcher, places, options)?;
        fleet.await_all()?;
        Ok(fleet)
    }

    fn start(launcher: Box<dyn Launcher>, places: Vec<Place>, options: Options) -> Result<Self, FleetError> {
        room_for_streams(places.len());
        let connections = places.iter().map(|place| launcher.start(place)).collect::<io::Result<_>>()?;
        let launcher: Arc<dyn Launcher> = Arc::from(launcher);
        let again = launcher.reconnects().then(|| {
            let (launcher, places) = (Arc::clone(&launcher), places.clone());
            Arc::new(move |worker: usize| launcher.reconnect(&places[worker])) as Again
        });
        let links = Links::new(connections, options.patience, again)?;
        let member = |(id, place): (u16, Place)| Member {
            place,
            id: HostId(id),
            hello: None,
            clock: None,
            measured: 0,
            round_trip_ns: 0,
            lost: None,
            told_lost: false,
        };
        let members = (0..).zip(places).map(member).collect();
        Ok(Fleet {
            members,
            links,
            options,
            hosts: Vec::new(),
            remarks: Vec::new(),
            before: Before::default(),
            launcher,
        })
    }

    /// Waits until all workers have said what they are.
    fn await_all(&mut self) -> Result<(), FleetError> {
        let until_ns = self.links.now_ns() + self.options.patience.arrival.as_nanos() as u64;
        while self.members.iter().any(|member| member.hello.is_none() && member.lost.is_none()) {
            if self.is_stopped() {
                return Err(FleetError::Stopped);
            }
            if self.links.now_ns() > until_ns {
                break;
            }
            if let Some((worker, Told::Report(Report::Hello { hello }))) = self.hear() {
                self.members[worker].hello = Some(hello);
            }
        }
        let late = format!("no answer in {} s", self.options.patience.arrival.as_secs());
        let missing = self.members.iter().filter(|member| member.hello.is_none() || member.lost.is_some());
        let missing: Vec<(String, String)> = missing
            .map(|member| (member.name().to_owned(), member.why_lost()))
            .map(|(name, why)| (name, if why.is_empty() { late.clone() } else { why }))
            .collect();
        if !missing.is_empty() {
            return Err(FleetError::Unreachable { workers: missing });
        }
        let own = (PROTOCOL, &self.options.version);
        let another = |member: &&Member| {
            member.hello.as_ref().is_some_and(|hello| (hello.protocol, &hello.version) != own)
        };
        if let Some(other) = self.members.iter().find(another) {
            let words = |version: &AssayVersion| {
                format!("{} ({})", version.version, version.commit.as_deref().unwrap_or("no commit"))
            };
            let found = other.hello.as_ref().map_or_else(String::new, |hello| words(&hello.version));
            let worker = other.name().to_owned();
            return Err(FleetError::Version { worker, found, own: words(&self.options.version) });
        }
        Ok(())
    }

    /// Has all workers look at their targets: what planning has to know. `engine` is that of all jobs, where one is asked for.
    ///
    /// # Errors
    /// [`FleetError`] naming the worker whose target cannot be used.
    pub fn look(&mut self, workload: &Workload, engine: Option<EngineKind>) -> Result<Inventory, FleetError> {
        let lease_ms = self.options.patience.lease.as_millis() as u64;
        let command = |member: &Member| {
            let sought = |target: &Target| {
                let path = member.place.host.paths.get(&target.name).unwrap_or(&target.path).clone();
                let leaves_engine_open = workload.leaves_engine_open(target, engine);
                Sought { target: Target { path, ..target.clone() }, leaves_engine_open }
            };
            let targets = workload.targets.iter().map(sought).collect();
            Command::Look {
                look: Look { directory: member.place.directory.clone(), targets, engine },
                lease_ms,
            }
        };
        let mut known = Inventory { engine_override: engine, ..Inventory::default() };
        for (worker, report) in self.ask(command)? {
            let Report::Looked { inventory } = report else { continue };
            let name = self.members[worker].name();
            let checked = self.launcher.check(name, &inventory);
            checked.map_err(|what| FleetError::OtherTarget { worker: name.to_owned(), what })?;
            check_found(name, workload, &inventory)?;
            known.hosts.insert(self.members[worker].name().to_owned(), *inventory);
        }
        // What holds where a plan names no hosts.
        if let Some(first) = self.members.first().and_then(|member| known.hosts.get(member.name())) {
            let Inventory { targets, engines, .. } = first.clone();
            (known.targets, known.engines) = (targets, engines);
        }
        Ok(known)
    }

    /// Gives each worker its part of the plan, which checks and sets it up.
    ///
    /// # Errors
    /// [`FleetError`] naming the workers that will not or cannot do their part, with their reasons.
    pub fn prepare(&mut self, plan: &Plan, terms: &Terms) -> Result<(), FleetError> {
        self.check_shared(plan)?;
        let consent: Vec<PathBuf> = terms.consent.iter().cloned().chain(self.launcher.consent()).collect();
        let command = |member: &Member| {
            let part = Part {
                plan: if plan.hosts.is_empty() { plan.clone() } else { plan.for_host(member.id) },
                consent: consent.clone(),
                really: terms.really,
                watch: terms.watch,
                run: OfRun { name: terms.run.clone(), host: member.id },
            };
            Command::Prepare { part: Box::new(part) }
        };
        let mut hosts: Vec<HostInfo> = Vec::new();
        for (worker, report) in self.ask(command)? {
            if let Report::Prepared { environment } = report {
                let member = &self.members[worker];
                let name = member.name().to_owned();
                hosts.push(HostInfo { id: member.id, name, environment: *environment });
            }
        }
        hosts.sort_by_key(|host| host.id);
        self.hosts = hosts;
        Ok(())
    }

    /// Refuses targets that several workers of one machine would have, and write to.
    fn check_shared(&self, plan: &Plan) -> Result<(), FleetError> {
        let are_machines = self.launcher.are_machines();
        let node = |host: HostId| {
            let Some(member) = self.members.get(usize::from(host.0)) else { return "" };
            if are_machines {
                return member.name();
            }
            member.hello.as_ref().map_or("", |hello| hello.node.as_str())
        };
        match shared_and_written(plan, &node) {
            Some((path, node)) => Err(FleetError::Shared { path, node }),
            None => Ok(()),
        }
    }

    /// Has something done before each phase, and before its idle window: where the workers are, beside them.
    pub fn before_phases(&mut self, action: BeforePhase) {
        self.before.action = Some(action);
    }

    fn do_before(&mut self, plan: &Plan, phase: usize, sink: &mut HostSink<'_>) {
        if let Some(action) = self.before.action.as_mut().filter(|_| self.before.done != Some(phase)) {
            action(plan, phase, sink);
            self.before.done = Some(phase);
        }
    }

    /// What a reader of the result should know of where the workers are.
    pub fn notes(&self) -> Vec<(String, String)> {
        self.launcher.notes()
    }

    /// Where the first worker is.
    pub fn environment(&self) -> Environment {
        self.hosts.first().map_or_else(Environment::default, |host| host.environment.clone())
    }

    /// Ends all workers. `came_to_nothing`: nothing was measured, and what they made for it is removed; `failed`: the run failed.
    pub fn finish(mut self, came_to_nothing: bool, failed: bool) {
        let finish = Command::Finish { came_to_nothing, failed }.encode();
        for worker in self.present() {
            self.links.send_last(worker, finish.clone());
        }
        let until_ns = self.links.now_ns() + FINISH.as_nanos() as u64;
        while !self.present().is_empty() && self.links.now_ns() < until_ns {
            let _ = self.hear();
        }
    }

    /// Workers that are not lost.
    fn present(&self) -> Vec<usize> {
        (0..self.members.len()).filter(|worker| self.members[*worker].lost.is_none()).collect()
    }

    /// Sends each worker a command, and waits for the answers of all.
    fn ask(&mut self, command: impl Fn(&Member) -> Command) -> Result<Vec<(usize, Report)>, FleetError> {
        for (worker, member) in self.members.iter().enumerate() {
            self.links.send(worker, sendable(member.name(), command(member).encode())?);
        }
        let mut answers: Vec<(usize, Report)> = Vec::with_capacity(self.members.len());
        let mut refused = Vec::new();
        while answers.len() + refused.len() < self.members.len() {
            if self.is_stopped() {
                return Err(FleetError::Stopped);
            }
            match self.hear() {
                Some((worker, Told::Report(Report::Refused { refused: why }))) => {
                    refused.push((self.members[worker].name().to_owned(), why));
                }
                Some((worker, Told::Report(report))) => answers.push((worker, report)),
                _ => {}
            }
            let lost = self.members.iter().filter(|member| member.lost.is_some());
            let lost: Vec<_> = lost.map(|member| (member.name().to_owned(), member.why_lost())).collect();
            if !lost.is_empty() {
                return Err(FleetError::Unreachable { workers: lost });
            }
        }
        if refused.is_empty() { Ok(answers) } else { Err(FleetError::Refused { workers: refused }) }
    }

    /// What a worker told, waiting for it a little. What is of the fleet itself is taken note of.
    fn hear(&mut self) -> Option<(usize, Told)> {
        let Some((worker, heard)) = self.links.hear(LOOK) else {
            if self.links.is_broken() {
                let error = "what reads the workers' streams has ended".to_owned();
                let why = LostReason::Failed { error };
                for member in &mut self.members {
                    member.lost.get_or_insert((why.clone(), String::new()));
                }
            }
            return None;
        };
        let member = &mut self.members[worker];
        match heard {
            Heard::Payload(_) if member.lost.is_some() => None,
            Heard::Payload(payload) => match Told::decode(&payload) {
                Some(told) => Some((worker, told)),
                None => {
                    self.lose(worker, LostReason::Failed { error: "it sent what makes no sense".to_owned() });
                    None
                }
            },
            Heard::Clock { clock, round_trip_ns } => {
                (member.clock, member.round_trip_ns) = (Some(clock), round_trip_ns);
                member.measured += 1;
                None
            }
            Heard::ClockJumped { by_ns } => {
                let by_ms = by_ns as f64 / 1e6;
                self.remarks.push((
                    worker,
                    format!("its clock moved by {by_ms:.1} ms or more against the coordinator's"),
                ));
                None
            }
            Heard::Lost { why, said } => {
                member.lost.get_or_insert((why, said));
                None
            }
        }
    }

    /// Cuts a worker off.
    fn lose(&mut self, worker: usize, why: LostReason) {
        self.members[worker].lost.get_or_insert((why, String::new()));
        self.links.close(worker);
    }

    /// Has all workers of a phase do something beside it.
    fn beside(&mut self, plan: &Plan, phase: usize, what: Beside, sink: &mut HostSink<'_>) {
        let command = Command::Beside { phase: phase as u32, what }.encode();
        let mut waiting = self.present();
        waiting.retain(|worker| plan.has_part(phase, self.members[*worker].id));
        waiting.iter().for_each(|worker| self.links.send(*worker, command.clone()));
        let mut told_stop = false;
        while !waiting.is_empty() {
            if self.is_stopped() && !told_stop {
                told_stop = true;
                self.tell_stop(&waiting);
            }
            match self.hear() {
                Some((worker, Told::Event(event))) => sink(self.members[worker].id, event),
                Some((worker, Told::Report(Report::Ended { .. }))) => {
                    waiting.retain(|other| *other != worker)
                }
                _ => {}
            }
            // The next phase tells that they are lost.
            waiting.retain(|worker| self.members[*worker].lost.is_none());
        }
    }

    fn is_stopped(&self) -> bool {
        self.options.stop.load(Ordering::Relaxed)
    }

    fn tell_stop(&self, workers: &[usize]) {
        workers.iter().for_each(|worker| self.links.send(*worker, Command::Stop.encode()));
    }
}

/// The first target that several hosts of one machine have, and that is written to; with that machine.
fn shared_and_written<'n>(plan: &Plan, node: &dyn Fn(HostId) -> &'n str) -> Option<(String, String)> {
    let mut users: BTreeMap<(&str, &str), HostId> = BTreeMap::new();
    plan.targets.iter().filter(|target| target.kind != TargetKind::Null).find_map(|target| {
        let first = *users.entry((node(target.host), &target.path)).or_insert(target.host);
        let shared = first != target.host && writes(plan, &target.path);
        shared.then(|| (target.path.clone(), node(target.host).to_owned()))
    })
}

/// Whether some job writes to a target of this path.
fn writes(plan: &Plan, path: &str) -> bool {
    let jobs = plan.phases.iter().flat_map(|phase| &phase.jobs).filter(|job| job.may_write());
    let mut sites = jobs.flat_map(|job| &job.slices).flat_map(|slice| &slice.sites);
    sites.any(|site| plan.targets.get(site.target as usize).is_some_and(|target| target.path == path))
}

/// Three streams a worker are more than what a process may have open by default.
fn room_for_streams(workers: usize) {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let wanted = workers as u64 * 4 + 256;
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_some_and(|current| current < wanted) {
        let current = limit.maximum.map_or(wanted, |maximum| maximum.min(wanted));
        // Where it does not do, starting a worker says so.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(current), maximum: limit.maximum });
    }
}

impl Executor for Fleet {
    fn hosts(&self) -> &[HostInfo] {
        &self.hosts
    }

    fn execute(&mut self, plan: &Arc<Plan>, phase: usize, sink: &mut HostSink<'_>) -> PhaseOutcome {
        self.do_before(plan, phase, sink);
        round::execute(self, plan, phase, sink)
    }

    fn environment(&self) -> Option<&Environment> {
        self.hosts.first().map(|host| &host.environment)
    }

    fn goes_on_after_loss(&self) -> bool {
        self.options.on_loss == OnLoss::Continue && !self.present().is_empty()
    }

    fn stopped(&self) -> bool {
        self.is_stopped()
    }

    fn idle_window(&mut self, plan: &Arc<Plan>, phase: usize, when: When, sink: &mut HostSink<'_>) {
        if when == When::Before {
            self.do_before(plan, phase, sink);
        }
        let what = match when {
            When::Before => Beside::IdleBefore,
            When::After => Beside::IdleAfter,
        };
        self.beside(plan, phase, what, sink);
    }

    fn settle(&mut self, plan: &Arc<Plan>, phase: usize, sink: &mut HostSink<'_>) {
        self.beside(plan, phase, Beside::Settle, sink);
    }

    fn elapsed_ms(&self) -> u64 {
        self.links.now_ns() / 1_000_000
    }
}

#[cfg(test)]
mod tests;
