//! Impact of changes of Kubernetes objects, by kind.

use std::cmp::Ordering;

use gpuc_compile::charts::read_once::START_CONFIG;

use super::super::changes::{Delta, EntityChange};
use super::super::entities::{Entities, Entity, EntityKey};
use super::super::impact::Impact;
use super::classification::Classification;
use super::context::DiffContext;
use super::persistent_data;
mod quota;
mod table;

use Impact::{
    Added, DevicePluginRestarted, MonitoringChanged, Nothing, QuotaCut, QuotaRaised,
    ServiceRestarted, WorkloadRestarted,
};
use table::{FieldImpact, KindImpacts, TOPOLOGY_NAME, find_kind};

/// Whether gpuc knows the impact of changes of a kind.
pub fn is_known(group: &str, kind: &str) -> bool {
    find_kind(group, kind).is_some()
}

pub(super) fn classify(setting: &DiffContext<'_>, delta: &Delta) -> Classification {
    let EntityKey::Object {
        group, kind: name, ..
    } = &delta.key
    else {
        return Classification::without_reason(Nothing);
    };
    let entity = setting.entity(&delta.key);
    if let Some(classification) =
        entity.and_then(|entity| classify_by_use(setting, name, entity, delta))
    {
        return classification;
    }
    let Some(kind) = find_kind(group, name) else {
        return Classification::with_reason(
            ServiceRestarted,
            "gpuc does not know the effect of changing this kind",
        );
    };
    match delta.entity_change() {
        // A new namespace runs no workloads yet.
        EntityChange::Added if is_in_new_namespace(setting, &delta.key) => {
            Classification::without_reason(Added)
        }
        EntityChange::Added => Classification::without_reason(kind.on_create),
        EntityChange::Removed
            if !setting.prunes_removed
                && kind.on_delete == WorkloadRestarted
                && let Some(new) = renamed_object(setting, &delta.key) =>
        {
            Classification::with_reason(
                WorkloadRestarted,
                format!(
                    "renamed to `{new}`: both run until `kubectl delete {}` deletes the old one and its pods",
                    name.to_lowercase()
                ),
            )
        }
        EntityChange::Removed => classify_removed(setting, kind, entity, name),
        EntityChange::Modified => classify_modified(setting, kind, entity, delta),
    }
}

/// Finds the new object that equals a removed one except for its name or namespace.
fn renamed_object(setting: &DiffContext<'_>, key: &EntityKey) -> Option<String> {
    let old = setting.before.by_key.get(key)?;
    let mut new = setting.after.by_key.iter().filter(|(new, _)| {
        let is_kind = match (key, new) {
            (
                EntityKey::Object { group, kind, .. },
                EntityKey::Object {
                    group: of,
                    kind: is,
                    ..
                },
            ) => group == of && kind == is,
            _ => false,
        };
        is_kind && !setting.before.by_key.contains_key(new)
    });
    let renamed_fields = |entity: &Entity, [from, to]: [&str; 2]| {
        entity
            .fields
            .iter()
            .filter(|(path, _)| !path.starts_with("metadata."))
            .map(|(path, leaf)| {
                (
                    path.replace(from, to),
                    leaf.value.to_string().replace(from, to),
                )
            })
            .collect::<std::collections::BTreeSet<_>>()
    };
    let is_renamed = |(new, entity): &(&EntityKey, &Entity)| {
        let (EntityKey::Object { name: old_name, .. }, EntityKey::Object { name: new_name, .. }) =
            (key, new)
        else {
            return false;
        };
        // An image name may contain the old name, which then stays.
        let names: [&str; 2] = [old_name, new_name];
        renamed_fields(old, names) == renamed_fields(entity, names)
    };
    new.find(is_renamed).map(|(new, _)| new.name())
}

fn is_in_new_namespace(setting: &DiffContext<'_>, key: &EntityKey) -> bool {
    let EntityKey::Object {
        namespace: Some(namespace),
        ..
    } = key
    else {
        return false;
    };
    let namespace = EntityKey::Object {
        group: String::new(),
        kind: "Namespace".to_owned(),
        namespace: None,
        name: namespace.clone(),
    };
    setting.after.by_key.contains_key(&namespace) && !setting.before.by_key.contains_key(&namespace)
}

