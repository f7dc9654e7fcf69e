//! Replacement of the cluster by another one, and renamed clusters.

use gpuc_compile::compile::Compilation;
use gpuc_syntax::shell;

use super::super::classify::is_created_by_gpuc;
use super::super::entities::EntityKey;
use super::super::impact::Impact;
use super::super::location::CLUSTER_SCRIPT;
use super::super::report::{Change, Step};
use super::changed_pools::change_ids;
use super::command_names::{BUILD, TEARDOWN};
use super::gitops::controller;
use super::states::Rollout;

/// The steps to another cluster, if this one cannot be changed in place.
pub(super) fn replace_cluster(rollout: &Rollout<'_>) -> Option<Vec<Step>> {
    let changes: Vec<&Change> = (rollout.changes.iter())
        .filter(|change| rollout.replaces_cluster(change))
        .collect();
    if changes.is_empty() || rollout.before.is_none() {
        return None;
    }
    let step = |what: String, commands: &[&str]| Step {
        instruction: what,
        commands: commands.iter().map(|&command| command.to_owned()).collect(),
        changes: change_ids(&changes),
    };
    let write = rollout.new_file_text();
    let restore = match rollout.names_if_renamed() {
        Some([old, new]) => format!(
            "A cluster cannot be renamed: {new} is a new one. Restore the gpu-cluster.yaml of {old}, and {write}"
        ),
        None => format!(
            "The existing cluster cannot be changed like this. Restore its gpu-cluster.yaml, and {write}, with another \
             metadata.name"
        ),
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
        rollout.build_new_cluster(),
        step(
            create.to_owned(),
            &["cloud/apply.sh --dry-run", "cloud/apply.sh"],
        ),
    ];
    let deploy = rollout.register_new_cluster();
    steps.extend(deploy.unwrap_or_else(|| rollout.deploy_steps()));
    steps.push(Rollout::verify_step());
    steps.push(step(
        format!("Move the workloads. When the old cluster is no longer needed, {remove}"),
        &[&format!("{TEARDOWN} --dry-run"), TEARDOWN],
    ));
    steps.push(step(
        "Delete the file and the tree of the old cluster, and commit".to_owned(),
        &[],
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

    /// The file of the old cluster, and that of the new cluster; `None` if the new one already has its own file.
    fn files_of_both(&self) -> Option<[String; 2]> {
        let (before, after) = (self.before?, self.after?);
        if before.loaded.file != after.loaded.file {
            return None;
        }
        let path = self.sources.get(after.loaded.source)?.path();
        let (folder, file) = path.split_at(path.rfind(['/', '\\']).map_or(0, |slash| slash + 1));
        let name = self.names_if_renamed().map_or("new", |[_, new]| new);
        let own_file = [name, "new"].map(|name| format!("{name}.gpu-cluster.yaml"));
        let own_file = own_file.into_iter().find(|own| own != file)?;
        Some([path.to_owned(), format!("{folder}{own_file}")])
    }

    /// The instruction to write the new cluster to a file of its own.
    fn new_file_text(&self) -> String {
        let new = self
            .names_if_renamed()
            .map_or("the new cluster", |[_, new]| new);
        match self.files_of_both() {
            Some([_, own_file]) => format!("write {new} to {own_file}"),
            None => format!("leave {new} in its own file"),
        }
    }

    /// The step that builds the tree of the new cluster, next to that of the old one.
    fn build_new_cluster(&self) -> Step {
        let (trees, command) = match self.files_of_both() {
            Some(files) => (
                "the trees of both clusters",
                format!(
                    "{BUILD} {}",
                    files.map(|file| shell::quote(&file)).join(" ")
                ),
            ),
            None => ("the tree of the new cluster", BUILD.to_owned()),
        };
        let push = if controller(self.after).is_some() {
            "; push in a later step"
        } else {
            ""
        };
        Step {
            instruction: format!("Build {trees}, review and commit{push}"),
            commands: vec![command],
            changes: Vec::new(),
        }
    }

    /// Whether a change replaces the cluster itself.
    pub(super) fn replaces_cluster(&self, change: &Change) -> bool {
        let is_cluster = |name: &String| {
            [self.setting.before, self.setting.after]
                .into_iter()
                .flat_map(|side| &side.by_key)
                .any(|(key, entity)| {
                    matches!(key, EntityKey::Resource(kind, other) if *kind == change.kind && other == name)
                        && entity.component == CLUSTER_SCRIPT
                })
        };
        change.impact == Impact::Replaced
            && (change.kind == EntityKey::Location.kind() || change.names.iter().any(is_cluster))
            && !self.is_downgrade(change)
    }
}
