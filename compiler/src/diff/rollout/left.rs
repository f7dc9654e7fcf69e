//! What stays behind until somebody removes it.

use super::super::judge::CLUSTER;
use super::super::parts::{Key, Part};
use super::super::shown::{Change, ClusterFate, Step};
use super::queues::{KEPT_IN_USE, KUEUE_KEEPS};
use super::room::Way;
use super::{Rollout, ids, pools, text};
use crate::model::{POOL_LABEL, Pool};
use crate::plan::Maker;
use crate::plan::Resource;
use crate::shell;

/// Who makes the nodes of a pool that is there on both sides, where that is another one than before.
pub(super) enum Handed {
    /// Something in the cluster does what scripts did.
    To(&'static Maker),
    /// Scripts do what something in the cluster did.
    From(&'static Maker),
}

impl Rollout<'_> {
    fn pool(&self, name: &str) -> [Option<&Part>; 2] {
        let key = Key::Pool(name.to_owned());
        [self.setting.before, self.setting.after].map(|parts| parts.all.get(&key))
    }

    /// Whether a pool has another maker of nodes.
    pub(super) fn handed(&self, name: &str) -> Option<Handed> {
        let [Some(old), Some(new)] = self.pool(name) else {
            return None;
        };
        match (old.maker, new.maker) {
            (None, Some(maker)) if !old.members.is_empty() => Some(Handed::To(maker)),
            (Some(maker), None) if !new.members.is_empty() => Some(Handed::From(maker)),
            _ => None,
        }
    }

    /// What is to be removed, the pools first.
    pub(super) fn left(&self) -> Vec<Step> {
        let leaving = self.gone_from_files();
        let (gone, replaced) = (pools(&leaving, true), pools(&leaving, false));
        let mut steps = Vec::new();
        for name in gone.iter().chain(&replaced) {
            if self.leaves_first(name) {
                continue;
            }
            let of_pool = about_pool(&leaving, name);
            match (self.handed(name), self.pool(name)) {
                (Some(handed), _) => steps.extend(self.handed_over(name, &handed, &of_pool)),
                (
                    None,
                    [
                        Some(Part {
                            maker: Some(maker), ..
                        }),
                        _,
                    ],
                ) => {
                    steps.extend(self.unmade(name, maker, &of_pool));
                }
                _ => steps.extend(self.old_nodes(name, gone.contains(name), &of_pool)),
            }
        }
        steps.extend(self.hosts());
        if !self.spaces_end_by_push() {
            steps.extend(self.spaces_emptied());
        }
        steps.extend(self.objects_left());
        steps.extend(self.kinds_left());
        // What acts on objects has left by then.
        steps.extend(self.resources_left());
        steps.extend(self.data_left());
        steps.extend(self.spaces_left());
        steps
    }

    /// Nodes that a script made, or hosts.
    fn old_nodes(&self, name: &str, is_gone: bool, changes: &[&Change]) -> Vec<Step> {
        let mut steps = Vec::new();
        if !self.is_emptied_first(name) {
            steps.push(Step {
                what: format!(
                    "When nothing needs the old nodes of pool {name} any more, drain them"
                ),
                commands: self.drain_pool(name),
                changes: ids(changes),
            });
        }
        let is_out = if is_gone {
            !self.leaves_later(name)
        } else {
            self.way(name) == Way::Renamed
        };
        let out = if is_out {
            ""
        } else {
            "; then take it out of gpu-cluster.yaml, build and commit"
        };
        let is_theirs = self.both(name)[0].is_some_and(Pool::is_existing);
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
                    "gpuc did not make the old nodes of pool {name}, and no script deletes them: whoever made them, or \
                     the group that they are of, deletes them there{out}"
                )
            } else if self.setting.before.own_hosts {
                format!(
                    "Take gpuc's labels, taints and notes off the hosts of pool {name}, which nothing else does{out}. \
                     Let pods onto hosts that stay in the cluster with `{} uncordon`",
                    self.kubectl()
                )
            } else {
                format!("Delete pool {name}, which nothing else does{out}")
            };
            steps.push(Step {
                what,
                commands,
                changes: ids(changes),
            });
        }
        steps
    }

    /// A pool whose nodes something in the cluster made, which is told by an object that it shall not.
    fn unmade(&self, name: &str, maker: &Maker, changes: &[&Change]) -> Vec<Step> {
        if self.setting.prunes {
            let later = self.leaves_later(name);
            let out = if later {
                "Take it out of gpu-cluster.yaml, build, commit and push. "
            } else {
                ""
            };
            let drained = later.then(|| Step {
                what: format!("When nothing needs pool {name} any more, drain its nodes"),
                commands: self.drain_pool(name),
                changes: ids(changes),
            });
            let gone = Step {
                what: format!(
                    "{out}Look that the nodes of pool {name} are gone: {} drains and deletes them when {} has removed its \
                     objects",
                    maker.name, self.setting.before.tool
                ),
                commands: vec![self.nodes_of(name)],
                changes: ids(changes),
            };
            return drained.into_iter().chain([gone]).collect();
        }
        vec![Step {
            what: format!(
                "When nothing needs pool {name} any more, delete the objects by which {} makes its nodes: it drains and \
                 deletes those that there are",
                maker.name,
            ),
            commands: self.unmaking(name, maker),
            changes: ids(changes),
        }]
    }

    pub(super) fn unmaking(&self, name: &str, maker: &Maker) -> Vec<String> {
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

    fn handed_over(&self, name: &str, handed: &Handed, changes: &[&Change]) -> Vec<Step> {
        match handed {
            Handed::To(maker) => {
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
                            "See that {} is ready to make nodes for pool {name}",
                            maker.name
                        ),
                        commands: ready.collect(),
                        changes: ids(changes),
                    },
                    Step {
                        what: format!(
                            "Drain the nodes of pool {name} that the scripts made; {} makes others for what waits {}",
                            maker.name,
                            if self.is_reserved(name) {
                                "when their machines are back in the reservation, which is after the next step"
                            } else {
                                "then"
                            }
                        ),
                        commands: self.drain(&old),
                        changes: ids(changes),
                    },
                    Step {
                        what: format!(
                            "Delete what the scripts made of pool {name}: nothing else does"
                        ),
                        commands: self
                            .removal(|resource| resource.script == format!("pool-{name}")),
                        changes: ids(changes),
                    },
                ]
            }
            Handed::From(maker) => {
                let (what, commands) = if self.setting.prunes {
                    (
                        format!(
                            "{} removes the objects by which {} made nodes for pool {name}, and {} drains and deletes \
                             these: look that they are gone before you remove {}",
                            self.setting.before.tool, maker.name, maker.name, maker.name
                        ),
                        vec![self.nodes_of(name)],
                    )
                } else {
                    (
                        format!(
                            "When the nodes that the scripts made for pool {name} serve, delete the objects by which {} \
                             made others: it drains and deletes these, so it must still run. Until then both make nodes \
                             for what waits, and a pool that may have none begins with none",
                            maker.name
                        ),
                        self.unmaking(name, maker),
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

    /// Hosts that leave a pool which stays.
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
                        "Host {host} leaves pool {pool}: drain it, and take gpuc's labels, taints and notes off. Then \
                         `{} uncordon {node}` for other work, or `delete node` when it leaves the cluster",
                        self.kubectl()
                    ),
                    commands: std::iter::once(drain).chain(off).collect(),
                    changes: ids(&about),
                });
            }
        }
        steps
    }

    /// The commands that remove resources as they were, as far as people can type them.
    pub(super) fn removal(&self, is_it: impl Fn(&Resource) -> bool) -> Vec<String> {
        let plan = self.before.and_then(|before| before.plan.as_ref());
        let resources = plan.iter().flat_map(|plan| &plan.provisioning.resources);
        let these = resources.filter(|resource| is_it(resource));
        let commands = these.flat_map(|resource| {
            if resource.by_hand.is_empty() {
                &resource.delete
            } else {
                &resource.by_hand
            }
        });
        commands.filter_map(text).collect()
    }

    /// Objects and releases that nothing removes: objects first, while what acts on them still runs.
    fn objects_left(&self) -> Option<Step> {
        let went = |change: &&Change| {
            change.fate == ClusterFate::Removed
                && change.kind != "pool"
                && change.kind != "file"
                && !self.leaves_with_nodes(change)
        };
        let mut left: Vec<&Change> = self.changes.iter().filter(went).collect();
        left.sort_by_key(|change| self.is_pointed_at(change));
        let (mut objects, mut releases) = (Vec::new(), Vec::new());
        for change in &left {
            for name in &change.names {
                match change.kind.as_str() {
                    // With a namespace would go all that is in it; data is a step of its own.
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
                "Remove what left the tree and nobody needs: {}{}",
                if self.setting.prunes {
                    "neither tool nor script does"
                } else {
                    self.setting.nobody()
                },
                if waits {
                    format!(
                        ". The order counts: {KUEUE_KEEPS}, and `kubectl delete` waits for as long"
                    )
                } else {
                    String::new()
                }
            ),
            commands,
            changes: ids(&left),
        })
    }

    /// What scripts made beside pools and the cluster itself.
    fn resources_left(&self) -> Option<Step> {
        let is_left = |key: &Key| {
            self.setting.before.all.contains_key(key) && !self.setting.after.all.contains_key(key)
        };
        let commands = self.removal(|resource| {
            is_left(&Key::Resource(resource.kind.name, resource.name.clone()))
                && resource.script != CLUSTER
                && !resource.is_only_removed()
        });
        let gone = |change: &&Change| {
            let mut names = change.names.iter();
            let keys = self.setting.before.all.keys();
            let kinds = keys.filter(|key| matches!(key, Key::Resource(..)) && is_left(key));
            let kinds: Vec<(&str, String)> = kinds.map(|key| (key.kind(), key.name())).collect();
            names.any(|name| kinds.contains(&(change.kind.as_str(), name.clone())))
        };
        let gone: Vec<&Change> = self.changes.iter().filter(gone).collect();
        (!commands.is_empty()).then(|| Step {
            what: "Remove what the scripts made and nobody needs: no script does".to_owned(),
            commands,
            changes: ids(&gone),
        })
    }

    /// Whether an object stays although it left the tree; what tells a tool of the tree leaves with the tool.
    fn stays(&self, change: &Change) -> bool {
        let is_object = self
            .setting
            .before
            .all
            .keys()
            .any(|key| matches!(key, Key::Object { kind, .. } if *kind == change.kind));
        is_object && !self.setting.prunes
    }

    /// Whether a step for a pool names it already.
    fn is_of_maker(&self, kind: &str, name: &str) -> bool {
        let [old, _] = self.pool(name);
        let maker = old.and_then(|part| part.maker);
        maker.is_some_and(|maker| maker.kinds.iter().any(|(of, _)| *of == kind))
    }
}

/// When an object goes among others. Without its quota a namespace may use all there is, so that who may use it goes
/// first; what Kueue keeps while it is in use goes after what uses it.
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
    let of = |change: &&&Change| change.kind == "pool" && change.names.iter().any(|it| it == name);
    changes.iter().filter(of).copied().collect()
}
