//! Results over HTTP, for clients with the token that the console shows: the network is taken up for it, one archive can be read, and
//! everything is off again afterwards.

use std::convert::Infallible;
use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use rustix::rand::{GetRandomFlags, getrandom};
use subtle::ConstantTimeEq as _;
use tokio::io::AsyncReadExt as _;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::time::{sleep, timeout};

use super::console::Console;
use super::network::{Network, NetworkError};

/// That of `assay serve`.
const PORT: u16 = 8477;
/// What can be read.
const PATH: &str = "/results.tar";
/// Connections at once, each with one request.
const CONNECTIONS_MAX: usize = 8;
/// The head of a request has arrived by then, and is not larger, bytes.
const HEAD_TIME_MAX: Duration = Duration::from_secs(10);
const HEAD_BYTES_MAX: usize = 8 << 10;
const HEADERS_MAX: usize = 32;
/// A copy has ended by then.
const COPY_TIME_MAX: Duration = Duration::from_secs(10 * 60);
/// A client closes the connection so soon after it has everything.
const CLOSE_TIME_MAX: Duration = Duration::from_secs(30);
/// A request that is refused is answered so late, and the offer ends after so many: a token cannot be guessed.
const REFUSED_WAIT: Duration = Duration::from_millis(300);
const REFUSED_MAX: u32 = 1000;
/// How often it is looked whether Enter was pressed.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// How long results are offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Until {
    /// Until Enter is pressed at the console.
    Enter,
    /// Until the first complete copy: no one is at the console.
    FirstCopy,
}

impl Until {
    fn time_max(self) -> Duration {
        match self {
            Until::Enter => Duration::from_secs(60 * 60),
            Until::FirstCopy => Duration::from_secs(10 * 60),
        }
    }
}

impl fmt::Display for Until {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let minutes = self.time_max().as_secs() / 60;
        match self {
            Until::Enter => write!(f, "until you press Enter, {minutes} minutes at most"),
            Until::FirstCopy => write!(f, "until the first complete copy, {minutes} minutes at most"),
        }
    }
}

/// Why results are offered no longer.
#[derive(Debug)]
enum End {
    Copied,
    Enter,
    Time,
    Refused,
    Address(NetworkError),
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            End::Copied => f.write_str("the results were copied"),
            End::Enter => f.write_str("you pressed Enter"),
            End::Time => f.write_str("the time is over"),
            End::Refused => write!(f, "{REFUSED_MAX} requests were refused"),
            End::Address(why) => why.fmt(f),
        }
    }
}

/// Takes the network up, offers the archive and takes the network down; what happens is said on the console.
///
/// # Errors
/// The archive could not be offered, and why.
pub(super) fn over_network(archive: Vec<u8>, until: Until, console: &Console) -> Result<(), String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    runtime.block_on(async {
        let mut network = Network::begin().await.map_err(|error| error.to_string())?;
        console.say(&format!("network: {network}"));
        let ended = offer(archive, until, console, &mut network).await;
        network.end().await;
        let end = ended.map_err(|error| error.to_string())?;
        console.say(&format!("results are no longer offered: {end}; the network is off"));
        Ok(())
    })
}

async fn offer(archive: Vec<u8>, until: Until, console: &Console, network: &mut Network) -> io::Result<End> {
    let token = Token::of_random()?;
    let listener = TcpListener::bind((network.address(), PORT)).await?;
    let place = format!("http://{}", listener.local_addr()?);
    console.say(&format!("results: {place}/  token: {}  ({until})", token.0));
    console.say(&format!("  curl -H \"Authorization: Bearer {}\" -o results.tar {place}{PATH}", token.0));
    let (events, received) = channel(CONNECTIONS_MAX);
    let offer = Arc::new(Offer { archive: archive.into(), token, refused: AtomicU32::new(0), events });
    Ok(tokio::select! {
        never = serve(&listener, &offer) => match never {},
        end = ended(received, until, console) => end,
        () = left(console), if until == Until::Enter => End::Enter,
        () = sleep(until.time_max()) => End::Time,
        why = network.keep() => End::Address(why),
    })
}

/// Waits for Enter; what was typed before does not count.
async fn left(console: &Console) {
    console.pressed();
    while !console.pressed() {
        sleep(LOOK_EVERY).await;
    }
}

/// Says who copied the results, until that is the end of it.
async fn ended(mut received: Receiver<Event>, until: Until, console: &Console) -> End {
    while let Some(event) = received.recv().await {
        match event {
            Event::Refused => return End::Refused,
            Event::Copied(client) => {
                console.say(&format!("results were copied to {client}"));
                if until == Until::FirstCopy {
                    return End::Copied;
                }
            }
        }
    }
    std::future::pending().await
}

