//! The clusters of `examples/` and `tests/compiler/rich/`, compiled once for all tests of a binary.

use std::collections::BTreeMap;
use std::fs;
use std::sync::LazyLock;

use gpuc_syntax::load::{ReadError, World};

use super::{Outcome, compile_files, files_below, repository};

struct ExampleFiles;

impl World for ExampleFiles {
    fn read(&self, path: &str) -> Result<Vec<u8>, ReadError> {
        let path = repository().join(path);
        fs::read(path).map_err(|error| ReadError::Other(error.to_string()))
    }
}

/// The cluster files of every example, by the example's name.
pub(crate) fn examples() -> BTreeMap<String, Vec<String>> {
    let mut examples: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let files = files_below(&repository().join("examples"));
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

/// Every compiled example, by name.
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

/// Every compiled cluster of `tests/compiler/rich/`, by the name of its file.
pub(crate) fn compiled_rich() -> &'static BTreeMap<String, Outcome> {
    static OUTCOMES: LazyLock<BTreeMap<String, Outcome>> = LazyLock::new(|| {
        let folder = "tests/compiler/rich";
        let files = files_below(&repository().join(folder));
        let outcomes = files.into_keys().map(|name| {
            let outcome = compile_example(&[format!("{folder}/{name}")]);
            (name, outcome)
        });
        outcomes.collect()
    });
    &OUTCOMES
}

/// Compiles an example. Omits files that are only bases of others.
pub(crate) fn compile_example(paths: &[String]) -> Outcome {
    let paths: Vec<_> = paths.iter().map(String::as_str).collect();
    let mut outcome = compile_files(&ExampleFiles, &paths);
    let bases: Vec<_> = outcome
        .compilations
        .iter()
        .filter(|compilation| compilation.loaded.is_base)
        .map(|compilation| compilation.loaded.source)
        .collect();
    outcome
        .compilations
        .retain(|compilation| !compilation.loaded.is_base);
    outcome
        .findings
        .retain(|finding| !bases.contains(&finding.primary.span.source));
    outcome
}
