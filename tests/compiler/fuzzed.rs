//! Replays what the fuzzers found worth keeping: their corpus, and every input that once broke a promise.

use crate::support::repository;

#[path = "../../fuzz/promises.rs"]
pub(crate) mod promises;

fn replay(folder: &str, promise: fn(&[u8])) {
    let folder = repository().join(folder);
    let entries = std::fs::read_dir(&folder).unwrap();
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    assert!(!paths.is_empty(), "{} is empty", folder.display());
    for path in paths {
        let bytes = std::fs::read(&path).unwrap();
        let kept = std::panic::catch_unwind(|| promise(&bytes));
        assert!(kept.is_ok(), "{} breaks a promise", path.display());
    }
}

#[test]
fn the_corpus_of_parse_keeps_its_promises() {
    replay("fuzz/corpus/parse", promises::parse);
}

#[test]
fn the_corpus_of_compile_keeps_its_promises() {
    replay("fuzz/corpus/compile", promises::compile);
}

#[test]
fn every_example_of_a_finding_keeps_them() {
    for code in gpuc::codes() {
        for text in [code.bad, code.good] {
            promises::parse(text.as_bytes());
            promises::compile(text.as_bytes());
        }
    }
}
