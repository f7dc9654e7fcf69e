//! The release of a node image in the file.

use gpuc_model::cloud::machine::CpuArchitecture;
use gpuc_model::plan::Lookup;
use gpuc_model::{Cluster, KubernetesVersion};
use gpuc_schema::Spanned;
use gpuc_schema::config::{NodeImage, NodeImageChannel, OsFamily};
use gpuc_syntax::node::Origin;
use serde_json::{Value, json};

use super::commands::{Target, aws};
use super::node_group::{NodeGroup, managed_pools};
use super::{cpu, karpenter};

/// The release of the image of a managed node group.
pub(super) struct Release {
    /// The version in the file.
    pub(super) version: Option<String>,
    /// The desired value of the field.
    pub(super) desired: Value,
    /// How the scripts read the newest release, with a channel.
    pub(super) lookup: Option<Lookup>,
    /// The origin of the value.
    pub(super) origin: Origin,
}

/// The release in the file, if there is one.
pub(super) fn release(group: &NodeGroup<'_>, target: &Target) -> Option<Release> {
    let image = group.pool.settings.node_image.as_ref()?;
    let kubernetes = group.cluster.kubernetes.expect_resolved();
    let origin = Origin::rule(
        [image.span, kubernetes.span],
        "the release of the node image is set in the file",
    );
    let version = kubernetes.to_string();
    Some(match &image.value {
        NodeImage::Version(release) => Release {
            version: Some(release.value.clone()),
            desired: json!({"kubernetes": version, "release": release.value}),
            lookup: None,
            origin,
        },
        NodeImage::Channel(channel) => match channel.value {
            NodeImageChannel::Latest => Release {
                version: None,
                desired: json!({"kubernetes": version, "release": "the newest"}),
                lookup: Some(newest_release(group, target, kubernetes.value)),
                origin,
            },
        },
    })
}

/// Reads the newest release of a node group's image from a public parameter of AWS.
///
/// Source: awsdocs/amazon-eks-user-guide `retrieve-ami-id`, and Bottlerocket's documentation of its parameters, as
/// read for eksctl-io/eksctl:pkg/ami/ssm_resolver.go @99984adb, 2026-11-22. `release_version` of Amazon Linux 2023 is
/// derived from the example for Amazon Linux 2.
fn newest_release(group: &NodeGroup<'_>, target: &Target, version: KubernetesVersion) -> Lookup {
    let is_arm = cpu::architecture(group.machine.value) == CpuArchitecture::Arm64;
    let architecture = if is_arm { "arm64" } else { "x86_64" };
    let has_driver = group.ami_type().ends_with("_NVIDIA");
    let parameter = if group.pool.os.value == OsFamily::Bottlerocket {
        let suffix = if has_driver { "-nvidia" } else { "" };
        format!(
            "/aws/service/bottlerocket/aws-k8s-{version}{suffix}/{architecture}/latest/image_version"
        )
    } else {
        let variant = if has_driver { "nvidia" } else { "standard" };
        format!(
            "/aws/service/eks/optimized-ami/{version}/amazon-linux-2023/{architecture}/{variant}/recommended/release_version"
        )
    };
    Lookup {
        command: aws(["ssm", "get-parameter"], &target.region)
            .with_arguments(["--name", &parameter, "--output", "json"]),
        read: format!(
            r#"{{kubernetes: "{version}", release: (.Parameter.Value // error("no value"))}}"#
        ),
    }
}

/// The form of a release, with an example.
pub(super) struct ReleaseForm {
    /// An example.
    pub(super) example: String,
    /// Whether a text has the form.
    pub(super) is_valid: fn(&str) -> bool,
    /// Whether the release begins with the Kubernetes version.
    pub(super) has_kubernetes_version: bool,
}

/// The form of a release of an image: for node groups, EKS's release versions; for Karpenter, the versions of its
/// aliases. `None` for images that EKS does not publish.
///
/// Source: botocore 1.43.11 eks `releaseVersion`; aws/karpenter-provider-aws@v1.14.1 `pkg/apis/v1/ec2nodeclass.go`
/// (aliases); awslabs/amazon-eks-ami releases; the hash of Bottlerocket's releases is from memory.
pub(super) fn release_form(
    family: OsFamily,
    is_karpenter: bool,
    version: KubernetesVersion,
) -> Option<ReleaseForm> {
    Some(match (family, is_karpenter) {
        (OsFamily::AmazonLinux2023, false) => ReleaseForm {
            example: format!("{version}.2-20261101"),
            is_valid: |text| {
                text.split_once('-')
                    .is_some_and(|(version, day)| is_numbers(version, 3) && is_day(day))
            },
            has_kubernetes_version: true,
        },
        (OsFamily::Bottlerocket, false) => ReleaseForm {
            example: "1.66.0-7b8c9d0e".to_owned(),
            is_valid: |text| {
                text.split_once('-').is_some_and(|(version, hash)| {
                    is_numbers(version, 3)
                        && !hash.is_empty()
                        && hash.bytes().all(|b| b.is_ascii_hexdigit())
                })
            },
            has_kubernetes_version: false,
        },
        (OsFamily::AmazonLinux2023, true) => ReleaseForm {
            example: "v20261101".to_owned(),
            is_valid: |text| text.strip_prefix('v').is_some_and(is_day),
            has_kubernetes_version: false,
        },
        (OsFamily::Bottlerocket, true) => ReleaseForm {
            example: "v1.66.0".to_owned(),
            is_valid: |text| text.strip_prefix('v').is_some_and(|it| is_numbers(it, 3)),
            has_kubernetes_version: false,
        },
        _ => return None,
    })
}

