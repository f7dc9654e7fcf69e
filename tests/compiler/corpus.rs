//! What is held against the real thing: every example, every repaired example of a code, and a few clusters that use
//! every setting there is.

use std::fs;
use std::sync::LazyLock;

use gpuc::compile::Compilation;
use gpuc::lock::Lock;
use gpuc::model::Cluster;
use gpuc::plan::Plan;
use gpuc::tree::Tree;

use crate::golden::{compile_example, examples};
use crate::support::{Outcome, compile_text, repository};

/// A cluster that compiles.
pub(crate) struct Case {
    /// Where it comes from, for messages.
    pub(crate) name: String,
    compilation: Compilation,
}

impl Case {
    /// Everything that is known of it.
    pub(crate) fn compilation(&self) -> &Compilation {
        &self.compilation
    }

    /// What to do.
    pub(crate) fn plan(&self) -> &Plan {
        self.compilation.plan.as_ref().unwrap()
    }

    /// What gpuc understands of it.
    pub(crate) fn cluster(&self) -> &Cluster {
        self.compilation.cluster.as_ref().unwrap()
    }

    /// The files.
    pub(crate) fn tree(&self) -> &Tree {
        let (tree, _): &(Tree, Lock) = self.compilation.output.as_ref().unwrap();
        tree
    }
}

/// Every cluster there is to look at.
pub(crate) fn cases() -> &'static [Case] {
    static CASES: LazyLock<Vec<Case>> = LazyLock::new(|| {
        let examples = examples()
            .into_iter()
            .map(|(name, paths)| (format!("examples/{name}"), compile_example(&paths)));
        let rich = rich().into_iter().map(|path| {
            let outcome = compile_example(std::slice::from_ref(&path));
            (path, outcome)
        });
        let repaired = gpuc::codes()
            .into_iter()
            .map(|code| (code.id.to_owned(), compile_text(code.good)));
        let all = examples.chain(rich).chain(repaired);
        all.flat_map(|(name, outcome)| cases_of(&name, outcome))
            .collect()
    });
    &CASES
}

fn cases_of(name: &str, outcome: Outcome) -> Vec<Case> {
    let text = outcome.text();
    let built = outcome.compilations.into_iter().map(|compilation| {
        assert!(compilation.plan.is_some(), "{name} does not build:\n{text}");
        Case {
            name: name.to_owned(),
            compilation,
        }
    });
    built.collect()
}

/// The clusters with every setting, in `tests/compiler/rich/`.
fn rich() -> Vec<String> {
    let folder = "tests/compiler/rich";
    let entries = fs::read_dir(repository().join(folder)).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut paths: Vec<_> = names.map(|name| format!("{folder}/{name}")).collect();
    paths.sort();
    paths
}
