//! A pool has no NVIDIA network adapters for RDMA.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2119",
        name: "rdma-unavailable",
        severity: Severity::Error,
        summary: "a pool has no NVIDIA network adapters for RDMA",
        checks: "Whether the nodes of a pool with `network.rdma` have network adapters that NVIDIA's Network Operator
can advertise, according to the cloud's machine catalog.",
        reason: "The operator would find no devices to advertise, and pods that request them would stay pending
indefinitely.",
        remedy: "Follow the help. Clouds with their own RDMA networks have separate keys or guides for them.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: p5.48xlarge
    zones: [us-east-1a]
    nodes: {count: 2}
    network: {rdma: {infiniband: {}}}
"#,
        correction: Correction::Replace("rdma: {infiniband: {}", "efa: {"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for pool in &cluster.pools {
        let Some(rdma) = pool.settings.network.rdma.as_ref() else {
            continue;
        };
        if pool.machine.is_unresolved() {
            continue;
        }
        let Err(no_rdma) = cluster.cloud.rdma(pool, &rdma.value) else {
            continue;
        };
        let message = format!(
            "pool `{}` has no network adapters for this kind of RDMA",
            pool.name
        );
        let builder = report.diagnostic(&RULE.code, rdma.span, message);
        let builder = builder.primary_label(no_rdma.reason);
        let builder = match &pool.machine_name {
            Some(machine) => builder.label(machine.span, "the machine type"),
            None => builder,
        };
        builder.help(no_rdma.help).emit();
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::messages_with_id;

    #[test]
    fn machines_without_rdma_are_found() {
        let found = |machine: &str, rdma: &str| {
            let cloud = "subscription: 00000000-1111-2222-3333-444444444444, resourceGroup: ml, location: eastus";
            let pool = format!("name: gpu, machine: {machine}, nodes: {{count: 2}}");
            let yaml = format!(
                "
                cloud: {{azure: {{{cloud}, cluster: {{existing: {{}}}}}}}}
                nodePools: [{{{pool}, network: {{rdma: {{{rdma}: {{}}}}}}}}]
                "
            );
            messages_with_id(&yaml, "GPUC2119").len()
        };
        assert_eq!(found("Standard_ND96isr_H100_v5", "infiniband"), 0);
        assert_eq!(found("Standard_HB176rs_v4", "infiniband"), 0);
        assert_eq!(found("Standard_ND96isr_H100_v5", "roce"), 1);
        assert_eq!(found("Standard_NC24ads_A100_v4", "infiniband"), 1);
    }
}
