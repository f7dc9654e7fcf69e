//! Who installs the driver and who advertises the GPUs: the keys `stack` of the cluster and of its pools.

use std::collections::BTreeMap;

use gpuc_live::doctor::{Advertiser, advertiser_of};
use gpuc_live::objects::Pod;
use gpuc_live::state::Kind;
use gpuc_schema::config::DevicePlugin;
use gpuc_schema::node_config::{Extra, LabelOutput, NodeConfig};

use crate::claims;
use crate::cloud_files::CloudPool;
use crate::context::Context;
use crate::driver::driver;
use crate::groups::Group;
use crate::json::{source, text, word};
use crate::report::Report;
use crate::tree::{Entries, Evidence, Item, Value};

/// The settings of `stack` on a pool: the value and its evidence by key. A key that is absent has the default.
#[derive(Debug, Default)]
pub(crate) struct PoolStack {
    settings: BTreeMap<&'static str, Item>,
    /// The device plugin.
    pub(crate) plugin: Option<DevicePlugin>,
}

/// The keys of `stack`, in the order of the schema.
const KEYS: &[&str] = &[
    "driver",
    "driverVersion",
    "allocation",
    "extendedResources",
    "devicePlugin",
    "runtimeImage",
    "extras",
    "nodeLabels",
];

/// Finds the stack of a pool with GPUs.
pub(crate) fn pool_stack(
    cx: &Context<'_>,
    pool: (&str, &Group<'_>, Option<&CloudPool<'_>>),
    config: Option<&(NodeConfig, String)>,
    report: &mut Report,
) -> PoolStack {
    let (name, group, described) = pool;
    let mut stack = PoolStack::default();
    let pods: Vec<&Pod> = group
        .nodes
        .iter()
        .flat_map(|node| cx.pods_on(node))
        .collect();
    let mut advertisers: BTreeMap<Advertiser, &Pod> = BTreeMap::new();
    for pod in &pods {
        if let Some(advertiser) = advertiser_of(&pod.metadata, &pod.spec) {
            advertisers.entry(advertiser).or_insert(pod);
        }
    }
    if let Some(pod) = advertisers.get(&Advertiser::Dra) {
        let item = Item::text("dra").sure(pod_source(pod));
        stack.settings.insert("allocation", item);
        if let Some(at) = claims::extended_resource_source(cx, name) {
            let item = Item::bool(true).sure(at);
            stack.settings.insert("extendedResources", item);
        }
    }
    let plugin =
        plugin(cx, name, group, &advertisers, report).or_else(|| plugin_of_cloud(described?));
    if let Some((plugin, evidence)) = plugin {
        stack.plugin = Some(plugin);
        let item = Item::text(word(&plugin)).with(evidence);
        stack.settings.insert("devicePlugin", item);
    } else if !stack.settings.contains_key("allocation") {
        let key = format!("nodePools[{name}].stack.devicePlugin");
        let reason = if cx.is_complete(Kind::Pod) {
            "no device plugin that gpuc knows runs on the nodes; the file then installs gpuc's own"
        } else {
            "the pods are not known, and with them the device plugin; the file then installs gpuc's own"
        };
        report.leave_out(Some(&key), format!("the nodes of pool {name}"), reason);
    }
    if let Some(pod) = advertisers.get(&Advertiser::Nvidia) {
        report_other_release(name, stack.plugin, pod, report);
    }
    let installs_own = stack.plugin.is_none() && !stack.settings.contains_key("allocation");
    if installs_own {
        let reason = "no known device plugin runs, so that gpuc installs its own; replace it";
        let item = Item::text(IMAGE_PLACEHOLDER).guess(format!("the nodes of pool {name}"), reason);
        stack.settings.insert("runtimeImage", item);
    }
    if let Some(pod) = advertisers.get(&Advertiser::Runtime) {
        let containers = pod.spec.containers.iter();
        let images = containers.map(|it| it.image.as_str());
        if let Some(image) = images.max_by_key(|image| image.contains("gpuc-runtime")) {
            let at = source(pod_object(pod), "spec.containers[].image", image);
            stack
                .settings
                .insert("runtimeImage", Item::text(image).sure(at));
        }
    }
    if let Some((config, at)) = config {
        stack.add_node_config(config, at);
    }
    let driver = driver(cx, group, described, &pods, stack.plugin);
    stack.settings.extend(driver);
    stack
}

pub(crate) fn pod_object(pod: &Pod) -> String {
    format!("Pod {}/{}", pod.metadata.namespace, pod.metadata.name)
}

pub(crate) fn pod_source(pod: &Pod) -> String {
    let images = pod.spec.containers.iter().map(|it| it.image.as_str());
    source(
        pod_object(pod),
        "spec.containers[].image",
        images.collect::<Vec<_>>().join(", "),
    )
}

