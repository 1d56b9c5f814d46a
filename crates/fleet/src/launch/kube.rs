//! Workers in pods of a Kubernetes cluster: `kube:4,storage-class=fast`. They are made for the run and removed behind it; each has volumes of its own.
//! A worker listens on the loopback of its pod and is reached through the API server, so that no port is open.

use assay_workload::host::Host;

use super::{Launcher, Setting, WORKERS_MAX};

#[cfg(feature = "kube")]
mod pods;
#[cfg(feature = "kube")]
mod targets;

#[cfg(feature = "kube")]
pub use pods::Pods;

pub(super) fn parse(
    rest: Option<&str>,
    hosts: &[Host],
    setting: &Setting,
) -> Result<Box<dyn Launcher>, String> {
    let text = rest.ok_or("how many workers? kube:N")?;
    let (number, words) = text.split_once(',').unwrap_or((text, ""));
    let count = number.parse::<usize>().ok().filter(|number| (1..=WORKERS_MAX).contains(number));
    let count =
        count.ok_or_else(|| format!("'{number}' is not a number of workers from 1 to {WORKERS_MAX}"))?;
    // On top of what was asked for otherwise.
    let mut options = setting.kube.clone();
    options.take(words)?;
    if !hosts.is_empty() {
        return Err("the plan names hosts, and pods are named by Kubernetes: leave [[host]] out, or use ssh"
            .to_owned());
    }
    #[cfg(feature = "kube")]
    return Ok(Box::new(Pods::new(count, options, setting)));
    #[cfg(not(feature = "kube"))]
    {
        let _ = (count, options);
        Err("this build has no 'kube'; build one with cargo build --release --features kube".to_owned())
    }
}
