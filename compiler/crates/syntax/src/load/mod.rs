//! Loads files into documents, each merged over its `base`.

pub mod codes;
mod limits;
mod merge;
mod path;
mod unions;
mod world;

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

pub use merge::merge;
pub use unions::UNIONS;
pub use world::{MemoryFiles, ReadError, STDIN, World};

use crate::diag::Report;
use crate::node::{Node, Value};
use crate::source::{Sources, Span};
use crate::yaml;
use crate::yaml::Document;
use crate::yaml::core_schema::CoreValue;

/// The maximum length of a chain of bases.
const MAX_CHAIN_LENGTH: usize = 16;

/// One document of a file, merged with its base.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The tree. Spans in it contain the source file.
    pub root: Node,
    /// The number of the document's source file.
    pub source: u32,
    /// The file name without folders, which differ between machines. `None` for standard input.
    pub file: Option<String>,
    /// Whether another document of the run has this file as its base.
    pub is_base: bool,
    /// The spans with placeholders for values that could not be read.
    pub poisoned: Vec<Span>,
}

impl Loaded {
    /// Renumbers the sources, for a run with other files before this document's.
    pub fn renumber(&mut self, by: u32) {
        self.root.renumber(by);
        self.source += by;
        for span in &mut self.poisoned {
            span.source += by;
        }
    }
}

/// Reads one file and its bases.
pub fn load(
    world: &dyn World,
    path: &str,
    sources: &mut Sources,
    report: &mut Report,
) -> Vec<Loaded> {
    load_all(world, &[path], sources, report)
}

/// Reads several files; a shared base is read once. A document with an unusable base is reported and skipped.
pub fn load_all(
    world: &dyn World,
    paths: &[&str],
    sources: &mut Sources,
    report: &mut Report,
) -> Vec<Loaded> {
    let mut loader = Loader {
        world,
        sources,
        report,
        files: BTreeMap::new(),
        bases: BTreeMap::new(),
    };
    let mut documents: Vec<_> = paths
        .iter()
        .flat_map(|path| loader.load_file(path))
        .collect();
    let bases = loader
        .bases
        .keys()
        .filter_map(|path| loader.sources.find(path));
    let bases: BTreeSet<u32> = bases.collect();
    for document in &mut documents {
        document.is_base = bases.contains(&document.source);
        document.poisoned = loader.report.poisoned().to_vec();
    }
    documents
}

/// The state of loading.
struct Loader<'a> {
    world: &'a dyn World,
    sources: &'a mut Sources,
    report: &'a mut Report,
    /// Files by path, or the reason why a file cannot be read.
    files: BTreeMap<String, Result<Rc<Vec<Document>>, String>>,
    /// Merged bases by path; `None` if that failed and was reported.
    bases: BTreeMap<String, Option<Rc<Node>>>,
}

/// A reference to a base: the file and the span of the reference.
#[derive(Clone)]
struct BaseReference {
    path: String,
    span: Span,
}

