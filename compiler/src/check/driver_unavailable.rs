//! Nobody of this name installs drivers in this cloud.

use super::Rule;
use super::places::Once;
use super::places::drivers;
use super::words::{one_of, word};
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// Nobody of this name installs drivers in this cloud.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2028",
        name: "driver-unavailable",
        severity: Severity::Error,
        summary: "nobody of this name installs drivers in this cloud",
        explain: "### What it checks

Whether `stack.driver` is one of the ways in which a driver comes to the cloud's nodes.

### Why it matters

A driver that is installed twice breaks the node, and so does one that is installed in a place
where the image keeps its own.

### What to do

Write one of the ways that the help lists, or leave the key out.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {azure: {subscription: 00000000-1111-2222-3333-444444444444, resourceGroup: ml, location: eastus, cluster: {existing: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: Standard_NC4as_T4_v3
    nodes: {count: 1}
    stack: {driver: daemonSet}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {azure: {subscription: 00000000-1111-2222-3333-444444444444, resourceGroup: ml, location: eastus, cluster: {existing: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: Standard_NC4as_T4_v3
    nodes: {count: 1}
    stack: {driver: preinstalled}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let facts = cluster.cloud.facts();
    let mut once = Once::default();
    for (pool, _) in cluster.gpu_pools() {
        let driver = pool.driver;
        if facts.drivers.contains(&driver.value) || !once.is_new(driver.span) {
            continue;
        }
        let message = format!(
            "the driver cannot come by `{}` on {}",
            word(&driver),
            facts.name
        );
        let draft = report.draft(&RULE.code, driver.span, message);
        let known = drivers(facts);
        let draft = draft.help(one_of(known.iter().copied()));
        match known.as_slice() {
            [only] => draft.replace(driver.span, word(only)).emit(),
            _ => draft.emit(),
        };
    }
}
