//! With `mirror`, no generated file pulls an image or a chart from another registry, and the lock lists where each image
//! comes from.

use std::collections::BTreeSet;
use std::fs;
use std::sync::LazyLock;

use gpuc_compile::charts::images::release_images;
use gpuc_syntax::load::{ReadError, World};
use regex::Regex;

use crate::support::examples::examples;
use crate::support::{Outcome, compile_files, files_below, repository};

const IMAGES: &str = "registry.mirror.test/images";
const CHARTS: &str = "oci://registry.mirror.test/charts";

/// The repository, with a mirror in every cluster file that is not a base.
struct Mirrored;

impl World for Mirrored {
    fn read(&self, path: &str) -> Result<Vec<u8>, ReadError> {
        let text = fs::read_to_string(repository().join(path));
        let text = text.map_err(|error| ReadError::Other(error.to_string()))?;
        let documents = text.split("\n---\n").map(|document| {
            let lines = document.lines();
            let lines = lines.filter(|line| !line.starts_with("mirror:"));
            let document: Vec<_> = lines.collect();
            format!(
                "{}\nmirror: {{images: {IMAGES}, charts: \"{CHARTS}\"}}\n",
                document.join("\n")
            )
        });
        let documents: Vec<_> = documents.collect();
        Ok(documents.join("---\n").into_bytes())
    }
}

struct Case {
    name: String,
    /// The files as the user wrote them.
    input: String,
    outcome: Outcome,
}

/// Every example and every cluster of `rich/`.
fn cases() -> &'static [Case] {
    static CASES: LazyLock<Vec<Case>> = LazyLock::new(|| {
        let rich = files_below(&repository().join("tests/compiler/rich"));
        let rich = rich
            .into_keys()
            .map(|name| (name.clone(), vec![format!("tests/compiler/rich/{name}")]));
        let all = examples().into_iter().chain(rich);
        all.map(|(name, paths)| {
            let paths: Vec<_> = paths.iter().map(String::as_str).collect();
            let texts = paths
                .iter()
                .map(|path| fs::read_to_string(repository().join(path)).unwrap());
            Case {
                name,
                input: texts.collect(),
                outcome: compile_files(&Mirrored, &paths),
            }
        })
        .collect()
    });
    &CASES
}

/// References that no node pulls, with the reason.
const EXCEPTIONS: &[(&str, &str)] = &[(
    "registry.example.com/your-image:1.0.0",
    "a README shows how to use claims, and the user writes the image",
)];

/// Hosts of public registries. A path below another host is an image only with a tag or a digest.
const REGISTRIES: &str = r"([a-z0-9-]+\.)*(docker\.io|nvcr\.io|gcr\.io|ghcr\.io|quay\.io|registry\.k8s\.io|pkg\.dev|public\.ecr\.aws|azurecr\.io|mcr\.microsoft\.com|dkr\.ecr\.[a-z0-9-]+\.amazonaws\.com)";

/// The references to images outside the mirror in a text.
fn foreign_images(text: &str) -> BTreeSet<String> {
    static REFERENCE: LazyLock<Regex> = LazyLock::new(|| {
        let word = "[A-Za-z0-9_.-]+";
        let known = format!(r"{REGISTRIES}/{word}(/{word})*(:{word})?(@sha256:[0-9a-f]+)?");
        let tagged = format!(
            r"[a-z0-9-]+(\.[a-z0-9-]+)+(:[0-9]+)?/{word}(/{word})*(:v?[0-9]{word}|@sha256:[0-9a-f]+)"
        );
        Regex::new(&format!("(^|[^A-Za-z0-9._/-])(?<image>{known}|{tagged})")).unwrap()
    });
    let found = REFERENCE
        .captures_iter(text)
        .map(|found| found["image"].to_owned());
    found
        .filter(|image| {
            !image.starts_with(IMAGES) && EXCEPTIONS.iter().all(|(name, _)| name != image)
        })
        .collect()
}

#[test]
fn no_file_pulls_from_another_registry() {
    let mut problems = BTreeSet::new();
    for case in cases() {
        for (path, text) in case.outcome.files() {
            for image in foreign_images(&text) {
                if !case.input.contains(&image) {
                    problems.insert(format!("{}: {path}: {image}", case.name));
                }
            }
        }
    }
    assert!(problems.is_empty(), "{problems:#?}");
}

#[test]
fn charts_run_images_of_the_mirror() {
    let mut problems = BTreeSet::new();
    for case in cases() {
        for compilation in &case.outcome.compilations {
            let plan = compilation.plan.as_ref();
            let Some(plan) = plan else {
                assert!(
                    compilation.loaded.is_base,
                    "{}:\n{}",
                    case.name,
                    case.outcome.text()
                );
                continue;
            };
            for release in &plan.releases {
                assert_eq!(
                    release.repository, CHARTS,
                    "{}: {}",
                    case.name, release.name
                );
                for image in release_images(release) {
                    if !image.starts_with(IMAGES) && !case.input.contains(&image) {
                        problems.insert(format!("{}: {}: {image}", case.name, release.name));
                    }
                }
            }
        }
    }
    assert!(problems.is_empty(), "{problems:#?}");
}
