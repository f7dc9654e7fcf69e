//! Maximum number of pods outside the range that GKE accepts.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2617",
        name: "gke-max-pods",
        severity: Severity::Error,
        summary: "`maxPods` is outside the range that GKE accepts",
        checks: r"Whether `maxPods` is from 8 to 256.",
        reason: r"GKE sizes the address range of each node from this number. The scripts fail with any other
value.",
        remedy: r"Write a number from 8 to 256, or remove `maxPods` to use the default of GKE, 110.",
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
    maxPods: 512
"#,
        correction: Correction::Replace("maxPods: 512", "maxPods: 256"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for pool in cluster.pools.iter().filter(|pool| !pool.is_existing()) {
        let Some(max) = pool.settings.max_pods else {
            continue;
        };
        if (8..=256).contains(&max.value) {
            continue;
        }
        let nearest = max.value.clamp(8, 256);
        report
            .diagnostic(
                &RULE.code,
                max.span,
                format!("`maxPods: {max}` is not supported on GKE"),
            )
            .help(format!(
                "write {nearest}: GKE accepts 8 to 256 pods per node"
            ))
            .replace(max.span, nearest.to_string())
            .emit();
    }
}
