//! Diagnostic codes and their explanations.

/// A diagnostic code: an ID, a name, and an explanation. The examples are tests: `bad` causes exactly this code, and
/// `good`, which is `bad` with the help applied, causes none.
#[derive(Debug)]
pub struct Code {
    /// `GPUC` and four digits: 0 reading, 1 names, 2 rules, 3 audit, 4 manifests. Never reused, never renumbered.
    pub id: &'static str,
    /// The name, as words with hyphens, for `allow:` and `--deny`.
    pub name: &'static str,
    /// The default severity.
    pub severity: Severity,
    /// A one-line summary.
    pub summary: &'static str,
    /// The explanation: the check, its reason, and the fix.
    pub explain: &'static str,
    /// A complete configuration that causes only this code; for a rule about manifests, followed by [`MANIFEST`] and
    /// the manifest.
    pub bad: &'static str,
    /// The same configuration, fixed.
    pub good: &'static str,
}

/// The separator before the manifest of an example.
pub const MANIFEST: &str = "--- # manifest.yaml\n";

/// The parts of an example: the configuration, and the manifest if any.
pub fn example(text: &str) -> (&str, Option<&str>) {
    match text.split_once(MANIFEST) {
        Some((cluster, manifest)) => (cluster, Some(manifest)),
        None => (text, None),
    }
}

/// The severity of a diagnostic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// A warning: files are generated.
    Warning,
    /// An error: no files are generated.
    Error,
}

impl Severity {
    /// The name in messages.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}
