//! The fields of a node group, with the desired values and the commands that update them.

use gpuc_model::plan::{Argument, Command, Field, FieldKind};
use gpuc_syntax::node::{DerivationReason, Origin};
use serde_json::{Value, json};

use super::super::commands::Target;
use super::super::node_group::{NodeGroup, api_effect_name};
use super::super::{local_disks, ownership, tags};
use super::kinds::{
    CAPACITY, DISK, EFA, IMAGE, IMAGE_VERSION, LABELS, LOCAL_DISKS, LOCATION, MACHINE, MAX_PODS,
    PLACEMENT_GROUP, REPAIR, RESERVATION, SIZE, TAGS, TAINTS, TEMPLATE, UPGRADE, VERSION,
};

/// Every field, in the order in which they are compared and updated.
pub(super) fn fields(group: &NodeGroup<'_>, target: &Target) -> Vec<Field> {
    let mut fields = immutable_fields(group);
    fields.extend(mutable_fields(group, target));
    let version = group.cluster.kubernetes.expect_resolved();
    let origin = Origin::derived([version.span], DerivationReason::Written);
    let desired = version.to_string();
    if group.has_eks_image() {
        let name = &group.pool.name.value;
        let update = target
            .group_command("update-nodegroup-version", name)
            .with_arguments(["--kubernetes-version", &desired]);
        let update = vec![update, target.await_group_update(name)];
        fields.push(field(&VERSION, json!(desired), update, origin));
    } else {
        fields.push(field(&IMAGE_VERSION, json!(desired), Vec::new(), origin));
    }
    fields
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
    rows.collect()
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
    let nodes = group.nodes;
    let observed = |program: &str| Argument::Observed(program.to_owned());
    vec![
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
        field(
            &SIZE,
            json!({"minSize": nodes.min, "maxSize": nodes.max}),
            change(
                "--scaling-config",
                Argument::Observed(scaling_within_limits()),
            ),
            Origin::derived([nodes.min_span, nodes.max_span], DerivationReason::Written),
        ),
    ]
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
