//! What holds of a pool wherever it runs, by names that every cloud shares.

use serde_json::{Value as Json, json};

use crate::chart::operator_driver_version;
use crate::model::{Cluster, Pool};
use crate::plan::PoolSummary;

/// What stands in a file, whatever it means.
pub(super) const TEXT: &str = "text";

/// How many nodes a pool has.
pub(super) const NODES: &str = "nodes";
/// The cards of a node.
pub(super) const CARDS: &str = "GPUs of a node";
/// How GPUs are shared, and where slices lie.
pub(super) const SHARING: &str = "sharing";
/// Where slices lie.
pub(super) const LAYOUT: &str = "slices";
/// Who installs the driver, and which.
pub(super) const DRIVER: &str = "driver";
/// Who advertises GPUs.
pub(super) const PLUGIN: &str = "plugin";
/// The resources on a node.
pub(super) const OFFERS: &str = "on a node: ";
/// What keeps pods away.
pub(super) const TAINTS: &str = "taints that keep pods away";
/// The machine.
pub(super) const MACHINE: &str = "machine";

/// What makes its nodes, where something does.
pub(super) const MAKER: &str = "what makes its nodes";
/// The labels by which nodes of others are picked.
pub(super) const SELECTOR: &str = "labels that pick its nodes";

/// All of them, in the order that people think of them in.
pub(super) const FACTS: &[&str] = &[
    MAKER, NODES, SELECTOR, MACHINE, CARDS, SHARING, LAYOUT, DRIVER, PLUGIN, TAINTS,
];

pub(super) fn facts(
    cluster: &Cluster,
    pool: &Pool,
    summary: &PoolSummary,
) -> Vec<(&'static str, Json)> {
    let nodes = json!({"min": summary.min_nodes, "max": summary.max_nodes});
    let mut facts = vec![
        (NODES, nodes),
        (MACHINE, json!(summary.machine)),
        (CARDS, json!(summary.gpus)),
        (SHARING, json!(summary.sharing)),
        (LAYOUT, json!(summary.layout)),
        (DRIVER, json!(driver(cluster, pool, summary))),
        (PLUGIN, json!(summary.plugin)),
        (TAINTS, json!(summary.taints)),
    ];
    if pool.is_existing() {
        let labels = pool.selector.iter();
        let labels = labels.map(|label| format!("{}={}", label.key, label.value));
        facts.push((SELECTOR, json!(labels.collect::<Vec<_>>())));
    } else if cluster.cloud.facts().makes_machines {
        let maker = cluster.cloud.maker(cluster, pool);
        let maker = maker.map_or("the scripts", |maker| maker.name);
        facts.push((MAKER, json!(maker)));
    }
    facts
}

/// Who installs the driver, and which: a version that is written and is what it would be anyway is no other one.
fn driver(cluster: &Cluster, pool: &Pool, summary: &PoolSummary) -> String {
    let written = pool.driver_version.as_ref().map(|it| it.value.clone());
    let of_cloud = || cluster.cloud.driver_version(pool);
    let version = written.or_else(|| operator_driver_version(pool).or_else(of_cloud));
    match version {
        _ if summary.driver.is_empty() => String::new(),
        Some(version) => format!("{}, {version}", summary.driver),
        None => summary.driver.clone(),
    }
}
