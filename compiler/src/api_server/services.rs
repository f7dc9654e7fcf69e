//! What a Service may be, and its ports.

use std::collections::BTreeSet;

use super::Here;
use super::place::Step;
use super::read::{get, items, text, whole};

/// Source: kubernetes `pkg/apis/core/validation/validation.go`, `ValidateService` and `validateServicePort`.
pub(super) fn look(here: &mut Here<'_, '_>) {
    if here.name != "ServiceSpec" {
        return;
    }
    kind(here);
    let many = items(here.node, "ports").count() > 1;
    let (mut names, mut ports) = (BTreeSet::new(), BTreeSet::new());
    for (index, port) in items(here.node, "ports") {
        let below = |key: &str| [Step::from("ports"), Step::from(index), Step::from(key)];
        match text(port, "name") {
            Some(name) if !names.insert(name) => here.refuse(
                below("name"),
                |path| format!("`{path}` is `{name}`, which is there already"),
                "write another name",
            ),
            None if many && port.get("name").is_none() => here.refuse(
                [Step::from("ports"), Step::from(index)],
                |path| {
                    format!("`{path}` has no `name`, and a Service with several ports needs them")
                },
                "write a `name` for each port",
            ),
            _ => {}
        }
        let protocol = text(port, "protocol").unwrap_or("TCP");
        if let Some(number) = whole(port, "port")
            && !ports.insert((protocol, number))
        {
            here.refuse(
                below("port"),
                |path| format!("`{path}` is {number}, which is there already"),
                "remove one of the two, or write another port",
            );
        }
    }
}

/// Source: kubernetes `pkg/apis/core/validation/validation.go`, `ValidateService`.
fn kind(here: &mut Here<'_, '_>) {
    let written = text(here.node, "type");
    // Another file may say the type of a part.
    let Some(kind) = written.or(here.is_whole.then_some("ClusterIP")) else {
        return;
    };
    let is_headless = text(here.node, "clusterIP") == Some("None");
    if is_headless && ["NodePort", "LoadBalancer"].contains(&kind) {
        here.refuse(
            [Step::from("clusterIP")],
            |path| format!("`{path}` is `None`, and cannot be with `type: {kind}`"),
            "remove it, or write `type: ClusterIP`",
        );
    }
    if kind == "ExternalName" && here.is_whole && get(here.node, "externalName").is_none() {
        here.refuse(
            [Step::from("type")],
            |path| format!("`{path}` is `ExternalName`, and no `externalName` is beside it"),
            "write the name that this one stands for",
        );
    }
    if kind != "ClusterIP" {
        return;
    }
    for (index, port) in items(here.node, "ports") {
        if let Some(number) = whole(port, "nodePort").filter(|number| *number != 0) {
            here.refuse(
                [
                    Step::from("ports"),
                    Step::from(index),
                    Step::from("nodePort"),
                ],
                |path| format!("`{path}` is {number}, and cannot be with `type: ClusterIP`"),
                "remove it, or write `type: NodePort`",
            );
        }
    }
}

/// The first minor version of Kubernetes that takes names of Services that begin with a digit.
///
/// Source: KEP-5311 (kubernetes/enhancements), beta and on in 1.36: kubernetes/kubernetes#136389, read 2026-11-22.
const DIGITS_SINCE: u8 = 36;

/// What a version of Kubernetes refuses of a Service's name, and later ones take.
///
/// Source: kubernetes `staging/src/k8s.io/apimachinery/pkg/util/validation/validation.go`, `IsDNS1035Label`.
pub fn name(minor: u8, name: &str) -> Option<(String, &'static str)> {
    let is_refused = minor < DIGITS_SINCE && name.starts_with(|c: char| c.is_ascii_digit());
    is_refused.then(|| {
        let message = format!(
            "`metadata.name` is `{name}`, and Services begin with a letter before Kubernetes 1.{DIGITS_SINCE}"
        );
        (message, "write a letter first")
    })
}
