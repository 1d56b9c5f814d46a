//! Which engines can be expected to work here, and what stands in the way of the others.

use serde::Serialize;

use super::limits::{Limits, Privileges};
use crate::root::HostRoot;

/// Locked memory below which io_uring of Linux before 5.12 soon fails: one ring of 4096 entries takes about
/// this.
const RING_MEMORY_BYTES: u64 = 512 * 1024;
/// Free asynchronous requests below which libaio soon fails: a few jobs of a few hundred outstanding I/Os.
const FEW_AIO_REQUESTS: u64 = 4096;

/// Kernel settings that decide about engines. `None` means not known or not in this kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KernelSettings {
    /// `kernel.io_uring_disabled` (6.6 and later): 0 open to all, 1 only to the privileged, 2 off.
    pub io_uring_disabled: Option<u64>,
    /// `kernel.io_uring_group`: members may use io_uring at level 1; -1 is nobody.
    pub io_uring_group: Option<i64>,
    /// `fs.aio-max-nr`: asynchronous requests of all processes together.
    pub aio_max: Option<u64>,
    /// `fs.aio-nr`: of them, those reserved now.
    pub aio_used: Option<u64>,
}

impl KernelSettings {
    pub(super) fn read(root: &HostRoot) -> Self {
        Self {
            io_uring_disabled: root.number("/proc/sys/kernel/io_uring_disabled"),
            io_uring_group: root.number("/proc/sys/kernel/io_uring_group"),
            aio_max: root.number("/proc/sys/fs/aio-max-nr"),
            aio_used: root.number("/proc/sys/fs/aio-nr"),
        }
    }
}

/// Whether an engine can be expected to work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum Offer {
    /// Nothing is known to stand in the way.
    Usable,
    /// It works, or may work, with a restriction.
    Limited {
        /// One clause.
        reason: String,
        /// What to do about it, where something can be done.
        advice: Option<String>,
    },
    /// It will be refused.
    Unusable {
        /// One clause.
        reason: String,
        /// What to do about it.
        advice: Option<String>,
    },
}

/// An engine by its name on the command line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EngineOffer {
    /// As in `--engine`.
    pub engine: String,
    /// What can be expected of it.
    pub offer: Offer,
}

fn limited(reason: String, advice: &str) -> Offer {
    Offer::Limited { reason, advice: Some(advice.to_owned()) }
}

fn unusable(reason: String, advice: &str) -> Offer {
    Offer::Unusable { reason, advice: Some(advice.to_owned()) }
}

pub(super) fn offers(
    kernel_release: Option<&str>,
    settings: &KernelSettings,
    privileges: &Privileges,
    limits: &Limits,
    fio: Option<String>,
) -> Vec<EngineOffer> {
    let version = kernel_release.and_then(kernel_version);
    let fio = match fio {
        Some(_) => Offer::Usable,
        None => unusable("fio is not on the search path".to_owned(), "install fio"),
    };
    let posix_aio = Offer::Limited {
        reason: "glibc sends the requests of one file through one thread".to_owned(),
        advice: None,
    };
    [
        ("io_uring", io_uring(version, settings, privileges, limits)),
        ("libaio", libaio(settings)),
        ("psync", Offer::Usable),
        ("posix-aio", posix_aio),
        ("fio", fio),
        ("null", Offer::Usable),
        ("sim", Offer::Usable),
    ]
    .into_iter()
    .map(|(engine, offer)| EngineOffer { engine: engine.to_owned(), offer })
    .collect()
}

fn io_uring(
    version: Option<(u32, u32)>,
    settings: &KernelSettings,
    privileges: &Privileges,
    limits: &Limits,
) -> Offer {
    if let Some((major, minor)) = version.filter(|&version| version < (5, 1)) {
        return unusable(format!("Linux {major}.{minor} is older than 5.1"), "use --engine libaio");
    }
    match settings.io_uring_disabled {
        Some(2) => {
            let reason = "kernel.io_uring_disabled is 2".to_owned();
            return unusable(reason, "sysctl kernel.io_uring_disabled=0");
        }
        Some(1) if privileges.sys_admin != Some(true) => {
            let reason = "kernel.io_uring_disabled is 1 and this process lacks CAP_SYS_ADMIN".to_owned();
            let advice =
                "run as root, join the group kernel.io_uring_group, or sysctl kernel.io_uring_disabled=0";
            // A member of the group may; groups are not looked up here.
            return if settings.io_uring_group.is_some_and(|group| group >= 0) {
                limited(reason, advice)
            } else {
                unusable(reason, advice)
            };
        }
        _ => {}
    }
    if privileges.seccomp_filter == Some(true) {
        let reason =
            "a seccomp filter is active, and those of most container runtimes refuse io_uring".to_owned();
        return limited(reason, "use a seccomp profile that allows io_uring, or --engine libaio");
    }
    let Some((major, minor)) = version else { return Offer::Usable };
    if (major, minor) < (5, 6) {
        let reason = format!("Linux {major}.{minor} lacks plain read and write operations (5.6)");
        return limited(reason, "use a newer kernel, or --engine libaio");
    }
    let locked = limits.locked_memory_bytes.and_then(|limit| limit.soft);
    if let Some(bytes) = locked
        && (major, minor) < (5, 12)
        && bytes < RING_MEMORY_BYTES
        && privileges.ipc_lock != Some(true)
    {
        let reason = format!("rings count as locked memory before 5.12, and {bytes} bytes may be locked");
        return limited(reason, "ulimit -l unlimited");
    }
    Offer::Usable
}

fn libaio(settings: &KernelSettings) -> Offer {
    let Some(max) = settings.aio_max else {
        let reason = "this kernel has no asynchronous I/O (no fs.aio-max-nr)".to_owned();
        return unusable(reason, "use --engine io_uring or psync");
    };
    let free = max.saturating_sub(settings.aio_used.unwrap_or(0));
    if free < FEW_AIO_REQUESTS {
        let reason =
            format!("only {free} of {max} asynchronous requests are free (fs.aio-nr, fs.aio-max-nr)");
        return limited(reason, "sysctl fs.aio-max-nr=1048576");
    }
    Offer::Usable
}

/// `6.18.44-something` as (6, 18).
fn kernel_version(release: &str) -> Option<(u32, u32)> {
    let mut parts = release.split(|c: char| !c.is_ascii_digit());
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}
