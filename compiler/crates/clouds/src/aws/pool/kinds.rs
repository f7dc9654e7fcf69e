//! The fields of a managed node group, and how a change of each is applied.

use gpuc_model::plan::{Change, FieldKind, Mark, ResourceKind};

use super::super::state;

/// A managed node group.
pub(in super::super) static NODE_GROUP: ResourceKind = ResourceKind {
    name: "EKS node group",
    protection: None,
    fields: &[
        MACHINE,
        ROLE,
        ALTERNATIVES,
        IMAGE,
        LOCATION,
        CAPACITY,
        RESERVATION,
        DISK,
        EFA,
        PLACEMENT_GROUP,
        MAX_PODS,
        LOCAL_DISKS,
        IMAGE_VERSION,
        LABELS,
        TAINTS,
        TEMPLATE,
        TAGS,
        UPGRADE,
        REPAIR,
        SIZE,
        INITIAL_SIZE,
        BLOCK_SIZE,
        BLOCK_START,
        VERSION,
        RELEASE,
        BLOCK_VERSION,
        BLOCK_RELEASE,
    ],
    definitions: include_str!("../node_group.jq"),
    state: Some(&state::NODE_GROUP),
    mark: Some(&Mark {
        name: "label gpuc.dev/pool with this name",
        read: r#".nodegroup.labels["gpuc.dev/pool"] == $name"#,
    }),
};

const EKS_API: &str = "botocore 1.43.11, eks UpdateNodegroupConfig and UpdateNodegroupVersion; aws-cli 1.45.11 refuses the flag, tried 2026-11-21";
const LAUNCH_TEMPLATE: &str = "eksctl-io/eksctl:pkg/cfn/builder/managed_launch_template.go @99984adb, 2026-08-21; awsdocs/amazon-eks-user-guide launch-templates @4d52b4d0";

pub(super) const MACHINE: FieldKind = FieldKind {
    name: "machine type",
    // A node group with a capacity block has the type only in its launch template.
    read: r#".nodegroup | .instanceTypes[0] // .tags["gpuc.dev/machine"] // """#,
    create_flag: None,
    change: Change::Replacement {
        reason: "the machine type of an EKS node group is immutable",
    },
    source: EKS_API,
};

pub(super) const ALTERNATIVES: FieldKind = FieldKind {
    name: "alternative machine types",
    read: ".nodegroup.instanceTypes // [] | .[1:]",
    create_flag: None,
    change: Change::Replacement {
        reason: "the machine types of an EKS node group are immutable",
    },
    source: EKS_API,
};

pub(super) const ROLE: FieldKind = FieldKind {
    name: "IAM role of nodes",
    read: ".nodegroup.nodeRole",
    create_flag: None,
    change: Change::Replacement {
        reason: "the IAM role of an EKS node group is immutable",
    },
    source: EKS_API,
};

pub(super) const IMAGE: FieldKind = FieldKind {
    name: "node image",
    read: r#".nodegroup | if .amiType == "CUSTOM" then .tags["gpuc.dev/image"] // "CUSTOM" else .amiType end"#,
    create_flag: None,
    change: Change::Replacement {
        reason: "the image type of an EKS node group is immutable",
    },
    source: EKS_API,
};

pub(super) const LOCATION: FieldKind = FieldKind {
    name: "zones or subnets",
    read: r#".nodegroup | (.tags["gpuc.dev/place"] // "") as $place | if $place == "subnets" then .subnets | sort else $place | split(" ") end"#,
    create_flag: None,
    change: Change::Replacement {
        reason: "the subnets of an EKS node group are immutable",
    },
    source: EKS_API,
};

pub(super) const CAPACITY: FieldKind = FieldKind {
    name: "capacity",
    read: r#".nodegroup.capacityType // "ON_DEMAND""#,
    create_flag: None,
    change: Change::Replacement {
        reason: "the capacity type of an EKS node group is immutable",
    },
    source: EKS_API,
};

