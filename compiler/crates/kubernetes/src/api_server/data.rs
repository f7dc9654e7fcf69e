//! The data of `ConfigMap` and `Secret`.

use gpuc_syntax::node::{Entry, Node};

use super::ObjectContext;
use super::field_path::Step;
use super::scalar::{ParsedValue, get_non_null, get_text, parse_value};

pub(super) fn validate(ctx: &mut ObjectContext<'_, '_>) {
    match ctx.type_name {
        "ConfigMap" => {
            check_keys(ctx, &["data", "binaryData"]);
            check_base64(ctx, "binaryData");
            check_duplicate_keys(ctx);
        }
        "Secret" => {
            check_keys(ctx, &["data", "stringData"]);
            check_base64(ctx, "data");
            check_secret_type(ctx);
        }
        _ => {}
    }
}

fn entries_below<'n>(node: &'n Node, list: &str) -> &'n [Entry] {
    node.get(list).map_or(&[], Node::entries)
}

/// Source: kubernetes `staging/src/k8s.io/apimachinery/pkg/util/validation/validation.go`, `IsConfigMapKey`.
fn check_keys(ctx: &mut ObjectContext<'_, '_>, lists: &[&'static str]) {
    const LONGEST: usize = 253;
    for list in lists {
        for entry in entries_below(ctx.node, list) {
            let key = entry.key.as_str();
            let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
            let is_good = (1..=LONGEST).contains(&key.len())
                && key.bytes().all(allowed)
                && key != "."
                && !key.starts_with("..");
            if is_good || key.contains("{{") || key.contains('$') {
                continue;
            }
            ctx.report(
                [Step::from(*list), Step::from(key)],
                |_| format!("`{key}` of `{list}` is not a valid Kubernetes name"),
                "write letters, digits, `-`, `_` and `.`",
            );
            if let Some(found) = ctx.violations.last_mut() {
                found.is_key = true;
            }
        }
    }
}

/// Source: kubernetes `pkg/apis/core/validation/validation.go`, `ValidateConfigMap`.
fn check_duplicate_keys(ctx: &mut ObjectContext<'_, '_>) {
    for entry in entries_below(ctx.node, "data") {
        let key = entry.key.as_str();
        if ctx
            .node
            .get("binaryData")
            .is_some_and(|it| it.get(key).is_some())
        {
            ctx.report(
                [Step::from("data"), Step::from(key)],
                |path| format!("`{path}` is also in `binaryData`"),
                "remove one of the two",
            );
        }
    }
}

/// Placeholders that other programs replace before the object is applied: SOPS, and the Argo CD Vault Plugin.
const PLACEHOLDER_PREFIXES: &[&str] = &["ENC[", "<"];

/// Binary data must be valid base64.
///
/// Source: Go's `encoding/json`, which the API server reads objects with: `[]byte` is `base64.StdEncoding`, of which
/// skips line breaks (from memory).
fn check_base64(ctx: &mut ObjectContext<'_, '_>, list: &'static str) {
    let other = if list == "data" { "stringData" } else { "data" };
    for entry in entries_below(ctx.node, list) {
        let ParsedValue::Text(value) = parse_value(&entry.value) else {
            continue;
        };
        let is_placeholder = PLACEHOLDER_PREFIXES
            .iter()
            .any(|mark| value.trim_start().starts_with(mark));
        if is_placeholder || is_base64(value) {
            continue;
        }
        let key = entry.key.as_str();
        // The contents of a Secret are never shown.
        ctx.report(
            [Step::from(list), Step::from(key)],
            |path| format!("`{path}` is not valid base64"),
            format!("write it as it is below `{other}`, or as `base64 -w0` prints it"),
        );
    }
}

fn is_base64(text: &str) -> bool {
    let text: String = text.chars().filter(|c| !matches!(c, '\n' | '\r')).collect();
    let bare = text.trim_end_matches('=');
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"+/".contains(&byte);
    text.len().is_multiple_of(4) && text.len() - bare.len() <= 2 && bare.bytes().all(allowed)
}

/// The required keys of a Secret, by type.
///
/// Source: kubernetes `pkg/apis/core/validation/validation.go`, `ValidateSecret`.
const REQUIRED_SECRET_KEYS: &[(&str, &[&str])] = &[
    ("kubernetes.io/dockercfg", &[".dockercfg"]),
    ("kubernetes.io/dockerconfigjson", &[".dockerconfigjson"]),
    ("kubernetes.io/ssh-auth", &["ssh-privatekey"]),
    ("kubernetes.io/tls", &["tls.crt", "tls.key"]),
];

fn check_secret_type(ctx: &mut ObjectContext<'_, '_>) {
    let kind = get_text(ctx.node, "type");
    let Some((kind, required_keys)) = REQUIRED_SECRET_KEYS.iter().find(|it| Some(it.0) == kind)
    else {
        return;
    };
    let lists = ["data", "stringData"];
    let has_data = lists
        .iter()
        .any(|list| !entries_below(ctx.node, list).is_empty());
    let is_whole = has_data && ctx.is_complete;
    for key in required_keys.iter().filter(|_| is_whole) {
        let node = ctx.node;
        let has = |list: &str| {
            node.get(list)
                .and_then(|it| get_non_null(it, key))
                .is_some()
        };
        if !lists.into_iter().any(has) {
            ctx.report(
                [Step::from("type")],
                |path| format!("`{path}` is `{kind}`, but the key `{key}` is missing"),
                format!("write `{key}`, or `type: Opaque`"),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn base64_is_distinguished_from_text() {
        for good in ["", "aGk=", "aGVsbG8h", "aGVs\nbG8h", "YQ==", "+/+/"] {
            assert!(super::is_base64(good), "{good}");
        }
        for wrong in ["hunter2", "aGk", "a===", "p@ssword", "aGk= ", "=aGk"] {
            assert!(!super::is_base64(wrong), "{wrong}");
        }
    }
}
