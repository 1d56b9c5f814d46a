//! A parsed parameter file.

use super::general::General;
use super::keyword::WantedCommand;
use super::options::Limits;
use super::run::RunDef;
use super::sink::{At, position};
use super::{FileSystemDef, FileWorkloadDef, HostDef, StorageDef, WorkloadDef};
use assay_formats::diagnostic::Position;
use assay_formats::foreign_command::{CommandTime, ForeignCommand};

/// Everything that a parameter file defines, with templates, repetitions and references resolved.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ParameterFile {
    /// Names of the files that were read; [`At::file`] points in here.
    pub files: Vec<String>,
    /// General parameters.
    pub general: General,
    /// Host definitions.
    pub hosts: Vec<HostDef>,
    /// Storage definitions.
    pub storages: Vec<StorageDef>,
    /// Workload definitions.
    pub workloads: Vec<WorkloadDef>,
    /// What `wd=default` set: the workload of a run that names storage definitions only.
    pub default_workload: WorkloadDef,
    /// File system definitions.
    pub file_systems: Vec<FileSystemDef>,
    /// File workload definitions.
    pub file_workloads: Vec<FileWorkloadDef>,
    /// What `fwd=format` set for format runs.
    pub format_workload: Option<FileWorkloadDef>,
    /// Run definitions that are to be run, in order.
    pub runs: Vec<RunDef>,
    /// Indices of file SDs that need a format run first.
    pub unformatted: Vec<usize>,
    /// The rate that stands for the maximum in a listing of curve points, in operations a second.
    pub simulated_max_rate: f64,
    /// Whether the unit error of vdbench's hotband is repaired.
    pub hotband_corrected: bool,
    /// Names of the machine that runs the file.
    pub local_names: Vec<String>,
    /// Bounds.
    pub(crate) limits: Limits,
}

impl ParameterFile {
    /// Hosts that are not the machine that runs the file.
    pub fn remote_hosts(&self) -> impl Iterator<Item = &HostDef> {
        let here = |name: &str| {
            ["localhost", "127.0.0.1", "::1"].contains(&name)
                || self.local_names.iter().any(|own| own == name)
        };
        self.hosts.iter().filter(move |host| !here(host.machine()))
    }

    /// The commands that the file wants run before its first run and after its last; not those between two runs.
    #[must_use]
    pub fn commands(&self) -> Vec<ForeignCommand> {
        let general = self.general.commands.iter().map(|command| ("", command));
        let only = match &self.runs[..] {
            [run] => run.commands.iter().map(|command| (run.name.as_str(), command)).collect(),
            _ => Vec::new(),
        };
        let foreign = |(of, wanted): (&str, &WantedCommand)| ForeignCommand {
            when: if wanted.option == "startcmd" { CommandTime::Before } else { CommandTime::After },
            option: wanted.option,
            of: of.to_owned(),
            command: wanted.command.clone(),
            position: self.position(wanted.at),
        };
        general.chain(only).map(foreign).collect()
    }

    /// The readable form of a place.
    #[must_use]
    pub fn position(&self, at: At) -> Position {
        position(&self.files, at)
    }
}
