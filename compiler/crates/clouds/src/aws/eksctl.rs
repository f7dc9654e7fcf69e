//! eksctl's `ClusterConfig`, from which the scripts create the cluster and node groups.
//!
//! Its schema is eksctl-io/eksctl:pkg/apis/eksctl.io/v1alpha5/assets/schema.json @99984adb (2026-08-21).

use std::collections::BTreeMap;

use gpuc_model::Pool;
use gpuc_model::check::Checked;
use gpuc_schema::config::{AwsCluster, AwsEndpoint, AwsExistingVpc, AwsSubnet, AwsVpc};
use gpuc_syntax::node::{Because, Node, Origin};
use serde_json::json;

use super::mapping::{Mapping, sequence};
use super::node_group::{self, CapacityType, NodeGroup, family_name};
use super::tags::{self, Tags};
use super::{cluster, cluster_name, local_disks, ownership, section};

/// The path of the file below `cloud/`.
pub(super) const PATH: &str = "eksctl.yaml";

/// The `ClusterConfig` of a cluster and its pools.
pub(super) fn config(checked: Checked<'_>) -> Node {
    let section = section(&checked.config);
    let origin = Origin::rule(
        [section.cluster.span],
        "eksctl's file describes the cluster",
    );
    let mut config = Mapping::default()
        .put("apiVersion", &"eksctl.io/v1alpha5", Origin::Inherited)
        .put("kind", &"ClusterConfig", Origin::Inherited)
        .node("metadata", metadata(checked));
    match &section.cluster.value {
        AwsCluster::Create(create) => {
            let reason = "workloads assume IAM roles through the identity provider of the cluster";
            config = config.put(
                "iam",
                &json!({"withOIDC": true}),
                Origin::rule([section.cluster.span], reason),
            );
            let zones: Vec<_> = cluster::zones(create).into_iter().collect();
            if !zones.is_empty() {
                let spans = create.zones.iter().map(|zone| zone.span);
                config = config.put("availabilityZones", &zones, written(spans));
            }
            let mut vpc = match create.vpc.as_ref().map(|vpc| &vpc.value) {
                Some(AwsVpc::Cidr(range)) => {
                    Mapping::default().put("cidr", &range.value, written([range.span]))
                }
                Some(AwsVpc::Existing(existing)) => existing_vpc(existing),
                None => Mapping::default(),
            };
            let endpoints = endpoints(create.endpoint.value);
            vpc = vpc.put(
                "clusterEndpoints",
                &endpoints,
                written([create.endpoint.span]),
            );
            config = config.node("vpc", vpc.finish(Origin::Inherited));
        }
        AwsCluster::Existing(existing) => {
            if let Some(vpc) = &existing.vpc {
                config = config.node("vpc", existing_vpc(vpc).finish(written([vpc.span])));
            }
        }
    }
    let pools: Vec<_> = node_group::pools(&checked).collect();
    if !pools.is_empty() {
        let groups = pools.iter().map(|pool| node_group(checked, pool)).collect();
        config = config.node("managedNodeGroups", sequence(groups, Origin::Inherited));
    }
    config.finish(origin)
}

fn metadata(checked: Checked<'_>) -> Node {
    let section = section(&checked.config);
    let name = cluster_name(&checked.config);
    let version = checked.kubernetes.expect_resolved();
    let mut tags = tags::of(&section.tags);
    tags.extend(ownership::of_tags(&tags));
    if let AwsCluster::Create(create) = &section.cluster.value {
        tags.extend(cluster::record(create));
    }
    let mut metadata = Mapping::default()
        .put("name", &name.value, written([name.span]))
        .put(
            "region",
            &section.region.value,
            written([section.region.span]),
        )
        .put("version", &version.to_string(), written([version.span]));
    if !tags.is_empty() {
        metadata = metadata.node("tags", tag_node(&tags));
    }
    metadata.finish(Origin::Inherited)
}

fn existing_vpc(vpc: &AwsExistingVpc) -> Mapping {
    let mut mapping = Mapping::default().put("id", &vpc.id.value, written([vpc.id.span]));
    if let Some(group) = &vpc.security_group {
        mapping = mapping.put("securityGroup", &group.value, written([group.span]));
    }
    let kinds = [
        ("private", &vpc.private_subnets),
        ("public", &vpc.public_subnets),
    ];
    let mut subnets = Mapping::default();
    for (kind, list) in kinds {
        if !list.is_empty() {
            subnets = subnets.node(kind, subnet_mapping(list));
        }
    }
    mapping.node("subnets", subnets.finish(Origin::Inherited))
}

