//! What scripts do in a cloud or on hosts.

use crate::node::{Node, Origin};

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
    /// Whether another answer means another cluster, and not only one that is not ready for this.
    pub is_place: bool,
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
    /// A version of Kubernetes that goes up by one minor version at a time: the script stops where one would be
    /// skipped. What is newer already stays.
    Climbs {
        /// Who skips none, in words.
        reason: &'static str,
        /// What becomes of a version that is older than what is there, in words.
        back: &'static str,
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
    /// How people remove it, where that is not what `delete` says or only a script knows a part of that.
    pub by_hand: Vec<Command>,
    /// Why it is there.
    pub origin: Origin,
}

impl Resource {
    /// Whether others make and change it, and gpuc's scripts only remove it.
    pub fn is_only_removed(&self) -> bool {
        self.create.is_empty() && self.fields.is_empty()
    }
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
