//! What all parts of the import read.

use std::collections::BTreeMap;

use gpuc_live::objects::{Node, Pod};
use gpuc_live::state::{ClusterState, Kind};
use gpuc_model::Registry;
use gpuc_model::cloud::Cloud;
use gpuc_schema::Spanned;
use gpuc_schema::config::{CloudSection, ExistingPlatform, Provider};

use crate::cloud_files::CloudData;
use crate::json::{source, text_entries};
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
    /// The selectors of pools in objects that gpuc built for each of them.
    declared_pools: Vec<DeclaredPool<'s>>,
}

/// The selector of a pool in an object that gpuc built for the pool, and that has its name.
pub(crate) struct DeclaredPool<'s> {
    /// The name of the pool.
    pub(crate) name: &'s str,
    /// The labels that select its nodes.
    pub(crate) labels: Vec<(&'s str, &'s str)>,
    /// The notation of the object.
    pub(crate) source: String,
}

fn declared_pools(state: &ClusterState) -> Vec<DeclaredPool<'_>> {
    let kinds = [
        ("NVIDIADriver", Kind::NvidiaDriver),
        ("NicNodePolicy", Kind::NicNodePolicy),
    ];
    let objects = kinds.into_iter().flat_map(|(name, kind)| {
        let objects = state.objects(kind).iter();
        objects.map(move |object| (name, object))
    });
    let own =
        objects.filter(|(_, it)| it.metadata.label("app.kubernetes.io/managed-by") == Some("gpuc"));
    let pools = own.map(|(kind, object)| {
        let labels = text_entries(&object.body, "/spec/nodeSelector");
        // Labels of Kubernetes select systems and architectures.
        let labels = labels
            .into_iter()
            .filter(|(key, _)| !key.starts_with("kubernetes.io/"));
        DeclaredPool {
            name: &object.metadata.name,
            labels: labels.collect(),
            source: source(
                format!("{kind} {}", object.metadata.name),
                "spec.nodeSelector",
                object.get("/spec/nodeSelector"),
            ),
        }
    });
    pools.filter(|pool| !pool.labels.is_empty()).collect()
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
        let (cloud, cloud_evidence) = find_cloud(state, &files, registry);
        let mut pods_by_node: BTreeMap<&str, Vec<&Pod>> = BTreeMap::new();
        for pod in state.pods.items.iter().filter(|pod| !pod.is_finished()) {
            pods_by_node
                .entry(&pod.spec.node_name)
                .or_default()
                .push(pod);
        }
        Self {
            state,
            files,
            kubeconfig,
            cloud,
            cloud_evidence,
            pods_by_node,
            declared_pools: declared_pools(state),
        }
    }

    /// The pool of a node, if an object that gpuc built selects it.
    pub(crate) fn declared_pool(&self, node: &Node) -> Option<&DeclaredPool<'s>> {
        let mut pools = self.declared_pools.iter();
        pools.find(|pool| {
            let mut labels = pool.labels.iter();
            labels.all(|(key, value)| node.metadata.label(key) == Some(value))
        })
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

/// The label of CoreWeave's nodes with the name of their NodePool.
///
/// Source: docs.coreweave.com/products/cks/nodes (the label of a node's NodePool), 2026-11-29.
pub(crate) const COREWEAVE_NODE_POOL: &str = "compute.coreweave.com/node-pool";

/// The providers of existing clusters by a part of the kubelet's version.
///
/// Source: k0sproject/k0s, the release `v1.36.0+k0s.0`; rancher/rke2 and k3s-io/k3s, the releases `v1.36.2+rke2r1` and
/// `v1.36.2+k3s1`, 2026-11-29.
const PROVIDER_VERSIONS: &[(&str, Provider)] = &[
    ("+k0s", Provider::K0s),
    ("+rke2", Provider::Rke2),
    ("+k3s", Provider::K3s),
];

/// Whether gpuc prepared the host of a node: it lists the labels that it set in an annotation.
pub(crate) fn has_labels_of_gpuc(node: &Node) -> bool {
    node.metadata.annotations.contains_key("gpuc.dev/labels")
}

/// The provider of an existing cluster, if a node shows one. A cluster with hosts that gpuc prepared is on premises.
pub(crate) fn find_provider(state: &ClusterState) -> Option<(Provider, Evidence)> {
    // On CoreWeave, the annotation is from a NodePool.
    let is_on_premises = (state.nodes.items.iter())
        .any(|it| has_labels_of_gpuc(it) && it.metadata.label(COREWEAVE_NODE_POOL).is_none());
    if is_on_premises {
        return None;
    }
    state.nodes.items.iter().find_map(|node| {
        let by_label = node.metadata.label(COREWEAVE_NODE_POOL).map(|value| {
            (
                Provider::Coreweave,
                label_source(node, COREWEAVE_NODE_POOL, value),
            )
        });
        let version = &node.status.node_info.kubelet_version;
        let by_version = PROVIDER_VERSIONS
            .iter()
            .find(|(part, _)| version.contains(part));
        let by_version = by_version.map(|(_, provider)| {
            let object = format!("Node {}", node.metadata.name);
            (
                *provider,
                source(object, "status.nodeInfo.kubeletVersion", version),
            )
        });
        by_label
            .or(by_version)
            .map(|(provider, at)| (provider, Evidence::sure(at)))
    })
}

fn find_cloud(
    state: &ClusterState,
    files: &CloudData<'_>,
    registry: &'static Registry,
) -> (&'static dyn Cloud, Evidence) {
    let (key, evidence) = find_cloud_key(state, files);
    if key == "onPrem"
        && let Some((provider, evidence)) = find_provider(state)
    {
        let section = CloudSection::Existing(ExistingPlatform {
            provider: Spanned::without_span(provider),
            context: None,
        });
        return (registry.cloud_for(&section), evidence);
    }
    let mut clouds = registry.clouds.iter().copied();
    let cloud = clouds.find(|cloud| cloud.facts().key == key);
    let cloud = cloud.unwrap_or_else(|| unreachable!("the registry has every cloud"));
    (cloud, evidence)
}

fn find_cloud_key(state: &ClusterState, files: &CloudData<'_>) -> (&'static str, Evidence) {
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
