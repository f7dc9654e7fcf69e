//! Decodes a document. Decoding restarts with each constraint that serde's errors reveal.

use gpuc_schema::config::GpuCluster;
use serde::de::DeserializeOwned;

use super::constraints::Constraints;
use super::cursor::Cursor;
use super::other_document::report_other_document;
use super::pass::Pass;
use super::path::Path;
use super::placeholder::{Placeholder, PlaceholderKind};
use crate::diag::Report;
use crate::node::Node;

/// The cluster that a document describes. A document of another kind is reported as such. `None` if it cannot be
/// decoded.
pub fn decode_cluster(root: &Node, report: &mut Report) -> Option<GpuCluster> {
    if report_other_document(root, report) {
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
