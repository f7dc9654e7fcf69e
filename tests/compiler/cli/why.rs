//! The command `gpuc why`.

use std::fs;

use serde_json::Value;

use super::{CliResult, GOOD, Workspace};
use crate::support::repository;

const DAEMON_SET: &str =
    "clusters/demo/manifests/gpuc-runtime/gpuc-system/daemonset-gpuc-runtime-gpu.yaml";
const IMAGE: &str = "spec.template.spec.containers[0].image";

fn json(result: &CliResult) -> Value {
    serde_json::from_str(&result.stdout).unwrap()
}

/// The answer to a query as JSON, which must match the committed schema.
fn query_json(workspace: &Workspace, what: &str) -> Value {
    let answer = json(
        &workspace
            .run(&["why", what, "--format", "json"])
            .expect_code(0),
    );
    let schema = fs::read_to_string(repository().join("schema/why.schema.json")).unwrap();
    let schema: Value = serde_json::from_str(&schema).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let wrong: Vec<_> = validator
        .iter_errors(&answer)
        .map(|error| error.to_string())
        .collect();
    assert!(wrong.is_empty(), "{wrong:?}");
    answer
}

/// The fields of the input that affect the queried value.
fn affecting_fields(answer: &Value) -> Vec<&str> {
    let causes = answer["affectedBy"].as_array().unwrap().iter();
    causes
        .map(|cause| cause["location"]["path"].as_str().unwrap())
        .collect()
}

#[test]
fn field_leads_to_its_line() {
    let workspace = Workspace::with(GOOD);
    workspace.build();
    let answer = query_json(&workspace, &format!("{DAEMON_SET}#.{IMAGE}"));
    assert_eq!(answer["path"], IMAGE);
    assert_eq!(answer["value"], "registry.example.com/gpuc-runtime:0.1.0");
    let causes = answer["affectedBy"].as_array().unwrap();
    let cause = causes
        .iter()
        .find(|cause| cause["location"]["path"] == "stack.runtimeImage")
        .unwrap();
    let at = &cause["location"];
    assert_eq!(at["file"], "gpu-cluster.yaml");
    assert_eq!((&at["line"], &at["column"]), (&6.into(), &23.into()));
    assert!(
        answer["reasons"]
            .as_array()
            .is_some_and(|all| !all.is_empty())
    );
    // A query by line, by object or by another path of the file has the same answer.
    let text = workspace.read(DAEMON_SET);
    let line = text
        .lines()
        .position(|line| line.contains("image: "))
        .unwrap()
        + 1;
    assert_eq!(answer["firstLine"], line);
    let below = DAEMON_SET.strip_prefix("clusters/").unwrap();
    let inside = below.strip_prefix("demo/").unwrap();
    for what in [
        format!("./{DAEMON_SET}:{line}"),
        format!("{below}#{IMAGE}"),
        format!("{inside}#{IMAGE}"),
        format!("DaemonSet/gpuc-runtime-gpu#{IMAGE}"),
        format!("daemonset/gpuc-system/gpuc-runtime-gpu#{IMAGE}"),
        format!("{}#{IMAGE}", workspace.path(DAEMON_SET).display()),
    ] {
        let same = query_json(&workspace, &what);
        assert_eq!(same["file"], answer["file"], "{what}");
        assert_eq!(same["firstLine"], answer["firstLine"], "{what}");
        let has = same["affectedBy"]
            .to_string()
            .contains("stack.runtimeImage");
        assert!(has, "{what}: {same}");
    }
}

