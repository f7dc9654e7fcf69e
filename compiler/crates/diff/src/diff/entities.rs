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

use super::facts::pool_facts;
pub(super) use super::facts::{
    ADVERTISED, DRIVER, FACTS, FILE_TEXT, GPUS, MACHINE, MIG_LAYOUT, NODE_PROVISIONER, NODES,
    PLUGIN, SELECTOR, SHARING, TAINTS,
};
use super::fields::{FieldValue, child_path, leaf_fields};

/// Identity of an entity, by which it is found on the other side.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum EntityKey {
    /// A node pool with its cloud resources.
    Pool(String),
    /// The location of the cluster: account, project, region, context.
    Location,
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
    ControllerObject(String, String),
    /// Another file.
    File(String),
}

/// An entity.
#[derive(Clone, Debug, Default)]
pub(super) struct Entity {
    /// The leaf fields.
    pub fields: BTreeMap<String, FieldValue>,
    /// The rows of the cloud's tables that classify a change of these fields.
    pub field_kinds: BTreeMap<String, &'static FieldKind>,
    /// The automatic upgrades of a pool's nodes, by field name.
    pub auto_upgrades: BTreeMap<String, AutoUpgrade>,
    /// The provisioner of a pool's nodes in the cluster, if scripts do not create them.
    pub node_provisioner: Option<&'static NodeProvisioner>,
    /// The files that contain it.
    pub files: BTreeSet<String>,
    /// The chart of a release.
    pub chart: Option<&'static Chart>,
    /// The component that an object belongs to.
    pub component: String,
    /// The resources that it consists of, such as the hosts of a pool.
    pub members: BTreeSet<String>,
    /// Whether a command deletes this cloud resource and nothing else.
    pub is_deleted_by_script: bool,
    /// The pools whose nodes it affects; every pool with GPUs if empty.
    pub pools: BTreeSet<String>,
}

/// All entities of a cluster.
#[derive(Clone, Debug, Default)]
pub(super) struct Entities {
    /// The entities.
    pub(super) by_key: BTreeMap<EntityKey, Entity>,
    /// A summary of the pools.
    pub summary: Summary,
    /// Preconditions that the scripts check but that do not identify the cluster.
    pub conditions: BTreeSet<String>,
    /// The source of the fact that nodes above a lowered maximum stay while pods need them.
    pub keeps_above_maximum: Option<&'static str>,
    /// Whether the pools are the user's own hosts, which no cloud bills.
    pub has_user_hosts: bool,
    /// The kubeconfig context, if the file sets one.
    pub context: Option<String>,
    /// The GitOps controller that deploys the tree, such as `Flux`; empty for a script.
    pub controller: &'static str,
    /// The name of the controller's first object: another name registers another tree.
    pub controller_object: Option<String>,
    /// The number of GPUs of each model at the minimum and the maximum number of nodes.
    pub gpus: BTreeMap<String, (u64, u64)>,
}

impl EntityKey {
    /// The key of a Kubernetes object.
    pub(super) fn for_object(identity: &Identity) -> Self {
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
            Self::Location => "cluster",
            Self::Pool(_) => "pool",
            Self::Resource(kind, _) => kind,
            Self::Release(_) => "Helm release",
            Self::Object { kind, .. } | Self::ControllerObject(kind, _) => kind,
            Self::File(_) => "file",
        }
    }

    /// The name, for display.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Location => "itself".to_owned(),
            Self::Pool(name)
            | Self::Resource(_, name)
            | Self::Release(name)
            | Self::ControllerObject(_, name)
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

impl Entities {
    /// The entities of a compilation; `None` if it has errors.
    pub(super) fn from_compilation(compilation: &Compilation) -> Option<Self> {
        Self::from_compilation_filtered(compilation, &|_| true)
    }

