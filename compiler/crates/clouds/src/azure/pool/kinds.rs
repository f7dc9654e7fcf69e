//! The fields of a node pool, and the impact of changing each of them.

use gpuc_model::plan::{Change, FieldKind, Mark, ResourceKind};

use super::super::state;

/// A node pool of AKS.
pub(in super::super) static POOL: ResourceKind = ResourceKind {
    name: "AKS node pool",
    protection: None,
    fields: &[
        VM_SIZE,
        PRIORITY,
        EVICTION,
        MAX_PRICE,
        ZONES,
        SUBNET,
        RESERVATION,
        PLACEMENT,
        DISK,
        DISK_TYPE,
        MAX_PODS,
        DRIVER,
        MIG,
        OS_SKU,
        VERSION,
        MODE,
        AUTOSCALING,
        NODES,
        INITIAL_NODES,
        LABELS,
        TAINTS,
        TAGS,
        UPGRADE,
    ],
    definitions: concat!(include_str!("../tags.jq"), include_str!("sets.jq")),
    state: Some(&state::MANAGED),
    mark: Some(&Mark {
        name: "label gpuc.dev/pool with this name",
        read: r#".nodeLabels["gpuc.dev/pool"] == $name"#,
    }),
};

const DOCS: &str = "MicrosoftDocs/azure-aks-docs articles/aks/create-node-pools.md@fb060abe";
const SPOT_DOCS: &str = "MicrosoftDocs/azure-aks-docs articles/aks/spot-node-pool.md, 2026-11-21";
const FLAGS: &str = "azure-cli 2.91.0, az aks nodepool update";

