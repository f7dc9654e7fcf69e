//! Stored data: it is never deleted without a separate, optional step.

use gpuc_compile::charts::JUPYTERHUB;
use gpuc_syntax::shell;

use super::super::entities::{Key, Part};
use super::super::report::{Change, ClusterFate, Step};
use super::{Rollout, ids};

const CLAIM: &str = "PersistentVolumeClaim";

/// The storage request of a claim.
const SIZE: &str = "spec.resources.requests.storage";

/// A PersistentVolumeClaim with its storage request.
struct Claim<'a> {
    namespace: &'a str,
    name: &'a str,
    size: &'a str,
    change: &'a Change,
}

impl Rollout<'_> {
    /// The entity with this kind and name, before the change or else after it.
    pub(super) fn part(&self, kind: &str, name: &str) -> Option<&Part> {
        let sides = [self.setting.before, self.setting.after];
        (sides.into_iter().flat_map(|side| &side.all))
            .find(|(key, _)| key.kind() == kind && key.name() == name)
            .map(|(_, part)| part)
    }

    /// Claims that were added or removed.
    fn claims(&self, fate: ClusterFate) -> Vec<Claim<'_>> {
        let names = (self.changes.iter())
            .filter(|change| change.kind == CLAIM && change.fate == fate)
            .flat_map(|change| change.names.iter().map(move |name| (change, name)));
        let claims = names.map(|(change, full_name)| {
            let (namespace, name) = full_name.split_once('/').unwrap_or(("default", full_name));
            let claim = self.part(CLAIM, full_name);
            let size = claim.and_then(|claim| claim.leaves.get(SIZE)?.value.as_str());
            Claim {
                namespace,
                name,
                size: size.unwrap_or("unknown size"),
                change,
            }
        });
        claims.collect()
    }

    /// Warnings about renamed claims: a claim with another name is a new, empty volume.
    pub(super) fn begins_empty(&self) -> Vec<Step> {
        let gone = self.claims(ClusterFate::Removed);
        if gone.is_empty() {
            return Vec::new();
        }
        let step = |new: &Claim<'_>| {
            let near: Vec<_> = gone
                .iter()
                .filter(|old| old.namespace == new.namespace)
                .collect();
            let about = if near.is_empty() {
                gone.iter().collect()
            } else {
                near.clone()
            };
            let old: Vec<String> = about
                .iter()
                .map(|old| format!("{}/{} ({})", old.namespace, old.name, old.size))
                .collect();
            let kept = match near.first() {
                Some(old) => format!(
                    "If the workload needs this data, set `from: {{existingClaim: {}}}` for its volume in \
                     gpu-cluster.yaml before you continue",
                    old.name
                ),
                None => "A pod can use only claims of its own namespace: copy the data that the workload needs before \
                         it restarts without it"
                    .to_owned(),
            };
            let mut changes = vec![new.change];
            changes.extend(about.iter().map(|old| old.change));
            Step {
                what: format!(
                    "PersistentVolumeClaim {}/{} is new and empty. Claims removed from the tree keep their data: {}. \
                     {kept}",
                    new.namespace,
                    new.name,
                    old.join(", ")
                ),
                commands: Vec::new(),
                changes: super::unique(ids(&changes)),
            }
        };
        self.claims(ClusterFate::Added).iter().map(step).collect()
    }

    /// The step that saves the hub's database, which a push deletes because the GitOps controller uninstalls its chart.
    pub(super) fn saved(&self) -> Option<Step> {
        let change = self.hub().filter(|_| self.setting.prunes)?;
        Some(Step {
            what: format!(
                "{} uninstalls JupyterHub as soon as you push, and deletes the hub's database of users and \
                 permissions. Copy the database first if you need it. Running notebooks become unreachable and keep \
                 their GPUs: ask users to save their work and stop them. The users' own PersistentVolumeClaims stay",
                self.setting.before.tool
            ),
            commands: vec![self.hub_copied()],
            changes: ids(&[change]),
        })
    }

    /// The release of a removed hub, if its database is in the cluster.
    fn hub(&self) -> Option<&Change> {
        let is_hub = |change: &&Change| {
            let named = change.names.iter().any(|name| self.is_hub(name));
            change.kind == "Helm release" && change.fate == ClusterFate::Removed && named
        };
        self.changes.iter().find(is_hub)
    }

    /// Whether a release is a hub with its database on its own volume.
    ///
    /// The chart's claim `hub-db-dir` has no annotation that keeps it: jupyterhub/zero-to-jupyterhub-k8s@4.4.0
    /// `jupyterhub/values.yaml`, `hub.db.type: sqlite-pvc`; that the file is `/srv/jupyterhub/jupyterhub.sqlite`: from
    /// memory.
    pub(super) fn is_hub(&self, release: &str) -> bool {
        let part = self
            .setting
            .before
            .all
            .get(&Key::Release(release.to_owned()));
        let is_chart = |part: &&Part| part.chart.is_some_and(|it| it.name == JUPYTERHUB.name);
        let kind = |part: &Part| {
            let kind = part.leaves.get("values.hub.db.type")?.value.as_str()?;
            Some(kind == "sqlite-pvc")
        };
        part.filter(is_chart)
            .is_some_and(|part| kind(part).unwrap_or(true))
    }

    fn hub_copied(&self) -> String {
        format!(
            "{} exec --namespace {} deployment/hub -- cat /srv/jupyterhub/jupyterhub.sqlite > jupyterhub.sqlite",
            self.kubectl(),
            shell::quote(JUPYTERHUB.namespace)
        )
    }

    /// The last, optional steps that delete remaining data.
    pub(super) fn data_left(&self) -> Vec<Step> {
        let mut steps = Vec::new();
        if let Some(change) = self.hub().filter(|_| !self.setting.prunes) {
            let mut commands = vec![self.hub_copied()];
            commands.extend(
                change
                    .names
                    .iter()
                    .filter(|it| self.is_hub(it))
                    .flat_map(|name| self.uninstalled(name)),
            );
            steps.push(Step {
                what: "Only if JupyterHub is no longer needed: uninstalling it deletes the hub's database, which is \
                       copied first. Running notebooks become unreachable: ask users to save their work and stop them \
                       before. The users' own PersistentVolumeClaims stay"
                    .to_owned(),
                commands,
                changes: ids(&[change]),
            });
        }
        steps.extend(self.servers_left());
        let gone = self.claims(ClusterFate::Removed);
        if gone.is_empty() {
            return steps;
        }
        let all: Vec<String> = gone
            .iter()
            .map(|claim| format!("{} of {}/{}", claim.size, claim.namespace, claim.name))
            .collect();
        let delete =
            |claim: &Claim<'_>| self.removed(CLAIM, &format!("{}/{}", claim.namespace, claim.name));
        let changes: Vec<&Change> = gone.iter().map(|claim| claim.change).collect();
        steps.push(Step {
            what: format!(
                "Only if the data is no longer needed, or was copied elsewhere: this permanently deletes {}, unless \
                 the StorageClass retains volumes. This step is optional",
                all.join(", ")
            ),
            commands: gone.iter().map(delete).collect(),
            changes: super::unique(ids(&changes)),
        });
        steps
    }
}
