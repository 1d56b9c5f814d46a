//! What goes into an image: the program, the kernel's modules, what makes a file system, licences.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use assay_vm::cpio::Initramfs;
use assay_vm::elf;

use crate::failure::Failure;

/// What finds disks, networks and channels to the outside, in the order in which they are loaded. The kernel has NVMe built in. Debian's
/// kernel for clouds has no e1000 and e1000e; its other one, which a lock may name, has them.
const MODULES: &[&str] = &[
    "virtio_pci",
    "virtio_console",
    "virtio_blk",
    "virtio_scsi",
    "virtio_net",
    "e1000",
    "e1000e",
    "vmw_pvscsi",
    "vmxnet3",
    "hv_vmbus",
    "hv_storvsc",
    "hv_netvsc",
    "ata_piix",
    "BusLogic",
    "sd_mod",
];
/// Programs and libraries that mke2fs needs.
const PROGRAMS: &[(&str, &[&str])] = &[
    ("sbin", &["mke2fs"]),
    (
        "lib/x86_64-linux-gnu",
        &[
            "ld-linux-x86-64.so.2",
            "libblkid.so.1",
            "libc.so.6",
            "libcom_err.so.2",
            "libe2p.so.2",
            "libext2fs.so.2",
            "libpthread.so.0",
            "libuuid.so.1",
        ],
    ),
    ("usr/lib/x86_64-linux-gnu", &["libblkid.so.1", "libuuid.so.1"]),
];

fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    fs::read(path).map_err(|error| Failure::failed(format!("{}: {error}", path.display())))
}

/// The one entry of a directory that begins so.
pub(super) fn beginning(directory: &Path, start: &str) -> Option<PathBuf> {
    let entries = fs::read_dir(directory).ok()?;
    let mut found: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    found.sort();
    found
        .into_iter()
        .find(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(start)))
}

/// Adds the program, and the libraries that it is linked with if it is not static.
pub(super) fn add_program(files: &mut Initramfs, program: &Path, content: Vec<u8>) {
    files.file("bin/assay", content);
    files.link("init", "bin/assay");
    // A static program makes ldd fail.
    let output = Command::new("ldd").arg(program).output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    for library in text.split_whitespace().filter(|word| word.starts_with('/')) {
        if let Ok(content) = fs::read(library) {
            files.file(library, elf::stripped(&content));
        }
    }
}

/// Adds the modules; their names in the order in which they are loaded.
pub(super) fn add_modules(files: &mut Initramfs, unpacked: &Path) -> Result<Vec<String>, Failure> {
    let mut all = BTreeMap::new();
    collect_modules(&unpacked.join("lib/modules"), &mut all);
    collect_modules(&unpacked.join("usr/lib/modules"), &mut all);
    let (mut order, mut seen) = (Vec::new(), BTreeSet::new());
    for name in MODULES {
        add_module(name, &all, (&mut order, &mut seen), files)?;
    }
    Ok(order)
}

/// The kernel writes `-` and `_` alike.
fn module_name(name: &str) -> String {
    name.replace('-', "_")
}

fn collect_modules(directory: &Path, all: &mut BTreeMap<String, PathBuf>) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            collect_modules(&path, all);
        } else if let Some(name) = path.file_name().and_then(|name| name.to_str()?.strip_suffix(".ko")) {
            all.insert(module_name(name), path.clone());
        }
    }
}

/// Adds a module behind those that it needs. One that this kernel does not have as a module is built in, or for other machines.
fn add_module(
    name: &str,
    all: &BTreeMap<String, PathBuf>,
    (order, seen): (&mut Vec<String>, &mut BTreeSet<String>),
    files: &mut Initramfs,
) -> Result<(), Failure> {
    let name = module_name(name);
    let Some(path) = all.get(&name).filter(|_| seen.insert(name.clone())) else { return Ok(()) };
    let content = read(path)?;
    let needs = elf::module_needs(&content);
    let needs = needs.ok_or_else(|| Failure::failed(format!("{}: no kernel module", path.display())))?;
    for needed in needs {
        add_module(&needed, all, (order, seen), files)?;
    }
    let file = format!("{name}.ko");
    files.file(&format!("assay/modules/{file}"), content);
    order.push(file);
    Ok(())
}

/// Adds what makes a file system.
pub(super) fn add_tools(files: &mut Initramfs, unpacked: &Path) -> Result<(), Failure> {
    for (directory, names) in PROGRAMS {
        for name in *names {
            let path = unpacked.join(directory).join(name);
            if let Ok(content) = fs::read(&path) {
                files.file(&format!("{directory}/{name}"), elf::stripped(&content));
            } else if *name == "mke2fs" || *name == "libc.so.6" {
                return Err(Failure::failed(format!("{} is not in the packages", path.display())));
            }
        }
    }
    let loader = unpacked.join("lib/x86_64-linux-gnu/ld-linux-x86-64.so.2");
    files.file("lib64/ld-linux-x86-64.so.2", read(&loader)?);
    Ok(())
}

/// The licences of what is in the image, and where its source is.
pub(super) fn licences(unpacked: &Path, versions: &str) -> Vec<(String, Vec<u8>)> {
    let mut found = vec![("LICENSES/README.TXT".to_owned(), notes(versions).into_bytes())];
    for entry in fs::read_dir(unpacked.join("usr/share/doc")).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if let Ok(text) = fs::read(entry.path().join("copyright")) {
            found.push((format!("LICENSES/{name}.txt"), text));
        }
    }
    found.sort();
    found
}

fn notes(versions: &str) -> String {
    let lines = format!(
        "This disk holds:
  the Linux kernel of Debian (GPL-2.0)
  GRUB 2 (GPL-3.0-or-later)
  mke2fs and its libraries of Debian's e2fsprogs (GPL-2.0, LGPL-2.0), util-linux (LGPL-2.1), glibc (LGPL-2.1)
  Assay (Apache-2.0 or MIT), with the libraries that its own licence file names
Versions:
{versions}
Debian's source packages of these versions are at https://snapshot.debian.org; who passes this image on has to offer
the source of the programs under the GPL with it. 'assay vm build' is the recipe: the same packages and the same program
give the same bytes.
"
    );
    lines.replace('\n', "\r\n")
}
