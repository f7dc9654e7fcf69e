//! What the clouds' command-line tools print about the clusters and pools of a tree.
//!
//! The formats are those of the clouds' APIs, and not what `gpuc import` reads.

mod aws;
mod azure;
mod gcp;

use gpuc_model::{Cluster, MachineType, Pool};
use gpuc_schema::config::{CloudSection, OsFamily};
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
        }
    }
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
