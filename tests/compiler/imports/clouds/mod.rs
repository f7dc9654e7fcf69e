//! What the clouds' command-line tools print about the clusters and pools of a tree.
//!
//! The formats are those of the clouds' APIs, and not what `gpuc import` reads.

mod aws;
mod azure;
mod gcp;

use gpuc_model::{Cluster, MachineType, Pool};
use gpuc_schema::config::{CloudSection, OsFamily, Provider};
use serde_json::{Map, Value};

use super::super::live::healthy::Healthy;

/// The outputs for a cluster: none on premises.
pub(super) fn described(healthy: &Healthy) -> Vec<Value> {
    let compilation = &healthy.outcome.compilations[healthy.index];
    let cluster = compilation.cluster.as_ref().unwrap();
    match &cluster.config.cloud.value {
        CloudSection::Aws(section) => aws::described(healthy, cluster, section),
        CloudSection::Gcp(section) => vec![gcp::described(cluster, section)],
        CloudSection::Azure(section) => vec![azure::described(cluster, section)],
        CloudSection::OnPrem(_) | CloudSection::Existing(_) => Vec::new(),
    }
}

/// The labels, taints and other identity that the cloud adds to a node.
pub(super) fn add_node_fields(cluster: &Cluster, pool: &Pool, index: usize, node: &mut Value) {
    match &cluster.config.cloud.value {
        CloudSection::Aws(section) => aws::add_node_fields(section, pool, index, node),
        CloudSection::Gcp(section) => gcp::add_node_fields(section, pool, index, node),
        CloudSection::Azure(section) => azure::add_node_fields(cluster, section, pool, index, node),
        CloudSection::OnPrem(_) | CloudSection::Existing(_) => {
            let image = match pool.os.value {
                OsFamily::Rhel9 => "Red Hat Enterprise Linux 9.6 (Plow)",
                OsFamily::Debian12 => "Debian GNU/Linux 12 (bookworm)",
                OsFamily::Ubuntu2204 => "Ubuntu 22.04.5 LTS",
                OsFamily::Ubuntu2004 => "Ubuntu 20.04.6 LTS",
                _ => "Ubuntu 24.04.3 LTS",
            };
            node["status"]["nodeInfo"]["osImage"] = image.into();
            if !pool.settings.hosts.is_empty() {
                add_label_annotation(pool, node);
            }
            if let CloudSection::Existing(platform) = &cluster.config.cloud.value {
                add_provider_fields(platform.provider.value, pool, node);
            }
        }
    }
}

/// What the nodes of a provider show about it. CoreWeave runs NVIDIA's GPU Operator, which labels the GPUs.
///
/// Source: docs.coreweave.com/products/cks/nodes and .../clusters/scheduling/workload-scheduling (labels),
/// .../nodes/gpu-driver-management (the operator); k0sproject/k0s (the release `v1.36.0+k0s.0`), 2026-11-29.
fn add_provider_fields(provider: Provider, pool: &Pool, node: &mut Value) {
    match provider {
        Provider::Coreweave if !pool.is_existing() => {
            add_label_annotation(pool, node);
            let labels = &mut node["metadata"]["labels"];
            labels["compute.coreweave.com/node-pool"] = pool.name.as_str().into();
            labels["node.kubernetes.io/instance-type"] = machine(pool).into();
            if let Some(Some(gpus)) = pool.gpus.get() {
                labels["nvidia.com/gpu.product"] = gpus.model.products[0].into();
                labels["nvidia.com/gpu.memory"] = gpus.model.memory_mib.to_string().into();
                labels["nvidia.com/gpu.count"] = gpus.per_node.to_string().into();
            }
        }
        Provider::K0s => node["status"]["nodeInfo"]["kubeletVersion"] = "v1.36.0+k0s.0".into(),
        Provider::Rke2 => node["status"]["nodeInfo"]["kubeletVersion"] = "v1.36.2+rke2r1".into(),
        _ => {}
    }
}

/// The annotation that gpuc sets on the nodes that it prepares.
fn add_label_annotation(pool: &Pool, node: &mut Value) {
    let labels: Vec<_> = pool.labels.iter().map(|it| it.key.as_str()).collect();
    node["metadata"]["annotations"]["gpuc.dev/labels"] = labels.join(",").into();
}

/// The machine type of a pool.
fn machine(pool: &Pool) -> &str {
    match pool.machine.get() {
        Some(MachineType::Catalog(machine)) => machine.name,
        _ => pool.machine_name.as_ref().map_or("", |name| name.as_str()),
    }
}

/// Labels or tags as JSON.
fn text_map<'t>(entries: impl IntoIterator<Item = (&'t str, &'t str)>) -> Value {
    let entries = entries
        .into_iter()
        .map(|(key, value)| (key.to_owned(), Value::from(value)));
    Value::Object(entries.collect::<Map<_, _>>())
}

/// The name of a cluster in its cloud.
fn name_in_cloud(cluster: &Cluster) -> &str {
    let existing = cluster.config.cloud.value.existing_name();
    existing.map_or(cluster.name.value.as_str(), |name| name.as_str())
}

/// The version of Kubernetes, without a patch.
fn version(cluster: &Cluster) -> String {
    cluster.kubernetes.expect_resolved().value.to_string()
}
