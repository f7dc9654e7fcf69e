//! The local disks of EC2 instances, and what becomes of them on a node.

use gpuc_schema::config::{LocalDisks, OsFamily};
use gpuc_schema::{Span, Spanned};
use serde_json::json;

use super::machines;
use crate::model::{MachineType, Pool};

/// What may become of a pool's local disks: nothing to choose where the machine has none that is known.
pub(super) fn choices(pool: &Pool) -> &'static [LocalDisks] {
    let Some(MachineType::Catalog(machine)) = pool.machine.get() else {
        return &[];
    };
    let disks = machines::find(machine.name).and_then(|it| it.local_nvme_gb);
    if disks.is_none_or(|gb| gb == 0) {
        return &[];
    }
    match pool.os.value {
        OsFamily::AmazonLinux2023 => &[LocalDisks::None, LocalDisks::Scratch],
        _ => &[LocalDisks::None],
    }
}

/// Where the disks hold what containers write.
pub(super) fn scratch(pool: &Pool) -> Option<Span> {
    let written: Spanned<LocalDisks> = pool.written.local_disks?;
    (written.value == LocalDisks::Scratch).then_some(written.span)
}

/// What nodeadm makes of it: one RAID 0 of all disks, below the kubelet's and containerd's folders and pods' logs.
///
/// Source: awslabs/amazon-eks-ami:nodeadm/doc/api.md (`LocalStorageOptions`) and doc/usage/al2023.md;
/// <https://github.com/eksctl-io/eksctl/pull/8078> and eksctl-io/eksctl:pkg/nodebootstrap/al2023.go (eksctl puts the
/// `NodeConfig` of `overrideBootstrapCommand` into the launch template, and EKS merges its own into it), 2026-11-21.
pub(super) fn node_config() -> String {
    let config = json!({
        "apiVersion": "node.eks.aws/v1alpha1",
        "kind": "NodeConfig",
        "spec": {"instance": {"localStorage": {"strategy": "RAID0"}}},
    });
    // JSON is YAML, and nodeadm reads either.
    format!("{config:#}\n")
}
