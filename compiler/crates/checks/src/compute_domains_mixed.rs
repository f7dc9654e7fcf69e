//! ComputeDomains and GPUs of other pools through DRA.

use gpuc_schema::config::Allocation;

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2247",
        name: "compute-domains-mixed",
        severity: Severity::Error,
        summary: "a pool has ComputeDomains and a device plugin, and another pool has `allocation: dra`",
        checks: "Whether the GPUs of pools with `network.computeDomains` are allocated like those of pools with
`allocation: dra`, if the cluster has both.",
        reason: "One release of NVIDIA's DRA driver serves the whole cluster, and it either allocates the GPUs of all of its
nodes or of none. On nodes with a device plugin, both would allocate the same GPUs.",
        remedy: "Use one `allocation` for these pools.",
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
    network: {computeDomains: {}}
  - name: other
    gpu: {model: A30, perNode: 2}
    hosts: [node-3]
    nodes: {count: 1}
    stack: {allocation: dra}
"#,
        correction: Correction::Replace("    stack: {allocation: dra}\n", ""),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let Some(claimed) = cluster.dra_pools().next() else {
        return;
    };
    for (pool, span) in cluster.compute_domain_pools() {
        if pool.allocation.value == Allocation::Dra {
            continue;
        }
        let message = format!(
            "the DRA driver, which pool `{}` needs for its ComputeDomains, would also allocate its GPUs",
            pool.name
        );
        let text = format!("the driver allocates the GPUs of pool `{}`", claimed.name);
        report
            .diagnostic(&RULE.code, span, message)
            .label(claimed.allocation.span, text)
            .help("use the same `allocation` for both pools")
            .emit();
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check_in;

    #[test]
    fn the_pools_agree() {
        let file = "
            cloud: {onPrem: {context: demo}}
            nodePools:
              - {name: rack, gpu: {model: GB200, perNode: 4}, hosts: [a], nodes: {count: 1}, network: {computeDomains: {}}<rest>}
              - {name: other, gpu: {model: A30, perNode: 2}, hosts: [b], nodes: {count: 1}, stack: {allocation: dra}}
            ";
        let message = "the DRA driver, which pool `rack` needs for its ComputeDomains, would also allocate its GPUs";
        check_in(file, "GPUC2247", "", &[message]);
        check_in(file, "GPUC2247", ", stack: {allocation: dra}", &[]);
    }
}
