//! EKS add-ons: IAM roles for pods, CSI drivers, and monitoring of unhealthy nodes.
//!
//! They are installed after the pools, because some of them wait for nodes. The scripts never delete an add-on: the
//! add-ons of a cluster that gpuc created are deleted with it, and those of an existing cluster may have other users.
//!
//! EKS upgrades no add-on by itself. In a cluster that gpuc created, the scripts upgrade each add-on to the default
//! version for the Kubernetes version, with which eksctl installs it too. A newer version is kept: only a user can have
//! set it. The add-ons of an existing cluster are upgraded with the cluster, by its owner.

use std::collections::BTreeMap;

use gpuc_model::check::Checked;
use gpuc_model::plan::{
    Argument, Change, Command, CreatedWith, Field, FieldKind, Lookup, Observation, Recovery,
    Resource, ResourceKind,
};
use gpuc_schema::Span;
use gpuc_syntax::node::Origin;
use serde_json::json;

use super::commands::{Target, aws};
use super::{autoscaler, cluster, karpenter, section, state, storage};

/// An add-on.
pub(super) static ADDON: ResourceKind = ResourceKind {
    name: "EKS add-on",
    protection: None,
    fields: &[VERSION],
    definitions: include_str!("addon.jq"),
    state: Some(&state::ADDON),
    mark: None,
};

/// The version, such as `v1.20.4-eksbuild.2`. The pods of the add-on are restarted one after another; other pods keep
/// running.
const VERSION: FieldKind = FieldKind {
    name: "version",
    // A newer version is kept.
    read: ".addon.addonVersion | if $want != null and numbers < ($want | numbers) then . else $want end",
    create_flag: None,
    change: Change::InPlace,
    source: "botocore@0e6e2404 eks DescribeAddonVersions and UpdateAddon; eksctl-io/eksctl:pkg/actions/addon/addon.go \
             @99984adb, read 2026-11-22",
};

/// The network plugin, if gpuc configures it to enforce network policies.
pub(super) static NETWORK_ADDON: ResourceKind = ResourceKind {
    name: "EKS network plugin",
    protection: None,
    fields: &[POLICIES],
    definitions: r#"def configured: .addon.configurationValues // "" | if . == "" then {} else fromjson end;
"#,
    state: Some(&state::ADDON),
    mark: None,
};

/// The network plugin. eksctl installs it in every cluster, without its network policy agent.
/// Source: <https://docs.aws.amazon.com/eks/latest/eksctl/addons.html>; `enableNetworkPolicy` in
/// <https://docs.aws.amazon.com/eks/latest/userguide/cni-network-policy-configure.html>, 2026-11-22.
const VPC_CNI: &str = "vpc-cni";

const POLICIES: FieldKind = FieldKind {
    name: "network policies",
    read: r#"configured.enableNetworkPolicy // "false" | tostring"#,
    create_flag: Some("--configuration-values"),
    change: Change::InPlace,
    source: "botocore 1.43.11, eks UpdateAddon, 2026-11-22",
};

/// The agent that provides IAM roles to pods.
const POD_IDENTITY: &str = "eks-pod-identity-agent";

/// The agent that reports unhealthy GPUs and nodes. Without it, EKS repairs only nodes that do not respond.
/// Source: <https://docs.aws.amazon.com/eks/latest/userguide/node-repair.html> and `node-health.html` next to it,
/// 2026-11-21.
const MONITORING: &str = "eks-node-monitoring-agent";

