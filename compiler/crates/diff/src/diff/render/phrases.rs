//! Changes, fields and edits in words, for every format.

use gpuc_syntax::diag::render::replace_control_chars;

use super::super::entities::EntityKey;
use super::super::report::{Cause, Change, FieldChange, Range, Status};
use super::values::{format_pair, format_value};

/// Escapes text from the user's files for a format.
pub(super) type Quote = fn(&str) -> String;

/// The changed resources: `pool train`, `3 PrometheusRules`.
pub(super) fn format_subject(change: &Change, quote: Quote) -> String {
    let went = match change.status {
        Status::Added => "new ",
        Status::Removed => "removed: ",
        Status::Kept => "",
    };
    // The kind of an object in a running cluster is text of its API server.
    let kind = replace_control_chars(&change.kind);
    match change.names.as_slice() {
        [one] if change.kind == EntityKey::Location.kind() => {
            format!("{went}{kind} {one}")
        }
        [one] => format!("{went}{kind} {}", quote(one)),
        many => format!("{went}{} {}", many.len(), plural(&kind)),
    }
}

/// The number of affected nodes: `, on 1 node`.
pub(super) fn affected_nodes(change: &Change) -> String {
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
pub(super) fn format_field(field: &FieldChange, quote: Quote) -> String {
    let of = field.resource.as_ref().map(|of| format!("{}: ", quote(of)));
    let path = quote(&field.path);
    let of = of.unwrap_or_default();
    match (&field.from, &field.to) {
        (Some(from), Some(to)) => {
            let (from, to) = format_pair(from, to);
            format!("{of}{path} {} → {}", quote(&from), quote(&to))
        }
        (None, Some(to)) => format!("{of}{path} + {}", quote(&format_value(to))),
        (Some(from), None) => format!("{of}{path} - {}", quote(&format_value(from))),
        (None, None) => format!("{of}{path}"),
    }
}

/// An edit: `gpu-cluster.yaml:12:5 nodePools[train].machine`.
pub(super) fn format_cause(cause: &Cause, quote: Quote) -> String {
    let path = quote(&cause.path);
    match (&cause.file, cause.line, cause.column) {
        (Some(file), Some(line), Some(column)) => {
            let gone = if cause.in_base { " (removed)" } else { "" };
            let location = quote(&format!("{file}:{line}:{column}"));
            format!("{location} {path}{gone}")
        }
        (Some(file), ..) => format!("{} {path}", quote(file)),
        _ => path,
    }
}

/// A number with its noun: `1 pool`, `3 pools`.
pub(super) fn format_count(number: usize, noun: &str) -> String {
    if number == 1 {
        format!("1 {noun}")
    } else {
        format!("{number} {}", plural(noun))
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
