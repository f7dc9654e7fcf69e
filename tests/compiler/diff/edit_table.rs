//! Edits of every section on every cloud, and the worst impact of each.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use gpuc_clouds::CLOUDS;
use gpuc_diff::diff::{Diff, Impact};
use gpuc_model::plan::Change;

use super::diff_of_texts;
use super::plan::input;

/// An edit of a file: the text to replace, which occurs once; its replacement; the worst impact; and the affected
/// object or field. An object is given by the kind and name of its change.
type EditRow = (
    &'static str,
    &'static str,
    &'static str,
    Impact,
    &'static str,
);

use Impact::{
    AccessChanged, Added, CapacityGained, CapacityLost, Deleted, DevicePluginRestarted,
    DriverRestarted, MigReconfigured, MonitoringChanged, NodesRecreated, Nothing, QuotaCut,
    QuotaRaised, Refused, Replaced, ServiceRestarted, WorkloadRestarted,
};

const EKS: &str = "tests/compiler/rich/eks.yaml";
const EKS_CUSTOM: &str = "tests/compiler/rich/eks-operator.yaml";
const EKS_EXISTING: &str = "tests/compiler/rich/eks-existing.yaml";
const EKS_EXISTING_NETWORK: &str = "tests/compiler/needs_shell/aws-network.yaml";
const KARPENTER: &str = "examples/eks-karpenter/gpu-cluster.yaml";
const SCALED: &str = "examples/eks-scale-0-5/gpu-cluster.yaml";
const AKS: &str = "tests/compiler/rich/aks.yaml";
const AKS_SMALL: &str = "examples/aks-t4/gpu-cluster.yaml";
const GKE: &str = "tests/compiler/rich/gke.yaml";
const GKE_SMALL: &str = "examples/gke-inference-l4/gpu-cluster.yaml";
const SERVICE: &str = "examples/gke-service/gpu-cluster.yaml";
const ON_PREM: &str = "examples/on-prem-infiniband/gpu-cluster.yaml";
const NOTEBOOKS: &str = "examples/on-prem-mig/gpu-cluster.yaml";
const QUEUES: &str = "examples/eks-queues/gpu-cluster.yaml";
const TEAMS: &str = "examples/eks-teams/gpu-cluster.yaml";
const TRAINING: &str = "examples/eks-training-job/gpu-cluster.yaml";
const WORKLOADS: &str = "tests/compiler/rich/workloads.yaml";
const AKS_MIG: &str = "examples/aks-mig-a100/gpu-cluster.yaml";
const AKS_BATCH: &str = "examples/aks-spot/gpu-cluster.yaml";
const AKS_ARGOCD: &str = "examples/aks-argocd/gpu-cluster.yaml";
const AKS_OPERATOR: &str = "examples/aks-operator-mig/gpu-cluster.yaml";
const GKE_EXISTING: &str = "tests/compiler/rich/gke-zonal.yaml";
const SMALLEST: &str = "examples/quickstart/gpu-cluster.yaml";
const EKS_EXISTING_EXAMPLE: &str = "examples/eks-existing/gpu-cluster.yaml";
const GKE_FLEX: &str = "tests/compiler/rich/gke-flex.yaml";
const GKE_RACK: &str = "tests/compiler/rich/gke-rack.yaml";
const GKE_NETWORKS: &str = "tests/compiler/needs_shell/gcp-networks.yaml";
const RACK: &str = "examples/on-prem-dgx/gpu-cluster.yaml";
const TAINTED: &str = "examples/eks-training-h100/gpu-cluster.yaml";

