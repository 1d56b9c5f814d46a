//! The OVF descriptor (DSP0243 1.1, DMTF's CIM classes): what importers make a machine of.

use crate::shape::Shape;

/// A disk's file: its name, how long it is, and how large the disk is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiskFile {
    /// In the archive.
    pub name: String,
    /// Bytes of the file.
    pub bytes: u64,
    /// Bytes of the disk.
    pub capacity: u64,
}

/// Where the disks' format is described.
const STREAM_OPTIMIZED: &str = "http://www.vmware.com/interfaces/specifications/vmdk.html#streamOptimized";
const CIM: &str = "http://schemas.dmtf.org/wbem/wscim/1/cim-schema/2";

/// The descriptor of a machine of this shape, whose disks are `files` in order. `id` is the suite's.
pub fn descriptor(shape: &Shape, files: &[DiskFile], id: &str) -> String {
    let references = each(files, |number, file| {
        format!(
            "    <File ovf:href=\"{}\" ovf:id=\"file{number}\" ovf:size=\"{}\"/>\n",
            file.name, file.bytes
        )
    });
    let disks = each(files, |number, file| {
        format!(
            "    <Disk ovf:capacity=\"{}\" ovf:capacityAllocationUnits=\"byte\" ovf:diskId=\"disk{number}\" ovf:fileRef=\"file{number}\" \
             ovf:format=\"{STREAM_OPTIMIZED}\"/>\n",
            file.capacity
        )
    });
    let items = [processors(shape.cpus), memory(shape.memory >> 20), controller(), network()].concat();
    let drives = each(files, |number, _| drive(number));
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>
<Envelope xmlns=\"http://schemas.dmtf.org/ovf/envelope/1\" xmlns:ovf=\"http://schemas.dmtf.org/ovf/envelope/1\" \
xmlns:rasd=\"{CIM}/CIM_ResourceAllocationSettingData\" xmlns:vssd=\"{CIM}/CIM_VirtualSystemSettingData\">
  <References>
{references}  </References>
  <DiskSection>
    <Info>The system disk, and an empty disk that is tested</Info>
{disks}  </DiskSection>
  <NetworkSection>
    <Info>Networks</Info>
    <Network ovf:name=\"VM Network\">
      <Description>Addresses are taken by DHCP; no network is needed</Description>
    </Network>
  </NetworkSection>
  <VirtualSystem ovf:id=\"assay\">
    <Info>Assay, a storage benchmark; suite {id}</Info>
    <Name>assay</Name>
    <OperatingSystemSection ovf:id=\"101\">
      <Info>The operating system</Info>
      <Description>Linux, 64 bit</Description>
    </OperatingSystemSection>
    <VirtualHardwareSection>
      <Info>The machine of the published measurements</Info>
      <System>
        <vssd:ElementName>Virtual Hardware Family</vssd:ElementName>
        <vssd:InstanceID>0</vssd:InstanceID>
        <vssd:VirtualSystemIdentifier>assay</vssd:VirtualSystemIdentifier>
        <vssd:VirtualSystemType>vmx-13</vssd:VirtualSystemType>
      </System>
{items}{drives}    </VirtualHardwareSection>
  </VirtualSystem>
</Envelope>
"
    )
}

fn each(files: &[DiskFile], text: impl Fn(usize, &DiskFile) -> String) -> String {
    (1..).zip(files).map(|(number, file)| text(number, file)).collect()
}

/// An item: elements of CIM_ResourceAllocationSettingData in the order of the alphabet, as the schema has them.
fn item(elements: &[(&str, &str)]) -> String {
    let lines: String = elements
        .iter()
        .map(|(name, value)| format!("        <rasd:{name}>{value}</rasd:{name}>\n"))
        .collect();
    format!("      <Item>\n{lines}      </Item>\n")
}

fn processors(number: u32) -> String {
    item(&[
        ("AllocationUnits", "hertz * 10^6"),
        ("Description", "Number of virtual CPUs"),
        ("ElementName", &format!("{number} virtual CPUs")),
        ("InstanceID", "1"),
        ("ResourceType", "3"),
        ("VirtualQuantity", &number.to_string()),
    ])
}

fn memory(mebibytes: u64) -> String {
    item(&[
        ("AllocationUnits", "byte * 2^20"),
        ("Description", "Memory"),
        ("ElementName", &format!("{mebibytes} MiB of memory")),
        ("InstanceID", "2"),
        ("ResourceType", "4"),
        ("VirtualQuantity", &mebibytes.to_string()),
    ])
}

fn controller() -> String {
    item(&[
        ("Address", "0"),
        ("Description", "SCSI controller"),
        ("ElementName", "SCSI controller 0"),
        ("InstanceID", "3"),
        ("ResourceSubType", "VirtualSCSI"),
        ("ResourceType", "6"),
    ])
}

fn network() -> String {
    item(&[
        ("AddressOnParent", "7"),
        ("AutomaticAllocation", "true"),
        ("Connection", "VM Network"),
        ("Description", "VmxNet3 adapter"),
        ("ElementName", "Network adapter 1"),
        ("InstanceID", "4"),
        ("ResourceSubType", "VmxNet3"),
        ("ResourceType", "10"),
    ])
}

fn drive(number: usize) -> String {
    item(&[
        ("AddressOnParent", &(number - 1).to_string()),
        ("ElementName", &format!("Hard disk {number}")),
        ("HostResource", &format!("ovf:/disk/disk{number}")),
        ("InstanceID", &(number + 9).to_string()),
        ("Parent", "3"),
        ("ResourceType", "17"),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_descriptor_names_every_disk_and_the_shape() {
        let file = |name: &str, capacity| DiskFile { name: name.to_owned(), bytes: 10, capacity };
        let text =
            descriptor(&Shape::default(), &[file("a.vmdk", 30 << 30), file("b.vmdk", 350 << 30)], "abc");
        for part in [
            "ovf:href=\"a.vmdk\" ovf:id=\"file1\" ovf:size=\"10\"",
            "ovf:capacity=\"375809638400\" ovf:capacityAllocationUnits=\"byte\" ovf:diskId=\"disk2\" ovf:fileRef=\"file2\"",
            "<rasd:HostResource>ovf:/disk/disk2</rasd:HostResource>",
            "<rasd:VirtualQuantity>4</rasd:VirtualQuantity>",
            "<rasd:VirtualQuantity>4096</rasd:VirtualQuantity>",
            "VirtualSCSI",
            "VmxNet3",
            "suite abc",
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
    }
}
