//! What gpuc set on a node pool or cluster of GKE, as labels that remember it.
//!
//! A label's value has at most 63 characters, fewer than some keys alone, and no `/`. So a mark is a short hash of the
//! key. Labels and taints of nodes are remembered in node labels: to change a label of the pool's resources would drain
//! its nodes.

use crate::cloud::memory::{OWN, parts};

/// The most characters of a label's value, in Kubernetes and in Google Cloud.
const LONGEST: usize = 63;

/// The resource label that remembers: a key may not have a `/` there.
const RESOURCE_LABELS: &str = "gpuc-labels";

/// The node labels that remember labels and taints, the latter as `key:EFFECT`.
pub(super) fn of_nodes<'k>(
    labels: impl Iterator<Item = &'k str>,
    taints: impl Iterator<Item = String>,
) -> Vec<(String, String)> {
    let labels = labels.filter(|key| !key.starts_with(OWN)).map(mark);
    let taints = taints.filter(|taint| !taint.starts_with(OWN));
    let taints = taints.map(|taint| mark(&taint));
    let mut memory = parts(&format!("{OWN}labels"), labels, "-", LONGEST);
    memory.extend(parts(&format!("{OWN}taints"), taints, "-", LONGEST));
    memory
}

/// The resource labels that remember resource labels.
pub(super) fn of_resource_labels<'k>(keys: impl Iterator<Item = &'k str>) -> Vec<(String, String)> {
    parts(RESOURCE_LABELS, keys.map(mark), "-", LONGEST)
}

/// Whether a resource label is one that remembers.
pub(super) fn is_memory(key: &str) -> bool {
    key.starts_with(RESOURCE_LABELS)
}

/// Thirty bits of a key, as six letters and digits. `labels.jq` has the same, which reckons exactly up to 2^53.
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

    /// The marks were reckoned apart from this code.
    #[test]
    fn marks_are_short_and_those_of_the_program() {
        assert_eq!(mark("extra"), "yde5di");
        assert_eq!(mark("acme.dev/tier"), "l7fosf");
        assert_eq!(mark("größe"), "7l6xlj");
    }

    #[test]
    fn nine_marks_go_into_a_label() {
        let keys: Vec<String> = (0..10).map(|n| format!("key-{n}")).collect();
        let memory = of_nodes(keys.iter().map(String::as_str), std::iter::empty());
        let lengths: Vec<_> = memory
            .iter()
            .map(|(key, value)| (key.as_str(), value.len()))
            .collect();
        assert_eq!(lengths, [("gpuc.dev/labels", 62), ("gpuc.dev/labels-2", 6)]);
    }

    #[test]
    fn what_is_gpucs_by_name_needs_no_memory() {
        let labels = ["gpuc.dev/pool"].into_iter();
        let taints = ["gpuc.dev/dedicated-to:NO_SCHEDULE".to_owned()].into_iter();
        assert!(of_nodes(labels, taints).is_empty());
    }
}
