//! `extendedResources` is set for GPUs that a device plugin advertises.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_schema::config::Allocation;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::queries::unused_settings;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2234",
        name: "extended-resources-without-dra",
        severity: Severity::Error,
        summary: "`extendedResources` is set for GPUs that a device plugin advertises",
        checks: "Whether a pool that sets `extendedResources` in its `stack` has `allocation: dra`, and whether at least one
pool has it if the cluster's `stack` sets the key.",
        reason: "Device plugins always advertise extended resources. The key gives names to DeviceClasses, which only
pools with `allocation: dra` have, so that it would have no effect.",
        remedy: "Remove the key, or write `allocation: dra`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {onPrem: {context: demo}}
stack: {devicePlugin: nvidia, extendedResources: true}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [node-1]
    nodes: {count: 1}
"#,
        correction: Correction::Replace(", extendedResources: true", ""),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let unused = unused_settings(
        cluster,
        |stack| stack.extended_resources.as_ref(),
        |pool| pool.allocation.value == Allocation::Dra,
    );
    for unused in unused {
        let message = "`extendedResources` has no effect: no GPUs are allocated through DRA here";
        report
            .diagnostic(&RULE.code, unused.written.span, message.to_owned())
            .label(
                unused.pool.allocation.span,
                "a device plugin advertises the GPUs",
            )
            .help("remove it")
            .emit();
    }
}
