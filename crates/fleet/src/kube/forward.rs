//! A stream to the worker of a pod: its port, which is on the loopback of the pod, forwarded by the API server to one end of a pair of
//! local sockets. A forward that breaks is followed by another, as long as the pod is the one that it was.

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::time::{Instant, sleep, timeout};

use super::cluster::Cluster;
use super::manifests::PORT;
use super::pods::{Running, what_became};

/// How long a worker may take to answer on a forward that is open; a port that nothing listens on yet ends at once.
const ANSWER: Duration = Duration::from_secs(10);
/// How long it is tried to open one.
const OPEN: Duration = Duration::from_secs(30);
/// Between two tries.
const RETRY: Duration = Duration::from_millis(200);
/// What is moved at once.
const MOVE_BYTES: usize = 64 << 10;

/// Why a stream ended, in words; empty: it is not known.
#[derive(Debug, Clone, Default)]
pub struct Said(Arc<Mutex<String>>);

impl Said {
    /// The words.
    pub fn words(&self) -> String {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn say(&self, words: String) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = words;
    }
}

impl Cluster {
    /// Opens a stream to a pod's worker, which is connected in the background: it ends where that is not possible, and `said` has the reason.
    ///
    /// # Errors
    /// What the system says.
    pub fn forward(&self, pod: &Running, said: &Said) -> std::io::Result<OwnedFd> {
        let (ours, theirs) = UnixStream::pair()?;
        theirs.set_nonblocking(true)?;
        let (api, pod, said) = (self.api::<Pod>(), pod.clone(), said.clone());
        self.handle.spawn(async move {
            let Ok(mut local) = tokio::net::UnixStream::from_std(theirs) else { return };
            if let Err(why) = bridge(&api, &pod, &mut local).await {
                said.say(why);
            }
        });
        Ok(ours.into())
    }
}

impl super::run::KubeRun {
    /// What the pod of a worker sees of its volumes: JSON with texts as `ls -ls`, `df -h` and `mount` have them.
    ///
    /// # Errors
    /// A sentence.
    pub fn listing(&self, pod: &Running) -> Result<String, String> {
        let api = self.cluster.api::<Pod>();
        let read = async {
            let failed = |error: &dyn std::fmt::Display| format!("pod {}: {error}", pod.name);
            let mut forward =
                api.portforward(&pod.name, &[PORT + 1]).await.map_err(|error| failed(&error))?;
            let mut stream = forward.take_stream(PORT + 1).ok_or_else(|| failed(&"no stream"))?;
            let mut text = Vec::new();
            stream.read_to_end(&mut text).await.map_err(|error| failed(&error))?;
            Ok(String::from_utf8_lossy(&text).into_owned())
        };
        let limited = async { timeout(ANSWER, read).await };
        self.cluster.handle.block_on(limited).unwrap_or_else(|_| Err(format!("pod {}: no answer", pod.name)))
    }
}

/// Moves bytes both ways until one side ends.
async fn bridge(api: &Api<Pod>, pod: &Running, local: &mut tokio::net::UnixStream) -> Result<(), String> {
    let until = Instant::now() + OPEN;
    loop {
        still_there(api, pod, until).await?;
        let why = match timeout(ANSWER, api.portforward(&pod.name, &[PORT])).await {
            Err(_) => format!("no answer in {} s", ANSWER.as_secs()),
            // What the account may not do does not change.
            Ok(Err(kube::Error::Api(status))) if status.code == 403 => return Err(status.message.clone()),
            Ok(Err(error)) => error.to_string(),
            Ok(Ok(mut forward)) => {
                let error = forward.take_error(PORT);
                let Some(mut remote) = forward.take_stream(PORT) else { return Err("no stream".to_owned()) };
                // A worker speaks first; before that there may be none.
                let mut first = vec![0; MOVE_BYTES];
                match timeout(ANSWER, remote.read(&mut first)).await {
                    Ok(Ok(got @ 1..)) => {
                        let moved = async {
                            local.write_all(&first[..got]).await?;
                            both_ways(local, &mut remote).await
                        };
                        let ended = moved.await;
                        forward.abort();
                        // A pod that is gone is the reason for the end of its stream.
                        still_there(api, pod, Instant::now() + RETRY).await?;
                        return ended.map_err(|error| error.to_string());
                    }
                    Ok(_) => {
                        forward.abort();
                        let said = match error {
                            Some(error) => timeout(RETRY, error).await.ok().flatten(),
                            None => None,
                        };
                        said.unwrap_or_else(|| format!("nothing listens on port {PORT} of the pod"))
                    }
                    Err(_) => format!("its worker did not speak in {} s", ANSWER.as_secs()),
                }
            }
        };
        if Instant::now() > until {
            return Err(format!("cannot forward a port to pod {}: {}", pod.name, why.trim()));
        }
        sleep(RETRY).await;
    }
}

/// Whether the pod is the one that it was. An API server that does not answer is asked again.
async fn still_there(api: &Api<Pod>, pod: &Running, until: Instant) -> Result<(), String> {
    loop {
        match timeout(ANSWER, api.get_opt(&pod.name)).await {
            Ok(Ok(found)) => return what_became(pod, found.as_ref()).map_or(Ok(()), Err),
            Ok(Err(kube::Error::Api(status))) => return Err(status.message.clone()),
            Ok(Err(_)) | Err(_) if Instant::now() < until => sleep(RETRY).await,
            Ok(Err(_)) | Err(_) => return Ok(()),
        }
    }
}

/// As soon as one side has ended, the other is of no use: a stream cannot be half of one here.
async fn both_ways(
    local: &mut tokio::net::UnixStream,
    remote: &mut (impl AsyncRead + AsyncWrite + Unpin),
) -> std::io::Result<()> {
    let (mut from_local, mut from_remote) = (vec![0; MOVE_BYTES], vec![0; MOVE_BYTES]);
    loop {
        tokio::select! {
            got = local.read(&mut from_local) => match got? {
                0 => return remote.shutdown().await,
                got => {
                    remote.write_all(&from_local[..got]).await?;
                    remote.flush().await?;
                }
            },
            got = remote.read(&mut from_remote) => match got? {
                0 => return Ok(()),
                got => local.write_all(&from_remote[..got]).await?,
            },
        }
    }
}
