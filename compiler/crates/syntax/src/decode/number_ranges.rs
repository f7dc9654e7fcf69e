//! Checks numbers against the ranges of the schema, and lists that need an item.

use super::codes::{LIST_EMPTY, NUMBER_OUT_OF_RANGE};
use crate::diag::{Report, Severity};
use crate::node::{Node, Value};
use crate::schema;
use crate::schema::NumberRange;
use crate::source::Span;
use crate::yaml::core_schema::CoreValue;

/// Reports numbers outside the schema's range, and empty lists that need an item, unless a rule already reports them in
/// more detail.
pub fn check_ranges(root: &Node, report: &mut Report) {
    visit(root, &mut String::new(), report);
}

fn visit(node: &Node, path: &mut String, report: &mut Report) {
    match &node.value {
        Value::Sequence(items) => {
            if items.is_empty() && schema::needs_item(path) && !is_reported(report, node.span()) {
                report_empty(node, path, report);
            }
            for item in items {
                visit(item, path, report);
            }
        }
        Value::Mapping(entries) => {
            for entry in entries {
                let before = path.len();
                if !path.is_empty() {
                    path.push('.');
                }
                path.push_str(&entry.key);
                visit(&entry.value, path, report);
                path.truncate(before);
            }
        }
        Value::Scalar(scalar) => {
            let CoreValue::Integer(number) = scalar.core_value() else {
                return;
            };
            let ranges = schema::number_ranges(path);
            let Some(range) = ranges.first() else {
                return;
            };
            let span = node.span();
            if ranges.iter().any(|range| range.contains(number)) || is_reported(report, span) {
                return;
            }
            let key = path.rsplit('.').next().unwrap_or(path);
            let required = describe_range(*range);
            report
                .diagnostic(
                    &NUMBER_OUT_OF_RANGE,
                    span,
                    format!("`{key}` must be {required}, not {number}"),
                )
                .primary_label(format!("expected {required}"))
                .help(format!("write {required}"))
                .emit();
        }
    }
}

/// Whether an error is at this location.
fn is_reported(report: &Report, span: Span) -> bool {
    let mut found = report.diagnostics().iter();
    found.any(|it| {
        let mut labels = it.labels.iter().chain([&it.primary]);
        it.severity == Severity::Error && labels.any(|it| it.span == span)
    })
}

fn report_empty(node: &Node, path: &str, report: &mut Report) {
    let key = path.rsplit('.').next().unwrap_or(path);
    report
        .diagnostic(
            &LIST_EMPTY,
            node.span(),
            format!("`{key}` is an empty list"),
        )
        .primary_label("expected an item")
        .help(format!("add an item, or remove `{key}`"))
        .emit();
}

/// A phrase for a range.
fn describe_range(range: NumberRange) -> String {
    match (range.min, range.max) {
        (Some(min), Some(max)) => format!("an integer from {min} to {max}"),
        (Some(min), None) => format!("{min} or more"),
        (None, Some(max)) => format!("{max} or less"),
        (None, None) => "an integer".to_owned(),
    }
}

/// The range of the key at a path, within the range of its type.
pub(super) fn key_range(path: &str, min: i128, max: i128) -> (i128, i128) {
    let bare: String = path
        .split('[')
        .map(|part| part.split_once(']').map_or(part, |it| it.1))
        .collect();
    let Some(range) = schema::number_ranges(&bare).first() else {
        return (min, max);
    };
    let own = |end: Option<i64>, of_type: i128| end.map_or(of_type, i128::from);
    (own(range.min, min), own(range.max, max))
}