impl Loader<'_> {
    fn load_file(&mut self, path: &str) -> Vec<Loaded> {
        let path = path::normalize(path);
        let documents = match self.read_documents(&path) {
            Ok(documents) => documents,
            Err(reason) => {
                self.report
                    .diagnostic(&codes::FILE_UNUSABLE, Span::NONE, reason)
                    .emit();
                return Vec::new();
            }
        };
        let Some(source) = self.sources.find(&path) else {
            unreachable!("a file that was read is among the sources");
        };
        let load_document = |document: &Document| {
            let root = self.merge_with_base(document.root.clone(), &path, &mut Vec::new())?;
            Some(Loaded {
                root,
                source,
                file: (path != STDIN).then(|| path::file_name(&path).to_owned()),
                is_base: false,
                poisoned: Vec::new(),
            })
        };
        documents.iter().filter_map(load_document).collect()
    }

    fn read_documents(&mut self, path: &str) -> Result<Rc<Vec<Document>>, String> {
        if let Some(known) = self.files.get(path) {
            return known.clone();
        }
        let text = match self.world.read(path) {
            Ok(bytes) => yaml::read_text(path, &bytes),
            Err(ReadError::NotFound) => Err(format!("file `{path}` does not exist")),
            Err(ReadError::Other(reason)) => Err(format!("`{path}` cannot be read: {reason}")),
        };
        let documents = text.map(|text| {
            let id = self.sources.add(path, &text);
            let documents = yaml::parse(self.sources, id, self.report);
            Rc::new(limits::keep_within_limits(documents, self.report))
        });
        self.files.insert(path.to_owned(), documents.clone());
        documents
    }

    /// Merges a document of the file at `path` with its base. `chain` contains the referring files.
    fn merge_with_base(
        &mut self,
        mut root: Node,
        path: &str,
        chain: &mut Vec<BaseReference>,
    ) -> Option<Node> {
        let Some(reference) = base_reference(&root, path) else {
            merge::drop_removed(&mut root, self.report);
            return Some(root);
        };
        let first = chain.iter().find(|earlier| earlier.path == reference.path);
        if reference.path == path || first.is_some() || chain.len() >= MAX_CHAIN_LENGTH {
            let first = first.map_or(Span::NONE, |earlier| earlier.span);
            self.report_chain(path, &reference, first);
            return None;
        }
        if let Err(reason) = self.world.check_base(path, &reference.path) {
            return self.report_foreign(&reference, reason);
        }
        chain.push(reference.clone());
        let base = self.load_base(&reference, chain);
        chain.pop();
        let base = base?;
        Some(merge(&base, root, self.report))
    }

    /// The merged base of a document.
    fn load_base(
        &mut self,
        reference: &BaseReference,
        chain: &mut Vec<BaseReference>,
    ) -> Option<Rc<Node>> {
        if let Some(known) = self.bases.get(&reference.path) {
            return known.clone();
        }
        let found = match self.read_documents(&reference.path) {
            Err(reason) => return self.report_unusable(reference, reason),
            Ok(documents) => match documents.as_slice() {
                [document] if !matches!(document.root.value, Value::Mapping(_)) => {
                    let reason = format!("the base `{}` is not a mapping", reference.path);
                    return self.report_unusable(reference, reason);
                }
                [document] => self.merge_with_base(document.root.clone(), &reference.path, chain),
                // Empty and invalid files are already reported.
                [] => None,
                several => {
                    let count = several.len();
                    let reason = format!("the base `{}` has {count} documents", reference.path);
                    return self.report_unusable(reference, reason);
                }
            },
        };
        let found = found.map(Rc::new);
        self.bases.insert(reference.path.clone(), found.clone());
        found
    }

    fn report_unusable(&mut self, reference: &BaseReference, reason: String) -> Option<Rc<Node>> {
        self.report
            .diagnostic(&codes::FILE_UNUSABLE, reference.span, reason)
            .primary_label("referenced here")
            .help("set `base` to a file with one document, relative to this file")
            .emit();
        None
    }

    fn report_foreign(&mut self, reference: &BaseReference, reason: String) -> Option<Node> {
        self.report
            .diagnostic(&codes::FILE_UNUSABLE, reference.span, reason)
            .primary_label("referenced here")
            .help("move the base into the repository of this file")
            .emit();
        None
    }

    fn report_chain(&mut self, path: &str, reference: &BaseReference, first: Span) {
        let is_itself = reference.path == path;
        let message = if is_itself {
            format!("`{path}` is its own base")
        } else if first.is_written() {
            format!(
                "the bases of `{path}` and `{}` form a cycle",
                reference.path
            )
        } else {
            format!("the chain of bases has more than {MAX_CHAIN_LENGTH} files")
        };
        self.report
            .diagnostic(&codes::BASE_CYCLE, reference.span, message)
            .label(first, "the same file is first referenced here")
            .help(if is_itself {
                "name another file, or delete `base`"
            } else {
                "remove `base` from one of the files"
            })
            .emit();
    }
}