/// The name of a release in an alias of Karpenter, if the file sets one.
pub(super) fn alias_release(image: Option<&Spanned<NodeImage>>) -> Option<&str> {
    Some(match &image?.value {
        NodeImage::Version(version) => version.as_str(),
        NodeImage::Channel(channel) => match channel.value {
            NodeImageChannel::Latest => "latest",
        },
    })
}

/// What upgrades the node images of the pools.
pub(super) fn notes(cluster: &Cluster) -> Vec<String> {
    let (mut kept, mut followed, mut replaced) = (Vec::new(), Vec::new(), Vec::new());
    for pool in managed_pools(cluster) {
        let group = NodeGroup::new(cluster, pool);
        let name = pool.name.as_str();
        match pool.settings.node_image.as_ref().map(|image| &image.value) {
            _ if !group.has_eks_image() => replaced.push(name),
            None => kept.push(name),
            Some(NodeImage::Channel(_)) => followed.push(name),
            // The file has the release, and a change of it is an upgrade.
            Some(NodeImage::Version(_)) => {}
        }
    }
    let provisioned = karpenter::provisioned_pools(cluster).filter(|pool| {
        let image = pool.settings.node_image.as_ref();
        image.is_none_or(|image| matches!(image.value, NodeImage::Version(_)))
    });
    let provisioned: Vec<_> = provisioned.map(|pool| pool.name.as_str()).collect();
    let rows = [
        (
            kept,
            "fixed at the creation of the node group until the Kubernetes version changes. Nothing installs security \
             fixes in between: to upgrade, set nodeImage.",
        ),
        (
            followed,
            "the newest release. cloud/verify.sh reports a newer one, and cloud/apply.sh --allow-disruption \
             replaces the nodes.",
        ),
        (
            replaced,
            "fixed until the node group is replaced. EKS does not upgrade Ubuntu.",
        ),
        (
            provisioned,
            "pinned. Karpenter replaces the nodes when the release in the EC2NodeClass changes.",
        ),
    ];
    let rows = rows.into_iter().filter(|(pools, _)| !pools.is_empty());
    rows.map(|(pools, text)| format!("Node images of {}: {text}", pools.join(", ")))
        .collect()
}

fn is_numbers(text: &str, count: usize) -> bool {
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    text.split('.').count() == count && text.split('.').all(is_number)
}

fn is_day(text: &str) -> bool {
    text.len() == 8 && text.bytes().all(|b| b.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::super::testing::{command_line, provision};
    use gpuc_model::plan::{Field, Resource};
    use serde_json::json;

    fn release_field(pool: &str) -> Field {
        let resources = provision(&format!(
            "nodePools: [{{name: a, nodes: {{count: 1}}, {pool}}}]"
        ))
        .resources;
        let is_group = |it: &&Resource| it.kind.name == "EKS node group";
        let group = resources.iter().find(is_group).expect("a node group");
        let mut fields = group.fields.iter();
        let has_kind = |field: &&Field| field.kind.name == "node image release";
        fields.find(has_kind).expect("the field").clone()
    }

    #[test]
    fn newest_release_is_read_from_the_parameter_of_the_image() {
        for (pool, path) in [
            (
                "machine: g6.xlarge",
                "eks/optimized-ami/1.36/amazon-linux-2023/x86_64/nvidia/recommended/release_version",
            ),
            (
                "machine: m7g.large",
                "eks/optimized-ami/1.36/amazon-linux-2023/arm64/standard/recommended/release_version",
            ),
            (
                "machine: g6.xlarge, os: {family: Bottlerocket}",
                "bottlerocket/aws-k8s-1.36-nvidia/x86_64/latest/image_version",
            ),
            (
                "machine: m7g.large, os: {family: Bottlerocket}",
                "bottlerocket/aws-k8s-1.36/arm64/latest/image_version",
            ),
        ] {
            let field = release_field(&format!("{pool}, nodeImage: {{channel: latest}}"));
            let lookup = field.lookup.expect("a lookup");
            let command = command_line(&lookup.command);
            assert_eq!(
                command,
                format!(
                    "aws ssm get-parameter --region us-east-1 --name /aws/service/{path} --output json"
                )
            );
            let update = command_line(&field.update[0]);
            assert!(update.ends_with("--kubernetes-version 1.36"), "{update}");
        }
    }

    #[test]
    fn pinned_release_is_desired() {
        let field = release_field("machine: g6.xlarge, nodeImage: {version: 1.36.2-20261101}");
        assert_eq!(
            field.desired,
            json!({"kubernetes": "1.36", "release": "1.36.2-20261101"})
        );
        assert!(field.lookup.is_none());
        let update = command_line(&field.update[0]);
        assert!(
            update.ends_with("--kubernetes-version 1.36 --release-version 1.36.2-20261101"),
            "{update}"
        );
    }
}
