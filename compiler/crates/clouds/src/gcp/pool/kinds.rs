//! The fields of a GKE node pool, and the impact of changing each of them.
//!
//! `gcloud container node-pools update` accepts one group of settings per call, so each field has its own command.

use gpuc_model::plan::{Change, FieldKind};

const UPDATE_HELP: &str = "gcloud container node-pools update --help, Google Cloud SDK 528.0.0";
const UPDATE_REFUSES: &str =
    "gcloud container node-pools update refuses the flag, Google Cloud SDK 528.0.0 (tried)";

const ROLLS: Change = Change::NodeRollout {
    reason: "GKE drains and recreates the nodes of the pool",
};

/// All fields.
pub(super) static FIELDS: &[FieldKind] = &[
    MACHINE,
    MACHINE_WITH_GPUS,
    GPUS,
    GPU_SETTINGS,
    LOCAL_SSDS,
    SPOT,
    FLEX_START,
    MAX_RUN_DURATION,
    RESERVATION,
    PLACEMENT,
    INTERFACES,
    NETWORK_PROFILE,
    HUGE_PAGES,
    MAX_PODS,
    SERVICE_ACCOUNT,
    IMAGE,
    DISK,
    WORKLOAD_METADATA,
    RESOURCE_LABELS,
    AUTOSCALING,
    LOCATION_POLICY,
    TAINTS,
    LABELS,
    UPGRADE,
    MANAGEMENT,
    ZONES,
    NODES,
    INITIAL_NODES,
];

pub(super) const MACHINE: FieldKind = FieldKind {
    name: "machine type",
    read: ".config.machineType",
    create_flag: Some("--machine-type"),
    change: ROLLS,
    source: UPDATE_HELP,
};

pub(super) const MACHINE_WITH_GPUS: FieldKind = FieldKind {
    name: "machine type",
    read: ".config.machineType",
    create_flag: Some("--machine-type"),
    change: Change::Replacement {
        reason: "the GPUs depend on the machine type, and gcloud changes only one of the two per call",
    },
    source: UPDATE_HELP,
};

pub(super) const GPUS: FieldKind = FieldKind {
    name: "GPUs",
    read: "[.config.accelerators[]? | {type: .acceleratorType, \
           count: (.acceleratorCount // 0 | tonumber), partition: (.gpuPartitionSize // null)}]",
    create_flag: Some("--accelerator"),
    change: Change::Replacement {
        reason: "the GPUs of a pool and their partition size cannot be changed after creation",
    },
    source: "gcloud parses the change; what GKE allows of it is not documented (2026-11-21)",
};

