//! Impact of changes of Kubernetes objects, by kind.

use std::cmp::Ordering;

use super::super::changes::{Delta, Fate};
use super::super::entities::{Key, Part};
use super::super::impact::Impact;
use super::{Setting, Verdict, persistent_data};
mod quota;
mod table;

use Impact::{
    Added, Nothing, PluginRestarted, QuotaCut, QuotaRaised, ServiceRestarted, WatchedDifferently,
    WorkloadRestarted,
};
use table::{Kind, Row, TOPOLOGY_NAME, find};

/// Whether gpuc knows the impact of changes of a kind.
pub fn is_known(group: &str, kind: &str) -> bool {
    find(group, kind).is_some()
}

pub(super) fn judge(setting: &Setting<'_>, delta: &Delta) -> Verdict {
    let Key::Object {
        group, kind: name, ..
    } = &delta.key
    else {
        return Verdict::plain(Nothing);
    };
    let part = setting.part(&delta.key);
    if let Some(verdict) = part.and_then(|part| by_use(setting, name, part, delta)) {
        return verdict;
    }
    let Some(kind) = find(group, name) else {
        return Verdict::because(
            ServiceRestarted,
            "gpuc does not know the effect of changing this kind",
        );
    };
    match delta.fate() {
        // A new namespace runs no workloads yet.
        Fate::Came if is_in_new_namespace(setting, &delta.key) => Verdict::plain(Added),
        Fate::Came => Verdict::plain(kind.came),
        Fate::Went
            if !setting.prunes
                && kind.went == WorkloadRestarted
                && let Some(new) = renamed(setting, &delta.key) =>
        {
            Verdict::because(
                WorkloadRestarted,
                format!(
                    "renamed to `{new}`: both run until `kubectl delete {}` deletes the old one and its pods",
                    name.to_lowercase()
                ),
            )
        }
        Fate::Went => went(setting, kind, part, name),
        Fate::Stayed => stayed(setting, kind, part, delta),
    }
}

