//! `examples/README.md` is current: it lists every example and shows gpuc's own findings.

use std::collections::BTreeSet;
use std::fs;

use crate::support::examples::examples;
use crate::support::{compile_text, expect_file, repository};

const README: &str = "examples/README.md";
const PROMPT: &str = "$ gpuc check gpu-cluster.yaml\n";

fn readme() -> String {
    fs::read_to_string(repository().join(README)).unwrap()
}

#[test]
fn examples_are_listed() {
    let text = readme();
    let rows = text.lines().filter_map(|line| line.strip_prefix("| ["));
    let rows: BTreeSet<_> = rows.map(|row| row.split(']').next().unwrap()).collect();
    let examples = examples();
    let folders: BTreeSet<_> = examples.keys().map(String::as_str).collect();
    assert_eq!(rows, folders);
}

#[test]
fn shown_findings_are_current() {
    let text = readme();
    let mut expected = String::new();
    let mut file = "";
    for part in text.split_inclusive("\n```\n") {
        if let Some((_, yaml)) = part.split_once("```yaml\n") {
            file = yaml.strip_suffix("```\n").unwrap();
        }
        match part.split_once(PROMPT) {
            Some((before, _)) => {
                let found = compile_text(file).text();
                expected.extend([before, PROMPT, found.trim_end(), "\n```\n"]);
            }
            None => expected += part,
        }
    }
    assert!(expected.contains(PROMPT), "no findings are shown");
    expect_file(README, &expected);
}
