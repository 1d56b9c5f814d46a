//! The pods of a run: whether they run, and if not, why.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::{ContainerStatus, Event, PersistentVolumeClaim, Pod};
use kube::api::ListParams;

use super::cluster::Cluster;
use super::error::KubeError;
use super::manifests::{COORDINATOR, Objects, PART_LABEL, RUN_LABEL};

/// How often pods are looked at.
const LOOK: Duration = Duration::from_millis(500);
/// Reasons for which a container waits that time does not mend; it is given this long to show otherwise.
const HOPELESS: [&str; 7] = [
    "ErrImageNeverPull",
    "InvalidImageName",
    "ImagePullBackOff",
    "CreateContainerConfigError",
    "CreateContainerError",
    "RunContainerError",
    "CrashLoopBackOff",
];
const HOPELESS_AFTER: Duration = Duration::from_secs(8);

/// A pod that runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Running {
    /// Its name.
    pub name: String,
    /// Its UID: a pod of the same name that was made again has another.
    pub uid: String,
    /// The node it is on.
    pub node: String,
    /// How often its containers were started again.
    pub restarts: i32,
}

fn containers(pod: &Pod) -> impl Iterator<Item = &ContainerStatus> {
    let status = pod.status.as_ref();
    let own = status.and_then(|status| status.container_statuses.as_deref()).unwrap_or_default();
    let first = status.and_then(|status| status.init_container_statuses.as_deref()).unwrap_or_default();
    first.iter().chain(own)
}

/// The pod, where all of its containers run and it is not about to go.
pub(super) fn running(pod: &Pod) -> Option<Running> {
    let status = pod.status.as_ref()?;
    let ready = status.conditions.iter().flatten().any(|one| one.type_ == "Ready" && one.status == "True");
    let runs =
        status.phase.as_deref() == Some("Running") && ready && pod.metadata.deletion_timestamp.is_none();
    runs.then(|| Running {
        name: pod.metadata.name.clone().unwrap_or_default(),
        uid: pod.metadata.uid.clone().unwrap_or_default(),
        node: pod.spec.as_ref().and_then(|spec| spec.node_name.clone()).unwrap_or_default(),
        restarts: containers(pod).map(|one| one.restart_count).sum(),
    })
}

/// What became of a pod that ran; `None`: it still does, as it did.
pub(super) fn what_became(was: &Running, pod: Option<&Pod>) -> Option<String> {
    let Some(pod) = pod else { return Some(format!("pod {} was deleted", was.name)) };
    if pod.metadata.uid.as_deref() != Some(&was.uid) {
        return Some(format!("pod {} was deleted, and made again by its StatefulSet", was.name));
    }
    if pod.metadata.deletion_timestamp.is_some() {
        return Some(format!("pod {} is being deleted", was.name));
    }
    let restarts: i32 = containers(pod).map(|one| one.restart_count).sum();
    let ended = containers(pod).find_map(|one| {
        let last = one.last_state.as_ref().and_then(|state| state.terminated.as_ref());
        one.state.as_ref().and_then(|state| state.terminated.as_ref()).or(last).cloned()
    });
    let why = ended.map_or_else(String::new, |ended| {
        let reason = ended.reason.filter(|reason| reason != "Error" && reason != "Completed");
        let reason = reason.map_or_else(String::new, |reason| format!("{reason}, "));
        format!(": {reason}status {}", ended.exit_code)
    });
    if restarts != was.restarts || !why.is_empty() {
        return Some(format!("the container of pod {} ended{why}", was.name));
    }
    let phase = pod.status.as_ref().and_then(|status| status.phase.clone()).unwrap_or_default();
    (phase != "Running").then(|| format!("pod {} is {phase}", was.name))
}

