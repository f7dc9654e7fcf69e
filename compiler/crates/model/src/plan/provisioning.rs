//! Provisioning by scripts in a cloud or on hosts.

use gpuc_syntax::node::{Node, Origin};

/// The provisioning of a cluster by scripts in the cloud or on hosts.
#[derive(Clone, Debug)]
pub struct Provisioning {
    /// Programs that the scripts require.
    pub tools: Vec<Tool>,
    /// Checks that must pass before a script does anything else.
    pub identity: Vec<IdentityCheck>,
    /// Errors of the cloud's tools that the scripts recognize.
    pub known_errors: &'static [KnownError],
    /// The state of an update that a command started and [`Argument::UpdateId`] names, if the cloud has such updates.
    pub update_state: Option<&'static StateKind>,
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

/// A program that the scripts require.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tool {
    /// The name of the program.
    pub name: &'static str,
    /// The oldest release that has every flag of the scripts, for each major version, in ascending order. Empty if any
    /// release will do.
    pub minimum_versions: &'static [&'static str],
    /// The arguments with which the program prints its version on the first line.
    pub version_arguments: &'static [&'static str],
    /// The text before the version on that line.
    pub version_prefix: &'static str,
}

impl Tool {
    /// The program, in any version.
    pub const fn any_version(name: &'static str) -> Self {
        Self {
            name,
            minimum_versions: &[],
            version_arguments: &[],
            version_prefix: "",
        }
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
    /// A JSON document.
    Json(Node),
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

/// An error of a cloud's tool that the scripts recognize.
#[derive(Debug)]
pub struct KnownError {
    /// An extended regular expression, matched against each line of standard error without regard to case.
    pub pattern: &'static str,
    /// How the scripts respond.
    pub response: ErrorResponse,
    /// For `Retry` and `Await`, what happened; for `Explain`, what the user must do.
    pub message: &'static str,
    /// The source of the pattern: repository, path and revision, or URL and date.
    pub source: &'static str,
}

/// How scripts respond to a known error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorResponse {
    /// The command had no effect and succeeds later: the script repeats it with growing pauses.
    Retry,
    /// The cloud completes the operation although the tool does not wait for it: the script waits for the resource.
    Await,
    /// The script stops with the message.
    Explain,
}

/// How scripts access the cluster.
#[derive(Clone, Debug)]
pub enum Credentials {
    /// Commands that write to `$KUBECONFIG`: the first one adds the cluster, and others change how users log in, so
    /// that a script needs no browser.
    Fetch(Vec<Command>),
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
    /// The id of the update that the previous command started. The script repeats a command with this word until the
    /// update ends, and stops if it fails.
    UpdateId,
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
    /// How the scripts read its state; `None` if it is ready as soon as it exists.
    pub state: Option<&'static StateKind>,
    /// The jq program that outputs on the observed resource whether the cloud refuses to delete it; `None` if the cloud
    /// has no such protection. `teardown.sh` changes nothing if a resource is protected.
    pub protection: Option<&'static str>,
    /// What shows that gpuc's scripts manage it; `None` if only a part that gpuc set is deleted, or what others set is
    /// not selected. `teardown.sh` changes nothing if a resource does not have its mark.
    pub mark: Option<&'static Mark>,
}

/// What shows that gpuc's scripts manage a resource.
#[derive(Debug)]
pub struct Mark {
    /// What is missing without it, for messages: `label gpuc.dev/pool with this name`.
    pub name: &'static str,
    /// The jq program that outputs on the observed resource whether it has the mark; `$name` is the name of the
    /// resource.
    pub read: &'static str,
}

/// The state of a kind of resource or of an update.
#[derive(Debug)]
pub struct StateKind {
    /// The jq program that reads it from the observed resource, as `{state, status, messages}`. `status` is the
    /// cloud's word, such as `CREATE_FAILED`; `messages` are the cloud's explanations. `state` is one of:
    ///
    /// - `ready`: the messages are warnings.
    /// - `progressing`: the script waits.
    /// - `degraded`: the resource is usable, but the last change failed. The script applies changes, and fails if the
    ///   resource is degraded afterwards.
    /// - `failed`: the script stops before any change.
    /// - `deleting`: the script waits until the resource does not exist.
    pub read: &'static str,
    /// The minutes after which a script stops waiting. The operation continues in the cloud.
    pub timeout_minutes: u32,
    /// The source of these facts: repository, path and revision, or URL and date.
    pub source: &'static str,
}

/// How to recover from a failure of a resource.
#[derive(Clone, Debug)]
pub struct Recovery {
    /// The statuses, in the cloud's words, after which it helps.
    pub statuses: &'static [&'static str],
    /// Whether nothing can be lost. The scripts run the commands of such a recovery, and print those of any other.
    pub is_safe: bool,
    /// The commands.
    pub commands: Vec<Command>,
}

