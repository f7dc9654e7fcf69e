//! Reads the kinds and the logs that `gpuc doctor` needs.

use std::collections::BTreeMap;
use std::sync::Arc;

use gpuc_live::read::{KindEntry, MANIFEST_FILE, Manifest, StateBuilder, resource_name};
use gpuc_live::redact::{redact_page, redact_text};
use gpuc_live::state::{ClusterState, Completeness, KINDS, Kind, LogTarget, log_targets};
use kube::Client;
use serde::Deserialize;
use serde_json::Value;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::Limits;
use crate::request::{RequestError, escape, get};

/// A file of a snapshot.
#[derive(Debug)]
pub struct Page {
    /// The path in the snapshot.
    pub path: String,
    /// The content, without secrets.
    pub bytes: Vec<u8>,
}

/// The result of reading a cluster.
#[derive(Debug)]
pub struct Collection {
    /// The state of the cluster.
    pub state: ClusterState,
    /// What was read of each kind.
    pub manifest: Manifest,
}

/// Reads the state of a cluster. Each page is passed to `store` as soon as it was read, the manifest last.
///
/// `time` is the current time in RFC 3339, and `version` the version of gpuc. An error means that nothing could be
/// read.
pub async fn collect(
    client: &Client,
    limits: &Limits,
    time: &str,
    version: &str,
    mut store: impl FnMut(Page) -> Result<(), String>,
) -> Result<Collection, String> {
    let deadline = Instant::now() + limits.run;
    let server_version = server_version(client, limits, deadline)
        .await
        .map_err(|error| error.text())?;
    let groups = api_groups(client, limits, deadline).await;
    let permits = Arc::new(Semaphore::new(limits.concurrent));
    let mut builder = StateBuilder::default();
    let mut manifest = Manifest {
        version: 1,
        gpuc: version.to_owned(),
        time: time.to_owned(),
        server_version: Some(server_version),
        kinds: BTreeMap::new(),
        unread_logs: 0,
    };
    let mut lists = JoinSet::new();
    for info in KINDS {
        let (client, limits, permits) = (client.clone(), *limits, Arc::clone(&permits));
        let versions = versions_of(info.group, &groups);
        lists.spawn(async move {
            let list = match versions {
                Ok(versions) => {
                    list_kind(&client, info.kind, &versions, &limits, deadline, &permits).await
                }
                Err(completeness) => KindList::new(completeness),
            };
            (info.kind, list)
        });
    }
    let mut kinds = BTreeMap::new();
    while let Some(joined) = lists.join_next().await {
        let (kind, list) = joined.map_err(|error| error.to_string())?;
        kinds.insert(kind, list);
    }
    for (kind, list) in kinds {
        let name = resource_name(kind);
        for (number, bytes) in list.pages.into_iter().enumerate() {
            let path = format!("objects/{name}/{:04}.json", number + 1);
            builder.add(&path, &bytes);
            store(Page { path, bytes })?;
        }
        manifest
            .kinds
            .insert(name, KindEntry::new(&list.completeness, list.count));
    }
    let targets = log_targets(builder.state());
    let (logs, unread) = read_logs(client, targets, limits, deadline, &permits).await;
    manifest.unread_logs = unread;
    for (path, text) in logs {
        builder.add(&path, text.as_bytes());
        let bytes = text.into_bytes();
        store(Page { path, bytes })?;
    }
    let bytes = serde_json::to_vec_pretty(&manifest).map_err(|error| error.to_string())?;
    builder.add(MANIFEST_FILE, &bytes);
    let path = MANIFEST_FILE.to_owned();
    store(Page { path, bytes })?;
    let (state, _) = builder.finish();
    Ok(Collection { state, manifest })
}

async fn server_version(
    client: &Client,
    limits: &Limits,
    deadline: Instant,
) -> Result<String, RequestError> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Version {
        git_version: String,
    }
    let text = get(client, "/version", limits, deadline).await?;
    let version: Result<Version, _> = serde_json::from_str(&text);
    let version = version.map_err(|_| RequestError::Other("the response is not JSON".to_owned()));
    Ok(version?.git_version)
}

/// The versions of each API group, the preferred version first.
type Groups = Result<BTreeMap<String, Vec<String>>, RequestError>;

