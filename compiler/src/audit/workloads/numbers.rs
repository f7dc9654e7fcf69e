//! Counts that a patched object cannot have, and variables that are said twice.

use gpuc_schema::Span;

use super::Wrong;
use super::typed::{Step, place};
use crate::lower::workloads::pod_specs;
use crate::node::{Entry, Node, Scalar, Value};
use crate::plan::Object;

/// How many pods there are, by kind: the way to the number, with `*` for every entry or item, and the least.
///
/// That a group has its leader: kubernetes-sigs/lws `leaderworkerset.x-k8s.io_leaderworkersets.yaml`, `size`. The
/// others have no least in their definitions; of no nodes and of no master nothing is trained. Kubernetes' own may all
/// be 0.
const COUNTS: &[(&str, &[&str], i128)] = &[
    (
        "CronJob",
        &["spec", "jobTemplate", "spec", "completions"],
        0,
    ),
    (
        "CronJob",
        &["spec", "jobTemplate", "spec", "parallelism"],
        0,
    ),
    ("Deployment", &["spec", "replicas"], 0),
    ("Job", &["spec", "completions"], 0),
    ("Job", &["spec", "parallelism"], 0),
    ("JobSet", &["spec", "replicatedJobs", "*", "replicas"], 0),
    (
        "JobSet",
        &[
            "spec",
            "replicatedJobs",
            "*",
            "template",
            "spec",
            "completions",
        ],
        0,
    ),
    (
        "JobSet",
        &[
            "spec",
            "replicatedJobs",
            "*",
            "template",
            "spec",
            "parallelism",
        ],
        0,
    ),
    (
        "LeaderWorkerSet",
        &["spec", "leaderWorkerTemplate", "size"],
        1,
    ),
    ("LeaderWorkerSet", &["spec", "replicas"], 0),
    (
        "PyTorchJob",
        &["spec", "pytorchReplicaSpecs", "Master", "replicas"],
        1,
    ),
    (
        "PyTorchJob",
        &["spec", "pytorchReplicaSpecs", "Worker", "replicas"],
        0,
    ),
    ("StatefulSet", &["spec", "replicas"], 0),
    ("TrainJob", &["spec", "trainer", "numNodes"], 1),
];

/// What is wrong with an object's counts and variables.
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
    for spec in pod_specs(&object.node) {
        found.extend(variables(spec, patch));
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
            Value::Scalar(Scalar::Null) => return,
            _ => "no whole number".to_owned(),
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

/// The API server refuses a variable with a value that has another from elsewhere too. A patch may bring the second.
///
/// Source: kubernetes `pkg/apis/core/validation/validation.go`, `validateEnvVarValueFrom`: "may not be specified when
/// `value` is not empty" (from memory).
fn variables(spec: &Node, patch: Span) -> Vec<Wrong> {
    let lists = ["containers", "initContainers"].map(|key| spec.get(key));
    let containers = lists.into_iter().flatten().flat_map(Node::items);
    let variables = containers.flat_map(|container| {
        let list = container.get("env").map_or(&[][..], Node::items);
        list.iter()
    });
    let twice = variables.filter_map(|variable| {
        let (value, from) = (variable.entry("value")?, variable.entry("valueFrom")?);
        let is_null = |entry: &Entry| matches!(entry.value.value, Value::Scalar(Scalar::Null));
        let is_empty = value.value.text() == Some("") || is_null(value) || is_null(from);
        if is_empty {
            return None;
        }
        let places = [from.key_span, value.key_span, variable.span()];
        let mut places = places.into_iter().filter(|span| span.is_written());
        let name = variable.get("name").and_then(Node::text);
        Some(Wrong {
            span: places.next().unwrap_or(patch),
            message: format!(
                "variable `{}` has a `value`, and a `valueFrom` too",
                name.unwrap_or_default()
            ),
            help: "take the other away: write `value: null` or `valueFrom: null` beside it"
                .to_owned(),
        })
    });
    twice.collect()
}
