//! Drops the page caches of nodes, where the user asked for it: a DaemonSet on these nodes, with one privileged container that does nothing else, and
//! removed at once. `/proc/sys/vm/drop_caches` is the node's and of no namespace, so that no less is enough.

use std::time::{Duration, Instant};

use k8s_openapi::api::apps::v1::DaemonSet;
use k8s_openapi::api::core::v1::{Event, Pod};
use kube::api::ListParams;

use super::error::KubeError;
use super::manifests::{PART_LABEL, RUN_LABEL};
use super::run::KubeRun;

/// How long it may take on all nodes.
const WITHIN: Duration = Duration::from_secs(90);
/// How often it is looked.
const LOOK: Duration = Duration::from_millis(300);

/// What came of it on one node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dropped {
    /// The node.
    pub node: String,
    /// What the program said of it, or why it was not done.
    pub outcome: Result<String, String>,
}

/// How the init container of a pod ended; `None`: it has not.
fn ended(pod: &Pod) -> Option<(String, Result<String, String>)> {
    let node = pod.spec.as_ref()?.node_name.clone()?;
    let states = pod.status.as_ref()?.init_container_statuses.as_deref()?;
    let of = |state: &Option<k8s_openapi::api::core::v1::ContainerState>| {
        state.as_ref().and_then(|state| state.terminated.clone())
    };
    let ended = states.iter().find_map(|one| of(&one.state).or_else(|| of(&one.last_state)))?;
    let said = ended.message.unwrap_or_default().trim().to_owned();
    let failed = || {
        if said.is_empty() {
            format!("its container ended with status {}", ended.exit_code)
        } else {
            said.clone()
        }
    };
    Some((node, if ended.exit_code == 0 { Ok(said.clone()) } else { Err(failed()) }))
}

/// Of each node what came of it, and of those of which nothing came `why`.
fn outcomes(nodes: &[String], pods: &[Pod], why: &str) -> Vec<Dropped> {
    let known: Vec<(String, Result<String, String>)> = pods.iter().filter_map(ended).collect();
    let of = |node: &String| {
        let found = known.iter().find(|(on, _)| on == node).map(|(_, outcome)| outcome.clone());
        Dropped { node: node.clone(), outcome: found.unwrap_or_else(|| Err(why.to_owned())) }
    };
    nodes.iter().map(of).collect()
}

impl KubeRun {
    /// Writes back and drops the page caches of `nodes`. `number` tells one time from another.
    ///
    /// # Errors
    /// [`KubeError`] where it could not be tried at all; what came of it on a node is in the answer.
    pub fn drop_caches(&self, nodes: &[String], number: usize) -> Result<Vec<Dropped>, KubeError> {
        let objects = self.objects();
        let part = format!("drop{number}");
        let name = format!("{}-{part}", self.name);
        let _: DaemonSet = self.cluster.create(&objects.cache_dropper(&part, nodes, Some(&self.owner)))?;
        let selector = format!("{RUN_LABEL}={},{PART_LABEL}={part}", objects.id());
        let until = Instant::now() + WITHIN;
        let told = loop {
            let pods = match self.cluster.list::<Pod>(&selector) {
                Ok(pods) => pods,
                Err(error) => break Err(error),
            };
            let done = pods.iter().filter_map(ended).count();
            let is_late = Instant::now() > until;
            let refused = if pods.is_empty() { self.refused(&name) } else { None };
            if done >= nodes.len() || is_late || refused.is_some() {
                let late = format!("no pod did it in {} s", WITHIN.as_secs());
                break Ok(outcomes(nodes, &pods, &refused.unwrap_or(late)));
            }
            if let Err(stopped) = self.cluster.pause(LOOK) {
                break Err(stopped);
            }
        };
        self.cluster.delete::<DaemonSet>(&name)?;
        told
    }

    /// Why the DaemonSet makes no pods: a namespace that admits no privilege says so in an event.
    fn refused(&self, name: &str) -> Option<String> {
        let api = self.cluster.api::<Event>();
        let params = ListParams::default().fields(&format!("involvedObject.name={name},reason=FailedCreate"));
        let events = self.cluster.ask("list events", async { api.list(&params).await }).ok()?;
        events.items.into_iter().find_map(|event| event.message)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod(node: &str, status: i32, said: &str) -> Pod {
        serde_json::from_value(json!({ "metadata": {}, "spec": { "containers": [], "nodeName": node }, "status": {
            "initContainerStatuses": [{ "name": "drop", "image": "", "imageID": "", "ready": true, "restartCount": 0,
                "state": { "terminated": { "exitCode": status, "message": said } } }] } }))
        .expect("a pod")
    }

    /// Objects as an API server of three nodes has them; the lab has one node.
    #[test]
    fn each_node_has_its_outcome() {
        let nodes = ["n1", "n2", "n3"].map(str::to_owned);
        let pods =
            [pod("n2", 1, "read-only file system"), pod("n1", 0, "cached 900 MiB before, 40 MiB after")];
        let told = outcomes(&nodes, &pods, "no pod did it in 90 s");
        assert_eq!(told[0].outcome, Ok("cached 900 MiB before, 40 MiB after".to_owned()));
        assert_eq!(told[1].outcome, Err("read-only file system".to_owned()));
        assert_eq!(told[2].outcome, Err("no pod did it in 90 s".to_owned()));
    }
}
