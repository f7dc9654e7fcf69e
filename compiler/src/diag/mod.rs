//! What gpuc has to say about its input.

mod code;
mod levels;
pub mod render;
mod report;
pub mod words;

pub use code::{Code, MANIFEST, Severity, example};
pub use levels::{Levels, apply};
pub use report::{Draft, Report, Reported};

use crate::source::Span;

/// One finding.
#[derive(Clone, Debug)]
pub struct Diagnostic {
    /// What kind of finding it is.
    pub code: &'static Code,
    /// How bad it is, after `allow:` and `--deny`.
    pub severity: Severity,
    /// What is wrong, in the user's words: lower case, no full stop, values in backticks.
    pub message: String,
    /// Where it is wrong.
    pub primary: Label,
    /// Other places that matter: the other half of a contradiction.
    pub labels: Vec<Label>,
    /// What to type.
    pub help: Option<String>,
    /// The help as an edit, when there is exactly one right one.
    pub fix: Option<Fix>,
    /// Whether the object that it is about allows it: an annotation of a manifest.
    pub allowed: bool,
}

impl Diagnostic {
    /// Whether another finding says the same of the same places.
    pub fn says_the_same(&self, other: &Self) -> bool {
        self.code.id == other.code.id
            && (&self.message, &self.primary, &self.labels)
                == (&other.message, &other.primary, &other.labels)
    }
}

/// A place and what matters there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// The place.
    pub span: Span,
    /// What matters there; may be empty for the primary place.
    pub text: String,
}

/// Edits that mend a finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fix {
    /// What is replaced, by what. The places do not overlap.
    pub edits: Vec<Edit>,
}

/// One replacement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// What is replaced; an empty span inserts.
    pub span: Span,
    /// By what.
    pub text: String,
}
