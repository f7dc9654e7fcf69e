//! The provisioning plan of an EKS cluster.

use gpuc_model::check::Checked;
use gpuc_model::plan::{Contents, Credentials, File, IdentityCheck, Provisioning};
use gpuc_schema::config::AwsCluster;
use gpuc_syntax::node::Origin;

use super::commands::{Target, aws};
use super::{addons, autoscaler, cluster, eksctl, karpenter, node_group, pool, section, state};

/// The provisioning plan of a cluster.
pub(super) fn provision(checked: Checked<'_>) -> Provisioning {
    let section = section(&checked.config);
    let target = Target::for_cluster(&checked);
    let managed_pools = node_group::managed_pools(&checked);
    let resources: Vec<_> = cluster::resource(checked)
        .into_iter()
        .chain(addons::default_addons(checked))
        .chain(managed_pools.map(|it| pool::resource(checked, it)))
        .chain(addons::resources(checked))
        .chain(autoscaler::pod_role(checked))
        .chain(karpenter::resources(&checked))
        .collect();
    let file = File {
        path: eksctl::CONFIG_PATH.to_owned(),
        contents: Contents::Yaml(eksctl::cluster_config(checked)),
        origin: Origin::rule(
            [section.cluster.span],
            "eksctl creates the cluster and its node groups",
        ),
    };
    let tools = if resources.is_empty() {
        vec!["aws", "jq"]
    } else {
        vec!["aws", "eksctl", "jq"]
    };
    Provisioning {
        tools,
        identity: identity_checks(checked, &target),
        known_errors: state::KNOWN_ERRORS,
        update_state: Some(&state::UPDATE),
        files: if resources.is_empty() {
            Vec::new()
        } else {
            let karpenter = karpenter::template_file(&checked);
            std::iter::once(file).chain(karpenter).collect()
        },
        resources,
        credentials: Credentials::Fetch(
            aws(["eks", "update-kubeconfig"], &target.region)
                .with_arguments(["--name", &target.cluster]),
        ),
    }
}

fn identity_checks(checked: Checked<'_>, target: &Target) -> Vec<IdentityCheck> {
    let section = section(&checked.config);
    let account = IdentityCheck {
        subject: "AWS account",
        is_location: true,
        query: aws(["sts", "get-caller-identity"], &target.region)
            .with_arguments(["--query", "Account", "--output", "text"]),
        expected: section.account.value.clone(),
        mismatch_message: format!(
            "sign in to account {}, or select its profile with AWS_PROFILE",
            section.account
        ),
    };
    if matches!(section.cluster.value, AwsCluster::Create(_)) {
        return vec![account];
    }
    // The scripts do not upgrade an existing cluster, and its node groups must not be newer than the cluster.
    let version = checked.kubernetes.expect_resolved();
    let existing = IdentityCheck {
        subject: "Kubernetes version of the EKS cluster",
        is_location: false,
        query: cluster::describe_command(target).with_arguments([
            "--query",
            "cluster.version",
            "--output",
            "text",
        ]),
        expected: version.to_string(),
        mismatch_message: "set kubernetes.version to the version of the cluster".to_owned(),
    };
    vec![account, existing]
}
