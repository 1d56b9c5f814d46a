//! `assay serve`: stored runs and a live run as pages. This joins the pages to what carries runs out.

use std::net::{IpAddr, SocketAddr};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use assay_web::{Listening, Places, ServeError, Settings, Token};
use assay_workload::units::Nanos;
use clap::Args;

use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::signals;

mod station;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  # stored runs, comparisons, trends; its link lets you start one and watch it
  assay serve
  # nothing can be started, stopped or changed
  assay serve --read-only
  # for other machines, too: needs a token, and a proxy with TLS in front
  assay serve --listen 0.0.0.0:8477 --token-file /etc/assay/token

From your own machine through ssh: ssh -L 8477:127.0.0.1:8477 HOST assay serve
Prometheus reads /metrics; docs/grafana-dashboard.json shows it.")]
pub(crate) struct ServeArgs {
    /// Address to listen on; on any but 127.0.0.1 and [::1] the token is needed to look, too
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:8477")]
    pub(crate) listen: SocketAddr,
    /// Show only: nothing can be started, stopped or changed
    #[arg(long)]
    pub(crate) read_only: bool,
    /// File with the token that clients need, to look as well [default: a new one at each start; on 127.0.0.1 only what starts, stops
    /// or changes something needs it]
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// Another name the page is reached by, as behind a proxy; may be given several times
    #[arg(long, value_name = "NAME")]
    pub(crate) host_name: Vec<String>,
    /// Measured time of each window of a series: for tests of the program itself
    #[arg(long, value_name = "TIME", hide = true)]
    pub(crate) window: Option<Nanos>,
}

pub(crate) fn serve(args: &ServeArgs, context: &Context) -> Result<Outcome, Failure> {
    let stop = signals::stop_flag()?;
    let runs = context.runs_root()?;
    let token = token(args)?;
    let local = args.listen.ip().is_loopback();
    let places = Places {
        index: cache().map(|cache| cache.join(index_name(&runs))),
        baselines: context.baselines_root().ok(),
        runs,
    };
    let own_name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let settings = Settings {
        listen: args.listen,
        token: token.clone(),
        look_without_token: local && args.token_file.is_none(),
        read_only: args.read_only,
        host_names: args.host_name.iter().cloned().chain((!local).then_some(own_name)).collect(),
        seed: random()?,
    };
    let station = Arc::new(station::Here::new(context, args.window));
    let listening = Listening::open(settings, places, station)?;
    say(args, &listening, token.as_ref(), context);
    listening.serve(&stop)?;
    Ok(Outcome::Done)
}

/// What must be known by who has started it.
fn say(args: &ServeArgs, listening: &Listening, token: Option<&Token>, context: &Context) {
    let address = listening.address();
    let shown = match address.ip() {
        ip if ip.is_unspecified() => SocketAddr::new(IpAddr::from([127, 0, 0, 1]), address.port()),
        _ => address,
    };
    context.out(&format!("http://{shown}/"));
    match (token, &args.token_file) {
        (Some(_), Some(file)) => context.say(&format!("the token is that of {}", file.display())),
        // The only time that it is shown: also where little is to be said.
        (Some(token), None) => {
            context.warn(&format!("with its token: http://{shown}/?token={}", token.shown()));
            if address.ip().is_loopback() {
                context.say(
                    "the token is needed to start, stop or change something; anyone on this machine may look",
                );
            }
        }
        (None, _) => context.say("anyone on this machine may look"),
    }
    if !address.ip().is_loopback() {
        context.warn(&format!(
            "warning: {address} can be reached from other machines, and the connection is not encrypted; \
             let a proxy with TLS listen there, or use ssh -L"
        ));
    }
    if args.read_only {
        context.say("read only: nothing can be started, stopped or changed");
    }
    context.say("Ctrl-C ends it");
}

/// The token that clients need; `None`: none, where nothing can be changed.
fn token(args: &ServeArgs) -> Result<Option<Token>, Failure> {
    let Some(file) = &args.token_file else {
        let needed = !(args.listen.ip().is_loopback() && args.read_only);
        return needed.then(|| random().map(Token::of_random)).transpose();
    };
    let shown = file.display();
    let failed = |error: std::io::Error| Failure::usage(format!("--token-file {shown}: {error}"));
    let meta = std::fs::metadata(file).map_err(failed)?;
    if meta.mode() & 0o077 != 0 {
        return Err(Failure::usage(format!(
            "--token-file {shown}: other users may read or change it (mode {:o}); chmod 600 {shown}",
            meta.mode() & 0o777
        )));
    }
    let text = std::fs::read_to_string(file).map_err(failed)?;
    Token::of_text(&text).map(Some).map_err(|why| Failure::usage(format!("--token-file {shown}: {why}")))
}

/// Random bytes of the system.
fn random<const N: usize>() -> Result<[u8; N], Failure> {
    let mut bytes = [0; N];
    for part in bytes.chunks_mut(8) {
        let drawn = assay_runner::random_u64()?.to_le_bytes();
        part.copy_from_slice(&drawn[..part.len()]);
    }
    Ok(bytes)
}

/// Where what can be made again is kept: `$XDG_CACHE_HOME/assay`, else `~/.cache/assay`.
fn cache() -> Option<PathBuf> {
    let of = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    Some(of("XDG_CACHE_HOME").or_else(|| Some(of("HOME")?.join(".cache")))?.join("assay"))
}

/// The name of the index of a directory of runs: each has its own.
fn index_name(runs: &Path) -> String {
    let path = std::fs::canonicalize(runs).unwrap_or_else(|_| runs.to_owned());
    // FNV-1a: the name is to differ, not to be secret.
    let hash = path.as_os_str().as_encoded_bytes().iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("index-{hash:016x}.sqlite")
}

impl From<ServeError> for Failure {
    fn from(error: ServeError) -> Self {
        match error {
            ServeError::NoToken(_) => Failure::usage(error),
            ServeError::Listen { ref source, .. } => match source.kind() {
                std::io::ErrorKind::AddrInUse => Failure::usage(format!(
                    "{error}; another address: --listen 127.0.0.1:0 takes a free port"
                )),
                _ => Failure::usage(error),
            },
            error => Failure::failed(error),
        }
    }
}
