//! Another cluster in the place of the one that there is, and a cluster of another name.

use super::super::impact::Impact;
use super::super::judge::{CLUSTER, is_made};
use super::super::parts::Key;
use super::super::shown::{Change, Step};
use super::{Rollout, ids};
use crate::compile::Compilation;

impl Rollout<'_> {
    /// The names in the input, before and after, where it is another one.
    pub(super) fn renamed(&self) -> Option<[&str; 2]> {
        fn name(side: Option<&Compilation>) -> Option<&str> {
            let config = side?.config.as_ref()?;
            Some(config.metadata.name.value.as_str())
        }
        let names = [name(self.before)?, name(self.after)?];
        (names[0] != names[1]).then_some(names)
    }

    /// Whether something replaced is the cluster itself.
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

    /// The steps to another cluster, where this one cannot become what it shall be.
    pub(super) fn another_cluster(&self) -> Option<Vec<Step>> {
        let these: Vec<&Change> = self
            .changes
            .iter()
            .filter(|it| self.is_of_cluster(it))
            .collect();
        if these.is_empty() || self.before.is_none() {
            return None;
        }
        let [was_made, is_made] = [self.setting.before, self.setting.after].map(is_made);
        let step = |what: String, commands: &[&str]| Step {
            what,
            commands: commands.iter().map(|it| (*it).to_owned()).collect(),
            changes: ids(&these),
        };
        let leave = match self.renamed() {
            Some([old, new]) => format!(
                "A cluster cannot be renamed: {new} is another one. Leave the gpu-cluster.yaml of {old} as it was, and \
                 write {new} into another file"
            ),
            None => "The cluster that is there cannot become this. Leave its gpu-cluster.yaml as it was, and write \
                     what it shall be into another file, with another metadata.name"
                .to_owned(),
        };
        let make = if is_made {
            "Make the new cluster, from its own folder in the tree"
        } else {
            "Make what the other cluster needs, from its own folder in the tree"
        };
        let remove = if was_made {
            "remove it"
        } else {
            "remove what gpuc made for it"
        };
        let mut steps = vec![step(leave, &[]), self.build()];
        steps.push(step(
            make.to_owned(),
            &["cloud/apply.sh --dry-run", "cloud/apply.sh"],
        ));
        steps.extend(self.told_elsewhere());
        steps.extend(self.brought());
        steps.push(Self::verified());
        steps.push(step(
            format!(
                "Move the work. When nothing needs the old cluster any more, {remove} from its own folder, as the base \
                 has that, and then its file and its folder"
            ),
            &["cloud/teardown.sh --dry-run", "cloud/teardown.sh"],
        ));
        Some(steps)
    }
}
