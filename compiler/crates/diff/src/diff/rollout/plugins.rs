//! Change of the device plugin: if two plugins overlap, the kubelet takes the end of the old one for the end of both.
//!
//! The kubelet identifies plugins by resource name only: when one stops, all devices of that name become unhealthy,
//! even if another plugin has registered the same name meanwhile and does not register again:
//! <https://github.com/kubernetes/kubernetes/issues/121994>, read 2026-11-22.

use gpuc_compile::charts::{DRA_DRIVER_NVIDIA_GPU, GPU_OPERATOR, NVIDIA_DEVICE_PLUGIN};
use gpuc_model::plan::{
    ADVERTISED_BY_CLOUD, ADVERTISED_BY_NVIDIA, ADVERTISED_BY_OPERATOR, ADVERTISED_BY_RUNTIME,
};
use gpuc_syntax::shell;

use super::super::entities::{Entity, EntityKey, PLUGIN};
use super::super::impact::Impact;
use super::super::report::{Change, Status, Step};
use super::changed_pools::change_ids;
use super::phases::{Phase, Planned};
use super::states::Rollout;

/// The component that installs drivers.
const DRIVER_INSTALLER: &str = "nvidia-driver-installer";

/// The DaemonSet of the GPU Operator's device plugin, which serves all pools.
const OPERATOR_PLUGIN: &str = "nvidia-device-plugin-daemonset";

/// A pool whose device plugin changes.
struct PluginChange<'a> {
    pool: &'a str,
    old: &'a str,
    new: &'a str,
}

/// An object or a release, by kind and name.
struct NamedEntity<'a> {
    kind: &'a str,
    name: String,
}

/// A DaemonSet.
struct DaemonSet {
    namespace: String,
    name: String,
}

/// The step that removes the old plugin before the new one registers the same resource names.
pub(super) fn remove_old_plugins(rollout: &Rollout<'_>) -> Vec<Planned> {
    if rollout.setting.prunes_removed {
        return Vec::new();
    }
    let commands: Vec<String> = (rollout.removed_plugins().iter())
        .filter(|plugin| plugin.name != DRA_DRIVER_NVIDIA_GPU.name)
        .flat_map(|plugin| match plugin.kind {
            "Helm release" => rollout.uninstall_commands(&plugin.name),
            kind => vec![rollout.delete_command(kind, &plugin.name)],
        })
        .collect();
    let pools: Vec<&str> = (rollout.plugin_changes().iter())
        .map(|plugin| plugin.pool)
        .collect();
    Phase::RemoveOldPlugins.plan((!commands.is_empty()).then(|| Step {
        instruction: format!(
            "Remove the old device plugin of pool {} before the new one starts: both use the same resource names, so \
             the kubelet would take the end of the old one for the end of the new one. Running pods keep their GPUs; \
             new pods stay pending until the next steps are done",
            pools.join(", ")
        ),
        commands,
        changes: change_ids(&rollout.changes_of_plugins()),
    }))
}

/// The step that removes the old driver installers, which would keep running next to the new ones.
pub(super) fn remove_old_driver_installers(rollout: &Rollout<'_>) -> Vec<Planned> {
    if rollout.setting.prunes_removed {
        return Vec::new();
    }
    let commands: Vec<String> = (rollout.removed_driver_installers().iter())
        .map(|installer| rollout.delete_command(installer.kind, &installer.name))
        .collect();
    let mut changes =
        rollout.changes_with_impact(&[Impact::DriverRestarted, Impact::NodesRecreated]);
    changes.retain(|change| change.kind == "pool");
    Phase::RemoveOldPlugins.plan((!commands.is_empty()).then(|| Step {
        instruction: "Remove the old driver installer before the new one runs on the same nodes. The installed driver stays \
               until then"
            .to_owned(),
        commands,
        changes: change_ids(&changes),
    }))
}

/// The step that waits for a driver installer of the tree: the device plugin finds no driver before it is done.
pub(super) fn await_driver_installers(rollout: &Rollout<'_>) -> Vec<Planned> {
    let changes: Vec<&Change> = (rollout.changes.iter())
        .filter(|change| {
            change.kind == "DaemonSet"
                && change.impact == Impact::DriverRestarted
                && change.status == Status::Kept
        })
        .collect();
    let is_installer = |name: &&String| {
        let entity = rollout.find_entity("DaemonSet", name);
        entity.is_some_and(|entity| entity.component == DRIVER_INSTALLER)
    };
    let commands: Vec<String> = (changes.iter().flat_map(|change| &change.names))
        .filter(is_installer)
        .filter_map(|full_name| full_name.split_once('/'))
        .map(|(namespace, name)| {
            format!(
                "{} rollout status {} --namespace {} --timeout=30m",
                rollout.kubectl(),
                shell::quote(&format!("daemonset/{name}")),
                shell::quote(namespace)
            )
        })
        .collect();
    Phase::ReplaceDrivers.plan((!commands.is_empty()).then(|| Step {
        instruction: "Wait until the driver is installed on every node: the device plugin finds no GPUs before. If an installer \
                      reports that another driver is loaded, recreate its node"
            .to_owned(),
        commands,
        changes: change_ids(&changes),
    }))
}

