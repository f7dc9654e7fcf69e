//! A workload sets `NVIDIA_VISIBLE_DEVICES` itself.

use gpuc_model::check::Rule;
use gpuc_model::derive::components::VISIBLE_DEVICES as VISIBLE;
use gpuc_model::scheduling::fitting_pools;
use gpuc_model::{Cluster, PodGpuRequest};
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2207",
        name: "workload-visible-devices-set",
        severity: Severity::Warning,
        summary: "a workload sets `NVIDIA_VISIBLE_DEVICES` itself",
        checks: "Whether `env` or `envValueFrom` of a workload sets `NVIDIA_VISIBLE_DEVICES`, if it requests GPUs or
may run on nodes with GPUs.",
        reason: "The device plugin sets this variable to the GPUs of a container, and the value of the pod overrides
it. With `all` the container can access every GPU of the node, also those of other pods. With `none`
it cannot even access its own.",
        remedy: "Remove the variable. To select some of the container's GPUs for a program, use
`CUDA_VISIBLE_DEVICES`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [gpu-1, gpu-2]
    nodes: {count: 2}
workloads:
  - {name: finetune, job: {image: "registry.example.com/model:1.0.0", gpus: 1, env: {NVIDIA_VISIBLE_DEVICES: all}}}
"#,
        correction: Correction::Replace(", env: {NVIDIA_VISIBLE_DEVICES: all}", ""),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for workload in &cluster.config.workloads {
        let Some((task, pods)) = workload.task().and_then(|task| Some((task, task.pods()?))) else {
            continue;
        };
        let mut env = pods.env.iter();
        let written = env.find(|(name, _)| name.as_str() == VISIBLE);
        let value = written.map(|(_, value)| value.as_str());
        let mut others = pods.env_value_from.keys();
        let other = others.find(|name| name.as_str() == VISIBLE);
        let Some(span) = written.map(|it| it.0.span).or(other.map(|it| it.span)) else {
            continue;
        };
        let requests_gpus = PodGpuRequest::for_task(task).is_some();
        let sees_none = matches!(value, Some("" | "none" | "void"));
        let mut pools = fitting_pools(cluster, workload).into_iter();
        if !requests_gpus && (sees_none || !pools.any(|pool| pool.has_gpus())) {
            continue;
        }
        let message = format!("workload `{}` sets `{VISIBLE}`", workload.name);
        let effect = if sees_none {
            "the container cannot access its own GPUs"
        } else if requests_gpus {
            "the container can access GPUs of other pods"
        } else {
            "the container can access GPUs but requests none"
        };
        let builder = report
            .diagnostic(&RULE.code, span, message)
            .primary_label(effect);
        let builder = match task.gpus().filter(|gpus| gpus.span.is_written()) {
            Some(gpus) => builder.label(gpus.span, "the device plugin selects these GPUs"),
            None => builder,
        };
        builder.help("remove this variable").emit();
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::messages_with_id;

    #[test]
    fn overridden_gpu_selection_is_found() {
        let sets = "workload `a` sets `NVIDIA_VISIBLE_DEVICES`";
        let gpu = "{name: gpu, gpu: {model: A30, perNode: 2}, hosts: [a], nodes: {count: 1}}";
        let cpu = "{name: cpu, hosts: [c], nodes: {count: 1}}";
        for (pools, keys, expected) in [
            (
                gpu,
                "gpus: 1, env: {NVIDIA_VISIBLE_DEVICES: all}",
                &[sets][..],
            ),
            (gpu, "gpus: 1, env: {NVIDIA_VISIBLE_DEVICES: none}", &[sets]),
            (
                gpu,
                "gpus: 1, envValueFrom: {NVIDIA_VISIBLE_DEVICES: {secret: {name: a, key: b}}}",
                &[sets],
            ),
            (gpu, "gpus: 1, env: {CUDA_VISIBLE_DEVICES: '0'}", &[]),
            (gpu, "env: {NVIDIA_VISIBLE_DEVICES: all}", &[sets]),
            (gpu, "env: {NVIDIA_VISIBLE_DEVICES: void}", &[]),
            (cpu, "env: {NVIDIA_VISIBLE_DEVICES: all}", &[]),
        ] {
            let yaml = format!(
                "
                cloud: {{onPrem: {{context: demo}}}}
                nodePools: [{pools}]
                workloads: [{{name: a, job: {{image: 'a:1', {keys}}}}}]
                "
            );
            assert_eq!(messages_with_id(&yaml, "GPUC2207"), expected, "{keys}");
        }
    }
}
