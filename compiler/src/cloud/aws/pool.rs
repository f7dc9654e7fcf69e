//! A managed node group: how it is made, seen and changed.

use gpuc_schema::config::DevicePlugin;
use serde_json::{Value, json};

use super::commands::Target;
use super::eksctl;
use super::node_group::{NodeGroup, api_effect_name};
use super::tags;
use crate::check::Checked;
use crate::model::Pool;
use crate::node::{Because, Origin};
use crate::plan::{Change, Command, Field, FieldKind, Observe, Resource, ResourceKind, Word};

/// A managed node group.
pub(super) static KIND: ResourceKind = ResourceKind {
    name: "EKS node group",
    fields: &[
        MACHINE,
        IMAGE,
        PLACE,
        CAPACITY,
        RESERVATION,
        DISK,
        EFA,
        PLACEMENT_GROUP,
        MAX_PODS,
        IMAGE_VERSION,
        LABELS,
        TAINTS,
        TAGS,
        TEMPLATE,
        UPGRADE,
        SIZE,
        VERSION,
    ],
};

const EKS_API: &str = "botocore 1.43.11, eks UpdateNodegroupConfig and UpdateNodegroupVersion; aws-cli 1.45.11 refuses the flag, tried 2026-11-21";
const LAUNCH_TEMPLATE: &str = "eksctl-io/eksctl:pkg/cfn/builder/managed_launch_template.go @99984adb, 2026-08-21; awsdocs/amazon-eks-user-guide launch-templates @4d52b4d0";

const MACHINE: FieldKind = FieldKind {
    name: "machine type",
    // A group that takes its machines from a capacity block has the type in its launch template alone.
    read: r#".nodegroup | .instanceTypes[0] // .tags["gpuc.dev/machine"] // """#,
    create: None,
    change: Change::Replaces {
        reason: "EKS cannot change the machine type of a node group",
    },
    source: EKS_API,
};

const IMAGE: FieldKind = FieldKind {
    name: "node image",
    read: r#".nodegroup | if .amiType == "CUSTOM" then .tags["gpuc.dev/image"] // "CUSTOM" else .amiType end"#,
    create: None,
    change: Change::Replaces {
        reason: "EKS cannot change the kind of image of a node group",
    },
    source: EKS_API,
};

const PLACE: FieldKind = FieldKind {
    name: "zones or subnets",
    read: r#".nodegroup | (.tags["gpuc.dev/place"] // "") as $place | if $place == "subnets" then .subnets | sort else $place | split(" ") end"#,
    create: None,
    change: Change::Replaces {
        reason: "EKS cannot move a node group to other subnets",
    },
    source: EKS_API,
};

const CAPACITY: FieldKind = FieldKind {
    name: "capacity",
    read: r#".nodegroup.capacityType // "ON_DEMAND""#,
    create: None,
    change: Change::Replaces {
        reason: "EKS cannot change how a node group's machines are paid",
    },
    source: EKS_API,
};

const RESERVATION: FieldKind = FieldKind {
    name: "capacity reservation",
    read: r#".nodegroup.tags["gpuc.dev/reservation"] // """#,
    create: None,
    change: Change::Replaces {
        reason: "the reservation stands in the launch template that eksctl makes once",
    },
    source: "awsdocs/amazon-eks-user-guide capacity-blocks-mng @4d52b4d0, 2024-12-18",
};

const DISK: FieldKind = FieldKind {
    name: "disk size in GiB",
    read: r#".nodegroup.tags["gpuc.dev/disk-gib"] // """#,
    create: None,
    change: Change::Replaces {
        reason: "the disk stands in the launch template that eksctl makes once",
    },
    source: LAUNCH_TEMPLATE,
};

const EFA: FieldKind = FieldKind {
    name: "EFA",
    read: r#".nodegroup.tags["gpuc.dev/efa"] // "no""#,
    create: None,
    change: Change::Replaces {
        reason: "network interfaces stand in the launch template that eksctl makes once",
    },
    source: LAUNCH_TEMPLATE,
};

const PLACEMENT_GROUP: FieldKind = FieldKind {
    name: "placement group",
    read: r#".nodegroup.tags["gpuc.dev/placement-group"] // """#,
    create: None,
    change: Change::Replaces {
        reason: "the placement group stands in the launch template that eksctl makes once",
    },
    source: LAUNCH_TEMPLATE,
};

