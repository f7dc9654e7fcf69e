//! A generated file, with its fields and the lines that they stand on.

use crate::diag::Report;
use crate::node::{Node, Value};
use crate::source::Sources;
use crate::yaml;

use super::path::{Path, Step, walk};

/// A generated file as it can be asked about.
#[derive(Debug)]
pub struct Page {
    sources: Sources,
    root: Option<Node>,
    /// The line that each field begins on, in order.
    starts: Vec<(usize, Path)>,
}

impl Page {
    /// A file by its path and contents.
    pub fn new(path: &str, contents: &str) -> Self {
        let mut sources = Sources::default();
        let id = sources.add(path, contents);
        let mut root = None;
        if [".yaml", ".json"].iter().any(|end| path.ends_with(end)) {
            let documents = yaml::documents(&sources, id, &mut Report::default());
            root = documents.into_iter().next().map(|document| document.root);
        }
        let mut page = Self {
            sources,
            root,
            starts: Vec::new(),
        };
        page.starts = page.starts();
        page
    }

    fn starts(&self) -> Vec<(usize, Path)> {
        let mut starts = Vec::new();
        let Some(root) = self.root() else {
            return starts;
        };
        walk(root, &mut |path, node| {
            let key = node.entries().iter().map(|entry| {
                let path = path.then(Step::Key(entry.key.clone()));
                (entry.key_span, path)
            });
            let items = node.items().iter().enumerate();
            let items = items.map(|(index, item)| (item.span(), path.then(Step::Index(index))));
            for (span, path) in key.chain(items) {
                starts.extend(self.line_at(span.start).map(|line| (line, path)));
            }
        });
        // Of two on one line the inner one comes later.
        starts.sort_by_key(|(line, path)| (*line, path.0.len()));
        starts
    }

    /// The document, for files that hold one.
    pub fn root(&self) -> Option<&Node> {
        self.root.as_ref()
    }

    /// How many lines the file has.
    pub fn line_count(&self) -> usize {
        self.text().lines().count()
    }

    /// The text of a line, counted from 1.
    pub fn line(&self, number: usize) -> &str {
        self.sources.get(0).map_or("", |source| source.line(number))
    }

    /// The whole text.
    pub fn text(&self) -> &str {
        self.sources.get(0).map_or("", |source| source.text())
    }

    /// The first and the last line of a field, its key included.
    pub fn lines_of(&self, path: &Path) -> Option<(usize, usize)> {
        let root = self.root()?;
        let node = path.find(root)?;
        let first = match path.0.split_last() {
            Some((Step::Key(key), above)) => {
                let above = Path(above.to_vec());
                above.find(root)?.entry(key)?.key_span
            }
            _ => node.span(),
        };
        let first = self.line_at(first.start)?;
        let end = self.line_at(self.last_byte(node))?;
        Some((first, end.max(first)))
    }

    /// The field that stands on a line: the last one that begins there, or else the one that goes on there.
    pub fn field_at(&self, line: usize) -> Option<Path> {
        let before = self.starts.partition_point(|(first, _)| *first <= line);
        let (_, path) = self.starts.get(before.checked_sub(1)?)?;
        Some(path.clone())
    }

    /// Where the last line of a part is. A text of several lines ends before what begins the next part.
    fn last_byte(&self, node: &Node) -> u32 {
        match &node.value {
            Value::Sequence(items) if !items.is_empty() => {
                items.last().map_or(0, |item| self.last_byte(item))
            }
            Value::Mapping(entries) if !entries.is_empty() => entries
                .last()
                .map_or(0, |entry| self.last_byte(&entry.value)),
            _ => {
                let span = node.span();
                let text = self.sources.text(span).trim_end();
                span.start + u32::try_from(text.len().saturating_sub(1)).unwrap_or_default()
            }
        }
    }

    fn line_at(&self, byte: u32) -> Option<usize> {
        Some(self.sources.get(0)?.position(byte).line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_fields_lead_to_each_other() {
        let text = "# made\nspec:\n  a:\n  - name: x\n    text: |\n      one\n      two\n  b: 1\n";
        let page = Page::new("a.yaml", text);
        let lines = |path: &str| page.lines_of(&Path::read(path).unwrap());
        assert_eq!(lines("spec.a[0].text"), Some((5, 7)));
        assert_eq!(lines("spec.a"), Some((3, 7)));
        assert_eq!(lines("spec.c"), None);
        let at = |line| page.field_at(line).map(|path| path.to_string());
        assert_eq!(at(1), None);
        assert_eq!(at(2).as_deref(), Some("spec"));
        assert_eq!(at(4).as_deref(), Some("spec.a[0].name"));
        assert_eq!(at(6).as_deref(), Some("spec.a[0].text"));
        assert_eq!(at(8).as_deref(), Some("spec.b"));
    }
}
