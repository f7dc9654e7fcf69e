//! Change of the GitOps controller: the old one must stop pruning before its objects are deleted.

use gpuc_compile::compile::Compilation;
use gpuc_model::plan::{Delivery, Guide};
use gpuc_syntax::shell;

use super::super::report::{Change, Step};
use super::changed_pools::change_ids;
use super::phases::{Phase, Planned};
use super::states::Rollout;

/// A GitOps controller, its directory in the tree, and how the tree is registered with it.
pub(super) struct Controller<'a> {
    pub(super) name: &'static str,
    pub(super) folder: &'static str,
    pub(super) guide: &'a Guide,
}

/// The GitOps controller of a state, if any.
pub(super) fn controller(side: Option<&Compilation>) -> Option<Controller<'_>> {
    match &side?.plan.as_ref()?.delivery {
        Delivery::Script => None,
        Delivery::Gitops {
            tool,
            folder,
            guide,
            ..
        } => Some(Controller {
            name: tool,
            folder,
            guide,
        }),
    }
}

/// The step that makes the old controller keep the running resources, before the commit.
pub(super) fn release_old_controller(rollout: &Rollout<'_>) -> Vec<Planned> {
    let old = controller(rollout.before).filter(|_| rollout.changes_controller());
    let step = old.map(|old| {
        let commands = old.guide.leaving.iter().map(|command| (*command).to_owned());
        Step {
            instruction: format!(
                "Before you commit this change, make {} keep all running resources, from the cluster's directory as of \
                 the base{}: otherwise it deletes the resources that it deployed when its own objects are deleted",
                old.name,
                location_note(&old)
            ),
            commands: rollout.controller_commands(&old, commands),
            changes: change_ids(&rollout.changes_in_folder(old.folder)),
        }
    });
    Phase::ReleaseController.plan(step)
}

impl Rollout<'_> {
    /// Whether another controller deploys the tree after the change, or none.
    fn changes_controller(&self) -> bool {
        !self.setting.before.is_deployed_like(self.setting.after)
    }

    /// The steps by which the new delivery takes over.
    pub(super) fn hand_over_delivery(&self) -> Option<Vec<Step>> {
        if self.before.is_none() {
            return self.register_new_tree();
        }
        if !self.changes_controller() {
            return self.register_moved_tree();
        }
        let (old, new) = (controller(self.before), controller(self.after));
        let renders_charts =
            |side: &Option<Controller<'_>>| side.as_ref().is_some_and(|tool| tool.guide.renders);
        let folder = new.as_ref().map_or("", |new| new.folder);
        let mut changes = self.changes_in_folder(folder);
        changes.dedup();
        let Some(new_controller) = &new else {
            let flag = if renders_charts(&old) {
                " --take-ownership"
            } else {
                ""
            };
            let step = |command| Step {
                instruction:
                    "Deploy the tree with install.sh, which takes over the running resources"
                        .to_owned(),
                commands: vec![format!("{command}{flag}")],
                changes: change_ids(&changes),
            };
            return Some(self.deploy_command().map(step).into_iter().collect());
        };
        let apply = format!("kubectl apply --server-side --kustomize {folder}");
        let mut commands = self.controller_commands(new_controller, [apply]);
        // Rendered charts are no longer Helm releases, but `helm uninstall` would still delete them.
        if renders_charts(&new) && !renders_charts(&old) {
            commands.extend(self.delete_helm_records_commands());
        }
        Some(vec![Step {
            instruction: format!(
                "After the push, register the tree with {}{}: it takes over the running resources",
                new_controller.name,
                location_note(new_controller)
            ),
            commands,
            changes: change_ids(&changes),
        }])
    }

    /// The steps for a tree that moves to another location: the registration was applied by hand, so it must be applied
    /// again by hand.
    fn register_moved_tree(&self) -> Option<Vec<Step>> {
        let (old, new) = (controller(self.before)?, controller(self.after)?);
        let location = |controller: &Controller<'_>| {
            let guide = controller.guide;
            [&guide.repository, &guide.branch, &guide.path].map(Clone::clone)
        };
        if self.changes_controller() || location(&old) == location(&new) {
            return None;
        }
        let apply = format!("kubectl apply --server-side --kustomize {}", new.folder);
        let mut steps = vec![Step {
            instruction: format!(
                "Push the tree to its new location, and then register the new location with {}{}: apply its objects \
                 again, because it syncs from the old location until then. Keep the tree in the old location until \
                 this is done",
                new.name,
                location_note(&new)
            ),
            commands: self.controller_commands(&new, [apply]),
            changes: change_ids(&self.changes_in_folder(new.folder)),
        }];
        steps.extend(self.wait_for_sync_steps());
        Some(steps)
    }

    /// The steps that push the tree of another cluster, and register it with a GitOps controller, if there is one.
    pub(super) fn register_new_cluster(&self) -> Option<Vec<Step>> {
        let new = controller(self.after)?;
        let kubectl = match &self.setting.after.context {
            Some(context) if !new.guide.elsewhere => {
                format!("kubectl --context {}", shell::quote(context))
            }
            _ => "kubectl".to_owned(),
        };
        let location = if new.guide.elsewhere {
            location_note(&new)
        } else {
            ", in the new cluster".to_owned()
        };
        let push = Step {
            instruction: "Push or merge".to_owned(),
            commands: Vec::new(),
            changes: Vec::new(),
        };
        let register = Step {
            instruction: format!(
                "Register the tree with {}{location}; the tree's README lists the prerequisites",
                new.name,
            ),
            commands: vec![format!(
                "{kubectl} apply --server-side --kustomize {}",
                new.folder
            )],
            changes: change_ids(&self.changes_in_folder(new.folder)),
        };
        let mut steps = vec![push, register];
        steps.extend(self.sync_steps("Wait", &kubectl));
        Some(steps)
    }

    /// The commands that delete Helm's records of the existing releases.
    fn delete_helm_records_commands(&self) -> Vec<String> {
        let plan = self.before.and_then(|before| before.plan.as_ref());
        (plan.iter().flat_map(|plan| &plan.releases))
            .map(|release| {
                format!(
                    "{} delete secret --namespace {} --selector owner=helm,name={}",
                    self.kubectl(),
                    shell::quote(&release.namespace),
                    shell::quote(&release.name)
                )
            })
            .collect()
    }

    /// The commands with the context of this cluster, unless the controller runs in another one.
    pub(super) fn controller_commands(
        &self,
        controller: &Controller<'_>,
        commands: impl IntoIterator<Item = String>,
    ) -> Vec<String> {
        let kubectl = format!("{} ", self.kubectl());
        (commands.into_iter())
            .map(|command| {
                if controller.guide.elsewhere {
                    command
                } else {
                    command.replace("kubectl ", &kubectl)
                }
            })
            .collect()
    }

    /// The changes of the files in a directory.
    pub(super) fn changes_in_folder(&self, folder: &str) -> Vec<&Change> {
        let prefix = format!("{folder}/");
        (self.changes.iter())
            .filter(|change| change.files.iter().any(|file| file.starts_with(&prefix)))
            .collect()
    }
}

/// The note in which cluster to run a controller's commands, if that is another one.
pub(super) fn location_note(controller: &Controller<'_>) -> String {
    if controller.guide.elsewhere {
        format!(", in the cluster that {} runs in", controller.name)
    } else {
        String::new()
    }
}
