//! Workers in virtual machines that are made for a run: `vm:3` starts three of an image of `assay vm build` under libvirt, each with
//! volumes of its own, and removes them all at the end. A worker is reached over a virtio-serial port, which is a Unix socket of the
//! hypervisor: the machines need no network. libvirt is driven through `virsh`: its library cannot be linked statically.

use std::ffi::OsString;
use std::io::{self, Read as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use assay_workload::Workload;
use assay_workload::host::Host;
use sha2::{Digest as _, Sha256};

use super::{Connection, Launcher, Place, Setting, WORKERS_MAX};

mod domain;
mod forwarded;
mod hypervisor;

pub use hypervisor::{Removed, remove_all};

use domain::{Accelerator, Domain};
use forwarded::Forwarded;
use hypervisor::{Hypervisor, Storage};

/// What a guest writes once somebody is at the other end of its port, before its worker speaks.
const READY: &[u8] = b"assay-guest-ready\n";
/// What is read of a guest before that at most.
const NOISE_MAX: usize = 64 << 10;
/// A machine that has not started with the processor's virtualisation by then is started without it.
const KVM_WITHIN: Duration = Duration::from_secs(40);
/// How often sockets and machines are looked at.
const LOOK: Duration = Duration::from_millis(100);

/// Whether machines use the processor's virtualisation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Acceleration {
    /// Where a machine really starts with it.
    #[default]
    Auto,
    /// Always.
    Kvm,
    /// Never: software emulation.
    Software,
}

/// How machines are made. The defaults are HCIBench's.
#[derive(Debug, Clone)]
pub struct Machines {
    /// The image of their system disk, a qcow2 file.
    pub image: Option<PathBuf>,
    /// Disks of each that are tested.
    pub disks: u32,
    /// Bytes of each disk.
    pub disk_bytes: u64,
    /// Whether volumes have all their space from the start.
    pub thick: bool,
    /// Virtual processors of each.
    pub cpus: u32,
    /// Bytes of memory of each.
    pub memory: u64,
    /// The hypervisors, as libvirt names them; machines are dealt out among them.
    pub connect: Vec<String>,
    /// A storage pool of theirs, or a directory.
    pub pool: String,
    /// What emulates the processor.
    pub acceleration: Acceleration,
    /// How long machines may take to start.
    pub boot: Duration,
    /// Whether they stay, and are used again by the next run that asks for the same.
    pub keep: bool,
}

impl Default for Machines {
    fn default() -> Self {
        Machines {
            image: None,
            disks: 8,
            disk_bytes: 10 << 30,
            thick: false,
            cpus: 4,
            memory: 8 << 30,
            connect: vec!["qemu:///system".to_owned()],
            pool: "/var/lib/libvirt/images".to_owned(),
            acceleration: Acceleration::Auto,
            boot: Duration::from_secs(300),
            keep: false,
        }
    }
}

/// One machine, and where it is.
#[derive(Debug)]
struct Member {
    name: String,
    hypervisor: usize,
    stream: Mutex<Option<UnixStream>>,
}

#[derive(Debug)]
struct Vms {
    hypervisors: Vec<Hypervisor>,
    members: Vec<Member>,
    machines: Machines,
    id: String,
    forwarded: Vec<Forwarded>,
    stop: Arc<AtomicBool>,
}

pub(super) fn parse(
    rest: Option<&str>,
    hosts: &[Host],
    setting: &Setting,
) -> Result<Box<dyn Launcher>, String> {
    let number = rest.ok_or("how many machines? vm:N")?;
    let number = number.parse::<usize>().ok().filter(|number| (1..=WORKERS_MAX).contains(number));
    let number = number.ok_or_else(|| {
        format!("'{}' is not a number of machines from 1 to {WORKERS_MAX}", rest.unwrap_or(""))
    })?;
    if !hosts.is_empty() {
        return Err(
            "the plan names hosts, and the machines are made for the run: leave [[host]] out".to_owned()
        );
    }
    let machines = setting.machines.clone();
    let image = machines.image.clone().ok_or(
        "which image? 'assay vm build DIR --format qcow2' makes one, and --vm-image DIR/assay-vm.qcow2 names it",
    )?;
    let mut vms = Vms::new(machines, &image, setting)?;
    vms.start_all(number, &image, &setting.ssh)?;
    Ok(Box::new(vms))
}

/// Tells the machines of one run from those of another; of machines that stay, it is made of what they are.
fn id_of(machines: &Machines, image: &[u8]) -> String {
    let mut digest = Sha256::new();
    if machines.keep {
        let Machines { disks, disk_bytes, thick, cpus, memory, connect, pool, acceleration, .. } = machines;
        let shape = (disks, disk_bytes, thick, cpus, memory, connect, pool, acceleration);
        digest.update(format!("{shape:?}"));
        digest.update(Sha256::digest(image));
    } else {
        let now = std::time::UNIX_EPOCH.elapsed().unwrap_or_default();
        digest.update(format!("{} {}", std::process::id(), now.as_nanos()));
    }
    digest.finalize().iter().take(4).map(|byte| format!("{byte:02x}")).collect()
}

