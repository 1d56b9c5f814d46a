//! Resource limits and privileges of this process, from `/proc/self`.

use serde::Serialize;

use crate::root::HostRoot;

/// A resource limit; `None` is unlimited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Limit {
    /// What holds now.
    pub soft: Option<u64>,
    /// How far the process may raise it.
    pub hard: Option<u64>,
}

/// Resource limits that can stop a benchmark. The outer `None` means not known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Limits {
    /// Memory that may be locked, in bytes: registered buffers count, and before Linux 5.12 the rings as
    /// well.
    pub locked_memory_bytes: Option<Limit>,
    /// Open files.
    pub open_files: Option<Limit>,
    /// Processes and threads of the user.
    pub processes: Option<Limit>,
    /// Largest file that may be written, in bytes.
    pub file_size_bytes: Option<Limit>,
}

impl Limits {
    /// Reads `/proc/self/limits`.
    pub(super) fn read(root: &HostRoot) -> Self {
        let text = root.text("/proc/self/limits").unwrap_or_default();
        let limit = |name: &str| {
            let mut words = text.lines().find_map(|line| line.strip_prefix(name))?.split_whitespace();
            let mut value = || match words.next()? {
                "unlimited" => Some(None),
                number => number.parse().ok().map(Some),
            };
            Some(Limit { soft: value()?, hard: value()? })
        };
        Self {
            locked_memory_bytes: limit("Max locked memory"),
            open_files: limit("Max open files"),
            processes: limit("Max processes"),
            file_size_bytes: limit("Max file size"),
        }
    }
}

/// What this process may do. `None` means not known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Privileges {
    /// Effective user id.
    pub effective_uid: Option<u32>,
    /// CAP_SYS_ADMIN: io_uring where it is restricted, mounting, block traces.
    pub sys_admin: Option<bool>,
    /// CAP_IPC_LOCK: locking memory beyond the limit.
    pub ipc_lock: Option<bool>,
    /// CAP_SYS_NICE: real-time priorities.
    pub sys_nice: Option<bool>,
    /// CAP_SYS_RESOURCE: raising hard limits, using reserved blocks.
    pub sys_resource: Option<bool>,
    /// CAP_DAC_OVERRIDE: opening devices whatever their permissions.
    pub dac_override: Option<bool>,
    /// Whether a seccomp filter is active, which may refuse system calls.
    pub seccomp_filter: Option<bool>,
    /// Whether the page cache of the whole machine can be dropped.
    pub drop_caches: Option<bool>,
}

impl Privileges {
    /// Reads `/proc/self/status`.
    pub(super) fn read(root: &HostRoot) -> Self {
        let status = root.text("/proc/self/status").unwrap_or_default();
        let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
        let capabilities = field("CapEff:").and_then(|hex| u64::from_str_radix(hex, 16).ok());
        // Bit numbers from include/uapi/linux/capability.h.
        let capability = |bit: u32| capabilities.map(|set| set & (1 << bit) != 0);
        let drop_caches = root.locate("/proc/sys/vm/drop_caches");
        Self {
            // Real, effective, saved, file system.
            effective_uid: field("Uid:").and_then(|ids| ids.split_whitespace().nth(1)?.parse().ok()),
            sys_admin: capability(21),
            ipc_lock: capability(14),
            sys_nice: capability(23),
            sys_resource: capability(24),
            dac_override: capability(1),
            seccomp_filter: field("Seccomp:").map(|mode| mode == "2"),
            drop_caches: drop_caches
                .exists()
                .then(|| rustix::fs::access(&drop_caches, rustix::fs::Access::WRITE_OK).is_ok()),
        }
    }
}
