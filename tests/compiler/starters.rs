//! The output of `gpuc init` compiles, and its only findings are the placeholders.

use std::fs;

use crate::support::{compile_text, repository};

/// The starters by cloud, as `gpuc init` writes them.
fn starters() -> Vec<(String, String)> {
    let folder = repository().join("compiler/src/cli/starters");
    let files = fs::read_dir(folder).unwrap().map(|file| file.unwrap());
    let starter = |file: fs::DirEntry| {
        let name = file.file_name().into_string().unwrap();
        (name, fs::read_to_string(file.path()).unwrap())
    };
    files.map(starter).collect()
}

#[test]
fn clouds_have_a_starter() {
    let mut names: Vec<_> = starters().into_iter().map(|(name, _)| name).collect();
    names.sort();
    assert_eq!(
        names,
        ["aws.yaml", "azure.yaml", "gcp.yaml", "on-prem.yaml"]
    );
}

/// Replaces the placeholders of a starter with valid values.
fn fill_in(text: &str) -> String {
    text.replace("000000000000", "123456789012")
        .replace("replace-me", "acme-ml")
}

#[test]
fn starters_compile_and_list_placeholders() {
    for (name, text) in starters() {
        assert!(text.contains("CLUSTER_NAME"), "{name} has no CLUSTER_NAME");
        let text = text.replace("CLUSTER_NAME", "my-cluster");
        let outcome = compile_text(&text);
        assert!(!outcome.files().is_empty(), "{name} generates no files");
        let findings = outcome.findings.iter();
        let mut lines: Vec<usize> = findings
            .map(|found| {
                assert_eq!(
                    found.code.name,
                    "placeholder-not-replaced",
                    "{name}:\n{}",
                    outcome.text()
                );
                let place = outcome.sources.locate(found.primary.span);
                place.expect("a place").1.line
            })
            .collect();
        lines.dedup();
        let marked = text.lines().zip(1..);
        let marked = marked.filter(|(line, _)| line.contains("# replace:"));
        // Exactly the values marked `# replace:` have a finding. The mark is on the line of the value or on the line
        // before it.
        let is_value = |number: usize| {
            text.lines()
                .nth(number - 1)
                .is_some_and(|line| !line.trim_start().starts_with('#'))
        };
        let expected: Vec<usize> = marked
            .map(|(_, number)| {
                (number..=text.lines().count())
                    .find(|number| is_value(*number))
                    .expect("a value")
            })
            .collect();
        assert_eq!(lines, expected, "{name}:\n{}", outcome.text());
    }
}

#[test]
fn completed_starters_compile_without_diagnostics() {
    for (name, text) in starters() {
        let outcome = compile_text(&fill_in(&text.replace("CLUSTER_NAME", "my-cluster")));
        assert!(outcome.findings.is_empty(), "{name}:\n{}", outcome.text());
    }
}

/// Uncomments the example lines of a starter.
fn uncomment_examples(text: &str) -> String {
    let (head, examples) = text.split_once("# Optional sections").expect("examples");
    let (_, examples) = examples.split_once('\n').expect("lines");
    let lines = examples.lines().map(|line| {
        line.strip_prefix("# ")
            .unwrap_or_else(|| panic!("{line} is not an example"))
    });
    head.to_owned() + &lines.collect::<Vec<_>>().join("\n") + "\n"
}

#[test]
fn starter_examples_compile() {
    for (name, text) in starters() {
        let text = uncomment_examples(&fill_in(&text.replace("CLUSTER_NAME", "my-cluster")));
        for key in ["teams", "queueing", "workloads"] {
            assert!(
                text.contains(&format!("\n{key}:")),
                "{name} has no example of {key}"
            );
        }
        let outcome = compile_text(&text);
        assert!(outcome.findings.is_empty(), "{name}:\n{}", outcome.text());
        let files = outcome.files();
        let mut paths = files.keys();
        assert!(
            paths.any(|path| path.contains("cuda-test")),
            "{name} generates no cuda-test"
        );
    }
}
