//! Findings for code scanning: SARIF 2.1.0, <https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html>.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt::Write;

use serde_json::{Value, json};

use super::fingerprint::Fingerprints;
use super::location::{Location, find_location, find_location_or_first, normalize_path};
use crate::diag::{Code, Diagnostic, Fix, Label, Severity};
use crate::source::Sources;

/// GitHub rejects a document with more results. Its other requirements are on the same page, `SARIF support for code
/// scanning`: content/code-security/reference/code-scanning/sarif-files/sarif-support-for-code-scanning.md of
/// github/docs@0c5268cc10ff2d246b7eb3fc36e7d36ed9f8bb19
const MAX_RESULTS: usize = 25_000;

/// The longest description of a rule there, in characters.
const MAX_DESCRIPTION: usize = 1024;

/// The base of relative paths, which the consumer of the document knows.
const ROOT: &str = "%SRCROOT%";

pub(super) fn render(sources: &Sources, diagnostics: &[&Diagnostic]) -> String {
    let (included, omitted) = most_important(diagnostics, MAX_RESULTS);
    let codes: BTreeMap<&str, &Code> = included
        .iter()
        .map(|found| (found.code.id, found.code))
        .collect();
    let rules: Vec<Value> = codes.values().map(|code| rule(code)).collect();
    let mut fingerprints = Fingerprints::new(sources);
    let results: Vec<Value> = included
        .iter()
        .map(|found| result(sources, found, &codes, &mut fingerprints))
        .collect();
    let version = env!("CARGO_PKG_VERSION");
    let driver =
        json!({"name": "gpuc", "version": version, "semanticVersion": version, "rules": rules});
    let mut invocation = json!({"executionSuccessful": true});
    if omitted > 0 {
        let text = format!(
            "{omitted} more findings are omitted: code scanning accepts at most {MAX_RESULTS}"
        );
        invocation["toolExecutionNotifications"] =
            json!([{"level": "warning", "message": {"text": text}}]);
    }
    let run = json!({
        "tool": {"driver": driver},
        "invocations": [invocation],
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {ROOT: {"description": {"text": "the folder that gpuc was run in"}}},
        "results": results,
    });
    let log = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [run],
    });
    format!("{log:#}\n")
}

/// The findings up to the limit, errors before warnings, and the number of omitted ones.
fn most_important<'d>(all: &[&'d Diagnostic], max: usize) -> (Vec<&'d Diagnostic>, usize) {
    let mut included = all.to_vec();
    if included.len() > max {
        included.sort_by_key(|found| Reverse(found.severity));
        included.truncate(max);
    }
    let omitted = all.len() - included.len();
    (included, omitted)
}

fn rule(code: &Code) -> Value {
    json!({
        "id": code.id,
        "name": code.name,
        "shortDescription": {"text": code.summary},
        "fullDescription": {"text": full_description(code)},
        "help": {"text": code.explanation().replace("### ", ""), "markdown": help_markdown(code)},
        "defaultConfiguration": {"level": sarif_level(code.severity)},
        "properties": {
            "tags": [category(code)],
            "precision": match code.severity {
                Severity::Error => "very-high",
                Severity::Warning => "high",
            },
            "problem.severity": sarif_level(code.severity),
        },
    })
}

/// The first section of a code's explanation, as plain text.
fn full_description(code: &Code) -> String {
    code.checks
        .replace('\n', " ")
        .chars()
        .take(MAX_DESCRIPTION)
        .collect()
}

/// The explanation with its examples.
fn help_markdown(code: &Code) -> String {
    let mut page = code.explanation().trim_end().to_owned();
    for (heading, example) in [("Example", code.bad), ("Fixed example", &code.good())] {
        if !example.is_empty() {
            write!(
                page,
                "\n\n### {heading}\n\n```yaml\n{}\n```",
                example.trim_end()
            )
            .expect("a string takes all that is written");
        }
    }
    page + "\n"
}

