//! Node pools.

use std::collections::BTreeSet;

use gpuc_live::state::Kind;
use gpuc_schema::node_config::{NodeConfig, NodeSharing};

use crate::cloud_files::CloudPool;
use crate::configs::node_config;
use crate::context::Context;
use crate::described::{Described, Keys, keys};
use crate::gpus::{Hardware, hardware};
use crate::groups::{Group, GroupKey, groups};
use crate::json::source;
use crate::karpenter::{NODE_POOL, provisioned};
use crate::os::os;
use crate::own_pool::{node_count, node_pool_machine, own_keys};
use crate::pool_name::name;
use crate::rdma::{compute_domains, rdma};
use crate::report::Report;
use crate::selector::selector;
use crate::sharing::{SharedPool, Sharing, sharing};
use crate::stack::{PoolStack, pool_stack, split};
use crate::tree::{Entries, Item, Value};

/// A pool of the new file.
#[derive(Debug)]
pub(crate) struct Pool<'s> {
    /// The name in the file.
    pub(crate) name: String,
    /// The nodes.
    pub(crate) group: Group<'s>,
    /// Whether the nodes have GPUs.
    has_gpus: bool,
    /// Whether the cloud describes it with a minimum and a maximum number of nodes.
    has_described_range: bool,
    /// How containers share the GPUs.
    pub(crate) sharing: Option<Sharing>,
    /// The resources that the nodes advertise, with the amount on a node.
    pub(crate) resources: Vec<(String, u64)>,
    /// The labels that select the nodes, in pods and in flavors of Kueue.
    pub(crate) selector: Vec<(String, String)>,
    /// The maximum number of nodes.
    pub(crate) max_nodes: Option<u64>,
    item: Entries,
}

/// The pools of the cluster and the cluster's stack.
#[derive(Debug)]
pub(crate) struct Pools<'s> {
    /// The pools.
    pub(crate) pools: Vec<Pool<'s>>,
    /// The key `stack`.
    pub(crate) stack: Option<Item>,
}

/// Finds the pools.
pub(crate) fn pools<'s>(cx: &Context<'s>, report: &mut Report) -> Pools<'s> {
    let (mut groups, control_plane) = groups(cx);
    if let Some(node) = control_plane.first() {
        let reason = format!(
            "{} of the control plane without GPUs, or without a machine, are in no pool",
            nodes_text(control_plane.len())
        );
        report.leave_out(
            Some("nodePools"),
            format!("Node {}", node.metadata.name),
            reason,
        );
    }
    for described in &cx.files.pools {
        let is_known = groups.iter().any(|group| describes(described, group));
        if !is_known && described.cloud == cx.cloud_key() {
            let key = GroupKey::Label {
                key: described.label(),
                value: described.name.to_owned(),
                machine: None,
            };
            groups.push(Group {
                key,
                nodes: Vec::new(),
            });
        }
    }
    for pool in provisioned(cx) {
        if !groups.iter().any(|group| pool.has_group(group)) {
            let key = GroupKey::Label {
                key: NODE_POOL,
                value: pool.name().to_owned(),
                machine: None,
            };
            groups.push(Group {
                key,
                nodes: Vec::new(),
            });
        }
    }
    groups.sort_by_key(|group| (group.key.clone(), group.nodes.len()));
    let mut names = BTreeSet::new();
    let mut pools = Vec::new();
    let mut stacks = Vec::new();
    for group in groups {
        let index = pools.len();
        let (pool, stack) = pool(cx, group, &mut names, report);
        pools.push(pool);
        stacks.extend(stack.map(|stack| (index, stack)));
    }
    let (stack, mut own) = split(cx, &stacks);
    for (index, pool) in pools.iter_mut().enumerate() {
        if let Some(item) = own.remove(&index) {
            pool.item.push("stack", item);
        }
    }
    // Pools without GPUs come first, as system pools do in most files.
    pools.sort_by_key(|pool: &Pool<'_>| pool.has_gpus);
    Pools { pools, stack }
}

pub(crate) fn nodes_text(count: usize) -> String {
    match count {
        1 => "1 node".to_owned(),
        count => format!("{count} nodes"),
    }
}

