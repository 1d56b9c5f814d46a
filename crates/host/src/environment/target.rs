//! One target: its node, its file system, the devices below.

use std::fs::File;
use std::path::{Path, PathBuf};

use assay_results::environment::{ExtentSummary, FileSystem, TargetEnvironment, TargetKind};
use rustix::fs::{AtFlags, CWD, StatxAttributes, StatxFlags};

use crate::devices::{Chain, SECTOR_BYTES, name_of_number};
use crate::extents::{self, UnwrittenExtents};
use crate::mounts::{Mount, MountTable};
use crate::node::{Node, NodeKind};
use crate::root::HostRoot;

/// Runs of data after which counting the extents of a file is given up: the map of a badly fragmented file is
/// not worth seconds of lseek.
const MAX_DATA_RUNS: u64 = 20_000;

pub(super) fn describe(
    root: &HostRoot,
    mounts: &MountTable,
    path: &Path,
    unwritten: &dyn UnwrittenExtents,
) -> TargetEnvironment {
    let absolute = absolute(path);
    let mut target =
        TargetEnvironment { path: path.to_string_lossy().into_owned(), ..TargetEnvironment::default() };
    let node = Node::look_up(root, &absolute).ok().flatten();
    if let Some(node) = &node {
        target.canonical_path = Some(node.path.to_string_lossy().into_owned());
        target.kind = kind(node.kind);
    }
    let mut chain = Chain::new(root, mounts);
    match &node {
        Some(Node { kind: NodeKind::Block, number: Some(number), .. }) => {
            match name_of_number(root, number) {
                Some(name) => {
                    target.size_bytes = root
                        .number(format!("/sys/class/block/{name}/size"))
                        .map(|sectors: u64| sectors * SECTOR_BYTES);
                    chain.follow_device(&name);
                }
                None => chain.fail(format!("the kernel has no block device {number}")),
            }
        }
        _ => {
            let place =
                node.as_ref().map(|node| node.path.clone()).or_else(|| existing_parent(root, &absolute));
            let mount = place.as_deref().and_then(|place| mount_of(root, mounts, place));
            if let (Some(place), Some(mount)) = (&place, mount) {
                target.file_system = Some(file_system(root, mount, place));
                chain.follow_mount(mount);
                target.network = crate::network::of_mount(root, mount);
            } else {
                chain.fail("no mount holds the path".to_owned());
            }
        }
    }
    if let Some(node) = node.filter(|node| node.kind == NodeKind::File) {
        target.size_bytes = Some(node.len_bytes);
        target.extents =
            root.open(&node.path).ok().and_then(|file| extents_of(&file, &[(0, node.len_bytes)], unwritten));
    }
    (target.devices, target.resolution) = chain.finish();
    if target.network.is_none() {
        let network = target.bottom_devices().find_map(|device| crate::network::of_device(root, device));
        target.network = network;
    }
    target
}

/// What holds data in these ranges of a file: offset and length of each.
pub(super) fn extents_within(
    root: &HostRoot,
    path: &Path,
    ranges: &[(u64, u64)],
    unwritten: &dyn UnwrittenExtents,
) -> Option<ExtentSummary> {
    extents_of(&root.open(absolute(path)).ok()?, ranges, unwritten)
}

