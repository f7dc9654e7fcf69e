//! The entities of a cluster as a reviewer knows them, each with its fields and files.

use std::collections::{BTreeMap, BTreeSet};

use gpuc_compile::compile::Compilation;
use gpuc_compile::emit;
use gpuc_compile::lock::{self, LOCK_FILE, Lock};
use gpuc_model::plan::{
    AutoUpgrade, Chart, Credentials, Delivery, FieldKind, Identity, NodeProvisioner, Plan,
    Resource, Summary,
};
use gpuc_model::{Cluster, POOL_LABEL};
use gpuc_syntax::node::Node;
use gpuc_syntax::source::Span;
use serde_json::{Value as Json, json};

use super::facts::facts;
pub(super) use super::facts::{
    CARDS, DRIVER, FACTS, LAYOUT, MACHINE, MAKER, NODES, OFFERS, PLUGIN, SELECTOR, SHARING, TAINTS,
    TEXT,
};
use super::fields::{Leaf, below, leaves};

/// Identity of an entity, by which it is found on the other side.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Key {
    /// A node pool with its cloud resources.
    Pool(String),
    /// The location of the cluster: account, project, region, context.
    Place,
    /// Another cloud resource: its kind and name.
    Resource(&'static str, String),
    /// A Helm release.
    Release(String),
    /// A Kubernetes object. The version of its API is not part of its identity.
    Object {
        /// The API group; empty for the core group.
        group: String,
        /// The kind.
        kind: String,
        /// The namespace, if the kind is namespaced.
        namespace: Option<String>,
        /// The name.
        name: String,
    },
    /// An object of Flux or Argo CD that deploys others.
    Sync(String, String),
    /// Another file.
    File(String),
}

/// An entity.
#[derive(Clone, Debug, Default)]
pub(super) struct Part {
    /// The leaf fields.
    pub leaves: BTreeMap<String, Leaf>,
    /// The rows of the cloud's tables that classify a change of these fields.
    pub fields: BTreeMap<String, &'static FieldKind>,
    /// The automatic upgrades of a pool's nodes, by field name.
    pub followed: BTreeMap<String, AutoUpgrade>,
    /// The provisioner of a pool's nodes in the cluster, if scripts do not create them.
    pub maker: Option<&'static NodeProvisioner>,
    /// The files that contain it.
    pub files: BTreeSet<String>,
    /// The chart of a release.
    pub chart: Option<&'static Chart>,
    /// The component that an object belongs to.
    pub component: String,
    /// The resources that it consists of, such as the hosts of a pool.
    pub members: BTreeSet<String>,
    /// Whether a script has a command that deletes this cloud resource.
    pub is_deleted_by_script: bool,
    /// The pools whose nodes it affects; every pool with GPUs if empty.
    pub pools: BTreeSet<String>,
}

/// All entities of a cluster.
#[derive(Clone, Debug, Default)]
pub(super) struct Parts {
    /// The entities.
    pub(super) all: BTreeMap<Key, Part>,
    /// A summary of the pools.
    pub summary: Summary,
    /// Preconditions that the scripts check but that do not identify the cluster.
    pub conditions: BTreeSet<String>,
    /// The source of the fact that nodes above a lowered maximum stay while pods need them.
    pub keeps_above_maximum: Option<&'static str>,
    /// Whether the pools are the user's own hosts, which no cloud bills.
    pub own_hosts: bool,
    /// The kubeconfig context, if the file sets one.
    pub context: Option<String>,
    /// The GitOps controller that deploys the tree, such as `Flux`; empty for a script.
    pub tool: &'static str,
    /// The name of the controller's first object: another name registers another tree.
    pub told: Option<String>,
    /// The number of GPUs of each model at the minimum and the maximum number of nodes.
    pub gpus: BTreeMap<String, (u64, u64)>,
}

impl Key {
    /// The key of a Kubernetes object.
    pub(super) fn object(identity: &Identity) -> Self {
        let group = identity.api_version.split_once('/');
        Self::Object {
            group: group.map(|(group, _)| group).unwrap_or_default().to_owned(),
            kind: identity.kind.clone(),
            namespace: identity.namespace.clone(),
            name: identity.name.clone(),
        }
    }

