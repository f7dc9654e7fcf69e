//! Stored data: nothing that holds some is deleted as if nobody needed it.

use super::super::parts::{Key, Part};
use super::super::shown::{Change, ClusterFate, Step};
use super::{Rollout, ids};
use crate::chart::JUPYTERHUB;
use crate::shell;

const CLAIM: &str = "PersistentVolumeClaim";

/// Where a claim says how much it asks for.
const SIZE: &str = "spec.resources.requests.storage";

/// A claim: its namespace, its name and how much it asks for.
struct Claim<'a> {
    namespace: &'a str,
    name: &'a str,
    size: &'a str,
    change: &'a Change,
}

impl Rollout<'_> {
    /// The part of a change with this name, as it was or else as it is.
    pub(super) fn part(&self, kind: &str, name: &str) -> Option<&Part> {
        let sides = [self.setting.before, self.setting.after];
        let mut all = sides.into_iter().flat_map(|side| &side.all);
        let found = all.find(|(key, _)| key.kind() == kind && key.name() == name);
        found.map(|(_, part)| part)
    }

    /// Claims that came or left.
    fn claims(&self, fate: ClusterFate) -> Vec<Claim<'_>> {
        let these = self.changes.iter();
        let these = these.filter(|change| change.kind == CLAIM && change.fate == fate);
        let all = these.flat_map(|change| change.names.iter().map(move |name| (change, name)));
        let claims = all.map(|(change, whole)| {
            let (namespace, name) = whole.split_once('/').unwrap_or(("default", whole));
            let size = self.part(CLAIM, whole);
            let size = size.and_then(|part| part.leaves.get(SIZE)?.value.as_str());
            Claim {
                namespace,
                name,
                size: size.unwrap_or("no size said"),
                change,
            }
        });
        claims.collect()
    }

    /// A claim of another name is another, empty volume.
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
                    "Where the work shall go on with that, write `from: {{existingClaim: {}}}` for its volume in \
                     gpu-cluster.yaml before you go on",
                    old.name
                ),
                None => "A pod sees only claims of its own namespace: copy what the work shall go on with, before it \
                         begins anew without"
                    .to_owned(),
            };
            let mut changes = vec![new.change];
            changes.extend(about.iter().map(|old| old.change));
            Step {
                what: format!(
                    "The claim {}/{} is new and begins empty. What left the tree keeps its data: {}. {kept}",
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

    /// What is lost with a push, because the tool uninstalls what owns it.
    pub(super) fn saved(&self) -> Option<Step> {
        let change = self.hub().filter(|_| self.setting.prunes)?;
        Some(Step {
            what: format!(
                "{} uninstalls JupyterHub as soon as the change is pushed, and the hub's database goes with it: who there \
                 is, and who was let in. Copy it first if anybody wants it. Notebooks that run stay without a hub, out of \
                 reach and with their GPUs: let people save their work and stop them. Their own claims stay",
                self.setting.before.tool
            ),
            commands: vec![self.hub_copied()],
            changes: ids(&[change]),
        })
    }

    /// The release of a hub that leaves, where its database lies in the cluster.
    fn hub(&self) -> Option<&Change> {
        let is_hub = |change: &&Change| {
            let named = change.names.iter().any(|name| self.is_hub(name));
            change.kind == "Helm release" && change.fate == ClusterFate::Removed && named
        };
        self.changes.iter().find(is_hub)
    }

    /// Whether a release is a hub whose database is a volume of its own.
    ///
    /// The chart's claim `hub-db-dir` has no mark that keeps it: jupyterhub/zero-to-jupyterhub-k8s@4.4.0
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

    /// Data that nothing deletes: the last steps, for those who want to.
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
                what: "Only when nobody wants JupyterHub any more: with it goes the hub's database, which is copied first. \
                       Notebooks that run stay without a hub: let people save their work and stop them before. People's \
                       own claims stay"
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
                "Only when nobody wants the data any more, and what is to be kept was copied elsewhere: this deletes {} \
                 for good, unless the volume's class retains volumes. Nothing else needs this step",
                all.join(", ")
            ),
            commands: gone.iter().map(delete).collect(),
            changes: super::unique(ids(&changes)),
        });
        steps
    }
}
