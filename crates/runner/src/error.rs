//! Why a request was not carried out.

use std::io;
use std::path::PathBuf;

use assay_engine::fio_bridge::FioError;
use assay_engine::tree::AnchorError;
use assay_engine::{EngineError, JournalError};
use assay_formats::foreign_command::ForeignCommand;
use assay_host::claim::InUse;
use assay_host::guard::Refusal;
use assay_host::workdir::WorkDirError;
use assay_results::build::BuildError;
use assay_results::store::StoreError;
use assay_sim::phase::SimError;
use assay_workload::application::Application;
use assay_workload::host::{PlannedHost, describe_hosts};
use assay_workload::operation::OpId;
use assay_workload::plan::PlanProblem;
use assay_workload::resolve::ResolveError;
use assay_workload::target::TargetKind;
use assay_workload::units::Bytes;

use crate::space::Shortage;

/// What is wrong with a target.
#[derive(Debug, thiserror::Error)]
pub enum TargetProblem {
    /// Neither a file nor a block device nor a directory.
    #[error("it is neither a file nor a block device")]
    Kind,
    /// Not what the plan says it is.
    #[error("it is a {}, not a {}", found.name(), asked.name())]
    OtherKind {
        /// What it is.
        found: TargetKind,
        /// What the plan says.
        asked: TargetKind,
    },
    /// Not what the plan was made for.
    #[error("it holds {found}, and the plan was made for a device of {planned}")]
    OtherSize {
        /// What it holds; 0: it is no device, or it is not there.
        found: Bytes,
        /// What the plan says.
        planned: Bytes,
    },
    /// A job is to remove it.
    #[error(
        "it is a symbolic link, and what a link leads to is not removed through it; name the file itself"
    )]
    LinkToRemove,
    /// Its path cannot stand in a plan.
    #[error("its path is not valid UTF-8")]
    NotUtf8,
}

/// Why a target cannot be probed.
#[derive(Debug, thiserror::Error)]
pub enum ProbeProblem {
    /// It is not there.
    #[error("there is no such file")]
    Missing,
    /// It is a directory.
    #[error("it is a directory; name a file in it that holds data")]
    Directory,
    /// It is something else.
    #[error("it is neither a file nor a block device")]
    Kind,
    /// It holds no data.
    #[error("{} of it were never written, and reading them tells nothing of storage; fill it first", Bytes(*bytes))]
    Empty {
        /// What was never written.
        bytes: u64,
    },
    /// There is too little of it.
    #[error("{} is too little to probe: 2 MiB at least", Bytes(*bytes))]
    TooSmall {
        /// What there is.
        bytes: u64,
    },
}

