//! Labels and taints of GKE: which of those that are there are gpuc's, and the whole sets that are written.
//!
//! `gcloud` writes a set as a whole, so a set is written with what others put there. The memory is in labels:
//! `memory.rs`.

/// The mark of a key, as in `memory.rs`.
macro_rules! mark {
    () => {
        r#"def mark: reduce explode[] as $c (0; (. * 257 + $c) % 1073741789)
            | [limit(6; recurse(. / 32 | floor)) | "abcdefghijklmnopqrstuvwxyz234567"[. % 32:. % 32 + 1]] | add; "#
    };
}

/// The labels of a pool's nodes.
pub(super) mod labels {
    use crate::cloud::memory::ours;

    macro_rules! labels {
        ($then:literal) => {
            concat!(
                mark!(),
                ours!(
                    ".config.labels",
                    "gpuc[.]dev/labels",
                    "-",
                    r#"startswith("gpuc.dev/") or IN($want | keys[]) or (mark | IN($marks[]))"#
                ),
                ".config.labels // {} | ",
                $then
            )
        };
    }

    /// Gpuc's, the memory's parts among them.
    pub(in super::super) const READ: &str = labels!("with_entries(select(.key | ours))");

    /// The flag with the whole set.
    pub(in super::super) const ALL: &str = labels!(
        r#"with_entries(select(.key | ours | not)) + $want
           | "--node-labels=" + (to_entries | map("\(.key)=\(.value)") | join(","))"#
    );

    /// Other people's.
    pub(in super::super) const OTHERS: &str = labels!("[keys[] | select(ours | not)]");
}

/// The taints of a pool's nodes, each known by its key and effect.
///
/// Those that GKE sets by itself are shown among the others, and neither gpuc's nor anybody's to name.
pub(super) mod taints {
    use crate::cloud::memory::ours;

    macro_rules! taints {
        ($then:literal) => {
            concat!(
                mark!(),
                r#"def id: "\(.key):\(.effect)"; "#,
                r#"def automatic: .effect == "NO_SCHEDULE"
                    and (.key == "kubernetes.io/arch" or (.key == "nvidia.com/gpu" and .value == "present")); "#,
                ours!(
                    ".config.labels",
                    "gpuc[.]dev/taints",
                    "-",
                    r#"startswith("gpuc.dev/") or IN($want[] | id) or (mark | IN($marks[]))"#
                ),
                r#".config.taints // [] | map({key, value: (.value // ""), effect} | select(automatic | not)) | "#,
                $then
            )
        };
    }

    /// Gpuc's.
    pub(in super::super) const READ: &str =
        taints!("map(select(id | ours)) | sort_by([.key, .effect])");

    /// Other people's, as they are shown.
    pub(in super::super) const THEIRS: &str = taints!("map(select(id | ours | not))");

    /// The flag with a set. `gcloud` knows a taint by its key alone.
    pub(in super::super) const FLAG: &str = r#"(group_by(.key) | map(select(length > 1) | .[0].key) | .[0]) as $twice
        | if $twice then error("gcloud cannot write two taints with the key \($twice): remove the one that others set")
          else . end
        | {NO_SCHEDULE: "NoSchedule", PREFER_NO_SCHEDULE: "PreferNoSchedule", NO_EXECUTE: "NoExecute"} as $words
        | "--node-taints=" + (map("\(.key)=\(.value):\($words[.effect])") | join(","))"#;

    /// Other people's.
    pub(in super::super) const OTHERS: &str = taints!("map(id | select(ours | not))");
}

/// The labels of a pool's or cluster's resources.
pub(super) mod resource_labels {
    use crate::cloud::memory::ours;

    macro_rules! resource_labels {
        ($on:literal, $then:literal) => {
            concat!(
                mark!(),
                ours!(
                    $on,
                    "gpuc-labels",
                    "-",
                    r#"test("^gpuc-labels(-[0-9]+)?$") or IN($want | keys[]) or (mark | IN($marks[]))"#
                ),
                $on,
                " // {} | ",
                $then
            )
        };
    }

    /// Gpuc's on a pool. No node is drained for the memory alone: what it lacks is kept when it leaves the file.
    pub(in super::super) const READ_OF_POOL: &str = resource_labels!(
        ".config.resourceLabels",
        r#"with_entries(select(.key | ours))
           | def plain: with_entries(select(.key | startswith("gpuc-labels") | not));
             if plain == ($want | plain) then $want else . end"#
    );

    /// The flag with the whole set of a pool; GKE keeps its own by itself.
    pub(in super::super) const ALL_OF_POOL: &str = resource_labels!(
        ".config.resourceLabels",
        r#"with_entries(select(.key | ours or startswith("goog-") | not)) + $want
           | "--labels=" + (to_entries | map("\(.key)=\(.value)") | join(","))"#
    );

    /// Other people's on a pool.
    pub(in super::super) const OTHERS_OF_POOL: &str = resource_labels!(
        ".config.resourceLabels",
        r#"[keys[] | select(ours or startswith("goog-") | not)]"#
    );

    /// Gpuc's on a cluster.
    pub(in super::super) const READ_OF_CLUSTER: &str =
        resource_labels!(".resourceLabels", "with_entries(select(.key | ours))");

    /// The flag with the whole set of a cluster: `gcloud` sends the labels of this flag alone, and GKE takes them for
    /// the whole set (api_adapter.py). An empty set cannot be said so.
    pub(in super::super) const ALL_OF_CLUSTER: &str = resource_labels!(
        ".resourceLabels",
        r#"keys as $now | with_entries(select(.key | ours | not)) + $want
           | if . == {} then "--remove-labels=" + ($now | join(","))
             else "--update-labels=" + (to_entries | map("\(.key)=\(.value)") | join(",")) end"#
    );

    /// Other people's on a cluster.
    pub(in super::super) const OTHERS_OF_CLUSTER: &str = resource_labels!(
        ".resourceLabels",
        r#"[keys[] | select(ours or startswith("goog-") | not)]"#
    );
}
