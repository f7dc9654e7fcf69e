//! A node image has no driver and nobody installs one.

use gpuc_schema::config::DriverOwner;

use super::Rule;
use super::words::{word, words};
use crate::cloud::OsFacts;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// A node image has no driver and nobody installs one.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2030",
        name: "driver-missing",
        severity: Severity::Error,
        summary: "a node image has no driver and nobody installs one",
        explain: "### What it checks

Whether the node image of a pool with GPUs has a driver where `stack.driver` is `preinstalled`,
on clouds that make the machines. What a pool made by hand has is its maker's business.

### Why it matters

The nodes would come up without a driver, and no container would see a GPU.

### What to do

Choose an operating system whose image has a driver, or another way for the driver to come.
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
    os: {family: Ubuntu2204}
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
    os: {family: AmazonLinux2023}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let facts = cluster.cloud.facts();
    if !facts.makes_machines {
        return;
    }
    for (pool, _) in cluster.gpu_pools().filter(|(pool, _)| !pool.is_existing()) {
        let Some(os) = cluster.cloud.os(pool.os.value) else {
            continue;
        };
        if os.has_driver || pool.driver.value != DriverOwner::Preinstalled {
            continue;
        }
        let family = word(&os.family);
        let message = format!("the nodes of pool `{}` would have no driver", pool.name);
        let place = [pool.os.span, pool.driver.span]
            .into_iter()
            .find(|span| span.is_written());
        let draft = report.draft(&RULE.code, place.unwrap_or(pool.name.span), message);
        let draft = draft.here(format!("{family} has none on {}", facts.name));
        let draft = draft.label(pool.driver.span, "nobody else installs it");
        let version = cluster.kubernetes.get().map(|version| version.value);
        let fits = |os: &&OsFacts| version.is_none_or(|version| os.kubernetes.contains(&version));
        let with = facts.os.iter().filter(|os| os.has_driver).filter(fits);
        let with = words(with.map(|os| &os.family));
        let operator = facts.drivers.contains(&DriverOwner::Operator) && os.operator.driver.is_ok();
        let help = match (facts.driver_daemon_set, operator) {
            (true, _) => {
                format!("choose an image that has one: {with}; or write `driver: daemonSet`")
            }
            (false, true) => {
                format!("choose an image that has one: {with}; or write `driver: operator`")
            }
            (false, false) => format!("choose an image that has one: {with}"),
        };
        draft.help(help).emit();
    }
}
