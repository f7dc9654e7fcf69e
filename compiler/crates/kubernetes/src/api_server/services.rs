//! Services and their ports.

use std::collections::BTreeSet;

use super::ObjectContext;
use super::field_path::Step;
use super::scalar::{get, items, text, whole};

/// Source: kubernetes `pkg/apis/core/validation/validation.go`, `ValidateService` and `validateServicePort`.
pub(super) fn validate(ctx: &mut ObjectContext<'_, '_>) {
    if ctx.name != "ServiceSpec" {
        return;
    }
    kind(ctx);
    let many = items(ctx.node, "ports").count() > 1;
    let (mut names, mut ports) = (BTreeSet::new(), BTreeSet::new());
    for (index, port) in items(ctx.node, "ports") {
        let below = |key: &str| [Step::from("ports"), Step::from(index), Step::from(key)];
        match text(port, "name") {
            Some(name) if !names.insert(name) => ctx.refuse(
                below("name"),
                |path| format!("`{path}` is `{name}`, which is already used"),
                "write another name",
            ),
            None if many && port.get("name").is_none() => ctx.refuse(
                [Step::from("ports"), Step::from(index)],
                |path| {
                    format!(
                        "`{path}` has no `name`, but a Service with several ports requires names"
                    )
                },
                "write a `name` for each port",
            ),
            _ => {}
        }
        let protocol = text(port, "protocol").unwrap_or("TCP");
        if let Some(number) = whole(port, "port")
            && !ports.insert((protocol, number))
        {
            ctx.refuse(
                below("port"),
                |path| format!("`{path}` is {number}, which is already used"),
                "remove one of the two, or write another port",
            );
        }
    }
}

/// Source: kubernetes `pkg/apis/core/validation/validation.go`, `ValidateService`.
fn kind(ctx: &mut ObjectContext<'_, '_>) {
    let written = text(ctx.node, "type");
    // Another file can set the type of a partial object.
    let Some(kind) = written.or(ctx.is_whole.then_some("ClusterIP")) else {
        return;
    };
    let is_headless = text(ctx.node, "clusterIP") == Some("None");
    if is_headless && ["NodePort", "LoadBalancer"].contains(&kind) {
        ctx.refuse(
            [Step::from("clusterIP")],
            |path| format!("`{path}` is `None`, which cannot be combined with `type: {kind}`"),
            "remove it, or write `type: ClusterIP`",
        );
    }
    if kind == "ExternalName" && ctx.is_whole && get(ctx.node, "externalName").is_none() {
        ctx.refuse(
            [Step::from("type")],
            |path| format!("`{path}` is `ExternalName`, but `externalName` is not set"),
            "add the external DNS name",
        );
    }
    if kind != "ClusterIP" {
        return;
    }
    for (index, port) in items(ctx.node, "ports") {
        if let Some(number) = whole(port, "nodePort").filter(|number| *number != 0) {
            ctx.refuse(
                [
                    Step::from("ports"),
                    Step::from(index),
                    Step::from("nodePort"),
                ],
                |path| {
                    format!("`{path}` is {number}, which cannot be combined with `type: ClusterIP`")
                },
                "remove it, or write `type: NodePort`",
            );
        }
    }
}

/// The first minor version of Kubernetes that allows Service names with a leading digit.
///
/// Source: KEP-5311 (kubernetes/enhancements), beta and on in 1.36: kubernetes/kubernetes#136389, read 2026-11-22.
const DIGITS_SINCE: u8 = 36;

/// Reports Service names that only later versions of Kubernetes allow.
///
/// Source: kubernetes `staging/src/k8s.io/apimachinery/pkg/util/validation/validation.go`, `IsDNS1035Label`.
pub fn name(minor: u8, name: &str) -> Option<(String, &'static str)> {
    let is_refused = minor < DIGITS_SINCE && name.starts_with(|c: char| c.is_ascii_digit());
    is_refused.then(|| {
        let message = format!(
            "`metadata.name` is `{name}`, but must start with a letter before Kubernetes 1.{DIGITS_SINCE}"
        );
        (message, "start the name with a letter")
    })
}