#[rustfmt::skip] // One edit a line.
const ROWS: &[EditRow] = &[
    // Only a new EKS node group can have these.
    (EKS, "machine: g6.xlarge\n    nodes: {min: 0", "machine: g6.2xlarge\n    nodes: {min: 0", Replaced, "machine type"),
    (EKS, "machine: g5.xlarge\n    nodes: {count: 1}\n    sharing: {mps", "machine: g5.xlarge\n    os: {family: AmazonLinux2023}\n    diskGiB: 300\n    nodes: {count: 1}\n    sharing: {mps", Replaced, "disk size in GiB"),
    (EKS, "os: {family: Bottlerocket}\n    localDisks: scratch\n    stack: {devicePlugin: cloud}", "localDisks: scratch\n    stack: {devicePlugin: gpuc}", Replaced, "node image"),
    (EKS, "machine: p4d.24xlarge\n    nodes: {count: 1}", "machine: p4d.24xlarge\n    zones: [us-east-1a]\n    nodes: {count: 1}", Replaced, "zones or subnets"),
    (EKS, "capacity: {spot: {}}", "capacity: onDemand", Replaced, "capacity"),
    (EKS, "reservation: {id: cr-0123456789abcdef1, count: 2}", "reservation: {id: cr-0123456789abcdef9, count: 2}", Replaced, "capacity reservation"),
    (EKS, "    network: {efa: {}}\n    stack: {extras: [gdrcopy, gds]}\n", "    stack: {extras: [gdrcopy, gds]}\n", Replaced, "EFA"),
    (EKS, "start: \"2096-12-01T11:30:00Z\"", "start: \"2096-12-02T11:30:00Z\"", CapacityLost, "number of nodes during the capacity block"),
    (EKS, "end: \"2096-12-15T11:30:00Z\"", "end: \"2096-12-14T11:30:00Z\"", CapacityLost, "number of nodes during the capacity block"),
    (EKS, "end: \"2096-12-15T11:30:00Z\"", "end: \"2096-12-16T11:30:00Z\"", CapacityGained, "number of nodes during the capacity block"),
    (TRAINING, "    capacity: {capacityBlock", "    nodeImage: {channel: latest}\n    capacity: {capacityBlock", NodesRecreated, "node image release"),
    // Without the key, no script compares the release.
    (EKS, "    nodeImage: {channel: latest}\n", "", Nothing, "node image release"),
    (EKS, "placement: {group: near}", "placement: {group: far}", Replaced, "placement group"),
    (EKS, "maxPods: 60", "maxPods: 70", Replaced, "max pods per node"),
    (EKS, "localDisks: scratch\n    stack: {devicePlugin: cloud}", "stack: {devicePlugin: cloud}", Replaced, "local disks"),
    (EKS_CUSTOM, "kubernetes: {version: \"1.34\"}", "kubernetes: {version: \"1.35\"}", Replaced, "Kubernetes version of the image"),
    (EKS, "vpc: {cidr: 10.20.0.0/16}", "vpc: {cidr: 10.30.0.0/16}", Replaced, "VPC range"),
    (EKS, "zones: [us-east-1a, us-east-1b]", "zones: [us-east-1a, us-east-1b, us-east-1c]", Replaced, "zones"),
    (EKS_EXISTING_NETWORK, "id: vpc-0123456789abcdef0", "id: vpc-0123456789abcdef9", Replaced, "VPC"),
    // EKS and eksctl change these in place.
    (EKS, "kubernetes: {version: \"1.34\"}", "kubernetes: {version: \"1.35\"}", NodesRecreated, "Kubernetes version"),
    (EKS, "nodes: {min: 0, max: 20}", "nodes: {min: 0, max: 10}", WorkloadRestarted, "pool spot"),
    (EKS, "nodes: {min: 0, max: 20}", "nodes: {min: 1, max: 30}", CapacityGained, "pool spot"),
    (EKS, "labels: {purpose: inference}", "labels: {purpose: training}", Nothing, "labels"),
    (EKS, "autoRepair: true", "autoRepair: false", Nothing, "EKS add-on"),
    (EKS, "taints: [{key: spot, value: \"yes\", effect: NoExecute}]", "taints: [{key: spot, value: \"yes\", effect: NoSchedule}]", DevicePluginRestarted, "DaemonSet"),
    (EKS, "replicas: 4}", "replicas: 8}", DevicePluginRestarted, "sharing"),
    // Who can reach the API server, and who can log in.
    (EKS, "endpoint: publicAndPrivate", "endpoint: public", AccessChanged, "API server endpoint"),
    (EKS, "publicAccessCidrs: [203.0.113.0/24, 198.51.100.7/32]", "publicAccessCidrs: [203.0.113.0/24]", AccessChanged, "API server endpoint"),
    (EKS, "authentication: api\n", "authentication: apiAndConfigMap\n", Replaced, "authentication mode"),
    (QUEUES, "      create:\n", "      create:\n        authentication: api\n", AccessChanged, "authentication mode"),
    (EKS, "groups: [research, vision]", "groups: [research]", AccessChanged, "Kubernetes groups"),
    (EKS, "user: ada@acme.dev", "user: bob@acme.dev", AccessChanged, "Kubernetes user"),
    (EKS, "policies: [{policy: clusterAdmin}]", "policies: [{policy: admin}]", AccessChanged, "access policies"),
    (QUEUES, "          - {principal: \"arn:aws:iam::123456789012:role/product\", groups: [product@acme.dev]}\n", "", AccessChanged, "EKS access entry"),
    (TRAINING, "role/research\"", "role/other\"", AccessChanged, "EKS access entry"),
    (EKS, "tags: {team: research}", "tags: {team: vision}", Nothing, "tags"),
    (EKS, "iops: 6000, throughputMiB: 500", "iops: 7000, throughputMiB: 500", Nothing, "StorageClass"),
    (EKS, "temperatureCelsius: 83", "temperatureCelsius: 80", MonitoringChanged, "PrometheusRule"),
    (EKS, "prometheus: {existing: {release: monitoring}}", "prometheus: {existing: {release: other}}", MonitoringChanged, "PodMonitor"),
    (EKS, "layout: [{profile: 3g.20gb, count: 2}]", "layout: [{profile: 2g.10gb, count: 3}]", MigReconfigured, "MIG devices"),
    (EKS, "  - name: turns\n    machine: g6e.xlarge\n    nodes: {count: 1}\n    stack: {devicePlugin: nvidia, extras: [mofed, gdrcopy]}\n    sharing: {timeSlicing: {replicas: 3, rename: true}}\n", "", Deleted, "pool turns"),
    (EKS, "name: turns", "name: rounds", Replaced, "pool turns"),
    (EKS, "nodePools:\n", "nodePools:\n  - {name: extra, machine: g6.xlarge, nodes: {min: 0, max: 2}}\n", CapacityGained, "pool extra"),
    (EKS, "runtimeImage: \"registry.example.com/gpuc-runtime:0.1.0\"", "runtimeImage: \"registry.example.com/gpuc-runtime:0.1.1\"", WorkloadRestarted, "DaemonSet"),
    (EKS_EXISTING, "subnets: [subnet-0123456789abcdef0, subnet-0123456789abcdef1]", "subnets: [subnet-0123456789abcdef0]", Replaced, "zones or subnets"),
    (EKS_CUSTOM, "driverVersion: 580.178.04", "driverVersion: 580.126.09", DriverRestarted, "driver"),
    (EKS_CUSTOM, "{timeSlicing: {replicas: 3}}", "{timeSlicing: {replicas: 5}}", DevicePluginRestarted, "sharing"),
    // Karpenter replaces drifted nodes.
    (KARPENTER, "diskGiB: 300", "diskGiB: 400", NodesRecreated, "EC2NodeClass"),
    (KARPENTER, "machine: g6.12xlarge", "machine: g6.24xlarge", NodesRecreated, "NodePool"),
    (KARPENTER, "nodes: {min: 0, max: 8}", "nodes: {min: 0, max: 4}", CapacityLost, "pool infer"),
    // The control plane, and the identities of nodes.
    (EKS, "serviceCidr: 172.20.0.0/16", "serviceCidr: 172.21.0.0/16", Replaced, "range of Services"),
    (EKS, "role/eks-cluster", "role/other", Replaced, "IAM role"),
    (EKS, "role/gpu-nodes", "role/other", Replaced, "IAM role of nodes"),
    (EKS, "natGateways: perZone", "natGateways: single", Nothing, "NAT gateways"),
    (EKS, "controlPlaneLogs: [scheduler, audit]", "controlPlaneLogs: [audit]", Nothing, "logs of the control plane"),
    (EKS, "deletionProtection: true", "deletionProtection: false", Nothing, "deletion protection"),
    (EKS, "versionSupport: standard", "versionSupport: extended", Nothing, "support of versions"),
    (EKS, "key/11111111", "key/22222222", Replaced, "key of Secrets"),
    (GKE, "podRange: pods", "podRange: others", Replaced, "range of pods"),
    (GKE, "serviceRange: services", "serviceRange: others", Replaced, "range of Services"),
    (GKE, "nodeServiceAccount: gke-nodes@", "nodeServiceAccount: other-nodes@", Replaced, "service account"),
    // Without the key, no script compares the account.
    (GKE, "    nodeServiceAccount: gke-nodes@acme-ml-prod.iam.gserviceaccount.com\n", "", Nothing, "service account"),
    (GKE, "controlPlaneLogs: [scheduler, apiServer]", "controlPlaneLogs: []", Nothing, "logs of the control plane"),
    (GKE, "cryptoKeys/secrets", "cryptoKeys/others", Nothing, "key of Secrets"),
    (AKS, "userAssignedIdentities/nodes", "userAssignedIdentities/others", NodesRecreated, "identity of nodes"),
    (AKS, "outbound: userDefinedRouting", "outbound: loadBalancer", Nothing, "outbound type"),
    (AKS, "keys/aks/", "keys/other/", Nothing, "key of Secrets"),
    (AKS, "diskEncryptionSets/nodes", "diskEncryptionSets/others", Replaced, "disk encryption set"),
    // Only a new AKS node pool can have these.
    (AKS, "machine: Standard_NC4as_T4_v3\n    nodes: {min: 0, max: 8}", "machine: Standard_NC8as_T4_v3\n    nodes: {min: 0, max: 8}", Replaced, "VM size"),
    (AKS, "capacity: {spot: {eviction: delete, maxPrice: 0.25}}", "capacity: onDemand", Replaced, "priority"),
    (AKS, "eviction: delete", "eviction: deallocate", Replaced, "eviction policy"),
    (AKS, "maxPrice: 0.25", "maxPrice: 0.5", Replaced, "maximum spot price"),
    (AKS, "zones: [\"1\", \"2\"]", "zones: [\"1\"]", Replaced, "zones"),
    (AKS, "virtualNetworks/v/subnets/nodes", "virtualNetworks/v/subnets/others", Replaced, "subnet"),
    (AKS, "capacityReservationGroups/h100", "capacityReservationGroups/h200", Replaced, "capacity reservation group"),
    (AKS, "proximityPlacementGroups/near", "proximityPlacementGroups/far", Replaced, "proximity placement group"),
    (AKS, "diskGiB: 500", "diskGiB: 600", Replaced, "disk size"),
    (AKS, "localDisks: boot\n", "localDisks: none\n    diskGiB: 256\n", Replaced, "disk type"),
    (AKS, "dedicatedTo: research", "dedicatedTo: vision", WorkloadRestarted, "pool train: scheduling taints"),
    (AKS, "count: 2\n    maxPods: 60", "count: 2\n    maxPods: 80", Replaced, "maximum pods per node"),
    (AKS_SMALL, "stack: {", "stack: {driver: operator, ", Replaced, "GPU driver"),
    (AKS, "layout: [{profile: 1g.10gb, count: 7}]", "layout: [{profile: 2g.20gb, count: 3}]", Replaced, "GPU instance profile"),
    (AKS, "location: westeurope", "location: northeurope", Replaced, "location"),
    (AKS, "userAssignedIdentities/control", "userAssignedIdentities/other", Nothing, "identity"),
    (AKS, "podCidr: 10.200.0.0/14", "podCidr: 10.196.0.0/14", Replaced, "range of pods"),
    (AKS, "serviceCidr: 10.100.0.0/16", "serviceCidr: 10.101.0.0/16", Replaced, "range of Services"),
    (AKS, "        privateCluster: true\n        privateDnsZone: /subscriptions/00000000-1111-2222-3333-444444444444/resourceGroups/net/providers/Microsoft.Network/privateDnsZones/privatelink.westeurope.azmk8s.io\n        publicFqdn: false\n", "        privateCluster: false\n", Replaced, "private API server"),
    (AKS, "privatelink.westeurope.azmk8s.io", "ml.private.westeurope.azmk8s.io", Replaced, "private DNS zone"),
    (AKS, "publicFqdn: false", "publicFqdn: true", AccessChanged, "public DNS name"),
    (AKS, "11111111-2222-3333-4444-555555555555", "22222222-2222-3333-4444-555555555555", AccessChanged, "Entra groups of administrators"),
    (AKS, "99999999-2222-3333-4444-555555555555", "88888888-2222-3333-4444-555555555555", AccessChanged, "Entra tenant"),
    (AKS, "azureRbac: true", "azureRbac: false", AccessChanged, "Azure RBAC"),
    (AKS, "localAccounts: false", "localAccounts: true", AccessChanged, "local accounts"),
    (AKS_SMALL, "create: {maintenance", "create: {authorizedIpRanges: [73.140.245.0/24], maintenance", AccessChanged, "authorized IP ranges"),
    (AKS, "upgradeChannel: stable", "upgradeChannel: patch", Nothing, "automatic upgrades"),
    (AKS, "nodes: {min: 0, max: 8}", "nodes: {min: 0, max: 9}", CapacityGained, "pool spot"),
    // A range changes to a count and back. The minimum and maximum decide the impact.
    (AKS_MIG, "nodes: {min: 1, max: 4}", "nodes: {count: 1}", WorkloadRestarted, "pool slices: nodes"),
    (AKS_MIG, "nodes: {min: 2, max: 3}", "nodes: {count: 2}", WorkloadRestarted, "pool system: nodes"),
    (AKS_MIG, "nodes: {min: 2, max: 3}", "nodes: {count: 3}", CapacityGained, "pool system: nodes"),
    (AKS, "nodes: {count: 1}", "nodes: {min: 1, max: 3}", CapacityGained, ": nodes"),
    (EKS, "nodes: {min: 0, max: 20}", "nodes: {count: 2}", WorkloadRestarted, "pool spot: nodes"),
    (EKS, "machine: p4d.24xlarge\n    nodes: {count: 1}", "machine: p4d.24xlarge\n    nodes: {min: 1, max: 2}", CapacityGained, ": nodes"),
    (GKE_SMALL, "nodes: {min: 2, max: 10}", "nodes: {count: 2}", WorkloadRestarted, ": nodes"),
    (GKE, "machine: g2-standard-8\n    zones: [us-central1-a]\n    nodes: {min: 0, max: 4}", "machine: g2-standard-8\n    zones: [us-central1-a]\n    nodes: {count: 1}", WorkloadRestarted, "pool shares: nodes"),
    (EKS, "alternativeMachines: [g6.4xlarge]", "alternativeMachines: [g6.8xlarge]", Replaced, "alternative machine types"),
    (EKS, "    alternativeMachines: [g6.4xlarge]\n", "", Replaced, "alternative machine types"),
    // The autoscaler sets the number of nodes of an existing pool.
    (EKS, "initial: 3", "initial: 2", Nothing, "initial number of nodes"),
    (AKS, "initial: 3", "initial: 5", Nothing, "initial nodes"),
    (GKE, "initial: 4", "initial: 2", Nothing, "initial nodes per zone"),
    (GKE_FLEX, "    capacity: {flexStart: {queued: true}}\n", "", Replaced, "flex-start capacity"),
    (GKE_FLEX, "{flexStart: {queued: true}}", "{flexStart: {}}", Replaced, "flex-start capacity"),
    (GKE_FLEX, "maxRunDuration: 24h", "maxRunDuration: 48h", Replaced, "maximum run duration"),
    // The eviction of pods is worse than a change of advertised resources.
    (TAINTED, "value: present, effect: NoSchedule", "effect: NoExecute", WorkloadRestarted, "taints"),
    (AKS_MIG, "effect: NoSchedule", "effect: NoExecute", WorkloadRestarted, "taints"),
    // Only a new GKE node pool can have these.
    (GKE, "machine: g2-standard-8\n    zones: [us-central1-a, us-central1-b]", "machine: g2-standard-12\n    zones: [us-central1-a, us-central1-b]", Replaced, "machine type"),
    (GKE, "gpu: {model: T4, perNode: 2}", "gpu: {model: T4, perNode: 4}", Replaced, "GPUs"),
    (GKE, "    localDisks: block\n", "", Replaced, "local SSDs"),
    (GKE, "capacity: {spot: {}}", "capacity: onDemand", Replaced, "spot capacity"),
    (GKE, "reservation: {id: blocks, count: 2}", "reservation: {id: others, count: 2}", Replaced, "reservation"),
    (GKE, "network: {placement: {group: near}}", "network: {placement: {group: far}}", Replaced, "placement"),
    (GKE, "maxPods: 64", "maxPods: 32", Replaced, "maximum pods per node"),
    (GKE, "network: projects/host/global/networks/shared", "network: projects/host/global/networks/other", Replaced, "network"),
    (GKE, "subnetworks/nodes", "subnetworks/others", Replaced, "subnetwork"),
    (GKE, "privateNodes: true\n        privateEndpoint: true\n", "privateNodes: false\n", Replaced, "private nodes"),
    (GKE, "privateEndpoint: true", "privateEndpoint: false", AccessChanged, "private endpoint"),
    (GKE, "[10.0.0.0/8]", "[10.0.0.0/8, 172.16.0.0/12]", AccessChanged, "authorized networks"),
    (GKE, "globalAccess: true", "globalAccess: false", AccessChanged, "global access"),
    (GKE, "gke-security-groups@acme.dev", "gke-security-groups@acme.com", AccessChanged, "security group"),
    (GKE_SMALL, "releaseChannel: stable", "releaseChannel: stable, dnsEndpoint: true", AccessChanged, "DNS endpoint"),
    (GKE, "{network: gpu-0, subnetwork: gpu-0}", "{network: gpu-9, subnetwork: gpu-9}", Replaced, "networks of the GPU interfaces"),
    (SERVICE, "nodePools:\n", "nodePools:\n  - {name: rdma, machine: a3-highgpu-8g, zones: [us-central1-a], nodes: {count: 1}, network: {gpudirect: {create: {cidr: 172.20.0.0/16}}}}\n", Replaced, "Dataplane V2"),
    (GKE_RACK, "network: {gpudirect: {managed: {}}, computeDomains: {}, placement: {group: racks}}", "network: {computeDomains: {}, placement: {group: racks}}", Replaced, "network profile of the GPU interfaces"),
    (GKE_NETWORKS, "machine: a3-highgpu-8g\n    zones: [us-central1-a]\n    nodes: {count: 2}\n    network: {gpudirect: {create: {cidr: 172.20.0.0/16}}}\n  - name: rdma\n    machine: a4-highgpu-8g\n    zones: [us-central1-b]\n    nodes: {count: 2}\n    network: {gpudirect: {create: {cidr: 172.20.0.0/16}}}", "machine: a3-highgpu-8g\n    zones: [us-central1-a]\n    nodes: {count: 2}\n    network: {gpudirect: {create: {cidr: 172.30.0.0/16}}}\n  - name: rdma\n    machine: a4-highgpu-8g\n    zones: [us-central1-b]\n    nodes: {count: 2}\n    network: {gpudirect: {create: {cidr: 172.30.0.0/16}}}", Replaced, "range"),
    (GKE, "releaseChannel: rapid", "releaseChannel: regular", Nothing, "release channel"),
    (GKE, "machine: g2-standard-8\n    zones: [us-central1-a]\n    nodes: {min: 0, max: 4}", "machine: g2-standard-8\n    zones: [us-central1-a]\n    nodes: {min: 0, max: 6}", CapacityGained, "pool shares"),
    (GKE_SMALL, "replicas: 4", "replicas: 2", DevicePluginRestarted, "sharing"),
    // A lower maximum does not make GKE's autoscaler remove nodes.
    (SERVICE, "nodes: {min: 0, max: 6}", "nodes: {min: 0, max: 3}", CapacityLost, "pool l4: nodes"),
    (SERVICE, "nodes: {min: 0, max: 6}", "nodes: {count: 3}", WorkloadRestarted, "pool l4: nodes"),
    // The edit selects another cluster.
    (RACK, "distribution: kubeadm", "distribution: rke2", Replaced, "cluster itself: Kubernetes distribution"),
    (SERVICE, "project: acme-ml", "project: other-ml", Replaced, "cluster itself"),
    (ON_PREM, "context: dgx-hall-2", "context: dgx-hall-3", Replaced, "context"),
    (SERVICE, "  - name: search\n", "  - name: search\n    network: isolated\n", Replaced, "network policies"),
    (AKS_BATCH, "existing: {name: batch}", "existing: {name: batch2}", Replaced, "cluster itself: name in the cloud"),
    (EKS_EXISTING_EXAMPLE, "name: platform #", "name: other #", Replaced, "cluster itself: name in the cloud"),
    (SCALED, "existing: {name: my-cluster}", "create: {}", Replaced, "cluster itself: name in the cloud"),
    (GKE_EXISTING, "existing: {name: platform}", "existing: {name: other}", Replaced, "cluster itself: name in the cloud"),
    (AKS_BATCH, "resourceGroup: ml-batch", "resourceGroup: ml-other", Replaced, "cluster itself: resource group"),
    (AKS, "resourceGroup: ", "resourceGroup: other-", Replaced, "cluster itself: resource group"),
    (AKS_ARGOCD, "    cluster: aks-argocd", "    cluster: other", Replaced, "cluster itself: name in Argo CD"),
    // The edit changes only the name in the file; the cluster is the same.
    (EKS_EXISTING_EXAMPLE, "metadata: {name: eks-existing}", "metadata: {name: eks-plat}", MonitoringChanged, "node.json\" » cluster"),
    // The cluster is the same, with another owner.
    (SMALLEST, "cluster: {create: {}}", "cluster: {existing: {}}", Nothing, "EKS cluster quickstart"),
    (RACK, "version: \"1.34\"", "version: \"1.35\"", Nothing, "cluster itself: Kubernetes version"),
    // The edit writes or omits a default.
    (AKS_OPERATOR, "stack: {driver: operator, ", "stack: {driver: operator, driverVersion: \"595.91.07\", ", Nothing, "gpuc.lock.json"),
    (RACK, "  driverVersion: \"580\"\n", "", Nothing, "gpuc.lock.json"),
    (GKE_SMALL, "  driver: daemonSet\n", "  driver: daemonSet\n  driverVersion: default\n", Nothing, "gpuc.lock.json"),
    (QUEUES, "    weight: 2\n", "    weight: 1\n", QuotaCut, "fairSharing.weight"),
    (QUEUES, "    weight: 2\n", "", QuotaCut, "fairSharing.weight"),
    // The cloud selects the nodes that it removes.
    (SMALLEST, "nodes: {count: 2}, sharing", "nodes: {count: 1}, sharing", WorkloadRestarted, "pool infer: nodes"),
    (GKE_SMALL, "zones: [us-central1-a, us-central1-b] # not", "zones: [us-central1-a] # not", WorkloadRestarted, "pool infer: zones"),
    // gpuc does not create these nodes.
    (EKS_EXISTING_EXAMPLE, "eks.amazonaws.com/nodegroup: gpu-a", "eks.amazonaws.com/nodegroup: gpu-x", DevicePluginRestarted, "pool gpu-a: node selector"),
    (EKS_EXISTING_EXAMPLE, "    taints: [{key: nvidia.com/gpu, value: present, effect: NoSchedule}]\n", "", DevicePluginRestarted, "pool gpu-a: scheduling taints"),
    // Persistent data.
    (RACK, "retentionDays: 30", "retentionDays: 7", Deleted, "prometheusSpec.retention"),
    (RACK, "retentionDays: 30", "retentionDays: 60", ServiceRestarted, "prometheusSpec.retention"),
    (RACK, "storage: {sizeGiB: 200}", "storage: {sizeGiB: 100}", ServiceRestarted, "storageSpec"),
    (RACK, "      storage: {sizeGiB: 200}\n", "", Deleted, "storageSpec"),
    (TRAINING, "sizeGiB: 2000, class: shared", "sizeGiB: 1000, class: shared", Refused, "PersistentVolumeClaim"),
    (TRAINING, "sizeGiB: 2000, class: shared", "sizeGiB: 3000, class: shared", Nothing, "PersistentVolumeClaim"),
    (SERVICE, "min: 2", "min: 1", WorkloadRestarted, "HorizontalPodAutoscaler"),
    // Minor versions are upgraded one at a time and cannot be downgraded. Nodes may be upgraded automatically.
    (SERVICE, "version: \"1.34\"", "version: \"1.33\"", Replaced, "GKE cluster"),
    (EKS, "version: \"1.34\"", "version: \"1.33\"", Replaced, "EKS cluster"),
    (AKS, "version: \"1.34\"", "version: \"1.33\"", Replaced, "AKS cluster"),
    (EKS, "version: \"1.34\"", "version: \"1.36\"", NodesRecreated, "EKS cluster"),
    (AKS, "version: \"1.34\"", "version: \"1.36\"", NodesRecreated, "AKS cluster"),
    (SERVICE, "version: \"1.34\"", "version: \"1.36\"", NodesRecreated, "GKE cluster"),
    (SERVICE, "version: \"1.34\"", "version: \"1.35\"", NodesRecreated, "pool"),
    (KARPENTER, "version: \"1.34\"", "version: \"1.35\"", NodesRecreated, "pool batch infer train: Kubernetes version"),
    (EKS_EXISTING, "version: \"1.33\"", "version: \"1.34\"", NodesRecreated, "pool"),
    (GKE_SMALL, "releaseChannel: stable", "releaseChannel: rapid", NodesRecreated, "release channel"),
    // Another node provisioner.
    (KARPENTER, "autoscaler: karpenter", "autoscaler: clusterAutoscaler", Replaced, "pool batch infer train: node provisioner"),
    (SCALED, "autoscaler: clusterAutoscaler", "autoscaler: karpenter", Replaced, "node provisioner"),
    // On-premises hosts.
    (ON_PREM, "hosts: [dgx-01, dgx-02]", "hosts: [dgx-01, dgx-03]", WorkloadRestarted, "pool dgx"),
    (ON_PREM, "hosts: [dgx-01, dgx-02]\n    nodes: {count: 2}", "hosts: [dgx-01]\n    nodes: {count: 1}", WorkloadRestarted, "pool dgx"),
    (ON_PREM, "effect: NoSchedule", "effect: NoExecute", WorkloadRestarted, "taints"),
    (NOTEBOOKS, "{profile: 1g.10gb, count: 7}", "{profile: 2g.20gb, count: 3}", MigReconfigured, "MIG devices"),
    (NOTEBOOKS, "torch-notebook:1.0.0", "torch-notebook:1.1.0", ServiceRestarted, "Helm release jupyterhub"),
    (NOTEBOOKS, "authenticator_class: github", "authenticator_class: google", ServiceRestarted, "Helm release jupyterhub"),
    (NOTEBOOKS, "memory: 32Gi", "memory: 64Gi", ServiceRestarted, "singleuser"),
    // Teams, queues, priorities.
    (QUEUES, "guaranteed: 16, limit: 28}\n", "guaranteed: 8, limit: 28}\n", QuotaCut, "ClusterQueue"),
    (QUEUES, "cpu: 800", "cpu: 900", QuotaRaised, "ClusterQueue"),
    (QUEUES, "description: What customers wait for", "description: What they wait for", Nothing, "WorkloadPriorityClass"),
    (QUEUES, ", preempts: false", "", AccessChanged, "PriorityClass"),
    (TEAMS, "value: 1000", "value: 1001", AccessChanged, "PriorityClass"),
    (TEAMS, "podSecurity: restricted", "podSecurity: baseline", AccessChanged, "Namespace"),
    (TEAMS, "{pool: spot, guaranteed: 4}", "{pool: spot, guaranteed: 2}", QuotaCut, "ResourceQuota"),
    // Workloads.
    (SERVICE, "embeddings:2.1.0", "embeddings:2.2.0", WorkloadRestarted, "Deployment"),
    (SERVICE, "reindex:2.1.0", "reindex:2.2.0", Nothing, "CronJob"),
    (SERVICE, "{port: 80, containerPort: 8080}", "{port: 81, containerPort: 8080}", AccessChanged, "Service"),
    (SERVICE, "  - name: reindex\n    team: search\n", "  - name: index\n    team: search\n", WorkloadRestarted, "CronJob search-batch/reindex"),
    (TRAINING, "finetune:1.4.0", "finetune:1.5.0", WorkloadRestarted, "TrainJob"),
    (WORKLOADS, "vectors:1.0.0", "vectors:1.1.0", WorkloadRestarted, "StatefulSet"),
    (WORKLOADS, "sizeGiB: 10, class: disks", "sizeGiB: 20, class: disks", WorkloadRestarted, "volumeClaimTemplates"),
    (WORKLOADS, "vllm:1.0.0", "vllm:1.1.0", WorkloadRestarted, "LeaderWorkerSet"),
    (WORKLOADS, "replicas: 3\n", "replicas: 2\n", WorkloadRestarted, "spec.replicas"),
    (WORKLOADS, "sizeGiB: 100, class: files", "sizeGiB: 200, class: files", Nothing, "PersistentVolumeClaim"),
    (WORKLOADS, "branch: main", "branch: prod", Nothing, "GitRepository"),
    (WORKLOADS, "  - {name: no-gpu, job: {image: \"registry.example.com/model:1.0.0\", cpu: 2}}\n", "", WorkloadRestarted, "Job"),
    (WORKLOADS, "workloads:\n", "workloads:\n  - {name: one-more, job: {image: \"registry.example.com/model:1.0.0\", cpu: 2}}\n", Added, "Job"),
];

