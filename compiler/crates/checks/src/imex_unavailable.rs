//! IMEX channels are requested for a GPU model without multi-node NVLink.

use gpuc_schema::config::Extra;
use gpuc_schema::gpu::MULTI_NODE_NVLINK_MODELS;

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity, phrases};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2064",
        name: "imex-unavailable",
        severity: Severity::Error,
        summary: "IMEX channels are requested for a GPU model without multi-node NVLink",
        checks: "Whether every pool with `extras: [imex]`, its own or the cluster's, has a GPU model whose NVLink
connects several nodes: GB200 and GB300.",
        reason: "Through an IMEX channel, a process uses the memory of GPUs in other nodes over NVLink. If NVLink
connects only the GPUs of one node, the driver creates no channels, and containers would get none.",
        remedy: "Write the pool's own `extras` without `imex`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: h100-sxm5-80gb, perNode: 8}
    hosts: [node-1]
    nodes: {count: 1}
    stack: {extras: [gdrcopy, imex]}
"#,
        correction: Correction::Replace("gdrcopy, imex", "gdrcopy"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for (pool, gpus) in cluster.gpu_pools() {
        let mut extras = pool.extras.iter();
        let Some(imex) = extras.find(|extra| extra.value == Extra::Imex) else {
            continue;
        };
        if gpus.model.has_multi_node_nvlink() {
            continue;
        }
        let message = format!(
            "the nodes of pool `{}` have no IMEX channels: {} has no multi-node NVLink",
            pool.name, gpus.model.key
        );
        let models: Vec<_> = MULTI_NODE_NVLINK_MODELS
            .iter()
            .map(|model| model.key)
            .collect();
        let help = format!(
            "remove `imex` from the `extras` of this pool; GPU models with IMEX channels: {}",
            phrases::quoted_list(&models, 12)
        );
        report
            .diagnostic(&RULE.code, imex.span, message)
            .label(gpus.span, "the GPU model is set here")
            .help(help)
            .emit();
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::messages_with_id;

    #[test]
    fn only_rack_systems_have_channels() {
        let found = messages_with_id(
            "
            cloud: {onPrem: {context: demo}}
            stack: {extras: [imex]}
            nodePools:
              - {name: rack, gpu: {model: GB200, perNode: 4}, hosts: [a], nodes: {count: 1}}
              - {name: one, gpu: {model: L4, perNode: 1}, hosts: [b], nodes: {count: 1}}
              - {name: cpu, hosts: [c], nodes: {count: 1}}
            ",
            "GPUC2064",
        );
        assert_eq!(
            found,
            ["the nodes of pool `one` have no IMEX channels: l4-24gb has no multi-node NVLink"]
        );
    }
}
