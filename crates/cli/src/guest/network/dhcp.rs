//! DHCP messages of a client (RFC 2131, RFC 2132): what is sent, and what a server's answer says. What arrives is whatever anyone on
//! the network sends, so nothing of it is believed before it was looked at.

use std::net::Ipv4Addr;

/// Where servers listen.
pub(super) const SERVER_PORT: u16 = 67;
/// Where clients listen.
pub(super) const CLIENT_PORT: u16 = 68;
/// A message is not larger: what an Ethernet frame holds.
pub(super) const BYTES_MAX: usize = 1472;
/// Relays drop what is smaller than a message of BOOTP.
const BYTES_MIN: usize = 300;
/// The fixed fields end here, with the cookie behind them.
const FIELDS: usize = 236;
const COOKIE: [u8; 4] = [99, 130, 83, 99];
/// Where the server's name and the boot file's are: options may go on there.
const SERVER_NAME: std::ops::Range<usize> = 44..108;
const FILE_NAME: std::ops::Range<usize> = 108..236;
/// Ethernet, with addresses of six bytes.
const ETHERNET: u8 = 1;
const ADDRESS_BYTES: u8 = 6;
const HOST_NAME: &[u8] = b"assay-vm";

/// Codes of options.
mod code {
    pub(super) const PAD: u8 = 0;
    pub(super) const MASK: u8 = 1;
    pub(super) const ROUTER: u8 = 3;
    pub(super) const HOST_NAME: u8 = 12;
    pub(super) const REQUESTED_ADDRESS: u8 = 50;
    pub(super) const LEASE_TIME: u8 = 51;
    pub(super) const OVERLOAD: u8 = 52;
    pub(super) const KIND: u8 = 53;
    pub(super) const SERVER: u8 = 54;
    pub(super) const PARAMETERS: u8 = 55;
    pub(super) const SIZE_MAX: u8 = 57;
    pub(super) const CLIENT: u8 = 61;
    pub(super) const END: u8 = 255;
}

/// What a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Discover = 1,
    Offer = 2,
    Request = 3,
    Ack = 5,
    Nak = 6,
    Release = 7,
}

impl Kind {
    fn of_server(code: u8) -> Option<Self> {
        [Kind::Offer, Kind::Ack, Kind::Nak].into_iter().find(|kind| *kind as u8 == code)
    }
}

/// An address that a server lends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Lease {
    pub(super) address: Ipv4Addr,
    /// Bits of the mask: 1 to 32.
    pub(super) prefix: u8,
    pub(super) router: Option<Ipv4Addr>,
    pub(super) server: Ipv4Addr,
    /// `u32::MAX`: for ever.
    pub(super) seconds: u32,
}

impl Lease {
    /// Whether an address is in the network of the lease, so that it is reached without a router.
    pub(super) fn has(&self, other: Ipv4Addr) -> bool {
        let shift = 32 - u32::from(self.prefix);
        self.address.to_bits() >> shift == other.to_bits() >> shift
    }
}

/// What a server says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answer {
    Offer(Lease),
    Ack(Lease),
    /// The address is no longer to be had.
    Nak,
}

/// Who asks: the card's address, and the number of this conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Client {
    pub(super) mac: [u8; 6],
    pub(super) transaction: u32,
}

impl Client {
    /// Looks for servers.
    pub(super) fn discover(&self, seconds: u16) -> Vec<u8> {
        self.message(Kind::Discover, seconds, None, &[])
    }

    /// Takes an offer.
    pub(super) fn request(&self, seconds: u16, offer: &Lease) -> Vec<u8> {
        let server = (code::SERVER, offer.server.octets());
        self.message(
            Kind::Request,
            seconds,
            None,
            &[(code::REQUESTED_ADDRESS, offer.address.octets()), server],
        )
    }

    /// Asks for more time, with the address in use.
    pub(super) fn renew(&self, seconds: u16, lease: &Lease) -> Vec<u8> {
        self.message(Kind::Request, seconds, Some(lease.address), &[])
    }

    /// Gives the address back.
    pub(super) fn release(&self, lease: &Lease) -> Vec<u8> {
        self.message(Kind::Release, 0, Some(lease.address), &[(code::SERVER, lease.server.octets())])
    }

