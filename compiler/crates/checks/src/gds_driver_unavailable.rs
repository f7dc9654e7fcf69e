//! The GPU Operator cannot install the driver of GPUDirect Storage for a GPU model.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_schema::config::{DriverOwner, Extra};
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

/// NVIDIA/gpu-operator@10ee5b36 (v26.7.0) `api/nvidia/v1alpha1/nvidiadriver_types.go`
/// (`IsOpenKernelModulesRequired`), `controllers/nvidiadriver_controller.go`; NVIDIA/cloud-native-docs@52dcb7b8
/// gpu-operator/gpu-operator-rdma.rst (from GDS 2.17.5 on); both read 2026-11-26.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2238",
        name: "gds-driver-unavailable",
        severity: Severity::Error,
        summary: "the GPU Operator cannot install the driver of GPUDirect Storage for a GPU model",
        checks: "Whether every pool with `extras: [gds]`, its own or the cluster's, and `driver: operator` has a GPU model
that works with NVIDIA's open kernel modules: Turing and later.",
        reason: "The operator builds the driver of GPUDirect Storage (nvidia-fs) next to the GPU driver. Its version
supports only the open kernel modules, and older GPU models need the proprietary ones.",
        remedy: "Write the pool's own `extras` without `gds`, or install both drivers on the nodes and write another
`driver`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {onPrem: {context: demo}}
stack: {driver: operator, devicePlugin: operator}
nodePools:
  - name: gpu
    gpu: {model: v100-sxm2-16gb, perNode: 4}
    hosts: [node-1]
    nodes: {count: 1}
    stack: {extras: [gdrcopy, gds]}
"#,
        correction: Correction::Replace("gdrcopy, gds", "gdrcopy"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for (pool, gpus) in cluster.gpu_pools() {
        let mut extras = pool.extras.iter();
        let Some(gds) = extras.find(|extra| extra.value == Extra::Gds) else {
            continue;
        };
        if pool.driver.value != DriverOwner::Operator || gpus.model.kernel_modules() == "open" {
            continue;
        }
        let message = format!(
            "the GPU Operator cannot install the driver of GPUDirect Storage in pool `{}`",
            pool.name
        );
        let model = format!(
            "{} does not support the open kernel modules",
            gpus.model.key
        );
        report
            .diagnostic(&RULE.code, gds.span, message)
            .primary_label("requires the open kernel modules")
            .label(gpus.span, model)
            .help("remove `gds` from the `extras` of the pool")
            .emit();
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::messages_with_id;

    #[test]
    fn only_the_operators_driver_for_old_models_is_reported() {
        let found = messages_with_id(
            "
            cloud: {onPrem: {context: demo}}
            stack: {driver: operator, devicePlugin: operator, extras: [gds]}
            nodePools:
              - {name: new, gpu: {model: L4, perNode: 1}, hosts: [a], nodes: {count: 1}}
              - {name: old, gpu: {model: V100-SXM2-16GB, perNode: 1}, hosts: [b], nodes: {count: 1}}
              - {name: by-host, gpu: {model: V100-SXM2-16GB, perNode: 1}, hosts: [c], nodes: {count: 1},
                 stack: {driver: host}}
            ",
            "GPUC2238",
        );
        assert_eq!(
            found,
            ["the GPU Operator cannot install the driver of GPUDirect Storage in pool `old`"]
        );
    }
}
