//! Objects with changed immutable fields: they are deleted and recreated.

use std::collections::BTreeMap;

use gpuc_syntax::shell;

use super::super::entities::{Key, Part};
use super::super::report::{Change, Step};
use super::queues::KEPT_IN_USE;
use super::{Rollout, ids};

const CLAIM: &str = "PersistentVolumeClaim";
const VOLUME: &str = "PersistentVolume";

/// Kinds that can be deleted without affecting running pods.
const HARMLESS: &[&str] = &["PriorityClass", "StorageClass"];

/// Kinds that run pods.
const RUNS: &[&str] = &[
    "Pod",
    "DaemonSet",
    "Deployment",
    "StatefulSet",
    "Job",
    "JobSet",
    "PyTorchJob",
    "TrainJob",
];

/// The steps that delete and recreate objects.
#[derive(Default)]
pub(super) struct Recreation {
    /// Steps that save data before pods stop.
    pub(super) before: Vec<Step>,
    /// Deletions: right before the script recreates the objects, or after a push at which the GitOps controller stops.
    pub(super) deleted: Vec<Step>,
    /// Objects that the user recreates.
    pub(super) after: Vec<Step>,
}

impl Recreation {
    pub(super) fn is_empty(&self) -> bool {
        self.before.is_empty() && self.deleted.is_empty()
    }
}

