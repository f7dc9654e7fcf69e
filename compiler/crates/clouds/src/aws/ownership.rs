//! The ownership record of a node group or cluster, stored in tags. A mark is the key itself.

use std::collections::BTreeMap;

use gpuc_model::cloud::ownership::{OWNED_PREFIX, record_entries};

use super::node_group::{NodeGroup, api_effect_name};
use super::tags::{self, Tags};

/// The maximum length of a tag's value. Source: docs.aws.amazon.com/eks/latest/userguide/eks-using-tags.html, general
/// knowledge.
const MAX_TAG_VALUE_LENGTH: usize = 256;

/// The tags of a node group that record the keys that gpuc set on it.
pub(super) fn group_ownership(group: &NodeGroup<'_>) -> Tags {
    let labels = group.pool.labels.iter().map(|label| label.key.clone());
    let taints = group.taints();
    let taints = taints.map(|taint| format!("{}:{}", taint.key, api_effect_name(taint.effect)));
    let template = tags::node_template(group).into_keys();
    let template = template.map(|key| key.trim_start_matches(tags::TEMPLATE_PREFIX).to_owned());
    let mut record = tag_ownership(&tags::file_tags(group));
    let kinds: [(&str, Vec<String>); 3] = [
        ("labels", labels.collect()),
        ("taints", taints.collect()),
        ("template", template.collect()),
    ];
    for (name, marks) in kinds {
        record.extend(ownership_tags(name, marks));
    }
    record
}

/// The tags that record these tags.
pub(super) fn tag_ownership(tags: &Tags) -> Tags {
    ownership_tags("tags", tags.keys().map(|key| escape_spaces(key)).collect())
}

fn ownership_tags(name: &str, marks: Vec<String>) -> Tags {
    let unprefixed = marks.into_iter().filter(|mark| !is_owned_by_prefix(mark));
    let parts = record_entries(
        &format!("{OWNED_PREFIX}{name}"),
        unprefixed,
        " ",
        MAX_TAG_VALUE_LENGTH,
    )
    .into_iter();
    let tags: BTreeMap<_, _> = parts
        .map(|(name, value)| (name, (value, Vec::new())))
        .collect();
    tags
}

/// Whether gpuc owns a key by its prefix, without a record. Node template tags of the autoscaler have their kind before
/// the key.
fn is_owned_by_prefix(mark: &str) -> bool {
    let kinds = ["label/", "taint/"];
    let kind = kinds.iter().find_map(|kind| mark.strip_prefix(kind));
    kind.unwrap_or(mark).starts_with(OWNED_PREFIX)
}

/// Escapes spaces in the key of a tag: spaces separate marks.
fn escape_spaces(key: &str) -> String {
    key.replace('=', "==").replace(' ', "=_")
}

/// Whether a tag is part of the ownership record.
pub(super) fn is_ownership_record(key: &str) -> bool {
    let kinds = ["labels", "taints", "tags", "template"];
    let name = key.strip_prefix(OWNED_PREFIX);
    name.is_some_and(|name| {
        kinds.contains(&name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '-'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spaces_in_keys_are_escaped() {
        assert_eq!(escape_spaces("cost center"), "cost=_center");
        // A key that contains an escape sequence is escaped too.
        assert_eq!(escape_spaces("cost=_center"), "cost==_center");
        let tags =
            ["owner", "cost center"].map(|key| (key.to_owned(), (String::new(), Vec::new())));
        let memory = tag_ownership(&tags.into());
        assert_eq!(memory["gpuc.dev/tags"].0, "cost=_center owner");
    }

    #[test]
    fn keys_with_the_prefix_of_gpuc_are_not_recorded() {
        let marks = [
            "gpuc.dev/pool",
            "label/gpuc.dev/pool",
            "taint/gpuc.dev/dedicated-to",
        ];
        let memory = |marks: &[&str]| {
            ownership_tags("labels", marks.iter().map(|it| (*it).to_owned()).collect())
        };
        assert!(memory(&marks).is_empty());
        assert_eq!(memory(&["label/rack"]).len(), 1);
        assert!(
            is_ownership_record("gpuc.dev/template-12") && !is_ownership_record("gpuc.dev/machine")
        );
    }
}
