//! The names that the page is reached by: a name that an attacker made lead to this machine is none of them.

use std::net::IpAddr;

/// What the page may be called.
#[derive(Debug, Clone)]
pub(crate) struct Hosts {
    /// Addresses that are ours; empty: any.
    pub(crate) addresses: Vec<IpAddr>,
    /// Names, in small letters.
    pub(crate) names: Vec<String>,
}

impl Hosts {
    /// Whether a `Host` header names us; its port does not matter, as tunnels have others.
    pub(crate) fn has(&self, host: &str) -> bool {
        let name = match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((address, _)) => address,
            None => host.rsplit_once(':').map_or(host, |(name, _)| name),
        };
        let name = name.to_ascii_lowercase();
        match name.parse::<IpAddr>() {
            // Nobody can make an address lead elsewhere.
            Ok(address) => self.addresses.is_empty() || self.addresses.contains(&address),
            Err(_) => self.names.contains(&name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_own_names_are_ours() {
        let hosts =
            Hosts { addresses: vec!["127.0.0.1".parse().unwrap()], names: vec!["localhost".to_owned()] };
        for host in ["127.0.0.1:8477", "127.0.0.1", "localhost:1", "LOCALHOST"] {
            assert!(hosts.has(host), "{host}");
        }
        for host in
            ["evil.example", "evil.example:8477", "127.0.0.1.evil.example", "10.0.0.1", "", ":", "[::1]:1"]
        {
            assert!(!hosts.has(host), "{host}");
        }
        let any = Hosts { addresses: Vec::new(), names: Vec::new() };
        assert!(any.has("10.0.0.1:8477") && any.has("[fe80::1]:8477") && !any.has("evil.example"));
    }
}