/// The device plugin of a pool.
fn plugin(
    cx: &Context<'_>,
    name: &str,
    group: &Group<'_>,
    advertisers: &BTreeMap<Advertiser, &Pod>,
    report: &mut Report,
) -> Option<(DevicePlugin, Evidence)> {
    let default = cx.cloud.default_plugin();
    if cx.cloud_key() == "existing"
        && let Some((DevicePlugin::Cloud, reason)) = default
        && !advertisers.contains_key(&Advertiser::Runtime)
    {
        return Some((DevicePlugin::Cloud, Evidence::sure(reason)));
    }
    let plugins = [Advertiser::Runtime, Advertiser::Nvidia, Advertiser::Gke];
    let mut found = plugins
        .iter()
        .filter_map(|it| Some((*it, *advertisers.get(it)?)));
    let first = found.next();
    for (other, pod) in found {
        let key = format!("nodePools[{name}].stack.devicePlugin");
        let reason = format!(
            "{} runs on the nodes as well: only one may advertise the GPUs",
            other.as_str()
        );
        report.leave_out(Some(&key), pod_source(pod), reason);
    }
    if let Some((advertiser, pod)) = first {
        let plugin = match advertiser {
            Advertiser::Runtime => DevicePlugin::Gpuc,
            Advertiser::Gke => DevicePlugin::Cloud,
            _ if is_of_operator(pod) => DevicePlugin::Operator,
            _ => DevicePlugin::Nvidia,
        };
        return Some((plugin, Evidence::sure(pod_source(pod))));
    }
    // Bottlerocket advertises the GPUs itself.
    let node = group.nodes.first()?;
    let os = &node.status.node_info.os_image;
    let advertises = !group.advertised().is_empty() && advertisers.is_empty();
    if os.starts_with("Bottlerocket") && advertises {
        let object = format!("Node {}", node.metadata.name);
        let at = source(object, "status.nodeInfo.osImage", os);
        return Some((DevicePlugin::Cloud, Evidence::sure(at)));
    }
    // The pods are not known, but the API server lists the DaemonSets.
    let mut sets = cx.state.daemon_sets.items.iter();
    let found = sets.find_map(|set| {
        let advertiser = advertiser_of(&set.metadata, &set.spec.template.spec)?;
        let plugin = match advertiser {
            Advertiser::Runtime => DevicePlugin::Gpuc,
            Advertiser::Gke => DevicePlugin::Cloud,
            Advertiser::Nvidia if set.metadata.name == OPERATOR_PLUGIN => DevicePlugin::Operator,
            Advertiser::Nvidia => DevicePlugin::Nvidia,
            Advertiser::Dra => return None,
        };
        Some((
            plugin,
            format!("DaemonSet {}/{}", set.metadata.namespace, set.metadata.name),
        ))
    });
    let (plugin, at) = found.filter(|_| !cx.is_complete(Kind::Pod))?;
    let reason = "the pods are not known; this DaemonSet advertises GPUs in the cluster";
    Some((plugin, Evidence::guess(at, reason)))
}

/// Reports a device plugin that another release than gpuc's installed: after an installation by gpuc, two of them would
/// advertise the same GPUs.
fn report_other_release(pool: &str, plugin: Option<DevicePlugin>, pod: &Pod, report: &mut Report) {
    let own = format!("nvidia-device-plugin-{pool}");
    let set = pod.metadata.controller().map_or("", |owner| &owner.name);
    let key = format!("nodePools[{pool}].stack.devicePlugin");
    let reason = match plugin {
        Some(DevicePlugin::Nvidia) if set != own => {
            "gpuc installs releases of its own: remove this DaemonSet in the same step, or two advertise the GPUs"
        }
        Some(DevicePlugin::Operator) => {
            "gpuc installs the release `gpu-operator` in the namespace `gpu-operator` with values of its own"
        }
        _ => return,
    };
    let at = format!("DaemonSet {}/{set}", pod.metadata.namespace);
    report.leave_out(Some(&key), at, reason);
}

/// The device plugin that a cloud includes: GKE's, which runs on every pool that does not opt out, or that of
/// Bottlerocket.
fn plugin_of_cloud(described: &CloudPool<'_>) -> Option<(DevicePlugin, Evidence)> {
    let image = text(described.value, "/amiType").unwrap_or_default();
    if image.starts_with("BOTTLEROCKET_") && image.contains("_NVIDIA") {
        let at = source(described.object(), "amiType", image);
        return Some((DevicePlugin::Cloud, Evidence::sure(at)));
    }
    let pointer = format!("/config/labels/{NO_GKE_PLUGIN}");
    let has_accelerators = described.value.pointer("/config/accelerators/0").is_some();
    let opts_out = text(described.value, &pointer) == Some("true");
    if described.cloud != "gcp" || !has_accelerators || opts_out {
        return None;
    }
    let at = source(
        described.object(),
        format!("config.labels[{NO_GKE_PLUGIN}]"),
        "absent",
    );
    Some((DevicePlugin::Cloud, Evidence::sure(at)))
}

