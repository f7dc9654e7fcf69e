//! A driver installed by whom GKE does not let.

use gpuc_schema::config::{DevicePlugin, DriverOwner};

use crate::check::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::{Cluster, Pool, Sharing};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2607",
        name: "gke-driver-owner",
        severity: Severity::Error,
        summary: "nobody installs the driver that a pool needs, or the wrong one does",
        explain: r"### What it checks

Whether the one who installs the driver goes with the one who advertises the GPUs: GKE itself
only where GKE advertises them, the GPU Operator only beside a plugin that is not GKE's, and GKE
wherever it cuts GPUs into slices.

### Why it matters

The label that keeps GKE's device plugin off a node leaves a pool with GKE's default driver
install without a driver (NVIDIA/aicr#2047). GKE's plugin looks for the driver in the folder
where GKE's installers put it. The slices of a pool whose GPUs GKE cuts are made together with
the driver.

### What to do

Leave `driver` out: gpuc chooses a DaemonSet that runs the node image's own installer, or GKE
where GKE advertises the GPUs.
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
    stack: {driver: preinstalled}
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
    stack: {driver: daemonSet}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for (pool, _) in cluster.gpu_pools() {
        let Some((message, other, help)) = contradiction(pool) else {
            continue;
        };
        let place = [pool.driver.span, other, pool.name.span];
        let place = place.into_iter().find(|span| span.is_written());
        let draft = report.draft(&RULE.code, place.unwrap_or(pool.name.span), message);
        let draft = draft.label(other, "this does not go with it").help(help);
        let word = help.strip_prefix("write `driver: ");
        let word = word.and_then(|rest| rest.strip_suffix('`'));
        let draft = match word.filter(|_| pool.driver.span.is_written()) {
            Some(word) => draft.replace(pool.driver.span, word),
            None => draft,
        };
        draft.emit();
    }
}

/// What does not go together: the message, the other place, the help.
fn contradiction(pool: &Pool) -> Option<(&'static str, gpuc_schema::Span, &'static str)> {
    let by_gke = pool.plugin.value == DevicePlugin::Cloud;
    let plugin = pool.plugin.span;
    match pool.driver.value {
        DriverOwner::Preinstalled if !by_gke => Some((
            "GKE's driver install does nothing on nodes that its device plugin is kept off",
            plugin,
            "write `driver: daemonSet`",
        )),
        DriverOwner::Operator if by_gke => Some((
            "GKE's device plugin does not find the driver that the GPU Operator installs",
            plugin,
            "write `driver: preinstalled`",
        )),
        DriverOwner::DaemonSet if by_gke && is_cut(pool) => Some((
            "GKE cuts GPUs into slices only where it installs the driver",
            pool.written.sharing.span,
            "write `driver: preinstalled`",
        )),
        _ => None,
    }
}

fn is_cut(pool: &Pool) -> bool {
    matches!(pool.sharing.get(), Some(Sharing::Mig { .. }))
}
