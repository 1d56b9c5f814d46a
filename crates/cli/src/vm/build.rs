//! `assay vm build`.

use std::fs::{self, File};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use assay_vm::cpio::Initramfs;
use assay_vm::disk::{self, Contents, Disk, SYSTEM_PARTITION};
use assay_vm::gpt;
use assay_vm::grub;
use assay_vm::lock::Lock;
use assay_vm::ovf::{self, DiskFile};
use assay_vm::shape::Shape;
use assay_vm::suite::{self, Image};
use assay_vm::{elf, ova, vmdk};

use super::packages::{self, tool};
use super::{BuildArgs, ImageFormat, payload};
use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::guest;
use crate::output::Outputs;

/// Where Debian keeps GRUB's modules, and the packages that they are in.
const GRUB: &str = "/usr/lib/grub";
const GRUB_BIOS: &str = "grub-pc-bin";
const GRUB_EFI: &str = "grub-efi-amd64-bin";
/// The words that every image's kernel gets. A screen shows what happens, and a serial line is `/dev/console`. On a
/// busy host an emulated timer fails the kernel's test of it, which it would take for a reason to stop.
const WORDS: &str = "console=tty0 console=ttyS0,115200 quiet panic=10 no_timer_check";
/// Files are of this second where `SOURCE_DATE_EPOCH` says nothing: the first that FAT knows.
const SECONDS: u64 = 315_532_800;

