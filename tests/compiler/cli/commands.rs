//! The commands other than `build` and `check`.

use serde_json::Value;

use super::{GOOD, Workspace};

#[test]
fn starters_build_and_list_placeholders() {
    for cloud in ["aws", "azure", "gcp", "on-prem"] {
        let place = Workspace::empty();
        let result = place
            .run(&["init", "--cloud", cloud, "--name", "my-ml"])
            .expect_code(0);
        assert!(
            result.stdout.is_empty() && result.stderr.contains("next: "),
            "{}",
            result.stderr
        );
        let result = place
            .run(&["check", "-q", "--deny", "warnings"])
            .expect_code(2);
        let found = result.stdout.matches("error[").count();
        assert!(found > 1 && result.stdout.matches(" placeholder-not-replaced]").count() == found);
        place.run(&["build", "-q"]).expect_code(0);
        assert!(place.path("clusters/my-ml/README.md").is_file(), "{cloud}");
        let before = place.read("gpu-cluster.yaml");
        let result = place.run(&["init", "--cloud", cloud]).expect_code(2);
        assert!(
            result.stderr.contains("gpu-cluster.yaml already exists"),
            "{}",
            result.stderr
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
    let result = place
        .run(&["init", "--cloud", "aws", "--name", "My ML"])
        .expect_code(2);
    assert!(result.stderr.contains("`My ML`"), "{}", result.stderr);
    place
        .run(&["init", "--cloud", "aws", "none/file.yaml"])
        .expect_code(3);
    assert!(place.files("").is_empty());
}

#[test]
fn starter_has_the_schema_next_to_it() {
    let place = Workspace::empty();
    let result = place
        .run(&["init", "--cloud", "aws", "fleet/a.gpu-cluster.yaml"])
        .expect_code(3);
    assert!(
        result.stderr.contains("cannot write fleet/"),
        "{}",
        result.stderr
    );
    place.write("fleet/keep", "");
    let result = place
        .run(&["init", "--cloud", "aws", "fleet/a.gpu-cluster.yaml"])
        .expect_code(0);
    let schema = "fleet/gpu-cluster.schema.json";
    assert!(
        result
            .stderr
            .contains("wrote fleet/a.gpu-cluster.yaml and fleet/gpu-cluster.schema.json"),
        "{}",
        result.stderr
    );
    let first = place.read("fleet/a.gpu-cluster.yaml");
    let first = first.lines().next().unwrap().to_owned();
    let named = first.strip_prefix("# yaml-language-server: $schema=./");
    assert_eq!(named, schema.strip_prefix("fleet/"));
    assert_eq!(place.read(schema), place.run(&["schema"]).stdout);
    let result = place
        .run(&["init", "--cloud", "gcp", "fleet/b.gpu-cluster.yaml"])
        .expect_code(0);
    assert!(!result.stderr.contains("schema"), "{}", result.stderr);
    // An existing schema may belong to another version of gpuc, or to the user.
    place.write(schema, "{}");
    let result = place
        .run(&["init", "--cloud", "gcp", "fleet/c.gpu-cluster.yaml"])
        .expect_code(0);
    assert!(
        result.stderr.contains(&format!("`gpuc schema > {schema}`")),
        "{}",
        result.stderr
    );
    assert_eq!(place.read(schema), "{}");
    // With `-`, no schema is written.
    let place = Workspace::empty();
    place.run(&["init", "--cloud", "aws", "-"]).expect_code(0);
    assert!(place.files("").is_empty());
    // The schema is not treated as a manifest.
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
fn findings_are_listed_without_an_argument() {
    let result = Workspace::empty().run(&["explain"]).expect_code(0);
    let lines: Vec<_> = result.stdout.lines().collect();
    // The finding of `gpuc build --check` is not in `gpuc::codes`.
    assert_eq!(
        lines.len(),
        gpuc::codes().len() + gpuc::doctor_codes().len() + 1
    );
    assert!(lines.is_sorted());
    for code in gpuc::codes() {
        let is_of_code = |line: &&&str| line.starts_with(code.id);
        let line = lines.iter().find(is_of_code).unwrap();
        let columns: Vec<_> = line.split_whitespace().take(3).collect();
        assert_eq!(columns, [code.id, code.name, code.severity.as_str()]);
        assert!(line.ends_with(code.summary), "{line}");
    }
}

#[test]
fn keys_are_explained() {
    let mut paths = Vec::new();
    let mut waiting = vec![String::new()];
    while let Some(path) = waiting.pop() {
        let key = gpuc_syntax::schema::describe_key(&path)
            .unwrap_or_else(|_| panic!("{path} is not a key"));
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
        let result = place.run(&["explain", path]).expect_code(0);
        assert!(
            result.stdout.starts_with(&format!("# {path}\n")),
            "{}",
            result.stdout
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
        ("GpuXidFata", "GpuXidFatal"),
    ] {
        let result = place.run(&["explain", wrong]).expect_code(2);
        assert_eq!(result.stdout, "");
        let help = result.stderr.split("did you mean ").nth(1);
        let help = help.unwrap_or_else(|| panic!("{}", result.stderr));
        assert!(help.contains(&format!("`{right}`")), "{}", result.stderr);
    }
    for number in ["GPUC9999", "gpuc9999", "9999"] {
        let result = place.run(&["explain", number]).expect_code(2);
        let help = "help: run `gpuc explain` to list all findings";
        assert!(result.stderr.contains(help), "{}", result.stderr);
    }
    let result = place.run(&["explain", "nodePools.name.zzz"]).expect_code(2);
    let help = "help: `nodePools.name` has no nested keys";
    assert!(result.stderr.contains(help), "{}", result.stderr);
}

#[test]
fn code_is_found_by_name() {
    let result = Workspace::empty()
        .run(&["explain", "tree-stale"])
        .expect_code(0);
    assert!(result.stdout.contains("GPUC0301"));
}

#[test]
fn code_is_found_by_its_digits() {
    let place = Workspace::empty();
    let by_id = place.run(&["explain", "GPUC2047"]).expect_code(0);
    let digits = place.run(&["explain", "2047"]).expect_code(0);
    assert_eq!(digits.stdout, by_id.stdout);
}

#[test]
fn corrected_names_are_reported() {
    let result = Workspace::empty().run(&["explain", "TEAM"]).expect_code(0);
    assert!(
        result.stdout.starts_with("# workloads.team\n"),
        "{}",
        result.stdout
    );
    let note = "note: `TEAM` is interpreted as `workloads.team`; there is also a key `teams`";
    assert!(result.stderr.contains(note), "{}", result.stderr);
}

#[test]
fn key_is_found_by_its_last_part() {
    let place = Workspace::empty();
    let by_id = place
        .run(&["explain", "nodePools.sharing.mig"])
        .expect_code(0);
    for short in ["mig", "MIG", "sharing.mig"] {
        let result = place.run(&["explain", short]).expect_code(0);
        assert_eq!(result.stdout, by_id.stdout, "{short}");
    }
    let result = place.run(&["explain", "replicas"]).expect_code(0);
    for path in [
        "nodePools.sharing.timeSlicing.replicas",
        "nodePools.sharing.mps.replicas",
    ] {
        assert!(
            result.stdout.contains(&format!("\n  {path} ")),
            "{}",
            result.stdout
        );
    }
    // A top-level key takes precedence over nested keys with the same name.
    let result = place.run(&["explain", "stack"]).expect_code(0);
    assert!(
        result.stdout.starts_with("# stack\n\n"),
        "{}",
        result.stdout
    );
}

#[test]
fn catalog_lists_rows_that_match_all_words() {
    let place = Workspace::empty();
    let result = place
        .run(&["catalog", "machines", "aws", "H100"])
        .expect_code(0);
    assert!(
        result
            .stdout
            .lines()
            .any(|line| line.contains("p5.48xlarge")),
        "{}",
        result.stdout
    );
    assert!(!result.stdout.contains("g6.xlarge") && !result.stdout.contains("a3-highgpu"));
    assert_eq!(result.stderr, "");
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
    let result = place
        .run(&["catalog", "gpus", "voodoo2", "--json"])
        .expect_code(0);
    assert_eq!(result.stdout, "[]\n");
    assert!(
        result.stderr.contains("no entry of the catalog"),
        "{}",
        result.stderr
    );
}

#[test]
fn completions_and_man_pages_are_generated() {
    let place = Workspace::empty();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let result = place.run(&["completions", shell]).expect_code(0);
        assert!(
            result.stdout.contains("gpuc") && result.stdout.contains("prune"),
            "{shell}"
        );
        assert_eq!(result.stderr, "");
    }
    place.run(&["man", "share/man"]).expect_silent_success();
    let pages = place.files("share/man");
    for page in ["gpuc.1", "gpuc-build.1", "gpuc-explain.1"] {
        assert!(pages[page].contains(".TH"), "{page}");
    }
    place.write("taken", "");
    let result = place.run(&["man", "taken"]).expect_code(3);
    assert!(result.stderr.contains("taken"), "{}", result.stderr);
}

#[test]
fn schema_is_json() {
    let result = Workspace::with(GOOD).run(&["schema"]).expect_code(0);
    let schema: Value = serde_json::from_str(&result.stdout).unwrap();
    assert_eq!(schema["title"], "gpu-cluster.yaml");
    assert_eq!(result.stderr, "");
}
