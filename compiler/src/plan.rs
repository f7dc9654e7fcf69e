//! What to do, as data: the only thing that the audit and the emitters know.

use std::collections::BTreeMap;

use crate::node::{Node, Origin};

/// Everything that becomes of a cluster.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The cluster's name: the folder of the tree.
    pub cluster: String,
    /// What scripts do in the cloud or on hosts.
    pub provisioning: Provisioning,
    /// Kubernetes objects, one a file.
    pub objects: Vec<Object>,
    /// Helm releases.
    pub releases: Vec<Release>,
    /// What is put into the cluster after what: every release and every component of objects, once.
    pub steps: Vec<Step>,
    /// What brings all of it to the cluster.
    pub delivery: Delivery,
    /// What `verify.sh` looks for.
    pub expectations: Vec<Expectation>,
    /// What the tree's README says.
    pub summary: Summary,
}

/// What scripts do in the cloud or on hosts.
#[derive(Clone, Debug)]
pub struct Provisioning {
    /// Programs that the scripts need.
    pub tools: Vec<&'static str>,
    /// What must hold before a script does anything.
    pub identity: Vec<IdentityCheck>,
    /// What there shall be, in the order of creation.
    pub resources: Vec<Resource>,
    /// How `verify.sh` gets a kubeconfig of its own.
    pub credentials: Credentials,
    /// Other files for `cloud/`, such as eksctl's ClusterConfig.
    pub files: Vec<File>,
}

/// A file that is not a script of resources.
#[derive(Clone, Debug)]
pub struct File {
    /// Its path below `cloud/`.
    pub path: String,
    /// What it holds.
    pub contents: Contents,
    /// Why it is there.
    pub origin: Origin,
}

/// What a file holds.
#[derive(Clone, Debug)]
pub enum Contents {
    /// A YAML document.
    Yaml(Node),
    /// A shell script: everything after the header, with every value of the user's already one quoted word.
    Script(String),
    /// Text as it is.
    Text(String),
}

/// A question whose answer must be this before a script does anything.
#[derive(Clone, Debug)]
pub struct IdentityCheck {
    /// What is asked for: `AWS account`.
    pub what: &'static str,
    /// The command that answers on standard output.
    pub ask: Command,
    /// The answer wanted.
    pub want: String,
    /// What to do when it is another.
    pub otherwise: String,
}

/// How to get a kubeconfig for the cluster.
#[derive(Clone, Debug)]
pub enum Credentials {
    /// A command that writes to `$KUBECONFIG`.
    Fetch(Command),
    /// A context that the user's kubeconfig has.
    Context(String),
}

/// A command: the program and its arguments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Command(pub Vec<Word>);

/// One argument of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Word {
    /// This text, whatever is in it.
    Text(String),
    /// What a jq program makes of the resource as it was observed; `$want` is the wanted value of the field, as JSON.
    Observed(String),
    /// The same, for a command that is run only where there is something to do: not where the program answers `null`.
    ObservedIfAny(String),
    /// The same, for a program that answers a list of texts, of which there is always one: each is a word.
    ObservedWords(String),
    /// The path of a file in `cloud/`, wherever the script is called from.
    Beside(String),
}

impl Command {
    /// A command of words.
    pub fn new<W: Into<String>>(words: impl IntoIterator<Item = W>) -> Self {
        Self(
            words
                .into_iter()
                .map(|word| Word::Text(word.into()))
                .collect(),
        )
    }

    /// Adds words.
    #[must_use]
    pub fn with<W: Into<String>>(mut self, words: impl IntoIterator<Item = W>) -> Self {
        self.0.extend(Self::new(words).0);
        self
    }

    /// Adds a word that is known only when the script runs.
    #[must_use]
    pub fn with_word(mut self, word: Word) -> Self {
        self.0.push(word);
        self
    }
}

