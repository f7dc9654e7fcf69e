//! AKS.

use gpuc_model::plan::{Field, Resource};
use serde_json::{Value, json};

use super::external_settings::{self, ExternalSettings};
use super::lifecycle::{self, Case};
use super::{control_planes, hostile, verify};

pub(super) static RICH: Case = Case {
    config: include_str!("azure.yaml"),
    before: "",
    other_account: "
        standin-state set-string aks.account.id 99999999-9999-9999-9999-999999999999
        standin-state set-string aks.account.name somebody-elses
        standin-state set aks.subscriptions '[]'",
    settled: &["upgrade settings"],
    drift,
};

static EXISTING: Case = Case {
    config: include_str!("azure-existing.yaml"),
    before: "
        az group create --name theirs --location eastus --output none
        az aks create --resource-group theirs --name Theirs --kubernetes-version 1.36 \\
          --no-ssh-key --output none
        az aks nodepool add --resource-group theirs --cluster-name Theirs --name old --output none",
    other_account: RICH.other_account,
    settled: &[],
    drift,
};

/// A public API server that some networks reach.
static ACCESS: Case = Case {
    config: include_str!("azure-access.yaml"),
    before: "",
    other_account: RICH.other_account,
    settled: &[],
    drift,
};

fn drift(state: &mut Value, resource: &Resource, field: &Field) -> bool {
    let name = resource.name.as_str();
    match resource.kind.name {
        "AKS cluster" => drift_cluster(&mut state["aks"]["clusters"][name], field),
        "AKS maintenance schedule" => {
            let cluster = state["aks"]["clusters"].as_object_mut().unwrap();
            let cluster = cluster.values_mut().next().unwrap();
            cluster["_schedules"][name]["maintenanceWindow"]["startTime"] = json!("09:30");
            field.kind.name == "maintenance window"
        }
        "AKS node pool" => drift_pool(&mut state["aks"]["pools"][name], field),
        _ => false,
    }
}

fn drift_cluster(cluster: &mut Value, field: &Field) -> bool {
    match field.kind.name {
        "location" => cluster["location"] = json!("westus"),
        "network" => cluster["networkProfile"]["networkPluginMode"] = json!(null),
        "range of pods" => cluster["networkProfile"]["podCidr"] = json!("10.9.0.0/16"),
        "range of Services" => cluster["networkProfile"]["serviceCidr"] = json!("10.9.0.0/16"),
        "identity" => {
            cluster["identity"] = json!({"type": "SystemAssigned", "userAssignedIdentities": null});
        }
        "network policies" => cluster["networkProfile"]["networkPolicy"] = json!("none"),
        "private API server" => {
            let now = field.desired.as_bool().unwrap();
            cluster["apiServerAccessProfile"]["enablePrivateCluster"] = json!(!now);
        }
        "authorized IP ranges" => {
            cluster["apiServerAccessProfile"]["authorizedIpRanges"] = json!(["5.6.7.8/32"]);
        }
        "private DNS zone" => {
            cluster["apiServerAccessProfile"]["privateDnsZone"] = json!("none");
        }
        "public DNS name" => {
            let now = field.desired.as_bool().unwrap();
            cluster["apiServerAccessProfile"]["enablePrivateClusterPublicFqdn"] = json!(!now);
        }
        "Entra ID" => return drift_entra(cluster),
        "Entra groups of administrators" => {
            cluster["aadProfile"]["adminGroupObjectIDs"] = json!(null);
        }
        "Entra tenant" => cluster["aadProfile"]["tenantId"] = json!("other"),
        "Azure RBAC" => {
            let now = field.desired.as_bool().unwrap();
            cluster["aadProfile"]["enableAzureRbac"] = json!(!now);
        }
        "local accounts" => {
            let now = field.desired.as_bool().unwrap();
            cluster["disableLocalAccounts"] = json!(now);
        }
        "Kubernetes version" => cluster["kubernetesVersion"] = json!("1.35.5"),
        "tier" => cluster["sku"]["tier"] = json!("Free"),
        "OIDC issuer" => cluster["oidcIssuerProfile"]["enabled"] = json!(false),
        "workload identity" => cluster["securityProfile"]["workloadIdentity"] = json!(null),
        "Blob Storage CSI driver" => {
            cluster["storageProfile"]["blobCsiDriver"]["enabled"] = json!(false);
        }
        "automatic upgrades" => cluster["autoUpgradeProfile"]["upgradeChannel"] = json!("rapid"),
        "automatic node image upgrades" => {
            cluster["autoUpgradeProfile"]["nodeOsUpgradeChannel"] = json!("Unmanaged");
        }
        "tags" => {
            cluster["tags"]["extra"] = json!("tag");
            cluster["tags"]["gpuc-tags"] = json!("extra");
        }
        _ => return control_planes::drift_aks(cluster, field),
    }
    true
}

