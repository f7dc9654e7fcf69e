//! `aws eks describe-cluster` and `describe-nodegroup`.
//!
//! Source: botocore@0e6e2404 `eks/2017-11-01/service-2.json` (`Cluster`, `Nodegroup`, `AMITypes`). eksctl creates every
//! managed node group with a launch template, which has the disk and the network interfaces, so that `diskSize` is
//! absent (eksctl-io/eksctl@99984adb `pkg/cfn/builder/managed_nodegroup.go`), 2026-11-28.

use gpuc_model::cloud::machine::CpuArchitecture;
use gpuc_model::{Cluster, NodeRange, Pool};
use gpuc_schema::config::{Autoscaler, Aws, AwsCluster, Capacity, OsFamily, TaintEffect};
use serde_json::{Value, json};

use super::super::super::live::healthy::{Healthy, documents};
use super::{machine, name_in_cloud, text_map, version};

/// The cluster, and each node group that gpuc creates.
pub(super) fn described(healthy: &Healthy, cluster: &Cluster, section: &Aws) -> Vec<Value> {
    let compilation = &healthy.outcome.compilations[healthy.index];
    let (tree, _) = compilation.output.as_ref().unwrap();
    let mut files = tree.files();
    let config = files
        .find(|(path, _)| *path == "cloud/eksctl.yaml")
        .map(|(_, file)| documents(&file.contents).remove(0));
    let config = config.unwrap_or_default();
    let groups = cluster
        .pools
        .iter()
        .filter(|pool| is_node_group(cluster, pool));
    let groups = groups.map(|pool| {
        let own = config["managedNodeGroups"].as_array().into_iter().flatten();
        let own = own
            .into_iter()
            .find(|group| group["name"] == pool.name.value.as_str());
        node_group(cluster, section, pool, own.unwrap_or(&Value::Null))
    });
    std::iter::once(eks_cluster(cluster, section))
        .chain(groups)
        .collect()
}

/// Whether the nodes of a pool are a managed node group.
fn is_node_group(cluster: &Cluster, pool: &Pool) -> bool {
    let is_fixed = pool.nodes.get().is_some_and(NodeRange::is_fixed);
    let is_of_karpenter = cluster.autoscaler.value == Autoscaler::Karpenter && !is_fixed;
    !pool.is_existing() && !is_of_karpenter
}

fn eks_cluster(cluster: &Cluster, section: &Aws) -> Value {
    let name = name_in_cloud(cluster);
    let vpc = match &section.cluster.value {
        AwsCluster::Existing(existing) => existing.vpc.as_ref().map(|vpc| vpc.id.as_str()),
        AwsCluster::Create(_) => None,
    };
    json!({"cluster": {
        "name": name,
        "arn": format!("arn:aws:eks:{}:{}:cluster/{name}", section.region, section.account),
        "createdAt": "2026-11-01T08:00:00.000000+00:00",
        "version": version(cluster),
        "endpoint": "https://0123456789ABCDEF.gr7.us-east-1.eks.amazonaws.com",
        "roleArn": format!("arn:aws:iam::{}:role/cluster", section.account),
        "resourcesVpcConfig": {
            "subnetIds": ["subnet-0aaaaaaaaaaaaaaa1", "subnet-0aaaaaaaaaaaaaaa2"],
            "securityGroupIds": [],
            "clusterSecurityGroupId": "sg-0123456789abcdef0",
            "vpcId": vpc.unwrap_or("vpc-0123456789abcdef0"),
            "endpointPublicAccess": true,
            "endpointPrivateAccess": true,
            "publicAccessCidrs": ["0.0.0.0/0"],
        },
        "accessConfig": {"authenticationMode": "API_AND_CONFIG_MAP"},
        "kubernetesNetworkConfig": {"serviceIpv4Cidr": "10.100.0.0/16", "ipFamily": "ipv4"},
        "logging": {"clusterLogging": []},
        "status": "ACTIVE",
        "platformVersion": "eks.3",
        "tags": text_map(section.tags.iter().map(|(key, value)| (key.as_str(), value.as_str()))),
        "upgradePolicy": {"supportType": "EXTENDED"},
    }})
}

