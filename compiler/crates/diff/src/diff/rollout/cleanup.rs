//! Cleanup of resources that stay until the user removes them.

use gpuc_syntax::shell;

use super::super::entities::EntityKey;
use super::super::location::CLUSTER_SCRIPT;
use super::super::report::{Change, Status, Step};
use super::changed_pools::{change_ids, pool_changes, remaining_pool_names, removed_pool_names};
use super::phases::{Phase, Planned};
use super::queues::{KEPT_IN_USE, KUEUE_KEEPS};
use super::replacement::ReplacementStrategy;
use super::states::Rollout;

/// The steps that remove old pools and their nodes: first of removed pools, then of replaced ones.
pub(super) fn remove_old_pools(rollout: &Rollout<'_>) -> Vec<Planned> {
    let leaving = rollout.removal_changes();
    let (removed, replaced) = (removed_pool_names(&leaving), remaining_pool_names(&leaving));
    let steps = (removed.iter().chain(&replaced))
        .filter(|name| !rollout.is_removed_first(name))
        .flat_map(|name| {
            let changes = pool_changes(leaving.iter().copied(), name);
            if let Some(provisioner_change) = rollout.provisioner_change(name) {
                rollout.hand_over_nodes(name, &provisioner_change, &changes)
            } else if let Some(provisioner) = rollout.node_provisioners(name)[0] {
                rollout.remove_provisioned_pool(name, provisioner, &changes)
            } else {
                rollout.remove_old_nodes(name, removed.contains(name), &changes)
            }
        });
    Phase::RemovePools.plan(steps)
}

/// The steps for hosts removed from a pool that stays.
pub(super) fn remove_hosts(rollout: &Rollout<'_>) -> Vec<Planned> {
    let [before, after] = [rollout.setting.before, rollout.setting.after];
    if !before.has_user_hosts {
        return Vec::new();
    }
    let kubectl = rollout.kubectl();
    let mut steps = Vec::new();
    for (key, old) in &before.by_key {
        let (EntityKey::Pool(pool), Some(new)) = (key, after.by_key.get(key)) else {
            continue;
        };
        let removed = old.members.difference(&new.members);
        for host in removed.filter(|host| !rollout.is_moved_host(host)) {
            let node = shell::quote(host);
            let drain =
                format!("{kubectl} drain {node} --ignore-daemonsets --delete-emptydir-data");
            let script = format!("pool-{pool}");
            let remove = rollout
                .removal_commands(|resource| resource.script == script && resource.name == *host);
            steps.push(Step {
                instruction: format!(
                    "Host {host} is removed from pool {pool}: drain it, and remove gpuc's labels, taints and \
                     annotations. Then run `{kubectl} uncordon {node}` to use it for other pods, or `delete node` if \
                     it leaves the cluster"
                ),
                commands: std::iter::once(drain).chain(remove).collect(),
                changes: rollout.pool_change_ids(pool),
            });
        }
    }
    Phase::RemoveHosts.plan(steps)
}

/// The step that deletes objects and releases that nothing prunes: objects first, while their controllers still run.
pub(super) fn delete_removed_objects(rollout: &Rollout<'_>) -> Vec<Planned> {
    let mut removed: Vec<&Change> = (rollout.changes.iter())
        .filter(|change| {
            change.status == Status::Removed
                && change.kind != "pool"
                && change.kind != "file"
                && !rollout.is_removed_with_nodes(change)
        })
        .collect();
    removed.sort_by_key(|change| rollout.is_referenced(change));
    let (mut objects, mut releases) = (Vec::new(), Vec::new());
    for change in &removed {
        let kind = change.kind.as_str();
        for name in &change.names {
            if rollout.has_own_deletion_step(kind, name) {
                continue;
            }
            if kind == "Helm release" && !rollout.setting.prunes_removed {
                releases.extend(rollout.uninstall_commands(name));
            } else if kind.starts_with(char::is_uppercase)
                && !kind.contains(' ')
                && rollout.is_retained(change)
                && !rollout.is_provisioner_object(kind, name)
            {
                objects.push((kind, rollout.delete_command(kind, name)));
            }
        }
    }
    objects.sort_by_key(|(kind, _)| deletion_rank(kind));
    let blocks_deletion =
        objects.len() > 1 && objects.iter().any(|(kind, _)| KEPT_IN_USE.contains(kind));
    let commands: Vec<String> = (objects.into_iter().map(|(_, command)| command))
        .chain(releases)
        .collect();
    Phase::DeleteObjects.plan((!commands.is_empty()).then(|| Step {
        instruction: format!(
            "Delete the resources that were removed from the tree and are no longer needed: {}{}",
            if rollout.setting.prunes_removed {
                "neither the GitOps controller nor a script deletes them"
            } else {
                rollout.setting.retention_reason()
            },
            if blocks_deletion {
                format!(
                    ". The order matters: {KUEUE_KEEPS}, and `kubectl delete` blocks until then"
                )
            } else {
                String::new()
            }
        ),
        commands,
        changes: change_ids(&removed),
    }))
}

