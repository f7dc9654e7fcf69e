//! The lifecycle of a cluster: dry run, creation, repeated runs, drift, interruptions, teardown.

use std::collections::BTreeSet;

use gpuc_model::plan::{self, Argument, Change, Field, Resource};
use serde_json::Value;

use super::drift::{applies_at_creation, assert_keeps_initial_values, drift};
use super::environment::{Environment, FakeCall, RunOptions, RunResult};

/// A cloud and the clusters for its tests.
pub(crate) struct Case {
    /// A `gpu-cluster.yaml`.
    pub(crate) config: &'static str,
    /// Shell commands that create the environment.
    pub(crate) before: &'static str,
    /// Shell commands that change the account, project, subscription or context.
    pub(crate) other_account: &'static str,
    /// The fields that the first run changes on existing resources.
    pub(crate) settled: &'static [&'static str],
    /// Causes drift in exactly this field. Returns false if the field is unknown.
    pub(crate) drift: fn(&mut Value, &Resource, &Field) -> bool,
}

impl Case {
    /// The environment before the first run.
    pub(crate) fn environment(&self) -> Environment {
        Environment::new(self.config, self.before)
    }

    /// The environment after the first run.
    pub(crate) fn environment_after_first_run(&self) -> Environment {
        let environment = self.environment();
        environment.run("apply.sh", &[]).expect_success();
        environment
    }
}

/// Asserts that a dry run changes nothing and prints every command, that the first run creates everything, and that the
/// second run changes nothing. Returns the resulting state.
pub(crate) fn assert_created_once(case: &Case) -> Value {
    let environment = case.environment();
    let before = environment.state();
    let dry = environment.run("apply.sh", &["--dry-run"]);
    let dry = dry.expect_success().expect_no_changes();
    assert_eq!(environment.state(), before);

    let first = environment.run("apply.sh", &[]).expect_success();
    let lines = |text: &str| -> Vec<String> {
        let lines = text.lines().filter_map(|line| line.strip_prefix("+ "));
        lines.map(str::to_owned).collect()
    };
    let run = lines(&first.stderr);
    let mut shown: Vec<_> = dry.out.lines().collect();
    // The printed commands can be pasted: a shell parses them into the same arguments.
    for (line, words) in run.iter().zip(split_words(&environment, &run)) {
        let call = first.calls.iter().find(|call| call.words == words);
        let call = call.unwrap_or_else(|| panic!("{line}"));
        match shown.iter().position(|other| other == line) {
            Some(place) => drop(shown.remove(place)),
            // It has arguments that the cloud chooses at the creation.
            None if is_settling_call(case, &environment, call) => {
                assert!(dry.stderr.contains(": set after the creation: "));
            }
            None => panic!("not printed: {call:?} {line}\n{}", dry.out),
        }
    }
    assert!(shown.is_empty(), "printed but not run: {shown:#?}");
    assert_created_by_plan(case, &environment, &first);

    let made = environment.state();
    let second = environment
        .run("apply.sh", &[])
        .expect_success()
        .expect_no_changes();
    assert_eq!(environment.state(), made, "{}", second.stderr);
    made
}

/// Whether a call changes an existing resource as the first run may.
fn is_settling_call(case: &Case, environment: &Environment, call: &FakeCall) -> bool {
    let resources = environment.plan.provisioning.resources.iter();
    let mut fields = resources.flat_map(|resource| &resource.fields);
    fields.any(|field| {
        let is_listed = case.settled.contains(&field.kind.name);
        is_listed
            && field
                .update
                .iter()
                .any(|command| environment.matches_command(call, command))
    })
}

/// Splits lines of shell into words.
fn split_words(environment: &Environment, lines: &[String]) -> Vec<Vec<String>> {
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let lines = lines.as_slice();
    let script = r#"for line; do eval "set -- $line"; printf '%s\0' "$@"; printf '\n\0'; done"#;
    let run = environment
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

/// Asserts that every change was a create command of the plan, byte for byte, except changes of existing resources.
fn assert_created_by_plan(case: &Case, environment: &Environment, run: &RunResult) {
    for call in run.mutating_calls() {
        let mut resources = environment.plan.provisioning.resources.iter();
        let creates = resources.any(|resource| {
            let mut commands = resource.create.iter();
            commands.any(|command| environment.matches_command(call, command))
        });
        assert!(
            creates || is_settling_call(case, environment, call),
            "{call:#?}"
        );
        assert_eq!(call.code, 0, "{}", run.stderr);
    }
}

/// Asserts that a script stops immediately if it targets another account.
pub(crate) fn assert_identity_is_checked(case: &Case) {
    let environment = case.environment_after_first_run();
    environment
        .shell(case.other_account, &[], &RunOptions::default())
        .expect_success();
    let other = environment.state();
    let identity = &environment.plan.provisioning.identity;
    let name: &str = &environment.plan.cluster;
    for (script, arguments) in [
        ("apply.sh", vec![]),
        ("apply.sh", vec!["--dry-run", "--allow-disruption"]),
        ("teardown.sh", vec!["--yes", name]),
    ] {
        let run = environment
            .run(script, &arguments)
            .expect_refusal(&identity[0].mismatch_message);
        // A dry run runs all scripts, and each checks the identity.
        let mut calls = run.calls.iter();
        let only_checks_identity =
            calls.all(|call| environment.matches_command(call, &identity[0].query));
        assert!(
            only_checks_identity && !run.calls.is_empty(),
            "{:#?}",
            run.calls
        );
    }
    assert_eq!(environment.state(), other);
    // Every script checks the identity, not only the script that calls the others.
    let scripts: BTreeSet<_> = scripts(&environment);
    for script in scripts {
        environment
            .run(&script, &[])
            .expect_refusal(&identity[0].mismatch_message);
    }
}

fn scripts(environment: &Environment) -> BTreeSet<String> {
    let resources = environment.plan.provisioning.resources.iter();
    resources
        .map(|resource| format!("{}.sh", resource.script))
        .collect()
}

/// Asserts that a failed read is not treated as the absence of the resource.
pub(crate) fn assert_outage_is_not_absence(case: &Case) {
    let environment = case.environment();
    let mut known = BTreeSet::new();
    let resources = environment.plan.provisioning.resources.iter();
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
        let run = environment.run_with(&script, &[], &with);
        run.expect_refusal("cannot be read: command failed");
    }
}

