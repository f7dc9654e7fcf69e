//! What the API server refuses of objects, for the rules that say it.

use std::collections::BTreeSet;

use super::read::Object;
use super::{Scene, Why, edit, served};
use crate::api_server::{self, Extent, Refused, Step, place};
use crate::diag::{Code, Edit, Report};
use crate::node::{Node, Value};

/// Groups whose objects hold pods just as Kubernetes has them: nobody adds fields or volumes to them.
const PLAIN: &[&str] = &[
    "kubeflow.org",
    "jobset.x-k8s.io",
    "leaderworkerset.x-k8s.io",
    "ray.io",
    "batch.volcano.sh",
];

/// Reports, as findings of one code, what of the objects is refused and is to be told.
pub(super) fn report(
    scene: &Scene<'_>,
    code: &'static Code,
    is_told: impl Fn(&Object, &Refused) -> bool,
    report: &mut Report,
) {
    let before = report.diagnostics().iter();
    let said: BTreeSet<_> = before.map(|found| found.primary.span).collect();
    for object in scene.objects {
        let found = of(scene, object).into_iter();
        for found in found.filter(|it| is_told(object, it)) {
            let Some(span) = place(&object.root, &found.path, found.of_key) else {
                continue;
            };
            // Other rules know more of resources of GPUs, and of text without quotes.
            if said.contains(&span) {
                continue;
            }
            let message = format!("{}: {}", object.title(), found.message);
            let draft = report.draft(code, span, message);
            let draft = draft.help(found.help.clone());
            match edit_of(scene, object, &found) {
                Some(edit) => draft.fix(vec![edit]).emit(),
                None => draft.emit(),
            };
        }
    }
}

/// What was meant, in place of what stands there.
fn edit_of(scene: &Scene<'_>, object: &Object, found: &Refused) -> Option<Edit> {
    let meant = found.meant.as_deref()?;
    let (last, above) = found.path.split_last()?;
    let holder = above
        .iter()
        .try_fold(&object.root, |node, step| match step {
            Step::Key(key) => node.get(key),
            Step::Item(index) => node.items().get(*index),
        })?;
    match last {
        Step::Key(key) if found.of_key => edit::key(scene.sources, holder.entry(key)?, meant),
        Step::Key(key) => edit::value(scene.sources, holder.get(key)?, meant),
        Step::Item(index) => edit::value(scene.sources, holder.items().get(*index)?, meant),
    }
}

fn of(scene: &Scene<'_>, object: &Object) -> Vec<Refused> {
    let (version, kind) = (object.api_version.as_str(), object.kind.as_str());
    // Of a version that is not served the one that is says what Kubernetes takes.
    let served = served::instead(version, kind).and_then(<[_]>::first);
    let version = served.copied().unwrap_or(version);
    if !is_known(object) || is_sealed(&object.root) {
        return Vec::new();
    }
    let is_layered = scene.passed_over.iter().any(|it| match &it.why {
        Why::Kustomization => true,
        Why::Patch(title) => *title == object.title(),
        Why::Template | Why::NoObjects => false,
    });
    let extent = if is_whole(kind, &object.root) && !is_layered {
        Extent::Whole
    } else {
        Extent::Part
    };
    let mut found = api_server::look(version, kind, &object.root, extent);
    found.extend(name(scene, object));
    found
}

/// Whether an object is one of which is known what the API server takes.
pub(super) fn is_known(object: &Object) -> bool {
    let (version, kind) = (object.api_version.as_str(), object.kind.as_str());
    let served = served::instead(version, kind).and_then(<[_]>::first);
    let version = served.copied().unwrap_or(version);
    PLAIN.iter().any(|group| object.is_of(group)) || api_server::knows(version, kind)
}

/// Whether SOPS has encrypted values, and its own key stands beside them until somebody reads it.
fn is_sealed(root: &Node) -> bool {
    root.get("sops").is_some_and(|it| it.get("mac").is_some())
}

/// The name of a Service that only newer versions take.
fn name(scene: &Scene<'_>, object: &Object) -> Option<Refused> {
    if (object.api_version.as_str(), object.kind.as_str()) != ("v1", "Service") {
        return None;
    }
    let minor = scene.cluster.kubernetes.get()?.value.0;
    let (message, help) = api_server::services::name(minor, object.name.as_deref()?)?;
    Some(Refused {
        path: vec![Step::from("metadata"), Step::from("name")],
        of_key: false,
        message,
        help: help.to_owned(),
        meant: None,
        unknown_to: None,
        rule_of: None,
    })
}

/// Kinds whose lists are written whole, by whoever writes them: patches take their place.
///
/// Source: kubernetes `staging/src/k8s.io/api`, `types.go` of `core/v1`, `rbac/v1`, `policy/v1` and `networking/v1`:
/// none of their lists has a `patchMergeKey` (from memory).
const WHOLE: &[&str] = &[
    "ClusterRole",
    "Ingress",
    "LimitRange",
    "NetworkPolicy",
    "PodDisruptionBudget",
    "ResourceQuota",
    "Role",
];

/// Keys of a claim, two of which nobody changes by one patch.
const OF_CLAIM: &[&str] = &[
    "accessModes",
    "resources",
    "storageClassName",
    "volumeMode",
    "volumeName",
];

/// Whether an object is all there: it has what nobody writes who changes a part of one, such as an image of each
/// container.
pub(super) fn is_whole(kind: &str, root: &Node) -> bool {
    let (mut some, mut all) = (false, true);
    images(root, &mut some, &mut all);
    if some {
        return all;
    }
    let at = |keys: &[&str]| {
        let mut keys = keys.iter();
        keys.try_fold(root.get("spec")?, |node, key| node.get(key))
    };
    let spec = |key: &str| at(&[key]).is_some();
    match kind {
        "ClusterQueue" => spec("resourceGroups"),
        "ClusterRoleBinding" | "RoleBinding" => root.get("roleRef").is_some(),
        "HorizontalPodAutoscaler" => spec("scaleTargetRef"),
        "PersistentVolumeClaim" => OF_CLAIM.iter().filter(|key| spec(key)).count() > 1,
        "Secret" => root.get("type").is_some(),
        "Service" => spec("ports") && spec("selector"),
        "TrainJob" => at(&["trainer", "image"]).is_some(),
        kind => WHOLE.contains(&kind),
    }
}

fn images(node: &Node, some: &mut bool, all: &mut bool) {
    match &node.value {
        Value::Scalar(_) => {}
        Value::Sequence(items) => items.iter().for_each(|item| images(item, some, all)),
        Value::Mapping(entries) => {
            for entry in entries {
                if ["containers", "initContainers"].contains(&entry.key.as_str()) {
                    for item in entry.value.items() {
                        *some = true;
                        *all &= item.get("image").is_some();
                    }
                }
                images(&entry.value, some, all);
            }
        }
    }
}
