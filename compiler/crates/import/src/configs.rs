//! Configurations of the components that advertise GPUs, in ConfigMaps and in the `ClusterPolicy`.

use gpuc_live::doctor::{Advertiser, advertiser_of};
use gpuc_live::objects::{Object, Pod};
use gpuc_live::state::Kind;
use gpuc_schema::node_config::NodeConfig;
use serde_json::Value;

use crate::context::Context;
use crate::groups::{Group, runtime_pool};
use crate::json::{parse_yaml, text};
use crate::tree::Evidence;

/// The label with which a node selects a configuration of NVIDIA's device plugin.
///
/// Source: NVIDIA/k8s-device-plugin@v0.20.0 README.md, "Updating Per-Node Configuration With a Node Label".
const PLUGIN_CONFIG_LABEL: &str = "nvidia.com/device-plugin.config";

/// The label with which a node selects a layout of the MIG manager.
///
/// Source: NVIDIA/mig-parted@bd7160f4 deployments/container/nvidia-mig-manager.
pub(crate) const MIG_CONFIG_LABEL: &str = "nvidia.com/mig.config";

/// The ConfigMap that the GPU Operator creates for its MIG manager.
///
/// Source: NVIDIA/gpu-operator@v26.7.0 deployments/gpu-operator/values.yaml, `migManager.config.default`.
const DEFAULT_MIG_CONFIG_MAP: &str = "default-mig-parted-config";

/// The configuration of gpuc-runtime on the nodes of a group.
pub(crate) fn node_config(cx: &Context<'_>, group: &Group<'_>) -> Option<(NodeConfig, String)> {
    let pool = group.nodes.iter().find_map(|node| runtime_pool(cx, node));
    let label = || group.label("gpuc.dev/pool").map(|(value, _)| value);
    let pool = pool.or_else(label)?;
    let config_maps = cx.state.objects(Kind::ConfigMap).iter();
    let mut found = config_maps.filter_map(|object| {
        let data = object.body.pointer("/data/node.json")?.as_str()?;
        let config: NodeConfig = serde_json::from_str(data).ok()?;
        let source = format!("{}#data[node.json]", name_of("ConfigMap", object));
        (config.pool == pool).then_some((config, source))
    });
    found.next()
}

/// The notation of an object in sources.
pub(crate) fn name_of(kind: &str, object: &Object) -> String {
    let metadata = &object.metadata;
    match metadata.namespace.as_str() {
        "" => format!("{kind} {}", metadata.name),
        namespace => format!("{kind} {namespace}/{}", metadata.name),
    }
}

/// The `ClusterPolicy` that the GPU Operator follows.
pub(crate) fn cluster_policy<'s>(cx: &Context<'s>) -> Option<&'s Object> {
    let policies = cx.state.objects(Kind::ClusterPolicy);
    let mut active = policies
        .iter()
        .filter(|it| it.text("/status/state") != "ignored");
    active.next()
}

/// The pods of NVIDIA's device plugin on the nodes of a group.
pub(crate) fn nvidia_pods<'s>(cx: &Context<'s>, group: &Group<'_>) -> Vec<&'s Pod> {
    let pods = group.nodes.iter().flat_map(|node| cx.pods_on(node));
    pods.filter(|pod| advertiser_of(&pod.metadata, &pod.spec) == Some(Advertiser::Nvidia))
        .collect()
}

/// The configuration of NVIDIA's device plugin on the nodes of a group, with its source.
pub(crate) fn plugin_config(cx: &Context<'_>, group: &Group<'_>) -> Option<(Value, Evidence)> {
    let pods = nvidia_pods(cx, group);
    let pod = pods.first()?;
    let namespace = &pod.metadata.namespace;
    let operator = cluster_policy(cx).map(|it| (it.text("/spec/devicePlugin/config/name"), it));
    let named = operator.filter(|(name, _)| !name.is_empty());
    let controller = pod.metadata.controller().map_or("", |owner| &owner.name);
    let all = cx.state.objects(Kind::ConfigMap).iter();
    let candidates: Vec<(&Object, Vec<(&String, Value)>)> = all
        .filter(|object| object.metadata.namespace == *namespace)
        .filter(|object| named.is_none_or(|(name, _)| object.metadata.name == name))
        .filter_map(|object| {
            let configs = plugin_configs(object);
            (!configs.is_empty()).then_some((object, configs))
        })
        .collect();
    let own = candidates.iter().find(|(object, _)| {
        named.is_some() || (!controller.is_empty() && object.metadata.name.starts_with(controller))
    });
    // The other ConfigMaps belong to other releases, if a release with a known name has one.
    let is_of_release = |(object, _): &&(&Object, Vec<(&String, Value)>)| {
        let sets = cx.state.daemon_sets.items.iter();
        let mut sets = sets.filter(|set| set.metadata.namespace == *namespace);
        sets.any(|set| object.metadata.name == format!("{}-configs", set.metadata.name))
    };
    let (object, configs) = own.or_else(|| {
        candidates
            .iter()
            .find(|it| controller.is_empty() || !is_of_release(it))
    })?;
    let is_certain = own.is_some() || candidates.len() == 1;
    let selected = group.label(PLUGIN_CONFIG_LABEL).map(|(value, _)| value);
    let default = named.map(|(_, policy)| policy.text("/spec/devicePlugin/config/default"));
    let key = selected.or(default.filter(|key| !key.is_empty()));
    let find = |key: &str| configs.iter().find(|(name, _)| *name == key);
    // Without a label, the plugin uses the configuration `default`, or the only one.
    let (key, config) = match key {
        Some(key) => find(key)?,
        None => match configs.as_slice() {
            [only] => only,
            _ => find("default")?,
        },
    };
    let source = format!("{}#data[{key}]", name_of("ConfigMap", object));
    let evidence = if is_certain {
        Evidence::sure(source)
    } else {
        Evidence::guess(
            source,
            "several ConfigMaps contain configurations of the device plugin",
        )
    };
    Some((config.clone(), evidence))
}

/// The configurations of NVIDIA's device plugin in a ConfigMap.
fn plugin_configs(object: &Object) -> Vec<(&String, Value)> {
    let data = object.get("/data").as_object().into_iter().flatten();
    data.filter_map(|(key, value)| {
        let config = parse_yaml(value.as_str()?)?;
        let is_config = config.get("sharing").is_some() || config.get("flags").is_some();
        (text(&config, "/version") == Some("v1") && is_config).then_some((key, config))
    })
    .collect()
}

/// The layout of the MIG manager that the nodes of a group select, with its source.
pub(crate) fn mig_layout(cx: &Context<'_>, group: &Group<'_>) -> Option<(Value, String)> {
    let (selected, _) = group.label(MIG_CONFIG_LABEL)?;
    let named = cluster_policy(cx).map(|it| it.text("/spec/migManager/config/name"));
    let named = named.filter(|name| !name.is_empty());
    let all = cx.state.objects(Kind::ConfigMap).iter();
    let mut found = all.filter_map(|object| {
        let name = &object.metadata.name;
        if named.is_some_and(|named| named != name && name != DEFAULT_MIG_CONFIG_MAP) {
            return None;
        }
        let data = object.get("/data").as_object()?.iter();
        let mut layouts = data.filter_map(|(_, value)| {
            let config = parse_yaml(value.as_str()?)?;
            config.get("mig-configs")?.get(selected).cloned()
        });
        let source = format!("{}#mig-configs.{selected}", name_of("ConfigMap", object));
        layouts.next().map(|layout| (layout, source))
    });
    found.next()
}
