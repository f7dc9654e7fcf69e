//! A node image is not available for this Kubernetes version.

use gpuc_model::check::Rule;
use gpuc_model::{Cluster, SUPPORTED};
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::messages::{keyword, keyword_list, needs_driver_in_image};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2011",
        name: "os-kubernetes-mismatch",
        severity: Severity::Error,
        summary: "a node image is not available for this Kubernetes version",
        checks: "Whether the cloud has node images of the pool's operating system for `kubernetes.version`.",
        reason: "Clouds stop building images of an old family at some Kubernetes version, and start a new family at
another. The cloud would reject the pool after the cluster is created.",
        remedy: "Choose another family from the help, or another Kubernetes version. Some families that appear in
tutorials ended before the oldest version that gpuc supports, such as `AmazonLinux2` and
`Ubuntu2004` on EKS. They are replaced by `AmazonLinux2023` and `Ubuntu2404`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: g6.xlarge
    nodes: {count: 1}
    os: {family: AmazonLinux2}
"#,
        correction: Correction::Replace("AmazonLinux2", "AmazonLinux2023"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let Some(version) = cluster.kubernetes.get() else {
        return;
    };
    let facts = cluster.cloud.facts();
    for pool in &cluster.pools {
        let Some(os) = cluster.cloud.os(pool.os.value) else {
            continue;
        };
        if os.kubernetes.contains(&version.value) {
            continue;
        }
        let (first, last) = (os.kubernetes.start(), os.kubernetes.end());
        // For images without an end date, the facts contain a version beyond all supported ones.
        let range = if last > SUPPORTED.end() {
            format!("for {first} and later")
        } else {
            format!("for {first} to {last}")
        };
        let family = keyword(&os.family);
        let message = format!(
            "{} has no node image `{family}` for Kubernetes {version}",
            facts.name
        );
        let primary = if pool.os.span.is_written() {
            pool.os.span
        } else {
            pool.name.span
        };
        let builder = report.diagnostic(&RULE.code, primary, message);
        let available = facts
            .os
            .iter()
            .filter(|os| os.kubernetes.contains(&version.value))
            .filter(|os| os.has_driver || !needs_driver_in_image(pool));
        let available = keyword_list(available.map(|os| &os.family));
        if last < SUPPORTED.start() {
            // No supported version has this image.
            let help = format!(
                "its last images are for {last}, and gpuc supports {} to {}; choose {available} for {version}",
                SUPPORTED.start(),
                SUPPORTED.end()
            );
            builder.help(help).emit();
            continue;
        }
        let builder = builder.label(version.span, "this version");
        let help = format!("`{family}` is available {range}; choose {available} for {version}");
        builder.help(help).emit();
    }
}
