//! Pools that the clouds' command-line tools describe.
//!
//! The formats are those of `aws eks describe-cluster` and `describe-nodegroup`, of `gcloud container clusters
//! describe` (the API `container/v1`), and of `az aks show` (the API `managedClusters`).
//!
//! Source: <https://docs.aws.amazon.com/eks/latest/APIReference/API_Nodegroup.html>, 2026-11-28.

use serde_json::{Value, json};

use super::{errors, imported, keys, node, pool, provided, read};

#[test]
fn node_groups_of_eks() {
    let cluster = json!({"cluster": {
        "name": "ml-prod", "arn": "arn:aws:eks:us-east-1:123456789012:cluster/ml-prod", "version": "1.35",
        "resourcesVpcConfig": {"vpcId": "vpc-0123456789abcdef0", "subnetIds": ["subnet-0a", "subnet-0b"]},
        "tags": {"team": "platform", "aws:cloudformation:stack-name": "x"},
    }});
    let group = |name: &str, rest: Value| {
        let mut group = json!({
            "nodegroupName": name, "clusterName": "ml-prod", "version": "1.35", "status": "ACTIVE",
            "nodegroupArn": format!("arn:aws:eks:us-east-1:123456789012:nodegroup/ml-prod/{name}/1"),
            "scalingConfig": {"minSize": 0, "maxSize": 4, "desiredSize": 1},
            "subnets": ["subnet-0123456789abcdef0"], "amiType": "AL2023_x86_64_NVIDIA",
            "labels": {}, "updateConfig": {"maxUnavailable": 1}, "capacityType": "ON_DEMAND",
        });
        for (key, value) in rest.as_object().unwrap() {
            group[key] = value.clone();
        }
        json!({"nodegroup": group})
    };
    let files = [
        cluster,
        group(
            "train",
            json!({
                "instanceTypes": ["p5.48xlarge"], "diskSize": 500, "updateConfig": {"maxUnavailable": 2},
                "nodeRepairConfig": {"enabled": true}, "labels": {"tier": "gpu", "eks.amazonaws.com/x": "y"},
                "taints": [{"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}],
                "tags": {"cost": "a"},
            }),
        ),
        group(
            "spot",
            json!({
                "instanceTypes": ["g6.xlarge", "g6.2xlarge"], "capacityType": "SPOT", "amiType": "BOTTLEROCKET_x86_64_NVIDIA",
                "launchTemplate": {"id": "lt-1", "version": "1"},
            }),
        ),
    ];
    let labels = json!({"eks.amazonaws.com/nodegroup": "train", "node.kubernetes.io/instance-type": "p5.48xlarge"});
    let mut nodes = vec![provided(
        node("a", &labels, &[], &json!({"nvidia.com/gpu": "8"})),
        "aws:///us-east-1a/i-1",
    )];
    // Without an autoscaler, the range has no effect.
    let fixed = imported(&nodes, &files);
    assert_eq!(
        pool(&fixed, "train")["nodes"],
        json!({"count": 1}),
        "{}",
        fixed.yaml
    );
    assert_eq!(errors(&fixed), Vec::<String>::new(), "{}", fixed.yaml);
    let metadata = json!({"name": "cluster-autoscaler", "namespace": "kube-system"});
    nodes.push(json!({"kind": "Deployment", "apiVersion": "apps/v1", "metadata": metadata}));
    let import = imported(&nodes, &files);
    assert_eq!(
        pool(&import, "train"),
        json!({
            "name": "train", "machine": "p5.48xlarge", "nodes": {"min": 0, "max": 4},
            "subnets": ["subnet-0123456789abcdef0"], "diskGiB": 500, "labels": {"tier": "gpu"},
            "taints": [{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}],
            "tags": {"cost": "a"}, "upgrade": {"maxUnavailable": 2}, "autoRepair": true,
        }),
        "{}",
        import.yaml
    );
    let spot = pool(&import, "spot");
    assert_eq!(spot["capacity"], json!({"spot": {}}));
    assert_eq!(spot["os"], json!({"family": "Bottlerocket"}));
    assert_eq!(spot["machine"], "g6.xlarge");
    let file = read(&import);
    assert_eq!(file["kubernetes"], json!({"version": "1.35"}));
    assert_eq!(
        file["cloud"]["aws"],
        json!({
            "account": "123456789012", "region": "us-east-1", "cluster": {"existing": {"hasAutoscaler": true}}, "tags": {"team": "platform"},
        })
    );
    assert_eq!(spot["alternativeMachines"], json!(["g6.2xlarge"]));
    let left_out = keys(&import.report.left_out);
    assert!(
        left_out.contains(&"cloud.aws.cluster.existing.vpc")
            && left_out.contains(&"nodePools[spot].network.efa"),
        "{left_out:?}"
    );
    assert!(import.yaml.contains("--adopt"));
    assert_eq!(errors(&import), Vec::<String>::new(), "{}", import.yaml);
}

#[test]
fn node_pools_of_gke() {
    let cluster = json!({
        "name": "ml", "location": "us-central1", "currentMasterVersion": "1.34.1-gke.1829001",
        "selfLink": "https://container.googleapis.com/v1/projects/acme-ml/locations/us-central1/clusters/ml",
        "resourceLabels": {"team": "platform", "goog-x": "y"},
        "nodePools": [
            {
                "name": "shared", "initialNodeCount": 1, "locations": ["us-central1-a", "us-central1-b"],
                "config": {
                    "machineType": "g2-standard-8", "diskSizeGb": 200, "imageType": "COS_CONTAINERD", "spot": true,
                    "accelerators": [{
                        "acceleratorType": "nvidia-l4", "acceleratorCount": "1",
                        "gpuSharingConfig": {"gpuSharingStrategy": "TIME_SHARING", "maxSharedClientsPerGpu": "4"},
                        "gpuDriverInstallationConfig": {"gpuDriverVersion": "LATEST"},
                    }],
                    "labels": {"tier": "gpu", "cloud.google.com/x": "y"},
                    "taints": [
                        {"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"},
                        {"key": "spot", "value": "yes", "effect": "NO_EXECUTE"},
                    ],
                    "resourceLabels": {"cost": "a", "goog-gke-node-pool-provisioning-model": "spot"},
                },
                "autoscaling": {"enabled": true, "minNodeCount": 1, "maxNodeCount": 3},
                "management": {"autoRepair": true, "autoUpgrade": true},
                "maxPodsConstraint": {"maxPodsPerNode": "64"},
                "upgradeSettings": {"strategy": "BLUE_GREEN", "blueGreenSettings": {
                    "nodePoolSoakDuration": "7200s",
                    "standardRolloutPolicy": {"batchNodeCount": 2, "batchSoakDuration": "60s"},
                }},
            },
            {
                "name": "slices", "initialNodeCount": 1, "locations": ["us-central1-a"],
                "config": {
                    "machineType": "a2-highgpu-1g", "diskSizeGb": 100, "imageType": "COS_CONTAINERD",
                    "accelerators": [{"acceleratorType": "nvidia-tesla-a100", "acceleratorCount": "1", "gpuPartitionSize": "1g.5gb"}],
                    "reservationAffinity": {"consumeReservationType": "SPECIFIC_RESERVATION", "key": "k", "values": ["blocks"]},
                },
                "upgradeSettings": {"maxSurge": 1},
            },
            {
                "name": "near", "initialNodeCount": 1, "locations": ["us-central1-a"],
                "config": {"machineType": "a2-highgpu-1g", "imageType": "UBUNTU_CONTAINERD",
                    "accelerators": [{"acceleratorType": "nvidia-tesla-a100", "acceleratorCount": "1"}]},
                "placementPolicy": {"type": "COMPACT"},
            },
        ],
    });
    let import = imported(&[], &[cluster]);
    assert_eq!(
        pool(&import, "shared"),
        json!({
            "name": "shared", "machine": "g2-standard-8", "nodes": {"min": 2, "max": 6},
            "zones": ["us-central1-a", "us-central1-b"], "capacity": {"spot": {}}, "diskGiB": 200, "maxPods": 64,
            "sharing": {"timeSlicing": {"replicas": 4}}, "labels": {"tier": "gpu"},
            "taints": [{"key": "spot", "value": "yes", "effect": "NoExecute"}], "tags": {"cost": "a"},
            "upgrade": {"blueGreen": {"soakMinutes": 120, "batchNodes": 2, "batchSoakMinutes": 1}},
            "stack": {"driverVersion": "latest"},
        }),
        "{}",
        import.yaml
    );
    let slices = pool(&import, "slices");
    let layout = json!({"mig": {"strategy": "single", "perGpu": [{"layout": [{"profile": "1g.5gb", "count": 7}]}]}});
    assert_eq!(slices["sharing"], layout);
    assert_eq!(slices["capacity"], json!({"reservation": {"id": "blocks"}}));
    let near = pool(&import, "near");
    assert_eq!(near["network"], json!({"placement": "compact"}));
    assert_eq!(near["os"], json!({"family": "Ubuntu"}));
    assert_eq!(slices["nodes"], json!({"count": 1}));
    let file = read(&import);
    assert_eq!(file["cloud"]["gcp"]["project"], "acme-ml");
    assert_eq!(file["kubernetes"], json!({"version": "1.34"}));
    assert_eq!(file["metadata"], json!({"name": "ml"}));
    // Neither pool opts out of GKE's device plugin.
    assert_eq!(file["stack"], json!({"devicePlugin": "cloud"}));
    assert_eq!(errors(&import), Vec::<String>::new(), "{}", import.yaml);
}

#[test]
fn node_pools_of_aks() {
    let subscription = "00000000-1111-2222-3333-444444444444";
    let cluster = json!({
        "type": "Microsoft.ContainerService/ManagedClusters", "name": "ml", "location": "westeurope",
        "id": format!("/subscriptions/{subscription}/resourcegroups/ml-rg/providers/Microsoft.ContainerService/managedClusters/ml"),
        "resourceGroup": "ml-rg", "kubernetesVersion": "1.35", "currentKubernetesVersion": "1.35.1",
    });
    let pools = json!([
        {
            "name": "system", "mode": "System", "vmSize": "Standard_D4s_v5", "count": 3, "osSku": "Ubuntu",
            "osDiskSizeGb": 128, "maxPods": 250, "enableAutoScaling": false, "scaleSetPriority": null,
            "upgradeSettings": {"maxSurge": "10%"}, "availabilityZones": ["1", "2"],
        },
        {
            "name": "spot", "mode": "User", "vmSize": "Standard_NC4as_T4_v3", "count": 1, "minCount": 0, "maxCount": 8,
            "enableAutoScaling": true, "scaleSetPriority": "Spot", "spotMaxPrice": 0.25, "scaleSetEvictionPolicy": "Deallocate",
            "osSku": "AzureLinux", "osDiskSizeGb": 100, "maxPods": 60, "nodeLabels": {"kubernetes.azure.com/scalesetpriority": "spot", "tier": "gpu"},
            "nodeTaints": ["kubernetes.azure.com/scalesetpriority=spot:NoSchedule", "sku=gpu:NoSchedule"],
            "upgradeSettings": {"maxSurge": "33%"}, "tags": {"part": "a"},
        },
        {
            "name": "slices", "mode": "User", "vmSize": "Standard_NC24ads_A100_v4", "count": 1, "osSku": "Ubuntu",
            "osDiskSizeGB": 100, "gpuInstanceProfile": "MIG1g", "gpuProfile": {"driver": "Install"}, "upgradeSettings": {"maxSurge": "2"},
        },
    ]);
    let import = imported(&[], &[cluster, pools]);
    assert_eq!(
        pool(&import, "spot"),
        json!({
            "name": "spot", "machine": "Standard_NC4as_T4_v3", "nodes": {"min": 0, "max": 8},
            "capacity": {"spot": {"eviction": "deallocate", "maxPrice": 0.25}}, "os": {"family": "AzureLinux"},
            "maxPods": 60, "labels": {"tier": "gpu"},
            "taints": [{"key": "sku", "value": "gpu", "effect": "NoSchedule"}], "tags": {"part": "a"},
        }),
        "{}",
        import.yaml
    );
    let system = json!({"name": "system", "machine": "Standard_D4s_v5", "nodes": {"count": 3}, "zones": ["1", "2"], "diskGiB": 128});
    assert_eq!(pool(&import, "system"), system);
    let slices = pool(&import, "slices");
    assert_eq!(
        slices["sharing"]["mig"]["perGpu"],
        json!([{"layout": [{"profile": "1g.10gb", "count": 7}]}])
    );
    assert_eq!(slices["upgrade"], json!({"maxSurge": 2}));
    let file = read(&import);
    let azure = json!({"subscription": subscription, "resourceGroup": "ml-rg", "location": "westeurope", "cluster": {"existing": {}}});
    assert_eq!(file["cloud"]["azure"], azure);
    let percentage = import
        .report
        .left_out
        .iter()
        .find(|it| it.source.contains("33%"));
    assert!(percentage.is_some());
    assert_eq!(errors(&import), Vec::<String>::new(), "{}", import.yaml);
}
