//! The pod of a notebook, as the hub creates it from the chart's values and the overrides of a profile.
//!
//! Sources: jupyterhub/zero-to-jupyterhub-k8s@48ea50e3 `jupyterhub/files/hub/jupyterhub_config.py` (what a notebook
//! gets from the values); jupyterhub/kubespawner@4161d54 `kubespawner/spawner.py`, `_load_profile` (the overrides of
//! the profile, then those of the selected choice of each option) and `_apply_overrides`, `kubespawner/utils.py`,
//! `recursive_update` (mappings merge, lists are replaced, null removes) and `update_k8s_model` (each key of
//! `extra_pod_config` replaces that of the pod), 2026-11-27.

use gpuc_syntax::node::{Entry, Node, Origin, Scalar, Value};
use gpuc_syntax::source::Span;
use serde_json::json;

use crate::charts::keys::merge;

/// The overrides that decide about the node of a notebook.
const PLACEMENT_KEYS: [&str; 6] = [
    "extra_pod_config",
    "extra_resource_guarantees",
    "extra_resource_limits",
    "node_affinity_required",
    "node_selector",
    "tolerations",
];

/// A choice of an option.
#[derive(Clone, Copy)]
pub(super) enum Alternative<'n> {
    /// The overrides of the choice.
    Override(&'n Node),
    /// A choice that does not affect the node.
    Irrelevant,
    /// A value that the person enters affects the node.
    Unknown,
}

impl<'n> Alternative<'n> {
    /// The overrides, if they affect the node.
    pub(super) fn known(&self) -> Option<&'n Node> {
        match self {
            Self::Override(own) => Some(own),
            Self::Irrelevant | Self::Unknown => None,
        }
    }

    fn new(own: Option<&'n Node>) -> Self {
        let is_relevant = |own: &&Node| PLACEMENT_KEYS.iter().any(|key| own.get(key).is_some());
        own.filter(is_relevant)
            .map_or(Self::Irrelevant, Self::Override)
    }

    /// The choice to enter a value, which replaces `{value}` in its overrides.
    fn unlisted(option: &'n Node) -> Option<Self> {
        let unlisted = option.get("unlisted_choice")?;
        let enabled = &unlisted.get("enabled")?.value;
        if !matches!(enabled, Value::Scalar(Scalar::Bool(true))) {
            return None;
        }
        let own = unlisted.get("kubespawner_override");
        let placement = PLACEMENT_KEYS.iter().filter_map(|key| own?.get(key));
        let mut values = placement.filter_map(|value| serde_json::to_string(value).ok());
        let is_template = values.any(|value| value.contains("{value}"));
        Some(if is_template {
            Self::Unknown
        } else {
            Self::new(own)
        })
    }
}

/// The choices of each option of a profile. Choices that do not affect the node count once.
pub(super) fn options(profile: &Node) -> impl Iterator<Item = Vec<Alternative<'_>>> {
    let options = profile.get("profile_options");
    let options = options.map_or(&[][..], Node::entries).iter();
    options.filter_map(|option| {
        let choices = option.value.get("choices");
        let choices = choices.map_or(&[][..], Node::entries).iter();
        let overrides = choices.map(|it| Alternative::new(it.value.get("kubespawner_override")));
        let mut alternatives: Vec<_> = overrides
            .chain(Alternative::unlisted(&option.value))
            .collect();
        let mut is_first = true;
        alternatives
            .retain(|it| !matches!(it, Alternative::Irrelevant) || std::mem::take(&mut is_first));
        (!alternatives.is_empty()).then_some(alternatives)
    })
}

/// What every notebook gets, under the names of a profile's overrides.
pub(super) fn base_pod(values: &Node) -> Node {
    let lists = [
        get(values, &["scheduling", "userPods", "tolerations"]),
        get(values, &["singleuser", "extraTolerations"]),
    ];
    let mut tolerations: Vec<Node> = Vec::new();
    if lists[0].is_none() {
        // The chart's default.
        for key in ["hub.jupyter.org/dedicated", "hub.jupyter.org_dedicated"] {
            tolerations.push(Node::from_json(json!({
                "key": key, "operator": "Equal", "value": "user", "effect": "NoSchedule"
            })));
        }
    }
    let written = lists.into_iter().flatten().flat_map(Node::items);
    tolerations.extend(written.cloned());
    let mut entries = vec![entry(
        "tolerations",
        generated(Value::Sequence(tolerations)),
    )];
    let limits = &["singleuser", "extraResource", "limits"];
    let guarantees = &["singleuser", "extraResource", "guarantees"];
    for (name, path) in [
        ("node_selector", &["singleuser", "nodeSelector"][..]),
        (
            "node_affinity_required",
            &["singleuser", "extraNodeAffinity", "required"],
        ),
        ("extra_pod_config", &["singleuser", "extraPodConfig"]),
        ("extra_resource_limits", limits),
        ("extra_resource_guarantees", guarantees),
    ] {
        if let Some(value) = get(values, path) {
            entries.push(entry(name, value.clone()));
        }
    }
    generated(Value::Mapping(entries))
}

