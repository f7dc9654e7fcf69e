//! Labels, taints and tags of EKS: which of those that are there are gpuc's, and what is left of them to remove.
//!
//! EKS changes what a command names and leaves the rest, so only what is gpuc's need be looked at. The memory is in
//! tags of the node group or the cluster: `memory.rs`.

/// The labels of a node group.
pub(super) mod labels {
    use crate::cloud::memory::ours;

    macro_rules! labels {
        ($then:literal) => {
            concat!(
                ours!(
                    ".nodegroup.tags",
                    "gpuc[.]dev/labels",
                    " ",
                    r#"startswith("gpuc.dev/") or IN($want | keys[]) or IN($marks[])"#
                ),
                $then
            )
        };
    }

    /// Gpuc's.
    pub(in super::super) const READ: &str =
        labels!(".nodegroup.labels // {} | with_entries(select(.key | ours))");

    /// What to send: the wanted ones, and those of gpuc's that are not wanted.
    pub(in super::super) const DELTA: &str = labels!(
        "{addOrUpdateLabels: $want, \
          removeLabels: ([.nodegroup.labels // {} | keys[] | select(ours)] - ($want | keys))}"
    );

    /// Other people's.
    pub(in super::super) const OTHERS: &str = labels!(
        r#"[.nodegroup.labels // {} | keys[]
            | select(ours or test("^(eks[.]amazonaws[.]com|alpha[.]eksctl[.]io)/") | not)]"#
    );
}

/// The taints of a node group, each known by its key and effect.
pub(super) mod taints {
    use crate::cloud::memory::ours;

    macro_rules! taints {
        ($then:literal) => {
            concat!(
                r#"def id: "\(.key):\(.effect)"; "#,
                ours!(
                    ".nodegroup.tags",
                    "gpuc[.]dev/taints",
                    " ",
                    r#"startswith("gpuc.dev/") or IN($want[] | id) or IN($marks[])"#
                ),
                ".nodegroup.taints // [] | ",
                $then
            )
        };
    }

    /// Gpuc's.
    pub(in super::super) const READ: &str = taints!(
        r#"map(select(id | ours) | {key, value: (.value // ""), effect}) | sort_by([.key, .effect])"#
    );

    /// What to send: the wanted ones, and those of gpuc's that are not wanted.
    pub(in super::super) const DELTA: &str = taints!(
        r#"{addOrUpdateTaints: $want,
            removeTaints: map(select(id | ours and (IN($want[] | id) | not)) | {key, value: (.value // ""), effect})}"#
    );

    /// Other people's.
    pub(in super::super) const OTHERS: &str = taints!("map(id | select(ours | not))");
}

/// Users' tags.
pub(super) mod tags {
    macro_rules! tags {
        ($on:literal, $then:literal) => {
            concat!(
                ours!(
                    $on,
                    "gpuc[.]dev/tags",
                    " ",
                    r#"test("^gpuc[.]dev/(labels|taints|tags|template)(-[0-9]+)?$") or IN($want | keys[])
                       or (split("=") | join("==") | split(" ") | join("=_") | IN($marks[]))"#
                ),
                $on,
                " // {} | ",
                $then
            )
        };
    }

    macro_rules! programs {
        ($on:literal) => {
            /// Gpuc's, the memory's parts among them.
            pub(in super::super::super) const READ: &str =
                tags!($on, "with_entries(select(.key | ours))");

            /// Those of gpuc's that are not wanted; `null` without any.
            pub(in super::super::super) const LEFT: &str = tags!(
                $on,
                "[keys[] | select(ours)] - ($want | keys) | if . == [] then null else . end"
            );

            /// Other people's.
            pub(in super::super::super) const OTHERS: &str = tags!(
                $on,
                r#"[keys[] | select(ours or test("^(Name$|(aws|eks):|(gpuc[.]dev|alpha[.]eksctl[.]io|eksctl[.]cluster[.]k8s[.]io|eksctl[.]io|k8s[.]io/cluster-autoscaler|kubernetes[.]io/cluster)/)") | not)]"#
            );
        };
    }

    /// Of a node group.
    pub(in super::super) mod group {
        use crate::cloud::memory::ours;
        programs!(".nodegroup.tags");
    }

    /// Of a cluster.
    pub(in super::super) mod cluster {
        use crate::cloud::memory::ours;
        programs!(".cluster.tags");
    }
}

/// The tags by which the Cluster Autoscaler knows a node that is not there.
pub(super) mod template {
    use crate::cloud::memory::ours;

    macro_rules! template {
        ($then:literal) => {
            concat!(
                ours!(
                    ".nodegroup.tags",
                    "gpuc[.]dev/template",
                    " ",
                    r#"IN($want | keys[]) or (ltrimstr("k8s.io/cluster-autoscaler/node-template/")
                       | test("^(label|taint)/gpuc[.]dev/") or IN($marks[]))"#
                ),
                ".nodegroup.tags // {} ",
                r#"| with_entries(select(.key | startswith("k8s.io/cluster-autoscaler/node-template/"))) | "#,
                $then
            )
        };
    }

    /// Gpuc's.
    pub(in super::super) const READ: &str = template!("with_entries(select(.key | ours))");

    /// Those of gpuc's that are not wanted; `null` without any.
    pub(in super::super) const LEFT: &str =
        template!("[keys[] | select(ours)] - ($want | keys) | if . == [] then null else . end");

    /// The same as the tags of the Auto Scaling group that is behind the node group.
    pub(in super::super) const LEFT_ON_SCALING_GROUP: &str = concat!(
        "(.nodegroup.resources.autoScalingGroups | map(.name)) as $groups | ",
        template!(
            r#"[keys[] | select(ours)] - ($want | keys)
               | [.[] as $key | $groups[]
                 | {ResourceId: ., ResourceType: "auto-scaling-group", Key: $key}]
               | if . == [] then null else . end"#
        )
    );

    /// Other people's.
    pub(in super::super) const OTHERS: &str = template!("[keys[] | select(ours | not)]");
}
