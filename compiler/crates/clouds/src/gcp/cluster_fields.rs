//! The fields of a GKE cluster, and the impact of changing each of them.
//!
//! `gcloud container clusters update` accepts exactly one setting per call, so each field has its own command.

use gpuc_model::plan::{Change, FieldKind};

use super::{access, control_plane};

const UPDATE_HELP: &str = "gcloud container clusters update --help, Google Cloud SDK 528.0.0";

/// All fields.
pub(super) static FIELDS: &[FieldKind] = &[
    NETWORK,
    SUBNETWORK,
    control_plane::POD_RANGE,
    control_plane::SERVICE_RANGE,
    PRIVATE_NODES,
    access::PRIVATE_ENDPOINT,
    access::DNS_ENDPOINT,
    access::GLOBAL_ACCESS,
    access::NETWORKS,
    access::SECURITY_GROUP,
    POLICIES,
    DATAPLANE,
    MULTI_NETWORKING,
    SHIELDED_NODES,
    RELEASE_CHANNEL,
    CONTROL_PLANE,
    WORKLOAD_IDENTITY,
    control_plane::LOGS,
    control_plane::SECRETS_KEY,
    FILESTORE,
    FUSE,
    MAINTENANCE,
    MAINTENANCE_EXCLUSION,
    RESOURCE_LABELS,
];

/// The only field of the default pool.
pub(super) static DEFAULT_POOL_FIELDS: &[FieldKind] = &[DEFAULT_POOL_EXISTS];

pub(super) const NETWORK: FieldKind = FieldKind {
    name: "network",
    read: r#".network // "default" | split("/") | last"#,
    create_flag: Some("--network"),
    change: Change::Replacement {
        reason: "the network of a cluster cannot be changed after creation",
    },
    source: UPDATE_HELP,
};

pub(super) const SUBNETWORK: FieldKind = FieldKind {
    name: "subnetwork",
    read: r#".subnetwork // "" | split("/") | last"#,
    create_flag: Some("--subnetwork"),
    change: Change::Replacement {
        reason: "the subnetwork of a cluster cannot be changed after creation",
    },
    source: UPDATE_HELP,
};

pub(super) const PRIVATE_NODES: FieldKind = FieldKind {
    name: "private nodes",
    read: "(.networkConfig.defaultEnablePrivateNodes // false) \
               or (.privateClusterConfig.enablePrivateNodes // false)",
    create_flag: Some("--enable-private-nodes"),
    change: Change::Replacement {
        reason: "existing pools keep their IP addresses",
    },
    source: UPDATE_HELP,
};

pub(super) const POLICIES: FieldKind = FieldKind {
    name: "network policies",
    // Calico, the earlier implementation of GKE, also enforces them.
    read: r#".networkConfig.datapathProvider == "ADVANCED_DATAPATH" or (.networkPolicy.enabled // false)"#,
    create_flag: Some("--enable-dataplane-v2"),
    change: Change::Replacement {
        reason: "Dataplane V2, which enforces network policies, can only be enabled at creation of the cluster; to \
                 enable Calico instead, run by hand: gcloud container clusters update \
                 --update-addons=NetworkPolicy=ENABLED, then --enable-network-policy, which recreates every node",
    },
    source: "docs.cloud.google.com/kubernetes-engine/docs/how-to/dataplane-v2 and .../network-policy, 2026-11-22",
};

pub(super) const DATAPLANE: FieldKind = FieldKind {
    name: "Dataplane V2",
    read: r#".networkConfig.datapathProvider == "ADVANCED_DATAPATH""#,
    create_flag: Some("--enable-dataplane-v2"),
    change: Change::Replacement {
        reason: "Dataplane V2, which pods with several interfaces require, can only be enabled at creation of the \
                 cluster",
    },
    source: "docs.cloud.google.com/kubernetes-engine/docs/how-to/dataplane-v2 and \
             .../setup-multinetwork-support-for-pods, 2026-11-22",
};

pub(super) const MULTI_NETWORKING: FieldKind = FieldKind {
    name: "multi-networking",
    read: ".networkConfig.enableMultiNetworking // false",
    create_flag: Some("--enable-multi-networking"),
    change: Change::InPlace,
    source: UPDATE_HELP,
};

pub(super) const SHIELDED_NODES: FieldKind = FieldKind {
    name: "shielded nodes",
    read: ".shieldedNodes.enabled // false",
    create_flag: Some("--no-enable-shielded-nodes"),
    change: Change::NodeRollout {
        reason: "GKE recreates the nodes of all pools",
    },
    source: "gcloud container clusters update --help, Google Cloud SDK 528.0.0; the need of bare-metal machines: \
             docs.cloud.google.com/ai-hypercomputer/docs/create/gke-ai-hypercompute-custom-a4x-max, 2026-04-06",
};

pub(super) const RELEASE_CHANNEL: FieldKind = FieldKind {
    name: "release channel",
    read: r#".releaseChannel.channel // "UNSPECIFIED""#,
    create_flag: Some("--release-channel"),
    change: Change::InPlace,
    source: UPDATE_HELP,
};

