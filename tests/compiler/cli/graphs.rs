//! `gpuc graph`: graphs on standard output or in a file.

use super::{GOOD, Workspace};

#[test]
fn graph_is_printed_or_written() {
    let workspace = Workspace::with(GOOD);
    let chart = workspace.run(&["graph"]).expect_code(0);
    assert!(chart.stdout.starts_with("flowchart LR\n") && chart.stderr.is_empty());
    let svg = workspace
        .run(&["graph", "--format", "svg", "gpu-cluster.yaml"])
        .expect_code(0);
    assert!(svg.stdout.starts_with("<svg ") && svg.stdout.ends_with("</svg>\n"));
    let html = workspace
        .run(&["graph", "--format", "html", "-o", "-"])
        .expect_code(0);
    assert!(html.stdout.starts_with("<!doctype html>\n"));
    for (file, expected) in [
        ("a.svg", &svg.stdout),
        ("a.html", &html.stdout),
        ("a.mmd", &chart.stdout),
    ] {
        workspace
            .run(&["graph", "-o", file])
            .expect_silent_success();
        // An existing file is overwritten.
        workspace
            .run(&["graph", "--output", file])
            .expect_silent_success();
        assert_eq!(&workspace.read(file), expected, "{file}");
    }
    workspace
        .run(&["graph", "--format", "html", "-o", "b.svg"])
        .expect_silent_success();
    assert_eq!(workspace.read("b.svg"), html.stdout);
    let result = workspace.run(&["graph", "-o", "a.png"]).expect_code(2);
    assert!(
        result.stderr.contains("unknown graph format `.png`"),
        "{}",
        result.stderr
    );
    assert!(!workspace.path("a.png").exists());
}

#[test]
fn invalid_cluster_has_no_graph() {
    let workspace = Workspace::with(&GOOD.replace("A30", "A31"));
    let result = workspace.run(&["graph", "-o", "a.svg"]).expect_code(2);
    assert!(
        result.stdout.is_empty() && result.stderr.contains("error["),
        "{}",
        result.stderr
    );
    assert!(!workspace.path("a.svg").exists());
    let result = Workspace::with(GOOD)
        .run(&["graph", "-o", "none/a.svg"])
        .expect_code(3);
    assert!(
        result.stderr.contains("cannot write none/a.svg"),
        "{}",
        result.stderr
    );
    Workspace::with(GOOD)
        .run(&["graph", "--format", "png"])
        .expect_code(2);
}

#[test]
fn fleet_is_one_graph() {
    let workspace = Workspace::with(GOOD);
    workspace.write(
        "b.gpu-cluster.yaml",
        &GOOD.replace("demo", "second").replace("lab", "other"),
    );
    let svg = workspace
        .run(&["graph", ".", "--format", "svg"])
        .expect_code(0)
        .stdout;
    assert_eq!(svg.matches("<svg ").count(), 1);
    assert!(svg.contains(">demo</text>") && svg.contains(">second</text>"));
    let html = workspace
        .run(&["graph", ".", "--format", "html"])
        .expect_code(0)
        .stdout;
    assert_eq!(html.matches("<svg ").count(), 2);
    let chart = workspace.run(&["graph", "."]).expect_code(0).stdout;
    assert_eq!(chart.matches("  subgraph ").count(), 2);
}
