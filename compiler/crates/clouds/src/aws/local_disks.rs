//! The local disks of EC2 instances, and how nodes use them.

use gpuc_model::cloud::NodeDisk;
use gpuc_model::{MachineType, Pool};
use gpuc_schema::config::{LocalDisks, OsFamily};
use gpuc_schema::{Span, Spanned};
use serde_json::{Value, json};

use super::machines;

/// The supported uses of a pool's local disks; empty if the machine type has no known local disks.
pub(super) fn supported_uses(pool: &Pool) -> &'static [LocalDisks] {
    let Some(MachineType::Catalog(machine)) = pool.machine.get() else {
        return &[];
    };
    let disks = machines::find(machine.name).and_then(|it| it.local_nvme_gb);
    if disks.is_none_or(|gb| gb == 0) {
        return &[];
    }
    match pool.os.value {
        OsFamily::AmazonLinux2023 | OsFamily::Bottlerocket => {
            &[LocalDisks::None, LocalDisks::Scratch]
        }
        _ => &[LocalDisks::None],
    }
}

/// The location where the file configures the local disks as scratch space.
pub(super) fn scratch_span(pool: &Pool) -> Option<Span> {
    let written: Spanned<LocalDisks> = pool.settings.local_disks?;
    (written.value == LocalDisks::Scratch).then_some(written.span)
}

/// All local disks combined, as the disk for container storage.
pub(super) fn combined_disk(pool: &Pool, span: Span) -> Option<NodeDisk> {
    let Some(MachineType::Catalog(machine)) = pool.machine.get() else {
        return None;
    };
    let gb = machines::find(machine.name)?.local_nvme_gb?;
    Some(NodeDisk {
        bytes: u64::from(gb) * 1_000_000_000,
        span: Some(span),
    })
}

/// The key of eksctl's node group that configures scratch space on the node image, with its value.
pub(super) fn bootstrap_setting(pool: &Pool) -> (&'static str, Value) {
    match pool.os.value {
        OsFamily::Bottlerocket => ("bottlerocket", bottlerocket_bootstrap()),
        _ => ("overrideBootstrapCommand", json!(node_config())),
    }
}

/// The commands that Bottlerocket runs at every boot: one array of all disks, with the same folders on it.
///
/// Source: aws/karpenter-provider-aws@009da959 pkg/providers/amifamily/bootstrap/bottlerocket.go, which writes the same
/// for its `RAID0`; Bottlerocket has the commands since 1.22, before the images for Kubernetes 1.33.
fn bottlerocket_bootstrap() -> Value {
    let folders = ["/var/lib/containerd", "/var/lib/kubelet", "/var/log/pods"];
    let mut bind = vec!["apiclient", "ephemeral-storage", "bind", "--dirs"];
    bind.extend(folders);
    json!({"settings": {"bootstrap-commands": {"local-disks": {
        "commands": [["apiclient", "ephemeral-storage", "init"], bind],
        "essential": true,
        "mode": "always",
    }}}})
}

/// The configuration for nodeadm: one RAID 0 of all disks for the folders of the kubelet, containerd and pod logs.
///
/// Source: awslabs/amazon-eks-ami:nodeadm/doc/api.md (`LocalStorageOptions`) and doc/usage/al2023.md;
/// <https://github.com/eksctl-io/eksctl/pull/8078> and eksctl-io/eksctl:pkg/nodebootstrap/al2023.go (eksctl puts the
/// `NodeConfig` of `overrideBootstrapCommand` into the launch template, and EKS merges its own into it), 2026-11-21.
fn node_config() -> String {
    let config = json!({
        "apiVersion": "node.eks.aws/v1alpha1",
        "kind": "NodeConfig",
        "spec": {"instance": {"localStorage": {"strategy": "RAID0"}}},
    });
    // JSON is YAML, and nodeadm reads either.
    format!("{config:#}\n")
}

#[cfg(test)]
mod tests {
    use super::super::testing::provision;
    use gpuc_model::plan::Contents;
    use serde_json::{Value, json};

    fn group(os: &str) -> Value {
        let provisioning = provision(&format!(
            "nodePools: [{{name: gpu, machine: g5.xlarge, nodes: {{count: 1}}, localDisks: scratch, os: {{family: {os}}}}}]"
        ));
        let Contents::Yaml(node) = &provisioning.files[0].contents else {
            panic!("eksctl's file is YAML");
        };
        let file = serde_json::to_value(node).expect("a tree is JSON");
        file["managedNodeGroups"][0].clone()
    }

    #[test]
    fn each_image_has_its_own_settings() {
        let amazon = group("AmazonLinux2023");
        assert!(amazon["overrideBootstrapCommand"].is_string());
        assert_eq!(amazon["bottlerocket"], Value::Null);
        let bottlerocket = group("Bottlerocket");
        assert_eq!(bottlerocket["overrideBootstrapCommand"], Value::Null);
        let commands =
            &bottlerocket["bottlerocket"]["settings"]["bootstrap-commands"]["local-disks"];
        assert_eq!(
            commands["commands"][0],
            json!(["apiclient", "ephemeral-storage", "init"])
        );
        assert_eq!(commands["essential"], json!(true));
    }
}