pub(super) const RESERVATION: FieldKind = FieldKind {
    name: "capacity reservation",
    read: r#".nodegroup.tags["gpuc.dev/reservation"] // """#,
    create_flag: None,
    change: Change::Replacement {
        reason: "the reservation is in the launch template, which eksctl creates only once",
    },
    source: "awsdocs/amazon-eks-user-guide capacity-blocks-mng @4d52b4d0, 2024-12-18",
};

pub(super) const DISK: FieldKind = FieldKind {
    name: "disk size in GiB",
    read: r#".nodegroup.tags["gpuc.dev/disk-gib"] // """#,
    create_flag: None,
    change: Change::Replacement {
        reason: "the disk is in the launch template, which eksctl creates only once",
    },
    source: LAUNCH_TEMPLATE,
};

pub(super) const EFA: FieldKind = FieldKind {
    name: "EFA",
    read: r#".nodegroup.tags["gpuc.dev/efa"] // "no""#,
    create_flag: None,
    change: Change::Replacement {
        reason: "network interfaces are in the launch template, which eksctl creates only once",
    },
    source: LAUNCH_TEMPLATE,
};

pub(super) const PLACEMENT_GROUP: FieldKind = FieldKind {
    name: "placement group",
    read: r#".nodegroup.tags["gpuc.dev/placement-group"] // """#,
    create_flag: None,
    change: Change::Replacement {
        reason: "the placement group is in the launch template, which eksctl creates only once",
    },
    source: LAUNCH_TEMPLATE,
};

pub(super) const MAX_PODS: FieldKind = FieldKind {
    name: "max pods per node",
    read: r#".nodegroup.tags["gpuc.dev/max-pods"] // """#,
    create_flag: None,
    change: Change::Replacement {
        reason: "kubelet settings are in the launch template, which eksctl creates only once",
    },
    source: LAUNCH_TEMPLATE,
};

pub(super) const LOCAL_DISKS: FieldKind = FieldKind {
    name: "local disks",
    read: r#".nodegroup.tags["gpuc.dev/local-disks"] // "none""#,
    create_flag: None,
    change: Change::Replacement {
        reason: "the disk setup is in the launch template, which eksctl creates only once",
    },
    source: LAUNCH_TEMPLATE,
};

pub(super) const IMAGE_VERSION: FieldKind = FieldKind {
    name: "Kubernetes version of the image",
    read: r#".nodegroup.tags["gpuc.dev/kubernetes"] // """#,
    create_flag: None,
    change: Change::Replacement {
        reason: "an Ubuntu image is in the launch template, and EKS updates only its own images",
    },
    source: LAUNCH_TEMPLATE,
};

pub(super) const LABELS: FieldKind = FieldKind {
    name: "labels",
    read: "our_labels",
    create_flag: None,
    change: Change::InPlace,
    source: EKS_API,
};

pub(super) const TAINTS: FieldKind = FieldKind {
    name: "taints",
    read: "our_taints",
    create_flag: None,
    change: Change::InPlace,
    source: EKS_API,
};

pub(super) const TAGS: FieldKind = FieldKind {
    name: "tags",
    read: "our_tags",
    create_flag: None,
    change: Change::InPlace,
    source: "botocore 1.43.11, eks TagResource and UntagResource, 2026-11-21",
};

pub(super) const TEMPLATE: FieldKind = FieldKind {
    name: "Cluster Autoscaler node template",
    read: "our_template",
    create_flag: None,
    change: Change::InPlace,
    source: "kubernetes/autoscaler:cluster-autoscaler/cloudprovider/aws/aws_manager.go @55c37cd5, 2026-08-22",
};

