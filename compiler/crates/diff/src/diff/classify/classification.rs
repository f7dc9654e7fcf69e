//! The classification of a difference.

use super::super::impact::Impact;

/// The impact of a difference, with its reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Classification {
    /// The impact.
    pub impact: Impact,
    /// The reason, unless the impact is self-explanatory.
    pub reason: Option<String>,
    /// The source of a fact.
    pub source: Option<&'static str>,
    /// Whether the field is immutable, so that the object must be deleted and recreated.
    pub is_immutable: bool,
}

impl Classification {
    /// A classification without a reason.
    pub(super) fn without_reason(impact: Impact) -> Self {
        Self {
            impact,
            reason: None,
            source: None,
            is_immutable: false,
        }
    }

    pub(super) fn with_reason(impact: Impact, words: impl Into<String>) -> Self {
        Self {
            reason: Some(words.into()),
            ..Self::without_reason(impact)
        }
    }

    pub(super) fn with_source(
        impact: Impact,
        words: impl Into<String>,
        source: &'static str,
    ) -> Self {
        Self {
            source: Some(source),
            ..Self::with_reason(impact, words)
        }
    }
}