/// Why a pod does not run, as far as the pod says it itself.
fn waiting(pod: &Pod) -> Option<(String, bool)> {
    let status = pod.status.as_ref()?;
    for container in containers(pod) {
        let Some(state) = &container.state else { continue };
        if let Some(waiting) = &state.waiting {
            let reason = waiting.reason.clone().unwrap_or_default();
            if !matches!(reason.as_str(), "ContainerCreating" | "PodInitializing" | "") {
                let ended = container.last_state.as_ref().and_then(|state| state.terminated.as_ref());
                let said = ended.and_then(|ended| ended.message.clone()).or_else(|| waiting.message.clone());
                let said = said.map_or_else(String::new, |said| format!(": {}", said.trim()));
                return Some((format!("{reason}{said}"), HOPELESS.contains(&reason.as_str())));
            }
        }
        if let Some(ended) = &state.terminated {
            let said = ended.message.as_deref().unwrap_or_default().trim();
            let reason = ended.reason.clone().unwrap_or_default();
            return Some((
                format!("its container ended with status {} ({reason}) {said}", ended.exit_code),
                false,
            ));
        }
    }
    let unscheduled =
        status.conditions.iter().flatten().find(|one| one.type_ == "PodScheduled" && one.status == "False");
    let said = unscheduled?.message.clone()?;
    Some((format!("not scheduled: {said}"), false))
}

/// Waits until all pods of a part run: [`WORKER`], or one [`COORDINATOR`].
///
/// # Errors
/// [`KubeError::NotRunning`] with what the events say.
pub(super) fn wait_running(
    cluster: &Cluster,
    objects: &Objects<'_>,
    part: &str,
    say: &dyn Fn(&str),
) -> Result<Vec<Running>, KubeError> {
    let (limit, began) = (objects.options.pod_wait, Instant::now());
    let (mut hopeless_since, mut told) = (None::<Instant>, String::new());
    loop {
        let pods = pods_of(cluster, objects, part)?;
        let mut found: Vec<Running> = pods.iter().filter_map(running).collect();
        if found.len() >= objects.workers {
            found.sort_by_key(|pod| index(&pod.name));
            found.truncate(objects.workers);
            return Ok(found);
        }
        let waits: Vec<(String, bool)> = pods.iter().filter_map(waiting).collect();
        match waits.iter().any(|(_, hopeless)| *hopeless) {
            true => drop(hopeless_since.get_or_insert_with(Instant::now)),
            false => hopeless_since = None,
        }
        let gave_up = hopeless_since.is_some_and(|since| since.elapsed() > HOPELESS_AFTER);
        if gave_up || began.elapsed() > limit {
            let why = diagnosis(cluster, objects, part, &pods)?;
            let (running, wanted) = (found.len(), objects.workers);
            return Err(KubeError::NotRunning { running, wanted, waited: began.elapsed(), why });
        }
        let now = format!("{} of {} pods run", found.len(), objects.workers);
        if now != told && began.elapsed() > Duration::from_secs(3) {
            say(&now);
            told = now;
        }
        cluster.pause(LOOK)?;
    }
}

fn index(name: &str) -> usize {
    name.rsplit('-').next().and_then(|number| number.parse().ok()).unwrap_or(usize::MAX)
}

pub(super) fn pods_of(cluster: &Cluster, objects: &Objects<'_>, part: &str) -> Result<Vec<Pod>, KubeError> {
    cluster.list::<Pod>(&format!("{RUN_LABEL}={},{PART_LABEL}={part}", objects.id()))
}

/// Of each pod that does not run, and of each volume that is not bound: why. Alike reasons are told once.
fn diagnosis(
    cluster: &Cluster,
    objects: &Objects<'_>,
    part: &str,
    pods: &[Pod],
) -> Result<Vec<String>, KubeError> {
    let events = events(cluster);
    // Pods of a Job have names that are only known once they are there.
    let controller = if part == COORDINATOR { "Job" } else { "StatefulSet" };
    let own = |pod: &Pod| pod.metadata.name.clone().unwrap_or_default();
    let names: Vec<String> = match (part == COORDINATOR, pods) {
        (true, []) => vec![objects.name.clone()],
        (true, pods) => pods.iter().map(own).collect(),
        (false, _) => (0..objects.workers).map(|number| objects.pod(number)).collect(),
    };
    let mut why: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for name in names {
        let pod = pods.iter().find(|pod| pod.metadata.name.as_deref() == Some(&name));
        if pod.is_some_and(|pod| running(pod).is_some()) {
            continue;
        }
        let own = pod.and_then(waiting).map(|(said, _)| said);
        let event = || last_event(&events, "Pod", &name);
        let set = || last_event(&events, controller, &objects.name);
        let said = own.or_else(event).or_else(set).unwrap_or_else(|| "no event says why".to_owned());
        why.entry(said).or_default().push(name);
    }
    let claims = cluster.list::<PersistentVolumeClaim>(&format!("{RUN_LABEL}={}", objects.id()))?;
    for claim in claims {
        let bound = claim.status.as_ref().and_then(|status| status.phase.as_deref()) == Some("Bound");
        let name = claim.metadata.name.unwrap_or_default();
        if let Some(said) = last_event(&events, "PersistentVolumeClaim", &name).filter(|_| !bound) {
            why.entry(format!("volume claim pending: {said}")).or_default().push(name);
        }
    }
    if let Err(error) = &events {
        why.entry(format!("events are not shown: {error}")).or_default();
    }
    let line = |(said, names): (String, Vec<String>)| match &names[..] {
        [] => said,
        [one] => format!("{one}: {said}"),
        [first, .., last] => format!("{first} .. {last} ({}): {said}", names.len()),
    };
    Ok(why.into_iter().map(line).collect())
}

