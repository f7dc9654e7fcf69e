//! What becomes of a pool.

use serde_json::Value as Json;

use super::super::deltas::{Delta, Fate};
use super::super::impact::Impact;
use super::super::parts::{self, Key};
use super::{Setting, Verdict, capacity, field, hosts};
use crate::plan::{ADVERTISED_BY_DRA, PoolSummary};

pub(super) fn judge(setting: &Setting<'_>, name: &str, delta: &Delta) -> Verdict {
    let pool = |parts: &'_ super::Parts| {
        let mut pools = parts.summary.pools.iter();
        pools.find(|pool| pool.name == name).cloned()
    };
    let (before, after) = (pool(setting.before), pool(setting.after));
    match delta.fate() {
        Fate::Came => {
            let held = after.as_ref().map(holds).unwrap_or_default();
            hosts::came(setting, name, &held).unwrap_or_else(|| {
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
    // Neither a script nor anything in the cluster makes or visits its nodes.
    if part.is_some_and(|part| part.members.is_empty() && part.maker.is_none()) {
        return Verdict::because(
            Impact::Nothing,
            format!("{held} that gpuc never made: they stay as they are"),
        );
    }
    let held = match hosts::left(setting, name) {
        Err(moved) => return moved,
        Ok(words) if words.is_empty() => held,
        Ok(words) => format!("{held}: {words}"),
    };
    let (stay, source) = match maker {
        Some(maker) if setting.prunes => (
            format!(
                "{} drains its nodes and deletes them as soon as {} has removed its objects",
                maker.name, setting.before.tool
            ),
            Some(maker.source),
        ),
        Some(maker) => (
            format!(
                "{}, and {} goes on making nodes for it, until `kubectl delete {}`",
                setting.nobody(),
                maker.name,
                maker.kinds.first().map_or("", |(_, typed)| typed)
            ),
            Some(maker.source),
        ),
        None if setting.before.own_hosts => (
            "no script visits its hosts any more: they go on serving until you drain them and take gpuc's labels and \
             taints off"
                .to_owned(),
            None,
        ),
        None => (
            "no script deletes nodes that run: they stay in the cloud, and on the bill, until you drain and delete them"
                .to_owned(),
            None,
        ),
    };
    let verdict = match successor(setting, name) {
        Some(successor) => Verdict::because(
            Impact::Replaced,
            format!(
                "it is called `{successor}` now, and a pool's name cannot be changed: `{successor}` is made anew; of \
                 `{name}` ({held}): {stay}"
            ),
        ),
        None => Verdict::because(Impact::Deleted, format!("{held}; {stay}")),
    };
    Verdict { source, ..verdict }
}

/// What becomes of a pool whose nodes something else makes from now on.
fn handed_over(setting: &Setting<'_>, delta: &Delta) -> Option<Verdict> {
    let (old, new) = (
        setting.before.all.get(&delta.key)?,
        setting.after.all.get(&delta.key)?,
    );
    let path = delta.path.as_deref()?;
    if path != parts::MAKER && !old.fields.contains_key(path) && !new.fields.contains_key(path) {
        return None;
    }
    match (old.maker, new.maker) {
        (None, Some(maker)) => Some(Verdict::because(
            Impact::Replaced,
            format!(
                "{} makes its nodes from now on, when pods wait for some; what the scripts made stays {} until you \
                 drain and delete it",
                maker.name,
                setting.stays()
            ),
        )),
        (Some(maker), None) => Some(Verdict::fact(
            Impact::Replaced,
            format!(
                "the scripts make its nodes from now on; those that {} made go {}",
                maker.name,
                if setting.prunes {
                    "when its objects leave the cluster"
                } else {
                    "when somebody deletes its objects"
                }
            ),
            maker.source,
        )),
        _ => None,
    }
}

/// What becomes of a host that is no longer listed, or is listed now.
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
    let (mut left, mut came) = (
        old.members.difference(&new.members),
        new.members.difference(&old.members),
    );
    if let (Key::Pool(pool), Some(name)) =
        (&delta.key, left.clone().chain(came.clone()).find(is_of))
        && let Some(moved) = hosts::moves(setting, pool, name)
    {
        return Some(moved);
    }
    if let Some(name) = left.find(is_of) {
        return Some(Verdict::because(
            Impact::WorkloadRestarted,
            format!(
                "no script visits {name} any more: drain it, and take gpuc's labels and taints off, or it goes on serving"
            ),
        ));
    }
    let name = came.find(is_of)?;
    Some(Verdict::because(
        Impact::CapacityGained,
        format!("{name} comes"),
    ))
}

/// What becomes of nodes that follow something by themselves.
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

/// The new pool that is like one that is gone, if there is exactly one: then it was renamed.
fn successor(setting: &Setting<'_>, name: &str) -> Option<String> {
    let like = |part: &super::Part| {
        let facts = [
            parts::NODES,
            parts::MACHINE,
            parts::CARDS,
            parts::SHARING,
            parts::LAYOUT,
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

/// What a pool has, in words: `2-8 nodes with 16-64 GPUs`.
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

/// What becomes of something that holds of a pool wherever it runs.
fn fact(setting: &Setting<'_>, delta: &Delta) -> Verdict {
    let path = delta.path.as_deref().unwrap_or_default();
    let part = setting.part(&delta.key);
    // Where a script makes the nodes, its table says what a change of the machine means.
    let is_made = part.is_some_and(|part| !part.fields.is_empty());
    // Nodes of others, of which gpuc only reads what they are.
    let is_theirs = setting.after.all.get(&delta.key);
    let is_theirs = is_theirs.is_some_and(|part| part.leaves.contains_key(parts::SELECTOR));
    let mut pools = setting.after.summary.pools.iter();
    let has_gpus = pools.any(|pool| pool.name == delta.key.name() && !pool.gpus.is_empty());
    match path {
        parts::NODES => capacity::sized(setting, delta),
        parts::SELECTOR => Verdict::because(
            Impact::PluginRestarted,
            "nodes that it no longer picks lose what serves them, and offer no GPUs any more; what runs there goes on",
        ),
        parts::TAINTS if is_theirs => taints_of_others(delta),
        parts::MACHINE | parts::CARDS if is_made => {
            Verdict::because(Impact::Nothing, "follows from the machine")
        }
        parts::MACHINE => Verdict::because(
            Impact::NodesRecreated,
            "nodes that are no longer as the pool says are drained and replaced one by one",
        ),
        parts::CARDS => Verdict::because(
            Impact::PluginRestarted,
            "nodes have other GPUs than was said",
        ),
        parts::SHARING | parts::LAYOUT if is_cut(delta) => Verdict::because(
            Impact::SlicesRecut,
            "a GPU is cut when nothing runs on it: drain the node first",
        ),
        parts::SHARING if either(delta, |text| text.starts_with("MPS")) => Verdict::because(
            Impact::WorkloadRestarted,
            "with the daemon of the Multi-Process Service end all that compute through it, and where it begins, others no \
             longer can: free the GPUs first",
        ),
        parts::SHARING if either(delta, |text| text == "exclusive") => Verdict::because(
            Impact::PluginRestarted,
            "containers that run keep what they have, and it is handed out again under the new names or shares: free the \
             GPUs first",
        ),
        parts::SHARING | parts::LAYOUT => Verdict::because(
            Impact::PluginRestarted,
            "containers that run keep what they have; new ones ask for other names or shares",
        ),
        parts::DRIVER => Verdict::because(
            Impact::DriverRestarted,
            "a driver is exchanged when nothing uses its GPUs: drain the node first",
        ),
        parts::PLUGIN if either(delta, |text| text == ADVERTISED_BY_DRA) => Verdict::because(
            Impact::WorkloadRestarted,
            "the new one hands out GPUs that pods still hold by the old one, and pods with claims cannot end without \
             theirs: free the GPUs first",
        ),
        parts::PLUGIN => Verdict::because(
            Impact::PluginRestarted,
            "somebody else advertises the GPUs; what runs keeps them",
        ),
        _ if path.starts_with(parts::OFFERS) => Verdict::because(
            Impact::PluginRestarted,
            "pods have to ask for other resources",
        ),
        parts::TAINTS if evicts(delta) => Verdict::because(
            Impact::WorkloadRestarted,
            "NoExecute evicts pods that do not tolerate it",
        ),
        parts::TAINTS
            if has_gpus && part.is_some_and(|part| part.maker.is_none()) && excludes(delta) =>
        {
            Verdict::because(
                Impact::WorkloadRestarted,
                "a taint has another value, and a node cannot have both: what serves its GPUs tolerates one of them, so \
                 free the GPUs first",
            )
        }
        parts::TAINTS => Verdict::because(
            Impact::AccessChanged,
            "which pods the scheduler lets onto its nodes",
        ),
        _ => Verdict::plain(Impact::Nothing),
    }
}

/// Whether a taint of a pool with GPUs comes that a node cannot have beside one that goes: only its value differs.
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

/// What becomes of taints that gpuc neither sets nor takes off.
fn taints_of_others(delta: &Delta) -> Verdict {
    let [before, after] = [&delta.from, &delta.to].map(|value| {
        let list = value.as_ref().and_then(Json::as_array);
        list.cloned().unwrap_or_default()
    });
    if before.iter().any(|taint| !after.contains(taint)) {
        return Verdict::because(
            Impact::PluginRestarted,
            "no script takes a taint off nodes that others make: what gpuc brings tolerates it no longer, so nodes that \
             still have it lose what serves them",
        );
    }
    Verdict::because(
        Impact::AccessChanged,
        "no script puts a taint on nodes that others make: what gpuc brings tolerates it from now on",
    )
}

/// Whether a text was or is such.
fn either(delta: &Delta, is_it: impl Fn(&str) -> bool) -> bool {
    let sides = [&delta.from, &delta.to];
    let mut texts = sides.into_iter().flatten().filter_map(Json::as_str);
    texts.any(is_it)
}

/// Whether slices are involved, before or after.
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
