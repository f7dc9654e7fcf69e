//! A capacity block with a machine type that is not sold in capacity blocks.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_schema::config::Capacity;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::{catalog_instance, created_pools, machine_span};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2523",
        name: "capacity-block-unavailable",
        severity: Severity::Error,
        summary: "a machine type is not sold in capacity blocks",
        checks: "Whether a pool's machine type can be reserved in a capacity block, according to eksctl.",
        reason: "A capacity block contains machines of one type, and only large training machines are sold in
blocks. For any other machine type, the ID belongs to something else.",
        remedy: "Set the machine type of the capacity block. If the ID is that of an on-demand capacity reservation,
use `reservation`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: gpu, machine: g5.xlarge, zones: [us-east-1a], nodes: {count: 2}, capacity: {capacityBlock: {id: cr-0123456789abcdef0, count: 2, start: "2096-12-01T11:30:00Z", end: "2096-12-15T11:30:00Z"}}}
"#,
        correction: Correction::Replace("g5.xlarge", "p4d.24xlarge"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for pool in created_pools(cluster) {
        let Capacity::CapacityBlock(block) = &pool.settings.capacity.value else {
            continue;
        };
        let sold = catalog_instance(pool).map_or(Some(false), |instance| instance.capacity_blocks);
        if sold == Some(false) {
            let message = "this machine type is not sold in capacity blocks";
            report
                .diagnostic(&RULE.code, block.id.span, message)
                .label(machine_span(pool), "the machine type is set here")
                .help(
                    "set the machine type of the block, or replace `capacityBlock` by `reservation`",
                )
                .emit();
        }
    }
}