const MAX_PODS: FieldKind = FieldKind {
    name: "most pods on a node",
    read: r#".nodegroup.tags["gpuc.dev/max-pods"] // """#,
    create: None,
    change: Change::Replaces {
        reason: "the kubelet's settings stand in the launch template that eksctl makes once",
    },
    source: LAUNCH_TEMPLATE,
};

const IMAGE_VERSION: FieldKind = FieldKind {
    name: "Kubernetes version of the image",
    read: r#".nodegroup.tags["gpuc.dev/kubernetes"] // """#,
    create: None,
    change: Change::Replaces {
        reason: "an Ubuntu image stands in the launch template, and EKS updates only images of its own",
    },
    source: LAUNCH_TEMPLATE,
};

const LABELS: FieldKind = FieldKind {
    name: "labels",
    read: r#".nodegroup.labels // {} | with_entries(select(.key | test("^(eks[.]amazonaws[.]com|alpha[.]eksctl[.]io)/") | not))"#,
    create: None,
    change: Change::InPlace,
    source: EKS_API,
};

const TAINTS: FieldKind = FieldKind {
    name: "taints",
    read: r#".nodegroup.taints // [] | map({key, value: (.value // ""), effect}) | sort_by([.key, .effect])"#,
    create: None,
    change: Change::InPlace,
    source: EKS_API,
};

const TAGS: FieldKind = FieldKind {
    name: "tags",
    read: r#".nodegroup.tags // {} | with_entries(select(.key | test("^(Name$|(aws|eks):|(gpuc[.]dev|alpha[.]eksctl[.]io|eksctl[.]cluster[.]k8s[.]io|eksctl[.]io|k8s[.]io/cluster-autoscaler|kubernetes[.]io/cluster)/)") | not))"#,
    create: None,
    change: Change::InPlace,
    source: "botocore 1.43.11, eks TagResource and UntagResource, 2026-11-21",
};

const TEMPLATE: FieldKind = FieldKind {
    name: "the autoscaler's picture of a node",
    read: r#".nodegroup.tags // {} | with_entries(select(.key | startswith("k8s.io/cluster-autoscaler/node-template/")))"#,
    create: None,
    change: Change::InPlace,
    source: "kubernetes/autoscaler:cluster-autoscaler/cloudprovider/aws/aws_manager.go @55c37cd5, 2026-08-22",
};

const UPGRADE: FieldKind = FieldKind {
    name: "nodes that may be missing during an upgrade",
    read: ".nodegroup.updateConfig // {maxUnavailable: 1} | {maxUnavailable, maxUnavailablePercentage} | with_entries(select(.value != null))",
    create: None,
    change: Change::InPlace,
    source: EKS_API,
};

const SIZE: FieldKind = FieldKind {
    name: "number of nodes",
    read: ".nodegroup.scalingConfig | {minSize, maxSize}",
    create: None,
    change: Change::Resizes,
    source: EKS_API,
};

const VERSION: FieldKind = FieldKind {
    name: "Kubernetes version",
    // A version that is newer already stays: none can be taken back.
    read: r#".nodegroup.version | if (split(".")[1] | tonumber) > ($want | split(".")[1] | tonumber) then $want else . end"#,
    create: None,
    change: Change::Rolls {
        reason: "EKS drains every node and puts one of the new version in its place",
    },
    source: EKS_API,
};

/// The node group of a pool that gpuc's scripts make.
pub(super) fn resource(checked: Checked<'_>, pool: &Pool) -> Resource {
    let group = NodeGroup::new(&checked, pool);
    let target = Target::cluster(&checked);
    let name = pool.name.value.as_str();
    let delete = Command::new(["eksctl", "delete", "nodegroup"])
        .with([
            format!("--cluster={}", target.cluster),
            format!("--name={name}"),
            format!("--region={}", target.region),
        ])
        .with(["--wait"]);
    let about = format!(
        "EKS node group {name} in cluster {}: {} x {}",
        target.cluster,
        range(&group),
        group.machine
    );
    Resource {
        kind: &KIND,
        name: name.to_owned(),
        script: format!("pool-{name}"),
        about,
        observe: Observe {
            command: target
                .on_group("describe-nodegroup", name)
                .with(["--output", "json"]),
            absent: "ResourceNotFoundException",
        },
        create: vec![create(&group), target.wait_for_group(name)],
        fields: fields(&group, &target),
        delete: vec![delete],
        origin: Origin::rule([pool.name.span], "each pool is a managed node group"),
    }
}