    /// The kind, for display.
    pub(super) fn kind(&self) -> &str {
        match self {
            Self::Place => "cluster",
            Self::Pool(_) => "pool",
            Self::Resource(kind, _) => kind,
            Self::Release(_) => "Helm release",
            Self::Object { kind, .. } | Self::Sync(kind, _) => kind,
            Self::File(_) => "file",
        }
    }

    /// The name, for display.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Place => "itself".to_owned(),
            Self::Pool(name)
            | Self::Resource(_, name)
            | Self::Release(name)
            | Self::Sync(_, name)
            | Self::File(name) => name.clone(),
            Self::Object {
                namespace, name, ..
            } => match namespace {
                Some(namespace) => format!("{namespace}/{name}"),
                None => name.clone(),
            },
        }
    }
}

impl Parts {
    /// The entities of a compilation; `None` if it has errors.
    pub(super) fn of(compilation: &Compilation) -> Option<Self> {
        Self::of_those(compilation, &|_| true)
    }

    /// The entities of a compilation, limited to the wanted Kubernetes objects.
    pub(super) fn of_those(
        compilation: &Compilation,
        wanted: &dyn Fn(&Key) -> bool,
    ) -> Option<Self> {
        let plan = compilation.plan.as_ref()?;
        let cluster = compilation.cluster.as_ref()?;
        let (_, lock) = compilation.output.as_ref()?;
        let mut parts = Self {
            summary: plan.summary.clone(),
            gpus: gpus(cluster),
            keeps_above_maximum: cluster.cloud.keeps_above_maximum(),
            own_hosts: !cluster.cloud.facts().makes_machines,
            context: match &plan.provisioning.credentials {
                Credentials::Context(context) => Some(context.clone()),
                Credentials::Fetch(_) => None,
            },
            tool: match &plan.delivery {
                Delivery::Script => "",
                Delivery::Gitops { tool, .. } => tool,
            },
            told: match &plan.delivery {
                Delivery::Script => None,
                Delivery::Gitops { objects, .. } => {
                    objects.first().map(|first| first.identity.name.clone())
                }
            },
            ..Self::default()
        };
        parts.place(cluster, plan);
        parts.pools(cluster, plan);
        parts.resources(cluster, plan);
        parts.releases(plan);
        parts.objects(cluster, plan, wanted);
        parts.syncs(plan);
        parts.files(lock);
        Some(parts)
    }

    /// Whether the same GitOps controller deploys both as the same tree.
    pub(super) fn is_brought_as(&self, other: &Self) -> bool {
        self.tool == other.tool && self.told == other.told
    }

    /// Adds every file with its digest, and the pinned versions.
    pub(super) fn files(&mut self, lock: &Lock) {
        for (path, digest) in &lock.files {
            let runs = lock.executable.contains(path);
            let leaf = |value: Json| Leaf {
                value,
                inputs: Vec::new(),
            };
            let part = self.all.entry(Key::File(path.clone())).or_default();
            part.files.insert(path.clone());
            part.leaves.insert(TEXT.to_owned(), leaf(json!(digest)));
            part.leaves
                .insert("can be run".to_owned(), leaf(json!(runs)));
        }
        let mut all = lock.clone();
        all.from = None;
        let digest = lock::digest(all.to_json().as_bytes());
        let pinned = serde_json::to_value(&lock.pins).unwrap_or_default();
        let part = self.all.entry(Key::File(LOCK_FILE.to_owned())).or_default();
        part.files.insert(LOCK_FILE.to_owned());
        part.leaves = leaves(&Node::from_json(pinned));
        // An empty set of pins is one empty leaf.
        part.leaves.remove("");
        let (value, inputs) = (json!(digest), Vec::new());
        part.leaves.insert(TEXT.to_owned(), Leaf { value, inputs });
    }

    fn pools(&mut self, cluster: &Cluster, plan: &Plan) {
        for (pool, summary) in cluster.pools.iter().zip(&plan.summary.pools) {
            let part = self
                .all
                .entry(Key::Pool(pool.name.value.clone()))
                .or_default();
            part.pools.insert(pool.name.value.clone());
            part.maker = cluster.cloud.node_provisioner(cluster, pool);
            for (fact, value) in facts(cluster, pool, summary) {
                let inputs: Vec<Span> = [pool.name.span].to_vec();
                part.leaves.insert(fact.to_owned(), Leaf { value, inputs });
            }
            for followed in cluster.cloud.auto_upgrades(cluster, pool) {
                let (value, inputs) = (json!(followed.value), followed.inputs.clone());
                let name = followed.name.to_owned();
                part.leaves.insert(name.clone(), Leaf { value, inputs });
                part.followed.insert(name, followed);
            }
            for offer in &summary.resources {
                let path = format!("{OFFERS}{}", offer.name);
                let (value, inputs) = (json!(offer.per_node), vec![pool.name.span]);
                part.leaves.insert(path, Leaf { value, inputs });
            }
        }
    }