pub(super) const UPGRADE: FieldKind = FieldKind {
    name: "upgrade settings",
    read: r#".nodegroup.updateConfig // {maxUnavailable: 1} | {maxUnavailable, maxUnavailablePercentage, updateStrategy: (.updateStrategy // "DEFAULT")} | with_entries(select(.value != null))"#,
    create_flag: None,
    change: Change::InPlace,
    source: EKS_API,
};

pub(super) const REPAIR: FieldKind = FieldKind {
    name: "node repair",
    read: ".nodegroup.nodeRepairConfig.enabled // false",
    create_flag: None,
    change: Change::InPlace,
    source: EKS_API,
};

pub(super) const SIZE: FieldKind = FieldKind {
    name: "number of nodes",
    read: ".nodegroup.scalingConfig | {minSize, maxSize}",
    create_flag: None,
    change: Change::Resize,
    source: EKS_API,
};

pub(super) const VERSION: FieldKind = FieldKind {
    name: "Kubernetes version",
    // A newer version is kept: it cannot be downgraded.
    read: r#".nodegroup.version | if (split(".")[1] | tonumber) > ($want | split(".")[1] | tonumber) then $want else . end"#,
    create_flag: None,
    change: Change::NodeRollout {
        reason: "EKS drains every node and replaces it with one of the new version",
    },
    source: EKS_API,
};

pub(super) const INITIAL_SIZE: FieldKind = FieldKind {
    name: "initial number of nodes",
    read: ".nodegroup.scalingConfig.desiredSize",
    create_flag: None,
    change: Change::AtCreation {
        reason: "it applies when the node group is created; afterwards the autoscaler sets the number of nodes",
    },
    source: "eksctl-io/eksctl:userdocs/src/usage/nodegroups.md (`desiredCapacity`) @99984adb, 2026-08-21",
};

/// The limits of the number of nodes with a capacity block: 0 before it starts. After its nodes were deleted, EKS owns
/// the size.
pub(super) const BLOCK_SIZE: FieldKind = FieldKind {
    name: "number of nodes during the capacity block",
    read: ".nodegroup.scalingConfig | if fits_block($want) then $want else {minSize, maxSize, desiredSize} end",
    create_flag: None,
    change: Change::Resize,
    source: CAPACITY_BLOCKS,
};

/// The scheduled action that adds the nodes when the capacity block starts. EKS does not report it: gpuc records it as
/// a tag. A block that has started needs none.
pub(super) const BLOCK_START: FieldKind = FieldKind {
    name: "start of the capacity block",
    read: r#".nodegroup.tags["gpuc.dev/capacity-block"] // "" | if ($want | split(" ")[0] | fromdate) <= now then $want else . end"#,
    create_flag: None,
    change: Change::InPlace,
    source: CAPACITY_BLOCKS,
};

const CAPACITY_BLOCKS: &str = "awsdocs/amazon-eks-user-guide nodes/capacity-blocks-mng.adoc @2ef9e386, read 2026-11-22; botocore 1.43.11, \
     autoscaling PutScheduledUpdateGroupAction";

/// The release of the image. With another Kubernetes version, the update of that version selects the release.
pub(super) const RELEASE: FieldKind = FieldKind {
    name: "node image release",
    read: ".nodegroup | {kubernetes: .version, release: .releaseVersion}
        | if $want == null or .kubernetes != $want.kubernetes then $want else . end",
    create_flag: None,
    change: Change::NodeRollout {
        reason: "EKS drains every node and replaces it with one of the new release",
    },
    source: EKS_API,
};

pub(super) const BLOCK_VERSION: FieldKind = FieldKind {
    change: BLOCK_UPGRADE,
    ..VERSION
};

pub(super) const BLOCK_RELEASE: FieldKind = FieldKind {
    change: BLOCK_UPGRADE,
    ..RELEASE
};

const BLOCK_UPGRADE: Change = Change::NodeRollout {
    reason: "EKS upgrades a node group with a capacity block only at size 0: the scripts delete its nodes first, and then \
             add new ones",
};