    /// The entities of a compilation, limited to the wanted Kubernetes objects.
    pub(super) fn from_compilation_filtered(
        compilation: &Compilation,
        wanted: &dyn Fn(&EntityKey) -> bool,
    ) -> Option<Self> {
        let plan = compilation.plan.as_ref()?;
        let cluster = compilation.cluster.as_ref()?;
        let (_, lock) = compilation.output.as_ref()?;
        let mut entities = Self {
            summary: plan.summary.clone(),
            gpus: gpus_by_model(cluster),
            keeps_above_maximum: cluster.cloud.keeps_above_maximum(),
            has_user_hosts: !cluster.cloud.facts().creates_machines,
            context: match &plan.provisioning.credentials {
                Credentials::Context(context) => Some(context.clone()),
                Credentials::Fetch(_) => None,
            },
            controller: match &plan.delivery {
                Delivery::Script => "",
                Delivery::Gitops { tool, .. } => tool,
            },
            controller_object: match &plan.delivery {
                Delivery::Script => None,
                Delivery::Gitops { objects, .. } => {
                    objects.first().map(|first| first.identity.name.clone())
                }
            },
            ..Self::default()
        };
        entities.add_location(cluster, plan);
        entities.add_pools(cluster, plan);
        entities.add_resources(cluster, plan);
        entities.add_releases(plan);
        entities.add_objects(cluster, plan, wanted);
        entities.add_controller_objects(plan);
        entities.add_files(lock);
        Some(entities)
    }

    /// Whether the same GitOps controller deploys both as the same tree.
    pub(super) fn is_deployed_like(&self, other: &Self) -> bool {
        self.controller == other.controller && self.controller_object == other.controller_object
    }

    /// Adds every file with its digest, and the pinned versions.
    pub(super) fn add_files(&mut self, lock: &Lock) {
        for (path, digest) in &lock.files {
            let is_executable = lock.executable.contains(path);
            let leaf = |value: Json| FieldValue {
                value,
                inputs: Vec::new(),
            };
            let entity = self
                .by_key
                .entry(EntityKey::File(path.clone()))
                .or_default();
            entity.files.insert(path.clone());
            entity
                .fields
                .insert(FILE_TEXT.to_owned(), leaf(json!(digest)));
            entity
                .fields
                .insert("can be run".to_owned(), leaf(json!(is_executable)));
        }
        let mut all = lock.clone();
        all.from = None;
        let digest = lock::digest(all.to_json().as_bytes());
        let pinned = serde_json::to_value(&lock.pins).unwrap_or_default();
        let entity = self
            .by_key
            .entry(EntityKey::File(LOCK_FILE.to_owned()))
            .or_default();
        entity.files.insert(LOCK_FILE.to_owned());
        entity.fields = leaf_fields(&Node::from_json(pinned));
        // An empty set of pins is one empty leaf.
        entity.fields.remove("");
        let (value, inputs) = (json!(digest), Vec::new());
        entity
            .fields
            .insert(FILE_TEXT.to_owned(), FieldValue { value, inputs });
    }

    fn add_pools(&mut self, cluster: &Cluster, plan: &Plan) {
        for (pool, summary) in cluster.pools.iter().zip(&plan.summary.pools) {
            let entity = self
                .by_key
                .entry(EntityKey::Pool(pool.name.value.clone()))
                .or_default();
            entity.pools.insert(pool.name.value.clone());
            entity.node_provisioner = cluster.cloud.node_provisioner(cluster, pool);
            for (fact, value) in pool_facts(cluster, pool, summary) {
                let inputs: Vec<Span> = [pool.name.span].to_vec();
                entity
                    .fields
                    .insert(fact.to_owned(), FieldValue { value, inputs });
            }
            for followed in cluster.cloud.auto_upgrades(cluster, pool) {
                let (value, inputs) = (json!(followed.value), followed.inputs.clone());
                let name = followed.name.to_owned();
                entity
                    .fields
                    .insert(name.clone(), FieldValue { value, inputs });
                entity.auto_upgrades.insert(name, followed);
            }
            for resource in &summary.resources {
                let path = format!("{ADVERTISED}{}", resource.name);
                let (value, inputs) = (json!(resource.per_node), vec![pool.name.span]);
                entity.fields.insert(path, FieldValue { value, inputs });
            }
        }
    }

