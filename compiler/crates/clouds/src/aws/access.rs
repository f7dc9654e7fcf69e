//! Access entries: the IAM principals who can log in to a cluster.
//!
//! The scripts create entries through the EKS API. eksctl would create each with a CloudFormation stack, and cannot
//! update it.

use gpuc_model::Cluster;
use gpuc_model::check::Checked;
use gpuc_model::plan::{
    Argument, Change, Command, CreatedWith, Field, FieldKind, Mark, Observation, Resource,
    ResourceKind,
};
use gpuc_schema::Spanned;
use gpuc_schema::config::{AwsAccessEntry, AwsAccessPolicy, AwsCluster, AwsPolicyName};
use gpuc_syntax::node::{DerivationReason, Origin};
use serde_json::{Value, json};

use super::commands::Target;
use super::tags;
use super::{cluster, ownership, section};

/// An access entry.
pub(super) static ACCESS_ENTRY: ResourceKind = ResourceKind {
    name: "EKS access entry",
    protection: None,
    fields: &[GROUPS, USER, TAGS],
    definitions: include_str!("access_entry.jq"),
    state: None,
    mark: Some(&Mark {
        name: "tag gpuc.dev/cluster",
        read: r#".accessEntry.tags | has("gpuc.dev/cluster")? // false"#,
    }),
};

/// The access policies of an access entry, which EKS reports separately.
pub(super) static ACCESS_POLICIES: ResourceKind = ResourceKind {
    name: "EKS access policies",
    protection: None,
    fields: &[POLICIES],
    definitions: include_str!("access_policies.jq"),
    state: None,
    mark: None,
};

const EKS_API: &str = "botocore 1.43.11, eks UpdateAccessEntry, 2026-11-28";

const GROUPS: FieldKind = FieldKind {
    name: "Kubernetes groups",
    read: ".accessEntry.kubernetesGroups // [] | sort",
    create_flag: Some("--kubernetes-groups"),
    change: Change::Access,
    source: EKS_API,
};

const USER: FieldKind = FieldKind {
    name: "Kubernetes user",
    read: ".accessEntry.username",
    create_flag: Some("--username"),
    change: Change::Access,
    source: EKS_API,
};

const TAGS: FieldKind = FieldKind {
    name: "tags",
    read: "our_tags",
    create_flag: Some("--tags"),
    change: Change::InPlace,
    source: "botocore 1.43.11, eks TagResource and UntagResource, 2026-11-28",
};

/// The policies that [`AwsPolicyName`] contains. Others are kept.
const POLICIES: FieldKind = FieldKind {
    name: "access policies",
    read: "our_policies",
    create_flag: None,
    change: Change::Access,
    source: "botocore 1.43.11, eks AssociateAccessPolicy and DisassociateAccessPolicy, 2026-11-28",
};

/// The access entries in the file.
pub(super) fn entries(section: &gpuc_schema::config::Aws) -> &[Spanned<AwsAccessEntry>] {
    match &section.cluster.value {
        AwsCluster::Create(create) => &create.access,
        AwsCluster::Existing(existing) => &existing.access,
    }
}

/// The access entries, each with its policies.
pub(super) fn resources(checked: Checked<'_>) -> Vec<Resource> {
    let target = Target::for_cluster(&checked);
    let entries = entries(section(&checked.config)).iter();
    entries
        .flat_map(|entry| {
            let policies = policy_resource(checked, entry, &target);
            [entry_resource(checked, entry, &target), policies]
        })
        .collect()
}

