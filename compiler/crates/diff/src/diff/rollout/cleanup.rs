//! Cleanup of resources that stay until the user removes them.

use gpuc_model::POOL_LABEL;
use gpuc_model::plan::{NodeProvisioner, Resource};
use gpuc_syntax::shell;

use super::super::classify::CLUSTER;
use super::super::entities::{Key, Part};
use super::super::report::{Change, ClusterFate, Step};
use super::queues::{KEPT_IN_USE, KUEUE_KEEPS};
use super::replacement::ReplacementStrategy;
use super::{Rollout, ids, pools, text};

/// A change of the node provisioner of a pool that is on both sides.
pub(super) enum ProvisionerChange {
    /// From scripts to a provisioner in the cluster.
    To(&'static NodeProvisioner),
    /// From a provisioner in the cluster to scripts.
    From(&'static NodeProvisioner),
}

impl Rollout<'_> {
    fn pool(&self, name: &str) -> [Option<&Part>; 2] {
        let key = Key::Pool(name.to_owned());
        [self.setting.before, self.setting.after].map(|parts| parts.all.get(&key))
    }

    /// The change of a pool's node provisioner, if any.
    pub(super) fn provisioner_change(&self, name: &str) -> Option<ProvisionerChange> {
        let [Some(old), Some(new)] = self.pool(name) else {
            return None;
        };
        match (old.maker, new.maker) {
            (None, Some(maker)) if !old.members.is_empty() => Some(ProvisionerChange::To(maker)),
            (Some(maker), None) if !new.members.is_empty() => Some(ProvisionerChange::From(maker)),
            _ => None,
        }
    }

    /// The cleanup steps, pools first.
    pub(super) fn cleanup(&self) -> Vec<Step> {
        let leaving = self.gone_from_files();
        let (gone, replaced) = (pools(&leaving, true), pools(&leaving, false));
        let mut steps = Vec::new();
        for name in gone.iter().chain(&replaced) {
            if self.leaves_first(name) {
                continue;
            }
            let of_pool = about_pool(&leaving, name);
            match (self.provisioner_change(name), self.pool(name)) {
                (Some(provisioner_change), _) => {
                    steps.extend(self.hand_over_nodes(name, &provisioner_change, &of_pool));
                }
                (
                    None,
                    [
                        Some(Part {
                            maker: Some(maker), ..
                        }),
                        _,
                    ],
                ) => {
                    steps.extend(self.remove_provisioned_pool(name, maker, &of_pool));
                }
                _ => steps.extend(self.remove_old_nodes(name, gone.contains(name), &of_pool)),
            }
        }
        steps.extend(self.hosts());
        if !self.spaces_end_by_push() {
            steps.extend(self.spaces_emptied());
        }
        steps.extend(self.objects_left());
        steps.extend(self.kinds_left());
        // The controllers of the objects are removed by then.
        steps.extend(self.resources_left());
        steps.extend(self.data_left());
        steps.extend(self.spaces_left());
        steps
    }

    /// The steps that remove nodes created by a script, or hosts.
    fn remove_old_nodes(&self, name: &str, is_gone: bool, changes: &[&Change]) -> Vec<Step> {
        let mut steps = Vec::new();
        if !self.is_emptied_first(name) {
            steps.push(Step {
                what: format!("When the old nodes of pool {name} are no longer needed, drain them"),
                commands: self.drain_pool(name),
                changes: ids(changes),
            });
        }
        let is_out = if is_gone {
            !self.leaves_later(name)
        } else {
            self.replacement_strategy(name) == ReplacementStrategy::Rename
        };
        let out = if is_out {
            ""
        } else {
            "; then remove it from gpu-cluster.yaml, build and commit"
        };
        let is_theirs = self.both(name)[0].is_some_and(|pool| pool.is_existing());
        let commands = if is_theirs {
            vec![self.nodes_of(name)]
        } else {
            self.removal(|resource| {
                resource.script == format!("pool-{name}") && !self.is_moved(&resource.name)
            })
        };
        if !commands.is_empty() {
            let what = if is_theirs {
                format!(
                    "gpuc did not create the old nodes of pool {name}, and no script deletes them: delete them, or \
                     their node group, with the tool that created them{out}"
                )
            } else if self.setting.before.own_hosts {
                format!(
                    "Remove gpuc's labels, taints and annotations from the hosts of pool {name}, because nothing else \
                     removes them{out}. Run `{} uncordon` for hosts that stay in the cluster",
                    self.kubectl()
                )
            } else {
                format!("Delete pool {name}, because nothing else deletes it{out}")
            };
            steps.push(Step {
                what,
                commands,
                changes: ids(changes),
            });
        }
        steps
    }

    /// The steps that remove a pool of a node provisioner, by deleting its objects.
    fn remove_provisioned_pool(
        &self,
        name: &str,
        maker: &NodeProvisioner,
        changes: &[&Change],
    ) -> Vec<Step> {
        if self.setting.prunes {
            let later = self.leaves_later(name);
            let out = if later {
                "Remove it from gpu-cluster.yaml, build, commit and push. "
            } else {
                ""
            };
            let drained = later.then(|| Step {
                what: format!("When pool {name} is no longer needed, drain its nodes"),
                commands: self.drain_pool(name),
                changes: ids(changes),
            });
            let gone = Step {
                what: format!(
                    "{out}Check that the nodes of pool {name} are gone: {} drains and deletes them when {} has pruned \
                     its objects",
                    maker.name, self.setting.before.tool
                ),
                commands: vec![self.nodes_of(name)],
                changes: ids(changes),
            };
            return drained.into_iter().chain([gone]).collect();
        }
        vec![Step {
            what: format!(
                "When pool {name} is no longer needed, delete its {0} objects: {0} drains and deletes the existing \
                 nodes",
                maker.name,
            ),
            commands: self.delete_provisioner_objects(name, maker),
            changes: ids(changes),
        }]
    }

    pub(super) fn delete_provisioner_objects(
        &self,
        name: &str,
        maker: &NodeProvisioner,
    ) -> Vec<String> {
        let mut commands: Vec<String> = maker
            .kinds
            .iter()
            .map(|(_, kind)| self.removed(kind, name))
            .collect();
        commands.push(self.nodes_of(name));
        commands
    }

    pub(super) fn nodes_of(&self, name: &str) -> String {
        let nodes = shell::quote(&self.labels(name));
        format!("{} get nodes -l {nodes}", self.kubectl())
    }

    fn hand_over_nodes(
        &self,
        name: &str,
        provisioner_change: &ProvisionerChange,
        changes: &[&Change],
    ) -> Vec<Step> {
        match provisioner_change {
            ProvisionerChange::To(maker) => {
                let ready = maker.kinds.iter().map(|(_, kind)| {
                    let object = shell::quote(&format!("{kind}/{name}"));
                    format!(
                        "{} wait --for=condition=Ready {object} --timeout=10m",
                        self.kubectl()
                    )
                });
                let old = shell::quote(&format!("{POOL_LABEL}={name},!{}", maker.label));
                vec![
                    Step {
                        what: format!(
                            "Check that {} is ready to create nodes for pool {name}",
                            maker.name
                        ),
                        commands: ready.collect(),
                        changes: ids(changes),
                    },
                    Step {
                        what: format!(
                            "Drain the nodes of pool {name} that the scripts created; {} then creates nodes for \
                             pending pods{}",
                            maker.name,
                            if self.is_reserved(name) {
                                " once their machines are back in the reservation, after the next step"
                            } else {
                                ""
                            }
                        ),
                        commands: self.drain(&old),
                        changes: ids(changes),
                    },
                    Step {
                        what: format!(
                            "Delete the cloud resources that the scripts created for pool {name}: nothing else deletes \
                             them"
                        ),
                        commands: self
                            .removal(|resource| resource.script == format!("pool-{name}")),
                        changes: ids(changes),
                    },
                ]
            }
            ProvisionerChange::From(maker) => {
                let (what, commands) = if self.setting.prunes {
                    (
                        format!(
                            "{} prunes the {1} objects of pool {name}, and {1} drains and deletes its nodes: check \
                             that they are gone before you remove {1}",
                            self.setting.before.tool, maker.name
                        ),
                        vec![self.nodes_of(name)],
                    )
                } else {
                    (
                        format!(
                            "When the nodes that the scripts created for pool {name} are ready, delete the pool's {0} \
                             objects: {0} drains and deletes its own nodes, so it must still run. Until then both \
                             create nodes for pending pods, and a pool with a minimum of 0 starts without nodes",
                            maker.name
                        ),
                        self.delete_provisioner_objects(name, maker),
                    )
                };
                vec![Step {
                    what,
                    commands,
                    changes: ids(changes),
                }]
            }
        }
    }

    /// The steps for hosts removed from a pool that stays.
    fn hosts(&self) -> Vec<Step> {
        let mut steps = Vec::new();
        for (key, old) in &self.setting.before.all {
            let (Key::Pool(pool), Some(new)) = (key, self.setting.after.all.get(key)) else {
                continue;
            };
            if !self.setting.before.own_hosts {
                continue;
            }
            let changes: Vec<&Change> = self.changes.iter().collect();
            let about = about_pool(&changes, pool);
            let gone = old.members.difference(&new.members);
            for host in gone.filter(|host| !self.is_moved(host)) {
                let node = shell::quote(host);
                let drain = format!(
                    "{} drain {node} --ignore-daemonsets --delete-emptydir-data",
                    self.kubectl()
                );
                let script = format!("pool-{pool}");
                let off =
                    self.removal(|resource| resource.script == script && resource.name == *host);
                steps.push(Step {
                    what: format!(
                        "Host {host} is removed from pool {pool}: drain it, and remove gpuc's labels, taints and \
                         annotations. Then run `{} uncordon {node}` to use it for other pods, or `delete node` if it \
                         leaves the cluster",
                        self.kubectl()
                    ),
                    commands: std::iter::once(drain).chain(off).collect(),
                    changes: ids(&about),
                });
            }
        }
        steps
    }

    /// The commands that remove matching resources of the old plan, if they can be typed by hand.
    pub(super) fn removal(&self, matches: impl Fn(&Resource) -> bool) -> Vec<String> {
        let plan = self.before.and_then(|before| before.plan.as_ref());
        let resources = plan.iter().flat_map(|plan| &plan.provisioning.resources);
        let matching = resources.filter(|resource| matches(resource));
        let commands = matching.flat_map(|resource| {
            if resource.by_hand.is_empty() {
                &resource.delete
            } else {
                &resource.by_hand
            }
        });
        commands.filter_map(text).collect()
    }

    /// The step that deletes objects and releases that nothing prunes: objects first, while their controllers still
    /// run.
    fn objects_left(&self) -> Option<Step> {
        let is_removed = |change: &&Change| {
            change.fate == ClusterFate::Removed
                && change.kind != "pool"
                && change.kind != "file"
                && !self.leaves_with_nodes(change)
        };
        let mut removed: Vec<&Change> = self.changes.iter().filter(is_removed).collect();
        removed.sort_by_key(|change| self.is_pointed_at(change));
        let (mut objects, mut releases) = (Vec::new(), Vec::new());
        for change in &removed {
            for name in &change.names {
                match change.kind.as_str() {
                    // Deleting a namespace deletes all its objects, and data has a separate step.
                    "Namespace" | "PersistentVolumeClaim" => {}
                    "Helm release" if self.brings_kinds(name) || self.is_hub(name) => {}
                    kind if self.is_moved_workload(kind, name) => {}
                    _ if self.is_early(name) || self.is_early_queue(&change.kind) => {}
                    "NicNodePolicy" if self.is_driver_left(name) => {}
                    "DeviceClass" if self.claims_end().is_some() => {}
                    "Helm release" if !self.setting.prunes => {
                        releases.extend(self.uninstalled(name));
                    }
                    kind if kind.starts_with(char::is_uppercase)
                        && !kind.contains(' ')
                        && self.stays(change)
                        && !self.is_of_maker(kind, name) =>
                    {
                        objects.push((kind, self.removed(kind, name)));
                    }
                    _ => {}
                }
            }
        }
        objects.sort_by_key(|(kind, _)| removed_last(kind));
        let kept = objects
            .iter()
            .filter(|(kind, _)| KEPT_IN_USE.contains(kind));
        let waits = kept.count() > 0 && objects.len() > 1;
        let objects = objects.into_iter().map(|(_, command)| command);
        let commands: Vec<String> = objects.chain(releases).collect();
        (!commands.is_empty()).then(|| Step {
            what: format!(
                "Delete the resources that were removed from the tree and are no longer needed: {}{}",
                if self.setting.prunes {
                    "neither the GitOps controller nor a script deletes them"
                } else {
                    self.setting.retention_reason()
                },
                if waits {
                    format!(
                        ". The order matters: {KUEUE_KEEPS}, and `kubectl delete` blocks until then"
                    )
                } else {
                    String::new()
                }
            ),
            commands,
            changes: ids(&removed),
        })
    }

    /// The step that deletes cloud resources other than pools and the cluster itself.
    fn resources_left(&self) -> Option<Step> {
        let is_left = |key: &Key| {
            self.setting.before.all.contains_key(key) && !self.setting.after.all.contains_key(key)
        };
        let commands = self.removal(|resource| {
            is_left(&Key::Resource(resource.kind.name, resource.name.clone()))
                && resource.script != CLUSTER
                && !resource.is_only_removed()
        });
        let is_removed_resource = |change: &&Change| {
            let removed: Vec<(&str, String)> = (self.setting.before.all.keys())
                .filter(|key| matches!(key, Key::Resource(..)) && is_left(key))
                .map(|key| (key.kind(), key.name()))
                .collect();
            let mut names = change.names.iter();
            names.any(|name| removed.contains(&(change.kind.as_str(), name.clone())))
        };
        let removed: Vec<&Change> = self.changes.iter().filter(is_removed_resource).collect();
        (!commands.is_empty()).then(|| Step {
            what: "Delete the cloud resources that are no longer needed: no script deletes them"
                .to_owned(),
            commands,
            changes: ids(&removed),
        })
    }

    /// Whether an object stays although it was removed from the tree.
    fn stays(&self, change: &Change) -> bool {
        let is_object = self
            .setting
            .before
            .all
            .keys()
            .any(|key| matches!(key, Key::Object { kind, .. } if *kind == change.kind));
        is_object && !self.setting.prunes
    }

    /// Whether an object belongs to a node provisioner, so that the pool's step already deletes it.
    fn is_of_maker(&self, kind: &str, name: &str) -> bool {
        let [old, _] = self.pool(name);
        let maker = old.and_then(|part| part.maker);
        maker.is_some_and(|maker| maker.kinds.iter().any(|(of, _)| *of == kind))
    }
}

/// Deletion order of kinds. Without its quota a namespace may use all resources, so access is deleted before quotas.
/// Objects that Kueue keeps while in use are deleted after their users.
fn removed_last(kind: &str) -> u8 {
    match kind {
        "LocalQueue" => 0,
        "ClusterQueue" => 1,
        "ResourceQuota" => 5,
        "Cohort" | "ResourceFlavor" => 3,
        "Topology" => 4,
        _ => 2,
    }
}

/// The changes of a pool.
pub(super) fn about_pool<'c>(changes: &[&'c Change], name: &str) -> Vec<&'c Change> {
    (changes.iter().copied())
        .filter(|change| change.kind == "pool" && change.names.iter().any(|other| other == name))
        .collect()
}
