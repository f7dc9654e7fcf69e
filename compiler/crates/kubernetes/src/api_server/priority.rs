//! Priority classes.

use gpuc_syntax::diag::phrases::{closest_match, quoted_conjunction};

use super::ObjectContext;
use super::field_path::Step;
use super::scalar::get_text;

/// The built-in classes of Kubernetes.
///
/// Source: kubernetes `pkg/apis/scheduling/v1/helpers.go`, `systemPriorityClasses` (from memory).
pub const SYSTEM_CLASSES: &[&str] = &["system-node-critical", "system-cluster-critical"];

/// Whether a class is built into Kubernetes.
pub(super) fn is_system_class(name: &str) -> bool {
    SYSTEM_CLASSES.contains(&name)
}

/// Names that are reserved for Kubernetes.
///
/// Source: kubernetes `pkg/apis/scheduling/validation/validation.go`, `ValidatePriorityClass`.
pub(super) fn validate(ctx: &mut ObjectContext<'_, '_>) {
    let name = ctx.node.get("metadata").and_then(|it| get_text(it, "name"));
    let Some(name) = name.filter(|_| ctx.type_name == "PriorityClass") else {
        return;
    };
    if name.starts_with("system-") && !is_system_class(name) {
        ctx.report(
            ["metadata", "name"].map(Step::from),
            |path| {
                format!(
                    "`{path}` is `{name}`, but names with `system-` are reserved for Kubernetes"
                )
            },
            "write another name",
        );
    }
}

/// The help for an unknown class; `None` if no classes are known, if the name is filled in later, and for built-in
/// classes.
///
/// Source: kubernetes `plugin/pkg/admission/priority/admission.go`, `admitPod` (from memory).
pub fn unknown_class_help(name: &str, known: &[&str]) -> Option<String> {
    let is_known = known.is_empty() || known.contains(&name) || name.starts_with("system-");
    if is_known || name.is_empty() || name.contains(['$', '{']) {
        return None;
    }
    Some(match closest_match(name, known.iter().copied()) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => format!("write {}", quoted_conjunction(known, "or")),
    })
}
