//! Impact of changes of a node pool.

use gpuc_model::plan::{ADVERTISED_BY_DRA, PoolSummary};
use serde_json::Value as Json;

use super::super::changes::{Delta, EntityChange};
use super::super::entities::{self, Entities, Entity, EntityKey};
use super::super::impact::Impact;
use super::classification::Classification;
use super::context::DiffContext;
use super::resource::classify_field;
use super::{capacity, hosts};

pub(super) fn classify(setting: &DiffContext<'_>, name: &str, delta: &Delta) -> Classification {
    let pool = |state: &'_ Entities| {
        let mut pools = state.summary.pools.iter();
        pools.find(|pool| pool.name == name).cloned()
    };
    let (before, after) = (pool(setting.before), pool(setting.after));
    match delta.entity_change() {
        EntityChange::Added => {
            let size = after.as_ref().map(size_text).unwrap_or_default();
            hosts::classify_added_pool(setting, name, &size).unwrap_or_else(|| {
                Classification::with_reason(Impact::CapacityGained, format!("a new pool of {size}"))
            })
        }
        EntityChange::Removed => classify_removed(setting, name, before.as_ref()),
        EntityChange::Modified => classify_host(setting, delta)
            .or_else(|| classify_new_provisioner(setting, delta))
            .or_else(|| classify_auto_upgrade(setting, delta))
            .or_else(|| classify_field(setting, delta))
            .unwrap_or_else(|| classify_fact(setting, delta)),
    }
}

fn classify_removed(
    setting: &DiffContext<'_>,
    name: &str,
    pool: Option<&PoolSummary>,
) -> Classification {
    let size = pool.map(size_text).unwrap_or_default();
    let provisioner = setting.entity(&EntityKey::Pool(name.to_owned()));
    let provisioner = provisioner.and_then(|entity| entity.node_provisioner);
    let entity = setting.before.by_key.get(&EntityKey::Pool(name.to_owned()));
    // gpuc neither creates nor configures its nodes.
    if entity.is_some_and(|entity| entity.members.is_empty() && entity.node_provisioner.is_none()) {
        return Classification::with_reason(
            Impact::Nothing,
            format!("{size}: no script of gpuc changes them, and they stay as they are"),
        );
    }
    let size = match hosts::classify_removed_pool(setting, name) {
        Err(moved) => return moved,
        Ok(words) if words.is_empty() => size,
        Ok(words) => format!("{size}: {words}"),
    };
    let (stay, source) = match provisioner {
        Some(provisioner) if setting.prunes_removed => (
            format!(
                "{} drains and deletes its nodes as soon as {} has pruned its objects",
                provisioner.name, setting.before.controller
            ),
            Some(provisioner.source),
        ),
        Some(provisioner) => (
            format!(
                "{}, and {} keeps creating nodes for it until `kubectl delete {}`",
                setting.retention_reason(),
                provisioner.name,
                provisioner.kinds.first().map_or("", |(_, typed)| typed)
            ),
            Some(provisioner.source),
        ),
        None if setting.before.has_user_hosts => (
            "no script configures its hosts any more: they keep running pods until you drain them and remove gpuc's \
             labels and taints"
                .to_owned(),
            None,
        ),
        None => (
            "no script deletes running nodes: they stay in the cloud, still billed, until you drain and delete them"
                .to_owned(),
            None,
        ),
    };
    let classification = match renamed_to(setting, name) {
        Some(successor) => Classification::with_reason(
            Impact::Replaced,
            format!(
                "renamed to `{successor}`, but a pool cannot be renamed in place: `{successor}` is created; for \
                 `{name}` ({size}): {stay}"
            ),
        ),
        None => Classification::with_reason(Impact::Deleted, format!("{size}; {stay}")),
    };
    Classification {
        source,
        ..classification
    }
}

