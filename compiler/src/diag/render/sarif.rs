//! Findings for code scanning: SARIF 2.1.0, <https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html>.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::{Place, place};
use crate::diag::{Code, Diagnostic, Fix, Severity};
use crate::source::{Sources, Span};

pub(super) fn render(sources: &Sources, diagnostics: &[&Diagnostic]) -> String {
    let codes: BTreeMap<&str, &Code> = diagnostics
        .iter()
        .map(|found| (found.code.id, found.code))
        .collect();
    let rules: Vec<Value> = codes.values().map(|code| rule(code)).collect();
    let mut seen = BTreeMap::new();
    let results: Vec<Value> = diagnostics
        .iter()
        .map(|found| result(sources, found, &codes, &mut seen))
        .collect();
    let driver = json!({"name": "gpuc", "version": env!("CARGO_PKG_VERSION"), "rules": rules});
    let run = json!({
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": results,
    });
    let log = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [run],
    });
    format!("{log:#}\n")
}

fn rule(code: &Code) -> Value {
    json!({
        "id": code.id,
        "name": code.name,
        "shortDescription": {"text": code.summary},
        "help": {"text": code.explain, "markdown": code.explain},
        "defaultConfiguration": {"level": level(code.severity)},
    })
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    }
}

fn result(
    sources: &Sources,
    found: &Diagnostic,
    codes: &BTreeMap<&str, &Code>,
    seen: &mut BTreeMap<String, usize>,
) -> Value {
    let text = match &found.help {
        Some(help) => format!("{}\nhelp: {help}", found.message),
        None => found.message.clone(),
    };
    let mut result = json!({
        "ruleId": found.code.id,
        "ruleIndex": codes.keys().position(|id| *id == found.code.id),
        "level": level(found.severity),
        "message": {"text": text},
        "partialFingerprints": {"gpuc/v1": fingerprint(sources, found, seen)},
    });
    if let Some(place) = place(sources, found.primary.span) {
        result["locations"] = json!([{"physicalLocation": location(&place)}]);
    }
    let related: Vec<Value> = found
        .labels
        .iter()
        .filter_map(|label| {
            let place = location(&place(sources, label.span)?);
            Some(json!({"physicalLocation": place, "message": {"text": label.text}}))
        })
        .collect();
    if !related.is_empty() {
        result["relatedLocations"] = json!(related);
    }
    if let Some(fix) = &found.fix {
        let text = found.help.as_ref().unwrap_or(&found.message);
        result["fixes"] = json!([{
            "description": {"text": text},
            "artifactChanges": changes(sources, fix),
        }]);
    }
    result
}

fn location(place: &Place<'_>) -> Value {
    json!({"artifactLocation": {"uri": uri(place.file)}, "region": region(place)})
}

fn region(place: &Place<'_>) -> Value {
    json!({
        "startLine": place.start.line,
        "startColumn": place.start.column,
        "endLine": place.end.line,
        "endColumn": place.end.column,
    })
}

fn changes(sources: &Sources, fix: &Fix) -> Vec<Value> {
    let mut files: BTreeMap<&str, Vec<Value>> = BTreeMap::new();
    for edit in &fix.edits {
        if let Some(place) = place(sources, edit.span) {
            let content = json!({"text": edit.text});
            let replacement = json!({"deletedRegion": region(&place), "insertedContent": content});
            files.entry(place.file).or_default().push(replacement);
        }
    }
    let change = |(file, replacements)| json!({"artifactLocation": {"uri": uri(file)}, "replacements": replacements});
    files.into_iter().map(change).collect()
}

/// What stays the same when lines above a finding change: its code, its file, the text of its line, and how many like
/// it came before.
fn fingerprint(
    sources: &Sources,
    found: &Diagnostic,
    seen: &mut BTreeMap<String, usize>,
) -> String {
    let mut hash = Sha256::new();
    for part in [
        found.code.id,
        file(sources, found.primary.span),
        line(sources, found.primary.span),
    ] {
        hash.update(part);
        hash.update([0]);
    }
    let mut text = String::new();
    for byte in &hash.finalize()[..16] {
        write!(text, "{byte:02x}").expect("a string takes all that is written");
    }
    let count = seen.entry(text.clone()).or_default();
    *count += 1;
    format!("{text}:{count}")
}

fn file(sources: &Sources, span: Span) -> &str {
    sources.get(span.source).map_or("", |source| source.path())
}

fn line(sources: &Sources, span: Span) -> &str {
    let source = sources.get(span.source);
    source.map_or("", |source| {
        source.line(source.position(span.start).line).trim()
    })
}

/// A path as a relative reference: <https://www.rfc-editor.org/rfc/rfc3986>.
fn uri(path: &str) -> String {
    let mut uri = String::new();
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            write!(uri, "%{byte:02X}").expect("a string takes all that is written");
        }
    }
    if path.starts_with('/') {
        uri.insert_str(0, "file://");
    }
    uri
}
