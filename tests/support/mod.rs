//! What tests share: compiling a text, the repository's folders, comparing and blessing files.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use gpuc_compile::compile::{Compilation, Options, compile};
use gpuc_manifests::Manifests;
use gpuc_model::resolve::Choices;
use gpuc_syntax::diag::{Diagnostic, Levels, Report};
use gpuc_syntax::load::{self, MemoryFiles, World};
use gpuc_syntax::source::Sources;

/// What became of some documents.
pub(crate) struct Outcome {
    /// The files that were read.
    pub(crate) sources: Sources,
    /// One for each document.
    pub(crate) compilations: Vec<Compilation>,
    /// Everything there was to say.
    pub(crate) findings: Vec<Diagnostic>,
}

impl Outcome {
    /// The codes of all findings, each once, by id.
    pub(crate) fn codes(&self) -> Vec<&'static str> {
        let mut codes: Vec<_> = self.findings.iter().map(|found| found.code.id).collect();
        codes.sort_unstable();
        codes.dedup();
        codes
    }

    /// The findings as people read them.
    pub(crate) fn text(&self) -> String {
        use gpuc_syntax::diag::render::{Format, Options, render};
        render(
            Format::Text,
            &self.sources,
            &self.findings,
            Options::default(),
        )
    }

    /// Holds manifests, paths and texts, against the one cluster.
    pub(crate) fn add_manifests(&mut self, files: &[(&str, &str)]) -> Manifests {
        let (mut manifests, mut report) = (Manifests::default(), Report::default());
        for (path, text) in files {
            manifests.read(path, text, &mut self.sources, &mut report);
        }
        let cluster = self.compilations[0].cluster.as_ref().unwrap();
        gpuc_manifests::check(cluster, &manifests, &self.sources, &mut report);
        gpuc_syntax::diag::apply_levels(
            report.diagnostics_mut(),
            &[],
            &gpuc_syntax::diag::Levels::default(),
        );
        self.findings.append(report.diagnostics_mut());
        manifests
    }

    /// The files of every cluster, by cluster and path; without the locks, which hold the digests of the others.
    pub(crate) fn files(&self) -> BTreeMap<String, String> {
        let mut files = BTreeMap::new();
        for compilation in &self.compilations {
            let Some((tree, _)) = &compilation.output else {
                continue;
            };
            let name = &compilation.config.as_ref().unwrap().metadata.name.value;
            for (path, file) in tree.files() {
                files.insert(format!("{name}/{path}"), file.contents.clone());
            }
        }
        files
    }
}

/// Compiles one text as `gpuc check gpu-cluster.yaml` would; where it has a manifest, as with
/// `--manifests manifest.yaml`.
pub(crate) fn compile_text(text: &str) -> Outcome {
    let (cluster, manifest) = gpuc_syntax::diag::split_example(text);
    let world = MemoryFiles::with_file("gpu-cluster.yaml", cluster);
    let mut outcome = compile_files(&world, &["gpu-cluster.yaml"]);
    if let Some(manifest) = manifest {
        outcome.add_manifests(&[("manifest.yaml", manifest)]);
    }
    outcome
}

/// Compiles files of a world.
pub(crate) fn compile_files(world: &dyn World, paths: &[&str]) -> Outcome {
    let (mut sources, mut report) = (Sources::default(), Report::default());
    let loaded = load::load_all(world, paths, &mut sources, &mut report);
    let choices = |_: &str| Choices::default();
    let options = Options {
        registry: &gpuc::REGISTRY,
        levels: Levels::default(),
        choices: &choices,
    };
    let compilations: Vec<_> = loaded
        .into_iter()
        .map(|one| compile(one, &options))
        .collect();
    gpuc_compile::fleet::check(&compilations, &mut report);
    let of_documents = compilations.iter().map(|one| &one.report);
    let reports = std::iter::once(&report).chain(of_documents);
    let findings = reports.flat_map(|report| report.diagnostics().iter().cloned());
    Outcome {
        findings: findings.collect(),
        sources,
        compilations,
    }
}

/// The repository.
pub(crate) fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap()
        .to_owned()
}

/// Whether files are to be updated instead of compared.
pub(crate) fn blessing() -> bool {
    std::env::var_os("UPDATE_EXPECT").is_some_and(|value| value == "1")
}

/// Every file below a folder, by its path from there, with `/`.
pub(crate) fn files_below(folder: &Path) -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(current) = folders.pop() {
        for entry in fs::read_dir(&current).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(folder).unwrap().to_str().unwrap();
                let name = name.replace(std::path::MAIN_SEPARATOR, "/");
                files.insert(name, fs::read_to_string(&path).unwrap());
            }
        }
    }
    files
}

/// Holds committed files against what they ought to be; with `UPDATE_EXPECT=1` makes them so. `folder` is a path in the
/// repository, and everything below it belongs to the expectation.
pub(crate) fn expect_files(folder: &str, wanted: &BTreeMap<String, String>) {
    let root = repository().join(folder);
    let found = files_below(&root);
    let mut differing = Vec::new();
    for (path, text) in wanted {
        if found.get(path) == Some(text) {
            continue;
        }
        differing.push(path.clone());
        if blessing() {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
    }
    for path in found.keys().filter(|path| !wanted.contains_key(*path)) {
        differing.push(path.clone());
        if blessing() {
            fs::remove_file(root.join(path)).unwrap();
        }
    }
    if blessing() {
        return;
    }
    let first = differing.iter().find_map(|path| {
        let empty = String::new();
        let was = found.get(path).unwrap_or(&empty);
        let is = wanted.get(path).unwrap_or(&empty);
        let diff = similar::TextDiff::from_lines(was, is);
        let mut unified = diff.unified_diff();
        let text = unified.context_radius(2).header(path, path).to_string();
        (!text.is_empty()).then_some(text)
    });
    assert!(
        differing.is_empty(),
        "{} files in {folder} are stale: {}\n{}\nrun UPDATE_EXPECT=1 cargo test, then read the diff",
        differing.len(),
        differing.join(", "),
        first.unwrap_or_default(),
    );
}

/// Holds one committed file against what it ought to be.
pub(crate) fn expect_file(path: &str, wanted: &str) {
    let full = repository().join(path);
    let found = fs::read_to_string(&full).unwrap_or_default();
    if found == wanted {
        return;
    }
    if blessing() {
        fs::create_dir_all(full.parent().unwrap()).unwrap();
        fs::write(full, wanted).unwrap();
        return;
    }
    let diff = similar::TextDiff::from_lines(found.as_str(), wanted);
    panic!(
        "{path} is stale\n{}\nrun UPDATE_EXPECT=1 cargo test, then read the diff",
        diff.unified_diff()
            .context_radius(2)
            .header("committed", "wanted")
    );
}