fn events(cluster: &Cluster) -> Result<Vec<Event>, KubeError> {
    let api = cluster.api::<Event>();
    Ok(cluster.ask("list events", async { api.list(&ListParams::default()).await })?.items)
}

/// The last event of an object: reason and message.
fn last_event(events: &Result<Vec<Event>, KubeError>, kind: &str, name: &str) -> Option<String> {
    let of = |event: &&Event| {
        event.involved_object.kind.as_deref() == Some(kind)
            && event.involved_object.name.as_deref() == Some(name)
    };
    let all = events.as_ref().ok()?.iter().filter(of);
    // Warnings say why; what is normal only says how far it came.
    let last = all.max_by_key(|event| {
        (event.type_.as_deref() == Some("Warning"), event.metadata.resource_version.clone())
    })?;
    let said = last.message.as_deref().unwrap_or_default().trim().to_owned();
    Some(format!("{} ({})", said, last.reason.as_deref().unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod(status: serde_json::Value) -> Pod {
        serde_json::from_value(json!({
            "metadata": { "name": "assay-t-0", "uid": "u1" }, "spec": { "containers": [], "nodeName": "n1" }, "status": status,
        }))
        .expect("a pod")
    }

    fn up() -> Pod {
        pod(json!({ "phase": "Running", "conditions": [{ "type": "Ready", "status": "True" }],
            "containerStatuses": [{ "name": "worker", "image": "", "imageID": "", "ready": true, "restartCount": 0 }] }))
    }

    #[test]
    fn a_pod_that_was_made_again_is_another() {
        let was = running(&up()).expect("it runs");
        assert_eq!(was.node, "n1");
        assert_eq!(what_became(&was, Some(&up())), None);
        assert!(what_became(&was, None).is_some_and(|why| why.contains("was deleted")));
        let mut again = up();
        again.metadata.uid = Some("u2".to_owned());
        assert!(what_became(&was, Some(&again)).is_some_and(|why| why.contains("made again")));
        let killed = pod(
            json!({ "phase": "Running", "containerStatuses": [{ "name": "worker", "image": "", "imageID": "", "ready": true,
            "restartCount": 1, "lastState": { "terminated": { "exitCode": 137, "reason": "OOMKilled" } } }] }),
        );
        let why = what_became(&was, Some(&killed)).expect("it ended");
        assert_eq!(why, "the container of pod assay-t-0 ended: OOMKilled, status 137");
    }

    #[test]
    fn what_a_pod_waits_for_is_told() {
        let unscheduled = pod(json!({ "phase": "Pending", "conditions": [
            { "type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/1 nodes are available: 1 Insufficient cpu." }] }));
        assert_eq!(
            waiting(&unscheduled),
            Some(("not scheduled: 0/1 nodes are available: 1 Insufficient cpu.".to_owned(), false))
        );
        let no_image = pod(
            json!({ "phase": "Pending", "containerStatuses": [{ "name": "worker", "image": "", "imageID": "", "ready": false,
            "restartCount": 0, "state": { "waiting": { "reason": "ErrImageNeverPull", "message": "Container image \"x\" is not present" } } }] }),
        );
        let (said, hopeless) = waiting(&no_image).expect("it waits");
        assert!(hopeless && said.contains("ErrImageNeverPull: Container image"), "{said}");
        assert_eq!(waiting(&up()), None);
    }
}