impl Rollout<'_> {
    pub(super) fn recreate(&self) -> Recreation {
        let is_fixed = |change: &&Change| change.fields.iter().any(|field| field.is_fixed);
        let mut recreation = Recreation::default();
        let mut others: BTreeMap<&str, Vec<&Change>> = BTreeMap::new();
        let mut kept: Vec<&Change> = Vec::new();
        for change in self.changes.iter().filter(is_fixed) {
            match change.kind.as_str() {
                CLAIM => self.recreate_claim(change, &mut recreation),
                VOLUME => self.recreate_volume(change, &mut recreation),
                kind if KEPT_IN_USE.contains(&kind) => kept.push(change),
                kind => {
                    let words = if HARMLESS.contains(&kind) {
                        "running pods and existing volumes stay as they are"
                    } else if RUNS.contains(&kind) {
                        "their pods terminate"
                    } else {
                        "they have no effect until they are recreated"
                    };
                    others.entry(words).or_default().push(change);
                }
            }
        }
        let fixed: Vec<&Change> = others.values().flatten().copied().collect();
        recreation.before.extend(self.starts_over(&fixed));
        self.recreate_flavors(&kept, &mut recreation);
        for (words, changes) in others {
            let names = |change: &&Change| {
                let named = change.names.iter();
                let named = named.filter(|name| !self.is_forced(&change.kind, name));
                named
                    .map(|name| self.removed(&change.kind, name))
                    .collect::<Vec<_>>()
            };
            let commands: Vec<String> = changes.iter().flat_map(names).collect();
            if commands.is_empty() {
                continue;
            }
            recreation.deleted.push(Step {
                what: if self.is_by_commit() {
                    format!(
                        "Delete the objects that cannot be changed in place: {words}. {} stops until they are gone, \
                         and recreates them with its next retry",
                        self.setting.after.tool
                    )
                } else {
                    format!(
                        "Delete the objects that cannot be changed in place, right before they are recreated: {words}"
                    )
                },
                commands,
                changes: ids(&changes),
            });
        }
        recreation
    }

    /// Whether the GitOps controller deletes and recreates an object by itself.
    fn is_forced(&self, kind: &str, name: &str) -> bool {
        let mut keys = self.setting.after.all.keys();
        let key = keys.find(|key| key.kind() == kind && key.name() == name);
        self.is_by_commit() && key.is_some_and(|key| self.setting.is_forced(key))
    }

    /// Warns about workloads that a push restarts, so that the user saves them or waits for them first.
    fn starts_over(&self, changes: &[&Change]) -> Option<Step> {
        let named = changes.iter().flat_map(|change| {
            let names = change.names.iter();
            names.map(move |name| (change.kind.as_str(), name.as_str()))
        });
        let forced: Vec<(&str, &str)> = named
            .filter(|(kind, name)| self.is_forced(kind, name))
            .collect();
        let kubectl = self.kubectl();
        let get_command = |(kind, name): &(&str, &str)| {
            let (namespace, name) = name.split_once('/').unwrap_or(("default", name));
            format!(
                "{kubectl} get {} {} --namespace {}",
                shell::quote(&kind.to_lowercase()),
                shell::quote(name),
                shell::quote(namespace)
            )
        };
        let names: Vec<String> = forced
            .iter()
            .map(|(kind, name)| format!("{kind} {name}"))
            .collect();
        let tool = self.setting.after.tool;
        (!forced.is_empty()).then(|| Step {
            what: format!(
                "{} cannot be changed in place: {tool} deletes and recreates {} as soon as you push, and its pods \
                 start over. Save its state or wait until it finishes before the push",
                names.join(", "),
                if names.len() == 1 { "it" } else { "each" },
            ),
            commands: forced.iter().map(get_command).collect(),
            changes: ids(changes),
        })
    }

    /// The workloads of the tree that use a claim: running workloads rather than their templates.
    fn users(&self, namespace: &str, claim: &str) -> Vec<String> {
        let has = |part: &Part, ending: &str, value: &str| {
            let mut leaves = part.leaves.iter();
            leaves.any(|(path, leaf)| path.ends_with(ending) && leaf.value == value)
        };
        let in_namespace: Vec<(&str, &Key, &Part)> = (self.setting.before.all.iter())
            .filter_map(|(key, part)| match key {
                Key::Object {
                    kind,
                    namespace: Some(other),
                    ..
                } if other == namespace => Some((kind.as_str(), key, part)),
                _ => None,
            })
            .collect();
        let using = (in_namespace.iter()).filter(|(.., part)| has(part, ".claimName", claim));
        let running = using.flat_map(|(kind, key, part)| {
            let name = key.name();
            let name = name.split_once('/').map_or("", |(_, name)| name);
            let by_runtime = |it: &&(&str, &Key, &Part)| {
                it.0 == "TrainJob" && has(it.2, "spec.runtimeRef.name", name)
            };
            if *kind == "TrainingRuntime" {
                in_namespace.iter().filter(by_runtime).copied().collect()
            } else {
                vec![(*kind, *key, *part)]
            }
        });
        running
            .map(|(kind, key, _)| self.removed(kind, &key.name()))
            .collect()
    }

    /// The command that shows the pods that use a claim.
    fn used_by(&self, namespace: &str, claim: &str) -> String {
        format!(
            "{} describe persistentvolumeclaim {} --namespace {}",
            self.kubectl(),
            shell::quote(claim),
            shell::quote(namespace)
        )
    }

    /// A claim with another StorageClass: its new volume is empty.
    fn recreate_claim(&self, change: &Change, recreation: &mut Recreation) {
        for whole in &change.names {
            let (namespace, name) = whole.split_once('/').unwrap_or(("default", whole));
            let size = self
                .setting
                .before
                .all
                .iter()
                .find(|(key, _)| key.kind() == CLAIM && key.name() == *whole)
                .and_then(|(_, part)| {
                    part.leaves
                        .get("spec.resources.requests.storage")?
                        .value
                        .as_str()
                })
                .unwrap_or("the data");
            let users = self.users(namespace, name);
            let describe = self.used_by(namespace, name);
            let delete = self.removed(CLAIM, whole);
            let step = |what: String, commands: Vec<String>| Step {
                what,
                commands,
                changes: ids(&[change]),
            };
            let copied = format!(
                "Copy the data to keep ({size} in PersistentVolumeClaim {whole}) to another claim or a bucket, with a \
                 pod that mounts it: the claim cannot be changed, the new one is empty, and deleting the old one \
                 deletes its volume unless its StorageClass retains volumes. To keep both, give the volume another \
                 name in gpu-cluster.yaml instead"
            );
            if self.is_by_commit() {
                let what = format!(
                    "When the workloads that use PersistentVolumeClaim {whole} have finished or saved their state: {}",
                    lower_first(&copied)
                );
                recreation.before.push(step(what, vec![describe]));
                let mut commands = vec![format!("{delete} --wait=false")];
                commands.extend(users);
                commands.push(self.waits_for(CLAIM, whole));
                recreation.deleted.push(step(
                    format!(
                        "After copying its data, delete PersistentVolumeClaim {whole} and the workloads that use it, \
                         which block its deletion: {} recreates both with its next retry",
                        self.setting.after.tool
                    ),
                    commands,
                ));
            } else {
                let mut commands = users;
                commands.push(describe);
                recreation.deleted.push(step(
                    format!(
                        "Stop the workloads that use PersistentVolumeClaim {whole} when they have finished or saved \
                         their state; continue when no pod is listed as using it"
                    ),
                    commands,
                ));
                recreation.deleted.push(step(copied, Vec::new()));
                recreation.deleted.push(step(
                    format!(
                        "After copying its data ({size}), delete PersistentVolumeClaim {whole}"
                    ),
                    vec![delete],
                ));
            }
        }
    }

    /// A volume of a bucket: it stays while a claim is bound to it, and a claim stays while pods use it.
    ///
    /// Kubernetes' finalizers `kubernetes.io/pv-protection` and `kubernetes.io/pvc-protection`:
    /// <https://kubernetes.io/docs/concepts/storage/persistent-volumes/#storage-object-in-use-protection>, from memory.
    fn recreate_volume(&self, change: &Change, recreation: &mut Recreation) {
        for name in &change.names {
            let part = self.setting.before.all.iter();
            let mut part = part.filter(|(key, _)| key.kind() == VOLUME && key.name() == *name);
            let leaves = part.next().map(|(_, part)| &part.leaves);
            let text = |path: &str| leaves.and_then(|leaves| leaves.get(path)?.value.as_str());
            let claim = text("spec.claimRef.namespace").zip(text("spec.claimRef.name"));
            let step = |what: String, commands: Vec<String>| Step {
                what,
                commands,
                changes: ids(&[change]),
            };
            let kubectl = self.kubectl();
            let Some((namespace, claim)) = claim else {
                let commands = vec![self.removed(VOLUME, name)];
                recreation.deleted.push(step(
                    format!("When no pod uses it, delete PersistentVolume {name}, but first the claim bound to it"),
                    commands,
                ));
                continue;
            };
            let whole = format!("{namespace}/{claim}");
            let file = shell::quote(&format!("claim-{namespace}-{claim}.json"));
            recreation.before.push(step(
                format!(
                    "Save the manifest of PersistentVolumeClaim {whole}, which is not part of this tree and must be \
                     recreated: it is bound to PersistentVolume {name}, which cannot be changed"
                ),
                vec![format!(
                    "{kubectl} get persistentvolumeclaim {} --namespace {} --output json | jq '{{apiVersion, kind, \
                     metadata: {{name: .metadata.name, namespace: .metadata.namespace, labels: .metadata.labels}}, \
                     spec}}' > {file}",
                    shell::quote(claim),
                    shell::quote(namespace)
                )],
            ));
            let mut commands = vec![format!("{} --wait=false", self.removed(CLAIM, &whole))];
            commands.extend(self.users(namespace, claim));
            commands.push(self.used_by(namespace, claim));
            recreation.deleted.push(step(
                format!(
                    "Delete PersistentVolumeClaim {whole} and stop every pod that uses it, because these pods block \
                     its deletion; the data in the bucket stays"
                ),
                commands,
            ));
            recreation.deleted.push(step(
                format!(
                    "When PersistentVolumeClaim {whole} is gone, delete PersistentVolume {name}"
                ),
                vec![self.waits_for(CLAIM, &whole), self.removed(VOLUME, name)],
            ));
            recreation.after.push(step(
                format!(
                    "Recreate PersistentVolumeClaim {whole} and start the workloads that use it"
                ),
                vec![format!("{kubectl} create --filename {file}")],
            ));
        }
    }

    /// The command that waits until an object is deleted.
    pub(super) fn waits_for(&self, kind: &str, name: &str) -> String {
        let kind = kind.to_lowercase();
        let (namespace, name) = name
            .split_once('/')
            .map_or((None, name), |(of, name)| (Some(of), name));
        let namespace = namespace.map(|it| format!(" --namespace {}", shell::quote(it)));
        format!(
            "{} wait --for=delete {}{} --timeout=10m",
            self.kubectl(),
            shell::quote(&format!("{kind}/{name}")),
            namespace.unwrap_or_default()
        )
    }
}

fn lower_first(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars.next();
    first
        .into_iter()
        .flat_map(char::to_lowercase)
        .chain(chars)
        .collect()
}