/// A kind of resource in a cloud, with the one table that says what becomes of a change.
///
/// The script writer, the stop before a replacement and the impact of a diff all read it.
#[derive(Debug)]
pub struct ResourceKind {
    /// What people call it: `EKS node group`.
    pub name: &'static str,
    /// Its fields.
    pub fields: &'static [FieldKind],
    /// Definitions in jq that every program on such a resource may use, in which `$want` is as it is there; empty
    /// without any.
    pub definitions: &'static str,
}

/// A field of a resource.
#[derive(Debug, PartialEq, Eq)]
pub struct FieldKind {
    /// Its name in messages: `machine type`.
    pub name: &'static str,
    /// The jq program that reads it from the observed resource, so that it equals the wanted value when nothing
    /// differs. `$want` is the wanted value, as JSON: where more than one observed value will do, it answers that.
    pub read: &'static str,
    /// The flag that sets it at creation, where there is one.
    pub create: Option<&'static str>,
    /// What becomes of a change.
    pub change: Change,
    /// Where that stands: repository, path and revision, or URL and date.
    pub source: &'static str,
}

/// What becomes of a change of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// No node is touched.
    InPlace,
    /// Nodes are added or removed.
    Resizes,
    /// Nodes are drained and made again; the script does it only with `--allow-disruption`.
    Rolls {
        /// What happens, in words.
        reason: &'static str,
    },
    /// It cannot be changed: the script stops.
    Replaces {
        /// Why, in words.
        reason: &'static str,
    },
}

/// Something that shall be in the cloud.
#[derive(Clone, Debug)]
pub struct Resource {
    /// What it is.
    pub kind: &'static ResourceKind,
    /// Its name in the cloud.
    pub name: String,
    /// The script that makes it, without `.sh`: `cluster`, `pool-train`. Resources of one script, such as the hosts of
    /// a pool, are handled there one after another.
    pub script: String,
    /// One line on what it is, for the head of its script.
    pub about: String,
    /// How to see it, as JSON on standard output.
    pub observe: Observe,
    /// How to make it.
    pub create: Vec<Command>,
    /// What makes it together with itself, where something does.
    pub comes_with: Option<ComesWith>,
    /// Its fields, in the order they are compared and changed.
    pub fields: Vec<Field>,
    /// How to remove it.
    pub delete: Vec<Command>,
    /// Why it is there.
    pub origin: Origin,
}

/// What makes another resource together with itself, such as a cluster that is born with its first pool.
///
/// A dry run makes nothing, so it cannot find there what a real run finds; it looks whether this is missing too.
#[derive(Clone, Debug)]
pub struct ComesWith {
    /// What it is, in words: its kind and name.
    pub what: String,
    /// How to see it.
    pub observe: Observe,
    /// What a real run changes on the resource right after it came.
    pub afterwards: Vec<Command>,
}

/// How to see a resource.
#[derive(Clone, Debug)]
pub struct Observe {
    /// The command that prints it as JSON.
    pub command: Command,
    /// What standard error says when it is not there, as an extended regular expression. Any other failure stops the
    /// script.
    pub absent: &'static str,
}

/// A wanted value.
#[derive(Clone, Debug)]
pub struct Field {
    /// Which field.
    pub kind: &'static FieldKind,
    /// The value, as its `read` program would print it.
    pub want: serde_json::Value,
    /// The commands that change it; empty where it cannot be changed.
    pub update: Vec<Command>,
    /// For a set that others may add to: the jq program that lists what is theirs by name. It stays, and the script
    /// says so.
    pub others: Option<&'static str>,
    /// Why it is this value.
    pub origin: Origin,
}

/// A Kubernetes object.
#[derive(Clone, Debug)]
pub struct Object {
    /// The part of the cluster it belongs to: the folder below `manifests/`.
    pub component: String,
    /// What it is called.
    pub identity: Identity,
    /// The object.
    pub node: Node,
}

/// What a Kubernetes object is called.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Identity {
    /// The API group and version.
    pub api_version: String,
    /// The kind.
    pub kind: String,
    /// The namespace, for what has one.
    pub namespace: Option<String>,
    /// The name.
    pub name: String,
}

