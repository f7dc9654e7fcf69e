//! Driver owner that does not work on GKE.

use gpuc_schema::config::{DevicePlugin, DriverOwner};

use gpuc_model::check::Rule;
use gpuc_model::{Cluster, Pool, Sharing};
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2607",
        name: "gke-driver-owner",
        severity: Severity::Error,
        summary: "the driver owner is incompatible with the device plugin or with MIG",
        checks: r"Whether the component that installs the GPU driver is compatible with the device plugin. With another
device plugin than GKE's, GKE cannot install the driver. With GKE's device plugin, the GPU Operator cannot
install it, and with MIG only GKE can.",
        reason: r"The label that disables GKE's device plugin on a node also disables GKE's default driver installation
(NVIDIA/aicr#2047). GKE's device plugin expects the driver in the directory where GKE's installers put
it. With MIG managed by GKE, GKE creates the MIG devices when it installs the driver.",
        remedy: r"Remove `driver`. gpuc then chooses a DaemonSet that runs the installer of the node image, or GKE if GKE
advertises the GPUs.",
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
    stack: {driver: preinstalled}
"#,
        correction: Correction::Replace("preinstalled", "daemonSet"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for (pool, _) in cluster.gpu_pools() {
        let Some((message, conflicting, help)) = conflict(pool) else {
            continue;
        };
        let candidates = [pool.driver.span, conflicting, pool.name.span];
        let primary = candidates.into_iter().find(|span| span.is_written());
        let builder = report.diagnostic(&RULE.code, primary.unwrap_or(pool.name.span), message);
        let builder = builder
            .label(conflicting, "incompatible with the driver owner")
            .help(help);
        let value = (help.strip_prefix("write `driver: ")).and_then(|rest| rest.strip_suffix('`'));
        let builder = match value.filter(|_| pool.driver.span.is_written()) {
            Some(value) => builder.replace(pool.driver.span, value),
            None => builder,
        };
        builder.emit();
    }
}

/// The message, the conflicting location and the help, if the driver owner is incompatible with other settings.
fn conflict(pool: &Pool) -> Option<(&'static str, gpuc_schema::Span, &'static str)> {
    let uses_gke_plugin = pool.plugin.value == DevicePlugin::Cloud;
    let plugin = pool.plugin.span;
    match pool.driver.value {
        DriverOwner::Preinstalled if !uses_gke_plugin => Some((
            "GKE does not install the driver on nodes where its device plugin is disabled",
            plugin,
            "write `driver: daemonSet`",
        )),
        DriverOwner::Operator if uses_gke_plugin => Some((
            "GKE's device plugin does not find a driver that the GPU Operator installs",
            plugin,
            "write `driver: preinstalled`",
        )),
        DriverOwner::DaemonSet if uses_gke_plugin && is_partitioned(pool) => Some((
            "GKE creates MIG devices only if it installs the driver",
            pool.sharing_span,
            "write `driver: preinstalled`",
        )),
        _ => None,
    }
}

fn is_partitioned(pool: &Pool) -> bool {
    matches!(pool.sharing.get(), Some(Sharing::Mig { .. }))
}
