//! References to a pool in the input: they must name the replacement before the old pool is removed.

use gpuc_model::{Cluster, POOL_LABEL};
use gpuc_syntax::node::{Node, Value};
use gpuc_syntax::source::Span;

use super::super::fields::below;
use super::super::impact::Impact;
use super::super::report::{Change, Step};
use super::cleanup::about_pool;
use super::queues::and;
use super::replacement::ReplacementStrategy;
use super::{BUILD, Rollout, ids, pools};

/// Keys of the input whose values are names of pools.
const KEYS: &[&str] = &["pool", "pools", POOL_LABEL];

/// The list of pools itself.
const POOLS: &str = "nodePools";

impl Rollout<'_> {
    /// The locations in the input that refer to a pool, for display.
    pub(super) fn places_of(&self, name: &str) -> Vec<String> {
        let Some(after) = self.after else {
            return Vec::new();
        };
        let mut spans = Vec::new();
        collect(&after.loaded.root, "", (false, name), &mut spans);
        let place = |(path, span): &(String, Span)| {
            let (file, position) = self.sources.locate(*span)?;
            Some(format!(
                "{path} ({file}:{}:{})",
                position.line, position.column
            ))
        };
        spans.iter().filter_map(place).collect()
    }

    /// These locations, split into quotas and others.
    fn quotas_and_others(&self, name: &str) -> (Vec<String>, Vec<String>) {
        let places = self.places_of(name).into_iter();
        places.partition(|place| place.contains(".quota."))
    }

    /// Instructions about references, next to adding the replacement of a pool.
    pub(super) fn named_as_well(&self, name: &str) -> String {
        let (quotas, others) = self.quotas_and_others(name);
        let cluster = self.after.and_then(|after| after.cluster.as_ref());
        let mut words = String::new();
        if !quotas.is_empty() {
            words += &format!(
                ". Also give it quotas, next to those of {name}: {}{}",
                and(&quotas),
                if cluster.is_some_and(Cluster::has_queues) {
                    "; a team's jobs start only on pools that its quota names"
                } else {
                    ""
                }
            );
        }
        if !others.is_empty() {
            words += &format!(
                ". Leave other references to {name} unchanged until a step below: {}",
                and(&others)
            );
        }
        words
    }

    /// The steps that move references to the new pool before the old one is drained.
    pub(super) fn names_move(&self) -> Vec<Step> {
        let replaced = self.with_impact(&[Impact::Replaced]);
        let changes: Vec<&Change> = self.changes.iter().collect();
        let mut steps = Vec::new();
        for name in pools(&replaced, false) {
            if self.provisioner_change(&name).is_some()
                || self.replacement_strategy(&name) != ReplacementStrategy::SideBySide
            {
                continue;
            }
            let (quotas, others) = self.quotas_and_others(&name);
            let mut words = Vec::new();
            if !others.is_empty() {
                words.push(format!(
                    "replace {name} with the new pool in {}",
                    and(&others)
                ));
            }
            if !quotas.is_empty() {
                words.push(format!("remove the quotas of {name}: {}", and(&quotas)));
            }
            if words.is_empty() {
                continue;
            }
            steps.push(Step {
                what: format!(
                    "When the new pool is ready, in gpu-cluster.yaml {}, so that new pods start there. Then build and \
                     commit",
                    words.join(", and ")
                ),
                commands: vec![BUILD.to_owned()],
                changes: ids(&about_pool(&changes, &name)),
            });
            steps.extend(self.deploy());
        }
        steps
    }
}

/// Collects every value below a node that refers to a pool, with its location. `is_pool`: whether the key above holds
/// names of pools.
fn collect(
    node: &Node,
    path: &str,
    (is_pool, name): (bool, &str),
    found: &mut Vec<(String, Span)>,
) {
    match &node.value {
        Value::Mapping(entries) => {
            for entry in entries
                .iter()
                .filter(|entry| !path.is_empty() || entry.key != POOLS)
            {
                let is_pool = KEYS.contains(&entry.key.as_str());
                collect(
                    &entry.value,
                    &below(path, &entry.key),
                    (is_pool, name),
                    found,
                );
            }
        }
        Value::Sequence(items) => {
            for item in items {
                let of = item.get("name").or_else(|| item.get("pool"));
                let of = of.and_then(Node::text).unwrap_or_default();
                let path = if of.is_empty() {
                    path.to_owned()
                } else {
                    format!("{path}[{of}]")
                };
                collect(item, &path, (is_pool, name), found);
            }
        }
        Value::Scalar(_) if is_pool && node.text() == Some(name) => {
            found.push((path.to_owned(), node.span()));
        }
        Value::Scalar(_) => {}
    }
}
