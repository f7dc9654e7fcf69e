//! `gpuc graph`: pictures to standard output or to a file.

use super::{GOOD, Workspace};

#[test]
fn graph_is_printed_or_written() {
    let place = Workspace::with(GOOD);
    let chart = place.run(&["graph"]).expect_code(0);
    assert!(chart.stdout.starts_with("flowchart LR\n") && chart.stderr.is_empty());
    let svg = place
        .run(&["graph", "--format", "svg", "gpu-cluster.yaml"])
        .expect_code(0);
    assert!(svg.stdout.starts_with("<svg ") && svg.stdout.ends_with("</svg>\n"));
    let html = place
        .run(&["graph", "--format", "html", "-o", "-"])
        .expect_code(0);
    assert!(html.stdout.starts_with("<!doctype html>\n"));
    for (file, wanted) in [
        ("a.svg", &svg.stdout),
        ("a.html", &html.stdout),
        ("a.mmd", &chart.stdout),
    ] {
        place.run(&["graph", "-o", file]).expect_silent_success();
        // Over what is there.
        place
            .run(&["graph", "--output", file])
            .expect_silent_success();
        assert_eq!(&place.read(file), wanted, "{file}");
    }
    place
        .run(&["graph", "--format", "html", "-o", "b.svg"])
        .expect_silent_success();
    assert_eq!(place.read("b.svg"), html.stdout);
    let ran = place.run(&["graph", "-o", "a.png"]).expect_code(2);
    assert!(
        ran.stderr.contains("unknown graph format `.png`"),
        "{}",
        ran.stderr
    );
    assert!(!place.path("a.png").exists());
}

#[test]
fn invalid_cluster_has_no_graph() {
    let place = Workspace::with(&GOOD.replace("A30", "A31"));
    let ran = place.run(&["graph", "-o", "a.svg"]).expect_code(2);
    assert!(
        ran.stdout.is_empty() && ran.stderr.contains("error["),
        "{}",
        ran.stderr
    );
    assert!(!place.path("a.svg").exists());
    let ran = Workspace::with(GOOD)
        .run(&["graph", "-o", "none/a.svg"])
        .expect_code(3);
    assert!(
        ran.stderr.contains("cannot write none/a.svg"),
        "{}",
        ran.stderr
    );
    Workspace::with(GOOD)
        .run(&["graph", "--format", "png"])
        .expect_code(2);
}

#[test]
fn fleet_is_one_graph() {
    let place = Workspace::with(GOOD);
    place.write(
        "b.gpu-cluster.yaml",
        &GOOD.replace("demo", "second").replace("lab", "other"),
    );
    let svg = place
        .run(&["graph", ".", "--format", "svg"])
        .expect_code(0)
        .stdout;
    assert_eq!(svg.matches("<svg ").count(), 1);
    assert!(svg.contains(">demo</text>") && svg.contains(">second</text>"));
    let html = place
        .run(&["graph", ".", "--format", "html"])
        .expect_code(0)
        .stdout;
    assert_eq!(html.matches("<svg ").count(), 2);
    let chart = place.run(&["graph", "."]).expect_code(0).stdout;
    assert_eq!(chart.matches("  subgraph ").count(), 2);
}
