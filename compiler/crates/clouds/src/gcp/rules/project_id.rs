//! Invalid project ID.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2601",
        name: "gke-project-id",
        severity: Severity::Error,
        summary: "the project ID is invalid",
        checks: r"Whether `cloud.gcp.project` has the form of a project ID: 6 to 30 lower-case letters, digits and
hyphens. It starts with a letter and does not end with a hyphen.",
        reason: r"Every command names the project. The first command fails with a project number or a display name, but
only after the review.",
        remedy: r"Write the ID that `gcloud projects list` shows in its first column.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {gcp: {project: "123456789012", location: us-central1-a, nodeServiceAccount: gke-nodes@123456789012.iam.gserviceaccount.com, cluster: {existing: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: g2-standard-8
    nodes: {count: 1}
"#,
        correction: Correction::Replace(r#""123456789012""#, "acme-ml-prod"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let project = &super::super::section(&cluster.config).project;
    if is_project_id(project) {
        return;
    }
    let message = format!("`{project}` is not a project ID");
    report
        .diagnostic(&RULE.code, project.span, message)
        .help(
            "write 6 to 30 lower-case letters, digits and hyphens, starting with a letter: \
             `gcloud projects list` shows the ID in its first column",
        )
        .emit();
}

fn is_project_id(text: &str) -> bool {
    (6..=30).contains(&text.len())
        && text.starts_with(|first: char| first.is_ascii_lowercase())
        && !text.ends_with('-')
        && text
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
}
