//! Embedded specifications: YAML in strings, and the GPUs of Spark.
//!
//! The nodes in a block scalar after `|` keep their spans, so that diagnostics and edits point into the string. The
//! nodes in any other string get the span of the string, and are not edited.

use gpuc_syntax::diag::{Report, Severity};
use gpuc_syntax::node::{Entry, Node, Origin, Scalar, Value};
use gpuc_syntax::source::{Sources, Span, to_offset};
use gpuc_syntax::yaml;

/// Keys with YAML or JSON in a string: the pod patch and the manifest of Argo Workflows, chart values of Argo CD, a
/// patch of Flux.
///
/// Source: argoproj/argo-workflows `pkg/apis/workflow/v1alpha1/workflow_types.go`, `Template.PodSpecPatch` and
/// `ResourceTemplate.Manifest`; argoproj/argo-cd `pkg/apis/application/v1alpha1/types.go`,
/// `ApplicationSourceHelm.Values`; fluxcd/pkg `apis/kustomize/kustomize_types.go`, `Patch` (from memory).
const EMBEDDED_YAML_KEYS: &[(&str, &[&str])] = &[
    ("argoproj.io/", &["podSpecPatch", "manifest", "values"]),
    ("kustomize.toolkit.fluxcd.io/", &["patch"]),
];

/// Whether the value of a key may be YAML in a string.
pub(super) fn may_contain_yaml(key: &str) -> bool {
    EMBEDDED_YAML_KEYS
        .iter()
        .any(|(_, keys)| keys.contains(&key))
}

/// Expands the embedded specifications in an object. Returns the objects that it creates from strings, and removes
/// these strings.
pub(super) fn expand_embedded(
    root: &mut Node,
    api_version: &str,
    kind: &str,
    sources: &Sources,
) -> Vec<Node> {
    let mut expanded = Vec::new();
    let keys = EMBEDDED_YAML_KEYS
        .iter()
        .find(|(group, _)| api_version.starts_with(group));
    if let Some((_, keys)) = keys {
        expand_strings(root, keys, sources, &mut expanded);
    }
    if kind == "SparkApplication" || kind == "ScheduledSparkApplication" {
        add_spark_limits(root);
    }
    expanded
}

fn expand_strings(node: &mut Node, keys: &[&str], sources: &Sources, created: &mut Vec<Node>) {
    let action = node.get("action").and_then(Node::text);
    let creates_object = action.is_some_and(|it| ["create", "apply", "replace"].contains(&it));
    match &mut node.value {
        Value::Scalar(_) => {}
        Value::Sequence(items) => {
            let items = items.iter_mut();
            items.for_each(|item| expand_strings(item, keys, sources, created));
        }
        Value::Mapping(entries) => {
            for entry in entries {
                let is_text = keys.contains(&entry.key.as_str());
                match is_text
                    .then(|| parse_string_value(&entry.value, sources))
                    .flatten()
                {
                    Some(read) if entry.key == "manifest" && creates_object => {
                        entry.value.value = Value::Mapping(Vec::new());
                        match read.value {
                            Value::Sequence(items) => created.extend(items),
                            _ => created.push(read),
                        }
                    }
                    Some(read) => entry.value = read,
                    None => expand_strings(&mut entry.value, keys, sources, created),
                }
            }
        }
    }
}

/// The content of a string, if it is a YAML mapping or list.
fn parse_string_value(node: &Node, sources: &Sources) -> Option<Node> {
    let Value::Scalar(Scalar::Written { text, .. }) = &node.value else {
        return None;
    };
    if let Some((at, source, text)) = literal_block(node, sources) {
        let mut read = parse_embedded(text)?;
        map_spans(&mut read, &mut |span| Span {
            source,
            start: span.start + at,
            end: span.end + at,
        });
        return Some(read);
    }
    let mut read = parse_embedded(text)?;
    map_spans(&mut read, &mut |_| node.span());
    mark_aliased(&mut read, node.span());
    Some(read)
}

/// The lines of a block scalar after `|`, with their offset; `None` for a node from an alias.
fn literal_block<'s>(node: &Node, sources: &'s Sources) -> Option<(u32, u32, &'s str)> {
    let Origin::Written { span, alias: None } = node.origin else {
        return None;
    };
    let text = sources.get(span.source)?.text();
    // For the parser, a block scalar begins with its first line, after the indicator.
    let before = &text[..span.start as usize];
    let line = before.rfind('\n')? + 1;
    let head = before[..line].trim_end();
    let head = &head[head.rfind('\n').map_or(0, |end| end + 1)..];
    let head = head.split(" #").next().unwrap_or_default().trim_end();
    let mark = head.rsplit(' ').next().unwrap_or_default();
    let is_literal = before[line..].trim().is_empty()
        && mark.starts_with('|')
        && mark[1..]
            .chars()
            .all(|c| matches!(c, '-' | '+' | '1'..='9'));
    let lines = &text[line..span.end as usize];
    is_literal.then_some((to_offset(line), span.source, lines))
}

