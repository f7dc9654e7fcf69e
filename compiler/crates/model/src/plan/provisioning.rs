//! Provisioning by scripts in a cloud or on hosts.

use gpuc_syntax::node::{Node, Origin};

/// The provisioning of a cluster by scripts in the cloud or on hosts.
#[derive(Clone, Debug)]
pub struct Provisioning {
    /// Programs that the scripts require.
    pub tools: Vec<&'static str>,
    /// Checks that must pass before a script does anything else.
    pub identity: Vec<IdentityCheck>,
    /// The desired resources, in order of creation.
    pub resources: Vec<Resource>,
    /// How `verify.sh` and `install.sh` access the cluster.
    pub credentials: Credentials,
    /// Other files in `cloud/`, such as eksctl's ClusterConfig.
    pub files: Vec<File>,
}

impl Provisioning {
    /// Whether a script creates a resource. Otherwise, the scripts only label and taint the nodes of hosts that exist.
    pub fn creates_resources(&self) -> bool {
        (self.resources.iter()).any(|resource| !resource.create.is_empty())
    }
}

/// A file that is not a script for resources.
#[derive(Clone, Debug)]
pub struct File {
    /// Its path below `cloud/`.
    pub path: String,
    /// Its contents.
    pub contents: Contents,
    /// Its origin.
    pub origin: Origin,
}

/// The contents of a file.
#[derive(Clone, Debug)]
pub enum Contents {
    /// A YAML document.
    Yaml(Node),
    /// A shell script without its header, in which every value from the file is already quoted as one word.
    Script(String),
    /// Verbatim text.
    Text(String),
}

/// A check that a script targets the right environment.
#[derive(Clone, Debug)]
pub struct IdentityCheck {
    /// The name of the checked value: `AWS account`.
    pub subject: &'static str,
    /// Whether another value means another cluster, and not only one that does not meet a requirement.
    pub is_location: bool,
    /// The command that prints the value on standard output.
    pub query: Command,
    /// The expected value.
    pub expected: String,
    /// The help if the value differs.
    pub mismatch_message: String,
}

/// How scripts access the cluster.
#[derive(Clone, Debug)]
pub enum Credentials {
    /// A command that writes to `$KUBECONFIG`.
    Fetch(Command),
    /// A context of the user's kubeconfig.
    Context(String),
}

/// A command: the program and its arguments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Command(pub Vec<Argument>);

/// One argument of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Argument {
    /// Verbatim text.
    Text(String),
    /// The output of a jq program for the observed resource; `$want` is the desired value of the field, as JSON.
    Observed(String),
    /// Like `Observed`, but the command is skipped if the program outputs `null`.
    ObservedOptional(String),
    /// Like `Observed`, for a program that outputs a list of strings that is never empty: each string is a word.
    ObservedList(String),
    /// The path of a file in `cloud/`, independent of the working directory.
    CloudFile(String),
}

impl Command {
    /// Creates a command from words.
    pub fn new<W: Into<String>>(words: impl IntoIterator<Item = W>) -> Self {
        Self(
            words
                .into_iter()
                .map(|word| Argument::Text(word.into()))
                .collect(),
        )
    }

    /// Appends words.
    #[must_use]
    pub fn with_arguments<W: Into<String>>(mut self, words: impl IntoIterator<Item = W>) -> Self {
        self.0.extend(Self::new(words).0);
        self
    }

    /// Appends a word that is known only at run time.
    #[must_use]
    pub fn with_argument(mut self, word: Argument) -> Self {
        self.0.push(word);
        self
    }
}

/// A kind of resource in a cloud, with the table of how changes of its fields are applied.
///
/// The scripts, the stop before a replacement and the impact of a diff all use this table.
#[derive(Debug)]
pub struct ResourceKind {
    /// Its display name: `EKS node group`.
    pub name: &'static str,
    /// Its fields.
    pub fields: &'static [FieldKind],
    /// jq definitions for all programs on such a resource, with the same `$want`; empty if there are none.
    pub definitions: &'static str,
}

