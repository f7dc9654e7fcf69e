//! Tags: the user's, what the Cluster Autoscaler must know of nodes that are not there yet, and gpuc's own record.
//!
//! eksctl puts disk, EFA, placement, reservation and pod limit into a launch template, where `describe-nodegroup` does
//! not show them. So gpuc writes them down as tags when it creates a node group, and reads them back to tell a change
//! that cannot be made in place. A group without these tags was not made by gpuc, and the script stops before it
//! touches it. What gpuc remembers of its labels, taints and tags is in `memory.rs`.

use std::collections::BTreeMap;

use gpuc_schema::Span;
use gpuc_schema::config::{TaintEffect, TextMap};
use serde_json::Value;

use super::commands::aws;
use super::node_group::{NodeGroup, effect_name};
use super::{local_disks, memory, section};
use crate::plan::{Command, Word};

/// Prefixes of tags that gpuc, eksctl, EKS and AWS write; users may not.
pub(super) const RESERVED: &[&str] = &[
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

/// The tag with which eksctl names what it makes.
pub(super) const NAME: &str = "Name";

/// What begins the tags that tell the Cluster Autoscaler of a node.
pub(super) const TEMPLATE: &str = "k8s.io/cluster-autoscaler/node-template/";

/// What begins gpuc's own record.
pub(super) const RECORD: &str = "gpuc.dev/";

/// A tag: its value, and the places it follows from.
pub(super) type Tags = BTreeMap<String, (String, Vec<Span>)>;

/// The user's tags on a node group: the pool's before the cluster's.
pub(super) fn written(group: &NodeGroup<'_>) -> Tags {
    let mut tags = of(&section(&group.cluster.written).tags);
    tags.extend(of(&group.pool.written.tags));
    tags
}

/// A mapping of the file as tags.
pub(super) fn of(map: &TextMap) -> Tags {
    map.iter()
        .map(|(key, value)| {
            let spans = vec![key.span, value.span];
            (key.value.clone(), (value.value.clone(), spans))
        })
        .collect()
}

/// What only the launch template knows, and what `describe-nodegroup` tells of some groups only.
pub(super) fn record(group: &NodeGroup<'_>) -> Tags {
    let pool = group.pool;
    let written = &pool.written;
    let mut tags = Tags::new();
    let mut put = |key: &str, value: String, spans: Vec<Span>| {
        tags.insert(format!("{RECORD}{key}"), (value, spans));
    };
    put(
        "machine",
        group.machine.value.to_owned(),
        vec![group.machine.span],
    );
    put(
        "disk-gib",
        written.disk_gib.to_string(),
        vec![written.disk_gib.span],
    );
    if let Some(span) = group.efa() {
        put("efa", "yes".to_owned(), vec![span]);
    }
    if let Some(name) = group.placement_group() {
        put("placement-group", name.value.clone(), vec![name.span]);
    }
    if let Some(pods) = written.max_pods {
        put("max-pods", pods.to_string(), vec![pods.span]);
    }
    if let Some(span) = local_disks::scratch(pool) {
        put("local-disks", "scratch".to_owned(), vec![span]);
    }
    if let Some(id) = group.reservation() {
        put("reservation", id.value.clone(), vec![id.span]);
    }
    if !group.has_eks_image() {
        let version = group.cluster.kubernetes.sure();
        put("image", group.image(), vec![pool.os.span]);
        put("kubernetes", version.to_string(), vec![version.span]);
    }
    if !written.subnets.is_empty() {
        put("place", "subnets".to_owned(), group.place_spans());
    } else if !written.zones.is_empty() {
        let zones: Vec<_> = group.zones().into_iter().collect();
        put("place", zones.join(" "), group.place_spans());
    }
    tags
}

/// What the Cluster Autoscaler must know of a node before there is one: labels, taints with their effect, and
/// resources.
///
/// It knows nothing of shares, slices and EFA, and where nothing says otherwise it counts whole GPUs
/// (kubernetes/autoscaler @55c37cd5, `aws_manager.go`, `extractAllocatableResourcesFromTags`, 2026-08-22).
pub(super) fn template(group: &NodeGroup<'_>) -> Tags {
    let mut tags = Tags::new();
    if !group.is_autoscaled() {
        return tags;
    }
    let autoscaler = group.cluster.autoscaler.span;
    let pool = group.pool;
    for label in &pool.labels {
        let spans = vec![autoscaler, pool.name.span];
        tags.insert(
            format!("{TEMPLATE}label/{}", label.key),
            (label.value.clone(), spans),
        );
    }
    // A tag holds one taint of a key. Of several the strictest stays: a pod that tolerates it is the more likely to
    // fit. What is taken off before pods come is no part of the picture.
    let mut taints: Vec<_> = pool.taints.iter().collect();
    taints.sort_by_key(|taint| strictness(taint.effect));
    for taint in taints {
        let value = format!("{}:{}", taint.value, effect_name(taint.effect));
        let spans = vec![autoscaler, taint.span];
        tags.insert(format!("{TEMPLATE}taint/{}", taint.key), (value, spans));
    }
    if let Some(gpus) = pool.gpus.sure() {
        let mut resources = BTreeMap::from([("nvidia.com/gpu", 0)]);
        let offers = pool.offers.sure().iter().chain(&pool.fabric);
        resources.extend(offers.map(|offer| (offer.resource.as_str(), offer.per_node)));
        for (resource, count) in resources {
            let spans = vec![autoscaler, gpus.chosen, pool.written.sharing.span];
            tags.insert(
                format!("{TEMPLATE}resources/{resource}"),
                (count.to_string(), spans),
            );
        }
    }
    tags
}

/// Every tag of a node group.
pub(super) fn all(group: &NodeGroup<'_>) -> Tags {
    let mut tags = written(group);
    tags.extend(template(group));
    tags.extend(record(group));
    tags.extend(memory::of_group(group));
    tags
}

/// Tags as the EKS API has them.
pub(super) fn values(tags: &Tags) -> BTreeMap<&str, &str> {
    tags.iter()
        .map(|(key, (value, _))| (key.as_str(), value.as_str()))
        .collect()
}

/// The places that tags follow from.
pub(super) fn spans(tags: &Tags) -> Vec<Span> {
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

/// The commands that make the tags of a resource these: the wanted ones are written, and those that the program `left`
/// lists are removed.
pub(super) fn update(want: &Value, arn: &str, left: &str, region: &str) -> Vec<Command> {
    let on = |command| {
        let command = aws(["eks", command], region).with(["--resource-arn"]);
        command.with_word(Word::Observed(arn.to_owned()))
    };
    let mut commands = Vec::new();
    if want.as_object().is_some_and(|want| !want.is_empty()) {
        commands.push(on("tag-resource").with(["--tags".to_owned(), want.to_string()]));
    }
    let left = Word::ObservedIfAny(left.to_owned());
    commands.push(on("untag-resource").with(["--tag-keys"]).with_word(left));
    commands
}

/// The same for the tags of the Auto Scaling group that is behind a node group. EKS does not pass its tags on.
pub(super) fn update_scaling_group(want: &Value, region: &str) -> Vec<Command> {
    let mut commands = Vec::new();
    if want.as_object().is_some_and(|want| !want.is_empty()) {
        let command = aws(["autoscaling", "create-or-update-tags"], region).with(["--tags"]);
        commands.push(command.with_word(Word::Observed("template_of_scaling_groups".to_owned())));
    }
    let left = Word::ObservedIfAny("template_left_on_scaling_groups".to_owned());
    let command = aws(["autoscaling", "delete-tags"], region).with(["--tags"]);
    commands.push(command.with_word(left));
    commands
}

#[cfg(test)]
mod tests {
    use super::super::testing::{HEAD, field, line, provision_whole};
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
    fn the_autoscaler_knows_slices_fabric_labels_and_taints() {
        let made = provision_whole(&format!("{HEAD}{POOL}"));
        let picture = field(&made.resources[1], "the autoscaler's picture of a node");
        let want = [
            ("label/gpuc.dev/pool", "gpu"),
            ("label/k8s.amazonaws.com/accelerator", "a100-sxm4-40gb"),
            ("resources/nvidia.com/gpu", "0"),
            ("resources/nvidia.com/mig-1g.5gb", "56"),
            ("resources/vpc.amazonaws.com/efa", "4"),
            ("taint/a", "b:NoExecute"),
        ];
        let want: serde_json::Map<_, _> = want
            .iter()
            .map(|(key, value)| (format!("{TEMPLATE}{key}"), Value::from(*value)))
            .collect();
        assert_eq!(picture.want, Value::Object(want));
        let update: Vec<_> = picture.update.iter().map(line).collect();
        assert!(update[0].starts_with("aws eks tag-resource --region us-east-1 --resource-arn $(.nodegroup.nodegroupArn) --tags {"));
        assert!(
            update[2]
                .starts_with("aws autoscaling create-or-update-tags --region us-east-1 --tags $(")
        );
        assert!(update[3].starts_with("aws autoscaling delete-tags --region us-east-1 --tags $("));
    }

    #[test]
    fn without_an_autoscaler_there_is_no_picture() {
        let pool = POOL.replace("autoscaler: clusterAutoscaler", "autoscaler: none");
        let pool = pool.replace("{min: 0, max: 4}", "{count: 4}");
        let made = provision_whole(&format!("{HEAD}{pool}"));
        let picture = field(&made.resources[1], "the autoscaler's picture of a node");
        assert_eq!(picture.want, serde_json::json!({}));
        assert!(line(&picture.update[0]).starts_with("aws eks untag-resource"));
    }

    #[test]
    fn a_pools_tags_come_before_the_clusters() {
        let head = HEAD.replace("{create: {}}", "{create: {}}, tags: {team: a, cost: b}");
        let pools =
            "nodePools: [{name: a, machine: m7i.large, nodes: {count: 1}, tags: {team: c}}]";
        let made = provision_whole(&format!("{head}{pools}"));
        let tags = |resource: usize| field(&made.resources[resource], "tags").want.clone();
        let memory = "cost team";
        assert_eq!(
            tags(0),
            serde_json::json!({"cost": "b", "team": "a", "gpuc.dev/tags": memory})
        );
        assert_eq!(
            tags(1),
            serde_json::json!({"cost": "b", "team": "c", "gpuc.dev/tags": memory})
        );
    }
}
