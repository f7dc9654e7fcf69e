//! Facts that checks derive from the state of a cluster and from its gpu-cluster.yaml.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use gpuc_model::cloud::MachineName;
use gpuc_model::{Cluster, Pool, Registry};
use gpuc_schema::node_state::{GPUS_ANNOTATION, NodeGpu, NodeGpus};
use gpuc_syntax::source::Span;

use super::advertiser::{Advertiser, advertiser_of};
use super::pending::{PendingPod, pending_pods};
use super::placement::{Usage, usage};
use super::unlabeled::unlabeled_nodes;
use crate::objects::{DaemonSet, Event, Node, ObjectRef, Pod, Quantity, Timestamp};
use crate::state::{ClusterState, ContainerLog, Kind};

/// The resource of full GPUs.
pub(crate) const GPU: &str = "nvidia.com/gpu";

/// The seconds in which a device plugin that starts registers its devices.
pub(crate) const REGISTER_SECONDS: u64 = 120;

/// What checks read.
pub struct Context<'s> {
    /// The state of the cluster.
    pub state: &'s ClusterState,
    /// The cluster in gpu-cluster.yaml, if it is given.
    pub cluster: Option<&'s Cluster>,
    /// The clouds.
    pub registry: &'static Registry,
    /// The time of the state.
    pub time: Option<Timestamp>,
    /// The nodes, in the order of the state.
    pub nodes: Vec<NodeFacts<'s>>,
    /// The DaemonSets that advertise GPUs.
    pub advertisers: Vec<(&'s DaemonSet, Advertiser)>,
    events: BTreeMap<ObjectRef, Vec<&'s Event>>,
    pods_by_node: BTreeMap<&'s str, Vec<&'s Pod>>,
    logs: BTreeMap<(String, String), Vec<&'s ContainerLog>>,
    usage: Usage<'s>,
    pending: OnceLock<Vec<PendingPod<'s>>>,
    unlabeled: OnceLock<Vec<ObjectRef>>,
}

/// A node, and what is expected of it.
pub struct NodeFacts<'s> {
    /// The node.
    pub node: &'s Node,
    /// The pool of gpu-cluster.yaml whose selector matches the node.
    pub pool: Option<&'s Pool>,
    /// The name of the pool, from gpu-cluster.yaml or from the labels of clouds.
    pub pool_name: Option<&'s str>,
    /// The GPUs that the node must have.
    pub expected: Option<ExpectedGpus>,
    /// The pods that advertise the GPUs of the node.
    pub advertisers: Vec<(&'s Pod, Advertiser)>,
    /// The GPUs as gpuc-runtime reports them.
    pub reported: Option<NodeGpus>,
}

/// The GPUs that a node must have.
#[derive(Clone, Debug)]
pub struct ExpectedGpus {
    /// The number of physical GPUs.
    pub gpus: u32,
    /// The resources that the device plugin must advertise, by name; empty if that is not known, and with DRA.
    pub resources: BTreeMap<String, u32>,
    /// Whether the GPUs are allocated through DRA.
    pub is_dra: bool,
    /// Where the number is from.
    pub source: String,
    /// The place in gpu-cluster.yaml.
    pub span: Option<Span>,
}

/// The labels with which clouds and node provisioners name the pool of a node.
pub const POOL_LABELS: &[&str] = &[
    "gpuc.dev/pool",
    "eks.amazonaws.com/nodegroup",
    "cloud.google.com/gke-nodepool",
    "kubernetes.azure.com/agentpool",
    "karpenter.sh/nodepool",
    "compute.coreweave.com/node-pool",
];

/// The labels that nodes with NVIDIA GPUs have.
const GPU_LABELS: &[&str] = &[
    "nvidia.com/gpu.present",
    "feature.node.kubernetes.io/pci-10de.present",
    "feature.node.kubernetes.io/pci-0302_10de.present",
    "cloud.google.com/gke-accelerator",
    "kubernetes.azure.com/accelerator",
];

