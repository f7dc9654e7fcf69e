//! Failures of clouds: every script either ends as an undisturbed run does, or stops with the cloud's message and
//! with commands that lead there.
//!
//! The failures are those of `tests/standins/README.md`. The tables below list where they occur.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::environment::{Environment, RunOptions, RunResult};
use super::lifecycle::Case;

/// A failure of one command.
pub(crate) struct Failure {
    /// The program.
    pub(crate) tool: &'static str,
    /// A part of its arguments.
    pub(crate) command: &'static str,
    /// The kind of failure.
    pub(crate) how: &'static str,
    /// What the user reads; empty if the script continues by itself.
    pub(crate) message: &'static str,
}

impl Failure {
    pub(crate) const fn new(
        tool: &'static str,
        command: &'static str,
        how: &'static str,
        message: &'static str,
    ) -> Self {
        Self {
            tool,
            command,
            how,
            message,
        }
    }
}

/// The calls during which a resource is in progress.
const DELAY: u32 = 3;

/// The maximum number of runs until the cluster is complete.
const MAX_RUNS: usize = 5;

/// The line before the commands of a recovery.
const RECOVERY: &str = "remove the cause, run these commands, then run this script again:";

/// Asserts that the cluster is completed after each failure, when the user follows what the scripts print.
pub(crate) fn assert_failures_are_recovered(case: &Case, failures: &[Failure]) {
    let undisturbed = case.environment_after_first_run().state();
    for failure in failures {
        let about = format!("{}: {}: {}", failure.tool, failure.command, failure.how);
        let environment = case.environment();
        let rule = json!([{"tool": failure.tool, "match": failure.command, "how": failure.how}]);
        set_behavior(&environment, &json!({"delay": DELAY, "fail": rule}));
        let mut printed = String::new();
        let runs = (1..=MAX_RUNS).find(|_| {
            let run = apply(&environment, &[]);
            printed += &run.stderr;
            if run.code != 0 {
                assert_reason(&run, &about);
                follow_advice(&environment, &run);
            }
            run.code == 0
        });
        assert!(environment.failures_occurred(), "{about}: no call matches");
        assert!(runs.is_some(), "{about}: not completed\n{printed}");
        if failure.message.is_empty() {
            assert_eq!(runs, Some(1), "{about}\n{printed}");
        }
        assert!(
            printed.contains(failure.message),
            "{about}: not reported: {}\n{printed}",
            failure.message
        );
        assert_complete(&environment, &undisturbed, &about);
    }
}

/// Asserts that the next run completes the cluster after the script is killed during any of its changes. The cloud
/// completes what it has begun.
pub(crate) fn assert_kills_are_survived(case: &Case) {
    let environment = case.environment();
    let run = environment.run("apply.sh", &[]).expect_success();
    let undisturbed = environment.state();
    let commands: BTreeSet<(String, String)> = run
        .mutating_calls()
        .into_iter()
        .map(|call| (call.words[0].clone(), call.words[1..].join(" ")))
        .collect();
    for (tool, words) in commands {
        // The path of the tree is another one in each environment.
        let part = words.split(" /").last().unwrap_or(&words);
        let part = part.split_once("cloud/").map_or(part, |(_, rest)| rest);
        let about = format!("{tool} {part}");
        let environment = case.environment();
        set_behavior(&environment, &json!({"delay": DELAY}));
        let kill = format!("{tool}:{part}");
        let run = apply(&environment, &[("GPUC_STANDIN_KILL", &kill)]);
        assert!(run.code != 0, "{about}: not killed\n{}", run.stderr);
        let mut printed = String::new();
        let completed = (1..=MAX_RUNS).any(|_| {
            let run = apply(&environment, &[]);
            printed += &run.stderr;
            if run.code != 0 {
                assert_reason(&run, &about);
                follow_advice(&environment, &run);
            }
            run.code == 0
        });
        assert!(completed, "{about}: not completed\n{printed}");
        assert_complete(&environment, &undisturbed, &about);
    }
}

/// Asserts that a resource in a state that is not final stops `--check` and a dry run from changing anything, and
/// that a failed one stops every run.
pub(crate) fn assert_failed_state_stops(case: &Case, path: &str, field: &str, status: &str) {
    let environment = case.environment_after_first_run();
    let set = format!("standin-state set-string '{path}.{field}' '{status}'");
    environment
        .shell(&set, &[], &RunOptions::default())
        .expect_success();
    for arguments in [vec![], vec!["--check"], vec!["--dry-run"]] {
        let run = environment.run("apply.sh", &arguments);
        run.expect_refusal(status);
    }
}

