//! An invalid security group for RBAC.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use crate::gcp::create_section;

/// Source: docs.cloud.google.com/kubernetes-engine/docs/how-to/google-groups-rbac, general knowledge.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2653",
        name: "gke-security-group",
        severity: Severity::Error,
        summary: "the security group for RBAC is invalid",
        checks: "Whether `securityGroup` is `gke-security-groups@`, followed by a domain.",
        reason: "GKE accepts only this name. The groups for RBAC are members of this group.",
        remedy: "Create the group `gke-security-groups` in the domain, and add the groups of the teams to it.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {gcp: {project: acme-ml-prod, location: us-central1-a, nodeServiceAccount: gke-nodes@acme-ml-prod.iam.gserviceaccount.com, cluster: {create: {securityGroup: research@acme.dev}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: system, machine: e2-standard-4, nodes: {count: 1}}
"#,
        correction: Correction::Replace("research@acme.dev", "gke-security-groups@acme.dev"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let create = create_section(&cluster.config);
    let Some(group) = create.and_then(|create| create.security_group.as_ref()) else {
        return;
    };
    if !is_security_group(group) {
        let domain = group
            .split_once('@')
            .map_or("acme.dev", |(_, domain)| domain);
        report
            .diagnostic(
                &RULE.code,
                group.span,
                format!("invalid security group `{group}`"),
            )
            .help(format!(
                "write a group such as `gke-security-groups@{domain}`"
            ))
            .emit();
    }
}

fn is_security_group(text: &str) -> bool {
    let Some(domain) = text.strip_prefix("gke-security-groups@") else {
        return false;
    };
    let is_label = |label: &str| {
        !label.is_empty() && label.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
    };
    domain.contains('.') && domain.split('.').all(is_label)
}

#[cfg(test)]
mod tests {
    use super::is_security_group;

    #[test]
    fn names() {
        assert!(is_security_group("gke-security-groups@acme.dev"));
        for text in [
            "gke-security-groups",
            "gke-security-groups@",
            "gke-security-groups@acme",
            "gke@acme.dev",
        ] {
            assert!(!is_security_group(text), "{text}");
        }
    }
}
