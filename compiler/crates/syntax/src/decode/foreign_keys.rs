//! Keys of other tools, with the keys that gpuc has for them.

/// Keys by their location, without indexes, each with what to write instead.
const FOREIGN_KEYS: &[(&str, &[&str], &str)] = &[
    (
        "nodePools",
        &[
            "count",
            "desiredCapacity",
            "desiredSize",
            "desired_size",
            "initialNodeCount",
            "nodeCount",
            "numNodes",
            "replicas",
            "size",
        ],
        "write the number of nodes as `nodes: {count: …}`",
    ),
    (
        "nodePools",
        &[
            "autoscaling",
            "max",
            "maxCount",
            "maxNodes",
            "maxSize",
            "max_size",
            "min",
            "minCount",
            "minNodes",
            "minSize",
            "min_size",
            "scaling",
        ],
        "write the limits of the number of nodes as `nodes: {min: …, max: …}`",
    ),
    (
        "nodePools",
        &[
            "flavor",
            "instance",
            "instanceType",
            "instanceTypes",
            "instance_types",
            "instance_type",
            "machineType",
            "machine_type",
            "nodeType",
            "vmSize",
            "vm_size",
        ],
        "write the machine type as `machine`",
    ),
    (
        "nodePools",
        &[
            "accelerator",
            "acceleratorType",
            "accelerators",
            "gpuCount",
            "gpuType",
            "guestAccelerator",
        ],
        "write the GPUs as `gpu: {model: …, perNode: …}`",
    ),
    (
        "nodePools",
        &[
            "bootDiskSizeGb",
            "disk",
            "diskSize",
            "diskSizeGb",
            "disk_size",
            "osDiskSizeGB",
            "rootVolumeSize",
            "volumeSize",
        ],
        "write the size of the disk as `diskGiB`",
    ),
    ("nodePools", &["nodeLabels"], "write the labels as `labels`"),
    ("nodePools", &["nodeTaints"], "write the taints as `taints`"),
    (
        "nodePools",
        &[
            "capacityType",
            "capacity_type",
            "lifecycle",
            "preemptible",
            "provisioningModel",
            "purchaseOption",
            "scaleSetPriority",
            "spot",
        ],
        "write Spot machines as `capacity: {spot: {}}`",
    ),
    ("", &["name"], "write the name as `metadata: {name: …}`"),
    ("", &["karpenter"], "write `autoscaler: karpenter`"),
    (
        "",
        &["jupyterHub", "jupyterhub"],
        "write it as `notebooks: {jupyterHub: {}}`",
    ),
    (
        "",
        &[
            "managedNodeGroups",
            "nodeGroups",
            "node_groups",
            "node_pools",
            "pools",
        ],
        "write the pools as `nodePools`",
    ),
    (
        "cloud",
        &["aks", "eks", "gke", "provider"],
        "write the cloud as a key: `aws`, `gcp`, `azure`, `onPrem` or `existing`",
    ),
    (
        "nodePools",
        &["availabilityZones", "availability_zones", "zone"],
        "write the zones as `zones`",
    ),
    (
        "nodePools.nodes",
        &["maxSize", "minSize", "max_size", "min_size"],
        "write the limits as `min` and `max`",
    ),
    ("stack", &["dra"], "write `allocation: dra`"),
    (
        "*.job",
        &["gpu", "gpuCount", "nvidia.com/gpu", "resources"],
        "write the GPUs of each pod as `gpus`, and `cpu` and `memory`",
    ),
    (
        "*.deployment",
        &["gpu", "gpuCount", "nvidia.com/gpu", "resources"],
        "write the GPUs of each pod as `gpus`, and `cpu` and `memory`",
    ),
    (
        "nodePools.gpu",
        &["count", "gpus", "number", "quantity", "replicas"],
        "write the number of GPUs of a node as `perNode`",
    ),
    (
        "nodePools.gpu",
        &["card", "family", "name", "product", "type"],
        "write the GPU model as `model`",
    ),
    (
        "nodePools.sharing",
        &["kind", "mode", "replicas", "strategy", "type"],
        "write the kind of sharing as a key, such as `timeSlicing: {replicas: 4}`",
    ),
    (
        "stack.driver",
        &["branch", "version"],
        "write the version as `driverVersion` in `stack`",
    ),
    (
        "nodePools.stack.driver",
        &["branch", "version"],
        "write the version as `driverVersion` in `stack`",
    ),
    (
        "*.from.claim",
        &["claimName", "existing", "name"],
        "write the name of a claim that exists as `existingClaim` in `from`",
    ),
    (
        "*.volumes",
        &["claimName", "persistentVolumeClaim", "pvc"],
        "write the name of a claim that exists as `from: {existingClaim: …}`",
    ),
    (
        "nodePools.nodes",
        &["desired", "desiredCapacity", "replicas", "size"],
        "write a fixed number of nodes as `count`; with `min` and `max`, remove it: the autoscaler chooses the number",
    ),
    (
        "teams.quota",
        &["gpu", "nvidia.com/gpu"],
        "write the GPUs as `gpus: [{pool: …, guaranteed: …}]`",
    ),
    (
        "workloads",
        &["gpus", "image", "replicas"],
        "write the settings of the pods below a kind, such as `job` or `deployment`",
    ),
    (
        "charts",
        &["chartVersion", "targetRevision", "version"],
        "gpuc pins the versions of charts, and `gpuc catalog charts` lists them; to use another one, install the chart \
         yourself",
    ),
];

/// Returns what to write instead of a key of another tool. For `charts`, the location is that of any chart.
pub(super) fn find_help(location: &str, key: &str) -> Option<&'static str> {
    let is_below_charts = location
        .strip_prefix("charts.")
        .is_some_and(|chart| !chart.contains('.'));
    let location = if is_below_charts { "charts" } else { location };
    let mut keys = FOREIGN_KEYS.iter();
    let is_location = |known: &str| match known.strip_prefix('*') {
        Some(end) => location.ends_with(end),
        None => known == location,
    };
    let found = keys.find(|(known, keys, _)| is_location(known) && keys.contains(&key));
    found.map(|(_, _, help)| *help)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::key_paths;

    #[test]
    fn foreign_keys_are_not_keys_of_gpuc() {
        let paths = key_paths();
        for (location, keys, help) in FOREIGN_KEYS {
            let is_location = |path: &&String| match location.strip_prefix('*') {
                Some(end) => path.ends_with(end),
                None => path == location,
            };
            let root = String::new();
            let locations = paths.iter().chain([&root]).filter(is_location);
            let locations: Vec<_> = locations.collect();
            assert!(!locations.is_empty(), "{location}");
            for (location, key) in locations
                .iter()
                .flat_map(|it| keys.iter().map(move |key| (it, key)))
            {
                let path = format!("{location}.{key}");
                let path = path.trim_start_matches('.').to_owned();
                assert!(!paths.contains(&path), "{path}");
                assert_eq!(
                    find_help(location, key),
                    Some(*help),
                    "{key} is listed twice"
                );
            }
        }
        assert!(find_help("charts.kueue", "version").is_some());
        assert_eq!(find_help("charts.kueue.values", "version"), None);
    }
}
