//! A connection to a cluster. What is asynchronous stays here: one thread drives it, and everything else waits for its answers.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use k8s_openapi::api::authorization::v1::SelfSubjectAccessReview;
use kube::api::{DeleteParams, ListParams, PostParams, PropagationPolicy};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::core::NamespaceResourceScope;
use kube::{Api, Client, Config, Resource};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

use super::access::{Need, Permission, permissions};
use super::error::KubeError;
use super::manifests::{MANAGED_BY, MANAGED_LABEL, RUN_LABEL};

/// How long one request may take.
const REQUEST: Duration = Duration::from_secs(30);
/// How often it is looked whether the user wants to stop.
const LOOK: Duration = Duration::from_millis(50);
/// HTTP statuses.
const FORBIDDEN: u16 = 403;
const NOT_FOUND: u16 = 404;

/// Objects of one kind in a namespace.
pub(super) trait Kind:
    Resource<DynamicType = (), Scope = NamespaceResourceScope>
    + Clone
    + DeserializeOwned
    + Serialize
    + std::fmt::Debug
{
}

impl<K> Kind for K where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
        + Clone
        + DeserializeOwned
        + Serialize
        + std::fmt::Debug
{
}

/// A cluster, and a namespace of it.
#[derive(Clone)]
pub struct Cluster {
    pub(super) client: Client,
    pub(super) handle: Handle,
    namespace: String,
    server: String,
    stop: Arc<AtomicBool>,
    /// The thread ends when the last of these is gone.
    _driver: Arc<oneshot::Sender<()>>,
}

impl std::fmt::Debug for Cluster {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cluster").field("namespace", &self.namespace).finish_non_exhaustive()
    }
}

impl Cluster {
    /// Takes the configuration that `KUBECONFIG`, the home directory or the pod has; no request is made.
    ///
    /// # Errors
    /// [`KubeError::Config`].
    pub fn connect(
        context: Option<&str>,
        namespace: Option<&str>,
        stop: Arc<AtomicBool>,
    ) -> Result<Self, KubeError> {
        let bad = |error: &dyn std::fmt::Display| KubeError::Config(error.to_string());
        let runtime = Builder::new_current_thread().enable_all().build().map_err(|error| bad(&error))?;
        let handle = runtime.handle().clone();
        let (driver, ended) = oneshot::channel::<()>();
        let drive = move || {
            let _ = runtime.block_on(ended);
            // What still waits for a stream is not waited for.
            runtime.shutdown_background();
        };
        std::thread::Builder::new()
            .name("assay-kube".to_owned())
            .spawn(drive)
            .map_err(|error| bad(&error))?;
        let mut config = handle.block_on(configuration(context))?;
        config.connect_timeout = Some(Duration::from_secs(10));
        // A stream to a worker may be silent for longer than any request.
        (config.read_timeout, config.write_timeout) = (None, None);
        let namespace = namespace.unwrap_or(&config.default_namespace).to_owned();
        let server = config.cluster_url.to_string();
        let entered = handle.enter();
        let client = Client::try_from(config).map_err(|error| bad(&error))?;
        drop(entered);
        Ok(Cluster { client, handle, namespace, server, stop, _driver: Arc::new(driver) })
    }

    /// The namespace that all objects are made in.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// Whether the user wants to stop.
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Waits a little.
    ///
    /// # Errors
    /// [`KubeError::Stopped`].
    pub(super) fn pause(&self, time: Duration) -> Result<(), KubeError> {
        let until = std::time::Instant::now() + time;
        while std::time::Instant::now() < until {
            if self.is_stopped() {
                return Err(KubeError::Stopped);
            }
            std::thread::sleep(LOOK.min(time));
        }
        Ok(())
    }

