//! A network for as long as results are handed out over it: the first card with a link, an address by DHCP, and everything off again.
//! Nothing here runs unless a person or a setting asks for it: a machine that measures sends nothing.

use std::fmt;
use std::fs;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::time::Duration;

use rustix::rand::{GetRandomFlags, getrandom};
use tokio::net::UdpSocket;
use tokio::time::{Instant, sleep, sleep_until, timeout_at};

mod dhcp;
mod netlink;

use dhcp::{Answer, Client, Lease};
use netlink::Netlink;

/// Where the kernel lists cards.
const CARDS: &str = "/sys/class/net";
/// What `type` there says of Ethernet.
const ETHERNET: &str = "1";
/// A link is there after so long: a switch may look for loops first.
const LINK_WITHIN: Duration = Duration::from_secs(8);
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// A server has answered by then.
const DHCP_WITHIN: Duration = Duration::from_secs(10);
/// A message without an answer is sent again after this, then after twice as long, and so on.
const AGAIN: Duration = Duration::from_secs(1);
/// Leases are not renewed more often than this, whatever a server says.
const RENEW_AFTER_MIN: Duration = Duration::from_secs(5);
/// Where messages go as long as the server is not known.
const EVERYBODY: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::BROADCAST), dhcp::SERVER_PORT);

/// Why there is no network.
#[derive(Debug, thiserror::Error)]
pub(super) enum NetworkError {
    #[error("there is no network card that this kernel has a driver for")]
    NoCard,
    #[error("no network card has a link: {0}")]
    NoLink(String),
    #[error("no DHCP answer on {card} within {} s", DHCP_WITHIN.as_secs())]
    NoAnswer { card: String },
    #[error("the DHCP server on {card} does not lend {address} any longer")]
    Lost { card: String, address: Ipv4Addr },
    #[error("{what}: {source}")]
    System { what: String, source: io::Error },
}

fn system(what: impl Into<String>) -> impl FnOnce(io::Error) -> NetworkError {
    let what = what.into();
    move |source| NetworkError::System { what, source }
}

/// A network card.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Card {
    name: String,
    index: u32,
    mac: [u8; 6],
}

/// The network, until [`Network::end`].
#[derive(Debug)]
pub(super) struct Network {
    netlink: Netlink,
    card: Card,
    socket: UdpSocket,
    lease: Lease,
    leased: Instant,
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Lease { address, prefix, server, seconds, .. } = self.lease;
        let router =
            self.lease.router.map_or_else(|| "no router".to_owned(), |router| format!("router {router}"));
        write!(f, "{} has {address}/{prefix}, {router}, from the DHCP server {server} for ", self.card.name)?;
        if seconds == u32::MAX { f.write_str("unlimited time") } else { write!(f, "{seconds} s") }
    }
}

impl Network {
    /// Takes the first card with a link up, and gives it the address that a server lends.
    pub(super) async fn begin() -> Result<Self, NetworkError> {
        let netlink = Netlink::open().map_err(system("no netlink socket"))?;
        let cards = cards(Path::new(CARDS));
        if cards.is_empty() {
            return Err(NetworkError::NoCard);
        }
        let card = with_link(&netlink, &cards).await?;
        let configured = async {
            let (socket, lease) = leased(&card).await?;
            let failed = system(format!("{}: the address cannot be set", card.name));
            netlink.configure(card.index, &lease).map_err(failed)?;
            Ok((socket, lease))
        };
        match configured.await {
            Ok((socket, lease)) => Ok(Network { netlink, card, socket, lease, leased: Instant::now() }),
            Err(why) => {
                let _ = netlink.set_up(card.index, false);
                Err(why)
            }
        }
    }

    pub(super) fn address(&self) -> Ipv4Addr {
        self.lease.address
    }

    /// Asks for more time whenever half of it is over (RFC 2131, section 4.4.5), until the address cannot be kept; why it cannot.
    pub(super) async fn keep(&mut self) -> NetworkError {
        loop {
            if self.lease.seconds == u32::MAX {
                std::future::pending::<()>().await;
            }
            let time = Duration::from_secs(self.lease.seconds.into());
            sleep_until(self.leased + (time / 2).max(RENEW_AFTER_MIN)).await;
            if let Err(why) = self.renew(self.leased + time).await {
                return why;
            }
        }
    }

