//! The request and the limit of an extended resource differ.

use gpuc_syntax::diag::{Code, Correction, Edit, Report, Severity};
use gpuc_syntax::node::{Entry, Node};
use serde_json::{Value as Json, json};

use crate::resources::{ResourceCount, is_extended_resource, parse_count};
use crate::{CheckContext, Container, Rule, text_edit};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4002",
        name: "manifest-requests-differ",
        severity: Severity::Error,
        summary: "the request and the limit of an extended resource differ",
        checks: "Whether each extended resource, such as `nvidia.com/gpu`, has a limit, and the same request if there is one.",
        reason: "GPUs cannot be overcommitted. The API server rejects the pod: `must be equal to nvidia.com/gpu limit`, or
`Limit must be set for non overcommitable resources`. It accepts a Deployment or a Job, which then never
gets a pod.",
        remedy: "Write the limit; the request defaults to it. `gpuc check --fix --unsafe-fixes` adds a missing limit. It does
not change values that differ, because it cannot know which one is intended.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: cpu, hosts: [node-1], nodes: {count: 1}}
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [node-2]
    nodes: {count: 1}
    taints: [{key: nvidia.com/gpu, value: present, effect: NoSchedule}]
--- # manifest.yaml
apiVersion: v1
kind: Pod
metadata: {name: train, namespace: research}
spec:
  tolerations: [{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}]
  containers:
    - name: train
      image: nvcr.io/nvidia/cuda:12.8.1-base-ubuntu24.04
      resources: {requests: {nvidia.com/gpu: 1}}
"#,
        correction: Correction::Replace("nvidia.com/gpu: 1}", "nvidia.com/gpu: 1}, limits: {nvidia.com/gpu: 1}"),
    },
    run,
};

// Source: kubernetes 1.36 pkg/apis/core/validation/validation.go, `validateContainerResourceRequirements`.
fn run(ctx: &CheckContext<'_>, report: &mut Report) {
    for pod in &ctx.pods {
        for container in &pod.containers {
            let limits = container.resource_list("limits");
            let requests = container.resource_list("requests").iter();
            // Invalid quantities are reported by `amount_not_whole`.
            let requests =
                requests.filter(|entry| parse_count(&entry.value) != ResourceCount::Invalid);
            for request in requests.filter(|entry| is_extended_resource(&entry.key)) {
                let limit = limits.iter().find(|limit| limit.key == request.key);
                let builder = match limit {
                    None => {
                        let message = format!("`{}` is requested without a limit", request.key);
                        report.diagnostic(&RULE.code, request.key_span, message)
                    }
                    Some(limit) if has_different_quantity(limit, request) => {
                        let message =
                            format!("the limit and the request of `{}` differ", request.key);
                        let builder = report.diagnostic(&RULE.code, limit.value.span(), message);
                        builder.label(request.value.span(), "the request")
                    }
                    Some(_) => continue,
                };
                let requested = request.value.text().unwrap_or_default();
                let help = match limit {
                    None => format!("write `{}: {requested}` in `limits` too", request.key),
                    Some(_) => "write the same quantity in both, or only the limit".to_owned(),
                };
                let builder = builder.help(help);
                let edit = limit
                    .is_none()
                    .then(|| equalize_edit(ctx, container, request));
                match edit.flatten() {
                    Some(edit) => builder.suggest(vec![edit]).emit(),
                    None => builder.emit(),
                };
            }
        }
    }
}

/// Whether both are valid quantities that differ.
fn has_different_quantity(limit: &Entry, request: &Entry) -> bool {
    match (parse_count(&limit.value), parse_count(&request.value)) {
        (ResourceCount::Whole(limit), ResourceCount::Whole(request)) => limit != request,
        _ => false,
    }
}

/// Adds a limit equal to the request.
fn equalize_edit(
    ctx: &CheckContext<'_>,
    container: &Container<'_>,
    request: &Entry,
) -> Option<Edit> {
    let ResourceCount::Whole(count) = parse_count(&request.value) else {
        return None;
    };
    let resources = &container.resources()?.value;
    let count = quoted_like(&request.value, count);
    match resources.get("limits") {
        Some(limits) => text_edit::append_entry(ctx.sources, limits, &request.key, &count),
        None => text_edit::append_entry(
            ctx.sources,
            resources,
            "limits",
            &json!({ &request.key: count }),
        ),
    }
}

/// A number, quoted if `other` is quoted.
fn quoted_like(other: &Node, count: u64) -> Json {
    let is_plain = matches!(
        other.value,
        gpuc_syntax::node::Value::Scalar(gpuc_syntax::node::Scalar::Written { plain: true, .. })
    );
    if is_plain {
        json!(count)
    } else {
        json!(count.to_string())
    }
}
