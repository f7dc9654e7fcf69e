//! `gcloud container clusters describe --format json`.
//!
//! Source: Google's API `container/v1` (Google Cloud SDK 528.0.0, `container_v1_messages.py`: `Cluster`, `NodePool`,
//! `NodeConfig`, `AcceleratorConfig`, `UpgradeSettings`), 2026-11-28. 64-bit numbers are texts.

use gpuc_model::{Cluster, Pool, Sharing};
use gpuc_schema::config::{
    Capacity, DevicePlugin, DriverOwner, Gcp, Gpudirect, LocalDisks, OsFamily, Placement,
    TaintEffect,
};
use serde_json::{Value, json};

use super::{machine, name_in_cloud, text_map, version};

/// The cluster with its pools, without pools that exist outside gpuc.
pub(super) fn described(cluster: &Cluster, section: &Gcp) -> Value {
    let name = name_in_cloud(cluster);
    let link = format!(
        "https://container.googleapis.com/v1/projects/{}/locations/{}/clusters/{name}",
        section.project, section.location
    );
    let pools = cluster.pools.iter().filter(|pool| !pool.is_existing());
    let pools: Vec<Value> = pools
        .map(|pool| node_pool(cluster, section, pool, &link))
        .collect();
    let labels = section.resource_labels.iter();
    json!({
        "name": name,
        "location": section.location.value,
        "locations": zones_of_cluster(section),
        "selfLink": link,
        "currentMasterVersion": format!("{}.1-gke.1829001", version(cluster)),
        "currentNodeVersion": format!("{}.1-gke.1829001", version(cluster)),
        "status": "RUNNING",
        "releaseChannel": {"channel": "REGULAR"},
        "network": "default",
        "subnetwork": "default",
        "ipAllocationPolicy": {"useIpAliases": true},
        "loggingService": "logging.googleapis.com/kubernetes",
        "resourceLabels": text_map(labels.map(|(key, value)| (key.as_str(), value.as_str()))),
        "autoscaling": {"autoscalingProfile": "BALANCED"},
        "nodePools": pools,
    })
}

/// The zones of the cluster: a location without a third part is a region.
fn zones_of_cluster(section: &Gcp) -> Vec<String> {
    let location = section.location.value.as_str();
    if location.matches('-').count() > 1 {
        return vec![location.to_owned()];
    }
    ["a", "b", "c"]
        .map(|zone| format!("{location}-{zone}"))
        .into()
}

fn zones(section: &Gcp, pool: &Pool) -> Vec<String> {
    let own: Vec<String> = pool
        .settings
        .zones
        .iter()
        .map(|it| it.value.clone())
        .collect();
    if own.is_empty() {
        zones_of_cluster(section)
    } else {
        own
    }
}

fn node_pool(cluster: &Cluster, section: &Gcp, pool: &Pool, link: &str) -> Value {
    let settings = &pool.settings;
    let nodes = pool.nodes.get().unwrap();
    let zones = zones(section, pool);
    let mut value = json!({
        "name": pool.name.value,
        "selfLink": format!("{link}/nodePools/{}", pool.name),
        "status": "RUNNING",
        "version": format!("{}.1-gke.1829001", version(cluster)),
        "initialNodeCount": nodes.min.div_ceil(u32::try_from(zones.len()).unwrap()),
        "locations": zones,
        "config": node_config(section, pool),
        "management": {
            "autoUpgrade": true,
            "autoRepair": pool.flex_start().is_none() && settings.auto_repair.is_none_or(|it| it.value),
        },
        "networkConfig": {"podRange": "pods", "podIpv4CidrBlock": "10.4.0.0/14"},
        "upgradeSettings": upgrade(pool),
        "podIpv4CidrSize": 24,
    });
    if !nodes.is_fixed() {
        value["autoscaling"] = json!({
            "enabled": true, "totalMinNodeCount": nodes.min, "totalMaxNodeCount": nodes.max, "locationPolicy": "ANY",
        });
    }
    if pool.flex_start().is_some_and(|flex| flex.queued.value) {
        value["queuedProvisioning"] = json!({"enabled": true});
    }
    let max_pods = settings.max_pods.map_or(110, |it| it.value);
    value["maxPodsConstraint"] = json!({"maxPodsPerNode": max_pods.to_string()});
    if let Some(gpudirect) = &settings.network.gpudirect {
        if let Gpudirect::Interfaces(interfaces) = &gpudirect.value {
            let interfaces = interfaces
                .iter()
                .map(|it| json!({"network": it.network.value, "subnetwork": it.subnetwork.value}));
            value["networkConfig"]["additionalNodeNetworkConfigs"] = interfaces.collect();
        }
        if gpudirect.value.is_managed() {
            value["networkConfig"]["acceleratorNetworkProfile"] = json!("auto");
        }
    }
    match settings.network.placement.as_ref().map(|it| &it.value) {
        Some(Placement::Compact) => value["placementPolicy"] = json!({"type": "COMPACT"}),
        Some(Placement::Group(name)) => {
            value["placementPolicy"] = json!({"type": "COMPACT", "policyName": name.value});
        }
        None => {}
    }
    value
}

