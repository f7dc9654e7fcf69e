//! The quantity of an extended resource is not a whole number.

use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use crate::resources::{ResourceCount, is_extended_resource, parse_count};
use crate::{CheckContext, Rule};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4003",
        name: "manifest-amount-not-whole",
        severity: Severity::Error,
        summary: "the quantity of a GPU resource is not a whole number",
        checks: "Whether the quantity of each extended resource is a whole number.",
        reason: "Kubernetes allocates whole devices. The API server rejects quantities such as `0.5` and `500m`: `must be an
integer`.",
        remedy: "Write a whole number. To use part of a GPU, configure `sharing` for the pool in gpu-cluster.yaml: replicas
(time-slicing or MPS) or MIG devices.",
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
      resources: {limits: {nvidia.com/gpu: 500m}}
"#,
        correction: Correction::Replace("nvidia.com/gpu: 500m", "nvidia.com/gpu: 1"),
    },
    run,
};

// Source: kubernetes 1.36 pkg/apis/core/validation/validation.go, `validateResourceQuantityValue`.
fn run(ctx: &CheckContext<'_>, report: &mut Report) {
    for pod in &ctx.pods {
        for container in &pod.containers {
            let lists = ["limits", "requests"].map(|list| container.resource_list(list));
            let extended = lists.into_iter().flatten();
            let extended = extended.filter(|entry| is_extended_resource(&entry.key));
            for entry in
                extended.filter(|entry| parse_count(&entry.value) == ResourceCount::Invalid)
            {
                let written = entry.value.text().unwrap_or_default();
                let problem = if is_negative(written) {
                    "must not be negative"
                } else {
                    "must be a whole number"
                };
                let message = format!(
                    "invalid quantity `{written}` for `{}`: {problem}",
                    entry.key
                );
                let builder = report.diagnostic(&RULE.code, entry.value.span(), message);
                let advertising = ctx.pools_advertising(&entry.key);
                let builder = match advertising.first() {
                    Some(pool) => {
                        let text = format!("pool `{}` advertises whole devices", pool.name);
                        builder.label(pool.name.span, text)
                    }
                    None => builder,
                };
                builder
                    .help("write a whole number; configure `sharing` in the pool to use part of a GPU")
                    .emit();
            }
        }
    }
}

fn is_negative(written: &str) -> bool {
    let digits = written.strip_prefix('-');
    digits.is_some_and(|it| it.starts_with(|c: char| c.is_ascii_digit()))
}
