//! Priority classes.

use gpuc_syntax::diag::words::{all, nearest};

use super::ObjectContext;
use super::field_path::Step;
use super::scalar::text;

/// The built-in classes of Kubernetes.
///
/// Source: kubernetes `pkg/apis/scheduling/v1/helpers.go`, `systemPriorityClasses` (from memory).
const OF_KUBERNETES: &[&str] = &["system-node-critical", "system-cluster-critical"];

/// Whether a class is built into Kubernetes.
pub(super) fn is_kubernetes(name: &str) -> bool {
    OF_KUBERNETES.contains(&name)
}

/// Names that are reserved for Kubernetes.
///
/// Source: kubernetes `pkg/apis/scheduling/validation/validation.go`, `ValidatePriorityClass`.
pub(super) fn validate(ctx: &mut ObjectContext<'_, '_>) {
    let name = ctx.node.get("metadata").and_then(|it| text(it, "name"));
    let Some(name) = name.filter(|_| ctx.name == "PriorityClass") else {
        return;
    };
    if name.starts_with("system-") && !is_kubernetes(name) {
        ctx.refuse(
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
pub fn unknown(name: &str, known: &[&str]) -> Option<String> {
    let is_known = known.is_empty() || known.contains(&name) || name.starts_with("system-");
    if is_known || name.is_empty() || name.contains(['$', '{']) {
        return None;
    }
    Some(match nearest(name, known.iter().copied()) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => format!("write {}", all(known, "or")),
    })
}
