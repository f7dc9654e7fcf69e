//! References to a pool in the input: they must name the replacement before the old pool is removed.

use gpuc_model::{Cluster, POOL_LABEL};
use gpuc_syntax::node::{Node, Value};
use gpuc_syntax::source::Span;

use super::super::fields::child_path;
use super::super::impact::Impact;
use super::super::report::Step;
use super::changed_pools::remaining_pool_names;
use super::command_names::BUILD;
use super::phases::{Phase, Planned};
use super::queues::join_with_and;
use super::replacement::ReplacementStrategy;
use super::states::Rollout;

/// Keys of the input whose values are names of pools.
const KEYS: &[&str] = &["pool", "pools", POOL_LABEL];

/// The list of pools itself.
const POOLS: &str = "nodePools";

/// The locations in the input that refer to a pool, for display.
struct References {
    quotas: Vec<String>,
    others: Vec<String>,
}

/// The steps that move references to the new pool before the old one is drained.
pub(super) fn move_references(rollout: &Rollout<'_>) -> Vec<Planned> {
    let replaced = rollout.changes_with_impact(&[Impact::Replaced]);
    let mut steps = Vec::new();
    for pool in remaining_pool_names(&replaced) {
        if rollout.provisioner_change(&pool).is_some()
            || rollout.replacement_strategy(&pool) != ReplacementStrategy::SideBySide
        {
            continue;
        }
        let References { quotas, others } = rollout.find_references(&pool);
        let mut edits = Vec::new();
        if !others.is_empty() {
            edits.push(format!(
                "replace {pool} with the new pool in {}",
                join_with_and(&others)
            ));
        }
        if !quotas.is_empty() {
            edits.push(format!(
                "remove the quotas of {pool}: {}",
                join_with_and(&quotas)
            ));
        }
        if edits.is_empty() {
            continue;
        }
        steps.push(Step {
            instruction: format!(
                "When the new pool is ready, in gpu-cluster.yaml {}, so that new pods start there. Then build and \
                 commit",
                edits.join(", and ")
            ),
            commands: vec![BUILD.to_owned()],
            changes: rollout.pool_change_ids(&pool),
        });
        steps.extend(rollout.deploy_steps());
    }
    Phase::MoveReferences.plan(steps)
}

impl Rollout<'_> {
    /// The locations in the input that refer to a pool.
    fn find_references(&self, pool: &str) -> References {
        let mut collector = ReferenceCollector {
            pool,
            found: Vec::new(),
        };
        if let Some(after) = self.after {
            collector.visit(&after.loaded.root, "", false);
        }
        let (quotas, others) = (collector.found.iter())
            .filter_map(|(path, span)| {
                let (file, position) = self.sources.locate(*span)?;
                Some(format!(
                    "{path} ({file}:{}:{})",
                    position.line, position.column
                ))
            })
            .partition(|location| location.contains(".quota."));
        References { quotas, others }
    }

    /// The instructions about references, for the step that adds the replacement of a pool.
    pub(super) fn reference_instructions(&self, pool: &str) -> String {
        let References { quotas, others } = self.find_references(pool);
        let cluster = self.after.and_then(|after| after.cluster.as_ref());
        let mut instructions = String::new();
        if !quotas.is_empty() {
            instructions += &format!(
                ". Also give it quotas, next to those of {pool}: {}{}",
                join_with_and(&quotas),
                if cluster.is_some_and(Cluster::has_queues) {
                    "; a team's jobs start only on pools that its quota names"
                } else {
                    ""
                }
            );
        }
        if !others.is_empty() {
            instructions += &format!(
                ". Leave other references to {pool} unchanged until a step below: {}",
                join_with_and(&others)
            );
        }
        instructions
    }
}

/// Collects every value that refers to a pool, with its path and span.
struct ReferenceCollector<'a> {
    pool: &'a str,
    found: Vec<(String, Span)>,
}

impl ReferenceCollector<'_> {
    /// Visits a node and everything below it. `names_pools`: whether the key above holds names of pools.
    fn visit(&mut self, node: &Node, path: &str, names_pools: bool) {
        match &node.value {
            Value::Mapping(entries) => {
                for entry in entries {
                    if path.is_empty() && entry.key == POOLS {
                        continue;
                    }
                    self.visit(
                        &entry.value,
                        &child_path(path, &entry.key),
                        KEYS.contains(&entry.key.as_str()),
                    );
                }
            }
            Value::Sequence(items) => {
                for item in items {
                    let name = (item.get("name").or_else(|| item.get("pool")))
                        .and_then(Node::text)
                        .filter(|name| !name.is_empty());
                    match name {
                        Some(name) => self.visit(item, &format!("{path}[{name}]"), names_pools),
                        None => self.visit(item, path, names_pools),
                    }
                }
            }
            Value::Scalar(_) if names_pools && node.text() == Some(self.pool) => {
                self.found.push((path.to_owned(), node.span()));
            }
            Value::Scalar(_) => {}
        }
    }
}