/// Asserts that a script ends at once if it is interrupted while a tool hangs, leaves no temporary files, and that the
/// next run completes the cluster.
pub(crate) fn assert_hangs_can_be_interrupted(case: &Case, commands: &[(&str, &str)]) {
    let undisturbed = case.environment_after_first_run().state();
    for (tool, command) in commands {
        for (signal, code) in [("INT", "130"), ("TERM", "143")] {
            let environment = case.environment();
            let rule = json!([{"tool": tool, "match": command, "how": "hang"}]);
            set_behavior(&environment, &json!({"fail": rule}));
            // A terminal sends the signal to all processes of the job. A script that starts with an ignored signal
            // keeps ignoring it, as it does if the tests run in the background of a shell.
            let script = format!(
                r#"set -m
                python3 -c 'import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
os.execv(sys.argv[1], sys.argv[1:])' "$1" & job=$! code=0
                until grep -q '"rc": 137' "$GPUC_STANDIN_LOG"; do sleep 0.1; done
                kill -{signal} -- -"$job"
                wait "$job" || code=$?
                [ "$code" = {code} ] || {{ echo "ended with $code" >&2; exit 1; }}
                ! ls -d "$TMPDIR"/tmp.* >&2"#
            );
            let path = environment.tree().join("cloud/apply.sh");
            environment
                .shell(&script, &[path.to_str().unwrap()], &RunOptions::default())
                .expect_success();
            assert!(environment.failures_occurred(), "{tool} {command}: no call");
            let run = apply(&environment, &[]);
            assert_eq!(run.code, 0, "{tool} {command}: {signal}\n{}", run.stderr);
            assert_complete(
                &environment,
                &undisturbed,
                &format!("{tool} {command}: {signal}"),
            );
        }
    }
}

/// Asserts that a script that stops waiting says how to continue.
pub(crate) fn assert_timeout_is_reported(case: &Case, path: &str, field: &str, status: &str) {
    let environment = case.environment_after_first_run();
    let set = format!("standin-state set-string '{path}.{field}' '{status}'");
    environment
        .shell(&set, &[], &RunOptions::default())
        .expect_success();
    let run = environment.run("apply.sh", &["--timeout", "0"]);
    let run = run.expect_refusal(&format!("still {status} after 0 minutes"));
    assert!(
        run.stderr.contains("run this script again"),
        "{}",
        run.stderr
    );
    // Runs that change nothing do not wait.
    for arguments in [["--check"], ["--dry-run"]] {
        let run = environment.run("apply.sh", &arguments).expect_success();
        assert!(run.stderr.contains(status), "{}", run.stderr);
        run.expect_no_changes();
    }
}

/// Asserts that output that the tool must not print stops every run.
pub(crate) fn assert_wrong_output_stops(case: &Case, tool: &str, command: &str) {
    let environment = case.environment_after_first_run();
    let before = environment.state();
    for (how, message) in [
        ("garbled", "unexpected output of command"),
        ("silent", "unexpected output of command"),
        ("misshapen", "the state cannot be read from the output of"),
    ] {
        for arguments in [vec![], vec!["--check"], vec!["--dry-run"]] {
            let rule = json!([{"tool": tool, "match": command, "how": how, "times": 9}]);
            set_behavior(&environment, &json!({"fail": rule}));
            let run = environment.run("apply.sh", &arguments);
            run.expect_refusal(message);
            assert!(environment.failures_occurred(), "{how}: no call matches");
            environment.set_state(&before);
        }
    }
}

/// Asserts that every script refuses these versions of a tool before any change, and accepts the others.
pub(crate) fn assert_old_versions_are_refused(
    case: &Case,
    tool: &str,
    too_old: &[&str],
    accepted: &[&str],
) {
    let environment = case.environment();
    let scripts = environment.scripts();
    let run_with = |script: &str, version: &str| {
        set_behavior(&environment, &json!({"versions": {tool: version}}));
        let arguments: &[&str] = match script {
            "teardown.sh" => &["--yes", &environment.plan.cluster],
            _ => &[],
        };
        environment.run(script, arguments)
    };
    for version in too_old {
        for script in &scripts {
            let run = run_with(script, version);
            run.expect_refusal(&format!(
                "{tool} {version} is too old: these scripts need version"
            ));
        }
    }
    let run = run_with("apply.sh", "unknown");
    run.expect_refusal("unexpected output of command");
    for version in accepted {
        run_with("apply.sh", version).expect_success();
    }
}

/// Asserts that no script changes anything if a resource lacks the mark at this path of the state, or has the mark of
/// another resource, and that `apply.sh --adopt` sets it.
pub(crate) fn assert_unmarked_is_kept(case: &Case, path: &str, message: &str) {
    let environment = case.environment_after_first_run();
    let name: &str = &environment.plan.cluster;
    for change in [
        format!("standin-state del '{path}'"),
        format!("standin-state set-string '{path}' another"),
    ] {
        environment
            .shell(&change, &[], &RunOptions::default())
            .expect_success();
        for arguments in [vec!["--yes", name], vec!["--dry-run"]] {
            let run = environment.run("teardown.sh", &arguments);
            let run = run.expect_refusal("not managed by these scripts");
            assert!(run.stderr.contains(message), "{path}\n{}", run.stderr);
        }
        for arguments in [vec![], vec!["--check"], vec!["--dry-run"]] {
            let run = environment.run("apply.sh", &arguments);
            let run = run.expect_refusal(
                "created by others: to manage it with these scripts from now on, add --adopt:",
            );
            assert!(run.stderr.contains(message), "{path}\n{}", run.stderr);
        }
        let run = environment.run("apply.sh", &["--verify"]).expect_success();
        let warning = format!("warning: not managed by these scripts: {message}");
        assert!(run.stderr.contains(&warning), "{}", run.stderr);
        run.expect_no_changes();
        for other in ["--check", "--verify"] {
            let run = environment.run("apply.sh", &["--dry-run", other]);
            assert_eq!(run.code, 2, "{}", run.stderr);
            assert!(run.calls.is_empty(), "{:?}", run.calls);
        }
        environment.run("apply.sh", &["--adopt"]).expect_success();
        environment
            .run("apply.sh", &[])
            .expect_success()
            .expect_no_changes();
    }
    environment
        .run("teardown.sh", &["--yes", name])
        .expect_success();
}

