//! A taint that GKE sets anyway.

use super::super::taints;
use crate::check::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2610",
        name: "gke-taint-automatic",
        severity: Severity::Warning,
        summary: "a taint that GKE sets by itself",
        explain: r"### What it checks

Whether a pool with GPUs has `nvidia.com/gpu=present:NoSchedule` among its `taints`, or an Arm
pool `kubernetes.io/arch=arm64:NoSchedule`.

### Why it matters

GKE puts these taints on such nodes by itself, and gpuc knows them. Written again they change
nothing, and suggest that without them there would be none.

### What to do

Remove the taint.
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
    taints: [{key: nvidia.com/gpu, value: present, effect: NoSchedule}]
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
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for pool in &cluster.pools {
        let automatic = taints::automatic(pool);
        for taint in &pool.written.taints {
            let same = automatic.iter().find(|theirs| {
                theirs.key == *taint.key.value
                    && theirs.value == *taint.value.value.value
                    && theirs.effect == taint.effect.value
            });
            let Some(theirs) = same else { continue };
            let message = format!(
                "GKE puts the taint `{}` on these nodes by itself",
                theirs.key
            );
            report
                .draft(&RULE.code, taint.span, message)
                .label(theirs.span, "because of this")
                .help("remove it")
                .emit();
        }
    }
}
