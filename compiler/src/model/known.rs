//! Values that may be holes.

use crate::diag::Reported;

/// A value that was understood, or a hole where an error was reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known<T> {
    /// Understood.
    Yes(T),
    /// Not understood, and said so.
    No(Reported),
}

impl<T> Known<T> {
    /// The value, unless it is a hole. A rule that gets `None` stays quiet: the mistake is reported already.
    pub fn get(&self) -> Option<&T> {
        match self {
            Self::Yes(value) => Some(value),
            Self::No(_) => None,
        }
    }

    /// The value, where [`Checked`](crate::check::Checked) proves that there are no holes.
    pub fn sure(&self) -> &T {
        self.get()
            .unwrap_or_else(|| unreachable!("Checked is made only of clusters without holes"))
    }

    /// Whether it is a hole.
    pub fn is_hole(&self) -> bool {
        matches!(self, Self::No(_))
    }

    /// What follows from it.
    pub fn map<U>(self, f: impl FnOnce(T) -> U) -> Known<U> {
        match self {
            Self::Yes(value) => Known::Yes(f(value)),
            Self::No(reported) => Known::No(reported),
        }
    }
}
