//! Consent and permission.

use std::fs::File;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use super::Refusal;
use crate::node::Node;
use crate::root::HostRoot;

/// The targets whose destruction was agreed to, each named (`--destroy-data TARGET`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Consent {
    targets: Vec<PathBuf>,
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
        Self { targets: targets.into_iter().map(|path| canonical(path.as_ref())).collect() }
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
}

/// Permission to write to one target, as it was when it was checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Permit {
    path: PathBuf,
    kind: PermitKind,
    /// Device and inode of the node, and the number it stands for if it is a device.
    node: Option<((u64, u64), Option<String>)>,
}

impl Permit {
    pub(super) fn for_node(kind: PermitKind, node: &Node) -> Self {
        Self { path: node.path.clone(), kind, node: Some((node.identity, node.number.clone())) }
    }

    pub(super) fn for_new_file(path: PathBuf) -> Self {
        Self { path, kind: PermitKind::NewFile, node: None }
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

    /// Whether an open file is what the permit was given for.
    ///
    /// # Errors
    /// [`Refusal::Changed`] when it is something else, [`Refusal::Unknown`] when it cannot be examined.
    pub fn verify(&self, file: &File) -> Result<(), Refusal> {
        let metadata = file
            .metadata()
            .map_err(|error| Refusal::Unknown { path: self.path.clone(), reason: error.to_string() })?;
        let same = match &self.node {
            None => metadata.is_file() && metadata.len() == 0 && metadata.nlink() <= 1,
            Some((identity, number)) => {
                let kind = metadata.file_type();
                let device = kind.is_block_device() || kind.is_char_device();
                let open_number = device.then(|| crate::node::number_text(metadata.rdev()));
                *identity == (metadata.dev(), metadata.ino()) && (!device || *number == open_number)
            }
        };
        if same { Ok(()) } else { Err(Refusal::Changed { path: self.path.clone() }) }
    }
}
