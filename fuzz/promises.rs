//! What holds for every input. The fuzz targets look for one that breaks it; `tests/compiler/fuzzed.rs` replays those
//! that were interesting.

use std::sync::LazyLock;

use gpuc_compile::compile;
use gpuc_compile::compile::{Compilation, Options};
use gpuc_compile::lock::LOCK_FILE;
use gpuc_diff::diff::{self, Pair};
use gpuc_diff::why::{self, Index, Query, QueryTarget};
use gpuc_manifests::Manifests;
use gpuc_model::resolve::Choices;
use gpuc_syntax::diag::{Applicability, Diagnostic, Levels, Report, render};
use gpuc_syntax::load;
use gpuc_syntax::load::MemoryFiles;
use gpuc_syntax::source::{Sources, Span};
use gpuc_syntax::yaml;

/// The name that the bytes are read under.
const FILE: &str = "gpu-cluster.yaml";

/// The name that manifests are read under.
const MANIFEST: &str = "apps.yaml";

/// The cluster for manifests.
const CLUSTER: &str = include_str!("../tests/compiler/manifests/clusters/lab.yaml");

/// The separator of the two versions of a file, and of a file and a question about its tree.
const SEPARATOR: &str = "\n#####\n";

/// Bytes are read as YAML, or there is a finding that says why not; what was read is written and read again the same.
pub(crate) fn parse(bytes: &[u8]) {
    let Ok(text) = yaml::read_text(FILE, bytes) else {
        return;
    };
    let (mut sources, mut report) = (Sources::default(), Report::default());
    let source = sources.add(FILE, &text);
    let documents = yaml::parse(&sources, source, &mut report);
    let found = report.diagnostics();
    assert!(
        !documents.is_empty() || !found.is_empty(),
        "nothing, and nothing said"
    );
    check_findings(&sources, found);
    if found.is_empty() {
        for document in documents {
            let written = yaml::to_yaml(&document.root);
            // Whole numbers beyond 64 bits are no JSON.
            if let Ok(meant) = serde_json::to_value(&document.root) {
                assert_eq!(read_again(&written), meant, "written as\n{written}");
            }
        }
    }
}

/// A document builds, or there is an error; never both, never neither. Every YAML file of a tree is YAML to another
/// reader, and what is printed of the findings is the same twice.
pub(crate) fn compile(bytes: &[u8]) {
    let mut world = MemoryFiles::default();
    world.insert(FILE, bytes);
    let (mut sources, mut report) = (Sources::default(), Report::default());
    let loaded = load::load_all(&world, &[FILE], &mut sources, &mut report);
    let nothing = loaded.is_empty();
    assert!(
        !nothing || !report.diagnostics().is_empty(),
        "nothing, and nothing said"
    );
    let choices = |_: &str| Choices::default();
    let options = options(&choices);
    let compiled = loaded
        .into_iter()
        .map(|one| compile::compile(one, &options));
    let compilations: Vec<Compilation> = compiled.collect();
    gpuc_compile::fleet::check(&compilations, &mut report);
    let mut findings = report.diagnostics().to_vec();
    for compilation in &compilations {
        check_compilation(compilation);
        findings.extend(compilation.report.diagnostics().iter().cloned());
    }
    check_findings(&sources, &findings);
}

/// Manifests are checked, or skipped for a reason. Findings have places in the manifest or in the cluster's file.
pub(crate) fn manifests(bytes: &[u8]) {
    let Ok(text) = yaml::read_text(MANIFEST, bytes) else {
        return;
    };
    let (cluster, sources) = &*LAB;
    let (mut sources, mut report) = (sources.clone(), Report::default());
    let mut manifests = Manifests::default();
    manifests.read(MANIFEST, &text, &mut sources, &mut report);
    let cluster = cluster.cluster.as_ref().expect("the cluster is valid");
    gpuc_manifests::check(cluster, &manifests, &sources, &mut report);
    check_findings(&sources, report.diagnostics());
}

/// Fixes leave a text valid YAML with as many documents and comments, and a second run changes nothing.
pub(crate) fn fix(bytes: &[u8]) {
    let Ok(text) = yaml::read_text(MANIFEST, bytes) else {
        return;
    };
    for applicability in [Applicability::Safe, Applicability::Unsafe] {
        let fixed = apply_fixes(&text, applicability);
        let (before, after) = (read_documents(&text), read_documents(&fixed));
        if fixed != text {
            assert_eq!(
                before.1, after.1,
                "YAML errors, before\n{text}\nand after\n{fixed}"
            );
            assert_eq!(
                before.0, after.0,
                "documents, before\n{text}\nand after\n{fixed}"
            );
            let comments = |text: &str| text.matches(" # ").count();
            assert!(
                comments(&fixed) >= comments(&text),
                "a comment is lost in\n{fixed}"
            );
        }
        assert_eq!(apply_fixes(&fixed, applicability), fixed, "fixed again");
    }
}

fn apply_fixes(text: &str, applicability: Applicability) -> String {
    let (compilation, sources) = &*LAB;
    let cluster = compilation.cluster.as_ref().expect("the cluster is valid");
    let files = [(MANIFEST.to_owned(), text.to_owned(), true)];
    let fixed = gpuc_manifests::fix_files(cluster, sources, &files, applicability, &|_| {});
    fixed
        .files
        .get(MANIFEST)
        .cloned()
        .unwrap_or_else(|| text.to_owned())
}

