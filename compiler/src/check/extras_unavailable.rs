//! Somebody hands out GPUs who hands out nothing beside them.

use gpuc_schema::config::DevicePlugin;

use super::Rule;
use super::words::{word, words};
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// Somebody hands out GPUs who hands out nothing beside them.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2063",
        name: "extras-unavailable",
        severity: Severity::Error,
        summary: "extras are asked for where the device plugin has none to give",
        explain: r"### What it checks

Whether gpuc-runtime or NVIDIA's device plugin advertises the GPUs of every pool that `extras` is
for, be it the pool's own list or the cluster's.

### Why it matters

The plugins of clouds and operating systems hand out GPUs alone: containers would look in vain for
GDRCopy, GPUDirect Storage, network cards or IMEX channels.

### What to do

Write `extras: []` in the pool's `stack`, or another `devicePlugin`.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {extras: [gdrcopy]}
nodePools:
  - name: gpu
    machine: g6.xlarge
    nodes: {count: 1}
    os: {family: Bottlerocket}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {extras: [gdrcopy]}
nodePools:
  - name: gpu
    machine: g6.xlarge
    nodes: {count: 1}
    os: {family: Bottlerocket}
    stack: {extras: []}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for (pool, _) in cluster.gpu_pools() {
        let Some(first) = pool.extras.first() else {
            continue;
        };
        if pool.plugin.value != DevicePlugin::Cloud {
            continue;
        }
        let extras = words(pool.extras.iter().map(|extra| &extra.value));
        let message = format!("containers of pool `{}` do not get {extras}", pool.name);
        let draft = report.draft(&RULE.code, first.span, message);
        let plugin = format!(
            "`{}` advertises the GPUs, and nothing else",
            word(&pool.plugin)
        );
        draft
            .label(pool.plugin.span, plugin)
            .help("write `extras: []` in the pool's `stack`, or another `devicePlugin`")
            .emit();
    }
}

#[cfg(test)]
mod tests {
    use crate::check::testing::messages;

    #[test]
    fn each_pool_is_asked_by_its_own_list() {
        let found = messages(
            "
            cloud: {gcp: {project: acme-ml-prod, location: us-central1-a, cluster: {existing: {}}}}
            stack: {devicePlugin: cloud, extras: [gdrcopy, gds]}
            nodePools:
              - {name: a, machine: g2-standard-8, nodes: {count: 1}}
              - {name: b, machine: g2-standard-8, nodes: {count: 1}, stack: {extras: []}}
              - {name: c, machine: g2-standard-8, nodes: {count: 1}, stack: {devicePlugin: nvidia}}
              - {name: d, machine: e2-standard-4, nodes: {count: 1}}
            ",
            "GPUC2063",
        );
        assert_eq!(
            found,
            ["containers of pool `a` do not get `gdrcopy`, `gds`"]
        );
    }
}