/// Marks Entra ID as disabled, as if its other settings were kept: each drift is of one field.
fn drift_entra(cluster: &mut Value) -> bool {
    cluster["aadProfile"]["managed"] = json!(false);
    true
}

fn drift_pool(pool: &mut Value, field: &Field) -> bool {
    match field.kind.name {
        "VM size" => pool["vmSize"] = json!("Standard_D2s_v5"),
        "priority" => {
            let other = if field.desired == "Spot" {
                "Regular"
            } else {
                "Spot"
            };
            pool["scaleSetPriority"] = json!(other);
        }
        "eviction policy" => pool["scaleSetEvictionPolicy"] = json!("Deallocate"),
        "maximum spot price" => pool["spotMaxPrice"] = json!(77.0),
        "zones" => pool["availabilityZones"] = json!(["3"]),
        "subnet" => pool["vnetSubnetId"] = json!("/subscriptions/other"),
        "capacity reservation group" => {
            pool["capacityReservationGroupId"] = json!("/subscriptions/other");
        }
        "proximity placement group" => {
            pool["proximityPlacementGroupId"] = json!("/subscriptions/other");
        }
        "disk size" => pool["osDiskSizeGb"] = json!(77),
        "disk type" => {
            let other = if field.desired == "Managed" {
                "Ephemeral"
            } else {
                "Managed"
            };
            pool["osDiskType"] = json!(other);
        }
        "maximum pods per node" => pool["maxPods"] = json!(9),
        "GPU driver" => {
            let other = if field.desired == "Install" {
                "None"
            } else {
                "Install"
            };
            pool["gpuProfile"] = json!({"driver": other});
        }
        "GPU instance profile" => pool["gpuInstanceProfile"] = json!("MIG7g"),
        "operating system" => pool["osSku"] = json!("AzureLinux"),
        "Kubernetes version" => pool["orchestratorVersion"] = json!("1.35.5"),
        "mode" => {
            let other = if field.desired == "System" {
                "User"
            } else {
                "System"
            };
            pool["mode"] = json!(other);
        }
        "autoscaling" if field.desired["enabled"] == json!(true) => pool["maxCount"] = json!(77),
        "autoscaling" => {
            pool["enableAutoScaling"] = json!(true);
            pool["minCount"] = json!(1);
            pool["maxCount"] = json!(5);
        }
        "nodes" | "initial nodes" => pool["count"] = json!(9),
        "labels" => pool["nodeLabels"]["gpuc.dev/other"] = json!("x"),
        "taints" => {
            let mut taints = pool["nodeTaints"].as_array().cloned().unwrap_or_default();
            taints.push(json!("gpuc.dev/other=x:NoExecute"));
            pool["nodeTaints"] = json!(taints);
        }
        "tags" => {
            pool["tags"]["extra"] = json!("tag");
            pool["tags"]["gpuc-tags"] = json!("extra");
        }
        "upgrade settings" => {
            pool["upgradeSettings"] = json!({"maxSurge": "77%", "maxUnavailable": "0"});
        }
        _ => return false,
    }
    true
}

