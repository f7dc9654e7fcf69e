//! NVIDIA's device plugin runs on nodes without NVIDIA's container runtime.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_model::cloud::Injection;
use gpuc_schema::config::DevicePlugin;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::messages::keyword;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2050",
        name: "nvidia-runtime-missing",
        severity: Severity::Error,
        summary: "NVIDIA's device plugin runs on nodes without NVIDIA's container runtime",
        checks: r"Whether `devicePlugin: nvidia` is set for a node image without the NVIDIA container runtime and
without CDI, such as GKE's.",
        reason: r"NVIDIA's device plugin passes the GPUs of a container as an environment variable or as CDI devices,
and relies on the container runtime for the rest. If the runtime supports neither, the device plugin
does not find the driver. A container with a GPU would have neither device nodes nor libraries.",
        remedy: r"Set `devicePlugin: gpuc`, which passes device nodes and mounts the driver there, or `cloud`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {gcp: {project: acme-ml-prod, location: us-central1-a, nodeServiceAccount: gke-nodes@acme-ml-prod.iam.gserviceaccount.com, cluster: {existing: {}}}}
stack: {devicePlugin: nvidia}
nodePools:
  - name: gpu
    machine: g2-standard-8
    nodes: {count: 1}
"#,
        correction: Correction::Replace("devicePlugin: nvidia", "devicePlugin: cloud"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for pool in cluster.pools_advertised_by(DevicePlugin::Nvidia) {
        let Some(access) = cluster.driver_access(pool) else {
            continue;
        };
        if !matches!(access.injection, Injection::DeviceNodes { .. }) {
            continue;
        }
        let message = format!(
            "containers of pool `{}` would have no access to a GPU",
            pool.name
        );
        let family = keyword(&pool.os);
        let name = cluster.cloud.facts().name;
        report
            .diagnostic(&RULE.code, pool.plugin.span, message)
            .primary_label("this device plugin requires NVIDIA's container runtime")
            .label(
                pool.os.span,
                format!("`{family}` does not have it on {name}"),
            )
            .help(format!(
                "set `devicePlugin` to `cloud` or `gpuc`: `{family}` has no NVIDIA container runtime on {name}"
            ))
            .emit();
    }
}
