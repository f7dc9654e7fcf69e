//! The generated trees of the examples match the committed ones.

mod plan;

use std::collections::BTreeMap;
use std::fs;
use std::sync::LazyLock;

use gpuc_syntax::load::{ReadError, World};

use crate::support::{Outcome, compile_files, expect_files, repository};

/// The examples with committed trees: one for each cloud, and a fleet.
const COMMITTED_EXAMPLES: &[&str] = &[
    "aks-t4",
    "eks-training-h100",
    "fleet",
    "gke-inference-l4",
    "on-prem-dgx",
];

struct ExampleFiles;

impl World for ExampleFiles {
    fn read(&self, path: &str) -> Result<Vec<u8>, ReadError> {
        let path = repository().join(path);
        fs::read(path).map_err(|error| ReadError::Other(error.to_string()))
    }
}

/// Every example by name, with the files of its clusters.
pub(crate) fn examples() -> BTreeMap<String, Vec<String>> {
    let mut examples: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let files = crate::support::files_below(&repository().join("examples"));
    for path in files
        .keys()
        .filter(|path| path.ends_with("gpu-cluster.yaml"))
    {
        let name = path.split('/').next().unwrap();
        let full = format!("examples/{path}");
        examples.entry(name.to_owned()).or_default().push(full);
    }
    examples
}

/// Every example by name, compiled once for all tests.
pub(crate) fn compiled_examples() -> &'static BTreeMap<String, Outcome> {
    static OUTCOMES: LazyLock<BTreeMap<String, Outcome>> = LazyLock::new(|| {
        let examples = examples().into_iter();
        let outcomes = examples.map(|(name, paths)| {
            let outcome = compile_example(&paths);
            (name, outcome)
        });
        outcomes.collect()
    });
    &OUTCOMES
}

/// Every cluster of `tests/compiler/rich/` by the name of its file, compiled once for all tests.
pub(crate) fn compiled_rich() -> &'static BTreeMap<String, Outcome> {
    static OUTCOMES: LazyLock<BTreeMap<String, Outcome>> = LazyLock::new(|| {
        let folder = "tests/compiler/rich";
        let files = crate::support::files_below(&repository().join(folder));
        let outcomes = files.into_keys().map(|name| {
            let outcome = compile_example(&[format!("{folder}/{name}")]);
            (name, outcome)
        });
        outcomes.collect()
    });
    &OUTCOMES
}

/// Compiles an example, without files that are only bases of others.
pub(crate) fn compile_example(paths: &[String]) -> Outcome {
    let paths: Vec<_> = paths.iter().map(String::as_str).collect();
    let mut outcome = compile_files(&ExampleFiles, &paths);
    let bases: Vec<_> = outcome
        .compilations
        .iter()
        .filter(|one| one.loaded.is_base)
        .map(|one| one.loaded.source)
        .collect();
    outcome.compilations.retain(|one| !one.loaded.is_base);
    outcome
        .findings
        .retain(|found| !bases.contains(&found.primary.span.source));
    outcome
}

#[test]
fn examples_build_without_findings() {
    for (name, outcome) in compiled_examples() {
        assert!(outcome.findings.is_empty(), "{name}:\n{}", outcome.text());
        assert!(!outcome.files().is_empty(), "{name} makes nothing");
    }
}

#[test]
fn committed_trees_are_current() {
    let mut wanted = BTreeMap::new();
    let examples = compiled_examples();
    for name in COMMITTED_EXAMPLES {
        let outcome = examples.get(*name);
        let outcome = outcome.unwrap_or_else(|| panic!("there is no example {name}"));
        for (path, contents) in outcome.files() {
            wanted.insert(format!("{name}/{path}"), contents);
        }
    }
    expect_files("golden/build", &wanted);
}

/// The configuration of Flux and Argo CD, and its readers: all files of these examples but the scripts.
#[test]
fn gitops_objects_are_current() {
    let mut wanted = BTreeMap::new();
    let examples = compiled_examples();
    for name in ["aks-argocd", "eks-flux"] {
        let files = examples[name].files();
        let files = files
            .into_iter()
            .filter(|(path, _)| !path.contains("/cloud/"));
        wanted.extend(files);
    }
    expect_files("golden/gitops", &wanted);
}

/// Plans of the examples whose trees are not committed, and of the clusters with every setting.
#[test]
fn plans_are_up_to_date() {
    let examples = compiled_examples().iter();
    let examples = examples
        .filter(|(name, _)| !COMMITTED_EXAMPLES.contains(&name.as_str()))
        .map(|(name, outcome)| (format!("{name}.yaml"), outcome));
    let rich = compiled_rich().iter();
    let rich = rich.map(|(name, outcome)| (format!("rich/{name}"), outcome));
    let plans = examples.chain(rich).map(|(path, outcome)| {
        let plans = outcome.compilations.iter().map(|one| {
            let plan = one.plan.as_ref();
            plan::render(
                plan.unwrap_or_else(|| panic!("{path} does not build:\n{}", outcome.text())),
            )
        });
        let text = plans.collect::<Vec<_>>().join("---\n");
        for document in text.split("---\n") {
            let parsed: Result<serde_yaml::Value, _> = serde_yaml::from_str(document);
            assert!(parsed.is_ok(), "{path}: {parsed:?}");
        }
        (path, text)
    });
    expect_files("golden/plan", &plans.collect());
}
