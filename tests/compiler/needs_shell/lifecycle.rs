//! The lifecycle of a cluster: dry run, creation, repeated runs, drift, interruptions, teardown.

use std::collections::BTreeSet;

use gpuc_model::plan::{self, Argument, Change, Field, Resource};
use serde_json::Value;

use super::environment::{Environment, FakeCall, RunOptions, RunResult};

/// A cloud, as required by these tests.
pub(crate) struct Case {
    /// A `gpu-cluster.yaml`.
    pub(crate) config: &'static str,
    /// Shell commands that create the environment.
    pub(crate) before: &'static str,
    /// Shell commands that change the account, project, subscription or context.
    pub(crate) other_account: &'static str,
    /// The fields that a first run changes on what is there by then.
    pub(crate) settled: &'static [&'static str],
    /// Causes drift in exactly this field; returns whether the field is known.
    pub(crate) drift: fn(&mut Value, &Resource, &Field) -> bool,
}

impl Case {
    /// The environment before the first run.
    pub(crate) fn stage(&self) -> Environment {
        Environment::new(self.config, self.before)
    }

    /// The environment after the first run.
    pub(crate) fn stage_after_first_run(&self) -> Environment {
        let stage = self.stage();
        stage.run("apply.sh", &[]).expect_success();
        stage
    }
}

/// A dry run changes nothing and shows every command; the first run makes everything, the second nothing. What became
/// of the world is given back for a closer look.
pub(crate) fn assert_created_once(case: &Case) -> Value {
    let stage = case.stage();
    let before = stage.state();
    let dry = stage.run("apply.sh", &["--dry-run"]);
    let dry = dry.expect_success().expect_no_changes();
    assert_eq!(stage.state(), before);

    let first = stage.run("apply.sh", &[]).expect_success();
    let lines = |text: &str| -> Vec<String> {
        let lines = text.lines().filter_map(|line| line.strip_prefix("+ "));
        lines.map(str::to_owned).collect()
    };
    let run = lines(&first.stderr);
    let mut shown: Vec<_> = dry.out.lines().collect();
    // What is shown may be pasted: a shell reads the words that the program got.
    for (line, words) in run.iter().zip(split_words(&stage, &run)) {
        let call = first.calls.iter().find(|call| call.words == words);
        let call = call.unwrap_or_else(|| panic!("{line}"));
        match shown.iter().position(|other| other == line) {
            Some(place) => drop(shown.remove(place)),
            None => panic!("not shown: {call:?} {line}\n{}", dry.out),
        }
    }
    assert!(shown.is_empty(), "never run: {shown:#?}");
    assert_created_by_plan(case, &stage, &first);

    let made = stage.state();
    let second = stage
        .run("apply.sh", &[])
        .expect_success()
        .expect_no_changes();
    assert_eq!(stage.state(), made, "{}", second.stderr);
    made
}

/// Whether a call is one that a first run may make on what is there by then.
fn is_settling_call(case: &Case, stage: &Environment, call: &FakeCall) -> bool {
    let resources = stage.plan.provisioning.resources.iter();
    let mut fields = resources.flat_map(|resource| &resource.fields);
    fields.any(|field| {
        let is_listed = case.settled.contains(&field.kind.name);
        is_listed
            && field
                .update
                .iter()
                .any(|command| stage.matches_command(call, command))
    })
}

/// Splits lines of shell into words.
fn split_words(stage: &Environment, lines: &[String]) -> Vec<Vec<String>> {
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let lines = lines.as_slice();
    let script = r#"for line; do eval "set -- $line"; printf '%s\0' "$@"; printf '\n\0'; done"#;
    let run = stage
        .shell(script, lines, &RunOptions::default())
        .expect_success();
    let mut all = Vec::new();
    let mut words = Vec::new();
    for word in run.out.split_terminator('\0') {
        if word == "\n" {
            all.push(std::mem::take(&mut words));
        } else {
            words.push(word.to_owned());
        }
    }
    all
}

