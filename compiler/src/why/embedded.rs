//! Documents inside of texts: the configuration that a chart takes as one text, a file in a ConfigMap, a dashboard.

use crate::node::{Node, Value};

use super::page::Page;
use super::path::{Path, at, walk};

/// A text of a document that is a document itself.
#[derive(Debug)]
pub(super) struct Embedded {
    /// Where the text stands in the document around it.
    pub(super) path: Path,
    /// The document in the text.
    pub(super) page: Page,
    /// The line around that the text's first line is; none where it does not stand there line by line.
    first: Option<usize>,
    /// The line around that the text begins on.
    begins: usize,
}

impl Embedded {
    /// The line around of a line of the text.
    pub(super) fn outside(&self, line: usize) -> usize {
        self.first.map_or(self.begins, |first| first + line - 1)
    }

    /// The line of the text that is a line around.
    pub(super) fn inside(&self, line: usize) -> Option<usize> {
        let inside = line.checked_sub(self.first?)? + 1;
        (inside <= self.page.line_count()).then_some(inside)
    }
}

/// The documents inside of the texts of a file. `line_at` says on which line a byte of the file is.
pub(super) fn embedded(
    root: &Node,
    line_at: impl Fn(u32) -> Option<usize>,
    line: impl Fn(usize) -> String,
) -> Vec<Embedded> {
    let mut found = Vec::new();
    walk(root, &mut |path, node| {
        let Some(page) = node.text().and_then(document) else {
            return;
        };
        let begins = line_at(node.span().start).unwrap_or(1);
        // A text in quotes stands on other lines than its own.
        let stands = |first: &usize| {
            let lines = 1..=page.line_count();
            lines
                .map(|number| (number, first + number - 1))
                .all(|(inside, outside)| page.line(inside).trim() == line(outside).trim())
        };
        let first = [begins, begins + 1].into_iter().find(stands);
        found.push(Embedded {
            path: path.clone(),
            page,
            first,
            begins,
        });
    });
    found
}

/// The document with those in its texts in place of the texts.
pub(super) fn deep(root: &Node, embedded: &[Embedded]) -> Node {
    let mut deep = root.clone();
    for one in embedded {
        if let (Some(node), Some(inner)) = (at(&mut deep, &one.path.0), one.page.deep()) {
            node.value = inner.value.clone();
        }
    }
    deep
}

/// A text of several lines as a document, where it is one: it can be read, and is no list of words by chance.
pub(super) fn document(text: &str) -> Option<Page> {
    if !text.trim().contains('\n') {
        return None;
    }
    let page = Page::inside(text)?;
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
