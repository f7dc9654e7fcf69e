//! No component creates the MIG devices of a pool.

use gpuc_schema::config::{CloudSection, DevicePlugin};

use gpuc_model::check::Rule;
use gpuc_model::{Cluster, Sharing};
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2051",
        name: "mig-not-managed",
        severity: Severity::Error,
        summary: "no component creates the MIG devices of a pool",
        checks: "Whether a component creates the MIG devices of a pool with `sharing.mig`. gpuc-runtime does where it
advertises the GPUs, and some clouds do when they create the nodes. NVIDIA's device plugin does not.",
        reason: "The plugin advertises the MIG devices that it finds. It would find none: with `mixed`, the nodes
would advertise full GPUs; with `single`, the plugin would not start.",
        remedy: "Write `devicePlugin: gpuc`. Existing pools are not checked.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {onPrem: {context: demo}}
stack: {devicePlugin: nvidia}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [node-1]
    nodes: {count: 1}
    sharing: {mig: {strategy: mixed, perGpu: [{layout: [{profile: 1g.6gb, count: 4}]}]}}
"#,
        correction: Correction::Replace("devicePlugin: nvidia", r#"devicePlugin: gpuc, runtimeImage: "registry.example.com/gpuc-runtime:0.1.0""#),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    // The plugin of a provider, on nodes that a NodePool of gpuc creates: no field of it has a MIG layout.
    let is_existing = matches!(cluster.config.cloud.value, CloudSection::Existing(_));
    let of_provider = cluster.pools_advertised_by(DevicePlugin::Cloud);
    let of_provider = of_provider.filter(|_| is_existing);
    for pool in cluster
        .pools_advertised_by(DevicePlugin::Nvidia)
        .chain(of_provider)
    {
        let is_mig = matches!(pool.sharing.get(), Some(Sharing::Mig { .. }));
        if !is_mig || pool.is_existing() || cluster.cloud.partitions_gpus(pool) {
            continue;
        }
        let message = format!(
            "no component creates the MIG devices of pool `{}`",
            pool.name
        );
        report
            .diagnostic(&RULE.code, pool.sharing_span, message)
            .label(
                pool.plugin.span,
                "this plugin advertises MIG devices, but does not create them",
            )
            .help(if is_existing && pool.plugin.value == DevicePlugin::Cloud {
                "remove `sharing`, or create the MIG devices yourself and select the nodes with `existing`"
            } else {
                "write `devicePlugin: gpuc` in the pool's `stack`, which creates them"
            })
            .emit();
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::messages_with_id;

    #[test]
    fn no_field_of_a_node_pool_has_a_layout() {
        let file = |pool: &str| {
            format!("
cloud: {{existing: {{provider: coreweave}}}}
nodePools:
  - {{name: gpu, gpu: {{model: H100, perNode: 8}}, nodes: {{count: 1}}, {pool}, sharing: {{mig: {{strategy: mixed, perGpu: [{{layout: [{{profile: 3g.40gb, count: 2}}]}}]}}}}}}
")
        };
        let found = messages_with_id(&file("machine: gd-8xh100ib-i128"), "GPUC2051");
        assert_eq!(
            found,
            ["no component creates the MIG devices of pool `gpu`"]
        );
        assert_eq!(
            messages_with_id(&file("existing: {selector: {a: b}}"), "GPUC2051"),
            [""; 0]
        );
    }
}