/// Everything that changed something was a command that creates something, as it stands in the plan, byte for byte, but
/// for what is settled afterwards.
fn assert_created_by_plan(case: &Case, stage: &Environment, run: &RunResult) {
    for call in run.mutating_calls() {
        let mut resources = stage.plan.provisioning.resources.iter();
        let creates = resources.any(|resource| {
            let mut commands = resource.create.iter();
            commands.any(|command| stage.matches_command(call, command))
        });
        assert!(creates || is_settling_call(case, stage, call), "{call:#?}");
        assert_eq!(call.code, 0, "{}", run.stderr);
    }
}

/// A script stops at once if it targets another account.
pub(crate) fn assert_identity_is_checked(case: &Case) {
    let stage = case.stage_after_first_run();
    stage
        .shell(case.other_account, &[], &RunOptions::default())
        .expect_success();
    let other = stage.state();
    let identity = &stage.plan.provisioning.identity;
    let name: &str = &stage.plan.cluster;
    for (script, arguments) in [
        ("apply.sh", vec![]),
        ("apply.sh", vec!["--dry-run", "--allow-disruption"]),
        ("teardown.sh", vec!["--yes", name]),
    ] {
        let run = stage
            .run(script, &arguments)
            .expect_refusal(&identity[0].mismatch_message);
        // A dry run goes through all scripts; each asks by itself.
        let mut calls = run.calls.iter();
        let only_asks = calls.all(|call| stage.matches_command(call, &identity[0].query));
        assert!(only_asks && !run.calls.is_empty(), "{:#?}", run.calls);
    }
    assert_eq!(stage.state(), other);
    // Every script asks, not only the one that calls the others.
    let scripts: BTreeSet<_> = scripts(&stage);
    for script in scripts {
        stage
            .run(&script, &[])
            .expect_refusal(&identity[0].mismatch_message);
    }
}

fn scripts(stage: &Environment) -> BTreeSet<String> {
    let resources = stage.plan.provisioning.resources.iter();
    resources
        .map(|resource| format!("{}.sh", resource.script))
        .collect()
}

/// A failed read of a resource does not count as its absence.
pub(crate) fn assert_outage_is_not_absence(case: &Case) {
    let stage = case.stage();
    let mut known = BTreeSet::new();
    let resources = stage.plan.provisioning.resources.iter();
    for resource in resources.filter(|it| !it.is_only_deleted()) {
        let command = texts(&resource.observation.command);
        let outage = format!("{}:{}", command[0], command[1..].join(" "));
        if !known.insert((resource.script.clone(), outage.clone())) {
            continue;
        }
        let with = RunOptions {
            environment: &[("GPUC_STANDIN_FAIL", &outage)],
            ..RunOptions::default()
        };
        let script = format!("{}.sh", resource.script);
        let run = stage.run_with(&script, &[], &with);
        run.expect_refusal("cannot be read: command failed");
    }
}

fn texts(command: &plan::Command) -> Vec<&str> {
    command.0.iter().map(text).collect()
}

fn text(word: &Argument) -> &str {
    match word {
        Argument::Text(text) => text,
        other => panic!("what is looked at is known beforehand: {other:?}"),
    }
}

