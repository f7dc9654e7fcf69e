//! The fields of a managed node group, and what becomes of a change of each.

use crate::plan::{Change, FieldKind, ResourceKind};

/// A managed node group.
pub(in super::super) static KIND: ResourceKind = ResourceKind {
    name: "EKS node group",
    fields: &[
        MACHINE,
        IMAGE,
        PLACE,
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
        VERSION,
    ],
    definitions: include_str!("../node_group.jq"),
};

const EKS_API: &str = "botocore 1.43.11, eks UpdateNodegroupConfig and UpdateNodegroupVersion; aws-cli 1.45.11 refuses the flag, tried 2026-11-21";
const LAUNCH_TEMPLATE: &str = "eksctl-io/eksctl:pkg/cfn/builder/managed_launch_template.go @99984adb, 2026-08-21; awsdocs/amazon-eks-user-guide launch-templates @4d52b4d0";

pub(super) const MACHINE: FieldKind = FieldKind {
    name: "machine type",
    // A group that takes its machines from a capacity block has the type in its launch template alone.
    read: r#".nodegroup | .instanceTypes[0] // .tags["gpuc.dev/machine"] // """#,
    create: None,
    change: Change::Replaces {
        reason: "EKS cannot change the machine type of a node group",
    },
    source: EKS_API,
};

pub(super) const IMAGE: FieldKind = FieldKind {
    name: "node image",
    read: r#".nodegroup | if .amiType == "CUSTOM" then .tags["gpuc.dev/image"] // "CUSTOM" else .amiType end"#,
    create: None,
    change: Change::Replaces {
        reason: "EKS cannot change the kind of image of a node group",
    },
    source: EKS_API,
};

pub(super) const PLACE: FieldKind = FieldKind {
    name: "zones or subnets",
    read: r#".nodegroup | (.tags["gpuc.dev/place"] // "") as $place | if $place == "subnets" then .subnets | sort else $place | split(" ") end"#,
    create: None,
    change: Change::Replaces {
        reason: "EKS cannot move a node group to other subnets",
    },
    source: EKS_API,
};

pub(super) const CAPACITY: FieldKind = FieldKind {
    name: "capacity",
    read: r#".nodegroup.capacityType // "ON_DEMAND""#,
    create: None,
    change: Change::Replaces {
        reason: "EKS cannot change how a node group's machines are paid",
    },
    source: EKS_API,
};

pub(super) const RESERVATION: FieldKind = FieldKind {
    name: "capacity reservation",
    read: r#".nodegroup.tags["gpuc.dev/reservation"] // """#,
    create: None,
    change: Change::Replaces {
        reason: "the reservation stands in the launch template that eksctl makes once",
    },
    source: "awsdocs/amazon-eks-user-guide capacity-blocks-mng @4d52b4d0, 2024-12-18",
};

pub(super) const DISK: FieldKind = FieldKind {
    name: "disk size in GiB",
    read: r#".nodegroup.tags["gpuc.dev/disk-gib"] // """#,
    create: None,
    change: Change::Replaces {
        reason: "the disk stands in the launch template that eksctl makes once",
    },
    source: LAUNCH_TEMPLATE,
};

pub(super) const EFA: FieldKind = FieldKind {
    name: "EFA",
    read: r#".nodegroup.tags["gpuc.dev/efa"] // "no""#,
    create: None,
    change: Change::Replaces {
        reason: "network interfaces stand in the launch template that eksctl makes once",
    },
    source: LAUNCH_TEMPLATE,
};

pub(super) const PLACEMENT_GROUP: FieldKind = FieldKind {
    name: "placement group",
    read: r#".nodegroup.tags["gpuc.dev/placement-group"] // """#,
    create: None,
    change: Change::Replaces {
        reason: "the placement group stands in the launch template that eksctl makes once",
    },
    source: LAUNCH_TEMPLATE,
};

pub(super) const MAX_PODS: FieldKind = FieldKind {
    name: "most pods on a node",
    read: r#".nodegroup.tags["gpuc.dev/max-pods"] // """#,
    create: None,
    change: Change::Replaces {
        reason: "the kubelet's settings stand in the launch template that eksctl makes once",
    },
    source: LAUNCH_TEMPLATE,
};

pub(super) const LOCAL_DISKS: FieldKind = FieldKind {
    name: "local disks",
    read: r#".nodegroup.tags["gpuc.dev/local-disks"] // "none""#,
    create: None,
    change: Change::Replaces {
        reason: "what nodes do with their disks stands in the launch template that eksctl makes once",
    },
    source: LAUNCH_TEMPLATE,
};

pub(super) const IMAGE_VERSION: FieldKind = FieldKind {
    name: "Kubernetes version of the image",
    read: r#".nodegroup.tags["gpuc.dev/kubernetes"] // """#,
    create: None,
    change: Change::Replaces {
        reason: "an Ubuntu image stands in the launch template, and EKS updates only images of its own",
    },
    source: LAUNCH_TEMPLATE,
};

pub(super) const LABELS: FieldKind = FieldKind {
    name: "labels",
    read: "our_labels",
    create: None,
    change: Change::InPlace,
    source: EKS_API,
};

pub(super) const TAINTS: FieldKind = FieldKind {
    name: "taints",
    read: "our_taints",
    create: None,
    change: Change::InPlace,
    source: EKS_API,
};

pub(super) const TAGS: FieldKind = FieldKind {
    name: "tags",
    read: "our_tags",
    create: None,
    change: Change::InPlace,
    source: "botocore 1.43.11, eks TagResource and UntagResource, 2026-11-21",
};

pub(super) const TEMPLATE: FieldKind = FieldKind {
    name: "the autoscaler's picture of a node",
    read: "our_template",
    create: None,
    change: Change::InPlace,
    source: "kubernetes/autoscaler:cluster-autoscaler/cloudprovider/aws/aws_manager.go @55c37cd5, 2026-08-22",
};

pub(super) const UPGRADE: FieldKind = FieldKind {
    name: "how nodes are replaced in an upgrade",
    read: r#".nodegroup.updateConfig // {maxUnavailable: 1} | {maxUnavailable, maxUnavailablePercentage, updateStrategy: (.updateStrategy // "DEFAULT")} | with_entries(select(.value != null))"#,
    create: None,
    change: Change::InPlace,
    source: EKS_API,
};

pub(super) const REPAIR: FieldKind = FieldKind {
    name: "repair of broken nodes",
    read: ".nodegroup.nodeRepairConfig.enabled // false",
    create: None,
    change: Change::InPlace,
    source: EKS_API,
};

pub(super) const SIZE: FieldKind = FieldKind {
    name: "number of nodes",
    read: ".nodegroup.scalingConfig | {minSize, maxSize}",
    create: None,
    change: Change::Resizes,
    source: EKS_API,
};

pub(super) const VERSION: FieldKind = FieldKind {
    name: "Kubernetes version",
    // A version that is newer already stays: none can be taken back.
    read: r#".nodegroup.version | if (split(".")[1] | tonumber) > ($want | split(".")[1] | tonumber) then $want else . end"#,
    create: None,
    change: Change::Rolls {
        reason: "EKS drains every node and puts one of the new version in its place",
    },
    source: EKS_API,
};