/// Impacts of an edit other than the worst.
#[rustfmt::skip] // One edit a line.
const SIDE_EFFECTS: &[EditRow] = &[
    (QUEUES, "nodes: {count: 6}", "nodes: {count: 5}", QuotaCut, "Cohort teams: spec.resourceGroups[nvidia.com/gpu.shared]"),
    (QUEUES, "limit: 16, lend: 4", "limit: 20, lend: 4", QuotaRaised, "borrowingLimit"),
    (TEAMS, "user: ada@acme.dev, role: admin", "user: ada@acme.dev, role: view", AccessChanged, "RoleBinding research/team-admin: "),
    (TEAMS, "    network: isolated\n", "", Nothing, "EKS network plugin vpc-cni: "),
    (RACK, "  dashboards: true\n", "", Nothing, "ConfigMap gpuc-monitoring/dashboard"),
    (SMALLEST, "nodePools:\n", "monitoring: {exporter: dcgm, prometheus: {existing: {release: kps}}}\nnodePools:\n", MonitoringChanged, "metrics.gpus"),
    (EKS_EXISTING_EXAMPLE, "eks.amazonaws.com/nodegroup: gpu-a", "eks.amazonaws.com/nodegroup: gpu-x", DevicePluginRestarted, "DaemonSet"),
];

