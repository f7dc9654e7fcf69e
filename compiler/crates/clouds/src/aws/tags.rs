//! Tags: those of the file, the node template for the Cluster Autoscaler, and gpuc's record.
//!
//! eksctl puts disk, EFA, placement, reservation and pod limit into a launch template, and `describe-nodegroup` does
//! not report them. gpuc records them as tags when it creates a node group, and reads them back to detect changes of
//! immutable fields. gpuc did not create a group without these tags, and the script stops before it changes it. The
//! ownership record of labels, taints and tags is in `ownership.rs`.

use std::collections::BTreeMap;

use gpuc_model::plan::{Argument, Command};
use gpuc_schema::Span;
use gpuc_schema::config::{TaintEffect, TextMap};
use serde_json::Value;

use super::commands::aws;
use super::node_group::NodeGroup;
use super::{local_disks, ownership, section};

/// Prefixes of tags that are reserved for gpuc, eksctl, EKS and AWS.
pub(super) const RESERVED_PREFIXES: &[&str] = &[
    "aws:",
    "eks:",
    "gpuc.dev/",
    "alpha.eksctl.io/",
    "eksctl.cluster.k8s.io/",
    "eksctl.io/",
    "k8s.io/cluster-autoscaler/",
    "kubernetes.io/cluster/",
    "karpenter.sh/",
    "karpenter.k8s.aws/",
];

/// The tag in which eksctl stores the name of its resources.
pub(super) const NAME_TAG: &str = "Name";

/// The prefix of the tags that describe a future node to the Cluster Autoscaler.
pub(super) const TEMPLATE_PREFIX: &str = "k8s.io/cluster-autoscaler/node-template/";

/// The tag that records the scheduled action for the start of a capacity block.
pub(super) const BLOCK_TAG: &str = "gpuc.dev/capacity-block";

/// The prefix of gpuc's record.
pub(super) const RECORD_PREFIX: &str = "gpuc.dev/";

/// Tags by key, each with its value and the spans that it follows from.
pub(super) type Tags = BTreeMap<String, (String, Vec<Span>)>;

/// The tags of the file for a node group: those of the pool override those of the cluster.
pub(super) fn file_tags(group: &NodeGroup<'_>) -> Tags {
    let mut tags = tags_from(&section(&group.cluster.config).tags);
    tags.extend(tags_from(&group.pool.settings.tags));
    tags
}

/// The tags of a mapping in the file.
pub(super) fn tags_from(map: &TextMap) -> Tags {
    map.iter()
        .map(|(key, value)| {
            let spans = vec![key.span, value.span];
            (key.value.clone(), (value.value.clone(), spans))
        })
        .collect()
}

/// The record of values that only the launch template has, or that `describe-nodegroup` reports only for some groups.
pub(super) fn launch_template_record(group: &NodeGroup<'_>) -> Tags {
    let pool = group.pool;
    let settings = &pool.settings;
    let mut tags = Tags::new();
    let mut add = |key: &str, value: String, spans: Vec<Span>| {
        tags.insert(format!("{RECORD_PREFIX}{key}"), (value, spans));
    };
    add(
        "machine",
        group.machine.value.to_owned(),
        vec![group.machine.span],
    );
    add(
        "disk-gib",
        settings.disk_gib.to_string(),
        vec![settings.disk_gib.span],
    );
    if let Some(span) = group.efa_span() {
        add("efa", "yes".to_owned(), vec![span]);
    }
    if let Some(name) = group.placement_group() {
        add("placement-group", name.value.clone(), vec![name.span]);
    }
    if let Some(pods) = settings.max_pods {
        add("max-pods", pods.to_string(), vec![pods.span]);
    }
    if let Some(span) = local_disks::scratch_span(pool) {
        add("local-disks", "scratch".to_owned(), vec![span]);
    }
    if let Some(id) = group.reservation() {
        add("reservation", id.value.clone(), vec![id.span]);
    }
    if !group.has_eks_image() {
        let version = group.cluster.kubernetes.expect_resolved();
        add("image", group.ami_type(), vec![pool.os.span]);
        add("kubernetes", version.to_string(), vec![version.span]);
    }
    if !settings.subnets.is_empty() {
        add("place", "subnets".to_owned(), group.location_spans());
    } else if !settings.zones.is_empty() {
        let zones: Vec<_> = group.zones().into_iter().collect();
        add("place", zones.join(" "), group.location_spans());
    }
    tags
}