/// Subnets by ID: eksctl accepts any name as a key if `az` sets the zone, so a zone can have several subnets.
fn subnet_mapping(subnets: &[AwsSubnet]) -> Node {
    let by_id: BTreeMap<_, _> = subnets.iter().map(|it| (it.id.as_str(), it)).collect();
    let mut mapping = Mapping::default();
    for (id, subnet) in by_id {
        let spec = Mapping::default()
            .put("id", &id, written([subnet.id.span]))
            .put("az", &subnet.zone.value, written([subnet.zone.span]));
        mapping = mapping.node(id, spec.finish(written([subnet.id.span])));
    }
    mapping.finish(Origin::Inherited)
}

fn endpoints(endpoint: AwsEndpoint) -> serde_json::Value {
    json!({
        "publicAccess": endpoint != AwsEndpoint::Private,
        "privateAccess": endpoint != AwsEndpoint::Public,
    })
}

fn node_group(checked: Checked<'_>, pool: &Pool) -> Node {
    let group = NodeGroup::new(&checked, pool);
    let own = Origin::rule([pool.name.span], "each pool is a managed node group");
    let rule = |reason| Origin::rule([pool.name.span], reason);
    let nodes = group.nodes;
    let mut mapping = Mapping::default()
        .put("name", &pool.name.value, written([pool.name.span]))
        .put(
            "instanceType",
            &group.machine.value,
            written([group.machine.span]),
        )
        .put(
            "amiFamily",
            &family_name(pool.os.value),
            or_default(pool.os.span),
        )
        .put("minSize", &nodes.min, written([nodes.min_span]))
        .put("maxSize", &nodes.max, written([nodes.max_span]))
        .put("desiredCapacity", &nodes.min, written([nodes.min_span]));
    mapping = location(mapping, &group);
    mapping = mapping
        .put(
            "privateNetworking",
            &true,
            rule("nodes need no public IP addresses"),
        )
        .put(
            "volumeSize",
            &pool.settings.disk_gib.value,
            or_default(pool.settings.disk_gib.span),
        )
        .put(
            "volumeType",
            &"gp3",
            rule("the general purpose volume of EBS"),
        )
        .put("volumeEncrypted", &true, rule("disks are encrypted"));
    mapping = capacity(mapping, &group);
    if let Some(span) = group.efa() {
        mapping = mapping.put("efaEnabled", &true, written([span]));
    }
    if let Some(name) = group.placement_group() {
        mapping = mapping.put(
            "placement",
            &json!({"groupName": name.value}),
            written([name.span]),
        );
    }
    if let Some(pods) = pool.settings.max_pods {
        mapping = mapping.put("maxPodsPerNode", &pods.value, written([pods.span]));
    }
    if let Some(span) = local_disks::scratch(pool) {
        let (key, value) = local_disks::bootstrap(pool);
        mapping = mapping.put(key, &value, written([span, pool.os.span]));
    }
    let repair = group.repair();
    if repair.value {
        let repair_config = json!({"enabled": true});
        mapping = mapping.put("nodeRepairConfig", &repair_config, written([repair.span]));
    }
    let unavailable = group.max_unavailable();
    mapping = mapping.put(
        "updateConfig",
        &json!({"maxUnavailable": unavailable.value}),
        or_default(unavailable.span),
    );
    mapping = mapping.node("labels", labels(pool));
    let taints: Vec<_> = group.taints().map(taint).collect();
    if !taints.is_empty() {
        mapping = mapping.node("taints", sequence(taints, Origin::Inherited));
    }
    if group.is_autoscaled() {
        let reason = "the Cluster Autoscaler reads the tags of Auto Scaling groups; eksctl copies the tags there";
        let origin = Origin::rule([checked.autoscaler.span], reason);
        mapping = mapping.put("propagateASGTags", &true, origin);
    }
    mapping
        .node("tags", tag_node(&tags::all(&group)))
        .finish(own)
}

