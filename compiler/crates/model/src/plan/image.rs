//! Container images.

/// An image that the nodes of a cluster pull.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PulledImage {
    /// The reference. A placeholder such as `<kernel>` stands for a part that only a node determines.
    pub reference: String,
    /// The reference in the public registry, if `mirror` replaces the registry.
    pub source: Option<String>,
    /// The meaning of the placeholders, if the reference has any.
    pub unknown: Option<String>,
}

impl PulledImage {
    /// The reference in the public registry, or the one that the user set.
    pub fn public_reference(&self) -> &str {
        self.source.as_ref().unwrap_or(&self.reference)
    }
}
