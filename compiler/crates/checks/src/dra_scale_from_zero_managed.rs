//! The cloud's autoscaler may not add the first node of a pool with `allocation: dra`.

use gpuc_schema::config::Autoscaler;

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2114",
        name: "dra-scale-from-zero-managed",
        severity: Severity::Warning,
        summary: "the cloud's autoscaler might not add the first node of a pool with `allocation: dra`",
        checks: "Whether the minimum number of nodes of a pool with `allocation: dra` is above 0 if `autoscaler` is
`managed`.",
        reason: "The autoscalers of clouds are based on the Cluster Autoscaler, which learns the devices of a node
from an existing node. Their support for empty pools differs and is not documented. An empty GKE
pool with DRA was observed to stay empty (modelplaneai/modelplane#306).",
        remedy: "Keep one node: `min: 1`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {gcp: {project: acme-ml-prod, location: us-central1-a, nodeServiceAccount: gke-nodes@acme-ml-prod.iam.gserviceaccount.com, cluster: {existing: {}}}}
stack: {allocation: dra}
nodePools:
  - {name: system, machine: e2-standard-4, nodes: {count: 1}}
  - {name: gpu, machine: g2-standard-8, nodes: {min: 0, max: 4}}
"#,
        correction: Correction::Replace("{min: 0", "{min: 1"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    if cluster.autoscaler.value != Autoscaler::Managed {
        return;
    }
    for pool in cluster.dra_pools().filter(|pool| !pool.is_existing()) {
        let Some(nodes) = pool.nodes.get().filter(|nodes| nodes.min == 0) else {
            continue;
        };
        let message = format!(
            "the cloud's autoscaler may not scale pool `{}` from zero",
            pool.name
        );
        report
            .diagnostic(&RULE.code, nodes.min_span, message)
            .primary_label("it may not know the devices of the first node")
            .label(pool.allocation.span, "the GPUs are allocated through DRA")
            .label(cluster.autoscaler.span, "the autoscaler")
            .help("write `min: 1`")
            .replace(nodes.min_span, "1")
            .emit();
    }
}
