//! What becomes of Kubernetes objects, kind by kind.

use std::cmp::Ordering;

use super::super::deltas::{Delta, Fate};
use super::super::impact::Impact;
use super::super::parts::{Key, Part};
use super::{Setting, Verdict, stored};
mod quota;
mod table;

use Impact::{
    Added, Nothing, PluginRestarted, QuotaCut, QuotaRaised, ServiceRestarted, WatchedDifferently,
    WorkloadRestarted,
};
use table::{Kind, Row, TOPOLOGY_NAME, find};

/// Whether it is known what becomes of a kind.
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
            "gpuc does not know what becomes of this kind",
        );
    };
    match delta.fate() {
        // In a namespace that is new there is nothing yet to be kept from anything.
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
                    "it is called `{new}` now: that is made beside it, and both run until `kubectl delete {}`, with which \
                     the old one's pods end",
                    name.to_lowercase()
                ),
            )
        }
        Fate::Went => went(setting, kind, part, name),
        Fate::Stayed => stayed(setting, kind, part, delta),
    }
}

/// The new object that is what one was that is gone, but for its name or namespace.
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
    let told = |part: &Part, [from, to]: [&str; 2]| {
        let own = part
            .leaves
            .iter()
            .filter(|(path, _)| !path.starts_with("metadata."));
        let own = own.map(|(path, leaf)| {
            (
                path.replace(from, to),
                leaf.value.to_string().replace(from, to),
            )
        });
        own.collect::<std::collections::BTreeSet<_>>()
    };
    let is_it = |(new, part): &(&Key, &Part)| {
        let (Key::Object { name: was, .. }, Key::Object { name: is, .. }) = (key, new) else {
            return false;
        };
        // An image may have the old name in its own, and keeps it.
        told(old, [was, is]) == told(part, [was, is])
    };
    new.find(is_it).map(|(new, _)| new.name())
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

/// Where a node's configuration says what the cluster is called.
const NAMES_CLUSTER: &str = " » cluster";

/// Objects whose use says more than their kind.
fn by_use(setting: &Setting<'_>, kind: &str, part: &Part, delta: &Delta) -> Option<Verdict> {
    // It stays.
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
            "gpuc-runtime reads it while it runs: which metrics it has then",
        )),
        ("ConfigMap", "gpuc-runtime") if path.ends_with(NAMES_CLUSTER) => Some(Verdict::because(
            WatchedDifferently,
            "gpuc-runtime reads it while it runs: what its metrics and logs call the cluster",
        )),
        ("ConfigMap", "gpuc-runtime") if delta.fate() == Fate::Stayed => Some(Verdict::because(
            PluginRestarted,
            "gpuc-runtime reads it while it runs, and advertises what it says then",
        )),
        ("NicNodePolicy" | "NicClusterPolicy", _) => network_driver(setting, part, delta),
        ("ConfigMap" | "DaemonSet", "nvidia-driver-installer") => {
            Some(Verdict::plain(Impact::DriverRestarted))
        }
        _ => None,
    }
}

/// Another owner of the driver of the network cards, or another driver: it is taken out of the kernel, with all that it
/// carries, and one that is in use cannot be.
fn network_driver(setting: &Setting<'_>, part: &Part, delta: &Delta) -> Option<Verdict> {
    const DRIVER: &str = "spec.ofedDriver";
    let brings = || part.leaves.keys().any(|path| path.starts_with(DRIVER));
    // A pool that comes or leaves has nothing that could go on.
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
            "the driver of the network cards is exchanged, and with it the connections of all that runs: free the nodes \
             first",
        )
    })
}

