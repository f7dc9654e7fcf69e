//! The commands other than `build` and `check`.

use serde_json::Value;

use super::{GOOD, Workspace};

#[test]
fn starters_build_and_list_placeholders() {
    for cloud in ["aws", "azure", "gcp", "on-prem"] {
        let place = Workspace::empty();
        let ran = place
            .run(&["init", "--cloud", cloud, "--name", "my-ml"])
            .expect_code(0);
        assert!(
            ran.stdout.is_empty() && ran.stderr.contains("next: "),
            "{}",
            ran.stderr
        );
        let ran = place
            .run(&["check", "-q", "--deny", "warnings"])
            .expect_code(2);
        let found = ran.stdout.matches("error[").count();
        assert!(found > 1 && ran.stdout.matches(" placeholder-not-replaced]").count() == found);
        place.run(&["build", "-q"]).expect_code(0);
        assert!(place.path("clusters/my-ml/README.md").is_file(), "{cloud}");
        let before = place.read("gpu-cluster.yaml");
        let ran = place.run(&["init", "--cloud", cloud]).expect_code(2);
        assert!(
            ran.stderr.contains("gpu-cluster.yaml already exists"),
            "{}",
            ran.stderr
        );
        assert_eq!(place.read("gpu-cluster.yaml"), before);
        place
            .run(&["init", "-q", "--cloud", cloud, "other.yaml"])
            .expect_silent_success();
        assert!(
            place
                .read("other.yaml")
                .contains("metadata: {name: ml-dev}")
        );
    }
    let place = Workspace::empty();
    let ran = place
        .run(&["init", "--cloud", "aws", "--name", "My ML"])
        .expect_code(2);
    assert!(ran.stderr.contains("`My ML`"), "{}", ran.stderr);
    place
        .run(&["init", "--cloud", "aws", "none/file.yaml"])
        .expect_code(3);
    assert!(place.files("").is_empty());
}

#[test]
fn starter_has_the_schema_next_to_it() {
    let place = Workspace::empty();
    let ran = place
        .run(&["init", "--cloud", "aws", "fleet/a.gpu-cluster.yaml"])
        .expect_code(3);
    assert!(ran.stderr.contains("cannot write fleet/"), "{}", ran.stderr);
    place.write("fleet/keep", "");
    let ran = place
        .run(&["init", "--cloud", "aws", "fleet/a.gpu-cluster.yaml"])
        .expect_code(0);
    let schema = "fleet/gpu-cluster.schema.json";
    assert!(
        ran.stderr
            .contains("wrote fleet/a.gpu-cluster.yaml and fleet/gpu-cluster.schema.json"),
        "{}",
        ran.stderr
    );
    let first = place.read("fleet/a.gpu-cluster.yaml");
    let first = first.lines().next().unwrap().to_owned();
    let named = first.strip_prefix("# yaml-language-server: $schema=./");
    assert_eq!(named, schema.strip_prefix("fleet/"));
    assert_eq!(place.read(schema), place.run(&["schema"]).stdout);
    let ran = place
        .run(&["init", "--cloud", "gcp", "fleet/b.gpu-cluster.yaml"])
        .expect_code(0);
    assert!(!ran.stderr.contains("schema"), "{}", ran.stderr);
    // One that is there may be another version's, or the user's own.
    place.write(schema, "{}");
    let ran = place
        .run(&["init", "--cloud", "gcp", "fleet/c.gpu-cluster.yaml"])
        .expect_code(0);
    assert!(
        ran.stderr.contains(&format!("`gpuc schema > {schema}`")),
        "{}",
        ran.stderr
    );
    assert_eq!(place.read(schema), "{}");
    // Printed, it stands nowhere.
    let place = Workspace::empty();
    place.run(&["init", "--cloud", "aws", "-"]).expect_code(0);
    assert!(place.files("").is_empty());
    // It is not taken for a manifest.
    place.write("gpu-cluster.yaml", GOOD);
    place.write("gpu-cluster.schema.json", &place.run(&["schema"]).stdout);
    place
        .run(&["check", "-q", "--manifests", "."])
        .expect_code(0);
}

#[test]
fn findings_are_explained() {
    let place = Workspace::empty();
    for code in gpuc::codes() {
        let by_id = place.run(&["explain", code.id]).expect_code(0);
        let by_name = place.run(&["explain", code.name]).expect_code(0);
        assert_eq!(by_id.stdout, by_name.stdout);
        assert!(
            by_id
                .stdout
                .starts_with(&format!("# {} {}\n", code.id, code.name))
        );
        assert!(by_id.stdout.contains(code.bad) && by_id.stdout.contains(&code.good()));
    }
}

#[test]
fn keys_are_explained() {
    let mut paths = Vec::new();
    let mut waiting = vec![String::new()];
    while let Some(path) = waiting.pop() {
        let key =
            gpuc_syntax::schema::describe_key(&path).unwrap_or_else(|_| panic!("{path} is no key"));
        for (name, _) in &key.keys {
            let below = format!("{path}.{name}");
            waiting.push(below.trim_start_matches('.').to_owned());
        }
        if !path.is_empty() {
            assert!(!key.description.is_empty(), "{path} has no documentation");
            assert!(!key.kind.is_empty(), "{path} has no type");
            paths.push(path);
        }
    }
    assert!(paths.len() > 150, "{}", paths.len());
    let place = Workspace::empty();
    for path in paths.iter().step_by(10) {
        let ran = place.run(&["explain", path]).expect_code(0);
        assert!(
            ran.stdout.starts_with(&format!("# {path}\n")),
            "{}",
            ran.stdout
        );
    }
}