/// Applies the overrides of a profile or of a choice.
pub(super) fn override_pod(pod: Node, own: &Node) -> Node {
    merge(pod, own)
}

/// Whether the overrides or the pod request extended resources.
pub(super) fn requests_devices(own: &Node) -> bool {
    let keys = ["extra_resource_limits", "extra_resource_guarantees"];
    let requests = keys.iter().filter_map(|key| own.get(key));
    let mut amounts = requests.flat_map(Node::entries);
    amounts.any(|amount| !is_zero(&amount.value))
}

fn is_zero(amount: &Node) -> bool {
    match &amount.value {
        Value::Scalar(Scalar::Null | Scalar::Integer(0)) => true,
        _ => amount.text() == Some("0"),
    }
}

/// The pod of a notebook, with what decides about its node.
pub(super) fn pod_spec(pod: &Node) -> Node {
    let get = |key: &str| pod.get(key).map(without_nulls);
    let limits = get("extra_resource_limits").map(|it| entry("limits", it));
    let requests = get("extra_resource_guarantees").map(|it| entry("requests", it));
    let resources = limits.into_iter().chain(requests).collect();
    let container = vec![
        entry("name", Node::from_json(json!("notebook"))),
        entry("resources", generated(Value::Mapping(resources))),
    ];
    let containers = generated(Value::Sequence(vec![generated(Value::Mapping(container))]));
    let selector = get("node_selector").map(|it| entry("nodeSelector", it));
    let tolerations = get("tolerations").map(|it| entry("tolerations", it));
    let affinity = get("node_affinity_required")
        .filter(|terms| !terms.items().is_empty())
        .map(|terms| entry("affinity", node_affinity(terms)));
    let placement = selector.into_iter().chain(tolerations).chain(affinity);
    let mut entries: Vec<Entry> = placement.collect();
    entries.push(entry("containers", containers));
    let own = pod.get("extra_pod_config").map_or(&[][..], Node::entries);
    for own in own {
        let key = camel_case(&own.key);
        entries.retain(|entry| entry.key != key);
        entries.push(Entry { key, ..own.clone() });
    }
    generated(Value::Mapping(entries))
}

fn node_affinity(terms: Node) -> Node {
    let nest = |key: &str, value: Node| generated(Value::Mapping(vec![entry(key, value)]));
    let required = nest("nodeSelectorTerms", terms);
    let required = nest("requiredDuringSchedulingIgnoredDuringExecution", required);
    nest("nodeAffinity", required)
}

/// The key of a Kubernetes object. `extra_pod_config` also accepts the names of the Python client.
fn camel_case(key: &str) -> String {
    let mut words = key.split('_');
    let mut name = words.next().unwrap_or_default().to_owned();
    for word in words {
        let mut letters = word.chars();
        name.extend(letters.next().map(|first| first.to_ascii_uppercase()));
        name.push_str(letters.as_str());
    }
    name
}

/// Removes entries with a null, by which an override removes a value.
fn without_nulls(node: &Node) -> Node {
    let mut node = node.clone();
    if let Value::Mapping(entries) = &mut node.value {
        entries.retain(|entry| !matches!(entry.value.value, Value::Scalar(Scalar::Null)));
    }
    node
}

pub(super) fn get<'n>(node: &'n Node, path: &[&str]) -> Option<&'n Node> {
    path.iter().try_fold(node, |node, key| node.get(key))
}

fn entry(key: &str, value: Node) -> Entry {
    Entry {
        key: key.to_owned(),
        key_span: Span::NONE,
        value,
    }
}

fn generated(value: Value) -> Node {
    Node {
        value,
        origin: Origin::Inherited,
    }
}