fn went(setting: &Setting<'_>, kind: &Kind, part: Option<&Part>, name: &str) -> Verdict {
    match kind.name {
        "Namespace" => Verdict::because(
            Nothing,
            "nothing removes a namespace: with it would go all that is in it",
        ),
        // Who was in it is told of first: what was taken away is not gone.
        "RoleBinding" | "ClusterRoleBinding"
            if !setting.prunes && !setting.after.all.is_empty() =>
        {
            Verdict::because(
                Impact::AccessChanged,
                format!(
                    "access that is taken away here stays: {}, until `kubectl delete {}`",
                    setting.nobody(),
                    name.to_lowercase()
                ),
            )
        }
        _ if !setting.prunes => Verdict::because(
            Nothing,
            format!(
                "{}: it stays as it is until `kubectl delete {}`",
                setting.nobody(),
                name.to_lowercase()
            ),
        ),
        // A tool has marks on it for that.
        "PersistentVolumeClaim" => Verdict::because(
            Nothing,
            "nothing removes a volume claim: it stays, with its data, until `kubectl delete persistentvolumeclaim`",
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
            // It is bound to a claim, which pods use.
            "PersistentVolume" => WorkloadRestarted,
            _ => kind.went,
        };
        let words = if setting.is_forced(&delta.key) {
            format!(
                "`{key}` cannot be changed: {} deletes the {} and makes it anew as soon as the change is pushed, and what \
                 runs in it starts over: save its state or let it end before",
                setting.after.tool, kind.name
            )
        } else {
            format!(
                "`{key}` cannot be changed: delete the {} for the new one to be made{}",
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
                "its pods leave nodes that no longer have these labels, with what they do for them, and come to those that \
                 have",
            )
        }
        Some(Row::Restarts(_)) => {
            let (impact, words) = restart(part);
            Verdict::because(impact, words)
        }
        Some(Row::Pods(_)) if is_less(delta) => {
            Verdict::because(WorkloadRestarted, "pods are taken away")
        }
        Some(Row::Pods(_)) => Verdict::because(Added, "pods are added"),
        Some(Row::Quota(_)) => Verdict::plain(match quota::direction(path, delta) {
            Some(Ordering::Less) => QuotaCut,
            Some(Ordering::Greater) => QuotaRaised,
            Some(Ordering::Equal) => Nothing,
            None => kind.changed,
        }),
        Some(Row::Size(_)) => stored::claim(setting, is_less(delta)),
        // How a maker is told of a size is its own: what the pool has decides.
        Some(Row::Capacity(_))
            if let Some(impact) = part.and_then(|part| {
                super::capacity(setting, part.pools.iter().map(String::as_str))
            }) =>
        {
            Verdict::plain(impact)
        }
        Some(Row::Capacity(_)) if is_less(delta) => Verdict::plain(Impact::CapacityLost),
        Some(Row::Capacity(_)) => Verdict::plain(Impact::CapacityGained),
        // Labels and notes of the object itself.
        None if path.starts_with("metadata.") && !is_read(kind) => Verdict::plain(Nothing),
        None => Verdict::plain(kind.changed),
    }
}

/// Whether others pick such objects by their labels: Pod Security by a namespace's, a Prometheus by those of what it
/// watches.
fn is_read(kind: &Kind) -> bool {
    kind.name == "Namespace" || kind.changed == WatchedDifferently
}

/// Whether a flavor may be changed, because it names no topology: the rules of its CRD begin with
/// `!has(oldSelf.topologyName)`.
fn is_free(setting: &Setting<'_>, kind: &Kind, delta: &Delta) -> bool {
    let was = setting.before.all.get(&delta.key);
    kind.name == "ResourceFlavor"
        && was.is_some_and(|part| !part.leaves.contains_key(TOPOLOGY_NAME))
}

/// What a restart of an object's pods means, by what they are for.
fn restart(part: Option<&Part>) -> (Impact, &'static str) {
    match part.map(|part| part.component.as_str()) {
        Some("gpuc-runtime" | "nvidia-device-plugin") => (
            PluginRestarted,
            "its pods are replaced node by node; containers keep their GPUs",
        ),
        Some("nvidia-driver-installer" | "nvidia-drivers") => (
            Impact::DriverRestarted,
            "drivers are installed anew, node by node",
        ),
        Some("workloads") => (WorkloadRestarted, "its pods are replaced one after another"),
        _ => (ServiceRestarted, "its pods are replaced"),
    }
}

/// Whether a field says which nodes pods run on.
fn is_selection(path: &str) -> bool {
    path.contains(".nodeAffinity.") || path.contains(".nodeSelector")
}

/// Whether a quantity is smaller than before, or was none and is one.
fn is_less(delta: &Delta) -> bool {
    match (
        quota::number(delta.from.as_ref()),
        quota::number(delta.to.as_ref()),
    ) {
        (Some(from), Some(to)) => to < from,
        // No limit before, one now.
        (None, Some(_)) => delta.from.is_none(),
        _ => false,
    }
}