impl Object {
    /// An object. Its identity is read from the object itself, so that they cannot differ.
    pub fn new(component: &str, object: &impl serde::Serialize, origin: Origin) -> Self {
        let node = Node::typed(object, origin);
        let text = |node: &Node, key: &str| {
            let text = node.get(key).and_then(Node::text);
            text.map(str::to_owned)
        };
        let metadata = node.get("metadata").cloned();
        let metadata = metadata.expect("every object of ours has metadata");
        let identity = Identity {
            api_version: text(&node, "apiVersion").expect("every object of ours has a version"),
            kind: text(&node, "kind").expect("every object of ours has a kind"),
            namespace: text(&metadata, "namespace"),
            name: text(&metadata, "name").expect("every object of ours has a name"),
        };
        Self {
            component: component.to_owned(),
            identity,
            node,
        }
    }
}

/// A Helm release.
#[derive(Clone, Debug)]
pub struct Release {
    /// The release's name.
    pub name: String,
    /// The chart.
    pub chart: &'static crate::chart::Chart,
    /// Where the chart is pulled from: its own repository, or the user's in front of it.
    pub repository: String,
    /// The namespace.
    pub namespace: String,
    /// The values: gpuc's own, and the user's over them.
    pub values: Node,
    /// The pools that it serves.
    pub pools: Vec<String>,
    /// The DaemonSets that it makes on the nodes of each of these pools, in its namespace.
    pub daemon_sets: Vec<String>,
}

impl Release {
    /// Whether the chart is pulled from a registry of images.
    pub fn is_oci(&self) -> bool {
        self.repository.starts_with("oci://")
    }

    /// The URL of the chart itself in a registry.
    pub fn oci_url(&self) -> String {
        format!("{}/{}", self.repository, self.chart.name)
    }

    /// The images that it runs.
    pub fn images(&self) -> Vec<String> {
        let images = crate::chart::images::running(self.chart.name, &self.values);
        images.into_iter().map(|image| image.reference).collect()
    }
}

/// Something that is put into the cluster as one: what it needs is there before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Its name: that of the release or the component.
    pub name: String,
    /// What it is.
    pub what: What,
    /// What must be there before, by name.
    pub needs: Vec<Need>,
}

/// What a step puts into the cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum What {
    /// The objects of a component.
    Component,
    /// A Helm release.
    Release,
}

/// That a step comes after another.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Need {
    /// The other step's name.
    pub step: String,
    /// Why, in words: `it brings the kind ServiceMonitor`.
    pub because: String,
}

/// What brings the tree to the cluster.
#[derive(Clone, Debug)]
pub enum Delivery {
    /// `install.sh`, with helm and kubectl.
    Script,
    /// Flux or Argo CD, by these objects: the folder each set stands in, below the cluster's, and the set.
    Gitops {
        /// The tool, in words: `Flux`.
        tool: &'static str,
        /// The folder of the objects, below the cluster's: what the tool's own configuration points at.
        folder: &'static str,
        /// The objects, each in the folder that its component names, below that one. Those of no component stand in it
        /// and are what the tool is told of first.
        objects: Vec<Object>,
        /// What the tree's README says of it.
        guide: Guide,
    },
}

/// How a tool is told of the tree.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Guide {
    /// The repository's URL.
    pub repository: String,
    /// The branch.
    pub branch: String,
    /// The cluster's folder in the repository; empty for the repository itself.
    pub path: String,
    /// The namespace that the tool runs in.
    pub namespace: String,
    /// The Secret that it reads the repository with.
    pub secret: Option<String>,
    /// Whether it runs in another cluster.
    pub elsewhere: bool,
}

