//! Queues cannot count GPUs that pods claim.

use gpuc_schema::config::Allocation;

use super::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::{Cluster, Team};

/// Queues cannot count GPUs that pods claim.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2173",
        name: "queue-claims-uncounted",
        severity: Severity::Error,
        summary: "queues cannot count GPUs that pods claim",
        explain: "### What it checks

Whether every pool of which a team has a quota is served by a device plugin, where `queueing` is
`kueue`.

### Why it matters

Kueue counts what the containers of a job ask for. Claims of Dynamic Resource Allocation it counts
only behind a feature gate that is off and still changes: a job would start whatever the quota says.

### What to do

Serve the pool by a device plugin (`stack: {allocation: devicePlugin}`), remove the quota of it, or
write `queueing: none`: a ResourceQuota does count claims.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
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
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {allocation: dra}
nodePools:
  - name: gpu
    machine: g6.12xlarge
    nodes: {count: 2}
queueing: none
teams:
  - {name: research, quota: {gpus: [{pool: gpu, guaranteed: 8}]}}
"#,
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
        let message = format!("no queue counts what pods claim of pool `{}`", pool.name);
        let draft = report.draft(&RULE.code, grant.span, message);
        let draft = draft.label(pool.allocation.span, "pods claim its GPUs because of this");
        let draft = draft.label(cluster.written.queueing.span, "jobs wait in queues");
        let help = "serve the pool by a device plugin, or write `queueing: none`";
        draft.help(help).emit();
    }
}
