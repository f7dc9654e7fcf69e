//! GKE.

use gpuc_model::plan::{Field, Resource};
use serde_json::{Value, json};

use super::external_settings::{self, ExternalSettings, without_keys};
use super::lifecycle::{self, Case};
use super::{control_planes, gcp_networks, hostile, verify};

pub(super) static RICH: Case = Case {
    config: include_str!("gcp.yaml"),
    before: "",
    other_account: r#"standin-state set gke.projects '["somebody-elses"]'"#,
    settled: &[],
    drift,
};

static EXISTING: Case = Case {
    config: include_str!("gcp-existing.yaml"),
    before: "
        place='--project=acme-ml-prod --location=us-central1-a'
        gcloud container clusters create theirs $place --cluster-version=1.36.1-gke.1 >/dev/null
        gcloud container node-pools create old $place --cluster=theirs >/dev/null",
    other_account: RICH.other_account,
    settled: &[],
    drift,
};

static DIRECT: Case = Case {
    config: include_str!("gcp-gpudirect.yaml"),
    before: "",
    other_account: RICH.other_account,
    settled: &[],
    drift,
};

/// A public API server that some networks reach.
static ACCESS: Case = Case {
    config: include_str!("gcp-access.yaml"),
    before: "",
    other_account: RICH.other_account,
    settled: &[],
    drift,
};

pub(super) fn drift(state: &mut Value, resource: &Resource, field: &Field) -> bool {
    let name = resource.name.as_str();
    match resource.kind.name {
        "Compute Engine workload policy" => {
            gcp_networks::drift_policy(&mut state["gce"]["resourcePolicies"][name], field)
        }
        "VPC network" | "VPC subnetwork" | "VPC firewall rule" => {
            let list = gcp_networks::list(resource);
            gcp_networks::drift_network(&mut state["gce"][list][name], field)
        }
        "GKE cluster" => drift_cluster(&mut state["gke"]["clusters"][name], field),
        "GKE node pool" => drift_pool(&mut state["gke"]["pools"][name], field),
        "GKE cluster's first pool" => {
            let labels = json!({"gpuc.dev/first-pool": "yes"});
            let first = json!({"name": name, "_cluster": "rich", "config": {"labels": labels}});
            state["gke"]["pools"][name] = first;
            field.kind.name == "first pool"
        }
        _ => false,
    }
}

