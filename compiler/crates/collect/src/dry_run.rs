//! Applies objects as a dry run: the API server answers with each object as it would be, and stores nothing.
//!
//! Server-side apply with `dryRun=All` runs admission, defaults and validation
//! (<https://kubernetes.io/docs/reference/using-api/api-concepts/#dry-run>, 2026-11-28).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use http::Request;
use kube::Client;
use serde::Deserialize;
use serde_json::Value;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::Limits;
use crate::request::{Failure, RequestError, escape, get, send};

/// The answer of the API server for one object.
#[derive(Clone, Debug, PartialEq)]
pub struct DryRun {
    /// The object in the cluster; `None` if it does not exist.
    pub live: Option<Value>,
    /// The object as it would be after it is applied.
    pub predicted: Result<Value, Refusal>,
    /// The fields that another field manager owns with another value.
    pub conflicts: Vec<Conflict>,
    /// The field manager of the request.
    pub manager: String,
}

/// A field that another field manager owns.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Conflict {
    /// The path, as the API server writes it: `.spec.replicas`.
    pub field: String,
    /// The other manager, such as `kubectl-edit`.
    pub manager: String,
}

/// Why the API server does not say how an object would be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It does not serve the kind.
    KindNotServed,
    /// The namespace of the object does not exist.
    NamespaceNotFound,
    /// The user lacks the right for this verb.
    Forbidden(&'static str),
    /// It rejects the object. Contains the reason.
    Rejected(String),
    /// It did not answer, or cannot do a dry run. Contains the reason.
    NotAnswered(String),
}

/// How objects are applied.
#[derive(Clone, Copy, Debug)]
pub struct Applier<'a> {
    /// The field manager for objects that none of `known` has applied.
    pub manager: &'a str,
    /// The field managers of tools that apply the objects. An object keeps the one that applied it.
    pub known: &'a [&'a str],
    /// Prefixes of labels and annotations that these tools add to the objects.
    pub added_metadata: &'a [&'a str],
}

/// Applies objects as a dry run, and returns the answers in the same order. `progress` is called for each answer.
///
/// An error means that the API server does not answer at all.
pub async fn dry_run(
    client: &Client,
    limits: &Limits,
    objects: Vec<Value>,
    applier: Applier<'_>,
    mut progress: impl FnMut(),
) -> Result<Vec<DryRun>, String> {
    let deadline = Instant::now() + limits.run;
    get(client, "/version", limits, deadline)
        .await
        .map_err(|error| error.text())?;
    let permits = Arc::new(Semaphore::new(limits.concurrent));
    let resources = Arc::new(resources(client, limits, deadline, &objects).await);
    let applier = Arc::new(OwnedApplier {
        manager: applier.manager.to_owned(),
        known: applier.known.iter().map(ToString::to_string).collect(),
        added_metadata: (applier.added_metadata.iter())
            .map(ToString::to_string)
            .collect(),
    });
    let count = objects.len();
    let mut requests = JoinSet::new();
    for (index, object) in objects.into_iter().enumerate() {
        let (client, limits) = (client.clone(), *limits);
        let (permits, resources) = (Arc::clone(&permits), Arc::clone(&resources));
        let applier = Arc::clone(&applier);
        requests.spawn(async move {
            let _permit = permits.acquire().await;
            let session = Session {
                client: &client,
                limits: &limits,
                deadline,
            };
            let answer = session.dry_run(&resources, object, &applier).await;
            (index, answer)
        });
    }
    let mut answers = BTreeMap::new();
    while let Some(joined) = requests.join_next().await {
        let (index, answer) = joined.map_err(|error| error.to_string())?;
        answers.insert(index, answer);
        progress();
    }
    debug_assert_eq!(answers.len(), count);
    Ok(answers.into_values().collect())
}

struct OwnedApplier {
    manager: String,
    known: Vec<String>,
    added_metadata: Vec<String>,
}

/// A resource of the API.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Resource {
    pub(crate) kind: String,
    pub(crate) name: String,
    pub(crate) namespaced: bool,
}

/// The resources by API version, or why they are not known.
pub(crate) type Resources = BTreeMap<String, Result<Vec<Resource>, Refusal>>;

