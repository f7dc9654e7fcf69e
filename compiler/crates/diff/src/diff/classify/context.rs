//! The two states that a difference is classified in.

use super::super::entities::{Entities, Entity, EntityKey, TAINTS};
use super::super::fields::FieldValue;

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
    pub(in crate::diff) fn retention_reason(&self) -> &'static str {
        if self.before.controller.is_empty() {
            "install.sh deletes nothing"
        } else {
            "the GitOps controller that would prune it is removed as well"
        }
    }

    /// Whether the GitOps controller of the tree before the change no longer deploys it, or deploys it as another tree.
    pub(in crate::diff) fn loses_controller(&self) -> bool {
        !self.before.controller.is_empty() && !self.before.is_deployed_like(self.after)
    }

    /// The effect of removing the tree from its GitOps controller.
    pub(in crate::diff) fn pruning_warning(&self) -> String {
        format!(
            "{} deletes the resources it deployed when its own objects are deleted: disable its pruning before you \
             commit this change, as the steps show (gpuc diff --plan)",
            self.before.controller
        )
    }

    /// Where a resource stays that no script deletes.
    pub(in crate::diff) fn retention_place(&self) -> &'static str {
        if self.before.has_user_hosts {
            "as it is"
        } else {
            "in the cloud, still billed,"
        }
    }

    /// Whether an annotation makes the GitOps controller delete and recreate an object that cannot be changed in place.
    pub(in crate::diff) fn is_forced_to_recreate(&self, key: &EntityKey) -> bool {
        let is_mark = |(path, leaf): (&String, &FieldValue)| {
            let value = leaf.value.as_str().unwrap_or_default();
            path.starts_with("metadata.annotations.")
                && ((path.contains("kustomize.toolkit.fluxcd.io/force") && value == "enabled")
                    || value.contains("Force=true"))
        };
        let is_same_tool =
            self.before.by_key.is_empty() || self.before.is_deployed_like(self.after);
        let entity = self.after.by_key.get(key);
        !self.after.controller.is_empty()
            && is_same_tool
            && entity.is_some_and(|entity| entity.fields.iter().any(is_mark))
    }

    /// Whether a taint of a pool created by scripts gets another value.
    pub(super) fn replaces_taint(&self, pool: &str) -> bool {
        let key = EntityKey::Pool(pool.to_owned());
        let taints = |entities: &Entities| -> Vec<(String, String)> {
            let entity = entities.by_key.get(&key).filter(|entity| {
                entity.node_provisioner.is_none() && !entity.field_kinds.is_empty()
            });
            let leaf = entity.and_then(|entity| entity.fields.get(TAINTS));
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
    pub(in crate::diff) fn entity(&self, key: &EntityKey) -> Option<&Entity> {
        let before = self.before.by_key.get(key);
        self.after.by_key.get(key).or(before)
    }
}
