//! A workload says itself which GPUs it sees.

use super::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::{Cluster, GpuAsk, Pool};
use crate::placement::holding;

/// A workload says itself which GPUs it sees.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2207",
        name: "workload-visible-devices-set",
        severity: Severity::Warning,
        summary: "a workload says itself which GPUs it sees",
        explain: "### What it checks

Whether `env` or `envValueFrom` of a workload sets `NVIDIA_VISIBLE_DEVICES`, where it asks for GPUs or may
run on nodes that have some.

### Why it matters

The device plugin says by this variable which GPUs a container has, and the one of the pod's own takes
its place: with `all` the container sees every GPU of the node, those of other pods too, and with `none`
not even its own.

### What to do

Remove the variable. Which of its GPUs a program uses, `CUDA_VISIBLE_DEVICES` says.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
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
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [gpu-1, gpu-2]
    nodes: {count: 2}
workloads:
  - {name: finetune, job: {image: "registry.example.com/model:1.0.0", gpus: 1}}
"#,
    },
    run,
};

/// The variable.
pub(crate) const VISIBLE: &str = "NVIDIA_VISIBLE_DEVICES";

fn run(cluster: &Cluster, report: &mut Report) {
    for workload in &cluster.written.workloads {
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
        let asks = GpuAsk::of(task).is_some();
        let sees_none = matches!(value, Some("" | "none" | "void"));
        let mut pools = holding(cluster, workload).into_iter();
        if !asks && (sees_none || !pools.any(Pool::has_gpus)) {
            continue;
        }
        let message = format!("workload `{}` sets `{VISIBLE}`", workload.name);
        let here = if sees_none {
            "it would not see its own GPUs"
        } else if asks {
            "it would see GPUs of other pods"
        } else {
            "it would see GPUs, and asks for none"
        };
        let draft = report.draft(&RULE.code, span, message).here(here);
        let draft = match task.gpus().filter(|gpus| gpus.span.is_written()) {
            Some(gpus) => draft.label(gpus.span, "the device plugin says which ones these are"),
            None => draft,
        };
        draft.help("remove the variable").emit();
    }
}

#[cfg(test)]
mod tests {
    use crate::check::testing::messages;

    #[test]
    fn the_device_plugin_says_which_gpus_there_are() {
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
            assert_eq!(messages(&yaml, "GPUC2207"), expected, "{keys}");
        }
    }
}
