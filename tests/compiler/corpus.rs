//! The clusters for comparisons with external tools: every example, every corrected example of a code, and clusters
//! that use all settings.

use std::sync::LazyLock;

use gpuc_compile::compile::Compilation;
use gpuc_compile::lock::Lock;
use gpuc_model::Cluster;
use gpuc_model::plan::Plan;
use gpuc_syntax::tree::Tree;

use crate::support::examples::{compiled_examples, compiled_rich};
use crate::support::{Outcome, compile_text};

/// A cluster that compiles.
pub(crate) struct Case {
    /// The name of the source, for messages.
    pub(crate) name: String,
    compilation: &'static Compilation,
}

impl Case {
    pub(crate) fn compilation(&self) -> &'static Compilation {
        self.compilation
    }

    pub(crate) fn plan(&self) -> &Plan {
        self.compilation.plan.as_ref().unwrap()
    }

    pub(crate) fn cluster(&self) -> &Cluster {
        self.compilation.cluster.as_ref().unwrap()
    }

    pub(crate) fn tree(&self) -> &Tree {
        let (tree, _): &(Tree, Lock) = self.compilation.output.as_ref().unwrap();
        tree
    }
}

pub(crate) fn cases() -> &'static [Case] {
    static REPAIRED: LazyLock<Vec<(&str, Outcome)>> = LazyLock::new(|| {
        let codes = gpuc::codes().into_iter();
        codes
            .map(|code| (code.id, compile_text(&code.good())))
            .collect()
    });
    static CASES: LazyLock<Vec<Case>> = LazyLock::new(|| {
        let examples = compiled_examples().iter();
        let examples = examples.map(|(name, outcome)| (format!("examples/{name}"), outcome));
        let rich = compiled_rich().iter();
        let rich = rich.map(|(name, outcome)| (format!("tests/compiler/rich/{name}"), outcome));
        let repaired = REPAIRED.iter();
        let repaired = repaired.map(|(id, outcome)| ((*id).to_owned(), outcome));
        let all = examples.chain(rich).chain(repaired);
        all.flat_map(|(name, outcome)| cases_from(&name, outcome))
            .collect()
    });
    &CASES
}

fn cases_from(name: &str, outcome: &'static Outcome) -> Vec<Case> {
    let built = outcome.compilations.iter().map(|compilation| {
        let is_built = compilation.plan.is_some();
        assert!(is_built, "{name} does not build:\n{}", outcome.text());
        Case {
            name: name.to_owned(),
            compilation,
        }
    });
    built.collect()
}