/// The properties of a future node for the Cluster Autoscaler: labels, taints with their effect, and resources.
///
/// It does not know about replicas, MIG devices and EFA, and counts full GPUs by default
/// (kubernetes/autoscaler @55c37cd5, `aws_manager.go`, `extractAllocatableResourcesFromTags`, 2026-08-22).
pub(super) fn node_template(group: &NodeGroup<'_>) -> Tags {
    let mut tags = Tags::new();
    if !group.is_autoscaled() {
        return tags;
    }
    let autoscaler = group.cluster.autoscaler.span;
    let pool = group.pool;
    for label in &pool.labels {
        let spans = vec![autoscaler, pool.name.span];
        tags.insert(
            format!("{TEMPLATE_PREFIX}label/{}", label.key),
            (label.value.clone(), spans),
        );
    }
    // A tag can hold one taint per key. The strictest of several is kept: a pod that tolerates it is more likely to
    // fit. Startup taints, which are removed before pods are scheduled, are not included.
    let mut taints: Vec<_> = pool.taints.iter().collect();
    taints.sort_by_key(|taint| strictness(taint.effect));
    for taint in taints {
        let value = format!("{}:{}", taint.value, taint.effect.as_str());
        let spans = vec![autoscaler, taint.span];
        tags.insert(
            format!("{TEMPLATE_PREFIX}taint/{}", taint.key),
            (value, spans),
        );
    }
    if let Some(gpus) = pool.gpus.expect_resolved() {
        let mut resources = BTreeMap::from([("nvidia.com/gpu", 0)]);
        let advertised = pool
            .advertised
            .expect_resolved()
            .iter()
            .chain(&pool.interconnect);
        resources.extend(advertised.map(|resource| (resource.name.as_str(), resource.per_node)));
        for (resource, count) in resources {
            let spans = vec![autoscaler, gpus.span, pool.sharing_span];
            tags.insert(
                format!("{TEMPLATE_PREFIX}resources/{resource}"),
                (count.to_string(), spans),
            );
        }
    }
    tags
}

/// The tags of the Auto Scaling group of a pool, also of one that another tool creates: those of [`node_template`], and
/// the labels that select the nodes. EKS sets its own labels, and the Cluster Autoscaler knows them.
pub(super) fn autoscaler_tags(group: &NodeGroup<'_>) -> BTreeMap<String, String> {
    let tags = node_template(group);
    let selector = group.pool.selector.iter();
    let selector = selector.filter(|label| group.is_autoscaled() && !is_label_of_eks(&label.key));
    tags.into_iter()
        .map(|(key, (value, _))| (key, value))
        .chain(selector.map(|label| {
            let key = format!("{TEMPLATE_PREFIX}label/{}", label.key);
            (key, label.value.clone())
        }))
        .collect()
}

fn is_label_of_eks(key: &str) -> bool {
    key.starts_with("eks.amazonaws.com/")
}

/// Every tag of a node group.
pub(super) fn all_tags(group: &NodeGroup<'_>) -> Tags {
    let mut tags = file_tags(group);
    tags.extend(node_template(group));
    tags.extend(launch_template_record(group));
    tags.extend(ownership::group_ownership(group));
    tags
}

/// Tags in the format of the EKS API.
pub(super) fn key_values(tags: &Tags) -> BTreeMap<&str, &str> {
    tags.iter()
        .map(|(key, (value, _))| (key.as_str(), value.as_str()))
        .collect()
}

/// The spans that tags follow from.
pub(super) fn tag_spans(tags: &Tags) -> Vec<Span> {
    let spans = tags.values().flat_map(|(_, spans)| spans.iter().copied());
    spans.collect()
}

fn strictness(effect: TaintEffect) -> u8 {
    match effect {
        TaintEffect::PreferNoSchedule => 0,
        TaintEffect::NoSchedule => 1,
        TaintEffect::NoExecute => 2,
    }
}

/// The commands that update the tags of a resource: they set the desired tags and remove those that the program `left`
/// lists.
pub(super) fn update_commands(
    desired: &Value,
    arn: &str,
    obsolete: &str,
    region: &str,
) -> Vec<Command> {
    let resource_command = |command| {
        let command = aws(["eks", command], region).with_arguments(["--resource-arn"]);
        command.with_argument(Argument::Observed(arn.to_owned()))
    };
    let mut commands = Vec::new();
    if desired.as_object().is_some_and(|it| !it.is_empty()) {
        commands.push(
            resource_command("tag-resource")
                .with_arguments(["--tags".to_owned(), desired.to_string()]),
        );
    }
    let obsolete = Argument::ObservedOptional(obsolete.to_owned());
    commands.push(
        resource_command("untag-resource")
            .with_arguments(["--tag-keys"])
            .with_argument(obsolete),
    );
    commands
}

