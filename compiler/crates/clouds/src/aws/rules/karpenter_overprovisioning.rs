//! Shared GPUs that Karpenter counts as full GPUs.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::karpenter;

/// The resource of a full GPU.
const GPU_RESOURCE: &str = "nvidia.com/gpu";

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2548",
        name: "karpenter-overprovisioning",
        severity: Severity::Warning,
        summary: "Karpenter creates more nodes than shared GPUs need",
        checks: "Whether a node of a pool that Karpenter provisions advertises as many `nvidia.com/gpu` as its machine
type has GPUs.",
        reason: "Karpenter decides by machine type, and EC2 reports only how many full GPUs a machine type has.
Karpenter creates four nodes for four pods that could share one GPU. It deletes the nodes that stay
empty after ten minutes. A pod that requests more than the machine type has GPUs never gets a node.",
        remedy: "Set a `count` of nodes, or use the Cluster Autoscaler, which knows on EKS what a new node will
advertise. If temporary extra nodes are acceptable, set `allow: [karpenter-overprovisioning]`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
autoscaler: karpenter
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: system, machine: m7i.large, nodes: {count: 2}}
  - {name: gpu, machine: g6.xlarge, nodes: {min: 0, max: 4}, sharing: {timeSlicing: {replicas: 4}}}
"#,
        correction: Correction::Replace("min: 0, max:", "count:"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for pool in karpenter::provisioned_pools(cluster) {
        let (Some(Some(gpus)), Some(advertised)) = (pool.gpus.get(), pool.advertised.get()) else {
            continue;
        };
        // Another rule reports other resource names.
        let [resource] = advertised.as_slice() else {
            continue;
        };
        // Another rule reports machine types whose GPUs EC2 does not report.
        let is_unreported = karpenter::machine_without_reported_gpus(pool).is_some();
        if is_unreported || resource.name != GPU_RESOURCE || resource.per_node == gpus.reported {
            continue;
        }
        let message = format!(
            "Karpenter creates more nodes of pool `{}` than needed",
            pool.name
        );
        let label = format!(
            "a node advertises {} `{GPU_RESOURCE}`, but Karpenter expects {}",
            resource.per_node, gpus.reported
        );
        report
            .diagnostic(&RULE.code, pool.sharing_span, message)
            .primary_label(label)
            .label(gpus.span, "the machine type is set here")
            .help("set a `count` of nodes, or `autoscaler: clusterAutoscaler`")
            .emit();
    }
}
