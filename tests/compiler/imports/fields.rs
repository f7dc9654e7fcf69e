//! The fields of a compilation: the leaves of all its Kubernetes objects, and the properties of its pools.

use std::collections::{BTreeMap, BTreeSet};

use gpuc_compile::compile::Compilation;
use gpuc_model::plan::Delivery;
use gpuc_model::{Cluster, Pool, Sharing};
use gpuc_schema::Span;
use gpuc_schema::config::{DevicePlugin, SharePlacement};
use gpuc_syntax::node::{Node, Value as NodeValue};
use serde_json::{Map, Value, json};

/// An object or a pool, and the path of a field in it.
pub(super) type FieldId = (String, String);

/// A field.
#[derive(Clone, Debug)]
pub(super) struct Field {
    /// The value as JSON.
    pub(super) value: String,
    /// The settings of the file that it follows from: `nodePools[train].network.efa`.
    pub(super) settings: Vec<String>,
}

/// The keys of lists of texts whose order has no meaning.
const SETS: &[&str] = &["matchNames", "validationActions", "values"];

/// All fields of a compilation.
pub(super) fn fields(compilation: &Compilation) -> BTreeMap<FieldId, Field> {
    let plan = compilation.plan.as_ref().unwrap();
    let mut paths = Vec::new();
    collect_paths(&compilation.loaded.root, "", &mut paths);
    let delivered = match &plan.delivery {
        Delivery::Script => &[][..],
        Delivery::Gitops { objects, .. } => objects,
    };
    let mut fields = BTreeMap::new();
    for object in plan.objects.iter().chain(delivered) {
        let identity = &object.identity;
        let name = match identity.namespace.as_deref() {
            None | Some("") => format!("{} {}", identity.kind, identity.name),
            Some(namespace) => format!("{} {namespace}/{}", identity.kind, identity.name),
        };
        let mut walk = Walk {
            object: &name,
            paths: &paths,
            fields: &mut fields,
        };
        walk.add(&object.node, "", &[]);
    }
    for pool in &compilation.cluster.as_ref().unwrap().pools {
        add_pool(compilation.cluster.as_ref().unwrap(), pool, &mut fields);
    }
    fields
}

struct Walk<'a> {
    object: &'a str,
    paths: &'a [(Span, String)],
    fields: &'a mut BTreeMap<FieldId, Field>,
}

impl Walk<'_> {
    fn add(&mut self, node: &Node, path: &str, inherited: &[Span]) {
        let own = node.origin.inputs();
        let inputs = if own.is_empty() { inherited } else { own };
        match &node.value {
            NodeValue::Mapping(entries) if !entries.is_empty() => {
                for entry in entries {
                    self.add(&entry.value, &child(path, &entry.key), inputs);
                }
            }
            NodeValue::Sequence(items) if !items.is_empty() => {
                // Named items are identified by their names, and rules of Prometheus by those of alerts and series.
                let name = |it: &Node| {
                    let keys = ["name", "alert", "record"];
                    let named = keys
                        .iter()
                        .find_map(|key| Some(it.get(key)?.text()?.to_owned()));
                    // Groups of a ClusterQueue are identified by their resources.
                    let resources = it.get("coveredResources").map(|list| {
                        let names = list.items().iter().filter_map(Node::text);
                        names.collect::<Vec<_>>().join(",")
                    });
                    named.or(resources)
                };
                let mut names: Vec<String> = items.iter().filter_map(name).collect();
                for index in 0..names.len() {
                    let earlier = names[..index]
                        .iter()
                        .filter(|it| **it == names[index])
                        .count();
                    if earlier > 0 {
                        names[index] = format!("{}~{earlier}", names[index]);
                    }
                }
                // Texts of a set are identified by themselves.
                let is_set = SETS.iter().any(|key| path.ends_with(&format!(".{key}")));
                if is_set {
                    names = items
                        .iter()
                        .filter_map(|it| Some(it.text()?.to_owned()))
                        .collect();
                }
                let unique: BTreeSet<&String> = names.iter().collect();
                let is_named = unique.len() == items.len();
                for (index, item) in items.iter().enumerate() {
                    let place = if is_named {
                        names[index].clone()
                    } else {
                        index.to_string()
                    };
                    self.add(item, &format!("{path}[{place}]"), inputs);
                }
            }
            // The API server sets the same values.
            _ if is_probe_default(path, node) => {}
            _ => {
                let settings = inputs.iter().filter_map(|span| setting(self.paths, *span));
                let field = Field {
                    value: serde_json::to_string(node).unwrap(),
                    settings: settings.collect(),
                };
                self.fields
                    .insert((self.object.to_owned(), path.to_owned()), field);
            }
        }
    }
}

/// Whether a field of a probe has the default of the API server.
///
/// Source: kubernetes `pkg/apis/core/v1/defaults.go`, `SetDefaults_Probe`, 2026-11-28.
fn is_probe_default(path: &str, node: &Node) -> bool {
    let defaults = [
        ("periodSeconds", 10),
        ("timeoutSeconds", 1),
        ("failureThreshold", 3),
    ];
    let mut parts = path.rsplit('.');
    let (field, probe) = (parts.next().unwrap(), parts.next().unwrap_or_default());
    let value = serde_json::to_value(node).unwrap();
    probe.ends_with("Probe")
        && defaults
            .iter()
            .any(|(key, default)| *key == field && value == *default)
}

