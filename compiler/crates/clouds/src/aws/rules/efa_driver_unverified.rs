//! EFA on a node image for which nothing shows that it has the driver.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_schema::config::OsFamily;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::super::node_group::family_name;
use super::created_pools;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2564",
        name: "efa-driver-unverified",
        severity: Severity::Warning,
        summary: "nothing installs the EFA driver on the node image",
        checks: "Whether a pool with EFA uses an image of EKS that contains the EFA driver: Amazon Linux or Bottlerocket.",
        reason: "Canonical's images for EKS contain no EFA installer, and neither eksctl nor gpuc installs one. EFA then
depends on the driver of the image's kernel. The image also reserves no huge pages, so that libfabric uses
slower memory.",
        remedy: "Use `AmazonLinux2023`, or remove `efa`. If you tested EFA on this image, write `allow: [efa-driver-unverified]`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {driver: operator, devicePlugin: operator}
nodePools:
  - name: gpu
    machine: g6.8xlarge
    zones: [us-east-1a]
    nodes: {count: 2}
    os: {family: Ubuntu2404}
    network: {efa: {}}
"#,
        correction: Correction::Replace("    network: {efa: {}}\n", ""),
    },
    run,
};

/// Source: eksctl-io/eksctl@99984adb has no EFA installation for Ubuntu; that the images contain none, from memory.
fn run(cluster: &Cluster, report: &mut Report) {
    for pool in created_pools(cluster) {
        let Some(efa) = &pool.settings.network.efa else {
            continue;
        };
        let is_ubuntu = matches!(
            pool.os.value,
            OsFamily::Ubuntu2004 | OsFamily::Ubuntu2204 | OsFamily::Ubuntu2404
        );
        if !is_ubuntu {
            continue;
        }
        let message = format!(
            "nothing installs the EFA driver on the node image `{}`",
            family_name(pool.os.value)
        );
        report
            .diagnostic(&RULE.code, efa.span, message)
            .label(pool.os.span, "the operating system is set here")
            .help(format!(
                "remove `efa`, or use the image `AmazonLinux2023` with its own driver; if EFA works on this image, add `allow: [{}]`",
                RULE.code.name
            ))
            .emit();
    }
}
