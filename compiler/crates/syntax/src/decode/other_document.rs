//! Detects documents of another kind.

use gpuc_schema::config::{API_VERSION, KIND};

use super::abbreviation::abbreviate;
use super::codes;
use crate::diag::{Report, phrases};
use crate::node::{Node, Value};
use crate::source::Span;

/// Reports a document that is not a cluster: a string, a list, or a Kubernetes manifest.
pub(super) fn report_other_document(root: &Node, report: &mut Report) -> bool {
    let Some((span, description)) = find_other_document(root) else {
        return false;
    };
    report
        .diagnostic(
            &codes::NOT_A_CLUSTER,
            span,
            format!("this is {description}, not a GPU cluster"),
        )
        .help(format!(
            "start the document with `apiVersion: {API_VERSION}` and `kind: {KIND}`"
        ))
        .emit();
    true
}

fn find_other_document(root: &Node) -> Option<(Span, String)> {
    match &root.value {
        Value::Mapping(_) => {}
        Value::Sequence(_) => return Some((root.span().empty_at_start(), "a list".to_owned())),
        Value::Scalar(_) => return Some((root.span(), "a string".to_owned())),
    }
    let version = root.get("apiVersion");
    let kind = root.get("kind");
    let version_text = version.and_then(Node::text).unwrap_or_default();
    let kind_text = kind.and_then(Node::text).unwrap_or_default();
    let group = API_VERSION.split('/').next().unwrap_or_default();
    let is_cluster = version_text.starts_with(group)
        || phrases::closest_match(version_text, [API_VERSION]).is_some();
    if is_cluster
        || phrases::closest_match(kind_text, [KIND]).is_some()
        || (version_text.is_empty() && kind_text.is_empty())
    {
        return None;
    }
    let span = kind
        .or(version)
        .map_or(root.span().empty_at_start(), Node::span);
    Some((span, describe_manifest(version_text, kind_text)))
}

fn describe_manifest(version: &str, kind: &str) -> String {
    let (version, kind) = (abbreviate(version), abbreviate(kind));
    if version.starts_with("eksctl.io/") {
        return format!("eksctl's `{kind}` (`{version}`)");
    }
    match (version.as_str(), kind.as_str()) {
        ("", kind) => format!("a `{kind}`"),
        (version, "") => format!("an object of `{version}`"),
        (version, kind) => format!("a Kubernetes `{kind}` (`{version}`)"),
    }
}