/// The step that deletes cloud resources other than pools and the cluster itself.
pub(super) fn delete_cloud_resources(rollout: &Rollout<'_>) -> Vec<Planned> {
    let [before, after] = [rollout.setting.before, rollout.setting.after];
    let is_removed =
        |key: &EntityKey| before.by_key.contains_key(key) && !after.by_key.contains_key(key);
    let commands = rollout.removal_commands(|resource| {
        is_removed(&EntityKey::Resource(
            resource.kind.name,
            resource.name.clone(),
        )) && resource.script != CLUSTER_SCRIPT
            && !resource.is_only_deleted()
    });
    let removed: Vec<(&str, String)> = (before.by_key.keys())
        .filter(|key| matches!(key, EntityKey::Resource(..)) && is_removed(key))
        .map(|key| (key.kind(), key.name()))
        .collect();
    let changes: Vec<&Change> = (rollout.changes.iter())
        .filter(|change| {
            let mut names = change.names.iter();
            names.any(|name| removed.contains(&(change.kind.as_str(), name.clone())))
        })
        .collect();
    Phase::DeleteCloudResources.plan((!commands.is_empty()).then(|| {
        Step {
            instruction:
                "Delete the cloud resources that are no longer needed: no script deletes them"
                    .to_owned(),
            commands,
            changes: change_ids(&changes),
        }
    }))
}

impl Rollout<'_> {
    /// The steps that remove nodes created by a script, or hosts.
    fn remove_old_nodes(&self, pool: &str, is_removed: bool, changes: &[&Change]) -> Vec<Step> {
        let drain = (!self.is_drained_before_push(pool)).then(|| Step {
            instruction: format!(
                "When the old nodes of pool {pool} are no longer needed, drain them"
            ),
            commands: self.drain_pool_commands(pool),
            changes: change_ids(changes),
        });
        let is_in_input = if is_removed {
            self.stays_until_replaced(pool)
        } else {
            self.replacement_strategy(pool) != ReplacementStrategy::Rename
        };
        let edit = if is_in_input {
            "; then remove it from gpu-cluster.yaml, build and commit"
        } else {
            ""
        };
        let is_existing = self.both_pools(pool)[0].is_some_and(|pool| pool.is_existing());
        let commands = if is_existing {
            vec![self.get_nodes_command(pool)]
        } else {
            self.removal_commands(|resource| {
                resource.script == format!("pool-{pool}") && !self.is_moved_host(&resource.name)
            })
        };
        let what = if is_existing {
            format!(
                "gpuc did not create the old nodes of pool {pool}, and no script deletes them: delete them, or their \
                 node group, with the tool that created them{edit}"
            )
        } else if self.setting.before.has_user_hosts {
            format!(
                "Remove gpuc's labels, taints and annotations from the hosts of pool {pool}, because nothing else \
                 removes them{edit}. Run `{} uncordon` for hosts that stay in the cluster",
                self.kubectl()
            )
        } else {
            format!("Delete pool {pool}, because nothing else deletes it{edit}")
        };
        let remove = (!commands.is_empty()).then(|| Step {
            instruction: what,
            commands,
            changes: change_ids(changes),
        });
        drain.into_iter().chain(remove).collect()
    }

    /// Whether a step other than that of all removed objects deletes an object or a release, or nothing does.
    fn has_own_deletion_step(&self, kind: &str, name: &str) -> bool {
        let is_special = match kind {
            // Deleting a namespace deletes all its objects, and data has a separate step.
            "Namespace" | "PersistentVolumeClaim" => true,
            "Helm release" => self.installs_crds(name) || self.is_hub_with_database(name),
            "NicNodePolicy" => self.keeps_nic_driver(name),
            "DeviceClass" => self.removes_dra_driver(),
            _ => false,
        };
        is_special
            || self.is_renamed_workload(kind, name)
            || self.is_removed_plugin(name)
            || self.is_deleted_queue(kind)
    }

    /// Whether another object refers to an object, which a finalizer keeps until then.
    ///
    /// Source: kubernetes/cloud-provider-gcp `pkg/controller/gkenetworkparamset/gkenetworkparamset_controller.go`
    /// (`GNPFinalizer`, while a network has it in `spec.parametersRef`), read 2026-11-22.
    fn is_referenced(&self, change: &Change) -> bool {
        self.setting.before.by_key.values().any(|entity| {
            let has_value = |path: &str, value: &str| {
                let leaf = entity.fields.get(path);
                leaf.is_some_and(|leaf| leaf.value == *value)
            };
            has_value("spec.parametersRef.kind", &change.kind)
                && (change.names.iter()).any(|name| has_value("spec.parametersRef.name", name))
        })
    }

    /// Whether an object stays in the cluster although it was removed from the tree.
    fn is_retained(&self, change: &Change) -> bool {
        let is_object =
            |key: &EntityKey| matches!(key, EntityKey::Object { kind, .. } if *kind == change.kind);
        !self.setting.prunes_removed && self.setting.before.by_key.keys().any(is_object)
    }
}

/// The deletion order of kinds. Without its quota a namespace may use all resources, so access is deleted before
/// quotas. Objects that Kueue keeps while in use are deleted after their users.
fn deletion_rank(kind: &str) -> u8 {
    match kind {
        "LocalQueue" => 0,
        "ClusterQueue" => 1,
        "ResourceQuota" => 5,
        "AdmissionCheck" | "Cohort" | "ResourceFlavor" => 3,
        "ProvisioningRequestConfig" | "Topology" => 4,
        _ => 2,
    }
}
