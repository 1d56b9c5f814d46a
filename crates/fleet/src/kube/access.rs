//! What may be needed of the API server, once: the Role that is printed, the questions that are asked beforehand, and what is said when
//! something is refused are all made of this table.

use serde_json::{Value, json};

/// For what a permission is needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// Each run.
    Run,
    /// A coordinator in the cluster.
    InCluster,
    /// Workers that come to it over the pod network.
    PodNetwork,
    /// Dropping the page caches of nodes.
    DropCaches,
    /// What is told of nodes, volumes and classes; without it, it is not known.
    Facts,
}

/// A permission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Permission {
    /// For what.
    pub need: Need,
    /// The API group; empty: the core.
    pub group: &'static str,
    /// The resource.
    pub resource: &'static str,
    /// Its subresource.
    pub subresource: Option<&'static str>,
    /// The verbs.
    pub verbs: &'static [&'static str],
    /// What they are used for.
    pub purpose: &'static str,
}

const fn of(
    need: Need,
    (group, resource): (&'static str, &'static str),
    verbs: &'static [&'static str],
    purpose: &'static str,
) -> Permission {
    Permission { need, group, resource, subresource: None, verbs, purpose }
}

const fn below(
    need: Need,
    (group, resource, subresource): (&'static str, &'static str, &'static str),
    verbs: &'static [&'static str],
    purpose: &'static str,
) -> Permission {
    Permission { need, group, resource, subresource: Some(subresource), verbs, purpose }
}

/// All of them. Forwarding a port is `get` up to Kubernetes 1.34 and `create` from 1.35 on.
pub const PERMISSIONS: [Permission; 12] = [
    of(Need::Run, ("", "configmaps"), &["create", "list", "delete"], "the anchor that owns a run's objects"),
    of(Need::Run, ("apps", "statefulsets"), &["create", "list", "delete"], "the workers"),
    of(Need::Run, ("", "pods"), &["get", "list"], "their state"),
    below(Need::Run, ("", "pods", "portforward"), &["create", "get"], "the streams to the workers"),
    of(Need::Run, ("", "persistentvolumeclaims"), &["get", "list", "delete"], "their volumes"),
    of(Need::Run, ("", "events"), &["list"], "why a pod or a volume is pending"),
    of(Need::InCluster, ("batch", "jobs"), &["create", "list", "delete"], "a coordinator in the cluster"),
    of(Need::PodNetwork, ("", "secrets"), &["create"], "what workers join with over the pod network"),
    of(
        Need::DropCaches,
        ("apps", "daemonsets"),
        &["create", "list", "delete"],
        "what drops the nodes' caches",
    ),
    of(Need::Facts, ("storage.k8s.io", "storageclasses"), &["list"], "parameters of storage classes"),
    of(Need::Facts, ("", "nodes"), &["list"], "the nodes"),
    of(Need::Facts, ("", "persistentvolumes"), &["get"], "what a volume is made of"),
];

impl Permission {
    /// `apps/statefulsets`, `pods/portforward`.
    pub fn name(&self) -> String {
        let group = if self.group.is_empty() { String::new() } else { format!(".{}", self.group) };
        let below = self.subresource.map_or_else(String::new, |below| format!("/{below}"));
        format!("{}{below}{group}", self.resource)
    }

    fn rule(&self) -> Value {
        let resource = self
            .subresource
            .map_or_else(|| self.resource.to_owned(), |below| format!("{}/{below}", self.resource));
        json!({ "apiGroups": [self.group], "resources": [resource], "verbs": self.verbs })
    }
}

/// The permissions that some needs come to.
pub fn permissions(needs: &[Need]) -> impl Iterator<Item = Permission> {
    PERMISSIONS.into_iter().filter(move |one| needs.contains(&one.need))
}

/// The smallest Role that is enough, with its binding to a service account; and with [`Need::Facts`] a ClusterRole that reads nodes,
/// volumes and classes.
pub fn role(namespace: &str, account: Option<&str>, needs: &[Need]) -> Vec<Value> {
    let meta = |name: &str| json!({ "name": name, "namespace": namespace, "labels": { "app.kubernetes.io/name": "assay" } });
    let rules: Vec<Value> =
        permissions(needs).filter(|one| one.need != Need::Facts).map(|one| one.rule()).collect();
    let mut objects = vec![json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": meta("assay"), "rules": rules,
    })];
    let subject =
        |account: &str| json!([{ "kind": "ServiceAccount", "name": account, "namespace": namespace }]);
    let reference = |kind: &str, name: &str| json!({ "apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name });
    if let Some(account) = account {
        objects.push(json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta(account) }));
        objects.push(json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": meta("assay"),
            "roleRef": reference("Role", "assay"), "subjects": subject(account),
        }));
    }
    if needs.contains(&Need::Facts) {
        let rules: Vec<Value> =
            permissions(needs).filter(|one| one.need == Need::Facts).map(|one| one.rule()).collect();
        let meta = json!({ "name": "assay-facts", "labels": { "app.kubernetes.io/name": "assay" } });
        objects.push(json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": meta, "rules": rules,
        }));
        if let Some(account) = account {
            objects.push(json!({
                "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": meta,
                "roleRef": reference("ClusterRole", "assay-facts"), "subjects": subject(account),
            }));
        }
    }
    objects
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_needs_no_more_than_it_uses() {
        let objects = role("bench", Some("runner"), &[Need::Run]);
        let kinds: Vec<&str> = objects.iter().filter_map(|object| object["kind"].as_str()).collect();
        assert_eq!(kinds, ["Role", "ServiceAccount", "RoleBinding"]);
        let text = objects[0].to_string();
        assert!(!text.contains("daemonsets") && !text.contains("secrets") && !text.contains('*'), "{text}");
        assert!(
            text.contains(r#"{"apiGroups":[""],"resources":["pods/portforward"],"verbs":["create","get"]}"#),
            "{text}"
        );
        let all = role("bench", None, &[Need::Run, Need::DropCaches, Need::Facts]);
        assert_eq!(all.len(), 2);
        assert!(all[0].to_string().contains("daemonsets") && all[1].to_string().contains("storageclasses"));
    }
}
