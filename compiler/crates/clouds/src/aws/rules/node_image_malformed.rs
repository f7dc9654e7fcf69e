//! The release of a node image that cannot exist.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_schema::config::NodeImage;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::super::node_group::family_name;
use super::super::node_image::release_form;
use super::{created_pools, karpenter};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2563",
        name: "node-image-malformed",
        severity: Severity::Error,
        summary: "a release of a node image does not exist for the operating system or the Kubernetes version",
        checks: "Whether the release in `nodeImage` has the form that the image uses: for node groups
`1.36.2-20261101` (Amazon Linux 2023) or `1.66.0-7b8c9d0e` (Bottlerocket), for nodes of Karpenter `v20261101` or
`v1.66.0`. A release of Amazon Linux 2023 for node groups must begin with `kubernetes.version`. EKS has no releases of
Ubuntu and Amazon Linux 2.",
        reason: "EKS rejects the release when it creates or updates the node group, and Karpenter finds no image.",
        remedy: "Write a release that exists, or `nodeImage: {channel: latest}`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: gpu, machine: g6.xlarge, nodes: {count: 2}, nodeImage: {version: 1.35.2-20261101}}
"#,
        correction: Correction::Replace("1.35.2", "1.36.2"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let Some(version) = cluster.kubernetes.get() else {
        return;
    };
    for pool in created_pools(cluster) {
        let Some(image) = &pool.settings.node_image else {
            continue;
        };
        let is_karpenter = karpenter::provisions(cluster, pool);
        let family = family_name(pool.os.value);
        let Some(form) = release_form(pool.os.value, is_karpenter, version.value) else {
            let message = format!("the node image `{family}` has no releases in EKS");
            report
                .diagnostic(&RULE.code, image.span, message)
                .label(pool.os.span, "the operating system is set here")
                .help("remove `nodeImage`, or use `AmazonLinux2023` or `Bottlerocket`")
                .emit();
            continue;
        };
        let NodeImage::Version(release) = &image.value else {
            continue;
        };
        if !(form.is_valid)(release) {
            let nodes = if is_karpenter {
                "nodes of Karpenter"
            } else {
                "node groups"
            };
            let message = format!("`{release}` is not a release of `{family}` for {nodes}");
            report
                .diagnostic(&RULE.code, release.span, message)
                .help(format!(
                    "write a release such as `{}`, or `nodeImage: {{channel: latest}}`",
                    form.example
                ))
                .emit();
        } else if form.has_kubernetes_version
            && !release.starts_with(&format!("{}.", version.value))
        {
            let message = format!(
                "release `{release}` is not for Kubernetes {}",
                version.value
            );
            report
                .diagnostic(&RULE.code, release.span, message)
                .label(version.span, "the Kubernetes version is set here")
                .help(format!("write a release such as `{}`", form.example))
                .emit();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{HEAD, codes};

    #[test]
    fn form_depends_on_image_and_provisioner() {
        for (pool, release, is_valid) in [
            (
                "machine: g6.xlarge, nodes: {count: 1}",
                "1.36.2-20261101",
                true,
            ),
            (
                "machine: g6.xlarge, nodes: {count: 1}",
                "1.36.2-latest",
                false,
            ),
            ("machine: g6.xlarge, nodes: {count: 1}", "v20261101", false),
            (
                "machine: g6.xlarge, nodes: {count: 1}, os: {family: Bottlerocket}",
                "1.66.0-7b8c9d0e",
                true,
            ),
            (
                "machine: g6.xlarge, nodes: {count: 1}, os: {family: Bottlerocket}",
                "1.66.0",
                false,
            ),
            (
                "machine: m7i.large, nodes: {min: 0, max: 2}",
                "v20261101",
                true,
            ),
            (
                "machine: m7i.large, nodes: {min: 0, max: 2}",
                "1.36.2-20261101",
                false,
            ),
            (
                "machine: m7i.large, nodes: {min: 0, max: 2}, os: {family: Bottlerocket}",
                "v1.66.0",
                true,
            ),
            (
                "machine: m7i.large, nodes: {count: 1}, os: {family: Ubuntu2404}",
                "1.36.2-20261101",
                false,
            ),
        ] {
            let yaml = format!(
                "{HEAD}autoscaler: karpenter\nnodePools: [{{name: system, machine: m7i.large, nodes: {{count: 2}}}}, \
                 {{name: a, {pool}, nodeImage: {{version: {release}}}}}]"
            );
            let is_found = codes(&yaml).contains(&"GPUC2563");
            assert_eq!(!is_found, is_valid, "{pool}: {release}");
        }
    }
}
