//! Consent and permission.

use std::fs::File;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use super::Refusal;
use crate::node::Node;
use crate::root::HostRoot;

/// The targets whose destruction was agreed to, each named (`--destroy-data TARGET`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Consent {
    targets: Vec<PathBuf>,
    really: bool,
}

impl Consent {
    /// Consent to nothing.
    pub fn none() -> Self {
        Self::default()
    }

    /// Consent to exactly these targets. Links are followed, so `/dev/disk/by-id/..` names the device behind
    /// it; there are no patterns, and a directory does not cover what is in it.
    pub fn naming<P: AsRef<Path>>(root: &HostRoot, targets: impl IntoIterator<Item = P>) -> Self {
        let canonical = |path: &Path| root.canonicalize(path).unwrap_or_else(|_| path.to_owned());
        Self { targets: targets.into_iter().map(|path| canonical(path.as_ref())).collect(), really: false }
    }

    /// Also to what a named device carries that can be recognised, or may carry unrecognised (`--really`). Never to a device in use.
    pub fn really(self, really: bool) -> Self {
        Self { really, ..self }
    }

    /// Whether it covers what a named device carries.
    pub fn covers_content(&self) -> bool {
        self.really
    }

    /// The targets that were named, canonical where they exist.
    pub fn targets(&self) -> &[PathBuf] {
        &self.targets
    }

    /// Whether this canonical path was named.
    pub fn names(&self, canonical: &Path) -> bool {
        self.targets.iter().any(|target| target == canonical)
    }
}

/// What a permit allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PermitKind {
    /// Making a file that does not exist yet.
    NewFile,
    /// Writing over a file that Assay made.
    OwnFile,
    /// Writing over a foreign file that was named.
    NamedFile,
    /// Writing over a device that was named.
    NamedDevice,
    /// Making files in a directory; existing files in it need permits of their own.
    IntoDirectory,
    /// Writing to a device that swallows everything.
    Discard,
    /// Reading only.
    Reading,
}

/// Permission to write to one target, as it was when it was checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Permit {
    path: PathBuf,
    kind: PermitKind,
    /// What it is; a file that is still to be made is nothing yet.
    node: Option<NodeIdentity>,
    /// The directory that a new file is to be made in: device number and inode.
    directory: Option<(u64, u64)>,
    /// Whether what a device carries was agreed to go.
    really: bool,
    /// Which disk a device is, beside its number.
    sequence: Option<u64>,
}

/// What a permit is for, whatever it is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeIdentity {
    /// A file or directory: device number and inode.
    File(u64, u64),
    /// The device that a node stands for, `MAJOR:MINOR`.
    Device(String),
}

impl NodeIdentity {
    fn of_node(node: &Node) -> Self {
        match &node.number {
            Some(number) => NodeIdentity::Device(number.clone()),
            None => NodeIdentity::File(node.identity.0, node.identity.1),
        }
    }

    fn of_open(file: &File) -> std::io::Result<Self> {
        let metadata = file.metadata()?;
        let kind = metadata.file_type();
        Ok(if kind.is_block_device() || kind.is_char_device() {
            NodeIdentity::Device(crate::node::number_text(metadata.rdev()))
        } else {
            NodeIdentity::File(metadata.dev(), metadata.ino())
        })
    }
}

impl std::fmt::Display for NodeIdentity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            NodeIdentity::File(device, inode) => {
                write!(f, "inode {inode} on {}", crate::node::number_text(*device))
            }
            NodeIdentity::Device(number) => write!(f, "device {number}"),
        }
    }
}

impl Permit {
    pub(super) fn for_node(kind: PermitKind, node: &Node) -> Self {
        let node_is = Some(NodeIdentity::of_node(node));
        Self { path: node.path.clone(), kind, node: node_is, directory: None, really: false, sequence: None }
    }

    pub(super) fn for_new_file(path: PathBuf, directory: (u64, u64)) -> Self {
        let directory = Some(directory);
        Self { path, kind: PermitKind::NewFile, node: None, directory, really: false, sequence: None }
    }

