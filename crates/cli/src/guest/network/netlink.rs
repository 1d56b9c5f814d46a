//! Requests to the kernel about network cards, addresses and routes: rtnetlink(7).

use std::io;
use std::net::Ipv4Addr;
use std::os::fd::OwnedFd;

use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socket_with};

use super::dhcp::Lease;

// <linux/netlink.h>
const ERROR: u16 = 2;
const REQUEST: u16 = 0x1;
const ACK: u16 = 0x4;
const REPLACE: u16 = 0x100;
const CREATE: u16 = 0x400;
const HEADER: usize = 16;
// <linux/rtnetlink.h>, <linux/if_addr.h>
const NEW_LINK: u16 = 16;
const NEW_ADDRESS: u16 = 20;
const DELETE_ADDRESS: u16 = 21;
const NEW_ROUTE: u16 = 24;
const IFA_ADDRESS: u16 = 1;
const IFA_LOCAL: u16 = 2;
const RTA_OUTPUT: u16 = 4;
const RTA_GATEWAY: u16 = 5;
const TABLE_MAIN: u8 = 254;
const PROTOCOL_DHCP: u8 = 16;
const UNICAST: u8 = 1;
/// The gateway is reached over this card although no route says so.
const ON_LINK: u32 = 4;
// <linux/if.h>, <linux/socket.h>
const UP: u32 = 1;
const INET: u8 = 2;

/// A connection to the kernel.
#[derive(Debug)]
pub(super) struct Netlink(OwnedFd);

impl Netlink {
    pub(super) fn open() -> io::Result<Self> {
        let (family, flags) = (AddressFamily::NETLINK, SocketFlags::CLOEXEC);
        Ok(Netlink(socket_with(family, SocketType::RAW, flags, None)?))
    }

    /// Takes a card up or down; what is down has no routes.
    pub(super) fn set_up(&self, card: u32, up: bool) -> io::Result<()> {
        self.request(NEW_LINK, 0, &link(card, up))
    }

    /// Gives a card the address of a lease, and the default route.
    pub(super) fn configure(&self, card: u32, lease: &Lease) -> io::Result<()> {
        self.request(NEW_ADDRESS, CREATE | REPLACE, &address(card, lease))?;
        match lease.router {
            Some(router) => self.request(NEW_ROUTE, CREATE | REPLACE, &route(card, router, lease)),
            None => Ok(()),
        }
    }

    /// Takes the address of a lease from a card.
    pub(super) fn remove_address(&self, card: u32, lease: &Lease) -> io::Result<()> {
        self.request(DELETE_ADDRESS, 0, &address(card, lease))
    }

    fn request(&self, kind: u16, flags: u16, body: &[u8]) -> io::Result<()> {
        let mut message = Vec::with_capacity(HEADER + body.len());
        message.extend(((HEADER + body.len()) as u32).to_ne_bytes());
        message.extend(kind.to_ne_bytes());
        message.extend((flags | REQUEST | ACK).to_ne_bytes());
        // One request at a time: a number is not needed. The kernel fills the port in.
        message.extend([0; 8]);
        message.extend(body);
        send(&self.0, &message, SendFlags::empty())?;
        let mut answer = [0; 1024];
        let (length, _) = recv(&self.0, &mut answer, RecvFlags::empty())?;
        outcome(&answer[..length])
    }
}

/// What the kernel answered: 0, or a negative number of an error.
fn outcome(answer: &[u8]) -> io::Result<()> {
    let kind = answer.get(4..6).and_then(|bytes| Some(u16::from_ne_bytes(bytes.try_into().ok()?)));
    let code =
        answer.get(HEADER..HEADER + 4).and_then(|bytes| Some(i32::from_ne_bytes(bytes.try_into().ok()?)));
    match (kind, code) {
        (Some(ERROR), Some(0)) => Ok(()),
        (Some(ERROR), Some(code)) => Err(io::Error::from_raw_os_error(code.saturating_neg())),
        _ => Err(io::Error::other("the kernel's answer is none of rtnetlink")),
    }
}