fn location(mapping: Mapping, group: &NodeGroup<'_>) -> Mapping {
    let (zones, subnets) = (group.zones(), group.subnets());
    let origin = written(group.place_spans());
    if !subnets.is_empty() {
        mapping.put("subnets", &subnets, origin)
    } else if !zones.is_empty() {
        mapping.put("availabilityZones", &zones, origin)
    } else {
        mapping
    }
}

fn capacity(mut mapping: Mapping, group: &NodeGroup<'_>) -> Mapping {
    let span = group.pool.settings.capacity.span;
    match group.capacity() {
        CapacityType::OnDemand => {}
        CapacityType::Spot => mapping = mapping.put("spot", &true, written([span])),
        CapacityType::Block => {
            let market = json!({"marketType": "capacity-block"});
            mapping = mapping.put("instanceMarketOptions", &market, written([span]));
        }
    }
    if let Some(id) = group.reservation() {
        let target = json!({"capacityReservationTarget": {"capacityReservationID": id.value}});
        mapping = mapping.put("capacityReservation", &target, written([id.span]));
    }
    mapping
}

fn labels(pool: &Pool) -> Node {
    let mut mapping = Mapping::default();
    for label in &pool.labels {
        mapping = mapping.put(&label.key, &label.value, label.origin.clone());
    }
    mapping.finish(Origin::Inherited)
}

fn taint(taint: &gpuc_model::PoolTaint) -> Node {
    Mapping::default()
        .put("key", &taint.key, Origin::Inherited)
        .put("value", &taint.value, Origin::Inherited)
        .put("effect", &taint.effect.as_str(), Origin::Inherited)
        .finish(taint.origin.clone())
}

fn tag_node(tags: &Tags) -> Node {
    let mut mapping = Mapping::default();
    for (key, (value, spans)) in tags {
        let reason = if ownership::is_memory(key) {
            "gpuc records the keys that it set, to distinguish them from externally managed keys"
        } else if key.starts_with(tags::RECORD) {
            "gpuc records values that EKS does not report, to detect changes"
        } else if key.starts_with(tags::TEMPLATE) {
            "the Cluster Autoscaler must know the properties of a node before it exists"
        } else {
            "the tags of the pool and the cluster"
        };
        mapping = mapping.put(key, value, Origin::rule(spans.iter().copied(), reason));
    }
    mapping.finish(Origin::Inherited)
}

/// The origin of a value that is set in the file.
fn written(spans: impl IntoIterator<Item = gpuc_schema::Span>) -> Origin {
    Origin::made(spans, Because::Written)
}

/// The origin of a value that is set in the file or has its default.
fn or_default(span: gpuc_schema::Span) -> Origin {
    let because = if span.is_written() {
        Because::Written
    } else {
        Because::Default
    };
    Origin::made([span], because)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{HEAD, provision, provision_whole};
    use gpuc_model::plan::{Contents, Provisioning};
    use serde_json::{Value, json};

    fn file(made: &Provisioning) -> Value {
        let Contents::Yaml(node) = &made.files[0].contents else {
            panic!("eksctl's file is YAML");
        };
        serde_json::to_value(node).expect("a tree is JSON")
    }

    #[test]
    fn capacity_block_with_efa() {
        let made = provision(
            "nodePools: [{name: train, machine: p5.48xlarge, zones: [us-east-1a], nodes: {count: 4}, network: {efa: {}}, \
             capacity: {capacityBlock: {id: cr-0123456789abcdef0, count: 4}}}]",
        );
        let group = &file(&made)["managedNodeGroups"][0];
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
        let made = provision(
            "nodePools: [{name: old, machine: g5.xlarge, nodes: {count: 1}, existing: {selector: {a: b}}}]",
        );
        assert_eq!(file(&made)["managedNodeGroups"], Value::Null);
        let mut kinds = made.resources.iter().map(|it| it.kind.name);
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
        let file = file(&provision_whole(&format!("{head}{pool}")));
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
        let made = provision("nodePools: [{name: a, machine: g5.xlarge, nodes: {count: 1}}]");
        let Contents::Yaml(node) = &made.files[0].contents else {
            panic!("eksctl's file is YAML");
        };
        let group = &node.get("managedNodeGroups").expect("groups").items()[0];
        for entry in group.entries() {
            let made = matches!(entry.value.origin, gpuc_syntax::node::Origin::Made(_));
            assert!(made || !entry.value.entries().is_empty(), "{}", entry.key);
        }
    }
}
