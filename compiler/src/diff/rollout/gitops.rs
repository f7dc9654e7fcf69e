//! Another tool that brings the tree: the old one must leave what runs before it hears that it is gone.

use super::super::shown::{Change, Step};
use super::{Rollout, ids};
use crate::compile::Compilation;
use crate::plan::{Delivery, Guide};
use crate::shell;

/// A tool, its folder in the tree, and how it is told of that.
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

    /// The old tool leaves what runs, before anything is committed.
    pub(super) fn old_tool_leaves(&self) -> Option<Step> {
        let old = tool(self.before).filter(|_| self.changes_tool())?;
        Some(Step {
            what: format!(
                "Before this is committed, make {} leave all that runs, from the cluster's folder as the base has it{}: \
                 otherwise it removes what it brought when it is told that it is gone",
                old.name,
                place(&old)
            ),
            commands: self.of_tool(&old, old.guide.leaving.iter().map(|it| (*it).to_owned())),
            changes: ids(&self.about(old.folder)),
        })
    }

    /// What brings the tree from now on takes over.
    pub(super) fn new_tool_begins(&self) -> Option<Vec<Step>> {
        if self.before.is_none() {
            return self.told_once();
        }
        if !self.changes_tool() {
            return self.told_anew();
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
                "Bring the tree by install.sh, which takes over what runs".to_owned()
            }
            Some(new) => {
                let begin = format!("kubectl apply --server-side --kustomize {}", new.folder);
                commands.extend(self.of_tool(new, [begin]));
                format!(
                    "Tell {} of the tree, once it is pushed{}: it takes over what runs",
                    new.name,
                    place(new)
                )
            }
        };
        let mut about = self.about(new.as_ref().map_or("", |new| new.folder));
        about.dedup();
        // What is rendered is no release of Helm's any more, and `helm uninstall` would remove it.
        if renders(&new) && !renders(&old) {
            commands.extend(self.forgotten());
        }
        Some(vec![Step {
            what,
            commands,
            changes: ids(&about),
        }])
    }

    /// The tool that stays looks elsewhere for the tree: what it was told of that by hand, nothing in the tree changes
    /// before it looks there.
    fn told_anew(&self) -> Option<Vec<Step>> {
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
                "Push the tree to where it shall be, and then tell {} so{}: the objects that tell it of the tree are \
                 applied anew, because it looks where it was told to until then. Keep the tree where it was until \
                 this is done",
                new.name,
                place(&new)
            ),
            commands: self.of_tool(&new, [begin]),
            changes: ids(&self.about(new.folder)),
        }];
        steps.extend(self.awaited());
        Some(steps)
    }

    /// The tool of another cluster hears of the tree.
    pub(super) fn told_elsewhere(&self) -> Option<Step> {
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
                "When the tree is pushed, tell {} of it{}; the tree's README says what it needs there",
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

    /// The commands by which Helm forgets the releases that are there.
    fn forgotten(&self) -> Vec<String> {
        let plan = self.before.and_then(|before| before.plan.as_ref());
        let releases = plan.iter().flat_map(|plan| &plan.releases);
        let forget = |release: &crate::plan::Release| {
            format!(
                "{} delete secret --namespace {} --selector owner=helm,name={}",
                self.kubectl(),
                shell::quote(&release.namespace),
                shell::quote(&release.name)
            )
        };
        releases.map(forget).collect()
    }

    /// Commands of a tool, which may run in another cluster.
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

    /// The changes of the files in a folder.
    pub(super) fn about(&self, folder: &str) -> Vec<&Change> {
        let below = format!("{folder}/");
        let is_below = |change: &&Change| change.files.iter().any(|file| file.starts_with(&below));
        self.changes.iter().filter(is_below).collect()
    }
}

/// Where to run its commands, when that is another cluster.
pub(super) fn place(tool: &Tool<'_>) -> String {
    if tool.guide.elsewhere {
        format!(", in the cluster that {} runs in", tool.name)
    } else {
        String::new()
    }
}