/// Finds the new object that equals a removed one except for its name or namespace.
fn renamed(setting: &Setting<'_>, key: &Key) -> Option<String> {
    let old = setting.before.all.get(key)?;
    let mut new = setting.after.all.iter().filter(|(new, _)| {
        let is_kind = match (key, new) {
            (
                Key::Object { group, kind, .. },
                Key::Object {
                    group: of,
                    kind: is,
                    ..
                },
            ) => group == of && kind == is,
            _ => false,
        };
        is_kind && !setting.before.all.contains_key(new)
    });
    let renamed_fields = |part: &Part, [from, to]: [&str; 2]| {
        part.leaves
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
    let is_renamed = |(new, part): &(&Key, &Part)| {
        let (Key::Object { name: old_name, .. }, Key::Object { name: new_name, .. }) = (key, new)
        else {
            return false;
        };
        // An image name may contain the old name, which then stays.
        let names: [&str; 2] = [old_name, new_name];
        renamed_fields(old, names) == renamed_fields(part, names)
    };
    new.find(is_renamed).map(|(new, _)| new.name())
}

fn is_in_new_namespace(setting: &Setting<'_>, key: &Key) -> bool {
    let Key::Object {
        namespace: Some(namespace),
        ..
    } = key
    else {
        return false;
    };
    let namespace = Key::Object {
        group: String::new(),
        kind: "Namespace".to_owned(),
        namespace: None,
        name: namespace.clone(),
    };
    setting.after.all.contains_key(&namespace) && !setting.before.all.contains_key(&namespace)
}

/// The field of a node's configuration with the cluster's name.
const NAMES_CLUSTER: &str = " » cluster";

/// Verdicts for objects whose use matters more than their kind.
fn by_use(setting: &Setting<'_>, kind: &str, part: &Part, delta: &Delta) -> Option<Verdict> {
    // The object stays.
    if delta.fate() == Fate::Went && !setting.prunes {
        return None;
    }
    let path = delta.path.as_deref().unwrap_or_default();
    let is_dashboard = || part.leaves.keys().any(|path| path.contains("grafana"));
    match (kind, part.component.as_str()) {
        ("ConfigMap", "monitoring") => Some(Verdict::plain(WatchedDifferently)),
        ("ConfigMap", _) if is_dashboard() => Some(Verdict::plain(WatchedDifferently)),
        ("ConfigMap", "gpuc-runtime") if path.contains(" » metrics.") => Some(Verdict::because(
            WatchedDifferently,
            "gpuc-runtime reloads its metrics configuration without a restart",
        )),
        ("ConfigMap", "gpuc-runtime") if path.ends_with(NAMES_CLUSTER) => Some(Verdict::because(
            WatchedDifferently,
            "gpuc-runtime reloads the cluster's name for its metrics and logs without a restart",
        )),
        ("ConfigMap", "gpuc-runtime") if delta.fate() == Fate::Stayed => Some(Verdict::because(
            PluginRestarted,
            "gpuc-runtime reloads it without a restart, and advertises the new resources",
        )),
        ("NicNodePolicy" | "NicClusterPolicy", _) => network_driver(setting, part, delta),
        ("ConfigMap" | "DaemonSet", "nvidia-driver-installer") => {
            Some(Verdict::plain(Impact::DriverRestarted))
        }
        _ => None,
    }
}

/// Verdict for another NIC driver or another owner of it: the kernel module is unloaded with all its connections, and a
/// module in use cannot be unloaded.
fn network_driver(setting: &Setting<'_>, part: &Part, delta: &Delta) -> Option<Verdict> {
    const DRIVER: &str = "spec.ofedDriver";
    let brings = || part.leaves.keys().any(|path| path.starts_with(DRIVER));
    // A new or removed pool has no running workloads to preserve.
    let sides = [setting.before, setting.after];
    let is_there = |parts: &super::Parts| {
        let mut pools = parts.summary.pools.iter();
        part.pools.is_empty() || pools.any(|pool| part.pools.contains(&pool.name))
    };
    let is_driver = sides.into_iter().all(is_there)
        && match (delta.fate(), delta.path.as_deref()) {
            (Fate::Stayed, Some(path)) => {
                path.starts_with(DRIVER) && !path.starts_with("spec.ofedDriver.upgradePolicy")
            }
            (Fate::Went, _) => setting.prunes && brings(),
            (Fate::Came, _) => brings(),
            _ => false,
        };
    is_driver.then(|| {
        Verdict::because(
            Impact::DriverRestarted,
            "the NIC driver is replaced, and running workloads lose their connections: drain the nodes first",
        )
    })
}

fn went(setting: &Setting<'_>, kind: &Kind, part: Option<&Part>, name: &str) -> Verdict {
    match kind.name {
        "Namespace" => Verdict::because(
            Nothing,
            "gpuc never deletes a namespace, because that deletes all objects in it",
        ),
        // Revoked access that remains is reported first.
        "RoleBinding" | "ClusterRoleBinding"
            if !setting.prunes && !setting.after.all.is_empty() =>
        {
            Verdict::because(
                Impact::AccessChanged,
                format!(
                    "the removed access remains until `kubectl delete {1}`: {0}",
                    setting.retention_reason(),
                    name.to_lowercase()
                ),
            )
        }
        _ if !setting.prunes => Verdict::because(
            Nothing,
            format!(
                "{}: it stays until `kubectl delete {}`",
                setting.retention_reason(),
                name.to_lowercase()
            ),
        ),
        // Annotations exclude it from pruning.
        "PersistentVolumeClaim" => Verdict::because(
            Nothing,
            "PersistentVolumeClaims are never pruned: it stays, with its data, until `kubectl delete \
             persistentvolumeclaim`",
        ),
        "DaemonSet" | "Deployment" => Verdict::plain(restart(part).0),
        _ => Verdict::plain(kind.went),
    }
}

fn stayed(setting: &Setting<'_>, kind: &Kind, part: Option<&Part>, delta: &Delta) -> Verdict {
    let path = delta.path.as_deref().unwrap_or_default();
    let fits = |key: &str| {
        let rest = path.strip_prefix(key);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
    };
    let row = kind.rows.iter().filter(|row| fits(row.key()));
    let row = row.max_by_key(|row| row.key().len());
    let fixed = kind.fixed.iter().find(|(key, _)| fits(key));
    let fixed = fixed.filter(|_| !is_free(setting, kind, delta));
    if let (Some((key, source)), None) = (fixed, row) {
        let impact = match kind.name {
            // A volume is bound to a claim that pods use.
            "PersistentVolume" => WorkloadRestarted,
            _ => kind.went,
        };
        let words = if setting.is_forced(&delta.key) {
            format!(
                "`{key}` cannot be changed: {} deletes and recreates the {} as soon as you push, and its pods start \
                 over: save their state or wait until they finish first",
                setting.after.tool, kind.name
            )
        } else {
            format!(
                "`{key}` cannot be changed: delete the {} so that it is recreated{}",
                kind.name,
                kind.kept()
            )
        };
        return Verdict {
            is_fixed: true,
            ..Verdict::fact(impact, words, source)
        };
    }
    match row {
        Some(Row::Is(_, impact, "")) => Verdict::plain(*impact),
        Some(Row::Is(_, impact, words)) => Verdict::because(*impact, *words),
        Some(Row::Restarts(_)) if kind.name == "DaemonSet" && is_selection(path) => {
            let (impact, _) = restart(part);
            Verdict::because(
                impact,
                "its pods stop on nodes that no longer match these labels, and start on nodes that match",
            )
        }
        Some(Row::Restarts(_)) => {
            let (impact, words) = restart(part);
            Verdict::because(impact, words)
        }
        Some(Row::Pods(_)) if is_less(delta) => {
            Verdict::because(WorkloadRestarted, "pods are removed")
        }
        Some(Row::Pods(_)) => Verdict::because(Added, "pods are added"),
        Some(Row::Quota(_)) => Verdict::plain(match quota::direction(path, delta) {
            Some(Ordering::Less) => QuotaCut,
            Some(Ordering::Greater) => QuotaRaised,
            Some(Ordering::Equal) => Nothing,
            None => kind.changed,
        }),
        Some(Row::Size(_)) => persistent_data::claim(setting, is_less(delta)),
        // Provisioners express sizes differently, so that the pool's own size decides.
        Some(Row::Capacity(_))
            if let Some(impact) = part.and_then(|part| {
                super::capacity(setting, part.pools.iter().map(String::as_str))
            }) =>
        {
            Verdict::plain(impact)
        }
        Some(Row::Capacity(_)) if is_less(delta) => Verdict::plain(Impact::CapacityLost),
        Some(Row::Capacity(_)) => Verdict::plain(Impact::CapacityGained),
        // Labels and annotations of the object itself.
        None if path.starts_with("metadata.") && !is_read(kind) => Verdict::plain(Nothing),
        None => Verdict::plain(kind.changed),
    }
}

/// Whether controllers select objects of this kind by label: Pod Security reads a namespace's labels, and Prometheus
/// those of monitors and rules.
fn is_read(kind: &Kind) -> bool {
    kind.name == "Namespace" || kind.changed == WatchedDifferently
}

/// Whether a ResourceFlavor is mutable because it names no topology: the rules of its CRD begin with
/// `!has(oldSelf.topologyName)`.
fn is_free(setting: &Setting<'_>, kind: &Kind, delta: &Delta) -> bool {
    let was = setting.before.all.get(&delta.key);
    kind.name == "ResourceFlavor"
        && was.is_some_and(|part| !part.leaves.contains_key(TOPOLOGY_NAME))
}

/// The impact of restarting an object's pods, by component.
fn restart(part: Option<&Part>) -> (Impact, &'static str) {
    match part.map(|part| part.component.as_str()) {
        Some("gpuc-runtime" | "nvidia-device-plugin") => (
            PluginRestarted,
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
fn is_selection(path: &str) -> bool {
    path.contains(".nodeAffinity.") || path.contains(".nodeSelector")
}

/// Whether a quantity shrinks, or a limit is set for the first time.
fn is_less(delta: &Delta) -> bool {
    match (
        quota::number(delta.from.as_ref()),
        quota::number(delta.to.as_ref()),
    ) {
        (Some(from), Some(to)) => to < from,
        // A new limit.
        (None, Some(_)) => delta.from.is_none(),
        _ => false,
    }
}
