//! eksctl's `ClusterConfig`, from which the scripts create the cluster and node groups.
//!
//! Its schema is eksctl-io/eksctl:pkg/apis/eksctl.io/v1alpha5/assets/schema.json @99984adb (2026-08-21).

use std::collections::BTreeMap;

use gpuc_model::Pool;
use gpuc_model::check::Checked;
use gpuc_schema::config::{AwsCluster, AwsEndpoint, AwsExistingVpc, AwsSubnet, AwsVpc, NodeImage};
use gpuc_syntax::node::{DerivationReason, Node, Origin};
use serde_json::json;

use super::mapping::{Mapping, sequence};
use super::node_group::{self, CapacityType, NodeGroup, family_name};
use super::tags::{self, Tags};
use super::{cluster, cluster_name, control_plane, local_disks, ownership, section};

/// The path of the file below `cloud/`.
pub(super) const CONFIG_PATH: &str = "eksctl.yaml";

/// The `ClusterConfig` of a cluster and its pools.
pub(super) fn cluster_config(checked: Checked<'_>) -> Node {
    let section = section(&checked.config);
    let origin = Origin::rule(
        [section.cluster.span],
        "eksctl's file describes the cluster",
    );
    let mut config = Mapping::default()
        .with_value("apiVersion", &"eksctl.io/v1alpha5", Origin::Inherited)
        .with_value("kind", &"ClusterConfig", Origin::Inherited)
        .with_node("metadata", metadata(checked));
    match &section.cluster.value {
        AwsCluster::Create(create) => {
            let reason = "workloads assume IAM roles through the identity provider of the cluster";
            let mut iam = json!({"withOIDC": true});
            let mut origin = Origin::rule([section.cluster.span], reason);
            if let Some(role) = &create.role {
                iam["serviceRoleARN"] = json!(role.value);
                origin = written_origin([section.cluster.span, role.span]);
            }
            config = config.with_value("iam", &iam, origin);
            let zones: Vec<_> = cluster::sorted_zones(create).into_iter().collect();
            if !zones.is_empty() {
                let spans = create.zones.iter().map(|zone| zone.span);
                config = config.with_value("availabilityZones", &zones, written_origin(spans));
            }
            let mut vpc = match create.vpc.as_ref().map(|vpc| &vpc.value) {
                Some(AwsVpc::Cidr(range)) => Mapping::default().with_value(
                    "cidr",
                    &range.value,
                    written_origin([range.span]),
                ),
                Some(AwsVpc::Existing(existing)) => with_control_plane_subnets(existing),
                None => Mapping::default(),
            };
            let endpoints = endpoint_access(create.endpoint.value);
            vpc = vpc.with_value(
                "clusterEndpoints",
                &endpoints,
                written_origin([create.endpoint.span]),
            );
            let ranges = cluster::public_ranges(create);
            if !ranges.is_empty() {
                let spans = create.public_access_cidrs.iter().map(|range| range.span);
                vpc = vpc.with_value("publicAccessCIDRs", &ranges, written_origin(spans));
            }
            vpc = control_plane::add_nat_gateways(vpc, create);
            config = config.with_node("vpc", vpc.finish(Origin::Inherited));
            config = control_plane::add_to_config(config, create);
            let access = json!({"authenticationMode": cluster::authentication_mode(create)});
            let origin = written_or_default(create.authentication.span);
            config = config.with_value("accessConfig", &access, origin);
        }
        AwsCluster::Existing(existing) => {
            if let Some(vpc) = &existing.vpc {
                config =
                    config.with_node("vpc", existing_vpc(vpc).finish(written_origin([vpc.span])));
            }
        }
    }
    let pools: Vec<_> = node_group::managed_pools(&checked).collect();
    if !pools.is_empty() {
        let groups = pools.iter().map(|pool| node_group(checked, pool)).collect();
        config = config.with_node("managedNodeGroups", sequence(groups, Origin::Inherited));
    }
    config.finish(origin)
}

fn metadata(checked: Checked<'_>) -> Node {
    let section = section(&checked.config);
    let name = cluster_name(&checked.config);
    let version = checked.kubernetes.expect_resolved();
    let mut tags = tags::tags_from(&section.tags);
    tags.extend(ownership::tag_ownership(&tags));
    if let AwsCluster::Create(create) = &section.cluster.value {
        tags.extend(cluster::cluster_record(create, &name.value));
    }
    let mut metadata = Mapping::default()
        .with_value("name", &name.value, written_origin([name.span]))
        .with_value(
            "region",
            &section.region.value,
            written_origin([section.region.span]),
        )
        .with_value(
            "version",
            &version.to_string(),
            written_origin([version.span]),
        );
    if !tags.is_empty() {
        metadata = metadata.with_node("tags", tag_node(&tags));
    }
    metadata.finish(Origin::Inherited)
}

