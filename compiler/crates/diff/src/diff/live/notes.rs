//! What a comparison with a running cluster could not decide, and what stops a deployment.

use std::collections::BTreeMap;

use gpuc_model::plan::{Identity, Object, Plan};
use schemars::JsonSchema;
use serde::Serialize;

use super::{Answer, Unpredicted};

/// Notes about a comparison with a running cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LiveNotes {
    /// The number of objects of the tree that were compared.
    pub compared: usize,
    /// The objects that the API server rejects: a deployment stops there.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rejected: Vec<RejectedObject>,
    /// The fields that other field managers own with another value.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conflicts: Vec<FieldConflict>,
    /// The kinds that the API server does not serve.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing_kinds: Vec<MissingKind>,
    /// What was not compared, or only in part.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_compared: Vec<NotCompared>,
    /// The cloud resources, if the scripts of the tree compared them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cloud: Option<CloudNotes>,
}

/// An object that the API server rejects.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RejectedObject {
    /// The object: `DaemonSet gpuc-system/gpuc-runtime`.
    pub object: String,
    /// The reason of the API server.
    pub reason: String,
}

/// A field that another field manager owns with another value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FieldConflict {
    /// The object: `Deployment serving/model`.
    pub object: String,
    /// The path of the field: `.spec.replicas`.
    pub field: String,
    /// The other manager: `kubectl-edit`.
    pub manager: String,
}

/// A kind that the API server does not serve.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MissingKind {
    /// The kind.
    pub kind: String,
    /// Its API version.
    pub api_version: String,
    /// The number of objects of this kind in the tree.
    pub objects: usize,
    /// The Helm release of the tree that installs its definition, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub installed_by: Option<String>,
}

/// Something that was not compared, or only in part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NotCompared {
    /// The reason.
    pub reason: String,
    /// Whether it could not be read in this run. Otherwise, gpuc does not compare it at all.
    pub is_unread: bool,
    /// The objects or kinds.
    pub names: Vec<String>,
}

/// The differences of cloud resources, as the scripts of the tree report them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CloudNotes {
    /// The command that compared them.
    pub command: String,
    /// The result.
    pub result: CloudResult,
    /// The output of the command, a line each.
    pub lines: Vec<String>,
}

/// The result of a comparison of cloud resources.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum CloudResult {
    /// Every resource exists, is ready and does not differ.
    Equal,
    /// Resources differ.
    Differs,
    /// Resources are missing or not ready, or the command could not read them.
    Failed,
    /// The command could not run.
    NotRun,
}

impl LiveNotes {
    /// Whether something could not be read.
    pub fn has_unread(&self) -> bool {
        self.not_compared.iter().any(|it| it.is_unread)
    }

    /// Whether a deployment needs attention first, or something could not be compared.
    pub fn is_empty(&self) -> bool {
        let Self {
            compared: _,
            rejected,
            conflicts,
            missing_kinds,
            not_compared,
            cloud,
        } = self;
        rejected.is_empty()
            && conflicts.is_empty()
            && missing_kinds.is_empty()
            && not_compared.is_empty()
            && cloud.is_none()
    }

    /// Adds what the answer about an object says besides the object.
    pub(super) fn add(&mut self, plan: &Plan, object: &Object, answer: &Answer) {
        let identity = &object.identity;
        let name = object_name(identity);
        for (field, manager) in &answer.conflicts {
            self.conflicts.push(FieldConflict {
                object: name.clone(),
                field: field.clone(),
                manager: manager.clone(),
            });
        }
        let metadata = answer.live.as_ref().map(|live| &live["metadata"]);
        if metadata.is_some_and(|it| it["deletionTimestamp"].is_string()) {
            self.add_not_compared("they are being deleted", true, name);
            return;
        }
        match &answer.predicted {
            Ok(_) if answer.live.is_some() && !answer.was_applied => self.add_not_compared(
                "another tool created them, so fields that were removed from the tree are not noticed",
                false,
                name,
            ),
            Ok(_) | Err(Unpredicted::NamespaceNotFound) => {}
            Err(Unpredicted::KindNotServed) => self.add_missing_kind(plan, identity),
            Err(Unpredicted::Rejected(reason)) => self.rejected.push(RejectedObject {
                object: name,
                reason: reason.clone(),
            }),
            Err(Unpredicted::Forbidden(verb)) if answer.live.is_some() => self.add_not_compared(
                &format!(
                    "a dry run requires the right to {verb}: only the fields of the tree were compared, and defaults \
                     may be shown as differences"
                ),
                true,
                name,
            ),
            Err(Unpredicted::Forbidden(verb)) => {
                self.add_not_compared(&format!("the right to {verb} is missing"), true, name);
            }
            Err(Unpredicted::NotAnswered(reason)) => self.add_not_compared(reason, true, name),
        }
    }

    /// Adds kinds whose leftovers are unknown.
    pub(super) fn add_unlisted(&mut self, unlisted: &[(String, String)]) {
        for (kind, reason) in unlisted {
            let reason =
                format!("objects that are no longer in the tree are not noticed: {reason}");
            self.add_not_compared(&reason, true, kind.clone());
        }
    }

    /// The number of objects that were compared, of all objects.
    pub(super) fn compared_objects(&self, all: usize) -> usize {
        let missing: usize = self.missing_kinds.iter().map(|it| it.objects).sum();
        all - missing
    }

    /// Adds something that was not compared. Equal reasons are merged.
    pub(super) fn add_not_compared(&mut self, reason: &str, is_unread: bool, name: String) {
        let known = self.not_compared.iter_mut().find(|it| it.reason == reason);
        match known {
            Some(known) => known.names.push(name),
            None => self.not_compared.push(NotCompared {
                reason: reason.to_owned(),
                is_unread,
                names: vec![name],
            }),
        }
    }

    fn add_missing_kind(&mut self, plan: &Plan, identity: &Identity) {
        let mut known = self.missing_kinds.iter_mut();
        let is_same = |it: &&mut MissingKind| {
            it.kind == identity.kind && it.api_version == identity.api_version
        };
        if let Some(known) = known.find(is_same) {
            known.objects += 1;
            return;
        }
        let group = identity.api_version.split_once('/').map(|(group, _)| group);
        let group = group.unwrap_or_default();
        let mut releases = plan.releases.iter();
        let release = releases.find(|it| it.chart.api_groups.contains(&group));
        self.missing_kinds.push(MissingKind {
            kind: identity.kind.clone(),
            api_version: identity.api_version.clone(),
            objects: 1,
            installed_by: release.map(|it| it.name.clone()),
        });
    }

    /// The conflicts by object and manager, in order.
    pub(crate) fn conflicts_by_object(&self) -> BTreeMap<(&str, &str), Vec<&str>> {
        let mut grouped: BTreeMap<(&str, &str), Vec<&str>> = BTreeMap::new();
        for it in &self.conflicts {
            let key = (it.object.as_str(), it.manager.as_str());
            grouped.entry(key).or_default().push(&it.field);
        }
        grouped
    }
}

/// The kind, the namespace and the name: `DaemonSet gpuc-system/gpuc-runtime`.
pub(super) fn object_name(identity: &Identity) -> String {
    let Identity {
        kind,
        namespace,
        name,
        ..
    } = identity;
    match namespace {
        Some(namespace) => format!("{kind} {namespace}/{name}"),
        None => format!("{kind} {name}"),
    }
}
