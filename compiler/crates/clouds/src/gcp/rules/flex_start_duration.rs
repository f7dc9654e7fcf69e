//! Run duration of flex-start machines that GKE does not accept.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::super::flex_start;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2661",
        name: "gke-flex-start-duration",
        severity: Severity::Error,
        summary: "the maximum run duration of flex-start machines is invalid",
        checks: r"Whether `maxRunDuration` is a whole number of seconds or hours, at most seven days.",
        reason: r"GKE deletes a flex-start machine after this time, and supports at most seven days.",
        remedy: r"Write seconds or hours, such as `5400s` or `24h`. Longer jobs need checkpoints, or another kind of
capacity.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {gcp: {project: acme-ml-prod, location: us-central1-a, nodeServiceAccount: gke-nodes@acme-ml-prod.iam.gserviceaccount.com, cluster: {existing: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: g2-standard-8
    nodes: {min: 0, max: 4}
    capacity: {flexStart: {maxRunDuration: 8d}}
"#,
        correction: Correction::Replace("8d", "168h"),
    },
    run,
};

/// Source: GoogleCloudPlatform/cluster-toolkit modules/compute/gke-node-pool (`max_run_duration`), 2026-11-28.
fn run(cluster: &Cluster, report: &mut Report) {
    for pool in &cluster.pools {
        let Some(flex) = pool.flex_start() else {
            continue;
        };
        let Some(written) = &flex.max_run_duration else {
            continue;
        };
        if flex_start::run_seconds(flex).is_none() {
            let message = format!("invalid duration `{written}`");
            report
                .diagnostic(&RULE.code, written.span, message)
                .primary_label("seconds or hours, at most seven days")
                .help("write a duration such as `5400s`, `24h` or `168h`")
                .emit();
        }
    }
}