#[test]
fn files_without_fields_are_queried_by_line() {
    let workspace = Workspace::with(GOOD);
    workspace.build();
    let line = |file: &str, what: &str| {
        let text = workspace.read(file);
        let at = text.lines().position(|line| line.contains(what));
        format!("{file}:{}", at.unwrap() + 1)
    };
    let answer = query_json(
        &workspace,
        &line("clusters/demo/cloud/verify.sh", "context=lab"),
    );
    assert_eq!(affecting_fields(&answer), ["cloud.onPrem.context"]);
    let answer = query_json(&workspace, &line("clusters/demo/README.md", "a30-24gb"));
    assert!(
        affecting_fields(&answer).contains(&"nodePools[1].gpu.model"),
        "{answer}"
    );
    let answer = query_json(&workspace, "clusters/demo/cloud/lib.sh:30");
    assert_eq!(affecting_fields(&answer), Vec::<&str>::new());
    assert_eq!(answer["reasons"][0]["kind"], "fixed");
    let answer = query_json(&workspace, "clusters/demo/gpuc.lock.json#input");
    assert!(
        affecting_fields(&answer).len() > 4,
        "every value affects the digest: {answer}"
    );
    let answer = query_json(&workspace, &format!("{DAEMON_SET}:1"));
    assert_eq!(answer["reasons"][0]["kind"], "fixed", "{answer}");
}

#[test]
fn file_is_a_table_and_section_has_reasons() {
    let workspace = Workspace::with(GOOD);
    workspace.build();
    let answer = query_json(&workspace, DAEMON_SET);
    let parts = answer["parts"].as_array().unwrap();
    assert!(parts.len() > 30, "{}", parts.len());
    let image = parts.iter().find(|part| part["path"] == IMAGE).unwrap();
    assert_eq!(image["affectedBy"][0]["path"], "stack.runtimeImage");
    let section = query_json(&workspace, &format!("{DAEMON_SET}#spec.template.spec"));
    assert_eq!(section["parts"], Value::Array(Vec::new()));
    assert!(
        affecting_fields(&section).contains(&"stack.runtimeImage"),
        "{section}"
    );
    for (format, expected) in [
        ("text", "reasons\n"),
        ("markdown", "| Line | Value | Derived from |\n"),
    ] {
        let result = workspace
            .run(&["why", DAEMON_SET, "--format", format])
            .expect_code(0);
        assert!(result.stdout.contains(expected), "{}", result.stdout);
        assert!(
            result
                .stdout
                .contains("gpu-cluster.yaml:6 stack.runtimeImage"),
            "{}",
            result.stdout
        );
    }
}

#[test]
fn missing_query_lists_alternatives() {
    let workspace = Workspace::with(GOOD);
    workspace.build();
    workspace.write("clusters/demo/old.sh", "true\n");
    for (what, message, help) in [
        (
            "DaemonSet/gpuc-runtime-gpus",
            "unknown generated file or object",
            "`DaemonSet/gpuc-runtime-gpu`",
        ),
        (
            "Deployment/x",
            "unknown generated file or object",
            "Deployment/namespace/name",
        ),
        (
            "clusters/demo/instal.sh",
            "unknown generated file or object",
            "install.sh`",
        ),
        ("clusters/demo", "is a directory", "`demo/README.md`"),
        ("clusters/", "is a directory", "`demo/README.md`"),
        ("gpu-cluster.yaml", "is an input of gpuc", "`gpuc diff`"),
        (
            "clusters/demo/old.sh",
            "is not part of the current output",
            "`gpuc build`",
        ),
        (
            "clusters/demo/install.sh:-1",
            "invalid line number",
            "install.sh:1",
        ),
        ("", "is specified", "specify a file"),
        ("a\u{1b}[31m", "object `a?[31m`", "specify a file"),
        (
            "clusters/demo/install.sh:9999",
            "no line 9999",
            "a line from 1 to",
        ),
        (
            "clusters/demo/install.sh#spec",
            "has no fields",
            "install.sh:1",
        ),
        (
            "DaemonSet/gpuc-runtime-gpu#spec.templat.spec",
            "no field",
            "`spec.template.spec`",
        ),
        ("DaemonSet/gpuc-runtime-gpu#image", "no field", IMAGE),
        (
            "DaemonSet/gpuc-runtime-gpu#spec..x",
            "invalid field path",
            "spec.containers[0].name",
        ),
    ] {
        let result = workspace.run(&["why", what]).expect_code(2);
        assert_eq!(result.stdout, "", "{what}");
        assert!(result.stderr.contains(message), "{what}: {}", result.stderr);
        assert!(result.stderr.contains(help), "{what}: {}", result.stderr);
    }
    let result = workspace
        .run(&["why", "Kustomization", "none.yaml"])
        .expect_code(3);
    assert!(result.stderr.contains("none.yaml"), "{}", result.stderr);
    workspace.write("gpu-cluster.yaml", &GOOD.replace("A30", "A31"));
    let result = workspace.run(&["why", DAEMON_SET]).expect_code(2);
    assert!(result.stderr.contains("A31"), "{}", result.stderr);
}