/// What clients have to know. It is printed where it is to be, and nowhere by accident.
struct Token(String);

impl Token {
    /// Letters that are not taken for others (Crockford's base32).
    const LETTERS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
    /// 80 bits: more than can be guessed, and still typed.
    const CHARS: usize = 16;

    /// A token of the kernel's random source.
    fn of_random() -> io::Result<Self> {
        let mut bytes = [0; Self::CHARS];
        getrandom(&mut bytes, GetRandomFlags::empty())?;
        let letter = |byte: &u8| char::from(Self::LETTERS[usize::from(byte % 32)]);
        Ok(Token(bytes.iter().map(letter).collect()))
    }

    /// Whether a request has it; how long that takes does not tell how much of it is right.
    fn is_of(&self, headers: &HeaderMap) -> bool {
        let mut values = headers.get_all(header::AUTHORIZATION).iter();
        let (Some(value), None) = (values.next(), values.next()) else { return false };
        let Some((scheme, word)) = value.to_str().ok().and_then(|value| value.split_once(' ')) else {
            return false;
        };
        scheme.eq_ignore_ascii_case("Bearer") && self.0.as_bytes().ct_eq(word.trim().as_bytes()).into()
    }
}

/// What is to be known of a connection outside of it.
enum Event {
    /// A client has the whole archive.
    Copied(IpAddr),
    /// Too many requests were refused.
    Refused,
}

/// What is offered, to whom.
struct Offer {
    archive: Bytes,
    token: Token,
    refused: AtomicU32,
    events: Sender<Event>,
}

async fn serve(listener: &TcpListener, offer: &Arc<Offer>) -> Infallible {
    let open = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        match listener.accept().await {
            // A client that went away, or too many open files for now.
            Err(_) => sleep(LOOK_EVERY).await,
            Ok((stream, client)) => {
                // One too many is closed at once: it would keep others waiting.
                let Ok(place) = Arc::clone(&open).try_acquire_owned() else { continue };
                let offer = Arc::clone(offer);
                drop(tokio::spawn(async move {
                    offer.connection(stream, client).await;
                    drop(place);
                }));
            }
        }
    }
}

impl Offer {
    /// One request, and its answer.
    async fn connection(&self, mut stream: TcpStream, client: SocketAddr) {
        let whole = AtomicBool::new(false);
        let answer = async |request: Request<Incoming>| {
            let answer = self.answer(request.method(), request.uri().path(), request.headers());
            if answer.status() == StatusCode::OK {
                whole.store(true, Ordering::Relaxed);
            } else {
                sleep(REFUSED_WAIT).await;
                self.refuse().await;
            }
            Ok::<_, Infallible>(answer)
        };
        let mut http = hyper::server::conn::http1::Builder::new();
        http.timer(TokioTimer::new())
            .keep_alive(false)
            .header_read_timeout(HEAD_TIME_MAX)
            .max_buf_size(HEAD_BYTES_MAX)
            .max_headers(HEADERS_MAX);
        let served = http.serve_connection(TokioIo::new(&mut stream), service_fn(answer));
        // A client that breaks the rules, or goes away, is no failure of ours.
        let sent = matches!(timeout(COPY_TIME_MAX, served).await, Ok(Ok(())));
        if sent && whole.load(Ordering::Relaxed) && is_closed(&mut stream).await {
            let _ = self.events.send(Event::Copied(client.ip())).await;
        }
    }

    /// Counts a request that was refused.
    async fn refuse(&self) {
        if self.refused.fetch_add(1, Ordering::Relaxed) + 1 == REFUSED_MAX {
            let _ = self.events.send(Event::Refused).await;
        }
    }

    fn answer(&self, method: &Method, path: &str, headers: &HeaderMap) -> Response<Full<Bytes>> {
        if !self.token.is_of(headers) {
            let why = "the token is wrong or missing; expected 'Authorization: Bearer TOKEN' with the token that the console shows";
            return text(StatusCode::UNAUTHORIZED, why, Some((header::WWW_AUTHENTICATE, "Bearer")));
        }
        if path != PATH {
            return text(StatusCode::NOT_FOUND, &format!("not found; available: {PATH}"), None);
        }
        if method != Method::GET {
            return text(
                StatusCode::METHOD_NOT_ALLOWED,
                "only GET is supported",
                Some((header::ALLOW, "GET")),
            );
        }
        let mut answer = with_headers(Response::new(Full::new(self.archive.clone())), "application/x-tar");
        let attached = HeaderValue::from_static("attachment; filename=\"results.tar\"");
        answer.headers_mut().insert(header::CONTENT_DISPOSITION, attached);
        answer
    }
}

