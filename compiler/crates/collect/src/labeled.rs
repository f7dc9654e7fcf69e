//! Lists the objects with a label.

use std::collections::BTreeSet;

use kube::Client;
use serde_json::Value;
use tokio::time::Instant;

use crate::Limits;
use crate::dry_run::{Refusal, Resources, api_root, resources, text};
use crate::request::{RequestError, escape, get};

/// The objects with a label, and the kinds whose objects could not be listed.
#[derive(Debug, Default, PartialEq)]
pub struct Labeled {
    /// The objects. Those that another object owns are left out.
    pub objects: Vec<Value>,
    /// The kinds that were not listed, with the reason.
    pub unread: Vec<(String, Refusal)>,
}

/// Lists the objects with a label, such as `app.kubernetes.io/managed-by=gpuc`, that have the kind of one of `objects`.
pub async fn labeled(client: &Client, limits: &Limits, objects: &[Value], label: &str) -> Labeled {
    let deadline = Instant::now() + limits.run;
    let known = resources(client, limits, deadline, objects).await;
    let kinds: BTreeSet<(&str, &str)> = (objects.iter())
        .map(|it| (text(it, "apiVersion"), text(it, "kind")))
        .collect();
    let mut found = Labeled::default();
    for (version, kind) in kinds {
        let Some(path) = list_path(&known, version, kind) else {
            continue;
        };
        let query = format!("labelSelector={}&limit={}", escape(label), limits.page);
        let first = format!("{path}?{query}");
        match list(client, limits, deadline, &first).await {
            Ok(mut items) => {
                items.retain(|it| it["metadata"]["ownerReferences"].as_array().is_none());
                for item in &mut items {
                    // Items of a list have no kind of their own.
                    item["apiVersion"] = version.into();
                    item["kind"] = kind.into();
                }
                found.objects.extend(items);
            }
            Err(refusal) => found.unread.push((kind.to_owned(), refusal)),
        }
    }
    found
}

/// The path of the objects of a kind in all namespaces; `None` if the kind is not served.
fn list_path(known: &Resources, version: &str, kind: &str) -> Option<String> {
    let list = known.get(version)?.as_ref().ok()?;
    let mut served = list.iter().filter(|it| !it.name.contains('/'));
    let resource = served.find(|it| it.kind == kind)?;
    Some(format!(
        "/{}/{version}/{}",
        api_root(version),
        resource.name
    ))
}

/// All pages of a list.
async fn list(
    client: &Client,
    limits: &Limits,
    deadline: Instant,
    first: &str,
) -> Result<Vec<Value>, Refusal> {
    let (mut items, mut url) = (Vec::new(), first.to_owned());
    loop {
        let text = match get(client, &url, limits, deadline).await {
            Ok(text) => text,
            Err(RequestError::Forbidden) => return Err(Refusal::Forbidden("list")),
            Err(other) => return Err(Refusal::NotAnswered(other.text())),
        };
        let page: Result<Value, _> = serde_json::from_str(&text);
        let Ok(mut page) = page else {
            let reason = "the response is not complete JSON".to_owned();
            return Err(Refusal::NotAnswered(reason));
        };
        if let Value::Array(more) = page["items"].take() {
            items.extend(more);
        }
        match page["metadata"]["continue"].as_str() {
            Some(token) if !token.is_empty() && items.len() < limits.objects => {
                url = format!("{first}&continue={}", escape(token));
            }
            _ => return Ok(items),
        }
    }
}
