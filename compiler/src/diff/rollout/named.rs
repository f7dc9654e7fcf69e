//! Lines of the input that name a pool: they move to the one that takes its place before it goes.

use super::super::impact::Impact;
use super::super::leaves::below;
use super::super::shown::{Change, Step};
use super::left::about_pool;
use super::queues::and;
use super::room::Way;
use super::{BUILD, Rollout, ids, pools};
use crate::model::{Cluster, POOL_LABEL};
use crate::node::{Node, Value};
use crate::source::Span;

/// Keys of the input whose values are names of pools.
const KEYS: &[&str] = &["pool", "pools", POOL_LABEL];

/// The list of pools itself, in which each has its name.
const POOLS: &str = "nodePools";

impl Rollout<'_> {
    /// The places of the input, for people, that name a pool.
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

    /// These places, those of quotas first.
    fn quotas_and_others(&self, name: &str) -> (Vec<String>, Vec<String>) {
        let places = self.places_of(name).into_iter();
        places.partition(|place| place.contains(".quota."))
    }

    /// What is to be written besides a pool that takes the place of another one.
    pub(super) fn named_as_well(&self, name: &str) -> String {
        let (quotas, others) = self.quotas_and_others(name);
        let cluster = self.after.and_then(|after| after.cluster.as_ref());
        let mut words = String::new();
        if !quotas.is_empty() {
            words += &format!(
                ". Give it quotas as well, beside those of {name}: {}{}",
                and(&quotas),
                if cluster.is_some_and(Cluster::has_queues) {
                    "; jobs of a team start on no pool that its quota does not name"
                } else {
                    ""
                }
            );
        }
        if !others.is_empty() {
            words += &format!(
                ". What else names {name} does so until a step below: {}",
                and(&others)
            );
        }
        words
    }

    /// What names the old pool names the new one, before the old one is emptied.
    pub(super) fn names_move(&self) -> Vec<Step> {
        let replaced = self.of(&[Impact::Replaced]);
        let changes: Vec<&Change> = self.changes.iter().collect();
        let mut steps = Vec::new();
        for name in pools(&replaced, false) {
            if self.handed(&name).is_some() || self.way(&name) != Way::Beside {
                continue;
            }
            let (quotas, others) = self.quotas_and_others(&name);
            let mut words = Vec::new();
            if !others.is_empty() {
                words.push(format!(
                    "write the new pool in place of {name} in {}",
                    and(&others)
                ));
            }
            if !quotas.is_empty() {
                words.push(format!("take the quotas of {name} out: {}", and(&quotas)));
            }
            if words.is_empty() {
                continue;
            }
            steps.push(Step {
                what: format!(
                    "When the new pool serves, in gpu-cluster.yaml {}, so that what starts from now on goes there. Then \
                     build and commit",
                    words.join(", and ")
                ),
                commands: vec![BUILD.to_owned()],
                changes: ids(&about_pool(&changes, &name)),
            });
            steps.extend(self.brought());
        }
        steps
    }
}

/// Every value below a node that is a pool's name, with where it stands. `is_pool` says that a key above means pools.
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
