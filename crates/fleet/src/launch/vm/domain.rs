//! A machine as libvirt's XML.

use std::fmt::Write as _;

/// What a machine says of itself, by which it is known when it is to be removed.
pub(super) const TITLE: &str = "Assay: made for a run, and removed with it";

/// What carries a machine's processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Accelerator {
    /// The processor's virtualisation.
    Kvm,
    /// Software: works everywhere, and measures nothing.
    Software,
}

/// A machine.
pub(super) struct Domain<'a> {
    pub(super) name: &'a str,
    pub(super) accelerator: Accelerator,
    pub(super) cpus: u32,
    /// Bytes.
    pub(super) memory: u64,
    /// Its system disk, which all machines of a hypervisor read.
    pub(super) image: String,
    /// Volumes that are tested, in the order of `/dev/vda`, `/dev/vdb`, ..
    pub(super) disks: Vec<String>,
}

/// The port that the guest looks for.
pub(super) const PORT: &str = "assay.worker";

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('\'', "&apos;")
}

/// `vda`, .. `vdz`, `vdaa`, ..
pub(super) fn device(index: usize) -> String {
    let letter = |index: usize| char::from(b'a' + (index % 26) as u8);
    match index {
        0..26 => format!("vd{}", letter(index)),
        _ => format!("vd{}{}", letter(index / 26 - 1), letter(index)),
    }
}

impl Domain<'_> {
    /// The document that `virsh create` takes.
    pub(super) fn xml(&self) -> String {
        // 'maximum' names the processor so that a guest, and with it the result, knows that it is emulated.
        let (kind, cpu) = match self.accelerator {
            Accelerator::Kvm => ("kvm", "host-passthrough"),
            Accelerator::Software => ("qemu", "maximum"),
        };
        let mut disks = String::new();
        for (index, path) in self.disks.iter().enumerate() {
            let (kind, source) = if path.starts_with("/dev/") { ("block", "dev") } else { ("file", "file") };
            let _ = writeln!(
                disks,
                "    <disk type='{kind}' device='disk'>
      <driver name='qemu' type='raw' cache='none' io='native' discard='unmap'/>
      <source {source}='{}'/>
      <target dev='{}' bus='virtio'/>
    </disk>",
                escaped(path),
                device(index)
            );
        }
        format!(
            "<domain type='{kind}'>
  <name>{name}</name>
  <title>{TITLE}</title>
  <memory unit='bytes'>{memory}</memory>
  <vcpu>{cpus}</vcpu>
  <os>
    <type arch='x86_64' machine='q35'>hvm</type>
  </os>
  <features>
    <acpi/>
  </features>
  <cpu mode='{cpu}'/>
  <on_poweroff>destroy</on_poweroff>
  <on_crash>destroy</on_crash>
  <devices>
    <controller type='scsi' model='virtio-scsi'/>
    <disk type='file' device='disk'>
      <driver name='qemu' type='qcow2'/>
      <source file='{image}'/>
      <target dev='sda' bus='scsi'/>
      <readonly/>
      <shareable/>
      <boot order='1'/>
    </disk>
{disks}    <controller type='virtio-serial'/>
    <channel type='unix'>
      <source mode='bind'/>
      <target type='virtio' name='{PORT}'/>
    </channel>
    <serial type='pty'/>
    <memballoon model='none'/>
  </devices>
</domain>
",
            name = escaped(self.name),
            memory = self.memory,
            cpus = self.cpus,
            image = escaped(&self.image),
        )
    }
}

/// The path of the socket of our port in a running machine's document.
pub(super) fn socket_of(document: &str) -> Option<String> {
    let channels = document.split("<channel ").skip(1);
    let own = channels
        .filter_map(|rest| rest.split("</channel>").next())
        .find(|channel| channel.contains(&format!("name='{PORT}'")))?;
    let path = own.split("path='").nth(1)?.split('\'').next()?;
    Some(path.replace("&apos;", "'").replace("&lt;", "<").replace("&amp;", "&"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_has_its_disks_in_order_and_a_port() {
        let domain = Domain {
            name: "assay-vm-1",
            accelerator: Accelerator::Software,
            cpus: 4,
            memory: 8 << 30,
            image: "/images/it's.qcow2".to_owned(),
            disks: vec!["/pool/a".to_owned(), "/dev/vg/b".to_owned()],
        };
        let xml = domain.xml();
        for part in [
            "<domain type='qemu'>",
            "<memory unit='bytes'>8589934592</memory>",
            "<source file='/images/it&apos;s.qcow2'/>",
            "<source file='/pool/a'/>\n      <target dev='vda' bus='virtio'/>",
            "<source dev='/dev/vg/b'/>\n      <target dev='vdb' bus='virtio'/>",
            "name='assay.worker'",
        ] {
            assert!(xml.contains(part), "{part} in {xml}");
        }
        assert_eq!([device(0), device(25), device(26), device(27)], ["vda", "vdz", "vdaa", "vdab"]);
    }

    #[test]
    fn the_socket_is_that_of_our_port() {
        let document = "<channel type='unix'>
      <source mode='bind' path='/run/other'/>
      <target type='virtio' name='org.qemu.guest_agent.0'/>
    </channel>
    <channel type='unix'>
      <source mode='bind' path='/run/a&amp;b'/>
      <target type='virtio' name='assay.worker' state='connected'/>
    </channel>";
        assert_eq!(socket_of(document).as_deref(), Some("/run/a&b"));
        assert_eq!(socket_of("<domain/>"), None);
    }
}
