//! How large a machine is.

/// Processors, memory and disks of a machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shape {
    /// Virtual processors.
    pub cpus: u32,
    /// Bytes of memory.
    pub memory: u64,
    /// Bytes of the disk that it starts from.
    pub system: u64,
    /// Bytes of the disk that is tested.
    pub data: u64,
}

/// Those of the published measurements: 4 processors, 4 GB of memory, disks of 30 and of 350 GB.
impl Default for Shape {
    fn default() -> Self {
        Shape { cpus: 4, memory: 4 << 30, system: 30 << 30, data: 350 << 30 }
    }
}