    /// Opens the directory that a new file is to be made in: the one that was checked, whatever has its name by now.
    ///
    /// # Errors
    /// [`Refusal::Changed`] when it is another one, [`Refusal::Unknown`] when it cannot be opened.
    pub fn open_directory(&self, root: &HostRoot) -> Result<File, Refusal> {
        let above = self.path.parent().unwrap_or(&self.path);
        let flags = (OFlags::DIRECTORY | OFlags::NOFOLLOW).bits() as i32;
        let opened = File::options().read(true).custom_flags(flags).open(root.locate(above));
        let opened = opened.map_err(|error| self.unknown(&error))?;
        let now = opened.metadata().map_err(|error| self.unknown(&error))?;
        let now = (now.dev(), now.ino());
        if self.directory == Some(now) {
            return Ok(opened);
        }
        let was = self.directory.map_or("not known".to_owned(), |(device, inode)| {
            format!("in the directory with {}", NodeIdentity::File(device, inode))
        });
        Err(Refusal::Changed {
            path: self.path.clone(),
            was,
            is: format!("in that with {}", NodeIdentity::File(now.0, now.1)),
        })
    }

    pub(super) fn under(self, consent: &Consent, sequence: Option<u64>) -> Self {
        Self { really: consent.really, sequence, ..self }
    }

    pub(super) fn sequence(&self) -> Option<u64> {
        self.sequence
    }

    /// The consent that it was given under.
    pub(super) fn consent(&self, root: &HostRoot) -> Consent {
        match self.kind {
            PermitKind::NamedFile | PermitKind::NamedDevice => {
                Consent::naming(root, [&self.path]).really(self.really)
            }
            _ => Consent::none(),
        }
    }

    /// The canonical path to open.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What it allows.
    pub fn kind(&self) -> PermitKind {
        self.kind
    }

    /// Whether to open with O_EXCL: a device, which the kernel then reserves for us, or a file that must be
    /// new (together with O_CREAT).
    pub fn exclusive(&self) -> bool {
        matches!(self.kind, PermitKind::NamedDevice | PermitKind::NewFile)
    }

    /// What it was given for; `None`: a file that is still to be made.
    pub fn node(&self) -> Option<&NodeIdentity> {
        self.node.as_ref()
    }

    /// The permit for the file that was made under it.
    ///
    /// # Errors
    /// [`Refusal::Changed`] when `made` is no new file, [`Refusal::Unknown`] when it cannot be examined.
    pub fn of_made(&self, made: &File) -> Result<Self, Refusal> {
        self.verify(made)?;
        let node = NodeIdentity::of_open(made).map_err(|error| self.unknown(&error))?;
        Ok(Self { node: Some(node), kind: PermitKind::OwnFile, ..self.clone() })
    }

    /// Whether an open file is what the permit was given for.
    ///
    /// # Errors
    /// [`Refusal::Changed`] when it is something else, [`Refusal::Unknown`] when it cannot be examined.
    pub fn verify(&self, file: &File) -> Result<(), Refusal> {
        let metadata = file.metadata().map_err(|error| self.unknown(&error))?;
        let now = NodeIdentity::of_open(file).map_err(|error| self.unknown(&error))?;
        let same = match &self.node {
            None => metadata.is_file() && metadata.len() == 0 && metadata.nlink() <= 1,
            Some(checked) => *checked == now,
        };
        if same { Ok(()) } else { Err(self.changed(now.to_string())) }
    }

    /// Refuses another node than the one it was given for.
    pub(super) fn is_for(&self, node: &Node) -> Result<(), Refusal> {
        let now = NodeIdentity::of_node(node);
        if self.node.as_ref() == Some(&now) { Ok(()) } else { Err(self.changed(now.to_string())) }
    }

    /// That something else is there now.
    pub(super) fn changed(&self, is: String) -> Refusal {
        let was = self.node.as_ref().map_or("not there".to_owned(), NodeIdentity::to_string);
        Refusal::Changed { path: self.path.clone(), was, is }
    }

    pub(super) fn unknown(&self, error: &std::io::Error) -> Refusal {
        Refusal::Unknown { path: self.path.clone(), reason: error.to_string() }
    }
}