pub(super) const CONTROL_PLANE: FieldKind = FieldKind {
    // A release channel upgrades the cluster automatically, and downgrades are not possible: a newer version is
    // accepted.
    name: "Kubernetes version of the control plane",
    read: r#"def minor: split(".")[1] // "0" | tonumber;
            (.currentMasterVersion // "" | split(".")[:2] | join(".")) as $have
            | if ($have | minor) >= ($want | minor) then $want else $have end"#,
    create_flag: Some("--cluster-version"),
    change: Change::MinorVersionSteps {
        reason: "GKE upgrades a control plane by one minor version at a time",
        downgrade_effect: "GKE cannot downgrade a control plane to an older minor version",
    },
    source: "gcloud container clusters upgrade --help, Google Cloud SDK 528.0.0; \
             https://docs.cloud.google.com/kubernetes-engine/docs/how-to/upgrading-a-cluster and Google's skill \
             gke-upgrades (SKILL.md), read 2026-11-22",
};

pub(super) const WORKLOAD_IDENTITY: FieldKind = FieldKind {
    name: "workload identity",
    read: ".workloadIdentityConfig.workloadPool // null",
    create_flag: Some("--workload-pool"),
    change: Change::InPlace,
    source: UPDATE_HELP,
};

pub(super) const FILESTORE: FieldKind = FieldKind {
    name: "Filestore CSI driver",
    read: ".addonsConfig.gcpFilestoreCsiDriverConfig.enabled // false",
    create_flag: Some("--addons"),
    change: Change::InPlace,
    source: UPDATE_HELP,
};

pub(super) const FUSE: FieldKind = FieldKind {
    name: "Cloud Storage FUSE CSI driver",
    read: ".addonsConfig.gcsFuseCsiDriverConfig.enabled // false",
    create_flag: Some("--addons"),
    change: Change::InPlace,
    source: UPDATE_HELP,
};

pub(super) const MAINTENANCE: FieldKind = FieldKind {
    name: "maintenance window",
    // If the file has no window, one that gpuc did not set is kept. gcloud can print UTC as +00:00.
    read: r#"def utc: sub("[+]00:00$"; "Z");
            .maintenancePolicy.window.recurringWindow // null
            | if . and ($want != null or (.window.startTime | test("^2025-01-(0[6-9]|1[0-2])T")))
              then {start: (.window.startTime | utc), end: (.window.endTime | utc), recurrence} else null end"#,
    create_flag: Some("--maintenance-window-start"),
    change: Change::InPlace,
    source: UPDATE_HELP,
};

/// The jq program that lists the window that gpuc did not set: its own ones begin in the first full week of 2025
/// (`maintenance.rs`).
pub(super) const OTHER_MAINTENANCE: &str = r#"if $want != null then [] else
        [.maintenancePolicy.window // {}
          | (.recurringWindow // empty
              | select(.window.startTime | test("^2025-01-(0[6-9]|1[0-2])T") | not)
              | "\(.recurrence) from \(.window.startTime)"),
            (.dailyMaintenanceWindow // empty | "daily from \(.startTime)")] end"#;

/// The exclusion with the name `gpuc`. Others are not gpuc's. The end of one that lasts until the end of support moves
/// with each minor version. GKE refuses one that has ended, and need not keep it.
///
/// Source: Google Cloud SDK 528.0.0, `lib/googlecloudsdk/command_lib/container/flags.py` (scopes, names), and
/// `container_v1_messages.py` (`MaintenanceExclusionOptions`; `NO_UPGRADES` is the default), 2026-11-22.
pub(super) const MAINTENANCE_EXCLUSION: FieldKind = FieldKind {
    name: "maintenance exclusion",
    read: r#"def utc: sub("[+]00:00$"; "Z");
             if $want != null and $want.end != null and ($want.end | fromdate) < now then $want
             else .maintenancePolicy.window.maintenanceExclusions.gpuc // null
               | if . then
                   {scope: (.maintenanceExclusionOptions.scope // "NO_UPGRADES" | ascii_downcase)}
                   + if .maintenanceExclusionOptions.endTimeBehavior == "UNTIL_END_OF_SUPPORT" then {}
                     else {start: (.startTime | utc), end: (.endTime | utc)} end
                 else null end
             end"#,
    create_flag: None,
    change: Change::InPlace,
    source: UPDATE_HELP,
};

/// The jq program that outputs the name of gpuc's exclusion if it exists.
pub(super) const EXCLUSION_NAME: &str = r#"if .maintenancePolicy.window.maintenanceExclusions | has("gpuc")? // false then "gpuc" else null end"#;

pub(super) const RESOURCE_LABELS: FieldKind = FieldKind {
    name: "resource labels",
    read: "our_labels",
    create_flag: Some("--labels"),
    change: Change::InPlace,
    source: UPDATE_HELP,
};

pub(super) const DEFAULT_POOL_EXISTS: FieldKind = FieldKind {
    // The pool is kept while it is the only one, because system pods need a node.
    name: "first pool",
    // Another pool of this name, without the label, is not gpuc's.
    read: r#"(.nodePools // []) | length > 1 and any(.[]; .name == "default-pool" and .config.labels["gpuc.dev/first-pool"] == "yes")"#,
    create_flag: None,
    change: Change::Resize,
    source: "gcloud container node-pools delete --help, Google Cloud SDK 528.0.0",
};

/// The jq program that lists a pool with the name of the first pool that the scripts did not create.
pub(super) const OTHER_FIRST_POOL: &str = r#"[.nodePools[]? | select(.name == "default-pool" and .config.labels["gpuc.dev/first-pool"] != "yes") | .name]"#;