/// The add-ons that the file requires, each with the spans it follows from.
fn required_addons(checked: Checked<'_>) -> BTreeMap<&'static str, Vec<Span>> {
    let mut addons = storage::STORAGE.addons(&checked.config);
    let repairs = checked.pools.iter().filter_map(|pool| {
        let repair = pool.settings.auto_repair.filter(|repair| repair.value);
        repair.map(|repair| repair.span)
    });
    let repairs: Vec<_> = repairs.collect();
    // CSI drivers and autoscalers call AWS APIs, so their pods need roles.
    let mut identities: Vec<_> = addons.values().flatten().copied().collect();
    identities.extend(autoscaler::install_span(&checked));
    identities.extend(karpenter::install_span(&checked));
    if checked.config.cloud.creates_cluster() {
        identities.push(section(&checked.config).cluster.span);
    }
    if !repairs.is_empty() {
        addons.insert(MONITORING, repairs);
    }
    if !identities.is_empty() {
        addons.insert(POD_IDENTITY, identities);
    }
    addons
}

/// The add-ons without which no pod can run. eksctl installs them after it has created the cluster: if it is
/// interrupted there, the cluster is active without them. Nodes that join such a cluster never become ready.
///
/// Source: eksctl-io/eksctl `pkg/cfn/builder/cluster.go`, `pkg/apis/eksctl.io/v1alpha5/known_addons.go` and
/// pkg/eks/tasks.go @99984adb, 2026-08-21.
const DEFAULT: [&str; 3] = [VPC_CNI, "kube-proxy", "coredns"];

/// The add-on that eksctl installs last, after the OIDC provider: without it, eksctl was interrupted. eksctl does not
/// install it in the partitions with these prefixes of regions.
const LAST: &str = "metrics-server";
const REGIONS_WITHOUT_LAST: [&str; 3] = ["cn-", "us-gov-", "us-iso"];

/// The add-ons that eksctl installs with the cluster.
pub(super) fn default_addons(checked: Checked<'_>) -> Vec<Resource> {
    if !checked.config.cloud.creates_cluster() {
        return Vec::new();
    }
    let target = Target::for_cluster(&checked);
    let section = section(&checked.config);
    let origin = Origin::rule([section.cluster.span], "no pod can run without this add-on");
    let default_addon = |name| Resource {
        script: "cluster".to_owned(),
        description: format!(
            "Installs the add-ons that EKS cluster {} requires, if its creation was interrupted.",
            target.cluster
        ),
        created_with: Some(created_with_cluster(&target, Vec::new())),
        origin: origin.clone(),
        ..addon(name, Vec::new(), &target, checked)
    };
    let mut addons: Vec<_> = DEFAULT.into_iter().map(default_addon).collect();
    let has_last = |prefix: &&str| target.region.starts_with(prefix);
    if !REGIONS_WITHOUT_LAST.iter().any(has_last) {
        let mut last = default_addon(LAST);
        last.create.insert(0, associate_oidc_provider(&target));
        addons.push(last);
    }
    addons
}

/// Creates the OIDC provider of the cluster, unless it exists.
/// Source: eksctl-io/eksctl `pkg/ctl/utils/associate_iam_oidc_provider.go` @99984adb, 2026-08-21.
fn associate_oidc_provider(target: &Target) -> Command {
    Command::new(["eksctl", "utils", "associate-iam-oidc-provider"]).with_arguments([
        format!("--cluster={}", target.cluster),
        format!("--region={}", target.region),
        "--approve".to_owned(),
    ])
}

/// The cluster, for an add-on that eksctl installs with it.
fn created_with_cluster(target: &Target, follow_up: Vec<Command>) -> CreatedWith {
    CreatedWith {
        title: format!("{} {}", cluster::CLUSTER.name, target.cluster),
        observation: Observation {
            command: cluster::describe_command(target).with_arguments(["--output", "json"]),
            absent_pattern: "ResourceNotFoundException",
        },
        follow_up,
    }
}

/// The add-ons, with the agent that provides roles before the add-ons that need them.
pub(super) fn resources(checked: Checked<'_>) -> Vec<Resource> {
    let target = Target::for_cluster(&checked);
    let mut addons: Vec<_> = required_addons(checked).into_iter().collect();
    addons.sort_by_key(|(name, _)| *name != POD_IDENTITY);
    let resource = |(name, spans)| addon(name, spans, &target, checked);
    let enforced: Vec<_> = checked.isolation_spans().collect();
    let creates = checked.config.cloud.creates_cluster();
    let network = (creates && !enforced.is_empty()).then(|| network_addon(enforced, &target));
    network
        .into_iter()
        .chain(addons.into_iter().map(resource))
        .collect()
}

/// The network plugin, which enforces the policies of isolated teams. Its other settings and its role are kept.
fn network_addon(spans: Vec<Span>, target: &Target) -> Resource {
    let addon_command = |command| target.addon_command(command, VPC_CNI);
    let wait = target.await_update(&["--addon-name", VPC_CNI]);
    let configuration = json!({"enableNetworkPolicy": "true"}).to_string();
    let create =
        addon_command("create-addon").with_arguments(["--configuration-values", &configuration]);
    let configuration_program = r#"configured + {enableNetworkPolicy: "true"} | tojson"#;
    let update = addon_command("update-addon")
        .with_arguments(["--configuration-values"])
        .with_argument(Argument::Observed(configuration_program.to_owned()))
        .with_argument(Argument::ObservedList(PRESERVE_ROLE.to_owned()));
    let origin = Origin::rule(
        spans,
        "the network policies of isolated teams must be enforced",
    );
    Resource {
        kind: &NETWORK_ADDON,
        name: VPC_CNI.to_owned(),
        script: "addons".to_owned(),
        description: about(target),
        observation: Observation {
            command: addon_command("describe-addon").with_arguments(["--output", "json"]),
            absent_pattern: "ResourceNotFoundException",
        },
        create: vec![create.with_arguments(["--resolve-conflicts", "OVERWRITE"])],
        contents: None,
        manual_delete: Vec::new(),
        remnant: None,
        recovery: Vec::new(),
        created_with: Some(created_with_cluster(
            target,
            vec![update.clone(), wait.clone()],
        )),
        fields: vec![Field {
            kind: &POLICIES,
            desired: json!("true"),
            update: vec![update, wait],
            lookup: None,
            is_set_after_creation: false,
            external_entries: None,
            origin: origin.clone(),
        }],
        delete: Vec::new(),
        origin,
    }
}

/// The flags of an update that keep the role, which EKS removes if an update omits it.
const PRESERVE_ROLE: &str = r#"["--resolve-conflicts", "PRESERVE"]
    + (.addon.serviceAccountRoleArn | if . then ["--service-account-role-arn", .] else [] end)"#;

/// The version of an add-on, compared with the default version for the Kubernetes version of the cluster.
fn version(name: &str, target: &Target, checked: Checked<'_>) -> Field {
    let version = checked.kubernetes.expect_resolved();
    let update = target
        .addon_command("update-addon", name)
        .with_arguments(["--addon-version"])
        .with_argument(Argument::Observed("$want".to_owned()))
        .with_argument(Argument::ObservedList("preserved".to_owned()));
    let lookup = Lookup {
        command: aws(["eks", "describe-addon-versions"], &target.region)
            .with_arguments(["--addon-name", name, "--kubernetes-version"])
            .with_arguments([version.to_string()])
            .with_arguments(["--output", "json"]),
        read: format!(
            r#"[.addons[].addonVersions[] | select(any(.compatibilities[]; .clusterVersion == "{version}" and .defaultVersion))
            | .addonVersion][0]"#
        ),
    };
    Field {
        kind: &VERSION,
        desired: json!(format!("default for Kubernetes {version}")),
        lookup: Some(lookup),
        is_set_after_creation: false,
        update: vec![update, target.await_update(&["--addon-name", name])],
        external_entries: None,
        origin: Origin::rule(
            [version.span],
            "EKS has a default version of each add-on for each Kubernetes version",
        ),
    }
}

