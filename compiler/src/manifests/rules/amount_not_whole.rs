//! An amount of GPUs is not a whole number.

use crate::diag::{Code, Report, Severity};
use crate::manifests::resources::{Amount, amount, is_extended};
use crate::manifests::{Rule, Scene};

/// An amount of GPUs is not a whole number.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4003",
        name: "manifest-amount-not-whole",
        severity: Severity::Error,
        summary: "an amount of GPUs is not a whole number",
        explain: "### What it checks

Whether each amount of an extended resource is a whole number.

### Why it matters

Kubernetes hands out devices one by one; the API server refuses `0.5` and `500m` of them: `must be
an integer`.

### What to do

Write a whole number. Parts of a GPU are for the pool to offer: by `sharing` in gpu-cluster.yaml, as
shares or as slices.
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
      resources: {limits: {nvidia.com/gpu: 500m}}
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
      resources: {limits: {nvidia.com/gpu: 1}}
"#,
    },
    run,
};

// Source: kubernetes 1.36 pkg/apis/core/validation/validation.go, `validateResourceQuantityValue`.
fn run(scene: &Scene<'_>, report: &mut Report) {
    for pod in &scene.pods {
        for container in &pod.containers {
            let lists = ["limits", "requests"].map(|list| container.list(list));
            let extended = lists.into_iter().flatten();
            let extended = extended.filter(|entry| is_extended(&entry.key));
            for entry in extended.filter(|entry| amount(&entry.value) == Amount::Refused) {
                let written = entry.value.text().unwrap_or_default();
                let what = if is_negative(written) {
                    "less than nothing"
                } else {
                    "no whole number"
                };
                let message = format!("`{written}` of `{}` is {what}", entry.key);
                let draft = report.draft(&RULE.code, entry.value.span(), message);
                let offers = scene.offering(&entry.key);
                let draft = match offers.first() {
                    Some(pool) => {
                        let text = format!("pool `{}` offers them one by one", pool.name);
                        draft.label(pool.name.span, text)
                    }
                    None => draft,
                };
                draft
                    .help("write a whole number; a pool offers parts of a GPU by `sharing`")
                    .emit();
            }
        }
    }
}

fn is_negative(written: &str) -> bool {
    let digits = written.strip_prefix('-');
    digits.is_some_and(|it| it.starts_with(|c: char| c.is_ascii_digit()))
}
