//! How a change comes to run: what is to be done before it is committed, the commit, and what brings it.

use super::super::impact::Impact;
use super::super::parts::{Key, TAINTS};
use super::super::shown::{Change, ClusterFate, Step};
use super::left::about_pool;
use super::{Rollout, ids, pools};
use crate::model::Pool;
use crate::plan::Delivery;
use crate::shell;

/// Builds the tree; whoever knows where the input is and where trees are adds both.
pub const BUILD: &str = "gpuc build";

impl Rollout<'_> {
    /// Whether a commit is what brings the tree: the tool that is there takes what is pushed.
    pub(super) fn is_by_commit(&self) -> bool {
        let [before, after] = [self.setting.before, self.setting.after];
        !after.tool.is_empty() && (before.is_brought_as(after) || self.before.is_none())
    }

    /// The command that brings the tree, where no tool does by itself.
    pub(super) fn brings(&self) -> Option<String> {
        let tool = self.setting.after.tool;
        tool.is_empty().then(|| "./install.sh".to_owned())
    }

    /// The tree, where the input is; that of the name that the cluster had goes.
    pub(super) fn built(&self) -> Step {
        let mut step = self.build();
        if let Some([old, new]) = self.renamed() {
            step.what += &format!(". The tree has another folder now, {new}: that of {old} goes");
            step.commands = vec![format!("{BUILD} --prune")];
        }
        step
    }

    /// The tree, where the input is.
    pub(super) fn build(&self) -> Step {
        let what = if self.is_by_commit() {
            "Build where the input is, review and commit; pushing it is a step of its own"
        } else {
            "Build where the input is, review and commit"
        };
        Step {
            what: what.to_owned(),
            commands: vec![BUILD.to_owned()],
            changes: Vec::new(),
        }
    }

    /// What brings the objects.
    pub(super) fn brought(&self) -> Vec<Step> {
        if let Some(command) = self.brings() {
            return vec![Step {
                what: "Bring what is new in the cluster".to_owned(),
                commands: vec![command],
                changes: Vec::new(),
            }];
        }
        self.looked("Push, or merge, and wait")
    }

    /// Only the push, where more is to be done before the tool goes on.
    pub(super) fn pushed(&self) -> Step {
        Step {
            what: format!(
                "Push, or merge. {} stops at what cannot be changed in place, says so, and tries again until the next \
                 steps are done",
                self.setting.after.tool
            ),
            commands: Vec::new(),
            changes: Vec::new(),
        }
    }

    /// The wait for the tool alone.
    pub(super) fn awaited(&self) -> Vec<Step> {
        self.looked("Wait")
    }

    fn looked(&self, begin: &str) -> Vec<Step> {
        let plan = self.after.and_then(|after| after.plan.as_ref());
        let Some(Delivery::Gitops { guide, .. }) = plan.map(|plan| &plan.delivery) else {
            return Vec::new();
        };
        let mut kinds: Vec<String> = Vec::new();
        for identity in plan.iter().flat_map(|plan| plan.delivery.identities()) {
            let group = identity.api_version.split_once('/');
            let kind = identity.kind.to_lowercase();
            let kind = group.map_or(kind.clone(), |(group, _)| format!("{kind}s.{group}"));
            let brings = ["Kustomization", "HelmRelease", "Application"];
            if brings.contains(&identity.kind.as_str()) && !kinds.contains(&kind) {
                kinds.push(kind);
            }
        }
        let kubectl = if guide.elsewhere {
            "kubectl".to_owned()
        } else {
            self.kubectl()
        };
        let get = format!(
            "{kubectl} get {} --namespace {}",
            kinds.join(","),
            shell::quote(&guide.namespace)
        );
        vec![Step {
            what: format!(
                "{begin} until {} has brought it{}",
                self.setting.after.tool,
                if guide.elsewhere {
                    ": look in the cluster that it runs in"
                } else {
                    ""
                }
            ),
            commands: vec![get],
            changes: Vec::new(),
        }]
    }

    /// Whether nodes offer what they should.
    pub(super) fn verified() -> Step {
        Step {
            what: "See that everything is there and that nodes offer what they should".to_owned(),
            commands: vec!["cloud/verify.sh".to_owned()],
            changes: Vec::new(),
        }
    }

    /// What the scripts only look at and somebody else has to change before.
    pub(super) fn conditions(&self) -> Vec<Step> {
        let mut steps = Vec::new();
        for change in self
            .changes
            .iter()
            .filter(|change| change.kind == Key::Place.kind())
        {
            for field in &change.fields {
                let (Some(from), Some(to)) = (&field.from, &field.to) else {
                    continue;
                };
                if !self.setting.after.conditions.contains(&field.path) {
                    continue;
                }
                let plain = |value: &serde_json::Value| match value.as_str() {
                    Some(text) => text.to_owned(),
                    None => value.to_string(),
                };
                steps.push(Step {
                    what: format!(
                        "gpuc does not manage this cluster itself: bring its {} from {} to {} first, with what made it. \
                         Every script stops until it is so",
                        field.path,
                        plain(from),
                        plain(to)
                    ),
                    commands: Vec::new(),
                    changes: ids(&[change]),
                });
            }
        }
        steps
    }

    /// Whether a taint comes that ends pods which run: they must tolerate it before.
    pub(super) fn keeps_running_pods_out(&self) -> bool {
        let ends = |value: &Option<serde_json::Value>| {
            value
                .as_ref()
                .map(|value| value.to_string().matches("NoExecute").count())
                .unwrap_or_default()
        };
        self.changes.iter().any(|change| {
            let comes = change
                .fields
                .iter()
                .any(|field| field.path == TAINTS && ends(&field.to) > ends(&field.from));
            change.kind == "pool"
                && change.fate == ClusterFate::Kept
                && comes
                && self.is_made(change)
        })
    }

    /// Whether nodes come that serve what pools that leave did.
    pub(super) fn has_new_pools(&self) -> bool {
        let is_new = |change: &Change| change.kind == "pool" && change.fate == ClusterFate::Added;
        self.changes.iter().any(is_new)
    }

    /// Changes of pools that leave, and of those that have another name.
    pub(super) fn gone_from_files(&self) -> Vec<&Change> {
        let is_gone = |change: &&Change| {
            let impacts = [Impact::Deleted, Impact::Replaced];
            impacts.contains(&change.impact) || self.makes_way(change)
        };
        self.changes.iter().filter(is_gone).collect()
    }

    /// Whether nodes that others made leave the input, where nodes come that do what they did.
    fn makes_way(&self, change: &Change) -> bool {
        let is_theirs = |name: &String| self.both(name)[0].is_some_and(Pool::is_existing);
        change.kind == "pool"
            && change.fate == ClusterFate::Removed
            && change.names.iter().any(is_theirs)
            && self.has_new_pools()
    }

    /// Pools that leave, which a tool that prunes takes away what serves them from as soon as the change is pushed.
    fn pruned_pools(&self) -> Vec<String> {
        let deleted = self.gone_from_files();
        let gone = pools(&deleted, true).into_iter();
        let is_served = |name: &String| {
            let mut pools = self.setting.before.summary.pools.iter();
            let has_gpus = pools.any(|pool| pool.name == *name && !pool.gpus.is_empty());
            has_gpus || self.both_makers(name)[0].is_some()
        };
        if self.setting.prunes {
            gone.filter(is_served).collect()
        } else {
            Vec::new()
        }
    }

    /// Whether a pool that leaves is to stay in the input until what is new serves.
    pub(super) fn leaves_later(&self, name: &str) -> bool {
        self.has_new_pools()
            && !self.cannot_stay(name)
            && self.pruned_pools().iter().any(|it| it == name)
    }

    /// Pools that leave where others come: what is new comes first.
    pub(super) fn stays_at_first(&self) -> Vec<Step> {
        let deleted = self.gone_from_files();
        let gone = self
            .pruned_pools()
            .into_iter()
            .filter(|name| self.leaves_later(name));
        let steps = gone.map(|name| Step {
            what: format!(
                "{} takes away what serves pool {name} as soon as that is gone from what is pushed: leave it in \
                 gpu-cluster.yaml for now, beside what is new",
                self.setting.after.tool
            ),
            commands: Vec::new(),
            changes: ids(&about_pool(&deleted, &name)),
        });
        steps.collect()
    }

    /// Pools that leave and that nothing takes the place of: they are emptied while they are still served.
    pub(super) fn before_push(&self) -> Vec<Step> {
        let deleted = self.gone_from_files();
        let gone = self.pruned_pools().into_iter().filter(|name| {
            let is_scripted = self.both_makers(name)[0].is_none();
            self.is_emptied_first(name) && !(is_scripted && self.leaves_first(name))
        });
        let tool = self.setting.after.tool;
        let what = |name: &str| match self.both_makers(name)[0] {
            Some(maker) => format!(
                "When nothing needs pool {name} any more, drain its nodes, before the change is pushed: {tool} takes \
                 away then what {} makes them by, and it deletes them. Until the push it makes others for what waits",
                maker.name
            ),
            None => format!(
                "When nothing needs the old nodes of pool {name} any more, drain them, before the change is pushed: \
                 {tool} takes away what serves them then"
            ),
        };
        let steps = gone.map(|name| Step {
            what: what(&name),
            commands: self.drain_pool(&name),
            changes: ids(&about_pool(&deleted, &name)),
        });
        steps.collect()
    }

    /// Whether a pool is drained before the change is pushed.
    pub(super) fn is_emptied_first(&self, name: &str) -> bool {
        let is_pruned = self.pruned_pools().iter().any(|it| it == name);
        is_pruned && !self.leaves_later(name)
    }

    /// The scripts of hosts that are new or that say something else now.
    pub(super) fn hosts_prepared(&self) -> Vec<Step> {
        let mut steps = Vec::new();
        for (key, new) in &self.setting.after.all {
            let Key::Pool(pool) = key else { continue };
            let script = format!("cloud/host-{pool}.sh");
            let file = Key::File(script.clone());
            let [old_file, new_file] =
                [self.setting.before, self.setting.after].map(|parts| parts.all.get(&file));
            let Some(new_file) = new_file else { continue };
            if old_file.is_some_and(|old| old.leaves == new_file.leaves) {
                continue;
            }
            let old = self.setting.before.all.get(key);
            let is_known = |host: &&String| old.is_some_and(|old| old.members.contains(*host));
            let come: Vec<&str> = new
                .members
                .iter()
                .filter(|host| !is_known(host))
                .map(String::as_str)
                .collect();
            // A list of hosts that is shorter is nothing to run on those that stay.
            if come.is_empty() && self.does_same(&script) {
                continue;
            }
            let members = new.members.iter().map(String::as_str);
            let is_driver = self.changes.iter().any(|change| {
                change.kind == "pool"
                    && change.impact == Impact::DriverRestarted
                    && change.names.contains(pool)
            });
            let hosts: Vec<&str> = if is_driver || come.is_empty() {
                members.collect()
            } else {
                come
            };
            let about: Vec<&Change> = self.changes.iter().collect();
            steps.push(Step {
                what: format!(
                    "Copy {script} to each of {} and run it there, one host after the other: it installs what the host \
                     needs, and says when the host must start anew",
                    hosts.join(", ")
                ),
                commands: vec![format!("sudo ./host-{pool}.sh")],
                changes: ids(&about_pool(&about, pool)),
            });
        }
        steps
    }

    /// Whether a host's script does what it did, for fewer hosts.
    fn does_same(&self, script: &str) -> bool {
        let [old, new] = [self.before, self.after].map(|side| {
            let tree = &side?.output.as_ref()?.0;
            let mut files = tree.files().filter(|(path, _)| *path == script);
            let lines = files.next()?.1.contents.lines();
            let lines = lines.filter(|line| !line.starts_with("hosts=("));
            Some(lines.map(str::to_owned).collect::<Vec<String>>())
        });
        old.is_some() && old == new
    }
}