    /// `own` is the address that the client has already; one that has none is answered by broadcast.
    fn message(&self, kind: Kind, seconds: u16, own: Option<Ipv4Addr>, more: &[(u8, [u8; 4])]) -> Vec<u8> {
        let broadcast: u16 = if own.is_none() { 0x8000 } else { 0 };
        let mut message = vec![1, ETHERNET, ADDRESS_BYTES, 0];
        message.extend(self.transaction.to_be_bytes());
        message.extend(seconds.to_be_bytes());
        message.extend(broadcast.to_be_bytes());
        message.extend(own.unwrap_or(Ipv4Addr::UNSPECIFIED).octets());
        // The client's address to be, the boot server's and the relay's are the server's to fill in.
        message.extend([0; 12]);
        message.extend(self.mac);
        message.resize(FIELDS, 0);
        message.extend(COOKIE);
        let mut option = |code: u8, value: &[u8]| {
            message.extend([code, value.len() as u8]);
            message.extend(value);
        };
        option(code::KIND, &[kind as u8]);
        option(code::CLIENT, &[&[ETHERNET][..], &self.mac].concat());
        more.iter().for_each(|(code, value)| option(*code, value));
        if kind != Kind::Release {
            option(code::HOST_NAME, HOST_NAME);
            option(code::SIZE_MAX, &1500_u16.to_be_bytes());
            option(code::PARAMETERS, &[code::MASK, code::ROUTER, code::LEASE_TIME, code::SERVER]);
        }
        message.push(code::END);
        message.resize(message.len().max(BYTES_MIN), code::PAD);
        message
    }

    /// What a message says to this client; `None`: it is for another, or is no answer that can be used.
    pub(super) fn answer(&self, message: &[u8]) -> Option<Answer> {
        let fields = message.get(..FIELDS)?;
        let of_server = fields[..3] == [2, ETHERNET, ADDRESS_BYTES];
        let to_us = fields[4..8] == self.transaction.to_be_bytes() && fields[28..34] == self.mac;
        let options = message.get(FIELDS..)?.strip_prefix(&COOKIE)?;
        if !of_server || !to_us {
            return None;
        }
        let mut found = Options::default();
        found.read(options);
        let overload = found.overload;
        if overload & 1 != 0 {
            found.read(&fields[FILE_NAME]);
        }
        if overload & 2 != 0 {
            found.read(&fields[SERVER_NAME]);
        }
        let lease = || {
            let address = four(fields, 16).filter(|address| is_of_a_host(*address))?;
            Some(Lease {
                address,
                prefix: found.mask.and_then(prefix)?,
                router: found.router.filter(|router| is_of_a_host(*router) && *router != address),
                server: found.server.filter(|server| is_of_a_host(*server))?,
                seconds: found.seconds.filter(|seconds| *seconds > 0)?,
            })
        };
        match Kind::of_server(found.kind?)? {
            Kind::Offer => lease().map(Answer::Offer),
            Kind::Ack => lease().map(Answer::Ack),
            _ => Some(Answer::Nak),
        }
    }
}

/// The options that mean something here.
#[derive(Debug, Default)]
struct Options {
    kind: Option<u8>,
    overload: u8,
    mask: Option<Ipv4Addr>,
    router: Option<Ipv4Addr>,
    server: Option<Ipv4Addr>,
    seconds: Option<u32>,
}

impl Options {
    /// Reads options to their end, or to where they are no options any more.
    fn read(&mut self, mut rest: &[u8]) {
        while let [code, after @ ..] = rest {
            rest = after;
            match *code {
                code::PAD => continue,
                code::END => return,
                _ => {}
            }
            let [length, after @ ..] = rest else { return };
            let Some((value, after)) = after.split_at_checked(usize::from(*length)) else { return };
            rest = after;
            match *code {
                code::KIND => self.kind = value.first().copied(),
                code::OVERLOAD => self.overload = value.first().copied().unwrap_or(0),
                code::MASK => self.mask = four(value, 0),
                // The first of several is the preferred one.
                code::ROUTER => self.router = four(value, 0),
                code::SERVER => self.server = four(value, 0),
                code::LEASE_TIME => self.seconds = four(value, 0).map(Ipv4Addr::to_bits),
                _ => {}
            }
        }
    }
}

/// Four bytes from `at` on.
fn four(bytes: &[u8], at: usize) -> Option<Ipv4Addr> {
    let bytes: [u8; 4] = bytes.get(at..at + 4)?.try_into().ok()?;
    Some(Ipv4Addr::from(bytes))
}