fn drift_cluster(cluster: &mut Value, field: &Field) -> bool {
    match field.kind.name {
        "network" => cluster["network"] = json!("other"),
        "network policies" => cluster["networkConfig"]["datapathProvider"] = json!(null),
        "Dataplane V2" => cluster["networkConfig"]["datapathProvider"] = json!("LEGACY_DATAPATH"),
        "multi-networking" => {
            cluster["networkConfig"]["enableMultiNetworking"] = json!(null);
        }
        "subnetwork" => cluster["subnetwork"] = json!("other"),
        "private nodes" => {
            let now = field.desired.as_bool().unwrap();
            cluster["networkConfig"]["defaultEnablePrivateNodes"] = json!(!now);
            cluster["privateClusterConfig"] = json!({"enablePrivateNodes": !now});
        }
        "shielded nodes" => cluster["shieldedNodes"]["enabled"] = json!(true),
        "private endpoint" => {
            let now = field.desired.as_bool().unwrap();
            cluster["privateClusterConfig"]["enablePrivateEndpoint"] = json!(!now);
            let endpoints = &mut cluster["controlPlaneEndpointsConfig"]["ipEndpointsConfig"];
            endpoints["enablePublicEndpoint"] = json!(now);
        }
        "DNS endpoint" => {
            let now = field.desired.as_bool().unwrap();
            let endpoint = &mut cluster["controlPlaneEndpointsConfig"]["dnsEndpointConfig"];
            endpoint["allowExternalTraffic"] = json!(!now);
        }
        "global access" => {
            let endpoints = &mut cluster["controlPlaneEndpointsConfig"]["ipEndpointsConfig"];
            endpoints["globalAccess"] = json!(null);
        }
        "authorized networks" => {
            let endpoints = &mut cluster["controlPlaneEndpointsConfig"]["ipEndpointsConfig"];
            endpoints["authorizedNetworksConfig"] = json!({"enabled": false});
        }
        "security group" => cluster["authenticatorGroupsConfig"] = json!(null),
        "release channel" => cluster["releaseChannel"]["channel"] = json!("RAPID"),
        "Kubernetes version of the control plane" => {
            cluster["currentMasterVersion"] = json!("1.35.5-gke.1080000");
        }
        "Cloud Storage FUSE CSI driver" => {
            cluster["addonsConfig"]["gcsFuseCsiDriverConfig"]["enabled"] = json!(false);
        }
        "Filestore CSI driver" => {
            cluster["addonsConfig"]["gcpFilestoreCsiDriverConfig"]["enabled"] = json!(false);
        }
        "maintenance window" => {
            let window =
                json!({"startTime": "2025-01-06T09:00:00Z", "endTime": "2025-01-06T15:00:00Z"});
            cluster["maintenancePolicy"]["window"]["recurringWindow"] =
                json!({"recurrence": "FREQ=DAILY", "window": window});
        }
        "maintenance exclusion" => {
            let exclusions = &mut cluster["maintenancePolicy"]["window"]["maintenanceExclusions"];
            exclusions["gpuc"] =
                json!({"startTime": "2096-12-01T00:00:00Z", "endTime": "2096-12-29T00:00:00Z"});
        }
        "workload identity" => cluster["workloadIdentityConfig"] = json!({}),
        "resource labels" => {
            // `gpuc-labels` records the ownership of `extra`. Its value is computed independently of gpuc.
            cluster["resourceLabels"]["extra"] = json!("label");
            cluster["resourceLabels"]["gpuc-labels"] = json!("yde5di");
        }
        _ => return control_planes::drift_gke(cluster, field),
    }
    true
}

fn drift_pool(pool: &mut Value, field: &Field) -> bool {
    let config = &mut pool["config"];
    match field.kind.name {
        "machine type" => config["machineType"] = json!("e2-standard-32"),
        "GPUs" if field.desired == json!([]) => {
            config["accelerators"] =
                json!([{"acceleratorType": "nvidia-l4", "acceleratorCount": "1"}]);
        }
        "GPUs" => config["accelerators"][0]["acceleratorType"] = json!("nvidia-tesla-k80"),
        "GPU driver and sharing" => {
            let now = &field.desired["driver"] == "LATEST";
            let other = if now { "DEFAULT" } else { "LATEST" };
            let driver = &mut config["accelerators"][0]["gpuDriverInstallationConfig"];
            driver["gpuDriverVersion"] = json!(other);
        }
        "local SSDs" => config["localNvmeSsdBlockConfig"]["localSsdCount"] = json!(1),
        "spot capacity" => config["spot"] = json!(!field.desired.as_bool().unwrap()),
        "reservation" => {
            config["reservationAffinity"] = json!({
                "consumeReservationType": "SPECIFIC_RESERVATION",
                "key": "compute.googleapis.com/reservation-name",
                "values": ["other"],
            });
        }
        "networks of the GPU interfaces" => {
            let other = json!({"network": "other", "subnetwork": "other"});
            pool["networkConfig"]["additionalNodeNetworkConfigs"] = json!([other]);
        }
        "placement" => pool["placementPolicy"] = json!({"policyName": "other"}),
        "network profile of the GPU interfaces" => {
            pool["networkConfig"]["acceleratorNetworkProfile"] = json!("other");
        }
        "huge pages" => config["linuxNodeConfig"]["hugepages"]["hugepageSize2m"] = json!(1),
        "maximum pods per node" => pool["maxPodsConstraint"]["maxPodsPerNode"] = json!("32"),
        "service account" => config["serviceAccount"] = json!("default"),
        "node image" => {
            let now = field.desired == "COS_CONTAINERD";
            let other = if now {
                "UBUNTU_CONTAINERD"
            } else {
                "COS_CONTAINERD"
            };
            config["imageType"] = json!(other);
        }
        "boot disk size" => config["diskSizeGb"] = json!(77),
        "workload metadata" => {
            config["workloadMetadataConfig"]["mode"] = json!("GCE_METADATA");
        }
        "resource labels" => {
            config["resourceLabels"]["extra"] = json!("label");
            config["resourceLabels"]["gpuc-labels"] = json!("yde5di");
        }
        "flex-start capacity" if field.desired.is_null() => config["flexStart"] = json!(true),
        "flex-start capacity" => {
            config.as_object_mut().unwrap().remove("flexStart");
        }
        "maximum run duration" => config["maxRunDuration"] = json!("77s"),
        "location policy" => pool["autoscaling"]["locationPolicy"] = json!("BALANCED"),
        "autoscaling" if field.desired.is_null() => {
            pool["autoscaling"] = json!({"enabled": true, "totalMaxNodeCount": 5});
        }
        "autoscaling" => pool["autoscaling"]["totalMaxNodeCount"] = json!(77),
        "node labels" => config["labels"]["gpuc.dev/other"] = json!("x"),
        "taints" => {
            let other = json!({"key": "gpuc.dev/other", "value": "x", "effect": "NO_EXECUTE"});
            config["taints"] = json!([other]);
        }
        "upgrade settings" if field.desired.get("blueGreen").is_some() => {
            pool["upgradeSettings"]["blueGreenSettings"]["nodePoolSoakDuration"] = json!("7s");
        }
        "upgrade settings" => pool["upgradeSettings"]["maxSurge"] = json!(7),
        "automatic upgrades and repairs" => pool["management"]["autoUpgrade"] = json!(false),
        "zones" => pool["locations"] = json!(["us-central1-f"]),
        "nodes per zone" | "initial nodes per zone" => pool["initialNodeCount"] = json!(9),
        _ => return false,
    }
    true
}

