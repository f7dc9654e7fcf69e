//! The number of GPU replicas is out of range.

use gpuc_schema::config::DevicePlugin;

use gpuc_model::check::Rule;
use gpuc_model::{Cluster, Pool, Sharing};
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2022",
        name: "replicas-out-of-range",
        severity: Severity::Error,
        summary: "the number of GPU replicas is out of range",
        checks: "Whether a shared GPU has at least two replicas, and at most the supported number: 48 with
time-slicing. With MPS, the GPU model determines the maximum: 48 since Volta and 16 before. NVIDIA's
device plugin allows 16 below compute capability 7.5.",
        reason: "The device plugin would not start, or would advertise replicas that fail when a container uses them.",
        remedy: "Write a number in the range that the help gives.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {onPrem: {context: demo}}
stack: {devicePlugin: nvidia}
nodePools:
  - name: gpu
    gpu: {model: v100-sxm2-16gb, perNode: 1}
    hosts: [node-1]
    nodes: {count: 1}
    sharing: {mps: {replicas: 20}}
"#,
        correction: Correction::Replace("replicas: 20", "replicas: 16"),
    },
    run,
};

/// The maximum number of time-sliced replicas. The driver has no limit; more leave each replica little memory. Google
/// has the same limit (GKE, "Share GPUs with multiple workloads using GPU time-sharing", 2026-11-21).
const MAX_TIME_SLICES: u32 = 48;

fn run(cluster: &Cluster, report: &mut Report) {
    for (pool, gpus) in cluster.gpu_pools() {
        let (replicas, max, sharing_mode) = match pool.sharing.get() {
            Some(Sharing::TimeSlicing { replicas, .. }) => {
                (replicas, MAX_TIME_SLICES, "with time-slicing".to_owned())
            }
            Some(Sharing::Mps { replicas, .. }) if uses_nvidia_plugin(pool) => {
                let max = gpus.model.mps_clients_nvidia_plugin();
                (
                    replicas,
                    max,
                    format!("with MPS on {} with NVIDIA's device plugin", gpus.model.key),
                )
            }
            Some(Sharing::Mps { replicas, .. }) => {
                let max = gpus.model.mps_max_clients();
                (replicas, max, format!("with MPS on {}", gpus.model.key))
            }
            Some(Sharing::Exclusive | Sharing::Mig { .. }) | None => continue,
        };
        if (2..=max).contains(&replicas.value) {
            continue;
        }
        let message = format!(
            "a GPU cannot have {}",
            gpuc_syntax::diag::phrases::pluralize(replicas.value, "replica")
        );
        let builder = report.diagnostic(&RULE.code, replicas.span, message);
        let builder = builder.label(gpus.span, "the GPU model");
        let builder = builder.help(format!(
            "write a number from 2 to {max}, the maximum {sharing_mode}"
        ));
        if replicas.value > max {
            builder.replace(replicas.span, max.to_string()).emit();
        } else {
            builder
                .help("write 2 or more, or remove `sharing`: one replica does not share a GPU")
                .emit();
        }
    }
}

/// Whether NVIDIA's device plugin advertises the pool's GPUs, installed by gpuc or by the GPU Operator.
fn uses_nvidia_plugin(pool: &Pool) -> bool {
    let both = [DevicePlugin::Nvidia, DevicePlugin::Operator];
    both.into_iter().any(|plugin| pool.is_advertised_by(plugin))
}

#[cfg(test)]
mod tests {
    use crate::testing::messages_with_id;

    #[track_caller]
    fn check(model: &str, plugin: &str, sharing: &str, wrong: bool) {
        let yaml = format!(
            "
            cloud: {{onPrem: {{context: demo}}}}
            stack: {{devicePlugin: {plugin}}}
            nodePools:
              - name: gpu
                gpu: {{model: {model}, perNode: 1}}
                hosts: [a]
                nodes: {{count: 1}}
                sharing: {sharing}
            "
        );
        assert_eq!(
            messages_with_id(&yaml, "GPUC2022").len(),
            usize::from(wrong),
            "{model} {sharing}"
        );
    }

    #[test]
    fn limit_depends_on_gpu_model_and_device_plugin() {
        for (model, plugin, max) in [
            ("p4-8gb", "gpuc", 16),
            ("v100-sxm2-16gb", "gpuc", 48),
            ("v100-sxm2-16gb", "nvidia", 16),
            ("t4-16gb", "nvidia", 48),
        ] {
            check(
                model,
                plugin,
                &format!("{{mps: {{replicas: {max}}}}}"),
                false,
            );
            check(
                model,
                plugin,
                &format!("{{mps: {{replicas: {}}}}}", max + 1),
                true,
            );
        }
        check("p4-8gb", "gpuc", "{timeSlicing: {replicas: 48}}", false);
        check("p4-8gb", "gpuc", "{timeSlicing: {replicas: 49}}", true);
        check("p4-8gb", "gpuc", "{timeSlicing: {replicas: 1}}", true);
    }
}
