//! Replacement of the cluster by another one, and renamed clusters.

use gpuc_compile::compile::Compilation;

use super::super::classify::{CLUSTER_SCRIPT, is_created_by_gpuc};
use super::super::entities::EntityKey;
use super::super::impact::Impact;
use super::super::report::{Change, Step};
use super::{Rollout, change_ids};

/// The steps to another cluster, if this one cannot be changed in place.
pub(super) fn replace_cluster(rollout: &Rollout<'_>) -> Option<Vec<Step>> {
    let changes: Vec<&Change> = (rollout.changes.iter())
        .filter(|change| rollout.replaces_cluster(change))
        .collect();
    if changes.is_empty() || rollout.before.is_none() {
        return None;
    }
    let step = |what: String, commands: &[&str]| Step {
        what,
        commands: commands.iter().map(|&command| command.to_owned()).collect(),
        changes: change_ids(&changes),
    };
    let restore = match rollout.names_if_renamed() {
        Some([old, new]) => format!(
            "A cluster cannot be renamed: {new} is a new one. Restore the gpu-cluster.yaml of {old}, and write {new} \
             to another file"
        ),
        None => "The existing cluster cannot be changed like this. Restore its gpu-cluster.yaml, and write the new \
                 cluster to another file, with another metadata.name"
            .to_owned(),
    };
    let create = if is_created_by_gpuc(rollout.setting.after) {
        "Create the new cluster, from its own directory in the tree"
    } else {
        "Create the resources for the other cluster, from its own directory in the tree"
    };
    let remove = if is_created_by_gpuc(rollout.setting.before) {
        "remove it"
    } else {
        "remove the resources that gpuc created for it"
    };
    let mut steps = vec![
        step(restore, &[]),
        rollout.build_step(),
        step(
            create.to_owned(),
            &["cloud/apply.sh --dry-run", "cloud/apply.sh"],
        ),
    ];
    steps.extend(rollout.register_new_cluster());
    steps.extend(rollout.deploy_steps());
    steps.push(Rollout::verify_step());
    steps.push(step(
        format!(
            "Move the workloads. When the old cluster is no longer needed, {remove} from its own directory as of the \
             base, and then delete its file and its directory"
        ),
        &["cloud/teardown.sh --dry-run", "cloud/teardown.sh"],
    ));
    Some(steps)
}

impl Rollout<'_> {
    /// The names of the cluster before and after, if it was renamed.
    pub(super) fn names_if_renamed(&self) -> Option<[&str; 2]> {
        fn cluster_name(side: Option<&Compilation>) -> Option<&str> {
            let config = side?.config.as_ref()?;
            Some(config.metadata.name.value.as_str())
        }
        let (old, new) = (cluster_name(self.before)?, cluster_name(self.after)?);
        (old != new).then_some([old, new])
    }

    /// Whether a change replaces the cluster itself.
    pub(super) fn replaces_cluster(&self, change: &Change) -> bool {
        let is_cluster = |name: &String| {
            [self.setting.before, self.setting.after]
                .into_iter()
                .flat_map(|side| &side.by_key)
                .any(|(key, part)| {
                    matches!(key, EntityKey::Resource(kind, other) if *kind == change.kind && other == name)
                        && part.component == CLUSTER_SCRIPT
                })
        };
        change.impact == Impact::Replaced
            && (change.kind == EntityKey::Location.kind() || change.names.iter().any(is_cluster))
            && !self.is_downgrade(change)
    }
}
