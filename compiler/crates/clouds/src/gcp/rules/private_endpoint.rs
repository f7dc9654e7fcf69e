//! A private API server of a cluster with public nodes.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use crate::gcp::create_section;

/// Source: Google Cloud SDK 528.0.0, `api_lib/container/api_adapter.py` (`ParsePrivateClusterOptions`).
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2651",
        name: "gke-private-endpoint",
        severity: Severity::Error,
        summary: "a private endpoint requires private nodes",
        checks: "Whether a cluster with `privateEndpoint: true` has `privateNodes: true`.",
        reason: "`gcloud` refuses a private endpoint without private nodes.",
        remedy: "Set `privateNodes: true`, or remove `privateEndpoint`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {gcp: {project: acme-ml-prod, location: us-central1-a, nodeServiceAccount: gke-nodes@acme-ml-prod.iam.gserviceaccount.com, cluster: {create: {privateEndpoint: true}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: system, machine: e2-standard-4, nodes: {count: 1}}
"#,
        correction: Correction::Replace(
            "privateEndpoint: true",
            "privateNodes: true, privateEndpoint: true",
        ),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let Some(create) = create_section(&cluster.config) else {
        return;
    };
    let Some(private) = create.private_endpoint.filter(|private| private.value) else {
        return;
    };
    if !create.private_nodes.value {
        report
            .diagnostic(
                &RULE.code,
                private.span,
                "a private endpoint requires private nodes",
            )
            .help("write `false`, or set `privateNodes: true` for the cluster")
            .emit();
    }
}
