//! The device plugin does not support `extras`.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_schema::config::DevicePlugin;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::messages::{keyword, keyword_list};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2063",
        name: "extras-unavailable",
        severity: Severity::Error,
        summary: "the device plugin does not support `extras`",
        checks: "Whether gpuc-runtime or NVIDIA's device plugin advertises the GPUs of every pool that has `extras`,
its own or those of the cluster.",
        reason: "The device plugins of clouds and operating systems only allocate GPUs. Containers would not get
GDRCopy, GPUDirect Storage, network devices or IMEX channels.",
        remedy: "Write `extras: []` in the pool's `stack`, or another `devicePlugin`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {extras: [gdrcopy]}
nodePools:
  - name: gpu
    machine: g6.xlarge
    nodes: {count: 1}
    os: {family: Bottlerocket}
"#,
        correction: Correction::Replace("Bottlerocket}
", "Bottlerocket}
    stack: {extras: []}
"),
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
        let extras = keyword_list(pool.extras.iter().map(|extra| &extra.value));
        let message = format!(
            "the device plugin of pool `{}` does not support {extras}",
            pool.name
        );
        let plugin = format!("`{}` only allocates GPUs", keyword(&pool.plugin));
        report
            .diagnostic(&RULE.code, first.span, message)
            .label(pool.plugin.span, plugin)
            .help("write `extras: []` in the pool's `stack`, or another `devicePlugin`")
            .emit();
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::messages_with_id;

    #[test]
    fn each_pool_has_its_own_extras() {
        let found = messages_with_id(
            "
            cloud: {gcp: {project: acme-ml-prod, location: us-central1-a, nodeServiceAccount: gke-nodes@acme-ml-prod.iam.gserviceaccount.com, cluster: {existing: {}}}}
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
            ["the device plugin of pool `a` does not support `gdrcopy`, `gds`"]
        );
    }
}