/// The resources of all API versions of the objects.
pub(crate) async fn resources(
    client: &Client,
    limits: &Limits,
    deadline: Instant,
    objects: &[Value],
) -> Resources {
    #[derive(Deserialize)]
    struct List {
        resources: Vec<Resource>,
    }
    let versions: BTreeSet<&str> = objects.iter().map(|it| text(it, "apiVersion")).collect();
    let mut known = BTreeMap::new();
    for version in versions {
        let path = format!("/{}/{version}", api_root(version));
        let found = match get(client, &path, limits, deadline).await {
            Ok(text) => match serde_json::from_str::<List>(&text) {
                Ok(list) => Ok(list.resources),
                Err(_) => Err(Refusal::NotAnswered(format!("{path} is not complete JSON"))),
            },
            Err(RequestError::NotFound) => Err(Refusal::KindNotServed),
            Err(RequestError::Forbidden) => Err(Refusal::Forbidden("get")),
            Err(other) => Err(Refusal::NotAnswered(other.text())),
        };
        known.insert(version.to_owned(), found);
    }
    known
}

/// The root of the paths of an API version. Versions of the core group have no group.
pub(crate) fn api_root(version: &str) -> &'static str {
    if version.contains('/') { "apis" } else { "api" }
}

pub(crate) fn text<'a>(object: &'a Value, key: &str) -> &'a str {
    object[key].as_str().unwrap_or_default()
}

/// The path of an object in the API.
pub(crate) fn object_path(resources: &Resources, object: &Value) -> Result<String, Refusal> {
    let version = text(object, "apiVersion");
    let list = match resources.get(version) {
        Some(Ok(list)) => list,
        Some(Err(refusal)) => return Err(refusal.clone()),
        None => return Err(Refusal::KindNotServed),
    };
    let kind = text(object, "kind");
    // Subresources such as `deployments/scale` have kinds of their own.
    let mut served = list.iter().filter(|it| !it.name.contains('/'));
    let Some(resource) = served.find(|it| it.kind == kind) else {
        return Err(Refusal::KindNotServed);
    };
    let namespace = match object["metadata"]["namespace"].as_str() {
        _ if !resource.namespaced => String::new(),
        Some(namespace) => format!("/namespaces/{namespace}"),
        None => "/namespaces/default".to_owned(),
    };
    let (root, name) = (api_root(version), text(&object["metadata"], "name"));
    let name = escape(name);
    Ok(format!(
        "/{root}/{version}{namespace}/{}/{name}",
        resource.name
    ))
}

/// The connection and the deadlines of a run.
#[derive(Clone, Copy)]
struct Session<'a> {
    client: &'a Client,
    limits: &'a Limits,
    deadline: Instant,
}

impl Session<'_> {
    async fn dry_run(
        self,
        resources: &Resources,
        mut object: Value,
        applier: &OwnedApplier,
    ) -> DryRun {
        let mut answer = DryRun {
            live: None,
            predicted: Err(Refusal::KindNotServed),
            conflicts: Vec::new(),
            manager: applier.manager.clone(),
        };
        let path = match object_path(resources, &object) {
            Ok(path) => path,
            Err(refusal) => {
                answer.predicted = Err(refusal);
                return answer;
            }
        };
        match self.read(&path).await {
            Ok(live) => answer.live = live,
            Err(refusal) => {
                answer.predicted = Err(refusal);
                return answer;
            }
        }
        if let Some(live) = &answer.live {
            if let Some(manager) = applied_by(live, &applier.known) {
                answer.manager = manager;
            }
            keep_metadata(live, &mut object, &applier.added_metadata);
        }
        let body = object.to_string().into_bytes();
        answer.predicted = match self.patch(&path, &body, &answer.manager, false).await {
            Err(failure) => match conflicts(&failure) {
                found if found.is_empty() => Err(refusal(&failure)),
                found => {
                    answer.conflicts = found;
                    let forced = self.patch(&path, &body, &answer.manager, true).await;
                    forced.map_err(|failure| refusal(&failure))
                }
            },
            Ok(predicted) => Ok(predicted),
        };
        answer
    }

    /// The object at a path; `None` if it does not exist.
    async fn read(self, path: &str) -> Result<Option<Value>, Refusal> {
        match get(self.client, path, self.limits, self.deadline).await {
            Ok(text) => serde_json::from_str(&text)
                .map(Some)
                .map_err(|_| Refusal::NotAnswered("the response is not complete JSON".to_owned())),
            Err(RequestError::NotFound) => Ok(None),
            Err(RequestError::Forbidden) => Err(Refusal::Forbidden("get")),
            Err(other) => Err(Refusal::NotAnswered(other.text())),
        }
    }

    /// Applies an object as a dry run. With `force`, the request takes over fields of other managers.
    async fn patch(
        self,
        path: &str,
        body: &[u8],
        manager: &str,
        force: bool,
    ) -> Result<Value, Failure> {
        let force = if force { "&force=true" } else { "" };
        let url = format!("{path}?dryRun=All&fieldManager={manager}&fieldValidation=Strict{force}");
        let request = || {
            Request::patch(&url)
                .header("content-type", "application/apply-patch+yaml")
                .body(body.to_vec())
        };
        let text = send(self.client, request, self.limits, self.deadline).await?;
        serde_json::from_str(&text)
            .map_err(|_| Failure::Connection("the response is not complete JSON".to_owned()))
    }
}

