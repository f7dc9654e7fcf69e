//! Shares under a name that GKE's device plugin does not have.

use gpuc_schema::config::{DevicePlugin, Sharing};

use crate::check::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2614",
        name: "gke-shares-renamed",
        severity: Severity::Error,
        summary: "GKE's device plugin has no other name for shares",
        explain: r"### What it checks

Whether a pool whose GPUs GKE advertises (`devicePlugin: cloud`) wants its shares renamed.

### Why it matters

GKE offers every share as `nvidia.com/gpu`. Workloads and quotas for `nvidia.com/gpu.shared`
would wait for ever.

### What to do

Remove `rename`, or let gpuc's own plugin advertise: `devicePlugin: gpuc`.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {gcp: {project: acme-ml-prod, location: us-central1-a, cluster: {existing: {}}}}
nodePools:
  - name: gpu
    machine: g2-standard-8
    nodes: {count: 1}
    sharing: {timeSlicing: {replicas: 4, rename: true}}
    stack: {devicePlugin: cloud}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {gcp: {project: acme-ml-prod, location: us-central1-a, cluster: {existing: {}}}}
nodePools:
  - name: gpu
    machine: g2-standard-8
    nodes: {count: 1}
    sharing: {timeSlicing: {replicas: 4, rename: false}}
    stack: {devicePlugin: cloud}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for pool in cluster.pools_advertised_by(DevicePlugin::Cloud) {
        let rename = match &pool.written.sharing.value {
            Sharing::TimeSlicing(slicing) => slicing.rename,
            Sharing::Mps(mps) => mps.rename,
            Sharing::None | Sharing::Mig(_) => continue,
        };
        if rename.value {
            report
                .draft(
                    &RULE.code,
                    rename.span,
                    "GKE offers every share as `nvidia.com/gpu`",
                )
                .label(pool.plugin.span, "GKE advertises the GPUs")
                .help("write `rename: false`, or `devicePlugin: gpuc`")
                .replace(rename.span, "false")
                .emit();
        }
    }
}
