//! Values that may be unresolved.

use gpuc_syntax::diag::Reported;

/// A resolved value, or the proof that an error was reported instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resolved<T> {
    /// Resolved.
    Value(T),
    /// Unresolved; the error was reported.
    Unresolved(Reported),
}

impl<T> Resolved<T> {
    /// The value, if it is resolved. A rule that gets `None` reports nothing, because the error was reported.
    pub fn get(&self) -> Option<&T> {
        match self {
            Self::Value(value) => Some(value),
            Self::Unresolved(_) => None,
        }
    }

    /// The value, if [`Checked`](crate::check::Checked) proves that all values are resolved.
    pub fn expect_resolved(&self) -> &T {
        self.get()
            .unwrap_or_else(|| unreachable!("a checked cluster has no unresolved values"))
    }

    /// Whether the value is unresolved.
    pub fn is_unresolved(&self) -> bool {
        matches!(self, Self::Unresolved(_))
    }

    /// Converts the value, if it is resolved.
    pub fn map<U>(self, f: impl FnOnce(T) -> U) -> Resolved<U> {
        match self {
            Self::Value(value) => Resolved::Value(f(value)),
            Self::Unresolved(reported) => Resolved::Unresolved(reported),
        }
    }
}