/// The commands that update the tags of the Auto Scaling group of a node group. EKS does not propagate its tags.
pub(super) fn scaling_group_commands(desired: &Value, region: &str) -> Vec<Command> {
    let mut commands = Vec::new();
    if desired.as_object().is_some_and(|it| !it.is_empty()) {
        let command =
            aws(["autoscaling", "create-or-update-tags"], region).with_arguments(["--tags"]);
        commands.push(
            command.with_argument(Argument::Observed("template_of_scaling_groups".to_owned())),
        );
    }
    let left = Argument::ObservedOptional("template_left_on_scaling_groups".to_owned());
    let command = aws(["autoscaling", "delete-tags"], region).with_arguments(["--tags"]);
    commands.push(command.with_argument(left));
    commands
}

#[cfg(test)]
mod tests {
    use super::super::testing::{HEAD, command_line, field, provision_file};
    use super::*;

    const POOL: &str = "autoscaler: clusterAutoscaler
nodePools:
  - name: gpu
    machine: p4d.24xlarge
    nodes: {min: 0, max: 4}
    zones: [us-east-1a]
    network: {efa: {}}
    taints: [{key: a, effect: NoSchedule}, {key: a, value: b, effect: NoExecute}]
    sharing: {mig: {strategy: mixed, perGpu: [{layout: [{profile: 1g.5gb, count: 7}]}]}}
";

    #[test]
    fn node_template_has_resources_labels_and_taints() {
        let provisioning = provision_file(&format!("{HEAD}{POOL}"));
        let template = field(
            provisioning
                .resources
                .iter()
                .find(|it| it.kind.name == "EKS node group")
                .expect("a node group"),
            "Cluster Autoscaler node template",
        );
        let desired = [
            ("label/gpuc.dev/pool", "gpu"),
            ("label/k8s.amazonaws.com/accelerator", "a100-sxm4-40gb"),
            ("resources/nvidia.com/gpu", "0"),
            ("resources/nvidia.com/mig-1g.5gb", "56"),
            ("resources/vpc.amazonaws.com/efa", "4"),
            ("taint/a", "b:NoExecute"),
        ];
        let desired: serde_json::Map<_, _> = desired
            .iter()
            .map(|(key, value)| (format!("{TEMPLATE_PREFIX}{key}"), Value::from(*value)))
            .collect();
        assert_eq!(template.desired, Value::Object(desired));
        let update: Vec<_> = template.update.iter().map(command_line).collect();
        assert!(update[0].starts_with("aws eks tag-resource --region us-east-1 --resource-arn $(.nodegroup.nodegroupArn) --tags {"));
        assert!(
            update[2]
                .starts_with("aws autoscaling create-or-update-tags --region us-east-1 --tags $(")
        );
        assert!(update[3].starts_with("aws autoscaling delete-tags --region us-east-1 --tags $("));
    }

    #[test]
    fn node_template_is_empty_without_an_autoscaler() {
        let pool = POOL.replace("autoscaler: clusterAutoscaler", "autoscaler: none");
        let pool = pool.replace("{min: 0, max: 4}", "{count: 4}");
        let provisioning = provision_file(&format!("{HEAD}{pool}"));
        let template = field(
            provisioning
                .resources
                .iter()
                .find(|it| it.kind.name == "EKS node group")
                .expect("a node group"),
            "Cluster Autoscaler node template",
        );
        assert_eq!(template.desired, serde_json::json!({}));
        assert!(command_line(&template.update[0]).starts_with("aws eks untag-resource"));
    }

    #[test]
    fn pool_tags_override_cluster_tags() {
        let head = HEAD.replace("{create: {}}", "{create: {}}, tags: {team: a, cost: b}");
        let pools =
            "nodePools: [{name: a, machine: m7i.large, nodes: {count: 1}, tags: {team: c}}]";
        let provisioning = provision_file(&format!("{head}{pools}"));
        let tags = |kind: &str| {
            let mut resources = provisioning.resources.iter();
            let resource = resources.find(|it| it.kind.name == kind).expect(kind);
            field(resource, "tags").desired.clone()
        };
        let memory = "cost team";
        assert_eq!(
            tags("EKS cluster"),
            serde_json::json!({"cost": "b", "team": "a", "gpuc.dev/cluster": "demo", "gpuc.dev/tags": memory})
        );
        assert_eq!(
            tags("EKS node group"),
            serde_json::json!({"cost": "b", "team": "c", "gpuc.dev/tags": memory})
        );
    }
}
