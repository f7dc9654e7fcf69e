//! What becomes of a change of each field of a GKE cluster.
//!
//! `gcloud container clusters update` takes exactly one setting a call, so each field has its own command.

use crate::plan::{Change, FieldKind};

const UPDATE_HELP: &str = "gcloud container clusters update --help, Google Cloud SDK 528.0.0";

/// Every field.
pub(super) static FIELDS: &[FieldKind] = &[
    NETWORK,
    SUBNETWORK,
    PRIVATE_NODES,
    POLICIES,
    DATAPLANE,
    MULTI_NETWORKING,
    RELEASE_CHANNEL,
    CONTROL_PLANE,
    WORKLOAD_IDENTITY,
    FILESTORE,
    FUSE,
    MAINTENANCE,
    RESOURCE_LABELS,
];

/// The one field of the pool that a cluster is born with.
pub(super) static FIRST_POOL_FIELDS: &[FieldKind] = &[FIRST_POOL];

pub(super) const NETWORK: FieldKind = FieldKind {
    name: "network",
    read: r#".network // "default" | split("/") | last"#,
    create: Some("--network"),
    change: Change::Replaces {
        reason: "a cluster stays in the network it was made in",
    },
    source: UPDATE_HELP,
};

pub(super) const SUBNETWORK: FieldKind = FieldKind {
    name: "subnetwork",
    read: r#".subnetwork // "" | split("/") | last"#,
    create: Some("--subnetwork"),
    change: Change::Replaces {
        reason: "a cluster stays in the subnetwork it was made in",
    },
    source: UPDATE_HELP,
};

pub(super) const PRIVATE_NODES: FieldKind = FieldKind {
    name: "private nodes",
    read: "(.networkConfig.defaultEnablePrivateNodes // false) \
               or (.privateClusterConfig.enablePrivateNodes // false)",
    create: Some("--enable-private-nodes"),
    change: Change::Replaces {
        reason: "existing pools keep the addresses they have",
    },
    source: UPDATE_HELP,
};

pub(super) const POLICIES: FieldKind = FieldKind {
    name: "network policies",
    // Calico, which GKE had before, enforces them as well.
    read: r#".networkConfig.datapathProvider == "ADVANCED_DATAPATH" or (.networkPolicy.enabled // false)"#,
    create: Some("--enable-dataplane-v2"),
    change: Change::Replaces {
        reason: "a cluster gets Dataplane V2, which enforces them, when it is made; have Calico do it by hand: \
                 gcloud container clusters update --update-addons=NetworkPolicy=ENABLED, then --enable-network-policy, \
                 which makes every node again",
    },
    source: "docs.cloud.google.com/kubernetes-engine/docs/how-to/dataplane-v2 and .../network-policy, 2026-11-22",
};

pub(super) const DATAPLANE: FieldKind = FieldKind {
    name: "Dataplane V2",
    read: r#".networkConfig.datapathProvider == "ADVANCED_DATAPATH""#,
    create: Some("--enable-dataplane-v2"),
    change: Change::Replaces {
        reason: "a cluster gets Dataplane V2, without which pods have no second interface, when it is made",
    },
    source: "docs.cloud.google.com/kubernetes-engine/docs/how-to/dataplane-v2 and \
             .../setup-multinetwork-support-for-pods, 2026-11-22",
};

pub(super) const MULTI_NETWORKING: FieldKind = FieldKind {
    name: "several networks for pods",
    read: ".networkConfig.enableMultiNetworking // false",
    create: Some("--enable-multi-networking"),
    change: Change::InPlace,
    source: UPDATE_HELP,
};

pub(super) const RELEASE_CHANNEL: FieldKind = FieldKind {
    name: "release channel",
    read: r#".releaseChannel.channel // "UNSPECIFIED""#,
    create: Some("--release-channel"),
    change: Change::InPlace,
    source: UPDATE_HELP,
};

pub(super) const CONTROL_PLANE: FieldKind = FieldKind {
    // The channel moves a cluster on by itself, and no cluster goes back: a newer one is as wanted.
    name: "Kubernetes version of the control plane",
    read: r#"def minor: split(".")[1] // "0" | tonumber;
            (.currentMasterVersion // "" | split(".")[:2] | join(".")) as $have
            | if ($have | minor) >= ($want | minor) then $want else $have end"#,
    create: Some("--cluster-version"),
    change: Change::Climbs {
        reason: "GKE takes a control plane up by one minor version at a time",
        back: "GKE takes no control plane back to an older minor version",
    },
    source: "gcloud container clusters upgrade --help, Google Cloud SDK 528.0.0; \
             https://docs.cloud.google.com/kubernetes-engine/docs/how-to/upgrading-a-cluster and Google's skill \
             gke-upgrades (SKILL.md), read 2026-11-22",
};

pub(super) const WORKLOAD_IDENTITY: FieldKind = FieldKind {
    name: "workload identity",
    read: ".workloadIdentityConfig.workloadPool // null",
    create: Some("--workload-pool"),
    change: Change::InPlace,
    source: UPDATE_HELP,
};

pub(super) const FILESTORE: FieldKind = FieldKind {
    name: "Filestore's driver",
    read: ".addonsConfig.gcpFilestoreCsiDriverConfig.enabled // false",
    create: Some("--addons"),
    change: Change::InPlace,
    source: UPDATE_HELP,
};

pub(super) const FUSE: FieldKind = FieldKind {
    name: "Cloud Storage's driver",
    read: ".addonsConfig.gcsFuseCsiDriverConfig.enabled // false",
    create: Some("--addons"),
    change: Change::InPlace,
    source: UPDATE_HELP,
};

pub(super) const MAINTENANCE: FieldKind = FieldKind {
    name: "maintenance window",
    // gcloud may write UTC as +00:00.
    read: r#"def utc: sub("[+]00:00$"; "Z");
            .maintenancePolicy.window.recurringWindow // null
            | if . then {start: (.window.startTime | utc), end: (.window.endTime | utc), recurrence} else null end"#,
    create: Some("--maintenance-window-start"),
    change: Change::InPlace,
    source: UPDATE_HELP,
};

pub(super) const RESOURCE_LABELS: FieldKind = FieldKind {
    name: "resource labels",
    read: "our_labels",
    create: Some("--labels"),
    change: Change::InPlace,
    source: UPDATE_HELP,
};

pub(super) const FIRST_POOL: FieldKind = FieldKind {
    // It stays while it is the only one: system pods must be somewhere.
    name: "first pool",
    read: r#"[.nodePools[]?.name] | index("default-pool") != null and length > 1"#,
    create: None,
    change: Change::Resizes,
    source: "gcloud container node-pools delete --help, Google Cloud SDK 528.0.0",
};
