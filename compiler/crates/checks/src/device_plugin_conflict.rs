//! Two device plugins would run on a node.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_schema::config::{Allocation, DevicePlugin};
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::messages::keyword;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2032",
        name: "device-plugin-conflict",
        severity: Severity::Error,
        summary: "two device plugins would run on a node",
        checks: "Whether `devicePlugin` is `cloud` (the default there) on an operating system that advertises its
GPUs itself. The same applies to `allocation: dra`: the DRA driver would allocate the same GPUs
again.",
        reason: "Two device plugins for `nvidia.com/gpu` compete for the registration with the kubelet. Each restart
of one takes the GPUs from the other, and a GPU may be allocated to two containers.",
        remedy: "Set `devicePlugin: cloud` in the pool's `stack`, or choose another operating system.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: g6.xlarge
    nodes: {count: 1}
  - name: rocket
    machine: g6.xlarge
    nodes: {count: 1}
    os: {family: Bottlerocket}
    stack: {devicePlugin: gpuc}
"#,
        correction: Correction::Replace("devicePlugin: gpuc", "devicePlugin: cloud"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for (pool, _) in cluster.gpu_pools() {
        let advertises = cluster
            .cloud
            .os(pool.os.value)
            .is_some_and(|os| os.has_device_plugin);
        let plugin = pool.plugin;
        if !advertises || pool.is_advertised_by(DevicePlugin::Cloud) {
            continue;
        }
        let message = format!(
            "the nodes of pool `{}` advertise their GPUs themselves",
            pool.name
        );
        let is_dra = pool.allocation.value == Allocation::Dra;
        let (primary, second) = if is_dra {
            (
                pool.allocation.span,
                "the DRA driver would allocate the same GPUs again".to_owned(),
            )
        } else {
            let second = format!("`{}` would advertise them a second time", keyword(&plugin));
            (plugin.span, second)
        };
        let builder = report
            .diagnostic(&RULE.code, primary, message)
            .primary_label(second);
        let builder = builder.label(
            pool.os.span,
            "this operating system includes a device plugin",
        );
        if is_dra {
            let help =
                "set `{allocation: devicePlugin, devicePlugin: cloud}` in the pool's `stack`";
            builder.help(help).emit();
            continue;
        }
        let builder = builder.help("set `devicePlugin: cloud` in the pool's `stack`");
        // A setting in the cluster's `stack` may be correct for other pools.
        match cluster.pool_in_file(pool).stack.device_plugin {
            Some(written_plugin) => builder.replace(written_plugin.span, "cloud").emit(),
            None => builder.emit(),
        };
    }
}
