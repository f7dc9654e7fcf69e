//! The GPU Operator cannot install a driver on a node image.

use gpuc_schema::config::DriverOwner;

use super::Rule;
use super::places::drivers;
use super::words::{one_of, word, words};
use crate::cloud::OsFacts;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// The GPU Operator cannot install a driver on a node image.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2090",
        name: "operator-driver-impossible",
        severity: Severity::Error,
        summary: "the GPU Operator cannot install a driver on a node image",
        explain: "### What it checks

Whether the node image of a pool whose driver comes by the GPU Operator has no driver yet, and is
of an operating system that NVIDIA makes driver containers for.

### Why it matters

Two drivers load the same kernel modules, and the second one fails. Where there is no container
for the operating system, the operator waits for an image that does not exist. Either way the
nodes never offer a GPU.

### What to do

Choose an image that the help names, or another way for the driver to come.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {driver: operator, devicePlugin: operator}
nodePools:
  - {name: system, machine: m7i.xlarge, nodes: {count: 2}}
  - {name: gpu, machine: g6.xlarge, nodes: {count: 1}, os: {family: AmazonLinux2023}}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {driver: operator, devicePlugin: operator}
nodePools:
  - {name: system, machine: m7i.xlarge, nodes: {count: 2}}
  - {name: gpu, machine: g6.xlarge, nodes: {count: 1}, os: {family: Ubuntu2404}}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let facts = cluster.cloud.facts();
    let version = cluster.kubernetes.get().map(|version| version.value);
    let fits = |os: &&OsFacts| version.is_none_or(|version| os.kubernetes.contains(&version));
    for (pool, _) in cluster.gpu_pools() {
        if pool.driver.value != DriverOwner::Operator {
            continue;
        }
        let os = cluster.cloud.os(pool.os.value);
        let Some(Err(reason)) = os.map(|os| os.operator.driver) else {
            continue;
        };
        let family = word(&pool.os);
        let message = format!(
            "the GPU Operator cannot install the driver of pool `{}`",
            pool.name
        );
        let places = [pool.driver.span, pool.os.span, pool.name.span];
        let place = places.into_iter().find(|span| span.is_written());
        let draft = report.draft(&RULE.code, place.unwrap_or(pool.name.span), message);
        let draft = draft.label(pool.os.span, format!("the image `{family}`"));
        let able = facts.os.iter().filter(|os| os.operator.driver.is_ok());
        let able = words(able.filter(fits).map(|os| &os.family));
        let others = drivers(facts).into_iter();
        let others = others.filter(|driver| **driver != DriverOwner::Operator);
        let others = one_of(others);
        let help = match able.as_str() {
            "" => format!("{family} {reason}: {others} as `driver`"),
            able => format!("{family} {reason}: choose {able}, or {others} as `driver`"),
        };
        draft.help(help).emit();
    }
}