pub(super) const GPU_SETTINGS: FieldKind = FieldKind {
    // GKE installs the driver by default since 1.30.1-gke.115600 (note in the gcloud documentation).
    name: "GPU driver and sharing",
    read: r#".config.accelerators[0] // {} | {
        driver: (.gpuDriverInstallationConfig.gpuDriverVersion // "DEFAULT"),
        strategy: (.gpuSharingConfig.gpuSharingStrategy // null),
        clients: (.gpuSharingConfig.maxSharedClientsPerGpu // null | if . then tonumber else . end)}"#,
    create_flag: Some("--accelerator"),
    change: ROLLS,
    source: UPDATE_HELP,
};

pub(super) const LOCAL_SSDS: FieldKind = FieldKind {
    name: "local SSDs",
    read: r#".config | (.localNvmeSsdBlockConfig.localSsdCount // 0 | tonumber) as $block
        | (.ephemeralStorageLocalSsdConfig.localSsdCount // 0 | tonumber) as $scratch
        | if $block > 0 then {count: $block, use: "block"} else {count: $scratch, use: "scratch"} end"#,
    create_flag: Some("--ephemeral-storage-local-ssd or --local-nvme-ssd-block"),
    change: Change::Replacement {
        reason: "the local SSDs of a pool cannot be changed after creation",
    },
    source: UPDATE_REFUSES,
};

pub(super) const SPOT: FieldKind = FieldKind {
    name: "spot capacity",
    read: ".config.spot // false",
    create_flag: Some("--spot"),
    change: Change::Replacement {
        reason: "a pool cannot switch between spot and on-demand capacity after creation",
    },
    source: UPDATE_REFUSES,
};

pub(super) const SERVICE_ACCOUNT: FieldKind = FieldKind {
    name: "service account",
    read: r#".config.serviceAccount // "default""#,
    create_flag: Some("--service-account"),
    change: Change::Replacement {
        reason: "the service account of a pool cannot be changed after creation",
    },
    source: UPDATE_REFUSES,
};

pub(super) const FLEX_START: FieldKind = FieldKind {
    name: "flex-start capacity",
    read: "if .config.flexStart then {queued: (.queuedProvisioning.enabled // false)} else null end",
    create_flag: Some("--flex-start"),
    change: Change::Replacement {
        reason: "a pool cannot switch to or from flex-start or queued provisioning after creation",
    },
    source: "gcloud container node-pools create --help, Google Cloud SDK 528.0.0; gcloud parses the change, and what \
             GKE allows of it is not documented (2026-11-28)",
};

pub(super) const MAX_RUN_DURATION: FieldKind = FieldKind {
    name: "maximum run duration",
    read: ".config.maxRunDuration // null",
    create_flag: Some("--max-run-duration"),
    change: Change::Replacement {
        reason: "running nodes keep the duration with which they were created",
    },
    source: "gcloud container node-pools create --help, Google Cloud SDK 528.0.0; gcloud parses the change, and what \
             GKE allows of it is not documented (2026-11-28)",
};

pub(super) const RESERVATION: FieldKind = FieldKind {
    name: "reservation",
    read: r#".config.reservationAffinity // {}
        | if .consumeReservationType == "SPECIFIC_RESERVATION" then .values[0] else null end"#,
    create_flag: Some("--reservation"),
    change: Change::Replacement {
        reason: "the reservation of a pool cannot be changed after creation",
    },
    source: UPDATE_REFUSES,
};

pub(super) const PLACEMENT: FieldKind = FieldKind {
    name: "placement",
    read: r#".placementPolicy // {} | .policyName // (.type | if . == "COMPACT" then . else null end)"#,
    create_flag: Some("--placement-type or --placement-policy"),
    change: Change::Replacement {
        reason: "the placement of a pool cannot be changed after creation",
    },
    source: UPDATE_REFUSES,
};

pub(super) const INTERFACES: FieldKind = FieldKind {
    name: "networks of the GPU interfaces",
    read: r#"[.networkConfig.additionalNodeNetworkConfigs[]?
        | {network: (.network // "" | split("/") | last), subnetwork: (.subnetwork // "" | split("/") | last)}]"#,
    create_flag: Some("--additional-node-network"),
    change: Change::Replacement {
        reason: "the network interfaces of a pool cannot be changed after creation",
    },
    source: "docs.cloud.google.com/kubernetes-engine/docs/how-to/setup-multinetwork-support-for-pods, general \
             limitations, 2026-11-22",
};

pub(super) const NETWORK_PROFILE: FieldKind = FieldKind {
    name: "network profile of the GPU interfaces",
    read: ".networkConfig.acceleratorNetworkProfile // null",
    create_flag: Some("--accelerator-network-profile"),
    change: Change::Replacement {
        reason: "the network interfaces of a pool cannot be changed after creation",
    },
    source: "API of GKE, NodeNetworkConfig.acceleratorNetworkProfile (immutable), as in the documentation of its Ruby \
             client 0.51.1; the flag: release notes of Google Cloud SDK 563.0.0, 2026-03-31",
};

pub(super) const HUGE_PAGES: FieldKind = FieldKind {
    name: "huge pages",
    read: ".config.linuxNodeConfig.hugepages.hugepageSize2m // 0 | tonumber",
    create_flag: Some("--system-config-from-file"),
    change: ROLLS,
    source: UPDATE_HELP,
};

pub(super) const MAX_PODS: FieldKind = FieldKind {
    name: "maximum pods per node",
    read: ".maxPodsConstraint.maxPodsPerNode // 0 | tonumber",
    create_flag: Some("--max-pods-per-node"),
    change: Change::Replacement {
        reason: "the address range of each node cannot be changed after creation of the pool",
    },
    source: UPDATE_REFUSES,
};

pub(super) const IMAGE: FieldKind = FieldKind {
    name: "node image",
    read: r#".config.imageType // "" | ascii_upcase"#,
    create_flag: Some("--image-type"),
    change: ROLLS,
    source: "gcloud container clusters upgrade --help, Google Cloud SDK 528.0.0",
};

pub(super) const DISK: FieldKind = FieldKind {
    name: "boot disk size",
    read: ".config.diskSizeGb // 0 | tonumber",
    create_flag: Some("--disk-size"),
    change: ROLLS,
    source: UPDATE_HELP,
};

pub(super) const WORKLOAD_METADATA: FieldKind = FieldKind {
    name: "workload metadata",
    read: r#".config.workloadMetadataConfig.mode // "GCE_METADATA""#,
    create_flag: Some("--workload-metadata"),
    change: ROLLS,
    source: UPDATE_HELP,
};

pub(super) const RESOURCE_LABELS: FieldKind = FieldKind {
    name: "resource labels",
    read: "our_resource_labels_or_wanted",
    create_flag: Some("--labels"),
    change: ROLLS,
    source: UPDATE_HELP,
};

pub(super) const AUTOSCALING: FieldKind = FieldKind {
    name: "autoscaling",
    read: ".autoscaling // {} | if .enabled then \
           if .maxNodeCount then {perZone: true} \
           else {min: (.totalMinNodeCount // 0), max: (.totalMaxNodeCount // 0)} end else null end",
    create_flag: Some("--enable-autoscaling"),
    change: Change::InPlace,
    source: UPDATE_HELP,
};

pub(super) const LOCATION_POLICY: FieldKind = FieldKind {
    name: "location policy",
    read: ".autoscaling.locationPolicy // null",
    create_flag: Some("--location-policy"),
    change: Change::InPlace,
    source: UPDATE_HELP,
};

pub(super) const LABELS: FieldKind = FieldKind {
    name: "node labels",
    read: "our_labels",
    create_flag: Some("--node-labels"),
    change: Change::InPlace,
    source: UPDATE_HELP,
};

pub(super) const TAINTS: FieldKind = FieldKind {
    name: "taints",
    read: "our_taints",
    create_flag: Some("--node-taints"),
    change: Change::InPlace,
    source: UPDATE_HELP,
};

pub(super) const UPGRADE: FieldKind = FieldKind {
    name: "upgrade settings",
    // Durations are seconds, such as 3600s. Protobuf's floats have few digits, so the percentage is rounded.
    read: "def minutes: (. // \"0s\") | rtrimstr(\"s\") | tonumber / 60; \
           .upgradeSettings // {} | if .strategy == \"BLUE_GREEN\" then .blueGreenSettings // {} \
           | {soakMinutes: (.nodePoolSoakDuration | minutes)} + (.standardRolloutPolicy // {} \
           | {batchSoakMinutes: (.batchSoakDuration | minutes)} + if (.batchPercentage // 0) > 0 \
           then {batchPercent: (.batchPercentage * 100 | round)} else {batchNodes: (.batchNodeCount // 0)} end) \
           | {blueGreen: .} else {maxSurge: (.maxSurge // 0), maxUnavailable: (.maxUnavailable // 0)} end",
    create_flag: Some("--max-surge-upgrade"),
    change: Change::InPlace,
    source: "gcloud container node-pools update --help and the API's UpgradeSettings \
             (lib/googlecloudsdk/generated_clients/apis/container/v1/container_v1_messages.py), Google Cloud SDK 528.0.0",
};

pub(super) const MANAGEMENT: FieldKind = FieldKind {
    name: "automatic upgrades and repairs",
    read: ".management // {} | {upgrade: (.autoUpgrade // false), repair: (.autoRepair // false)}",
    create_flag: Some("--enable-autoupgrade"),
    change: Change::InPlace,
    source: UPDATE_HELP,
};

pub(super) const ZONES: FieldKind = FieldKind {
    name: "zones",
    read: ".locations // [] | sort",
    create_flag: Some("--node-locations"),
    change: Change::Resize,
    source: UPDATE_HELP,
};

pub(super) const NODES: FieldKind = FieldKind {
    // Resizing also updates this field: registry.terraform.io, google_container_node_pool, `initial_node_count`.
    name: "nodes per zone",
    read: ".initialNodeCount // 0",
    create_flag: Some("--num-nodes"),
    change: Change::Resize,
    source: "gcloud container clusters resize --help, Google Cloud SDK 528.0.0",
};

pub(super) const INITIAL_NODES: FieldKind = FieldKind {
    name: "initial nodes per zone",
    read: ".initialNodeCount // 0",
    create_flag: Some("--num-nodes"),
    change: Change::AtCreation {
        reason: "it applies when the pool is created; afterwards GKE's autoscaler sets the number of nodes",
    },
    source: "gcloud container node-pools create --help, Google Cloud SDK 528.0.0",
};
