//! Two taints with the same key, which gcloud does not support.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::super::taints;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2611",
        name: "gke-taint-key-twice",
        severity: Severity::Error,
        summary: "two taints of a pool have the same key",
        checks: r"Whether the keys of a pool's taints are unique, including the taints that GKE sets.",
        reason: r"gcloud parses `--node-taints` as a map by key. Of two taints with the same key it keeps one, without a
warning.",
        remedy: r"Give the taints different keys, or keep one. `NoExecute` includes the effect of `NoSchedule` and also
evicts pods.",
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
    taints:
      - {key: team, value: a, effect: NoSchedule}
      - {key: team, value: a, effect: NoExecute}
"#,
        correction: Correction::Replace(
            "NoSchedule}
      - {key: team, value: a, effect: NoExecute",
            "NoExecute",
        ),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for pool in cluster.pools.iter().filter(|pool| !pool.is_existing()) {
        let automatic = taints::automatic_taints(pool);
        for (index, taint) in pool.user_taints.iter().enumerate() {
            let previous = &pool.user_taints[..index];
            let previous = previous
                .iter()
                .find(|other| other.key.value == taint.key.value);
            let gke_taint = automatic.iter().find(|automatic_taint| {
                automatic_taint.key == taint.key.value
                    && (automatic_taint.value != *taint.value.value.value
                        || automatic_taint.effect != taint.effect.value)
            });
            let (span, label) = match (previous, gke_taint) {
                (Some(before), _) => (before.key.span, "the same key"),
                (None, Some(gke_taint)) => (
                    gke_taint.span,
                    "GKE sets a taint with this key because of this",
                ),
                (None, None) => continue,
            };
            let message = format!(
                "pool `{}` has two taints with the key `{}`",
                pool.name, *taint.key
            );
            report
                .diagnostic(&RULE.code, taint.key.span, message)
                .label(span, label)
                .help("keep one of them, or change its key")
                .emit();
        }
    }
}
