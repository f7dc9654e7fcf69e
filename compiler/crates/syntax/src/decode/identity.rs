//! Detects documents of another kind.

use gpuc_schema::config::{API_VERSION, KIND};

use super::codes;
use super::pass::short;
use crate::diag::{Report, words};
use crate::node::{Node, Value};
use crate::source::Span;

/// Reports a document that is not a cluster: a string, a list, or a Kubernetes manifest.
pub(super) fn is_something_else(root: &Node, report: &mut Report) -> bool {
    let Some((span, what)) = something_else(root) else {
        return false;
    };
    report
        .diagnostic(
            &codes::NOT_A_CLUSTER,
            span,
            format!("this is {what}, not a GPU cluster"),
        )
        .help(format!(
            "start the document with `apiVersion: {API_VERSION}` and `kind: {KIND}`"
        ))
        .emit();
    true
}

fn something_else(root: &Node) -> Option<(Span, String)> {
    match &root.value {
        Value::Mapping(_) => {}
        Value::Sequence(_) => return Some((root.span().head(), "a list".to_owned())),
        Value::Scalar(_) => return Some((root.span(), "a string".to_owned())),
    }
    let version = root.get("apiVersion");
    let kind = root.get("kind");
    let version_text = version.and_then(Node::text).unwrap_or_default();
    let kind_text = kind.and_then(Node::text).unwrap_or_default();
    let group = API_VERSION.split('/').next().unwrap_or_default();
    let ours =
        version_text.starts_with(group) || words::nearest(version_text, [API_VERSION]).is_some();
    if ours
        || words::nearest(kind_text, [KIND]).is_some()
        || (version_text.is_empty() && kind_text.is_empty())
    {
        return None;
    }
    let span = kind.or(version).map_or(root.span().head(), Node::span);
    Some((span, describe(version_text, kind_text)))
}

fn describe(version: &str, kind: &str) -> String {
    let (version, kind) = (short(version), short(kind));
    if version.starts_with("eksctl.io/") {
        return format!("eksctl's `{kind}` (`{version}`)");
    }
    match (version.as_str(), kind.as_str()) {
        ("", kind) => format!("a `{kind}`"),
        (version, "") => format!("an object of `{version}`"),
        (version, kind) => format!("a Kubernetes `{kind}` (`{version}`)"),
    }
}
