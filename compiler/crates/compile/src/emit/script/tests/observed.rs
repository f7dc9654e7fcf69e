//! Words that are known only at run time, externally managed entries, resources that are created together, and required
//! programs.

use super::*;

fn with_labels_update(update: Vec<Command>, desired: Value) -> Resource {
    let mut one = pool("one", "pool-one");
    one.fields[1].desired = desired;
    one.fields[1].update = update;
    one
}

#[test]
fn command_with_null_word_is_skipped() {
    let remaining = "(.labels // {} | keys) - ($want | keys) | if . == [] then null else . end";
    let set = Command::new(["cloud", "set", "one", "labels", r#"{"a":"1"}"#]);
    let note = Command::new(["cloud", "set", "one", "left"]);
    let note = note.with_argument(Argument::ObservedOptional(remaining.to_owned()));
    let resource = with_labels_update(vec![set, note], json!({"a": "1"}));
    let mut live = whole();
    live["labels"] = json!({"a": "2"});
    let world = World::new(&plan(vec![resource]), &json!({"one": live}));
    let dry = world.run("pool-one.sh", &["--dry-run"]);
    assert_eq!(dry.out.lines().count(), 1, "{}", dry.out);
    let run = world.run("pool-one.sh", &[]);
    assert_eq!((run.code, world.changes().len()), (0, 1), "{}", run.stderr);

    let mut live = whole();
    live["labels"] = json!({"a": "2", "c": "3"});
    world.put(
        "state",
        &json!({"account": "me", "things": {"one": live}}).to_string(),
        false,
    );
    let run = world.run("pool-one.sh", &[]);
    assert_eq!((run.code, world.changes().len()), (0, 2), "{}", run.stderr);
    assert_eq!(world.resources()["one"]["left"], json!(["c"]));
}

#[test]
fn each_string_of_a_list_is_one_word() {
    let words = r#"[.labels[], "", "a b"]"#;
    let set = Command::new(["cloud", "words", "one"]);
    let set = set
        .with_argument(Argument::ObservedList(words.to_owned()))
        .with_arguments(["last"]);
    let resource = with_labels_update(vec![set], json!({}));
    let world = World::new(
        &plan(vec![resource]),
        &json!({"one": {"size": "big", "image": "x", "labels": {"a": HOSTILE}}}),
    );
    world.put(
        "bin/cloud",
        &CLOUD.replace(
            "case $1 in",
            "case $1 in\n  words) jq -nc '$ARGS.positional' --args -- \"$@\" >\"$STATE.words\" ;;",
        ),
        true,
    );
    let run = world.run("pool-one.sh", &[]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let words: Value = serde_json::from_str(&world.read("state.words")).unwrap();
    assert_eq!(words, json!(["words", "one", HOSTILE, "", "a b", "last"]));
}

#[test]
fn externally_managed_entries_are_listed_and_kept() {
    let mut one = pool("one", "pool-one");
    one.fields[1].external_entries = Some("[.labels | keys[] | select(IN(\"a\", \"b\") | not)]");
    let mut live = whole();
    let world = World::new(&plan(vec![one.clone()]), &json!({"one": live}));
    let run = world.run("pool-one.sh", &[]);
    assert!(!run.stderr.contains("kept"), "{}", run.stderr);
    one.fields[1].kind = &ANY_LABELS;
    live["labels"]["theirs"] = json!("x");
    live["labels"]["too"] = json!("x");
    let world = World::new(&plan(vec![one]), &json!({"one": live}));
    let run = world.run("pool-one.sh", &[]);
    let kept = "pool one: labels: not managed by gpuc, kept: theirs, too\n";
    assert!(
        run.stderr.contains(kept) && run.stderr.contains("nothing to do"),
        "{}",
        run.stderr
    );
    assert!(
        !world
            .run("pool-one.sh", &["--check"])
            .stderr
            .contains("kept")
    );
}

const ANY_LABELS: FieldKind = FieldKind {
    read: "$want",
    ..LABELS
};

#[test]
fn dry_run_does_not_create_a_resource_twice() {
    let mut first = pool("first", "pool-first");
    let update = Command::new(["cloud", "set", "first", "image", r#""x""#]);
    first.created_with = Some(CreatedWith {
        title: "cluster ml".to_owned(),
        observation: Observation {
            command: Command::new(["cloud", "show", "ml"]),
            absent_pattern: r"\(NotFound\)",
        },
        follow_up: vec![update],
    });
    let world = World::new(&plan(vec![first]), &json!({}));
    let run = world.run("pool-first.sh", &["--dry-run"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(run.out, "cloud set first image \\\"x\\\"\n");
    assert!(
        run.stderr
            .contains("pool first: created together with cluster ml"),
        "{}",
        run.stderr
    );
    // The cluster exists and the pool does not: the script creates it.
    world.put(
        "state",
        &json!({"account": "me", "things": {"ml": {}}}).to_string(),
        false,
    );
    let run = world.run("pool-first.sh", &["--dry-run"]);
    assert!(run.out.starts_with("cloud make first "), "{}", run.out);
    let run = world.run("pool-first.sh", &[]);
    assert_eq!((run.code, world.changes().len()), (0, 1), "{}", run.stderr);
}

#[test]
fn verify_requires_only_programs_that_read() {
    let mut plan = plan(vec![pool("one", "pool-one")]);
    let maker = Tool::any_version("gpuc-test-maker");
    plan.provisioning.tools.push(maker);
    let world = World::new(&plan, &json!({}));
    let run = world.run("pool-one.sh", &[]);
    assert!(
        run.code == 1 && run.stderr.contains("not installed: gpuc-test-maker"),
        "{}",
        run.stderr
    );
    world.put(
        "state.nodes",
        &json!({"items": [node("a", "True", "8")]}).to_string(),
        false,
    );
    let ready = json!({"status": {"desiredNumberScheduled": 1, "updatedNumberScheduled": 1, "numberReady": 1}});
    world.put("state.daemonset", &ready.to_string(), false);
    let missing = world.run("verify.sh", &["--no-pods"]);
    let reason = "pool one: not found";
    assert!(
        missing.code == 1 && missing.stderr.contains(reason),
        "{}",
        missing.stderr
    );
    let state = json!({"account": "me", "things": {"one": {}}});
    world.put("state", &state.to_string(), false);
    let run = world.run("verify.sh", &["--no-pods"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    fs::remove_file(world.folder.path().join("bin/cloud")).unwrap();
    let run = world.run("verify.sh", &["--no-pods"]);
    assert!(
        run.code == 1 && run.stderr.contains("not installed: cloud"),
        "{}",
        run.stderr
    );
    let run = world.run("verify.sh", &["--no-pods", "--context", "mine"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let note = "using context mine for cluster ml without checking that it belongs to it";
    assert!(run.stderr.contains(note), "{}", run.stderr);
}

#[test]
fn outdated_daemon_set_pods_fail_the_check() {
    let world = World::new(&plan(Vec::new()), &json!({}));
    world.put(
        "state.nodes",
        &json!({"items": [node("a", "True", "8")]}).to_string(),
        false,
    );
    for (generation, seen, updated, reason) in [
        (
            3,
            2,
            1,
            "the controller has not observed the latest generation",
        ),
        (3, 3, 0, "updated on 0 of 1 node"),
    ] {
        let daemon_set = json!({
            "metadata": {"generation": generation},
            "status": {
                "observedGeneration": seen, "desiredNumberScheduled": 1, "updatedNumberScheduled": updated, "numberReady": 1,
            },
        });
        world.put("state.daemonset", &daemon_set.to_string(), false);
        let run = world.run("verify.sh", &["--no-pods"]);
        assert!(
            run.code == 1 && run.stderr.contains(reason),
            "{}",
            run.stderr
        );
    }
}

/// A label whose desired value the cloud chooses.
static CHOSEN: ResourceKind = ResourceKind {
    fields: &[FieldKind {
        name: "chosen label",
        read: ".labels.a | if $want == null then $want else . end",
        create_flag: None,
        change: Change::InPlace,
        source: "the test",
    }],
    ..POOL
};

/// A cloud with a pool that has this label, and the cloud's choice.
fn world_with_choice(live: &Value, choice: &Value) -> World {
    let mut one = pool("one", "pool-one");
    one.kind = &CHOSEN;
    let set = Command::new(["cloud", "set", "one", "labels"]);
    one.fields = vec![Field {
        kind: &CHOSEN.fields[0],
        desired: json!("what the cloud chooses"),
        lookup: Some(Lookup {
            command: Command::new(["cloud", "show", "choices"]),
            read: ".choice".to_owned(),
        }),
        is_set_after_creation: false,
        update: vec![set.with_argument(Argument::Observed("{a: $want} | tojson".to_owned()))],
        external_entries: None,
        origin: Origin::default(),
    }];
    World::new(
        &plan(vec![one]),
        &json!({"one": live, "choices": {"choice": choice}}),
    )
}

#[test]
fn value_that_the_cloud_chooses_is_compared_and_set() {
    let mut live = whole();
    live["labels"] = json!({"a": "old"});
    let world = world_with_choice(&live, &json!(HOSTILE));
    let run = world.run("pool-one.sh", &["--verify"]);
    assert_eq!((run.code, world.changes()), (0, vec![]), "{}", run.stderr);
    assert!(
        run.stderr.contains("pool one: chosen label: \"old\" -> ")
            && run.stderr.contains(": to apply this, run apply.sh\n"),
        "{}",
        run.stderr
    );
    let run = world.run("pool-one.sh", &[]);
    assert_eq!((run.code, world.changes().len()), (0, 1), "{}", run.stderr);
    assert_eq!(world.resources()["one"]["labels"], json!({"a": HOSTILE}));
    for flags in [&[][..], &["--verify"]] {
        let run = world.run("pool-one.sh", flags);
        assert_eq!((run.code, world.changes()), (0, vec![]), "{}", run.stderr);
        assert!(!run.stderr.contains("chosen label"), "{}", run.stderr);
    }
}

#[test]
fn missing_choice_of_the_cloud_changes_nothing() {
    let world = world_with_choice(&whole(), &Value::Null);
    let run = world.run("pool-one.sh", &[]);
    assert_eq!((run.code, world.changes()), (0, vec![]), "{}", run.stderr);
}

#[test]
fn unreadable_choice_of_the_cloud_stops_the_script() {
    let world = world_with_choice(&whole(), &json!("x"));
    let state = json!({"account": "me", "things": {"one": whole()}});
    world.put("state", &state.to_string(), false);
    let run = world.run("pool-one.sh", &[]);
    assert_eq!((run.code, world.changes()), (1, vec![]), "{}", run.stderr);
    let message = "pool one: chosen label: cannot read what the cloud recommends: command failed: cloud show choices";
    assert!(run.stderr.contains(message), "{}", run.stderr);
}
