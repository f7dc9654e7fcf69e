//! Validation of objects as in the API server, for the rules that report it.

use std::collections::BTreeSet;

use gpuc_kubernetes::api_server::{self, Extent, Refused, Step, place};
use gpuc_syntax::diag::{Code, Edit, Report};
use gpuc_syntax::node::{Node, Value};

use super::read::Object;
use super::{Scene, Why, api_versions, text_edit};

/// API groups whose objects contain plain pod templates: their operators add no fields or volumes.
const PLAIN: &[&str] = &[
    "kubeflow.org",
    "jobset.x-k8s.io",
    "leaderworkerset.x-k8s.io",
    "ray.io",
    "batch.volcano.sh",
];

/// Reports the validation errors that `is_reported` selects, under one code.
pub(super) fn report(
    scene: &Scene<'_>,
    code: &'static Code,
    is_reported: impl Fn(&Object, &Refused) -> bool,
    report: &mut Report,
) {
    let before = report.diagnostics().iter();
    let reported: BTreeSet<_> = before.map(|found| found.primary.span).collect();
    for object in scene.objects {
        let found = validate(scene, object).into_iter();
        for found in found.filter(|it| is_reported(object, it)) {
            let Some(span) = place(&object.root, &found.path, found.of_key) else {
                continue;
            };
            // Other rules are more specific about GPU resources and unquoted strings.
            if reported.contains(&span) {
                continue;
            }
            let message = format!("{}: {}", object.title(), found.message);
            let builder = report.diagnostic(code, span, message);
            let builder = builder.help(found.help.clone());
            match edit_of(scene, object, &found) {
                Some(edit) => builder.fix(vec![edit]).emit(),
                None => builder.emit(),
            };
        }
    }
}

/// Replaces a key or value with the intended one.
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
        Step::Key(key) if found.of_key => text_edit::key(scene.sources, holder.entry(key)?, meant),
        Step::Key(key) => text_edit::value(scene.sources, holder.get(key)?, meant),
        Step::Item(index) => text_edit::value(scene.sources, holder.items().get(*index)?, meant),
    }
}

fn validate(scene: &Scene<'_>, object: &Object) -> Vec<Refused> {
    let (version, kind) = (object.api_version.as_str(), object.kind.as_str());
    // Objects of an unserved version are validated as the served one.
    let served = api_versions::replacements(version, kind).and_then(<[_]>::first);
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
    found.extend(service_name(scene, object));
    found
}

/// Whether gpuc can validate an object.
pub(super) fn is_known(object: &Object) -> bool {
    let (version, kind) = (object.api_version.as_str(), object.kind.as_str());
    let served = api_versions::replacements(version, kind).and_then(<[_]>::first);
    let version = served.copied().unwrap_or(version);
    PLAIN.iter().any(|group| object.is_of(group)) || api_server::knows(version, kind)
}

/// Whether SOPS has encrypted the values; its own key is in the object until it is decrypted.
fn is_sealed(root: &Node) -> bool {
    root.get("sops").is_some_and(|it| it.get("mac").is_some())
}

/// The error for a Service name that only newer Kubernetes versions accept.
fn service_name(scene: &Scene<'_>, object: &Object) -> Option<Refused> {
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

/// Kinds whose lists are always complete: patches replace them.
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

/// Keys of a PersistentVolumeClaim. A patch is assumed to change at most one of them.
const OF_CLAIM: &[&str] = &[
    "accessModes",
    "resources",
    "storageClassName",
    "volumeMode",
    "volumeName",
];

/// Whether an object is complete: it has fields that partial objects lack, such as an image for each container.
fn is_whole(kind: &str, root: &Node) -> bool {
    let (mut has_containers, mut all_have_images) = (false, true);
    images(root, &mut has_containers, &mut all_have_images);
    if has_containers {
        return all_have_images;
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

fn images(node: &Node, has_containers: &mut bool, all_have_images: &mut bool) {
    match &node.value {
        Value::Scalar(_) => {}
        Value::Sequence(items) => {
            for item in items {
                images(item, has_containers, all_have_images);
            }
        }
        Value::Mapping(entries) => {
            for entry in entries {
                if ["containers", "initContainers"].contains(&entry.key.as_str()) {
                    for item in entry.value.items() {
                        *has_containers = true;
                        *all_have_images &= item.get("image").is_some();
                    }
                }
                images(&entry.value, has_containers, all_have_images);
            }
        }
    }
}
