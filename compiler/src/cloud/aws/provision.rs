//! What the scripts of an EKS cluster do.

use gpuc_schema::config::AwsCluster;

use super::commands::{Target, aws};
use super::{addons, autoscaler, cluster, eksctl, karpenter, node_group, pool, section};
use crate::check::Checked;
use crate::node::Origin;
use crate::plan::{Contents, Credentials, File, IdentityCheck, Provisioning};

/// What to make.
pub(super) fn provision(checked: Checked<'_>) -> Provisioning {
    let section = section(&checked.written);
    let target = Target::cluster(&checked);
    let made = node_group::pools(&checked);
    let resources: Vec<_> = cluster::resource(checked)
        .into_iter()
        .chain(made.map(|it| pool::resource(checked, it)))
        .chain(addons::resources(checked))
        .chain(autoscaler::identity(checked))
        .chain(karpenter::resources(&checked))
        .collect();
    let file = File {
        path: eksctl::PATH.to_owned(),
        contents: Contents::Yaml(eksctl::config(checked)),
        origin: Origin::rule(
            [section.cluster.span],
            "eksctl makes the cluster and its node groups",
        ),
    };
    let tools = if resources.is_empty() {
        vec!["aws", "jq"]
    } else {
        vec!["aws", "eksctl", "jq"]
    };
    Provisioning {
        tools,
        identity: identity(checked, &target),
        files: if resources.is_empty() {
            Vec::new()
        } else {
            let karpenter = karpenter::file(&checked);
            std::iter::once(file).chain(karpenter).collect()
        },
        resources,
        credentials: Credentials::Fetch(
            aws(["eks", "update-kubeconfig"], &target.region).with(["--name", &target.cluster]),
        ),
    }
}

fn identity(checked: Checked<'_>, target: &Target) -> Vec<IdentityCheck> {
    let section = section(&checked.written);
    let account = IdentityCheck {
        what: "AWS account",
        is_place: true,
        ask: aws(["sts", "get-caller-identity"], &target.region)
            .with(["--query", "Account", "--output", "text"]),
        want: section.account.value.clone(),
        otherwise: format!(
            "sign in to account {}, or choose its profile with AWS_PROFILE",
            section.account
        ),
    };
    if matches!(section.cluster.value, AwsCluster::Create(_)) {
        return vec![account];
    }
    // Nobody but the owner of a cluster raises its version, and its node groups must not be ahead of it.
    let version = checked.kubernetes.sure();
    let existing = IdentityCheck {
        what: "Kubernetes version of the EKS cluster",
        is_place: false,
        ask: cluster::describe(target).with(["--query", "cluster.version", "--output", "text"]),
        want: version.to_string(),
        otherwise: "write the version that the cluster has as kubernetes.version".to_owned(),
    };
    vec![account, existing]
}