/// Why a request was not carried out.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// A target cannot be used as asked.
    #[error("{path}: {problem}")]
    Target {
        /// The target.
        path: PathBuf,
        /// What is wrong with it.
        problem: TargetProblem,
    },
    /// The system refused something on a path.
    #[error("{path}: {source}")]
    Io {
        /// The path.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file could not be made.
    #[error("cannot make {path}: {source}")]
    MakeFile {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A directory could not be made.
    #[error(transparent)]
    Directory(#[from] WorkDirError),
    /// The workload cannot be made into a plan here.
    #[error(transparent)]
    Plan(#[from] ResolveError),
    /// The plan cannot be carried out by any machine.
    #[error("the plan cannot be carried out: {0}")]
    Problem(#[from] PlanProblem),
    /// It is for the array model, which does no I/O here.
    #[error(
        "the plan is for the array model, which does no I/O; plans are carried out by Assay's engines or by fio"
    )]
    NoStorage,
    /// A kind of job names more operations than are counted.
    #[error("job '{job}' has {number} operations of its own; {} are possible", OpId::COUNT_MAX)]
    Operations {
        /// The job.
        job: String,
        /// How many.
        number: usize,
    },
    /// The plan is for other machines.
    #[error(
        "the plan is for {}: --on ssh reaches them, and '--on local' does all of it by processes of this machine; \
         'assay plan' shows what each would do",
        describe_hosts(hosts)
    )]
    OtherHosts {
        /// The hosts.
        hosts: Vec<PlannedHost>,
    },
    /// A target may not be written to.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// A file of others is shorter than what is to be read of it.
    #[error(
        "{path} has {} and {} of it are to be read; it is not extended because Assay did not make it: ask for \
         size={bytes} or less, or name another file",
        Bytes(*bytes),
        Bytes(*read_bytes)
    )]
    ShortFile {
        /// The file.
        path: PathBuf,
        /// What it has.
        bytes: u64,
        /// What is to be read of it.
        read_bytes: u64,
    },
    /// What is read was being written when its run ended, so that its content is not known.
    #[error(
        "{path} is to be read, and a run that was writing it was killed or something else changed it since: its content is unknown, \
         and it is not laid out again by itself; add --destroy-data {path} to have that done, or name another file"
    )]
    CutShort {
        /// The file.
        path: PathBuf,
    },
    /// Another run has a target.
    #[error(transparent)]
    InUse(#[from] InUse),
    /// A directory may not hold a tree of files.
    #[error(transparent)]
    Tree(#[from] AnchorError),
    /// The buffers do not fit into memory.
    #[error(
        "the plan takes {} of memory for its buffers, and {} are available: fewer outstanding I/Os, fewer threads, or \
         smaller blocks",
        Bytes(*wanted_bytes),
        Bytes(*available_bytes)
    )]
    Memory {
        /// What the buffers take.
        wanted_bytes: u64,
        /// What there is.
        available_bytes: u64,
    },
    /// The buffers do not fit into the addresses that this process may use.
    #[error(
        "the plan takes {} of address space, and the limit of {} leaves {}: raise it with 'ulimit -v unlimited', or use \
         fewer outstanding I/Os, fewer threads, or smaller blocks",
        Bytes(*wanted_bytes),
        Bytes(*limit_bytes),
        Bytes(*available_bytes)
    )]
    AddressSpace {
        /// What buffers, stacks and counters take.
        wanted_bytes: u64,
        /// What is left of the limit.
        available_bytes: u64,
        /// The limit (`RLIMIT_AS`).
        limit_bytes: u64,
    },
    /// The plan opens more files than this process may.
    #[error(
        "the plan takes {wanted} file descriptors, and this process may open {allowed}: raise the limit with \
         'ulimit -n {wanted}' (the hard limit as root, or in /etc/security/limits.conf), or use fewer targets or threads"
    )]
    Descriptors {
        /// How many are wanted.
        wanted: u64,
        /// How many are allowed.
        allowed: u64,
    },
    /// A file system has too little space for the plan.
    #[error(transparent)]
    Space(#[from] Shortage),
    /// Nothing here carries out a job of its kind.
    #[error("job '{job}' is of the kind '{}', which nothing here carries out", application.kind)]
    NoKind {
        /// The job.
        job: String,
        /// What it is.
        application: Box<Application>,
    },
    /// Workers carry out Assay's own engines only.
    #[error(
        "phase {} of the plan is not for Assay's own engines, and workers have no others: leave out --on, or what asks for fio",
        phase + 1
    )]
    NotOnWorkers {
        /// Index into the plan's phases.
        phase: usize,
    },
    /// fio was asked for and was not given.
    #[error("the plan is for fio, and no fio was given to carry it out")]
    NoFio,
    /// fio does not run.
    #[error(transparent)]
    Fio(#[from] FioError),
    /// The plan cannot be given to fio, or loses something there.
    #[error("fio: {what}")]
    NotForFio {
        /// What fio cannot do.
        what: String,
        /// Index of the phase.
        phase: usize,
    },
    /// fio writes down its own I/Os.
    #[error("--trace is for Assay's own engines; fio has write_iolog")]
    TraceOfFio,
    /// An engine could not be set up.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The plan cannot be simulated.
    #[error(transparent)]
    Simulation(#[from] SimError),
    /// A simulated phase failed.
    #[error("phase {} of the plan, simulated: {why}", phase + 1)]
    Simulated {
        /// Index into the plan's phases.
        phase: usize,
        /// Why.
        why: String,
    },
    /// Writing data to be read later failed.
    #[error("prefill: {why}")]
    Prefill {
        /// The first error of its job.
        why: String,
        /// What was written.
        written_bytes: u64,
    },
    /// The time allowed was too short to write enough to be read.
    #[error("the prefill managed {} only", Bytes(*written_bytes))]
    PrefillShort {
        /// What was written.
        written_bytes: u64,
    },
    /// It was stopped before anything was measured.
    #[error("interrupted")]
    Interrupted,
    /// There are no random numbers.
    #[error("/dev/urandom: {0}")]
    Random(#[source] io::Error),
    /// No place to keep the run was given.
    #[error("nowhere to keep runs")]
    NoStore,
    /// The journal of a run that crashed cannot be read.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// There is no journal of the run's writes.
    #[error(
        "the run in {run} has no validation journal at {journal}: it is kept with `content = {{ verify = true, journal = \"flushed\" }}`"
    )]
    NoJournal {
        /// The run's directory.
        run: PathBuf,
        /// Where it would be.
        journal: PathBuf,
    },
    /// Data is verified by the path of a target, and there are two of it.
    #[error(
        "target {} ({}) and target {} ({}) are one: data is verified for each path by itself, so that what is written by one path is \
         wrong by the other; give both the same path",
        one.0, one.1, other.0, other.1
    )]
    Aliased {
        /// Name and path of a target.
        one: (String, String),
        /// Those of another.
        other: (String, String),
    },
    /// A journal is there, and it is not known to be the run's.
    #[error("{journal} is not taken for the validation journal of the run {run}: {why}")]
    OtherJournal {
        /// The journal.
        journal: PathBuf,
        /// The id of the run.
        run: String,
        /// What it is.
        why: String,
    },
    /// The journal of a run that ended by itself lacks its end.
    #[error(
        "{journal} ends before its closing record, although the run had ended by itself: {read} of it were read, {records} records; what \
         the run wrote behind them is not proved"
    )]
    JournalCut {
        /// The journal.
        journal: PathBuf,
        /// As much as could be read.
        read: Bytes,
        /// Records in that.
        records: u64,
    },
    /// The journals of a run's workers are on other machines.
    #[error(
        "{} wrote on another machine, and what is written is proved where it is: there, 'assay runs verify {run}'; of a target that \
         is attached to this machine now, give the journal and where it is: --journal FILE --at NAME=PATH",
        hosts.join(", ")
    )]
    JournalsElsewhere {
        /// The names of the workers.
        hosts: Vec<String>,
        /// The run.
        run: String,
    },
    /// A command of the file, which the user allows, did not do its work.
    #[error("{command} {what}")]
    Executed {
        /// The command.
        command: Box<ForeignCommand>,
        /// What was wrong.
        what: String,
    },
    /// A target that the journals do not name.
    #[error("--at {name}: the run wrote to no target of that name; it wrote to {}", known.join(", "))]
    NoSuchTarget {
        /// What was named.
        name: String,
        /// What it wrote to.
        known: Vec<String>,
    },
    /// Nothing was written by the time a run crashed.
    #[error(
        "{journal}: no write that could be there is in the validation journal, so there is nothing to prove"
    )]
    NothingWritten {
        /// The journal.
        journal: PathBuf,
    },
    /// Nothing that a run writes to.
    #[error(
        "{path} is neither a file nor a block device: nothing can be proved there; --at NAME=PATH says where a target is by now"
    )]
    NotATarget {
        /// What was named.
        path: PathBuf,
    },
    /// A file is gone, or has less than a block, although writes to it were acknowledged.
    #[error("{path} {what}: lost blocks with an acknowledged write: {blocks}")]
    TargetLost {
        /// The file.
        path: PathBuf,
        /// What is left of it.
        what: String,
        /// Blocks that are lost.
        blocks: u64,
    },
    /// The run could not be stored.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The events make no run.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The command to be observed cannot be started.
    #[error("cannot start '{program}': {source}")]
    Command {
        /// Its name.
        program: String,
        /// What the system said.
        source: io::Error,
    },
    /// Waiting for the command failed.
    #[error("the command: {0}")]
    Wait(#[source] io::Error),
    /// A target cannot be probed.
    #[error("{path}: {problem}")]
    Probe {
        /// The target.
        path: PathBuf,
        /// Why.
        problem: ProbeProblem,
    },
    /// The target of a probe takes no direct I/O.
    #[error("cannot open {path}: {source}: it takes no direct I/O; --buffered probes the page cache")]
    NoDirectIo {
        /// The target.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A probe could not read.
    #[error("reading {path} at {offset_bytes}: {source}")]
    Read {
        /// The target.
        path: PathBuf,
        /// Where.
        offset_bytes: u64,
        /// What the system said.
        source: io::Error,
    },
}

impl RunError {
    /// Whether another request would do: the caller asked for what cannot be, rather than something having failed.
    pub fn is_request(&self) -> bool {
        matches!(
            self,
            RunError::Target { .. }
                | RunError::Plan(_)
                | RunError::Problem(_)
                | RunError::NoStorage
                | RunError::OtherHosts { .. }
                | RunError::NoKind { .. }
                | RunError::NotOnWorkers { .. }
                | RunError::JournalsElsewhere { .. }
                | RunError::Refused(_)
                | RunError::ShortFile { .. }
                | RunError::CutShort { .. }
                | RunError::Tree(_)
                | RunError::Memory { .. }
                | RunError::AddressSpace { .. }
                | RunError::Descriptors { .. }
                | RunError::NotForFio { .. }
                | RunError::TraceOfFio
                | RunError::NoStore
                | RunError::Store(StoreError::Running(_))
                | RunError::NoJournal { .. }
                | RunError::OtherJournal { .. }
                | RunError::Aliased { .. }
                | RunError::NothingWritten { .. }
                | RunError::NoSuchTarget { .. }
                | RunError::NotATarget { .. }
                | RunError::Probe { .. }
                | RunError::Command { .. }
                | RunError::Simulation(SimError::Model(_))
        )
    }
}
