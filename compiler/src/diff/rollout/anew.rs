//! What the API server does not let anybody change: it is deleted, and made again.

use std::collections::BTreeMap;

use super::super::parts::{Key, Part};
use super::super::shown::{Change, Step};
use super::queues::KEPT_IN_USE;
use super::{Rollout, ids};
use crate::shell;

const CLAIM: &str = "PersistentVolumeClaim";
const VOLUME: &str = "PersistentVolume";

/// Kinds of which nothing ends when one is deleted.
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

/// How it is deleted and made again.
#[derive(Default)]
pub(super) struct Anew {
    /// What is saved before anything is stopped.
    pub(super) before: Vec<Step>,
    /// What is deleted: right before the script brings it anew, or when a tool was pushed to and stops at it.
    pub(super) deleted: Vec<Step>,
    /// What people make again themselves.
    pub(super) after: Vec<Step>,
}

impl Anew {
    pub(super) fn is_empty(&self) -> bool {
        self.before.is_empty() && self.deleted.is_empty()
    }
}

impl Rollout<'_> {
    pub(super) fn anew(&self) -> Anew {
        let is_fixed = |change: &&Change| change.fields.iter().any(|field| field.is_fixed);
        let mut anew = Anew::default();
        let mut others: BTreeMap<&str, Vec<&Change>> = BTreeMap::new();
        let mut kept: Vec<&Change> = Vec::new();
        for change in self.changes.iter().filter(is_fixed) {
            match change.kind.as_str() {
                CLAIM => self.claim_anew(change, &mut anew),
                VOLUME => self.volume_anew(change, &mut anew),
                kind if KEPT_IN_USE.contains(&kind) => kept.push(change),
                kind => {
                    let words = if HARMLESS.contains(&kind) {
                        "pods that run and volumes that are there stay as they are"
                    } else if RUNS.contains(&kind) {
                        "what runs in it ends"
                    } else {
                        "until it is there again, nobody has what it gives"
                    };
                    others.entry(words).or_default().push(change);
                }
            }
        }
        let fixed: Vec<&Change> = others.values().flatten().copied().collect();
        anew.before.extend(self.starts_over(&fixed));
        self.flavors_anew(&kept, &mut anew);
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
            anew.deleted.push(Step {
                what: if self.is_by_commit() {
                    format!(
                        "Delete what cannot be changed in place: {words}. {} stops there until it is gone, and makes it \
                         anew when it tries again",
                        self.setting.after.tool
                    )
                } else {
                    format!(
                        "Delete what cannot be changed in place, right before it is brought anew: {words}"
                    )
                },
                commands,
                changes: ids(&changes),
            });
        }
        anew
    }

    /// Whether the tool that brings an object deletes it and makes it again by itself.
    fn is_forced(&self, kind: &str, name: &str) -> bool {
        let mut keys = self.setting.after.all.keys();
        let key = keys.find(|key| key.kind() == kind && key.name() == name);
        self.is_by_commit() && key.is_some_and(|key| self.setting.is_forced(key))
    }

    /// Runs that a push starts over, which people save or let end before.
    fn starts_over(&self, changes: &[&Change]) -> Option<Step> {
        let named = changes.iter().flat_map(|change| {
            let names = change.names.iter();
            names.map(move |name| (change.kind.as_str(), name.as_str()))
        });
        let forced: Vec<(&str, &str)> = named
            .filter(|(kind, name)| self.is_forced(kind, name))
            .collect();
        let kubectl = self.kubectl();
        let look = |(kind, name): &(&str, &str)| {
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
                "{} cannot be changed in place: {tool} deletes {} and makes it anew as soon as the change is pushed, and \
                 what runs in it starts over. Save its state or let it end before the push",
                names.join(", "),
                if names.len() == 1 { "it" } else { "each" },
            ),
            commands: forced.iter().map(look).collect(),
            changes: ids(changes),
        })
    }

    /// The workloads of the tree that use a claim: what runs, and not what it is a copy of.
    fn users(&self, namespace: &str, claim: &str) -> Vec<String> {
        let has = |part: &Part, ending: &str, value: &str| {
            let mut leaves = part.leaves.iter();
            leaves.any(|(path, leaf)| path.ends_with(ending) && leaf.value == value)
        };
        let all = self.setting.before.all.iter();
        let here: Vec<(&str, &Key, &Part)> = all
            .filter_map(|(key, part)| match key {
                Key::Object {
                    kind,
                    namespace: Some(of),
                    ..
                } if of == namespace => Some((kind.as_str(), key, part)),
                _ => None,
            })
            .collect();
        let using = here.iter().filter(|it| has(it.2, ".claimName", claim));
        let running = using.flat_map(|(kind, key, part)| {
            let name = key.name();
            let name = name.split_once('/').map_or("", |(_, name)| name);
            let by_runtime = |it: &&(&str, &Key, &Part)| {
                it.0 == "TrainJob" && has(it.2, "spec.runtimeRef.name", name)
            };
            if *kind == "TrainingRuntime" {
                here.iter().filter(by_runtime).copied().collect()
            } else {
                vec![(*kind, *key, *part)]
            }
        });
        running
            .map(|(kind, key, _)| self.removed(kind, &key.name()))
            .collect()
    }

    /// Shows who uses a claim.
    fn used_by(&self, namespace: &str, claim: &str) -> String {
        format!(
            "{} describe persistentvolumeclaim {} --namespace {}",
            self.kubectl(),
            shell::quote(claim),
            shell::quote(namespace)
        )
    }

    /// A claim of another class: another volume, which begins empty.
    fn claim_anew(&self, change: &Change, anew: &mut Anew) {
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
            let look = self.used_by(namespace, name);
            let delete = self.removed(CLAIM, whole);
            let step = |what: String, commands: Vec<String>| Step {
                what,
                commands,
                changes: ids(&[change]),
            };
            let copied = format!(
                "Copy what is to be kept of the {size} in claim {whole} to another claim or a bucket, with a pod that \
                 mounts it: the claim cannot be changed, the new one begins empty, and with the old one its volume is \
                 deleted unless its class retains volumes. To keep both, give the volume another name in \
                 gpu-cluster.yaml instead"
            );
            if self.is_by_commit() {
                let what = format!(
                    "When the work that uses claim {whole} has ended or has saved its state: {}",
                    lower_first(&copied)
                );
                anew.before.push(step(what, vec![look]));
                let mut commands = vec![format!("{delete} --wait=false")];
                commands.extend(users);
                commands.push(self.waits_for(CLAIM, whole));
                anew.deleted.push(step(
                    format!(
                        "Delete claim {whole}, when its data was copied, and what uses it, which keeps it there: {} makes \
                         both anew when it tries again",
                        self.setting.after.tool
                    ),
                    commands,
                ));
            } else {
                let mut commands = users;
                commands.push(look);
                anew.deleted.push(step(
                    format!(
                        "Stop what uses claim {whole}, when it has ended or has saved its state; go on when nothing is \
                         listed as using it"
                    ),
                    commands,
                ));
                anew.deleted.push(step(copied, Vec::new()));
                anew.deleted.push(step(
                    format!("Delete claim {whole}, when its data was copied: {size}"),
                    vec![delete],
                ));
            }
        }
    }

    /// A volume of a bucket: it stays while a claim has it, and a claim while pods use it.
    ///
    /// Kubernetes' finalizers `kubernetes.io/pv-protection` and `kubernetes.io/pvc-protection`:
    /// <https://kubernetes.io/docs/concepts/storage/persistent-volumes/#storage-object-in-use-protection>, from memory.
    fn volume_anew(&self, change: &Change, anew: &mut Anew) {
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
                anew.deleted.push(step(
                    format!("Delete volume {name} and first the claim that has it, when no pod uses that"),
                    commands,
                ));
                continue;
            };
            let whole = format!("{namespace}/{claim}");
            let file = shell::quote(&format!("claim-{namespace}-{claim}.json"));
            anew.before.push(step(
                format!(
                    "Save what claim {whole} says, which is not of this tree and has to be made anew: it keeps volume \
                     {name}, and that cannot be changed"
                ),
                vec![format!(
                    "{kubectl} get persistentvolumeclaim {} --namespace {} --output json | jq '{{apiVersion, kind, \
                     metadata: {{name: .metadata.name, namespace: .metadata.namespace, labels: .metadata.labels}}, spec}}' \
                     > {file}",
                    shell::quote(claim),
                    shell::quote(namespace)
                )],
            ));
            let mut commands = vec![format!("{} --wait=false", self.removed(CLAIM, &whole))];
            commands.extend(self.users(namespace, claim));
            commands.push(self.used_by(namespace, claim));
            anew.deleted.push(step(
                format!(
                    "Delete claim {whole}, and stop every pod that uses it, which keeps it there; what is in the bucket \
                     stays"
                ),
                commands,
            ));
            anew.deleted.push(step(
                format!("When claim {whole} is gone, delete volume {name}"),
                vec![self.waits_for(CLAIM, &whole), self.removed(VOLUME, name)],
            ));
            anew.after.push(step(
                format!("Make claim {whole} anew, and start what uses it"),
                vec![format!("{kubectl} create --filename {file}")],
            ));
        }
    }

    /// Waits until an object is gone.
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
