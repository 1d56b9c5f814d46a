//! A libvirt hypervisor, through `virsh`: its storage pool, its volumes, its machines.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use super::domain;

/// Everything that is made on a hypervisor is called so, with an id behind it.
pub(super) const PREFIX: &str = "assay-vm-";
/// Hexadecimal digits of an id.
const ID_DIGITS: usize = 8;

/// What is behind the id in a name that Assay gives. An image that `assay vm build` wrote into the directory of a pool, and a machine that
/// was made of it by hand, begin as such a name does and have no id.
fn behind_id(name: &str) -> Option<&str> {
    let (id, rest) = name.strip_prefix(PREFIX)?.split_at_checked(ID_DIGITS)?;
    id.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')).then_some(rest)
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_machine(name: &str) -> bool {
    behind_id(name).and_then(|rest| rest.strip_prefix('-')).is_some_and(is_number)
}

fn is_volume(name: &str) -> bool {
    let disk = |rest: &str| {
        rest.split_once('-').is_some_and(|(machine, disk)| is_number(machine) && is_number(disk))
    };
    behind_id(name).and_then(|rest| rest.strip_prefix('-')).is_some_and(|rest| rest == IMAGE || disk(rest))
}

fn is_pool(name: &str) -> bool {
    behind_id(name) == Some("") || name == format!("{PREFIX}{REMOVING}")
}

/// The end of the name of the image's volume.
const IMAGE: &str = "image.qcow2";
/// The end of the name of the pool that leftovers are found by.
const REMOVING: &str = "remove";

/// How volumes are made.
pub(super) struct Storage {
    /// All of their space at once.
    pub(super) thick: bool,
    pub(super) bytes: u64,
}

#[derive(Debug)]
pub(super) struct Hypervisor {
    uri: String,
    /// The pool that volumes are in.
    pool: String,
    /// The directory that it was made for, by us.
    directory: Option<String>,
    /// The volume of the machines' system disk, and whether we have put it there.
    image: String,
    has_image: bool,
    has_pool: bool,
}

/// Runs virsh; what it prints, or its last words.
fn virsh(uri: &str, words: &[&str], input: Option<&str>) -> Result<String, String> {
    let mut command = Command::new("virsh");
    command.args(["-q", "-c", uri]).args(words).env("LC_ALL", "C");
    command.stdin(if input.is_some() { Stdio::piped() } else { Stdio::null() });
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = child.map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => "virsh is not installed: apt-get install libvirt-clients".to_owned(),
        _ => format!("virsh: {error}"),
    })?;
    if let (Some(text), Some(mut stdin)) = (input, child.stdin.take()) {
        // Where it does not read, it says why.
        let _ = stdin.write_all(text.as_bytes());
    }
    let output = child.wait_with_output().map_err(|error| format!("virsh: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let lines =
        said.lines().map(|line| line.trim_start_matches("error: ")).filter(|line| !line.trim().is_empty());
    Err(format!("{uri}: {}", lines.collect::<Vec<_>>().join(": ")))
}

impl Hypervisor {
    pub(super) fn new(uri: &str, pool: &str, id: &str) -> Result<Self, String> {
        if uri.starts_with('-') || uri.chars().any(char::is_control) || pool.starts_with('-') {
            return Err(format!("'{uri}' with pool '{pool}': no hypervisor of libvirt"));
        }
        let directory = pool.starts_with('/').then(|| pool.to_owned());
        let pool = directory.as_ref().map_or_else(|| pool.to_owned(), |_| format!("{PREFIX}{id}"));
        let image = format!("{PREFIX}{id}-{IMAGE}");
        Ok(Hypervisor { uri: uri.to_owned(), pool, directory, image, has_image: false, has_pool: false })
    }

    fn virsh(&self, words: &[&str]) -> Result<String, String> {
        virsh(&self.uri, words, None)
    }

    /// The host that the hypervisor is on, as ssh names it; `None`: this one.
    pub(super) fn ssh_host(&self) -> Option<String> {
        let (scheme, rest) = self.uri.split_once("://")?;
        let host = rest.split('/').next().filter(|host| !host.is_empty())?;
        scheme.ends_with("+ssh").then(|| host.to_owned())
    }

    /// Whether it says that it has KVM.
    pub(super) fn has_kvm(&self) -> bool {
        self.virsh(&["domcapabilities", "--virttype", "kvm", "--arch", "x86_64"]).is_ok()
    }

    /// Makes the pool of a directory, and puts the image into it.
    pub(super) fn begin(&mut self, image: &Path) -> Result<(), String> {
        if let Some(directory) = &self.directory {
            self.virsh(&["pool-create-as", &self.pool, "dir", "--target", directory])?;
            self.has_pool = true;
        }
        let bytes = std::fs::metadata(image).map_err(|error| format!("{}: {error}", image.display()))?.len();
        let bytes = format!("{bytes}B");
        self.virsh(&["vol-create-as", &self.pool, &self.image, &bytes, "--format", "raw"])?;
        self.has_image = true;
        let file = image.to_string_lossy();
        self.virsh(&["vol-upload", "--pool", &self.pool, &self.image, &file]).map(drop)
    }

    /// Gives back what [`Hypervisor::begin`] made.
    pub(super) fn end(&mut self) {
        if std::mem::take(&mut self.has_image) {
            self.remove_volume(&self.image);
        }
        if std::mem::take(&mut self.has_pool) {
            let _ = self.virsh(&["pool-destroy", &self.pool]);
        }
    }

    pub(super) fn image_path(&self) -> Result<String, String> {
        self.volume_path(&self.image)
    }

    pub(super) fn volume_path(&self, name: &str) -> Result<String, String> {
        self.virsh(&["vol-path", "--pool", &self.pool, name]).map(|path| path.trim().to_owned())
    }

    pub(super) fn make_volume(&self, name: &str, storage: &Storage) -> Result<(), String> {
        let bytes = format!("{}B", storage.bytes);
        let allocated = if storage.thick { bytes.as_str() } else { "0" };
        let words = ["vol-create-as", &self.pool, name, &bytes, "--allocation", allocated, "--format", "raw"];
        self.virsh(&words).map(drop)
    }

    pub(super) fn remove_volume(&self, name: &str) {
        let _ = self.virsh(&["vol-delete", "--pool", &self.pool, name]);
    }

    /// Starts a machine that is gone once it is off.
    pub(super) fn create(&self, document: &str) -> Result<(), String> {
        virsh(&self.uri, &["create", "/dev/stdin"], Some(document)).map(drop)
    }

    pub(super) fn is_running(&self, name: &str) -> bool {
        self.virsh(&["domstate", name]).is_ok_and(|state| state.trim() == "running")
    }

    pub(super) fn destroy(&self, name: &str) {
        let _ = self.virsh(&["destroy", name]);
    }

    /// The socket of a machine's port on the hypervisor's host.
    pub(super) fn socket(&self, name: &str) -> Result<String, String> {
        let document = self.virsh(&["dumpxml", name])?;
        domain::socket_of(&document).ok_or_else(|| format!("{name} has no port {}", domain::PORT))
    }
}

/// What was removed from a hypervisor.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Removed {
    /// Machines.
    pub machines: Vec<String>,
    /// Volumes.
    pub volumes: Vec<String>,
}