/// The bits of a mask; `None`: they have gaps, or there are none.
fn prefix(mask: Ipv4Addr) -> Option<u8> {
    let bits = mask.to_bits();
    let ones = bits.leading_ones();
    (ones > 0 && ones == bits.count_ones()).then_some(ones as u8)
}

/// Whether an address can be that of one machine, and not of this one's inside.
fn is_of_a_host(address: Ipv4Addr) -> bool {
    let others = address.is_loopback() || address.is_multicast() || address.is_broadcast();
    // 240.0.0.0/4 is reserved, 0.0.0.0/8 is "this network".
    !others && address.octets()[0] != 0 && address.octets()[0] < 240
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;

    use super::*;

    pub(crate) const CLIENT: Client =
        Client { mac: [0x52, 0x54, 0, 0x12, 0x34, 0x56], transaction: 0x1234_5678 };

    /// A server's answer, with these options and nothing else.
    pub(crate) fn answer_of(client: &Client, address: Ipv4Addr, options: &[u8]) -> Vec<u8> {
        let mut message = client.discover(0);
        message[0] = 2;
        message[16..20].copy_from_slice(&address.octets());
        message.truncate(FIELDS + COOKIE.len());
        message.extend(options);
        message
    }

    /// The options of an answer of this kind.
    pub(crate) fn options(kind: u8) -> Vec<u8> {
        let mut options = vec![53, 1, kind, 0, 1, 4, 255, 255, 255, 0, 3, 8, 10, 0, 2, 2, 10, 0, 2, 3];
        options.extend([51, 4, 0, 1, 0x51, 0x80, 54, 4, 10, 0, 2, 2, 255]);
        options
    }

    const ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 0, 2, 15);
    const LEASE: Lease = Lease {
        address: ADDRESS,
        prefix: 24,
        router: Some(Ipv4Addr::new(10, 0, 2, 2)),
        server: Ipv4Addr::new(10, 0, 2, 2),
        seconds: 86_400,
    };

    /// The value of an option of a message that this module made.
    fn option(message: &[u8], wanted: u8) -> Option<Vec<u8>> {
        let mut rest = &message[FIELDS + COOKIE.len()..];
        while let [code, length, after @ ..] = rest
            && *code != code::END
        {
            let (value, after) = after.split_at(usize::from(*length));
            if *code == wanted {
                return Some(value.to_vec());
            }
            rest = after;
        }
        None
    }

    #[test]
    fn messages_are_those_of_the_standard() {
        let discover = CLIENT.discover(3);
        assert_eq!(discover[..12], [1, 1, 6, 0, 0x12, 0x34, 0x56, 0x78, 0, 3, 0x80, 0]);
        assert_eq!(discover[28..34], CLIENT.mac);
        assert_eq!(discover[236..240], COOKIE);
        assert_eq!(discover.len(), BYTES_MIN);
        assert_eq!(option(&discover, code::KIND), Some(vec![1]));
        let request = CLIENT.request(0, &LEASE);
        assert_eq!(option(&request, code::KIND), Some(vec![3]));
        assert_eq!(option(&request, code::REQUESTED_ADDRESS), Some(vec![10, 0, 2, 15]));
        assert_eq!(option(&request, code::SERVER), Some(vec![10, 0, 2, 2]));
        // RFC 2131, table 5: who renews says the address in its field, and names neither it nor the server in options.
        let renew = CLIENT.renew(0, &LEASE);
        assert_eq!((&renew[10..12], &renew[12..16]), (&[0, 0][..], &[10, 0, 2, 15][..]));
        assert_eq!(option(&renew, code::REQUESTED_ADDRESS).or(option(&renew, code::SERVER)), None);
        let release = CLIENT.release(&LEASE);
        assert_eq!(option(&release, code::KIND), Some(vec![7]));
        assert_eq!(option(&release, code::SERVER), Some(vec![10, 0, 2, 2]));
        assert!([discover, request, renew, release].iter().all(|message| message.len() <= 576));
    }

    #[test]
    fn an_answer_is_read_and_one_for_another_is_not() {
        let offer = answer_of(&CLIENT, ADDRESS, &options(2));
        assert_eq!(CLIENT.answer(&offer), Some(Answer::Offer(LEASE)));
        assert_eq!(CLIENT.answer(&answer_of(&CLIENT, ADDRESS, &options(5))), Some(Answer::Ack(LEASE)));
        assert_eq!(CLIENT.answer(&answer_of(&CLIENT, ADDRESS, &[53, 1, 6, 255])), Some(Answer::Nak));
        let other = Client { transaction: 1, ..CLIENT };
        assert_eq!(other.answer(&offer), None);
        assert_eq!(Client { mac: [2; 6], ..CLIENT }.answer(&offer), None);
        assert_eq!(CLIENT.answer(&CLIENT.discover(0)), None, "a client's own message");
    }

    #[test]
    fn options_go_on_in_the_fields_of_names() {
        let mut offer = answer_of(&CLIENT, ADDRESS, &[53, 1, 2, 52, 1, 3, 51, 4, 0, 0, 0, 60, 255]);
        offer[FILE_NAME][..7].copy_from_slice(&[1, 4, 255, 255, 0, 0, 255]);
        offer[SERVER_NAME][..7].copy_from_slice(&[54, 4, 10, 0, 2, 2, 255]);
        let lease = Lease { prefix: 16, router: None, seconds: 60, ..LEASE };
        assert_eq!(CLIENT.answer(&offer), Some(Answer::Offer(lease)));
    }

    #[test]
    fn what_no_machine_can_use_is_no_lease() {
        for address in ["0.0.0.0", "127.0.0.1", "224.0.0.1", "255.255.255.255", "250.1.1.1"] {
            let offer = answer_of(&CLIENT, address.parse().expect("an address"), &options(2));
            assert_eq!(CLIENT.answer(&offer), None, "{address}");
        }
        let with = |at: usize, value: &[u8]| {
            let mut options = options(2);
            options[at..at + value.len()].copy_from_slice(value);
            CLIENT.answer(&answer_of(&CLIENT, ADDRESS, &options))
        };
        assert_eq!(with(6, &[255, 0, 255, 0]), None, "a mask with a gap");
        assert_eq!(with(6, &[0, 0, 0, 0]), None, "an empty mask");
        assert_eq!(with(22, &[0, 0, 0, 0]), None, "no time");
        assert_eq!(with(28, &[0, 0, 0, 0]), None, "no server");
        let own_router = with(12, &ADDRESS.octets());
        assert_eq!(own_router, Some(Answer::Offer(Lease { router: None, ..LEASE })));
        assert_eq!(CLIENT.answer(&answer_of(&CLIENT, ADDRESS, &[53, 1, 2, 255])), None);
    }

    #[test]
    fn a_network_ends_where_its_mask_does() {
        assert!(LEASE.has(Ipv4Addr::new(10, 0, 2, 200)) && !LEASE.has(Ipv4Addr::new(10, 0, 3, 2)));
        let alone = Lease { prefix: 32, ..LEASE };
        assert!(alone.has(ADDRESS) && !alone.has(Ipv4Addr::new(10, 0, 2, 2)));
    }

    /// Whatever is leased can be given to a card.
    fn is_usable(answer: Option<Answer>) -> bool {
        match answer {
            None | Some(Answer::Nak) => true,
            Some(Answer::Offer(lease) | Answer::Ack(lease)) => {
                let host = |address: Ipv4Addr| {
                    !address.is_unspecified() && !address.is_multicast() && !address.is_loopback()
                };
                (1..=32).contains(&lease.prefix)
                    && host(lease.address)
                    && host(lease.server)
                    && lease.router.is_none_or(host)
                    && lease.seconds > 0
                    && lease.has(lease.address)
            }
        }
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_do_no_harm(message in prop::collection::vec(any::<u8>(), 0..2000)) {
            prop_assert!(is_usable(CLIENT.answer(&message)));
        }

        #[test]
        fn arbitrary_options_do_no_harm(
            address in any::<[u8; 4]>(),
            options in prop::collection::vec(any::<u8>(), 0..400),
        ) {
            prop_assert!(is_usable(CLIENT.answer(&answer_of(&CLIENT, Ipv4Addr::from(address), &options))));
        }

        #[test]
        fn a_damaged_answer_does_no_harm(
            kind in 1_u8..8,
            changes in prop::collection::vec((0_usize..300, any::<u8>()), 0..12),
            length in 0_usize..300,
        ) {
            let mut message = answer_of(&CLIENT, ADDRESS, &options(kind));
            for (at, byte) in changes {
                if let Some(place) = message.get_mut(at) {
                    *place = byte;
                }
            }
            message.truncate(length);
            prop_assert!(is_usable(CLIENT.answer(&message)));
        }
    }
}
