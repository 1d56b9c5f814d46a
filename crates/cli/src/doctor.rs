//! `assay doctor`: what this machine offers, and what each shortcoming means for a measurement.

use assay_engine::available::{Availability, availability};
use assay_engine::clock::RealClock;
use assay_host::inventory::{self, Helper, Inventory, Limit, Offer};
use assay_report::format;
use assay_report::terminal::{self, Mark, Row, Section, row};
use assay_results::environment::AssayVersion;
use clap::Args;
use serde::Serialize;

use crate::context::Context;
use crate::failure::{Failure, Outcome};

#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Print one JSON document (schema: docs/schemas/doctor-1.json)
    #[arg(long)]
    pub(crate) json: bool,
}

/// The schema of `assay doctor --json`.
pub(crate) const SCHEMA: &str = "assay.doctor/1";

/// What `assay doctor --json` prints.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Document<'a> {
    schema: &'static str,
    /// The program that asked.
    assay: AssayVersion,
    /// What times are taken with.
    clock: &'a str,
    /// Engines that were tried.
    trials: Vec<Trial<'a>>,
    /// What was found without trying anything.
    inventory: &'a Inventory,
}

/// Whether an engine works here: found out by making one.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Trial<'a> {
    /// As in `--engine`.
    engine: &'static str,
    works: bool,
    /// Its remarks, or why it does not work.
    said: &'a str,
}

pub(crate) fn doctor(args: &DoctorArgs, context: &Context) -> Result<Outcome, Failure> {
    let inventory = inventory::collect(&context.host, std::env::var_os("PATH").as_deref());
    let trials = availability();
    let clock = RealClock::new().name();
    if args.json {
        context.out(&json(&inventory, &trials, clock)?);
        return Ok(Outcome::Done);
    }
    let installer = Installer::find(|program| context.host.exists(program));
    let sections = [
        machine(&inventory),
        engines(&inventory, &trials),
        clocks(&inventory, clock),
        limits(&inventory),
        terminal::block_devices(&inventory.block_devices),
        terminal::file_systems(&inventory.file_systems),
        helpers(&inventory.helpers, installer),
    ];
    context.out(&terminal::sections(&sections, &context.style));
    Ok(Outcome::Done)
}

fn limits(inventory: &Inventory) -> Section {
    let (limits, may) = (&inventory.limits, &inventory.privileges);
    let limit = |limit: Limit| terminal::Limit { soft: limit.soft, hard: limit.hard };
    let mut rows = terminal::process_limits(&terminal::ProcessLimits {
        locked_memory: limits.locked_memory_bytes.map(limit),
        ipc_lock: may.ipc_lock == Some(true),
        open_files: limits.open_files.map(limit),
        file_size: limits.file_size_bytes.map(limit),
        drop_caches: may.drop_caches,
        seccomp_filter: may.seccomp_filter == Some(true),
    });
    rows.extend(terminal::control_group(&inventory.cgroup));
    Section { title: "Limits".to_owned(), rows }
}

impl Trial<'_> {
    fn of(tried: &Availability) -> Trial<'_> {
        let (works, said) = match &tried.works {
            Ok(notes) => (true, notes),
            Err(error) => (false, error),
        };
        Trial { engine: tried.kind.name(), works, said }
    }
}

fn json(inventory: &Inventory, trials: &[Availability], clock: &str) -> Result<String, Failure> {
    let document = Document {
        schema: SCHEMA,
        assay: Context::version(),
        clock,
        trials: trials.iter().map(Trial::of).collect(),
        inventory,
    };
    serde_json::to_string_pretty(&document).map_err(Failure::failed)
}

/// Only what is known becomes a row.
fn known(name: &str, value: Option<String>) -> Option<Row> {
    value.map(|value| row(name, value, Mark::Plain))
}

