//! A number of pods on a node that GKE does not allow.

use crate::check::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2617",
        name: "gke-max-pods",
        severity: Severity::Error,
        summary: "more or fewer pods on a node than GKE allows",
        explain: r"### What it checks

Whether `maxPods` is from 8 to 256.

### Why it matters

GKE cuts a range of addresses for each node from this number, and refuses others after the
review.

### What to do

Write a number from 8 to 256, or leave it out for GKE's 110.
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
    maxPods: 512
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
    maxPods: 256
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for pool in cluster.pools.iter().filter(|pool| !pool.is_existing()) {
        let Some(max) = pool.written.max_pods else {
            continue;
        };
        if (8..=256).contains(&max.value) {
            continue;
        }
        let nearest = max.value.clamp(8, 256);
        report
            .draft(
                &RULE.code,
                max.span,
                format!("a node of GKE has 8 to 256 pods, not {max}"),
            )
            .help(format!("write {nearest}"))
            .replace(max.span, nearest.to_string())
            .emit();
    }
}
