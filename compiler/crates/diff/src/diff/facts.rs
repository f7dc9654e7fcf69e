//! Facts of a pool, by names that are the same on every cloud.

use serde_json::{Value as Json, json};

use gpuc_compile::charts::operator_driver_version;
use gpuc_model::plan::PoolSummary;
use gpuc_model::{Cluster, Pool};

/// The text of a file.
pub(super) const FILE_TEXT: &str = "text";

/// The number of nodes.
pub(super) const NODES: &str = "nodes";
/// The GPUs of a node.
pub(super) const GPUS: &str = "GPUs per node";
/// The sharing mode of the GPUs.
pub(super) const SHARING: &str = "sharing";
/// The MIG geometry.
pub(super) const MIG_LAYOUT: &str = "MIG devices";
/// The installer and the version of the driver.
pub(super) const DRIVER: &str = "driver";
/// The component that advertises GPUs.
pub(super) const PLUGIN: &str = "plugin";
/// Prefix of the resources that a node advertises.
pub(super) const ADVERTISED: &str = "advertised per node: ";
/// The taints with the effects NoSchedule and NoExecute.
pub(super) const TAINTS: &str = "scheduling taints";
/// The machine type.
pub(super) const MACHINE: &str = "machine";

/// The provisioner of the nodes.
pub(super) const NODE_PROVISIONER: &str = "node provisioner";
/// The labels that select existing nodes.
pub(super) const SELECTOR: &str = "node selector";

/// All facts, in order of importance to a user.
pub(super) const FACTS: &[&str] = &[
    NODE_PROVISIONER,
    NODES,
    SELECTOR,
    MACHINE,
    GPUS,
    SHARING,
    MIG_LAYOUT,
    DRIVER,
    PLUGIN,
    TAINTS,
];

pub(super) fn pool_facts(
    cluster: &Cluster,
    pool: &Pool,
    summary: &PoolSummary,
) -> Vec<(&'static str, Json)> {
    let nodes = json!({"min": summary.min_nodes, "max": summary.max_nodes});
    let mut facts = vec![
        (NODES, nodes),
        (MACHINE, json!(summary.machine)),
        (GPUS, json!(summary.gpus)),
        (SHARING, json!(summary.sharing)),
        (MIG_LAYOUT, json!(summary.layout)),
        (DRIVER, json!(driver_text(cluster, pool, summary))),
        (PLUGIN, json!(summary.plugin)),
        (TAINTS, json!(summary.taints)),
    ];
    if pool.is_existing() {
        let labels = pool.selector.iter();
        let labels = labels.map(|label| format!("{}={}", label.key, label.value));
        facts.push((SELECTOR, json!(labels.collect::<Vec<_>>())));
    } else if cluster.cloud.facts().creates_machines {
        let provisioner = cluster.cloud.node_provisioner(cluster, pool);
        let provisioner = provisioner.map_or("the scripts", |provisioner| provisioner.name);
        facts.push((NODE_PROVISIONER, json!(provisioner)));
    }
    facts
}

/// The installer and the version of the driver: writing the default version is not a change.
fn driver_text(cluster: &Cluster, pool: &Pool, summary: &PoolSummary) -> String {
    let written = pool.driver_version.as_ref().map(|it| it.value.clone());
    let cloud_version = || cluster.cloud.driver_version(pool);
    let version = written.or_else(|| operator_driver_version(pool).or_else(cloud_version));
    match version {
        _ if summary.driver.is_empty() => String::new(),
        Some(version) => format!("{}, {version}", summary.driver),
        None => summary.driver.clone(),
    }
}
