//! Replacement of the cluster by another one, and renamed clusters.

use gpuc_compile::compile::Compilation;

use super::super::classify::{CLUSTER, is_made};
use super::super::entities::Key;
use super::super::impact::Impact;
use super::super::report::{Change, Step};
use super::{Rollout, ids};

impl Rollout<'_> {
    /// The names before and after, if the cluster was renamed.
    pub(super) fn renamed(&self) -> Option<[&str; 2]> {
        fn name(side: Option<&Compilation>) -> Option<&str> {
            let config = side?.config.as_ref()?;
            Some(config.metadata.name.value.as_str())
        }
        let names = [name(self.before)?, name(self.after)?];
        (names[0] != names[1]).then_some(names)
    }

    /// Whether a change replaces the cluster itself.
    pub(super) fn is_of_cluster(&self, change: &Change) -> bool {
        let is_cluster = |name: &String| {
            let sides = [self.setting.before, self.setting.after];
            sides
                .iter()
                .flat_map(|parts| &parts.all)
                .any(|(key, part)| {
                    matches!(key, Key::Resource(kind, of) if *kind == change.kind && of == name)
                        && part.component == CLUSTER
                })
        };
        change.impact == Impact::Replaced
            && (change.kind == Key::Place.kind() || change.names.iter().any(is_cluster))
            && !self.goes_back(change)
    }

    /// The steps to another cluster, if this one cannot be changed in place.
    pub(super) fn another_cluster(&self) -> Option<Vec<Step>> {
        let changes: Vec<&Change> = self
            .changes
            .iter()
            .filter(|change| self.is_of_cluster(change))
            .collect();
        if changes.is_empty() || self.before.is_none() {
            return None;
        }
        let [was_made, is_made] = [self.setting.before, self.setting.after].map(is_made);
        let step = |what: String, commands: &[&str]| Step {
            what,
            commands: commands.iter().map(|it| (*it).to_owned()).collect(),
            changes: ids(&changes),
        };
        let leave = match self.renamed() {
            Some([old, new]) => format!(
                "A cluster cannot be renamed: {new} is a new one. Restore the gpu-cluster.yaml of {old}, and write \
                 {new} to another file"
            ),
            None => "The existing cluster cannot be changed like this. Restore its gpu-cluster.yaml, and write the new \
                     cluster to another file, with another metadata.name"
                .to_owned(),
        };
        let make = if is_made {
            "Create the new cluster, from its own directory in the tree"
        } else {
            "Create the resources for the other cluster, from its own directory in the tree"
        };
        let remove = if was_made {
            "remove it"
        } else {
            "remove the resources that gpuc created for it"
        };
        let mut steps = vec![step(leave, &[]), self.build()];
        steps.push(step(
            make.to_owned(),
            &["cloud/apply.sh --dry-run", "cloud/apply.sh"],
        ));
        steps.extend(self.register_tree_elsewhere());
        steps.extend(self.deploy());
        steps.push(Self::verify());
        steps.push(step(
            format!(
                "Move the workloads. When the old cluster is no longer needed, {remove} from its own directory as of \
                 the base, and then delete its file and its directory"
            ),
            &["cloud/teardown.sh --dry-run", "cloud/teardown.sh"],
        ));
        Some(steps)
    }
}
