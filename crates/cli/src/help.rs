//! Help in two lengths: `-h` has what is asked for often, `--help` everything, in groups, with examples.

use clap::{Arg, Command};

use crate::foreign;

/// Options by what they are about; the rest stays under `Options`.
const GROUPS: [(&str, &[&str]); 4] = [
    ("Virtual machines of --on vm:N", VM),
    (
        "What to run",
        &[
            "format",
            "hotband",
            "profile",
            "target",
            "array",
            "size",
            "test",
            "series",
            "scale",
            "runtime",
            "probe",
            "working_set",
            "block_size",
            "read",
            "random",
            "outstanding",
            "ramp",
            "rate",
            "grid",
        ],
    ),
    (
        "How to run it",
        &[
            "repeat",
            "tiles",
            "curve",
            "find_rate",
            "until_steady",
            "shuffle",
            "seed",
            "on",
            "on_loss",
            "lost_after",
            "share",
            "engine",
            "install_missing",
            "watch",
            "dry_run",
            "strict",
            "allow_loss",
            "listen",
            "destroy_data",
            "really",
            "allow_exec",
            "thorough",
            "buffered",
            "simulate",
            "bound_range",
            "threads",
            "cache",
        ],
    ),
    (
        "Output",
        &[
            "live",
            "json",
            "html",
            "csv",
            "md",
            "xlsx",
            "parquet",
            "hlog",
            "openmetrics",
            "fio_json",
            "fio_json_plus",
            "fio_logs",
            "vdbench",
            "force",
            "require_valid",
            "trace",
            "to",
            "fix",
            "schema",
            "output",
        ],
    ),
];

/// Options that `-h` leaves out, by command; empty: of all.
const RARE: [(&str, &[&str]); 13] = [
    (
        "",
        &[
            "color",
            "quiet",
            "verbose",
            "out",
            "force",
            "require_valid",
            "watch",
            "install_missing",
            "strict",
            "allow_loss",
            "listen",
            "really",
        ],
    ),
    ("", VM),
    ("run", RUN),
    ("kube", RUN),
    (
        "kube",
        &[
            "context",
            "pull",
            "node_selector",
            "tolerations",
            "toleration",
            "spread",
            "cpu",
            "memory",
            "run_as",
            "in_cluster",
            "account",
            "find_rate",
            "pod_wait",
            "id",
            "pvcs",
            "drop_hook",
            "profile",
            "target",
            "tiles",
            "on",
            "engine",
            "html",
        ],
    ),
    (
        "oltp",
        &["loaders", "home", "poisson", "think", "synchronous", "server_side", "tolerate", "ledger", "name"],
    ),
    ("plan", RUN),
    ("plan", &["curve", "find_rate"]),
    ("fio", &["fio_json_plus", "fio_logs"]),
    ("grid", RUN),
    (
        "grid",
        &[
            "working_set",
            "buffered",
            "warm_up",
            "directory",
            "target",
            "group",
            "dry_run",
            "destroy_data",
            "html",
            "engine",
        ],
    ),
    ("mail", &["fio_json", "fio_json_plus", "fio_logs", "vdbench"]),
    ("audit", &["format", "hotband", "against", "bound_range", "threads", "seed", "cache", "repeat"]),
];
/// Options of machines that are made for a run.
pub(crate) const VM: &[&str] = &[
    "vm_image",
    "vm_disks",
    "vm_disk_size",
    "vm_thick",
    "vm_cpus",
    "vm_memory",
    "vm_connect",
    "vm_pool",
    "vm_accel",
    "vm_prefill",
    "vm_boot",
    "vm_keep",
];
const RUN: &[&str] = &[
    "tiles",
    "live",
    "allow_exec",
    "format",
    "hotband",
    "array",
    "size",
    "until_steady",
    "shuffle",
    "scale",
    "seed",
    "probe",
    "trace",
    "live",
    "on_loss",
    "lost_after",
    "share",
    "fio_json",
    "fio_json_plus",
    "fio_logs",
    "vdbench",
];

/// The same commands with their help in groups.
pub(crate) fn dressed(command: Command) -> Command {
    let mut command = dressed_part(command, "");
    // What clap adds itself is there once a command is built; the list of commands fills a screen without it.
    command.build();
    command.mut_subcommand("help", |help| help.hide(true))
}

fn dressed_part(command: Command, name: &str) -> Command {
    let rare = |arg: &Arg| {
        RARE.iter().any(|(of, ids)| (of.is_empty() || *of == name) && ids.contains(&arg.get_id().as_str()))
    };
    let command = command.mut_args(|arg| {
        let short = rare(&arg);
        let heading = GROUPS.iter().find(|(_, ids)| ids.contains(&arg.get_id().as_str()));
        let heading = heading.filter(|_| arg.get_long().is_some() && arg.get_help_heading().is_none());
        let arg = if short { arg.hide_short_help(true) } else { arg };
        // What a grid cannot do is refused with what can.
        let of_one_run = name == "grid" && foreign::OPTIONS.contains(&arg.get_id().as_str());
        let is_hidden = arg.is_hide_set() || of_one_run;
        let arg = arg.hide(is_hidden);
        match heading {
            Some((heading, _)) => arg.help_heading(*heading),
            None => arg,
        }
    });
    let command = match command.get_after_help().cloned() {
        Some(long) if command.get_after_long_help().is_none() => {
            let command = command.after_long_help(long);
            // The list of commands fills a screen already.
            if name.is_empty() {
                command.after_help("")
            } else {
                command.after_help("--help shows all options, and examples")
            }
        }
        _ => command,
    };
    command.mut_subcommands(|sub| {
        // What belongs to a command belongs to its parts.
        let name = if name.is_empty() { sub.get_name().to_owned() } else { name.to_owned() };
        dressed_part(sub, &name)
    })
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::command_line::Cli;

    #[test]
    fn the_short_help_of_every_command_fits_a_screen() {
        fn walk(command: &mut Command, long: &mut Vec<String>) {
            let help = command.render_help().to_string();
            if help.lines().count() >= 40 {
                long.push(format!("{}: {} lines", command.get_name(), help.lines().count()));
            }
            command.get_subcommands_mut().for_each(|sub| walk(sub, long));
        }
        let mut all = dressed(Cli::command()).term_width(100);
        all.build();
        let mut long = Vec::new();
        walk(&mut all, &mut long);
        assert!(long.is_empty(), "{long:?}");
    }

    #[test]
    fn options_stand_in_groups_and_nothing_is_lost_from_the_long_help() {
        let mut all = dressed(Cli::command());
        all.build();
        let run = all.find_subcommand_mut("run").expect("run");
        let long = run.render_long_help().to_string();
        for heading in
            ["What to run:", "How to run it:", "Output:", "Options of every command:", "--until-steady"]
        {
            assert!(long.contains(heading), "{heading}");
        }
    }
}
