//! What all parts of the import read.

use std::collections::BTreeMap;

use gpuc_live::objects::{Node, Pod};
use gpuc_live::state::{ClusterState, Kind};
use gpuc_model::Registry;
use gpuc_model::cloud::Cloud;

use crate::cloud_files::CloudData;
use crate::json::source;
use crate::tree::Evidence;

/// What all parts of the import read.
pub(crate) struct Context<'s> {
    /// The state of the cluster.
    pub(crate) state: &'s ClusterState,
    /// The files of the cloud.
    pub(crate) files: CloudData<'s>,
    /// The name of the context in the kubeconfig.
    pub(crate) kubeconfig: Option<&'s str>,
    /// The cloud of the cluster.
    pub(crate) cloud: &'static dyn Cloud,
    /// How the cloud is known.
    pub(crate) cloud_evidence: Evidence,
    /// The pods that are not finished, by the name of their node.
    pods_by_node: BTreeMap<&'s str, Vec<&'s Pod>>,
}

/// The clouds by the prefix of `spec.providerID`.
///
/// Source: kubernetes/cloud-provider-aws, cloud-provider-gcp and cloud-provider-azure, `ProviderName` (from memory).
const PROVIDERS: &[(&str, &str)] = &[("aws://", "aws"), ("gce://", "gcp"), ("azure://", "azure")];

/// The clouds by the prefix of node labels.
const LABELS: &[(&str, &str)] = &[
    ("eks.amazonaws.com/", "aws"),
    ("karpenter.k8s.aws/", "aws"),
    ("cloud.google.com/", "gcp"),
    ("kubernetes.azure.com/", "azure"),
];

impl<'s> Context<'s> {
    /// Finds the cloud of the cluster.
    pub(crate) fn new(
        state: &'s ClusterState,
        files: CloudData<'s>,
        kubeconfig: Option<&'s str>,
        registry: &'static Registry,
    ) -> Self {
        let (key, cloud_evidence) = find_cloud(state, &files);
        let mut pods_by_node: BTreeMap<&str, Vec<&Pod>> = BTreeMap::new();
        for pod in state.pods.items.iter().filter(|pod| !pod.is_finished()) {
            pods_by_node
                .entry(&pod.spec.node_name)
                .or_default()
                .push(pod);
        }
        let mut clouds = registry.clouds.iter().copied();
        let cloud = clouds.find(|cloud| cloud.facts().key == key);
        Self {
            state,
            files,
            kubeconfig,
            cloud: cloud.unwrap_or_else(|| unreachable!("the registry has every cloud")),
            cloud_evidence,
            pods_by_node,
        }
    }

    /// The key of the cloud in the file.
    pub(crate) fn cloud_key(&self) -> &'static str {
        self.cloud.facts().key
    }

    /// Whether all objects of a kind are known, so that absent objects do not exist.
    pub(crate) fn is_complete(&self, kind: Kind) -> bool {
        self.state.completeness(kind).is_complete()
    }

    /// The pods on a node that are not finished.
    pub(crate) fn pods_on(&self, node: &Node) -> impl Iterator<Item = &'s Pod> {
        let pods = self.pods_by_node.get(node.metadata.name.as_str());
        pods.map_or(&[][..], Vec::as_slice).iter().copied()
    }
}

fn find_cloud(state: &ClusterState, files: &CloudData<'_>) -> (&'static str, Evidence) {
    for node in &state.nodes.items {
        let id = &node.spec.provider_id;
        if let Some((_, key)) = PROVIDERS.iter().find(|(prefix, _)| id.starts_with(prefix)) {
            let object = format!("Node {}", node.metadata.name);
            return (key, Evidence::sure(source(object, "spec.providerID", id)));
        }
    }
    if let Some(key) = files.cloud() {
        return (key, Evidence::sure("the files of the cloud"));
    }
    for node in &state.nodes.items {
        for (label, value) in &node.metadata.labels {
            if let Some((_, key)) = LABELS.iter().find(|(prefix, _)| label.starts_with(prefix)) {
                return (key, Evidence::sure(label_source(node, label, value)));
            }
        }
    }
    let reason = "no node has a providerID or a label of EKS, GKE or AKS";
    ("onPrem", Evidence::guess("Nodes", reason))
}

/// The notation of a label of a node.
pub(crate) fn label_source(node: &Node, key: &str, value: &str) -> String {
    let object = format!("Node {}", node.metadata.name);
    source(object, format!("metadata.labels[{key}]"), value)
}
