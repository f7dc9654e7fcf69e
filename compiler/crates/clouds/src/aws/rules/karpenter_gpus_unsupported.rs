//! GPUs for which Karpenter does not create nodes.

use gpuc_model::check::Rule;
use gpuc_model::{Cluster, Pool};
use gpuc_schema::Span;
use gpuc_schema::config::Allocation;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::{karpenter, machine_span};

/// The resource of a full GPU.
const GPU_RESOURCE: &str = "nvidia.com/gpu";

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2547",
        name: "karpenter-gpus-unsupported",
        severity: Severity::Error,
        summary: "Karpenter never creates a node for these GPUs",
        checks: "Whether pods request the GPUs of a pool that Karpenter provisions as `nvidia.com/gpu`, the only
resource name that Karpenter supports, and whether EC2 reports GPUs for the machine type.",
        reason: "Karpenter decides by machine type, and EC2 reports only how many full GPUs a machine type has. A pod
that requests `nvidia.com/mig-1g.5gb` or `nvidia.com/gpu.shared` fits no machine type that Karpenter
knows. Karpenter never creates a node for it, and an existing node never counts as ready. Karpenter
also ignores pods with ResourceClaims (DRA), unless a new feature is enabled and NVIDIA's devices are
described to it. EC2 reports no GPUs for g6f, gr6f and p5.4xlarge, so Karpenter does not create them
for pods that request GPUs.",
        remedy: "Use `strategy: single` for MIG, remove `rename`, or set a `count`: a pool with a fixed number of nodes
is a managed node group, where any resource name works. The Cluster Autoscaler knows on EKS what a new
node will advertise: `autoscaler: clusterAutoscaler`. If EC2 reports no GPUs for the machine type, use
a larger one of the same family and share it with `sharing`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
autoscaler: karpenter
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: system, machine: m7i.large, nodes: {count: 2}}
  - {name: gpu, machine: g6.xlarge, nodes: {min: 0, max: 4}, sharing: {timeSlicing: {replicas: 4, rename: true}}}
"#,
        correction: Correction::Replace("min: 0, max:", "count:"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for pool in karpenter::provisioned_pools(cluster).filter(|pool| pool.has_gpus()) {
        let Some((reason, span, help)) = provisioning_obstacle(pool) else {
            continue;
        };
        let message = format!("Karpenter never creates a node of pool `{}`", pool.name);
        let range = pool
            .nodes
            .get()
            .map_or(pool.name.span, |nodes| nodes.max_span);
        report
            .diagnostic(&RULE.code, span, message)
            .primary_label(reason)
            .label(
                range,
                "without a fixed number of nodes, Karpenter provisions the pool",
            )
            .help(help)
            .emit();
    }
}

/// The reason that Karpenter creates no node of a pool with GPUs, if there is one, its location, and the help.
fn provisioning_obstacle(pool: &Pool) -> Option<(String, Span, &'static str)> {
    const RENAME: &str = "advertise the GPUs as `nvidia.com/gpu`, or set a `count` of nodes";
    if pool.allocation.value == Allocation::Dra {
        let reason = "Karpenter ignores pods whose GPUs are allocated through DRA".to_owned();
        return Some((reason, pool.allocation.span, RENAME));
    }
    if let Some(name) = karpenter::machine_without_reported_gpus(pool) {
        let reason = format!("EC2 reports no GPUs for `{name}`");
        let help = "use a machine type whose GPUs EC2 reports, or set a `count` of nodes";
        return Some((reason, machine_span(pool), help));
    }
    let mut advertised = pool.advertised.get()?.iter();
    let other = advertised.find(|resource| resource.name != GPU_RESOURCE)?;
    let reason = format!(
        "nodes advertise the GPUs as `{}`, not `{GPU_RESOURCE}`",
        other.name
    );
    Some((reason, pool.sharing_span, RENAME))
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{HEAD, codes};

    #[test]
    fn machine_without_reported_gpus_is_an_error() {
        for (machine, found) in [
            ("g6f.xlarge", &["GPUC2511", "GPUC2547"][..]),
            ("p5.4xlarge", &["GPUC2547"]),
            ("g6.xlarge", &[]),
        ] {
            let yaml = format!(
                "{HEAD}autoscaler: karpenter\nnodePools: [{{name: system, machine: m7i.large, nodes: {{count: 2}}}}, \
                 {{name: gpu, machine: {machine}, nodes: {{min: 0, max: 4}}}}]"
            );
            assert_eq!(codes(&yaml), found, "{machine}");
        }
    }
}
