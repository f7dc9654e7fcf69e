//! Single mistakes in valid cluster files, as users make them.

use gpuc_syntax::diag::Report;
use gpuc_syntax::node::{Entry, Node, Scalar, Value};
use gpuc_syntax::source::{Sources, Span};
use gpuc_syntax::yaml::{parse_allow_empty, to_yaml};

/// A file with one mistake.
pub(super) struct Mutation {
    /// The place without indices, and the kind of mistake.
    pub(super) name: String,
    pub(super) text: String,
}

/// Keys of other tools, which users expect.
const FOREIGN_KEYS: &[&str] = &[
    "nodeCount",
    "instanceType",
    "replicas",
    "minSize",
    "maxSize",
    "version",
    "strategy",
    "gpuCount",
    "enabled",
    "preemptible",
    "spot",
    "capacityType",
    "namespace",
    "image",
    "region",
    "machineType",
    "count",
    "gpus",
];

fn scalar(text: &str, plain: bool) -> Node {
    Node::written(
        Value::Scalar(Scalar::Written {
            text: text.to_owned(),
            plain,
        }),
        Span::NONE,
    )
}

fn entry(key: &str, value: Node) -> Entry {
    Entry {
        key: key.to_owned(),
        key_span: Span::NONE,
        value,
    }
}

/// The values of the wrong type, with the name of the mistake.
fn wrong_values(value: &Node) -> Vec<(&'static str, Node)> {
    let list = Node::written(Value::Sequence(vec![value.clone()]), Span::NONE);
    let mapping = Node::written(
        Value::Mapping(vec![entry("items", value.clone())]),
        Span::NONE,
    );
    let mut wrong = vec![
        ("null", scalar("", true)),
        ("a list", list),
        ("a mapping", mapping),
        ("a number", scalar("7", true)),
        ("true", scalar("true", true)),
        ("a word", scalar("default", true)),
    ];
    if let Value::Scalar(Scalar::Written { text, plain }) = &value.value {
        wrong.push(("the other quotes", scalar(text, !plain)));
        wrong.push((
            "a shorter word",
            scalar(&text.chars().skip(1).collect::<String>(), *plain),
        ));
        wrong.push(("upper case", scalar(&text.to_uppercase(), *plain)));
    }
    if let [only] = value.items() {
        wrong.push(("the item alone", only.clone()));
    }
    wrong
}

/// The misspelled versions of a key.
fn misspellings(key: &str) -> Vec<String> {
    let snake: String = key
        .chars()
        .flat_map(|it| {
            let separator = it.is_uppercase().then_some('_');
            separator.into_iter().chain(it.to_lowercase())
        })
        .collect();
    let plural = key
        .strip_suffix('s')
        .map_or(format!("{key}s"), str::to_owned);
    vec![
        snake,
        key.to_lowercase(),
        key.chars().skip(1).collect(),
        plural,
    ]
}

/// Every mutation of a file with one document.
pub(super) fn mutations(text: &str) -> Vec<Mutation> {
    let mut sources = Sources::default();
    let id = sources.add("gpu-cluster.yaml", text);
    let documents = parse_allow_empty(&sources, id, &mut Report::default());
    let [document] = documents.as_slice() else {
        return Vec::new();
    };
    let mut found = Vec::new();
    let root = document.root.clone();
    mutate(&root, &mut Vec::new(), "", &root, &mut found);
    found
}

fn mutate(root: &Node, path: &mut Vec<usize>, place: &str, node: &Node, found: &mut Vec<Mutation>) {
    let mut add = |name: &str, change: &dyn Fn(&mut Node)| {
        let mut changed = root.clone();
        change(super::follow::node_at_mut(&mut changed, path));
        found.push(Mutation {
            name: format!("{place}: {name}"),
            text: to_yaml(&changed),
        });
    };
    if !place.is_empty() {
        for (name, value) in wrong_values(node) {
            add(name, &|node| *node = value.clone());
        }
    }
    if let Value::Mapping(entries) = &node.value {
        for key in FOREIGN_KEYS.iter().filter(|key| node.entry(key).is_none()) {
            add(&format!("extra {key}"), &|node| {
                if let Value::Mapping(entries) = &mut node.value {
                    let value = match *key {
                        "version" => scalar("580", false),
                        "namespace" => scalar("research", true),
                        _ => scalar("2", true),
                    };
                    entries.push(entry(key, value));
                }
            });
        }
        for (index, one) in entries.iter().enumerate() {
            add(&format!("no {}", one.key), &|node| {
                if let Value::Mapping(entries) = &mut node.value {
                    entries.remove(index);
                }
            });
            for wrong in misspellings(&one.key)
                .into_iter()
                .filter(|wrong| *wrong != one.key)
            {
                add(&format!("{wrong} for {}", one.key), &|node| {
                    if let Value::Mapping(entries) = &mut node.value {
                        entries[index].key.clone_from(&wrong);
                    }
                });
            }
        }
    }
    for (index, one) in node.entries().iter().enumerate() {
        path.push(index);
        mutate(
            root,
            path,
            &format!("{place}.{}", one.key),
            &one.value,
            found,
        );
        path.pop();
    }
    for (index, item) in node.items().iter().enumerate() {
        path.push(index);
        mutate(root, path, &format!("{place}[]"), item, found);
        path.pop();
    }
}
