//! Pages in a real browser: scripts of node that drive Chromium (`browser/harness.cjs`). Not a crate: a test includes it
//! as it does `skip.rs`, and `bounded.rs` and `skip.rs` beside it.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::bounded::Bounded as _;
use crate::skip;

/// Node, Chromium, and the packages that `scripts/prepare.sh test` installs.
#[derive(Debug)]
pub(crate) struct Browser {
    support: PathBuf,
    modules: PathBuf,
}

impl Browser {
    /// The browser of this machine; `None` where something of it is missing, which is declared as a skip.
    pub(crate) fn find() -> Option<Self> {
        let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let support = workspace.join("xtask/support/browser");
        let modules = std::env::var_os("ASSAY_BROWSER_MODULES")
            .map_or_else(|| workspace.join("target/browser/node_modules"), PathBuf::from);
        let node = Command::new("node").arg("--version").output_in_time();
        let reason = if !node.is_ok_and(|node| node.status.success()) {
            "no node".to_owned()
        } else if let Some(absent) =
            ["playwright-core", "axe-core"].iter().find(|name| !modules.join(name).is_dir())
        {
            format!("no {absent} in {}", modules.display())
        } else if !has_chromium() {
            "no chromium".to_owned()
        } else {
            return Some(Browser { support, modules });
        };
        skip::declare("browser", &reason);
        None
    }

    /// Runs a script with `words`. Where it fails, the test fails with what it said.
    #[track_caller]
    pub(crate) fn run(&self, script: &Path, words: &[&str]) {
        let mut command = Command::new("node");
        command.arg(script).args(words);
        command.env("NODE_PATH", &self.modules);
        command.env("ASSAY_BROWSER_HARNESS", self.support.join("harness.cjs"));
        let said = command.output_in_time().expect("node starts");
        let out = String::from_utf8_lossy(&said.stdout);
        let err = String::from_utf8_lossy(&said.stderr);
        assert!(said.status.success(), "{}:\n{out}{err}", script.display());
    }

    /// A page that needs nothing but itself (a file or an address): accessible, no wider than its window, wide and on a
    /// phone, light and dark, and without any outside request.
    #[track_caller]
    pub(crate) fn check_page(&self, what: &str, name: &str) {
        self.run(&self.support.join("page.cjs"), &[what, name]);
    }
}

fn has_chromium() -> bool {
    let paths = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
    std::env::var_os("ASSAY_CHROMIUM").is_some() || paths.iter().any(|path| Path::new(path).exists())
}