fn about(target: &Target) -> String {
    format!(
        "Installs and updates the add-ons of EKS cluster {}.",
        target.cluster
    )
}

fn addon(name: &'static str, spans: Vec<Span>, target: &Target, checked: Checked<'_>) -> Resource {
    let observe = target
        .addon_command("describe-addon", name)
        .with_arguments(["--output", "json"]);
    let owns_version = checked.config.cloud.creates_cluster();
    // eksctl-io/eksctl:pkg/ctl/create/addon.go (the flags), userdocs/src/usage/pod-identity-associations.md (the
    // effect of the last one), @99984adb, 2026-08-21.
    let create = Command::new(["eksctl", "create", "addon"]).with_arguments([
        format!("--cluster={}", target.cluster),
        format!("--name={name}"),
        format!("--region={}", target.region),
        "--auto-apply-pod-identity-associations".to_owned(),
    ]);
    Resource {
        kind: &ADDON,
        name: name.to_owned(),
        script: "addons".to_owned(),
        description: about(target),
        observation: Observation {
            command: observe,
            absent_pattern: "ResourceNotFoundException",
        },
        create: vec![create.clone()],
        contents: None,
        manual_delete: Vec::new(),
        remnant: None,
        // eksctl creates an add-on again whose creation failed.
        recovery: vec![
            Recovery {
                statuses: &["CREATE_FAILED"],
                is_safe: true,
                commands: vec![create],
            },
            Recovery {
                statuses: &["UPDATE_FAILED"],
                is_safe: false,
                commands: vec![
                    target
                        .addon_command("update-addon", name)
                        .with_argument(Argument::ObservedList("preserved".to_owned())),
                ],
            },
        ],
        created_with: None,
        fields: owns_version
            .then(|| version(name, target, checked))
            .into_iter()
            .collect(),
        delete: Vec::new(),
        origin: Origin::rule(spans, "settings of the file require this add-on"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{HEAD, command_line, provision, provision_file};
    use super::NETWORK_ADDON;
    use gpuc_model::plan::Provisioning;

    const POOL: &str = "nodePools: [{name: a, machine: m7i.large, nodes: {count: 1}}]";

    fn addons(provisioning: &Provisioning) -> Vec<&str> {
        let resources = provisioning.resources.iter();
        let addons = resources.filter(|it| it.script == "addons");
        addons.map(|it| it.name.as_str()).collect()
    }

    #[test]
    fn new_cluster_gets_the_pod_identity_agent() {
        let provisioning = provision(POOL);
        assert_eq!(addons(&provisioning), ["eks-pod-identity-agent"]);
        let agent = provisioning.resources.last().expect("the agent");
        assert_eq!(agent.script, "addons");
        assert_eq!(
            command_line(&agent.create[0]),
            "eksctl create addon --cluster=demo --name=eks-pod-identity-agent --region=us-east-1 \
             --auto-apply-pod-identity-associations"
        );
        assert_eq!(
            command_line(&agent.observation.command),
            "aws eks describe-addon --region us-east-1 --cluster-name demo --addon-name eks-pod-identity-agent --output json"
        );
        let existing = HEAD.replace("{create: {}}", "{existing: {}}");
        assert!(addons(&provision_file(&format!("{existing}{POOL}"))).is_empty());
    }

    #[test]
    fn isolated_team_enables_network_policies() {
        let isolated = format!("{POOL}\nteams: [{{name: a, network: isolated}}]");
        let provisioning = provision(&isolated);
        assert_eq!(addons(&provisioning), ["vpc-cni", "eks-pod-identity-agent"]);
        let network = provisioning
            .resources
            .iter()
            .find(|it| it.kind.name == NETWORK_ADDON.name);
        let network = network.expect("the network plugin");
        assert_eq!(network.fields[0].desired, "true");
        assert_eq!(
            command_line(&network.create[0]),
            "aws eks create-addon --region us-east-1 --cluster-name demo --addon-name vpc-cni \
             --configuration-values {\"enableNetworkPolicy\":\"true\"} --resolve-conflicts OVERWRITE"
        );
        let existing = HEAD.replace("{create: {}}", "{existing: {}}");
        assert!(addons(&provision_file(&format!("{existing}{isolated}"))).is_empty());
    }

    #[test]
    fn volumes_and_node_repair_add_addons() {
        let existing = HEAD.replace("{create: {}}", "{existing: {}}");
        let provisioning = provision_file(&format!(
            "{existing}storage: {{classes: [{{name: fast, volumes: {{disk: {{}}}}}}, \
             {{name: shared, volumes: {{files: {{id: fs-0123456789abcdef0}}}}}}]}}\n\
             nodePools: [{{name: a, machine: m7i.large, nodes: {{count: 1}}, autoRepair: true}}]"
        ));
        assert_eq!(
            addons(&provisioning),
            [
                "eks-pod-identity-agent",
                "aws-ebs-csi-driver",
                "aws-efs-csi-driver",
                "eks-node-monitoring-agent",
            ]
        );
    }
}
