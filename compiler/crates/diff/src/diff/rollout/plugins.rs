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

use super::super::entities::{Key, PLUGIN, Part};
use super::super::impact::Impact;
use super::super::report::{Change, ClusterFate, Step};
use super::{Rollout, ids};

/// The component that installs drivers.
const DRIVER_INSTALLER: &str = "nvidia-driver-installer";

impl Rollout<'_> {
    /// The pools whose device plugin changes, with the old and the new plugin.
    pub(super) fn swaps(&self) -> Vec<(&str, &str, &str)> {
        let old = self.setting.before.summary.pools.iter();
        let swaps = old.filter_map(|old| {
            let mut new = self.setting.after.summary.pools.iter();
            let new = new.find(|new| new.name == old.name)?;
            let have_plugins = !old.plugin.is_empty() && !new.plugin.is_empty();
            (have_plugins && old.plugin != new.plugin).then_some((
                old.name.as_str(),
                old.plugin.as_str(),
                new.plugin.as_str(),
            ))
        });
        swaps.collect()
    }

    /// The changes of device plugins.
    fn of_swaps(&self) -> Vec<&Change> {
        let changes_plugin = |change: &&Change| {
            let mut fields = change.fields.iter();
            change.kind == "pool" && fields.any(|field| field.path == PLUGIN)
        };
        self.changes.iter().filter(changes_plugin).collect()
    }

    /// The old device plugins of pools with a new one: kind and name.
    fn old_plugins(&self) -> Vec<(&str, String)> {
        let swaps = self.swaps();
        let swapped = |pool: &String| swaps.iter().any(|(name, ..)| name == pool);
        let after = &self.setting.after.all;
        let removed = (self.setting.before.all.iter()).filter(|(key, _)| !after.contains_key(key));
        let plugins = removed.filter_map(|(key, part)| {
            let is_plugin = match key {
                Key::Object { kind, .. } => {
                    kind == "DaemonSet" && part.component == ADVERTISED_BY_RUNTIME
                }
                Key::Release(_) => part.chart.is_some_and(|chart| {
                    [NVIDIA_DEVICE_PLUGIN.name, DRA_DRIVER_NVIDIA_GPU.name].contains(&chart.name)
                }),
                _ => false,
            };
            let of_swap =
                !swaps.is_empty() && part.pools.is_empty() || part.pools.iter().any(swapped);
            (is_plugin && of_swap).then(|| (key.kind(), key.name()))
        });
        plugins.collect()
    }

    /// The old driver installers on nodes that stay, which would keep running next to the new ones.
    fn old_installers(&self) -> Vec<(&str, String)> {
        let after = self.setting.after;
        let stays = |part: &Part| {
            let mut pools = after.summary.pools.iter();
            part.pools.is_empty() || pools.any(|pool| part.pools.contains(&pool.name))
        };
        let gone = self.setting.before.all.iter();
        let gone = gone.filter(|(key, part)| {
            key.kind() == "DaemonSet"
                && part.component == DRIVER_INSTALLER
                && !after.all.contains_key(key)
                && stays(part)
        });
        gone.map(|(key, _)| (key.kind(), key.name())).collect()
    }

    /// Whether a step about plugins and drivers removes an object or a release.
    pub(super) fn is_early(&self, name: &str) -> bool {
        let early = [self.old_plugins(), self.old_installers()].concat();
        early.iter().any(|(_, it)| it == name)
    }

    /// The steps that remove the old plugin before the new one registers the same resource names.
    pub(super) fn old_plugin_leaves(&self) -> Vec<Step> {
        if self.setting.prunes {
            return Vec::new();
        }
        let plugins = self.old_plugins();
        let plugins = plugins
            .iter()
            .filter(|(_, name)| *name != DRA_DRIVER_NVIDIA_GPU.name);
        let commands = plugins.flat_map(|(kind, name)| match *kind {
            "Helm release" => self.uninstalled(name),
            kind => vec![self.removed(kind, name)],
        });
        let commands: Vec<String> = commands.collect();
        let pools: Vec<&str> = self.swaps().iter().map(|(pool, ..)| *pool).collect();
        let mut steps = Vec::new();
        if !commands.is_empty() {
            steps.push(Step {
                what: format!(
                    "Remove the old device plugin of pool {} before the new one starts: both use the same resource \
                     names, so the kubelet would take the end of the old one for the end of the new one. Running pods \
                     keep their GPUs; new pods stay pending until the next steps are done",
                    pools.join(", ")
                ),
                commands,
                changes: ids(&self.of_swaps()),
            });
        }
        let installers = self.old_installers();
        let commands = installers
            .iter()
            .map(|(kind, name)| self.removed(kind, name));
        let commands: Vec<String> = commands.collect();
        if !commands.is_empty() {
            let mut changes = self.with_impact(&[Impact::DriverRestarted, Impact::NodesRecreated]);
            changes.retain(|change| change.kind == "pool");
            steps.push(Step {
                what: "Remove the old driver installer before the new one runs on the same nodes. The installed driver \
                       stays until then"
                    .to_owned(),
                commands,
                changes: ids(&changes),
            });
        }
        steps
    }

    /// The step that removes the DRA driver when the new plugin runs, while its nodes are still drained.
    pub(super) fn claims_end(&self) -> Option<Step> {
        let plugins = self.old_plugins();
        let release = plugins
            .iter()
            .find(|(_, name)| *name == DRA_DRIVER_NVIDIA_GPU.name)?;
        let mut commands = Vec::new();
        let is_class =
            |change: &&Change| change.kind == "DeviceClass" && change.fate == ClusterFate::Removed;
        let classes: Vec<&Change> = self.changes.iter().filter(is_class).collect();
        if !self.setting.prunes {
            let names = classes.iter().flat_map(|change| &change.names);
            commands.extend(names.map(|name| self.removed("DeviceClass", name)));
        }
        commands.extend(self.uninstalled(&release.1));
        Some(Step {
            what: "Remove the DRA driver while no pod has a ResourceClaim: without the driver, such a pod cannot \
                terminate"
                .to_owned(),
            commands,
            changes: ids(&[self.of_swaps(), classes].concat()),
        })
    }

    /// Whether a pool changes to the cloud's own plugin, which comes with recreated nodes: the old plugin must be gone
    /// by then.
    pub(super) fn cloud_takes_over(&self) -> bool {
        let swaps = self.swaps();
        swaps.iter().any(|(.., new)| *new == ADVERTISED_BY_CLOUD)
            || (self.setting.prunes && !self.old_installers().is_empty())
    }

    /// The step that restarts the new plugin, if one sync or run deploys it and removes the old one: it must register
    /// again.
    pub(super) fn registers_again(&self) -> Option<Step> {
        let leaves_late = |old: &str| match old {
            ADVERTISED_BY_OPERATOR => true,
            ADVERTISED_BY_RUNTIME | ADVERTISED_BY_NVIDIA => self.setting.prunes,
            _ => false,
        };
        let mut commands: Vec<String> = Vec::new();
        for (pool, old, new) in self.swaps() {
            if leaves_late(old) {
                let more = self.restarts(pool, new);
                commands.extend(
                    more.into_iter()
                        .filter(|it| !commands.contains(it))
                        .collect::<Vec<_>>(),
                );
            }
        }
        (!commands.is_empty()).then(|| Step {
            what: "When the pods of the old device plugin are gone, restart the new one: both use the same resource \
                   names, so the kubelet took the end of the old one for the end of both. Running pods keep their GPUs"
                .to_owned(),
            commands,
            changes: ids(&self.of_swaps()),
        })
    }

    /// The commands that restart a pool's plugin.
    fn restarts(&self, pool: &str, plugin: &str) -> Vec<String> {
        let kubectl = self.kubectl();
        let plan = self.after.and_then(|after| after.plan.as_ref());
        let releases = plan.iter().flat_map(|plan| &plan.releases);
        let sets: Vec<(String, String)> = match plugin {
            ADVERTISED_BY_RUNTIME => {
                let objects = plan.iter().flat_map(|plan| &plan.objects);
                let of_pool = format!("{ADVERTISED_BY_RUNTIME}-{pool}");
                let sets = objects
                    .map(|object| &object.identity)
                    .filter(|it| it.kind == "DaemonSet" && it.name == of_pool);
                sets.map(|it| (it.namespace.clone().unwrap_or_default(), it.name.clone()))
                    .collect()
            }
            ADVERTISED_BY_NVIDIA => {
                let of_pool = releases.filter(|release| {
                    release.chart.name == NVIDIA_DEVICE_PLUGIN.name
                        && release.pools.iter().any(|it| it == pool)
                });
                let sets = of_pool.flat_map(|release| {
                    let sets = release.daemon_sets.iter();
                    sets.map(|set| (release.namespace.clone(), set.clone()))
                });
                sets.collect()
            }
            // The operator creates one DaemonSet for all pools.
            ADVERTISED_BY_OPERATOR => {
                let operator = releases.filter(|release| release.chart.name == GPU_OPERATOR.name);
                let set = "nvidia-device-plugin-daemonset".to_owned();
                let sets = operator.map(|release| (release.namespace.clone(), set.clone()));
                sets.collect()
            }
            _ => Vec::new(),
        };
        let both = sets.into_iter().flat_map(|(namespace, set)| {
            let object = shell::quote(&format!("daemonset/{set}"));
            let namespace = shell::quote(&namespace);
            ["restart", "status"]
                .map(|verb| format!("{kubectl} rollout {verb} {object} --namespace {namespace}"))
        });
        both.collect()
    }

    /// The step that waits for a driver installer of the tree: the device plugin finds no driver before it is done.
    pub(super) fn driver_awaited(&self) -> Option<Step> {
        let changed = |change: &&Change| {
            change.kind == "DaemonSet"
                && change.impact == Impact::DriverRestarted
                && change.fate == ClusterFate::Kept
        };
        let is_installer = |name: &&String| {
            let part = self.part("DaemonSet", name);
            part.is_some_and(|part| part.component == DRIVER_INSTALLER)
        };
        let changed: Vec<&Change> = self.changes.iter().filter(changed).collect();
        let named = changed.iter().flat_map(|change| &change.names);
        let commands: Vec<String> = named
            .filter(is_installer)
            .filter_map(|name| name.split_once('/'))
            .map(|(namespace, name)| {
                format!(
                    "{} rollout status {} --namespace {} --timeout=30m",
                    self.kubectl(),
                    shell::quote(&format!("daemonset/{name}")),
                    shell::quote(namespace)
                )
            })
            .collect();
        (!commands.is_empty()).then(|| Step {
            what: "Wait until the driver is installed on every node: the device plugin finds no GPUs before".to_owned(),
            commands,
            changes: ids(&changed),
        })
    }
}