fn node_config(section: &Gcp, pool: &Pool) -> Value {
    let settings = &pool.settings;
    let image = match pool.os.value {
        OsFamily::Ubuntu => "UBUNTU_CONTAINERD",
        _ => "COS_CONTAINERD",
    };
    let taints: Vec<Value> = pool
        .taints
        .iter()
        .chain(&pool.startup_taint)
        .map(|it| {
            let effect = match it.effect {
                TaintEffect::NoSchedule => "NO_SCHEDULE",
                TaintEffect::PreferNoSchedule => "PREFER_NO_SCHEDULE",
                TaintEffect::NoExecute => "NO_EXECUTE",
            };
            json!({"key": it.key, "value": it.value, "effect": effect})
        })
        .collect();
    // The labels of the cluster are on its pools as well.
    let resource_labels = section.resource_labels.iter().chain(&settings.tags);
    let mut config = json!({
        "machineType": machine(pool),
        "diskSizeGb": settings.disk_gib.value,
        "diskType": "pd-balanced",
        "imageType": image,
        "oauthScopes": ["https://www.googleapis.com/auth/cloud-platform"],
        "serviceAccount": "default",
        "metadata": {"disable-legacy-endpoints": "true"},
        "labels": text_map(pool.labels.iter().map(|it| (it.key.as_str(), it.value.as_str()))),
        "resourceLabels": text_map(resource_labels.map(|(key, value)| (key.as_str(), value.as_str()))),
        "shieldedInstanceConfig": {"enableIntegrityMonitoring": true},
    });
    if !taints.is_empty() {
        config["taints"] = taints.into();
    }
    match &settings.capacity.value {
        Capacity::Spot(_) => config["spot"] = true.into(),
        Capacity::Reservation(reservation) => {
            config["reservationAffinity"] = json!({
                "consumeReservationType": "SPECIFIC_RESERVATION",
                "key": "compute.googleapis.com/reservation-name",
                "values": [reservation.id.value],
            });
        }
        Capacity::FlexStart(flex) => {
            let duration = flex.max_run_duration.as_ref();
            config["flexStart"] = true.into();
            config["maxRunDuration"] = duration.map_or("604800s", |it| it.as_str()).into();
        }
        Capacity::OnDemand | Capacity::CapacityBlock(_) => {}
    }
    if settings
        .local_disks
        .is_some_and(|it| it.value == LocalDisks::Block)
    {
        config["localNvmeSsdBlockConfig"] = json!({"localSsdCount": 16});
    }
    if let Some(Some(gpus)) = pool.gpus.get() {
        config["gvnic"] = json!({"enabled": true});
        let mut accelerator = json!({
            "acceleratorType": accelerator_type(pool),
            "acceleratorCount": gpus.per_node.to_string(),
            "gpuDriverInstallationConfig": {"gpuDriverVersion": driver(pool)},
        });
        if pool.plugin.value == DevicePlugin::Cloud {
            add_sharing(pool, &mut accelerator);
        }
        config["accelerators"] = json!([accelerator]);
    }
    config
}