    fn add_resources(&mut self, cluster: &Cluster, plan: &Plan) {
        for resource in &plan.provisioning.resources {
            let (key, prefix) = owner_of(cluster, resource);
            let entity = self.by_key.entry(key.clone()).or_default();
            let script = format!("cloud/{}.sh", resource.script);
            entity.files.insert(script);
            entity.component.clone_from(&resource.script);
            entity.members.insert(resource.name.clone());
            let is_deletable = !resource.delete.is_empty() || !resource.manual_delete.is_empty();
            entity.is_deleted_by_script = is_deletable && !resource.is_only_deleted();
            for field in &resource.fields {
                let name = format!("{prefix}{}", field.kind.name);
                // Cloud-independent facts take precedence over fields of the cloud's table with the same name.
                if matches!(key, EntityKey::Pool(_)) && FACTS.contains(&name.as_str()) {
                    continue;
                }
                let mut node = Node::from_json(field.desired.clone());
                node.origin = field.origin.clone();
                for (path, leaf) in leaf_fields(&node) {
                    let path = match path.as_str() {
                        "" => name.clone(),
                        path if path.starts_with('[') => format!("{name}{path}"),
                        path => format!("{name}.{path}"),
                    };
                    entity.fields.insert(path.clone(), leaf);
                    entity.field_kinds.insert(path, field.kind);
                }
            }
        }
    }

    fn add_releases(&mut self, plan: &Plan) {
        for release in &plan.releases {
            let entity = self
                .by_key
                .entry(EntityKey::Release(release.name.clone()))
                .or_default();
            entity.chart = Some(release.chart);
            entity.pools = release.pools.iter().cloned().collect();
            entity.files.insert(emit::values_path(release));
            entity.fields = leaf_fields(&release.values)
                .into_iter()
                .map(|(path, leaf)| (format!("values.{path}"), leaf))
                .collect();
            for (path, value) in [
                ("chart version", json!(release.chart.version)),
                ("repository", json!(release.repository)),
                ("namespace", json!(release.namespace)),
            ] {
                let inputs = Vec::new();
                entity
                    .fields
                    .insert(path.to_owned(), FieldValue { value, inputs });
            }
        }
    }

    fn add_objects(&mut self, cluster: &Cluster, plan: &Plan, wanted: &dyn Fn(&EntityKey) -> bool) {
        for (path, object) in emit::objects_with_paths(plan) {
            let key = EntityKey::for_object(&object.identity);
            if !wanted(&key) {
                continue;
            }
            let entity = self.by_key.entry(key).or_default();
            entity.fields = leaf_fields(&object.node);
            entity.component.clone_from(&object.component);
            entity.files.insert(path);
            entity.pools = selected_pools(&entity.fields, cluster);
            // An object of the node provisioner affects only its own pool.
            let of_pool = EntityKey::Pool(object.identity.name.clone());
            let provisioner = self
                .by_key
                .get(&of_pool)
                .and_then(|pool| pool.node_provisioner);
            let creates_kind = |provisioner: &NodeProvisioner| {
                let mut kinds = provisioner.kinds.iter();
                kinds.any(|(kind, _)| *kind == object.identity.kind)
            };
            if provisioner.is_some_and(creates_kind)
                && let Some(entity) = self
                    .by_key
                    .get_mut(&EntityKey::for_object(&object.identity))
            {
                entity.pools = [object.identity.name.clone()].into();
            }
        }
        self.add_pools_of_config_maps();
    }