fn range(group: &NodeGroup<'_>) -> String {
    if group.nodes.is_fixed() {
        return group.nodes.min.to_string();
    }
    format!("{} to {}", group.nodes.min, group.nodes.max)
}

fn create(group: &NodeGroup<'_>) -> Command {
    let command = Command::new(["eksctl", "create", "nodegroup", "--config-file"])
        .with_word(Word::Beside(eksctl::PATH.to_owned()))
        .with([format!("--include={}", group.pool.name.value)]);
    // On Amazon Linux the cloud's plugin is the one that eksctl installs. Left alone it would come to other pools too.
    let plugin_of_eksctl = group.pool.has_gpus()
        && group.pool.plugin.value == DevicePlugin::Cloud
        && !group.advertises_by_itself();
    if plugin_of_eksctl {
        command
    } else {
        command.with(["--install-nvidia-plugin=false"])
    }
}

fn fields(group: &NodeGroup<'_>, target: &Target) -> Vec<Field> {
    let mut fields = fixed(group);
    fields.extend(changeable(group, target));
    let version = group.cluster.kubernetes.sure();
    let origin = Origin::made([version.span], Because::Written);
    let want = version.to_string();
    if group.has_eks_image() {
        let name = &group.pool.name.value;
        let update = target
            .on_group("update-nodegroup-version", name)
            .with(["--kubernetes-version", &want]);
        let update = vec![update, target.wait_for_group(name)];
        fields.push(field(&VERSION, json!(want), update, origin));
    } else {
        fields.push(field(&IMAGE_VERSION, json!(want), Vec::new(), origin));
    }
    fields
}

/// What is chosen once.
fn fixed(group: &NodeGroup<'_>) -> Vec<Field> {
    let written = &group.pool.written;
    let place: Vec<_> = if written.subnets.is_empty() {
        group.zones().into_iter().collect()
    } else {
        group.subnets().into_iter().collect()
    };
    let efa = if group.efa().is_some() { "yes" } else { "no" };
    let placement = group.placement_group();
    let pods = written.max_pods.map(|pods| pods.to_string());
    let reservation = group.reservation();
    let rows = [
        (
            &MACHINE,
            json!(group.machine.value),
            vec![group.machine.span],
        ),
        (
            &IMAGE,
            json!(group.image()),
            vec![group.pool.os.span, group.machine.span],
        ),
        (&PLACE, json!(place), group.place_spans()),
        (
            &CAPACITY,
            json!(group.capacity().word()),
            vec![written.capacity.span],
        ),
        (
            &RESERVATION,
            json!(reservation.map_or("", |id| id.as_str())),
            reservation.iter().map(|id| id.span).collect(),
        ),
        (
            &DISK,
            json!(written.disk_gib.to_string()),
            vec![written.disk_gib.span],
        ),
        (&EFA, json!(efa), group.efa().into_iter().collect()),
        (
            &PLACEMENT_GROUP,
            json!(placement.map_or("", |name| name.as_str())),
            placement.iter().map(|name| name.span).collect(),
        ),
        (
            &MAX_PODS,
            json!(pods.unwrap_or_default()),
            written.max_pods.iter().map(|pods| pods.span).collect(),
        ),
    ];
    let rows = rows.into_iter().map(|(kind, want, spans)| {
        field(
            kind,
            want,
            Vec::new(),
            Origin::made(spans, Because::Written),
        )
    });
    rows.collect()
}

