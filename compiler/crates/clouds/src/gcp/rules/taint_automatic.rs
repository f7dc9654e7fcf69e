//! Taint that GKE sets automatically.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::super::taints;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2610",
        name: "gke-taint-automatic",
        severity: Severity::Warning,
        summary: "GKE sets this taint automatically",
        checks: r"Whether a pool with GPUs has `nvidia.com/gpu=present:NoSchedule` among its `taints`, or an Arm
pool `kubernetes.io/arch=arm64:NoSchedule`.",
        reason: r"GKE sets these taints on such nodes automatically, and gpuc takes them into account. Setting them again has
no effect, and suggests that the nodes would otherwise not have them.",
        remedy: r"Remove the taint.",
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
    taints: [{key: nvidia.com/gpu, value: present, effect: NoSchedule}]
"#,
        correction: Correction::Replace(
            "    taints: [{key: nvidia.com/gpu, value: present, effect: NoSchedule}]
",
            "",
        ),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for pool in &cluster.pools {
        let automatic = taints::automatic_taints(pool);
        for taint in &pool.user_taints {
            let duplicate = automatic
                .iter()
                .find(|gke_taint| gke_taint.is_written_as(taint));
            let Some(gke_taint) = duplicate else { continue };
            let message = format!(
                "GKE sets the taint `{}` on these nodes automatically",
                gke_taint.key
            );
            report
                .diagnostic(&RULE.code, taint.span, message)
                .label(gke_taint.span, "GKE sets the taint because of this")
                .help("remove the taint")
                .emit();
        }
    }
}