/// The field of a node's configuration with the cluster's name.
const CLUSTER_NAME_SUFFIX: &str = " » cluster";

/// Verdicts for objects whose use matters more than their kind.
fn classify_by_use(
    setting: &DiffContext<'_>,
    kind: &str,
    entity: &Entity,
    delta: &Delta,
) -> Option<Classification> {
    // The object stays.
    if delta.entity_change() == EntityChange::Removed && !setting.prunes_removed {
        return None;
    }
    let path = delta.path.as_deref().unwrap_or_default();
    let is_dashboard = || entity.fields.keys().any(|path| path.contains("grafana"));
    match (kind, entity.component.as_str()) {
        ("ConfigMap", "monitoring") => Some(Classification::without_reason(MonitoringChanged)),
        ("ConfigMap", _) if is_dashboard() => {
            Some(Classification::without_reason(MonitoringChanged))
        }
        ("ConfigMap", "gpuc-runtime") if path.contains(" » metrics.") => {
            Some(Classification::with_reason(
                MonitoringChanged,
                "gpuc-runtime reloads its metrics configuration without a restart",
            ))
        }
        ("ConfigMap", "gpuc-runtime") if path.ends_with(CLUSTER_NAME_SUFFIX) => {
            Some(Classification::with_reason(
                MonitoringChanged,
                "gpuc-runtime reloads the cluster's name for its metrics and logs without a restart",
            ))
        }
        ("ConfigMap", "gpuc-runtime") if delta.entity_change() == EntityChange::Modified => {
            Some(classify_node_config(setting, delta, path))
        }
        ("NicNodePolicy" | "NicClusterPolicy", _) => {
            classify_network_driver(setting, entity, delta)
        }
        ("ConfigMap" | "DaemonSet", "nvidia-driver-installer") => {
            Some(Classification::without_reason(Impact::DriverRestarted))
        }
        _ => None,
    }
}

/// Verdict for a changed configuration of gpuc-runtime. Its containers read some settings only when they start; then
/// the annotation of the DaemonSet's template changes too (`start_digest` in `lower/node_config.rs`).
fn classify_node_config(setting: &DiffContext<'_>, delta: &Delta, path: &str) -> Classification {
    let (_, field) = path.split_once(" » ").unwrap_or_default();
    let field = field.split(['.', '[']).next().unwrap_or_default();
    match field {
        "sharing" | "resources" | "driver" if restarts_daemon_set(setting, &delta.key) => {
            Classification::with_reason(
                DevicePluginRestarted,
                "the pool's DaemonSet restarts with it",
            )
        }
        "sharing" | "resources" => Classification::with_reason(
            DevicePluginRestarted,
            "gpuc-runtime reloads it without a restart, and advertises the new resources",
        ),
        "labels" | "expected" | "placement" | "health" => {
            Classification::with_reason(Nothing, "gpuc-runtime reloads it without a restart")
        }
        _ => Classification::with_reason(
            DevicePluginRestarted,
            "gpuc-runtime reloads it without a restart",
        ),
    }
}

/// Whether the template of the DaemonSet with the name of this ConfigMap changes.
fn restarts_daemon_set(setting: &DiffContext<'_>, config_map: &EntityKey) -> bool {
    let EntityKey::Object {
        namespace, name, ..
    } = config_map
    else {
        return false;
    };
    let key = EntityKey::Object {
        group: "apps".to_owned(),
        kind: "DaemonSet".to_owned(),
        namespace: namespace.clone(),
        name: name.clone(),
    };
    let annotation = |entities: &Entities| {
        let fields = &entities.by_key.get(&key)?.fields;
        let mut fields = fields.iter();
        let found = fields.find(|(path, _)| path.contains(START_CONFIG));
        found.map(|(_, field)| field.value.clone())
    };
    annotation(setting.before) != annotation(setting.after)
}

