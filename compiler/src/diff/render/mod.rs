//! Differences, printed.

mod github;
mod markdown;
mod text;

use serde_json::Value as Json;

use super::shown::{Cause, Change, ClusterFate, Diffs, FieldChange};
use crate::diag::render::visible;
pub use markdown::LONGEST;

/// How differences are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// For people.
    Text {
        /// Whether every field is printed, however many there are.
        all: bool,
        /// Whether the steps of a rollout are what is asked for.
        plan: bool,
    },
    /// For programs.
    Json,
    /// A comment on a pull request.
    Markdown,
    /// The steps of a rollout, as Markdown.
    Plan,
    /// Annotations for GitHub Actions.
    Github,
}

/// Prints differences. Text has colours, which whoever writes it to something else than a terminal takes out.
pub fn render(diffs: &Diffs, format: Format) -> String {
    match format {
        Format::Text { all, plan: false } => text::render(diffs, all),
        Format::Text { plan: true, .. } => text::plan(diffs),
        Format::Json => {
            let text = serde_json::to_string_pretty(diffs).expect("what differs is JSON");
            text + "\n"
        }
        Format::Markdown => markdown::render(diffs),
        Format::Plan => markdown::plan(diffs),
        Format::Github => github::render(diffs),
    }
}

/// The JSON Schema of the format for programs, as the text that is committed as `schema/diff.schema.json`.
pub fn schema() -> String {
    let schema = schemars::schema_for!(Diffs).to_value();
    let text = serde_json::to_string_pretty(&schema).expect("a schema is JSON");
    text + "\n"
}

/// What changes, in words: `pool train`, `3 PrometheusRules: a, b, c`.
fn subject(change: &Change) -> String {
    let went = match change.fate {
        ClusterFate::Added => "new ",
        ClusterFate::Removed => "gone: ",
        ClusterFate::Kept => "",
    };
    match change.names.as_slice() {
        [one] => format!("{went}{} {}", change.kind, visible(one)),
        many => format!("{went}{} {}", many.len(), plural(&change.kind)),
    }
}

fn plural(kind: &str) -> String {
    if let Some(stem) = kind.strip_suffix('y') {
        return format!("{stem}ies");
    }
    let es = ["s", "x", "ch"].iter().any(|end| kind.ends_with(end));
    format!("{kind}{}", if es { "es" } else { "s" })
}

/// A field's change in words: `machine type p5.48xlarge → p5e.48xlarge`.
fn field(field: &FieldChange) -> String {
    let of = field.of.as_ref().map(|of| format!("{}: ", visible(of)));
    let path = visible(&field.path);
    let of = of.unwrap_or_default();
    match (&field.from, &field.to) {
        (Some(from), Some(to)) => format!("{of}{path} {} → {}", value(from), value(to)),
        (None, Some(to)) => format!("{of}{path} + {}", value(to)),
        (Some(from), None) => format!("{of}{path} - {}", value(from)),
        (None, None) => format!("{of}{path}"),
    }
}

/// The most characters of a value in words.
const LONGEST_VALUE: usize = 80;

/// A value in words, its middle left out where it is long.
fn value(value: &Json) -> String {
    let text = match value {
        Json::String(text) if !text.is_empty() => text.clone(),
        Json::Array(items) if items.is_empty() => "none".to_owned(),
        Json::Null => "none".to_owned(),
        Json::String(_) => "nothing".to_owned(),
        Json::Object(fields) if fields.len() == 2 => match (fields.get("min"), fields.get("max")) {
            (Some(min), Some(max)) if min == max => min.to_string(),
            (Some(min), Some(max)) => format!("{min}-{max}"),
            _ => value.to_string(),
        },
        other => other.to_string(),
    };
    let text = visible(&text);
    let count = text.chars().count();
    if count <= LONGEST_VALUE {
        return text;
    }
    let head: String = text.chars().take(LONGEST_VALUE / 2).collect();
    let tail: String = text.chars().skip(count - LONGEST_VALUE / 2 + 1).collect();
    format!("{head}…{tail}")
}

/// An edit in words: `gpu-cluster.yaml:12:5 nodePools[train].machine`.
fn cause(cause: &Cause) -> String {
    let path = visible(&cause.path);
    match (&cause.file, cause.line, cause.column) {
        (Some(file), Some(line), Some(column)) => {
            let gone = if cause.in_base { ", which is gone" } else { "" };
            format!("{}:{line}:{column} {path}{gone}", visible(file))
        }
        _ => path,
    }
}

/// Something counted: `1 pool`, `3 pools`.
fn count(number: usize, what: &str) -> String {
    if number == 1 {
        format!("1 {what}")
    } else {
        format!("{number} {}", plural(what))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_short_and_visible() {
        assert_eq!(value(&json!({"min": 2, "max": 8})), "2-8");
        assert_eq!(value(&json!("a\u{1b}b")), "a\u{241b}b");
        assert_eq!(
            value(&json!("x".repeat(500))).chars().count(),
            LONGEST_VALUE
        );
        assert_eq!(count(2, "NetworkPolicy"), "2 NetworkPolicies");
        assert_eq!(count(3, "StorageClass"), "3 StorageClasses");
    }
}