/// The step that removes the DRA driver when the new plugin runs, while its nodes are still drained.
pub(super) fn remove_dra_driver(rollout: &Rollout<'_>) -> Vec<Planned> {
    if !rollout.removes_dra_driver() {
        return Vec::new();
    }
    let classes: Vec<&Change> = (rollout.changes.iter())
        .filter(|change| change.kind == "DeviceClass" && change.status == Status::Removed)
        .collect();
    let mut commands = Vec::new();
    if !rollout.setting.prunes_removed {
        let names = classes.iter().flat_map(|change| &change.names);
        commands.extend(names.map(|name| rollout.delete_command("DeviceClass", name)));
    }
    commands.extend(rollout.uninstall_commands(DRA_DRIVER_NVIDIA_GPU.name));
    Phase::ReplaceDrivers.plan([Step {
        instruction: "Remove the DRA driver while no pod has a ResourceClaim: without the driver, such a pod cannot terminate"
            .to_owned(),
        commands,
        changes: change_ids(&[rollout.changes_of_plugins(), classes].concat()),
    }])
}

/// The step that restarts the new plugin, if one sync or run deploys it and removes the old one: it must register
/// again.
pub(super) fn restart_plugins(rollout: &Rollout<'_>) -> Vec<Planned> {
    let overlaps = |old: &str| match old {
        ADVERTISED_BY_OPERATOR => true,
        ADVERTISED_BY_RUNTIME | ADVERTISED_BY_NVIDIA => rollout.setting.prunes_removed,
        _ => false,
    };
    let mut commands: Vec<String> = Vec::new();
    for PluginChange { pool, old, new } in rollout.plugin_changes() {
        if overlaps(old) {
            let missing: Vec<String> = (rollout.restart_commands(pool, new).into_iter())
                .filter(|command| !commands.contains(command))
                .collect();
            commands.extend(missing);
        }
    }
    Phase::ReplaceDrivers.plan((!commands.is_empty()).then(|| Step {
        instruction: "When the pods of the old device plugin are gone, restart the new one: both use the same resource names, \
               so the kubelet took the end of the old one for the end of both. Running pods keep their GPUs"
            .to_owned(),
        commands,
        changes: change_ids(&rollout.changes_of_plugins()),
    }))
}

