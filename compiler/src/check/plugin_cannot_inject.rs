//! NVIDIA's device plugin on nodes without NVIDIA's container runtime.

use gpuc_schema::config::DevicePlugin;

use super::Rule;
use super::words::word;
use crate::cloud::Injection;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// NVIDIA's device plugin on nodes without NVIDIA's container runtime.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2050",
        name: "plugin-cannot-inject",
        severity: Severity::Error,
        summary: "NVIDIA's device plugin runs on nodes without NVIDIA's container runtime",
        explain: r"### What it checks

Whether `devicePlugin: nvidia` is chosen for a node image that has no NVIDIA container runtime and
no CDI, such as GKE's.

### Why it matters

NVIDIA's plugin names the GPUs of a container in an environment variable, or in a CDI device, and
leaves the rest to the container runtime. Where nothing reads either, the plugin itself does not
find the driver, and a container that it gave a GPU would have neither device nodes nor libraries.

### What to do

Write `devicePlugin: gpuc`, which passes device nodes and mounts the driver there, or `cloud`.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {gcp: {project: acme-ml-prod, location: us-central1-a, cluster: {existing: {}}}}
stack: {devicePlugin: nvidia}
nodePools:
  - name: gpu
    machine: g2-standard-8
    nodes: {count: 1}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {gcp: {project: acme-ml-prod, location: us-central1-a, cluster: {existing: {}}}}
stack: {devicePlugin: cloud}
nodePools:
  - name: gpu
    machine: g2-standard-8
    nodes: {count: 1}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for pool in cluster.pools_advertised_by(DevicePlugin::Nvidia) {
        let Some(access) = cluster.access(pool) else {
            continue;
        };
        if !matches!(access.injection, Injection::DeviceNodes { .. }) {
            continue;
        }
        let message = format!("containers of pool `{}` would get no GPU", pool.name);
        let family = word(&pool.os);
        let name = cluster.cloud.facts().name;
        report
            .draft(&RULE.code, pool.plugin.span, message)
            .here("this plugin leaves the rest to NVIDIA's container runtime")
            .label(
                pool.os.span,
                format!("{family} has none on {name}"),
            )
            .help(format!(
                "write `devicePlugin: gpuc` or `cloud`: {family} has no NVIDIA container runtime on {name}"
            ))
            .emit();
    }
}