    async fn renew(&mut self, until: Instant) -> Result<(), NetworkError> {
        let failed = || system(format!("{}: the lease cannot be renewed", self.card.name));
        let client = Client { mac: self.card.mac, transaction: random().map_err(failed())? };
        let conversation = Conversation { socket: &self.socket, server: EVERYBODY, client, until };
        let answer = conversation.ask(|seconds| client.renew(seconds, &self.lease), is_decision).await;
        match answer.map_err(failed())? {
            Some(Answer::Ack(lease)) if lease.address == self.lease.address => {
                (self.lease, self.leased) = (lease, Instant::now());
                Ok(())
            }
            _ => Err(NetworkError::Lost { card: self.card.name.clone(), address: self.lease.address }),
        }
    }

    /// Gives the address back and takes the card down. What does not work then changes nothing: the card is not used any more.
    pub(super) async fn end(self) {
        let client = Client { mac: self.card.mac, transaction: random().unwrap_or_default() };
        let server = SocketAddr::from((self.lease.server, dhcp::SERVER_PORT));
        let _ = self.socket.send_to(&client.release(&self.lease), server).await;
        // The kernel may have to ask for the server's hardware address before the message leaves.
        sleep(LOOK_EVERY).await;
        let _ = self.netlink.remove_address(self.card.index, &self.lease);
        let _ = self.netlink.set_up(self.card.index, false);
    }
}

/// The Ethernet cards with hardware behind them, in the kernel's order.
fn cards(listed: &Path) -> Vec<Card> {
    let mut cards: Vec<Card> = fs::read_dir(listed)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let of = |name: &str| fs::read_to_string(entry.path().join(name));
            let is_card = entry.path().join("device").exists() && of("type").ok()?.trim() == ETHERNET;
            let (index, mac) = (of("ifindex").ok()?.trim().parse().ok()?, mac(of("address").ok()?.trim())?);
            is_card.then(|| Card { name: entry.file_name().to_string_lossy().into_owned(), index, mac })
        })
        .collect();
    cards.sort_by_key(|card| card.index);
    cards
}

fn mac(text: &str) -> Option<[u8; 6]> {
    let bytes: Option<Vec<u8>> = text.split(':').map(|part| u8::from_str_radix(part, 16).ok()).collect();
    bytes?.try_into().ok()
}

/// Takes the cards up and waits for a link; those without one are taken down again.
async fn with_link(netlink: &Netlink, cards: &[Card]) -> Result<Card, NetworkError> {
    for card in cards {
        // Nothing here speaks IPv6, and an address of it would be announced.
        let _ = fs::write(format!("/proc/sys/net/ipv6/conf/{}/disable_ipv6", card.name), "1");
        netlink.set_up(card.index, true).map_err(system(format!("{} cannot be taken up", card.name)))?;
    }
    let has_link = |card: &&Card| {
        fs::read_to_string(Path::new(CARDS).join(&card.name).join("carrier"))
            .is_ok_and(|text| text.trim() == "1")
    };
    let until = Instant::now() + LINK_WITHIN;
    let found = loop {
        let found = cards.iter().find(has_link);
        if found.is_some() || Instant::now() > until {
            break found;
        }
        sleep(LOOK_EVERY).await;
    };
    for card in cards.iter().filter(|card| Some(*card) != found) {
        let _ = netlink.set_up(card.index, false);
    }
    found.cloned().ok_or_else(|| {
        let names: Vec<&str> = cards.iter().map(|card| card.name.as_str()).collect();
        NetworkError::NoLink(names.join(", "))
    })
}

/// An address for a card, and the socket of the conversation.
async fn leased(card: &Card) -> Result<(UdpSocket, Lease), NetworkError> {
    let open = || system(format!("{}: no socket for DHCP", card.name));
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, dhcp::CLIENT_PORT)).await.map_err(open())?;
    socket.bind_device(Some(card.name.as_bytes())).map_err(open())?;
    socket.set_broadcast(true).map_err(open())?;
    let transaction = random().map_err(system("no random number"))?;
    let client = Client { mac: card.mac, transaction };
    let until = Instant::now() + DHCP_WITHIN;
    let conversation = Conversation { socket: &socket, server: EVERYBODY, client, until };
    let lease = conversation.lease().await.map_err(system(format!("DHCP on {}", card.name)))?;
    match lease {
        Some(lease) => Ok((socket, lease)),
        None => Err(NetworkError::NoAnswer { card: card.name.clone() }),
    }
}

