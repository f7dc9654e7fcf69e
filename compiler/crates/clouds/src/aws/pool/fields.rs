//! The fields of a node group, with the desired values and the commands that update them.

use gpuc_model::CapacityPeriod;
use gpuc_model::plan::{Argument, Command, Field, FieldKind};
use gpuc_syntax::node::{DerivationReason, Origin};
use serde_json::{Value, json};

use super::super::commands::{Target, aws};
use super::super::node_group::{NodeGroup, api_effect_name};
use super::super::node_image;
use super::super::{local_disks, ownership, section, tags};
use super::kinds::{
    ALTERNATIVES, BLOCK_RELEASE, BLOCK_SIZE, BLOCK_START, BLOCK_VERSION, CAPACITY, DISK, EFA,
    IMAGE, IMAGE_VERSION, INITIAL_SIZE, LABELS, LOCAL_DISKS, LOCATION, MACHINE, MAX_PODS,
    PLACEMENT_GROUP, RELEASE, REPAIR, RESERVATION, ROLE, SIZE, TAGS, TAINTS, TEMPLATE, UPGRADE,
    VERSION,
};

/// Every field, in the order in which they are compared and updated.
pub(super) fn fields(group: &NodeGroup<'_>, target: &Target) -> Vec<Field> {
    let mut fields = immutable_fields(group);
    fields.extend(mutable_fields(group, target));
    let version = group.cluster.kubernetes.expect_resolved();
    let origin = Origin::derived([version.span], DerivationReason::Written);
    let desired = version.to_string();
    if !group.has_eks_image() {
        fields.push(field(&IMAGE_VERSION, json!(desired), Vec::new(), origin));
        return fields;
    }
    let release = node_image::release(group, target);
    let (version_kind, release_kind) = if group.pool.capacity_period().is_some() {
        (&BLOCK_VERSION, &BLOCK_RELEASE)
    } else {
        (&VERSION, &RELEASE)
    };
    let pinned = release.as_ref().and_then(|it| it.version.as_deref());
    let update = upgrade_commands(group, target, pinned);
    fields.push(field(version_kind, json!(desired), update.clone(), origin));
    fields.extend(release.map(|release| Field {
        lookup: release.lookup,
        ..field(release_kind, release.desired, update, release.origin)
    }));
    fields
}

/// The commands that update the nodes to the Kubernetes version, with this release of the image or the newest one. EKS
/// upgrades a node group with a capacity block only while it has no nodes.
///
/// Source: awsdocs/amazon-eks-user-guide nodes/capacity-blocks-mng.adoc @2ef9e386, read 2026-11-22.
fn upgrade_commands(group: &NodeGroup<'_>, target: &Target, release: Option<&str>) -> Vec<Command> {
    let name = &group.pool.name.value;
    let version = group.cluster.kubernetes.expect_resolved().to_string();
    let mut command = target
        .group_command("update-nodegroup-version", name)
        .with_arguments(["--kubernetes-version", &version]);
    if let Some(release) = release {
        command = command.with_arguments(["--release-version", release]);
    }
    let upgrade = [command, target.await_group_update(name)];
    let Some(period) = group.pool.capacity_period() else {
        return upgrade.into();
    };
    let resize = |program: &str| {
        let size = Argument::Observed(program.to_owned());
        target.update_group(name, "--scaling-config", size)
    };
    let empty = resize(".nodegroup.scalingConfig | {minSize: 0, maxSize, desiredSize: 0}");
    // Not the current size: an interrupted run may have left the group empty.
    let full = resize(&format!("size_for_block({})", block_size(group, &period)));
    empty.into_iter().chain(upgrade).chain(full).collect()
}

