//! gpuc cannot set up GPUDirect for the machines of a pool.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_model::cloud::NoRdma;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2190",
        name: "gpudirect-unavailable",
        severity: Severity::Error,
        summary: "gpuc cannot set up GPUDirect for the machines of a pool",
        checks: "Whether the machines of a pool with `network.gpudirect` have network interfaces for their GPUs, and whether
gpuc supports these networks for them. On GKE, `a3-highgpu-8g` and `a3-megagpu-8g` need `interfaces`,
`a4x-maxgpu-4g-metal` needs `managed`, and `a3-ultragpu-8g`, `a4-highgpu-8g` and `a4x-highgpu-4g` have both.",
        reason: "Other machines have no network interfaces for it. GKE's network driver does not know the interfaces of
GPUDirect-TCPX and -TCPXO, and its multi-networking does not support bare-metal machines.",
        remedy: "Follow the help. EKS has `efa`; AKS and your own hosts have `rdma`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {gcp: {project: acme-ml-prod, location: us-central1-a, nodeServiceAccount: gke-nodes@acme-ml-prod.iam.gserviceaccount.com, cluster: {existing: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: g2-standard-8
    nodes: {count: 2}
    network: {gpudirect: {interfaces: [{network: gpu-0, subnetwork: gpu-0}]}}
"#,
        correction: Correction::Replace("    network: {gpudirect: {interfaces: [{network: gpu-0, subnetwork: gpu-0}]}}
", ""),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for pool in &cluster.pools {
        let Some(written) = &pool.settings.network.gpudirect else {
            continue;
        };
        if pool.machine.is_unresolved() {
            continue;
        }
        let no_rdma = match cluster.cloud.gpudirect(pool) {
            Some(Ok(())) => continue,
            Some(Err(no_rdma)) => no_rdma,
            None => NoRdma {
                reason: format!(
                    "{} has no networks for GPUDirect",
                    cluster.cloud.facts().name
                ),
                help: "remove `gpudirect`",
            },
        };
        let message = format!("gpuc cannot set up GPUDirect for pool `{}`", pool.name);
        let builder = report
            .diagnostic(&RULE.code, written.span, message)
            .primary_label(no_rdma.reason);
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
    fn only_machines_with_gpu_interfaces_pass() {
        let found = |cloud: &str, machine: &str| {
            let yaml = format!(
                "
                cloud: {{{cloud}}}
                nodePools: [{{name: gpu, machine: {machine}, nodes: {{count: 2}},
                    network: {{gpudirect: {{interfaces: [{{network: a, subnetwork: a}}]}}}}}}]
                "
            );
            messages_with_id(&yaml, "GPUC2190").len()
        };
        let google = "gcp: {project: acme-ml-prod, location: us-central1-a, nodeServiceAccount: gke-nodes@acme-ml-prod.iam.gserviceaccount.com, cluster: {create: {}}}";
        assert_eq!(found(google, "a3-megagpu-8g"), 0);
        assert_eq!(found(google, "a3-highgpu-8g"), 0);
        assert_eq!(found(google, "a3-highgpu-4g"), 1);
        assert_eq!(found(google, "a3-ultragpu-8g"), 0);
        assert_eq!(found(google, "a4x-maxgpu-4g-metal"), 1);
        assert_eq!(found(google, "e2-standard-4"), 1);
        let amazon = "aws: {account: '123456789012', region: us-east-1, cluster: {create: {}}}";
        assert_eq!(found(amazon, "p5.48xlarge"), 1);
        assert_eq!(found("onPrem: {context: lab}", "dgx"), 1);
    }
}