impl Rollout<'_> {
    /// The pools whose device plugin changes.
    fn plugin_changes(&self) -> Vec<PluginChange<'_>> {
        (self.setting.before.summary.pools.iter())
            .filter_map(|old| {
                let mut pools = self.setting.after.summary.pools.iter();
                let new = pools.find(|new| new.name == old.name)?;
                let have_plugins = !old.plugin.is_empty() && !new.plugin.is_empty();
                (have_plugins && old.plugin != new.plugin).then_some(PluginChange {
                    pool: &old.name,
                    old: &old.plugin,
                    new: &new.plugin,
                })
            })
            .collect()
    }

    /// The reported changes of device plugins.
    fn changes_of_plugins(&self) -> Vec<&Change> {
        (self.changes.iter())
            .filter(|change| change.kind == "pool")
            .filter(|change| change.fields.iter().any(|field| field.path == PLUGIN))
            .collect()
    }

    /// The old device plugins of pools with a new one.
    fn removed_plugins(&self) -> Vec<NamedEntity<'_>> {
        let changed = self.plugin_changes();
        let is_changed = |pool: &String| changed.iter().any(|plugin| plugin.pool == pool);
        let is_plugin = |key: &EntityKey, entity: &Entity| match key {
            EntityKey::Object { kind, .. } => {
                kind == "DaemonSet" && entity.component == ADVERTISED_BY_RUNTIME
            }
            EntityKey::Release(_) => entity.chart.is_some_and(|chart| {
                [NVIDIA_DEVICE_PLUGIN.name, DRA_DRIVER_NVIDIA_GPU.name].contains(&chart.name)
            }),
            _ => false,
        };
        let serves_changed_pool = |entity: &Entity| {
            !changed.is_empty() && entity.pools.is_empty() || entity.pools.iter().any(is_changed)
        };
        self.removed_entities()
            .filter(|(key, entity)| is_plugin(key, entity) && serves_changed_pool(entity))
            .map(|(key, _)| NamedEntity::from_key(key))
            .collect()
    }

    /// The old driver installers on nodes that stay, which would keep running next to the new ones.
    fn removed_driver_installers(&self) -> Vec<NamedEntity<'_>> {
        let has_remaining_nodes = |entity: &Entity| {
            let mut pools = self.setting.after.summary.pools.iter();
            entity.pools.is_empty() || pools.any(|pool| entity.pools.contains(&pool.name))
        };
        self.removed_entities()
            .filter(|(key, entity)| {
                key.kind() == "DaemonSet" && entity.component == DRIVER_INSTALLER
            })
            .filter(|(_, entity)| has_remaining_nodes(entity))
            .map(|(key, _)| NamedEntity::from_key(key))
            .collect()
    }

    /// The entities that only the old state has.
    fn removed_entities(&self) -> impl Iterator<Item = (&EntityKey, &Entity)> {
        let [before, after] = [self.setting.before, self.setting.after];
        (before.by_key.iter()).filter(|(key, _)| !after.by_key.contains_key(key))
    }

    /// Whether a step about plugins and drivers removes an object or a release.
    pub(super) fn is_removed_plugin(&self, name: &str) -> bool {
        (self.removed_plugins().iter())
            .chain(&self.removed_driver_installers())
            .any(|removed| removed.name == name)
    }

    /// Whether a device plugin replaces the DRA driver.
    pub(super) fn removes_dra_driver(&self) -> bool {
        (self.removed_plugins().iter()).any(|plugin| plugin.name == DRA_DRIVER_NVIDIA_GPU.name)
    }

    /// Whether a pool changes to the cloud's own plugin, which comes with recreated nodes: the old plugin must be gone
    /// by then.
    pub(super) fn cloud_replaces_plugin(&self) -> bool {
        (self.plugin_changes().iter()).any(|plugin| plugin.new == ADVERTISED_BY_CLOUD)
            || (self.setting.prunes_removed && !self.removed_driver_installers().is_empty())
    }

    /// The commands that restart a pool's plugin.
    fn restart_commands(&self, pool: &str, plugin: &str) -> Vec<String> {
        let kubectl = self.kubectl();
        (self.plugin_daemon_sets(pool, plugin).into_iter())
            .flat_map(|set| {
                let object = shell::quote(&format!("daemonset/{}", set.name));
                let namespace = shell::quote(&set.namespace);
                ["restart", "status"].map(|verb| {
                    format!("{kubectl} rollout {verb} {object} --namespace {namespace}")
                })
            })
            .collect()
    }

    /// The DaemonSets of a pool's plugin after the change.
    fn plugin_daemon_sets(&self, pool: &str, plugin: &str) -> Vec<DaemonSet> {
        let Some(plan) = self.after.and_then(|after| after.plan.as_ref()) else {
            return Vec::new();
        };
        match plugin {
            ADVERTISED_BY_RUNTIME => {
                let name = format!("{ADVERTISED_BY_RUNTIME}-{pool}");
                (plan.objects.iter().map(|object| &object.identity))
                    .filter(|identity| identity.kind == "DaemonSet" && identity.name == name)
                    .map(|identity| DaemonSet {
                        namespace: identity.namespace.clone().unwrap_or_default(),
                        name: identity.name.clone(),
                    })
                    .collect()
            }
            ADVERTISED_BY_NVIDIA => (plan.releases.iter())
                .filter(|release| release.chart.name == NVIDIA_DEVICE_PLUGIN.name)
                .filter(|release| release.pools.iter().any(|name| name == pool))
                .flat_map(|release| {
                    release.daemon_sets.iter().map(|name| DaemonSet {
                        namespace: release.namespace.clone(),
                        name: name.clone(),
                    })
                })
                .collect(),
            ADVERTISED_BY_OPERATOR => (plan.releases.iter())
                .filter(|release| release.chart.name == GPU_OPERATOR.name)
                .map(|release| DaemonSet {
                    namespace: release.namespace.clone(),
                    name: OPERATOR_PLUGIN.to_owned(),
                })
                .collect(),
            _ => Vec::new(),
        }
    }
}

impl<'a> NamedEntity<'a> {
    fn from_key(key: &'a EntityKey) -> Self {
        Self {
            kind: key.kind(),
            name: key.name(),
        }
    }
}