#[test]
#[ignore = "needs bash, jq, python3 with PyYAML"]
fn cluster_is_created_once() {
    let state = lifecycle::assert_created_once(&RICH);
    let gke = &state["gke"];
    let cluster = &gke["clusters"]["rich"];
    assert_eq!(cluster["releaseChannel"], json!({"channel": "STABLE"}));
    assert_eq!(
        cluster["resourceLabels"],
        json!({"owner": "platform", "cost-center": "ml", "gpuc-cluster": "rich", "gpuc-labels": "bofdon-xpidx3"})
    );
    let pools: Vec<_> = gke["pools"].as_object().unwrap().keys().collect();
    assert_eq!(
        pools,
        ["attached", "flex", "infer", "slices", "system", "train"]
    );
    let infer = &gke["pools"]["infer"];
    assert_eq!(
        infer["config"]["labels"],
        json!({
            "acme.dev/tier": "gold", "gpuc.dev/pool": "infer", "rack": "007",
            "gpuc.dev/labels": "eg7s3z-l7fosf", "gpuc.dev/taints": "pfzsmv",
        })
    );
    assert_eq!(
        infer["config"]["taints"],
        json!([{"effect": "NO_EXECUTE", "key": "batch", "value": "yes"}])
    );
    assert_eq!(
        infer["config"]["accelerators"],
        json!([{
            "acceleratorCount": "1", "acceleratorType": "nvidia-l4",
            "gpuDriverInstallationConfig": {"gpuDriverVersion": "DEFAULT"},
            "gpuSharingConfig": {"gpuSharingStrategy": "TIME_SHARING", "maxSharedClientsPerGpu": "4"},
        }])
    );
    assert_eq!(
        infer["autoscaling"],
        json!({"enabled": true, "locationPolicy": "ANY", "totalMaxNodeCount": 20, "totalMinNodeCount": 0})
    );
    assert_eq!(infer["config"]["spot"], json!(true));
    assert_eq!(
        infer["locations"],
        json!(["us-central1-a", "us-central1-b"])
    );
    let flex = &gke["pools"]["flex"];
    let at = |pointer: &str| flex.pointer(pointer).unwrap();
    assert_eq!(at("/config/maxRunDuration"), "86400s");
    assert_eq!(at("/autoscaling/locationPolicy"), "ANY");
    let train = &gke["pools"]["train"];
    assert_eq!(train["config"]["machineType"], "a3-highgpu-8g");
    assert_eq!(
        train["config"]["reservationAffinity"]["values"],
        json!(["gpus-2026"])
    );
    assert_eq!(
        train["config"]["ephemeralStorageLocalSsdConfig"]["localSsdCount"],
        json!(16)
    );
    assert_eq!(train["config"]["diskSizeGb"], json!(500));
    assert_eq!(train["initialNodeCount"], json!(2));
    let slices = &gke["pools"]["slices"]["config"]["accelerators"][0];
    assert_eq!(slices["gpuPartitionSize"], "1g.5gb");
}

