//! `az aks show`.
//!
//! Source: azure-cli 2.91.0 (`managedClusters` and `agentPoolProfiles`, with the names of the SDK), and the output in
//! MicrosoftDocs/azure-aks-docs `articles/aks/create-node-pools.md@fb060abe`, 2026-11-28. Unset fields are `null`.

use gpuc_model::{Cluster, Pool, SetBy, Sharing};
use gpuc_schema::config::{
    Azure, Capacity, DriverOwner, Eviction, LocalDisks, OsFamily, Placement,
};
use serde_json::{Value, json};

use super::{machine, name_in_cloud, text_map, version};

/// The cluster with its pools, without pools that exist outside gpuc.
pub(super) fn described(cluster: &Cluster, section: &Azure) -> Value {
    let name = name_in_cloud(cluster);
    let pools = cluster.pools.iter().filter(|pool| !pool.is_existing());
    let system = cluster
        .pools
        .iter()
        .find(|pool| !pool.has_gpus() && !pool.is_existing());
    let pools: Vec<Value> = pools
        .map(|pool| {
            let is_system = system.is_some_and(|system| system.index == pool.index);
            agent_pool(cluster, section, pool, is_system)
        })
        .collect();
    json!({
        "agentPoolProfiles": pools,
        "apiServerAccessProfile": null,
        "autoScalerProfile": null,
        "autoUpgradeProfile": {"nodeOsUpgradeChannel": "NodeImage", "upgradeChannel": null},
        "currentKubernetesVersion": format!("{}.1", version(cluster)),
        "dnsPrefix": name,
        "enableRbac": true,
        "fqdn": format!("{name}.hcp.{}.azmk8s.io", section.location),
        "id": format!(
            "/subscriptions/{}/resourcegroups/{}/providers/Microsoft.ContainerService/managedClusters/{name}",
            section.subscription, section.resource_group
        ),
        "kubernetesVersion": version(cluster),
        "location": section.location.value,
        "name": name,
        "nodeResourceGroup": format!("MC_{}_{name}_{}", section.resource_group, section.location),
        "powerState": {"code": "Running"},
        "provisioningState": "Succeeded",
        "resourceGroup": section.resource_group.value,
        "sku": {"name": "Base", "tier": "Standard"},
        "tags": text_map(section.tags.iter().map(|(key, value)| (key.as_str(), value.as_str()))),
        "type": "Microsoft.ContainerService/ManagedClusters",
    })
}

fn agent_pool(cluster: &Cluster, section: &Azure, pool: &Pool, is_system: bool) -> Value {
    let settings = &pool.settings;
    let nodes = pool.nodes.get().unwrap();
    let is_scaled = !nodes.is_fixed();
    let zones: Vec<&str> = settings.zones.iter().map(|it| it.as_str()).collect();
    let mut labels = text_map(
        pool.labels
            .iter()
            .map(|it| (it.key.as_str(), it.value.as_str())),
    );
    let mut taints: Vec<String> = (pool.taints.iter())
        .filter(|it| it.set_by == SetBy::Gpuc)
        .chain(&pool.startup_taint)
        .map(|it| format!("{}={}:{}", it.key, it.value, it.effect.as_str()))
        .collect();
    let spot = match &settings.capacity.value {
        Capacity::Spot(spot) => Some(spot),
        _ => None,
    };
    if spot.is_some() {
        labels["kubernetes.azure.com/scalesetpriority"] = "spot".into();
        taints.push("kubernetes.azure.com/scalesetpriority=spot:NoSchedule".to_owned());
    }
    let reservation = match &settings.capacity.value {
        Capacity::Reservation(reservation) => Some(reservation.id.as_str()),
        _ => None,
    };
    let placement = match settings.network.placement.as_ref().map(|it| &it.value) {
        Some(Placement::Group(id)) => Some(id.as_str()),
        _ => None,
    };
    // The tags of the cluster are on its pools as well.
    let tags = section.tags.iter().chain(&settings.tags);
    let eviction = spot.map(|spot| match spot.eviction.map(|it| it.value) {
        Some(Eviction::Deallocate) => "Deallocate",
        _ => "Delete",
    });
    let is_ephemeral = settings
        .local_disks
        .is_some_and(|it| it.value == LocalDisks::Boot);
    json!({
        "availabilityZones": (!zones.is_empty()).then_some(zones),
        "capacityReservationGroupId": reservation,
        "count": nodes.min.max(1),
        "currentOrchestratorVersion": format!("{}.1", version(cluster)),
        "enableAutoScaling": is_scaled,
        "enableNodePublicIp": false,
        "gpuInstanceProfile": instance_profile(pool),
        "gpuProfile": pool.has_gpus().then(|| {
            let is_installed = pool.driver.value == DriverOwner::Preinstalled;
            json!({"driver": if is_installed { "Install" } else { "None" }})
        }),
        "kubeletDiskType": "OS",
        "maxCount": is_scaled.then_some(nodes.max),
        "maxPods": settings.max_pods.map_or(250, |it| it.value),
        "minCount": is_scaled.then_some(nodes.min),
        "mode": if is_system { "System" } else { "User" },
        "name": pool.name.value,
        "nodeLabels": labels,
        "nodeTaints": (!taints.is_empty()).then_some(taints),
        "orchestratorVersion": version(cluster),
        "osDiskSizeGb": settings.disk_gib.value,
        "osDiskType": if is_ephemeral { "Ephemeral" } else { "Managed" },
        "osSku": os_sku(pool),
        "osType": "Linux",
        "powerState": {"code": "Running"},
        "provisioningState": "Succeeded",
        "proximityPlacementGroupId": placement,
        "scaleSetEvictionPolicy": eviction,
        "scaleSetPriority": spot.map(|_| "Spot"),
        "spotMaxPrice": spot.map(|spot| spot.max_price.as_ref().map_or(-1.0, |price| price.value)),
        "tags": text_map(tags.map(|(key, value)| (key.as_str(), value.as_str()))),
        "type": "VirtualMachineScaleSets",
        "upgradeSettings": upgrade(pool),
        "vmSize": machine(pool),
        "vnetSubnetId": settings.subnets.first().map(|it| it.as_str()),
    })
}

