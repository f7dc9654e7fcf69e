//! Findings for scripts: one JSON object, version 1.

use serde_json::{Value, json};

use super::location::find_location;
use crate::diag::{Diagnostic, Fix, Label};
use crate::source::{Sources, Span};

pub(super) fn render(sources: &Sources, diagnostics: &[&Diagnostic]) -> String {
    let findings: Vec<Value> = diagnostics
        .iter()
        .map(|found| finding_json(sources, found))
        .collect();
    format!("{:#}\n", json!({"version": 1, "findings": findings}))
}

fn finding_json(sources: &Sources, found: &Diagnostic) -> Value {
    let related =
        |label: &Label| location_json(sources, label.span, &[("message", json!(label.text))]);
    let mut all = json!({
        "code": found.code.id,
        "name": found.code.name,
        "severity": found.severity.as_str(),
        "message": found.message,
    });
    merge_json(&mut all, location_json(sources, found.primary.span, &[]));
    let fix = found.fix.as_ref().map(|fix| edits_json(sources, fix));
    let applicability = found.fix.as_ref().map(|fix| fix.applicability.as_str());
    let labels: Vec<Value> = found.labels.iter().map(related).collect();
    merge_json(
        &mut all,
        json!({"label": found.primary.text, "help": found.help, "related": labels, "fix": fix,
               "applicability": applicability}),
    );
    all
}

fn edits_json(sources: &Sources, fix: &Fix) -> Vec<Value> {
    let edits = fix.edits.iter();
    edits
        .map(|edit| location_json(sources, edit.span, &[("text", json!(edit.text))]))
        .collect()
}

/// The file and location, null if there is none, and other properties.
fn location_json(sources: &Sources, span: Span, more: &[(&str, Value)]) -> Value {
    let location = find_location(sources, span);
    let location = location.as_ref();
    let mut all = json!({
        "file": location.map(|location| location.file),
        "line": location.map(|location| location.start.line),
        "column": location.map(|location| location.start.column),
        "endLine": location.map(|location| location.end.line),
        "endColumn": location.map(|location| location.end.column),
    });
    for (key, value) in more {
        all[*key] = value.clone();
    }
    all
}

fn merge_json(all: &mut Value, more: Value) {
    if let (Value::Object(all), Value::Object(more)) = (all, more) {
        all.extend(more);
    }
}