impl<'s> Context<'s> {
    /// Derives the facts.
    pub fn new(
        state: &'s ClusterState,
        cluster: Option<&'s Cluster>,
        registry: &'static Registry,
    ) -> Self {
        let mut pods_by_node: BTreeMap<&str, Vec<&Pod>> = BTreeMap::new();
        for pod in &state.pods.items {
            if !pod.spec.node_name.is_empty() {
                let pods = pods_by_node.entry(&pod.spec.node_name).or_default();
                pods.push(pod);
            }
        }
        let mut events: BTreeMap<ObjectRef, Vec<&Event>> = BTreeMap::new();
        for event in &state.events.items {
            events.entry(event.subject()).or_default().push(event);
        }
        for events in events.values_mut() {
            // The latest event is first.
            events.sort_by_key(|event| std::cmp::Reverse(event.last_seen()));
        }
        let mut logs: BTreeMap<_, Vec<&ContainerLog>> = BTreeMap::new();
        for log in &state.logs {
            let key = (log.namespace.clone(), log.pod.clone());
            logs.entry(key).or_default().push(log);
        }
        let advertisers = state.daemon_sets.items.iter().filter_map(|it| {
            let advertiser = advertiser_of(&it.metadata, &it.spec.template.spec)?;
            Some((it, advertiser))
        });
        let nodes = state.nodes.items.iter().map(|node| {
            let pods = pods_by_node.get(node.metadata.name.as_str());
            NodeFacts::new(node, cluster, registry, pods.map_or(&[], Vec::as_slice))
        });
        Self {
            state,
            cluster,
            registry,
            time: state.time(),
            nodes: nodes.collect(),
            advertisers: advertisers.collect(),
            events,
            pods_by_node,
            logs,
            usage: usage(&state.pods.items),
            pending: OnceLock::new(),
            unlabeled: OnceLock::new(),
        }
    }

    /// The amounts that the pods on each node request.
    pub fn usage(&self) -> &Usage<'s> {
        &self.usage
    }

    /// The pods with GPUs that are not scheduled.
    pub fn pending_pods(&self) -> &[PendingPod<'s>] {
        self.pending.get_or_init(|| pending_pods(self))
    }

    /// The nodes that may have GPUs although nothing says so.
    pub fn unlabeled_nodes(&self) -> &[ObjectRef] {
        self.unlabeled.get_or_init(|| unlabeled_nodes(self))
    }

    /// The events of an object, the latest first.
    pub fn events(&self, object: &ObjectRef) -> &[&'s Event] {
        self.events.get(object).map_or(&[], Vec::as_slice)
    }

    /// The latest event of an object with a reason.
    pub fn event(&self, object: &ObjectRef, reason: &str) -> Option<&'s Event> {
        let mut events = self.events(object).iter();
        events.find(|event| event.reason == reason).copied()
    }

    /// The latest event of an object with a reason, unless it is older than an hour.
    pub fn recent_event(&self, object: &ObjectRef, reason: &str) -> Option<&'s Event> {
        let event = self.event(object, reason)?;
        self.is_recent(event.last_seen()).then_some(event)
    }

    /// Whether a time is in the last hour, or not known.
    pub fn is_recent(&self, time: Option<Timestamp>) -> bool {
        self.age(time).is_none_or(|seconds| seconds < 3600)
    }

    /// The ends of the logs of a pod's containers.
    pub fn logs(&self, pod: &Pod) -> &[&'s ContainerLog] {
        let key = (pod.metadata.namespace.clone(), pod.metadata.name.clone());
        self.logs.get(&key).map_or(&[], Vec::as_slice)
    }

    /// The pods on a node.
    pub fn pods_on(&self, node: &str) -> &[&'s Pod] {
        self.pods_by_node.get(node).map_or(&[], Vec::as_slice)
    }

    /// The seconds since a time; `None` if one of the times is not known.
    pub fn age(&self, since: Option<Timestamp>) -> Option<u64> {
        Some(self.time?.seconds_since(since?))
    }

    /// The node with this name.
    pub fn node(&self, name: &str) -> Option<&NodeFacts<'s>> {
        // The nodes of the state are sorted.
        let index = self.nodes.binary_search_by(|node| node.name().cmp(name));
        index.ok().and_then(|index| self.nodes.get(index))
    }

    /// Whether a node was created in the last seconds. `false` if that is not known.
    pub fn is_new(&self, node: &NodeFacts<'_>, seconds: u64) -> bool {
        let age = self.age(node.node.metadata.creation_timestamp);
        age.is_some_and(|age| age < seconds)
    }

    /// Whether the kubelet or the device plugin of a node was started a moment ago, by an update of the DaemonSet for
    /// example. Until the plugin has registered, none of the GPUs is allocatable.
    pub fn is_plugin_new(&self, node: &NodeFacts<'_>) -> bool {
        let is_recent = |time: Option<Timestamp>| {
            let age = self.age(time);
            age.is_some_and(|seconds| seconds < REGISTER_SECONDS)
        };
        // Some device plugins are parts of the operating system.
        let ready = node.node.condition("Ready").filter(|it| it.is_true());
        if is_recent(ready.and_then(|it| it.last_transition_time)) {
            return true;
        }
        let mut pods = node.advertisers.iter();
        pods.any(|(pod, _)| {
            let ready = pod.condition("Ready").filter(|it| it.is_true());
            pod.metadata.deletion_timestamp.is_none()
                && (is_recent(pod.metadata.creation_timestamp)
                    || is_recent(ready.and_then(|it| it.last_transition_time)))
        })
    }

    /// Whether it is certain that a node has no GPUs: gpu-cluster.yaml or its machine type says so, and it offers none.
    pub fn is_without_gpus(&self, node: &NodeFacts<'_>) -> bool {
        if node.has_gpus() {
            return false;
        }
        let has_none = node.expected.as_ref().is_some_and(|it| it.gpus == 0);
        let machine = node.node.metadata.label(INSTANCE_TYPE);
        let is_cpu_machine = |name: &str| {
            let mut clouds = self.registry.clouds.iter();
            clouds.any(|cloud| matches!(cloud.machine_name(name), MachineName::Cpu(_)))
        };
        has_none || machine.is_some_and(is_cpu_machine)
    }

    /// The pools of gpu-cluster.yaml with GPUs that have no node, although their minimum is not 0. None if some nodes
    /// are not known.
    pub fn empty_pools(&self) -> impl Iterator<Item = &'s Pool> {
        let is_complete = self.state.completeness(Kind::Node).is_complete();
        let pools = self.cluster.filter(|_| is_complete).into_iter();
        let pools = pools.flat_map(Cluster::gpu_pools);
        pools.map(|(pool, _)| pool).filter(|pool| {
            let needs_nodes = pool.nodes.get().is_some_and(|range| range.min > 0);
            let is_own =
                |node: &NodeFacts<'_>| node.pool.is_some_and(|it| it.name.value == pool.name.value);
            needs_nodes && !self.nodes.iter().any(is_own)
        })
    }

    /// The nodes with GPUs.
    pub fn gpu_nodes(&self) -> impl Iterator<Item = &NodeFacts<'s>> {
        self.nodes.iter().filter(|node| node.has_gpus())
    }
}