/// What may change.
fn changeable(group: &NodeGroup<'_>, target: &Target) -> Vec<Field> {
    let pool = group.pool;
    let name = pool.name.value.as_str();
    let change = |flag, setting| target.change_group(name, flag, setting);
    let own = |reason| Origin::rule([pool.name.span], reason);

    let labels = pool.labels.iter();
    let labels: serde_json::Map<_, _> = labels
        .map(|label| (label.key.clone(), json!(label.value)))
        .collect();
    let mut taints: Vec<_> = group
        .taints()
        .map(|taint| (&taint.key, api_effect_name(taint.effect), &taint.value))
        .collect();
    taints.sort_unstable();
    let taint_spans: Vec<_> = group.taints().map(|taint| taint.span).collect();
    let taints: Vec<_> = taints
        .into_iter()
        .map(|(key, effect, value)| json!({"key": key, "value": value, "effect": effect}))
        .collect();

    let tags = tags::written(group);
    let want_tags = json!(tags::values(&tags));
    let update_tags = tags::update(
        &want_tags,
        ".nodegroup.nodegroupArn",
        TAGS.read,
        &target.region,
    );
    let template = tags::template(group);
    let want_template = json!(tags::values(&template));
    let mut update_template = tags::update(
        &want_template,
        ".nodegroup.nodegroupArn",
        TEMPLATE.read,
        &target.region,
    );
    let scaling = tags::update_scaling_group(&want_template, TEMPLATE.read, &target.region);
    update_template.extend(scaling);

    let unavailable = group.max_unavailable();
    let upgrade = json!({"maxUnavailable": unavailable.value});
    let nodes = group.nodes;
    vec![
        field(
            &LABELS,
            Value::Object(labels),
            change("--labels", Word::Observed(label_delta())),
            own("a pool's labels"),
        ),
        field(
            &TAINTS,
            json!(taints),
            change("--taints", Word::Observed(taint_delta())),
            Origin::made(taint_spans, Because::Written),
        ),
        field(
            &TAGS,
            want_tags,
            update_tags,
            own("the pool's tags and the cluster's"),
        ),
        field(
            &TEMPLATE,
            want_template,
            update_template,
            Origin::rule(
                tags::spans(&template),
                "the Cluster Autoscaler must know a node before there is one",
            ),
        ),
        field(
            &UPGRADE,
            upgrade.clone(),
            change("--update-config", Word::Text(upgrade.to_string())),
            Origin::made([unavailable.span], Because::Written),
        ),
        field(
            &SIZE,
            json!({"minSize": nodes.min, "maxSize": nodes.max}),
            change("--scaling-config", Word::Observed(scaling_within_limits())),
            Origin::made([nodes.min_span, nodes.max_span], Because::Written),
        ),
    ]
}

/// The whole wanted set, and what is there beside it: EKS takes away only what is named.
fn label_delta() -> String {
    let read = LABELS.read;
    format!("{{addOrUpdateLabels: $want, removeLabels: (({read} | keys) - ($want | keys))}}")
}

/// The same for taints, each known by its key and effect.
fn taint_delta() -> String {
    let read = TAINTS.read;
    format!(
        "{{addOrUpdateTaints: $want, removeTaints: [({read})[] | select([.key, .effect] as $id | $want | any(.[]; [.key, .effect] == $id) | not)]}}"
    )
}

/// The limits, and the number of nodes that is there unless they exclude it: between them it is the autoscaler's.
fn scaling_within_limits() -> String {
    ".nodegroup.scalingConfig.desiredSize as $now | $want + {desiredSize: ([([$now, $want.minSize] | max), $want.maxSize] | min)}"
        .to_owned()
}