fn texts(command: &plan::Command) -> Vec<&str> {
    command.0.iter().map(text).collect()
}

fn text(word: &Argument) -> &str {
    match word {
        Argument::Text(text) => text,
        other => panic!("read commands must have constant arguments: {other:?}"),
    }
}

/// Asserts that drift of every field of every resource is detected. Mutable fields are corrected with the commands of
/// the field only. Immutable fields stop the script with the reason.
pub(crate) fn assert_drift_is_corrected(case: &Case) {
    let environment = case.environment_after_first_run();
    let resources = environment.plan.provisioning.resources.iter();
    let mut tested = BTreeSet::new();
    for resource in resources.filter(|it| !it.is_only_deleted()) {
        // A script with many equal resources, such as networks, reads all of them in every run.
        let fields = resource
            .fields
            .iter()
            .filter(|_| resource.kind.state.is_none());
        let forms = fields.map(|it| (resource.kind.name, it.kind.name, it.desired.is_null()));
        let forms: Vec<_> = forms.collect();
        if !forms.is_empty() && forms.iter().all(|form| tested.contains(form)) {
            continue;
        }
        tested.extend(forms);
        let script = format!("{}.sh", resource.script);
        let reads = environment.read_commands(&resource.script);
        let (initial, compared): (Vec<&Field>, Vec<&Field>) = resource
            .fields
            .iter()
            .partition(|it| applies_at_creation(it));
        let (immutable, mutable): (Vec<_>, Vec<_>) =
            compared.into_iter().partition(|it| it.update.is_empty());
        assert_keeps_initial_values(case, &environment, resource, &initial);
        assert_stops_on_drift(case, &environment, resource, &immutable, &mutable);
        for field in &mutable {
            let about = format!(
                "{} {}: {}",
                resource.kind.name, resource.name, field.kind.name
            );
            drift(case, &environment, resource, &[field]);
            let mut arguments = vec![];
            if let Change::NodeRollout { reason } = field.kind.change {
                let run = environment.run(&script, &[]);
                if field.lookup.is_some() {
                    // A value that the cloud recommends is only offered.
                    let run = run.expect_success().expect_no_changes();
                    assert!(run.stderr.contains(reason), "{}", run.stderr);
                } else {
                    run.expect_refusal(reason);
                }
                arguments.push("--allow-disruption");
            }
            let run = environment.run(&script, &arguments).expect_success();
            let mut expected = reads.clone();
            expected.extend(&field.update);
            // The script waits until the resource is ready again.
            expected.extend(resource.kind.state.map(|_| &resource.observation.command));
            assert!(
                environment.match_commands(&run.calls, &expected),
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
        // The drift of a field is corrected before the next field is changed. This run is for the last field.
        let run = environment
            .run(&script, &["--allow-disruption"])
            .expect_success()
            .expect_no_changes();
        assert!(run.stderr.contains("nothing to do"), "{}", run.stderr);
    }
}

/// Asserts that with drift of all immutable fields and a mutable one, every reason is reported and nothing is changed.
fn assert_stops_on_drift(
    case: &Case,
    environment: &Environment,
    resource: &Resource,
    immutable: &[&Field],
    mutable: &[&Field],
) {
    if immutable.is_empty() {
        return;
    }
    let before = environment.state();
    drift(case, environment, resource, immutable);
    if let Some(field) = mutable.first() {
        drift(case, environment, resource, &[field]);
    }
    let script = format!("{}.sh", resource.script);
    let run = environment.run(&script, &["--allow-disruption"]);
    let mut run = run.expect_refusal("immutable: requires replacement");
    for field in immutable {
        let name = format!(
            "{} {}: {}: ",
            resource.kind.name, resource.name, field.kind.name
        );
        let Change::Replacement { reason } = field.kind.change else {
            panic!("{name}: no command changes the field, and it is not immutable");
        };
        assert!(
            run.stderr.contains(reason),
            "{name}: {reason}\n{}",
            run.stderr
        );
        // The script reports a field when it finds the drift, and again when it stops.
        assert_eq!(
            run.stderr.matches(&name).count(),
            2,
            "{name}\n{}",
            run.stderr
        );
    }
    environment.set_state(&before);
    // A single field stops the script too.
    if let [first, .., last] = immutable {
        for field in [first, last] {
            drift(case, environment, resource, &[field]);
            run = environment
                .run(&script, &[])
                .expect_refusal(field.kind.name);
            environment.set_state(&before);
        }
    }
    drop(run);
}

/// Asserts that drift of an immutable field in the last resource prevents `apply.sh` from changing the first.
pub(crate) fn assert_reads_before_changes(case: &Case) {
    let environment = case.environment_after_first_run();
    let resources = &environment.plan.provisioning.resources;
    let immutable = |resource: &Resource, immutable: bool| {
        let mut fields = resource.fields.iter();
        fields.position(|it| !applies_at_creation(it) && it.update.is_empty() == immutable)
    };
    let mut first = resources
        .iter()
        .filter_map(|it| Some((it, immutable(it, false)?)));
    let mut last = resources
        .iter()
        .rev()
        .filter_map(|it| Some((it, immutable(it, true)?)));
    for (resource, place) in [first.next().unwrap(), last.next().unwrap()] {
        drift(case, &environment, resource, &[&resource.fields[place]]);
    }
    let state = environment.state();
    for arguments in [vec![], vec!["--allow-disruption"], vec!["--dry-run"]] {
        let run = environment.run("apply.sh", &arguments);
        run.expect_refusal("immutable: requires replacement");
    }
    assert_eq!(environment.state(), state);
}

/// Asserts that the next run completes a script that was interrupted after any of its changes.
pub(crate) fn assert_resumable(case: &Case) {
    let environment = case.environment();
    let mut interruptions = 0;
    let mut changes_before_exit = "1";
    loop {
        let before = environment.state();
        let with = RunOptions {
            environment: &[("GPUC_STANDIN_DIE_AFTER", changes_before_exit)],
            ..RunOptions::default()
        };
        let run = environment.run_with("apply.sh", &[], &with);
        if run.code == 0 {
            break;
        }
        interruptions += 1;
        assert!(
            interruptions < 40,
            "the script does not complete\n{}",
            run.stderr
        );
        let done = run
            .mutating_calls()
            .into_iter()
            .filter(|call| call.code == 0);
        assert_eq!(
            done.count().to_string(),
            changes_before_exit,
            "{}",
            run.stderr
        );
        // If a change had no effect on the state, it belongs to the next change, and the next run repeats it.
        changes_before_exit = if environment.state() == before {
            "2"
        } else {
            "1"
        };
    }
    let uninterrupted = case.environment();
    let changes = uninterrupted.run("apply.sh", &[]).expect_success();
    assert!(
        interruptions + 1 >= changes.mutating_calls().len(),
        "{interruptions} interruptions\n{}",
        changes.stderr
    );
    environment
        .run("apply.sh", &[])
        .expect_success()
        .expect_no_changes();
    assert_eq!(
        environment.state(),
        uninterrupted.state(),
        "the interrupted runs have another result than a single run"
    );
}

/// Asserts that nothing is deleted without the cluster's name. With it, gpuc's resources are deleted in reverse order,
/// and a second run deletes nothing.
pub(crate) fn assert_teardown(case: &Case) {
    let environment = case.environment_after_first_run();
    let made = environment.state();
    let name: &str = &environment.plan.cluster;
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
        let run = environment.run_with("teardown.sh", &arguments, &with);
        run.expect_refusal("name");
    }
    let dry = environment.run("teardown.sh", &["--dry-run"]);
    let dry = dry.expect_success().expect_no_changes();
    assert_eq!(environment.state(), made);

    let input = format!("{name}\n");
    let with = RunOptions {
        input: &input,
        ..RunOptions::default()
    };
    let run = environment
        .run_with("teardown.sh", &[], &with)
        .expect_success();
    let expected = deletions(&environment);
    let calls: Vec<FakeCall> = run.mutating_calls().into_iter().cloned().collect();
    assert!(
        environment.match_commands(&calls, &expected),
        "{expected:#?}\n{calls:#?}"
    );
    assert_eq!(dry.out.lines().count(), calls.len(), "{}", dry.out);

    let after = environment.state();
    environment
        .run("teardown.sh", &["--yes", name])
        .expect_success();
    assert_eq!(environment.state(), after);
}

/// The delete commands, in reverse order of the resources.
fn deletions(environment: &Environment) -> Vec<&plan::Command> {
    let resources = environment.plan.provisioning.resources.iter().rev();
    resources.flat_map(|resource| &resource.delete).collect()
}

/// Asserts that every field in the tables of a cloud occurs in one of its files, so that its drift is tested.
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
                .flat_map(|environment| &environment.plan.provisioning.resources);
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
