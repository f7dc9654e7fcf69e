//! Requests and limits of an extended resource are not the same.

use serde_json::{Value as Json, json};

use crate::diag::{Code, Edit, Report, Severity};
use crate::manifests::resources::{Amount, amount, is_extended};
use crate::manifests::{Container, Rule, Scene, edit};
use crate::node::{Entry, Node};

/// Requests and limits of an extended resource are not the same.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4002",
        name: "manifest-requests-differ",
        severity: Severity::Error,
        summary: "requests and limits of an extended resource are not the same",
        explain: "### What it checks

Whether each extended resource, such as `nvidia.com/gpu`, has a limit, and a request that is the
same where there is one.

### Why it matters

A GPU cannot be had in part or on loan, so the API server refuses the pod: `must be equal to
nvidia.com/gpu limit`, or `Limit must be set for non overcommitable resources`. A Deployment or a
Job is accepted all the same, and never has a pod.

### What to do

Write the limit; the request follows from it. `gpuc check --fix` adds a limit that is
missing; of two that differ it does not know which one is meant.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
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
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
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
      resources: {requests: {nvidia.com/gpu: 1}, limits: {nvidia.com/gpu: 1}}
"#,
    },
    run,
};

// Source: kubernetes 1.36 pkg/apis/core/validation/validation.go, `validateContainerResourceRequirements`.
fn run(scene: &Scene<'_>, report: &mut Report) {
    for pod in &scene.pods {
        for container in &pod.containers {
            let limits = container.list("limits");
            let requests = container.list("requests").iter();
            // What is no amount is another finding.
            let requests = requests.filter(|entry| amount(&entry.value) != Amount::Refused);
            for request in requests.filter(|entry| is_extended(&entry.key)) {
                let limit = limits.iter().find(|limit| limit.key == request.key);
                let draft = match limit {
                    None => {
                        let message = format!("`{}` is requested without a limit", request.key);
                        report.draft(&RULE.code, request.key_span, message)
                    }
                    Some(limit) if differ(limit, request) => {
                        let message =
                            format!("the limit and the request of `{}` differ", request.key);
                        let draft = report.draft(&RULE.code, limit.value.span(), message);
                        draft.label(request.value.span(), "the request")
                    }
                    Some(_) => continue,
                };
                let asked = request.value.text().unwrap_or_default();
                let help = match limit {
                    None => format!("write `{}: {asked}` in `limits` too", request.key),
                    Some(_) => "write the same in both, or the limit alone".to_owned(),
                };
                let draft = draft.help(help);
                // Which of two amounts is meant, only the user knows.
                let edit = limit.is_none().then(|| mended(scene, container, request));
                match edit.flatten() {
                    Some(edit) => draft.fix(vec![edit]).emit(),
                    None => draft.emit(),
                };
            }
        }
    }
}

/// Whether both are amounts, and not the same.
fn differ(limit: &Entry, request: &Entry) -> bool {
    match (amount(&limit.value), amount(&request.value)) {
        (Amount::Whole(limit), Amount::Whole(request)) => limit != request,
        _ => false,
    }
}

/// The limit that the request asks for.
fn mended(scene: &Scene<'_>, container: &Container<'_>, request: &Entry) -> Option<Edit> {
    let Amount::Whole(count) = amount(&request.value) else {
        return None;
    };
    let resources = &container.resources()?.value;
    let count = like(&request.value, count);
    match resources.get("limits") {
        Some(limits) => edit::entry(scene.sources, limits, &request.key, &count),
        None => edit::entry(
            scene.sources,
            resources,
            "limits",
            &json!({ &request.key: count }),
        ),
    }
}

/// A number, in quotes where the other one has some.
fn like(other: &Node, count: u64) -> Json {
    let is_plain = matches!(
        other.value,
        crate::node::Value::Scalar(crate::node::Scalar::Written { plain: true, .. })
    );
    if is_plain {
        json!(count)
    } else {
        json!(count.to_string())
    }
}
