//! Lists of objects, and whether they are complete.

use std::fmt;

/// The objects of one kind.
#[derive(Clone, Debug)]
pub struct Listing<T> {
    /// The objects that were read, sorted by namespace and name.
    pub items: Vec<T>,
    /// Whether these are all objects of the kind.
    pub completeness: Completeness,
}

impl<T> Default for Listing<T> {
    fn default() -> Self {
        Self {
            items: Vec::new(),
            completeness: Completeness::NotRead,
        }
    }
}

/// Whether a list contains all objects of its kind.
///
/// Missing objects are never evidence that something is healthy: a check that needs a list that is not
/// [`Complete`](Self::Complete) reports that it could not run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Completeness {
    /// The list is complete.
    Complete,
    /// The snapshot or folder does not contain the kind.
    NotRead,
    /// The API server does not serve the kind: its CustomResourceDefinition is not installed. There are no objects.
    NotServed,
    /// The user lacks the right to list the kind.
    Forbidden,
    /// The list ends early: a limit or a deadline was reached.
    Truncated {
        /// Why it ends.
        reason: String,
    },
    /// The list could not be read.
    Failed {
        /// The error.
        error: String,
    },
}

impl Completeness {
    /// Whether all objects of the kind are known.
    pub fn is_complete(&self) -> bool {
        matches!(self, Self::Complete | Self::NotServed)
    }
}

impl fmt::Display for Completeness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Complete => f.write_str("complete"),
            Self::NotRead => f.write_str("not read"),
            Self::NotServed => f.write_str("not served by the API server"),
            Self::Forbidden => f.write_str("forbidden; the user lacks the right to list them"),
            Self::Truncated { reason } => write!(f, "incomplete: {reason}"),
            Self::Failed { error } => write!(f, "not readable: {error}"),
        }
    }
}