/// Google's names of GPUs.
///
/// Source: <https://docs.cloud.google.com/compute/docs/gpus>, 2026-11-28.
fn accelerator_type(pool: &Pool) -> String {
    let model = pool.gpus.get().unwrap().as_ref().unwrap().model.key;
    let name = match model {
        "a100-sxm4-40gb" => "nvidia-tesla-a100",
        "a100-sxm4-80gb" => "nvidia-a100-80gb",
        "h100-sxm5-80gb" if machine(pool).starts_with("a3-mega") => "nvidia-h100-mega-80gb",
        "h100-sxm5-80gb" => "nvidia-h100-80gb",
        "h200-sxm5-141gb" => "nvidia-h200-141gb",
        "l4" => "nvidia-l4",
        "t4" => "nvidia-tesla-t4",
        "v100-sxm2-16gb" => "nvidia-tesla-v100",
        other => return format!("nvidia-{other}"),
    };
    name.to_owned()
}

fn driver(pool: &Pool) -> &'static str {
    let version = pool.driver_version.as_ref().map(|it| it.as_str());
    match (pool.driver.value, version) {
        (DriverOwner::Preinstalled, Some("latest")) => "LATEST",
        (DriverOwner::Preinstalled, _) => "DEFAULT",
        _ => "INSTALLATION_DISABLED",
    }
}

fn add_sharing(pool: &Pool, accelerator: &mut Value) {
    let (strategy, replicas) = match pool.sharing.get().unwrap() {
        Sharing::Exclusive => return,
        Sharing::TimeSlicing { replicas, .. } => ("TIME_SHARING", replicas),
        Sharing::Mps { replicas, .. } => ("MPS", replicas),
        Sharing::Mig { gpus, .. } => {
            let profile = gpus[0].placements[0].profile;
            accelerator["gpuPartitionSize"] = profile.to_string().into();
            return;
        }
    };
    accelerator["gpuSharingConfig"] = json!({
        "gpuSharingStrategy": strategy, "maxSharedClientsPerGpu": replicas.value.to_string(),
    });
}

fn upgrade(pool: &Pool) -> Value {
    let Some(upgrade) = &pool.settings.upgrade else {
        return json!({"strategy": "SURGE", "maxSurge": 1});
    };
    if let Some(blue_green) = &upgrade.blue_green {
        let seconds = |minutes: u32| format!("{}s", minutes * 60);
        let mut policy = json!({"batchSoakDuration": seconds(blue_green.batch_soak_minutes.value)});
        if let Some(nodes) = blue_green.batch_nodes {
            policy["batchNodeCount"] = nodes.value.into();
        }
        if let Some(percent) = blue_green.batch_percent {
            policy["batchPercentage"] = (f64::from(percent.value) / 100.0).into();
        }
        return json!({"strategy": "BLUE_GREEN", "blueGreenSettings": {
            "nodePoolSoakDuration": seconds(blue_green.soak_minutes.value), "standardRolloutPolicy": policy,
        }});
    }
    // Zeros are absent.
    let mut value = json!({"strategy": "SURGE"});
    let counts = [
        ("maxSurge", upgrade.max_surge),
        ("maxUnavailable", upgrade.max_unavailable),
    ];
    for (key, count) in counts {
        if let Some(count) = count.filter(|count| count.value > 0) {
            value[key] = count.value.into();
        }
    }
    value
}

/// Source: kubernetes/cloud-provider-gcp `providers/gce/gce_instances.go` (`providerID`); the labels of GKE:
/// <https://docs.cloud.google.com/kubernetes-engine/docs/concepts/node-auto-provisioning>, 2026-11-28.
pub(super) fn add_node_fields(section: &Gcp, pool: &Pool, index: usize, node: &mut Value) {
    let zones = zones(section, pool);
    let zone = &zones[index % zones.len()];
    let name = node["metadata"]["name"].as_str().unwrap().to_owned();
    node["spec"]["providerID"] = format!("gce://{}/{zone}/{name}", section.project).into();
    let labels = &mut node["metadata"]["labels"];
    let region = zone.rsplit_once('-').unwrap().0;
    labels["topology.kubernetes.io/zone"] = zone.as_str().into();
    labels["topology.kubernetes.io/region"] = region.into();
    labels["node.kubernetes.io/instance-type"] = machine(pool).into();
    if !pool.is_existing() {
        labels["cloud.google.com/gke-nodepool"] = pool.name.value.as_str().into();
    }
    let image = match pool.os.value {
        OsFamily::Ubuntu => "Ubuntu 24.04.3 LTS",
        _ => "Container-Optimized OS from Google",
    };
    node["status"]["nodeInfo"]["osImage"] = image.into();
}