/// Four bytes of the kernel's random source.
fn random() -> io::Result<u32> {
    let mut bytes = [0; 4];
    getrandom(&mut bytes, GetRandomFlags::empty())?;
    Ok(u32::from_ne_bytes(bytes))
}

/// Messages to and fro, until some time.
struct Conversation<'a> {
    socket: &'a UdpSocket,
    server: SocketAddr,
    client: Client,
    until: Instant,
}

impl Conversation<'_> {
    /// An address; `None`: no server lends one.
    async fn lease(&self) -> io::Result<Option<Lease>> {
        while let Some(answer) = self.ask(|seconds| self.client.discover(seconds), is_offer).await? {
            let Answer::Offer(offer) = answer else { continue };
            match self.ask(|seconds| self.client.request(seconds, &offer), is_decision).await? {
                Some(Answer::Ack(lease)) => return Ok(Some(lease)),
                // The server gave the address to another client meanwhile, and has others.
                Some(_) => {}
                None => return Ok(None),
            }
        }
        Ok(None)
    }

    /// Sends a message, again and again, until an answer comes that `fits`; `None`: none came.
    async fn ask(
        &self,
        message: impl Fn(u16) -> Vec<u8>,
        fits: fn(&Answer) -> bool,
    ) -> io::Result<Option<Answer>> {
        let (begun, mut wait) = (Instant::now(), AGAIN);
        while Instant::now() < self.until {
            let seconds = begun.elapsed().as_secs().try_into().unwrap_or(u16::MAX);
            self.socket.send_to(&message(seconds), self.server).await?;
            let again = self.until.min(Instant::now() + wait);
            if let Some(answer) = self.hear(again, fits).await? {
                return Ok(Some(answer));
            }
            wait *= 2;
        }
        Ok(None)
    }

    /// The next answer to this client that `fits`.
    async fn hear(&self, until: Instant, fits: fn(&Answer) -> bool) -> io::Result<Option<Answer>> {
        let mut bytes = [0; dhcp::BYTES_MAX];
        // Looked at each time: where messages come without end, a timeout alone would never be due.
        while Instant::now() < until
            && let Ok(received) = timeout_at(until, self.socket.recv_from(&mut bytes)).await
        {
            let (length, _) = received?;
            if let Some(answer) = self.client.answer(&bytes[..length]).filter(fits) {
                return Ok(Some(answer));
            }
        }
        Ok(None)
    }
}

fn is_offer(answer: &Answer) -> bool {
    matches!(answer, Answer::Offer(_))
}

