//! Instance type of a NodePool that cannot be right.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::super::{node_pool, provider_facts};
use crate::names::is_dns_label;

/// Source: docs.coreweave.com/products/instances/gpu-instances (the IDs of instances with GPUs start with `gd-`), from
/// memory, 2026-11-29.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2826",
        name: "node-pool-machine",
        severity: Severity::Error,
        summary: "the instance type of a NodePool is invalid, or its GPUs are not in the file",
        checks: r"Whether `machine` of a pool on CoreWeave is an instance ID, and whether a pool whose instance ID starts
with `gd-`, a machine with GPUs, has `gpu`.",
        reason: r"gpuc has no catalog of CoreWeave's instances. Without `gpu`, the pool counts as one without GPUs: quotas
and workloads cannot use them.",
        remedy: r"Copy the instance ID from CoreWeave's documentation, and write its GPUs as
`gpu: {model: …, perNode: …}`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {existing: {provider: coreweave}}
nodePools:
  - name: gpu
    machine: gd-8xh100ib-i128
    nodes: {count: 2}
"#,
        correction: Correction::Replace(
            "    nodes:",
            "    gpu: {model: H100, perNode: 8}
    nodes:",
        ),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let provider = provider_facts(cluster);
    for pool in &cluster.pools {
        let Some(machine) = &pool.machine_name else {
            continue;
        };
        if !node_pool::is_written(provider, pool) {
            continue;
        }
        if !is_dns_label(machine) {
            report
                .diagnostic(
                    &RULE.code,
                    machine.span,
                    format!("`{machine}` is not an instance ID"),
                )
                .help(
                    "write an ID such as `gd-8xh100ib-i128`, as CoreWeave's documentation lists it",
                )
                .emit();
        } else if machine.starts_with("gd-") && pool.gpus.get().is_some_and(Option::is_none) {
            report
                .diagnostic(
                    &RULE.code,
                    machine.span,
                    format!("`{machine}` has GPUs, and pool `{}` has none", pool.name),
                )
                .help("add `gpu: {model: H100, perNode: 8}` with the model and the number of its GPUs")
                .emit();
        }
    }
}
