//! Objects with changed immutable fields: they are deleted and recreated.

use std::collections::{BTreeMap, BTreeSet};

use gpuc_syntax::shell;

use super::super::entities::{Entity, EntityKey};
use super::super::report::{Change, Step};
use super::changed_pools::{change_ids, has_immutable_field};
use super::phases::{Phase, Planned};
use super::queues::{KEPT_IN_USE, recreate_flavors};
use super::scale_down::{immutable_workload_commands, subtract_commands};
use super::states::Rollout;

const CLAIM: &str = "PersistentVolumeClaim";
const VOLUME: &str = "PersistentVolume";

/// Kinds that can be deleted without affecting running pods.
const HARMLESS: &[&str] = &["PriorityClass", "StorageClass"];

/// Kinds that run pods.
const RUN_PODS: &[&str] = &[
    "Pod",
    "DaemonSet",
    "Deployment",
    "StatefulSet",
    "Job",
    "JobSet",
    "PyTorchJob",
    "TrainJob",
];

/// The steps that delete and recreate objects. Deletions come right before the script recreates the objects, or after a
/// push at which the GitOps controller stops.
pub(super) fn recreate_immutable_objects(rollout: &Rollout<'_>) -> Vec<Planned> {
    let mut planned = Vec::new();
    let (mut claims, mut volumes) = (Vec::new(), Vec::new());
    let mut kept_in_use: Vec<&Change> = Vec::new();
    let mut others: BTreeMap<&str, Vec<&Change>> = BTreeMap::new();
    for change in (rollout.changes.iter()).filter(|change| has_immutable_field(change)) {
        match change.kind.as_str() {
            CLAIM => claims.push(change),
            VOLUME => volumes.push(change),
            kind if KEPT_IN_USE.contains(&kind) => kept_in_use.push(change),
            kind => others
                .entry(deletion_effect(kind))
                .or_default()
                .push(change),
        }
    }
    for (name, changes) in changes_by_name(&claims) {
        planned.extend(rollout.recreate_claim(&changes, name));
    }
    for (name, changes) in changes_by_name(&volumes) {
        planned.extend(rollout.recreate_volume(&changes, name));
    }
    let run_pods = others.get(PODS_TERMINATE).map_or(&[][..], Vec::as_slice);
    planned.extend(Phase::PrepareRecreation.plan(rollout.warn_about_restarts(run_pods)));
    planned.extend(recreate_flavors(rollout, &kept_in_use));
    let deletions = (others.iter())
        .filter_map(|(effect, changes)| rollout.delete_immutable_step(effect, changes));
    planned.extend(Phase::DeleteImmutable.plan(deletions));
    if rollout.is_delivered_by_commit() {
        return planned;
    }
    // Scripts delete workloads earlier if nodes are removed. A GitOps controller would recreate them.
    let deleted_before = immutable_workload_commands(rollout);
    (planned.into_iter())
        .filter_map(|planned| match planned.phase {
            Phase::DeleteImmutable => {
                planned.map_step(|step| subtract_commands(step, &deleted_before))
            }
            _ => Some(planned),
        })
        .collect()
}

/// The changes of each object. An object has one for each of its fields.
fn changes_by_name<'c>(changes: &[&'c Change]) -> Vec<(&'c String, Vec<&'c Change>)> {
    let mut by_name: Vec<(&String, Vec<&Change>)> = Vec::new();
    for &change in changes {
        for name in &change.names {
            match by_name.iter_mut().find(|(other, _)| *other == name) {
                Some((_, own)) => own.push(change),
                None => by_name.push((name, vec![change])),
            }
        }
    }
    by_name
}

/// The effect of the deletion of objects that run pods.
const PODS_TERMINATE: &str = "their pods terminate";

/// The effect of the deletion of objects of a kind.
fn deletion_effect(kind: &str) -> &'static str {
    if HARMLESS.contains(&kind) {
        "running pods and existing volumes stay as they are"
    } else if RUN_PODS.contains(&kind) {
        PODS_TERMINATE
    } else {
        "they have no effect until they are recreated"
    }
}

