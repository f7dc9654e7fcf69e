//! Kinds of findings, each with its page.

/// A kind of finding: a number to search for, a name to say aloud, and a page that explains it.
///
/// The examples on the page are the test: `bad` raises exactly this code, and `good`, which is `bad` with the help
/// followed, raises nothing.
#[derive(Debug)]
pub struct Code {
    /// `GPUC` and four digits: 0 reading, 1 names, 2 rules, 3 audit, 4 manifests. Never reused, never renumbered.
    pub id: &'static str,
    /// What is wrong, as words with hyphens; what `allow:` and `--deny` take.
    pub name: &'static str,
    /// How bad it is unless the user says otherwise.
    pub severity: Severity,
    /// One line for a table.
    pub summary: &'static str,
    /// The page: what it checks, why it matters, what to do.
    pub explain: &'static str,
    /// A whole configuration that raises this code and no other; for a rule about manifests, with the manifest after a
    /// line of [`MANIFEST`].
    pub bad: &'static str,
    /// The same one, repaired.
    pub good: &'static str,
}

/// The line of an example after which a manifest stands.
pub const MANIFEST: &str = "--- # manifest.yaml\n";

/// The parts of an example: the configuration, and the manifest if it has one.
pub fn example(text: &str) -> (&str, Option<&str>) {
    match text.split_once(MANIFEST) {
        Some((cluster, manifest)) => (cluster, Some(manifest)),
        None => (text, None),
    }
}

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Worth knowing.
    Warning,
    /// Nothing is built.
    Error,
}

impl Severity {
    /// The word in messages.
    pub fn word(self) -> &'static str {
        match self {
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}