/// Asserts that `teardown.sh` deletes no cluster with a pool that no script created, unless a flag allows it. `pool` is
/// the path of a pool in the state, and `name` the key with its name.
pub(crate) fn assert_other_pools_are_kept(case: &Case, pool: &str, name: &str, message: &str) {
    let environment = case.environment_after_first_run();
    let cluster: &str = &environment.plan.cluster;
    let (pools, _) = pool.rsplit_once('.').unwrap();
    let copy = format!(
        r#"standin-state set {pools}.other "$(standin-state get {pool} | jq '.{name} = "other"')""#
    );
    environment
        .shell(&copy, &[], &RunOptions::default())
        .expect_success();
    for arguments in [vec!["--yes", cluster], vec!["--dry-run"]] {
        let run = environment.run("teardown.sh", &arguments);
        run.expect_refusal(&format!("{message}: \"other\"\n"));
    }
    // A list that is not readable is not an empty list.
    let before = environment.state();
    let call = [
        "eksctl get nodegroup",
        "gcloud node-pools list",
        "az nodepool list",
    ];
    let call = call.iter().find(|call| {
        let tool = call.split(' ').next();
        let mut tools = environment.plan.provisioning.tools.iter();
        tools.any(|known| Some(known.name) == tool)
    });
    let (tool, list) = call.unwrap().split_once(' ').unwrap();
    for how in ["garbled", "silent"] {
        let rule = json!([{"tool": tool, "match": list, "how": how, "times": 9}]);
        set_behavior(&environment, &json!({"fail": rule}));
        let run = environment.run("teardown.sh", &["--yes", cluster]);
        run.expect_refusal("cannot be read from the output of command");
        assert!(environment.failures_occurred(), "{how}: no call matches");
        environment.set_state(&before);
    }
    let run = environment.run("teardown.sh", &["--yes", cluster, "--delete-other-pools"]);
    let run = run.expect_success();
    let deleted = format!("{message}: \"other\": deleted with the cluster");
    assert!(run.stderr.contains(&deleted), "{}", run.stderr);
}

fn apply(environment: &Environment, variables: &[(&str, &str)]) -> RunResult {
    let mut all = vec![("GPUC_POLL_SECONDS", "0")];
    all.extend(variables);
    let with = RunOptions {
        environment: &all,
        ..RunOptions::default()
    };
    environment.run_with("apply.sh", &[], &with)
}

/// Every script that fails names a reason.
fn assert_reason(run: &RunResult, about: &str) {
    let is_explained = run.stderr.contains("error: ") || run.stderr.contains("ERROR: ");
    assert!(is_explained, "{about}: {}", run.stderr);
    assert!(
        !run.stderr.contains("nothing to do\n") || run.stderr.contains("error"),
        "{about}"
    );
}

/// Runs the commands that a script prints for a recovery.
fn follow_advice(environment: &Environment, run: &RunResult) {
    let mut lines = run.stderr.lines().map(str::trim_start);
    let mut commands = Vec::new();
    while let Some(line) = lines.next() {
        if line == RECOVERY {
            let words = ["aws ", "eksctl ", "gcloud ", "az "];
            let is_command = |line: &&str| words.iter().any(|word| line.starts_with(word));
            commands.extend(lines.by_ref().take_while(is_command));
        }
    }
    for command in commands {
        environment
            .shell(command, &[], &RunOptions::default())
            .expect_success();
    }
}

/// Asserts that nothing is left to do, and that the clouds are as after an undisturbed run.
fn assert_complete(environment: &Environment, undisturbed: &Value, about: &str) {
    let run = apply(environment, &[]);
    assert_eq!(run.code, 0, "{about}\n{}", run.stderr);
    let run = run.expect_no_changes();
    assert!(
        run.stderr.contains("nothing to do"),
        "{about}\n{}",
        run.stderr
    );
    let mut state = environment.state();
    state.as_object_mut().unwrap().remove("behavior");
    assert_eq!(&state, undisturbed, "{about}");
}

fn set_behavior(environment: &Environment, behavior: &Value) {
    let mut state = environment.state();
    state["behavior"] = behavior.clone();
    environment.set_state(&state);
}
