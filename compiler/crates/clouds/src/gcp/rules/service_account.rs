//! An invalid service account of nodes.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use crate::gcp::section;

/// Source: docs.cloud.google.com/iam/docs/service-account-types and .../service-accounts-create (the format of
/// user-managed and default accounts), general knowledge.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2665",
        name: "gke-service-account",
        severity: Severity::Error,
        summary: "the service account of nodes is invalid",
        checks: "Whether `nodeServiceAccount` is the email address of a service account that a user created:
`NAME@PROJECT.iam.gserviceaccount.com`.",
        reason: "GKE accepts only an email address. A default service account can have the role Editor, and accounts of
Google's own services cannot run nodes.",
        remedy: "Write the email address that `gcloud iam service-accounts list` shows.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {gcp: {project: acme-ml-prod, location: us-central1-a, nodeServiceAccount: 123456789012-compute@developer.gserviceaccount.com, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: system, machine: e2-standard-4, nodes: {count: 1}}
"#,
        correction: Correction::Replace(
            "123456789012-compute@developer.gserviceaccount.com",
            "gke-nodes@acme-ml-prod.iam.gserviceaccount.com",
        ),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let section = section(&cluster.config);
    let Some(account) = &section.node_service_account else {
        return;
    };
    if is_user_managed(account) {
        return;
    }
    let is_default = account.value == "default"
        || account.ends_with("-compute@developer.gserviceaccount.com")
        || account.ends_with("@appspot.gserviceaccount.com");
    let message = if is_default {
        format!("`{account}` is a default service account")
    } else {
        format!("`{account}` is not the email address of a service account")
    };
    report
        .diagnostic(&RULE.code, account.span, message)
        .help(format!(
            "write an address such as `gke-nodes@{}.iam.gserviceaccount.com`; `gcloud iam service-accounts list` shows the \
             addresses",
            section.project
        ))
        .emit();
}

/// Whether `text` is the address of an account that a user created. The ID of a project can have a domain as a prefix,
/// which is a suffix here: `nodes@host.example.com.iam.gserviceaccount.com`.
fn is_user_managed(text: &str) -> bool {
    let Some((name, project)) = text
        .strip_suffix(".iam.gserviceaccount.com")
        .and_then(|rest| rest.split_once('@'))
    else {
        return false;
    };
    let inner = |text: &str| {
        text.bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
    };
    let is_label = |label: &str| !label.is_empty() && inner(label);
    // The names of Google's own agents start with `service-`, and their projects with `gcp-sa-`.
    (6..=30).contains(&name.len())
        && name.starts_with(|first: char| first.is_ascii_lowercase())
        && !name.ends_with('-')
        && inner(name)
        && project.split('.').all(is_label)
        && !project.starts_with("gcp-sa-")
}

#[cfg(test)]
mod tests {
    use super::is_user_managed;

    #[test]
    fn addresses_of_user_managed_accounts() {
        for text in [
            "gke-nodes@acme-ml-prod.iam.gserviceaccount.com",
            "nodes1@host.example.com.iam.gserviceaccount.com",
        ] {
            assert!(is_user_managed(text), "{text}");
        }
        for text in [
            "",
            "default",
            "gke-nodes",
            "gke-nodes@acme-ml-prod",
            "@acme-ml-prod.iam.gserviceaccount.com",
            "nodes@.iam.gserviceaccount.com",
            "short@acme-ml-prod.iam.gserviceaccount.com",
            "Nodes-1@acme-ml-prod.iam.gserviceaccount.com",
            "gke-nodes @acme-ml-prod.iam.gserviceaccount.com",
            "service-123@gcp-sa-gke.iam.gserviceaccount.com",
            "123456789012-compute@developer.gserviceaccount.com",
        ] {
            assert!(!is_user_managed(text), "{text}");
        }
    }
}
