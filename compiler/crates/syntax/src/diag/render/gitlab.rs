//! Findings as a Code Quality report of GitLab, which shows them in the merge request:
//! <https://docs.gitlab.com/ci/testing/code_quality/>, as an installation's own help had it on 2026-11-22.

use serde_json::{Value, json};

use super::fingerprint::Fingerprints;
use super::location::{find_location_or_first, normalize_path};
use crate::diag::{Diagnostic, Severity};
use crate::source::Sources;

pub(super) fn render(sources: &Sources, diagnostics: &[&Diagnostic]) -> String {
    let mut fingerprints = Fingerprints::new(sources);
    let issues = diagnostics.iter().filter_map(|found| {
        let location = find_location_or_first(sources, found.primary.span)?;
        Some(json!({
            "description": description(found),
            "check_name": format!("{} {}", found.code.id, found.code.name),
            "fingerprint": fingerprints.fingerprint(found),
            "severity": severity(found.severity),
            "location": {"path": normalize_path(location.file), "lines": {"begin": location.start.line, "end": location.end.line}},
        }))
    });
    let issues: Vec<Value> = issues.collect();
    format!("{:#}\n", Value::Array(issues))
}

fn description(found: &Diagnostic) -> String {
    match &found.help {
        Some(help) => format!("{}; {help}", found.message).replace('\n', " "),
        None => found.message.replace('\n', " "),
    }
}

/// GitLab's words are info, minor, major, critical and blocker.
fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "critical",
        Severity::Warning => "minor",
    }
}
