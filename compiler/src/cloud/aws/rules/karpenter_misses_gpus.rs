//! GPUs that Karpenter does not know of.

use gpuc_schema::Span;
use gpuc_schema::config::Allocation;

use super::{karpenter, machine_span};
use crate::check::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::{Cluster, Pool};

/// The resource of a whole GPU.
const GPU: &str = "nvidia.com/gpu";

/// GPUs that Karpenter does not know of.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2547",
        name: "karpenter-misses-gpus",
        severity: Severity::Error,
        summary: "Karpenter never makes a node for these GPUs",
        explain: "### What it checks

Whether pods ask for the GPUs of a pool of Karpenter's by the one name that Karpenter knows,
`nvidia.com/gpu`, and whether EC2 tells of any on the machine.

### Why it matters

Karpenter decides by machine types, and EC2 says of a machine only how many whole GPUs it has. A pod
that asks for `nvidia.com/mig-1g.5gb` or `nvidia.com/gpu.shared` fits no machine that it knows: no
node is ever made, and one that were there would never count as ready. Claims (DRA) are passed over
as well, unless a part of Karpenter that is new is turned on and NVIDIA's devices are described to it.
Of g6f, gr6f and p5.4xlarge EC2 tells no GPU at all; Karpenter makes none of them for a pod with GPUs.

### What to do

Take `strategy: single` for MIG, leave `rename` out, or write a `count`: a pool with a fixed number of
nodes is a managed node group, where anything may be called as it likes. The Cluster Autoscaler is
told on EKS what a node will offer: `autoscaler: clusterAutoscaler`. Instead of a machine of which
EC2 tells no GPU, take a larger one of its family, and share it with `sharing`.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
autoscaler: karpenter
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: system, machine: m7i.large, nodes: {count: 2}}
  - {name: gpu, machine: g6.xlarge, nodes: {min: 0, max: 4}, sharing: {timeSlicing: {replicas: 4, rename: true}}}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
autoscaler: karpenter
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: system, machine: m7i.large, nodes: {count: 2}}
  - {name: gpu, machine: g6.xlarge, nodes: {count: 4}, sharing: {timeSlicing: {replicas: 4, rename: true}}}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for pool in karpenter::pools(cluster).filter(|pool| pool.has_gpus()) {
        let Some((why, span, help)) = reason(pool) else {
            continue;
        };
        let message = format!("Karpenter never makes a node of pool `{}`", pool.name);
        let range = pool
            .nodes
            .get()
            .map_or(pool.name.span, |nodes| nodes.max_span);
        report
            .draft(&RULE.code, span, message)
            .here(why)
            .label(
                range,
                "without a fixed number of nodes the pool is Karpenter's",
            )
            .help(help)
            .emit();
    }
}

/// Why Karpenter makes no node of a pool with GPUs, where that is to be seen, and what to do.
fn reason(pool: &Pool) -> Option<(String, Span, &'static str)> {
    const RENAME: &str = "have them called `nvidia.com/gpu`, or write a `count` of nodes";
    if pool.allocation.value == Allocation::Dra {
        let why = "pods claim the GPUs, and Karpenter passes over claims".to_owned();
        return Some((why, pool.allocation.span, RENAME));
    }
    if let Some(name) = karpenter::uncounted(pool) {
        let why = format!("EC2 tells Karpenter of no GPU on `{name}`");
        let help = "take a machine with GPUs that EC2 counts, or write a `count` of nodes";
        return Some((why, machine_span(pool), help));
    }
    let mut offers = pool.offers.get()?.iter();
    let other = offers.find(|offer| offer.resource != GPU)?;
    let why = format!("GPUs are called `{}`, not `{GPU}`", other.resource);
    Some((why, pool.written.sharing.span, RENAME))
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{HEAD, codes};

    #[test]
    fn machines_whose_gpus_nobody_counts_are_errors() {
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
