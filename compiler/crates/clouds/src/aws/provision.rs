//! The provisioning plan of an EKS cluster.

use std::collections::BTreeSet;

use gpuc_model::check::Checked;
use gpuc_model::plan::{Contents, Credentials, File, IdentityCheck, Provisioning, Tool};
use gpuc_schema::config::{AwsCluster, AwsCreate, AwsVpc};
use gpuc_syntax::node::Origin;

use super::commands::{Target, aws};
use super::{
    access, addons, autoscaler, cluster, eksctl, karpenter, node_group, pool, section, state,
};

/// The provisioning plan of a cluster.
pub(super) fn provision(checked: Checked<'_>) -> Provisioning {
    let section = section(&checked.config);
    let target = Target::for_cluster(&checked);
    let managed_pools = node_group::managed_pools(&checked);
    let resources: Vec<_> = cluster::resource(checked)
        .into_iter()
        .chain(addons::default_addons(checked))
        .chain(access::resources(checked))
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
        vec![AWS, Tool::any_version("jq")]
    } else {
        vec![AWS, EKSCTL, Tool::any_version("jq")]
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
        credentials: Credentials::Fetch(vec![
            aws(["eks", "update-kubeconfig"], &target.region)
                .with_arguments(["--name", &target.cluster]),
        ]),
    }
}

/// `aws` with the deletion protection of clusters, the newest of the parameters that the scripts use. Older releases do
/// not show it, so that `teardown.sh` would delete the node groups of a protected cluster.
/// Source: aws/aws-cli `.changes/1.42.3.json` @1fe39d5d and `.changes/2.28.3.json` @1298edf5, read 2026-11-29.
const AWS: Tool = Tool {
    name: "aws",
    minimum_versions: &["1.42.3", "2.28.3"],
    version_arguments: &["--version"],
    version_prefix: "aws-cli/",
};

/// eksctl that asks EKS for the supported Kubernetes versions. Older releases know only those of their time.
/// Source: eksctl-io/eksctl `docs/release_notes/0.202.0.md` @99984adb, #8144, read 2026-11-24.
const EKSCTL: Tool = Tool {
    name: "eksctl",
    minimum_versions: &["0.202.0"],
    version_arguments: &["version"],
    version_prefix: "",
};

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
    let cluster_config = match &section.cluster.value {
        AwsCluster::Existing(existing) => existing,
        AwsCluster::Create(create) => {
            let zones = zone_check(create, target);
            return std::iter::once(account).chain(zones).collect();
        }
    };
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
    let mut checks = vec![account, existing];
    if cluster_config.vpc.is_none() && node_group::managed_pools(&checked).next().is_some() {
        checks.push(stack_check(target));
    }
    checks
}

/// The IDs of the zones where EKS places no control plane, by region. The names of these zones differ between accounts.
///
/// Source: awsdocs/amazon-eks-user-guide networking/network-reqs.adoc @4d52b4d0; eksctl-io/eksctl:pkg/az/az.go
/// @99984adb (eksctl avoids them only if it selects the zones itself), read 2026-11-22.
const ZONES_WITHOUT_CONTROL_PLANE: [(&str, &str); 3] = [
    ("us-east-1", "use1-az3"),
    ("us-west-1", "usw1-az2"),
    ("ca-central-1", "cac1-az3"),
];

/// The check that EKS can place the control plane in the zones in the file.
fn zone_check(create: &AwsCreate, target: &Target) -> Option<IdentityCheck> {
    let mut rows = ZONES_WITHOUT_CONTROL_PLANE.iter();
    let (_, id) = rows.find(|(region, _)| *region == target.region)?;
    let subnets = match create.vpc.as_ref().map(|vpc| &vpc.value) {
        Some(AwsVpc::Existing(vpc)) => Some(vpc.private_subnets.iter().chain(&vpc.public_subnets)),
        Some(AwsVpc::Cidr(_)) | None => None,
    };
    let zones_of_subnets = subnets
        .into_iter()
        .flatten()
        .filter(|subnet| !subnet.nodes_only.value)
        .map(|subnet| subnet.zone.as_str());
    let zones: BTreeSet<_> = (create.zones.iter().map(|zone| zone.as_str()))
        .chain(zones_of_subnets)
        .collect();
    if zones.is_empty() {
        return None;
    }
    Some(IdentityCheck {
        subject: "list of zones in the file where EKS has no control plane",
        is_location: false,
        query: aws(["ec2", "describe-availability-zones"], &target.region)
            .with_arguments(["--zone-names"])
            .with_arguments(zones)
            .with_arguments([
                "--query".to_owned(),
                format!("AvailabilityZones[?ZoneId=='{id}'].ZoneName"),
            ])
            .with_arguments(["--output", "text"]),
        expected: String::new(),
        mismatch_message:
            "remove this zone from the zones of the cluster, or set nodesOnly for its subnets"
                .to_owned(),
    })
}

/// The check that eksctl created a cluster: it then has a CloudFormation stack, from which eksctl reads the VPC.
///
/// Source: eksctl-io/eksctl `pkg/actions/nodegroup/create.go` (`LoadClusterIntoSpecFromStack`, `loadVPCFromConfig`)
/// @01f9df54; docs.aws.amazon.com/eks/latest/eksctl/unowned-clusters.html, 2026-11-24.
fn stack_check(target: &Target) -> IdentityCheck {
    let stack = format!("eksctl-{}-cluster", target.cluster);
    IdentityCheck {
        subject: "CloudFormation stack of the cluster, which eksctl needs without a `vpc`",
        is_location: false,
        query: aws(["cloudformation", "describe-stacks"], &target.region).with_arguments([
            "--stack-name",
            &stack,
            "--query",
            "Stacks[0].StackName",
            "--output",
            "text",
        ]),
        expected: stack.clone(),
        mismatch_message:
            "if eksctl did not create the cluster, add vpc to cloud.aws.cluster.existing".to_owned(),
    }
}