/// Verdict for another NIC driver or another owner of it: the kernel module is unloaded with all its connections, and a
/// module in use cannot be unloaded.
fn classify_network_driver(
    setting: &DiffContext<'_>,
    entity: &Entity,
    delta: &Delta,
) -> Option<Classification> {
    const DRIVER: &str = "spec.ofedDriver";
    let deploys_driver = || entity.fields.keys().any(|path| path.starts_with(DRIVER));
    // A new or removed pool has no running workloads to preserve.
    let sides = [setting.before, setting.after];
    let is_there = |entities: &Entities| {
        let mut pools = entities.summary.pools.iter();
        entity.pools.is_empty() || pools.any(|pool| entity.pools.contains(&pool.name))
    };
    let is_driver = sides.into_iter().all(is_there)
        && match (delta.entity_change(), delta.path.as_deref()) {
            (EntityChange::Modified, Some(path)) => {
                path.starts_with(DRIVER) && !path.starts_with("spec.ofedDriver.upgradePolicy")
            }
            (EntityChange::Removed, _) => setting.prunes_removed && deploys_driver(),
            (EntityChange::Added, _) => deploys_driver(),
            _ => false,
        };
    is_driver.then(|| {
        Classification::with_reason(
            Impact::DriverRestarted,
            "the NIC driver is replaced, and running workloads lose their connections: drain the nodes first",
        )
    })
}

fn classify_removed(
    setting: &DiffContext<'_>,
    kind: &KindImpacts,
    entity: Option<&Entity>,
    name: &str,
) -> Classification {
    match kind.name {
        "Namespace" => Classification::with_reason(
            Nothing,
            "gpuc never deletes a namespace, because that deletes all objects in it",
        ),
        // Revoked access that remains is reported first.
        "RoleBinding" | "ClusterRoleBinding"
            if !setting.prunes_removed && !setting.after.by_key.is_empty() =>
        {
            Classification::with_reason(
                Impact::AccessChanged,
                format!(
                    "the removed access remains until `kubectl delete {1}`: {0}",
                    setting.retention_reason(),
                    name.to_lowercase()
                ),
            )
        }
        _ if !setting.prunes_removed => Classification::with_reason(
            Nothing,
            format!(
                "{}: it stays until `kubectl delete {}`",
                setting.retention_reason(),
                name.to_lowercase()
            ),
        ),
        // Annotations exclude it from pruning.
        "PersistentVolumeClaim" => Classification::with_reason(
            Nothing,
            "PersistentVolumeClaims are never pruned: it stays, with its data, until `kubectl delete \
             persistentvolumeclaim`",
        ),
        "DaemonSet" | "Deployment" => Classification::without_reason(restart_impact(entity).0),
        _ => Classification::without_reason(kind.on_delete),
    }
}

