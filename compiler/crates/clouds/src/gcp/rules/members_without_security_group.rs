//! Google groups in teams of a cluster that does not know them.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use crate::gcp::create_section;

/// Source: gcloud container clusters create --help (`--security-group`), Google Cloud SDK 528.0.0.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2654",
        name: "gke-members-without-security-group",
        severity: Severity::Warning,
        summary: "Google groups in a team have no effect without a security group",
        checks: "Whether a cluster that gpuc creates sets `securityGroup` if `members` contains a group with a domain.",
        reason: "GKE tells Kubernetes the groups of a user only if the cluster has a security group. Without it, the RoleBindings of
groups match no one.",
        remedy: "Set `securityGroup` to `gke-security-groups@` with the domain of the groups, or list users.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {gcp: {project: acme-ml-prod, location: us-central1-a, nodeServiceAccount: gke-nodes@acme-ml-prod.iam.gserviceaccount.com, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: system, machine: e2-standard-4, nodes: {count: 1}}
teams: [{name: research, members: [{group: research@acme.dev}]}]
"#,
        correction: Correction::Replace("create: {}", "create: {securityGroup: gke-security-groups@acme.dev}"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    if create_section(&cluster.config).is_none_or(|create| create.security_group.is_some()) {
        return;
    }
    let members = cluster.teams.iter().flat_map(|team| &team.settings.members);
    let mut groups = members.filter_map(|member| member.group.as_ref());
    if let Some((group, domain)) = groups.find_map(|group| Some((group, group.split_once('@')?.1)))
    {
        report
            .diagnostic(
                &RULE.code,
                group.span,
                format!("the Google group `{group}` has no effect without a security group"),
            )
            .help(format!(
                "add `securityGroup` with the group of the domain, `gke-security-groups@{domain}`, to the cluster"
            ))
            .emit();
    }
}
