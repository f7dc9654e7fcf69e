//! A generated file, with its fields and their lines.

use std::sync::OnceLock;

use gpuc_syntax::diag::Report;
use gpuc_syntax::node::{Node, Value};
use gpuc_syntax::source::Sources;
use gpuc_syntax::yaml;

use super::embedded::{Embedded, find_embedded, replace_embedded};
use super::path::{Path, Step, is_leaf, walk};

/// A generated file for queries.
#[derive(Debug)]
pub struct IndexedDocument {
    sources: Sources,
    root: Option<Node>,
    /// The first line of each field, in order.
    starts: Vec<(usize, Path)>,
    embedded: OnceLock<(Vec<Embedded>, Option<Node>)>,
}

impl IndexedDocument {
    /// Creates a page from a path and contents.
    pub fn new(path: &str, contents: &str) -> Self {
        let mut sources = Sources::default();
        let id = sources.add(path, contents);
        let mut root = None;
        if [".yaml", ".json"].iter().any(|end| path.ends_with(end)) {
            let documents = yaml::parse_allow_empty(&sources, id, &mut Report::default());
            root = documents.into_iter().next().map(|document| document.root);
        }
        Self::from_sources(sources, root)
    }

    /// Creates a page from an embedded text, if it is one valid document.
    pub(super) fn from_embedded(text: &str) -> Option<Self> {
        let mut sources = Sources::default();
        let id = sources.add("", text);
        let mut report = Report::default();
        let mut documents = yaml::parse_allow_empty(&sources, id, &mut report).into_iter();
        let root = documents.next()?.root;
        let is_single_document = documents.next().is_none() && report.diagnostics().is_empty();
        is_single_document.then(|| Self::from_sources(sources, Some(root)))
    }

    fn from_sources(sources: Sources, root: Option<Node>) -> Self {
        let mut page = Self {
            sources,
            root,
            starts: Vec::new(),
            embedded: OnceLock::new(),
        };
        page.starts = page.field_starts();
        page
    }

    /// The embedded documents, and the whole document with them in place of their texts.
    fn embedded(&self) -> &(Vec<Embedded>, Option<Node>) {
        self.embedded.get_or_init(|| {
            let Some(root) = self.root() else {
                return (Vec::new(), None);
            };
            let found = find_embedded(
                root,
                |byte| self.line_at(byte),
                |line| self.line(line).to_owned(),
            );
            let replaced = replace_embedded(root, &found);
            (found, Some(replaced))
        })
    }

    /// The document with embedded documents in place of their texts.
    pub(super) fn with_embedded(&self) -> Option<&Node> {
        self.embedded().1.as_ref()
    }

    /// A part of the document, or of an embedded document.
    pub fn find(&self, path: &Path) -> Option<&Node> {
        let own_node = self.root().and_then(|root| path.find(root));
        own_node.or_else(|| path.find(self.with_embedded()?))
    }

    /// The path of the text that contains an embedded part; the part itself otherwise.
    pub(super) fn enclosing_path(&self, path: &Path) -> Path {
        match self.containing_document(path) {
            Some((embedded, _)) => embedded.path.clone(),
            None => path.clone(),
        }
    }

    /// The embedded document that contains a part, and the path in it.
    fn containing_document(&self, path: &Path) -> Option<(&Embedded, Path)> {
        let contains_path =
            |embedded: &&Embedded| path.is_below(&embedded.path) && *path != embedded.path;
        let embedded = self.embedded().0.iter().find(contains_path)?;
        Some((embedded, Path(path.0[embedded.path.0.len()..].to_vec())))
    }

    /// The leaves below a field; leaves of embedded documents only if the field is in one.
    pub(super) fn leaf_paths(&self, path: &Path) -> Vec<Path> {
        let is_here = self.root().is_some_and(|root| path.find(root).is_some());
        let root = if is_here {
            self.root()
        } else {
            self.with_embedded()
        };
        let mut leaves = Vec::new();
        if let Some(node) = root.and_then(|root| path.find(root)) {
            walk(node, &mut |below, node| {
                if is_leaf(node) {
                    leaves.push(Path([path.0.as_slice(), &below.0].concat()));
                }
            });
        }
        leaves
    }