fn machine(inventory: &Inventory) -> Section {
    let machine = &inventory.machine;
    let cpu = &machine.cpu;
    let count =
        |number: Option<u32>, what: &str| number.map(|n| format::plural(u64::from(n), what)).into_iter();
    let counts: Vec<String> = count(cpu.sockets, "socket")
        .chain(count(cpu.cores, "core"))
        .chain(count(cpu.online, "processor"))
        .chain(cpu.allowed.filter(|allowed| Some(*allowed) != cpu.online).map(|n| format!("{n} allowed")))
        .collect();
    let model = cpu.model.clone().unwrap_or_else(|| machine.arch.clone());
    let virtualisation = &machine.virtualisation;
    let inside = match (virtualisation.virtual_machine, &virtualisation.hypervisor) {
        (Some(true), Some(name)) => Some(format!("in a virtual machine ({name})")),
        (Some(true), None) => Some("in a virtual machine".to_owned()),
        (Some(false), _) => Some("on bare metal".to_owned()),
        (None, _) => None,
    };
    let container = virtualisation.container.as_ref().map(|name| format!("in a container ({name})"));
    let setting: Vec<String> = inside.into_iter().chain(container).collect();
    let memory = machine.memory.total_bytes.map(|total| {
        let available = machine
            .memory
            .available_bytes
            .map_or(String::new(), |bytes| format!(", {} available", format::bytes(bytes)));
        format!("{}{available}", format::bytes(total))
    });
    let rows = [
        known("host", machine.hostname.clone()),
        known("system", machine.os.clone()),
        known("kernel", machine.kernel_release.as_ref().map(|release| format!("{release} {}", machine.arch))),
        known("processor", Some(format!("{model}: {}", counts.join(", ")))),
        known("memory", memory),
        known("runs", (!setting.is_empty()).then(|| setting.join(", "))),
        frequency(inventory),
    ];
    Section { title: "Machine".to_owned(), rows: rows.into_iter().flatten().collect() }
}

/// Processor frequencies that change under way blur CPU costs and short latencies.
fn frequency(inventory: &Inventory) -> Option<Row> {
    let governors = &inventory.machine.cpu.governors;
    let slow = governors.iter().any(|governor| governor != "performance");
    match (governors.is_empty(), slow) {
        (true, _) => None,
        (false, false) => Some(row("frequency", "governor performance", Mark::Good)),
        (false, true) => {
            let text = format!(
                "governor {}: CPU per I/O and short latencies vary with the clock; 'performance' holds it",
                governors.join(", ")
            );
            Some(row("frequency", text, Mark::Warn))
        }
    }
}

fn engines(inventory: &Inventory, trials: &[Availability]) -> Section {
    let rows = inventory.engines.iter().map(|offered| {
        let trial = trials.iter().find(|trial| trial.kind.name() == offered.engine);
        engine(&offered.engine, &offered.offer, trial)
    });
    Section { title: "Engines (tried just now)".to_owned(), rows: rows.collect() }
}

/// What a trial said has the last word; what the settings say explains it.
fn engine(name: &str, offer: &Offer, trial: Option<&Availability>) -> Row {
    let (reason, advice) = match offer {
        Offer::Usable => (None, None),
        Offer::Limited { reason, advice } | Offer::Unusable { reason, advice } => {
            (Some(reason.as_str()), advice.as_deref())
        }
    };
    let because = |first: &str| {
        let parts = [Some(first), reason, advice];
        parts.into_iter().flatten().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("; ")
    };
    match (trial.map(|trial| &trial.works), offer) {
        (Some(Err(said)), _) => row(name, because(&format!("does not work: {said}")), Mark::Bad),
        (Some(Ok(notes)), Offer::Usable) if notes.is_empty() => row(name, "works", Mark::Good),
        (Some(Ok(notes)), Offer::Usable) => row(name, format!("works ({notes})"), Mark::Good),
        (Some(Ok(notes)), _) => row(name, because(&format!("works ({notes})")), Mark::Good),
        (None, Offer::Usable) => row(name, "there", Mark::Good),
        (None, Offer::Limited { .. }) => row(name, because("limited"), Mark::Warn),
        (None, Offer::Unusable { .. }) => row(name, because(""), Mark::Warn),
    }
}

