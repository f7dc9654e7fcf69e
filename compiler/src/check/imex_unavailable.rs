//! IMEX on cards whose NVLink ends at the node.

use gpuc_schema::config::Extra;
use gpuc_schema::gpu::NVLINK_RACKS;

use super::Rule;
use crate::diag::{Code, Report, Severity, words};
use crate::model::Cluster;

/// IMEX on cards whose NVLink ends at the node.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2064",
        name: "imex-unavailable",
        severity: Severity::Error,
        summary: "IMEX channels are asked for on cards that have none",
        explain: r"### What it checks

Whether every pool with `extras: [imex]`, its own or the cluster's, has cards of racks with one
NVLink for many nodes: GB200 and GB300.

### Why it matters

An IMEX channel lets a process use the memory of GPUs in other nodes by NVLink. Where NVLink ends
at the node, the driver makes no channels, and containers would get none.

### What to do

Leave `imex` out for this pool: write the pool's own `extras`.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: h100-sxm5-80gb, perNode: 8}
    hosts: [node-1]
    nodes: {count: 1}
    stack: {extras: [gdrcopy, imex]}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: h100-sxm5-80gb, perNode: 8}
    hosts: [node-1]
    nodes: {count: 1}
    stack: {extras: [gdrcopy]}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for (pool, gpus) in cluster.gpu_pools() {
        let mut extras = pool.extras.iter();
        let Some(imex) = extras.find(|extra| extra.value == Extra::Imex) else {
            continue;
        };
        if gpus.model.spans_nodes() {
            continue;
        }
        let message = format!(
            "the nodes of pool `{}` have no IMEX channels: NVLink of {} ends at the node",
            pool.name, gpus.model.key
        );
        let cards: Vec<_> = NVLINK_RACKS.iter().map(|model| model.key).collect();
        let help = format!(
            "leave `imex` out for this pool; cards with channels are {}",
            words::some(&cards, 12)
        );
        report
            .draft(&RULE.code, imex.span, message)
            .label(gpus.chosen, "the card is chosen here")
            .help(help)
            .emit();
    }
}

#[cfg(test)]
mod tests {
    use crate::check::testing::messages;

    #[test]
    fn racks_have_channels() {
        let found = messages(
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
            ["the nodes of pool `one` have no IMEX channels: NVLink of l4-24gb ends at the node"]
        );
    }
}