impl<'s> NodeFacts<'s> {
    fn new(
        node: &'s Node,
        cluster: Option<&'s Cluster>,
        registry: &'static Registry,
        pods: &[&'s Pod],
    ) -> Self {
        let pool = cluster.and_then(|cluster| find_pool(cluster, node));
        let label = |key: &&str| node.metadata.label(key);
        let pool_name = match pool {
            Some(pool) => Some(pool.name.as_str()),
            None => POOL_LABELS.iter().find_map(label),
        };
        let advertisers = pods.iter().filter_map(|pod| {
            let advertiser = advertiser_of(&pod.metadata, &pod.spec)?;
            (!pod.is_finished()).then_some((*pod, advertiser))
        });
        Self {
            node,
            pool,
            pool_name,
            expected: expected_gpus(node, pool, registry),
            advertisers: advertisers.collect(),
            reported: (node.metadata.annotations.get(GPUS_ANNOTATION))
                .and_then(|text| serde_json::from_str(text).ok()),
        }
    }

    /// What gpuc-runtime reports about GPUs, as evidence: the path in the Node and the value of each GPU that matters.
    pub fn reported_gpus(
        &self,
        matters: impl Fn(&NodeGpu) -> bool,
        value: impl Fn(&NodeGpu) -> String,
    ) -> Vec<(String, String)> {
        let gpus = self.reported.iter().flat_map(|it| &it.gpus);
        let gpus = gpus.filter(|gpu| matters(gpu)).map(|gpu| {
            let path = format!(
                "metadata.annotations[\"{GPUS_ANNOTATION}\"].gpus[{}]",
                gpu.index
            );
            (path, value(gpu))
        });
        gpus.collect()
    }

    /// The name.
    pub fn name(&self) -> &'s str {
        &self.node.metadata.name
    }

