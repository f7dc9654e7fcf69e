//! The result of a check.

/// The result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Feasibility {
    /// The check fails.
    DoesNotFit,
    /// The file does not determine the result.
    Unknown,
    /// The check succeeds.
    Fits,
}

impl Feasibility {
    /// The feasibility of a condition that is certain.
    pub fn from_condition(condition: bool) -> Self {
        if condition {
            Self::Fits
        } else {
            Self::DoesNotFit
        }
    }
}