/// Something that `verify.sh` looks for in the cluster.
#[derive(Clone, Debug)]
pub struct Expectation {
    /// The pool.
    pub pool: String,
    /// The label selector of its nodes.
    pub selector: BTreeMap<String, String>,
    /// The fewest nodes.
    pub min_nodes: u32,
    /// How many of each GPU resource a node has.
    pub allocatable: BTreeMap<String, u32>,
    /// What pods claim of a node.
    pub devices: Vec<ExpectedDevices>,
    /// How many of each other resource a node has, such as network interfaces.
    pub fabric: BTreeMap<String, u32>,
    /// The DaemonSets of this tree that serve it, as namespace and name.
    pub daemon_sets: Vec<(String, String)>,
    /// What a test pod tolerates, as Kubernetes writes it.
    pub tolerations: Vec<serde_json::Value>,
    /// The runtime class of a test pod, where it needs one.
    pub runtime_class: Option<String>,
}

/// Devices that the ResourceSlices of a node describe.
#[derive(Clone, Debug)]
pub struct ExpectedDevices {
    /// The class that takes them.
    pub class: String,
    /// The driver that describes them.
    pub driver: String,
    /// Their attribute `type`.
    pub kind: &'static str,
    /// Their attribute `profile`, for slices of a GPU.
    pub profile: Option<&'static str>,
    /// How many a node has.
    pub per_node: u32,
}

/// What the tree's README says.
#[derive(Clone, Debug, Default, serde::Serialize)]
pub struct Summary {
    /// The cloud and place, in words.
    pub place: String,
    /// The Kubernetes version.
    pub kubernetes: String,
    /// The pools.
    pub pools: Vec<PoolSummary>,
    /// How GPUs are watched, a sentence each; empty where they are not.
    pub monitoring: Vec<String>,
    /// What is to be known before it is applied, a sentence each.
    pub notes: Vec<String>,
}

/// A pool in words and numbers.
#[derive(Clone, Debug, Default, serde::Serialize)]
pub struct PoolSummary {
    /// Its name.
    pub name: String,
    /// Its machine, in words.
    pub machine: String,
    /// The family of its node image.
    pub image: String,
    /// Its GPUs, in words; empty without.
    pub gpus: String,
    /// How GPUs are shared, in words.
    pub sharing: String,
    /// Where the slices of a GPU lie, drawn.
    pub layout: Vec<String>,
    /// The fewest nodes.
    pub min_nodes: u32,
    /// The most nodes.
    pub max_nodes: u32,
    /// GPUs at the fewest nodes.
    pub min_gpus: u64,
    /// GPUs at the most nodes.
    pub max_gpus: u64,
    /// What it offers.
    pub resources: Vec<ResourceSummary>,
    /// What pods claim of it.
    pub classes: Vec<ClassSummary>,
    /// An example of a claim and of a pod that has it, each an object; nothing where pods claim nothing.
    #[serde(skip)]
    pub claim: Vec<Node>,
    /// Its taints, as `key=value:Effect`.
    pub taints: Vec<String>,
    /// Who installs the driver, in words.
    pub driver: String,
    /// Who advertises the GPUs, in words.
    pub plugin: String,
}

/// A DeviceClass in words and numbers.
#[derive(Clone, Debug, Default, serde::Serialize)]
pub struct ClassSummary {
    /// Its name.
    pub name: String,
    /// What a device of it is, in words.
    pub device: String,
    /// How many on a node.
    pub per_node: u32,
    /// How many at the fewest nodes.
    pub min: u64,
    /// How many at the most nodes.
    pub max: u64,
    /// What a quota calls them.
    pub quota: String,
    /// What a container may ask for instead of a claim; empty where Kubernetes makes none for it.
    pub extended: String,
}

/// A resource in words and numbers.
#[derive(Clone, Debug, Default, serde::Serialize)]
pub struct ResourceSummary {
    /// Its name.
    pub name: String,
    /// How many on a node.
    pub per_node: u32,
    /// How many at the fewest nodes.
    pub min: u64,
    /// How many at the most nodes.
    pub max: u64,
}
