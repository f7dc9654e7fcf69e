//! A rule for manifests.

use gpuc_syntax::diag::{Code, Report};

use super::context::CheckContext;

/// A rule: its code and explanation, and its check function.
#[derive(Debug)]
pub struct Rule {
    /// The code. An example is a cluster, and the manifest after a line of
    /// [`MANIFEST_SEPARATOR`](gpuc_syntax::diag::MANIFEST_SEPARATOR).
    pub code: Code,
    pub(crate) run: fn(&CheckContext<'_>, &mut Report),
}