/// The image of gpuc-runtime in the starter files, which `gpuc check` warns about.
const IMAGE_PLACEHOLDER: &str = "replace-me.example.com/gpuc-runtime:0.1.0";

/// The label of nodes of GKE without its device plugin.
///
/// Source: GoogleCloudPlatform/container-engine-accelerators@992db812 cmd/nvidia_gpu/device-plugin.yaml.
pub(crate) const NO_GKE_PLUGIN: &str = "gke-no-default-nvidia-gpu-device-plugin";

/// The DaemonSet of the device plugin that the GPU Operator runs.
///
/// Source: NVIDIA/gpu-operator@v26.7.0 assets/state-device-plugin/0500_daemonset.yaml.
const OPERATOR_PLUGIN: &str = "nvidia-device-plugin-daemonset";

/// Whether a pod of NVIDIA's device plugin belongs to the GPU Operator: the manifest in NVIDIA's README has the same
/// name, but other labels and no operator.
fn is_of_operator(pod: &Pod) -> bool {
    let app = pod.metadata.label("app");
    let managed = pod.metadata.label("app.kubernetes.io/managed-by");
    let owner = pod.metadata.controller();
    let is_named = owner.is_some_and(|owner| owner.name == OPERATOR_PLUGIN);
    app == Some(OPERATOR_PLUGIN)
        || managed == Some("gpu-operator")
        || (is_named && pod.metadata.namespace == "gpu-operator")
}

impl PoolStack {
    fn add_node_config(&mut self, config: &NodeConfig, at: &str) {
        let extras: Vec<&str> = (config.extras.iter())
            .map(|extra| match extra {
                Extra::Gdrcopy => "gdrcopy",
                Extra::Gds => "gds",
                Extra::Mofed => "mofed",
                Extra::Imex => "imex",
            })
            .collect();
        if !extras.is_empty() {
            let item = Item::texts(extras.clone());
            self.settings
                .insert("extras", item.sure(source(at, "extras", extras.join(", "))));
        }
        let labels = match config.labels {
            LabelOutput::Node => "node",
            LabelOutput::None => "none",
            LabelOutput::FeatureFile { .. } => "featureFile",
        };
        self.settings.insert(
            "nodeLabels",
            Item::text(labels).sure(source(at, "labels", labels)),
        );
    }

    /// The plain text of a setting.
    fn text(&self, key: &str) -> Option<String> {
        self.settings.get(key).map(|item| match &item.value {
            Value::Text(text) => text.clone(),
            other => format!("{other:?}"),
        })
    }
}

/// The stack of the cluster, from those of its pools with GPUs, and what remains for each pool.
pub(crate) fn split(
    cx: &Context<'_>,
    pools: &[(usize, PoolStack)],
) -> (Option<Item>, BTreeMap<usize, Item>) {
    let mut shared = Entries::default();
    let mut own: BTreeMap<usize, Entries> = BTreeMap::new();
    for key in KEYS {
        let is_cluster_wide = matches!(*key, "runtimeImage");
        let mut counts: BTreeMap<Option<String>, usize> = BTreeMap::new();
        let having = pools
            .iter()
            .filter(|(_, stack)| !is_cluster_wide || stack.settings.contains_key(key));
        for (_, stack) in having {
            *counts.entry(stack.text(key)).or_default() += 1;
        }
        let common = counts
            .into_iter()
            .max_by_key(|(value, count)| (*count, value.is_some()));
        let Some((common, _)) = common else { continue };
        // A pool cannot remove a setting of the cluster.
        let can_share = is_cluster_wide
            || pools
                .iter()
                .all(|(_, stack)| stack.settings.contains_key(key));
        for (index, stack) in pools {
            let Some(item) = stack.settings.get(key) else {
                continue;
            };
            if is_default(cx, stack, key) && (common == default_text(cx, stack, key) || !can_share)
            {
                continue;
            }
            if can_share && stack.text(key) == common {
                if !shared.0.iter().any(|(name, _)| name == key) {
                    shared.push(key, item.clone());
                }
            } else {
                own.entry(*index).or_default().push(key, item.clone());
            }
        }
    }
    let own = own
        .into_iter()
        .filter_map(|(index, entries)| Some((index, entries.into_some()?)));
    (shared.into_some(), own.collect())
}

fn is_default(cx: &Context<'_>, stack: &PoolStack, key: &str) -> bool {
    stack.text(key) == default_text(cx, stack, key)
}

/// The default of a setting, if gpuc has one.
fn default_text(cx: &Context<'_>, stack: &PoolStack, key: &str) -> Option<String> {
    let text = match key {
        "devicePlugin" => "gpuc",
        "allocation" => "devicePlugin",
        "nodeLabels" => "node",
        "driver" => {
            let plugin = stack.plugin.unwrap_or(DevicePlugin::Gpuc);
            return Some(word(&cx.cloud.default_driver(plugin)));
        }
        _ => return None,
    };
    Some(text.to_owned())
}
