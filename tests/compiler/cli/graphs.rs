//! `gpuc graph`: pictures to standard output or to a file.

use super::{GOOD, Place};

#[test]
fn a_picture_is_printed_or_written() {
    let place = Place::with(GOOD);
    let chart = place.run(&["graph"]).ends_with(0);
    assert!(chart.stdout.starts_with("flowchart LR\n") && chart.stderr.is_empty());
    let svg = place
        .run(&["graph", "--format", "svg", "gpu-cluster.yaml"])
        .ends_with(0);
    assert!(svg.stdout.starts_with("<svg ") && svg.stdout.ends_with("</svg>\n"));
    let html = place
        .run(&["graph", "--format", "html", "-o", "-"])
        .ends_with(0);
    assert!(html.stdout.starts_with("<!doctype html>\n"));
    for (file, wanted) in [
        ("a.svg", &svg.stdout),
        ("a.html", &html.stdout),
        ("a.mmd", &chart.stdout),
    ] {
        place.run(&["graph", "-o", file]).silent();
        // Over what is there.
        place.run(&["graph", "--output", file]).silent();
        assert_eq!(&place.read(file), wanted, "{file}");
    }
    place
        .run(&["graph", "--format", "html", "-o", "b.svg"])
        .silent();
    assert_eq!(place.read("b.svg"), html.stdout);
    let ran = place.run(&["graph", "-o", "a.png"]).ends_with(2);
    assert!(
        ran.stderr.contains("unknown graph format `.png`"),
        "{}",
        ran.stderr
    );
    assert!(!place.path("a.png").exists());
}

#[test]
fn what_does_not_build_is_not_drawn() {
    let place = Place::with(&GOOD.replace("A30", "A31"));
    let ran = place.run(&["graph", "-o", "a.svg"]).ends_with(2);
    assert!(
        ran.stdout.is_empty() && ran.stderr.contains("error["),
        "{}",
        ran.stderr
    );
    assert!(!place.path("a.svg").exists());
    let ran = Place::with(GOOD)
        .run(&["graph", "-o", "none/a.svg"])
        .ends_with(3);
    assert!(
        ran.stderr.contains("cannot write none/a.svg"),
        "{}",
        ran.stderr
    );
    Place::with(GOOD)
        .run(&["graph", "--format", "png"])
        .ends_with(2);
}

#[test]
fn a_fleet_is_one_picture() {
    let place = Place::with(GOOD);
    place.write(
        "b.gpu-cluster.yaml",
        &GOOD.replace("demo", "second").replace("lab", "other"),
    );
    let svg = place
        .run(&["graph", ".", "--format", "svg"])
        .ends_with(0)
        .stdout;
    assert_eq!(svg.matches("<svg ").count(), 1);
    assert!(svg.contains(">demo</text>") && svg.contains(">second</text>"));
    let html = place
        .run(&["graph", ".", "--format", "html"])
        .ends_with(0)
        .stdout;
    assert_eq!(html.matches("<svg ").count(), 2);
    let chart = place.run(&["graph", "."]).ends_with(0).stdout;
    assert_eq!(chart.matches("  subgraph ").count(), 2);
}