impl Rollout<'_> {
    /// The step that deletes objects with the same effect, except those that the GitOps controller deletes by itself.
    fn delete_immutable_step(&self, effect: &str, changes: &[&Change]) -> Option<Step> {
        let mut commands: Vec<String> = Vec::new();
        for change in changes {
            let kind = change.kind.as_str();
            let names = change.names.iter();
            for name in names.filter(|name| !self.is_force_recreated(kind, name)) {
                let command = self.delete_command(kind, name);
                // An object has a change for each of its fields.
                if !commands.contains(&command) {
                    commands.push(command);
                }
            }
        }
        (!commands.is_empty()).then(|| Step {
            instruction: if self.is_delivered_by_commit() {
                format!(
                    "Delete the objects that cannot be changed in place: {effect}. {} stops until they are gone, and \
                     recreates them with its next retry",
                    self.setting.after.controller
                )
            } else {
                format!(
                    "Delete the objects that cannot be changed in place, right before they are recreated: {effect}"
                )
            },
            commands,
            changes: change_ids(changes),
        })
    }

    /// Whether the GitOps controller deletes and recreates an object by itself.
    fn is_force_recreated(&self, kind: &str, name: &str) -> bool {
        let mut keys = self.setting.after.by_key.keys();
        let key = keys.find(|key| key.kind() == kind && key.name() == name);
        self.is_delivered_by_commit()
            && key.is_some_and(|key| self.setting.is_forced_to_recreate(key))
    }

    /// Warns about workloads that a push restarts, so that the user saves them or waits for them first.
    fn warn_about_restarts(&self, changes: &[&Change]) -> Option<Step> {
        let restarted: BTreeSet<(&str, &str)> = (changes.iter())
            .flat_map(|change| {
                let kind = change.kind.as_str();
                change.names.iter().map(move |name| (kind, name.as_str()))
            })
            .filter(|(kind, name)| self.is_force_recreated(kind, name))
            .collect();
        let kubectl = self.kubectl();
        let get_command = |(kind, full_name): &(&str, &str)| {
            let (namespace, name) = full_name.split_once('/').unwrap_or(("default", full_name));
            format!(
                "{kubectl} get {} {} --namespace {}",
                shell::quote(&kind.to_lowercase()),
                shell::quote(name),
                shell::quote(namespace)
            )
        };
        let names: Vec<String> = (restarted.iter())
            .map(|(kind, name)| format!("{kind} {name}"))
            .collect();
        let tool = self.setting.after.controller;
        (!restarted.is_empty()).then(|| Step {
            instruction: format!(
                "{} cannot be changed in place: {tool} deletes and recreates {} as soon as you push, and its pods \
                 start over. Save its state or wait until it finishes before the push",
                names.join(", "),
                if names.len() == 1 { "it" } else { "each" },
            ),
            commands: restarted.iter().map(get_command).collect(),
            changes: change_ids(changes),
        })
    }

    /// The commands that delete the workloads of the tree that use a claim: running workloads rather than their
    /// templates.
    fn delete_claim_users_commands(&self, namespace: &str, claim: &str) -> Vec<String> {
        let has_value = |entity: &Entity, path_suffix: &str, value: &str| {
            (entity.fields.iter())
                .any(|(path, leaf)| path.ends_with(path_suffix) && leaf.value == value)
        };
        let in_namespace: Vec<(&str, String, &Entity)> = (self.setting.before.by_key.iter())
            .filter_map(|(key, entity)| match key {
                EntityKey::Object {
                    kind,
                    namespace: Some(other),
                    ..
                } if other == namespace => Some((kind.as_str(), key.name(), entity)),
                _ => None,
            })
            .collect();
        (in_namespace.iter())
            .filter(|(.., entity)| has_value(entity, ".claimName", claim))
            .flat_map(|user| {
                let (kind, full_name, _) = user;
                if *kind != "TrainingRuntime" {
                    return vec![user];
                }
                let runtime = full_name.split_once('/').map_or("", |(_, name)| name);
                (in_namespace.iter())
                    .filter(|(kind, _, entity)| {
                        *kind == "TrainJob" && has_value(entity, "spec.runtimeRef.name", runtime)
                    })
                    .collect()
            })
            .map(|(kind, full_name, _)| self.delete_command(kind, full_name))
            .collect()
    }

    /// The command that shows the pods that use a claim.
    fn describe_claim_command(&self, namespace: &str, claim: &str) -> String {
        format!(
            "{} describe persistentvolumeclaim {} --namespace {}",
            self.kubectl(),
            shell::quote(claim),
            shell::quote(namespace)
        )
    }

    /// The steps for a claim with another StorageClass: its new volume is empty.
    fn recreate_claim(&self, all: &[&Change], full_name: &str) -> Vec<Planned> {
        let (namespace, name) = full_name.split_once('/').unwrap_or(("default", full_name));
        let size = (self.setting.before.by_key.iter())
            .find(|(key, _)| key.kind() == CLAIM && key.name() == *full_name)
            .and_then(|(_, entity)| entity.fields.get("spec.resources.requests.storage"))
            .and_then(|leaf| leaf.value.as_str())
            .unwrap_or("the data");
        let delete_users = self.delete_claim_users_commands(namespace, name);
        let describe = self.describe_claim_command(namespace, name);
        let delete = self.delete_command(CLAIM, full_name);
        let step = |what: String, commands: Vec<String>| Step {
            instruction: what,
            commands,
            changes: change_ids(all),
        };
        let copy = format!(
            "Copy the data to keep ({size} in PersistentVolumeClaim {full_name}) to another claim or a bucket, with a \
             pod that mounts it: the claim cannot be changed, the new one is empty, and deleting the old one deletes \
             its volume unless its StorageClass retains volumes. To keep both, give the volume another name in \
             gpu-cluster.yaml instead"
        );
        if !self.is_delivered_by_commit() {
            let stop = format!(
                "Stop the workloads that use PersistentVolumeClaim {full_name} when they have finished or saved their \
                 state; continue when no pod is listed as using it"
            );
            return Phase::DeleteImmutable.plan([
                step(stop, [delete_users, vec![describe]].concat()),
                step(copy, Vec::new()),
                step(
                    format!(
                        "After copying its data ({size}), delete PersistentVolumeClaim {full_name}"
                    ),
                    vec![delete],
                ),
            ]);
        }
        let prepare = step(
            format!(
                "When the workloads that use PersistentVolumeClaim {full_name} have finished or saved their state: {}",
                lowercase_first(&copy)
            ),
            vec![describe],
        );
        let remove = step(
            format!(
                "After copying its data, delete PersistentVolumeClaim {full_name} and the workloads that use it, which \
                 block its deletion: {} recreates both with its next retry",
                self.setting.after.controller
            ),
            std::iter::once(format!("{delete} --wait=false"))
                .chain(delete_users)
                .chain([self.wait_for_deletion_command(CLAIM, full_name)])
                .collect(),
        );
        (Phase::PrepareRecreation.plan([prepare]).into_iter())
            .chain(Phase::DeleteImmutable.plan([remove]))
            .collect()
    }

    /// The steps for the volume of a bucket: it stays while a claim is bound to it, and a claim while pods use it.
    ///
    /// Kubernetes' finalizers `kubernetes.io/pv-protection` and `kubernetes.io/pvc-protection`:
    /// <https://kubernetes.io/docs/concepts/storage/persistent-volumes/#storage-object-in-use-protection>, from memory.
    fn recreate_volume(&self, all: &[&Change], volume: &str) -> Vec<Planned> {
        let entity = (self.setting.before.by_key.iter())
            .find(|(key, _)| key.kind() == VOLUME && key.name() == volume)
            .map(|(_, entity)| entity);
        let text = |path: &str| entity.and_then(|entity| entity.fields.get(path)?.value.as_str());
        let step = |what: String, commands: Vec<String>| Step {
            instruction: what,
            commands,
            changes: change_ids(all),
        };
        let delete_volume = self.delete_command(VOLUME, volume);
        let (Some(namespace), Some(claim)) =
            (text("spec.claimRef.namespace"), text("spec.claimRef.name"))
        else {
            return Phase::DeleteImmutable.plan([step(
                format!("When no pod uses it, delete PersistentVolume {volume}, but first the claim bound to it"),
                vec![delete_volume],
            )]);
        };
        let kubectl = self.kubectl();
        let full_name = format!("{namespace}/{claim}");
        let file = shell::quote(&format!("claim-{namespace}-{claim}.json"));
        let save = step(
            format!(
                "Save the manifest of PersistentVolumeClaim {full_name}, which is not part of this tree and must be \
                 recreated: it is bound to PersistentVolume {volume}, which cannot be changed"
            ),
            vec![format!(
                "{kubectl} get persistentvolumeclaim {} --namespace {} --output json | jq '{{apiVersion, kind, \
                 metadata: {{name: .metadata.name, namespace: .metadata.namespace, labels: .metadata.labels}}, spec}}' \
                 > {file}",
                shell::quote(claim),
                shell::quote(namespace)
            )],
        );
        let delete_claim = step(
            format!(
                "Delete PersistentVolumeClaim {full_name} and stop every pod that uses it, because these pods block \
                 its deletion; the data in the bucket stays"
            ),
            std::iter::once(format!(
                "{} --wait=false",
                self.delete_command(CLAIM, &full_name)
            ))
            .chain(self.delete_claim_users_commands(namespace, claim))
            .chain([self.describe_claim_command(namespace, claim)])
            .collect(),
        );
        let delete_volume = step(
            format!(
                "When PersistentVolumeClaim {full_name} is gone, delete PersistentVolume {volume}"
            ),
            vec![
                self.wait_for_deletion_command(CLAIM, &full_name),
                delete_volume,
            ],
        );
        let restore = step(
            format!(
                "Recreate PersistentVolumeClaim {full_name} and start the workloads that use it"
            ),
            vec![format!("{kubectl} create --filename {file}")],
        );
        [
            Phase::PrepareRecreation.plan([save]),
            Phase::DeleteImmutable.plan([delete_claim, delete_volume]),
            Phase::RestoreObjects.plan([restore]),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

fn lowercase_first(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars.next();
    (first.into_iter().flat_map(char::to_lowercase))
        .chain(chars)
        .collect()
}