#[test]
#[ignore = "needs bash, jq, python3 with PyYAML"]
fn cluster_is_created_once() {
    let state = lifecycle::assert_created_once(&RICH);
    let aks = &state["aks"];
    assert_eq!(aks["groups"]["ml.(prod)"]["location"], "eastus");
    let cluster = &aks["clusters"]["rich"];
    assert_eq!(cluster["sku"]["tier"], "Premium");
    assert_eq!(cluster["supportPlan"], "AKSLongTermSupport");
    assert_eq!(
        cluster["tags"],
        json!({"cost center": "ml & co", "owner": "platform", "gpuc-cluster": "rich", "gpuc-tags": "cost center/owner"})
    );
    let pools: Vec<_> = aks["pools"].as_object().unwrap().keys().collect();
    assert_eq!(pools, ["infer", "slices", "system", "train"]);
    let system = &aks["pools"]["system"];
    assert_eq!(system["mode"], "System");
    assert_eq!(system["upgradeSettings"]["maxSurge"], "2");
    assert_eq!(
        system["tags"],
        json!({"cost center": "ml & co", "owner": "sre", "gpuc-tags": "cost center/owner"})
    );
    assert_eq!(system["availabilityZones"], json!(["1", "2"]));
    let infer = &aks["pools"]["infer"];
    assert_eq!(infer["vmSize"], "Standard_NC4as_T4_v3");
    assert_eq!(infer["spotMaxPrice"], json!(1.25));
    assert_eq!(
        (&infer["minCount"], &infer["maxCount"]),
        (&json!(0), &json!(20))
    );
    assert_eq!(infer["nodeLabels"]["rack"], "007");
    assert_eq!(
        infer["nodeTaints"],
        json!([
            "batch=yes:NoExecute",
            "kubernetes.azure.com/scalesetpriority=spot:NoSchedule"
        ])
    );
    let train = &aks["pools"]["train"];
    assert_eq!(train["count"], json!(2));
    assert_eq!(train["osDiskSizeGb"], json!(500));
    assert_eq!(train["maxPods"], json!(64));
    assert_eq!(train["upgradeSettings"]["maxUnavailable"], "1");
    let group = train["capacityReservationGroupId"].as_str().unwrap();
    assert!(
        group.ends_with("/capacityReservationGroups/H100"),
        "{group}"
    );
    let slices = &aks["pools"]["slices"];
    assert_eq!(slices["gpuInstanceProfile"], "MIG2g");
    assert_eq!(slices["gpuProfile"], json!({"driver": "Install"}));
}

#[test]
#[ignore = "needs bash, jq, python3 with PyYAML"]
fn existing_cluster_gets_its_pool() {
    lifecycle::assert_created_once(&ACCESS);
    let state = lifecycle::assert_created_once(&EXISTING);
    let pools: Vec<_> = state["aks"]["pools"].as_object().unwrap().keys().collect();
    assert_eq!(pools, ["infer", "nodepool1", "old"]);
}