/// A line of text.
fn text(
    status: StatusCode,
    line: &str,
    more: Option<(header::HeaderName, &'static str)>,
) -> Response<Full<Bytes>> {
    let answer = Response::new(Full::new(format!("{line}\n").into()));
    let mut answer = with_headers(answer, "text/plain; charset=utf-8");
    *answer.status_mut() = status;
    if let Some((name, value)) = more {
        answer.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    answer
}

fn with_headers(mut answer: Response<Full<Bytes>>, kind: &'static str) -> Response<Full<Bytes>> {
    let headers = answer.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    answer
}

/// Whether the client closes the connection in time and without an error: until then the kernel may still hold what it has not taken,
/// which a machine that is turned off would lose.
async fn is_closed(stream: &mut TcpStream) -> bool {
    let mut rest = [0; 512];
    let closed = async {
        loop {
            match stream.read(&mut rest).await {
                Ok(0) => break true,
                Ok(_) => {}
                Err(_) => break false,
            }
        }
    };
    timeout(CLOSE_TIME_MAX, closed).await.unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::TcpStream as Client;
    use std::time::Instant;

    use super::*;

    const TOKEN: &str = "0123456789abcdef";

    /// An offer on the loopback; it ends with the value.
    struct Server {
        address: SocketAddr,
        events: Receiver<Event>,
        _runtime: tokio::runtime::Runtime,
    }

    impl Server {
        fn start(archive: Vec<u8>) -> Self {
            let mut runtime = tokio::runtime::Builder::new_multi_thread();
            let runtime = runtime.worker_threads(1).enable_all().build().expect("a runtime");
            let (events, received) = channel(CONNECTIONS_MAX);
            let token = Token(TOKEN.to_owned());
            let offer =
                Arc::new(Offer { archive: archive.into(), token, refused: AtomicU32::new(0), events });
            let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).expect("a port");
            let address = listener.local_addr().expect("an address");
            drop(runtime.spawn(async move { serve(&listener, &offer).await }));
            Server { address, events: received, _runtime: runtime }
        }

        /// The answer to some bytes: its head and its body.
        fn ask(&self, request: &str) -> (String, Vec<u8>) {
            let mut stream = Client::connect(self.address).expect("a connection");
            stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a limit");
            // A server that has refused the head closes before it has read all of it.
            let _ = stream.write_all(request.as_bytes());
            let mut answer = Vec::new();
            let _ = stream.read_to_end(&mut answer);
            let end =
                answer.windows(4).position(|four| four == b"\r\n\r\n").map_or(answer.len(), |at| at + 4);
            (String::from_utf8_lossy(&answer[..end]).to_ascii_lowercase(), answer[end..].to_vec())
        }

        fn copied(&mut self) -> bool {
            let until = Instant::now() + Duration::from_secs(10);
            while Instant::now() < until {
                match self.events.try_recv() {
                    Ok(Event::Copied(client)) => return client.is_loopback(),
                    Ok(Event::Refused) => return false,
                    Err(_) => std::thread::sleep(Duration::from_millis(10)),
                }
            }
            false
        }
    }

    fn request(method: &str, path: &str, authorization: &str) -> String {
        format!("{method} {path} HTTP/1.1\r\nHost: 10.0.2.15:8477\r\n{authorization}\r\n")
    }

    fn right() -> String {
        format!("Authorization: Bearer {TOKEN}\r\n")
    }

    #[test]
    fn the_archive_is_for_who_has_the_token() {
        let archive: Vec<u8> = (0..3_000_000_u32).map(|number| number as u8).collect();
        let mut server = Server::start(archive.clone());
        let (head, body) = server.ask(&request("GET", PATH, &right()));
        assert!(head.starts_with("http/1.1 200") && head.contains("content-length: 3000000"), "{head}");
        assert!(head.contains("application/x-tar") && head.contains("no-store"), "{head}");
        assert!(body == archive);
        assert!(server.copied(), "a complete copy is noticed");
        let lower = format!("authorization: bearer {TOKEN}\r\n");
        assert!(server.ask(&request("GET", PATH, &lower)).0.starts_with("http/1.1 200"));
    }

    #[test]
    fn a_copy_that_was_broken_off_is_none() {
        let mut server = Server::start(vec![7; 64 << 20]);
        let mut stream = Client::connect(server.address).expect("a connection");
        stream.write_all(request("GET", PATH, &right()).as_bytes()).expect("sent");
        let mut some = [0; 1000];
        stream.read_exact(&mut some).expect("a part");
        drop(stream);
        std::thread::sleep(Duration::from_millis(300));
        assert!(server.events.try_recv().is_err(), "no copy");
        let whole = server.ask(&request("GET", PATH, &right()));
        assert_eq!(whole.1.len(), 64 << 20);
        assert!(server.copied());
    }

    #[test]
    fn everything_else_is_refused_with_a_line_of_text() {
        let mut server = Server::start(b"secret results".to_vec());
        let wrong = [
            String::new(),
            "Authorization: Bearer 0123456789abcdeg\r\n".to_owned(),
            "Authorization: Bearer 0123456789abcde\r\n".to_owned(),
            "Authorization: Bearer \r\n".to_owned(),
            "Authorization: Bearer\r\n".to_owned(),
            format!("Authorization: Basic {TOKEN}\r\n"),
            format!("Authorization: {TOKEN}\r\n"),
            format!("Cookie: token={TOKEN}\r\n"),
            [right(), right()].concat(),
        ];
        let mut answers: Vec<(u16, String)> =
            wrong.iter().map(|header| (401, request("GET", PATH, header))).collect();
        answers.push((401, request("POST", PATH, "Content-Length: 0\r\n")));
        answers.push((401, request("GET", &format!("{PATH}?token={TOKEN}"), "")));
        for path in ["/", "/results.tar/", "//results.tar", "/../results.tar", "/etc/passwd", "/RESULTS.TAR"]
        {
            answers.push((404, request("GET", path, &right())));
        }
        for method in ["POST", "PUT", "DELETE", "OPTIONS"] {
            let header = format!("{}Content-Length: 0\r\n", right());
            answers.push((405, request(method, PATH, &header)));
        }
        for (status, request) in answers {
            let (head, body) = server.ask(&request);
            assert!(head.starts_with(&format!("http/1.1 {status}")), "{request}{head}");
            let body = String::from_utf8(body).expect("text");
            assert!(body.ends_with('\n') && body.lines().count() == 1, "{request}{body}");
            assert!(!body.contains("secret"), "{request}{body}");
        }
        let head = server.ask(&request("HEAD", PATH, &right())).0;
        assert!(head.starts_with("http/1.1 405") && head.contains("allow: get"), "{head}");
        assert!(server.ask(&request("GET", PATH, "")).0.contains("www-authenticate: bearer"));
        assert!(server.events.try_recv().is_err(), "nothing was copied");
    }

    #[test]
    fn what_is_too_large_or_no_request_is_closed() {
        let server = Server::start(b"secret results".to_vec());
        let long =
            format!("GET {PATH} HTTP/1.1\r\nHost: x\r\n{}X: {}\r\n\r\n", right(), "a".repeat(64 << 10));
        let many = format!("GET {PATH} HTTP/1.1\r\nHost: x\r\n{}{}\r\n", right(), "X: y\r\n".repeat(100));
        for request in
            [long.as_str(), &many, "\0\0\0\0\r\n\r\n", "results.tar\r\n\r\n", "\u{16}\u{3}\u{1}\r\n\r\n"]
        {
            let (head, body) = server.ask(request);
            assert!(!head.starts_with("http/1.1 2") && !body.ends_with(b"results"), "{head}");
        }
    }

    #[test]
    fn more_connections_than_can_be_are_closed_and_the_others_are_served() {
        let server = Server::start(b"results".to_vec());
        let open: Vec<Client> =
            (0..CONNECTIONS_MAX).map(|_| Client::connect(server.address).expect("a connection")).collect();
        // The server has taken all of them by then.
        std::thread::sleep(Duration::from_millis(200));
        assert_eq!(server.ask(&request("GET", PATH, &right())).0, "", "one too many");
        let mut first = &open[0];
        first.write_all(request("GET", PATH, &right()).as_bytes()).expect("sent");
        let mut answer = String::new();
        first.read_to_string(&mut answer).expect("an answer");
        assert!(answer.ends_with("results"), "{answer}");
    }

    #[test]
    fn tokens_differ_and_can_be_typed() {
        let (one, other) = (Token::of_random().expect("random").0, Token::of_random().expect("random").0);
        assert_ne!(one, other);
        assert!(one.len() == Token::CHARS && one.bytes().all(|letter| Token::LETTERS.contains(&letter)));
    }

    #[test]
    fn the_offer_ends_after_many_refused_requests() {
        let (events, mut received) = channel(CONNECTIONS_MAX);
        let token = Token(TOKEN.to_owned());
        let offer = Offer { archive: Bytes::new(), token, refused: AtomicU32::new(REFUSED_MAX - 2), events };
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        runtime.block_on(offer.refuse());
        assert!(received.try_recv().is_err());
        runtime.block_on(offer.refuse());
        assert!(matches!(received.try_recv(), Ok(Event::Refused)));
    }
}