fn is_decision(answer: &Answer) -> bool {
    !is_offer(answer)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use dhcp::tests::{CLIENT, answer_of, options};

    fn block_on<T>(future: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime")
            .block_on(future)
    }

    /// A server on the loopback that answers each message with what `answers` makes of its kind; the client's result.
    async fn with_server(
        answers: impl Fn(u8, usize) -> Vec<Vec<u8>> + Send + 'static,
        within: Duration,
    ) -> io::Result<Option<Lease>> {
        let open = || UdpSocket::bind((Ipv4Addr::LOCALHOST, 0));
        let (server, socket) = (open().await?, open().await?);
        let to = server.local_addr()?;
        let serving = tokio::spawn(async move {
            let mut bytes = [0; dhcp::BYTES_MAX];
            for number in 0.. {
                let Ok((length, from)) = server.recv_from(&mut bytes).await else { return };
                assert!(length >= 300, "a message of a client");
                for answer in answers(bytes[242], number) {
                    let _ = server.send_to(&answer, from).await;
                }
            }
        });
        let conversation =
            Conversation { socket: &socket, server: to, client: CLIENT, until: Instant::now() + within };
        let lease = conversation.lease().await;
        serving.abort();
        lease
    }

    const ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 0, 2, 15);

    fn answer(kind: u8) -> Vec<u8> {
        answer_of(&CLIENT, ADDRESS, &options(kind))
    }

    #[test]
    fn an_address_is_leased_among_messages_that_mean_nothing() {
        let noise = || {
            vec![vec![], vec![0xff; 1472], answer(7), answer_of(&CLIENT, Ipv4Addr::LOCALHOST, &options(2))]
        };
        let answers = move |kind, _| match kind {
            // An answer to the next step comes too early and is none.
            1 => [noise(), vec![answer(5), answer(2)]].concat(),
            3 => [noise(), vec![answer(2), answer(5)]].concat(),
            _ => Vec::new(),
        };
        let lease =
            block_on(with_server(answers, Duration::from_secs(20))).expect("no error").expect("a lease");
        assert_eq!((lease.address, lease.prefix, lease.seconds), (ADDRESS, 24, 86_400));
    }

    #[test]
    fn a_refused_request_begins_anew_and_a_lost_message_is_sent_again() {
        let answers = |kind, number| match (kind, number) {
            // The first message is lost.
            (_, 0) => Vec::new(),
            (1, _) => vec![answer(2)],
            (3, 2) => vec![answer_of(&CLIENT, ADDRESS, &[53, 1, 6, 255])],
            _ => vec![answer(5)],
        };
        let lease = block_on(with_server(answers, Duration::from_secs(20))).expect("no error");
        assert_eq!(lease.map(|lease| lease.address), Some(ADDRESS));
    }

    #[test]
    fn a_silent_server_is_given_up_and_so_is_one_that_sends_without_end() {
        let within = Duration::from_millis(300);
        assert_eq!(block_on(with_server(|_, _| Vec::new(), within)).expect("no error"), None);
        let begun = Instant::now();
        let lease = block_on(async {
            let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await?;
            let to = socket.local_addr()?;
            let stop = Arc::new(std::sync::atomic::AtomicBool::new(false));
            let stopped = Arc::clone(&stop);
            let flood = std::thread::spawn(move || {
                let from = std::net::UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a socket");
                while !stopped.load(std::sync::atomic::Ordering::Relaxed) {
                    let _ = from.send_to(&[0; 400], to);
                }
            });
            let until = Instant::now() + within;
            let server = (Ipv4Addr::LOCALHOST, 9).into();
            let lease = Conversation { socket: &socket, server, client: CLIENT, until }.lease().await;
            stop.store(true, std::sync::atomic::Ordering::Relaxed);
            flood.join().expect("ended");
            lease
        });
        assert_eq!(lease.expect("no error"), None);
        assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    }

    #[test]
    fn cards_are_those_of_ethernet_with_hardware_in_the_kernels_order() {
        let at = tempfile::tempdir().expect("a directory");
        let add = |name: &str, files: &[(&str, &str)], device: bool| {
            let card = at.path().join(name);
            fs::create_dir_all(if device { card.join("device") } else { card.clone() }).expect("a directory");
            files.iter().for_each(|(name, text)| fs::write(card.join(name), text).expect("written"));
        };
        add("eth1", &[("type", "1\n"), ("ifindex", "2\n"), ("address", "52:54:00:00:00:02\n")], true);
        add("eth0", &[("type", "1\n"), ("ifindex", "3\n"), ("address", "52:54:00:00:00:03\n")], true);
        add("lo", &[("type", "772\n"), ("ifindex", "1\n"), ("address", "00:00:00:00:00:00\n")], false);
        add("dummy0", &[("type", "1\n"), ("ifindex", "4\n"), ("address", "52:54:00:00:00:04\n")], false);
        add("ib0", &[("type", "32\n"), ("ifindex", "5\n"), ("address", "80:00:00:48:fe:80\n")], true);
        add("broken", &[("type", "1\n"), ("ifindex", "x\n"), ("address", "52:54\n")], true);
        let found = cards(at.path());
        let names: Vec<&str> = found.iter().map(|card| card.name.as_str()).collect();
        assert_eq!(names, ["eth1", "eth0"]);
        assert_eq!(found[0].mac, [0x52, 0x54, 0, 0, 0, 2]);
        assert_eq!(cards(Path::new("/nowhere")), []);
    }
}
