//! Ownership records of gpuc: labels that list the labels and taints that gpuc set on a node pool or cluster of GKE.
//!
//! A label value has at most 63 characters, fewer than some keys, and no `/`. An entry is therefore a short hash of the
//! key. The records for node labels and taints are node labels: changing a resource label of the pool would drain its
//! nodes.

use gpuc_model::cloud::ownership::{OWN, parts};

/// Maximum length of a label value, in Kubernetes and in Google Cloud.
const LONGEST: usize = 63;

/// Key of the resource labels with ownership records: the key of a resource label must not contain a `/`.
const RESOURCE_LABELS: &str = "gpuc-labels";

/// Node labels with the ownership records of node labels and of taints. Taints are listed as `key:EFFECT`.
pub(super) fn node_labels<'k>(
    labels: impl Iterator<Item = &'k str>,
    taints: impl Iterator<Item = String>,
) -> Vec<(String, String)> {
    let labels = labels.filter(|key| !key.starts_with(OWN)).map(mark);
    let taints = taints
        .filter(|taint| !taint.starts_with(OWN))
        .map(|taint| mark(&taint));
    let mut records = parts(&format!("{OWN}labels"), labels, "-", LONGEST);
    records.extend(parts(&format!("{OWN}taints"), taints, "-", LONGEST));
    records
}

/// Resource labels with the ownership records of resource labels.
pub(super) fn resource_labels<'k>(keys: impl Iterator<Item = &'k str>) -> Vec<(String, String)> {
    parts(RESOURCE_LABELS, keys.map(mark), "-", LONGEST)
}

/// Whether a resource label is an ownership record.
pub(super) fn is_ownership_record(key: &str) -> bool {
    key.starts_with(RESOURCE_LABELS)
}

/// Thirty bits of a key, as six letters and digits. `labels.jq` computes the same hash; its numbers are exact up to
/// 2^53.
fn mark(key: &str) -> String {
    const PRIME: u64 = 1_073_741_789;
    const DIGITS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
    let add = |hash: u64, c: char| (hash * 257 + u64::from(u32::from(c))) % PRIME;
    let mut hash = key.chars().fold(0, add);
    let mut text = String::new();
    for _ in 0..6 {
        let digit = usize::try_from(hash % 32).expect("a digit is below 32");
        text.push(char::from(DIGITS[digit]));
        hash /= 32;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The expected marks were computed independently of this code.
    #[test]
    fn marks_match_the_jq_program() {
        assert_eq!(mark("extra"), "yde5di");
        assert_eq!(mark("acme.dev/tier"), "l7fosf");
        assert_eq!(mark("größe"), "7l6xlj");
    }

    #[test]
    fn a_label_holds_nine_marks() {
        let keys: Vec<String> = (0..10).map(|n| format!("key-{n}")).collect();
        let records = node_labels(keys.iter().map(String::as_str), std::iter::empty());
        let lengths: Vec<_> = records
            .iter()
            .map(|(key, value)| (key.as_str(), value.len()))
            .collect();
        assert_eq!(lengths, [("gpuc.dev/labels", 62), ("gpuc.dev/labels-2", 6)]);
    }

    #[test]
    fn gpuc_prefix_needs_no_record() {
        let labels = ["gpuc.dev/pool"].into_iter();
        let taints = ["gpuc.dev/dedicated-to:NO_SCHEDULE".to_owned()].into_iter();
        assert!(node_labels(labels, taints).is_empty());
    }
}
