//! Invalid counts in patched custom resources.

use gpuc_kubernetes::api_server::{Step, locate_path};
use gpuc_model::plan::Object;
use gpuc_schema::Span;
use gpuc_syntax::node::{Node, Scalar, Value};

use super::Problem;

/// Numbers of pods, by kind: the path, with `*` for every entry or item, and the minimum.
///
/// Their CRDs define no minimum, but a job on zero nodes does nothing. `api_server/ranges.rs` covers the limits of
/// Kubernetes' own validation and of the CRDs.
const COUNT_PATHS: &[(&str, &[&str], i128)] = &[
    ("JobSet", &["spec", "replicatedJobs", "*", "replicas"], 0),
    (
        "PyTorchJob",
        &["spec", "pytorchReplicaSpecs", "Worker", "replicas"],
        0,
    ),
    ("TrainJob", &["spec", "trainer", "numNodes"], 1),
];

/// The problems in an object's counts.
pub(super) fn check(object: &Object, patch: Span) -> Vec<Problem> {
    let mut found = Vec::new();
    for (kind, key_path, min) in COUNT_PATHS {
        if object.identity.kind == *kind {
            let mut path = Vec::new();
            check_counts(
                &object.node,
                key_path,
                *min,
                &mut path,
                &mut |path, message| {
                    found.push(Problem {
                        span: locate_path(&object.node, path, false).unwrap_or(patch),
                        message,
                        help: format!("write {min} or more, or remove it"),
                    });
                },
            );
        }
    }
    found
}

/// Follows the path, and reports a number below the minimum at its end.
fn check_counts(
    node: &Node,
    key_path: &[&str],
    min: i128,
    path: &mut Vec<Step>,
    report: &mut impl FnMut(&[Step], String),
) {
    let Some((key, rest)) = key_path.split_first() else {
        let actual = match &node.value {
            Value::Scalar(Scalar::Integer(count)) if i128::from(*count) >= min => return,
            Value::Scalar(Scalar::Integer(count)) => count.to_string(), // `typed` reports values that are not integers.
            _ => return,
        };
        let name = path.iter().rev().find_map(|step| match step {
            Step::Key(key) => Some(key.as_str()),
            Step::Item(_) => None,
        });
        let name = name.unwrap_or_default();
        report(
            path,
            format!("`{name}` is {actual}, but must be {min} or more"),
        );
        return;
    };
    if *key == "*" {
        for (index, item) in node.items().iter().enumerate() {
            path.push(Step::Item(index));
            check_counts(item, rest, min, path, report);
            path.pop();
        }
    } else if let Some(next) = node.get(key) {
        path.push(Step::Key((*key).to_owned()));
        check_counts(next, rest, min, path, report);
        path.pop();
    }
}