    /// Sets the pools that read a ConfigMap: those whose DaemonSet has its name.
    fn add_pools_of_config_maps(&mut self) {
        let of = |key: &EntityKey, wanted: &str| match key {
            EntityKey::Object {
                kind,
                namespace,
                name,
                ..
            } if kind == wanted => Some((namespace.clone(), name.clone())),
            _ => None,
        };
        let sets = self.by_key.iter();
        let sets =
            sets.filter_map(|(key, entity)| Some((of(key, "DaemonSet")?, entity.pools.clone())));
        let sets: BTreeMap<_, _> = sets.collect();
        for (key, entity) in &mut self.by_key {
            if let Some(pools) = of(key, "ConfigMap").and_then(|name| sets.get(&name)) {
                entity.pools.clone_from(pools);
            }
        }
    }

    fn add_controller_objects(&mut self, plan: &Plan) {
        for (path, object) in emit::controller_objects(plan) {
            let identity = &object.identity;
            let mut fields = leaf_fields(&object.node);
            let release = deployed_release(&fields).filter(|it| self.by_key.contains_key(it));
            let is_release = release.is_some();
            let key = EntityKey::ControllerObject(identity.kind.clone(), identity.name.clone());
            let entity = self.by_key.entry(release.unwrap_or(key)).or_default();
            entity.files.insert(path);
            if is_release {
                // The values are already part of the release.
                fields.retain(|path, _| !VALUES.iter().any(|values| path.starts_with(values)));
                let delivered = fields.into_iter();
                let delivered = delivered.map(|(path, leaf)| (format!("{DELIVERY}{path}"), leaf));
                entity.fields.extend(delivered);
            } else {
                entity.fields = fields;
            }
        }
    }
}

/// Fields of Flux and Argo CD objects with the values of a release.
pub(super) const VALUES: &[&str] = &["spec.values.", "spec.source.helm.valuesObject."];

/// Prefix of the fields of the Flux or Argo CD object that deploys a release.
pub(super) const DELIVERY: &str = "delivery.";

/// The release that an object of Flux or Argo CD deploys.
pub(super) fn deployed_release(fields: &BTreeMap<String, FieldValue>) -> Option<EntityKey> {
    let named = fields
        .iter()
        .find(|(path, _)| path.ends_with(".releaseName"));
    let (_, leaf) = named?;
    Some(EntityKey::Release(leaf.value.as_str()?.to_owned()))
}

/// The GPUs of all pools, by model.
fn gpus_by_model(cluster: &Cluster) -> BTreeMap<String, (u64, u64)> {
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
fn owner_of(cluster: &Cluster, resource: &Resource) -> (EntityKey, String) {
    let pool = resource.script.strip_prefix("pool-");
    match pool.and_then(|name| cluster.pool(name)) {
        Some(pool) if pool.name.value == resource.name => {
            (EntityKey::Pool(pool.name.value.clone()), String::new())
        }
        // Hosts of a pool have their own names.
        Some(pool) => (
            EntityKey::Pool(pool.name.value.clone()),
            format!("{} ", resource.name),
        ),
        None => (
            EntityKey::Resource(resource.kind.name, resource.name.clone()),
            String::new(),
        ),
    }
}

/// The pools that an object's pods are restricted to by their node selector or affinity.
fn selected_pools(leaves: &BTreeMap<String, FieldValue>, cluster: &Cluster) -> BTreeSet<String> {
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
        !pool.selector.is_empty()
            && labels.all(|label| selects_label(leaves, &label.key, &label.value))
    });
    let existing = existing.map(|pool| pool.name.value.clone());
    selected.chain(matched).chain(existing).collect()
}

/// Whether pods select nodes by exactly this label.
fn selects_label(leaves: &BTreeMap<String, FieldValue>, key: &str, value: &str) -> bool {
    let selects = child_path("nodeSelector", key);
    let matches = format!("[{key}].values");
    leaves.iter().any(|(path, leaf)| {
        (path.ends_with(&selects) && leaf.value == json!(value))
            || (path.contains("odeSelector")
                && path.ends_with(&matches)
                && leaf.value == json!([value]))
    })
}
