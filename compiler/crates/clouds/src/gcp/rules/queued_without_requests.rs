//! Nodes that only a ProvisioningRequest creates, without a component that creates one.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::super::flex_start;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2663",
        name: "gke-queued-without-requests",
        severity: Severity::Warning,
        summary: "nothing creates the ProvisioningRequests of a pool",
        checks: r"Whether a cluster with a pool of queued flex-start machines has `queueing: kueue`, and a team has a quota
on the pool.",
        reason: r"GKE creates the nodes of such a pool only for a ProvisioningRequest. Pods alone stay pending. gpuc
configures Kueue to create the requests, for the queues of teams with a quota on the pool.",
        remedy: r"Set `queueing: kueue`, and give a team a quota on the pool. Or allow the warning, and create the
ProvisioningRequests with another tool.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {gcp: {project: acme-ml-prod, location: us-central1-a, nodeServiceAccount: gke-nodes@acme-ml-prod.iam.gserviceaccount.com, cluster: {existing: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
queueing: none
nodePools:
  - name: gpu
    machine: g2-standard-8
    nodes: {min: 0, max: 4}
    capacity: {flexStart: {queued: true}}
teams:
  - name: research
    quota: {gpus: [{pool: gpu, guaranteed: 2}]}
"#,
        correction: Correction::Replace("queueing: none", "queueing: kueue"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for pool in cluster
        .pools
        .iter()
        .filter(|pool| flex_start::is_queued(pool))
    {
        let mut grants = cluster.teams.iter().flat_map(|team| &team.grants);
        // An unresolved grant may be for this pool.
        let is_granted =
            grants.any(|grant| grant.get().is_none_or(|grant| grant.pool == pool.index));
        let (reason, help) = match (cluster.has_queues(), is_granted) {
            (true, true) => continue,
            (false, _) => (
                "Kueue, which creates them, is not used",
                "set `queueing: kueue`",
            ),
            (true, false) => (
                "no team has a quota on the pool",
                "give a team a quota on the pool",
            ),
        };
        let message = format!(
            "nothing creates the ProvisioningRequests of pool `{}`",
            pool.name
        );
        report
            .diagnostic(&RULE.code, pool.settings.capacity.span, message)
            .primary_label(reason)
            .help(help)
            .emit();
    }
}
