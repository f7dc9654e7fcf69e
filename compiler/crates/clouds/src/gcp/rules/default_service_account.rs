//! Nodes with the default service account of Compute Engine.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use crate::gcp::section;

/// Source: docs.cloud.google.com/kubernetes-engine/docs/how-to/hardening-your-cluster ("Use least privilege IAM service
/// accounts"), general knowledge.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2664",
        name: "gke-default-service-account",
        severity: Severity::Warning,
        summary: "nodes run as the default service account of Compute Engine",
        checks: "Whether pools that gpuc creates have a service account of their own.",
        reason: "Many projects grant the role Editor to the default service account: a pod that leaves its container can
change every resource of the project. In other projects, the account has no role or is disabled, and nodes cannot
write logs, pull images, or start.",
        remedy: "Create a service account, give it the role of nodes, and name it in `cloud.gcp.nodeServiceAccount`:

    gcloud iam service-accounts create gke-nodes --project=PROJECT
    gcloud projects add-iam-policy-binding PROJECT --condition=None \\
      --member=serviceAccount:gke-nodes@PROJECT.iam.gserviceaccount.com --role=roles/container.defaultNodeServiceAccount

If your images are in a private registry, the account also needs `roles/artifactregistry.reader` there. The account of
an existing pool cannot be changed: its script stops, and says how to replace the pool.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {gcp: {project: acme-ml-prod, location: us-central1-a, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: system, machine: e2-standard-4, nodes: {count: 1}}
"#,
        correction: Correction::Replace(
            "location: us-central1-a,",
            "location: us-central1-a, nodeServiceAccount: gke-nodes@acme-ml-prod.iam.gserviceaccount.com,",
        ),
    },
    run,
};

const EXPLAIN: &str = "`gpuc explain GPUC2664` shows the commands that create one";

fn run(cluster: &Cluster, report: &mut Report) {
    let section = section(&cluster.config);
    if section.node_service_account.is_some() || cluster.pools.iter().all(|pool| pool.is_existing())
    {
        return;
    }
    let project = &section.project;
    let account = format!("gke-nodes@{project}.iam.gserviceaccount.com");
    report
        .diagnostic(
            &RULE.code,
            project.span,
            "nodes run as the default service account of this project",
        )
        .help(format!(
            "set `nodeServiceAccount: {account}`, an account with the role \
             `roles/container.defaultNodeServiceAccount`; {EXPLAIN}"
        ))
        .emit();
}
