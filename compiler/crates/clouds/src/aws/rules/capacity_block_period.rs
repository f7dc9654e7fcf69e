//! The times of a capacity block.

use gpuc_model::check::Rule;
use gpuc_model::{CapacityPeriod, Cluster, PeriodError};
use gpuc_schema::config::Capacity;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::created_pools;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2561",
        name: "capacity-block-period",
        severity: Severity::Error,
        summary: "the start or the end of a capacity block is invalid",
        checks: "Whether `start` and `end` of a capacity block are times with their distance from UTC, such as
2026-12-01T11:30:00Z, and the end is more than 40 minutes after the start.",
        reason: "The scripts add the nodes at the start, and EKS deletes them 40 minutes before the end. With other times,
nodes are requested while the block has no machines.",
        remedy: "Write the times that EC2 reports for the block: `aws ec2 describe-capacity-reservations
--capacity-reservation-ids ID --query 'CapacityReservations[].[StartDate,EndDate]'`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: gpu, machine: p4d.24xlarge, zones: [us-east-1a], nodes: {count: 2}, capacity: {capacityBlock: {id: cr-0123456789abcdef0, count: 2, start: "2096-12-01T11:30:00Z", end: "2096-11-15T11:30:00Z"}}}
"#,
        correction: Correction::Replace("2096-11-15", "2096-12-15"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for pool in created_pools(cluster) {
        let Capacity::CapacityBlock(block) = &pool.settings.capacity.value else {
            continue;
        };
        let times = [&block.start, &block.end];
        match CapacityPeriod::from_block(block) {
            Ok(_) => {}
            Err(PeriodError::Malformed(_)) => {
                for time in times {
                    if CapacityPeriod::is_time(time) {
                        continue;
                    }
                    report
                        .diagnostic(
                            &RULE.code,
                            time.span,
                            format!("`{time}` is not a time with its distance from UTC"),
                        )
                        .help("write a time such as \"2026-12-01T11:30:00Z\", in quotes")
                        .emit();
                }
            }
            Err(PeriodError::Reversed) => {
                let message = format!(
                    "the capacity block ends at {}, too soon after its start at {}",
                    block.end, block.start
                );
                report
                    .diagnostic(&RULE.code, block.end.span, message)
                    .primary_label("EKS deletes the nodes 40 minutes before this time")
                    .label(block.start.span, "the start is set here")
                    .help("set `end` to the end that EC2 reports for the block")
                    .emit();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{HEAD, codes};

    #[test]
    fn both_times_are_checked() {
        let found = |start: &str, end: &str| {
            let yaml = format!(
                "{HEAD}nodePools: [{{name: gpu, machine: p4d.24xlarge, zones: [us-east-1a], nodes: {{count: 2}}, \
                 capacity: {{capacityBlock: {{id: cr-0123456789abcdef0, count: 2, start: '{start}', end: '{end}'}}}}}}]"
            );
            let mut codes = codes(&yaml);
            codes.retain(|code| *code == "GPUC2561");
            codes.len()
        };
        assert_eq!(found("2096-12-01T11:30:00Z", "2096-12-02T11:30:00Z"), 0);
        assert_eq!(found("2096-12-01", "tomorrow"), 2);
        assert_eq!(found("2096-12-01T11:30:00Z", "2096-12-01T12:00:00Z"), 1);
    }
}
