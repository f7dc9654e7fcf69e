//! Driver version that the driver owner cannot install.

use gpuc_schema::config::{DriverOwner, OsFamily};

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2608",
        name: "gke-driver-version",
        severity: Severity::Error,
        summary: "the driver version cannot be installed here",
        checks: r"Whether the driver owner can install `driverVersion`. If GKE installs the driver, the version is `default`
or `latest`. If a DaemonSet runs the installer of the node image, it can also be a full version such as
`580.65.06`. `latest` is available only on Container-Optimized OS.",
        reason: r"GKE offers two drivers for a node image and no others. The installers download one exact version; a
driver branch alone does not identify one.",
        remedy: r"Remove `driverVersion` to use the version that GKE has tested, or write one of the supported values.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {gcp: {project: acme-ml-prod, location: us-central1-a, nodeServiceAccount: gke-nodes@acme-ml-prod.iam.gserviceaccount.com, cluster: {existing: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: g2-standard-8
    nodes: {count: 1}
    stack: {driverVersion: "580"}
"#,
        correction: Correction::Replace(r#"driverVersion: "580""#, r#"driverVersion: "580.65.06""#),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for (pool, _) in cluster.gpu_pools() {
        let Some(version) = &pool.driver_version else {
            continue;
        };
        let is_cos = pool.os.value == OsFamily::ContainerOptimized;
        let (is_supported, help) = match (pool.driver.value, is_cos) {
            (DriverOwner::Preinstalled, true) => (
                ["default", "latest"].contains(&version.as_str()),
                "write `default` or `latest`",
            ),
            (DriverOwner::Preinstalled, false) => (**version == *"default", "write `default`"),
            (DriverOwner::DaemonSet, true) => (
                ["default", "latest"].contains(&version.as_str()) || is_full_version(version),
                "write `default`, `latest`, or a full version such as `580.65.06`",
            ),
            (DriverOwner::DaemonSet, false) => (
                **version == *"default" || is_full_version(version),
                "write `default`, or a full version such as `580.65.06`",
            ),
            (DriverOwner::Operator | DriverOwner::Host, _) => continue,
        };
        if !is_supported {
            let message = format!(
                "driver version `{version}` is not supported for pool `{}`",
                pool.name
            );
            report
                .diagnostic(&RULE.code, version.span, message)
                .label(pool.driver.span, "the driver owner is set here")
                .label(pool.os.span, "the operating system is set here")
                .help(help)
                .emit();
        }
    }
}

/// Whether `version` is a full version: `580.65.06`.
fn is_full_version(version: &str) -> bool {
    let parts: Vec<_> = version.split('.').collect();
    let number = |part: &&str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    (2..=3).contains(&parts.len()) && parts.iter().all(number)
}
