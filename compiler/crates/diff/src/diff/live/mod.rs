//! Differences between a running cluster and its tree: what a deployment of the tree would change.
//!
//! The state before the change is what the API server has, and the state after it is what the API server would have,
//! by a dry run. Defaults and fields of other managers are in both, so that they do not differ. All other parts of the
//! cluster are taken from the compilation on both sides.

mod identity;
mod normalize;
mod notes;
mod releases;

use std::collections::{BTreeMap, BTreeSet};

use gpuc_compile::compile::Compilation;
use gpuc_compile::emit;
use gpuc_model::plan::{Delivery, Identity, Object, Plan, StepKind};
use gpuc_syntax::node::{Node, Value};
use gpuc_syntax::source::{Sources, Span};
use serde_json::Value as Json;

use super::changes::{Delta, find_deltas};
use super::classify::DiffContext;
use super::entities::{DELIVERY, Entities, Entity, EntityKey, VALUES, deployed_release};
use super::fields::{FieldValue, child_path, items_with_names, leaf_fields};
use super::grouping::group_changes;
use super::impact::Impact;
use super::report::{Cause, Diff, Status};

pub use identity::find_other_cluster;
use normalize::normalize;
pub use notes::{
    CloudNotes, CloudResult, FieldConflict, LiveNotes, MissingKind, NotCompared, RejectedObject,
};
pub use releases::InstalledRelease;

/// What the API server answers about one object of the tree.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The object in the cluster; `None` if it does not exist or cannot be read.
    pub live: Option<Json>,
    /// The object after a deployment.
    pub predicted: Result<Json, Unpredicted>,
    /// The fields that other field managers own with another value, with the manager.
    pub conflicts: Vec<(String, String)>,
    /// Whether the field manager of the deployment applied the object before. Otherwise, fields that were removed from
    /// the tree are not noticed.
    pub was_applied: bool,
}

/// Why the object after a deployment is not known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unpredicted {
    /// The API server does not serve the kind.
    KindNotServed,
    /// The namespace does not exist.
    NamespaceNotFound,
    /// The user lacks the right for this verb.
    Forbidden(&'static str),
    /// The API server rejects the object.
    Rejected(String),
    /// The API server did not answer.
    NotAnswered(String),
}

/// What is known about a running cluster.
#[derive(Clone, Debug, Default)]
pub struct LiveState {
    /// The answers, in the order of [`desired_objects`].
    pub answers: Vec<Answer>,
    /// Objects in the cluster that have the label of gpuc. Those that are not in the tree are leftovers.
    pub labeled: Vec<Json>,
    /// The installed Helm releases by name; `None` if they could not be read.
    pub releases: Option<BTreeMap<String, InstalledRelease>>,
    /// Kinds whose leftovers are unknown, with the reason.
    pub unlisted: Vec<(String, String)>,
}

