//! What the API server, or what it runs, does not do.

use std::time::Duration;

/// Why something could not be done in a cluster.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KubeError {
    /// There is no configuration to reach a cluster with, or it makes no sense.
    #[error("no cluster: {0}; set KUBECONFIG, or name a context of it")]
    Config(String),
    /// The cluster does not answer.
    #[error("cannot reach the cluster{server}: {why}")]
    Unreachable {
        /// Its address, with a space before it.
        server: String,
        /// What went wrong.
        why: String,
    },
    /// Permissions are missing.
    #[error(
        "not permitted in namespace {namespace}: {}; 'assay kube rbac' prints a Role that is enough", missing.join(", ")
    )]
    Forbidden {
        /// Where.
        namespace: String,
        /// The verbs with their resources: `create pods/portforward`.
        missing: Vec<String>,
    },
    /// The API server refuses.
    #[error("cannot {doing}: {why}")]
    Refused {
        /// What was asked for: `create StatefulSet assay-k3`.
        doing: String,
        /// In its words.
        why: String,
    },
    /// Pods do not run.
    #[error(
        "{running} of {wanted} pods run after {} s: {}; nothing was measured, and what was made is removed", waited.as_secs(), why.join("; ")
    )]
    NotRunning {
        /// Pods that run.
        running: usize,
        /// Pods that were asked for.
        wanted: usize,
        /// How long it was waited for.
        waited: Duration,
        /// Of each pod that does not, why, with the events that say so.
        why: Vec<String>,
    },
    /// What is asked for is not there, or not any more.
    #[error("{what} is not there")]
    Gone {
        /// What.
        what: String,
    },
    /// Something else took too long.
    #[error("{what} took longer than {} s", after.as_secs())]
    Late {
        /// What.
        what: String,
        /// The limit.
        after: Duration,
    },
    /// The user wants to stop.
    #[error("interrupted")]
    Stopped,
}
