//! Labels, taints and tags of AKS: which of those that are there are gpuc's, and the whole sets that are written.
//!
//! `az` writes a set as a whole, so a set is written with what others put there. The memory is in the pool's tags, or
//! the cluster's; a mark is the key itself. Azure takes tags for the same whose names differ only by case.
//!
//! AKS keeps what is below `kubernetes.azure.com/` by itself and refuses it from others; only what it puts on spot
//! pools is restated, see [`super::SPOT`].

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

/// The labels of a pool.
pub(super) mod labels {
    use crate::cloud::memory::ours;

    macro_rules! labels {
        ($then:literal) => {
            concat!(
                ours!(
                    ".tags",
                    "(?i)gpuc-labels",
                    ",",
                    r#"startswith("gpuc.dev/") or IN($want | keys[]) or IN($marks[])"#
                ),
                r#".nodeLabels // {} | with_entries(select(.key | startswith("kubernetes.azure.com/") | not)) | "#,
                $then
            )
        };
    }

    /// Gpuc's.
    pub(in super::super) const READ: &str = labels!("with_entries(select(.key | ours))");

    /// The whole set, a word each.
    pub(in super::super) const ALL: &str = labels!(
        r#"with_entries(select(.key | ours | not)) + $want | to_entries | map("\(.key)=\(.value)")"#
    );

    /// Other people's.
    pub(in super::super) const OTHERS: &str = labels!("[keys[] | select(ours | not)]");
}

/// The taints of a pool, each known by its key and effect.
pub(super) mod taints {
    use crate::cloud::memory::ours;

    macro_rules! taints {
        ($then:literal) => {
            concat!(
                r#"def id: split(":") as [$rest, $effect] | "\($rest | split("=")[0]):\($effect)"; "#,
                ours!(
                    ".tags",
                    "(?i)gpuc-taints",
                    ",",
                    r#"startswith("gpuc.dev/") or IN($want[] | id) or IN($marks[])"#
                ),
                r#".nodeTaints // [] | map(select(startswith("kubernetes.azure.com/") | not)) | "#,
                $then
            )
        };
    }

    /// Gpuc's.
    pub(in super::super) const READ: &str = taints!("map(select(id | ours)) | sort");

    /// The whole set, a word each. `az` refuses a taint without a value (azure-cli 2.91.0, acs/_validators.py).
    pub(in super::super) const ALL: &str = taints!(
        r#"map(select(id | ours | not) | if test("=[^:]") then . else
            error("az cannot write the taint \(.), which others set: give it a value, or remove it") end)
           + $want | join(",")"#
    );

    /// The same for a pool of spot machines.
    pub(in super::super) const ALL_ON_SPOT: &str = taints!(
        r#"map(select(id | ours | not) | if test("=[^:]") then . else
            error("az cannot write the taint \(.), which others set: give it a value, or remove it") end)
           + $want + ["kubernetes.azure.com/scalesetpriority=spot:NoSchedule"] | join(",")"#
    );

    /// Other people's.
    pub(in super::super) const OTHERS: &str = taints!("map(select(id | ours | not))");
}

/// The tags of a pool or cluster.
pub(super) mod tags {
    use crate::cloud::memory::ours;

    macro_rules! tags {
        ($then:literal) => {
            concat!(
                ours!(
                    ".tags",
                    "(?i)gpuc-tags",
                    "/",
                    r#"ascii_downcase | test("^gpuc-(labels|taints|tags)(-[0-9]+)?$")
                       or IN($want | keys[] | ascii_downcase) or IN($marks[] | ascii_downcase)"#
                ),
                ".tags // {} | ",
                $then
            )
        };
    }

    /// Gpuc's, the memory's parts among them, spelled as they are wanted.
    pub(in super::super) const READ: &str = tags!(
        r"with_entries(select(.key | ours) | (.key | ascii_downcase) as $key
           | .key = (first($want | keys[] | select(ascii_downcase == $key)) // .key))"
    );

    /// The whole set, a word each; an empty one clears it. `az` takes some words for something else (azure-cli
    /// 2.91.0, core/commands/validators.py).
    pub(in super::super) const ALL: &str = tags!(
        r#"with_entries(select(.key | ours | not)
             | if .key | test("^[-@]|=") then
                 error("az cannot write the tag \(.key), which others set: rename it, or remove it") else . end)
           + $want | to_entries | map("\(.key)=\(.value)") | if . == [] then [""] else . end"#
    );

    /// Other people's; AKS has some of its own.
    pub(in super::super) const OTHERS: &str =
        tags!(r#"[keys[] | select(ours or (ascii_downcase | startswith("aks-managed-")) | not)]"#);
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
