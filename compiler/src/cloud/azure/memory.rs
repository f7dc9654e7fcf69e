//! What gpuc set on a pool or cluster of AKS, as tags that remember it. A mark is the key itself.

use serde_json::{Map, Value};

use crate::cloud::memory::{OWN, parts};

/// What begins the names of tags that remember: a tag's name may not have a `/`.
const MEMORY: &str = "gpuc-";

/// The most characters of a tag's value.
/// Source: learn.microsoft.com/azure/azure-resource-manager/management/tag-resources, its limitations, 2026-11-21.
const LONGEST: usize = 256;

/// The tags, and with them those that remember a pool's labels, taints and tags.
pub(super) fn tags_of_pool(
    tags: Map<String, Value>,
    labels: &Map<String, Value>,
    taints: &[String],
) -> Map<String, Value> {
    let taints = taints.iter().map(|taint| taint_mark(taint));
    let mut all = tags_of_cluster(tags);
    all.extend(memory("labels", labels.keys().cloned(), ","));
    all.extend(memory("taints", taints, ","));
    all
}

/// The tags, and with them those that remember them.
pub(super) fn tags_of_cluster(mut tags: Map<String, Value>) -> Map<String, Value> {
    let memory: Vec<_> = memory("tags", tags.keys().cloned(), "/").collect();
    tags.extend(memory);
    tags
}

fn memory(
    kind: &str,
    marks: impl Iterator<Item = String>,
    separator: &str,
) -> impl Iterator<Item = (String, Value)> {
    let others = marks.filter(|mark| !mark.starts_with(OWN));
    let parts = parts(&format!("{MEMORY}{kind}"), others, separator, LONGEST).into_iter();
    parts.map(|(name, value)| (name, Value::from(value)))
}

/// Whether a tag is one that remembers.
pub(super) fn is_memory(name: &str) -> bool {
    let name = name.to_lowercase();
    let kind = name.strip_prefix(MEMORY);
    let kind = kind.map(|kind| kind.trim_end_matches(|c: char| c.is_ascii_digit() || c == '-'));
    kind.is_some_and(|kind| ["labels", "taints", "tags"].contains(&kind))
}

/// `key=value:Effect` without its value.
fn taint_mark(taint: &str) -> String {
    let (rest, effect) = taint.rsplit_once(':').unwrap_or((taint, ""));
    let key = rest.split_once('=').map_or(rest, |(key, _)| key);
    format!("{key}:{effect}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_pools_tags_remember_what_gpuc_set_on_it() {
        let map = |value: Value| value.as_object().expect("a map").clone();
        let tags = map(json!({"cost center": "a", "owner": "b"}));
        let labels = map(json!({"gpuc.dev/pool": "a", "rack": "1", "acme.dev/tier": "gold"}));
        let taints = ["gpuc.dev/dedicated-to=a:NoSchedule", "sku=gpu:NoExecute"];
        let all = tags_of_pool(tags, &labels, &taints.map(str::to_owned));
        let wanted = json!({
            "cost center": "a", "owner": "b",
            "gpuc-tags": "cost center/owner",
            "gpuc-labels": "acme.dev/tier,rack",
            "gpuc-taints": "sku:NoExecute",
        });
        assert_eq!(Value::Object(all), wanted);
    }

    #[test]
    fn a_memory_is_known_by_its_name() {
        for name in ["gpuc-tags", "GPUC-Labels-2", "gpuc-taints-10"] {
            assert!(is_memory(name), "{name}");
        }
        assert!(!is_memory("gpuc-team") && !is_memory("tags"));
    }
}
