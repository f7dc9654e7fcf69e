//! A capacity block that has ended.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};
use jiff::tz::TimeZone;

use super::created_pools;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2562",
        name: "capacity-block-ended",
        severity: Severity::Warning,
        summary: "a capacity block has ended",
        checks: "Whether the capacity block of a pool ended before today. The result depends on today's date; the
generated files do not.",
        reason: "A block that has ended never has machines again. Pods for the pool stay pending, and its GPUs still count
for quotas.",
        remedy: "Replace the pool by one with the next block, under another name: a node group keeps its block. Or remove
the pool. To check for another date, set the environment variable `SOURCE_DATE_EPOCH` to a number of
seconds since 1970.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: gpu, machine: p4d.24xlarge, zones: [us-east-1a], nodes: {count: 2}, capacity: {capacityBlock: {id: cr-0123456789abcdef0, count: 2, start: "2025-12-01T11:30:00Z", end: "2025-12-15T11:30:00Z"}}}
"#,
        correction: Correction::Replace("end: \"2025-12-15", "end: \"2096-12-15"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let Some(today) = cluster.today else {
        return;
    };
    for pool in created_pools(cluster) {
        let Some(period) = pool.capacity_period() else {
            continue;
        };
        let last_day = period.scale_down.to_zoned(TimeZone::UTC).date();
        if last_day >= today {
            continue;
        }
        let message = format!(
            "the capacity block of pool `{}` ended on {last_day}",
            pool.name
        );
        report
            .diagnostic(&RULE.code, period.end_span, message)
            .help("replace the pool by one with another name and the next block, or remove it")
            .emit();
    }
}
