//! Commands that callers complete with the paths of the input and of the trees.

/// Builds the tree; the caller adds the path of the input, unless files follow, and that of the trees.
pub const BUILD: &str = "gpuc build";

/// Removes the old cluster, from its directory in the tree; the caller adds the path of that directory.
pub const TEARDOWN: &str = "cloud/teardown.sh";
