//! An image of a driver is given where no DaemonSet installs it.

use gpuc_schema::config::DriverOwner;

use super::Rule;
use super::places::unused;
use super::words::word;
use crate::diag::{Code, Report, Severity};
use crate::model::{Cluster, Pool};

/// An image of a driver is given where no DaemonSet installs it.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2037",
        name: "driver-image-unused",
        severity: Severity::Error,
        summary: "an image of a driver is given where no DaemonSet installs it",
        explain: "### What it checks

Whether `driverImage` stands where `driver` is `daemonSet`.

### Why it matters

Nothing would run the image.

### What to do

Remove the key, or write `driver: daemonSet` where the cloud allows it.
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
    stack: {driverImage: "registry.example.com/driver:1.0.0"}
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
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let runs = |pool: &Pool| pool.driver.value == DriverOwner::DaemonSet;
    for unused in unused(cluster, |stack| stack.driver_image.as_ref(), runs) {
        let message = "nothing runs this image of a driver";
        let draft = report.draft(&RULE.code, unused.written.span, message);
        let owner = format!("the driver comes by `{}`", word(&unused.pool.driver));
        let draft = draft.label(unused.pool.driver.span, owner);
        draft
            .help("remove `driverImage`, or write `driver: daemonSet`")
            .emit();
    }
}