static SHARED: ExternalSettings = ExternalSettings {
    case: &RICH,
    removals: &[
        (
            r#"cost center: "ml & co", owner: platform"#,
            r#"cost center: "ml & co""#,
        ),
        (r#"acme.dev/tier: gold, rack: "007""#, "acme.dev/tier: gold"),
        (
            r#"taints: [{key: batch, value: "yes", effect: NoExecute}]"#,
            "taints: []",
        ),
    ],
    add_external: |state| {
        let aks = &mut state["aks"];
        aks["clusters"]["rich"]["tags"]["bill to"] = json!("a=b 'c' $d\n;e");
        let pool = &mut aks["pools"]["infer"];
        pool["tags"]["bill to"] = json!("a=b 'c' $d\n;e");
        pool["nodeLabels"]["theirs.dev/zone"] = json!("left");
        let taints = pool["nodeTaints"].as_array().unwrap().iter();
        let taints = taints
            .filter(|taint| *taint != "theirs=x:NoExecute")
            .cloned();
        pool["nodeTaints"] = taints.chain([json!("theirs=x:NoExecute")]).collect();
    },
    change_own: |state| {
        let aks = &mut state["aks"];
        aks["clusters"]["rich"]["tags"]["owner"] = json!("nobody");
        let pool = &mut aks["pools"]["infer"];
        pool["tags"]["gpuc-labels"] = json!("nothing");
        pool["nodeLabels"]["rack"] = json!("1");
        pool["nodeTaints"][0] = json!("batch=no:NoExecute");
    },
    observed_sets: |state| {
        let aks = &state["aks"];
        let pool = &aks["pools"]["infer"];
        let mut taints: Vec<_> = pool["nodeTaints"].as_array().unwrap().iter().collect();
        taints.sort_by_key(ToString::to_string);
        json!({
            "cluster": aks["clusters"]["rich"]["tags"],
            "tags": pool["tags"], "labels": pool["nodeLabels"], "taints": taints,
        })
    },
    retention_messages: &[
        "AKS cluster rich: tags: not managed by gpuc, kept: bill to\n",
        "AKS node pool infer: tags: not managed by gpuc, kept: bill to\n",
        "AKS node pool infer: labels: not managed by gpuc, kept: theirs.dev/zone\n",
        "AKS node pool infer: taints: not managed by gpuc, kept: theirs=x:NoExecute\n",
    ],
};

#[test]
#[ignore = "needs bash, jq, python3 with PyYAML"]
fn external_settings_are_unchanged() {
    let bill = "a=b 'c' $d\n;e";
    let spot = "kubernetes.azure.com/scalesetpriority";
    let of_spot = "kubernetes.azure.com/scalesetpriority=spot:NoSchedule";
    let planted = json!({
        "cluster": {
            "gpuc-cluster": "rich",
            "cost center": "ml & co", "owner": "platform", "gpuc-tags": "cost center/owner", "bill to": bill,
        },
        "tags": {
            "cost center": "ml & co", "owner": "platform", "gpuc-tags": "cost center/owner", "bill to": bill,
            "gpuc-labels": "acme.dev/tier,rack", "gpuc-taints": "batch:NoExecute",
        },
        "labels": {
            "acme.dev/tier": "gold", "gpuc.dev/pool": "infer", "rack": "007", "theirs.dev/zone": "left",
            spot: "spot",
        },
        "taints": ["batch=yes:NoExecute", of_spot, "theirs=x:NoExecute"],
    });
    let left = json!({
        "cluster": {"gpuc-cluster": "rich", "cost center": "ml & co", "gpuc-tags": "cost center", "bill to": bill},
        "tags": {
            "cost center": "ml & co", "gpuc-tags": "cost center", "bill to": bill,
            "gpuc-labels": "acme.dev/tier",
        },
        "labels": {
            "acme.dev/tier": "gold", "gpuc.dev/pool": "infer", "theirs.dev/zone": "left", spot: "spot",
        },
        "taints": [of_spot, "theirs=x:NoExecute"],
    });
    external_settings::assert_external_settings_are_kept(&SHARED, &planted, &left);
}

/// Azure treats tags as equal if their names differ only in case, and may return the case of the first write.
#[test]
#[ignore = "needs bash, jq, python3 with PyYAML"]
fn tags_are_case_insensitive() {
    let environment = RICH.environment_after_first_run();
    let mut state = environment.state();
    let tags = state["aks"]["pools"]["infer"]["tags"]
        .as_object_mut()
        .unwrap();
    for (name, other) in [("owner", "Owner"), ("gpuc-tags", "GPUC-Tags")] {
        let value = tags.remove(name).unwrap();
        tags.insert(other.to_owned(), value);
    }
    environment.set_state(&state);
    let run = environment
        .run("pool-infer.sh", &[])
        .expect_success()
        .expect_no_changes();
    assert!(!run.stderr.contains("kept"), "{}", run.stderr);
}

/// Values that `az` cannot write back stop the script before it overwrites the set.
#[test]
#[ignore = "needs bash, jq, python3 with PyYAML"]
fn unsupported_by_az_stops_the_script() {
    for (set, theirs, why) in [
        (
            "tags",
            json!({"@bill": "1", "gpuc-tags": "x", "x": "y"}),
            "az cannot write the tag @bill",
        ),
        (
            "nodeTaints",
            json!(["bare:NoSchedule"]),
            "az cannot write the taint bare:NoSchedule",
        ),
    ] {
        let environment = RICH.environment_after_first_run();
        let mut state = environment.state();
        state["aks"]["pools"]["infer"][set] = theirs;
        environment.set_state(&state);
        let run = environment.run("pool-infer.sh", &[]);
        run.expect_refusal(why);
        assert_eq!(environment.state(), state);
    }
}

#[test]
#[ignore = "needs bash, jq, python3 with PyYAML"]
fn drift_is_corrected() {
    lifecycle::assert_all_fields_are_tested(&[&RICH, &EXISTING, &ACCESS]);
    lifecycle::assert_drift_is_corrected(&RICH);
}

#[test]
#[ignore = "needs bash, jq, python3 with PyYAML"]
fn drift_in_an_existing_cluster_is_corrected() {
    lifecycle::assert_drift_is_corrected(&EXISTING);
    lifecycle::assert_drift_is_corrected(&ACCESS);
}

#[test]
#[ignore = "needs bash, jq, python3 with PyYAML"]
fn wrong_subscription_is_unchanged() {
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
    hostile::assert_hostile_texts_are_safe(&ACCESS, Some("cloud"));
}
