//! Impact of changes of a node pool.

use gpuc_model::plan::{ADVERTISED_BY_DRA, PoolSummary};
use serde_json::Value as Json;

use super::super::changes::{Delta, Fate};
use super::super::entities::{self, Key};
use super::super::impact::Impact;
use super::{Setting, Verdict, capacity, field, hosts};

pub(super) fn judge(setting: &Setting<'_>, name: &str, delta: &Delta) -> Verdict {
    let pool = |parts: &'_ super::Parts| {
        let mut pools = parts.summary.pools.iter();
        pools.find(|pool| pool.name == name).cloned()
    };
    let (before, after) = (pool(setting.before), pool(setting.after));
    match delta.fate() {
        Fate::Came => {
            let held = after.as_ref().map(holds).unwrap_or_default();
            hosts::added_pool(setting, name, &held).unwrap_or_else(|| {
                Verdict::because(Impact::CapacityGained, format!("a new pool of {held}"))
            })
        }
        Fate::Went => gone(setting, name, before.as_ref()),
        Fate::Stayed => host(setting, delta)
            .or_else(|| handed_over(setting, delta))
            .or_else(|| followed(setting, delta))
            .or_else(|| field(setting, delta))
            .unwrap_or_else(|| fact(setting, delta)),
    }
}