fn describes(described: &CloudPool<'_>, group: &Group<'_>) -> bool {
    let (label, name) = (described.label(), described.name);
    match &group.key {
        GroupKey::Label { key, value, .. } if *key == label => value == name,
        _ => {
            let mut nodes = group.nodes.iter();
            !group.nodes.is_empty() && nodes.all(|node| node.metadata.label(label) == Some(name))
        }
    }
}

fn pool<'s>(
    cx: &Context<'s>,
    group: Group<'s>,
    names: &mut BTreeSet<String>,
    report: &mut Report,
) -> (Pool<'s>, Option<PoolStack>) {
    let mut pools = cx.files.pools.iter();
    let described = pools.find(|pool| describes(pool, &group)).copied();
    let described = described.as_ref();
    let config = node_config(cx, &group);
    let config = config.as_ref();
    // The name of a pool without labels follows from its hardware, and the report names the pool.
    let unnamed = hardware(cx, ("", &group, described), config, &mut Report::default());
    let (name, evidence) = name(cx, &group, described, &unnamed, names);
    let hardware = hardware(cx, (&name, &group, described), config, report);
    let shared = SharedPool {
        name: &name,
        group: &group,
        described,
        config,
        hardware: &hardware,
    };
    let sharing = hardware
        .has_gpus
        .then(|| sharing(cx, &shared, report))
        .flatten();
    let stack = hardware
        .has_gpus
        .then(|| pool_stack(cx, (&name, &group, described), config, report));
    let is_scaled = crate::autoscaler::runs(cx) || !cx.is_complete(Kind::Deployment);
    let keys = described.map(|pool| {
        keys(&mut Described {
            pool,
            name: &name,
            group: &group,
            is_scaled,
            cluster: cx.files.cluster().unwrap_or(&serde_json::Value::Null),
            report,
        })
    });
    let provisioned = provisioned(cx).into_iter().find(|it| it.has_group(&group));
    let provisioned = provisioned.filter(|_| described.is_none());
    let cluster = cx.files.cluster().unwrap_or(&serde_json::Value::Null);
    let keys = keys.or_else(|| Some(provisioned?.keys(cluster, report)));
    let is_created = keys.is_some();
    let mut keys = keys.unwrap_or_else(|| own_keys(cx, &name, &group, report));
    let mut item = Entries::default();
    let mut named = Item::text(&name).with(evidence);
    named.notes.extend(hardware.notes.iter().cloned());
    if sharing.is_none() {
        named.notes.extend(sharing_notes(&name, report));
    }
    if !is_created {
        report_partitions(&name, config, report);
    }
    item.push("name", named);
    let node_pool = node_pool_machine(cx, &group);
    let has_node_pool = node_pool.is_some();
    item.push_some("machine", node_pool);
    push_hardware(cx, &name, &hardware, &mut item);
    let nodes = keys.nodes.take().unwrap_or_else(|| node_count(cx, &group));
    let max_nodes = max_nodes(&nodes);
    let has_range = matches!(&nodes.value, Value::Map(entries) if entries.len() > 1);
    item.push("nodes", nodes);
    let os = os(cx, &name, &group, described, report);
    let is_shared = sharing.as_ref();
    let is_shared = is_shared.map(|(sharing, evidence)| sharing.item().with(evidence.clone()));
    let has_hosts = !keys.hosts.is_empty();
    let rdma = rdma(cx, &group);
    let has_rdma = rdma.is_some();
    keys.network.push_some("rdma", rdma);
    keys.network
        .push_some("computeDomains", compute_domains(cx, &group));
    push_keys(&mut item, keys, os, is_shared);
    report_other_resources(&name, &group, has_rdma, report);
    let selected = selector(cx, &group, &name);
    if !is_created && !has_hosts && !has_node_pool {
        item.push("existing", Item::single("selector", selected.item));
    }
    let resources = group.advertised().into_iter();
    let resources = resources.map(|(name, amount)| (name.to_owned(), amount));
    let pool = Pool {
        name,
        has_gpus: hardware.has_gpus,
        has_described_range: has_range && is_created,
        sharing: sharing.map(|(sharing, _)| sharing),
        resources: resources.collect(),
        selector: selected.labels,
        max_nodes,
        group,
        item,
    };
    (pool, stack)
}