async fn api_groups(client: &Client, limits: &Limits, deadline: Instant) -> Groups {
    #[derive(Deserialize)]
    struct List {
        groups: Vec<Group>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Group {
        name: String,
        versions: Vec<Version>,
        preferred_version: Option<Version>,
    }
    #[derive(Deserialize)]
    struct Version {
        version: String,
    }
    let text = get(client, "/apis", limits, deadline).await?;
    let list: List = serde_json::from_str(&text)
        .map_err(|_| RequestError::Other("the list of API groups is not JSON".to_owned()))?;
    let groups = list.groups.into_iter().map(|group| {
        let preferred = group.preferred_version.map(|it| it.version);
        let others = group.versions.into_iter().map(|it| it.version);
        let mut versions: Vec<String> = preferred.clone().into_iter().collect();
        versions.extend(others.filter(|it| Some(it) != preferred.as_ref()));
        (group.name, versions)
    });
    Ok(groups.collect())
}

/// The paths of the versions of a group, or what is known about its kinds without a request.
fn versions_of(group: &str, groups: &Groups) -> Result<Vec<String>, Completeness> {
    if group.is_empty() {
        return Ok(vec!["/api/v1".to_owned()]);
    }
    let groups = groups.as_ref().map_err(|error| match error {
        RequestError::Forbidden => Completeness::Forbidden,
        other => Completeness::Failed {
            error: other.text(),
        },
    })?;
    let Some(versions) = groups.get(group) else {
        return Err(Completeness::NotServed);
    };
    let paths = versions.iter().map(|it| format!("/apis/{group}/{it}"));
    Ok(paths.collect())
}

/// What was read of a kind.
struct KindList {
    pages: Vec<Vec<u8>>,
    count: usize,
    completeness: Completeness,
}

impl KindList {
    fn new(completeness: Completeness) -> Self {
        Self {
            pages: Vec::new(),
            count: 0,
            completeness,
        }
    }
}

async fn list_kind(
    client: &Client,
    kind: Kind,
    versions: &[String],
    limits: &Limits,
    deadline: Instant,
    permits: &Semaphore,
) -> KindList {
    let mut list = KindList::new(Completeness::NotServed);
    for version in versions {
        let path = format!("{version}/{}", kind.info().plural);
        list = list_path(client, kind, &path, limits, deadline, permits).await;
        // Another version of the group may serve the kind.
        if list.completeness != Completeness::NotServed {
            return list;
        }
    }
    list
}

/// Lists a path page by page. A list that expires is started once more.
async fn list_path(
    client: &Client,
    kind: Kind,
    path: &str,
    limits: &Limits,
    deadline: Instant,
    permits: &Semaphore,
) -> KindList {
    let mut list = KindList::new(Completeness::Complete);
    let (mut token, mut has_restarted) = (String::new(), false);
    loop {
        let next = match token.as_str() {
            "" => String::new(),
            token => format!("&continue={}", escape(token)),
        };
        let url = format!("{path}?limit={}{next}", limits.page);
        let response = {
            let Ok(_permit) = permits.acquire().await else {
                return list;
            };
            get(client, &url, limits, deadline).await
        };
        let page = match response {
            Ok(text) => parse_page(kind, &text),
            Err(RequestError::Expired) if !has_restarted => {
                has_restarted = true;
                token.clear();
                list = KindList::new(Completeness::Complete);
                continue;
            }
            Err(error) => Err(error),
        };
        let (bytes, count, next_token) = match page {
            Ok(page) => page,
            Err(error) => {
                list.completeness = incomplete(&error, list.pages.is_empty());
                return list;
            }
        };
        list.count += count;
        list.pages.push(bytes);
        if next_token.is_empty() {
            return list;
        }
        if list.count >= limits.objects {
            list.completeness = Completeness::Truncated {
                reason: format!("only the first {} objects were read", list.count),
            };
            return list;
        }
        token = next_token;
    }
}

/// Whether a list is complete after an error.
fn incomplete(error: &RequestError, is_first: bool) -> Completeness {
    match error {
        RequestError::Forbidden => Completeness::Forbidden,
        RequestError::NotFound if is_first => Completeness::NotServed,
        other if is_first => Completeness::Failed {
            error: other.text(),
        },
        other => Completeness::Truncated {
            reason: other.text(),
        },
    }
}

/// A page without secrets, the number of its objects, and the token of the next page.
fn parse_page(kind: Kind, text: &str) -> Result<(Vec<u8>, usize, String), RequestError> {
    let unreadable = |what: &str| RequestError::Other(format!("the response {what}"));
    let mut list: Value =
        serde_json::from_str(text).map_err(|_| unreadable("is not complete JSON"))?;
    let token = list["metadata"]["continue"].as_str().unwrap_or_default();
    let token = token.to_owned();
    let count = match &list["items"] {
        Value::Array(items) => items.len(),
        Value::Null => 0,
        _ => return Err(unreadable("has no list of objects")),
    };
    redact_page(kind, &mut list);
    let bytes = serde_json::to_vec_pretty(&list).map_err(|_| unreadable("cannot be written"))?;
    Ok((bytes, count, token))
}

/// The ends of logs by path, and the number of logs that could not be read.
async fn read_logs(
    client: &Client,
    targets: Vec<LogTarget>,
    limits: &Limits,
    deadline: Instant,
    permits: &Arc<Semaphore>,
) -> (BTreeMap<String, String>, usize) {
    let mut requests = JoinSet::new();
    for target in targets {
        let (client, limits, permits) = (client.clone(), *limits, Arc::clone(permits));
        requests.spawn(async move {
            let previous = if target.is_previous { "&previous=true" } else { "" };
            let url = format!(
                "/api/v1/namespaces/{}/pods/{}/log?container={}&tailLines={}&limitBytes=262144{previous}",
                target.namespace, target.pod, target.container, limits.log_lines
            );
            let Ok(_permit) = permits.acquire().await else {
                return Err(RequestError::Timeout);
            };
            let text = get(&client, &url, &limits, deadline).await?;
            Ok((target.path(), redact_text(&text)))
        });
    }
    let (mut logs, mut unread) = (BTreeMap::new(), 0);
    while let Some(joined) = requests.join_next().await {
        match joined {
            Ok(Ok((path, text))) => {
                logs.insert(path, text);
            }
            Ok(Err(error)) if is_without_log(&error) => {}
            Ok(Err(_)) | Err(_) => unread += 1,
        }
    }
    (logs, unread)
}

/// Whether a container has no log: its pod was deleted, or it has not started.
fn is_without_log(error: &RequestError) -> bool {
    match error {
        RequestError::NotFound => true,
        // The API server answers 400 for containers that wait to start, and for previous containers that are gone.
        RequestError::Other(error) => error.starts_with("400: "),
        _ => false,
    }
}