/// The kinds of the objects that gpuc generates, with their API versions. Objects of a kind that the tree does not
/// contain any more can remain in the cluster.
pub const GENERATED_KINDS: &[(&str, &str)] = &[
    (
        "admissionregistration.k8s.io/v1",
        "ValidatingAdmissionPolicy",
    ),
    (
        "admissionregistration.k8s.io/v1",
        "ValidatingAdmissionPolicyBinding",
    ),
    ("apps/v1", "DaemonSet"),
    ("apps/v1", "Deployment"),
    ("apps/v1", "StatefulSet"),
    ("autoscaling/v2", "HorizontalPodAutoscaler"),
    ("batch/v1", "CronJob"),
    ("batch/v1", "Job"),
    ("compute.coreweave.com/v1alpha1", "NodePool"),
    ("jobset.x-k8s.io/v1alpha2", "JobSet"),
    ("kubeflow.org/v1", "PyTorchJob"),
    ("kueue.x-k8s.io/v1beta2", "AdmissionCheck"),
    ("kueue.x-k8s.io/v1beta2", "ClusterQueue"),
    ("kueue.x-k8s.io/v1beta2", "Cohort"),
    ("kueue.x-k8s.io/v1beta2", "LocalQueue"),
    ("kueue.x-k8s.io/v1beta2", "ProvisioningRequestConfig"),
    ("kueue.x-k8s.io/v1beta2", "ResourceFlavor"),
    ("kueue.x-k8s.io/v1beta2", "Topology"),
    ("kueue.x-k8s.io/v1beta2", "WorkloadPriorityClass"),
    ("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet"),
    ("mellanox.com/v1alpha1", "NicNodePolicy"),
    ("monitoring.coreos.com/v1", "PodMonitor"),
    ("monitoring.coreos.com/v1", "PrometheusRule"),
    ("networking.gke.io/v1", "GKENetworkParamSet"),
    ("networking.gke.io/v1", "Network"),
    ("networking.k8s.io/v1", "NetworkPolicy"),
    ("node.k8s.io/v1", "RuntimeClass"),
    ("nvidia.com/v1alpha1", "NVIDIADriver"),
    ("policy/v1", "PodDisruptionBudget"),
    ("rbac.authorization.k8s.io/v1", "ClusterRole"),
    ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding"),
    ("rbac.authorization.k8s.io/v1", "RoleBinding"),
    ("resource.k8s.io/v1", "DeviceClass"),
    ("resource.k8s.io/v1", "ResourceClaim"),
    ("resource.k8s.io/v1", "ResourceClaimTemplate"),
    ("resource.nvidia.com/v1beta1", "ComputeDomain"),
    ("scheduling.k8s.io/v1", "PriorityClass"),
    ("trainer.kubeflow.org/v1alpha1", "TrainJob"),
    ("trainer.kubeflow.org/v1alpha1", "TrainingRuntime"),
    ("v1", "ConfigMap"),
    ("v1", "LimitRange"),
    ("v1", "Namespace"),
    ("v1", "PersistentVolumeClaim"),
    ("v1", "ResourceQuota"),
    ("v1", "Service"),
    ("v1", "ServiceAccount"),
];

/// The objects of a tree, in the order in which they are installed.
pub fn desired_objects(plan: &Plan) -> Vec<&Object> {
    let steps = plan.steps.iter();
    let steps = steps.filter(|step| step.kind == StepKind::Component);
    let position: BTreeMap<&str, usize> = (steps.enumerate())
        .map(|(index, step)| (step.name.as_str(), index))
        .collect();
    let mut objects: Vec<&Object> = emit::objects_with_paths(plan).map(|(_, it)| it).collect();
    objects.sort_by_key(|it| position.get(it.component.as_str()).copied());
    let delivered = emit::controller_objects(plan).into_iter().map(|(_, it)| it);
    objects.into_iter().chain(delivered).collect()
}

/// The differences between a running cluster and a compilation of its file; `None` if the file has errors.
///
/// # Panics
///
/// If the number of answers is not the number of objects.
pub fn diff_live(compilation: &Compilation, state: &LiveState, sources: &Sources) -> Option<Diff> {
    let plan = compilation.plan.as_ref()?;
    let objects = desired_objects(plan);
    assert_eq!(objects.len(), state.answers.len(), "one answer per object");
    let mut after = Entities::from_compilation(compilation)?;
    let mut before = after.clone();
    let is_gitops = matches!(plan.delivery, Delivery::Gitops { .. });
    let controlled: BTreeSet<&Identity> = match &plan.delivery {
        Delivery::Script => BTreeSet::new(),
        Delivery::Gitops { objects, .. } => objects.iter().map(|it| &it.identity).collect(),
    };
    let mut notes = LiveNotes::default();
    for (object, answer) in objects.iter().zip(&state.answers) {
        let key = if controlled.contains(&object.identity) {
            controller_key(object, &after)
        } else {
            EntityKey::for_object(&object.identity)
        };
        notes.add(plan, object, answer);
        set_entity(&key, object, answer, &mut before, &mut after);
    }
    add_leftovers(state, &mut before, &after);
    releases::set_versions(plan, state, &mut before, &after, &mut notes);
    notes.add_unlisted(&state.unlisted);
    let setting = DiffContext {
        before: &before,
        after: &after,
        prunes_removed: is_gitops,
        lacks_input: false,
    };
    let found = find_deltas(&before, &after);
    let (causes, shown) = input_causes(compilation, &found, sources);
    let changes = group_changes(&setting, &found, &causes, &shown, 1);
    let worst = changes.iter().map(|change| change.impact).min();
    let refused = (!notes.rejected.is_empty()).then_some(Impact::Refused);
    notes.compared = notes.compared_objects(objects.len());
    Some(Diff {
        cluster: plan.cluster.clone(),
        status: Status::Kept,
        worst: worst.into_iter().chain(refused).min(),
        changes,
        live: Some(notes),
        tool: after.controller,
        has_apply: emit::has_apply(plan),
        has_install: emit::has_install(plan),
        ..Diff::default()
    })
}

