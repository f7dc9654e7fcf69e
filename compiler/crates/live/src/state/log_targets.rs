//! The containers whose logs explain faults.

use std::collections::BTreeSet;

use super::ClusterState;
use crate::objects::Pod;

/// The number of containers whose logs are read. Those of pods that are not ready come first.
const MAX_TARGETS: usize = 200;

/// A container log to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogTarget {
    /// The pod's namespace.
    pub namespace: String,
    /// The pod's name.
    pub pod: String,
    /// The container.
    pub container: String,
    /// Whether to read the log before the last restart.
    pub is_previous: bool,
}

impl LogTarget {
    /// The path of the log in a snapshot.
    pub fn path(&self) -> String {
        let Self {
            namespace,
            pod,
            container,
            is_previous,
        } = self;
        let suffix = if *is_previous { ".previous" } else { "" };
        format!("logs/{namespace}/{pod}/{container}{suffix}.log")
    }
}

/// Parts of the names of images whose containers belong to the GPU stack, its autoscalers and its queues.
///
/// Source of the names: the values of the charts of these projects, 2026-11-28.
const STACK_IMAGES: &[&str] = &[
    "cluster-autoscaler",
    "container-toolkit",
    "dcgm-exporter",
    "dra-driver-nvidia-gpu",
    "gpu-operator",
    "gpuc-runtime",
    "k8s-device-plugin",
    "k8s-dra-driver-gpu",
    "k8s-mig-manager",
    "karpenter",
    "kueue",
    "nvidia-gpu-device-plugin",
    "nvidia/driver",
    "nvidia-driver-installer",
];

/// Whether a pod belongs to the GPU stack, its autoscalers or its queues.
fn is_of_stack(pod: &Pod) -> bool {
    let mut containers = pod.containers();
    containers.any(|container| {
        let mut parts = STACK_IMAGES.iter();
        parts.any(|part| container.image.contains(part))
    })
}

/// Whether a state contains logs of other pods than those of the GPU stack.
pub fn has_workload_logs(state: &ClusterState) -> bool {
    let logs: BTreeSet<(&str, &str)> = (state.logs.iter())
        .map(|log| (log.namespace.as_str(), log.pod.as_str()))
        .collect();
    let mut pods = state.pods.items.iter();
    pods.any(|pod| {
        let key = (pod.metadata.namespace.as_str(), pod.metadata.name.as_str());
        logs.contains(&key) && !is_of_stack(pod)
    })
}

/// The containers of the GPU stack whose logs explain faults: all of pods that are not ready or have restarted, and
/// those of other pods while there are few.
pub fn log_targets(state: &ClusterState) -> Vec<LogTarget> {
    let pods = state.pods.items.iter();
    let mut pods: Vec<&Pod> = pods.filter(|pod| is_of_stack(pod)).collect();
    let nodes_without_gpus: BTreeSet<&str> = (state.nodes.items.iter())
        .filter(|node| {
            let mut names = node.status.allocatable.iter();
            !names.any(|(name, amount)| {
                name.starts_with("nvidia.com/") && amount.units().is_some_and(|units| units > 0)
            })
        })
        .map(|node| node.metadata.name.as_str())
        .collect();
    let is_conspicuous = |pod: &Pod| {
        !pod.is_ready()
            || pod.container_statuses().any(|it| it.restart_count > 0)
            || nodes_without_gpus.contains(pod.spec.node_name.as_str())
    };
    pods.sort_by_key(|pod| {
        (
            !is_conspicuous(pod),
            &pod.metadata.namespace,
            &pod.metadata.name,
        )
    });
    let targets = pods.into_iter().flat_map(|pod| {
        pod.container_statuses().flat_map(|status| {
            let target = |is_previous| LogTarget {
                namespace: pod.metadata.namespace.clone(),
                pod: pod.metadata.name.clone(),
                container: status.name.clone(),
                is_previous,
            };
            let previous = (status.restart_count > 0).then(|| target(true));
            std::iter::once(target(false)).chain(previous)
        })
    });
    targets.take(MAX_TARGETS).collect()
}
