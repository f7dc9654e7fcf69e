//! The diagnosis as a `JUnit` report: each check is a test case.
//!
//! Format: <https://github.com/testmoapp/junitxml>, 2026-11-28.

use std::collections::BTreeMap;
use std::fmt::Write;

use gpuc_syntax::diag::Severity;
use gpuc_syntax::diag::render::replace_control_chars;
use gpuc_syntax::source::Sources;

use super::text::cause_text;
use crate::doctor::{CHECKS, Cause, Diagnosis};
use crate::state::ClusterState;

/// The diagnosis as a `JUnit` report. A check fails if a finding has at least the severity `fail_on`, and is skipped if
/// it could not run completely and found nothing. Findings of lower severity are output of the check.
pub fn junit(
    diagnosis: &Diagnosis,
    state: &ClusterState,
    sources: &Sources,
    fail_on: Severity,
) -> String {
    let mut causes: BTreeMap<&str, Vec<&Cause>> = BTreeMap::new();
    for cause in &diagnosis.causes {
        causes.entry(cause.finding.code.id).or_default().push(cause);
    }
    let (mut cases, mut failed, mut skipped) = (String::new(), 0, 0);
    for check in CHECKS {
        let code = &check.code;
        let found = causes.get(code.id).map_or(&[][..], Vec::as_slice);
        let text: String = (found.iter())
            .map(|cause| cause_text(cause, state, sources))
            .collect();
        let _ = writeln!(
            cases,
            "    <testcase name=\"{} {}\" classname=\"gpuc.doctor.{}\" time=\"0\">",
            code.id,
            code.name,
            escape(&check.layer.as_str().replace(' ', "-")),
        );
        let reason = (diagnosis.skipped.iter()).find(|it| it.check.code.id == code.id);
        if let Some(first) = found.first().filter(|_| code.severity >= fail_on) {
            failed += 1;
            let _ = writeln!(
                cases,
                "      <failure type=\"{}\" message=\"{}\">{}</failure>",
                code.severity.as_str(),
                escape(&first.finding.message),
                escape(&text),
            );
        } else if !found.is_empty() {
            let _ = writeln!(cases, "      <system-out>{}</system-out>", escape(&text));
        } else if let Some(it) = reason {
            skipped += 1;
            let reasons = escape(&it.reasons.join("; "));
            let _ = writeln!(cases, "      <skipped message=\"{reasons}\"/>");
        }
        cases.push_str("    </testcase>\n");
    }
    let counts = format!(
        "tests=\"{}\" failures=\"{failed}\" errors=\"0\" skipped=\"{skipped}\"",
        CHECKS.len()
    );
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites {counts}>\n  <testsuite name=\"gpuc doctor\" {counts}>\n\
         {cases}  </testsuite>\n</testsuites>\n"
    )
}

/// Text for XML 1.0, which cannot contain most control characters (<https://www.w3.org/TR/xml/#charsets>).
fn escape(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(replace_control_chars).collect();
    let mut escaped = String::new();
    for char in lines.join("\n").chars() {
        match char {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            other => escaped.push(other),
        }
    }
    escaped
}
