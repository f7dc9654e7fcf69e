//! The generated trees and plans match the committed files in `golden/`. This is a separate test binary because it
//! builds and runs in seconds and detects every change of the output.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test may stop at the first surprise, and reads files"
)]

mod plan;
#[path = "../support/mod.rs"]
#[allow(dead_code, reason = "each test binary uses a part of it")]
mod support;

use std::collections::BTreeMap;

use crate::support::examples::{compiled_examples, compiled_rich};
use crate::support::expect_files;

/// The examples with committed trees: one for each cloud, and a fleet.
const COMMITTED_EXAMPLES: &[&str] = &[
    "aks-t4",
    "eks-training-h100",
    "fleet",
    "gke-inference-l4",
    "on-prem-dgx",
];

#[test]
fn examples_build_without_findings() {
    for (name, outcome) in compiled_examples() {
        assert!(outcome.findings.is_empty(), "{name}:\n{}", outcome.text());
        assert!(!outcome.files().is_empty(), "{name} generates no files");
    }
}

#[test]
fn committed_trees_are_current() {
    let mut wanted = BTreeMap::new();
    let examples = compiled_examples();
    for name in COMMITTED_EXAMPLES {
        let outcome = examples.get(*name);
        let outcome = outcome.unwrap_or_else(|| panic!("unknown example {name}"));
        for (path, contents) in outcome.files() {
            wanted.insert(format!("{name}/{path}"), contents);
        }
    }
    expect_files("golden/build", &wanted);
}

/// The configuration of Flux and Argo CD: all files of these examples except scripts.
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

/// The plans of the examples without a committed tree, and of the clusters with every setting.
#[test]
fn plans_are_current() {
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
