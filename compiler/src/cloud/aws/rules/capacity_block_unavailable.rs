//! A capacity block of machines that are not sold in blocks.

use gpuc_schema::config::Capacity;

use super::{instance, machine_span, made_pools};
use crate::check::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// A capacity block of machines that are not sold in blocks.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2523",
        name: "capacity-block-unavailable",
        severity: Severity::Error,
        summary: "a machine is not sold in capacity blocks",
        explain: "### What it checks

Whether a pool's machine can be reserved in a capacity block, as far as eksctl knows.

### Why it matters

A capacity block holds machines of one type, and only the large training machines are sold so.
The id must be of something else.

### What to do

Take the machine type that the block was bought for, or `reservation` if it is an on-demand
capacity reservation.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: gpu, machine: g5.xlarge, zones: [us-east-1a], nodes: {count: 2}, capacity: {capacityBlock: {id: cr-0123456789abcdef0, count: 2}}}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: gpu, machine: p4d.24xlarge, zones: [us-east-1a], nodes: {count: 2}, capacity: {capacityBlock: {id: cr-0123456789abcdef0, count: 2}}}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for pool in made_pools(cluster) {
        let Capacity::CapacityBlock(block) = &pool.written.capacity.value else {
            continue;
        };
        let sold = instance(pool).map_or(Some(false), |instance| instance.capacity_blocks);
        if sold == Some(false) {
            let message = "this machine is not sold in capacity blocks";
            report
                .draft(&RULE.code, block.id.span, message)
                .label(machine_span(pool), "the machine is chosen here")
                .help("write the block's machine type, or `reservation` if it is no block")
                .emit();
        }
    }
}