fn existing_vpc(vpc: &AwsExistingVpc) -> Mapping {
    let mut mapping =
        Mapping::default().with_value("id", &vpc.id.value, written_origin([vpc.id.span]));
    if let Some(group) = &vpc.security_group {
        mapping = mapping.with_value("securityGroup", &group.value, written_origin([group.span]));
    }
    let kinds = [
        ("private", &vpc.private_subnets),
        ("public", &vpc.public_subnets),
    ];
    let mut subnets = Mapping::default();
    for (kind, list) in kinds {
        if !list.is_empty() {
            subnets = subnets.with_node(kind, subnet_mapping(list));
        }
    }
    mapping.with_node("subnets", subnets.finish(Origin::Inherited))
}

/// An existing VPC for a new cluster. By default, eksctl passes all subnets to EKS for the control plane.
/// Source: eksctl-io/eksctl#8793 (`controlPlaneSubnetIDs`), 2026-08-10.
fn with_control_plane_subnets(vpc: &AwsExistingVpc) -> Mapping {
    let mapping = existing_vpc(vpc);
    let subnets = || vpc.private_subnets.iter().chain(&vpc.public_subnets);
    let mut spans = subnets()
        .filter(|subnet| subnet.nodes_only.value)
        .map(|subnet| subnet.nodes_only.span)
        .peekable();
    if spans.peek().is_none() {
        return mapping;
    }
    let ids: std::collections::BTreeSet<_> = subnets()
        .filter(|subnet| !subnet.nodes_only.value)
        .map(|subnet| subnet.id.as_str())
        .collect();
    mapping.with_value("controlPlaneSubnetIDs", &ids, written_origin(spans))
}

/// Subnets by ID: eksctl accepts any name as a key if `az` sets the zone, so a zone can have several subnets.
fn subnet_mapping(subnets: &[AwsSubnet]) -> Node {
    let by_id: BTreeMap<_, _> = subnets.iter().map(|it| (it.id.as_str(), it)).collect();
    let mut mapping = Mapping::default();
    for (id, subnet) in by_id {
        let spec = Mapping::default()
            .with_value("id", &id, written_origin([subnet.id.span]))
            .with_value("az", &subnet.zone.value, written_origin([subnet.zone.span]));
        mapping = mapping.with_node(id, spec.finish(written_origin([subnet.id.span])));
    }
    mapping.finish(Origin::Inherited)
}

/// The endpoints during creation: eksctl sets up the cluster through the public one. The script closes it afterwards.
/// Source: eksctl-io/eksctl pkg/actions/nodegroup/create.go and pkg/eks/tasks.go @99984adb, 2026-08-21.
fn endpoint_access(endpoint: AwsEndpoint) -> serde_json::Value {
    json!({
        "publicAccess": true,
        "privateAccess": endpoint != AwsEndpoint::Public,
    })
}

fn node_group(checked: Checked<'_>, pool: &Pool) -> Node {
    let group = NodeGroup::new(&checked, pool);
    let own = Origin::rule([pool.name.span], "each pool is a managed node group");
    let rule = |reason| Origin::rule([pool.name.span], reason);
    let nodes = group.nodes;
    let [(min, min_origin), (initial, initial_origin)] = first_sizes(&group);
    let mut mapping = Mapping::default()
        .with_value("name", &pool.name.value, written_origin([pool.name.span]))
        .with_node(machines_key(&group), machines(&group))
        .with_value(
            "amiFamily",
            &family_name(pool.os.value),
            written_or_default(pool.os.span),
        )
        .with_value("minSize", &min, min_origin)
        .with_value("maxSize", &nodes.max, written_origin([nodes.max_span]))
        .with_value("desiredCapacity", &initial, initial_origin);
    mapping = add_location(mapping, &group);
    if let Some(NodeImage::Version(release)) = pool.settings.node_image.as_ref().map(|it| &it.value)
    {
        mapping = mapping.with_value(
            "releaseVersion",
            &release.value,
            written_origin([release.span]),
        );
    }
    mapping = mapping
        .with_value(
            "privateNetworking",
            &true,
            rule("nodes need no public IP addresses"),
        )
        .with_value(
            "volumeSize",
            &pool.settings.disk_gib.value,
            written_or_default(pool.settings.disk_gib.span),
        )
        .with_value(
            "volumeType",
            &"gp3",
            rule("the general purpose volume of EBS"),
        )
        .with_value("volumeEncrypted", &true, rule("disks are encrypted"));
    mapping = add_capacity(mapping, &group);
    if let Some(role) = &section(&checked.config).node_role {
        let iam = json!({"instanceRoleARN": role.value});
        mapping = mapping.with_value("iam", &iam, written_origin([role.span]));
    }
    if let Some(span) = group.efa_span() {
        mapping = mapping.with_value("efaEnabled", &true, written_origin([span]));
    }
    if let Some(name) = group.placement_group() {
        mapping = mapping.with_value(
            "placement",
            &json!({"groupName": name.value}),
            written_origin([name.span]),
        );
    }
    if let Some(pods) = pool.settings.max_pods {
        mapping = mapping.with_value("maxPodsPerNode", &pods.value, written_origin([pods.span]));
    }
    if let Some(span) = local_disks::scratch_span(pool) {
        let (key, value) = local_disks::bootstrap_setting(pool);
        mapping = mapping.with_value(key, &value, written_origin([span, pool.os.span]));
    }
    let repair = group.repair();
    if repair.value {
        let repair_config = json!({"enabled": true});
        mapping = mapping.with_value(
            "nodeRepairConfig",
            &repair_config,
            written_origin([repair.span]),
        );
    }
    let unavailable = group.max_unavailable();
    mapping = mapping.with_value(
        "updateConfig",
        &json!({"maxUnavailable": unavailable.value}),
        written_or_default(unavailable.span),
    );
    mapping = mapping.with_node("labels", label_mapping(pool));
    let taints: Vec<_> = group.taints().map(taint_mapping).collect();
    if !taints.is_empty() {
        mapping = mapping.with_node("taints", sequence(taints, Origin::Inherited));
    }
    if group.is_autoscaled() {
        let reason = "the Cluster Autoscaler reads the tags of Auto Scaling groups; eksctl copies the tags there";
        let origin = Origin::rule([checked.autoscaler.span], reason);
        mapping = mapping.with_value("propagateASGTags", &true, origin);
    }
    mapping
        .with_node("tags", tag_node(&tags::all_tags(&group)))
        .finish(own)
}