    fn resources(&mut self, cluster: &Cluster, plan: &Plan) {
        for resource in &plan.provisioning.resources {
            let (key, prefix) = home(cluster, resource);
            let part = self.all.entry(key.clone()).or_default();
            let script = format!("cloud/{}.sh", resource.script);
            part.files.insert(script);
            part.component.clone_from(&resource.script);
            part.members.insert(resource.name.clone());
            part.is_deleted_by_script = !resource.delete.is_empty() && !resource.is_only_removed();
            for field in &resource.fields {
                let name = format!("{prefix}{}", field.kind.name);
                // Cloud-independent facts take precedence over fields of the cloud's table with the same name.
                if matches!(key, Key::Pool(_)) && FACTS.contains(&name.as_str()) {
                    continue;
                }
                let mut node = Node::from_json(field.want.clone());
                node.origin = field.origin.clone();
                for (path, leaf) in leaves(&node) {
                    let path = match path.as_str() {
                        "" => name.clone(),
                        path if path.starts_with('[') => format!("{name}{path}"),
                        path => format!("{name}.{path}"),
                    };
                    part.leaves.insert(path.clone(), leaf);
                    part.fields.insert(path, field.kind);
                }
            }
        }
    }

    fn releases(&mut self, plan: &Plan) {
        for release in &plan.releases {
            let part = self
                .all
                .entry(Key::Release(release.name.clone()))
                .or_default();
            part.chart = Some(release.chart);
            part.pools = release.pools.iter().cloned().collect();
            part.files.insert(emit::values(release));
            part.leaves = leaves(&release.values)
                .into_iter()
                .map(|(path, leaf)| (format!("values.{path}"), leaf))
                .collect();
            for (path, value) in [
                ("chart version", json!(release.chart.version)),
                ("repository", json!(release.repository)),
                ("namespace", json!(release.namespace)),
            ] {
                let inputs = Vec::new();
                part.leaves.insert(path.to_owned(), Leaf { value, inputs });
            }
        }
    }

    fn objects(&mut self, cluster: &Cluster, plan: &Plan, wanted: &dyn Fn(&Key) -> bool) {
        for (path, object) in emit::objects(plan) {
            let key = Key::object(&object.identity);
            if !wanted(&key) {
                continue;
            }
            let part = self.all.entry(key).or_default();
            part.leaves = leaves(&object.node);
            part.component.clone_from(&object.component);
            part.files.insert(path);
            part.pools = pools_of(&part.leaves, cluster);
            // An object of the node provisioner affects only its own pool.
            let of_pool = Key::Pool(object.identity.name.clone());
            let maker = self.all.get(&of_pool).and_then(|pool| pool.maker);
            let makes = |maker: &NodeProvisioner| {
                let mut kinds = maker.kinds.iter();
                kinds.any(|(kind, _)| *kind == object.identity.kind)
            };
            if maker.is_some_and(makes)
                && let Some(part) = self.all.get_mut(&Key::object(&object.identity))
            {
                part.pools = [object.identity.name.clone()].into();
            }
        }
        self.configurations();
    }

    /// Sets the pools that read a ConfigMap: those whose DaemonSet has its name.
    fn configurations(&mut self) {
        let of = |key: &Key, wanted: &str| match key {
            Key::Object {
                kind,
                namespace,
                name,
                ..
            } if kind == wanted => Some((namespace.clone(), name.clone())),
            _ => None,
        };
        let sets = self.all.iter();
        let sets = sets.filter_map(|(key, part)| Some((of(key, "DaemonSet")?, part.pools.clone())));
        let sets: BTreeMap<_, _> = sets.collect();
        for (key, part) in &mut self.all {
            if let Some(pools) = of(key, "ConfigMap").and_then(|name| sets.get(&name)) {
                part.pools.clone_from(pools);
            }
        }
    }