    pub(super) fn api<K: Kind>(&self) -> Api<K> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    /// Waits for the answer to a request; `doing` says what it is for.
    pub(super) fn ask<T>(
        &self,
        doing: &str,
        request: impl Future<Output = kube::Result<T>>,
    ) -> Result<T, KubeError> {
        let limited = async { tokio::time::timeout(REQUEST, request).await };
        match self.handle.block_on(limited) {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error)) => Err(self.why(doing, error)),
            Err(_) => Err(KubeError::Unreachable {
                server: format!(" at {}", self.server),
                why: format!("no answer in {} s to the request to {doing}", REQUEST.as_secs()),
            }),
        }
    }

    pub(super) fn why(&self, doing: &str, error: kube::Error) -> KubeError {
        match error {
            kube::Error::Api(status)
                if status.code == FORBIDDEN && status.message.contains("is forbidden: User") =>
            {
                let message = &status.message;
                let word =
                    |behind: &str| message.split_once(behind).and_then(|(_, rest)| rest.split('"').next());
                let verb = message
                    .split_once("cannot ")
                    .and_then(|(_, rest)| rest.split(' ').next())
                    .unwrap_or("do");
                let group = word("in API group \"").filter(|group| !group.is_empty());
                let group = group.map_or_else(String::new, |group| format!(".{group}"));
                let resource = word("resource \"").unwrap_or("this");
                let missing = vec![format!("{verb} {resource}{group}")];
                KubeError::Forbidden { namespace: self.namespace.clone(), missing }
            }
            kube::Error::Api(status) => {
                KubeError::Refused { doing: doing.to_owned(), why: status.message.clone() }
            }
            error => KubeError::Unreachable { server: format!(" at {}", self.server), why: root(&error) },
        }
    }

    pub(super) fn create<K: Kind>(&self, object: &Value) -> Result<K, KubeError> {
        let doing = format!(
            "create {} {}",
            object["kind"].as_str().unwrap_or_default(),
            object["metadata"]["name"].as_str().unwrap_or_default()
        );
        let typed: K = serde_json::from_value(object.clone())
            .map_err(|error| KubeError::Refused { doing: doing.clone(), why: error.to_string() })?;
        let api = self.api::<K>();
        self.ask(&doing, async { api.create(&PostParams::default(), &typed).await })
    }

    /// An object; `None`: it is not there.
    pub(super) fn get<K: Kind>(&self, name: &str) -> Result<Option<K>, KubeError> {
        let api = self.api::<K>();
        self.ask(&format!("get {} {name}", K::kind(&())), async { api.get_opt(name).await })
    }

    /// The objects of a run, or of all runs, that have a label.
    pub(super) fn list<K: Kind>(&self, selector: &str) -> Result<Vec<K>, KubeError> {
        let (api, params) = (self.api::<K>(), ListParams::default().labels(selector));
        let doing = format!("list {}", K::plural(&()));
        Ok(self.ask(&doing, async { api.list(&params).await })?.items)
    }

    /// Removes an object and, behind it, what it owns; one that is not there is removed.
    pub(super) fn delete<K: Kind>(&self, name: &str) -> Result<(), KubeError> {
        let api = self.api::<K>();
        let params = DeleteParams {
            propagation_policy: Some(PropagationPolicy::Background),
            ..DeleteParams::default()
        };
        let doing = format!("delete {} {name}", K::kind(&()));
        self.ask(&doing, async {
            match api.delete(name, &params).await {
                Err(kube::Error::Api(status)) if status.code == NOT_FOUND => Ok(()),
                deleted => deleted.map(drop),
            }
        })
    }

    /// Whether a permission is given; where the question may not be asked, it is `None`.
    pub fn may(&self, permission: &Permission, verb: &str) -> Result<Option<bool>, KubeError> {
        let is_cluster = permission.need == Need::Facts;
        let review = json!({
            "apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "metadata": {},
            "spec": { "resourceAttributes": {
                "namespace": if is_cluster { "" } else { self.namespace.as_str() }, "verb": verb,
                "group": permission.group, "resource": permission.resource,
                "subresource": permission.subresource.unwrap_or_default(),
            } },
        });
        let Ok(review) = serde_json::from_value::<SelfSubjectAccessReview>(review) else { return Ok(None) };
        let api: Api<SelfSubjectAccessReview> = Api::all(self.client.clone());
        let asked = self.ask("ask for permissions", async {
            match api.create(&PostParams::default(), &review).await {
                Err(kube::Error::Api(status)) if status.code == FORBIDDEN => Ok(None),
                answer => answer.map(Some),
            }
        })?;
        Ok(asked.map(|review| review.status.is_some_and(|status| status.allowed)))
    }

    /// Refuses to begin what would stop half-way for want of a permission.
    ///
    /// # Errors
    /// [`KubeError::Forbidden`] with all that are missing.
    pub fn check_permissions(&self, needs: &[Need]) -> Result<(), KubeError> {
        let mut missing = Vec::new();
        for permission in permissions(needs) {
            for verb in permission.verbs {
                if self.may(&permission, verb)? == Some(false) {
                    missing.push(format!("{verb} {}", permission.name()));
                }
            }
        }
        if missing.is_empty() {
            Ok(())
        } else {
            Err(KubeError::Forbidden { namespace: self.namespace.clone(), missing })
        }
    }

    /// Kubernetes' version, as the API server says it.
    pub fn version(&self) -> Result<String, KubeError> {
        let client = self.client.clone();
        Ok(self.ask("ask for the version", async { client.apiserver_version().await })?.git_version)
    }
}

/// What the workers of a coordinator in the cluster are told by: they go before it does.
pub(super) fn workers_id(id: &str) -> String {
    format!("{id}-w")
}

/// The selector of a run's objects, or of all that Assay made.
pub(super) fn selector(id: Option<&str>) -> String {
    let all = format!("{MANAGED_LABEL}={MANAGED_BY}");
    id.map_or_else(|| all.clone(), |id| format!("{all},{RUN_LABEL} in ({id},{})", workers_id(id)))
}

/// The cause of an error that says something, which is the innermost.
fn root(error: &dyn std::error::Error) -> String {
    let mut innermost: &dyn std::error::Error = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}

async fn configuration(context: Option<&str>) -> Result<Config, KubeError> {
    let bad = |error: &dyn std::fmt::Display| KubeError::Config(error.to_string());
    let Some(context) = context else {
        return Config::infer().await.map_err(|error| {
            // Of all places that were tried, the one that the user can do something about.
            KubeError::Config(format!("neither a kubeconfig ({}) nor a pod's account", root(&error)))
        });
    };
    let file = Kubeconfig::read().map_err(|error| bad(&error))?;
    if !file.contexts.iter().any(|one| one.name == context) {
        let known: Vec<&str> = file.contexts.iter().map(|one| one.name.as_str()).collect();
        return Err(KubeError::Config(format!(
            "there is no context '{context}'; available: {}",
            known.join(", ")
        )));
    }
    let options = KubeConfigOptions { context: Some(context.to_owned()), ..KubeConfigOptions::default() };
    Config::from_custom_kubeconfig(file, &options).await.map_err(|error| bad(&error))
}