fn classify_modified(
    setting: &DiffContext<'_>,
    kind: &KindImpacts,
    entity: Option<&Entity>,
    delta: &Delta,
) -> Classification {
    let path = delta.path.as_deref().unwrap_or_default();
    let fits = |key: &str| {
        let rest = path.strip_prefix(key);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
    };
    let row = kind
        .field_impacts
        .iter()
        .filter(|row| fits(row.field_path()));
    let row = row.max_by_key(|row| row.field_path().len());
    let fixed = kind.immutable_fields.iter().find(|(key, _)| fits(key));
    let fixed = fixed.filter(|_| !is_mutable_flavor(setting, kind, delta));
    if let (Some((key, source)), None) = (fixed, row) {
        let impact = match kind.name {
            // A volume is bound to a claim that pods use.
            "PersistentVolume" => WorkloadRestarted,
            _ => kind.on_delete,
        };
        let words = if setting.is_forced_to_recreate(&delta.key) {
            format!(
                "`{key}` cannot be changed: {} deletes and recreates the {} as soon as you push, and its pods start \
                 over: save their state or wait until they finish first",
                setting.after.controller, kind.name
            )
        } else {
            format!(
                "`{key}` cannot be changed: delete the {} so that it is recreated{}",
                kind.name,
                kind.unaffected_workloads()
            )
        };
        return Classification {
            is_immutable: true,
            ..Classification::with_source(impact, words, source)
        };
    }
    match row {
        Some(FieldImpact::Constant(_, impact, "")) => Classification::without_reason(*impact),
        Some(FieldImpact::Constant(_, impact, words)) => {
            Classification::with_reason(*impact, *words)
        }
        Some(FieldImpact::Restarts(_)) if kind.name == "DaemonSet" && is_node_selection(path) => {
            let (impact, _) = restart_impact(entity);
            Classification::with_reason(
                impact,
                "its pods stop on nodes that no longer match these labels, and start on nodes that match",
            )
        }
        Some(FieldImpact::Restarts(_)) => {
            let (impact, words) = restart_impact(entity);
            Classification::with_reason(impact, words)
        }
        Some(FieldImpact::Pods(_)) if is_decrease(delta) => {
            Classification::with_reason(WorkloadRestarted, "pods are removed")
        }
        Some(FieldImpact::Pods(_)) => Classification::with_reason(Added, "pods are added"),
        Some(FieldImpact::Quota(_)) => {
            Classification::without_reason(match quota::compare_quotas(path, delta) {
                Some(Ordering::Less) => QuotaCut,
                Some(Ordering::Greater) => QuotaRaised,
                Some(Ordering::Equal) => Nothing,
                None => kind.on_change,
            })
        }
        Some(FieldImpact::Size(_)) => {
            persistent_data::classify_resized_claim(setting, is_decrease(delta))
        }
        // Provisioners express sizes differently, so that the pool's own size decides.
        Some(FieldImpact::Capacity(_))
            if let Some(impact) = entity.and_then(|entity| {
                super::capacity::capacity_impact(setting, entity.pools.iter().map(String::as_str))
            }) =>
        {
            Classification::without_reason(impact)
        }
        Some(FieldImpact::Capacity(_)) if is_decrease(delta) => {
            Classification::without_reason(Impact::CapacityLost)
        }
        Some(FieldImpact::Capacity(_)) => Classification::without_reason(Impact::CapacityGained),
        // Labels and annotations of the object itself.
        None if path.starts_with("metadata.") && !is_label_selected(kind) => {
            Classification::without_reason(Nothing)
        }
        None => Classification::without_reason(kind.on_change),
    }
}

/// Whether controllers select objects of this kind by label: Pod Security reads a namespace's labels, and Prometheus
/// those of monitors and rules.
fn is_label_selected(kind: &KindImpacts) -> bool {
    kind.name == "Namespace" || kind.on_change == MonitoringChanged
}

/// Whether a ResourceFlavor is mutable because it names no topology: the rules of its CRD begin with
/// `!has(oldSelf.topologyName)`.
fn is_mutable_flavor(setting: &DiffContext<'_>, kind: &KindImpacts, delta: &Delta) -> bool {
    let was = setting.before.by_key.get(&delta.key);
    kind.name == "ResourceFlavor"
        && was.is_some_and(|entity| !entity.fields.contains_key(TOPOLOGY_NAME))
}

/// The impact of restarting an object's pods, by component.
fn restart_impact(entity: Option<&Entity>) -> (Impact, &'static str) {
    match entity.map(|entity| entity.component.as_str()) {
        Some("gpuc-runtime" | "nvidia-device-plugin") => (
            DevicePluginRestarted,
            "its pods are replaced node by node; running containers keep their GPUs",
        ),
        Some("nvidia-driver-installer" | "nvidia-drivers") => (
            Impact::DriverRestarted,
            "drivers are reinstalled, node by node",
        ),
        Some("workloads") => (WorkloadRestarted, "rolling update of its pods"),
        _ => (ServiceRestarted, "its pods are replaced"),
    }
}

/// Whether a field selects the nodes that pods run on.
fn is_node_selection(path: &str) -> bool {
    path.contains(".nodeAffinity.") || path.contains(".nodeSelector")
}

/// Whether a quantity shrinks, or a limit is set for the first time.
fn is_decrease(delta: &Delta) -> bool {
    match (
        quota::quantity_thousandths(delta.from.as_ref()),
        quota::quantity_thousandths(delta.to.as_ref()),
    ) {
        (Some(from), Some(to)) => to < from,
        // A new limit.
        (None, Some(_)) => delta.from.is_none(),
        _ => false,
    }
}
