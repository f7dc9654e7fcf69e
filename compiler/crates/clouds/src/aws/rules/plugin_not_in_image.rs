//! `devicePlugin: cloud` on an image without a device plugin.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_schema::config::DevicePlugin;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::node_group::family_name;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2517",
        name: "plugin-not-in-image",
        severity: Severity::Error,
        summary: "`devicePlugin: cloud` is set for an image that has no device plugin",
        checks: "Whether the cloud has a device plugin for the pool's image: eksctl's plugin for Amazon Linux, or the
built-in plugin of Bottlerocket.",
        reason: "eksctl installs its plugin only for Amazon Linux. On Ubuntu, no plugin would advertise the GPUs.",
        remedy: "Use `AmazonLinux2023` or `Bottlerocket`. The Ubuntu image has no driver either, and gpuc does not
install one on EKS yet.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
nodePools:
  - {name: gpu, machine: g5.xlarge, os: {family: Ubuntu2404}, nodes: {count: 2}, stack: {driver: daemonSet, driverImage: "registry.example.com/driver:1.0.0", devicePlugin: cloud}}
"#,
        correction: Correction::Replace(r#"Ubuntu2404}, nodes: {count: 2}, stack: {driver: daemonSet, driverImage: "registry.example.com/driver:1.0.0", "#, "AmazonLinux2023}, nodes: {count: 2}, stack: {"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for pool in cluster.pools_advertised_by(DevicePlugin::Cloud) {
        let has_driver = cluster
            .cloud
            .os(pool.os.value)
            .is_some_and(|os| os.has_driver);
        if !pool.is_existing() && !has_driver {
            let family = family_name(pool.os.value);
            let message = format!("neither EKS nor eksctl has a device plugin for `{family}`");
            report
                .diagnostic(&RULE.code, pool.plugin.span, message)
                .label(pool.os.span, "the image is set here")
                .help(
                    "use the image `AmazonLinux2023` or `Bottlerocket`, with its driver and plugin",
                )
                .emit();
        }
    }
}
