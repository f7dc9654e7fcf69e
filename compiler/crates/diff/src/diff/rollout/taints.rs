//! Changed taints: the device plugin must tolerate the taints of its nodes at any time, or it is evicted.

use std::collections::BTreeSet;

use gpuc_model::{Pool, PoolTaint, SetBy};
use gpuc_schema::config::TaintEffect;
use gpuc_syntax::shell;

use super::super::report::{Status, Step};
use super::command_names::BUILD;
use super::phases::{Phase, Planned};
use super::states::Rollout;

/// The component that sets a pool's taints on its nodes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TaintOwner {
    /// gpuc's scripts, also on existing nodes.
    Scripts,
    /// A node provisioner, on nodes that it creates.
    Provisioner,
    /// The user, because gpuc did not create the nodes.
    User,
}

/// A pool with GPUs whose taints differ.
struct TaintChange<'a> {
    pool: &'a Pool,
    owner: TaintOwner,
    removed: Vec<&'a PoolTaint>,
    added: Vec<&'a PoolTaint>,
}

impl TaintChange<'_> {
    /// Whether a node cannot have the old taints next to the new ones.
    fn replaces_value(&self) -> bool {
        let is_same = |one: &PoolTaint, other: &PoolTaint| {
            (&one.key, one.effect) == (&other.key, other.effect)
        };
        (self.removed.iter()).any(|old| self.added.iter().any(|new| is_same(old, new)))
    }
}

/// The steps that keep the old taints in the input next to the new ones.
pub(super) fn keep_old_taints(rollout: &Rollout<'_>) -> Vec<Planned> {
    let steps = rollout.staged_taint_changes().into_iter().map(|change| Step {
        instruction: format!(
            "The nodes and pods of pool {} do not change from {} to {} at the same time, and the device plugin stops \
             on nodes with taints that it does not tolerate: keep the old taints next to the new ones in \
             gpu-cluster.yaml for now, in `taints`",
            change.pool.name,
            list_taints(&change.removed),
            list_taints(&change.added),
        ),
        commands: Vec::new(),
        changes: rollout.pool_change_ids(&change.pool.name),
    });
    Phase::EditInput.plan(steps)
}

/// The steps for taints that no script removes from existing nodes.
pub(super) fn remove_taints_by_hand(rollout: &Rollout<'_>) -> Vec<Planned> {
    let changes = rollout.taint_changes();
    let steps = (changes.iter())
        .filter(|change| change.owner != TaintOwner::Scripts && !change.removed.is_empty())
        .map(|change| {
            let pool = &change.pool.name;
            let taints = list_taints(&change.removed);
            let what = match rollout.node_provisioners(pool)[0] {
                Some(provisioner) => format!(
                    "Remove {taints} from the existing nodes of pool {pool}, right before their device plugin stops \
                     tolerating it: {} omits it only on new nodes",
                    provisioner.name
                ),
                None => format!(
                    "gpuc did not create the nodes of pool {pool}, and no script removes their taints: remove {taints} \
                     from the nodes and from the configuration that creates them, before their device plugin stops \
                     tolerating it"
                ),
            };
            let arguments = (change.removed.iter())
                .map(|taint| format!("{}:{}-", taint.key, taint.effect.as_str()));
            Step {
                instruction: what,
                commands: rollout.taint_commands(change.pool, arguments),
                changes: rollout.pool_change_ids(pool),
            }
        });
    Phase::RemoveTaintsByHand.plan(steps)
}

/// The steps for taints that no script adds to nodes.
pub(super) fn add_taints_by_hand(rollout: &Rollout<'_>) -> Vec<Planned> {
    let changes = rollout.taint_changes();
    let steps = (changes.iter())
        .filter(|change| change.owner == TaintOwner::User && !change.added.is_empty())
        .map(|change| Step {
            instruction: format!(
                "gpuc did not create the nodes of pool {}, and no script adds taints to them: if they do not have {} \
                 yet, add it to the nodes and to the configuration that creates them, now that their device plugin \
                 tolerates it",
                change.pool.name,
                list_taints(&change.added)
            ),
            commands: rollout
                .taint_commands(change.pool, change.added.iter().map(|taint| full_taint(taint))),
            changes: rollout.pool_change_ids(&change.pool.name),
        });
    Phase::AddTaintsByHand.plan(steps)
}

/// The steps that remove the old taints when the nodes have the new ones.
pub(super) fn remove_old_taints(rollout: &Rollout<'_>) -> Vec<Planned> {
    let staged = rollout.staged_taint_changes();
    let taints = match staged.as_slice() {
        [] => return Vec::new(),
        [one] => list_taints(&one.removed),
        _ => "these taints".to_owned(),
    };
    let taints_of_pools: Vec<String> = (staged.iter())
        .map(|change| {
            format!(
                "{} of pool {}",
                list_taints(&change.removed),
                change.pool.name
            )
        })
        .collect();
    let changes: Vec<usize> = (staged.iter())
        .flat_map(|change| rollout.pool_change_ids(&change.pool.name))
        .collect();
    let edit = Step {
        instruction: format!(
            "Remove {} from gpu-cluster.yaml, build and commit",
            taints_of_pools.join(", and ")
        ),
        commands: vec![BUILD.to_owned()],
        changes: changes.clone(),
    };
    let remove = Step {
        instruction: format!("Remove {taints} from the nodes, while pods still tolerate it"),
        commands: vec![
            "cloud/apply.sh --dry-run".to_owned(),
            "cloud/apply.sh".to_owned(),
        ],
        changes,
    };
    let steps = ([edit, remove].into_iter())
        .chain(rollout.deploy_steps())
        .chain([Rollout::verify_step()]);
    Phase::RemoveOldTaints.plan(steps)
}