/// The entity of an object of a GitOps controller: the release that it deploys, or the object itself.
fn controller_key(object: &Object, entities: &Entities) -> EntityKey {
    let release = deployed_release(&leaf_fields(&object.node));
    let release = release.filter(|key| entities.by_key.contains_key(key));
    release.unwrap_or_else(|| {
        EntityKey::ControllerObject(object.identity.kind.clone(), object.identity.name.clone())
    })
}

/// Sets the fields of an entity on both sides by the answer of the API server.
fn set_entity(
    key: &EntityKey,
    object: &Object,
    answer: &Answer,
    before: &mut Entities,
    after: &mut Entities,
) {
    let is_release = matches!(key, EntityKey::Release(_));
    let fields = |node: &Node| {
        let fields = leaf_fields(node);
        if is_release {
            release_fields(fields)
        } else {
            fields
        }
    };
    let desired = fields(&object.node);
    let leaves = |json: &Json| fields(&Node::from_json(normalize(json)));
    let (was, is) = match (&answer.live, &answer.predicted) {
        (Some(live), Ok(predicted)) => (leaves(live), with_inputs(leaves(predicted), &desired)),
        (None, Ok(_) | Err(Unpredicted::NamespaceNotFound | Unpredicted::Rejected(_)))
        | (_, Err(Unpredicted::KindNotServed)) => {
            before.by_key.remove(key);
            return;
        }
        // Without a dry run, only the fields of the tree are compared.
        (Some(live), Err(_)) => {
            let was = leaves(live).into_iter();
            let was = was.filter(|(path, _)| desired.contains_key(path)).collect();
            (was, desired)
        }
        (None, Err(Unpredicted::Forbidden(_) | Unpredicted::NotAnswered(_))) => {
            if !is_release {
                before.by_key.remove(key);
                after.by_key.remove(key);
            }
            return;
        }
    };
    for (entities, fields) in [(before, was), (after, is)] {
        let entity = entities.by_key.entry(key.clone()).or_default();
        if is_release {
            entity.fields.retain(|path, _| !is_delivered(path));
            entity.fields.extend(fields);
        } else {
            entity.fields = fields;
        }
    }
}

/// Whether a field of a release comes from the object that deploys it.
fn is_delivered(path: &str) -> bool {
    path.starts_with(DELIVERY) || path.starts_with(RELEASE_VALUES)
}

/// The prefix of the values of a release.
const RELEASE_VALUES: &str = "values.";

/// The fields of an object that deploys a release, as fields of the release.
fn release_fields(fields: BTreeMap<String, FieldValue>) -> BTreeMap<String, FieldValue> {
    let rename = |path: String| {
        let mut values = VALUES.iter();
        match values.find_map(|prefix| path.strip_prefix(prefix)) {
            Some(rest) => format!("{RELEASE_VALUES}{rest}"),
            None => format!("{DELIVERY}{path}"),
        }
    };
    let fields = fields.into_iter();
    fields.map(|(path, leaf)| (rename(path), leaf)).collect()
}