/// Adds the keys between `nodes` and `existing`, in the order of the schema.
fn push_keys(item: &mut Entries, keys: Keys, os: Option<Item>, sharing: Option<Item>) {
    item.push_list("zones", keys.zones);
    item.push_list("subnets", keys.subnets);
    item.push_list("hosts", keys.hosts);
    item.push_some("capacity", keys.capacity);
    item.push_some("network", keys.network.into_some());
    item.push_some("os", os);
    item.push_some("diskGiB", keys.disk);
    item.push_some("localDisks", keys.local_disks);
    item.push_some("maxPods", keys.max_pods);
    item.push_some("sharing", sharing);
    item.push_some("labels", Entries(keys.labels).into_some());
    item.push_list("taints", keys.taints);
    item.push_some("dedicatedTo", keys.dedicated_to);
    item.push_some("tags", Entries(keys.tags).into_some());
    item.push_some("upgrade", keys.upgrade);
    item.push_some("autoRepair", keys.auto_repair);
}

/// Comments on a pool whose sharing is not known. Without them, it seems to have exclusive GPUs.
fn sharing_notes(name: &str, report: &Report) -> Vec<String> {
    let key = format!("nodePools[{name}].sharing");
    let unknown = report
        .left_out
        .iter()
        .filter(|it| it.key.as_ref() == Some(&key));
    unknown
        .map(|it| format!("TODO: add `sharing`: {} ({}).", it.reason, it.source))
        .collect()
}

/// Reports settings of gpuc-runtime that existing pools do not have: partitions by the cloud, and the startup taint.
fn report_partitions(name: &str, config: Option<&(NodeConfig, String)>, report: &mut Report) {
    let Some((config, at)) = config else {
        return;
    };
    if let Some(taint) = &config.startup_taint {
        let key = format!("nodePools[{name}].taints");
        let reason = "gpuc sets the startup taint only on pools that it creates";
        report.leave_out(Some(&key), source(at, "startupTaint", taint), reason);
    }
    if is_cut_by_cloud(config) {
        let key = format!("nodePools[{name}].sharing");
        let reason = "the cloud partitions the GPUs of this pool; in an existing pool, gpuc-runtime applies the same layout itself";
        report.leave_out(Some(&key), source(at, "sharing.mig.apply", false), reason);
    }
}

/// Whether the cloud partitions the GPUs when it creates a node.
fn is_cut_by_cloud(config: &NodeConfig) -> bool {
    matches!(config.sharing, NodeSharing::Mig { apply: false, .. })
}

/// A value that stands for one that is not known. `gpuc check` refuses it at its place.
const PLACEHOLDER: &str = "replace-me";

fn push_hardware(cx: &Context<'_>, name: &str, hardware: &Hardware, item: &mut Entries) {
    let needs_machine = cx.cloud.facts().creates_machines;
    let needs_gpus = hardware.has_gpus && !hardware.is_in_catalog;
    if let Some((machine, evidence)) = &hardware.machine {
        item.push("machine", Item::text(machine).with(evidence.clone()));
        let others = hardware.alternatives.iter();
        let others = others.map(|(name, evidence)| Item::text(name).with(evidence.clone()));
        item.push_list("alternativeMachines", others.collect());
        let can_attach = hardware.model.as_ref().is_some_and(|(model, _)| {
            cx.cloud
                .attach(machine, model, 1)
                .is_some_and(|it| it.is_ok())
        });
        if !needs_gpus || !can_attach {
            return;
        }
    }
    if !needs_gpus {
        if needs_machine && hardware.machine.is_none() {
            let reason = "no node has the label node.kubernetes.io/instance-type";
            let placeholder = Item::text(PLACEHOLDER);
            item.push(
                "machine",
                placeholder.guess(
                    format!("the nodes of pool {name}"),
                    format!("{reason}; replace it"),
                ),
            );
        }
        return;
    }
    let unknown = |what: &str| {
        let reason = format!("no label, ResourceSlice or configuration has {what}; replace it");
        (format!("the nodes of pool {name}"), reason)
    };
    let model = if let Some((model, evidence)) = &hardware.model {
        Item::text(model.key).with(evidence.clone())
    } else {
        let (at, reason) = unknown("the GPU model");
        Item::text(PLACEHOLDER).guess(at, reason)
    };
    let count = if let Some((count, evidence)) = &hardware.count {
        Item::number(*count).with(evidence.clone())
    } else {
        let (at, reason) = unknown("the number of GPUs");
        Item::number(1).guess(at, reason)
    };
    let mut gpu = Item::map([("model", model), ("perNode", count)]);
    if hardware.machine.is_none() && needs_machine {
        gpu = gpu.note("The machine type is not known; gpuc selects one with these GPUs.");
    }
    item.push("gpu", gpu);
}

