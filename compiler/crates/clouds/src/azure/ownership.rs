//! Ownership records of gpuc: tags that list the tags, labels and taints that gpuc set on a pool or cluster of AKS.

use serde_json::{Map, Value};

use gpuc_model::cloud::ownership::{OWNED_PREFIX, record_entries};

/// Prefix of the names of ownership records: the name of a tag must not contain a `/`.
const RECORD_PREFIX: &str = "gpuc-";

/// Maximum length of a tag value, in characters.
/// Source: learn.microsoft.com/azure/azure-resource-manager/management/tag-resources, its limitations, 2026-11-21.
const MAX_TAG_VALUE_LENGTH: usize = 256;

/// The tags of a pool, including the ownership records of its labels, taints and tags.
pub(super) fn pool_tags_with_records(
    tags: Map<String, Value>,
    labels: &Map<String, Value>,
    taints: &[String],
) -> Map<String, Value> {
    let taints = taints.iter().map(|taint| taint_mark(taint));
    let mut all = tags_with_records(tags);
    all.extend(ownership_records("labels", labels.keys().cloned(), ","));
    all.extend(ownership_records("taints", taints, ","));
    all
}

/// The tags of a cluster, including their ownership records, and the tag that marks a cluster that gpuc's scripts
/// manage. The value of the mark is the name of the cluster.
pub(super) fn cluster_tags_with_records(
    tags: Map<String, Value>,
    cluster: &str,
) -> Map<String, Value> {
    let mut all = tags_with_records(tags);
    all.insert(format!("{RECORD_PREFIX}cluster"), Value::from(cluster));
    all
}

/// These tags, including their ownership records.
fn tags_with_records(mut tags: Map<String, Value>) -> Map<String, Value> {
    let records: Vec<_> = ownership_records("tags", tags.keys().cloned(), "/").collect();
    tags.extend(records);
    tags
}

fn ownership_records(
    kind: &str,
    marks: impl Iterator<Item = String>,
    separator: &str,
) -> impl Iterator<Item = (String, Value)> {
    let unmarked = marks.filter(|mark| !mark.starts_with(OWNED_PREFIX));
    let parts = record_entries(
        &format!("{RECORD_PREFIX}{kind}"),
        unmarked,
        separator,
        MAX_TAG_VALUE_LENGTH,
    )
    .into_iter();
    parts.map(|(name, value)| (name, Value::from(value)))
}

/// Whether a tag is an ownership record.
pub(super) fn is_ownership_record(name: &str) -> bool {
    let name = name.to_lowercase();
    let kind = name
        .strip_prefix(RECORD_PREFIX)
        .map(|kind| kind.trim_end_matches(|c: char| c.is_ascii_digit() || c == '-'));
    kind.is_some_and(|kind| ["labels", "taints", "tags", "cluster"].contains(&kind))
}

/// Key and effect of a taint: `key=value:Effect` without the value.
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
    fn pool_tags_record_ownership() {
        let map = |value: Value| value.as_object().expect("a map").clone();
        let tags = map(json!({"cost center": "a", "owner": "b"}));
        let labels = map(json!({"gpuc.dev/pool": "a", "rack": "1", "acme.dev/tier": "gold"}));
        let taints = ["gpuc.dev/dedicated-to=a:NoSchedule", "sku=gpu:NoExecute"];
        let all = pool_tags_with_records(tags, &labels, &taints.map(str::to_owned));
        let wanted = json!({
            "cost center": "a", "owner": "b",
            "gpuc-tags": "cost center/owner",
            "gpuc-labels": "acme.dev/tier,rack",
            "gpuc-taints": "sku:NoExecute",
        });
        assert_eq!(Value::Object(all), wanted);
    }

    #[test]
    fn ownership_records_are_recognized_by_name() {
        for name in ["gpuc-tags", "GPUC-Labels-2", "gpuc-taints-10"] {
            assert!(is_ownership_record(name), "{name}");
        }
        assert!(!is_ownership_record("gpuc-team") && !is_ownership_record("tags"));
    }
}
