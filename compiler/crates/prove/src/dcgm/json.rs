//! Documents of `dcgmi diag --json`.

use gpuc_syntax::diag::phrases::pluralize;
use serde_json::{Deserializer, Value};

use super::{MAX, Report, Status, Test, TestResult};
use crate::log_line::LogLine;

/// The keys of the diagnostics: of DCGM 4, and of DCGM 3.
const ROOTS: [&str; 2] = ["DCGM Diagnostic", "DCGM GPU Diagnostic"];

/// The maximum number of lines at which a document is tried to be read.
const MAX_TRIES: usize = 1_024;

/// The reports in the lines of a pod. A document that is cut contains no report.
pub(super) fn reports(lines: &[LogLine<'_>]) -> Vec<Report> {
    let mut text = String::new();
    let mut starts = Vec::new();
    for line in lines {
        if line.text.starts_with('{') && starts.len() < MAX_TRIES {
            starts.push((text.len(), line));
        }
        text.push_str(&line.text);
        text.push('\n');
    }
    let mut found = Vec::new();
    let mut end = 0;
    for (start, line) in starts {
        if start < end {
            continue;
        }
        let mut documents = Deserializer::from_str(&text[start..]).into_iter::<Value>();
        if let Some(Ok(document)) = documents.next() {
            end = start + documents.byte_offset();
            if let Some(report) = report(&document) {
                found.push(Report {
                    evidence: line.evidence(),
                    ..report
                });
            }
        }
    }
    found
}

fn report(document: &Value) -> Option<Report> {
    let root = ROOTS.iter().find_map(|key| document.get(key))?;
    let metadata = document.get("metadata").unwrap_or(root);
    let string = |value: &Value, key: &str| value.get(key)?.as_str().map(str::to_owned);
    let categories = list(root, "test_categories");
    let tests = categories.iter().flat_map(|category| {
        let name = string(category, "category").unwrap_or_default();
        let tests = list(category, "tests")
            .iter()
            .filter(|test| !test.is_null());
        tests.map(move |test| read_test(&name, test))
    });
    let error = ["runtime_error", "error"];
    let error = error
        .iter()
        .find_map(|key| string(root, key).or_else(|| string(document, key)));
    Some(Report {
        version: string(metadata, "version").or_else(|| string(root, "version")),
        driver: string(metadata, "Driver Version Detected"),
        detected_gpus: detected_gpus(document, root),
        tests: tests.take(MAX).collect(),
        error: error.filter(|it| !it.is_empty()),
        ..Report::default()
    })
}

fn read_test(category: &str, test: &Value) -> Test {
    let name = test.get("name").and_then(Value::as_str).unwrap_or_default();
    let mut results: Vec<TestResult> = Vec::new();
    for result in list(test, "results") {
        results.extend(read_result(result));
    }
    let summary = test.get("test_summary");
    if let Some(summary) = summary {
        let is_passed = results.iter().all(|it| it.status == Status::Pass);
        let status = status(summary);
        // The summary is worse than the results of GPUs, or the only result.
        if results.is_empty() || (is_passed && status != Status::Pass) {
            results.push(TestResult {
                gpu: None,
                status,
                messages: messages(summary),
            });
        }
    }
    results.truncate(MAX);
    Test {
        category: category.to_owned(),
        name: name.to_owned(),
        results,
    }
}

/// The results of an entry: one for each GPU that it names.
fn read_result(result: &Value) -> Vec<TestResult> {
    let on = |gpu| TestResult {
        gpu,
        status: status(result),
        messages: messages(result),
    };
    let group = result.get("entity_group").and_then(Value::as_str);
    if let Some(group) = group {
        let number = result.get("entity_id").and_then(Value::as_u64);
        let gpu = number.and_then(|it| u32::try_from(it).ok());
        // Other entities, such as CPUs, have their own numbers.
        return vec![on(gpu.filter(|_| group.eq_ignore_ascii_case("gpu")))];
    }
    let ids = ["gpu_id", "gpu_ids"].iter().find_map(|key| result.get(key));
    let ids: Vec<u32> = match ids {
        Some(Value::String(text)) => text
            .split(',')
            .filter_map(|it| it.trim().parse().ok())
            .collect(),
        Some(Value::Number(number)) => number
            .as_u64()
            .and_then(|it| u32::try_from(it).ok())
            .into_iter()
            .collect(),
        _ => Vec::new(),
    };
    if ids.is_empty() {
        return vec![on(None)];
    }
    ids.into_iter().take(MAX).map(|gpu| on(Some(gpu))).collect()
}

fn status(value: &Value) -> Status {
    let name = value.get("status").and_then(Value::as_str);
    name.map_or(Status::Unknown, Status::from_name)
}

/// The warnings of a result: texts, or objects with a text.
fn messages(value: &Value) -> Vec<String> {
    let mut texts = Vec::new();
    for warning in list(value, "warnings") {
        let text = warning.as_str().or_else(|| {
            // DCGM 3 has `warnings` in one place and `warning` in another.
            let keys = ["warning", "warnings"];
            keys.iter().find_map(|key| warning.get(key)?.as_str())
        });
        texts.extend(text.map(str::to_owned));
    }
    if texts.len() > 8 {
        let more = texts.len() - 8;
        texts.truncate(8);
        texts.push(format!("and {}", pluralize(more, "other message")));
    }
    texts
}

/// The number of GPUs: the entities of DCGM 4, or the device ids of DCGM 3.
fn detected_gpus(document: &Value, root: &Value) -> Option<u32> {
    let groups = list(document, "entity_groups").iter();
    let is_gpu = |group: &&Value| group.get("entity_group").and_then(Value::as_str) == Some("GPU");
    let entities: Vec<usize> = groups
        .filter(is_gpu)
        .map(|group| list(group, "entities").len())
        .collect();
    let count = if entities.is_empty() {
        root.get("GPU Device IDs")?.as_array()?.len()
    } else {
        entities.iter().sum()
    };
    u32::try_from(count).ok()
}

fn list<'v>(value: &'v Value, key: &str) -> &'v [Value] {
    value
        .get(key)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}