fn child(path: &str, key: &str) -> String {
    let key = if key.contains(['.', '/']) {
        format!("[{key}]")
    } else {
        key.to_owned()
    };
    if path.is_empty() || key.starts_with('[') {
        format!("{path}{key}")
    } else {
        format!("{path}.{key}")
    }
}

/// The spans of all values of the file, with their paths.
fn collect_paths(node: &Node, path: &str, paths: &mut Vec<(Span, String)>) {
    if !path.is_empty() {
        paths.push((node.span(), path.to_owned()));
    }
    for entry in node.entries() {
        let path = child(path, &entry.key);
        paths.push((entry.key_span, path.clone()));
        collect_paths(&entry.value, &path, paths);
    }
    for (index, item) in node.items().iter().enumerate() {
        let keys = ["name", "pool", "namespace"];
        let name = keys.iter().find_map(|key| item.get(key)?.text());
        let name = name.map_or_else(|| index.to_string(), str::to_owned);
        collect_paths(item, &format!("{path}[{name}]"), paths);
    }
}

/// The path of the smallest value that contains a span.
fn setting(paths: &[(Span, String)], span: Span) -> Option<String> {
    let containing = paths.iter().filter(|(outer, _)| outer.contains(span));
    let smallest = containing.min_by_key(|(outer, _)| outer.end - outer.start);
    smallest.map(|(_, path)| path.clone())
}

/// Adds the properties of a pool.
fn add_pool(cluster: &Cluster, pool: &Pool, fields: &mut BTreeMap<FieldId, Field>) {
    let object = format!("pool {}", pool.name);
    for (keys, value) in pool_properties(cluster, pool) {
        let settings = keys.iter().map(|key| match key.strip_prefix('/') {
            Some(key) => key.to_owned(),
            None => format!("nodePools[{}].{key}", pool.name),
        });
        let settings: Vec<String> = settings.collect();
        let mut leaves = BTreeMap::new();
        flatten(&value, keys[0], &mut leaves);
        for (path, value) in leaves {
            let mut settings = settings.clone();
            if keys[0].strip_prefix('/').is_none() {
                settings[0] = format!("nodePools[{}].{path}", pool.name);
            }
            let field = Field { value, settings };
            fields.insert((object.clone(), path), field);
        }
    }
}

fn flatten(value: &Value, path: &str, leaves: &mut BTreeMap<String, String>) {
    match value {
        Value::Null => {}
        Value::Object(entries) => {
            // A setting without values, such as `efa: {}`, but not an empty list of labels.
            if entries.is_empty() && path.contains('.') {
                leaves.insert(path.to_owned(), "{}".to_owned());
            }
            for (key, value) in entries {
                flatten(value, &child(path, key), leaves);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                flatten(item, &format!("{path}[{index}]"), leaves);
            }
        }
        value => {
            leaves.insert(path.to_owned(), value.to_string());
        }
    }
}

