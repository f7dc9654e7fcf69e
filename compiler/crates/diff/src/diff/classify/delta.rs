//! Classifies a difference by the kind of its entity.

use gpuc_compile::lock::LOCK_FILE;

use super::super::changes::{Delta, EntityChange};
use super::super::entities::EntityKey;
use super::super::impact::Impact;
use super::classification::Classification;
use super::context::DiffContext;
use super::plugin_effects::add_plugin_effects;
use super::{charts, cluster_location, cluster_replaced, kinds, pools, resource};

/// Classifies a difference.
pub(crate) fn classify(setting: &DiffContext<'_>, delta: &Delta) -> Classification {
    let classification = classify_in_place(setting, delta);
    // A new cluster runs no workloads yet.
    if setting.before.by_key.is_empty() && classification.impact < Impact::CapacityGained {
        return Classification::without_reason(Impact::Added);
    }
    cluster_replaced::classify_other_cluster(setting, delta, &classification)
        .unwrap_or(classification)
}

fn classify_in_place(setting: &DiffContext<'_>, delta: &Delta) -> Classification {
    match &delta.key {
        EntityKey::Location => cluster_location::classify(setting, delta),
        EntityKey::Pool(name) => pools::classify(setting, name, delta),
        EntityKey::Resource(kind, name) => resource::classify(setting, (kind, name), delta),
        EntityKey::Release(_) => {
            add_plugin_effects(setting, delta, charts::classify(setting, delta))
        }
        EntityKey::Object { .. } => {
            add_plugin_effects(setting, delta, kinds::classify(setting, delta))
        }
        EntityKey::ControllerObject(..)
            if delta.entity_change() != EntityChange::Added && setting.loses_controller() =>
        {
            Classification::with_reason(Impact::WorkloadRestarted, setting.pruning_warning())
        }
        EntityKey::ControllerObject(..) => match delta.entity_change() {
            EntityChange::Added => Classification::without_reason(Impact::Added),
            _ => Classification::with_reason(Impact::Nothing, "how the tree is deployed"),
        },
        EntityKey::File(path) if path == LOCK_FILE => {
            Classification::with_reason(Impact::Nothing, "generated files and pinned versions")
        }
        EntityKey::File(path) if setting.lacks_input && path.starts_with("cloud/") => {
            Classification::with_reason(
                Impact::NodesRecreated,
                "its effect in the cloud is unknown, because the tree was not built from this input: review the script",
            )
        }
        EntityKey::File(path) if delta.entity_change() == EntityChange::Modified => {
            Classification::with_reason(Impact::Nothing, file_purpose(path))
        }
        EntityKey::File(_) => Classification::without_reason(Impact::Nothing),
    }
}

/// The purpose of a file whose fields are unknown.
fn file_purpose(path: &str) -> &'static str {
    let name = path.rsplit('/').next().unwrap_or(path);
    match name {
        "README.md" => "documentation of the tree",
        "kustomization.yaml" => "the list of deployed files",
        "verify.sh" => "the checks that it runs against the cluster",
        "teardown.sh" => "the resources that it deletes when you run it",
        "install.sh" => "the resources that it installs when you run it",
        _ if name
            .rsplit_once('.')
            .is_some_and(|(_, ending)| ending == "sh") =>
        {
            "the commands that it runs when you run it"
        }
        _ => "gpuc does not parse this file: review its text",
    }
}
