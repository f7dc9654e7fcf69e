//! The EKS cluster: how it is created, read and updated.

use std::collections::BTreeSet;

use gpuc_model::Cluster;
use gpuc_model::check::Checked;
use gpuc_model::plan::{
    Argument, Change, Command, Contained, Field, FieldKind, Mark, Observation, Recovery, Resource,
    ResourceKind,
};
use gpuc_schema::Span;
use gpuc_schema::config::{
    AwsAuthentication, AwsCluster, AwsCreate, AwsEndpoint, AwsExistingVpc, AwsVpc,
};
use gpuc_syntax::node::{DerivationReason, Origin};
use serde_json::{Value, json};

use super::commands::{Target, aws};
use super::tags::{self, Tags};
use super::{control_plane, eksctl, node_group, ownership, section, state};

/// An EKS cluster.
pub(super) static CLUSTER: ResourceKind = ResourceKind {
    name: "EKS cluster",
    protection: Some(".cluster.deletionProtection // false"),
    fields: &[
        VPC,
        CIDR,
        ZONES,
        control_plane::ROLE,
        control_plane::SERVICE_CIDR,
        control_plane::NAT_GATEWAYS,
        control_plane::SECRETS_KEY,
        ENDPOINT,
        AUTHENTICATION,
        CONFIG_MAP_AUTHENTICATION,
        SUBNETS,
        SECURITY_GROUP,
        control_plane::LOGS,
        control_plane::DELETION_PROTECTION,
        control_plane::VERSION_SUPPORT,
        TAGS,
        VERSION,
    ],
    definitions: include_str!("cluster.jq"),
    state: Some(&state::CLUSTER),
    mark: Some(&Mark {
        name: "tag gpuc.dev/cluster with this name",
        read: r#".cluster.tags["gpuc.dev/cluster"] == $name"#,
    }),
};

const EKS_API: &str =
    "botocore 1.43.11, eks UpdateClusterConfig and UpdateClusterVersion, 2026-11-21";

const VPC: FieldKind = FieldKind {
    name: "VPC",
    read: ".cluster.resourcesVpcConfig.vpcId",
    create_flag: None,
    change: Change::Replacement {
        reason: "the VPC of an EKS cluster is immutable",
    },
    source: EKS_API,
};

const CIDR: FieldKind = FieldKind {
    name: "VPC range",
    read: r#".cluster.tags["gpuc.dev/vpc-cidr"] // """#,
    create_flag: None,
    change: Change::Replacement {
        reason: "eksctl created the VPC with its range, and the VPC of an EKS cluster is immutable",
    },
    source: EKS_API,
};

const ZONES: FieldKind = FieldKind {
    name: "zones",
    read: r#".cluster.tags["gpuc.dev/cluster-zones"] // """#,
    create_flag: None,
    change: Change::Replacement {
        reason: "eksctl creates the subnets of the cluster only once, in these zones",
    },
    source: "eksctl-io/eksctl:userdocs/src/usage/vpc-configuration.md @99984adb, 2026-08-21",
};

