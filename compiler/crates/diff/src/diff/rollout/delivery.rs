//! Delivery of a change: preparations before the commit, the commit, and the deployment.

use gpuc_model::plan::Delivery;
use gpuc_syntax::shell;

use super::super::entities::{Key, TAINTS};
use super::super::impact::Impact;
use super::super::report::{Change, ClusterFate, Step};
use super::cleanup::about_pool;
use super::{Rollout, ids, pools};

/// Builds the tree; the caller adds the paths of the input and of the trees.
pub const BUILD: &str = "gpuc build";

impl Rollout<'_> {
    /// Whether the tree is deployed by a commit: the existing GitOps controller syncs every push.
    pub(super) fn is_by_commit(&self) -> bool {
        let [before, after] = [self.setting.before, self.setting.after];
        !after.tool.is_empty() && (before.is_brought_as(after) || self.before.is_none())
    }

    /// The command that deploys the tree, if no GitOps controller does.
    pub(super) fn deploy_command(&self) -> Option<String> {
        let tool = self.setting.after.tool;
        tool.is_empty().then(|| "./install.sh".to_owned())
    }

    /// The step that builds the tree and prunes the tree of the former name.
    pub(super) fn build_and_prune(&self) -> Step {
        let mut step = self.build();
        if let Some([old, new]) = self.renamed() {
            step.what += &format!(
                ". The directory of the tree is now {new}: the directory {old} is deleted"
            );
            step.commands = vec![format!("{BUILD} --prune")];
        }
        step
    }

    /// The step that builds the tree.
    pub(super) fn build(&self) -> Step {
        let what = if self.is_by_commit() {
            "Build the tree from the input, review and commit; push in a later step"
        } else {
            "Build the tree from the input, review and commit"
        };
        Step {
            what: what.to_owned(),
            commands: vec![BUILD.to_owned()],
            changes: Vec::new(),
        }
    }

    /// The steps that deploy the objects.
    pub(super) fn deploy(&self) -> Vec<Step> {
        if let Some(command) = self.deploy_command() {
            return vec![Step {
                what: "Deploy the changes to the cluster".to_owned(),
                commands: vec![command],
                changes: Vec::new(),
            }];
        }
        self.sync_step("Push or merge, and wait")
    }

    /// The push alone, if further steps must unblock the GitOps controller.
    pub(super) fn push(&self) -> Step {
        Step {
            what: format!(
                "Push or merge. {} stops at objects that cannot be changed in place, reports an error, and retries \
                 until the next steps are done",
                self.setting.after.tool
            ),
            commands: Vec::new(),
            changes: Vec::new(),
        }
    }

    /// The step that waits for the GitOps controller.
    pub(super) fn wait_for_sync(&self) -> Vec<Step> {
        self.sync_step("Wait")
    }

    fn sync_step(&self, begin: &str) -> Vec<Step> {
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
                "{begin} until {} has synced it{}",
                self.setting.after.tool,
                if guide.elsewhere {
                    ": check in the cluster that it runs in"
                } else {
                    ""
                }
            ),
            commands: vec![get],
            changes: Vec::new(),
        }]
    }

    /// The step that verifies the cluster.
    pub(super) fn verify() -> Step {
        Step {
            what: "Verify that all resources exist and nodes advertise the expected resources"
                .to_owned(),
            commands: vec!["cloud/verify.sh".to_owned()],
            changes: Vec::new(),
        }
    }

    /// Preconditions that the scripts only check, and the user must change first.
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
                        "gpuc does not manage this cluster itself: change its {} from {} to {} first, with the tool \
                         that created it. Every script stops until then",
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

    /// Whether a new taint evicts running pods: they must tolerate it first.
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

    /// Whether new pools are added.
    pub(super) fn has_new_pools(&self) -> bool {
        let is_new = |change: &Change| change.kind == "pool" && change.fate == ClusterFate::Added;
        self.changes.iter().any(is_new)
    }

    /// Changes of pools that are removed or replaced.
    pub(super) fn gone_from_files(&self) -> Vec<&Change> {
        let is_gone = |change: &&Change| {
            let impacts = [Impact::Deleted, Impact::Replaced];
            impacts.contains(&change.impact) || self.makes_way(change)
        };
        self.changes.iter().filter(is_gone).collect()
    }

    /// Whether existing nodes are removed from the input while new pools replace them.
    fn makes_way(&self, change: &Change) -> bool {
        let is_theirs = |name: &String| self.both(name)[0].is_some_and(|pool| pool.is_existing());
        change.kind == "pool"
            && change.fate == ClusterFate::Removed
            && change.names.iter().any(is_theirs)
            && self.has_new_pools()
    }

    /// Removed pools whose components are pruned as soon as the change is pushed.
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

    /// Whether a removed pool must stay in the input until the new pools are ready.
    pub(super) fn leaves_later(&self, name: &str) -> bool {
        self.has_new_pools()
            && !self.cannot_stay(name)
            && self.pruned_pools().iter().any(|it| it == name)
    }

    /// Steps for removed pools that are replaced: the new pools are created first.
    pub(super) fn stays_at_first(&self) -> Vec<Step> {
        let deleted = self.gone_from_files();
        let gone = self
            .pruned_pools()
            .into_iter()
            .filter(|name| self.leaves_later(name));
        let steps = gone.map(|name| Step {
            what: format!(
                "{} prunes the components of pool {name} as soon as you push a tree without it: leave it in \
                 gpu-cluster.yaml for now, next to the new pools",
                self.setting.after.tool
            ),
            commands: Vec::new(),
            changes: ids(&about_pool(&deleted, &name)),
        });
        steps.collect()
    }

    /// Steps for removed pools without a replacement: they are drained while their components still run.
    pub(super) fn before_push(&self) -> Vec<Step> {
        let deleted = self.gone_from_files();
        let gone = self.pruned_pools().into_iter().filter(|name| {
            let is_scripted = self.both_makers(name)[0].is_none();
            self.is_emptied_first(name) && !(is_scripted && self.leaves_first(name))
        });
        let tool = self.setting.after.tool;
        let what = |name: &str| match self.both_makers(name)[0] {
            Some(maker) => format!(
                "When pool {name} is no longer needed, drain its nodes before you push the change: {tool} then prunes \
                 the objects of {0}, and {0} deletes the nodes. Until the push, {0} creates other nodes for pending \
                 pods",
                maker.name
            ),
            None => format!(
                "When the old nodes of pool {name} are no longer needed, drain them before you push the change: {tool} \
                 then prunes their components"
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

    /// Steps that run the scripts of new or changed hosts.
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
            // If only hosts were removed, the remaining hosts need no run.
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
                    "Copy {script} to each of {} and run it there, one host after the other: it installs the packages \
                     that the host needs, and reports when the host must reboot",
                    hosts.join(", ")
                ),
                commands: vec![format!("sudo ./host-{pool}.sh")],
                changes: ids(&about_pool(&about, pool)),
            });
        }
        steps
    }

    /// Whether a host's script is unchanged except for the list of hosts.
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