/// `struct ifinfomsg`.
fn link(card: u32, up: bool) -> Vec<u8> {
    let mut body = vec![0; 4];
    body.extend(card.to_ne_bytes());
    body.extend(if up { UP } else { 0 }.to_ne_bytes());
    body.extend(UP.to_ne_bytes());
    body
}

/// `struct ifaddrmsg` with its attributes.
fn address(card: u32, lease: &Lease) -> Vec<u8> {
    let mut body = vec![INET, lease.prefix, 0, 0];
    body.extend(card.to_ne_bytes());
    attribute(&mut body, IFA_LOCAL, lease.address.octets());
    attribute(&mut body, IFA_ADDRESS, lease.address.octets());
    body
}

/// `struct rtmsg` of a default route with its attributes.
fn route(card: u32, router: Ipv4Addr, lease: &Lease) -> Vec<u8> {
    // Clouds lease single addresses, with a router outside of their network.
    let flags = if lease.has(router) { 0 } else { ON_LINK };
    let mut body = vec![INET, 0, 0, 0, TABLE_MAIN, PROTOCOL_DHCP, 0, UNICAST];
    body.extend(flags.to_ne_bytes());
    attribute(&mut body, RTA_OUTPUT, card.to_ne_bytes());
    attribute(&mut body, RTA_GATEWAY, router.octets());
    body
}

/// Attributes here are of four bytes each and need no filling.
fn attribute(body: &mut Vec<u8>, kind: u16, value: [u8; 4]) {
    body.extend(8_u16.to_ne_bytes());
    body.extend(kind.to_ne_bytes());
    body.extend(value);
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEASE: Lease = Lease {
        address: Ipv4Addr::new(10, 0, 2, 15),
        prefix: 24,
        router: None,
        server: Ipv4Addr::new(10, 0, 2, 2),
        seconds: 60,
    };

    #[test]
    #[cfg(target_endian = "little")]
    fn requests_have_the_shape_of_the_kernels_structures() {
        assert_eq!(link(2, true), [0, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0]);
        assert_eq!(link(2, false)[8..], [0, 0, 0, 0, 1, 0, 0, 0]);
        let expected = [2, 24, 0, 0, 2, 0, 0, 0, 8, 0, 2, 0, 10, 0, 2, 15, 8, 0, 1, 0, 10, 0, 2, 15];
        assert_eq!(address(2, &LEASE), expected);
        let near = route(2, Ipv4Addr::new(10, 0, 2, 2), &LEASE);
        let expected =
            [2, 0, 0, 0, 254, 16, 0, 1, 0, 0, 0, 0, 8, 0, 4, 0, 2, 0, 0, 0, 8, 0, 5, 0, 10, 0, 2, 2];
        assert_eq!(near, expected);
        assert_eq!(route(2, Ipv4Addr::new(10, 9, 0, 1), &LEASE)[8], 4, "a router outside of the network");
    }

    #[test]
    fn the_kernels_answer_is_an_error_or_none() {
        let answer = |kind: u16, code: i32| {
            let mut answer = vec![0; HEADER];
            answer[4..6].copy_from_slice(&kind.to_ne_bytes());
            answer.extend(code.to_ne_bytes());
            outcome(&answer).map_err(|error| error.raw_os_error())
        };
        assert_eq!(answer(ERROR, 0), Ok(()));
        assert_eq!(answer(ERROR, -1), Err(Some(1)));
        assert_eq!(answer(ERROR, i32::MIN), Err(Some(i32::MAX)));
        assert_eq!(answer(3, 0), Err(None));
        assert!(outcome(&[]).is_err() && outcome(&[0; 18]).is_err());
    }

    /// A real kernel takes a request apart and refuses one for a card that there is not.
    #[test]
    fn a_card_that_is_not_there_is_refused_by_the_kernel() {
        let netlink = Netlink::open().expect("a socket");
        let refused = netlink.set_up(0x7fff_0000, true).expect_err("no such card");
        // Without the right to change cards it says so first.
        assert!([Some(1), Some(19)].contains(&refused.raw_os_error()), "{refused}");
    }
}
