//! RDMA where no network card of NVIDIA's is.

use super::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// RDMA where no network card of NVIDIA's is.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2119",
        name: "rdma-unavailable",
        severity: Severity::Error,
        summary: "a pool has no network cards of NVIDIA's for RDMA",
        explain: "### What it checks

Whether the nodes of a pool with `network.rdma` have network cards that NVIDIA's Network Operator
can offer, as far as the cloud and the catalog of its machines know.

### Why it matters

The operator would find nothing to offer, and pods that ask for it would wait for ever.

### What to do

Write what the help says. Clouds with networks of their own have keys or guides of their own.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: p5.48xlarge
    zones: [us-east-1a]
    nodes: {count: 2}
    network: {rdma: {infiniband: {}}}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: p5.48xlarge
    zones: [us-east-1a]
    nodes: {count: 2}
    network: {efa: {}}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for pool in &cluster.pools {
        let Some(rdma) = pool.written.network.rdma.as_ref() else {
            continue;
        };
        if pool.machine.is_hole() {
            continue;
        }
        let Err(refusal) = cluster.cloud.rdma(pool, &rdma.value) else {
            continue;
        };
        let message = format!("pool `{}` has no network cards for this", pool.name);
        let draft = report.draft(&RULE.code, rdma.span, message);
        let draft = draft.here(refusal.why);
        let draft = match &pool.written.machine {
            Some(machine) => draft.label(machine.span, "the machine"),
            None => draft,
        };
        draft.help(refusal.help).emit();
    }
}

#[cfg(test)]
mod tests {
    use crate::check::testing::messages;

    #[test]
    fn some_machines_have_it() {
        let found = |machine: &str, rdma: &str| {
            let place = "subscription: 00000000-1111-2222-3333-444444444444, resourceGroup: ml, location: eastus";
            let pool = format!("name: gpu, machine: {machine}, nodes: {{count: 2}}");
            let yaml = format!(
                "
                cloud: {{azure: {{{place}, cluster: {{existing: {{}}}}}}}}
                nodePools: [{{{pool}, network: {{rdma: {{{rdma}: {{}}}}}}}}]
                "
            );
            messages(&yaml, "GPUC2119").len()
        };
        assert_eq!(found("Standard_ND96isr_H100_v5", "infiniband"), 0);
        assert_eq!(found("Standard_HB176rs_v4", "infiniband"), 0);
        assert_eq!(found("Standard_ND96isr_H100_v5", "roce"), 1);
        assert_eq!(found("Standard_NC24ads_A100_v4", "infiniband"), 1);
    }
}
