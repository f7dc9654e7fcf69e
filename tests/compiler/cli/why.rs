//! The command `gpuc why`.

use std::fs;

use serde_json::Value;

use super::{CliResult, GOOD, Workspace};
use crate::support::repository;

const DAEMON_SET: &str =
    "clusters/demo/manifests/gpuc-runtime/gpuc-system/daemonset-gpuc-runtime-gpu.yaml";
const IMAGE: &str = "spec.template.spec.containers[0].image";

fn json(ran: &CliResult) -> Value {
    serde_json::from_str(&ran.stdout).unwrap()
}

/// Queries in JSON, which must match the committed schema.
fn query_json(place: &Workspace, what: &str) -> Value {
    let told = json(&place.run(&["why", what, "--format", "json"]).expect_code(0));
    let schema = fs::read_to_string(repository().join("schema/why.schema.json")).unwrap();
    let schema: Value = serde_json::from_str(&schema).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let wrong: Vec<_> = validator
        .iter_errors(&told)
        .map(|error| error.to_string())
        .collect();
    assert!(wrong.is_empty(), "{wrong:?}");
    told
}

/// The fields of the input that affect it.
fn affecting_fields(told: &Value) -> Vec<&str> {
    let movers = told["movedBy"].as_array().unwrap().iter();
    movers
        .map(|mover| mover["place"]["path"].as_str().unwrap())
        .collect()
}

#[test]
fn field_leads_to_its_line() {
    let place = Workspace::with(GOOD);
    place.build();
    let told = query_json(&place, &format!("{DAEMON_SET}#.{IMAGE}"));
    assert_eq!(told["path"], IMAGE);
    assert_eq!(told["value"], "registry.example.com/gpuc-runtime:0.1.0");
    let movers = told["movedBy"].as_array().unwrap();
    let mover = movers
        .iter()
        .find(|mover| mover["place"]["path"] == "stack.runtimeImage")
        .unwrap();
    let at = &mover["place"];
    assert_eq!(at["file"], "gpu-cluster.yaml");
    assert_eq!((&at["line"], &at["column"]), (&6.into(), &23.into()));
    assert!(
        told["reasons"]
            .as_array()
            .is_some_and(|all| !all.is_empty())
    );
    // The same by its line, by its object, and however the file is named.
    let text = place.read(DAEMON_SET);
    let line = text
        .lines()
        .position(|line| line.contains("image: "))
        .unwrap()
        + 1;
    assert_eq!(told["firstLine"], line);
    let below = DAEMON_SET.strip_prefix("clusters/").unwrap();
    let inside = below.strip_prefix("demo/").unwrap();
    for what in [
        format!("./{DAEMON_SET}:{line}"),
        format!("{below}#{IMAGE}"),
        format!("{inside}#{IMAGE}"),
        format!("DaemonSet/gpuc-runtime-gpu#{IMAGE}"),
        format!("daemonset/gpuc-system/gpuc-runtime-gpu#{IMAGE}"),
        format!("{}#{IMAGE}", place.path(DAEMON_SET).display()),
    ] {
        let same = query_json(&place, &what);
        assert_eq!(same["file"], told["file"], "{what}");
        assert_eq!(same["firstLine"], told["firstLine"], "{what}");
        let has = same["movedBy"].to_string().contains("stack.runtimeImage");
        assert!(has, "{what}: {same}");
    }
}

#[test]
fn files_without_fields_are_queried_by_line() {
    let place = Workspace::with(GOOD);
    place.build();
    let line = |file: &str, what: &str| {
        let text = place.read(file);
        let at = text.lines().position(|line| line.contains(what));
        format!("{file}:{}", at.unwrap() + 1)
    };
    let told = query_json(
        &place,
        &line("clusters/demo/cloud/verify.sh", "context=lab"),
    );
    assert_eq!(affecting_fields(&told), ["cloud.onPrem.context"]);
    let told = query_json(&place, &line("clusters/demo/README.md", "a30-24gb"));
    assert!(
        affecting_fields(&told).contains(&"nodePools[1].gpu.model"),
        "{told}"
    );
    let told = query_json(&place, "clusters/demo/cloud/lib.sh:30");
    assert_eq!(affecting_fields(&told), Vec::<&str>::new());
    assert_eq!(told["reasons"][0]["kind"], "fixed");
    let told = query_json(&place, "clusters/demo/gpuc.lock.json#input");
    assert!(
        affecting_fields(&told).len() > 4,
        "every value is in the digest: {told}"
    );
    let told = query_json(&place, &format!("{DAEMON_SET}:1"));
    assert_eq!(told["reasons"][0]["kind"], "fixed", "{told}");
}

