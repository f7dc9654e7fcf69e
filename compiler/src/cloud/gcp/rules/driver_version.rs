//! A driver version that the one who installs it cannot install.

use gpuc_schema::config::{DriverOwner, OsFamily};

use crate::check::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2608",
        name: "gke-driver-version",
        severity: Severity::Error,
        summary: "a driver version that cannot be chosen here",
        explain: r"### What it checks

Whether `driverVersion` is one that can be chosen: `default` or `latest` where GKE installs the
driver; these or a whole version such as `580.65.06` where the node image's installer does.
`latest` exists on Container-Optimized OS alone.

### Why it matters

GKE has two drivers for a node image and takes no other. The installers download one exact
version; a branch alone names none.

### What to do

Leave it out for the version that GKE has tested, or write one of the words.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {gcp: {project: acme-ml-prod, location: us-central1-a, cluster: {existing: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: g2-standard-8
    nodes: {count: 1}
    stack: {driverVersion: "580"}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {gcp: {project: acme-ml-prod, location: us-central1-a, cluster: {existing: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: g2-standard-8
    nodes: {count: 1}
    stack: {driverVersion: "580.65.06"}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for (pool, _) in cluster.gpu_pools() {
        let Some(version) = &pool.driver_version else {
            continue;
        };
        let is_cos = pool.os.value == OsFamily::ContainerOptimized;
        let (can, help) = match (pool.driver.value, is_cos) {
            (DriverOwner::Preinstalled, true) => (
                ["default", "latest"].contains(&version.as_str()),
                "write `default` or `latest`",
            ),
            (DriverOwner::Preinstalled, false) => (**version == *"default", "write `default`"),
            (DriverOwner::DaemonSet, true) => (
                ["default", "latest"].contains(&version.as_str()) || is_whole(version),
                "write `default`, `latest`, or a whole version such as `580.65.06`",
            ),
            (DriverOwner::DaemonSet, false) => (
                **version == *"default" || is_whole(version),
                "write `default`, or a whole version such as `580.65.06`",
            ),
            (DriverOwner::Operator | DriverOwner::Host, _) => continue,
        };
        if !can {
            let message = format!(
                "driver version `{version}` cannot be chosen for pool `{}`",
                pool.name
            );
            report
                .draft(&RULE.code, version.span, message)
                .label(pool.driver.span, "who installs it")
                .label(pool.os.span, "where")
                .help(help)
                .emit();
        }
    }
}

/// Whether this is a whole version: `580.65.06`.
fn is_whole(version: &str) -> bool {
    let parts: Vec<_> = version.split('.').collect();
    let number = |part: &&str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    (2..=3).contains(&parts.len()) && parts.iter().all(number)
}