pub(super) const VM_SIZE: FieldKind = FieldKind {
    name: "VM size",
    read: ".vmSize",
    create_flag: Some("--node-vm-size"),
    change: Change::Replacement {
        reason: "the VM size of a pool cannot be changed after creation",
    },
    source: DOCS,
};
pub(super) const PRIORITY: FieldKind = FieldKind {
    name: "priority",
    read: r#".scaleSetPriority // "Regular""#,
    create_flag: Some("--priority"),
    change: Change::Replacement {
        reason: "a pool cannot switch between spot and regular machines after creation",
    },
    source: SPOT_DOCS,
};
pub(super) const EVICTION: FieldKind = FieldKind {
    name: "eviction policy",
    read: r#".scaleSetEvictionPolicy // "Delete""#,
    create_flag: Some("--eviction-policy"),
    change: Change::Replacement {
        reason: "the eviction policy of a pool cannot be changed after creation",
    },
    source: SPOT_DOCS,
};
pub(super) const MAX_PRICE: FieldKind = FieldKind {
    name: "maximum spot price",
    read: "(.spotMaxPrice // -1) | tonumber",
    create_flag: Some("--spot-max-price"),
    change: Change::Replacement {
        reason: "the maximum spot price of a pool cannot be changed after creation",
    },
    source: SPOT_DOCS,
};
pub(super) const ZONES: FieldKind = FieldKind {
    name: "zones",
    read: "(.availabilityZones // []) | sort",
    create_flag: Some("--zones"),
    change: Change::Replacement {
        reason: "the availability zones of a pool cannot be changed after creation",
    },
    source: "MicrosoftDocs/azure-aks-docs articles/aks/reliability-availability-zones-configure.md@fb060abe",
};
pub(super) const SUBNET: FieldKind = FieldKind {
    name: "subnet",
    read: r#"(.vnetSubnetId // "") | ascii_downcase"#,
    create_flag: Some("--vnet-subnet-id"),
    change: Change::Replacement {
        reason: "the subnet of a pool cannot be changed after creation",
    },
    source: FLAGS,
};
pub(super) const RESERVATION: FieldKind = FieldKind {
    name: "capacity reservation group",
    read: r#"(.capacityReservationGroupId // "") | ascii_downcase"#,
    create_flag: Some("--crg-id"),
    change: Change::Replacement {
        reason: "the capacity reservation of a pool cannot be changed after creation, except in a preview",
    },
    source: "MicrosoftDocs/azure-aks-docs articles/aks/use-capacity-reservation-groups.md@fb060abe",
};
pub(super) const PLACEMENT: FieldKind = FieldKind {
    name: "proximity placement group",
    read: r#"(.proximityPlacementGroupId // "") | ascii_downcase"#,
    create_flag: Some("--ppg"),
    change: Change::Replacement {
        reason: "only a new pool can join a proximity placement group",
    },
    source: "MicrosoftDocs/azure-aks-docs articles/aks/reduce-latency-ppg.md@fb060abe",
};
pub(super) const DISK: FieldKind = FieldKind {
    name: "disk size",
    read: ".osDiskSizeGb",
    create_flag: Some("--node-osdisk-size"),
    change: Change::Replacement {
        reason: "the disk size of the nodes cannot be changed after creation of the pool",
    },
    source: "MicrosoftDocs/azure-aks-docs articles/aks/concepts-storage.md@fb060abe",
};
pub(super) const DISK_TYPE: FieldKind = FieldKind {
    name: "disk type",
    read: ".osDiskType",
    create_flag: Some("--node-osdisk-type"),
    change: Change::Replacement {
        reason: "the placement of the nodes' boot disks cannot be changed after creation of the pool",
    },
    source: "MicrosoftDocs/azure-aks-docs articles/aks/concepts-storage.md@fb060abe",
};
pub(super) const MAX_PODS: FieldKind = FieldKind {
    name: "maximum pods per node",
    read: ".maxPods",
    create_flag: Some("--max-pods"),
    change: Change::Replacement {
        reason: "the maximum number of pods per node cannot be changed after creation of the pool",
    },
    source: DOCS,
};
pub(super) const DRIVER: FieldKind = FieldKind {
    name: "GPU driver",
    read: r#".gpuProfile.driver // "Install""#,
    create_flag: Some("--gpu-driver"),
    change: Change::Replacement {
        reason: "the installation of the GPU driver cannot be changed after creation of the pool; existing nodes \
                 would not change",
    },
    source: "MicrosoftDocs/azure-aks-docs articles/aks/use-nvidia-gpu.md@fb060abe",
};
pub(super) const MIG: FieldKind = FieldKind {
    name: "GPU instance profile",
    read: ".gpuInstanceProfile",
    create_flag: Some("--gpu-instance-profile"),
    change: Change::Replacement {
        reason: "the GPU instance profile of a pool cannot be changed after creation",
    },
    source: "MicrosoftDocs/azure-aks-docs articles/aks/gpu-multi-instance.md@04921f5f",
};
pub(super) const OS_SKU: FieldKind = FieldKind {
    name: "operating system",
    read: r#".osSku // "Ubuntu""#,
    create_flag: Some("--os-sku"),
    change: Change::NodeRollout {
        reason: "AKS reimages every node with the new operating system",
    },
    source: "MicrosoftDocs/azure-aks-docs articles/aks/upgrade-os-version.md@024a50aa",
};
pub(super) const VERSION: FieldKind = FieldKind {
    name: "Kubernetes version",
    read: r#".orchestratorVersion | split(".")[:2] | join(".") | if (split(".")[1] | tonumber) > ($want | split(".")[1] | tonumber) then $want else . end"#,
    create_flag: None,
    change: Change::NodeRollout {
        reason: "AKS drains and reimages every node with the new version",
    },
    source: "MicrosoftDocs/azure-aks-docs articles/aks/upgrade-aks-node-pools-rolling.md@32892028",
};
pub(super) const MODE: FieldKind = FieldKind {
    name: "mode",
    read: ".mode",
    create_flag: Some("--mode"),
    change: Change::InPlace,
    source: "MicrosoftDocs/azure-aks-docs articles/aks/use-system-pools.md@04921f5f",
};
pub(super) const AUTOSCALING: FieldKind = FieldKind {
    name: "autoscaling",
    read: "if .enableAutoScaling then {enabled: true, min: .minCount, max: .maxCount} else {enabled: false} end",
    create_flag: Some("--enable-cluster-autoscaler"),
    change: Change::InPlace,
    source: FLAGS,
};
pub(super) const NODES: FieldKind = FieldKind {
    name: "nodes",
    read: ".count",
    create_flag: Some("--node-count"),
    change: Change::Resize,
    source: "azure-cli 2.91.0, az aks nodepool scale",
};
pub(super) const INITIAL_NODES: FieldKind = FieldKind {
    name: "initial nodes",
    read: ".count",
    create_flag: Some("--node-count"),
    change: Change::AtCreation {
        reason: "it applies when the pool is created; afterwards AKS's autoscaler sets the number of nodes",
    },
    source: "azure-cli 2.91.0, az aks nodepool add",
};
pub(super) const LABELS: FieldKind = FieldKind {
    name: "labels",
    read: "our_labels",
    create_flag: Some("--labels"),
    change: Change::InPlace,
    source: "MicrosoftDocs/azure-aks-docs articles/aks/use-labels.md@fb060abe",
};
pub(super) const TAINTS: FieldKind = FieldKind {
    name: "taints",
    read: "our_taints",
    create_flag: Some("--node-taints"),
    change: Change::InPlace,
    source: "MicrosoftDocs/azure-aks-docs articles/aks/use-node-taints.md@fb060abe; Azure/AKS#2934",
};
pub(super) const TAGS: FieldKind = FieldKind {
    name: "tags",
    read: "our_tags_spelled",
    create_flag: Some("--tags"),
    change: Change::InPlace,
    source: "MicrosoftDocs/azure-aks-docs articles/aks/use-tags.md@fb060abe",
};
/// Both settings in one: AKS refuses a pool while both are 0 or both are above 0.
pub(super) const UPGRADE: FieldKind = FieldKind {
    name: "upgrade settings",
    read: r#".upgradeSettings // {}
           | {maxSurge: (.maxSurge // "10%" | tostring), maxUnavailable: (.maxUnavailable // "0" | tostring)}"#,
    create_flag: Some("--max-surge"),
    change: Change::InPlace,
    source: FLAGS,
};