/// The fields that are immutable after creation.
fn immutable_fields(group: &NodeGroup<'_>) -> Vec<Field> {
    let settings = &group.pool.settings;
    let location: Vec<_> = if settings.subnets.is_empty() {
        group.zones().into_iter().collect()
    } else {
        group.subnets().into_iter().collect()
    };
    let efa = if group.efa_span().is_some() {
        "yes"
    } else {
        "no"
    };
    let placement = group.placement_group();
    let pods = settings.max_pods.map(|pods| pods.to_string());
    let reservation = group.reservation();
    let scratch = local_disks::scratch_span(group.pool);
    let rows = [
        (
            &MACHINE,
            json!(group.machine.value),
            vec![group.machine.span],
        ),
        (
            &ALTERNATIVES,
            json!(group.alternatives().collect::<Vec<_>>()),
            group.alternative_spans().collect(),
        ),
        (
            &IMAGE,
            json!(group.ami_type()),
            vec![group.pool.os.span, group.machine.span],
        ),
        (&LOCATION, json!(location), group.location_spans()),
        (
            &CAPACITY,
            json!(group.capacity_type().as_str()),
            vec![settings.capacity.span],
        ),
        (
            &RESERVATION,
            json!(reservation.map_or("", |id| id.as_str())),
            reservation.iter().map(|id| id.span).collect(),
        ),
        (
            &DISK,
            json!(settings.disk_gib.to_string()),
            vec![settings.disk_gib.span],
        ),
        (&EFA, json!(efa), group.efa_span().into_iter().collect()),
        (
            &PLACEMENT_GROUP,
            json!(placement.map_or("", |name| name.as_str())),
            placement.iter().map(|name| name.span).collect(),
        ),
        (
            &MAX_PODS,
            json!(pods.unwrap_or_default()),
            settings.max_pods.iter().map(|pods| pods.span).collect(),
        ),
        (
            &LOCAL_DISKS,
            json!(scratch.map_or("none", |_| "scratch")),
            scratch.into_iter().collect(),
        ),
    ];
    let rows = rows.into_iter().map(|(kind, desired, spans)| {
        field(
            kind,
            desired,
            Vec::new(),
            Origin::derived(spans, DerivationReason::Written),
        )
    });
    // Without the key, a node group keeps its role.
    let role = section(&group.cluster.config).node_role.as_ref();
    let role = role.map(|role| {
        let origin = Origin::derived([role.span], DerivationReason::Written);
        field(&ROLE, json!(role.value), Vec::new(), origin)
    });
    rows.chain(role).collect()
}

/// The taints of a node group as the API shows them, sorted by key.
fn taints_for_api(group: &NodeGroup<'_>) -> Value {
    let mut taints: Vec<_> = group
        .taints()
        .map(|taint| (&taint.key, api_effect_name(taint.effect), &taint.value))
        .collect();
    taints.sort_unstable();
    taints
        .into_iter()
        .map(|(key, effect, value)| json!({"key": key, "value": value, "effect": effect}))
        .collect()
}

/// The fields that can be updated.
fn mutable_fields(group: &NodeGroup<'_>, target: &Target) -> Vec<Field> {
    let pool = group.pool;
    let name = pool.name.value.as_str();
    let change = |flag, setting| target.update_group(name, flag, setting);
    let pool_origin = |reason| Origin::rule([pool.name.span], reason);

    let labels = pool.labels.iter();
    let labels: serde_json::Map<_, _> = labels
        .map(|label| (label.key.clone(), json!(label.value)))
        .collect();
    let taint_spans: Vec<_> = group.taints().map(|taint| taint.span).collect();

    // The ownership record is written last: after an interrupted run, the next one still finds the keys to remove.
    let mut all_tags = tags::file_tags(group);
    all_tags.extend(ownership::group_ownership(group));
    let want_tags = json!(tags::key_values(&all_tags));
    let arn = ".nodegroup.nodegroupArn";
    let update_tags = tags::update_commands(&want_tags, arn, "tags_left", &target.region);
    let template = tags::node_template(group);
    let want_template = json!(tags::key_values(&template));
    let mut update_template =
        tags::update_commands(&want_template, arn, "template_left", &target.region);
    let scaling = tags::scaling_group_commands(&want_template, &target.region);
    update_template.extend(scaling);

    let upgrade = group.update_config();
    let upgrade_spans = [
        group.max_unavailable().span,
        group.pool.settings.capacity.span,
    ];
    let repair = group.repair();
    let repair_config = json!({"enabled": repair.value});
    let observed = |program: &str| Argument::Observed(program.to_owned());
    let mut fields = vec![
        with_external_entries(
            field(
                &LABELS,
                Value::Object(labels),
                change("--labels", observed("labels_change")),
                pool_origin("the labels of the pool"),
            ),
            "their_labels",
        ),
        with_external_entries(
            field(
                &TAINTS,
                taints_for_api(group),
                change("--taints", observed("taints_change")),
                Origin::derived(taint_spans, DerivationReason::Written),
            ),
            "their_taints",
        ),
        with_external_entries(
            field(
                &TEMPLATE,
                want_template,
                update_template,
                Origin::rule(
                    tags::tag_spans(&template),
                    "the Cluster Autoscaler must know the properties of a node before it exists",
                ),
            ),
            "their_template",
        ),
        with_external_entries(
            field(
                &TAGS,
                want_tags,
                update_tags,
                pool_origin("the tags of the pool and the cluster, and gpuc's ownership record"),
            ),
            "their_tags",
        ),
        field(
            &UPGRADE,
            upgrade.clone(),
            change("--update-config", Argument::Text(upgrade.to_string())),
            Origin::derived(upgrade_spans, DerivationReason::Written),
        ),
        field(
            &REPAIR,
            json!(repair.value),
            change(
                "--node-repair-config",
                Argument::Text(repair_config.to_string()),
            ),
            Origin::derived([repair.span], DerivationReason::Written),
        ),
    ];
    fields.extend(size_fields(group, target));
    fields
}