/// The largest number of nodes in a value of the key `nodes`.
pub(crate) fn max_nodes(nodes: &Item) -> Option<u64> {
    let Value::Map(entries) = &nodes.value else {
        return None;
    };
    let found = entries
        .iter()
        .find(|(key, _)| key == "max" || key == "count");
    match &found?.1.value {
        Value::Plain(text) => text.parse().ok(),
        _ => None,
    }
}

/// Leaves out the devices that are not GPUs of NVIDIA: gpuc configures their plugins only in pools that it creates.
fn report_other_resources(name: &str, group: &Group<'_>, has_rdma: bool, report: &mut Report) {
    let Some(node) = group.nodes.first() else {
        return;
    };
    for (resource, amount) in &node.status.capacity {
        let is_zero = amount.units() == Some(0);
        if has_rdma && resource.starts_with("rdma/") {
            continue;
        }
        if !resource.contains('/') || resource.starts_with("nvidia.com/") || is_zero {
            continue;
        }
        let (key, reason) = match resource.split('/').next().unwrap_or_default() {
            "vpc.amazonaws.com" if resource.ends_with("/efa") => (
                "network.efa",
                "an existing pool has no network settings: the EFA device plugin stays with its owner",
            ),
            "rdma" => (
                "network.rdma",
                "the labels do not say whether the network is InfiniBand or RoCE",
            ),
            _ => ("", "gpuc does not configure this resource"),
        };
        let dot = if key.is_empty() { "" } else { "." };
        let key = format!("nodePools[{name}]{dot}{key}");
        let object = format!("Node {}", node.metadata.name);
        report.leave_out(
            Some(&key),
            source(object, format!("status.capacity[{resource}]"), amount),
            reason,
        );
    }
}

impl Pool<'_> {
    /// Whether the nodes have GPUs.
    pub(crate) fn has_gpus(&self) -> bool {
        self.has_gpus
    }

    /// Whether the cloud describes it with a minimum and a maximum number of nodes.
    pub(crate) fn has_described_range(&self) -> bool {
        self.has_described_range
    }

    /// The amount of a resource on each node.
    pub(crate) fn amount(&self, resource: &str) -> Option<u64> {
        let mut resources = self.resources.iter();
        resources
            .find(|(name, _)| name == resource)
            .map(|(_, amount)| *amount)
    }

    /// The amount of a resource on all nodes.
    pub(crate) fn capacity(&self, resource: &str) -> u64 {
        let amount = self.amount(resource).unwrap_or(0);
        amount.saturating_mul(self.max_nodes.unwrap_or(0))
    }

    /// Marks the pool as one whose quotas exceed its GPUs.
    pub(crate) fn set_overcommit(&mut self, item: Item) {
        let before = [
            "labels",
            "taints",
            "dedicatedTo",
            "tags",
            "upgrade",
            "autoRepair",
            "existing",
            "stack",
        ];
        let mut entries = self.item.0.iter();
        let place = entries.position(|(key, _)| before.contains(&key.as_str()));
        let place = place.unwrap_or(self.item.0.len());
        self.item.0.insert(place, ("overcommit".to_owned(), item));
    }

    /// The item of `nodePools`.
    pub(crate) fn to_item(&self) -> Item {
        Item::map(self.item.0.clone())
    }
}
