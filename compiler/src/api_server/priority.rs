//! Classes of priority that pods name.

use super::Here;
use super::place::Step;
use super::read::text;
use crate::diag::words::{all, nearest};

/// The classes that Kubernetes has.
///
/// Source: kubernetes `pkg/apis/scheduling/v1/helpers.go`, `systemPriorityClasses` (from memory).
const OF_KUBERNETES: &[&str] = &["system-node-critical", "system-cluster-critical"];

/// Whether a class is one of Kubernetes' own.
pub(super) fn is_kubernetes(name: &str) -> bool {
    OF_KUBERNETES.contains(&name)
}

/// Names that are kept for Kubernetes.
///
/// Source: kubernetes `pkg/apis/scheduling/validation/validation.go`, `ValidatePriorityClass`.
pub(super) fn look(here: &mut Here<'_, '_>) {
    let name = here.node.get("metadata").and_then(|it| text(it, "name"));
    let Some(name) = name.filter(|_| here.name == "PriorityClass") else {
        return;
    };
    if name.starts_with("system-") && !is_kubernetes(name) {
        here.refuse(
            ["metadata", "name"].map(Step::from),
            |path| format!("`{path}` is `{name}`, and names with `system-` are Kubernetes' own"),
            "write another name",
        );
    }
}

/// What to write where there is no such class among those that are known; `None` where nothing is known, where a
/// program fills the name in, and of Kubernetes' own.
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
