//! Services and their ports.

use std::collections::BTreeSet;

use super::ObjectContext;
use super::field_path::Step;
use super::scalar::{get_integer, get_non_null, get_text, indexed_items};

/// Source: kubernetes `pkg/apis/core/validation/validation.go`, `ValidateService` and `validateServicePort`.
pub(super) fn validate(ctx: &mut ObjectContext<'_, '_>) {
    if ctx.type_name != "ServiceSpec" {
        return;
    }
    check_service_type(ctx);
    let many = indexed_items(ctx.node, "ports").count() > 1;
    let (mut names, mut ports) = (BTreeSet::new(), BTreeSet::new());
    for (index, port) in indexed_items(ctx.node, "ports") {
        let below = |key: &str| [Step::from("ports"), Step::from(index), Step::from(key)];
        match get_text(port, "name") {
            Some(name) if !names.insert(name) => ctx.report(
                below("name"),
                |path| format!("`{path}` is `{name}`, which is already used"),
                "write another name",
            ),
            None if many && port.get("name").is_none() => ctx.report(
                [Step::from("ports"), Step::from(index)],
                |path| {
                    format!(
                        "`{path}` has no `name`, but a Service with several ports requires names"
                    )
                },
                "add a `name` to each port",
            ),
            _ => {}
        }
        let protocol = get_text(port, "protocol").unwrap_or("TCP");
        if let Some(number) = get_integer(port, "port")
            && !ports.insert((protocol, number))
        {
            ctx.report(
                below("port"),
                |path| format!("`{path}` is {number}, which is already used"),
                "remove one of the two, or write another port",
            );
        }
    }
}

/// Source: kubernetes `pkg/apis/core/validation/validation.go`, `ValidateService`.
fn check_service_type(ctx: &mut ObjectContext<'_, '_>) {
    let written = get_text(ctx.node, "type");
    // Another file can set the type of a partial object.
    let Some(kind) = written.or(ctx.is_complete.then_some("ClusterIP")) else {
        return;
    };
    let is_headless = get_text(ctx.node, "clusterIP") == Some("None");
    if is_headless && ["NodePort", "LoadBalancer"].contains(&kind) {
        ctx.report(
            [Step::from("clusterIP")],
            |path| format!("`{path}` is `None`, which cannot be combined with `type: {kind}`"),
            "remove it, or write `type: ClusterIP`",
        );
    }
    if kind == "ExternalName" && ctx.is_complete && get_non_null(ctx.node, "externalName").is_none()
    {
        ctx.report(
            [Step::from("type")],
            |path| format!("`{path}` is `ExternalName`, but `externalName` is not set"),
            "add the external DNS name",
        );
    }
    if kind != "ClusterIP" {
        return;
    }
    for (index, port) in indexed_items(ctx.node, "ports") {
        if let Some(number) = get_integer(port, "nodePort").filter(|number| *number != 0) {
            ctx.report(
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
const LEADING_DIGIT_SINCE_MINOR: u8 = 36;

/// Reports Service names that only later versions of Kubernetes allow.
///
/// Source: kubernetes `staging/src/k8s.io/apimachinery/pkg/util/validation/validation.go`, `IsDNS1035Label`.
pub fn service_name_problem(minor: u8, name: &str) -> Option<(String, &'static str)> {
    let is_refused =
        minor < LEADING_DIGIT_SINCE_MINOR && name.starts_with(|c: char| c.is_ascii_digit());
    is_refused.then(|| {
        let message = format!(
            "`metadata.name` is `{name}`, but must start with a letter before Kubernetes 1.{LEADING_DIGIT_SINCE_MINOR}"
        );
        (message, "start the name with a letter")
    })
}