fn field(kind: &'static FieldKind, want: Value, update: Vec<Command>, origin: Origin) -> Field {
    Field {
        kind,
        want,
        update,
        origin,
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{field, line, provision};
    use super::*;

    fn only_pool(pool: &str) -> Resource {
        let mut made = provision(pool).resources;
        assert_eq!(made.len(), 2, "the cluster and the pool");
        made.remove(1)
    }

    #[test]
    fn a_pool_is_made_by_eksctl_without_its_plugin() {
        let pool = only_pool("nodePools: [{name: gpu, machine: g5.xlarge, nodes: {count: 2}}]");
        let create: Vec<_> = pool.create.iter().map(line).collect();
        assert_eq!(
            create,
            [
                "eksctl create nodegroup --config-file ./eksctl.yaml --include=gpu --install-nvidia-plugin=false",
                "aws eks wait nodegroup-active --region us-east-1 --cluster-name demo --nodegroup-name gpu",
            ]
        );
        assert_eq!(
            line(&pool.observe.command),
            "aws eks describe-nodegroup --region us-east-1 --cluster-name demo --nodegroup-name gpu --output json"
        );
        assert_eq!(pool.script, "pool-gpu");
    }

    #[test]
    fn the_clouds_plugin_is_eksctls() {
        let pool = only_pool(
            "nodePools: [{name: gpu, machine: g5.xlarge, nodes: {count: 2}, stack: {devicePlugin: cloud}}]",
        );
        assert!(!line(&pool.create[0]).contains("nvidia-plugin"));
        let pool = only_pool(
            "nodePools: [{name: gpu, machine: g5.xlarge, nodes: {count: 2}, os: {family: Bottlerocket}}]",
        );
        assert!(line(&pool.create[0]).ends_with("--install-nvidia-plugin=false"));
    }

    #[test]
    fn images_follow_the_machine() {
        for (machine, os, image) in [
            ("g5.xlarge", "AmazonLinux2023", "AL2023_x86_64_NVIDIA"),
            ("g5g.xlarge", "AmazonLinux2023", "AL2023_ARM_64_NVIDIA"),
            ("m7i.large", "AmazonLinux2023", "AL2023_x86_64_STANDARD"),
            ("m7g.large", "AmazonLinux2023", "AL2023_ARM_64_STANDARD"),
            ("m7g.large", "Bottlerocket", "BOTTLEROCKET_ARM_64"),
            ("g5.xlarge", "Bottlerocket", "BOTTLEROCKET_x86_64_NVIDIA"),
            ("m7i.large", "Ubuntu2404", "Ubuntu2404"),
        ] {
            let pool = only_pool(&format!(
                "nodePools: [{{name: a, machine: {machine}, nodes: {{count: 1}}, os: {{family: {os}}}}}]"
            ));
            assert_eq!(field(&pool, "node image").want, image, "{machine} {os}");
        }
    }

    #[test]
    fn ubuntu_images_do_not_move() {
        let pool = only_pool(
            "nodePools: [{name: a, machine: m7i.large, nodes: {count: 1}, os: {family: Ubuntu2404}}]",
        );
        let version = field(&pool, "Kubernetes version of the image");
        assert!(matches!(version.kind.change, Change::Replaces { .. }));
        assert!(version.update.is_empty());
    }

    #[test]
    fn what_cannot_be_read_is_written_down() {
        let pool = only_pool(
            "nodePools: [{name: gpu, machine: p5.48xlarge, zones: [us-east-1b], nodes: {min: 1, max: 1}, \
             network: {efa: {}}, maxPods: 50, capacity: {capacityBlock: {id: cr-0123456789abcdef0, count: 4}}}]",
        );
        for (name, want) in [
            ("disk size in GiB", json!("100")),
            ("EFA", json!("yes")),
            ("most pods on a node", json!("50")),
            ("capacity reservation", json!("cr-0123456789abcdef0")),
            ("capacity", json!("CAPACITY_BLOCK")),
            ("zones or subnets", json!(["us-east-1b"])),
            ("placement group", json!("")),
        ] {
            assert_eq!(field(&pool, name).want, want, "{name}");
        }
    }

    #[test]
    fn taints_are_the_users() {
        let pool = only_pool(
            "nodePools: [{name: gpu, machine: g5.xlarge, nodes: {count: 2}, dedicatedTo: ml, \
             taints: [{key: a, effect: NoExecute}]}]",
        );
        assert_eq!(
            field(&pool, "taints").want,
            json!([
                {"key": "a", "value": "", "effect": "NO_EXECUTE"},
                {"key": "gpuc.dev/dedicated-to", "value": "ml", "effect": "NO_SCHEDULE"},
            ])
        );
    }

    #[test]
    fn fields_are_those_of_the_kind() {
        let pool = only_pool("nodePools: [{name: gpu, machine: g5.xlarge, nodes: {count: 2}}]");
        assert!(
            pool.fields
                .iter()
                .all(|field| KIND.fields.contains(field.kind))
        );
        let replaced = |field: &Field| matches!(field.kind.change, Change::Replaces { .. });
        assert!(
            pool.fields
                .iter()
                .all(|field| replaced(field) == field.update.is_empty())
        );
    }
}