/// The deletion of a cluster also deletes its entries. If `teardown.sh` deleted them first, its user could lose access
/// before eksctl has deleted the cluster, which needs the Kubernetes API.
fn entry_resource(
    checked: Checked<'_>,
    entry: &Spanned<AwsAccessEntry>,
    target: &Target,
) -> Resource {
    let mut tags = tags::tags_from(&section(&checked.config).tags);
    let tag_spans = tags::tag_spans(&tags);
    tags.extend(ownership::tag_ownership(&tags));
    tags.extend([cluster::mark(&target.cluster)]);
    let tags = json!(tags::key_values(&tags));
    let mut groups: Vec<&str> = entry.groups.iter().map(|group| group.as_str()).collect();
    groups.sort_unstable();
    let groups = json!(groups);
    let command = |verb| target.entry_command(verb, &entry.principal);
    let mut create = command("create-access-entry")
        .with_arguments(["--kubernetes-groups".to_owned(), groups.to_string()]);
    let update_groups = command("update-access-entry")
        .with_arguments(["--kubernetes-groups".to_owned(), groups.to_string()]);
    let spans = entry.groups.iter().map(|group| group.span);
    let mut fields = vec![Field {
        update: vec![update_groups],
        ..field(&GROUPS, groups, written_origin(spans, entry))
    }];
    if let Some(user) = &entry.user {
        create = create.with_arguments(["--username", user]);
        let update = command("update-access-entry").with_arguments(["--username", user]);
        fields.push(Field {
            update: vec![update],
            ..field(&USER, json!(user.value), written_origin([user.span], entry))
        });
    }
    create = create.with_arguments(["--tags".to_owned(), tags.to_string()]);
    let arn = ".accessEntry.accessEntryArn";
    fields.push(Field {
        update: tags::update_commands(&tags, arn, "tags_left", &target.region),
        external_entries: Some("their_tags"),
        ..field(&TAGS, tags, written_origin(tag_spans, entry))
    });
    let delete = command("delete-access-entry");
    let is_deleted_with_cluster = checked.config.cloud.creates_cluster();
    let (delete, manual_delete) = if is_deleted_with_cluster {
        (Vec::new(), vec![delete])
    } else {
        (vec![delete], Vec::new())
    };
    Resource {
        kind: &ACCESS_ENTRY,
        name: entry.principal.value.clone(),
        script: "access".to_owned(),
        description: description(target),
        observation: observe_entry(entry, target),
        remnant: None,
        recovery: Vec::new(),
        create: vec![create],
        created_with: None,
        fields,
        delete,
        contents: None,
        manual_delete,
        origin: written_origin([], entry),
    }
}

fn policy_resource(
    checked: Checked<'_>,
    entry: &Spanned<AwsAccessEntry>,
    target: &Target,
) -> Resource {
    let region = &section(&checked.config).region;
    let command = |verb, policy| {
        let command = target.entry_command(verb, &entry.principal);
        command.with_arguments(["--policy-arn".to_owned(), policy_arn(policy, region)])
    };
    let mut policies: Vec<_> = entry.policies.iter().collect();
    policies.sort_by_key(|policy| policy.policy.value.as_str());
    let associate: Vec<Command> = policies
        .iter()
        .map(|policy| {
            command("associate-access-policy", policy.policy.value)
                .with_arguments(["--access-scope".to_owned(), scope(policy).to_string()])
        })
        .collect();
    let is_written = |name| policies.iter().any(|policy| policy.policy.value == name);
    let disassociate = AwsPolicyName::ALL
        .into_iter()
        .filter(|name| !is_written(*name))
        .map(|name| {
            let arn = Argument::ObservedOptional(format!("associated(\"{}\")", name.as_str()));
            target
                .entry_command("disassociate-access-policy", &entry.principal)
                .with_arguments(["--policy-arn"])
                .with_argument(arn)
        });
    let update = associate.iter().cloned().chain(disassociate).collect();
    let desired: Vec<Value> = policies
        .iter()
        .map(|policy| json!({"policy": policy.policy.value.as_str(), "scope": scope(policy)}))
        .collect();
    let spans = entry.policies.iter().map(|policy| policy.span);
    let list = target.entry_command("list-associated-access-policies", &entry.principal);
    Resource {
        kind: &ACCESS_POLICIES,
        name: entry.principal.value.clone(),
        script: "access".to_owned(),
        description: description(target),
        observation: Observation {
            command: list.with_arguments(["--output", "json"]),
            absent_pattern: "ResourceNotFoundException",
        },
        remnant: None,
        recovery: Vec::new(),
        create: Vec::new(),
        created_with: Some(CreatedWith {
            title: format!("{} {}", ACCESS_ENTRY.name, entry.principal),
            observation: observe_entry(entry, target),
            follow_up: associate,
        }),
        fields: vec![Field {
            update,
            external_entries: Some("their_policies"),
            ..field(&POLICIES, json!(desired), written_origin(spans, entry))
        }],
        delete: Vec::new(),
        contents: None,
        manual_delete: Vec::new(),
        origin: written_origin([], entry),
    }
}