/// The numbers of documents and of syntax errors.
fn read_documents(text: &str) -> (usize, usize) {
    let (mut sources, mut report) = (Sources::default(), Report::default());
    let source = sources.add(MANIFEST, text);
    let documents = yaml::parse_allow_empty(&sources, source, &mut report);
    let mut found = report.diagnostics().iter();
    let errors = found
        .by_ref()
        .filter(|it| it.code.id == yaml::codes::YAML_SYNTAX.id);
    (documents.len(), errors.count())
}

/// A version has no differences from itself. The differences between two versions can be printed, and turn the files of
/// the first one into those of the second one.
pub(crate) fn diff(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let (before, after) = text.split_once(SEPARATOR).unwrap_or((&text, &text));
    let Some((before, _)) = compile_one(before) else {
        return;
    };
    let Some((after, sources)) = compile_one(after) else {
        return;
    };
    let choices = |_: &str| Choices::default();
    let options = options(&choices);
    let differences = |before, after| {
        let pair = Pair {
            before: Some(before),
            after: Some(after),
            committed: None,
            lock: None,
        };
        diff::diff(pair, &options, &sources)
    };
    let same = differences(&after, &after).expect("both are built");
    assert!(same.is_empty(), "a version differs from itself");
    let Some(found) = differences(&before, &after) else {
        return;
    };
    for file in &found.files {
        let contents = |compilation: &Compilation| {
            let (tree, lock) = compilation.output.as_ref().expect("it is built");
            let mut files = tree.files();
            match files.find(|(path, _)| *path == file.path) {
                Some((_, file)) => file.contents.clone(),
                None if file.path == LOCK_FILE => lock.to_json(),
                None => String::new(),
            }
        };
        let made = diff::apply_hunks(&contents(&before), &file.hunks);
        assert_eq!(made, Some(contents(&after)), "{}", file.path);
    }
}

/// Every question about a tree has an answer or an error.
pub(crate) fn why(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let (file, question) = text.split_once(SEPARATOR).unwrap_or((CLUSTER, &text));
    let Some((compilation, _)) = compile_one(file) else {
        return;
    };
    let Some(index) = Index::new(&compilation) else {
        return;
    };
    let indexes = [index];
    let Ok(query) = Query::parse(question.trim(), &|_| false) else {
        return;
    };
    if let Ok(resolved) = why::resolve(&query, &indexes, "out") {
        let explanation = why::explain(&indexes[0], &resolved, &[]);
        let (first, last) = explanation.lines;
        let lines = resolved.document.line_count();
        assert!(
            first <= last && last <= lines.max(1),
            "lines {first} to {last} of {lines}"
        );
        let has_parts = !explanation.parts.is_empty();
        assert!(
            has_parts || resolved.target != QueryTarget::File,
            "a file without parts"
        );
    }
}

/// The compiled cluster for manifests.
static LAB: LazyLock<(Compilation, Sources)> =
    LazyLock::new(|| compile_one(CLUSTER).expect("the cluster is valid"));

fn options(choices: &(dyn Fn(&str) -> Choices + Sync)) -> Options<'_> {
    Options {
        registry: &gpuc::REGISTRY,
        levels: Levels::default(),
        today: None,
        choices,
    }
}

/// A file with one document that builds.
fn compile_one(text: &str) -> Option<(Compilation, Sources)> {
    let world = MemoryFiles::with_file(FILE, text);
    let (mut sources, mut report) = (Sources::default(), Report::default());
    let loaded = load::load_all(&world, &[FILE], &mut sources, &mut report);
    let choices = |_: &str| Choices::default();
    let mut documents = loaded.into_iter();
    let compilation = compile::compile(documents.next()?, &options(&choices));
    let is_alone = documents.next().is_none() && !report.has_errors();
    (is_alone && compilation.output.is_some()).then_some((compilation, sources))
}

fn check_compilation(compilation: &Compilation) {
    let poisoned = !compilation.loaded.poisoned.is_empty();
    match &compilation.output {
        None => assert!(
            compilation.report.has_errors() || poisoned,
            "no output, and no error"
        ),
        Some((tree, lock)) => {
            assert!(!compilation.report.has_errors(), "an error, and output");
            assert!(
                lock.files
                    .keys()
                    .all(|path| gpuc_compile::lock::is_valid_path(path))
            );
            for (path, file) in tree.files() {
                if path
                    .rsplit_once('.')
                    .is_some_and(|(_, kind)| kind == "yaml")
                {
                    read_again(&file.contents);
                }
            }
        }
    }
}

/// Places lie in their files, between characters; all formats can be printed.
fn check_findings(sources: &Sources, findings: &[Diagnostic]) {
    for found in findings {
        check_span(sources, found.primary.span);
        for label in &found.labels {
            check_span(sources, label.span);
        }
        for edit in found.fix.iter().flat_map(|fix| &fix.edits) {
            check_span(sources, edit.span);
            assert!(edit.span.is_written(), "an edit of nothing");
        }
    }
    for format in [
        render::Format::Text,
        render::Format::Json,
        render::Format::Sarif,
        render::Format::Github,
        render::Format::Markdown,
    ] {
        render::render(format, sources, findings, render::Options::default());
    }
}

fn check_span(sources: &Sources, span: Span) {
    if !span.is_written() {
        return;
    }
    let source = sources.get(span.source);
    let text = source.map_or("", |source| source.text());
    let (start, end) = (span.start as usize, span.end as usize);
    assert!(
        text.get(start..end).is_some(),
        "{span:?} is not in a text of {} bytes",
        text.len()
    );
}

fn read_again(text: &str) -> serde_json::Value {
    serde_yaml::from_str(text).unwrap_or_else(|error| panic!("{error} in\n{text}"))
}
