//! Diagnostics (findings) about the input.

mod code;
mod former_names;
mod levels;
pub mod phrases;
pub mod render;
mod report;
mod table_gaps;

pub use code::{
    Code, Correction, MANIFEST_SEPARATOR, OBJECTS_SEPARATOR, Severity, TERRAFORM_SEPARATOR,
    closest_name, split_example, split_files, split_objects,
};
pub use former_names::FORMER_NAMES;
pub use levels::{Levels, accept_allowed, apply_levels};
pub use report::{DiagnosticBuilder, Report, Reported};
pub use table_gaps::TABLE_GAPS;

use crate::source::Span;

/// One diagnostic.
#[derive(Clone, Debug)]
pub struct Diagnostic {
    /// The code.
    pub code: &'static Code,
    /// The severity, after `allow:` and `--deny`.
    pub severity: Severity,
    /// The problem: lower case, no full stop, values in backticks.
    pub message: String,
    /// The primary label.
    pub primary: Label,
    /// Secondary labels, such as the other part of a contradiction.
    pub labels: Vec<Label>,
    /// The fix, as an instruction.
    pub help: Option<String>,
    /// The help as an edit, if there is exactly one fix.
    pub fix: Option<Fix>,
    /// Whether an annotation of the object allows it.
    pub is_allowed: bool,
}

impl Diagnostic {
    /// Whether another diagnostic has the same message and labels.
    pub fn has_same_content(&self, other: &Self) -> bool {
        self.code.id == other.code.id
            && (&self.message, &self.primary, &self.labels)
                == (&other.message, &other.primary, &other.labels)
    }
}

/// A location with a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// The location.
    pub span: Span,
    /// The text; can be empty for the primary label.
    pub text: String,
}

/// Edits that fix a finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fix {
    /// The replacements. Their spans do not overlap.
    pub edits: Vec<Edit>,
    /// Whether it can be applied without a review.
    pub applicability: Applicability,
}

/// Whether a fix can be applied without a review.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Applicability {
    /// It only corrects the case or the plural of a name, or adds what the pool requires.
    Safe,
    /// It is probably what the author means, but can change what the object does.
    Unsafe,
}

impl Applicability {
    /// The name in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Safe => "safe",
            Self::Unsafe => "unsafe",
        }
    }
}

/// One replacement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// The replaced span; an empty span inserts.
    pub span: Span,
    /// The new text.
    pub text: String,
}
