//! The GPU Operator cannot install a driver on a node image.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_model::cloud::OsFacts;
use gpuc_schema::config::DriverOwner;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::messages::{keyword, keyword_list, one_of_help};
use super::queries::supported_drivers;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2090",
        name: "operator-driver-unsupported",
        severity: Severity::Error,
        summary: "the GPU Operator cannot install a driver on a node image",
        checks: "Whether the node image of each pool whose driver the GPU Operator installs contains no driver yet,
and has an operating system for which NVIDIA publishes driver containers.",
        reason: "Two drivers load the same kernel modules, and the second one fails. Without a driver container for
the operating system, the operator waits for an image that does not exist. In both cases the nodes
never advertise a GPU.",
        remedy: "Choose one of the images in the help, or another value for `driver`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {driver: operator, devicePlugin: operator}
nodePools:
  - {name: system, machine: m7i.xlarge, nodes: {count: 2}}
  - {name: gpu, machine: g6.xlarge, nodes: {count: 1}, os: {family: AmazonLinux2023}}
"#,
        correction: Correction::Replace("AmazonLinux2023", "Ubuntu2404"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let facts = cluster.cloud.facts();
    let version = cluster.kubernetes.get().map(|version| version.value);
    let is_current = |os: &&OsFacts| version.is_none_or(|version| os.kubernetes.contains(&version));
    for (pool, _) in cluster.gpu_pools() {
        if pool.driver.value != DriverOwner::Operator {
            continue;
        }
        let os = cluster.cloud.os(pool.os.value);
        let Some(Err(reason)) = os.map(|os| os.operator_support.driver) else {
            continue;
        };
        let family = keyword(&pool.os);
        let message = format!(
            "the GPU Operator cannot install the driver of pool `{}`",
            pool.name
        );
        let spans = [pool.driver.span, pool.os.span, pool.name.span];
        let primary = spans.into_iter().find(|span| span.is_written());
        let usable = facts
            .os
            .iter()
            .filter(|os| os.operator_support.driver.is_ok());
        let usable = keyword_list(usable.filter(is_current).map(|os| &os.family));
        let other_drivers = one_of_help(
            supported_drivers(facts)
                .into_iter()
                .filter(|driver| **driver != DriverOwner::Operator),
        );
        let help = match usable.as_str() {
            "" => format!("`{family}` {reason}: for `driver`, {other_drivers}"),
            usable => {
                format!("`{family}` {reason}: choose {usable}, or for `driver` {other_drivers}")
            }
        };
        report
            .diagnostic(&RULE.code, primary.unwrap_or(pool.name.span), message)
            .label(pool.os.span, format!("the node image is `{family}`"))
            .help(help)
            .emit();
    }
}