impl Vms {
    fn new(machines: Machines, image: &Path, setting: &Setting) -> Result<Self, String> {
        let content = std::fs::read(image).map_err(|error| format!("{}: {error}", image.display()))?;
        if !content.starts_with(b"QFI\xfb") {
            return Err(format!("{}: not a qcow2 image", image.display()));
        }
        let id = id_of(&machines, &content);
        let hypervisor = |uri: &String| Hypervisor::new(uri, &machines.pool, &id);
        let hypervisors = machines.connect.iter().map(hypervisor).collect::<Result<_, _>>()?;
        let (members, forwarded, stop) = (Vec::new(), Vec::new(), Arc::clone(&setting.stop));
        Ok(Vms { hypervisors, members, machines, id, forwarded, stop })
    }

    fn start_all(&mut self, number: usize, image: &Path, ssh: &[OsString]) -> Result<(), String> {
        let names: Vec<String> =
            (1..=number).map(|n| format!("{}{}-{n}", hypervisor::PREFIX, self.id)).collect();
        let place = |index: usize| index % self.hypervisors.len();
        self.members = names
            .iter()
            .enumerate()
            .map(|(index, name)| Member {
                name: name.clone(),
                hypervisor: place(index),
                stream: Mutex::default(),
            })
            .collect();
        let kept = self.machines.keep
            && self.members.iter().all(|member| self.host(member).is_running(&member.name));
        if !kept {
            self.make_all(image, ssh)?;
        }
        let until = Instant::now() + self.machines.boot;
        for index in 0..self.members.len() {
            self.connect(index, ssh, until)?;
        }
        Ok(())
    }

    fn host(&self, member: &Member) -> &Hypervisor {
        &self.hypervisors[member.hypervisor]
    }

    fn check_stop(&self) -> Result<(), String> {
        if self.stop.load(Ordering::Relaxed) { Err("interrupted".to_owned()) } else { Ok(()) }
    }

    /// Makes all machines. The first one shows whether the processor's virtualisation works: that a hypervisor says so is not enough.
    fn make_all(&mut self, image: &Path, ssh: &[OsString]) -> Result<(), String> {
        let storage = Storage { thick: self.machines.thick, bytes: self.machines.disk_bytes };
        let used = self.members.len().min(self.hypervisors.len());
        for hypervisor in &mut self.hypervisors[..used] {
            hypervisor.begin(image)?;
        }
        let mut accelerators = vec![None; used];
        for index in 0..self.members.len() {
            self.check_stop()?;
            let hypervisor = self.members[index].hypervisor;
            let name = self.members[index].name.clone();
            for disk in 1..=self.machines.disks {
                self.hypervisors[hypervisor].make_volume(&format!("{name}-{disk}"), &storage)?;
            }
            accelerators[hypervisor] = match accelerators[hypervisor] {
                None => Some(self.first(index, ssh)?),
                Some(accelerator) => {
                    self.define(index, accelerator)?;
                    Some(accelerator)
                }
            };
        }
        Ok(())
    }

    /// Starts the first machine of a hypervisor; what the others are started with.
    fn first(&mut self, index: usize, ssh: &[OsString]) -> Result<Accelerator, String> {
        let name = self.members[index].name.clone();
        let says_kvm = self.host(&self.members[index]).has_kvm();
        match self.machines.acceleration {
            Acceleration::Kvm if !says_kvm => Err(format!("{name}: this hypervisor has no KVM")),
            Acceleration::Kvm => self.define(index, Accelerator::Kvm).map(|()| Accelerator::Kvm),
            Acceleration::Auto if says_kvm => {
                let (until, before) = (Instant::now() + KVM_WITHIN, self.forwarded.len());
                let tried =
                    self.define(index, Accelerator::Kvm).and_then(|()| self.connect(index, ssh, until));
                if tried.is_ok() {
                    return Ok(Accelerator::Kvm);
                }
                self.check_stop()?;
                self.host(&self.members[index]).destroy(&name);
                self.forwarded.truncate(before);
                self.define(index, Accelerator::Software).map(|()| Accelerator::Software)
            }
            _ => self.define(index, Accelerator::Software).map(|()| Accelerator::Software),
        }
    }

    fn define(&self, index: usize, accelerator: Accelerator) -> Result<(), String> {
        let member = &self.members[index];
        let host = self.host(member);
        let disks =
            (1..=self.machines.disks).map(|disk| host.volume_path(&format!("{}-{disk}", member.name)));
        let domain = Domain {
            name: &member.name,
            accelerator,
            cpus: self.machines.cpus,
            memory: self.machines.memory,
            image: host.image_path()?,
            disks: disks.collect::<Result<_, _>>()?,
        };
        host.create(&domain.xml())
    }