/// The names of `--os-sku`.
///
/// Source: azure-cli 2.91.0, `az aks nodepool add --help`.
fn os_sku(pool: &Pool) -> &'static str {
    match pool.os.value {
        OsFamily::AzureLinux => "AzureLinux",
        OsFamily::Ubuntu2204 => "Ubuntu2204",
        OsFamily::Ubuntu2404 => "Ubuntu2404",
        _ => "Ubuntu",
    }
}

/// Source: MicrosoftDocs/azure-aks-docs `articles/aks/gpu-multi-instance.md@04921f5f`.
fn instance_profile(pool: &Pool) -> Option<String> {
    let Some(Sharing::Mig { gpus, .. }) = pool.sharing.get() else {
        return None;
    };
    let profile = gpus.first()?.placements.first()?.profile.to_string();
    let slices = profile.split('.').next()?.to_owned();
    (pool.driver.value == DriverOwner::Preinstalled).then(|| format!("MIG{slices}"))
}

/// Unset counts are AKS's defaults: a surge of 10 %, and none unavailable.
fn upgrade(pool: &Pool) -> Value {
    let upgrade = pool.settings.upgrade.as_ref();
    let surge = upgrade.and_then(|it| it.max_surge).map(|it| it.value);
    let unavailable = upgrade
        .and_then(|it| it.max_unavailable)
        .map_or(0, |it| it.value);
    if matches!(pool.settings.capacity.value, Capacity::Spot(_)) {
        return json!({"drainTimeoutInMinutes": null, "maxSurge": null, "maxUnavailable": null});
    }
    // Only one of the two can be above 0.
    let surge = surge.or((unavailable > 0).then_some(0));
    let surge = surge.map_or_else(|| "10%".to_owned(), |surge| surge.to_string());
    json!({"drainTimeoutInMinutes": null, "maxSurge": surge, "maxUnavailable": unavailable.to_string()})
}

/// Source: kubernetes-sigs/cloud-provider-azure `pkg/provider/azure_vmss.go` (`providerID`);
/// MicrosoftDocs/azure-aks-docs `articles/aks/use-labels.md`, 2026-11-28.
pub(super) fn add_node_fields(
    cluster: &Cluster,
    section: &Azure,
    pool: &Pool,
    index: usize,
    node: &mut Value,
) {
    node["spec"]["providerID"] = format!(
        "azure:///subscriptions/{}/resourceGroups/mc_{}_{}_{}/providers/Microsoft.Compute/virtualMachineScaleSets/aks-{}-1-vmss/virtualMachines/{index}",
        section.subscription,
        section.resource_group.to_lowercase(),
        name_in_cloud(cluster),
        section.location,
        pool.name
    )
    .into();
    let labels = &mut node["metadata"]["labels"];
    let zone = pool.settings.zones.first();
    let zone = zone.map_or_else(
        || "0".to_owned(),
        |zone| format!("{}-{zone}", section.location),
    );
    labels["topology.kubernetes.io/zone"] = zone.into();
    labels["topology.kubernetes.io/region"] = section.location.as_str().into();
    labels["node.kubernetes.io/instance-type"] = machine(pool).into();
    if !pool.is_existing() {
        labels["kubernetes.azure.com/agentpool"] = pool.name.value.as_str().into();
    }
    if matches!(pool.settings.capacity.value, Capacity::Spot(_)) {
        labels["kubernetes.azure.com/scalesetpriority"] = "spot".into();
    }
    let (image, sku) = match pool.os.value {
        OsFamily::AzureLinux => ("Microsoft Azure Linux 3.0", "AzureLinux"),
        _ => ("Ubuntu 22.04.5 LTS", "Ubuntu"),
    };
    labels["kubernetes.azure.com/os-sku"] = sku.into();
    node["status"]["nodeInfo"]["osImage"] = image.into();
}
