//! Kubernetes: what is asked of it, the objects of a run, permissions, and, with the feature `kube`, the cluster itself.
//!
//! Plain objects and no operator: a StatefulSet of workers with volumes of their own, owned by one ConfigMap, so that removing one object
//! removes all. Workers listen on the loopback of their pods alone, and are reached through the API server. Whatever is asynchronous is in
//! `cluster`. See `docs/decisions/2026-11-24-kubernetes.md`.

use std::sync::Arc;

pub mod options;

#[cfg(feature = "kube")]
pub mod access;
#[cfg(feature = "kube")]
pub mod caches;
#[cfg(feature = "kube")]
pub mod cluster;
#[cfg(feature = "kube")]
pub mod coordinator;
#[cfg(feature = "kube")]
pub mod error;
#[cfg(feature = "kube")]
pub mod facts;
#[cfg(feature = "kube")]
pub mod forward;
#[cfg(feature = "kube")]
pub mod image;
#[cfg(feature = "kube")]
pub mod manifests;
#[cfg(feature = "kube")]
pub mod pod_network;
#[cfg(feature = "kube")]
pub mod pods;
#[cfg(feature = "kube")]
pub mod run;
#[cfg(feature = "kube")]
pub mod yaml;

pub use options::Options;

/// Says to the user what is waited for, and what is left behind.
#[derive(Clone)]
pub struct Say(Arc<dyn Fn(&str) + Send + Sync>);

impl Say {
    /// Through a function.
    pub fn new(say: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Say(Arc::new(say))
    }

    /// Says a sentence.
    pub fn say(&self, text: &str) {
        (self.0)(text);
    }
}

impl Default for Say {
    /// Says nothing.
    fn default() -> Self {
        Say::new(|_| ())
    }
}

impl std::fmt::Debug for Say {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Say")
    }
}
