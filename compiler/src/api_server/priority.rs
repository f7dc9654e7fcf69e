//! Classes of priority that pods name.

use crate::diag::words::{all, nearest};

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