/// Who can reach the API server and log in, as sentences.
pub(super) fn notes(cluster: &Cluster) -> Vec<String> {
    let section = section(&cluster.config);
    let mut notes = Vec::new();
    if let AwsCluster::Create(create) = &section.cluster.value {
        let ranges = cluster::public_ranges(create);
        if !create.endpoint.value.is_public() {
            notes.push(
                "API server: only the VPC reaches it. Run the scripts, install.sh and kubectl in a network that is \
                 connected to the VPC."
                    .to_owned(),
            );
        } else if !ranges.is_empty() {
            let ranges: Vec<_> = ranges.into_iter().collect();
            notes.push(format!(
                "API server: the public endpoint accepts clients from {} only.",
                ranges.join(", ")
            ));
        }
    }
    let entries: Vec<_> = entries(section).iter().map(|it| summary(it)).collect();
    if !entries.is_empty() {
        notes.push(format!(
            "Login: these IAM principals can log in, in addition to the creator of the cluster and the entries of \
             others: {}.",
            entries.join("; ")
        ));
    }
    notes
}

/// A principal with its groups and policies.
fn summary(entry: &AwsAccessEntry) -> String {
    let groups: Vec<&str> = entry.groups.iter().map(|it| it.as_str()).collect();
    let groups = (!groups.is_empty()).then(|| format!("groups {}", groups.join(", ")));
    let policies = entry.policies.iter().map(|policy| {
        let namespaces: Vec<&str> = policy.namespaces.iter().map(|it| it.as_str()).collect();
        match namespaces[..] {
            [] => policy.policy.value.as_str().to_owned(),
            _ => format!(
                "{} in {}",
                policy.policy.value.as_str(),
                namespaces.join(", ")
            ),
        }
    });
    let rights: Vec<_> = groups.into_iter().chain(policies).collect();
    format!("{} ({})", entry.principal, rights.join("; "))
}

fn description(target: &Target) -> String {
    format!(
        "Creates and updates the access entries of EKS cluster {}.",
        target.cluster
    )
}

fn observe_entry(entry: &AwsAccessEntry, target: &Target) -> Observation {
    let describe = target.entry_command("describe-access-entry", &entry.principal);
    Observation {
        command: describe.with_arguments(["--output", "json"]),
        absent_pattern: "ResourceNotFoundException",
    }
}

fn field(kind: &'static FieldKind, desired: Value, origin: Origin) -> Field {
    Field {
        kind,
        desired,
        update: Vec::new(),
        lookup: None,
        is_set_after_creation: false,
        external_entries: None,
        origin,
    }
}

fn written_origin(
    spans: impl IntoIterator<Item = gpuc_schema::Span>,
    entry: &Spanned<AwsAccessEntry>,
) -> Origin {
    let spans = std::iter::once(entry.principal.span).chain(spans);
    Origin::derived(spans, DerivationReason::Written)
}

/// The scope of a policy, in the format of the EKS API.
fn scope(policy: &AwsAccessPolicy) -> Value {
    let mut namespaces: Vec<&str> = policy.namespaces.iter().map(|it| it.as_str()).collect();
    namespaces.sort_unstable();
    if namespaces.is_empty() {
        json!({"type": "cluster"})
    } else {
        json!({"type": "namespace", "namespaces": namespaces})
    }
}

