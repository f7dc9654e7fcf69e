//! The provider's own device plugin also runs.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_schema::config::{Allocation, DevicePlugin};
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::super::provider_facts;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2823",
        name: "provider-plugin-active",
        severity: Severity::Warning,
        summary: "the provider's device plugin also advertises the GPUs",
        checks: r#"Whether `existing.selector` of a pool on Oracle Kubernetes Engine has the label
`oci.oraclecloud.com/disable-gpu-device-plugin: "true"`, if another component than the cloud allocates its GPUs."#,
        reason: r"OKE's add-on NvidiaGpuPlugin runs on every node with GPUs that lacks this label. Two plugins on a node
advertise the same GPUs, and pods get GPUs that other pods use.",
        remedy: r"Label the nodes in the node pool of OKE, and add the label to `existing.selector`. If the add-on is
disabled for the cluster, allow this warning.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {existing: {provider: oci}}
stack: {devicePlugin: operator}
nodePools:
  - name: gpu
    gpu: {model: H100, perNode: 8}
    nodes: {count: 1}
    existing: {selector: {gpuc.dev/pool: gpu, nvidia.com/gpu.deploy.driver: "false"}}
"#,
        correction: Correction::Replace(
            "gpuc.dev/pool: gpu,",
            r#"gpuc.dev/pool: gpu, oci.oraclecloud.com/disable-gpu-device-plugin: "true","#,
        ),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let Some((key, value)) = provider_facts(cluster).plugin_switch else {
        return;
    };
    for (pool, _) in cluster.gpu_pools() {
        let is_dra = pool.allocation.value == Allocation::Dra;
        let mut selector = pool.selector.iter();
        let is_off = selector.any(|label| label.key == key && label.value == value);
        let (Some(existing), false) = (&pool.settings.existing, is_off) else {
            continue;
        };
        if !is_dra && pool.plugin.value == DevicePlugin::Cloud {
            continue;
        }
        let owner = if is_dra {
            pool.allocation.span
        } else {
            pool.plugin.span
        };
        let message = format!(
            "the provider also advertises the GPUs of pool `{}`",
            pool.name
        );
        report
            .diagnostic(&RULE.code, existing.span, message)
            .label(owner, "another component allocates them")
            .help(format!(
                "add `{key}: \"{value}\"` to `existing.selector`, and set this label in the node pool of the provider"
            ))
            .emit();
    }
}
