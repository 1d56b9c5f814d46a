//! `assay vm`: images of virtual machines that start Assay.

use std::path::PathBuf;

use assay_vm::kubevirt::{self, Machines};
use assay_workload::units::Bytes;
use clap::{Args, Subcommand, ValueEnum};

use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::output::Outputs;

mod build;
mod packages;
mod payload;

#[derive(Debug, Args)]
pub(crate) struct VmArgs {
    #[command(subcommand)]
    action: VmAction,
}

#[derive(Debug, Subcommand)]
enum VmAction {
    /// Build an image: a Debian kernel that starts this program, with GRUB for BIOS and UEFI
    Build(BuildArgs),
    /// Write a small disk with settings for a machine that nobody sits at
    Config(ConfigArgs),
    /// Print VirtualMachine manifests of KubeVirt with the image
    Manifests(ManifestArgs),
    /// Remove machines and volumes that runs with --on vm:N have left: kept ones, or those of a killed run
    Remove(RemoveArgs),
}

#[derive(Debug, Args)]
pub(crate) struct RemoveArgs {
    /// The libvirt host
    #[arg(long, value_name = "URI", default_value = "qemu:///system")]
    connect: String,
    /// Where the volumes are: a storage pool, or a directory
    #[arg(long, value_name = "POOL|DIR", default_value = "/var/lib/libvirt/images")]
    pool: String,
}

/// A format of an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ImageFormat {
    /// For QEMU, libvirt and Proxmox (made by qemu-img)
    Qcow2,
    /// The disk byte for byte, with holes
    Raw,
    /// streamOptimized VMDK files of the system disk and of an empty data disk
    Vmdk,
    /// An OVF package for vSphere, ESXi, VirtualBox and others
    Ova,
    /// For Hyper-V (made by qemu-img)
    Vhdx,
    /// The kernel and its initial file system, for direct boot
    Kernel,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  # everything, with the shape of the published measurements
  assay vm build images
  assay vm build images --format ova --data-size 100g")]
pub(crate) struct BuildArgs {
    /// The directory to write into
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// What to write
    #[arg(long, value_enum, value_delimiter = ',', default_values = ["qcow2", "raw", "vmdk", "ova"])]
    format: Vec<ImageFormat>,
    /// The Debian packages to use, with versions and checksums [default: those that this Assay was tried with]
    #[arg(long, value_name = "FILE")]
    lock: Option<PathBuf>,
    /// Use the newest packages that apt knows, and write their versions and checksums into the file of --lock
    #[arg(long, requires = "lock")]
    update_lock: bool,
    /// Where downloaded packages are kept [default: the user's cache directory]
    #[arg(long, value_name = "DIR")]
    packages: Option<PathBuf>,
    /// The program to start [default: this one]
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
    /// Virtual CPUs, in the OVF
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=1024))]
    cpus: u32,
    /// Memory, in the OVF
    #[arg(long, value_name = "SIZE", default_value = "4g")]
    memory: Bytes,
    /// Size of the system disk; what is not used takes no space
    #[arg(long, value_name = "SIZE", default_value = "30g")]
    system_size: Bytes,
    /// Size of the empty data disk of vmdk and ova
    #[arg(long, value_name = "SIZE", default_value = "350g")]
    data_size: Bytes,
    /// More words for the kernel, as assay.run=suite
    #[arg(long, value_name = "WORDS", default_value = "")]
    append: String,
    /// Replace files that are there
    #[arg(long)]
    force: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ConfigArgs {
    /// The disk image to write
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Settings: run=suite|short, destroy=DISK, out=serial,virtio,disk,http, poweroff=yes
    #[arg(value_name = "NAME=VALUE", required = true)]
    settings: Vec<String>,
    /// Replace a file that is there
    #[arg(long)]
    force: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ManifestArgs {
    /// Container image with /boot/vmlinuz and /boot/initramfs ('assay vm build --format kernel')
    #[arg(long, value_name = "IMAGE")]
    image: String,
    /// Name of the machines
    #[arg(long, value_name = "NAME", default_value = "assay-vm")]
    name: String,
    /// Namespace
    #[arg(long, value_name = "NAME", default_value = "default")]
    namespace: String,
    /// How many machines
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=4000))]
    machines: u32,
    /// Disks of each machine that are tested
    #[arg(long, value_name = "M", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=64))]
    disks: u32,
    /// Size of each disk
    #[arg(long, value_name = "SIZE", default_value = "10g")]
    disk_size: Bytes,
    /// Virtual CPUs of each machine
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=1024))]
    cpus: u32,
    /// Memory of each machine
    #[arg(long, value_name = "SIZE", default_value = "8g")]
    memory: Bytes,
    /// Storage class of the disks [default: the cluster's]
    #[arg(long, value_name = "NAME", default_value = "")]
    storage_class: String,
    /// What the machines run: suite or short
    #[arg(long, value_name = "WHAT", default_value = "suite", value_parser = ["suite", "short"])]
    run: String,
}

