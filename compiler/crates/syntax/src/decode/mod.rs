//! Decodes a tree into the types of the configuration, and reports all shape errors in one run. An invalid node is
//! reported and replaced by a placeholder, so that the rest is decoded. Types, ranges, names and keys are checked
//! before serde's visitor sees them. Some constraints are known only to serde: required keys, and values that a type
//! rejects. They are discovered from serde's errors, and decoding restarts. Constraints apply to a type, not to one
//! node, so that a large file needs hardly more passes than a small one.

mod access;
mod choice;
pub mod codes;
mod constraints;
mod cursor;
mod deserialize;
mod misplaced_key;
mod number_ranges;
mod other_document;
mod pass;
mod path;
mod placeholder;

use gpuc_schema::config::GpuCluster;
use serde::de::DeserializeOwned;

use crate::diag::Report;
use crate::node::Node;
use constraints::Constraints;
use cursor::Cursor;
pub use misplaced_key::correct_key;
pub use number_ranges::check_ranges;
use pass::Pass;
use path::Path;
use placeholder::Placeholder;
pub use placeholder::PlaceholderKind;

/// The maximum number of reported problems per document.
pub const MAX_PROBLEMS: usize = 100;

/// The cluster that a document describes. A document of another kind is reported as such. `None` if it cannot be
/// decoded.
pub fn decode_cluster(root: &Node, report: &mut Report) -> Option<GpuCluster> {
    if other_document::report_other_document(root, report) {
        return None;
    }
    decode(root, report)
}

/// Decodes a cluster as [`decode_cluster`] does, with other placeholders.
pub fn decode_cluster_with(
    root: &Node,
    guess: PlaceholderKind<'_>,
    report: &mut Report,
) -> Option<GpuCluster> {
    decode_with(root, guess, report)
}

/// Decodes a value of a type from a tree. Invalid parts are reported and replaced by placeholders, and their spans
/// poisoned. `None` if there are too many problems, or if a type rejects the placeholder.
pub fn decode<T: DeserializeOwned>(root: &Node, report: &mut Report) -> Option<T> {
    decode_with(root, PlaceholderKind::Smallest, report)
}

fn decode_with<T: DeserializeOwned>(
    root: &Node,
    guess: PlaceholderKind<'_>,
    report: &mut Report,
) -> Option<T> {
    let mut constraints = Constraints::default();
    loop {
        let pass = Pass::new(&constraints, Placeholder(guess));
        let decoded = T::deserialize(Cursor {
            node: root,
            path: &Path::ROOT,
            pass: &pass,
        });
        match decoded {
            Ok(value) => return pass.finish(report).then_some(value),
            Err(problem) => {
                let findings = pass.into_findings();
                let reason = problem.to_string();
                if !constraints.add(problem) {
                    findings.finish_undecoded(root, &reason, report);
                    return None;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
