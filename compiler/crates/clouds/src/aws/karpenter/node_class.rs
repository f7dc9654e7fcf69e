//! The EC2 settings of the nodes that Karpenter creates for a pool.
//!
//! Schema: `EC2NodeClass` of aws/karpenter-provider-aws@v1.14.1 `pkg/apis/crds`, 2026-08-20; meaning of the fields:
//! website/content/en/v1.14/concepts/nodeclasses.md there, read 2026-11-21.

use gpuc_model::check::Checked;
use gpuc_model::plan::Object;
use gpuc_model::{Cluster, Pool};
use gpuc_schema::config::{AwsCluster, AwsExistingVpc, AwsVpc, OsFamily};
use gpuc_schema::{Span, Spanned};
use gpuc_syntax::node::Origin;
use serde_json::{Map, Value, json};

use super::super::node_group::NodeGroup;
use super::super::{cluster, cluster_name, local_disks, node_image, section, tags};
use super::{COMPONENT, instance_profile_name};

/// The pinned release of Amazon Linux 2023 for EKS, which other projects pin for Karpenter too. It is the same release
/// for every Kubernetes version, and Karpenter selects the image with NVIDIA's driver for machines with GPUs.
///
/// Source: <https://github.com/awslabs/amazon-eks-ami/releases>, by its tag in public `EC2NodeClass`es of September
/// 2026; not looked up in AWS.
const AL2023_RELEASE: &str = "v20260903";

/// The pinned release of Bottlerocket. It has variants for Kubernetes 1.37 and all earlier versions that gpuc supports:
/// those for 1.36 exist since 1.61.0, those for 1.37 since 1.66.0, and 1.30 is the newest that was removed.
///
/// Source: bottlerocket-os/bottlerocket#4841, #4880 and #4946, 2026-09-18.
const BOTTLEROCKET_RELEASE: &str = "v1.66.0";

/// The alias of an image family that Karpenter supports, and the release that gpuc pins.
pub(in super::super) fn ami_family(family: OsFamily) -> Option<(&'static str, &'static str)> {
    match family {
        OsFamily::AmazonLinux2023 => Some(("al2023", AL2023_RELEASE)),
        OsFamily::Bottlerocket => Some(("bottlerocket", BOTTLEROCKET_RELEASE)),
        _ => None,
    }
}

/// The `EC2NodeClass` of a pool.
pub(super) fn object(checked: &Checked<'_>, pool: &Pool) -> Object {
    let group = NodeGroup::new(checked, pool);
    let section = section(&checked.config);
    let name = cluster_name(&checked.config);
    let settings = &pool.settings;
    let family = ami_family(pool.os.value);
    let (family, pinned) = family.unwrap_or_else(|| unreachable!("a rule rejects other images"));
    let image = settings.node_image.as_ref();
    let release = node_image::alias_release(image).unwrap_or(pinned);
    let alias = format!("{family}@{release}");
    let (subnets, mut inputs) = subnet_selector_terms(checked, &group);
    let mut spec = json!({
        "amiSelectorTerms": [{"alias": alias}],
        "instanceProfile": instance_profile_name(name, &section.region),
        "subnetSelectorTerms": subnets,
        // The cluster security group of EKS, which managed node groups have too. EKS sets this tag:
        // docs.aws.amazon.com/eks/latest/userguide/sec-group-reqs.html (from memory).
        "securityGroupSelectorTerms": [{"tags": {"aws:eks:cluster-name": name.value}}],
        "blockDeviceMappings": block_device_mappings(pool.os.value, settings.disk_gib.value),
        "associatePublicIPAddress": false,
    });
    inputs.extend([
        pool.name.span,
        name.span,
        section.region.span,
        pool.os.span,
        settings.disk_gib.span,
    ]);
    inputs.extend(image.map(|image| image.span));
    if let Some(id) = group.reservation() {
        spec["capacityReservationSelectorTerms"] = json!([{"id": id.value}]);
        inputs.push(id.span);
    }
    if let Some(name) = group.placement_group() {
        spec["placementGroupSelector"] = json!({"name": name.value});
        inputs.push(name.span);
    }
    if let Some(pods) = settings.max_pods {
        spec["kubelet"] = json!({"maxPods": pods.value});
        inputs.push(pods.span);
    }
    if let Some(span) = local_disks::scratch_span(pool) {
        spec["instanceStorePolicy"] = json!("RAID0");
        inputs.push(span);
    }
    let mut tags = tags::file_tags(&group);
    inputs.extend(tags::tag_spans(&tags));
    // teardown.sh deletes only machines with this tag.
    tags.extend([cluster::mark(&name.value)]);
    spec["tags"] = json!(tags::key_values(&tags));
    let object = json!({
        "apiVersion": "karpenter.k8s.aws/v1",
        "kind": "EC2NodeClass",
        "metadata": {"name": pool.name.value},
        "spec": spec,
    });
    let reason = "Karpenter provisions pools without a fixed number of nodes";
    Object::new(COMPONENT, &object, Origin::rule(inputs, reason))
}