#[test]
#[ignore = "needs bash, jq, python3 with PyYAML"]
fn existing_cluster_gets_its_pool() {
    let state = lifecycle::assert_created_once(&EXISTING);
    let pools: Vec<_> = state["gke"]["pools"].as_object().unwrap().keys().collect();
    assert_eq!(pools, ["default-pool", "infer", "old"]);
}

static SHARED: ExternalSettings = ExternalSettings {
    case: &RICH,
    removals: &[
        ("owner: platform, cost-center: ml", "cost-center: ml"),
        (r#"acme.dev/tier: gold, rack: "007""#, "acme.dev/tier: gold"),
        (
            r#"taints: [{key: batch, value: "yes", effect: NoExecute}]"#,
            "taints: []",
        ),
        ("tags: {tier: gold}", "tags: {}"),
    ],
    add_external: |state| {
        let gke = &mut state["gke"];
        gke["clusters"]["rich"]["resourceLabels"]["billing"] = json!("x1");
        let config = &mut gke["pools"]["infer"]["config"];
        config["resourceLabels"]["billing"] = json!("x1");
        config["labels"]["theirs.dev/zone"] = json!("left");
        let taint = json!({"key": "theirs", "value": "x", "effect": "NO_EXECUTE"});
        let taints = config["taints"].as_array().cloned().unwrap_or_default();
        let taints = taints.into_iter().filter(|it| *it != taint);
        config["taints"] = taints.chain([taint.clone()]).collect();
    },
    change_own: |state| {
        let gke = &mut state["gke"];
        gke["clusters"]["rich"]["resourceLabels"]["owner"] = json!("nobody");
        let config = &mut gke["pools"]["infer"]["config"];
        config["labels"]["rack"] = json!("1");
        config["labels"]["gpuc.dev/labels"] = json!("aaaaaa");
        config["taints"][0]["value"] = json!("no");
    },
    observed_sets: |state| {
        let gke = &state["gke"];
        let config = &gke["pools"]["infer"]["config"];
        let mut taints = config["taints"].as_array().unwrap().clone();
        taints.retain(|taint| taint["key"] != "nvidia.com/gpu");
        taints.sort_by_key(|taint| taint["key"].to_string());
        json!({
            "cluster": gke["clusters"]["rich"]["resourceLabels"],
            "resources": without_keys(&config["resourceLabels"], &["goog-"]),
            "labels": config["labels"],
            "taints": taints,
        })
    },
    retention_messages: &[
        "GKE cluster rich: resource labels: not managed by gpuc, kept: billing\n",
        "GKE node pool infer: resource labels: not managed by gpuc, kept: billing\n",
        "GKE node pool infer: node labels: not managed by gpuc, kept: theirs.dev/zone\n",
        "GKE node pool infer: taints: not managed by gpuc, kept: theirs:NO_EXECUTE\n",
    ],
};

#[test]
#[ignore = "needs bash, jq, python3 with PyYAML"]
fn external_settings_are_unchanged() {
    let theirs = json!({"key": "theirs", "value": "x", "effect": "NO_EXECUTE"});
    let planted = json!({
        "cluster": {
            "gpuc-cluster": "rich",
            "owner": "platform", "cost-center": "ml", "gpuc-labels": "bofdon-xpidx3", "billing": "x1",
        },
        "resources": {
            "owner": "platform", "cost-center": "ml", "tier": "gold", "gpuc-labels": "bofdon-xgfp42-xpidx3", "billing": "x1",
        },
        "labels": {
            "acme.dev/tier": "gold", "gpuc.dev/pool": "infer", "rack": "007", "theirs.dev/zone": "left",
            "gpuc.dev/labels": "eg7s3z-l7fosf", "gpuc.dev/taints": "pfzsmv",
        },
        "taints": [{"key": "batch", "value": "yes", "effect": "NO_EXECUTE"}, theirs],
    });
    let left = json!({
        "cluster": {"gpuc-cluster": "rich", "cost-center": "ml", "gpuc-labels": "bofdon", "billing": "x1"},
        "resources": {"cost-center": "ml", "gpuc-labels": "bofdon", "billing": "x1"},
        "labels": {
            "acme.dev/tier": "gold", "gpuc.dev/pool": "infer", "theirs.dev/zone": "left",
            "gpuc.dev/labels": "l7fosf",
        },
        "taints": [theirs],
    });
    external_settings::assert_external_settings_are_kept(&SHARED, &planted, &left);
}

#[test]
#[ignore = "needs bash, jq, python3 with PyYAML"]
fn drift_is_corrected() {
    lifecycle::assert_all_fields_are_tested(&[
        &RICH,
        &EXISTING,
        &DIRECT,
        &gcp_networks::RACK,
        &gcp_networks::NETWORKS,
        &ACCESS,
    ]);
    lifecycle::assert_drift_is_corrected(&RICH);
}

#[test]
#[ignore = "needs bash, jq, python3 with PyYAML"]
fn gpu_interfaces_are_created_once_and_drift_is_reported() {
    let state = lifecycle::assert_created_once(&DIRECT);
    let gke = &state["gke"];
    let shown = &gke["clusters"]["rich"]["networkConfig"];
    assert_eq!(shown["enableMultiNetworking"], json!(true));
    let pool = &gke["pools"]["train"];
    let interfaces = &pool["networkConfig"]["additionalNodeNetworkConfigs"];
    assert_eq!(interfaces.as_array().map(Vec::len), Some(4));
    assert_eq!(
        interfaces[3],
        json!({"network": "gpu-3", "subnetwork": "gpu-3-sub"})
    );
    assert_eq!(pool["config"]["gvnic"], json!({"enabled": true}));
    lifecycle::assert_drift_is_corrected(&DIRECT);
    lifecycle::assert_teardown(&DIRECT);
}

#[test]
#[ignore = "needs bash, jq, python3 with PyYAML"]
fn drift_in_an_existing_cluster_is_corrected() {
    lifecycle::assert_drift_is_corrected(&EXISTING);
    lifecycle::assert_created_once(&ACCESS);
    lifecycle::assert_drift_is_corrected(&ACCESS);
}

#[test]
#[ignore = "needs bash, jq, python3 with PyYAML"]
fn wrong_project_is_unchanged() {
    lifecycle::assert_identity_is_checked(&RICH);
    lifecycle::assert_outage_is_not_absence(&RICH);
}

#[test]
#[ignore = "needs bash, jq, python3 with PyYAML"]
fn everything_is_read_before_changes() {
    lifecycle::assert_reads_before_changes(&RICH);
}

#[test]
#[ignore = "needs bash, jq, python3 with PyYAML"]
fn interrupted_scripts_can_be_rerun() {
    lifecycle::assert_resumable(&RICH);
}

#[test]
#[ignore = "needs bash, jq, python3 with PyYAML"]
fn teardown_deletes_what_was_created() {
    lifecycle::assert_teardown(&RICH);
    lifecycle::assert_teardown(&EXISTING);
}

#[test]
#[ignore = "needs bash, jq, python3 with PyYAML"]
fn health_is_verified() {
    verify::assert_health_is_verified(&RICH);
    verify::assert_health_is_verified(&EXISTING);
}

#[test]
#[ignore = "needs bash, jq, python3 with PyYAML"]
fn hostile_texts_are_rejected_or_passed_through() {
    hostile::assert_hostile_texts_are_safe(&RICH, None);
    hostile::assert_hostile_texts_are_safe(&EXISTING, Some("cloud"));
}
