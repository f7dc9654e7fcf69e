//! Clusters that come and clusters that go.

use super::super::shown::{Change, Step};
use super::gitops::{place, tool};
use super::{Rollout, ids};

/// Removes a cluster, from its folder in the tree.
pub const TEARDOWN: &str = "cloud/teardown.sh";

/// The steps to a cluster less.
pub(super) fn gone(changes: &[Change]) -> Vec<Step> {
    let moved = Step {
        what: "Where another cluster takes its place, make that one first, by its own steps. Then move the work, and \
               what is stored"
            .to_owned(),
        commands: Vec::new(),
        changes: Vec::new(),
    };
    let removed = Step {
        what: "When nothing needs the cluster any more, remove it with the tree that the base has of it: no other \
               script could. Copy what is stored there and is to be kept before"
            .to_owned(),
        commands: vec![format!("{TEARDOWN} --dry-run"), TEARDOWN.to_owned()],
        changes: changes.iter().map(|change| change.id).collect(),
    };
    vec![moved, removed]
}

impl Rollout<'_> {
    /// A tool is told of a new cluster's tree once.
    pub(super) fn told_once(&self) -> Option<Vec<Step>> {
        let new = tool(self.after).filter(|_| self.before.is_none())?;
        let begin = format!("kubectl apply --server-side --kustomize {}", new.folder);
        let mut steps = vec![Step {
            what: format!(
                "Push, or merge, and tell {} of the tree, once{}: the README there names what it needs before, such as \
                 the Secret that it reads the repository with",
                new.name,
                place(&new)
            ),
            commands: self.of_tool(&new, [begin]),
            changes: ids(&self.about(new.folder)),
        }];
        steps.extend(self.awaited());
        Some(steps)
    }
}