/// The ARN of a policy in the partition of a region.
///
/// Source: docs.aws.amazon.com/eks/latest/userguide/access-policies.html (`arn:aws:eks::aws:cluster-access-policy/…`),
/// 2026-11-28; the other partitions are general knowledge.
fn policy_arn(policy: AwsPolicyName, region: &str) -> String {
    format!(
        "arn:{}:eks::aws:cluster-access-policy/{}",
        partition(region),
        policy.as_str()
    )
}

/// The partition of a region, as in ARNs.
pub(super) fn partition(region: &str) -> &'static str {
    if region.starts_with("cn-") {
        "aws-cn"
    } else if region.starts_with("us-gov-") {
        "aws-us-gov"
    } else {
        "aws"
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{HEAD, command_line, field, provision_file};
    use super::*;
    use gpuc_model::plan::Provisioning;

    const POOL: &str = "nodePools: [{name: a, machine: m7i.large, nodes: {count: 1}}]";
    const ENTRY: &str = "{principal: 'arn:aws:iam::123456789012:role/ml', groups: [b, a], user: ml, \
                         policies: [{policy: view, namespaces: [y, x]}, {policy: clusterAdmin}]}";

    fn access(cluster: &str) -> Provisioning {
        let head = HEAD.replace("{create: {}}", cluster);
        provision_file(&format!("{head}{POOL}"))
    }

    fn of_script<'p>(provisioning: &'p Provisioning, kind: &str) -> &'p Resource {
        let mut resources = provisioning.resources.iter();
        resources.find(|it| it.kind.name == kind).expect(kind)
    }

    #[test]
    fn entry_is_created_with_groups_and_user() {
        let provisioning = access(&format!("{{create: {{access: [{ENTRY}]}}}}"));
        let entry = of_script(&provisioning, "EKS access entry");
        assert_eq!(
            command_line(&entry.create[0]),
            "aws eks create-access-entry --region us-east-1 --cluster-name demo \
             --principal-arn arn:aws:iam::123456789012:role/ml --kubernetes-groups [\"a\",\"b\"] --username ml \
             --tags {\"gpuc.dev/cluster\":\"demo\"}"
        );
        // The cluster's deletion deletes it.
        assert!(entry.delete.is_empty() && entry.manual_delete.len() == 1);
        let existing = access(&format!("{{existing: {{access: [{ENTRY}]}}}}"));
        assert_eq!(of_script(&existing, "EKS access entry").delete.len(), 1);
    }

    #[test]
    fn policies_are_associated_and_others_removed() {
        let provisioning = access(&format!("{{create: {{access: [{ENTRY}]}}}}"));
        let policies = field(
            of_script(&provisioning, "EKS access policies"),
            "access policies",
        );
        assert_eq!(
            policies.desired,
            json!([
                {"policy": "AmazonEKSClusterAdminPolicy", "scope": {"type": "cluster"}},
                {"policy": "AmazonEKSViewPolicy", "scope": {"type": "namespace", "namespaces": ["x", "y"]}},
            ])
        );
        let commands: Vec<_> = policies.update.iter().map(command_line).collect();
        assert!(commands[1].ends_with(
            "--policy-arn arn:aws:eks::aws:cluster-access-policy/AmazonEKSViewPolicy \
             --access-scope {\"type\":\"namespace\",\"namespaces\":[\"x\",\"y\"]}"
        ));
        let removed = commands.iter().filter(|it| it.contains("disassociate"));
        assert_eq!(removed.count(), AwsPolicyName::ALL.len() - 2);
    }

    #[test]
    fn partitions() {
        assert_eq!(partition("us-east-1"), "aws");
        assert_eq!(partition("cn-north-1"), "aws-cn");
        assert_eq!(partition("us-gov-west-1"), "aws-us-gov");
    }
}
