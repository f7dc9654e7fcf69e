//! Half of what GKE needs to know of an upgrade.

use crate::check::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2618",
        name: "gke-upgrade-incomplete",
        severity: Severity::Error,
        summary: "half of how a pool is upgraded",
        explain: r"### What it checks

Whether `upgrade` has both `maxSurge` and `maxUnavailable`, and not 0 for both.

### Why it matters

gcloud takes the two only together, and with neither a node more nor a node less an upgrade
could not begin.

### What to do

Write both: `{maxSurge: 0, maxUnavailable: 1}` where there is no machine to spare, `{maxSurge:
1, maxUnavailable: 0}` where no node may be missing.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {gcp: {project: acme-ml-prod, location: us-central1-a, cluster: {existing: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: g2-standard-8
    nodes: {count: 1}
    upgrade: {maxSurge: 0}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {gcp: {project: acme-ml-prod, location: us-central1-a, cluster: {existing: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: g2-standard-8
    nodes: {count: 1}
    upgrade: {maxSurge: 0, maxUnavailable: 1}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for pool in cluster.pools.iter().filter(|pool| !pool.is_existing()) {
        let Some(upgrade) = &pool.written.upgrade else {
            continue;
        };
        let message = match (upgrade.max_surge, upgrade.max_unavailable) {
            (Some(surge), Some(unavailable)) if surge.value + unavailable.value > 0 => continue,
            (Some(_), Some(_)) => "with 0 for both an upgrade cannot begin",
            _ => "GKE needs `maxSurge` and `maxUnavailable` together",
        };
        report
            .draft(&RULE.code, upgrade.span, message)
            .help("write both, such as `{maxSurge: 0, maxUnavailable: 1}`")
            .emit();
    }
}
