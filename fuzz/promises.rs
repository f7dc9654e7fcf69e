//! What holds for every input. The fuzz targets look for one that breaks it; `tests/compiler/fuzzed.rs` replays those
//! that were interesting.

use gpuc_compile::compile;
use gpuc_compile::compile::{Compilation, Options};
use gpuc_model::resolve::Choices;
use gpuc_syntax::diag::{Diagnostic, Levels, Report, render};
use gpuc_syntax::load;
use gpuc_syntax::load::MemoryFiles;
use gpuc_syntax::source::{Sources, Span};
use gpuc_syntax::yaml;

/// The name that the bytes are read under.
const FILE: &str = "gpu-cluster.yaml";

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
    let options = Options {
        registry: &gpuc::REGISTRY,
        levels: Levels::default(),
        today: None,
        choices: &choices,
    };
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
