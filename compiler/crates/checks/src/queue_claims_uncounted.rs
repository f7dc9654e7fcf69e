//! gpuc does not configure Kueue to count GPUs that are allocated through DRA.

use gpuc_schema::config::Allocation;

use gpuc_model::check::Rule;
use gpuc_model::{Cluster, Team};
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2173",
        name: "queue-claims-uncounted",
        severity: Severity::Error,
        summary: "gpuc does not configure Kueue to count GPUs that are allocated through DRA",
        checks: "Whether a device plugin advertises the GPUs of every pool for which a team has a quota, with
`queueing: kueue`.",
        reason: "Kueue counts the requests of a job's containers. It counts ResourceClaims of Dynamic Resource
Allocation only of the DeviceClasses in `resources.deviceClassMappings` of its configuration, which
gpuc does not write yet. Jobs with claims of other classes are not admitted.",
        remedy: "Use a device plugin for the pool (`stack: {allocation: devicePlugin}`), remove its quota, or set
`queueing: none`: a ResourceQuota does count claims.",
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
        if pool.allocation.value != Allocation::Dra {
            continue;
        }
        let message = format!(
            "gpuc does not configure Kueue to count the GPUs of pool `{}`, which are allocated through DRA",
            pool.name
        );
        let help = "write `allocation: devicePlugin` in the pool's `stack`, or write `queueing: none` for the cluster";
        report
            .diagnostic(&RULE.code, grant.span, message)
            .label(
                pool.allocation.span,
                "this allocates the pool's GPUs through DRA",
            )
            .label(cluster.config.queueing.span, "this enables queues")
            .help(help)
            .emit();
    }
}