const ENDPOINT: FieldKind = FieldKind {
    name: "API server endpoint",
    // The ranges are part of the endpoint, so that one update opens it to them only.
    read: "(.cluster.resourcesVpcConfig | {endpointPublicAccess, endpointPrivateAccess})
        + if $want | has(\"publicAccessCidrs\")
          then {publicAccessCidrs: (.cluster.resourcesVpcConfig.publicAccessCidrs // [] | sort)} else {} end",
    create_flag: None,
    change: Change::Access,
    source: EKS_API,
};

const READ_AUTHENTICATION: &str = r#".cluster.accessConfig.authenticationMode // "CONFIG_MAP""#;

const AUTHENTICATION_SOURCE: &str = "botocore 1.43.11, eks UpdateAccessConfigRequest; \
    docs.aws.amazon.com/eks/latest/userguide/setting-up-access-entries.html, 2026-11-28";

/// The mode without the ConfigMap, which can be set at any time.
const AUTHENTICATION: FieldKind = FieldKind {
    name: "authentication mode",
    read: READ_AUTHENTICATION,
    create_flag: None,
    change: Change::Access,
    source: AUTHENTICATION_SOURCE,
};

/// The mode with the ConfigMap. eksctl creates clusters in it by default.
const CONFIG_MAP_AUTHENTICATION: FieldKind = FieldKind {
    name: "authentication mode",
    read: READ_AUTHENTICATION,
    create_flag: None,
    change: Change::Replacement {
        reason: "EKS cannot return from the mode API: to keep it, set authentication to api",
    },
    source: AUTHENTICATION_SOURCE,
};

const SUBNETS: FieldKind = FieldKind {
    name: "subnets",
    read: ".cluster.resourcesVpcConfig.subnetIds // [] | sort",
    create_flag: None,
    change: Change::InPlace,
    source: EKS_API,
};

const SECURITY_GROUP: FieldKind = FieldKind {
    name: "security groups",
    read: ".cluster.resourcesVpcConfig.securityGroupIds // [] | sort",
    create_flag: None,
    change: Change::InPlace,
    source: EKS_API,
};

const TAGS: FieldKind = FieldKind {
    name: "tags",
    read: "our_tags",
    create_flag: None,
    change: Change::InPlace,
    source: "botocore 1.43.11, eks TagResource and UntagResource, 2026-11-21",
};

const VERSION: FieldKind = FieldKind {
    name: "Kubernetes version",
    // A newer version is kept: it cannot be downgraded.
    read: r#".cluster.version | if (split(".")[1] | tonumber) > ($want | split(".")[1] | tonumber) then $want else . end"#,
    create_flag: None,
    change: Change::MinorVersionSteps {
        reason: "EKS upgrades a control plane one minor version at a time",
        downgrade_effect: "EKS rolls a control plane back by at most one minor version, and only within seven days of the upgrade; \
               the scripts do not: roll back node groups first, then run `aws eks update-cluster-version`",
    },
    source: "awsdocs/amazon-eks-user-guide latest/ug/clusters/update-cluster.adoc and rollback-cluster.adoc @2471175f, \
             read 2026-11-22; botocore 1.43.11 eks model (UpdateClusterVersion)",
};

/// The node groups of a cluster, managed and self-managed. eksctl deletes all of them with the cluster. As JSON, it
/// can print `null` if there are none.
///
/// Source: eksctl-io/eksctl `pkg/ctl/get/nodegroup.go` (no error without node groups, except for a table), 2026-11-24.
fn node_groups(cluster: &Cluster, target: &Target) -> Contained {
    Contained {
        kind: "node groups",
        list: Command::new(["eksctl", "get", "nodegroup"]).with_arguments([
            format!("--cluster={}", target.cluster),
            format!("--region={}", target.region),
            "--output=json".to_owned(),
        ]),
        read: "(. // [])[].Name",
        created: node_group::managed_pools(cluster)
            .map(|pool| pool.name.value.clone())
            .collect(),
    }
}

/// The cluster, if gpuc creates it.
pub(super) fn resource(checked: Checked<'_>) -> Option<Resource> {
    let section = section(&checked.config);
    let AwsCluster::Create(create) = &section.cluster.value else {
        return None;
    };
    let target = Target::for_cluster(&checked);
    let create_command = Command::new(["eksctl", "create", "cluster", "--config-file"])
        .with_argument(Argument::CloudFile(eksctl::CONFIG_PATH.to_owned()))
        // Pools have their own scripts, and the scripts do not write the user's kubeconfig.
        .with_arguments(["--without-nodegroup", "--write-kubeconfig=false"]);
    let delete = Command::new(["eksctl", "delete", "cluster"])
        .with_arguments([
            format!("--name={}", target.cluster),
            format!("--region={}", target.region),
        ])
        // As in the deletion of a node group.
        .with_arguments(["--disable-nodegroup-eviction", "--wait"]);
    Some(Resource {
        kind: &CLUSTER,
        name: target.cluster.clone(),
        script: "cluster".to_owned(),
        description: format!(
            "Creates and updates EKS cluster {} in {}.",
            target.cluster, target.region
        ),
        observation: Observation {
            command: describe_command(&target).with_arguments(["--output", "json"]),
            absent_pattern: "ResourceNotFoundException",
        },
        create: std::iter::once(create_command)
            .chain(close_commands(create, &target))
            .collect(),
        contents: Some(node_groups(&checked, &target)),
        manual_delete: Vec::new(),
        remnant: Some(state::cluster_stack(&target)),
        recovery: vec![Recovery {
            statuses: &["FAILED"],
            is_safe: false,
            commands: vec![delete.clone()],
        }],
        created_with: None,
        fields: fields(checked, create, &target),
        delete: vec![delete],
        origin: Origin::derived([section.cluster.span], DerivationReason::Written),
    })
}

/// The endpoints of the API server, in the format of the EKS API.
fn endpoints(create: &AwsCreate) -> Value {
    let mut endpoints = json!({
        "endpointPublicAccess": create.endpoint.is_public(),
        "endpointPrivateAccess": create.endpoint.value != AwsEndpoint::Public,
    });
    let ranges = public_ranges(create);
    if !ranges.is_empty() {
        endpoints["publicAccessCidrs"] = json!(ranges);
    }
    endpoints
}

/// The ranges that can reach the public endpoint, sorted. Empty if the file does not limit them.
pub(super) fn public_ranges(create: &AwsCreate) -> BTreeSet<&str> {
    let ranges = create.public_access_cidrs.iter();
    ranges.map(|range| range.as_str()).collect()
}

/// The authentication mode, in the words of the EKS API.
pub(super) fn authentication_mode(create: &AwsCreate) -> &'static str {
    match create.authentication.value {
        AwsAuthentication::Api => "API",
        AwsAuthentication::ApiAndConfigMap => "API_AND_CONFIG_MAP",
    }
}

fn authentication(create: &AwsCreate, target: &Target) -> Field {
    let mode = authentication_mode(create);
    let origin = Origin::derived([create.authentication.span], DerivationReason::Written);
    let (kind, update) = match create.authentication.value {
        AwsAuthentication::Api => (&AUTHENTICATION, target.update_authentication(mode)),
        AwsAuthentication::ApiAndConfigMap => (&CONFIG_MAP_AUTHENTICATION, Vec::new()),
    };
    field(kind, json!(mode), update, origin)
}

/// Closes the public endpoint of a private cluster, which eksctl needs for its creation.
fn close_commands(create: &AwsCreate, target: &Target) -> Vec<Command> {
    match create.endpoint.value {
        AwsEndpoint::Private => target.update_vpc_config(&endpoints(create)),
        _ => Vec::new(),
    }
}

/// The command that describes the cluster.
pub(super) fn describe_command(target: &Target) -> Command {
    aws(["eks", "describe-cluster"], &target.region).with_arguments(["--name", &target.cluster])
}

/// The zones of the control plane's subnets, sorted and without duplicates.
pub(super) fn sorted_zones(create: &AwsCreate) -> BTreeSet<&str> {
    create.zones.iter().map(|zone| zone.as_str()).collect()
}

/// The tag that marks a cluster that gpuc's scripts manage, and what they create in it.
pub(super) const MARK: &str = "gpuc.dev/cluster";

/// The mark, with the name of the cluster.
pub(super) fn mark(name: &str) -> (String, (String, Vec<Span>)) {
    (MARK.to_owned(), (name.to_owned(), Vec::new()))
}

/// The mark, and the properties of a cluster that EKS does not report, as tags.
pub(super) fn cluster_record(create: &AwsCreate, name: &str) -> Tags {
    let mut tags = Tags::from([mark(name)]);
    if let Some(AwsVpc::Cidr(range)) = create.vpc.as_ref().map(|vpc| &vpc.value) {
        let value = (range.value.clone(), vec![range.span]);
        tags.insert(format!("{}vpc-cidr", tags::RECORD_PREFIX), value);
    }
    if !create.zones.is_empty() {
        let zones: Vec<_> = sorted_zones(create).into_iter().collect();
        let spans = create.zones.iter().map(|zone| zone.span).collect();
        tags.insert(
            format!("{}cluster-zones", tags::RECORD_PREFIX),
            (zones.join(" "), spans),
        );
    }
    tags
}

fn fields(checked: Checked<'_>, create: &AwsCreate, target: &Target) -> Vec<Field> {
    let record = cluster_record(create, &target.cluster);
    let recorded = |kind: &'static FieldKind, key: &str| {
        let found = record.get(&format!("{}{key}", tags::RECORD_PREFIX));
        let value = found.map_or("", |(value, _)| value);
        let spans = found.map(|(_, spans)| spans.clone()).unwrap_or_default();
        field(
            kind,
            json!(value),
            Vec::new(),
            Origin::derived(spans, DerivationReason::Written),
        )
    };
    let mut fields = vec![
        recorded(&CIDR, "vpc-cidr"),
        recorded(&ZONES, "cluster-zones"),
    ];
    let endpoint = endpoints(create);
    let update = target.update_vpc_config(&endpoint);
    let spans = create.public_access_cidrs.iter().map(|range| range.span);
    let spans = std::iter::once(create.endpoint.span).chain(spans);
    let origin = Origin::derived(spans, DerivationReason::Written);
    fields.push(field(&ENDPOINT, endpoint, update, origin));
    fields.push(authentication(create, target));
    fields.extend(control_plane::fields(create, target));
    if let Some(AwsVpc::Existing(vpc)) = create.vpc.as_ref().map(|vpc| &vpc.value) {
        let origin = Origin::derived([vpc.id.span], DerivationReason::Written);
        fields.insert(0, field(&VPC, json!(vpc.id.value), Vec::new(), origin));
        fields.extend(network_fields(vpc, target));
    }
    let mut tags = tags::tags_from(&section(&checked.config).tags);
    let origin = Origin::derived(tags::tag_spans(&tags), DerivationReason::Written);
    tags.extend(ownership::tag_ownership(&tags));
    tags.extend([mark(&target.cluster)]);
    let desired = json!(tags::key_values(&tags));
    let update = tags::update_commands(&desired, ".cluster.arn", "tags_left", &target.region);
    fields.push(Field {
        external_entries: Some("their_tags"),
        ..field(&TAGS, desired, update, origin)
    });
    let version = checked.kubernetes.expect_resolved();
    let update = aws(["eks", "update-cluster-version"], &target.region)
        .with_arguments(["--name", &target.cluster])
        .with_arguments(["--kubernetes-version".to_owned(), version.to_string()]);
    fields.push(field(
        &VERSION,
        json!(version.to_string()),
        vec![update, target.await_update(&[])],
        Origin::derived([version.span], DerivationReason::Written),
    ));
    fields
}

fn network_fields(vpc: &AwsExistingVpc, target: &Target) -> Vec<Field> {
    let subnets = vpc.private_subnets.iter().chain(&vpc.public_subnets);
    let subnets = subnets.filter(|subnet| !subnet.nodes_only.value);
    let spans: Vec<_> = subnets.clone().map(|subnet| subnet.id.span).collect();
    let ids: BTreeSet<_> = subnets.map(|subnet| subnet.id.as_str()).collect();
    let update = target.update_vpc_config(&json!({"subnetIds": ids}));
    let mut fields = vec![field(
        &SUBNETS,
        json!(ids),
        update,
        Origin::derived(spans, DerivationReason::Written),
    )];
    if let Some(group) = &vpc.security_group {
        let update = target.update_vpc_config(&json!({"securityGroupIds": [group.value]}));
        let origin = Origin::derived([group.span], DerivationReason::Written);
        fields.push(field(&SECURITY_GROUP, json!([group.value]), update, origin));
    }
    fields
}

fn field(kind: &'static FieldKind, desired: Value, update: Vec<Command>, origin: Origin) -> Field {
    Field {
        kind,
        desired,
        update,
        lookup: None,
        is_set_after_creation: false,
        external_entries: None,
        origin,
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{HEAD, command_line, field as field_of, provision, provision_file};
    use super::*;
    use gpuc_model::plan::Contents;

    const POOL: &str = "nodePools: [{name: a, machine: m7i.large, nodes: {count: 1}}]";

    #[test]
    fn cluster_is_created_without_pools_and_kubeconfig() {
        let provisioning = provision(POOL);
        let cluster = &provisioning.resources[0];
        assert_eq!(
            command_line(&cluster.create[0]),
            "eksctl create cluster --config-file ./eksctl.yaml --without-nodegroup --write-kubeconfig=false"
        );
        assert_eq!(
            command_line(&cluster.delete[0]),
            "eksctl delete cluster --name=demo --region=us-east-1 --disable-nodegroup-eviction --wait"
        );
        let version = field_of(cluster, "Kubernetes version");
        let update: Vec<_> = version.update.iter().map(command_line).collect();
        assert_eq!(
            update,
            [
                "aws eks update-cluster-version --region us-east-1 --name demo --kubernetes-version 1.36",
                "aws eks describe-update --region us-east-1 --name demo --output json --update-id $update",
            ]
        );
        let tools: Vec<_> = provisioning.tools.iter().map(|tool| tool.name).collect();
        assert_eq!(tools, ["aws", "eksctl", "jq"]);
    }

    #[test]
    fn existing_cluster_must_have_the_version() {
        let head = HEAD.replace("{create: {}}", "{existing: {name: Other}}");
        let provisioning = provision_file(&format!("{head}{POOL}"));
        assert_eq!(provisioning.resources.len(), 1);
        assert_eq!(
            command_line(&provisioning.identity[1].query),
            "aws eks describe-cluster --region us-east-1 --name Other --query cluster.version --output text"
        );
        assert_eq!(provisioning.identity[1].expected, "1.36");
    }

    #[test]
    fn existing_network_is_used() {
        let head = HEAD.replace(
            "{create: {}}",
            "{create: {endpoint: private, vpc: {existing: {id: vpc-0123456789abcdef0, securityGroup: sg-0123456789abcdef0, \
             privateSubnets: [{zone: us-east-1b, id: subnet-0123456b}, {zone: us-east-1a, id: subnet-0123456a}]}}}}",
        );
        let provisioning = provision_file(&format!("{head}{POOL}"));
        let cluster = &provisioning.resources[0];
        assert_eq!(field_of(cluster, "VPC").desired, "vpc-0123456789abcdef0");
        assert_eq!(
            field_of(cluster, "subnets").desired,
            json!(["subnet-0123456a", "subnet-0123456b"])
        );
        assert_eq!(
            field_of(cluster, "API server endpoint").desired,
            json!({"endpointPublicAccess": false, "endpointPrivateAccess": true})
        );
    }

    #[test]
    fn subnets_for_nodes_are_not_those_of_the_control_plane() {
        let head = HEAD.replace(
            "{create: {}}",
            "{create: {vpc: {existing: {id: vpc-0123456789abcdef0, privateSubnets: [\
             {zone: us-east-1a, id: subnet-0123456a}, {zone: us-east-1b, id: subnet-0123456b}, \
             {zone: us-east-1e, id: subnet-0123456e, nodesOnly: true}]}}}}",
        );
        let provisioning = provision_file(&format!("{head}{POOL}"));
        let expected = json!(["subnet-0123456a", "subnet-0123456b"]);
        let subnets = field_of(&provisioning.resources[0], "subnets");
        assert_eq!(subnets.desired, expected);
        let Contents::Yaml(file) = &provisioning.files[0].contents else {
            panic!("eksctl's file is YAML");
        };
        let file = serde_json::to_value(file).expect("a tree is JSON");
        assert_eq!(file["vpc"]["controlPlaneSubnetIDs"], expected);
        let private = &file["vpc"]["subnets"]["private"];
        assert_eq!(private["subnet-0123456e"]["az"], "us-east-1e");
        let zones = command_line(&provisioning.identity[1].query);
        assert!(
            zones.contains("--zone-names us-east-1a us-east-1b --query"),
            "{zones}"
        );
    }
}