#[test]
fn file_is_a_table_and_section_has_reasons() {
    let place = Workspace::with(GOOD);
    place.build();
    let told = query_json(&place, DAEMON_SET);
    let parts = told["parts"].as_array().unwrap();
    assert!(parts.len() > 30, "{}", parts.len());
    let image = parts.iter().find(|part| part["path"] == IMAGE).unwrap();
    assert_eq!(image["movedBy"][0]["path"], "stack.runtimeImage");
    let section = query_json(&place, &format!("{DAEMON_SET}#spec.template.spec"));
    assert_eq!(section["parts"], Value::Array(Vec::new()));
    assert!(
        affecting_fields(&section).contains(&"stack.runtimeImage"),
        "{section}"
    );
    for (format, wanted) in [
        ("text", "reasons\n"),
        ("markdown", "| Line | Value | Derived from |\n"),
    ] {
        let ran = place
            .run(&["why", DAEMON_SET, "--format", format])
            .expect_code(0);
        assert!(ran.stdout.contains(wanted), "{}", ran.stdout);
        assert!(
            ran.stdout.contains("gpu-cluster.yaml:6 stack.runtimeImage"),
            "{}",
            ran.stdout
        );
    }
}

#[test]
fn missing_query_lists_alternatives() {
    let place = Workspace::with(GOOD);
    place.build();
    place.write("clusters/demo/old.sh", "true\n");
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
        let ran = place.run(&["why", what]).expect_code(2);
        assert_eq!(ran.stdout, "", "{what}");
        assert!(ran.stderr.contains(message), "{what}: {}", ran.stderr);
        assert!(ran.stderr.contains(help), "{what}: {}", ran.stderr);
    }
    let ran = place
        .run(&["why", "Kustomization", "none.yaml"])
        .expect_code(3);
    assert!(ran.stderr.contains("none.yaml"), "{}", ran.stderr);
    place.write("gpu-cluster.yaml", &GOOD.replace("A30", "A31"));
    let ran = place.run(&["why", DAEMON_SET]).expect_code(2);
    assert!(ran.stderr.contains("A31"), "{}", ran.stderr);
}

#[test]
fn stale_tree_is_reported() {
    let place = Workspace::with(GOOD);
    place.build();
    let what = format!("{DAEMON_SET}#{IMAGE}");
    let ran = place.run(&["why", &what]).expect_code(0);
    assert_eq!(ran.stderr, "");
    place.write("gpu-cluster.yaml", &GOOD.replace("0.1.0", "0.2.0"));
    let ran = place.run(&["why", &what]).expect_code(0);
    assert!(ran.stderr.contains("is stale"), "{}", ran.stderr);
    assert!(ran.stdout.contains("gpuc-runtime:0.2.0"), "{}", ran.stdout);
}

/// The folder of the trees may have a `#` in its name, and a line may come with a column.
#[test]
fn file_is_found_by_any_name() {
    let place = Workspace::with(GOOD);
    place.run(&["build", "--out", "out#1"]).expect_code(0);
    for what in ["install.sh:3", "install.sh:3:1", "gpuc.lock.json#input"] {
        let what = format!("out#1/demo/{what}");
        place.run(&["why", &what, "--out", "out#1"]).expect_code(0);
    }
}

/// Locations in a base are shown with its file, and clusters of a fleet are distinguished by their folders.
#[test]
fn base_is_named_in_a_fleet() {
    let place = Workspace::empty();
    let fleet = repository().join("examples/fleet");
    for (path, text) in crate::support::files_below(&fleet) {
        place.write(&path, &text);
    }
    let object = "DaemonSet/gpuc-runtime-infer#spec.template.spec.containers[0].image";
    let ran = place.run(&["why", object]).expect_code(2);
    assert!(ran.stderr.contains("is ambiguous"), "{}", ran.stderr);
    let file = "staging/manifests/gpuc-runtime/gpuc-system/daemonset-gpuc-runtime-infer.yaml";
    let told = query_json(
        &place,
        &format!("{file}#spec.template.spec.containers[0].image"),
    );
    let movers = told["movedBy"].as_array().unwrap();
    let image = movers
        .iter()
        .find(|mover| mover["place"]["path"] == "stack.runtimeImage")
        .unwrap();
    assert_eq!(image["place"]["file"], "base/gpu-cluster.yaml");
}

/// The output in the documentation is current.
#[test]
fn page_output_is_current() {
    let page = fs::read_to_string(repository().join("docs/why.md")).unwrap();
    let quickstart = repository().join("examples/quickstart/gpu-cluster.yaml");
    let place = Workspace::with(&fs::read_to_string(quickstart).unwrap());
    let mut shown = 0;
    for block in page.split("```console\n$ ").skip(1) {
        let (command, rest) = block.split_once('\n').unwrap();
        let wanted = rest.split("```").next().unwrap();
        let args: Vec<_> = command.split_whitespace().skip(1).collect();
        let ran = place.run(&args).expect_code(0);
        assert_eq!(ran.stdout, wanted, "{command}");
        shown += 1;
    }
    assert!(shown > 0, "no command is shown");
}
