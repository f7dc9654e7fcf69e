//! New and removed clusters.

use super::super::report::{Change, Step};
use super::changed_pools::change_ids;
use super::command_names::TEARDOWN;
use super::gitops::{controller, location_note};
use super::states::Rollout;

/// The steps that remove a cluster.
pub(super) fn remove_cluster(changes: &[Change]) -> Vec<Step> {
    let replace = Step {
        instruction: "If another cluster replaces it, create that one first, by its own steps. Then move the workloads and \
               the stored data"
            .to_owned(),
        commands: Vec::new(),
        changes: Vec::new(),
    };
    let remove = Step {
        instruction: "When the cluster is no longer needed, remove it with its tree as of the base, which has the only script \
               that can. Copy stored data that you need first"
            .to_owned(),
        commands: vec![format!("{TEARDOWN} --dry-run"), TEARDOWN.to_owned()],
        changes: changes.iter().map(|change| change.id).collect(),
    };
    vec![replace, remove]
}

impl Rollout<'_> {
    /// The steps that register a new cluster's tree with the GitOps controller.
    pub(super) fn register_new_tree(&self) -> Option<Vec<Step>> {
        let new = controller(self.after).filter(|_| self.before.is_none())?;
        let apply = format!("kubectl apply --server-side --kustomize {}", new.folder);
        let mut steps = vec![Step {
            instruction: format!(
                "Push or merge, and register the tree with {} once{}: the tree's README lists the prerequisites, such \
                 as the Secret for access to the repository",
                new.name,
                location_note(&new)
            ),
            commands: self.controller_commands(&new, [apply]),
            changes: change_ids(&self.changes_in_folder(new.folder)),
        }];
        steps.extend(self.wait_for_sync_steps());
        Some(steps)
    }
}