/// Verdict for a pool that gets another node provisioner.
fn classify_new_provisioner(setting: &DiffContext<'_>, delta: &Delta) -> Option<Classification> {
    let (old, new) = (
        setting.before.by_key.get(&delta.key)?,
        setting.after.by_key.get(&delta.key)?,
    );
    let path = delta.path.as_deref()?;
    if path != entities::NODE_PROVISIONER
        && !old.field_kinds.contains_key(path)
        && !new.field_kinds.contains_key(path)
    {
        return None;
    }
    match (old.node_provisioner, new.node_provisioner) {
        (None, Some(provisioner)) => Some(Classification::with_reason(
            Impact::Replaced,
            format!(
                "{} now creates its nodes when pods are pending; the nodes that the scripts created stay {} until you \
                 drain and delete them",
                provisioner.name,
                setting.retention_place()
            ),
        )),
        (Some(provisioner), None) => Some(Classification::with_source(
            Impact::Replaced,
            format!(
                "the scripts now create its nodes; the nodes that {} created are deleted {}",
                provisioner.name,
                if setting.prunes_removed {
                    "when its objects are pruned"
                } else {
                    "when you delete its objects"
                }
            ),
            provisioner.source,
        )),
        _ => None,
    }
}

/// Verdict for a host that is added to the pool or removed from it.
fn classify_host(setting: &DiffContext<'_>, delta: &Delta) -> Option<Classification> {
    let (old, new) = (
        setting.before.by_key.get(&delta.key)?,
        setting.after.by_key.get(&delta.key)?,
    );
    let path = delta.path.as_deref()?;
    let is_of = |name: &&String| {
        let rest = path.strip_prefix(name.as_str());
        rest.is_some_and(|rest| rest.starts_with(' '))
    };
    let (mut removed, mut added) = (
        old.members.difference(&new.members),
        new.members.difference(&old.members),
    );
    if let (EntityKey::Pool(pool), Some(name)) =
        (&delta.key, removed.clone().chain(added.clone()).find(is_of))
        && let Some(moved) = hosts::classify_moved_host(setting, pool, name)
    {
        return Some(moved);
    }
    if let Some(name) = removed.find(is_of) {
        return Some(Classification::with_reason(
            Impact::WorkloadRestarted,
            format!(
                "no script configures {name} any more: drain it and remove gpuc's labels and taints, or it keeps \
                 running pods"
            ),
        ));
    }
    let name = added.find(is_of)?;
    Some(Classification::with_reason(
        Impact::CapacityGained,
        format!("{name} is added"),
    ))
}

/// Verdict for nodes that upgrade automatically.
fn classify_auto_upgrade(setting: &DiffContext<'_>, delta: &Delta) -> Option<Classification> {
    let path = delta.path.as_deref()?;
    let of = |state: &'_ Entities| {
        state
            .by_key
            .get(&delta.key)?
            .auto_upgrades
            .get(path)
            .cloned()
    };
    let (old, new) = (of(setting.before)?, of(setting.after)?);
    Some(if new.rank > old.rank {
        Classification::with_source(Impact::NodesRecreated, new.upgrade_effect, new.source)
    } else {
        Classification::with_source(Impact::Nothing, new.downgrade_effect, new.source)
    })
}

/// The only new pool that equals a removed one: then the pool was renamed.
fn renamed_to(setting: &DiffContext<'_>, name: &str) -> Option<String> {
    let facts_of = |entity: &Entity| {
        let facts = [
            entities::NODES,
            entities::MACHINE,
            entities::GPUS,
            entities::SHARING,
            entities::MIG_LAYOUT,
        ];
        let value = |fact: &str| entity.fields.get(fact).map(|leaf| leaf.value.clone());
        facts.map(value)
    };
    let key = EntityKey::Pool(name.to_owned());
    let removed_facts = facts_of(setting.before.by_key.get(&key)?);
    let new = setting
        .after
        .by_key
        .iter()
        .filter_map(|(key, entity)| match key {
            EntityKey::Pool(new) if !setting.before.by_key.contains_key(key) => Some((new, entity)),
            _ => None,
        });
    let mut matching_pools = new
        .filter(|(_, entity)| facts_of(entity) == removed_facts)
        .map(|(new, _)| new.clone());
    let first = matching_pools.next()?;
    matching_pools.next().is_none().then_some(first)
}