    /// Connects to a machine once it is up.
    fn connect(&mut self, index: usize, ssh: &[OsString], until: Instant) -> Result<(), String> {
        let slot = &self.members[index].stream;
        if slot.lock().unwrap_or_else(PoisonError::into_inner).is_some() {
            return Ok(());
        }
        let (name, hypervisor) = (self.members[index].name.clone(), self.members[index].hypervisor);
        let socket = self.hypervisors[hypervisor].socket(&name)?;
        let socket = match self.hypervisors[hypervisor].ssh_host() {
            None => socket,
            Some(host) => {
                let forwarded = Forwarded::to(&socket, &host, ssh)?;
                let local = forwarded.local().to_owned();
                self.forwarded.push(forwarded);
                local
            }
        };
        let mut why = "it did not start".to_owned();
        while Instant::now() < until {
            self.check_stop()?;
            match UnixStream::connect(&socket).and_then(|stream| await_ready(stream, until, &self.stop)) {
                Ok(stream) => {
                    *self.members[index].stream.lock().unwrap_or_else(PoisonError::into_inner) = Some(stream);
                    return Ok(());
                }
                Err(error) => why = error.to_string(),
            }
            if !self.hypervisors[hypervisor].is_running(&name) {
                return Err(format!("{name} was turned off while it started: {why}"));
            }
            std::thread::sleep(LOOK);
        }
        Err(format!("{name}: no word from its image in time: {why}"))
    }
}

/// Waits for the guest's word, and takes nothing behind it.
fn await_ready(mut stream: UnixStream, until: Instant, stop: &AtomicBool) -> io::Result<UnixStream> {
    stream.set_read_timeout(Some(LOOK))?;
    let mut seen = Vec::new();
    let mut byte = [0];
    while seen.len() < NOISE_MAX {
        match stream.read(&mut byte) {
            Ok(0) => return Err(io::Error::other("the hypervisor closed the connection")),
            Ok(_) => seen.push(byte[0]),
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {
                if Instant::now() > until || stop.load(Ordering::Relaxed) {
                    return Err(io::Error::other("the guest said nothing"));
                }
            }
            Err(error) => return Err(error),
        }
        if seen.ends_with(READY) {
            stream.set_read_timeout(None)?;
            return Ok(stream);
        }
    }
    Err(io::Error::other("another program is at the guest's port"))
}

impl Launcher for Vms {
    fn places(&self, _: &Workload) -> Vec<Place> {
        let place = |member: &Member| {
            let number = member.name.rsplit('-').next().unwrap_or_default();
            let host = Host { system: Some(member.name.clone()), ..Host::new(&format!("vm{number}")) };
            // The guest's own: it has no directories of ours.
            Place { host, directory: PathBuf::new() }
        };
        self.members.iter().map(place).collect()
    }

    fn are_machines(&self) -> bool {
        true
    }

    fn start(&self, place: &Place) -> io::Result<Connection> {
        let member = self.members.iter().find(|member| member.name == place.host.system());
        let stream =
            member.and_then(|member| member.stream.lock().unwrap_or_else(PoisonError::into_inner).take());
        Connection::of_stream(stream.ok_or(io::ErrorKind::NotConnected)?)
    }
}

impl Drop for Vms {
    fn drop(&mut self) {
        // What never became a fleet is not kept, either.
        let used = self
            .members
            .iter()
            .all(|member| member.stream.lock().unwrap_or_else(PoisonError::into_inner).is_none());
        if self.machines.keep
            && used
            && self.members.iter().all(|member| self.host(member).is_running(&member.name))
        {
            return;
        }
        for member in &self.members {
            let host = self.host(member);
            host.destroy(&member.name);
            for disk in 1..=self.machines.disks {
                host.remove_volume(&format!("{}-{disk}", member.name));
            }
        }
        self.hypervisors.iter_mut().for_each(Hypervisor::end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machines_of_one_image_have_names_of_their_own() {
        let member = |number: usize| Member {
            name: format!("{}0011aabb-{number}", hypervisor::PREFIX),
            hypervisor: 0,
            stream: Mutex::default(),
        };
        // It is not dropped: there is no hypervisor to remove its machines from.
        let vms = std::mem::ManuallyDrop::new(Vms {
            hypervisors: Vec::new(),
            members: vec![member(1), member(2)],
            machines: Machines::default(),
            id: "0011aabb".to_owned(),
            forwarded: Vec::new(),
            stop: Arc::default(),
        });
        let names: Vec<String> =
            vms.places(&Workload::default()).into_iter().map(|place| place.host.name).collect();
        assert_eq!(names, ["vm1", "vm2"]);
        assert!(vms.are_machines());
    }
}
