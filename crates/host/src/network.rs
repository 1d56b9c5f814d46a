//! Targets on a network: who serves them, and through which interface of this host.
//!
//! Names are not resolved: the kernel's files have addresses, and asking a name server could hang.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;

use assay_results::environment::{BlockDevice, NetworkPath};

use crate::mounts::Mount;
use crate::root::HostRoot;

/// The way to the server of a mounted file system; `None` where none is known.
pub(crate) fn of_mount(root: &HostRoot, mount: &Mount) -> Option<NetworkPath> {
    let option = |name: &str| mount.options.get(name).and_then(|value| value.as_deref());
    let host_of = |source: &str| source.rsplit('@').next().unwrap_or(source).to_owned();
    let server = match mount.fs_type.as_str() {
        "nfs" | "nfs4" | "cifs" | "smb3" => option("addr").map(str::to_owned),
        // Monitors, `10.0.0.1:6789,10.0.0.2:6789:/` or, of newer kernels, `mon_addr=10.0.0.1:6789/10.0.0.2:6789`.
        "ceph" => {
            let monitors = option("mon_addr").unwrap_or(&mount.source);
            monitors.split([',', '/']).next().and_then(without_port)
        }
        // `user@host:directory`, `host:/volume`.
        "fuse.sshfs" | "fuse.glusterfs" => mount.source.split_once(":/").map(|(host, _)| host_of(host)),
        _ => None,
    };
    server.and_then(|server| to(root, &server))
}

/// The way to the server of a block device; `None` for a device of this host.
pub(crate) fn of_device(root: &HostRoot, device: &BlockDevice) -> Option<NetworkPath> {
    let name = device.name.as_str();
    if name.starts_with("nbd") {
        return of_nbd(root, name);
    }
    if let Some(controller) = name.strip_prefix("nvme").and_then(|rest| rest.split('n').next()) {
        let address = root.text(format!("/sys/class/nvme/nvme{controller}/address"))?;
        let server = address.split(',').find_map(|part| part.strip_prefix("traddr="))?;
        return to(root, server);
    }
    // `../../../../session3/target4:0:0/4:0:0:0` for a disk behind iSCSI.
    let place = root.canonicalize(Path::new(&format!("/sys/block/{name}/device"))).ok()?;
    let parts = place.components().filter_map(|part| part.as_os_str().to_str());
    let session = parts.filter_map(|part| part.strip_prefix("session")).next()?.to_owned();
    let connection = format!("/sys/class/iscsi_connection/connection{session}:0/persistent_address");
    to(root, &root.nonempty_text(connection)?)
}

/// An NBD device by the sockets of the process that feeds it.
fn of_nbd(root: &HostRoot, name: &str) -> Option<NetworkPath> {
    let pid: u32 = root.number(format!("/sys/block/{name}/pid"))?;
    let links = root.names(format!("/proc/{pid}/fd"));
    let links =
        links.iter().filter_map(|fd| std::fs::read_link(root.locate(format!("/proc/{pid}/fd/{fd}"))).ok());
    let inodes: Vec<String> = links
        .filter_map(|link| Some(link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.to_owned()))
        .collect();
    let of_inode = |file: &str, column: usize| -> Option<String> {
        let table = root.text(file)?;
        let mut rows = table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
        let row = rows.find(|row| inodes.iter().any(|inode| row.get(column) == Some(&inode.as_str())))?;
        Some(row.get(2).copied().unwrap_or_default().to_owned())
    };
    if let Some(remote) = of_inode("/proc/net/tcp", 9).or_else(|| of_inode("/proc/net/tcp6", 9)) {
        return to(root, &hex_address(remote.split(':').next()?)?.to_string());
    }
    of_inode("/proc/net/unix", 6).map(|_| NetworkPath {
        server: "unix socket".to_owned(),
        on_this_host: Some(true),
        ..NetworkPath::default()
    })
}

/// `10.0.0.1:6789`, `[fd00::1]:6789`, or an address alone.
fn without_port(text: &str) -> Option<String> {
    match text.strip_prefix('[') {
        Some(rest) => rest.split(']').next().map(str::to_owned),
        None => text.split(':').next().map(str::to_owned),
    }
}

/// The way to a server.
fn to(root: &HostRoot, server: &str) -> Option<NetworkPath> {
    let address: IpAddr = match server.split('%').next()? {
        "localhost" => IpAddr::V4(Ipv4Addr::LOCALHOST),
        text => text.parse().ok()?,
    };
    let on_this_host = address.is_loopback() || is_own(root, address);
    let interface = if on_this_host { Some("lo".to_owned()) } else { route(root, address) };
    // -1 where the driver knows none.
    let speed = |name: &String| root.number::<i64>(format!("/sys/class/net/{name}/speed"));
    let megabits = interface.as_ref().and_then(speed).and_then(|speed| u64::try_from(speed).ok());
    Some(NetworkPath {
        server: address.to_string(),
        interface,
        bits_per_s: megabits.filter(|speed| *speed > 0).map(|speed| speed * 1_000_000),
        on_this_host: Some(on_this_host),
    })
}