/// Drift of every field of every resource is detected. Mutable fields are corrected, by the commands of that field
/// only; immutable fields stop the script with the reason.
pub(crate) fn assert_drift_is_corrected(case: &Case) {
    let stage = case.stage_after_first_run();
    let resources = stage.plan.provisioning.resources.iter();
    for resource in resources.filter(|it| !it.is_only_deleted()) {
        let script = format!("{}.sh", resource.script);
        let looks = stage.read_commands(&resource.script);
        let (fixed, free): (Vec<_>, Vec<_>) =
            resource.fields.iter().partition(|it| it.update.is_empty());
        assert_stops_on_drift(case, &stage, resource, &fixed, &free);
        for field in &free {
            let about = format!(
                "{} {}: {}",
                resource.kind.name, resource.name, field.kind.name
            );
            drift(case, &stage, resource, &[field]);
            let mut arguments = vec![];
            if let Change::NodeRollout { reason } = field.kind.change {
                stage.run(&script, &[]).expect_refusal(reason);
                arguments.push("--allow-disruption");
            }
            let run = stage.run(&script, &arguments).expect_success();
            let mut wanted = looks.clone();
            wanted.extend(&field.update);
            assert!(
                stage.match_commands(&run.calls, &wanted),
                "{about}\n{}\n{:#?}",
                run.stderr,
                run.calls
            );
            assert!(
                run.calls.iter().all(|call| call.code == 0),
                "{about}\n{}",
                run.stderr
            );
        }
        // The drift of one field is over when that of the next is seen alone; this is for the last.
        let run = stage
            .run(&script, &["--allow-disruption"])
            .expect_success()
            .expect_no_changes();
        assert!(run.stderr.contains("nothing to do"), "{}", run.stderr);
    }
}

/// Drift of all immutable fields and of a mutable one: every reason is reported, and nothing is changed.
fn assert_stops_on_drift(
    case: &Case,
    stage: &Environment,
    resource: &Resource,
    fixed: &[&Field],
    free: &[&Field],
) {
    if fixed.is_empty() {
        return;
    }
    let before = stage.state();
    drift(case, stage, resource, fixed);
    if let Some(field) = free.first() {
        drift(case, stage, resource, &[field]);
    }
    let script = format!("{}.sh", resource.script);
    let run = stage.run(&script, &["--allow-disruption"]);
    let mut run = run.expect_refusal("immutable: requires replacement");
    for field in fixed {
        let name = format!(
            "{} {}: {}: ",
            resource.kind.name, resource.name, field.kind.name
        );
        let Change::Replacement { reason } = field.kind.change else {
            panic!("{name}: no command changes it, and it is not said to be fixed");
        };
        assert!(
            run.stderr.contains(reason),
            "{name}: {reason}\n{}",
            run.stderr
        );
        // Once when it is found, once when the script stops.
        assert_eq!(
            run.stderr.matches(&name).count(),
            2,
            "{name}\n{}",
            run.stderr
        );
    }
    stage.set_state(&before);
    // Each of them alone is enough.
    if let [first, .., last] = fixed {
        for field in [first, last] {
            drift(case, stage, resource, &[field]);
            run = stage.run(&script, &[]).expect_refusal(field.kind.name);
            stage.set_state(&before);
        }
    }
    drop(run);
}

/// An immutable difference in the last resource prevents `apply.sh` from changing the first.
pub(crate) fn assert_reads_before_changes(case: &Case) {
    let stage = case.stage_after_first_run();
    let resources = &stage.plan.provisioning.resources;
    let fixed = |resource: &Resource, fixed: bool| {
        let mut fields = resource.fields.iter();
        fields.position(|field| field.update.is_empty() == fixed)
    };
    let mut first = resources
        .iter()
        .filter_map(|it| Some((it, fixed(it, false)?)));
    let mut last = resources
        .iter()
        .rev()
        .filter_map(|it| Some((it, fixed(it, true)?)));
    for (resource, place) in [first.next().unwrap(), last.next().unwrap()] {
        drift(case, &stage, resource, &[&resource.fields[place]]);
    }
    let world = stage.state();
    for arguments in [vec![], vec!["--allow-disruption"], vec!["--dry-run"]] {
        let run = stage.run("apply.sh", &arguments);
        run.expect_refusal("immutable: requires replacement");
    }
    assert_eq!(stage.state(), world);
}

fn drift(case: &Case, stage: &Environment, resource: &Resource, fields: &[&Field]) {
    let mut world = stage.state();
    for field in fields {
        let before = world.clone();
        let known = (case.drift)(&mut world, resource, field);
        let about = format!("{}: {}", resource.kind.name, field.kind.name);
        assert!(
            known,
            "nothing says how {about} drifts: add it to the table of this cloud"
        );
        assert_ne!(world, before, "{about} of {} does not drift", resource.name);
    }
    stage.set_state(&world);
}

