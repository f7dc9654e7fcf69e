//! The data of `ConfigMap` and `Secret`.

use gpuc_syntax::node::{Entry, Node};

use super::ObjectContext;
use super::field_path::Step;
use super::scalar::{Read, get, read, text};

pub(super) fn validate(ctx: &mut ObjectContext<'_, '_>) {
    match ctx.name {
        "ConfigMap" => {
            keys(ctx, &["data", "binaryData"]);
            base64(ctx, "binaryData");
            twice(ctx);
        }
        "Secret" => {
            keys(ctx, &["data", "stringData"]);
            base64(ctx, "data");
            kinds(ctx);
        }
        _ => {}
    }
}

fn entries<'n>(node: &'n Node, list: &str) -> &'n [Entry] {
    node.get(list).map_or(&[], Node::entries)
}

/// Source: kubernetes `staging/src/k8s.io/apimachinery/pkg/util/validation/validation.go`, `IsConfigMapKey`.
fn keys(ctx: &mut ObjectContext<'_, '_>, lists: &[&'static str]) {
    const LONGEST: usize = 253;
    for list in lists {
        for entry in entries(ctx.node, list) {
            let key = entry.key.as_str();
            let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
            let is_good = (1..=LONGEST).contains(&key.len())
                && key.bytes().all(allowed)
                && key != "."
                && !key.starts_with("..");
            if is_good || key.contains("{{") || key.contains('$') {
                continue;
            }
            ctx.refuse(
                [Step::from(*list), Step::from(key)],
                |_| format!("`{key}` of `{list}` is not a valid Kubernetes name"),
                "write letters, digits, `-`, `_` and `.`",
            );
            if let Some(found) = ctx.found.last_mut() {
                found.of_key = true;
            }
        }
    }
}

/// Source: kubernetes `pkg/apis/core/validation/validation.go`, `ValidateConfigMap`.
fn twice(ctx: &mut ObjectContext<'_, '_>) {
    for entry in entries(ctx.node, "data") {
        let key = entry.key.as_str();
        if ctx
            .node
            .get("binaryData")
            .is_some_and(|it| it.get(key).is_some())
        {
            ctx.refuse(
                [Step::from("data"), Step::from(key)],
                |path| format!("`{path}` is also in `binaryData`"),
                "remove one of the two",
            );
        }
    }
}

/// Placeholders that other programs replace before the object is applied: SOPS, and the Argo CD Vault Plugin.
const FILLED: &[&str] = &["ENC[", "<"];

/// Binary data must be valid base64.
///
/// Source: Go's `encoding/json`, which the API server reads objects with: `[]byte` is `base64.StdEncoding`, of which
/// skips line breaks (from memory).
fn base64(ctx: &mut ObjectContext<'_, '_>, list: &'static str) {
    let other = if list == "data" { "stringData" } else { "data" };
    for entry in entries(ctx.node, list) {
        let Read::Text(value) = read(&entry.value) else {
            continue;
        };
        let is_filled = FILLED
            .iter()
            .any(|mark| value.trim_start().starts_with(mark));
        if is_filled || is_base64(value) {
            continue;
        }
        let key = entry.key.as_str();
        // The contents of a Secret are never shown.
        ctx.refuse(
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
const TYPES: &[(&str, &[&str])] = &[
    ("kubernetes.io/dockercfg", &[".dockercfg"]),
    ("kubernetes.io/dockerconfigjson", &[".dockerconfigjson"]),
    ("kubernetes.io/ssh-auth", &["ssh-privatekey"]),
    ("kubernetes.io/tls", &["tls.crt", "tls.key"]),
];

fn kinds(ctx: &mut ObjectContext<'_, '_>) {
    let kind = text(ctx.node, "type");
    let Some((kind, needed)) = TYPES.iter().find(|it| Some(it.0) == kind) else {
        return;
    };
    let lists = ["data", "stringData"];
    let is_there = lists.iter().any(|list| !entries(ctx.node, list).is_empty());
    let is_whole = is_there && ctx.is_whole;
    for key in needed.iter().filter(|_| is_whole) {
        let node = ctx.node;
        let has = |list: &str| node.get(list).and_then(|it| get(it, key)).is_some();
        if !lists.into_iter().any(has) {
            ctx.refuse(
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
    fn base64_is_told_from_text() {
        for good in ["", "aGk=", "aGVsbG8h", "aGVs\nbG8h", "YQ==", "+/+/"] {
            assert!(super::is_base64(good), "{good}");
        }
        for wrong in ["hunter2", "aGk", "a===", "p@ssword", "aGk= ", "=aGk"] {
            assert!(!super::is_base64(wrong), "{wrong}");
        }
    }
}
