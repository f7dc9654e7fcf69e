//! Incomplete upgrade settings.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2618",
        name: "gke-upgrade-incomplete",
        severity: Severity::Error,
        summary: "the upgrade settings of a pool are incomplete",
        checks: r"Whether `upgrade` sets both `maxSurge` and `maxUnavailable`, and at least one of them is greater than 0. With
`blueGreen`, neither is needed.",
        reason: r"gcloud accepts the two settings only together. With both at 0, GKE cannot replace any node.",
        remedy: r"Set both: `{maxSurge: 0, maxUnavailable: 1}` if no additional machines are available, or `{maxSurge: 1,
maxUnavailable: 0}` if all nodes must stay available.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {gcp: {project: acme-ml-prod, location: us-central1-a, nodeServiceAccount: gke-nodes@acme-ml-prod.iam.gserviceaccount.com, cluster: {existing: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: g2-standard-8
    nodes: {count: 1}
    upgrade: {maxSurge: 0}
"#,
        correction: Correction::Replace("maxSurge: 0", "maxSurge: 0, maxUnavailable: 1"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for pool in cluster.pools.iter().filter(|pool| !pool.is_existing()) {
        let Some(upgrade) = &pool.settings.upgrade else {
            continue;
        };
        // Another rule reports surge settings next to `blueGreen`.
        if upgrade.blue_green.is_some() {
            continue;
        }
        let message = match (upgrade.max_surge, upgrade.max_unavailable) {
            (Some(surge), Some(unavailable)) if surge.value + unavailable.value > 0 => continue,
            (Some(_), Some(_)) => "`maxSurge` and `maxUnavailable` cannot both be 0",
            _ => "`maxSurge` and `maxUnavailable` must be set together on GKE",
        };
        report
            .diagnostic(&RULE.code, upgrade.span, message)
            .help("set both, such as `{maxSurge: 0, maxUnavailable: 1}`")
            .emit();
    }
}
