//! Renders differences.

mod github;
mod markdown;
mod text;
mod values;

use super::entities::EntityKey;
use super::report::{Cause, Change, ClusterFate, Diffs, FieldChange, Range};
pub use markdown::MAX_LENGTH;

/// The output format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Text for a terminal.
    Text {
        /// Whether to print every field.
        all: bool,
        /// Whether to print the rollout steps instead.
        plan: bool,
    },
    /// JSON.
    Json,
    /// A pull request comment.
    Markdown,
    /// The rollout steps as Markdown.
    Plan,
    /// Annotations for GitHub Actions.
    Github,
}

/// Renders differences. Text contains colour codes, which the caller removes unless it writes to a terminal.
pub fn render(diffs: &Diffs, format: Format) -> String {
    match format {
        Format::Text { all, plan: false } => text::render(diffs, all),
        Format::Text { plan: true, .. } => text::render_plan(diffs),
        Format::Json => {
            let text = serde_json::to_string_pretty(diffs).expect("what differs is JSON");
            text + "\n"
        }
        Format::Markdown => markdown::render(diffs),
        Format::Plan => markdown::render_plan(diffs),
        Format::Github => github::render(diffs),
    }
}

/// The JSON Schema of the JSON format, committed as `schema/diff.schema.json`.
pub fn schema() -> String {
    let schema = schemars::schema_for!(Diffs).to_value();
    let text = serde_json::to_string_pretty(&schema).expect("a schema is JSON");
    text + "\n"
}

/// Escapes text from the user's files for a format.
type Quote = fn(&str) -> String;

/// The changed resources: `pool train`, `3 PrometheusRules`.
fn format_subject(change: &Change, quote: Quote) -> String {
    let went = match change.fate {
        ClusterFate::Added => "new ",
        ClusterFate::Removed => "removed: ",
        ClusterFate::Kept => "",
    };
    match change.names.as_slice() {
        [one] if change.kind == EntityKey::Location.kind() => {
            format!("{went}{} {one}", change.kind)
        }
        [one] => format!("{went}{} {}", change.kind, quote(one)),
        many => format!("{went}{} {}", many.len(), plural(&change.kind)),
    }
}

/// The number of affected nodes: `, on 1 node`.
fn affected_nodes(change: &Change) -> String {
    let words = |nodes: Range| {
        let plural = if nodes.max == 1 { "" } else { "s" };
        format!(", on {} node{plural}", nodes.to_text())
    };
    change.nodes.map(words).unwrap_or_default()
}

fn plural(kind: &str) -> String {
    if let Some(stem) = kind.strip_suffix('y') {
        return format!("{stem}ies");
    }
    let es = ["s", "x", "ch"].iter().any(|end| kind.ends_with(end));
    format!("{kind}{}", if es { "es" } else { "s" })
}

/// A changed field: `machine type p5.48xlarge → p5e.48xlarge`.
fn format_field(field: &FieldChange, quote: Quote) -> String {
    let of = field.of.as_ref().map(|of| format!("{}: ", quote(of)));
    let path = quote(&field.path);
    let of = of.unwrap_or_default();
    match (&field.from, &field.to) {
        (Some(from), Some(to)) => {
            let (from, to) = values::format_pair(from, to);
            format!("{of}{path} {} → {}", quote(&from), quote(&to))
        }
        (None, Some(to)) => format!("{of}{path} + {}", quote(&values::format_value(to))),
        (Some(from), None) => format!("{of}{path} - {}", quote(&values::format_value(from))),
        (None, None) => format!("{of}{path}"),
    }
}

/// An edit: `gpu-cluster.yaml:12:5 nodePools[train].machine`.
fn format_cause(cause: &Cause, quote: Quote) -> String {
    let path = quote(&cause.path);
    match (&cause.file, cause.line, cause.column) {
        (Some(file), Some(line), Some(column)) => {
            let gone = if cause.in_base { " (removed)" } else { "" };
            let place = quote(&format!("{file}:{line}:{column}"));
            format!("{place} {path}{gone}")
        }
        (Some(file), ..) => format!("{} {path}", quote(file)),
        _ => path,
    }
}

/// A number with its noun: `1 pool`, `3 pools`.
fn format_count(number: usize, what: &str) -> String {
    if number == 1 {
        format!("1 {what}")
    } else {
        format!("{number} {}", plural(what))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nouns_are_pluralized() {
        assert_eq!(format_count(2, "NetworkPolicy"), "2 NetworkPolicies");
        assert_eq!(format_count(3, "StorageClass"), "3 StorageClasses");
    }
}
