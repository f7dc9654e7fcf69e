//! What files and variables are made of: `ConfigMap` and `Secret`.

use super::Here;
use super::place::Step;
use super::read::{Read, get, read, text};
use crate::node::{Entry, Node};

pub(super) fn look(here: &mut Here<'_, '_>) {
    match here.name {
        "ConfigMap" => {
            keys(here, &["data", "binaryData"]);
            base64(here, "binaryData");
            twice(here);
        }
        "Secret" => {
            keys(here, &["data", "stringData"]);
            base64(here, "data");
            kinds(here);
        }
        _ => {}
    }
}

fn entries<'n>(node: &'n Node, list: &str) -> &'n [Entry] {
    node.get(list).map_or(&[], Node::entries)
}

/// Source: kubernetes `staging/src/k8s.io/apimachinery/pkg/util/validation/validation.go`, `IsConfigMapKey`.
fn keys(here: &mut Here<'_, '_>, lists: &[&'static str]) {
    const LONGEST: usize = 253;
    for list in lists {
        for entry in entries(here.node, list) {
            let key = entry.key.as_str();
            let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
            let is_good = (1..=LONGEST).contains(&key.len())
                && key.bytes().all(allowed)
                && key != "."
                && !key.starts_with("..");
            if is_good || key.contains("{{") || key.contains('$') {
                continue;
            }
            here.refuse(
                [Step::from(*list), Step::from(key)],
                |_| format!("`{key}` of `{list}` is no name that Kubernetes takes"),
                "write letters, digits, `-`, `_` and `.`",
            );
            if let Some(found) = here.found.last_mut() {
                found.of_key = true;
            }
        }
    }
}

/// Source: kubernetes `pkg/apis/core/validation/validation.go`, `ValidateConfigMap`.
fn twice(here: &mut Here<'_, '_>) {
    for entry in entries(here.node, "data") {
        let key = entry.key.as_str();
        if here
            .node
            .get("binaryData")
            .is_some_and(|it| it.get(key).is_some())
        {
            here.refuse(
                [Step::from("data"), Step::from(key)],
                |path| format!("`{path}` is in `binaryData` too"),
                "remove one of the two",
            );
        }
    }
}

/// What programs put in place of a value before it is applied: SOPS, and a vault's plugin for Argo CD.
const FILLED: &[&str] = &["ENC[", "<"];

/// Bytes are read as base64.
///
/// Source: Go's `encoding/json`, which the API server reads objects with: `[]byte` is `base64.StdEncoding`, of which
/// breaks of lines are passed over (from memory).
fn base64(here: &mut Here<'_, '_>, list: &'static str) {
    let other = if list == "data" { "stringData" } else { "data" };
    for entry in entries(here.node, list) {
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
        // What a secret holds is shown nowhere.
        here.refuse(
            [Step::from(list), Step::from(key)],
            |path| format!("`{path}` is no base64"),
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

/// What a secret of a type must have.
///
/// Source: kubernetes `pkg/apis/core/validation/validation.go`, `ValidateSecret`.
const TYPES: &[(&str, &[&str])] = &[
    ("kubernetes.io/dockercfg", &[".dockercfg"]),
    ("kubernetes.io/dockerconfigjson", &[".dockerconfigjson"]),
    ("kubernetes.io/ssh-auth", &["ssh-privatekey"]),
    ("kubernetes.io/tls", &["tls.crt", "tls.key"]),
];

fn kinds(here: &mut Here<'_, '_>) {
    let kind = text(here.node, "type");
    let Some((kind, needed)) = TYPES.iter().find(|it| Some(it.0) == kind) else {
        return;
    };
    let lists = ["data", "stringData"];
    let is_there = lists
        .iter()
        .any(|list| !entries(here.node, list).is_empty());
    let is_whole = is_there && here.is_whole;
    for key in needed.iter().filter(|_| is_whole) {
        let node = here.node;
        let has = |list: &str| node.get(list).and_then(|it| get(it, key)).is_some();
        if !lists.into_iter().any(has) {
            here.refuse(
                [Step::from("type")],
                |path| format!("`{path}` is `{kind}`, and there is no `{key}`"),
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
