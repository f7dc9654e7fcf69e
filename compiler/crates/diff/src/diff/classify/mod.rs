//! Classifies the impact of a difference on running workloads: one table for each kind of entity.

mod capacity;
mod charts;
mod cluster_location;
mod cluster_replaced;
mod hosts;
mod kinds;
mod persistent_data;
mod pools;
mod resource;
mod versions;

use gpuc_compile::lock::LOCK_FILE;

use super::changes::{Delta, EntityChange};
use super::entities::{Entities, Entity, EntityKey, TAINTS};
use super::fields::FieldValue;
use super::impact::Impact;
use capacity::capacity_impact;
pub(super) use cluster_replaced::is_created_by_gpuc;
pub(super) use hosts::MovedHost;
pub use kinds::is_known;
pub(super) use persistent_data::CLAIM_CANNOT_SHRINK;
use resource::classify_field;
pub(super) use versions::{VersionDirection, version_change};

/// The impact of a difference, with its reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Classification {
    /// The impact.
    pub impact: Impact,
    /// The reason, unless the impact is self-explanatory.
    pub reason: Option<String>,
    /// The source of a fact.
    pub source: Option<&'static str>,
    /// Whether the field is immutable, so that the object must be deleted and recreated.
    pub is_immutable: bool,
}

impl Classification {
    /// A classification without a reason.
    fn without_reason(impact: Impact) -> Self {
        Self {
            impact,
            reason: None,
            source: None,
            is_immutable: false,
        }
    }

    fn with_reason(impact: Impact, words: impl Into<String>) -> Self {
        Self {
            reason: Some(words.into()),
            ..Self::without_reason(impact)
        }
    }

    fn with_source(impact: Impact, words: impl Into<String>, source: &'static str) -> Self {
        Self {
            source: Some(source),
            ..Self::with_reason(impact, words)
        }
    }
}

/// Two states of one cluster, and whether removed objects are pruned.
pub(crate) struct DiffContext<'a> {
    /// The state before the change.
    pub before: &'a Entities,
    /// The state after the change.
    pub after: &'a Entities,
    /// Whether objects removed from the tree are deleted from the cluster.
    pub prunes_removed: bool,
    /// Whether the input of one side is unavailable, so that only the text of its scripts is known.
    pub lacks_input: bool,
}

impl DiffContext<'_> {
    /// The reason why objects removed from the tree stay in the cluster when nothing prunes them.
    pub(super) fn retention_reason(&self) -> &'static str {
        if self.before.controller.is_empty() {
            "install.sh deletes nothing"
        } else {
            "the GitOps controller that would prune it is removed as well"
        }
    }

    /// Whether the GitOps controller of the tree before the change no longer deploys it, or deploys it as another tree.
    pub(super) fn loses_controller(&self) -> bool {
        !self.before.controller.is_empty() && !self.before.is_deployed_like(self.after)
    }

    /// The effect of removing the tree from its GitOps controller.
    pub(super) fn pruning_warning(&self) -> String {
        format!(
            "{} deletes the resources it deployed when its own objects are deleted: disable its pruning before you \
             commit this change, as the steps show (gpuc diff --plan)",
            self.before.controller
        )
    }

    /// Where a resource stays that no script deletes.
    pub(super) fn retention_place(&self) -> &'static str {
        if self.before.has_user_hosts {
            "as it is"
        } else {
            "in the cloud, still billed,"
        }
    }

    /// Whether an annotation makes the GitOps controller delete and recreate an object that cannot be changed in place.
    pub(super) fn is_forced_to_recreate(&self, key: &EntityKey) -> bool {
        let is_mark = |(path, leaf): (&String, &FieldValue)| {
            let value = leaf.value.as_str().unwrap_or_default();
            path.starts_with("metadata.annotations.")
                && ((path.contains("kustomize.toolkit.fluxcd.io/force") && value == "enabled")
                    || value.contains("Force=true"))
        };
        let is_same_tool =
            self.before.by_key.is_empty() || self.before.is_deployed_like(self.after);
        let part = self.after.by_key.get(key);
        !self.after.controller.is_empty()
            && is_same_tool
            && part.is_some_and(|part| part.fields.iter().any(is_mark))
    }

    /// Whether a taint of a pool created by scripts gets another value.
    fn replaces_taint(&self, pool: &str) -> bool {
        let key = EntityKey::Pool(pool.to_owned());
        let taints = |parts: &Entities| -> Vec<(String, String)> {
            let part = parts
                .by_key
                .get(&key)
                .filter(|part| part.node_provisioner.is_none() && !part.field_kinds.is_empty());
            let leaf = part.and_then(|part| part.fields.get(TAINTS));
            let list = leaf.and_then(|leaf| leaf.value.as_array());
            let texts = list
                .into_iter()
                .flatten()
                .filter_map(serde_json::Value::as_str);
            let taints = texts.filter_map(|text| {
                let (taint, effect) = text.rsplit_once(':')?;
                let key = taint.split('=').next().unwrap_or(taint);
                Some((format!("{key}:{effect}"), text.to_owned()))
            });
            taints.collect()
        };
        let (old, new) = (taints(self.before), taints(self.after));
        let other =
            |(key, text): &(String, String)| new.iter().any(|(of, is)| of == key && is != text);
        old.iter().any(other)
    }

    /// The entity after the change, or else before it.
    pub(super) fn entity(&self, key: &EntityKey) -> Option<&Entity> {
        let before = self.before.by_key.get(key);
        self.after.by_key.get(key).or(before)
    }
}

