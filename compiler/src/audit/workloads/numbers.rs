//! Counts that a patched custom resource cannot have.

use gpuc_schema::Span;

use super::Wrong;
use crate::api_server::{Step, place};
use crate::node::{Node, Scalar, Value};
use crate::plan::Object;

/// How many pods there are, by kind: the way to the number, with `*` for every entry or item, and the least.
///
/// These have no least in their definitions; of no nodes nothing is trained. What Kubernetes' own validation and
/// definitions say, `api_server/counts.rs` looks at.
const COUNTS: &[(&str, &[&str], i128)] = &[
    ("JobSet", &["spec", "replicatedJobs", "*", "replicas"], 0),
    (
        "PyTorchJob",
        &["spec", "pytorchReplicaSpecs", "Worker", "replicas"],
        0,
    ),
    ("TrainJob", &["spec", "trainer", "numNodes"], 1),
];

/// What is wrong with an object's counts.
pub(super) fn look(object: &Object, patch: Span) -> Vec<Wrong> {
    let mut found = Vec::new();
    for (kind, way, least) in COUNTS {
        if object.identity.kind == *kind {
            let mut path = Vec::new();
            counts(&object.node, way, *least, &mut path, &mut |path, words| {
                found.push(Wrong {
                    span: place(&object.node, path, false).unwrap_or(patch),
                    message: words,
                    help: format!("write {least} or more, or remove it"),
                });
            });
        }
    }
    found
}

/// Follows the way, and says what stands at its end where that is no such number.
fn counts(
    node: &Node,
    way: &[&str],
    least: i128,
    path: &mut Vec<Step>,
    say: &mut impl FnMut(&[Step], String),
) {
    let Some((key, rest)) = way.split_first() else {
        let what = match &node.value {
            Value::Scalar(Scalar::Integer(count)) if i128::from(*count) >= least => return,
            Value::Scalar(Scalar::Integer(count)) => count.to_string(),
            // What is no whole number `typed` says.
            _ => return,
        };
        let name = path.iter().rev().find_map(|step| match step {
            Step::Key(key) => Some(key.as_str()),
            Step::Item(_) => None,
        });
        let name = name.unwrap_or_default();
        say(
            path,
            format!("`{name}` is {what}, and has to be {least} or more"),
        );
        return;
    };
    if *key == "*" {
        for (index, item) in node.items().iter().enumerate() {
            path.push(Step::Item(index));
            counts(item, rest, least, path, say);
            path.pop();
        }
    } else if let Some(next) = node.get(key) {
        path.push(Step::Key((*key).to_owned()));
        counts(next, rest, least, path, say);
        path.pop();
    }
}
