//! Validation of objects as in the API server, for the rules that report it.

use std::collections::BTreeSet;

use gpuc_kubernetes::api_server::{self, Completeness, Step, Violation, locate_path};
use gpuc_syntax::diag::{Applicability, Code, Edit, Report};
use gpuc_syntax::node::{Node, Value};

use super::corrections::correction_applicability;
use super::object::Object;
use super::{CheckContext, SkipReason, api_versions, text_edit};

/// API groups whose objects contain plain pod templates: their operators add no fields or volumes.
const PLAIN_TEMPLATE_GROUPS: &[&str] = &[
    "kubeflow.org",
    "jobset.x-k8s.io",
    "leaderworkerset.x-k8s.io",
    "ray.io",
    "batch.volcano.sh",
];

/// Reports the validation errors that `is_reported` selects, under one code.
pub(super) fn report_violations(
    ctx: &CheckContext<'_>,
    code: &'static Code,
    is_reported: impl Fn(&Object, &Violation) -> bool,
    report: &mut Report,
) {
    let before = report.diagnostics().iter();
    let reported: BTreeSet<_> = before.map(|found| found.primary.span).collect();
    for object in ctx.objects {
        let found = object_violations(ctx, object).into_iter();
        for found in found.filter(|it| is_reported(object, it)) {
            let Some(span) = locate_path(&object.root, &found.path, found.is_key) else {
                continue;
            };
            // Other rules are more specific about GPU resources and unquoted strings.
            if reported.contains(&span) {
                continue;
            }
            let message = format!("{}: {}", object.title(), found.message);
            let builder = report.diagnostic(code, span, message);
            let builder = builder.help(found.help.clone());
            match correction(ctx, object, &found) {
                Some((applicability, edit)) => builder.fix_as(applicability, vec![edit]).emit(),
                None => builder.emit(),
            };
        }
    }
}

/// Replaces a key or value with the intended one, unless only the author can decide that.
fn correction<'o>(
    ctx: &CheckContext<'_>,
    object: &'o Object,
    found: &'o Violation,
) -> Option<(Applicability, Edit)> {
    let meant = found.suggestion.as_deref()?;
    let (last, parent_path) = found.path.split_last()?;
    let parent = parent_path
        .iter()
        .try_fold(&object.root, |node, step| match step {
            Step::Key(key) => node.get(key),
            Step::Item(index) => node.items().get(*index),
        })?;
    let replace_value = |value: &'o Node| {
        let edit = text_edit::replace_value(ctx.sources, value, meant)?;
        Some((value.text().unwrap_or_default(), edit))
    };
    let (written, edit) = match last {
        Step::Key(key) if found.is_key => {
            let edit = text_edit::rename_key(ctx.sources, parent.entry(key)?, meant)?;
            (key.as_str(), edit)
        }
        Step::Key(key) => replace_value(parent.get(key)?)?,
        Step::Item(index) => replace_value(parent.items().get(*index)?)?,
    };
    let keys = found.path.iter().filter_map(|step| match step {
        Step::Key(key) => Some(key.as_str()),
        Step::Item(_) => None,
    });
    let applicability = correction_applicability(object.group(), keys, written, meant)?;
    Some((applicability, edit))
}

fn object_violations(ctx: &CheckContext<'_>, object: &Object) -> Vec<Violation> {
    let (version, kind) = (object.api_version.as_str(), object.kind.as_str());
    // Objects of an unserved version are validated as the served one.
    let served = api_versions::replacements(version, kind).and_then(<[_]>::first);
    let version = served.copied().unwrap_or(version);
    if !can_validate(object) || is_sops_encrypted(&object.root) {
        return Vec::new();
    }
    let is_patched_elsewhere = ctx.skipped.iter().any(|it| match &it.reason {
        SkipReason::Kustomization => true,
        SkipReason::Patch(title) => *title == object.title(),
        SkipReason::Template | SkipReason::NoObjects => false,
    });
    // kustomize sets the namespaces of the subjects of a binding as well.
    let is_patched_elsewhere =
        is_patched_elsewhere || ctx.is_namespace_set && kind.ends_with("RoleBinding");
    let extent = if is_complete_object(kind, &object.root) && !is_patched_elsewhere {
        Completeness::Complete
    } else {
        Completeness::Partial
    };
    let mut found = api_server::validate_object(version, kind, &object.root, extent);
    found.extend(service_name_violation(ctx, object));
    found
}

/// Whether gpuc can validate an object.
pub(super) fn can_validate(object: &Object) -> bool {
    let (version, kind) = (object.api_version.as_str(), object.kind.as_str());
    let served = api_versions::replacements(version, kind).and_then(<[_]>::first);
    let version = served.copied().unwrap_or(version);
    PLAIN_TEMPLATE_GROUPS
        .iter()
        .any(|group| object.is_in_group(group))
        || api_server::is_known_kind(version, kind)
}

/// Whether SOPS has encrypted the values; its own key is in the object until it is decrypted.
fn is_sops_encrypted(root: &Node) -> bool {
    root.get("sops").is_some_and(|it| it.get("mac").is_some())
}

/// The error for a Service name that only newer Kubernetes versions accept.
fn service_name_violation(ctx: &CheckContext<'_>, object: &Object) -> Option<Violation> {
    if (object.api_version.as_str(), object.kind.as_str()) != ("v1", "Service") {
        return None;
    }
    let minor = ctx.cluster.kubernetes.get()?.value.0;
    let (message, help) =
        api_server::services::service_name_problem(minor, object.name.as_deref()?)?;
    Some(Violation {
        path: vec![Step::from("metadata"), Step::from("name")],
        is_key: false,
        message,
        help: help.to_owned(),
        suggestion: None,
        unknown_to_project: None,
        rule_owner: None,
    })
}

/// Kinds whose lists are always complete: patches replace them.
///
/// Source: kubernetes `staging/src/k8s.io/api`, `types.go` of `core/v1`, `rbac/v1`, `policy/v1` and `networking/v1`:
/// none of their lists has a `patchMergeKey` (from memory).
const COMPLETE_LIST_KINDS: &[&str] = &[
    "ClusterRole",
    "Ingress",
    "LimitRange",
    "NetworkPolicy",
    "PodDisruptionBudget",
    "ResourceQuota",
    "Role",
];

/// Keys of a PersistentVolumeClaim. A patch is assumed to change at most one of them.
const CLAIM_KEYS: &[&str] = &[
    "accessModes",
    "resources",
    "storageClassName",
    "volumeMode",
    "volumeName",
];

/// Whether an object is complete: it has fields that partial objects lack, such as an image for each container.
fn is_complete_object(kind: &str, root: &Node) -> bool {
    let (mut has_containers, mut all_have_images) = (false, true);
    scan_container_images(root, &mut has_containers, &mut all_have_images);
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
        "PersistentVolumeClaim" => CLAIM_KEYS.iter().filter(|key| spec(key)).count() > 1,
        "Secret" => root.get("type").is_some(),
        "Service" => spec("ports") && spec("selector"),
        "TrainJob" => at(&["trainer", "image"]).is_some(),
        kind => COMPLETE_LIST_KINDS.contains(&kind),
    }
}

fn scan_container_images(node: &Node, has_containers: &mut bool, all_have_images: &mut bool) {
    match &node.value {
        Value::Scalar(_) => {}
        Value::Sequence(items) => {
            for item in items {
                scan_container_images(item, has_containers, all_have_images);
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
                scan_container_images(&entry.value, has_containers, all_have_images);
            }
        }
    }
}