fn node_group(cluster: &Cluster, section: &Aws, pool: &Pool, own: &Value) -> Value {
    let (name, of) = (pool.name.value.as_str(), name_in_cloud(cluster));
    let nodes = pool.nodes.get().unwrap();
    let (capacity, is_block) = match &pool.settings.capacity.value {
        Capacity::OnDemand | Capacity::Reservation(_) | Capacity::FlexStart(_) => {
            ("ON_DEMAND", false)
        }
        Capacity::Spot(_) => ("SPOT", false),
        Capacity::CapacityBlock(_) => ("CAPACITY_BLOCK", true),
    };
    let settings = &pool.settings;
    let subnets: Vec<&str> = settings.subnets.iter().map(|it| it.as_str()).collect();
    let subnets = if subnets.is_empty() {
        vec!["subnet-0aaaaaaaaaaaaaaa1", "subnet-0aaaaaaaaaaaaaaa2"]
    } else {
        subnets
    };
    let mut labels = text_map(
        pool.labels
            .iter()
            .map(|it| (it.key.as_str(), it.value.as_str())),
    );
    labels["alpha.eksctl.io/cluster-name"] = of.into();
    labels["alpha.eksctl.io/nodegroup-name"] = name.into();
    let taints: Vec<Value> = pool
        .registered_taints()
        .map(|it| {
            let effect = match it.effect {
                TaintEffect::NoSchedule => "NO_SCHEDULE",
                TaintEffect::PreferNoSchedule => "PREFER_NO_SCHEDULE",
                TaintEffect::NoExecute => "NO_EXECUTE",
            };
            json!({"key": it.key, "value": it.value, "effect": effect})
        })
        .collect();
    let unavailable = settings.upgrade.as_ref().and_then(|it| it.max_unavailable);
    let mut tags = own["tags"].clone();
    if tags.is_null() {
        tags = json!({});
    }
    tags["alpha.eksctl.io/cluster-name"] = of.into();
    tags["alpha.eksctl.io/nodegroup-name"] = name.into();
    tags["alpha.eksctl.io/nodegroup-type"] = "managed".into();
    tags["eksctl.cluster.k8s.io/v1alpha1/cluster-name"] = of.into();
    let mut group = json!({
        "nodegroupName": name,
        "nodegroupArn": format!(
            "arn:aws:eks:{}:{}:nodegroup/{of}/{name}/5ec0ffee-0000-1111-2222-333344445555", section.region, section.account
        ),
        "clusterName": of,
        "version": version(cluster),
        "releaseVersion": format!("{}.1-20261101", version(cluster)),
        "createdAt": "2026-11-01T09:00:00.000000+00:00",
        "modifiedAt": "2026-11-20T09:00:00.000000+00:00",
        "status": "ACTIVE",
        "capacityType": capacity,
        "scalingConfig": {"minSize": nodes.min, "maxSize": nodes.max, "desiredSize": nodes.min.max(1)},
        "subnets": subnets,
        "amiType": ami_type(pool),
        "nodeRole": format!("arn:aws:iam::{}:role/nodes", section.account),
        "labels": labels,
        "taints": taints,
        "resources": {"autoScalingGroups": [{"name": format!("eks-{name}-5ec0ffee")}]},
        "health": {"issues": []},
        "updateConfig": {
            "maxUnavailable": unavailable.map_or(1, |it| it.value),
            "updateStrategy": if pool.is_reserved() { "MINIMAL" } else { "DEFAULT" },
        },
        "launchTemplate": {"name": format!("eksctl-{of}-nodegroup-{name}"), "version": "1", "id": "lt-0123456789abcdef0"},
        "tags": tags,
    });
    if !is_block {
        group["instanceTypes"] = json!(pool.machine_types());
    }
    if let Some(repair) = settings.auto_repair {
        group["nodeRepairConfig"] = json!({"enabled": repair.value});
    }
    json!({"nodegroup": group})
}

/// The image: EKS's own with the driver on machines with GPUs; `CUSTOM` for other families.
fn ami_type(pool: &Pool) -> &'static str {
    let is_arm = pool.architecture() == CpuArchitecture::Arm64;
    match (pool.os.value, pool.has_gpus(), is_arm) {
        (OsFamily::AmazonLinux2023, true, false) => "AL2023_x86_64_NVIDIA",
        (OsFamily::AmazonLinux2023, true, true) => "AL2023_ARM_64_NVIDIA",
        (OsFamily::AmazonLinux2023, false, false) => "AL2023_x86_64_STANDARD",
        (OsFamily::AmazonLinux2023, false, true) => "AL2023_ARM_64_STANDARD",
        (OsFamily::Bottlerocket, true, false) => "BOTTLEROCKET_x86_64_NVIDIA",
        (OsFamily::Bottlerocket, true, true) => "BOTTLEROCKET_ARM_64_NVIDIA",
        (OsFamily::Bottlerocket, false, false) => "BOTTLEROCKET_x86_64",
        (OsFamily::Bottlerocket, false, true) => "BOTTLEROCKET_ARM_64",
        _ => "CUSTOM",
    }
}

/// Source: kubernetes/cloud-provider-aws `pkg/providers/v1/instances.go` (`providerID`); the labels of node groups:
/// awsdocs/amazon-eks-user-guide `nodes/managed-node-groups.adoc`, 2026-11-28.
pub(super) fn add_node_fields(section: &Aws, pool: &Pool, index: usize, node: &mut Value) {
    let zone = pool.settings.zones.first();
    let zone = zone.map_or_else(|| format!("{}a", section.region), |zone| zone.value.clone());
    node["spec"]["providerID"] = format!("aws:///{zone}/i-0{:08x}{index:08x}", pool.index).into();
    let labels = &mut node["metadata"]["labels"];
    labels["topology.kubernetes.io/zone"] = zone.into();
    labels["topology.kubernetes.io/region"] = section.region.as_str().into();
    labels["node.kubernetes.io/instance-type"] = machine(pool).into();
    if pool.os.value == OsFamily::AmazonLinux2023 {
        node["status"]["nodeInfo"]["osImage"] = "Amazon Linux 2023.9.20261101".into();
    }
}
