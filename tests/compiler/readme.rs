//! README.md and docs/why.md show the file of the quickstart and the current output of the commands.

use std::fs;
use std::process::Command;

use crate::cli::Workspace;
use crate::support::{compile_text, expect_file, repository};

fn read(path: &str) -> String {
    fs::read_to_string(repository().join(path)).unwrap()
}

#[test]
fn quickstart_is_current() {
    assert!(read("README.md").contains(&read("examples/quickstart/gpu-cluster.yaml")));
}

/// A single test covers both outputs, because `UPDATE_EXPECT=1` writes one file.
#[test]
fn outputs_are_current() {
    let invalid = compile_text(&read("tests/compiler/readme/gpu-cluster.yaml")).text();
    let readme = with_output(&read("README.md"), "gpuc check", &invalid);
    let readme = with_output(&readme, "gpuc diff", &quickstart_diff());
    expect_file("README.md", &readme);
}

#[test]
fn output_of_why_is_current() {
    let place = Workspace::with(&read("examples/quickstart/gpu-cluster.yaml"));
    place.build();
    let field = "DaemonSet/gpuc-runtime-infer#spec.template.spec.containers[0].image";
    let output = place.run(&["why", field]).expect_code(0).stdout;
    let page = with_output(&read("docs/why.md"), &format!("gpuc why {field}"), &output);
    expect_file("docs/why.md", &page);
}

/// The README of a tree with claims shows how to claim a device.
#[test]
fn claim_example_is_shown() {
    let outcome = compile_text(&read("examples/eks-dra-h100/gpu-cluster.yaml"));
    let files = outcome.files();
    let readme = files.iter().find(|(path, _)| path.ends_with("README.md"));
    let (_, readme) = readme.expect("a README");
    for line in ["kind: ResourceClaimTemplate", "resourceClaimTemplateName: "] {
        assert!(readme.contains(line), "{line}\n{readme}");
    }
}

/// The output of `gpuc diff` in the quickstart after a change from 4 to 8 replicas and a build.
fn quickstart_diff() -> String {
    let place = Workspace::with(&read("examples/quickstart/gpu-cluster.yaml"));
    git(&place, &["init", "-q"]);
    place.build();
    git(&place, &["add", "-A"]);
    git(
        &place,
        &[
            "-c",
            "user.name=a",
            "-c",
            "user.email=a@example.com",
            "commit",
            "-qm",
            "a",
        ],
    );
    let edited = place
        .read("gpu-cluster.yaml")
        .replace("replicas: 4", "replicas: 8");
    place.write("gpu-cluster.yaml", &edited);
    place.build();
    let output = place.run(&["diff"]).expect_code(0).stdout;
    // The commit's abbreviated hash differs in every run.
    let (before, rest) = output.split_once("since HEAD (").unwrap();
    let (_, after) = rest.split_once(')').unwrap();
    format!("{before}since HEAD (8e5a09cc2a){after}")
}

fn git(place: &Workspace, arguments: &[&str]) {
    let status = Command::new("git")
        .current_dir(place.path("."))
        .args(arguments)
        .status();
    assert!(status.unwrap().success());
}

/// Replaces the output after the first `$ command` of a document, up to the end of its code block.
fn with_output(document: &str, command: &str, output: &str) -> String {
    let prompt = format!("$ {command}\n");
    let (before, rest) = document
        .split_once(&prompt)
        .unwrap_or_else(|| panic!("the document does not show `{command}`"));
    let (_, after) = rest.split_once("\n```\n").unwrap();
    format!("{before}{prompt}{}\n```\n{after}", output.trim_end())
}

/// Deleting a NodePool would delete its nodes with running pods.
#[test]
fn uninstalling_keeps_machines() {
    let outcome = &crate::support::examples::compiled_examples()["existing-coreweave"];
    let files = outcome.files();
    let readme = &files["existing-coreweave/README.md"];
    let (_, uninstalling) = readme.split_once("## Uninstalling").unwrap();
    assert!(uninstalling.contains("manifests/queues"), "{uninstalling}");
    assert!(
        !uninstalling.contains("manifests/node-pools"),
        "{uninstalling}"
    );
    assert!(readme.contains("kubectl delete nodepool train"), "{readme}");
}