fn gone(setting: &Setting<'_>, name: &str, pool: Option<&PoolSummary>) -> Verdict {
    let held = pool.map(holds).unwrap_or_default();
    let maker = setting.part(&Key::Pool(name.to_owned()));
    let maker = maker.and_then(|part| part.maker);
    let part = setting.before.all.get(&Key::Pool(name.to_owned()));
    // gpuc neither creates nor configures its nodes.
    if part.is_some_and(|part| part.members.is_empty() && part.maker.is_none()) {
        return Verdict::because(
            Impact::Nothing,
            format!("{held} that gpuc did not create: they stay as they are"),
        );
    }
    let held = match hosts::removed_pool(setting, name) {
        Err(moved) => return moved,
        Ok(words) if words.is_empty() => held,
        Ok(words) => format!("{held}: {words}"),
    };
    let (stay, source) = match maker {
        Some(maker) if setting.prunes => (
            format!(
                "{} drains and deletes its nodes as soon as {} has pruned its objects",
                maker.name, setting.before.tool
            ),
            Some(maker.source),
        ),
        Some(maker) => (
            format!(
                "{}, and {} keeps creating nodes for it until `kubectl delete {}`",
                setting.retention_reason(),
                maker.name,
                maker.kinds.first().map_or("", |(_, typed)| typed)
            ),
            Some(maker.source),
        ),
        None if setting.before.own_hosts => (
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
    let verdict = match successor(setting, name) {
        Some(successor) => Verdict::because(
            Impact::Replaced,
            format!(
                "renamed to `{successor}`, but a pool cannot be renamed in place: `{successor}` is created; for \
                 `{name}` ({held}): {stay}"
            ),
        ),
        None => Verdict::because(Impact::Deleted, format!("{held}; {stay}")),
    };
    Verdict { source, ..verdict }
}

/// Verdict for a pool that gets another node provisioner.
fn handed_over(setting: &Setting<'_>, delta: &Delta) -> Option<Verdict> {
    let (old, new) = (
        setting.before.all.get(&delta.key)?,
        setting.after.all.get(&delta.key)?,
    );
    let path = delta.path.as_deref()?;
    if path != entities::MAKER && !old.fields.contains_key(path) && !new.fields.contains_key(path) {
        return None;
    }
    match (old.maker, new.maker) {
        (None, Some(maker)) => Some(Verdict::because(
            Impact::Replaced,
            format!(
                "{} now creates its nodes when pods are pending; the nodes that the scripts created stay {} until you \
                 drain and delete them",
                maker.name,
                setting.retention_place()
            ),
        )),
        (Some(maker), None) => Some(Verdict::fact(
            Impact::Replaced,
            format!(
                "the scripts now create its nodes; the nodes that {} created are deleted {}",
                maker.name,
                if setting.prunes {
                    "when its objects are pruned"
                } else {
                    "when you delete its objects"
                }
            ),
            maker.source,
        )),
        _ => None,
    }
}

/// Verdict for a host that is added to the pool or removed from it.
fn host(setting: &Setting<'_>, delta: &Delta) -> Option<Verdict> {
    let (old, new) = (
        setting.before.all.get(&delta.key)?,
        setting.after.all.get(&delta.key)?,
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
    if let (Key::Pool(pool), Some(name)) =
        (&delta.key, removed.clone().chain(added.clone()).find(is_of))
        && let Some(moved) = hosts::moves(setting, pool, name)
    {
        return Some(moved);
    }
    if let Some(name) = removed.find(is_of) {
        return Some(Verdict::because(
            Impact::WorkloadRestarted,
            format!(
                "no script configures {name} any more: drain it and remove gpuc's labels and taints, or it keeps \
                 running pods"
            ),
        ));
    }
    let name = added.find(is_of)?;
    Some(Verdict::because(
        Impact::CapacityGained,
        format!("{name} is added"),
    ))
}

/// Verdict for nodes that upgrade automatically.
fn followed(setting: &Setting<'_>, delta: &Delta) -> Option<Verdict> {
    let path = delta.path.as_deref()?;
    let of = |parts: &'_ super::Parts| parts.all.get(&delta.key)?.followed.get(path).cloned();
    let (old, new) = (of(setting.before)?, of(setting.after)?);
    Some(if new.rank > old.rank {
        Verdict::fact(Impact::NodesRecreated, new.up, new.source)
    } else {
        Verdict::fact(Impact::Nothing, new.down, new.source)
    })
}

/// The only new pool that equals a removed one: then the pool was renamed.
fn successor(setting: &Setting<'_>, name: &str) -> Option<String> {
    let like = |part: &super::Part| {
        let facts = [
            entities::NODES,
            entities::MACHINE,
            entities::CARDS,
            entities::SHARING,
            entities::LAYOUT,
        ];
        let value = |fact: &str| part.leaves.get(fact).map(|leaf| leaf.value.clone());
        facts.map(value)
    };
    let key = Key::Pool(name.to_owned());
    let gone = like(setting.before.all.get(&key)?);
    let new = setting
        .after
        .all
        .iter()
        .filter_map(|(key, part)| match key {
            Key::Pool(new) if !setting.before.all.contains_key(key) => Some((new, part)),
            _ => None,
        });
    let mut alike = new
        .filter(|(_, part)| like(part) == gone)
        .map(|(new, _)| new.clone());
    let first = alike.next()?;
    alike.next().is_none().then_some(first)
}

/// Describes a pool's size: `2-8 nodes with 16-64 GPUs`.
pub(super) fn holds(pool: &PoolSummary) -> String {
    let nodes = range(pool.min_nodes.into(), pool.max_nodes.into());
    let nodes = format!("{nodes} node{}", if pool.max_nodes == 1 { "" } else { "s" });
    if pool.max_gpus == 0 {
        return nodes;
    }
    let gpus = range(pool.min_gpus, pool.max_gpus);
    format!(
        "{nodes} with {gpus} GPU{}",
        if pool.max_gpus == 1 { "" } else { "s" }
    )
}

pub(super) fn range(min: u64, max: u64) -> String {
    if min == max {
        min.to_string()
    } else {
        format!("{min}-{max}")
    }
}

/// Verdict for a cloud-independent fact of a pool.
fn fact(setting: &Setting<'_>, delta: &Delta) -> Verdict {
    let path = delta.path.as_deref().unwrap_or_default();
    let part = setting.part(&delta.key);
    // If a script creates the nodes, the cloud's table decides about a change of the machine.
    let is_made = part.is_some_and(|part| !part.fields.is_empty());
    // Nodes that gpuc did not create, and only reads.
    let is_theirs = setting.after.all.get(&delta.key);
    let is_theirs = is_theirs.is_some_and(|part| part.leaves.contains_key(entities::SELECTOR));
    let mut pools = setting.after.summary.pools.iter();
    let has_gpus = pools.any(|pool| pool.name == delta.key.name() && !pool.gpus.is_empty());
    match path {
        entities::NODES => capacity::sized(setting, delta),
        entities::SELECTOR => Verdict::because(
            Impact::PluginRestarted,
            "nodes that it no longer selects lose their device plugin and stop advertising GPUs; running pods are \
             unaffected",
        ),
        entities::TAINTS if is_theirs => taints_of_others(delta),
        entities::MACHINE | entities::CARDS if is_made => {
            Verdict::because(Impact::Nothing, "derived from the machine type")
        }
        entities::MACHINE => Verdict::because(
            Impact::NodesRecreated,
            "nodes that differ from the pool are drained and replaced one by one",
        ),
        entities::CARDS => Verdict::because(
            Impact::PluginRestarted,
            "the nodes have other GPUs than configured before",
        ),
        entities::SHARING | entities::LAYOUT if is_cut(delta) => Verdict::because(
            Impact::SlicesRecut,
            "a GPU can only be repartitioned while nothing uses it: drain the node first",
        ),
        entities::SHARING if either(delta, |text| text.starts_with("MPS")) => Verdict::because(
            Impact::WorkloadRestarted,
            "programs that compute through the MPS daemon stop with it, and programs without MPS cannot compute once \
             it starts: drain the nodes first",
        ),
        entities::SHARING if either(delta, |text| text == "exclusive") => Verdict::because(
            Impact::PluginRestarted,
            "running containers keep their GPUs, and the same GPUs are allocated again under the new names or \
             replicas: drain the nodes first",
        ),
        entities::SHARING | entities::LAYOUT => Verdict::because(
            Impact::PluginRestarted,
            "running containers keep their GPUs; new ones request other names or replicas",
        ),
        entities::DRIVER => Verdict::because(
            Impact::DriverRestarted,
            "a driver can only be replaced while nothing uses its GPUs: drain the node first",
        ),
        entities::PLUGIN if either(delta, |text| text == ADVERTISED_BY_DRA) => Verdict::because(
            Impact::WorkloadRestarted,
            "the new plugin allocates GPUs that pods still hold through the old one, and pods with ResourceClaims \
             cannot terminate without the DRA driver: drain the nodes first",
        ),
        entities::PLUGIN => Verdict::because(
            Impact::PluginRestarted,
            "another component advertises the GPUs; running pods keep them",
        ),
        _ if path.starts_with(entities::OFFERS) => {
            Verdict::because(Impact::PluginRestarted, "pods must request other resources")
        }
        entities::TAINTS if evicts(delta) => Verdict::because(
            Impact::WorkloadRestarted,
            "NoExecute evicts pods that do not tolerate it",
        ),
        entities::TAINTS
            if has_gpus && part.is_some_and(|part| part.maker.is_none()) && excludes(delta) =>
        {
            Verdict::because(
                Impact::WorkloadRestarted,
                "a taint has another value, and a node cannot have both: the device plugin tolerates only one of them, \
                 so drain the nodes first",
            )
        }
        entities::TAINTS => Verdict::because(
            Impact::AccessChanged,
            "changes which pods the scheduler places on its nodes",
        ),
        _ => Verdict::plain(Impact::Nothing),
    }
}

/// Whether a new taint differs from a removed one only in its value: a node cannot have both.
fn excludes(delta: &Delta) -> bool {
    let lists = [&delta.from, &delta.to].map(|value| {
        let list = value.as_ref().and_then(Json::as_array);
        let list = list.into_iter().flatten().filter_map(Json::as_str);
        list.map(str::to_owned).collect::<Vec<String>>()
    });
    let [gone, came] = [(0, 1), (1, 0)].map(|(one, other)| {
        let alone = lists[one].iter().filter(|it| !lists[other].contains(it));
        alone
            .filter_map(|taint| {
                let (key, effect) = taint.rsplit_once(':')?;
                let key = key.split_once('=').map_or(key, |(key, _)| key);
                Some((key, effect))
            })
            .collect::<Vec<(&str, &str)>>()
    });
    gone.iter().any(|taint| came.contains(taint))
}

/// Verdict for taints that gpuc neither sets nor removes.
fn taints_of_others(delta: &Delta) -> Verdict {
    let [before, after] = [&delta.from, &delta.to].map(|value| {
        let list = value.as_ref().and_then(Json::as_array);
        list.cloned().unwrap_or_default()
    });
    if before.iter().any(|taint| !after.contains(taint)) {
        return Verdict::because(
            Impact::PluginRestarted,
            "gpuc's components no longer tolerate it, and no script removes it from these existing nodes: nodes that \
             still have it lose their device plugin",
        );
    }
    Verdict::because(
        Impact::AccessChanged,
        "gpuc's components now tolerate it, but no script adds it to these existing nodes",
    )
}

/// Whether the value before or after is a text that matches.
fn either(delta: &Delta, matches: impl Fn(&str) -> bool) -> bool {
    let sides = [&delta.from, &delta.to];
    let mut texts = sides.into_iter().flatten().filter_map(Json::as_str);
    texts.any(matches)
}

/// Whether MIG devices are involved, before or after.
fn is_cut(delta: &Delta) -> bool {
    let cut = |value: &Option<Json>| match value {
        Some(Json::String(text)) => text.starts_with("MIG"),
        Some(Json::Array(lines)) => !lines.is_empty(),
        _ => false,
    };
    cut(&delta.from) || cut(&delta.to)
}

fn evicts(delta: &Delta) -> bool {
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