/// Describes a pool's size: `2-8 nodes with 16-64 GPUs`.
pub(super) fn size_text(pool: &PoolSummary) -> String {
    let nodes = format_range(pool.min_nodes.into(), pool.max_nodes.into());
    let nodes = format!("{nodes} node{}", if pool.max_nodes == 1 { "" } else { "s" });
    if pool.max_gpus == 0 {
        return nodes;
    }
    let gpus = format_range(pool.min_gpus, pool.max_gpus);
    format!(
        "{nodes} with {gpus} GPU{}",
        if pool.max_gpus == 1 { "" } else { "s" }
    )
}

pub(super) fn format_range(min: u64, max: u64) -> String {
    if min == max {
        min.to_string()
    } else {
        format!("{min}-{max}")
    }
}

/// Verdict for a cloud-independent fact of a pool.
fn classify_fact(setting: &DiffContext<'_>, delta: &Delta) -> Classification {
    let path = delta.path.as_deref().unwrap_or_default();
    let entity = setting.entity(&delta.key);
    // If a script creates the nodes, the cloud's table decides about a change of the machine.
    let is_scripted = entity.is_some_and(|entity| !entity.field_kinds.is_empty());
    // Nodes that gpuc did not create, and only reads.
    let is_existing = setting.after.by_key.get(&delta.key);
    let is_existing =
        is_existing.is_some_and(|entity| entity.fields.contains_key(entities::SELECTOR));
    let mut pools = setting.after.summary.pools.iter();
    let has_gpus = pools.any(|pool| pool.name == delta.key.name() && !pool.gpus.is_empty());
    match path {
        entities::NODES => capacity::classify_node_count(setting, delta),
        entities::SELECTOR => Classification::with_reason(
            Impact::DevicePluginRestarted,
            "nodes that it no longer selects lose their device plugin and stop advertising GPUs; running pods are \
             unaffected",
        ),
        entities::TAINTS if is_existing => classify_external_taints(delta),
        entities::MACHINE | entities::GPUS if is_scripted => {
            Classification::with_reason(Impact::Nothing, "derived from the machine type")
        }
        entities::MACHINE => Classification::with_reason(
            Impact::NodesRecreated,
            "nodes that differ from the pool are drained and replaced one by one",
        ),
        entities::GPUS => Classification::with_reason(
            Impact::DevicePluginRestarted,
            "the nodes have other GPUs than configured before",
        ),
        entities::SHARING | entities::MIG_LAYOUT if involves_mig(delta) => {
            Classification::with_reason(
                Impact::MigReconfigured,
                "a GPU can only be repartitioned while nothing uses it: drain the node first",
            )
        }
        entities::SHARING if is_either_side(delta, |text| text.starts_with("MPS")) => {
            Classification::with_reason(
                Impact::WorkloadRestarted,
                "programs that compute through the MPS daemon stop with it, and programs without MPS cannot compute once \
             it starts: drain the nodes first",
            )
        }
        entities::SHARING if is_either_side(delta, |text| text == "exclusive") => {
            Classification::with_reason(
                Impact::DevicePluginRestarted,
                "running containers keep their GPUs, and the same GPUs are allocated again under the new names or \
             replicas: drain the nodes first",
            )
        }
        entities::SHARING | entities::MIG_LAYOUT => Classification::with_reason(
            Impact::DevicePluginRestarted,
            "running containers keep their GPUs; new pods are scheduled by the new resources",
        ),
        entities::DRIVER => Classification::with_reason(
            Impact::DriverRestarted,
            "a driver can only be replaced while nothing uses its GPUs: drain the node first",
        ),
        entities::PLUGIN if is_either_side(delta, |text| text == ADVERTISED_BY_DRA) => {
            Classification::with_reason(
                Impact::WorkloadRestarted,
                "the new plugin allocates GPUs that pods still hold through the old one, and pods with ResourceClaims \
             cannot terminate without the DRA driver: drain the nodes first",
            )
        }
        entities::PLUGIN => Classification::with_reason(
            Impact::DevicePluginRestarted,
            "another component advertises the GPUs; running pods keep them",
        ),
        _ if path.starts_with(entities::ADVERTISED) => Classification::with_reason(
            Impact::DevicePluginRestarted,
            "pods must request other resources",
        ),
        entities::TAINTS if has_evicting_taint(delta) => Classification::with_reason(
            Impact::WorkloadRestarted,
            "NoExecute evicts pods that do not tolerate it",
        ),
        entities::TAINTS
            if has_gpus
                && entity.is_some_and(|entity| entity.node_provisioner.is_none())
                && conflicts_with_removed_taint(delta) =>
        {
            Classification::with_reason(
                Impact::WorkloadRestarted,
                "a taint has another value, and a node cannot have both: the device plugin tolerates only one of them, \
                 so drain the nodes first",
            )
        }
        entities::TAINTS => Classification::with_reason(
            Impact::AccessChanged,
            "changes which pods the scheduler places on its nodes",
        ),
        _ => Classification::without_reason(Impact::Nothing),
    }
}