/// Fields with the locations in the input of the equally named fields.
fn with_inputs(
    mut fields: BTreeMap<String, FieldValue>,
    desired: &BTreeMap<String, FieldValue>,
) -> BTreeMap<String, FieldValue> {
    for (path, leaf) in &mut fields {
        if let Some(own) = desired.get(path) {
            leaf.inputs.clone_from(&own.inputs);
        }
    }
    fields
}

/// Adds the objects with gpuc's label that the tree does not contain.
fn add_leftovers(state: &LiveState, before: &mut Entities, after: &Entities) {
    for object in &state.labeled {
        let text = |value: &Json| value.as_str().map(str::to_owned);
        let metadata = &object["metadata"];
        let (Some(api_version), Some(kind), Some(name)) = (
            text(&object["apiVersion"]),
            text(&object["kind"]),
            text(&metadata["name"]),
        ) else {
            continue;
        };
        let key = EntityKey::for_object(&Identity {
            api_version,
            kind,
            namespace: text(&metadata["namespace"]),
            name,
        });
        if !after.by_key.contains_key(&key) {
            let fields = leaf_fields(&Node::from_json(normalize(object)));
            let entity = Entity {
                fields,
                ..Entity::default()
            };
            before.by_key.entry(key).or_insert(entity);
        }
    }
}

/// The largest number of locations from which a field follows and that are of use to a reader. A field without a reason
/// of its own has all locations of its object.
const MAX_INPUTS: usize = 3;

/// The numbers of the locations in the input from which the desired values of each difference's entity follow, and the
/// locations.
fn input_causes(
    compilation: &Compilation,
    found: &[Delta],
    sources: &Sources,
) -> (Vec<Vec<usize>>, Vec<Cause>) {
    let paths = paths_by_span(&compilation.loaded.root);
    let mut spans_by_key: BTreeMap<&EntityKey, BTreeSet<Span>> = BTreeMap::new();
    for delta in found.iter().filter(|delta| delta.path.is_some()) {
        let known = delta.inputs.iter().filter(|span| paths.contains_key(span));
        let known: BTreeSet<Span> = known.copied().collect();
        if known.len() <= MAX_INPUTS {
            spans_by_key.entry(&delta.key).or_default().extend(known);
        }
    }
    let all: BTreeSet<Span> = spans_by_key.values().flatten().copied().collect();
    let shown = all.iter().map(|span| {
        let found = sources.locate(*span);
        Cause {
            path: paths.get(span).cloned().unwrap_or_default(),
            file: found.map(|(file, _)| file.to_owned()),
            line: found.map(|(_, position)| position.line),
            column: found.map(|(_, position)| position.column),
            in_base: false,
        }
    });
    let numbers: BTreeMap<Span, usize> = all.iter().copied().zip(0..).collect();
    let causes = found.iter().map(|delta| {
        let spans = spans_by_key.get(&delta.key).into_iter().flatten();
        spans
            .filter_map(|span| numbers.get(span).copied())
            .collect()
    });
    (causes.collect(), shown.collect())
}

/// The path of each location in the input, for display: `nodePools[train].taints`.
fn paths_by_span(root: &Node) -> BTreeMap<Span, String> {
    let mut paths = BTreeMap::new();
    collect_paths(root, String::new(), &mut paths);
    paths
}

fn collect_paths(node: &Node, path: String, paths: &mut BTreeMap<Span, String>) {
    match &node.value {
        Value::Mapping(entries) => {
            for entry in entries {
                let child = child_path(&path, &entry.key);
                paths.insert(entry.key_span, child.clone());
                collect_paths(&entry.value, child, paths);
            }
        }
        Value::Sequence(items) => {
            for (name, item) in items_with_names(items) {
                collect_paths(item, format!("{path}[{name}]"), paths);
            }
        }
        Value::Scalar(_) => {}
    }
    if !path.is_empty() {
        paths.entry(node.span()).or_insert(path);
    }
}