    fn field_starts(&self) -> Vec<(usize, Path)> {
        let mut starts = Vec::new();
        let Some(root) = self.root() else {
            return starts;
        };
        walk(root, &mut |path, node| {
            let key = node.entries().iter().map(|entry| {
                let path = path.child(Step::Key(entry.key.clone()));
                (entry.key_span, path)
            });
            let items = node.items().iter().enumerate();
            let items = items.map(|(index, item)| (item.span(), path.child(Step::Index(index))));
            for (span, path) in key.chain(items) {
                starts.extend(self.line_at(span.start).map(|line| (line, path)));
            }
        });
        // On the same line, nested fields come later.
        starts.sort_by_key(|(line, path)| (*line, path.0.len()));
        starts
    }

    /// The document, if the file is one.
    pub fn root(&self) -> Option<&Node> {
        self.root.as_ref()
    }

    /// The number of lines.
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

    /// The first and the last line of a field, including its key.
    pub fn lines_of(&self, path: &Path) -> Option<(usize, usize)> {
        if let Some((one, rest)) = self.containing_document(path) {
            let (first, last) = one.document.lines_of(&rest)?;
            return Some((one.outer_line(first), one.outer_line(last)));
        }
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

    /// The field at a line: the last one that begins there, or else the one that continues there.
    pub fn field_at(&self, line: usize) -> Option<Path> {
        self.last_field_before(line).map(|(_, path)| path)
    }

    /// The fields that begin on a line, parents first.
    pub(super) fn fields_starting_on(&self, line: usize) -> Vec<Path> {
        for embedded in &self.embedded().0 {
            if let Some(inside) = embedded.inner_line(line) {
                let rest = embedded.document.fields_starting_on(inside).into_iter();
                let paths = rest.map(|rest| Path([embedded.path.0.as_slice(), &rest.0].concat()));
                return paths.collect();
            }
        }
        let own_fields = self.starts.iter().filter(|(first, _)| *first == line);
        own_fields.map(|(_, path)| path.clone()).collect()
    }

    /// The last field that begins on a line or before it, with its line.
    fn last_field_before(&self, line: usize) -> Option<(usize, Path)> {
        for embedded in &self.embedded().0 {
            let field = embedded
                .inner_line(line)
                .and_then(|inside| embedded.document.last_field_before(inside));
            if let Some((first, rest)) = field {
                let path = Path([embedded.path.0.as_slice(), &rest.0].concat());
                return Some((embedded.outer_line(first), path));
            }
        }
        let before = self.starts.partition_point(|(first, _)| *first <= line);
        self.starts.get(before.checked_sub(1)?).cloned()
    }

    /// The last byte of a part. A multi-line text ends before the next part.
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
    fn lines_and_fields_map_to_each_other() {
        let text = "# made\nspec:\n  a:\n  - name: x\n    text: |\n      one\n      two\n  b: 1\n";
        let page = IndexedDocument::new("a.yaml", text);
        let lines = |path: &str| page.lines_of(&Path::parse(path).unwrap());
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

    #[test]
    fn embedded_documents_have_fields_and_lines() {
        let text = "data:\n  a.yaml: |\n    # why\n    x:\n      y: 1\n    z: [2]\n  b.sh: |\n    set -e\n    echo: \
            x\n  c: 1\n";
        let page = IndexedDocument::new("a.yaml", text);
        let path = Path::parse(r#"data["a.yaml"].x.y"#).unwrap();
        assert_eq!(page.lines_of(&path), Some((5, 5)));
        assert_eq!(page.fields_starting_on(5), std::slice::from_ref(&path));
        assert_eq!(
            page.enclosing_path(&path),
            Path::parse(r#"data["a.yaml"]"#).unwrap()
        );
        assert!(page.find(&path).is_some());
        assert_eq!(page.fields_starting_on(3), [], "a comment is not a field");
        let script = Path::parse(r#"data["b.sh"]"#).unwrap();
        assert_eq!(page.field_at(9), Some(script.clone()));
        assert_eq!(page.leaf_paths(&script), [script]);
        assert_eq!(
            page.fields_starting_on(10),
            [Path::parse("data.c").unwrap()]
        );
        // A quoted text is on one line, but has fields.
        let page = IndexedDocument::new("a.yaml", r#"{"a": "x:\n  y: 1\n", "b": 1}"#);
        let path = Path::parse("a.x.y").unwrap();
        assert_eq!(page.lines_of(&path), Some((1, 1)));
        assert_eq!(page.leaf_paths(&Path::parse("a.x").unwrap()), [path]);
    }
}