pub(crate) fn vm(args: &VmArgs, context: &Context) -> Result<Outcome, Failure> {
    match &args.action {
        VmAction::Build(args) => build::build(args, context),
        VmAction::Config(args) => config(args, context),
        VmAction::Remove(args) => remove(args, context),
        VmAction::Manifests(args) => {
            context.out(&kubevirt::documents(&machines(args)?));
            Ok(Outcome::Done)
        }
    }
}

fn remove(args: &RemoveArgs, context: &Context) -> Result<Outcome, Failure> {
    let removed = assay_fleet::launch::vm::remove_all(&args.connect, &args.pool).map_err(Failure::failed)?;
    for (what, names) in [("machine", &removed.machines), ("volume", &removed.volumes)] {
        names.iter().for_each(|name| context.out(&format!("removed {what} {name}")));
    }
    if removed == assay_fleet::launch::vm::Removed::default() {
        context.out("nothing of Assay's is left there");
    }
    Ok(Outcome::Done)
}

fn config(args: &ConfigArgs, context: &Context) -> Result<Outcome, Failure> {
    crate::guest::settings::parse(args.settings.iter().map(String::as_str)).map_err(Failure::usage)?;
    let text = args.settings.iter().map(|setting| format!("{setting}\r\n")).collect::<String>();
    let file = (crate::guest::settings::FILE.to_owned(), text.as_bytes());
    let image = assay_vm::fat::image(assay_vm::fat::BYTES_MIN, assay_vm::disk::EXCHANGE, &[file]);
    let image = image.map_err(Failure::failed)?;
    Outputs::new(args.force).stream("FILE", &args.file, |out| out.write_all(&image))?;
    context.say(&format!("{}: attach it to the machine as a disk", args.file.display()));
    Ok(Outcome::Done)
}

/// Names that Kubernetes takes: RFC 1123 labels.
fn is_label(name: &str) -> bool {
    let inner = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '-';
    !name.is_empty()
        && name.len() <= 50
        && name.chars().all(inner)
        && !name.starts_with('-')
        && !name.ends_with('-')
}

fn machines(args: &ManifestArgs) -> Result<Machines, Failure> {
    for (option, name) in [("--name", &args.name), ("--namespace", &args.namespace)] {
        if !is_label(name) {
            return Err(Failure::usage(format!(
                "{option} {name}: expected lower-case letters, digits and '-', at most 50"
            )));
        }
    }
    Ok(Machines {
        name: args.name.clone(),
        namespace: args.namespace.clone(),
        number: args.machines,
        cpus: args.cpus,
        memory: args.memory.0,
        disks: args.disks,
        disk_bytes: args.disk_size.0,
        storage_class: args.storage_class.clone(),
        image: args.image.clone(),
        words: format!(
            "console=ttyS0 quiet panic=10 assay.run={} assay.out=serial assay.poweroff=yes",
            args.run
        ),
    })
}
