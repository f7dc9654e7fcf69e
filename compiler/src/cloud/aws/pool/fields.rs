//! The fields of a node group with the values wanted and what changes them.

use serde_json::{Value, json};

use super::super::commands::Target;
use super::super::node_group::{NodeGroup, api_effect_name};
use super::super::{local_disks, memory, tags};
use super::kinds::{
    CAPACITY, DISK, EFA, IMAGE, IMAGE_VERSION, LABELS, LOCAL_DISKS, MACHINE, MAX_PODS, PLACE,
    PLACEMENT_GROUP, REPAIR, RESERVATION, SIZE, TAGS, TAINTS, TEMPLATE, UPGRADE, VERSION,
};
use crate::node::{Because, Origin};
use crate::plan::{Command, Field, FieldKind, Word};

/// Every field, in the order they are compared and changed.
pub(super) fn fields(group: &NodeGroup<'_>, target: &Target) -> Vec<Field> {
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
    let scratch = local_disks::scratch(group.pool);
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
        (
            &LOCAL_DISKS,
            json!(scratch.map_or("none", |_| "scratch")),
            scratch.into_iter().collect(),
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

    // The memory is written last: a run that is cut short before finds what it has not removed yet.
    let mut all_tags = tags::written(group);
    all_tags.extend(memory::of_group(group));
    let want_tags = json!(tags::values(&all_tags));
    let arn = ".nodegroup.nodegroupArn";
    let update_tags = tags::update(&want_tags, arn, "tags_left", &target.region);
    let template = tags::template(group);
    let want_template = json!(tags::values(&template));
    let mut update_template = tags::update(&want_template, arn, "template_left", &target.region);
    let scaling = tags::update_scaling_group(&want_template, &target.region);
    update_template.extend(scaling);

    let upgrade = group.update_config();
    let upgrade_spans = [
        group.max_unavailable().span,
        group.pool.written.capacity.span,
    ];
    let repair = group.repair();
    let repair_config = json!({"enabled": repair.value});
    let nodes = group.nodes;
    let observed = |program: &str| Word::Observed(program.to_owned());
    vec![
        shared(
            field(
                &LABELS,
                Value::Object(labels),
                change("--labels", observed("labels_change")),
                own("a pool's labels"),
            ),
            "their_labels",
        ),
        shared(
            field(
                &TAINTS,
                json!(taints),
                change("--taints", observed("taints_change")),
                Origin::made(taint_spans, Because::Written),
            ),
            "their_taints",
        ),
        shared(
            field(
                &TEMPLATE,
                want_template,
                update_template,
                Origin::rule(
                    tags::spans(&template),
                    "the Cluster Autoscaler must know a node before there is one",
                ),
            ),
            "their_template",
        ),
        shared(
            field(
                &TAGS,
                want_tags,
                update_tags,
                own("the pool's tags and the cluster's, and what gpuc remembers in tags"),
            ),
            "their_tags",
        ),
        field(
            &UPGRADE,
            upgrade.clone(),
            change("--update-config", Word::Text(upgrade.to_string())),
            Origin::made(upgrade_spans, Because::Written),
        ),
        field(
            &REPAIR,
            json!(repair.value),
            change(
                "--node-repair-config",
                Word::Text(repair_config.to_string()),
            ),
            Origin::made([repair.span], Because::Written),
        ),
        field(
            &SIZE,
            json!({"minSize": nodes.min, "maxSize": nodes.max}),
            change("--scaling-config", Word::Observed(scaling_within_limits())),
            Origin::made([nodes.min_span, nodes.max_span], Because::Written),
        ),
    ]
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
        others: None,
        origin,
    }
}

/// A field that others add to.
fn shared(field: Field, others: &'static str) -> Field {
    Field {
        others: Some(others),
        ..field
    }
}