impl Rollout<'_> {
    /// The pools with GPUs whose taints differ, by name.
    fn taint_changes(&self) -> Vec<TaintChange<'_>> {
        let pools: BTreeSet<&String> = (self.changes.iter())
            .filter(|change| change.kind == "pool" && change.status == Status::Kept)
            .flat_map(|change| &change.names)
            .collect();
        (pools.into_iter())
            .filter_map(|pool| self.taint_change(pool))
            .collect()
    }

    fn taint_change(&self, pool: &str) -> Option<TaintChange<'_>> {
        let [Some(old), Some(new)] = self.both_pools(pool) else {
            return None;
        };
        let owner = match self.node_provisioners(pool) {
            [Some(_), Some(_)] => TaintOwner::Provisioner,
            [None, None] if new.is_existing() && old.is_existing() => TaintOwner::User,
            [None, None] if !new.is_existing() && !old.is_existing() => TaintOwner::Scripts,
            _ => return None,
        };
        let removed = missing_taints(&old.taints, &new.taints);
        let added = missing_taints(&new.taints, &old.taints);
        let differs = !removed.is_empty() || !added.is_empty();
        (differs && new.has_gpus()).then_some(TaintChange {
            pool: new,
            owner,
            removed,
            added,
        })
    }

    /// Pools whose old taints scripts replace by others.
    fn exchanged_taints(&self) -> Vec<TaintChange<'_>> {
        let mut changes = self.taint_changes();
        changes.retain(|change| {
            change.owner == TaintOwner::Scripts
                && !change.removed.is_empty()
                && !change.added.is_empty()
        });
        changes
    }

    /// Pools that are drained because their nodes cannot have the old taints next to the new ones.
    pub(super) fn pools_drained_for_taints(&self) -> Vec<String> {
        (self.exchanged_taints().iter())
            .filter(|change| change.replaces_value())
            .map(|change| change.pool.name.value.clone())
            .collect()
    }

    /// Pools whose old taints stay next to the new ones until the nodes have the new ones.
    fn staged_taint_changes(&self) -> Vec<TaintChange<'_>> {
        let drained = self.temporarily_drained_pools();
        let mut changes = self.exchanged_taints();
        changes.retain(|change| !drained.contains(&change.pool.name.value));
        changes
    }

    /// Whether scripts remove taints from nodes, which must happen before pods stop tolerating them.
    pub(super) fn removes_taints_by_script(&self) -> bool {
        (self.taint_changes().iter())
            .any(|change| change.owner == TaintOwner::Scripts && !change.removed.is_empty())
    }

    /// The commands that change the taints of a pool's nodes, one for each argument of `kubectl taint`.
    fn taint_commands(&self, pool: &Pool, arguments: impl Iterator<Item = String>) -> Vec<String> {
        let labels: Vec<String> = (pool.selector.iter())
            .map(|label| format!("{}={}", label.key, label.value))
            .collect();
        let nodes = shell::quote(&labels.join(","));
        arguments
            .map(|argument| {
                format!(
                    "{} taint nodes -l {nodes} {}",
                    self.kubectl(),
                    shell::quote(&argument)
                )
            })
            .collect()
    }
}

/// The scheduling taints set by gpuc that are in the first list only.
fn missing_taints<'t>(taints: &'t [PoolTaint], others: &[PoolTaint]) -> Vec<&'t PoolTaint> {
    let is_same = |one: &PoolTaint, other: &PoolTaint| {
        (&one.key, &one.value, one.effect) == (&other.key, &other.value, other.effect)
    };
    (taints.iter())
        .filter(|taint| taint.effect != TaintEffect::PreferNoSchedule)
        .filter(|taint| taint.set_by == SetBy::Gpuc)
        .filter(|taint| !others.iter().any(|other| is_same(taint, other)))
        .collect()
}

fn list_taints(taints: &[&PoolTaint]) -> String {
    let taints: Vec<String> = taints.iter().map(|taint| full_taint(taint)).collect();
    taints.join(", ")
}

/// A taint as written for kubectl: `key=value:effect`, or `key:effect`.
fn full_taint(taint: &PoolTaint) -> String {
    let effect = taint.effect.as_str();
    if taint.value.is_empty() {
        format!("{}:{effect}", taint.key)
    } else {
        format!("{}={}:{effect}", taint.key, taint.value)
    }
}