/// One document, or a list of several; `None` if the text is invalid or only a scalar.
fn parse_embedded(text: &str) -> Option<Node> {
    let (mut sources, mut report) = (Sources::default(), Report::default());
    let id = sources.add("", text);
    let mut documents = yaml::parse_allow_empty(&sources, id, &mut report);
    let is_valid = report.count(Severity::Error) == 0;
    let mut roots = documents.drain(..).map(|document| document.root);
    let node = match (roots.next()?, roots.next()) {
        (only, None) => only,
        (first, Some(second)) => {
            let all = [first, second].into_iter().chain(roots);
            Node::written(Value::Sequence(all.collect()), Span::NONE)
        }
    };
    let is_leaf = matches!(node.value, Value::Scalar(_));
    (is_valid && !is_leaf).then_some(node)
}

/// Maps every span below a node.
pub(super) fn map_spans(node: &mut Node, map_span: &mut dyn FnMut(Span) -> Span) {
    if let Origin::Written { span, alias: used } = &mut node.origin {
        if span.is_written() {
            *span = map_span(*span);
        }
        if let Some(used) = used.as_mut().filter(|used| used.is_written()) {
            *used = map_span(*used);
        }
    }
    match &mut node.value {
        Value::Scalar(_) => {}
        Value::Sequence(items) => items.iter_mut().for_each(|item| map_spans(item, map_span)),
        Value::Mapping(entries) => {
            for entry in entries {
                entry.key_span = map_span(entry.key_span);
                map_spans(&mut entry.value, map_span);
            }
        }
    }
}

/// Marks every node as coming from an alias, which prevents edits.
fn mark_aliased(node: &mut Node, span: Span) {
    let used = Some(span);
    node.origin = Origin::Written { span, alias: used };
    match &mut node.value {
        Value::Scalar(_) => {}
        Value::Sequence(items) => items.iter_mut().for_each(|item| mark_aliased(item, span)),
        Value::Mapping(entries) => {
            for entry in entries {
                mark_aliased(&mut entry.value, span);
            }
        }
    }
}

/// Converts `gpu` of Spark's driver and executors to a limit.
fn add_spark_limits(node: &mut Node) {
    let Value::Mapping(entries) = &mut node.value else {
        return;
    };
    for entry in entries {
        match entry.key.as_str() {
            "driver" | "executor" => add_gpu_limit(&mut entry.value),
            "spec" | "template" => add_spark_limits(&mut entry.value),
            _ => {}
        }
    }
}

fn add_gpu_limit(role: &mut Node) {
    let requested = role.get("gpu").and_then(|gpu| {
        let (name, quantity) = (gpu.get("name")?, gpu.get("quantity")?);
        Some((name.text()?.to_owned(), name.span(), quantity.clone()))
    });
    let requested = requested.filter(|_| role.get("resources").is_none());
    let Some((key, key_span, value)) = requested else {
        return;
    };
    let below = |key: &str, entry: Entry| Entry {
        key: key.to_owned(),
        key_span: entry.key_span,
        value: Node {
            value: Value::Mapping(vec![entry]),
            origin: Origin::Inherited,
        },
    };
    let gpus = Entry {
        key,
        key_span,
        value,
    };
    if let Value::Mapping(entries) = &mut role.value {
        entries.push(below("resources", below("limits", gpus)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text at the span of a key in a patch.
    fn at(text: &str, key: &str) -> Option<String> {
        let (mut sources, mut report) = (Sources::default(), Report::default());
        let id = sources.add("a.yaml", text);
        let mut root = yaml::parse_allow_empty(&sources, id, &mut report)
            .remove(0)
            .root;
        let expanded = expand_embedded(&mut root, "argoproj.io/v1alpha1", "Workflow", &sources);
        assert!(expanded.is_empty());
        let entry = root.get("podSpecPatch")?.entry(key)?;
        Some(sources.text(entry.key_span).to_owned())
    }

    #[test]
    fn block_scalars_keep_spans() {
        for text in [
            "podSpecPatch: |\n  # one\n  a: 1\n  bé: {c: 2}\nz: 1\n",
            "podSpecPatch: |-\r\n    a: 1\r\n    bé: 2\r\n",
            "podSpecPatch: |\n  {\"a\": 1, bé: 2}",
        ] {
            assert_eq!(at(text, "bé").as_deref(), Some("bé"), "{text}");
        }
        let quoted = "podSpecPatch: '{\"a\": 1, \"b\": 2}'\n";
        assert_eq!(at(quoted, "b").as_deref(), Some("'{\"a\": 1, \"b\": 2}'"));
        assert_eq!(at("podSpecPatch: only text\n", "b"), None);
        assert_eq!(at("podSpecPatch: |\n  b: [\n", "b"), None);
    }
}