fn extents_of(file: &File, ranges: &[(u64, u64)], unwritten: &dyn UnwrittenExtents) -> Option<ExtentSummary> {
    let mut sum: Option<ExtentSummary> = None;
    for (offset, length) in ranges {
        let mut found = extents::summary_limited(file, *offset, *length, MAX_DATA_RUNS).ok()??;
        found.unwritten_bytes = unwritten.unwritten_bytes(file, *offset, *length).unwrap_or(None);
        sum = Some(match sum {
            None => found,
            Some(sum) => ExtentSummary {
                examined_bytes: sum.examined_bytes + found.examined_bytes,
                data_bytes: sum.data_bytes + found.data_bytes,
                hole_bytes: sum.hole_bytes + found.hole_bytes,
                data_runs: sum.data_runs + found.data_runs,
                unwritten_bytes: sum.unwritten_bytes.zip(found.unwritten_bytes).map(|(a, b)| a + b),
            },
        });
    }
    sum
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

fn kind(kind: NodeKind) -> TargetKind {
    match kind {
        NodeKind::File => TargetKind::File,
        NodeKind::Directory => TargetKind::Directory,
        NodeKind::Block => TargetKind::BlockDevice,
        NodeKind::Char => TargetKind::CharDevice,
        NodeKind::Socket | NodeKind::Fifo | NodeKind::Other => TargetKind::Other,
    }
}

/// The nearest directory above a path that exists, canonical.
fn existing_parent(root: &HostRoot, path: &Path) -> Option<PathBuf> {
    path.ancestors().skip(1).find_map(|parent| root.canonicalize(parent).ok())
}

fn mount_of<'t>(root: &HostRoot, mounts: &'t MountTable, path: &Path) -> Option<&'t Mount> {
    crate::devices::mount_of(root, mounts, path)
}

pub(crate) fn file_system(root: &HostRoot, mount: &Mount, place: &Path) -> FileSystem {
    let located = root.locate(place);
    let space = crate::space::of(&located).ok();
    let stat =
        rustix::fs::statx(CWD, &located, AtFlags::empty(), StatxFlags::BASIC_STATS | StatxFlags::DIOALIGN)
            .ok();
    let aligned = stat
        .filter(|stat| root.is_real() && stat.stx_mask & StatxFlags::DIOALIGN.bits() != 0)
        .map(|stat| (u64::from(stat.stx_dio_offset_align), u64::from(stat.stx_dio_mem_align)));
    let compressed_by_attribute = stat
        .filter(|stat| root.is_real() && stat.stx_attributes_mask.contains(StatxAttributes::COMPRESSED))
        .map(|stat| stat.stx_attributes.contains(StatxAttributes::COMPRESSED));
    FileSystem {
        total_bytes: space.map(|space| space.total_bytes),
        available_bytes: space.map(|space| space.available_bytes),
        block_bytes: space.map(|space| space.block_bytes),
        direct_io_offset_align_bytes: aligned.map(|(offset, _)| offset),
        direct_io_memory_align_bytes: aligned.map(|(_, memory)| memory),
        compresses: compresses(mount, compressed_by_attribute),
        ..mount_facts(mount)
    }
}

/// What the mount table alone tells; asking the file system itself can hang on a server that is gone.
pub(crate) fn mount_facts(mount: &Mount) -> FileSystem {
    let upper = mount.options.get("upperdir").and_then(Clone::clone);
    FileSystem {
        fs_type: mount.fs_type.clone(),
        source: mount.source.clone(),
        mount_point: mount.mount_point.to_string_lossy().into_owned(),
        mount_root: mount.root.clone(),
        options: mount.options.clone(),
        compresses: compresses(mount, None),
        overlay_upper_dir: upper.filter(|_| mount.fs_type == "overlay"),
        ..FileSystem::default()
    }
}

/// Whether what is written to a target gets compressed by its file system.
fn compresses(mount: &Mount, by_attribute: Option<bool>) -> Option<bool> {
    let option = |name: &str| mount.options.get(name).map(|value| value.as_deref().unwrap_or(""));
    match mount.fs_type.as_str() {
        "btrfs" => match option("compress-force").or(option("compress")) {
            Some("no" | "none") | None => Some(by_attribute.unwrap_or(false)),
            Some(_) => Some(true),
        },
        "bcachefs" => Some(option("compression").is_some_and(|value| value != "none")),
        "f2fs" => by_attribute,
        "ext2" | "ext3" | "ext4" | "xfs" | "tmpfs" | "jfs" | "vfat" | "exfat" => Some(false),
        _ => None,
    }
}