fn clocks(inventory: &Inventory, used: &str) -> Section {
    let clock = &inventory.machine.clock;
    let mut rows = vec![row("stamps from", used, Mark::Plain)];
    if let Some(source) = &clock.source {
        let good = matches!(
            source.as_str(),
            "tsc" | "kvm-clock" | "arch_sys_counter" | "hyperv_clocksource_tsc_page"
        );
        let (text, mark) = if good {
            (source.clone(), Mark::Good)
        } else {
            (
                format!(
                    "{source}: reading it takes a system call or a slow register, which adds to each I/O"
                ),
                Mark::Warn,
            )
        };
        rows.push(row("kernel's source", text, mark));
    }
    match clock.invariant_tsc {
        Some(true) => rows.push(row("cycle counter", "ticks evenly (invariant)", Mark::Good)),
        Some(false) => {
            let text = "does not tick evenly; the kernel's clock is used, at about 20 ns more a stamp";
            rows.push(row("cycle counter", text, Mark::Warn));
        }
        None => {}
    }
    Section { title: "Clock".to_owned(), rows }
}

fn helpers(helpers: &[Helper], installer: Option<&Installer>) -> Section {
    let rows = helpers.iter().map(|helper| match (&helper.path, installer) {
        (Some(path), _) => row(&helper.name, path.clone(), Mark::Good),
        (None, Some(installer)) => {
            let text = format!("not found; for {}: {}", helper.needed_for, installer.command(&helper.name));
            row(&helper.name, text, Mark::Warn)
        }
        (None, None) => row(&helper.name, format!("not found; for {}", helper.needed_for), Mark::Warn),
    });
    Section { title: "Helpers".to_owned(), rows: rows.collect() }
}

/// How packages are installed here.
#[derive(Debug, PartialEq, Eq)]
struct Installer {
    program: &'static str,
    command: &'static str,
    ssh: &'static str,
}

const INSTALLERS: [Installer; 6] = [
    Installer { program: "/usr/bin/apt-get", command: "apt-get install", ssh: "openssh-client" },
    Installer { program: "/usr/bin/dnf", command: "dnf install", ssh: "openssh-clients" },
    Installer { program: "/usr/bin/yum", command: "yum install", ssh: "openssh-clients" },
    Installer { program: "/usr/bin/zypper", command: "zypper install", ssh: "openssh" },
    Installer { program: "/usr/bin/pacman", command: "pacman -S", ssh: "openssh" },
    Installer { program: "/sbin/apk", command: "apk add", ssh: "openssh-client" },
];

impl Installer {
    fn find(exists: impl Fn(&str) -> bool) -> Option<&'static Installer> {
        INSTALLERS.iter().find(|installer| exists(installer.program))
    }

    /// What to type for a helper.
    fn command(&self, helper: &str) -> String {
        let package = if helper == "ssh" { self.ssh } else { helper };
        format!("{} {package}", self.command)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_workload::job::EngineKind;

    #[test]
    fn the_trial_has_the_last_word() {
        let refused =
            Availability { kind: EngineKind::IoUring, works: Err("Operation not permitted".to_owned()) };
        let (_, text, mark) = engine("io_uring", &Offer::Usable, Some(&refused));
        assert_eq!((text.as_str(), mark), ("does not work: Operation not permitted", Mark::Bad));
        let works = Availability { kind: EngineKind::IoUring, works: Ok("single issuer".to_owned()) };
        let doubt = Offer::Limited { reason: "a filter is active".to_owned(), advice: None };
        let (_, text, mark) = engine("io_uring", &doubt, Some(&works));
        assert_eq!((text.as_str(), mark), ("works (single issuer); a filter is active", Mark::Good));
    }

    #[test]
    fn missing_helpers_come_with_what_to_type() {
        let debian = Installer::find(|program| program == "/usr/bin/apt-get").expect("known");
        assert_eq!(debian.command("fio"), "apt-get install fio");
        assert_eq!(debian.command("ssh"), "apt-get install openssh-client");
        assert_eq!(Installer::find(|_| false), None);
        let absent = Helper { name: "fio".to_owned(), needed_for: "assay crosscheck".to_owned(), path: None };
        let section = helpers(&[absent], Some(debian));
        assert_eq!(section.rows[0].1, "not found; for assay crosscheck: apt-get install fio");
    }
}
