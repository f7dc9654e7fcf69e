//! Two device plugins would run on a node.

use gpuc_schema::config::{Allocation, DevicePlugin};

use super::Rule;
use super::words::word;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// Two device plugins would run on a node.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2032",
        name: "plugin-twice",
        severity: Severity::Error,
        summary: "two device plugins would run on a node",
        explain: "### What it checks

Whether `devicePlugin` is `cloud` (the default there) on an operating system that advertises GPUs
itself. The same holds for `allocation: dra`, whose driver would be the second to hand them out.

### Why it matters

Two plugins for `nvidia.com/gpu` take turns at the kubelet; each restart of one takes the GPUs
from the other, and a GPU may be given to two containers.

### What to do

Write `devicePlugin: cloud` in the pool's `stack`, or choose another operating system.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
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
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
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
    stack: {devicePlugin: cloud}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for (pool, _) in cluster.gpu_pools() {
        let advertises = cluster
            .cloud
            .os(pool.os.value)
            .is_some_and(|os| os.advertises);
        let plugin = pool.plugin;
        if !advertises || pool.is_advertised_by(DevicePlugin::Cloud) {
            continue;
        }
        let message = format!(
            "the nodes of pool `{}` advertise their GPUs themselves",
            pool.name
        );
        let claimed = pool.allocation.value == Allocation::Dra;
        let (place, second) = if claimed {
            (
                pool.allocation.span,
                "the driver for claims would hand them out once more".to_owned(),
            )
        } else {
            let second = format!("`{}` would be the second to do it", word(&plugin));
            (plugin.span, second)
        };
        let draft = report.draft(&RULE.code, place, message).here(second);
        let draft = draft.label(
            pool.os.span,
            "this operating system has a device plugin inside",
        );
        if claimed {
            let help =
                "write `{allocation: devicePlugin, devicePlugin: cloud}` in the pool's `stack`";
            draft.help(help).emit();
            continue;
        }
        let draft = draft.help("write `devicePlugin: cloud` in the pool's `stack`");
        // What stands in the cluster's stack is right for other pools.
        match pool.written.stack.device_plugin {
            Some(own) => draft.replace(own.span, "cloud").emit(),
            None => draft.emit(),
        };
    }
}
