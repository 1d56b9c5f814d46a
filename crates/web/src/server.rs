//! Connections: how many, how long, and how large what they send may be.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};

use crate::app::{Access, App};
use crate::hosts::Hosts;
use crate::index::IndexError;
use crate::routes;
use crate::secret::{Secrets, Token};
use crate::station::{Places, Station};

/// Connections at once.
const CONNECTIONS_MAX: usize = 128;
/// Of one address; a browser opens six.
const CONNECTIONS_OF_ONE_MAX: usize = 32;
/// The head of a request has arrived by then.
const HEAD_TIME_MAX: Duration = Duration::from_secs(10);
/// A connection is closed after this; browsers open another, and so do those who watch a run.
const CONNECTION_TIME_MAX: Duration = Duration::from_secs(15 * 60);
/// The head of a request is not larger, bytes.
const HEAD_BYTES_MAX: usize = 16 << 10;
/// Header fields of a request at most.
const HEADERS_MAX: usize = 64;
/// How often it is looked whether to stop.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// A run that was told to stop has ended by then; it keeps what it has either way.
const RUN_END_MAX: Duration = Duration::from_secs(30);

/// How pages are served.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The address to listen on.
    pub listen: SocketAddr,
    /// What clients have to know; `None`: nothing, where nothing can be changed.
    pub token: Option<Token>,
    /// Whether the token is needed for what starts, stops or changes something only: who reaches the address may look.
    pub look_without_token: bool,
    /// Whether nothing can be started, stopped or changed.
    pub read_only: bool,
    /// Names the page may be called by, beside `localhost` and addresses.
    pub host_names: Vec<String>,
    /// Random bytes that nobody else knows.
    pub seed: [u8; 32],
}

/// Why pages cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Another program has the address, or it is none of this machine.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// Which.
        address: SocketAddr,
        /// Why.
        source: io::Error,
    },
    /// An address that others reach needs a token: other machines, and on this one other users.
    #[error("{0} can be reached by others and needs a token")]
    NoToken(SocketAddr),
    /// The history cannot be shown.
    #[error(transparent)]
    Index(#[from] IndexError),
    /// The system refused.
    #[error("cannot serve pages: {0}")]
    System(#[from] io::Error),
}

/// Listens already, and serves nothing yet.
pub struct Listening {
    runtime: tokio::runtime::Runtime,
    listener: TcpListener,
    app: Arc<App>,
    address: SocketAddr,
}

impl std::fmt::Debug for Listening {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Listening").field("address", &self.address).finish_non_exhaustive()
    }
}

impl Listening {
    /// Takes the address.
    ///
    /// # Errors
    /// When it cannot be had, or needs a token; when the index of runs cannot be opened.
    pub fn open(settings: Settings, places: Places, station: Arc<dyn Station>) -> Result<Self, ServeError> {
        let harmless = settings.listen.ip().is_loopback() && settings.read_only;
        if settings.token.is_none() && !harmless {
            return Err(ServeError::NoToken(settings.listen));
        }
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name("web")
            .enable_io()
            .enable_time()
            .build()?;
        let listen = |source| ServeError::Listen { address: settings.listen, source };
        let listener = runtime.block_on(TcpListener::bind(settings.listen)).map_err(listen)?;
        let address = listener.local_addr()?;
        let loopback = || vec![IpAddr::from([127, 0, 0, 1]), IpAddr::from([0, 0, 0, 0, 0, 0, 0, 1])];
        let addresses = match settings.listen.ip() {
            ip if ip.is_loopback() => loopback(),
            ip if ip.is_unspecified() => Vec::new(),
            ip => [loopback(), vec![ip]].concat(),
        };
        let names = settings.host_names.iter().map(|name| name.to_ascii_lowercase());
        let hosts = Hosts { addresses, names: names.chain(["localhost".to_owned()]).collect() };
        let how = Access {
            token: settings.token,
            look_without_token: settings.look_without_token,
            read_only: settings.read_only,
        };
        let app =
            Arc::new(App::new((places, station), Secrets::new(settings.seed), (how, address.port()), hosts)?);
        Ok(Listening { runtime, listener, app, address })
    }

    /// Where pages are found.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves pages until `stop` is set; a run that goes on is told to stop then, and waited for.
    ///
    /// # Errors
    /// When the system takes no connections any more.
    pub fn serve(self, stop: &AtomicBool) -> Result<(), ServeError> {
        let Listening { runtime, listener, app, .. } = self;
        // The history is made while nobody waits for it yet.
        let early = Arc::clone(&app);
        drop(runtime.spawn_blocking(move || early.refresh()));
        let served = runtime.block_on(accept(&listener, &app, stop));
        if app.now.stop() {
            let begun = std::time::Instant::now();
            while app.now.is_busy() && begun.elapsed() < RUN_END_MAX {
                std::thread::sleep(LOOK_EVERY);
            }
        }
        runtime.shutdown_timeout(Duration::from_secs(1));
        Ok(served?)
    }
}

/// Who has how many connections.
#[derive(Debug, Default)]
struct Peers(Mutex<HashMap<IpAddr, usize>>);

async fn accept(listener: &TcpListener, app: &Arc<App>, stop: &AtomicBool) -> io::Result<()> {
    let service = routes::router(Arc::clone(app));
    let open = Arc::new(Peers::default());
    while !stop.load(Ordering::Relaxed) {
        let Ok(accepted) = tokio::time::timeout(LOOK_EVERY, listener.accept()).await else { continue };
        match accepted {
            // A client that went away, or too many open files for now.
            Err(_) => tokio::time::sleep(LOOK_EVERY).await,
            Ok((stream, peer)) => {
                // One too many is closed at once: it would keep others waiting.
                let Some(place) = Place::take(&open, peer.ip()) else { continue };
                let service = service.clone();
                drop(tokio::spawn(async move {
                    let _place = place;
                    connection(stream, service).await;
                }));
            }
        }
    }
    Ok(())
}

/// A connection that counts as long as this lives.
struct Place(Arc<Peers>, IpAddr);

impl Place {
    fn take(open: &Arc<Peers>, of: IpAddr) -> Option<Place> {
        let mut all = open.0.lock().unwrap_or_else(PoisonError::into_inner);
        let own = all.get(&of).copied().unwrap_or(0);
        if own >= CONNECTIONS_OF_ONE_MAX || all.values().sum::<usize>() >= CONNECTIONS_MAX {
            return None;
        }
        all.insert(of, own + 1);
        Some(Place(Arc::clone(open), of))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut all = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        match all.get_mut(&self.1) {
            Some(own) if *own > 1 => *own -= 1,
            _ => drop(all.remove(&self.1)),
        }
    }
}

async fn connection(stream: TcpStream, service: axum::Router) {
    let _ = stream.set_nodelay(true);
    let mut http = hyper::server::conn::http1::Builder::new();
    http.timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME_MAX)
        .max_buf_size(HEAD_BYTES_MAX)
        .max_headers(HEADERS_MAX);
    let served = http.serve_connection(TokioIo::new(stream), TowerToHyperService::new(service));
    // A client that breaks the rules, or goes away, is no failure of ours.
    let _ = tokio::time::timeout(CONNECTION_TIME_MAX, served).await;
}
