//! The cloud does not support this kind of capacity.

use gpuc_schema::config::Capacity;

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity, phrases};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2039",
        name: "capacity-unavailable",
        severity: Severity::Error,
        summary: "the cloud does not support this kind of capacity",
        checks: "Whether the cloud supports the kind of `capacity`.",
        reason: "Capacity Blocks exist only on AWS, flex-start only on GKE. Your own hosts are not rented, so they have no kind of capacity.",
        remedy: "Write a kind that the help lists, or remove `capacity`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {gcp: {project: acme-demo, location: us-central1-a, nodeServiceAccount: gke-nodes@acme-demo.iam.gserviceaccount.com, cluster: {existing: {}}}}
stack: {devicePlugin: cloud}
nodePools:
  - name: gpu
    machine: n1-standard-8
    gpu: {model: T4, perNode: 1}
    nodes: {count: 1}
    capacity: {capacityBlock: {id: cr-0123456789abcdef0, count: 1, start: "2096-12-01T11:30:00Z", end: "2096-12-15T11:30:00Z"}}
"#,
        correction: Correction::Replace(
            r#"capacityBlock: {id: cr-0123456789abcdef0, count: 1, start: "2096-12-01T11:30:00Z", end: "2096-12-15T11:30:00Z""#,
            "spot: {",
        ),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let facts = cluster.cloud.facts();
    for pool in &cluster.pools {
        let capacity = &pool.settings.capacity;
        let kind = capacity.key();
        // `onDemand` is the default, also where the cloud has no kinds.
        if facts.capacity_kinds.contains(&kind) || matches!(capacity.value, Capacity::OnDemand) {
            continue;
        }
        let message = format!(
            "{} does not support capacity of the kind `{kind}`",
            facts.name
        );
        let help = match facts.capacity_kinds {
            [] => "remove `capacity`".to_owned(),
            kinds => format!("supported kinds: {}", phrases::quoted_list(kinds, 4)),
        };
        report
            .diagnostic(&RULE.code, capacity.span, message)
            .help(help)
            .emit();
    }
}
