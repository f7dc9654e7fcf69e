//! Kueue does not count GPUs that pods share through one ResourceClaim.

use gpuc_schema::config::Allocation;

use gpuc_model::check::Rule;
use gpuc_model::{Cluster, Sharing, Team};
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2173",
        name: "queue-claims-uncounted",
        severity: Severity::Error,
        summary: "Kueue does not count GPUs that pods share through one ResourceClaim",
        checks: "Whether a team has a quota of a pool with `allocation: dra` and `sharing: mps`, with `queueing: kueue`.",
        reason: "Kueue counts the devices that the ResourceClaimTemplates of a job request. Pods share a GPU by naming the
same ResourceClaim, which Kueue ignores: jobs would use such GPUs without a quota.",
        remedy: "Use a device plugin for the pool (`stack: {allocation: devicePlugin}`), remove its quota or its `sharing`, or
set `queueing: none`: a ResourceQuota does count claims.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {allocation: dra}
nodePools:
  - name: gpu
    machine: g6.12xlarge
    nodes: {count: 2}
    sharing: {mps: {replicas: 4}}
queueing: kueue
teams:
  - {name: research, quota: {gpus: [{pool: gpu, guaranteed: 8}]}}
"#,
        correction: Correction::Replace("queueing: kueue", "queueing: none"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    if !cluster.has_queues() {
        return;
    }
    for grant in cluster.teams.iter().flat_map(Team::grants) {
        let pool = &cluster.pools[grant.pool];
        let is_shared = matches!(pool.sharing.get(), Some(Sharing::Mps { .. }));
        if pool.allocation.value != Allocation::Dra || !is_shared {
            continue;
        }
        let message = format!(
            "Kueue does not count the GPUs of pool `{}`, which pods share through one ResourceClaim",
            pool.name
        );
        let help = "remove `sharing` from the pool, or write `queueing: none` for the cluster";
        report
            .diagnostic(&RULE.code, grant.span, message)
            .label(
                pool.allocation.span,
                "this allocates the pool's GPUs through DRA",
            )
            .label(pool.sharing_span, "pods share a GPU")
            .label(cluster.config.queueing.span, "this enables queues")
            .help(help)
            .emit();
    }
}