/// A field of a resource.
#[derive(Debug, PartialEq, Eq)]
pub struct FieldKind {
    /// Its name in messages: `machine type`.
    pub name: &'static str,
    /// The jq program that reads it from the observed resource in the format of the desired value. `$want` is the
    /// desired value, as JSON: if several observed values are acceptable, the program outputs `$want` for them.
    pub read: &'static str,
    /// The flag that sets it at creation, if there is one.
    pub create_flag: Option<&'static str>,
    /// How a change is applied.
    pub change: Change,
    /// The source of these facts: repository, path and revision, or URL and date.
    pub source: &'static str,
}

/// How a change of a field is applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Updated in place, without an effect on nodes.
    InPlace,
    /// Nodes are added or removed.
    Resize,
    /// Nodes are drained and recreated; the script requires `--allow-disruption`.
    NodeRollout {
        /// The effect, for messages.
        reason: &'static str,
    },
    /// Immutable: requires replacement, so the script stops.
    Replacement {
        /// The reason, for messages.
        reason: &'static str,
    },
    /// A Kubernetes version that is upgraded one minor version at a time: the script stops if one would be skipped. A
    /// newer version is kept.
    MinorVersionSteps {
        /// The reason, for messages.
        reason: &'static str,
        /// The effect of an older version than the current one, for messages.
        downgrade_effect: &'static str,
    },
}

/// A desired resource in the cloud.
#[derive(Clone, Debug)]
pub struct Resource {
    /// Its kind.
    pub kind: &'static ResourceKind,
    /// Its name in the cloud.
    pub name: String,
    /// The script that creates it, without `.sh`: `cluster`, `pool-train`. A script handles its resources one after
    /// another, such as the hosts of a pool.
    pub script: String,
    /// A one-line description for the head of its script.
    pub description: String,
    /// The command that reads it, as JSON on standard output.
    pub observation: Observation,
    /// The commands that create it.
    pub create: Vec<Command>,
    /// The resource whose creation also creates it, if there is one.
    pub created_with: Option<CreatedWith>,
    /// Its fields, in the order in which they are compared and updated.
    pub fields: Vec<Field>,
    /// The commands that delete it.
    pub delete: Vec<Command>,
    /// The commands with which users delete it, if they differ from `delete` or `delete` has words that only a script
    /// knows.
    pub manual_delete: Vec<Command>,
    /// Its origin.
    pub origin: Origin,
}

impl Resource {
    /// Whether gpuc's scripts only delete it, and never create or update it.
    pub fn is_only_deleted(&self) -> bool {
        self.create.is_empty() && self.fields.is_empty()
    }
}

/// A resource whose creation also creates another one, such as a cluster that is created with its first pool.
///
/// A dry run creates nothing, so it does not find the other resource that a real run finds. It checks whether this
/// resource is missing too.
#[derive(Clone, Debug)]
pub struct CreatedWith {
    /// Its kind and name, for messages.
    pub title: String,
    /// The command that reads it.
    pub observation: Observation,
    /// The updates that a real run applies to the other resource after its creation.
    pub follow_up: Vec<Command>,
}

/// How to read a resource.
#[derive(Clone, Debug)]
pub struct Observation {
    /// The command that prints it as JSON.
    pub command: Command,
    /// An extended regular expression that matches standard error if the resource does not exist. Any other failure
    /// stops the script.
    pub absent_pattern: &'static str,
}

/// The desired value of a field.
#[derive(Clone, Debug)]
pub struct Field {
    /// The field.
    pub kind: &'static FieldKind,
    /// The value, in the format of the output of its `read` program.
    pub desired: serde_json::Value,
    /// The commands that update it; empty if it is immutable.
    pub update: Vec<Command>,
    /// For a set with externally managed entries: the jq program that lists their names. The script keeps and reports
    /// them.
    pub external_entries: Option<&'static str>,
    /// The origin of the value.
    pub origin: Origin,
}