/// The number of nodes; with a capacity block, for the time of the block.
fn size_fields(group: &NodeGroup<'_>, target: &Target) -> Vec<Field> {
    let nodes = group.nodes;
    let name = group.pool.name.value.as_str();
    let resize = |program: String| {
        target.update_group(name, "--scaling-config", Argument::Observed(program))
    };
    let spans = [nodes.min_span, nodes.max_span];
    let Some(period) = group.pool.capacity_period() else {
        let limits = field(
            &SIZE,
            json!({"minSize": nodes.min, "maxSize": nodes.max}),
            resize(scaling_within_limits()),
            Origin::derived(spans, DerivationReason::Written),
        );
        let initial = nodes.initial.map(|initial| {
            let origin = Origin::derived([initial.span], DerivationReason::Written);
            field(&INITIAL_SIZE, json!(initial.value), Vec::new(), origin)
        });
        return [limits].into_iter().chain(initial).collect();
    };
    let start = period.start.to_string();
    let origin = Origin::rule(
        spans
            .into_iter()
            .chain([period.start_span, period.end_span]),
        "a capacity block has machines only between its start and its end",
    );
    let record = format!("{start} {}", nodes.min);
    let schedule = aws(
        ["autoscaling", "put-scheduled-update-group-action"],
        &target.region,
    )
    .with_arguments(["--scheduled-action-name", "gpuc-capacity-block"])
    .with_arguments(["--start-time", &start])
    .with_arguments([
        "--min-size".to_owned(),
        nodes.min.to_string(),
        "--desired-capacity".to_owned(),
        nodes.min.to_string(),
        "--auto-scaling-group-name".to_owned(),
    ])
    .with_argument(Argument::Observed(
        ".nodegroup.resources.autoScalingGroups[0].name".to_owned(),
    ));
    // The tag is set last: after an interrupted run, the next one sets the action again.
    let tag = aws(["eks", "tag-resource"], &target.region)
        .with_arguments([
            "--tags".to_owned(),
            json!({tags::BLOCK_TAG: record}).to_string(),
        ])
        .with_arguments(["--resource-arn"])
        .with_argument(Argument::Observed(".nodegroup.nodegroupArn".to_owned()));
    let rows = [
        (
            &BLOCK_SIZE,
            block_size(group, &period),
            resize("size_for_block($want)".to_owned()),
        ),
        (&BLOCK_START, json!(record), vec![schedule, tag]),
    ];
    let fields = rows.map(|(kind, desired, update)| Field {
        is_set_after_creation: true,
        ..field(kind, desired, update, origin.clone())
    });
    fields.into()
}

/// The size of a node group during its capacity block, and the time of the block.
fn block_size(group: &NodeGroup<'_>, period: &CapacityPeriod) -> Value {
    json!({
        "minSize": group.nodes.min,
        "maxSize": group.nodes.max,
        "start": period.start.to_string(),
        "scaleDown": period.scale_down.to_string(),
    })
}

/// The scaling limits with the current number of nodes, clamped to the limits: within them the autoscaler sets it.
fn scaling_within_limits() -> String {
    ".nodegroup.scalingConfig.desiredSize as $now | $want + {desiredSize: ([([$now, $want.minSize] | max), $want.maxSize] | min)}"
        .to_owned()
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

/// A field to which other tools may add entries.
fn with_external_entries(field: Field, others: &'static str) -> Field {
    Field {
        external_entries: Some(others),
        ..field
    }
}
