//! What is generated and committed is what would be generated now.

use std::fmt::Write;
use std::process::Command;

use crate::support::{compile_text, expect_file, repository};

#[test]
fn the_json_schema_is_fresh() {
    expect_file("schema/gpu-cluster.schema.json", &gpuc::schema::json());
}

#[test]
fn the_json_schema_of_differences_is_fresh() {
    expect_file("schema/diff.schema.json", &gpuc::diff::render::schema());
}

#[test]
fn the_schema_of_answers_is_fresh() {
    expect_file("schema/why.schema.json", &gpuc::why::render::schema());
}

#[test]
fn the_pages_of_the_findings_are_fresh() {
    let mut page = String::from(
        "# Findings\n\nEvery finding of gpuc, by number. `gpuc explain NAME` prints one of these pages. This file is \
         generated.\n",
    );
    for code in gpuc::codes() {
        let (id, name, word) = (code.id, code.name, code.severity.word());
        write!(
            page,
            "\n## {id} {name}\n\n{word}: {}\n\n{}\nThis raises it:\n\n```yaml\n{}```\n\nThis does not:\n\n```yaml\n{}```\n",
            code.summary, code.explain, code.bad, code.good,
        )
        .unwrap();
    }
    expect_file("docs/codes.md", &page);
}

#[test]
fn the_pages_of_the_alerts_are_fresh() {
    expect_file("docs/alerts.md", &gpuc::lower::monitoring::alerts_page());
}

#[test]
fn the_reference_of_the_commands_is_fresh() {
    let commands = [
        "",
        "init",
        "build",
        "check",
        "diff",
        "expand",
        "explain",
        "why",
        "catalog",
        "schema",
        "completions",
        "man",
    ];
    let mut page = String::from("# Commands\n\nWhat `--help` prints. This file is generated.\n");
    for command in commands {
        let mut gpuc = Command::new(env!("CARGO_BIN_EXE_gpuc"));
        gpuc.args(command.split_whitespace())
            .arg("--help")
            .env("COLUMNS", "100");
        let output = gpuc.output().unwrap();
        assert!(output.status.success(), "gpuc {command} --help fails");
        let help = String::from_utf8(output.stdout).unwrap();
        let name = format!("gpuc {command}");
        let help: Vec<_> = help.lines().map(str::trim_end).collect();
        write!(
            page,
            "\n## {}\n\n```text\n{}\n```\n",
            name.trim(),
            help.join("\n").trim_end()
        )
        .unwrap();
    }
    expect_file("docs/cli.md", &page);
}

/// The README shows what gpuc really says and takes.
#[test]
fn the_readme_shows_the_truth() {
    let read = |path: &str| std::fs::read_to_string(repository().join(path)).unwrap();
    let readme = read("README.md");
    let quickstart = read("examples/quickstart/gpu-cluster.yaml");
    assert!(
        readme.contains(&quickstart),
        "the quickstart is another file"
    );
    let findings = compile_text(&read("tests/compiler/readme/gpu-cluster.yaml")).text();
    assert!(readme.contains(&findings), "the README lacks:\n{findings}");
}