/// Whether a new taint differs from a removed one only in its value: a node cannot have both.
fn conflicts_with_removed_taint(delta: &Delta) -> bool {
    let lists = [&delta.from, &delta.to].map(|value| {
        let list = value.as_ref().and_then(Json::as_array);
        let list = list.into_iter().flatten().filter_map(Json::as_str);
        list.map(str::to_owned).collect::<Vec<String>>()
    });
    let [removed, added] = [(0, 1), (1, 0)].map(|(one, other)| {
        let alone = lists[one].iter().filter(|it| !lists[other].contains(it));
        alone
            .filter_map(|taint| {
                let (key, effect) = taint.rsplit_once(':')?;
                let key = key.split_once('=').map_or(key, |(key, _)| key);
                Some((key, effect))
            })
            .collect::<Vec<(&str, &str)>>()
    });
    removed.iter().any(|taint| added.contains(taint))
}

/// Verdict for taints that gpuc neither sets nor removes.
fn classify_external_taints(delta: &Delta) -> Classification {
    let [before, after] = [&delta.from, &delta.to].map(|value| {
        let list = value.as_ref().and_then(Json::as_array);
        list.cloned().unwrap_or_default()
    });
    if before.iter().any(|taint| !after.contains(taint)) {
        return Classification::with_reason(
            Impact::DevicePluginRestarted,
            "gpuc's components no longer tolerate it, and no script removes it from these existing nodes: nodes that \
             still have it lose their device plugin",
        );
    }
    Classification::with_reason(
        Impact::AccessChanged,
        "gpuc's components now tolerate it, but no script adds it to these existing nodes",
    )
}

/// Whether the value before or after is a text that matches.
fn is_either_side(delta: &Delta, matches: impl Fn(&str) -> bool) -> bool {
    let sides = [&delta.from, &delta.to];
    let mut texts = sides.into_iter().flatten().filter_map(Json::as_str);
    texts.any(matches)
}

/// Whether MIG devices are involved, before or after.
fn involves_mig(delta: &Delta) -> bool {
    let is_partitioned = |value: &Option<Json>| match value {
        Some(Json::String(text)) => text.starts_with("MIG"),
        Some(Json::Array(lines)) => !lines.is_empty(),
        _ => false,
    };
    is_partitioned(&delta.from) || is_partitioned(&delta.to)
}

fn has_evicting_taint(delta: &Delta) -> bool {
    let taints = |value: &Option<Json>| -> Vec<String> {
        let list = value.as_ref().and_then(Json::as_array);
        let list = list.into_iter().flatten().filter_map(Json::as_str);
        list.filter(|taint| taint.ends_with(":NoExecute"))
            .map(str::to_owned)
            .collect()
    };
    let before = taints(&delta.from);
    taints(&delta.to)
        .iter()
        .any(|taint| !before.contains(taint))
}