/// Whether this host has the address itself.
fn is_own(root: &HostRoot, address: IpAddr) -> bool {
    match address {
        // A leaf of the trie, and below it that it is local: `|-- 10.0.0.2`, `/32 host LOCAL`.
        IpAddr::V4(_) => {
            let trie = root.text("/proc/net/fib_trie").unwrap_or_default();
            let leaf = format!("|-- {address}");
            let mut lines = trie.lines().map(str::trim);
            while let Some(line) = lines.next() {
                if line == leaf
                    && lines
                        .clone()
                        .take_while(|line| line.starts_with('/'))
                        .any(|line| line == "/32 host LOCAL")
                {
                    return true;
                }
            }
            false
        }
        IpAddr::V6(address) => {
            let own = root.text("/proc/net/if_inet6").unwrap_or_default();
            let digits: String = address.octets().iter().map(|byte| format!("{byte:02x}")).collect();
            own.lines().any(|line| line.starts_with(&digits))
        }
    }
}

/// The interface of the most specific route, by `/proc/net/route` and `/proc/net/ipv6_route`.
fn route(root: &HostRoot, address: IpAddr) -> Option<String> {
    match address {
        IpAddr::V4(address) => {
            let table = root.text("/proc/net/route")?;
            let row = |line: &str| {
                let words: Vec<&str> = line.split_whitespace().collect();
                let number = |at: usize| u32::from_str_radix(words.get(at)?, 16).ok();
                let (to, mask) = (number(1)?, number(7)?);
                let wanted = u32::from_le_bytes(address.octets());
                (wanted & mask == to).then(|| (mask.count_ones(), words[0].to_owned()))
            };
            table.lines().filter_map(row).max_by_key(|(length, _)| *length).map(|(_, name)| name)
        }
        IpAddr::V6(address) => {
            let table = root.text("/proc/net/ipv6_route")?;
            let row = |line: &str| {
                let words: Vec<&str> = line.split_whitespace().collect();
                let to = u128::from_str_radix(words.first()?, 16).ok()?;
                let length = u32::from_str_radix(words.get(1)?, 16).ok()?;
                let mask = u128::MAX.checked_shl(128 - length).unwrap_or(0);
                let name = *words.last()?;
                (u128::from(address) & mask == to && name != "lo").then(|| (length, name.to_owned()))
            };
            table.lines().filter_map(row).max_by_key(|(length, _)| *length).map(|(_, name)| name)
        }
    }
}

