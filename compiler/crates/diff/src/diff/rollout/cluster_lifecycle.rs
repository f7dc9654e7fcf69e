//! New and removed clusters.

use super::super::report::{Change, Step};
use super::gitops::{place, tool};
use super::{Rollout, ids};

/// Removes a cluster, from its directory in the tree.
pub const TEARDOWN: &str = "cloud/teardown.sh";

/// The steps that remove a cluster.
pub(super) fn gone(changes: &[Change]) -> Vec<Step> {
    let moved = Step {
        what: "If another cluster replaces it, create that one first, by its own steps. Then move the workloads and \
               the stored data"
            .to_owned(),
        commands: Vec::new(),
        changes: Vec::new(),
    };
    let removed = Step {
        what: "When the cluster is no longer needed, remove it with its tree as of the base, which has the only script \
               that can. Copy stored data that you need first"
            .to_owned(),
        commands: vec![format!("{TEARDOWN} --dry-run"), TEARDOWN.to_owned()],
        changes: changes.iter().map(|change| change.id).collect(),
    };
    vec![moved, removed]
}

impl Rollout<'_> {
    /// The steps that register a new cluster's tree with the GitOps controller.
    pub(super) fn register_tree(&self) -> Option<Vec<Step>> {
        let new = tool(self.after).filter(|_| self.before.is_none())?;
        let begin = format!("kubectl apply --server-side --kustomize {}", new.folder);
        let mut steps = vec![Step {
            what: format!(
                "Push or merge, and register the tree with {} once{}: the tree's README lists the prerequisites, such \
                 as the Secret for access to the repository",
                new.name,
                place(&new)
            ),
            commands: self.of_tool(&new, [begin]),
            changes: ids(&self.about(new.folder)),
        }];
        steps.extend(self.wait_for_sync());
        Some(steps)
    }
}