    fn syncs(&mut self, plan: &Plan) {
        for (path, object) in emit::told(plan) {
            let identity = &object.identity;
            let mut fields = leaves(&object.node);
            let release = released(&fields).filter(|it| self.all.contains_key(it));
            let is_release = release.is_some();
            let key = Key::Sync(identity.kind.clone(), identity.name.clone());
            let part = self.all.entry(release.unwrap_or(key)).or_default();
            part.files.insert(path);
            if is_release {
                // The values are already part of the release.
                fields.retain(|path, _| !VALUES.iter().any(|values| path.starts_with(values)));
                let delivered = fields.into_iter();
                let delivered = delivered.map(|(path, leaf)| (format!("{DELIVERY}{path}"), leaf));
                part.leaves.extend(delivered);
            } else {
                part.leaves = fields;
            }
        }
    }
}

/// Fields of Flux and Argo CD objects with the values of a release.
const VALUES: &[&str] = &["spec.values.", "spec.source.helm.valuesObject."];

/// Prefix of the fields of the Flux or Argo CD object that deploys a release.
pub(super) const DELIVERY: &str = "delivery.";

/// The release that an object of Flux or Argo CD deploys.
fn released(fields: &BTreeMap<String, Leaf>) -> Option<Key> {
    let named = fields
        .iter()
        .find(|(path, _)| path.ends_with(".releaseName"));
    let (_, leaf) = named?;
    Some(Key::Release(leaf.value.as_str()?.to_owned()))
}

/// The GPUs of all pools, by model.
fn gpus(cluster: &Cluster) -> BTreeMap<String, (u64, u64)> {
    let mut gpus: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    for (pool, cards) in cluster.gpu_pools() {
        if let Some(nodes) = pool.nodes.get() {
            let (min, max) = gpus.entry(cards.model.key.to_owned()).or_default();
            *min += u64::from(cards.per_node) * u64::from(nodes.min);
            *max += u64::from(cards.per_node) * u64::from(nodes.max);
        }
    }
    gpus
}

/// The entity that a resource belongs to, and the prefix of its fields there: a pool's script creates the pool.
fn home(cluster: &Cluster, resource: &Resource) -> (Key, String) {
    let pool = resource.script.strip_prefix("pool-");
    match pool.and_then(|name| cluster.pool(name)) {
        Some(pool) if pool.name.value == resource.name => {
            (Key::Pool(pool.name.value.clone()), String::new())
        }
        // Hosts of a pool have their own names.
        Some(pool) => (
            Key::Pool(pool.name.value.clone()),
            format!("{} ", resource.name),
        ),
        None => (
            Key::Resource(resource.kind.name, resource.name.clone()),
            String::new(),
        ),
    }
}

/// The pools that an object's pods are restricted to by their node selector or affinity.
fn pools_of(leaves: &BTreeMap<String, Leaf>, cluster: &Cluster) -> BTreeSet<String> {
    let label = format!("\"{POOL_LABEL}\"");
    let selects = |path: &str| path.ends_with(&format!("nodeSelector.{label}"));
    let selected = leaves.iter().filter(|(path, _)| selects(path));
    let selected = selected.filter_map(|(_, leaf)| leaf.value.as_str().map(str::to_owned));
    let matches = leaves.iter().filter(|(path, _)| {
        path.contains("odeSelector")
            && path.contains(&format!("[{POOL_LABEL}]"))
            && path.ends_with(".values")
    });
    let matched = matches.filter_map(|(_, leaf)| leaf.value.as_array());
    let matched = matched
        .flatten()
        .filter_map(|it| it.as_str().map(str::to_owned));
    let existing = cluster.pools.iter().filter(|pool| pool.is_existing());
    let existing = existing.filter(|pool| {
        let mut labels = pool.selector.iter();
        !pool.selector.is_empty() && labels.all(|label| picks(leaves, &label.key, &label.value))
    });
    let existing = existing.map(|pool| pool.name.value.clone());
    selected.chain(matched).chain(existing).collect()
}

/// Whether pods select nodes by exactly this label.
fn picks(leaves: &BTreeMap<String, Leaf>, key: &str, value: &str) -> bool {
    let selects = below("nodeSelector", key);
    let matches = format!("[{key}].values");
    leaves.iter().any(|(path, leaf)| {
        (path.ends_with(&selects) && leaf.value == json!(value))
            || (path.contains("odeSelector")
                && path.ends_with(&matches)
                && leaf.value == json!([value]))
    })
}
