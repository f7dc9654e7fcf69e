//! Two taints of one key, which gcloud cannot write.

use super::super::taints;
use crate::check::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2611",
        name: "gke-taint-key-twice",
        severity: Severity::Error,
        summary: "two taints of a pool have the same key",
        explain: r"### What it checks

Whether the taints of a pool, GKE's own included, have each key once.

### Why it matters

gcloud reads `--node-taints` as a table by key: of two taints with the same key it keeps one,
and says nothing.

### What to do

Give the taints different keys, or keep one. `NoExecute` does what `NoSchedule` does and evicts
too.
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
    taints:
      - {key: team, value: a, effect: NoSchedule}
      - {key: team, value: a, effect: NoExecute}
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
    taints:
      - {key: team, value: a, effect: NoExecute}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for pool in cluster.pools.iter().filter(|pool| !pool.is_existing()) {
        let automatic = taints::automatic(pool);
        for (index, taint) in pool.written.taints.iter().enumerate() {
            let before = &pool.written.taints[..index];
            let before = before
                .iter()
                .find(|other| other.key.value == taint.key.value);
            let theirs = automatic.iter().find(|theirs| {
                theirs.key == taint.key.value
                    && (theirs.value != *taint.value.value.value
                        || theirs.effect != taint.effect.value)
            });
            let (span, text) = match (before, theirs) {
                (Some(before), _) => (before.key.span, "the same key"),
                (None, Some(theirs)) => {
                    (theirs.span, "GKE sets a taint of this key because of this")
                }
                (None, None) => continue,
            };
            let message = format!(
                "pool `{}` has two taints with the key `{}`",
                pool.name, *taint.key
            );
            report
                .draft(&RULE.code, taint.key.span, message)
                .label(span, text)
                .help("keep one of them, or give it another key")
                .emit();
        }
    }
}