/// Removes everything that Assay has made on a hypervisor and that is left: machines that were kept, or those of a run that was
/// killed. `pool` is where its volumes are, a pool or a directory.
///
/// # Errors
/// What virsh says.
pub fn remove_all(uri: &str, pool: &str) -> Result<Removed, String> {
    let mut removed = Removed::default();
    let named = |text: &str, is_ours: fn(&str) -> bool| -> Vec<String> {
        let names = text.lines().filter_map(|line| line.split_whitespace().next());
        names.filter(|name| is_ours(name)).map(str::to_owned).collect()
    };
    for machine in named(&virsh(uri, &["list", "--all", "--name"], None)?, is_machine) {
        // One of such a name that was not made for a run has another title, or none.
        if virsh(uri, &["desc", "--title", &machine], None)?.trim() != domain::TITLE {
            continue;
        }
        virsh(uri, &["destroy", &machine], None)?;
        removed.machines.push(machine);
    }
    let mut pools = named(&virsh(uri, &["pool-list", "--all", "--name"], None)?, is_pool);
    let own = pools.clone();
    if !pool.starts_with('/') {
        pools.push(pool.to_owned());
    } else if own.is_empty() {
        // A killed run's pool is gone with a restart of libvirt, and its volumes are not.
        let fresh = format!("{PREFIX}{REMOVING}");
        virsh(uri, &["pool-create-as", &fresh, "dir", "--target", pool], None)?;
        pools.push(fresh);
    }
    for pool in &pools {
        for volume in named(&virsh(uri, &["vol-list", pool], None)?, is_volume) {
            virsh(uri, &["vol-delete", "--pool", pool, &volume], None)?;
            removed.volumes.push(volume);
        }
        if is_pool(pool) {
            virsh(uri, &["pool-destroy", pool], None)?;
        }
    }
    Ok(removed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_begins_as_ours_do_is_not_ours() {
        assert!(
            is_machine("assay-vm-0123abcd-1")
                && is_volume("assay-vm-0123abcd-12-3")
                && is_pool("assay-vm-0123abcd")
        );
        assert!(is_volume("assay-vm-0123abcd-image.qcow2") && is_pool("assay-vm-remove"));
        let files_of_build = ["assay-vm.qcow2", "assay-vm-data.vmdk", "assay-vm.ova"];
        let of_a_user = [
            "assay-vm-prod",
            "assay-vm-database-1",
            "assay-vm-0123abcd-prod",
            "assay-vm-0123abcd-1-",
            "assay-vm-é",
        ];
        for name in files_of_build.iter().chain(&of_a_user) {
            assert!(!is_machine(name) && !is_volume(name) && !is_pool(name), "{name}");
        }
        assert!(!is_volume("assay-vm-0123abcd-1") && !is_machine("assay-vm-0123abcd-1-1"));
    }

    #[test]
    fn a_hypervisor_of_another_host_is_reached_by_ssh() {
        let of = |uri: &str| Hypervisor::new(uri, "/pool", "1").map(|found| found.ssh_host());
        assert_eq!(of("qemu:///system"), Ok(None));
        assert_eq!(of("qemu+ssh://root@kvm2/system"), Ok(Some("root@kvm2".to_owned())));
        assert_eq!(of("qemu+unix:///system"), Ok(None));
        assert!(of("-x").is_err());
        let named = Hypervisor::new("qemu:///system", "fast", "1").expect("a pool");
        assert_eq!((named.pool.as_str(), named.directory), ("fast", None));
    }
}