/// A script that is interrupted after any of its changes is completed by the next run.
pub(crate) fn assert_resumable(case: &Case) {
    let stage = case.stage();
    let mut deaths = 0;
    let mut lives = "1";
    loop {
        let before = stage.state();
        let with = RunOptions {
            environment: &[("GPUC_STANDIN_DIE_AFTER", lives)],
            ..RunOptions::default()
        };
        let run = stage.run_with("apply.sh", &[], &with);
        if run.code == 0 {
            break;
        }
        deaths += 1;
        assert!(deaths < 40, "it never ends\n{}", run.stderr);
        let done = run
            .mutating_calls()
            .into_iter()
            .filter(|call| call.code == 0);
        assert_eq!(done.count().to_string(), lives, "{}", run.stderr);
        // Two changes may belong together: what was done of them is done again.
        lives = if stage.state() == before { "2" } else { "1" };
    }
    let whole = case.stage();
    let changes = whole.run("apply.sh", &[]).expect_success();
    assert!(
        deaths + 1 >= changes.mutating_calls().len(),
        "{deaths} deaths\n{}",
        changes.stderr
    );
    stage
        .run("apply.sh", &[])
        .expect_success()
        .expect_no_changes();
    assert_eq!(
        stage.state(),
        whole.state(),
        "a life with accidents ends as one without"
    );
}

/// Nothing is deleted without the cluster's name. With it, gpuc's resources are deleted in reverse order; a second run
/// deletes nothing.
pub(crate) fn assert_teardown(case: &Case) {
    let stage = case.stage_after_first_run();
    let made = stage.state();
    let name: &str = &stage.plan.cluster;
    for (arguments, input) in [
        (vec![], ""),
        (vec![], "\n"),
        (vec![], "yes\n"),
        (vec!["--yes"], ""),
        (vec!["--yes", "another"], ""),
        (vec!["--yes", ""], ""),
    ] {
        let with = RunOptions {
            input,
            ..RunOptions::default()
        };
        let run = stage.run_with("teardown.sh", &arguments, &with);
        run.expect_refusal("name");
    }
    let dry = stage.run("teardown.sh", &["--dry-run"]);
    let dry = dry.expect_success().expect_no_changes();
    assert_eq!(stage.state(), made);

    let input = format!("{name}\n");
    let with = RunOptions {
        input: &input,
        ..RunOptions::default()
    };
    let run = stage.run_with("teardown.sh", &[], &with).expect_success();
    let wanted = deletions(&stage);
    let calls: Vec<FakeCall> = run.mutating_calls().into_iter().cloned().collect();
    assert!(
        stage.match_commands(&calls, &wanted),
        "{wanted:#?}\n{calls:#?}"
    );
    assert_eq!(dry.out.lines().count(), calls.len(), "{}", dry.out);

    let gone = stage.state();
    stage.run("teardown.sh", &["--yes", name]).expect_success();
    assert_eq!(stage.state(), gone);
}

/// The delete commands, in reverse order of the resources.
fn deletions(stage: &Environment) -> Vec<&plan::Command> {
    let resources = stage.plan.provisioning.resources.iter().rev();
    resources.flat_map(|resource| &resource.delete).collect()
}

/// Every field in the tables of a cloud occurs in one of its files, so its drift is tested.
pub(crate) fn assert_all_fields_are_tested(cases: &[&Case]) {
    let stages: Vec<_> = cases
        .iter()
        .map(|case| Environment::new(case.config, ""))
        .collect();
    let cloud = stages[0].cluster.cloud;
    for kind in cloud.resources() {
        for field in kind.fields {
            let resources = stages
                .iter()
                .flat_map(|stage| &stage.plan.provisioning.resources);
            let mut fields = resources.flat_map(|resource| &resource.fields);
            assert!(
                fields.any(|found| std::ptr::eq(found.kind, field) || found.kind == field),
                "{}: no file has the field {}",
                kind.name,
                field.name
            );
        }
    }
}
