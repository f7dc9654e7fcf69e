//! A driver version is given where gpuc installs no driver.

use gpuc_schema::config::DriverOwner;

use super::Rule;
use super::places::unused;
use crate::diag::{Code, Report, Severity};
use crate::model::{Cluster, Pool};

/// A driver version is given where gpuc installs no driver.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2036",
        name: "driver-version-unused",
        severity: Severity::Error,
        summary: "a driver version is given where gpuc installs no driver",
        explain: "### What it checks

Whether `driverVersion` stands where something of gpuc's installs the driver: not where `driver`
is `preinstalled`.

### Why it matters

The image's or the cloud's own driver would be there, in whatever version it has.

### What to do

Remove the key, or choose who installs that version with `driver`.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0", driver: preinstalled, driverVersion: "580"}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [node-1]
    nodes: {count: 1}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0", driver: host, driverVersion: "580"}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [node-1]
    nodes: {count: 1}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    // Where the cloud lets its own driver be chosen, it has a rule of its own.
    let chosen = !cluster.cloud.facts().driver_words.is_empty();
    let installs = |pool: &Pool| chosen || pool.driver.value != DriverOwner::Preinstalled;
    for unused in unused(cluster, |stack| stack.driver_version.as_ref(), installs) {
        let message = format!("nobody installs driver {}", unused.written);
        let draft = report.draft(&RULE.code, unused.written.span, message);
        let draft = draft.label(unused.pool.driver.span, "the driver is there already");
        draft
            .help("remove `driverVersion`, or write who installs it with `driver`")
            .emit();
    }
}