/// The disks. Bottlerocket has a separate system disk; the size in the file applies to the disk for images and logs.
fn block_device_mappings(family: OsFamily, gib: u32) -> Value {
    let disk = |device: &str, gib: u32| {
        json!({
            "deviceName": device,
            "ebs": {
                "volumeSize": format!("{gib}Gi"),
                "volumeType": "gp3",
                "encrypted": true,
                "deleteOnTermination": true,
            },
        })
    };
    match family {
        OsFamily::Bottlerocket => json!([disk("/dev/xvda", 4), disk("/dev/xvdb", gib)]),
        _ => json!([disk("/dev/xvda", gib)]),
    }
}

/// The subnets of a pool, with their spans: those of the pool, those of the cluster in the file, or the private subnets
/// that eksctl created.
fn subnet_selector_terms(cluster: &Cluster, group: &NodeGroup<'_>) -> (Value, Vec<Span>) {
    let ids = |ids: Vec<&Spanned<String>>| {
        let mut spans: Vec<_> = ids.iter().map(|id| id.span).collect();
        let mut names: Vec<_> = ids.iter().map(|id| id.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        spans.sort_unstable();
        let terms: Vec<_> = names.iter().map(|id| json!({"id": id})).collect();
        (json!(terms), spans)
    };
    let pool_subnets = &group.pool.settings.subnets;
    if !pool_subnets.is_empty() {
        return ids(pool_subnets.iter().collect());
    }
    if let Some(vpc) = existing_vpc(cluster).filter(|vpc| !vpc.private_subnets.is_empty()) {
        return ids(vpc
            .private_subnets
            .iter()
            .map(|subnet| &subnet.id)
            .collect());
    }
    // eksctl-io/eksctl:pkg/cfn/builder/vpc_ipv4.go, and the tags that its stacks set on all of their resources
    // (pkg/apis/eksctl.io/v1alpha5/types.go, ClusterNameTag), @99984adb (from memory).
    let name = cluster_name(&cluster.config);
    let tags = Map::from_iter([
        ("alpha.eksctl.io/cluster-name".to_owned(), json!(name.value)),
        ("kubernetes.io/role/internal-elb".to_owned(), json!("1")),
    ]);
    (json!([{"tags": tags}]), vec![name.span])
}

/// The existing VPC, if the file describes one.
fn existing_vpc(cluster: &Cluster) -> Option<&AwsExistingVpc> {
    match &section(&cluster.config).cluster.value {
        AwsCluster::Existing(existing) => existing.vpc.as_ref().map(|vpc| &vpc.value),
        AwsCluster::Create(create) => match &create.vpc.as_ref()?.value {
            AwsVpc::Existing(vpc) => Some(vpc),
            AwsVpc::Cidr(_) => None,
        },
    }
}
