//! Replays the fuzzers' corpus and every input that once violated an invariant.
//!
//! The default tests replay a sample.

use rayon::prelude::*;

use crate::sample;
use crate::support::repository;

#[path = "../../fuzz/promises.rs"]
pub(crate) mod promises;

/// The default tests replay one in this many inputs.
const ONE_IN: u64 = 8;

/// Replays about one in `n` inputs of a folder.
fn replay(folder: &str, check: fn(&[u8]), n: u64) {
    let folder = repository().join(folder);
    let entries = std::fs::read_dir(&folder).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let mut paths: Vec<_> = paths
        .filter(|path| sample::is_one_in(n, path.file_name().unwrap().to_str().unwrap()))
        .collect();
    paths.sort();
    assert!(!paths.is_empty(), "{} is empty", folder.display());
    paths.par_iter().for_each(|path| {
        let bytes = std::fs::read(path).unwrap();
        let kept = std::panic::catch_unwind(|| check(&bytes));
        assert!(kept.is_ok(), "{} breaks a promise", path.display());
    });
}

#[test]
fn parse_corpus_upholds_invariants() {
    replay("fuzz/corpus/parse", promises::parse, 1);
}

#[test]
fn sampled_compile_corpus_upholds_invariants() {
    replay("fuzz/corpus/compile", promises::compile, ONE_IN);
}

#[test]
#[ignore = "exhaustive: minutes; .ci/run runs it"]
fn needs_minutes_compile_corpus_upholds_invariants() {
    replay("fuzz/corpus/compile", promises::compile, 1);
}

#[test]
fn sampled_code_examples_uphold_invariants() {
    replay_examples(ONE_IN);
}

#[test]
#[ignore = "exhaustive: minutes; .ci/run runs it"]
fn needs_minutes_code_examples_uphold_invariants() {
    replay_examples(1);
}

/// Replays the examples of about one in `n` codes.
fn replay_examples(n: u64) {
    let codes: Vec<_> = gpuc::codes()
        .into_iter()
        .filter(|code| sample::is_one_in(n, code.id))
        .collect();
    assert!(codes.len() > 10, "only {} codes", codes.len());
    codes.par_iter().for_each(|code| {
        for text in [code.bad, &code.good()] {
            promises::parse(text.as_bytes());
            promises::compile(text.as_bytes());
        }
    });
}

/// Replays the manifests of the tests, and those of the fuzzers.
#[test]
fn sampled_manifests_uphold_invariants() {
    for folder in [
        "tests/compiler/manifests/mistakes",
        "tests/compiler/manifests/good",
    ] {
        replay(folder, promises::manifests, 1);
        replay(folder, promises::fix, 4);
    }
}

#[test]
#[ignore = "exhaustive: minutes; .ci/run runs it"]
fn needs_minutes_fixes_uphold_invariants() {
    for folder in [
        "tests/compiler/manifests/mistakes",
        "tests/compiler/manifests/good",
    ] {
        replay(folder, promises::fix, 1);
    }
}

/// Replays the clusters that use all settings: each pair of them, and questions about each of them.
#[test]
fn sampled_versions_and_questions_uphold_invariants() {
    let files = crate::support::files_below(&repository().join("tests/compiler/rich"));
    let texts: Vec<_> = files.into_iter().collect();
    texts.par_iter().for_each(|(name, text)| {
        let (_, other) = sample::choose(&texts, name);
        for after in [text, other] {
            promises::diff(format!("{text}\n#####\n{after}").as_bytes());
        }
        for question in [
            "",
            "README.md",
            "apply.sh",
            "apply.sh:3",
            "Namespace/gpuc-system#metadata.name",
            "#",
            "a:b",
        ] {
            promises::why(format!("{text}\n#####\n{question}").as_bytes());
        }
    });
}
