//! The names of pools.

use std::collections::BTreeSet;

use crate::cloud_files::CloudPool;
use crate::context::{Context, label_source};
use crate::gpus::Hardware;
use crate::groups::{Group, GroupKey, runtime_pool};
use crate::json::source;
use crate::tree::Evidence;

/// The name of a pool: that of the cloud, if gpuc accepts it.
pub(crate) fn name(
    cx: &Context<'_>,
    group: &Group<'_>,
    described: Option<&CloudPool<'_>>,
    hardware: &Hardware,
    names: &mut BTreeSet<String>,
) -> (String, Evidence) {
    let runtime = group
        .nodes
        .iter()
        .find_map(|node| Some((*node, runtime_pool(cx, node)?)));
    let (wanted, at, reason) = match (&group.key, runtime) {
        (
            GroupKey::Label {
                key: "gpuc.dev/pool",
                ..
            },
            _,
        )
        | (_, None) => match &group.key {
            GroupKey::Label {
                key,
                value,
                machine,
            } => {
                let at = match (group.nodes.first(), described) {
                    (Some(node), _) => label_source(node, key, value),
                    (None, Some(pool)) => source(pool.object(), "name", pool.name),
                    (None, None) => format!("{key} = {value}"),
                };
                match machine {
                    Some(machine) => (
                        format!("{value}-{machine}"),
                        at,
                        Some("the nodes of this pool have different GPUs"),
                    ),
                    None => (value.clone(), at, None),
                }
            }
            GroupKey::Runtime(pool) => (pool.clone(), "Pods of gpuc-runtime".to_owned(), None),
            GroupKey::Alike(_) => {
                let at = source("Nodes", "metadata.name", list_nodes(group));
                (
                    name_by_hardware(hardware),
                    at,
                    Some("no label names the pool; its nodes are alike"),
                )
            }
        },
        (_, Some((node, pool))) => {
            let at = format!(
                "Pod of gpuc-runtime on Node {}#metadata.labels[gpuc.dev/pool] = {pool}",
                node.metadata.name
            );
            (pool.to_owned(), at, None)
        }
    };
    let rule = &cx.cloud.facts().pool_name;
    let is_valid = |name: &str| name.len() <= rule.max && (rule.is_valid)(name);
    let mut name = wanted.clone();
    if !is_valid(&name) {
        name = valid_name(&wanted, rule.max, &is_valid);
    }
    let base = name.clone();
    let mut number = 2;
    while !names.insert(name.clone()) {
        let suffix = format!("{number}");
        let short: String = base
            .chars()
            .take(rule.max.saturating_sub(suffix.len()))
            .collect();
        name = format!("{short}{suffix}");
        number += 1;
    }
    let evidence = match reason {
        Some(reason) => Evidence::guess(at, reason),
        None if name == wanted => Evidence::sure(at),
        None => Evidence::guess(at, format!("gpuc does not accept the name `{wanted}`")),
    };
    (name, evidence)
}

/// The names of the first nodes.
pub(crate) fn list_nodes(group: &Group<'_>) -> String {
    let names = group
        .nodes
        .iter()
        .take(4)
        .map(|node| node.metadata.name.as_str());
    let names: Vec<_> = names.collect();
    let rest = if group.nodes.len() > names.len() {
        ", …"
    } else {
        ""
    };
    format!("{}{rest}", names.join(", "))
}

fn name_by_hardware(hardware: &Hardware) -> String {
    match (&hardware.model, hardware.has_gpus) {
        (Some((model, _)), _) => model.key.split('-').next().unwrap_or("gpu").to_owned(),
        (None, true) => "gpu".to_owned(),
        (None, false) => "cpu".to_owned(),
    }
}

/// A name that the cloud accepts, made of the letters and digits of another.
fn valid_name(wanted: &str, max: usize, is_valid: &dyn Fn(&str) -> bool) -> String {
    let lower = wanted.to_ascii_lowercase();
    let dashed: String = lower
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .collect();
    let bare: String = lower.chars().filter(char::is_ascii_alphanumeric).collect();
    let candidates = [
        dashed.clone(),
        format!("p{dashed}"),
        bare.clone(),
        format!("p{bare}"),
    ];
    let short = candidates.iter().map(|name| {
        let short: String = name.chars().take(max).collect();
        short.trim_matches('-').to_owned()
    });
    short
        .into_iter()
        .find(|name| is_valid(name))
        .unwrap_or_else(|| "pool".to_owned())
}