/// Something with which a tool creates a resource, and which may outlive it: the CloudFormation stack of a node group.
/// It is read only if the resource does not exist.
#[derive(Clone, Debug)]
pub struct Remnant {
    /// Its kind and name, for messages.
    pub title: String,
    /// The command that reads it, as JSON on standard output.
    pub observation: Observation,
    /// Its state.
    pub state: &'static StateKind,
    /// The jq program that outputs its tags, as an object.
    pub read_tags: &'static str,
    /// The tags that show that it is a remnant of gpuc's resource. Scripts delete nothing without them.
    pub tags: Vec<(String, String)>,
    /// The command that prints why it failed.
    pub explanation: Command,
    /// How to recover.
    pub recovery: Vec<Recovery>,
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
    /// Updated in place. It changes who can reach the API server or log in.
    Access,
    /// Applies only to a new resource. The scripts do not compare an existing one with it.
    AtCreation {
        /// The reason, for messages.
        reason: &'static str,
    },
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
    /// What may exist if the resource does not.
    pub remnant: Option<Remnant>,
    /// How to recover from its failed and degraded states.
    pub recovery: Vec<Recovery>,
    /// The commands that create it. Empty if it is created only together with [`Self::created_with`], or by no script.
    pub create: Vec<Command>,
    /// The resource whose creation also creates it, if there is one.
    pub created_with: Option<CreatedWith>,
    /// Its fields, in the order in which they are compared and updated.
    pub fields: Vec<Field>,
    /// The commands that delete it.
    pub delete: Vec<Command>,
    /// What its deletion deletes as well, and others may have created.
    pub contents: Option<Contained>,
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

/// The pools of a cluster, which its deletion deletes as well. `teardown.sh` stops before it changes anything if there
/// are others than the scripts create.
#[derive(Clone, Debug)]
pub struct Contained {
    /// Their kind, for messages: `node groups`.
    pub kind: &'static str,
    /// The command that lists them, as JSON on standard output.
    pub list: Command,
    /// The jq program that outputs their names.
    pub read: &'static str,
    /// The names of those that the scripts create.
    pub created: Vec<String>,
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

/// How the scripts read a desired value that the cloud chooses, such as the default version of an add-on. In the jq
/// programs of the field, `$want` is this value, and `null` if the cloud has none.
#[derive(Clone, Debug)]
pub struct Lookup {
    /// The command that prints the value, as part of JSON.
    pub command: Command,
    /// The jq program that reads the value from that JSON.
    pub read: String,
}

/// The desired value of a field. A resource has at most one field with a lookup.
#[derive(Clone, Debug)]
pub struct Field {
    /// The field.
    pub kind: &'static FieldKind,
    /// The value, in the format of the output of its `read` program. With a lookup, a description of the value, such as
    /// `default for Kubernetes 1.36`.
    pub desired: serde_json::Value,
    /// How the scripts read the value, if the cloud chooses it.
    pub lookup: Option<Lookup>,
    /// Whether the create commands cannot set it, so that the scripts update the field directly after the creation.
    pub is_set_after_creation: bool,
    /// The commands that update it; empty if it is immutable.
    pub update: Vec<Command>,
    /// For a set with externally managed entries: the jq program that lists their names. The script keeps and reports
    /// them.
    pub external_entries: Option<&'static str>,
    /// The origin of the value.
    pub origin: Origin,
}