#[test]
fn side_effects_of_edits_are_reported() {
    let mut wrong = Vec::new();
    for row in SIDE_EFFECTS {
        let (file, _, to, impact, what) = row;
        let found = match diff_of_row(row) {
            Ok(found) => found,
            Err(why) => {
                wrong.push(why);
                continue;
            }
        };
        let lines = change_lines(&found);
        let start = format!("{} ", impact.as_str());
        if !lines
            .iter()
            .any(|it| it.starts_with(&start) && it.contains(what))
        {
            wrong.push(format!(
                "{to} in {file} does not cause {start}of {what}: {lines:#?}"
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A line for each change, such as `nothing pool infer: nodes`.
fn change_lines(found: &Diff) -> Vec<String> {
    let line = |change: &gpuc_diff::diff::Change| {
        let fields = change.fields.iter().map(|field| field.path.as_str());
        format!(
            "{} {} {}: {}",
            change.impact.as_str(),
            change.kind,
            change.names.join(" "),
            fields.collect::<Vec<_>>().join(", ")
        )
    };
    found.changes.iter().map(line).collect()
}

fn diff_of_row(row: &EditRow) -> Result<Diff, String> {
    let (file, from, to, ..) = row;
    let text = input(file);
    let times = text.matches(from).count();
    if times == 0 {
        return Err(format!("`{from}` does not occur once in {file}"));
    }
    let after = text.replacen(from, to, 1);
    match super::compile_versions(&text, &after) {
        Ok(_) => Ok(diff_of_texts(&text, &after)),
        Err(findings) => Err(format!("`{to}` in {file} does not compile:\n{findings}")),
    }
}

/// The differences for each row.
fn all_diffs() -> &'static [Result<Diff, String>] {
    static ALL: LazyLock<Vec<Result<Diff, String>>> =
        LazyLock::new(|| ROWS.iter().map(diff_of_row).collect());
    &ALL
}

#[test]
fn edits_have_their_impact_and_cause() {
    let mut wrong = Vec::new();
    for (row, found) in ROWS.iter().zip(all_diffs()) {
        let (file, _, to, impact, what) = row;
        let found = match found {
            Ok(found) => found,
            Err(why) => {
                wrong.push(why.clone());
                continue;
            }
        };
        let lines = change_lines(found);
        let worst = format!("{} ", impact.as_str());
        let hit = |lines: &&String| lines.starts_with(&worst) && lines.contains(what);
        if found.worst != Some(*impact) || !lines.iter().any(|lines| hit(&lines)) {
            wrong.push(format!(
                "{to} in {file} does not cause {worst}of {what}: {lines:#?}"
            ));
        }
        let without_cause = found
            .changes
            .iter()
            .filter(|change| change.causes.is_empty());
        for change in without_cause {
            wrong.push(format!(
                "{to} in {file}: no cause of {} {:?}",
                change.kind, change.names
            ));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {}:\n{}",
        wrong.len(),
        ROWS.len(),
        wrong.join("\n")
    );
}

/// Fields that have the same value in every cluster, so that no edit of a file changes them. The test changes the
/// desired value of the cloud resource, as a newer gpuc could.
const CONSTANT_FIELDS: &[(&str, &str)] = &[
    (AKS, "network"),
    (GKE_NETWORKS, "subnetworks of its own"),
    (GKE_NETWORKS, "MTU"),
    (GKE_NETWORKS, "network profile"),
    (GKE_NETWORKS, "network of the rule"),
    (GKE_NETWORKS, "description"),
    (GKE_RACK, "topology"),
];

/// The differences if the desired value of a field changes.
fn diff_with_other_value(file: &str, field: &str) -> Diff {
    let text = input(file);
    let mut sides = super::compile_versions(&text, &text).unwrap();
    let plan = sides.after.plan.as_mut().unwrap();
    let fields = plan
        .provisioning
        .resources
        .iter_mut()
        .flat_map(|it| &mut it.fields);
    for one in fields.filter(|one| one.kind.name == field) {
        one.desired = serde_json::json!("something else");
    }
    super::diff_of_versions(&sides)
}

#[test]
fn changes_without_an_edit_use_the_same_table() {
    for (file, field) in CONSTANT_FIELDS {
        let found = diff_with_other_value(file, field);
        assert_eq!(found.worst, Some(Replaced), "{field} in {file}");
    }
}

#[test]
fn immutable_fields_are_all_covered() {
    let mut seen = BTreeSet::new();
    let others: Vec<Diff> = CONSTANT_FIELDS
        .iter()
        .map(|(file, field)| diff_with_other_value(file, field))
        .collect();
    for found in all_diffs().iter().flatten().chain(&others) {
        let fields = found.changes.iter().flat_map(|change| &change.fields);
        let fields = fields.filter(|field| field.impact == Replaced);
        // The path may continue below the field.
        seen.extend(fields.map(|field| field.path.split(['.', '[']).next().unwrap().to_owned()));
    }
    let mut missed = Vec::new();
    for cloud in CLOUDS {
        for kind in cloud.resources() {
            for field in kind.fields {
                let is_fixed = matches!(field.change, Change::Replacement { .. });
                if is_fixed && !seen.contains(field.name) {
                    missed.push(format!("{}: {}", kind.name, field.name));
                }
            }
        }
    }
    assert!(missed.is_empty(), "{missed:#?}");
}
