//! Node pools of GKE and AKS.

use serde_json::{Value, json};

use super::{codes_of, compare, file, plan, plan_of};

/// GKE: numbers per zone, and the zones of a region that are not in the configuration.
#[test]
fn numbers_of_gke_are_multiplied_by_the_zones() {
    let pool = "{name: gpu, machine: g2-standard-8, nodes: {min: 2, max: 6}, existing: {selector: \
                {cloud.google.com/gke-nodepool: gpu}}}";
    let values = |zones: Value, scaling: Value| {
        json!({
            "name": "gpu", "cluster": "projects/p/locations/us-central1/clusters/batch", "location": "us-central1",
            "node_locations": zones, "autoscaling": [scaling], "node_count": null,
            "node_config": [{
                "machine_type": "g2-standard-8", "labels": null, "taint": [], "spot": false, "preemptible": false,
                "guest_accelerator": [{"type": "nvidia-l4", "count": 1, "gpu_driver_installation_config":
                    [{"gpu_driver_version": "INSTALLATION_DISABLED"}]}],
            }],
        })
    };
    let two = json!(["us-central1-a", "us-central1-b"]);
    let per_zone = |max: u64| json!({"min_node_count": 1, "max_node_count": max, "total_min_node_count": 0, "total_max_node_count": 0});
    let codes = |zones: &Value, scaling: Value| {
        let kind = "google_container_node_pool";
        let plan = plan(
            "google_container_node_pool.gpu",
            kind,
            &values(zones.clone(), scaling),
        );
        let (outcome, compared) = compare(&file("gke", pool), &plan);
        assert_eq!(compared.matched, 1);
        (outcome.codes(), compared.unknown.len())
    };
    assert_eq!(codes(&two, per_zone(3)), (vec![], 0));
    assert_eq!(codes(&two, per_zone(2)), (vec!["GPUC5005"], 0));
    // The zones are those of the cluster, which is not in this configuration.
    assert_eq!(codes(&Value::Null, per_zone(3)), (vec![], 2));
    let total = json!({"min_node_count": null, "max_node_count": null, "total_min_node_count": 2, "total_max_node_count": 6});
    assert_eq!(codes(&Value::Null, total), (vec![], 0));
}

#[test]
fn default_node_pool_of_aks_is_a_pool() {
    let pool = "{name: system, machine: Standard_D4s_v5, nodes: {count: 3}, existing: {selector: \
                {kubernetes.azure.com/agentpool: system}}}";
    let cluster = |version: &str, count: u64| {
        let values = json!({
            "name": "batch", "kubernetes_version": version, "default_node_pool": [{
                "name": "system", "vm_size": "Standard_D4s_v5", "auto_scaling_enabled": false, "node_count": count,
                "min_count": null, "max_count": null, "node_labels": null, "zones": null,
            }],
        });
        let plan = plan(
            "azurerm_kubernetes_cluster.batch",
            "azurerm_kubernetes_cluster",
            &values,
        );
        compare(&file("aks", pool), &plan).0.codes()
    };
    assert_eq!(cluster("1.36.2", 3), [""; 0]);
    assert_eq!(cluster("1.36.2", 2), ["GPUC5005"]);
    assert_eq!(cluster("1.35.4", 3), ["GPUC5009"]);
}

/// GPUs that are attached to a machine type without GPUs.
#[test]
fn attached_gpus_are_compared() {
    let pool = "{name: gpu, machine: n1-standard-8, gpu: {model: T4, perNode: 1}, nodes: {count: 1}, existing: \
                {selector: {cloud.google.com/gke-nodepool: gpu}}}";
    let codes = |accelerators: Value| {
        let values = json!({
            "name": "gpu", "cluster": "batch", "location": "us-central1", "node_locations": ["us-central1-a"],
            "autoscaling": [], "node_count": 1, "node_config": [{
                "machine_type": "n1-standard-8", "labels": {}, "taint": [], "spot": false,
                "guest_accelerator": accelerators,
            }],
        });
        let kind = "google_container_node_pool";
        codes_of(
            &file("gke", pool),
            &plan("google_container_node_pool.gpu", kind, &values),
        )
        .0
    };
    let gpu = |kind: &str, count: u64| json!([{"type": kind, "count": count}]);
    assert_eq!(codes(gpu("nvidia-tesla-t4", 1)), [""; 0]);
    assert_eq!(codes(gpu("nvidia-tesla-v100", 1)), ["GPUC5004"]);
    assert_eq!(codes(gpu("nvidia-tesla-t4", 2)), ["GPUC5004"]);
    assert_eq!(codes(json!([])), ["GPUC5004"]);
    // Known after the apply.
    assert_eq!(codes(json!([{"count": 1}])), [""; 0]);
}

/// The zones of a cluster are those of its node pools. Those of a zonal cluster are in addition to its own.
#[test]
fn zones_of_the_cluster_are_used() {
    let pool = "{name: gpu, machine: g2-standard-8, nodes: {count: 6}, existing: {selector: \
                {cloud.google.com/gke-nodepool: gpu}}}";
    let codes = |locations: Value, count: u64, inline: bool| {
        let pool_values = json!({
            "name": "gpu", "autoscaling": [], "node_count": count,
            "node_config": [{"machine_type": "g2-standard-8", "labels": {}, "taint": [], "spot": false}],
        });
        let mut cluster = json!({"name": "batch", "location": "us-central1", "node_locations": locations,
            "min_master_version": null, "master_version": "1.36.1-gke.100"});
        let kind = "google_container_cluster";
        let plan = if inline {
            cluster["node_pool"] = json!([pool_values]);
            plan_of(&[("google_container_cluster.a", kind, cluster)])
        } else {
            let mut values = pool_values;
            values["cluster"] = "batch".into();
            // A state has the node pools in the cluster too.
            cluster["node_pool"] = json!([values]);
            plan_of(&[
                ("google_container_cluster.a", kind, cluster),
                (
                    "google_container_node_pool.gpu",
                    "google_container_node_pool",
                    values,
                ),
            ])
        };
        codes_of(&file("gke", pool), &plan)
    };
    let zones = json!(["us-central1-a", "us-central1-b"]);
    for inline in [true, false] {
        let (found, compared) = codes(zones.clone(), 3, inline);
        assert_eq!(
            (found, compared.matched, compared.unknown),
            (vec![], 1, vec![])
        );
        assert_eq!(codes(zones.clone(), 2, inline).0, ["GPUC5005"]);
    }
}

#[test]
fn taint_of_critical_add_ons_is_read() {
    let pool = "{name: system, machine: Standard_D4s_v5, nodes: {count: 3}, existing: {selector: \
                {kubernetes.azure.com/agentpool: system}}}";
    let pool_with = pool.replace(
        "nodes:",
        "taints: [{key: CriticalAddonsOnly, value: \"true\", effect: NoSchedule}], nodes:",
    );
    let values = json!({"name": "batch", "location": "East US", "default_node_pool": [{
        "name": "system", "vm_size": "Standard_D4s_v5", "only_critical_addons_enabled": true,
        "auto_scaling_enabled": false, "node_count": 3}]});
    let plan = plan_of(&[(
        "azurerm_kubernetes_cluster.batch",
        "azurerm_kubernetes_cluster",
        values,
    )]);
    assert_eq!(codes_of(&file("aks", pool), &plan).0, ["GPUC5003"]);
    assert_eq!(codes_of(&file("aks", &pool_with), &plan).0, [""; 0]);
}
