//! The number of findings.

use super::super::{Diagnostic, Severity};

/// The number of findings: `3 errors, 1 warning`.
pub(super) fn summary(diagnostics: &[&Diagnostic]) -> String {
    let counted = |severity: Severity| {
        let count = diagnostics
            .iter()
            .filter(|found| found.severity == severity);
        match count.count() {
            0 => None,
            1 => Some(format!("1 {}", severity.as_str())),
            count => Some(format!("{count} {}s", severity.as_str())),
        }
    };
    let counts: Vec<String> = [Severity::Error, Severity::Warning]
        .into_iter()
        .filter_map(counted)
        .collect();
    counts.join(", ")
}