    /// A reference to the node.
    pub fn object(&self) -> ObjectRef {
        ObjectRef::node(self.name())
    }

    /// Whether the node has GPUs, from what is expected of it, from its resources and from its labels.
    pub fn has_gpus(&self) -> bool {
        if let Some(expected) = &self.expected {
            return expected.gpus > 0;
        }
        let has_label = |key: &&str| {
            let value = self.node.metadata.label(key);
            // The labels of clouds name accelerators of every vendor.
            let is_of_cloud = key.ends_with("accelerator");
            value.is_some_and(|it| it.starts_with("nvidia") || (!is_of_cloud && it != "false"))
        };
        self.offered().next().is_some() || GPU_LABELS.iter().any(has_label)
    }

    /// The resources of NVIDIA with their capacity and allocatable amount.
    pub fn offered(&self) -> impl Iterator<Item = (&'s str, u64, u64)> {
        let status = &self.node.status;
        let names = status.capacity.iter();
        let names = names.filter(|(name, _)| name.starts_with("nvidia.com/"));
        names.map(|(name, capacity)| {
            let allocatable = status.allocatable.get(name);
            let units = |it: Option<&Quantity>| it.and_then(Quantity::units);
            let allocatable = units(allocatable).unwrap_or_default();
            (
                name.as_str(),
                units(Some(capacity)).unwrap_or_default(),
                allocatable,
            )
        })
    }

    /// The allocatable amount of a resource.
    pub fn allocatable(&self, resource: &str) -> u64 {
        let amount = self.node.status.allocatable.get(resource);
        amount.and_then(Quantity::units).unwrap_or_default()
    }

    /// The capacity of a resource.
    pub fn capacity(&self, resource: &str) -> u64 {
        let amount = self.node.status.capacity.get(resource);
        amount.and_then(Quantity::units).unwrap_or_default()
    }

    /// Whether the GPU Operator has stopped components on the node to replace the driver or to change MIG devices.
    ///
    /// Source: NVIDIA/k8s-driver-manager `cmd/driver-manager/main.go` (`pausedStr`); NVIDIA/mig-parted
    /// `deployments/gpu-operator/labels.go`, 2026-11-28.
    pub fn is_paused(&self) -> bool {
        let mut labels = self.node.metadata.labels.iter();
        labels.any(|(key, value)| {
            key.starts_with("nvidia.com/gpu.deploy.") && value.contains("paused-for-")
        })
    }

    /// The place of the pool in gpu-cluster.yaml.
    pub fn pool_span(&self) -> Option<Span> {
        self.pool.map(|pool| pool.name.span)
    }
}

/// The pool whose selector matches a node.
fn find_pool<'c>(cluster: &'c Cluster, node: &Node) -> Option<&'c Pool> {
    let matches = |pool: &&Pool| {
        let mut selector = pool.selector.iter();
        !pool.selector.is_empty()
            && selector.all(|it| node.metadata.label(&it.key) == Some(it.value.as_str()))
    };
    cluster.pools.iter().find(matches)
}

/// The label with the machine type.
const INSTANCE_TYPE: &str = "node.kubernetes.io/instance-type";

fn expected_gpus(
    node: &Node,
    pool: Option<&Pool>,
    registry: &'static Registry,
) -> Option<ExpectedGpus> {
    if let Some(pool) = pool {
        let gpus = pool.gpus.get()?;
        let advertised = pool.advertised.get().map_or(&[][..], Vec::as_slice);
        let resources = advertised.iter().map(|it| (it.name.clone(), it.per_node));
        return Some(ExpectedGpus {
            gpus: gpus.as_ref().map_or(0, |it| it.per_node),
            resources: resources.collect(),
            is_dra: !pool.classes.is_empty(),
            source: format!("pool `{}`", pool.name.value),
            span: gpus.as_ref().map(|it| it.count_span.unwrap_or(it.span)),
        });
    }
    let name = node.metadata.label(INSTANCE_TYPE)?;
    let mut machines = registry
        .clouds
        .iter()
        .filter_map(|cloud| cloud.machine(name));
    let machine = machines.next()?;
    Some(ExpectedGpus {
        gpus: machine.gpus.count,
        resources: BTreeMap::new(),
        is_dra: false,
        source: format!("machine type `{name}`"),
        span: None,
    })
}