/// The key of the instance types: eksctl has one for a single type and one for a list.
fn machines_key(group: &NodeGroup<'_>) -> &'static str {
    if group.alternatives().next().is_none() {
        "instanceType"
    } else {
        "instanceTypes"
    }
}

/// The instance type, or all of them. EKS creates on-demand nodes in this order of priority.
///
/// Source: docs.aws.amazon.com/eks/latest/userguide/managed-node-groups.html, on capacity types (from memory).
fn machines(group: &NodeGroup<'_>) -> Node {
    let types = match group.machine_types()[..] {
        [only] => json!(only),
        ref several => json!(several),
    };
    let spans = [group.machine.span]
        .into_iter()
        .chain(group.alternative_spans());
    Node::from_serializable(&types, written_origin(spans))
}

/// The minimum and the number of nodes at the creation. A capacity block has no machines before it starts: the scripts
/// add the nodes at its start.
fn first_sizes(group: &NodeGroup<'_>) -> [(u32, Origin); 2] {
    if let Some(period) = group.pool.capacity_period() {
        let reason = "a capacity block has no machines before it starts";
        return [(); 2].map(|()| (0, Origin::rule([period.start_span], reason)));
    }
    let initial = group.nodes.initial();
    [
        (group.nodes.min, written_origin([group.nodes.min_span])),
        (initial.value, written_origin([initial.span])),
    ]
}

fn add_location(mapping: Mapping, group: &NodeGroup<'_>) -> Mapping {
    let (zones, subnets) = (group.zones(), group.subnets());
    let origin = written_origin(group.location_spans());
    if !subnets.is_empty() {
        mapping.with_value("subnets", &subnets, origin)
    } else if !zones.is_empty() {
        mapping.with_value("availabilityZones", &zones, origin)
    } else {
        mapping
    }
}

fn add_capacity(mut mapping: Mapping, group: &NodeGroup<'_>) -> Mapping {
    let span = group.pool.settings.capacity.span;
    match group.capacity_type() {
        CapacityType::OnDemand => {}
        CapacityType::Spot => mapping = mapping.with_value("spot", &true, written_origin([span])),
        CapacityType::Block => {
            let market = json!({"marketType": "capacity-block"});
            mapping = mapping.with_value("instanceMarketOptions", &market, written_origin([span]));
        }
    }
    if let Some(id) = group.reservation() {
        let target = json!({"capacityReservationTarget": {"capacityReservationID": id.value}});
        mapping = mapping.with_value("capacityReservation", &target, written_origin([id.span]));
    }
    mapping
}

fn label_mapping(pool: &Pool) -> Node {
    let mut mapping = Mapping::default();
    for label in &pool.labels {
        mapping = mapping.with_value(&label.key, &label.value, label.origin.clone());
    }
    mapping.finish(Origin::Inherited)
}

fn taint_mapping(taint: &gpuc_model::PoolTaint) -> Node {
    Mapping::default()
        .with_value("key", &taint.key, Origin::Inherited)
        .with_value("value", &taint.value, Origin::Inherited)
        .with_value("effect", &taint.effect.as_str(), Origin::Inherited)
        .finish(taint.origin.clone())
}

fn tag_node(tags: &Tags) -> Node {
    let mut mapping = Mapping::default();
    for (key, (value, spans)) in tags {
        let reason = if key == cluster::MARK {
            "teardown.sh deletes a cluster only if it has this tag"
        } else if ownership::is_ownership_record(key) {
            "gpuc records the keys that it set, to distinguish them from externally managed keys"
        } else if key.starts_with(tags::RECORD_PREFIX) {
            "gpuc records values that EKS does not report, to detect changes"
        } else if key.starts_with(tags::TEMPLATE_PREFIX) {
            "the Cluster Autoscaler must know the properties of a node before it exists"
        } else {
            "the tags of the pool and the cluster"
        };
        mapping = mapping.with_value(key, value, Origin::rule(spans.iter().copied(), reason));
    }
    mapping.finish(Origin::Inherited)
}

/// The origin of a value that is set in the file.
fn written_origin(spans: impl IntoIterator<Item = gpuc_schema::Span>) -> Origin {
    Origin::derived(spans, DerivationReason::Written)
}

/// The origin of a value that is set in the file or has its default.
fn written_or_default(span: gpuc_schema::Span) -> Origin {
    let because = if span.is_written() {
        DerivationReason::Written
    } else {
        DerivationReason::Default
    };
    Origin::derived([span], because)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{HEAD, provision, provision_file};
    use gpuc_model::plan::{Contents, Provisioning};
    use serde_json::{Value, json};

    fn file(provisioning: &Provisioning) -> Value {
        let Contents::Yaml(node) = &provisioning.files[0].contents else {
            panic!("eksctl's file is YAML");
        };
        serde_json::to_value(node).expect("a tree is JSON")
    }

    #[test]
    fn capacity_block_with_efa() {
        let provisioning = provision(
            "nodePools: [{name: train, machine: p5.48xlarge, zones: [us-east-1a], nodes: {count: 4}, network: {efa: {}}, \
             capacity: {capacityBlock: {id: cr-0123456789abcdef0, count: 4, start: '2096-12-01T11:30:00Z', end: '2096-12-15T11:30:00Z'}}}]",
        );
        let group = &file(&provisioning)["managedNodeGroups"][0];
        assert_eq!(
            group["instanceMarketOptions"],
            json!({"marketType": "capacity-block"})
        );
        assert_eq!(
            group["capacityReservation"],
            json!({"capacityReservationTarget": {"capacityReservationID": "cr-0123456789abcdef0"}})
        );
        assert_eq!(group["efaEnabled"], json!(true));
        assert_eq!(group["availabilityZones"], json!(["us-east-1a"]));
        assert_eq!(group["placement"], Value::Null);
    }

    #[test]
    fn existing_pools_are_omitted() {
        let provisioning = provision(
            "nodePools: [{name: old, machine: g5.xlarge, nodes: {count: 1}, existing: {selector: {a: b}}}]",
        );
        assert_eq!(file(&provisioning)["managedNodeGroups"], Value::Null);
        let mut kinds = provisioning.resources.iter().map(|it| it.kind.name);
        assert!(kinds.all(|kind| kind != "EKS node group"));
    }

    #[test]
    fn existing_cluster_has_its_vpc() {
        let head = HEAD.replace(
            "{create: {}}",
            "{existing: {vpc: {id: vpc-0123456789abcdef0, securityGroup: sg-0123456789abcdef0, \
             privateSubnets: [{zone: us-east-1a, id: subnet-0123456789abcdef0}]}}}",
        );
        let pool = "nodePools: [{name: a, machine: m7i.large, nodes: {count: 1}}]";
        let file = file(&provision_file(&format!("{head}{pool}")));
        assert_eq!(
            file["vpc"],
            json!({
                "id": "vpc-0123456789abcdef0",
                "securityGroup": "sg-0123456789abcdef0",
                "subnets": {"private": {
                    "subnet-0123456789abcdef0": {"id": "subnet-0123456789abcdef0", "az": "us-east-1a"},
                }},
            })
        );
        assert_eq!(file["iam"], Value::Null);
    }

    #[test]
    fn every_value_has_an_origin() {
        let provisioning =
            provision("nodePools: [{name: a, machine: g5.xlarge, nodes: {count: 1}}]");
        let Contents::Yaml(node) = &provisioning.files[0].contents else {
            panic!("eksctl's file is YAML");
        };
        let group = &node.get("managedNodeGroups").expect("groups").items()[0];
        for entry in group.entries() {
            let is_generated =
                matches!(entry.value.origin, gpuc_syntax::node::Origin::Generated(_));
            assert!(
                is_generated || !entry.value.entries().is_empty(),
                "{}",
                entry.key
            );
        }
    }
}
