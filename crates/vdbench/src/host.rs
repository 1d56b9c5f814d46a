//! Host definitions (hd).

use super::args::Args;
use super::sink::At;

/// A machine that does I/O.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct HostDef {
    /// Label.
    pub name: String,
    /// Address or name; the label where not given.
    pub system: Option<String>,
    /// `rsh`, `ssh`, `vdbench` or a command.
    pub shell: Option<String>,
    /// Login on that machine.
    pub user: Option<String>,
    /// Processes asked for.
    pub jvms: Option<u64>,
    /// Clients on the one host: the host is cloned as `LABEL_cl0` and so on.
    pub clients: Option<u64>,
    /// Mount command.
    pub mount: Option<Vec<String>>,
    /// Where it is defined.
    pub at: At,
    /// Places of what was set.
    pub set: Vec<(&'static str, At)>,
}

impl HostDef {
    /// The address or name of the machine.
    pub fn machine(&self) -> &str {
        self.system.as_deref().unwrap_or(&self.name)
    }
}

/// Applies one parameter.
pub(crate) fn apply(host: &mut HostDef, args: &mut Args<'_>) {
    host.set.push((args.name, args.at));
    match args.name {
        "system" => host.system = Some(args.word()),
        "shell" => host.shell = Some(args.lower()),
        "user" => host.user = Some(args.word()),
        "jvms" => {
            host.jvms = args.whole(1, 1024);
            let message = "`jvms=` has no effect: one process drives all threads of a host".to_owned();
            args.note("no-effect", message, "");
        }
        "clients" => host.clients = args.whole(1, 65_536),
        "mount" => {
            host.mount = Some(args.words());
            args.lose("mount", "nothing is mounted", "mount before the run");
        }
        "master" | "vdbench" => {
            let message =
                format!("`{}=` has no effect: a worker brings its own binary and control stream", args.name);
            args.note("no-effect", message, "");
        }
        _ => {}
    }
}
