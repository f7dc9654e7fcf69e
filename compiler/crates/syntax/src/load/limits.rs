//! Limits of the documents of a cluster file, which bound the time of checks that compare entries with each other.

use crate::diag::Report;
use crate::node::{Node, Value};
use crate::source::Span;
use crate::yaml::{Document, codes};

/// The maximum number of documents of a file.
const MAX_DOCUMENTS: usize = 500;

/// The maximum number of entries of a list or a mapping: Kubernetes supports at most 5,000 nodes in a cluster
/// (<https://kubernetes.io/docs/setup/best-practices/cluster-large/>, 2026-11-28).
const MAX_ENTRIES: usize = 5_000;

/// Returns the documents within the limits, and reports the others.
pub(super) fn keep_within_limits(documents: Vec<Document>, report: &mut Report) -> Vec<Document> {
    if let Some(document) = documents.get(MAX_DOCUMENTS) {
        let message = format!("the file has more than {MAX_DOCUMENTS} documents");
        report
            .diagnostic(&codes::YAML_LIMIT, first_line(&document.root), message)
            .help("split it into several files")
            .emit();
        return Vec::new();
    }
    let mut kept = documents;
    kept.retain(|document| match find_excess(&document.root) {
        None => true,
        Some((noun, span)) => {
            let message = format!("a {noun} has more than {MAX_ENTRIES} entries");
            report
                .diagnostic(&codes::YAML_LIMIT, span, message)
                .help("reduce it: Kubernetes supports at most 5,000 nodes in a cluster")
                .emit();
            false
        }
    });
    kept
}

/// Returns the first entry beyond the maximum number of the first collection that has such an entry.
fn find_excess(node: &Node) -> Option<(&'static str, Span)> {
    match &node.value {
        Value::Scalar(_) => None,
        Value::Sequence(items) => match items.get(MAX_ENTRIES) {
            Some(item) => Some(("list", first_line(item))),
            None => items.iter().find_map(find_excess),
        },
        Value::Mapping(entries) => match entries.get(MAX_ENTRIES) {
            Some(entry) => Some(("mapping", entry.key_span)),
            None => entries.iter().find_map(|entry| find_excess(&entry.value)),
        },
    }
}

/// The beginning of a node's span, for a label at its first line.
fn first_line(node: &Node) -> Span {
    let span = node.span();
    Span {
        end: span.start,
        ..span
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Sources;
    use crate::yaml;

    fn check(text: &str) -> (usize, Vec<String>) {
        let (mut sources, mut report) = (Sources::default(), Report::default());
        let id = sources.add("a.yaml", text);
        let documents = yaml::parse(&sources, id, &mut report);
        let kept = keep_within_limits(documents, &mut report).len();
        let found = report.diagnostics().iter();
        (kept, found.map(|found| found.message.clone()).collect())
    }

    #[test]
    fn entries_and_documents_are_limited() {
        let list = |count: usize| format!("a: {{b: [{}]}}\n", "1, ".repeat(count));
        let text = format!("{}---\n{}", list(MAX_ENTRIES), list(MAX_ENTRIES + 1));
        let message = "a list has more than 5000 entries".to_owned();
        assert_eq!(check(&text), (1, vec![message]));
        let keys: Vec<_> = (0..=MAX_ENTRIES)
            .map(|key| format!("k{key}: 1\n"))
            .collect();
        let message = "a mapping has more than 5000 entries".to_owned();
        assert_eq!(check(&keys.concat()), (0, vec![message]));
        assert_eq!(check(&keys[1..].concat()), (1, Vec::new()));
        let documents = |count: usize| "--- {a: 1}\n".repeat(count);
        assert_eq!(
            check(&documents(MAX_DOCUMENTS)),
            (MAX_DOCUMENTS, Vec::new())
        );
        let message = "the file has more than 500 documents".to_owned();
        assert_eq!(check(&documents(MAX_DOCUMENTS + 1)), (0, vec![message]));
    }
}
