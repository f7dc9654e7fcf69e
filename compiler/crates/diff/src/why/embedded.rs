//! Documents embedded in texts: a configuration passed to a chart as text, a file in a ConfigMap, a dashboard.

use gpuc_syntax::node::{Node, Value};

use super::document::IndexedDocument;
use super::path::{Path, find_mut, walk};

/// A text value that is a document itself.
#[derive(Debug)]
pub(super) struct Embedded {
    /// The path of the text in the outer document.
    pub(super) path: Path,
    /// The embedded document.
    pub(super) document: IndexedDocument,
    /// The outer line of the text's first line; `None` unless the text is a block with the same lines.
    first_line: Option<usize>,
    /// The outer line on which the text begins.
    start_line: usize,
}

impl Embedded {
    /// The outer line of a line of the text.
    pub(super) fn outer_line(&self, line: usize) -> usize {
        self.first_line
            .map_or(self.start_line, |first| first + line - 1)
    }

    /// The line of the text at an outer line.
    pub(super) fn inner_line(&self, line: usize) -> Option<usize> {
        let inside = line.checked_sub(self.first_line?)? + 1;
        (inside <= self.document.line_count()).then_some(inside)
    }
}

/// The documents embedded in the texts of a file. `line_at` returns the line of a byte of the file.
pub(super) fn find_embedded(
    root: &Node,
    line_at: impl Fn(u32) -> Option<usize>,
    line: impl Fn(usize) -> String,
) -> Vec<Embedded> {
    let mut found = Vec::new();
    walk(root, &mut |path, node| {
        let Some(page) = node.text().and_then(parse_document) else {
            return;
        };
        let begins = line_at(node.span().start).unwrap_or(1);
        // The lines of a quoted text differ from the lines of the file.
        let has_same_lines = |first: &usize| {
            let lines = 1..=page.line_count();
            lines
                .map(|number| (number, first + number - 1))
                .all(|(inside, outside)| page.line(inside).trim() == line(outside).trim())
        };
        let first = [begins, begins + 1].into_iter().find(has_same_lines);
        found.push(Embedded {
            path: path.clone(),
            document: page,
            first_line: first,
            start_line: begins,
        });
    });
    found
}

/// The document with its texts replaced by their embedded documents.
pub(super) fn replace_embedded(root: &Node, documents: &[Embedded]) -> Node {
    let mut deep = root.clone();
    for embedded in documents {
        if let (Some(node), Some(inner)) = (
            find_mut(&mut deep, &embedded.path.0),
            embedded.document.with_embedded(),
        ) {
            node.value = inner.value.clone();
        }
    }
    deep
}

/// Parses a multi-line text as a document, unless it only looks like one.
pub(super) fn parse_document(text: &str) -> Option<IndexedDocument> {
    if !text.trim().contains('\n') {
        return None;
    }
    let page = IndexedDocument::from_embedded(text)?;
    let is_document = match &page.root()?.value {
        Value::Mapping(entries) => {
            let is_word = |key: &str| !key.is_empty() && !key.contains(char::is_whitespace);
            !entries.is_empty()
                && (text.trim_start().starts_with('{')
                    || entries.iter().all(|entry| is_word(&entry.key)))
        }
        Value::Sequence(items) => items.iter().any(|item| item.text().is_none()),
        Value::Scalar(_) => false,
    };
    is_document.then_some(page)
}
