//! The Cluster Autoscaler on EKS: the values of its chart, and the IAM role of its pods.

use gpuc_model::Cluster;
use gpuc_model::check::Checked;
use gpuc_model::cloud::AUTOSCALER;
use gpuc_model::plan::{Command, Mark, Resource, ResourceKind};
use gpuc_schema::Span;
use gpuc_schema::config::{Autoscaler, AwsCluster};
use gpuc_syntax::node::Origin;
use serde_json::{Value, json};

use super::commands::Target;
use super::{cluster, cluster_name, section, state};

/// The role of the autoscaler's pods. eksctl creates it together with its association with the service account.
pub(super) static POD_ROLE: ResourceKind = ResourceKind {
    name: "EKS pod identity",
    protection: None,
    fields: &[],
    definitions: "",
    state: Some(&state::STACK),
    mark: Some(&Mark {
        name: "tag gpuc.dev/cluster",
        read: r#"any(.Stacks[0].Tags[]?; .Key == "gpuc.dev/cluster")"#,
    }),
};

/// The location where the file selects the Cluster Autoscaler, if gpuc installs it.
pub(super) fn install_span(cluster: &Cluster) -> Option<Span> {
    let is_installed = match &section(&cluster.config).cluster.value {
        AwsCluster::Existing(existing) => existing.has_autoscaler.value,
        AwsCluster::Create(_) => false,
    };
    let is_selected = cluster.autoscaler.value == Autoscaler::ClusterAutoscaler;
    (is_selected && !is_installed).then_some(cluster.autoscaler.span)
}

/// The values of the chart. The autoscaler finds node groups by tags that EKS sets on the Auto Scaling groups of every
/// managed node group.
/// Source: docs.aws.amazon.com/eks/latest/userguide/managed-node-groups.html; kubernetes/autoscaler
/// charts/cluster-autoscaler/values.yaml @cluster-autoscaler-chart-9.59.0, 2026-11-21.
pub(super) fn chart_values(checked: &Checked<'_>) -> Option<(Value, Vec<Span>)> {
    let span = install_span(checked)?;
    let section = section(&checked.config);
    let name = cluster_name(&checked.config);
    let values = json!({
        "autoDiscovery": {"clusterName": name.value},
        "awsRegion": section.region.value,
        "cloudProvider": "aws",
    });
    let spans = vec![span, name.span, section.region.span, section.cluster.span];
    Some((values, spans))
}

/// The IAM role, if gpuc installs the autoscaler.
///
/// Source: eksctl-io/eksctl:userdocs/src/usage/pod-identity-associations.md and
/// `pkg/ctl/cmdutils/pod_identity_association.go` @99984adb, 2026-08-21: the flags, and the name of the stack.
pub(super) fn pod_role(checked: Checked<'_>) -> Option<Resource> {
    let span = install_span(&checked)?;
    let target = Target::for_cluster(&checked);
    let (namespace, account) = AUTOSCALER;
    let eksctl = |verb: &str| {
        Command::new(["eksctl", verb, "podidentityassociation"]).with_arguments([
            format!("--cluster={}", target.cluster),
            format!("--region={}", target.region),
            format!("--namespace={namespace}"),
            format!("--service-account-name={account}"),
        ])
    };
    let stack = format!(
        "eksctl-{}-podidentityrole-{namespace}-{account}",
        target.cluster
    );
    Some(Resource {
        kind: &POD_ROLE,
        name: account.to_owned(),
        script: "addons".to_owned(),
        description: format!(
            "Creates and updates the IAM role of the Cluster Autoscaler in EKS cluster {}.",
            target.cluster
        ),
        observation: state::observe_stack(&stack, &target.region),
        create: vec![eksctl("create").with_arguments([
            "--well-known-policies=autoScaler".to_owned(),
            format!("--tags={}={}", cluster::MARK, target.cluster),
        ])],
        contents: None,
        manual_delete: Vec::new(),
        remnant: None,
        recovery: state::stack_recovery(&stack, &target.region),
        created_with: None,
        fields: Vec::new(),
        delete: vec![eksctl("delete")],
        origin: Origin::rule(
            [span],
            "the Cluster Autoscaler needs permission to add and remove nodes in AWS",
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::{HEAD, command_line, provision_file};
    use gpuc_model::plan::Resource;

    const POOL: &str = "autoscaler: clusterAutoscaler\n\
                        nodePools: [{name: a, machine: m7i.large, nodes: {min: 1, max: 3}}]";

    fn identity(cluster: &str) -> Option<Resource> {
        let head = HEAD.replace("{create: {}}", cluster);
        let resources = provision_file(&format!("{head}{POOL}")).resources;
        resources
            .into_iter()
            .find(|it| it.kind.name == "EKS pod identity")
    }

    #[test]
    fn autoscaler_pods_have_a_role() {
        for (cluster, name) in [
            ("{create: {}}", "demo"),
            ("{existing: {name: Other}}", "Other"),
        ] {
            let identity = identity(cluster).expect("a role");
            assert_eq!(
                command_line(&identity.create[0]),
                format!(
                    "eksctl create podidentityassociation --cluster={name} --region=us-east-1 --namespace=kube-system \
                     --service-account-name=cluster-autoscaler --well-known-policies=autoScaler \
                     --tags=gpuc.dev/cluster={name}"
                )
            );
            assert_eq!(
                command_line(&identity.observation.command),
                format!(
                    "aws cloudformation describe-stacks --region us-east-1 --stack-name \
                     eksctl-{name}-podidentityrole-kube-system-cluster-autoscaler --output json"
                )
            );
        }
    }

    #[test]
    fn existing_autoscaler_gets_no_role() {
        assert!(identity("{existing: {hasAutoscaler: true}}").is_none());
    }
}
