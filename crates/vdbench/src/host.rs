//! Host definitions (hd).

use super::keyword::{Definition, Keyword, inert, lost, opens, sets};
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
    /// The user to log in as.
    pub user: Option<String>,
    /// Processes asked for, which share the threads of the host.
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

impl Definition for HostDef {
    const KEYWORDS: &'static [Keyword<Self>] = &[
        opens(&["hd"]),
        sets(&["system"], "third", |host, args| host.system = args.login()),
        inert(&["master", "vdbench"], "a worker brings its own binary and control stream"),
        sets(&["shell"], "rsh", |host, args| host.shell = Some(args.lower())),
        sets(&["user"], "root", |host, args| host.user = args.login()),
        sets(&["jvms"], "2", |host, args| host.jvms = args.whole(1, 4096)),
        sets(&["clients"], "2", |host, args| host.clients = args.whole(1, 65_536)),
        lost(&["mount"], "mount", "nothing is mounted", "mount before the run"),
    ];

    fn places(&mut self) -> &mut Vec<(&'static str, At)> {
        &mut self.set
    }
}