/// A directory that goes with the value.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Result<Self, Failure> {
        let path = std::env::temp_dir().join(format!("assay-vm-{}", std::process::id()));
        fs::create_dir(&path).map_err(|error| Failure::failed(format!("{}: {error}", path.display())))?;
        Ok(Scratch(path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// What all formats are made of.
struct Made {
    disk: Disk,
    kernel: Vec<u8>,
    initramfs: Vec<u8>,
    suite: String,
    seconds: u64,
}

pub(super) fn build(args: &BuildArgs, context: &Context) -> Result<Outcome, Failure> {
    if !cfg!(target_arch = "x86_64") {
        return Err(Failure::usage("images are built on x86_64, for x86_64"));
    }
    let outputs = Outputs::new(args.force);
    let lock = lock(args)?;
    needs(args)?;
    fs::create_dir_all(&args.directory)
        .map_err(|error| Failure::failed(format!("{}: {error}", args.directory.display())))?;
    let scratch = Scratch::new()?;
    let kept = args.packages.clone().map_or_else(kept_packages, Ok)?;
    context.say("packages: downloading what is not there, checking all against the lock");
    let unpacked = scratch.0.join("files");
    packages::unpack(&lock, &kept, &unpacked)?;
    let made = make(args, &lock, (&scratch.0, &unpacked))?;
    context.say(&format!(
        "suite {}: {} of initial file system",
        made.suite,
        bytes(made.initramfs.len() as u64)
    ));
    let mut written = Vec::new();
    for format in &args.format {
        written.extend(write(*format, args, &made, (&outputs, &scratch.0))?);
    }
    for path in written {
        let size =
            fs::metadata(&path).map_or(0, |found| std::os::unix::fs::MetadataExt::blocks(&found) * 512);
        context.out(&format!("{}  {}", path.display(), bytes(size)));
    }
    context.out(&format!("suite {}", made.suite));
    Ok(Outcome::Done)
}

/// The packages; those that apt knows go into the file of the lock first.
fn lock(args: &BuildArgs) -> Result<Lock, Failure> {
    let Some(file) = args.lock.as_deref().filter(|_| args.update_lock) else {
        return packages::locked(args.lock.as_deref());
    };
    // A lock is there to be written anew, also one that was checked out; what is no lock takes --force.
    let is_lock = packages::locked(Some(file)).is_ok_and(|lock| !lock.package.is_empty());
    let mut outputs = Outputs::new(args.force || is_lock);
    outputs.check("--lock", Some(file))?;
    let lock = packages::newest()?;
    outputs.write("--lock", file, &lock.text())?;
    Ok(lock)
}

fn bytes(number: u64) -> String {
    assay_workload::units::Bytes(number).to_string()
}

/// What is missing of tools, all at once.
fn needs(args: &BuildArgs) -> Result<(), Failure> {
    let has = |program: &str| {
        std::env::var_os("PATH").is_some_and(|path| {
            std::env::split_paths(&path).any(|directory| directory.join(program).is_file())
        })
    };
    let converts = args.format.iter().any(|format| matches!(format, ImageFormat::Qcow2 | ImageFormat::Vhdx));
    let wanted = [
        (has("apt-get") && has("dpkg-deb"), "apt and dpkg (a Debian system)"),
        (has("grub-mkimage"), "grub-common"),
        (Path::new(GRUB).join("i386-pc/boot.img").exists(), GRUB_BIOS),
        (Path::new(GRUB).join("x86_64-efi/kernel.img").exists(), GRUB_EFI),
        (!converts || has("qemu-img"), "qemu-utils"),
    ];
    let missing: Vec<&str> = wanted.iter().filter(|(there, _)| !there).map(|(_, package)| *package).collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(Failure::usage(format!(
        "an image needs tools that are missing here: apt-get install {}",
        missing.join(" ")
    )))
}

fn kept_packages() -> Result<PathBuf, Failure> {
    let cache = std::env::var_os("XDG_CACHE_HOME").filter(|value| !value.is_empty()).map(PathBuf::from);
    let home = || std::env::var_os("HOME").map(|home| Path::new(&home).join(".cache"));
    let cache = cache.or_else(home);
    Ok(cache.ok_or_else(|| Failure::usage("nowhere to keep packages: give --packages DIR"))?.join("assay/vm"))
}

fn make(args: &BuildArgs, lock: &Lock, (scratch, unpacked): (&Path, &Path)) -> Result<Made, Failure> {
    let seconds =
        std::env::var("SOURCE_DATE_EPOCH").ok().and_then(|text| text.parse().ok()).unwrap_or(SECONDS);
    // By its name, which tells what it is linked with.
    let program = args.program.clone().map_or_else(std::env::current_exe, Ok).map_err(Failure::failed)?;
    let content = fs::read(&program);
    let content = content.map_err(|error| Failure::usage(format!("{}: {error}", program.display())))?;
    let content = elf::stripped(&content);
    let boot = unpacked.join("boot");
    let kernel = payload::beginning(&boot, "vmlinuz-").and_then(|path| fs::read(path).ok());
    let kernel = kernel.ok_or_else(|| Failure::failed("the packages of the lock have no kernel"))?;
    let mut files = Initramfs::default();
    let steps = guest::suite::text();
    // The plans of the profiles are part of the program; the steps name what is run of them.
    let parts = [("kernel", &kernel[..]), ("program", &content), ("steps", steps.as_bytes())];
    let suite = suite::id(&parts);
    let digest = ova::hex(&content);
    payload::add_tools(&mut files, unpacked)?;
    payload::add_program(&mut files, &program, content);
    let modules = payload::add_modules(&mut files, unpacked)?;
    let named = lock.package.iter().find(|package| package.name.starts_with("linux-image-"));
    let image = Image {
        suite: suite.clone(),
        kernel: named.map(|package| format!("{} {}", package.name, package.version)).unwrap_or_default(),
        program: digest,
        assay: Context::version_line(),
        disk: gpt::guid_of(&suite),
        modules,
    };
    add_system(&mut files, &image)?;
    let initramfs = assay_vm::gzip(&files.archive(seconds as u32)).map_err(Failure::failed)?;
    let (core, efi) = grub_images(scratch)?;
    let first = fs::read(Path::new(GRUB).join("i386-pc/boot.img")).map_err(Failure::failed)?;
    let versions = lock.package.iter().map(|package| format!("  {} {}\n", package.name, package.version));
    let versions: String = versions.collect();
    let contents = Contents {
        kernel: &kernel,
        initramfs: &initramfs,
        boot: &first,
        core: &core,
        efi: &efi,
        words: &[WORDS, &args.append].join(" "),
        files: &payload::licences(unpacked, &versions),
        id: &suite,
    };
    let disk = disk::bootable(args.system_size.0, &contents).map_err(Failure::usage)?;
    Ok(Made { disk, kernel, initramfs, suite, seconds })
}

/// Files and directories that the system needs, and what it says of itself.
fn add_system(files: &mut Initramfs, image: &Image) -> Result<(), Failure> {
    for directory in ["proc", "sys", "dev", "run", "tmp", "home", "data", "runs", "etc"] {
        files.directory(directory);
    }
    files.device("dev/console", 5, 1);
    let release = format!(
        "NAME=\"Assay VM\"\nPRETTY_NAME=\"Assay VM, suite {0}\"\nID=assay\nASSAY_SUITE={0}\n",
        image.suite
    );
    files.file("etc/os-release", release.into_bytes());
    files.file("etc/mtab", Vec::new());
    let said = serde_json::to_vec_pretty(image).map_err(Failure::failed)?;
    files.file(guest::IMAGE, said);
    Ok(())
}

/// GRUB's second stage for BIOS, and GRUB for UEFI.
fn grub_images(scratch: &Path) -> Result<(Vec<u8>, Vec<u8>), Failure> {
    let make = |platform: &str, more: &[&str], name: &str| {
        let path = scratch.join(name);
        let mut command = Command::new("grub-mkimage");
        command.args([
            "-O",
            platform,
            "-d",
            &format!("{GRUB}/{platform}"),
            "-p",
            &grub::prefix(SYSTEM_PARTITION),
        ]);
        command.arg("-o").arg(&path).args(grub::MODULES).args(more);
        tool("grub-common", &mut command)?;
        fs::read(&path).map_err(Failure::failed)
    };
    let core = make("i386-pc", grub::MODULES_BIOS, "core.img")?;
    Ok((core, make("x86_64-efi", grub::MODULES_EFI, "bootx64.efi")?))
}

/// Writes one format; the files.
fn write(
    format: ImageFormat,
    args: &BuildArgs,
    made: &Made,
    (outputs, scratch): (&Outputs, &Path),
) -> Result<Vec<PathBuf>, Failure> {
    let named = |end: &str| args.directory.join(format!("assay-vm{end}"));
    let data = Disk { bytes: args.data_size.0, pieces: Vec::new() };
    match format {
        ImageFormat::Raw => {
            let path = named(".raw");
            let file = outputs.begin("DIR", &path, "")?;
            let file = file.ok_or_else(|| Failure::usage("a raw image cannot go to stdout"))?;
            write_raw(&made.disk, &file).map_err(Failure::failed)?;
            Ok(vec![path])
        }
        ImageFormat::Qcow2 => converted(made, scratch, ("qcow2", &["-c"]), (outputs, named(".qcow2"))),
        ImageFormat::Vhdx => converted(made, scratch, ("vhdx", &[]), (outputs, named(".vhdx"))),
        ImageFormat::Vmdk => {
            let (system, empty) = (named(".vmdk"), named("-data.vmdk"));
            outputs.stream("DIR", &system, |out| vmdk::write(&made.disk, &made.suite, out))?;
            outputs.stream("DIR", &empty, |out| vmdk::write(&data, "data", out))?;
            Ok(vec![system, empty])
        }
        ImageFormat::Ova => {
            let path = named(".ova");
            let files = ova_files(args, made, &data)?;
            outputs.stream("DIR", &path, |out| ova::write(&files, made.seconds, out))?;
            Ok(vec![path])
        }
        ImageFormat::Kernel => {
            let (kernel, initramfs) = (named(".vmlinuz"), named(".initramfs"));
            outputs.stream("DIR", &kernel, |out| out.write_all(&made.kernel))?;
            outputs.stream("DIR", &initramfs, |out| out.write_all(&made.initramfs))?;
            Ok(vec![kernel, initramfs])
        }
    }
}

fn write_raw(disk: &Disk, file: &File) -> std::io::Result<()> {
    file.set_len(disk.bytes)?;
    disk.grains(1 << 16, |offset, grain| file.write_all_at(grain, offset))
}

/// An image in a format of qemu-img's.
fn converted(
    made: &Made,
    scratch: &Path,
    (format, more): (&str, &[&str]),
    (outputs, path): (&Outputs, PathBuf),
) -> Result<Vec<PathBuf>, Failure> {
    let (raw, other) = (scratch.join("disk.raw"), scratch.join(format!("disk.{format}")));
    let file = File::create(&raw).map_err(Failure::failed)?;
    write_raw(&made.disk, &file).map_err(Failure::failed)?;
    let mut convert = Command::new("qemu-img");
    convert.args(["convert", "-f", "raw", "-O", format]).args(more).arg(&raw).arg(&other);
    tool("qemu-utils", &mut convert)?;
    let mut from = File::open(&other).map_err(Failure::failed)?;
    outputs.stream("DIR", &path, |mut out| std::io::copy(&mut from, &mut out).map(drop))?;
    let _ = fs::remove_file(&other);
    Ok(vec![path])
}

fn ova_files(args: &BuildArgs, made: &Made, data: &Disk) -> Result<Vec<(String, Vec<u8>)>, Failure> {
    let packed = |disk: &Disk, id: &str| {
        let mut out = Vec::new();
        vmdk::write(disk, id, &mut out).map(|()| out).map_err(Failure::failed)
    };
    let disks = [
        ("assay-disk1.vmdk".to_owned(), packed(&made.disk, &made.suite)?, made.disk.bytes),
        ("assay-disk2.vmdk".to_owned(), packed(data, "data")?, data.bytes),
    ];
    let described: Vec<DiskFile> = disks
        .iter()
        .map(|(name, content, capacity)| DiskFile {
            name: name.clone(),
            bytes: content.len() as u64,
            capacity: *capacity,
        })
        .collect();
    let shape =
        Shape { cpus: args.cpus, memory: args.memory.0, system: args.system_size.0, data: args.data_size.0 };
    let descriptor = ovf::descriptor(&shape, &described, &made.suite);
    let mut files = vec![("assay.ovf".to_owned(), descriptor.into_bytes())];
    files.extend(disks.into_iter().map(|(name, content, _)| (name, content)));
    let manifest = ova::manifest(&files).into_bytes();
    files.insert(1, ("assay.mf".to_owned(), manifest));
    Ok(files)
}