/// The manager among `known` that applied an object last.
fn applied_by(live: &Value, known: &[String]) -> Option<String> {
    let entries = live["metadata"]["managedFields"].as_array()?;
    let applied = entries.iter().filter(|entry| {
        entry["operation"] == "Apply" && entry["subresource"].as_str().is_none_or(str::is_empty)
    });
    let known = applied.filter(|entry| known.iter().any(|it| entry["manager"] == it.as_str()));
    let last = known.max_by_key(|entry| entry["time"].as_str().unwrap_or_default());
    Some(last?["manager"].as_str()?.to_owned())
}

/// Adds the labels and annotations of the cluster's object whose names have one of the prefixes.
fn keep_metadata(live: &Value, object: &mut Value, prefixes: &[String]) {
    for part in ["labels", "annotations"] {
        let Some(entries) = live["metadata"][part].as_object() else {
            continue;
        };
        for (key, value) in entries {
            let is_own = prefixes.iter().any(|prefix| key.starts_with(prefix));
            if is_own && object["metadata"][part].get(key).is_none() {
                object["metadata"][part][key] = value.clone();
            }
        }
    }
}

/// The conflicts that a failure names. Without causes, 409 has another reason, such as a deletion in progress.
fn conflicts(failure: &Failure) -> Vec<Conflict> {
    let Failure::Status(status) = failure else {
        return Vec::new();
    };
    let causes = (status.details.iter()).flat_map(|details| &details.causes);
    let causes = causes.filter(|cause| cause.reason == "FieldManagerConflict");
    let conflicts = causes.map(|cause| Conflict {
        field: cause.field.clone(),
        manager: quoted(&cause.message).to_owned(),
    });
    let conflicts: BTreeSet<Conflict> = conflicts.collect();
    conflicts.into_iter().collect()
}

/// The manager in `conflict with "kubectl-edit" using v1` or `conflict with "kubectl-edit" with subresource "scale"`.
///
/// Source: kubernetes-sigs/structured-merge-diff `merge/conflict.go` and k8s.io/apimachinery
/// `pkg/util/managedfields/internal/conflict.go`, from memory, 2026-11-28.
fn quoted(message: &str) -> &str {
    message.split('"').nth(1).unwrap_or(message)
}

/// Why a request to apply an object failed.
fn refusal(failure: &Failure) -> Refusal {
    let Failure::Status(status) = failure else {
        return Refusal::NotAnswered(failure.text());
    };
    let is_namespace = status
        .details
        .as_ref()
        .is_some_and(|it| it.kind == "namespaces");
    // Webhooks with side effects answer 400 to a dry run: `admission webhook "x" does not support dry run`.
    let is_webhook = status.message.contains("does not support dry run");
    match status.code {
        403 if is_denied_by_admission(&status.message) => Refusal::Rejected(failure.text()),
        401 | 403 => Refusal::Forbidden("patch"),
        404 if is_namespace => Refusal::NamespaceNotFound,
        404 => Refusal::KindNotServed,
        _ if is_webhook => Refusal::NotAnswered(failure.text()),
        400 | 405 | 409 | 413 | 415 | 422 => Refusal::Rejected(failure.text()),
        _ => Refusal::NotAnswered(failure.text()),
    }
}

/// Whether a 403 is the verdict of admission and not of authorization, which names the user and the verb:
/// `User "x" cannot patch resource "y"`.
fn is_denied_by_admission(message: &str) -> bool {
    !message.contains("cannot patch resource")
}