#[test]
fn misspellings_get_suggestions() {
    let place = Workspace::empty();
    for (wrong, right) in [
        ("mig-profile-unsuported", "mig-profile-unsupported"),
        ("nodePools.shering", "nodePools.sharing"),
        ("nodePool", "nodePools"),
        ("timeSlising", "nodePools.sharing.timeSlicing"),
        ("runtimeImge", "stack.runtimeImage"),
        ("nodePools.spot", "nodePools.capacity.spot"),
        ("metadata.machine", "nodePools.machine"),
    ] {
        let ran = place.run(&["explain", wrong]).expect_code(2);
        assert_eq!(ran.stdout, "");
        let help = ran.stderr.split("did you mean ").nth(1);
        let help = help.unwrap_or_else(|| panic!("{}", ran.stderr));
        assert!(help.contains(&format!("`{right}`")), "{}", ran.stderr);
    }
    let ran = place.run(&["explain", "nodePools.name.zzz"]).expect_code(2);
    let help = "help: `nodePools.name` has no nested keys";
    assert!(ran.stderr.contains(help), "{}", ran.stderr);
}

#[test]
fn code_is_found_by_name() {
    let ran = Workspace::empty()
        .run(&["explain", "tree-stale"])
        .expect_code(0);
    assert!(ran.stdout.contains("GPUC0301"));
}

#[test]
fn code_is_found_by_its_digits() {
    let place = Workspace::empty();
    let whole = place.run(&["explain", "GPUC2047"]).expect_code(0);
    let digits = place.run(&["explain", "2047"]).expect_code(0);
    assert_eq!(digits.stdout, whole.stdout);
}

#[test]
fn corrected_words_are_reported() {
    let ran = Workspace::empty().run(&["explain", "TEAM"]).expect_code(0);
    assert!(
        ran.stdout.starts_with("# workloads.team\n"),
        "{}",
        ran.stdout
    );
    let note = "note: `TEAM` is interpreted as `workloads.team`; there is also a key `teams`";
    assert!(ran.stderr.contains(note), "{}", ran.stderr);
}

#[test]
fn key_is_found_by_its_last_part() {
    let place = Workspace::empty();
    let whole = place
        .run(&["explain", "nodePools.sharing.mig"])
        .expect_code(0);
    for short in ["mig", "MIG", "sharing.mig"] {
        let ran = place.run(&["explain", short]).expect_code(0);
        assert_eq!(ran.stdout, whole.stdout, "{short}");
    }
    let ran = place.run(&["explain", "replicas"]).expect_code(0);
    for path in [
        "nodePools.sharing.timeSlicing.replicas",
        "nodePools.sharing.mps.replicas",
    ] {
        assert!(
            ran.stdout.contains(&format!("\n  {path} ")),
            "{}",
            ran.stdout
        );
    }
    // A key of the top is that key, also where others end like it.
    let ran = place.run(&["explain", "stack"]).expect_code(0);
    assert!(ran.stdout.starts_with("# stack\n\n"), "{}", ran.stdout);
}

#[test]
fn catalog_lists_rows_that_match_all_words() {
    let place = Workspace::empty();
    let ran = place
        .run(&["catalog", "machines", "aws", "H100"])
        .expect_code(0);
    assert!(
        ran.stdout.lines().any(|line| line.contains("p5.48xlarge")),
        "{}",
        ran.stdout
    );
    assert!(!ran.stdout.contains("g6.xlarge") && !ran.stdout.contains("a3-highgpu"));
    assert_eq!(ran.stderr, "");
    for kind in ["gpus", "machines", "charts", "images", "clouds"] {
        let table = place.run(&["catalog", kind]).expect_code(0).stdout;
        let json = place
            .run(&["catalog", kind, "--json"])
            .expect_code(0)
            .stdout;
        let rows: Vec<Value> = serde_json::from_str(&json).unwrap();
        assert_eq!(table.lines().count(), rows.len() + 1, "{kind}");
        assert!(!rows.is_empty(), "{kind}");
    }
    let ran = place
        .run(&["catalog", "gpus", "voodoo2", "--json"])
        .expect_code(0);
    assert_eq!(ran.stdout, "[]\n");
    assert!(
        ran.stderr.contains("no entry of the catalog"),
        "{}",
        ran.stderr
    );
}

#[test]
fn completions_and_man_pages_are_generated() {
    let place = Workspace::empty();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let ran = place.run(&["completions", shell]).expect_code(0);
        assert!(
            ran.stdout.contains("gpuc") && ran.stdout.contains("prune"),
            "{shell}"
        );
        assert_eq!(ran.stderr, "");
    }
    place.run(&["man", "share/man"]).expect_silent_success();
    let pages = place.files("share/man");
    for page in ["gpuc.1", "gpuc-build.1", "gpuc-explain.1"] {
        assert!(pages[page].contains(".TH"), "{page}");
    }
    place.write("taken", "");
    let ran = place.run(&["man", "taken"]).expect_code(3);
    assert!(ran.stderr.contains("taken"), "{}", ran.stderr);
}

#[test]
fn schema_is_json() {
    let ran = Workspace::with(GOOD).run(&["schema"]).expect_code(0);
    let schema: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(schema["title"], "gpu-cluster.yaml");
    assert_eq!(ran.stderr, "");
}