#[test]
fn stale_tree_is_reported() {
    let workspace = Workspace::with(GOOD);
    workspace.build();
    let what = format!("{DAEMON_SET}#{IMAGE}");
    let result = workspace.run(&["why", &what]).expect_code(0);
    assert_eq!(result.stderr, "");
    workspace.write("gpu-cluster.yaml", &GOOD.replace("0.1.0", "0.2.0"));
    let result = workspace.run(&["why", &what]).expect_code(0);
    assert!(result.stderr.contains("is stale"), "{}", result.stderr);
    assert!(
        result.stdout.contains("gpuc-runtime:0.2.0"),
        "{}",
        result.stdout
    );
}

/// The name of the output folder may contain a `#`, and a line may be followed by a column.
#[test]
fn file_is_found_by_any_name() {
    let workspace = Workspace::with(GOOD);
    workspace.run(&["build", "--out", "out#1"]).expect_code(0);
    for what in ["install.sh:3", "install.sh:3:1", "gpuc.lock.json#input"] {
        let what = format!("out#1/demo/{what}");
        workspace
            .run(&["why", &what, "--out", "out#1"])
            .expect_code(0);
    }
}

/// Locations in a base include its file name, and the folders distinguish the clusters of a fleet.
#[test]
fn base_is_named_in_a_fleet() {
    let workspace = Workspace::empty();
    let fleet = repository().join("examples/fleet");
    for (path, text) in crate::support::files_below(&fleet) {
        workspace.write(&path, &text);
    }
    let object = "DaemonSet/gpuc-runtime-infer#spec.template.spec.containers[0].image";
    let result = workspace.run(&["why", object]).expect_code(2);
    assert!(result.stderr.contains("is ambiguous"), "{}", result.stderr);
    let file = "staging/manifests/gpuc-runtime/gpuc-system/daemonset-gpuc-runtime-infer.yaml";
    let answer = query_json(
        &workspace,
        &format!("{file}#spec.template.spec.containers[0].image"),
    );
    let causes = answer["affectedBy"].as_array().unwrap();
    let image = causes
        .iter()
        .find(|cause| cause["location"]["path"] == "stack.runtimeImage")
        .unwrap();
    assert_eq!(image["location"]["file"], "base/gpu-cluster.yaml");
}

/// The output in the documentation is current.
#[test]
fn page_output_is_current() {
    let page = fs::read_to_string(repository().join("docs/why.md")).unwrap();
    let quickstart = repository().join("examples/quickstart/gpu-cluster.yaml");
    let workspace = Workspace::with(&fs::read_to_string(quickstart).unwrap());
    let mut shown = 0;
    for block in page.split("```console\n$ ").skip(1) {
        let (command, rest) = block.split_once('\n').unwrap();
        let expected = rest.split("```").next().unwrap();
        let args: Vec<_> = command.split_whitespace().skip(1).collect();
        let result = workspace.run(&args).expect_code(0);
        assert_eq!(result.stdout, expected, "{command}");
        shown += 1;
    }
    assert!(shown > 0, "the document shows no command");
}
