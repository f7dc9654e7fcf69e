//! Upgrades of the Kubernetes version do not skip a minor version.

use serde_json::json;

use super::*;

static CLUSTER: ResourceKind = ResourceKind {
    protection: None,
    name: "cluster",
    fields: &[FieldKind {
        name: "version",
        read: ".version | if (split(\".\")[1] | tonumber) > ($want | split(\".\")[1] | tonumber) then $want else . end",
        create_flag: None,
        change: Change::MinorVersionSteps {
            reason: "a cluster is upgraded one minor version at a time",
            downgrade_effect: "it cannot be downgraded",
        },
        source: "the test",
    }],
    definitions: "",
    state: None,
    mark: None,
};

/// Runs the script on a cluster with this version, and returns the outcome and the resulting version.
fn run(current: &str, flags: &[&str]) -> (Outcome, Value) {
    let mut resource = pool("one", "cluster");
    let cloud = |words: &[&str]| Command::new(["cloud"]).with_arguments(words.to_vec());
    resource.kind = &CLUSTER;
    resource.fields = vec![Field {
        kind: &CLUSTER.fields[0],
        desired: json!("1.36"),
        update: vec![cloud(&["set", "one", "version", "\"1.36\""])],
        lookup: None,
        is_set_after_creation: false,
        external_entries: None,
        origin: Origin::default(),
    }];
    let world = World::new(&plan(vec![resource]), &json!({"one": {"version": current}}));
    let run = world.run("cluster.sh", flags);
    let version = world.resources()["one"]["version"].clone();
    (run, version)
}

#[test]
fn next_version_is_set_and_newer_version_is_kept() {
    for (current, then) in [("1.35", "1.36"), ("1.36", "1.36"), ("1.37", "1.37")] {
        let (run, version) = run(current, &[]);
        assert_eq!((run.code, version), (0, json!(then)), "{}", run.stderr);
    }
}

#[test]
fn skipped_version_stops_the_script_and_names_the_next() {
    for (current, next) in [("1.34", "1.35"), ("1.9", "1.10")] {
        for flags in [&[][..], &["--allow-disruption"], &["--dry-run"]] {
            let (run, version) = run(current, flags);
            assert_eq!((run.code, version), (1, json!(current)), "{}", run.stderr);
            let help = format!("set kubernetes.version to {next}, run gpuc build, then run");
            let reason = "a cluster is upgraded one minor version at a time";
            assert!(
                run.stderr.contains(&help) && run.stderr.contains(reason),
                "{}",
                run.stderr
            );
        }
    }
}