/// The properties of a pool by the keys from which they follow; a key with `/` is one of the file.
fn pool_properties(cluster: &Cluster, pool: &Pool) -> Vec<(&'static [&'static str], Value)> {
    let settings = &pool.settings;
    let texts = |list: &[gpuc_schema::Spanned<String>]| -> Value {
        list.iter()
            .map(|it| Value::from(it.value.as_str()))
            .collect()
    };
    let labels = |list: &[gpuc_model::Label]| -> Value {
        let entries = list
            .iter()
            .map(|it| (it.key.clone(), Value::from(it.value.as_str())));
        Value::Object(entries.collect::<Map<_, _>>())
    };
    let amounts = |list: &[gpuc_model::AdvertisedResource]| -> Value {
        let entries = list.iter().map(|it| (it.name.clone(), it.per_node.into()));
        Value::Object(entries.collect::<Map<_, _>>())
    };
    let taints = pool.taints.iter().map(|it| {
        let key = format!("{}:{}", it.key, it.effect.as_str());
        (key, Value::from(it.value.as_str()))
    });
    let nodes = pool.nodes.get().unwrap();
    let gpus = pool.gpus.get().unwrap().as_ref();
    let machine = pool.machine_types().first().copied();
    let has_gpus = gpus.is_some();
    let stack = |value: Value| if has_gpus { value } else { Value::Null };
    // Settings of gpuc-runtime have no effect on pools without it.
    let has_runtime = has_gpus && pool.is_advertised_by(DevicePlugin::Gpuc);
    let runtime = |value: Value| if has_runtime { value } else { Value::Null };
    let mut extras: Vec<_> = pool
        .extras
        .iter()
        .map(|extra| json!(extra).to_string())
        .collect();
    extras.sort();
    vec![
        (&["machine", "gpu"], json!(machine)),
        (
            &["gpu", "machine"],
            json!(gpus.map(|it| json!({"model": it.model.key, "perNode": it.per_node}))),
        ),
        (
            &["alternativeMachines"],
            texts(&settings.alternative_machines),
        ),
        (&["nodes"], json!({"min": nodes.min, "max": nodes.max})),
        (&["zones"], texts(&settings.zones)),
        (&["subnets"], texts(&settings.subnets)),
        (&["hosts"], texts(&settings.hosts)),
        (&["capacity"], capacity(cluster, pool)),
        (&["network"], json!(settings.network)),
        (&["os.family"], json!(pool.os)),
        (&["nodeImage"], json!(settings.node_image)),
        (&["diskGiB"], json!(settings.disk_gib)),
        (&["localDisks"], json!(settings.local_disks)),
        (&["maxPods"], json!(settings.max_pods)),
        (&["allocatable"], json!(settings.allocatable)),
        (&["sharing"], sharing(pool)),
        (&["overcommit"], json!(settings.overcommit)),
        (&["labels"], labels(&pool.labels)),
        (&["taints", "dedicatedTo"], Value::Object(taints.collect())),
        (&["dedicatedTo"], json!(settings.dedicated_to)),
        (&["tags"], json!(settings.tags)),
        (&["upgrade"], upgrade(cluster, pool)),
        (&["autoRepair"], auto_repair(cluster, pool)),
        (&["existing"], labels(&pool.selector)),
        (
            &["stack.driver", "/stack.driver"],
            stack(json!(pool.driver)),
        ),
        (
            &["stack.driverVersion", "/stack.driverVersion"],
            stack(json!(pool.driver_version)),
        ),
        (
            &["stack.allocation", "/stack.allocation"],
            stack(json!(pool.allocation)),
        ),
        (
            &["stack.devicePlugin", "/stack.devicePlugin"],
            stack(json!(pool.plugin)),
        ),
        (
            &["stack.runtimeImage", "/stack.runtimeImage"],
            runtime(json!(pool.runtime_image)),
        ),
        (
            &["stack.driverImage", "/stack.driverImage"],
            stack(json!(pool.driver_image)),
        ),
        (&["stack.extras", "/stack.extras"], runtime(json!(extras))),
        (
            &["stack.nodeLabels", "/stack.nodeLabels"],
            runtime(json!(pool.node_labels)),
        ),
        (
            &["advertised", "sharing"],
            amounts(pool.advertised.get().unwrap()),
        ),
        (&["interconnect", "network"], amounts(&pool.interconnect)),
    ]
}

/// The capacity with AKS's defaults: the deletion of evicted machines, and no maximum price.
fn capacity(cluster: &Cluster, pool: &Pool) -> Value {
    let mut value = json!(pool.settings.capacity);
    let spot = value
        .get_mut("spot")
        .filter(|_| cluster.cloud.facts().key == "azure");
    if let Some(spot) = spot.and_then(Value::as_object_mut) {
        spot.entry("eviction").or_insert("delete".into());
        spot.entry("maxPrice").or_insert((-1.0).into());
    }
    value
}

/// The upgrade with the defaults of the clouds: at most one unavailable node on EKS, a surge of one node on GKE.
fn upgrade(cluster: &Cluster, pool: &Pool) -> Value {
    let mut value = json!(pool.settings.upgrade);
    // On AKS, only one of the two counts can be above 0.
    if cluster.cloud.facts().key == "azure"
        && value["maxUnavailable"].as_u64() > Some(0)
        && value["maxSurge"].is_null()
    {
        value["maxSurge"] = 0.into();
    }
    let is_default = match cluster.cloud.facts().key {
        "aws" => value == json!({"maxUnavailable": 1}),
        "gcp" => {
            value == json!({"maxSurge": 1}) || value == json!({"maxSurge": 1, "maxUnavailable": 0})
        }
        _ => false,
    };
    if is_default { Value::Null } else { value }
}

/// Whether the cloud repairs nodes: not by default on EKS, but on GKE.
fn auto_repair(cluster: &Cluster, pool: &Pool) -> Value {
    let default = match cluster.cloud.facts().key {
        "aws" => Some(false),
        "gcp" => Some(true),
        _ => None,
    };
    json!(
        pool.settings
            .auto_repair
            .map(|it| it.value)
            .filter(|it| Some(*it) != default)
    )
}

fn sharing(pool: &Pool) -> Value {
    let placement = pool.sharing_placement.map(|it| it.value);
    let placement = json!(placement.filter(|it| *it != SharePlacement::Distributed));
    let sharing = match pool.sharing.get().unwrap() {
        Sharing::Exclusive => return json!({"exclusive": true}),
        Sharing::TimeSlicing { replicas, rename } => {
            json!({"timeSlicing": {"replicas": replicas, "rename": rename}})
        }
        Sharing::Mps { replicas, rename } => {
            json!({"mps": {"replicas": replicas, "rename": rename}})
        }
        Sharing::Mig { strategy, gpus } => {
            let gpus: Vec<Vec<String>> = (gpus.iter())
                .map(|gpu| gpu.placements.iter().map(|it| format!("{it:?}")).collect())
                .collect();
            json!({"mig": {"strategy": strategy, "gpus": gpus}})
        }
    };
    json!({"kind": sharing, "placement": placement})
}
