//! Ownership records of gpuc: labels that list the labels and taints that gpuc set on a node pool or cluster of GKE.
//!
//! A label value has at most 63 characters, fewer than some keys, and no `/`. An entry is therefore a short hash of the
//! key. The records for node labels and taints are node labels: changing a resource label of the pool would drain its
//! nodes.

use gpuc_model::cloud::ownership::{OWNED_PREFIX, record_entries};

/// Maximum length of a label value, in Kubernetes and in Google Cloud.
const MAX_LABEL_LENGTH: usize = 63;

/// Key of the resource labels with ownership records: the key of a resource label must not contain a `/`.
const RESOURCE_RECORD_PREFIX: &str = "gpuc-labels";

/// The resource label that marks a cluster that gpuc's scripts manage. Its value is the name of the cluster.
pub(super) const CLUSTER_MARK: &str = "gpuc-cluster";

/// Node labels with the ownership records of node labels and of taints. Taints are listed as `key:EFFECT`.
pub(super) fn node_label_records<'k>(
    labels: impl Iterator<Item = &'k str>,
    taints: impl Iterator<Item = String>,
) -> Vec<(String, String)> {
    let labels = labels
        .filter(|key| !key.starts_with(OWNED_PREFIX))
        .map(hash_key);
    let taints = taints
        .filter(|taint| !taint.starts_with(OWNED_PREFIX))
        .map(|taint| hash_key(&taint));
    let mut records = record_entries(
        &format!("{OWNED_PREFIX}labels"),
        labels,
        "-",
        MAX_LABEL_LENGTH,
    );
    records.extend(record_entries(
        &format!("{OWNED_PREFIX}taints"),
        taints,
        "-",
        MAX_LABEL_LENGTH,
    ));
    records
}

/// Resource labels with the ownership records of resource labels.
pub(super) fn resource_label_records<'k>(
    keys: impl Iterator<Item = &'k str>,
) -> Vec<(String, String)> {
    record_entries(
        RESOURCE_RECORD_PREFIX,
        keys.map(hash_key),
        "-",
        MAX_LABEL_LENGTH,
    )
}

/// Whether a resource label is an ownership record or a mark.
pub(super) fn is_ownership_record(key: &str) -> bool {
    key.starts_with(RESOURCE_RECORD_PREFIX) || key == CLUSTER_MARK
}

/// Thirty bits of a key, as six letters and digits. `labels.jq` computes the same hash; its numbers are exact up to
/// 2^53.
fn hash_key(key: &str) -> String {
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
        assert_eq!(hash_key("extra"), "yde5di");
        assert_eq!(hash_key("acme.dev/tier"), "l7fosf");
        assert_eq!(hash_key("größe"), "7l6xlj");
    }

    #[test]
    fn a_label_holds_nine_marks() {
        let keys: Vec<String> = (0..10).map(|n| format!("key-{n}")).collect();
        let records = node_label_records(keys.iter().map(String::as_str), std::iter::empty());
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
        assert!(node_label_records(labels, taints).is_empty());
    }
}
