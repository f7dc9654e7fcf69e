//! A service account of nodes without a node pool that gpuc creates.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use crate::gcp::section;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2668",
        name: "gke-service-account-unused",
        severity: Severity::Warning,
        summary: "`nodeServiceAccount` has no effect without a node pool that gpuc creates",
        checks: "Whether a node pool that gpuc creates runs as the account in `cloud.gcp.nodeServiceAccount`.",
        reason: "Existing node pools keep their service account: GKE cannot change it.",
        remedy: "Remove `nodeServiceAccount`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud:
  gcp:
    project: acme-ml-prod
    location: us-central1-a
    nodeServiceAccount: gke-nodes@acme-ml-prod.iam.gserviceaccount.com
    cluster: {existing: {name: batch}}
stack: {devicePlugin: cloud}
nodePools:
  - {name: gpu, machine: g2-standard-8, nodes: {count: 2}, existing: {selector: {cloud.google.com/gke-nodepool: gpu}}}
"#,
        correction: Correction::Replace(
            "    nodeServiceAccount: gke-nodes@acme-ml-prod.iam.gserviceaccount.com\n",
            "",
        ),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let Some(account) = &section(&cluster.config).node_service_account else {
        return;
    };
    if cluster.pools.iter().all(|pool| pool.is_existing()) {
        report
            .diagnostic(
                &RULE.code,
                account.span,
                "`nodeServiceAccount` has no effect: gpuc creates no node pool",
            )
            .help("remove `nodeServiceAccount`")
            .emit();
    }
}
