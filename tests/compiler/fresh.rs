//! Committed generated files are current.

use std::fmt::Write;
use std::process::Command;

use crate::support::expect_file;

#[test]
fn config_schema_is_current() {
    expect_file(
        "schema/gpu-cluster.schema.json",
        &gpuc_syntax::schema::schema_json(),
    );
}

#[test]
fn diff_schema_is_current() {
    expect_file(
        "schema/diff.schema.json",
        &gpuc_diff::diff::render::schema(),
    );
}

#[test]
fn contract_schema_is_current() {
    expect_file(
        "schema/contract.schema.json",
        &gpuc_contract::contract::schema(),
    );
}

#[test]
fn why_schema_is_current() {
    expect_file("schema/why.schema.json", &gpuc_diff::why::render::schema());
}

#[test]
fn codes_page_is_current() {
    let mut page = String::from(
        "# Findings\n\nEvery finding of gpuc, by number. `gpuc explain` lists all of them, and `gpuc explain NAME` prints one of \
         these\npages. This file is generated.\n",
    );
    for code in gpuc::codes() {
        let (id, name, word) = (code.id, code.name, code.severity.as_str());
        let former = code.former_names_sentence();
        let former = former.map_or_else(String::new, |names| format!("{names}\n\n"));
        write!(
            page,
            "\n## {id} {name}\n\n{word}: {}\n\n{former}{}\nThis file causes it:\n\n```yaml\n{}```\n\nThis file does not:\n\n```yaml\n{}```\n",
            code.summary, code.explanation(), code.bad, code.good(),
        )
        .unwrap();
    }
    expect_file("docs/codes.md", &page);
}

#[test]
fn doctor_page_is_current() {
    let mut page = String::from(
        "# Findings of gpuc doctor\n\nEvery finding about running clusters, by number. `gpuc explain NAME` prints one of these pages \
         with\nobjects that cause it. This file is generated.\n",
    );
    for code in gpuc::doctor_codes() {
        let (id, name, word) = (code.id, code.name, code.severity.as_str());
        let (summary, explanation) = (code.summary, code.explanation());
        write!(
            page,
            "\n## {id} {name}\n\n{word}: {summary}\n\n{explanation}"
        )
        .unwrap();
    }
    expect_file("docs/doctor-checks.md", &page);
}

#[test]
fn alerts_page_is_current() {
    expect_file(
        "docs/alerts.md",
        &gpuc_compile::lower::monitoring::alerts_page(),
    );
}

#[test]
fn command_reference_is_current() {
    let help = |command: &str| {
        let mut gpuc = Command::new(env!("CARGO_BIN_EXE_gpuc"));
        gpuc.args(command.split_whitespace())
            .arg("--help")
            .env("COLUMNS", "100");
        let output = gpuc.output().unwrap();
        assert!(output.status.success(), "gpuc {command} --help fails");
        String::from_utf8(output.stdout).unwrap()
    };
    // Commands are indented by two spaces, and their continuation lines by more.
    let overview = help("");
    let commands = overview
        .lines()
        .skip_while(|line| *line != "Commands:")
        .skip(1)
        .take_while(|line| !line.is_empty())
        .filter(|line| !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|command| *command != "help");
    let mut page = String::from("# Commands\n\nWhat `--help` prints. This file is generated.\n");
    for command in std::iter::once("").chain(commands) {
        let help = help(command);
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
