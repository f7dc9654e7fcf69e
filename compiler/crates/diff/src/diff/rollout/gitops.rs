//! Change of the GitOps controller: the old one must stop pruning before its objects are deleted.

use gpuc_compile::compile::Compilation;
use gpuc_model::plan::{Delivery, Guide};
use gpuc_syntax::shell;

use super::super::report::{Change, Step};
use super::{Rollout, ids};

/// A GitOps controller, its directory in the tree, and how the tree is registered with it.
pub(super) struct Tool<'a> {
    pub(super) name: &'static str,
    pub(super) folder: &'static str,
    pub(super) guide: &'a Guide,
}

pub(super) fn tool(side: Option<&Compilation>) -> Option<Tool<'_>> {
    match &side?.plan.as_ref()?.delivery {
        Delivery::Script => None,
        Delivery::Gitops {
            tool,
            folder,
            guide,
            ..
        } => Some(Tool {
            name: tool,
            folder,
            guide,
        }),
    }
}

impl Rollout<'_> {
    fn changes_tool(&self) -> bool {
        !self.setting.before.is_brought_as(self.setting.after)
    }

    /// The step that makes the old controller keep the running resources, before the commit.
    pub(super) fn release_old_controller(&self) -> Option<Step> {
        let old = tool(self.before).filter(|_| self.changes_tool())?;
        Some(Step {
            what: format!(
                "Before you commit this change, make {} keep all running resources, from the cluster's directory as of \
                 the base{}: otherwise it deletes the resources that it deployed when its own objects are deleted",
                old.name,
                place(&old)
            ),
            commands: self.of_tool(&old, old.guide.leaving.iter().map(|it| (*it).to_owned())),
            changes: ids(&self.about(old.folder)),
        })
    }

    /// The steps by which the new delivery takes over.
    pub(super) fn hand_over_delivery(&self) -> Option<Vec<Step>> {
        if self.before.is_none() {
            return self.register_tree();
        }
        if !self.changes_tool() {
            return self.register_tree_again();
        }
        let (old, new) = (tool(self.before), tool(self.after));
        let renders = |tool: &Option<Tool<'_>>| tool.as_ref().is_some_and(|it| it.guide.renders);
        let mut commands = Vec::new();
        let what = match &new {
            None => {
                commands.push(if renders(&old) {
                    "./install.sh --take-ownership".to_owned()
                } else {
                    "./install.sh".to_owned()
                });
                "Deploy the tree with install.sh, which takes over the running resources".to_owned()
            }
            Some(new) => {
                let begin = format!("kubectl apply --server-side --kustomize {}", new.folder);
                commands.extend(self.of_tool(new, [begin]));
                format!(
                    "After the push, register the tree with {}{}: it takes over the running resources",
                    new.name,
                    place(new)
                )
            }
        };
        let mut about = self.about(new.as_ref().map_or("", |new| new.folder));
        about.dedup();
        // Rendered charts are no longer Helm releases, but `helm uninstall` would still delete them.
        if renders(&new) && !renders(&old) {
            commands.extend(self.forgotten());
        }
        Some(vec![Step {
            what,
            commands,
            changes: ids(&about),
        }])
    }

    /// The steps for a tree that moves to another location: the registration was applied by hand, so it must be applied
    /// again by hand.
    fn register_tree_again(&self) -> Option<Vec<Step>> {
        let (old, new) = (tool(self.before)?, tool(self.after)?);
        let place_of = |tool: &Tool<'_>| {
            let guide = tool.guide;
            [&guide.repository, &guide.branch, &guide.path].map(Clone::clone)
        };
        if self.changes_tool() || place_of(&old) == place_of(&new) {
            return None;
        }
        let begin = format!("kubectl apply --server-side --kustomize {}", new.folder);
        let mut steps = vec![Step {
            what: format!(
                "Push the tree to its new location, and then register the new location with {}{}: apply its objects \
                 again, because it syncs from the old location until then. Keep the tree in the old location until \
                 this is done",
                new.name,
                place(&new)
            ),
            commands: self.of_tool(&new, [begin]),
            changes: ids(&self.about(new.folder)),
        }];
        steps.extend(self.wait_for_sync());
        Some(steps)
    }

    /// The step that registers the tree with the controller of another cluster.
    pub(super) fn register_tree_elsewhere(&self) -> Option<Step> {
        let new = tool(self.after)?;
        let kubectl = match &self.setting.after.context {
            Some(context) => format!("kubectl --context {}", shell::quote(context)),
            None => "kubectl".to_owned(),
        };
        let kubectl = if new.guide.elsewhere {
            "kubectl"
        } else {
            &kubectl
        };
        let command = format!("{kubectl} apply --server-side --kustomize {}", new.folder);
        Some(Step {
            what: format!(
                "After the push, register the tree with {}{}; the tree's README lists the prerequisites",
                new.name,
                if new.guide.elsewhere {
                    place(&new)
                } else {
                    ", in the new cluster".to_owned()
                }
            ),
            commands: vec![command],
            changes: ids(&self.about(new.folder)),
        })
    }

    /// The commands that delete Helm's records of the existing releases.
    fn forgotten(&self) -> Vec<String> {
        let plan = self.before.and_then(|before| before.plan.as_ref());
        let releases = plan.iter().flat_map(|plan| &plan.releases);
        let forget = |release: &gpuc_model::plan::Release| {
            format!(
                "{} delete secret --namespace {} --selector owner=helm,name={}",
                self.kubectl(),
                shell::quote(&release.namespace),
                shell::quote(&release.name)
            )
        };
        releases.map(forget).collect()
    }

    /// Commands for a controller that may run in another cluster.
    pub(super) fn of_tool(
        &self,
        tool: &Tool<'_>,
        commands: impl IntoIterator<Item = String>,
    ) -> Vec<String> {
        let kubectl = format!("{} ", self.kubectl());
        let here = |command: String| {
            if tool.guide.elsewhere {
                command
            } else {
                command.replace("kubectl ", &kubectl)
            }
        };
        commands.into_iter().map(here).collect()
    }

    /// The changes of the files in a directory.
    pub(super) fn about(&self, folder: &str) -> Vec<&Change> {
        let below = format!("{folder}/");
        let is_below = |change: &&Change| change.files.iter().any(|file| file.starts_with(&below));
        self.changes.iter().filter(is_below).collect()
    }
}

/// The cluster to run its commands in, if that is another one.
pub(super) fn place(tool: &Tool<'_>) -> String {
    if tool.guide.elsewhere {
        format!(", in the cluster that {} runs in", tool.name)
    } else {
        String::new()
    }
}