/// The category, by the thousands digit of the ID.
fn category(code: &Code) -> &'static str {
    match code.id.as_bytes().get("GPUC".len()) {
        Some(b'0') => "reading",
        Some(b'1') => "names",
        Some(b'3') => "audit",
        Some(b'4') => "manifests",
        Some(b'7') => "running cluster",
        _ => "rules",
    }
}

fn sarif_level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    }
}

fn result(
    sources: &Sources,
    found: &Diagnostic,
    codes: &BTreeMap<&str, &Code>,
    fingerprints: &mut Fingerprints<'_>,
) -> Value {
    let mut text = match &found.help {
        Some(help) => format!("{}\nhelp: {help}", found.message),
        None => found.message.clone(),
    };
    let labels = found.labels.iter();
    let labels: Vec<(&Label, Location<'_>)> = labels
        .filter_map(|label| Some((label, find_location(sources, label.span)?)))
        .collect();
    let mut related = Vec::new();
    for (id, (label, source_location)) in (1..).zip(&labels) {
        let mut location = location(source_location);
        location["id"] = json!(id);
        location["message"] = json!({"text": label.text});
        related.push(location);
        // A related location is shown only if the message links to it.
        let shown = escape_link_text(&format!(
            "{}:{}",
            normalize_path(source_location.file),
            source_location.start.line
        ));
        write!(text, "\n{}: [{shown}]({id})", label.text)
            .expect("a string takes all that is written");
    }
    let mut partial_fingerprints = json!({"gpuc/v1": fingerprints.fingerprint(found)});
    if let Some(name) = fingerprints.line_hash(found.primary.span) {
        partial_fingerprints["primaryLocationLineHash"] = json!(name);
    }
    let mut result = json!({
        "ruleId": found.code.id,
        "ruleIndex": codes.keys().position(|id| *id == found.code.id),
        "level": sarif_level(found.severity),
        "message": {"text": text},
        "partialFingerprints": partial_fingerprints,
    });
    // A document with a result without a location is rejected.
    if let Some(source_location) = find_location_or_first(sources, found.primary.span) {
        result["locations"] = json!([location(&source_location)]);
    }
    if !related.is_empty() {
        result["relatedLocations"] = json!(related);
    }
    if let Some(fix) = &found.fix {
        let text = found.help.as_ref().unwrap_or(&found.message);
        result["fixes"] = json!([{
            "description": {"text": text},
            "artifactChanges": artifact_changes(sources, fix),
        }]);
    }
    result
}

fn location(source_location: &Location<'_>) -> Value {
    json!({"physicalLocation": {"artifactLocation": artifact(source_location.file), "region": region(source_location)}})
}

fn artifact(path: &str) -> Value {
    let uri = encode_uri(&normalize_path(path));
    if path.starts_with('/') {
        json!({"uri": uri})
    } else {
        json!({"uri": uri, "uriBaseId": ROOT})
    }
}

/// Text between the brackets of a link: SARIF 3.11.6.
fn escape_link_text(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('[', "\\[")
        .replace(']', "\\]")
}

fn region(source_location: &Location<'_>) -> Value {
    json!({
        "startLine": source_location.start.line,
        "startColumn": source_location.start.column,
        "endLine": source_location.end.line,
        "endColumn": source_location.end.column,
    })
}

fn artifact_changes(sources: &Sources, fix: &Fix) -> Vec<Value> {
    let mut files: BTreeMap<&str, Vec<Value>> = BTreeMap::new();
    for edit in &fix.edits {
        if let Some(source_location) = find_location(sources, edit.span) {
            let content = json!({"text": edit.text});
            let replacement =
                json!({"deletedRegion": region(&source_location), "insertedContent": content});
            files
                .entry(source_location.file)
                .or_default()
                .push(replacement);
        }
    }
    let change = |(file, replacements)| json!({"artifactLocation": artifact(file), "replacements": replacements});
    files.into_iter().map(change).collect()
}

/// A path as a relative reference: <https://www.rfc-editor.org/rfc/rfc3986>.
fn encode_uri(path: &str) -> String {
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