/// An address as `/proc/net/tcp` writes it: words of 32 bits, each in the machine's order.
fn hex_address(text: &str) -> Option<IpAddr> {
    let words: Option<Vec<u32>> = (0..text.len() / 8)
        .map(|at| u32::from_str_radix(text.get(8 * at..8 * at + 8)?, 16).ok().map(u32::swap_bytes))
        .collect();
    match words?.as_slice() {
        [word] => Some(IpAddr::V4(Ipv4Addr::from(*word))),
        [a, b, c, d] => {
            let bits = [a, b, c, d].iter().fold(0_u128, |bits, word| bits << 32 | u128::from(**word));
            let address = Ipv6Addr::from(bits);
            Some(address.to_ipv4_mapped().map_or(IpAddr::V6(address), IpAddr::V4))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::target;
    use crate::testing::FakeHost;

    const TRIE: &str = "Main:\n  +-- 0.0.0.0/0 3 0 5\nLocal:\n     |-- 10.0.5.2\n        /32 host LOCAL\n     |-- 10.0.5.255\n        /32 link BROADCAST\n";
    /// Default over eth0, 10.0.5.0/24 over eth1.
    const ROUTES: &str = "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT\n\
                          eth0\t00000000\t0100000A\t0003\t0\t0\t0\t00000000\t0\t0\t0\n\
                          eth1\t0005000A\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n";

    fn host() -> FakeHost {
        let host = FakeHost::new();
        host.write("/proc/net/fib_trie", TRIE);
        host.write("/proc/net/route", ROUTES);
        host.write("/sys/class/net/eth0/speed", "-1\n");
        host.write("/sys/class/net/eth1/speed", "25000\n");
        host
    }

    fn path_of(options: &str, kind: &str, source: &str) -> Option<NetworkPath> {
        let host = host();
        host.mkdir("/mnt/data");
        host.mounts(&[("0:50", "/", "ext4", "/dev/none", "rw"), ("0:51", "/mnt", kind, source, options)]);
        target(&host.root(), Path::new("/mnt/data")).network
    }

    #[test]
    fn file_systems_of_other_hosts_name_server_interface_and_speed() {
        let nfs = path_of("rw,vers=4.2,addr=10.0.5.9", "nfs4", "nas:/export").expect("a network");
        assert_eq!((nfs.server.as_str(), nfs.interface.as_deref()), ("10.0.5.9", Some("eth1")));
        assert_eq!((nfs.bits_per_s, nfs.on_this_host), (Some(25_000_000_000), Some(false)));
        let cifs = path_of("rw,addr=192.168.9.9", "cifs", "//filer/share").expect("a network");
        assert_eq!((cifs.interface.as_deref(), cifs.bits_per_s), (Some("eth0"), None), "no speed is known");
        let ceph = path_of("rw", "ceph", "10.0.5.9:6789,10.0.5.10:6789:/").expect("a network");
        assert_eq!(ceph.server, "10.0.5.9");
        let sshfs = path_of("rw", "fuse.sshfs", "me@10.0.5.9:/data").expect("a network");
        assert_eq!(sshfs.server, "10.0.5.9");
        assert_eq!(path_of("rw", "nfs4", "nas:/export"), None, "no address, and names are not resolved");
        assert_eq!(path_of("rw", "xfs", "/dev/sda"), None);
    }

    #[test]
    fn a_server_on_this_host_is_known_by_its_address() {
        for own in ["127.0.0.1", "10.0.5.2"] {
            let nfs = path_of(&format!("rw,addr={own}"), "nfs4", "nas:/export").expect("a network");
            assert_eq!((nfs.on_this_host, nfs.interface.as_deref()), (Some(true), Some("lo")), "{own}");
        }
        let other = path_of("rw,addr=10.0.5.255", "nfs", "nas:/export").expect("a network");
        assert_eq!(other.on_this_host, Some(false));
    }

    #[test]
    fn block_devices_behind_nbd_nvme_and_iscsi() {
        let host = host();
        host.disk("nbd0", "43:0", 2048);
        host.write("/sys/block/nbd0/pid", "77");
        host.mkdir("/proc/77/fd");
        std::os::unix::fs::symlink("socket:[4711]", host.path("/proc/77/fd/3")).expect("a link");
        host.write(
            "/proc/net/tcp",
            "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n   \
             0: 0205000A:A000 0905000A:2A2D 01 00000000:00000000 00:00000000 00000000     0        0 4711 1\n",
        );
        let path = |device: &str| target(&host.root(), &Path::new("/dev").join(device)).network;
        let nbd = path("nbd0").expect("a network");
        assert_eq!((nbd.server.as_str(), nbd.interface.as_deref()), ("10.0.5.9", Some("eth1")));
        host.disk("nvme3n1", "259:1", 2048);
        host.write("/sys/class/nvme/nvme3/address", "traddr=10.0.5.2,trsvcid=4420,src_addr=10.0.5.2");
        assert_eq!(path("nvme3n1").and_then(|path| path.on_this_host), Some(true));
        host.disk("sdq", "65:0", 2048);
        host.mkdir("/sys/devices/platform/host4/session3/target4:0:0/4:0:0:0");
        host.symlink("/sys/block/sdq/device", "/sys/devices/platform/host4/session3/target4:0:0/4:0:0:0");
        host.write("/sys/class/iscsi_connection/connection3:0/persistent_address", "10.0.5.9\n");
        assert_eq!(path("sdq").expect("a network").server, "10.0.5.9");
        host.disk("sdr", "65:16", 2048);
        assert_eq!(path("sdr"), None);
    }

    #[test]
    fn addresses_of_version_6() {
        let host = host();
        host.write("/proc/net/if_inet6", "fd000000000000000000000000000002 02 40 00 80     eth1\n");
        let none = "00000000000000000000000000000000";
        host.write(
            "/proc/net/ipv6_route",
            format!(
                "fd000000000000000000000000000000 40 {none} 00 {none} 00000100 00000001 00000000 00000001     eth1\n\
                 {none} 00 {none} 00 {none} ffffffff 00000001 00000000 00200200       lo\n"
            ),
        );
        let far = to(&host.root(), "fd00::9").expect("an address");
        assert_eq!((far.interface.as_deref(), far.on_this_host), (Some("eth1"), Some(false)));
        assert_eq!(to(&host.root(), "fd00::2").and_then(|path| path.on_this_host), Some(true));
        assert_eq!(hex_address("0000000000000000FFFF00000100007F"), Some(IpAddr::V4(Ipv4Addr::LOCALHOST)));
    }
}
