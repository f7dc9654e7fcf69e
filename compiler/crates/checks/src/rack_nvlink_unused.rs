//! Nodes of a rack whose NVLink is not configured.

use gpuc_schema::config::Extra;

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2248",
        name: "rack-nvlink-unused",
        severity: Severity::Warning,
        summary: "NVLink between the nodes of a pool is not configured",
        checks: "Whether a pool with several nodes of GB200 or GB300 has `network.computeDomains` or `extras: [imex]`.",
        reason: "NVLink connects all GPUs of a rack. A process reaches the memory of GPUs in other nodes only through an IMEX
channel. Without one, NCCL uses the network between the nodes, at a fraction of the speed.",
        remedy: "Write `network: {computeDomains: {}}`. If workloads run on one node only, add the warning to `allow`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: rack
    gpu: {model: GB200, perNode: 4}
    hosts: [node-1, node-2]
    nodes: {count: 2}
"#,
        correction: Correction::Replace(
            "nodes: {count: 2}\n",
            "nodes: {count: 2}\n    network: {computeDomains: {}}\n",
        ),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for (pool, gpus) in cluster.gpu_pools() {
        let is_configured = pool.settings.network.compute_domains.is_some()
            || pool.extras.iter().any(|extra| extra.value == Extra::Imex);
        let has_nodes = pool.nodes.get().is_some_and(|nodes| nodes.max > 1);
        if !gpus.model.has_multi_node_nvlink() || is_configured || !has_nodes {
            continue;
        }
        let message = format!(
            "NVLink between the nodes of pool `{}` is not configured",
            pool.name
        );
        report
            .diagnostic(&RULE.code, gpus.span, message)
            .primary_label("NVLink connects these GPUs across nodes")
            .help("write `network: {computeDomains: {}}` in the pool")
            .emit();
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::messages_with_id;

    #[test]
    fn several_nodes_of_a_rack_need_channels() {
        let found = |pool: &str| {
            let yaml = format!(
                "
                cloud: {{onPrem: {{context: demo}}}}
                nodePools: [{{name: rack, gpu: {{model: GB300, perNode: 4}}, {pool}}}]
                "
            );
            messages_with_id(&yaml, "GPUC2248").len()
        };
        assert_eq!(found("hosts: [a, b], nodes: {count: 2}"), 1);
        assert_eq!(found("hosts: [a], nodes: {count: 1}"), 0);
        let domains = "hosts: [a, b], nodes: {count: 2}, network: {computeDomains: {}}";
        assert_eq!(found(domains), 0);
        let imex = "hosts: [a, b], nodes: {count: 2}, stack: {extras: [imex]}";
        assert_eq!(found(imex), 0);
    }
}