/// The base that a document in the file at `path` names. The decoder reports values that are not strings.
fn base_reference(root: &Node, path: &str) -> Option<BaseReference> {
    let base = root.get("base")?;
    let Value::Scalar(scalar) = &base.value else {
        return None;
    };
    let CoreValue::Text(text) = scalar.core_value() else {
        return None;
    };
    Some(BaseReference {
        path: path::resolve_relative(path, text),
        span: base.span(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diag::Diagnostic;
    use crate::source::Position;

    fn check(files: &[(&str, &str)]) -> (Vec<Loaded>, Vec<Diagnostic>, Sources) {
        let world: MemoryFiles = files.iter().copied().collect();
        let (mut sources, mut report) = (Sources::default(), Report::default());
        let loaded = load(&world, "a/main.yaml", &mut sources, &mut report);
        (loaded, report.diagnostics().to_vec(), sources)
    }

    fn json(node: &Node) -> String {
        serde_json::to_string(node).expect("a tree")
    }

    #[test]
    fn bases_merge_through_files_and_keep_their_spans() {
        let (loaded, found, sources) = check(&[
            (
                "a/main.yaml",
                "base: ../b/middle.yaml\nx: {one: 1}\n---\nx: 2\n",
            ),
            ("b/middle.yaml", "base: deep/../bottom.yaml\nx: {two: 2}\n"),
            ("b/bottom.yaml", "y: here\nx: {one: 0}\n"),
        ]);
        assert!(found.is_empty(), "{found:?}");
        assert_eq!(loaded.len(), 2);
        assert_eq!(
            json(&loaded[0].root),
            r#"{"y":"here","x":{"one":1,"two":2},"base":"../b/middle.yaml"}"#
        );
        let y = loaded[0].root.get("y").expect("a key").span();
        assert_eq!(
            sources.locate(y),
            Some(("b/bottom.yaml", Position { line: 1, column: 4 }))
        );
        assert_eq!(json(&loaded[1].root), r#"{"x":2}"#);
    }

    #[test]
    fn base_cycle_is_reported_with_both_spans() {
        let (loaded, found, sources) = check(&[
            ("a/main.yaml", "base: b.yaml\n"),
            ("a/b.yaml", "base: c.yaml\n"),
            ("a/c.yaml", "base: b.yaml\n"),
        ]);
        assert!(loaded.is_empty());
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].code.id, "GPUC0202");
        let path_of = |span| sources.locate(span).map(|(path, _)| path);
        assert_eq!(path_of(found[0].primary.span), Some("a/c.yaml"));
        assert_eq!(path_of(found[0].labels[0].span), Some("a/main.yaml"));

        let names: Vec<(String, String)> = (0..20)
            .map(|number| {
                (
                    format!("a/{number}.yaml"),
                    format!("base: {}.yaml\n", number + 1),
                )
            })
            .collect();
        let mut files: Vec<(&str, &str)> = vec![("a/main.yaml", "base: 0.yaml\n")];
        files.extend(
            names
                .iter()
                .map(|(path, text)| (path.as_str(), text.as_str())),
        );
        let (_, found, _) = check(&files);
        assert_eq!(
            found[0].message,
            "the chain of bases has more than 16 files"
        );
    }

    #[test]
    fn unusable_files_are_reported_at_their_reference() {
        let (_, found, _) = check(&[("a/main.yaml", "base: none.yaml\n")]);
        assert_eq!(found[0].message, "file `a/none.yaml` does not exist");
        let (_, found, _) = check(&[]);
        assert_eq!(found[0].message, "file `a/main.yaml` does not exist");
        let two = [
            ("a/main.yaml", "base: two.yaml\n"),
            ("a/two.yaml", "a: 1\n---\nb: 1\n"),
        ];
        assert_eq!(
            check(&two).1[0].message,
            "the base `a/two.yaml` has 2 documents"
        );
        let broken = [
            ("a/main.yaml", "base: b.yaml\n---\nbase: b.yaml\n"),
            ("a/b.yaml", "a: [\n"),
        ];
        assert_eq!(check(&broken).1.len(), 1, "a broken base is reported once");

        let mut world = MemoryFiles::default();
        world.insert("a/main.yaml", b"a: 1\nb: \xff\n");
        let (mut sources, mut report) = (Sources::default(), Report::default());
        load(&world, "a/main.yaml", &mut sources, &mut report);
        assert_eq!(
            report.diagnostics()[0].message,
            "`a/main.yaml` is not UTF-8 text: byte 8 (on line 2) is 0xff"
        );
    }
}
