//! Renamed replicas, which GKE's device plugin does not support.

use gpuc_schema::config::{DevicePlugin, Sharing};

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2614",
        name: "gke-rename-unsupported",
        severity: Severity::Error,
        summary: "GKE's device plugin does not support `rename`",
        checks: r"Whether a pool whose GPUs GKE advertises (`devicePlugin: cloud`) renames its replicas.",
        reason: r"GKE advertises every replica as `nvidia.com/gpu`. Workloads and quotas for `nvidia.com/gpu.shared` would
stay pending indefinitely.",
        remedy: r"Remove `rename`, or choose gpuc's device plugin: `devicePlugin: gpuc`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {gcp: {project: acme-ml-prod, location: us-central1-a, nodeServiceAccount: gke-nodes@acme-ml-prod.iam.gserviceaccount.com, cluster: {existing: {}}}}
nodePools:
  - name: gpu
    machine: g2-standard-8
    nodes: {count: 1}
    sharing: {timeSlicing: {replicas: 4, rename: true}}
    stack: {devicePlugin: cloud}
"#,
        correction: Correction::Replace("rename: true", "rename: false"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for pool in cluster.pools_advertised_by(DevicePlugin::Cloud) {
        let rename = match &cluster.pool_in_file(pool).sharing.value {
            Sharing::TimeSlicing(slicing) => slicing.rename,
            Sharing::Mps(mps) => mps.rename,
            Sharing::None | Sharing::Mig(_) => continue,
        };
        if rename.value {
            report
                .diagnostic(
                    &RULE.code,
                    rename.span,
                    "GKE advertises every replica as `nvidia.com/gpu`",
                )
                .label(pool.plugin.span, "GKE advertises the GPUs")
                .help("write `rename: false`, or `devicePlugin: gpuc`")
                .replace(rename.span, "false")
                .emit();
        }
    }
}