/// The field that only pods with the MPS daemon set: the daemon identifies its clients by process.
const MPS_DAEMON_FIELD: &str = "spec.template.spec.hostPID";

/// The reason why a restart of the MPS daemon disrupts workloads.
const MPS_RESTART_REASON: &str = "its pods run the MPS daemon, and every program that computes through the daemon stops with \
    it: drain the nodes first";

/// Classifies a difference.
pub(crate) fn classify(setting: &DiffContext<'_>, delta: &Delta) -> Classification {
    let here = classify_in_place(setting, delta);
    // A new cluster runs no workloads yet.
    if setting.before.by_key.is_empty() && here.impact < Impact::CapacityGained {
        return Classification::without_reason(Impact::Added);
    }
    cluster_replaced::classify_other_cluster(setting, delta, &here).unwrap_or(here)
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

/// Adds the effects of a restarted device plugin to the classification of its kind or chart.
fn add_plugin_effects(
    setting: &DiffContext<'_>,
    delta: &Delta,
    verdict: Classification,
) -> Classification {
    let verdict = escalate_mps_restart(setting, delta, verdict);
    let tolerates = delta
        .path
        .as_deref()
        .is_some_and(|path| path.contains("tolerations["));
    let part = setting.entity(&delta.key);
    let mut pools = part.into_iter().flat_map(|part| &part.pools);
    if verdict.impact == Impact::PluginRestarted
        && tolerates
        && pools.any(|pool| setting.replaces_taint(pool))
    {
        return Classification::with_reason(
            Impact::PluginRestarted,
            "a node cannot have both values of the taint: between the run of the scripts and this deployment, no \
             device plugin that starts on these nodes tolerates them, so the steps drain them first (gpuc diff --plan)",
        );
    }
    verdict
}

/// Escalates a restart of a device plugin that also restarts the MPS daemon.
fn escalate_mps_restart(
    setting: &DiffContext<'_>,
    delta: &Delta,
    verdict: Classification,
) -> Classification {
    let sides = [setting.before, setting.after];
    let uses_mps = |name: &String| {
        let mut pools = sides.iter().flat_map(|parts| &parts.summary.pools);
        pools.any(|pool| pool.name == *name && pool.sharing.starts_with("MPS"))
    };
    let holds = |part: &Entity| match part.chart {
        // The GPU operator runs no MPS daemon here.
        Some(chart) if chart.name == gpuc_compile::charts::NVIDIA_DEVICE_PLUGIN.name => {
            part.pools.iter().any(uses_mps)
        }
        Some(_) => false,
        None => part.fields.contains_key(MPS_DAEMON_FIELD),
    };
    let mut parts = sides
        .iter()
        .filter_map(|parts| parts.by_key.get(&delta.key));
    let ends_mps_clients = parts.any(holds);
    if verdict.impact == Impact::PluginRestarted && ends_mps_clients {
        Classification::with_reason(Impact::WorkloadRestarted, MPS_RESTART_REASON)
    } else {
        verdict
    }
}

/// The script that creates the cluster itself.
pub(in crate::diff) const CLUSTER_SCRIPT: &str = "cluster";

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
