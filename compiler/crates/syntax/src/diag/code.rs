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
    /// What the check tests, in Markdown.
    pub checks: &'static str,
    /// What happens without the check, in Markdown.
    pub reason: &'static str,
    /// How to correct the configuration, in Markdown.
    pub remedy: &'static str,
    /// A complete configuration that causes only this code; for a rule about manifests, followed by [`MANIFEST`] and
    /// the manifest.
    pub bad: &'static str,
    /// The change that corrects the example.
    pub correction: Correction,
}

/// The change that corrects the example of a code.
#[derive(Clone, Copy, Debug)]
pub enum Correction {
    /// Replaces a text, which occurs once in the example, by another.
    Replace(&'static str, &'static str),
    /// The whole corrected example.
    Whole(&'static str),
}

impl Code {
    /// The explanation in Markdown: three sections with headings of level 3.
    pub fn explanation(&self) -> String {
        format!(
            "### What it checks\n\n{}\n\n### Why it matters\n\n{}\n\n### How to fix it\n\n{}\n",
            self.checks, self.reason, self.remedy
        )
    }

    /// The corrected example, which causes no diagnostic.
    pub fn good(&self) -> String {
        match self.correction {
            Correction::Replace(from, to) => self.bad.replacen(from, to, 1),
            Correction::Whole(text) => text.to_owned(),
        }
    }
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
