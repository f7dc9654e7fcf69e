//! Functions that the compiler's tests share: compilation, and comparison with committed files.

pub(crate) mod examples;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use gpuc_compile::compile::{Compilation, Options, compile};
use gpuc_manifests::Manifests;
use gpuc_model::resolve::Choices;
use gpuc_syntax::diag::{Diagnostic, Levels, Report};
use gpuc_syntax::load::{self, MemoryFiles, World};
use gpuc_syntax::source::Sources;
use jiff::civil::{Date, date};

/// The date of the tests: findings about dated facts do not change with the clock.
pub(crate) const TODAY: Date = date(2026, 11, 23);

/// [`TODAY`] as `SOURCE_DATE_EPOCH`, for tests that start gpuc.
#[allow(dead_code, reason = "not every test binary starts gpuc")]
pub(crate) const SOURCE_DATE_EPOCH: (&str, &str) = ("SOURCE_DATE_EPOCH", "1795392000");

/// The result of compiling documents.
pub(crate) struct Outcome {
    /// The files that the compiler has read.
    pub(crate) sources: Sources,
    /// The compilation of each document.
    pub(crate) compilations: Vec<Compilation>,
    /// The diagnostics of all documents.
    pub(crate) findings: Vec<Diagnostic>,
}

impl Outcome {
    /// The codes of all findings, sorted by id, without duplicates.
    pub(crate) fn codes(&self) -> Vec<&'static str> {
        let mut codes: Vec<_> = self.findings.iter().map(|found| found.code.id).collect();
        codes.sort_unstable();
        codes.dedup();
        codes
    }

    /// The findings in text format.
    pub(crate) fn text(&self) -> String {
        use gpuc_syntax::diag::render::{Format, Options, render};
        render(
            Format::Text,
            &self.sources,
            &self.findings,
            Options::default(),
        )
    }

    /// Checks manifests (paths and texts) against the first cluster.
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

    /// Compares the first cluster with the output of `terraform show -json`.
    pub(crate) fn add_terraform(&mut self, text: &str) -> gpuc_contract::Compared {
        let mut report = Report::default();
        let declared = gpuc_contract::terraform::read(text).unwrap();
        let cluster = self.compilations[0].cluster.as_ref().unwrap();
        let compared = gpuc_contract::compare(cluster, &declared, &mut report);
        self.findings.append(report.diagnostics_mut());
        compared
    }

    /// The files of every cluster by `<cluster>/<path>`, without the lock files.
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

/// Compiles a text like `gpuc check gpu-cluster.yaml`. If the text has a manifest, the manifest is checked as with
/// `--manifests manifest.yaml`, and if it has the output of Terraform, as with `--against terraform.json`.
pub(crate) fn compile_text(text: &str) -> Outcome {
    if let Some((cluster, terraform)) = text.split_once(gpuc_syntax::diag::TERRAFORM_SEPARATOR) {
        let mut outcome = compile_text(cluster);
        outcome.add_terraform(terraform);
        return outcome;
    }
    let (cluster, manifest) = gpuc_syntax::diag::split_example(text);
    let world = MemoryFiles::with_file("gpu-cluster.yaml", cluster);
    let mut outcome = compile_files(&world, &["gpu-cluster.yaml"]);
    if let Some(manifest) = manifest {
        outcome.add_manifests(&[("manifest.yaml", manifest)]);
    }
    outcome
}

/// Compiles these files.
pub(crate) fn compile_files(world: &dyn World, paths: &[&str]) -> Outcome {
    let (mut sources, mut report) = (Sources::default(), Report::default());
    let loaded = load::load_all(world, paths, &mut sources, &mut report);
    let choices = |_: &str| Choices::default();
    let options = Options {
        registry: &gpuc::REGISTRY,
        levels: Levels::default(),
        today: Some(TODAY),
        choices: &choices,
    };
    let compilations: Vec<_> = loaded
        .into_iter()
        .map(|loaded| compile(loaded, &options))
        .collect();
    gpuc_compile::fleet::check(&compilations, &mut report);
    let document_reports = compilations.iter().map(|compilation| &compilation.report);
    let reports = std::iter::once(&report).chain(document_reports);
    let findings = reports.flat_map(|report| report.diagnostics().iter().cloned());
    Outcome {
        findings: findings.collect(),
        sources,
        compilations,
    }
}

/// The root folder of the repository.
pub(crate) fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap()
        .to_owned()
}

/// Returns whether the tests update committed files instead of comparing them (`UPDATE_EXPECT=1`).
pub(crate) fn updates_expectations() -> bool {
    std::env::var_os("UPDATE_EXPECT").is_some_and(|value| value == "1")
}

/// The contents of every file below a folder, by relative path with `/`.
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

/// Compares the committed files in `folder` with the expected ones, or updates them with `UPDATE_EXPECT=1`. `folder` is
/// a path in the repository. Other files in it are an error.
pub(crate) fn expect_files(folder: &str, expected: &BTreeMap<String, String>) {
    let root = repository().join(folder);
    let found = files_below(&root);
    let mut differing = Vec::new();
    for (path, text) in expected {
        if found.get(path) == Some(text) {
            continue;
        }
        differing.push(path.clone());
        if updates_expectations() {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
    }
    for path in found.keys().filter(|path| !expected.contains_key(*path)) {
        differing.push(path.clone());
        if updates_expectations() {
            fs::remove_file(root.join(path)).unwrap();
        }
    }
    if updates_expectations() {
        return;
    }
    let first = differing.iter().find_map(|path| {
        let empty = String::new();
        let committed = found.get(path).unwrap_or(&empty);
        let new = expected.get(path).unwrap_or(&empty);
        let diff = similar::TextDiff::from_lines(committed, new);
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

/// Compares a committed file with the expected contents, or updates it with `UPDATE_EXPECT=1`.
pub(crate) fn expect_file(path: &str, expected: &str) {
    let full = repository().join(path);
    let found = fs::read_to_string(&full).unwrap_or_default();
    if found == expected {
        return;
    }
    if updates_expectations() {
        fs::create_dir_all(full.parent().unwrap()).unwrap();
        fs::write(full, expected).unwrap();
        return;
    }
    let diff = similar::TextDiff::from_lines(found.as_str(), expected);
    panic!(
        "{path} is stale\n{}\nrun UPDATE_EXPECT=1 cargo test, then read the diff",
        diff.unified_diff()
            .context_radius(2)
            .header("committed", "expected")
    );
}
