//! The findings of the comparison.

use gpuc_syntax::diag::{Code, Correction, Severity};

/// Every finding of this crate, by id.
pub const CODES: &[&Code] = &[
    &UNDECLARED,
    &LABELS,
    &TAINTS,
    &MACHINE,
    &SIZE,
    &CAPACITY,
    &DRIVER,
    &RANDOM_NAME,
    &VERSION,
    &CREATED_TWICE,
];

pub(crate) static UNDECLARED: Code = Code {
    id: "GPUC5001",
    name: "node-pool-undeclared",
    severity: Severity::Error,
    summary: "no node pool in the configuration has the labels of a pool",
    checks: "Whether a node pool in the Terraform configuration has all labels in `existing.selector` of a pool.",
    reason: "The objects that gpuc generates select nodes by these labels. Without such nodes, the device plugin does not run, and
pods of the pool wait forever.",
    remedy: "Declare the node pool with these labels, or correct the selector. If the node pool is in another configuration, name its
plan or state too.",
    bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {existing: {name: batch}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: g5.xlarge
    nodes: {min: 1, max: 4}
    existing: {selector: {team: vision}}
--- # terraform.json
{
  "format_version": "1.2",
  "planned_values": {"root_module": {"resources": [{
    "address": "aws_eks_node_group.gpu", "mode": "managed", "type": "aws_eks_node_group",
    "values": {
      "cluster_name": "batch", "node_group_name": "other", "instance_types": ["g5.xlarge"],
      "labels": {"team": "speech"}, "taint": [],
      "scaling_config": [{"desired_size": 1, "max_size": 4, "min_size": 1}]
    }
  }]}}
}
"#,
    correction: Correction::Replace(
        r#"{"team": "speech"}"#,
        r#"{"team": "vision"}"#,
    ),
};

pub(crate) static LABELS: Code = Code {
    id: "GPUC5002",
    name: "declared-labels-missing",
    severity: Severity::Error,
    summary: "a node pool in the configuration lacks labels of the selector",
    checks: "Whether the node pool with the name of a pool has all labels in `existing.selector`.",
    reason: "The objects that gpuc generates select nodes by these labels: the device plugin does not run on nodes without them.",
    remedy: "Add the labels to the node pool in the configuration, or select its nodes by other labels.",
    bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {existing: {name: batch}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: g5.xlarge
    nodes: {min: 1, max: 4}
    existing: {selector: {team: vision}}
--- # terraform.json
{
  "format_version": "1.2",
  "planned_values": {"root_module": {"resources": [{
    "address": "aws_eks_node_group.gpu", "mode": "managed", "type": "aws_eks_node_group",
    "values": {
      "cluster_name": "batch", "node_group_name": "gpu", "instance_types": ["g5.xlarge"],
      "labels": {}, "taint": [],
      "scaling_config": [{"desired_size": 1, "max_size": 4, "min_size": 1}]
    }
  }]}}
}
"#,
    correction: Correction::Replace(r#""labels": {}"#, r#""labels": {"team": "vision"}"#),
};

pub(crate) static TAINTS: Code = Code {
    id: "GPUC5003",
    name: "declared-taints-differ",
    severity: Severity::Error,
    summary: "a node pool in the configuration has other taints than the pool",
    checks: "Whether a node pool in the configuration has the taints of its pool, and no others. Taints that the cloud sets by itself
are not compared.",
    reason: "Without a taint of the pool, pods that need no GPU take its nodes. A taint that the file does not have keeps away the
device plugin and the workloads of the pool, because they do not tolerate it.",
    remedy: "Write the same taints in both.",
    bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {existing: {name: batch}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: g5.xlarge
    nodes: {min: 1, max: 4}
    existing: {selector: {team: vision}}
    taints: [{key: gpu, value: "yes", effect: NoSchedule}]
--- # terraform.json
{
  "format_version": "1.2",
  "planned_values": {"root_module": {"resources": [{
    "address": "aws_eks_node_group.gpu", "mode": "managed", "type": "aws_eks_node_group",
    "values": {
      "cluster_name": "batch", "node_group_name": "gpu", "instance_types": ["g5.xlarge"],
      "labels": {"team": "vision"}, "taint": [],
      "scaling_config": [{"desired_size": 1, "max_size": 4, "min_size": 1}]
    }
  }]}}
}
"#,
    correction: Correction::Replace(
        r#""taint": []"#,
        r#""taint": [{"key": "gpu", "value": "yes", "effect": "NO_SCHEDULE"}]"#,
    ),
};

pub(crate) static MACHINE: Code = Code {
    id: "GPUC5004",
    name: "declared-machine-differs",
    severity: Severity::Error,
    summary: "a node pool in the configuration has another machine type than the pool",
    checks: "Whether the machine types and the number of GPUs of a node pool in the configuration are those of the pool.",
    reason: "The machine type determines the GPUs, the MIG layout, and the CPU and memory that quotas and workloads are checked
against.",
    remedy: "Write the same machine type in both.",
    bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {existing: {name: batch}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: g5.xlarge
    nodes: {min: 1, max: 4}
    existing: {selector: {team: vision}}
--- # terraform.json
{
  "format_version": "1.2",
  "planned_values": {"root_module": {"resources": [{
    "address": "aws_eks_node_group.gpu", "mode": "managed", "type": "aws_eks_node_group",
    "values": {
      "cluster_name": "batch", "node_group_name": "gpu", "instance_types": ["g5.2xlarge"],
      "labels": {"team": "vision"}, "taint": [],
      "scaling_config": [{"desired_size": 1, "max_size": 4, "min_size": 1}]
    }
  }]}}
}
"#,
    correction: Correction::Replace(
        r#"["g5.2xlarge"]"#,
        r#"["g5.xlarge"]"#,
    ),
};

pub(crate) static SIZE: Code = Code {
    id: "GPUC5005",
    name: "declared-size-differs",
    severity: Severity::Error,
    summary: "a node pool in the configuration has another size than the pool",
    checks: "Whether the minimum and the maximum of the node pools of a pool, added up, are those of the pool. On GKE, numbers per
zone are multiplied by the number of zones.",
    reason: "Quotas and workloads are checked against the nodes of the file. If the configuration has fewer nodes, guaranteed quotas
do not exist.",
    remedy: "Write the same numbers in both.",
    bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {existing: {name: batch}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: g5.xlarge
    nodes: {min: 1, max: 4}
    existing: {selector: {team: vision}}
--- # terraform.json
{
  "format_version": "1.2",
  "planned_values": {"root_module": {"resources": [{
    "address": "aws_eks_node_group.gpu", "mode": "managed", "type": "aws_eks_node_group",
    "values": {
      "cluster_name": "batch", "node_group_name": "gpu", "instance_types": ["g5.xlarge"],
      "labels": {"team": "vision"}, "taint": [],
      "scaling_config": [{"desired_size": 1, "max_size": 2, "min_size": 1}]
    }
  }]}}
}
"#,
    correction: Correction::Replace(
        r#""max_size": 2"#,
        r#""max_size": 4"#,
    ),
};

pub(crate) static CAPACITY: Code = Code {
    id: "GPUC5006",
    name: "declared-capacity-differs",
    severity: Severity::Error,
    summary: "a node pool in the configuration has another purchase option than the pool",
    checks: "Whether a node pool of AKS in the configuration has Spot machines if, and only if, the pool has `capacity: {spot: …}`.",
    reason: "AKS taints Spot machines. Without `capacity`, the pods of gpuc and the workloads of the pool do not tolerate the
taint, and do not run there.",
    remedy: "Write the same purchase option in both.",
    bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud:
  azure:
    subscription: 00000000-1111-2222-3333-444444444444
    resourceGroup: ml
    location: eastus
    cluster: {existing: {name: batch}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: Standard_NC24ads_A100_v4
    nodes: {min: 1, max: 4}
    existing: {selector: {kubernetes.azure.com/agentpool: gpu}}
--- # terraform.json
{
  "format_version": "1.2",
  "values": {"root_module": {"resources": [{
    "address": "azurerm_kubernetes_cluster_node_pool.gpu", "mode": "managed",
    "type": "azurerm_kubernetes_cluster_node_pool",
    "values": {
      "name": "gpu", "vm_size": "Standard_NC24ads_A100_v4", "priority": "Spot",
      "node_labels": {"kubernetes.azure.com/scalesetpriority": "spot"},
      "node_taints": ["kubernetes.azure.com/scalesetpriority=spot:NoSchedule"],
      "auto_scaling_enabled": true, "min_count": 1, "max_count": 4, "node_count": 1
    }
  }]}}
}
"#,
    correction: Correction::Replace(
        "    existing: {sel",
        r"    capacity: {spot: {}}
    existing: {sel",
    ),
};

pub(crate) static DRIVER: Code = Code {
    id: "GPUC5007",
    name: "declared-driver-differs",
    severity: Severity::Error,
    summary: "the driver of a node pool in the configuration conflicts with the stack of the pool",
    checks: "Whether the nodes of a node pool in the configuration have a driver if the pool expects one, and none if a component in
the cluster installs it.",
    reason: "Without a driver, no GPU is advertised. With two installations, modules of different versions conflict, and the node has
no working driver.",
    remedy: "Select an image with or without the driver, or change `stack.driver` of the pool.",
    bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {existing: {name: batch}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: g5.xlarge
    nodes: {min: 1, max: 4}
    existing: {selector: {team: vision}}
--- # terraform.json
{
  "format_version": "1.2",
  "planned_values": {"root_module": {"resources": [{
    "address": "aws_eks_node_group.gpu", "mode": "managed", "type": "aws_eks_node_group",
    "values": {
      "cluster_name": "batch", "node_group_name": "gpu", "instance_types": ["g5.xlarge"],
      "labels": {"team": "vision"}, "taint": [],
      "scaling_config": [{"desired_size": 1, "max_size": 4, "min_size": 1}],
      "ami_type": "AL2023_x86_64_STANDARD"
    }
  }]}}
}
"#,
    correction: Correction::Replace(
        "AL2023_x86_64_STANDARD",
        "AL2023_x86_64_NVIDIA",
    ),
};

pub(crate) static RANDOM_NAME: Code = Code {
    id: "GPUC5008",
    name: "declared-name-random",
    severity: Severity::Error,
    summary: "a selector has the name of a node pool with a random suffix",
    checks: "Whether a selector names a node pool whose name Terraform completes with a random suffix.",
    reason: "The label of the cloud has the whole name. The selector then matches no node, and after each replacement the name
changes.",
    remedy: "Select the nodes by a label of the configuration, or set a name instead of a prefix: `use_name_prefix = false` in the
module `terraform-aws-modules/eks/aws`.",
    bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {existing: {name: batch}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: g5.xlarge
    nodes: {min: 1, max: 4}
    existing: {selector: {eks.amazonaws.com/nodegroup: gpu}}
--- # terraform.json
{
  "format_version": "1.2",
  "planned_values": {"root_module": {"resources": [{
    "address": "aws_eks_node_group.gpu", "mode": "managed", "type": "aws_eks_node_group",
    "values": {
      "cluster_name": "batch", "node_group_name_prefix": "gpu-", "instance_types": ["g5.xlarge"],
      "labels": {"team": "vision"}, "taint": [],
      "scaling_config": [{"desired_size": 1, "max_size": 4, "min_size": 1}]
    }
  }]}}
}
"#,
    correction: Correction::Replace(
        r#""node_group_name_prefix": "gpu-""#,
        r#""node_group_name": "gpu""#,
    ),
};

pub(crate) static VERSION: Code = Code {
    id: "GPUC5009",
    name: "declared-version-differs",
    severity: Severity::Error,
    summary: "the cluster in the configuration has another version of Kubernetes",
    checks: "Whether the cluster in the configuration has the version in `kubernetes.version`.",
    reason: "The version determines which features, charts and APIs gpuc uses.",
    remedy: "Write the same version in both. For an upgrade, change the configuration first.",
    bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {existing: {name: batch}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: g5.xlarge
    nodes: {min: 1, max: 4}
    existing: {selector: {team: vision}}
--- # terraform.json
{
  "format_version": "1.2",
  "planned_values": {"root_module": {"resources": [{
    "address": "aws_eks_cluster.batch", "mode": "managed", "type": "aws_eks_cluster",
    "values": {"name": "batch", "version": "1.35"}
  }, {
    "address": "aws_eks_node_group.gpu", "mode": "managed", "type": "aws_eks_node_group",
    "values": {
      "cluster_name": "batch", "node_group_name": "gpu", "instance_types": ["g5.xlarge"],
      "labels": {"team": "vision"}, "taint": [],
      "scaling_config": [{"desired_size": 1, "max_size": 4, "min_size": 1}]
    }
  }]}}
}
"#,
    correction: Correction::Replace(r#""version": "1.35""#, r#""version": "1.36""#),
};

pub(crate) static CREATED_TWICE: Code = Code {
    id: "GPUC5010",
    name: "node-pool-created-twice",
    severity: Severity::Error,
    summary: "both gpuc and the configuration create a node pool",
    checks: "Whether a node pool in the configuration has the name of a pool that the scripts of gpuc create.",
    reason: "Both tools change the same node pool, and each reverts the settings of the other one. The scripts of gpuc stop at a node
pool that they did not create.",
    remedy: "Add `existing` to the pool, or remove the node pool from the configuration.",
    bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud:
  gcp:
    project: acme-ml-prod
    location: us-central1-a
    nodeServiceAccount: gke-nodes@acme-ml-prod.iam.gserviceaccount.com
    cluster: {existing: {name: batch}}
stack: {devicePlugin: cloud}
nodePools:
  - name: gpu
    machine: g2-standard-8
    nodes: {count: 2}
--- # terraform.json
{
  "format_version": "1.2",
  "values": {"root_module": {"resources": [{
    "address": "google_container_node_pool.gpu", "mode": "managed", "type": "google_container_node_pool",
    "values": {"cluster": "batch", "name": "gpu", "location": "us-central1-a", "autoscaling": [], "node_count": 2}
  }]}}
}
"#,
    correction: Correction::Replace(
        r#""name": "gpu""#,
        r#""name": "web""#,
    ),
};
