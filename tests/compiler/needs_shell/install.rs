//! `install.sh`: the order of steps, repeated runs, and the name of a failed step.

use gpuc_model::plan::{Step, StepKind};
use serde_json::Value;

use super::environment::{Environment, FakeCall, RunOptions, RunResult};

const CHARTS: &str = include_str!("../rich/charts.yaml");

const CONTEXTS: &str = "standin-state set contexts '{\"it is; $HOME\": {}, \"lab\": {}}'";

fn environment() -> Environment {
    // The name of the context has special characters of the shell.
    Environment::new(
        &CHARTS.replace("context: lab", "context: \"it is; $HOME\""),
        CONTEXTS,
    )
}

fn install(environment: &Environment, arguments: &[&str]) -> RunResult {
    environment.run("../install.sh", arguments)
}

/// The step of a call, and whether it installs only the step's CRDs.
fn find_step<'s>(steps: &'s [Step], call: &FakeCall) -> Option<(&'s str, bool)> {
    let word = |flag: &str| {
        let at = call.words.iter().position(|word| word == flag)?;
        call.words.get(at + 1).map(String::as_str)
    };
    let (name, kinds) = match call.words[0].as_str() {
        "helm" => {
            let kinds = word("show").is_some();
            let name = word("--install").or_else(|| word("crds"))?;
            (name.rsplit('/').next()?, kinds)
        }
        _ => (word("--kustomize")?.rsplit('/').next()?, false),
    };
    let step = steps.iter().find(|step| step.name == name);
    Some((
        &step.unwrap_or_else(|| panic!("unknown step {name}")).name,
        kinds,
    ))
}

#[test]
#[ignore = "needs bash, jq, python3 with PyYAML"]
fn steps_are_ordered_and_repeatable() {
    let environment = environment();
    let steps = &environment.plan.steps;
    assert!(
        steps
            .iter()
            .any(|step| step.kind == StepKind::Component && !step.dependencies.is_empty())
            || steps.iter().any(|step| !step.dependencies.is_empty())
    );
    let names: Vec<_> = steps.iter().map(|step| step.name.as_str()).collect();
    let mut revisions = 0;
    for _ in 0..2 {
        revisions += 1;
        let run = install(&environment, &[]).expect_success();
        let called = run.calls.iter().filter_map(|call| find_step(steps, call));
        let brought: Vec<_> = called
            .filter(|(_, kinds)| !kinds)
            .map(|(name, _)| name)
            .collect();
        assert_eq!(brought, names);
        for call in &run.calls {
            let flag = if call.words[0] == "helm" {
                "--kube-context"
            } else {
                "--context"
            };
            let at = call.words.iter().position(|word| word == flag);
            let context = at.map(|at| call.words[at + 1].as_str());
            // Commands that only read a chart need no cluster.
            let reads = call.words.iter().any(|word| word == "show");
            assert_eq!(context, (!reads).then_some("it is; $HOME"), "{call:?}");
        }
        let state = environment.state();
        for release in &environment.plan.releases {
            let key = format!("{}/{}", release.namespace, release.name);
            let held = &state["releases"][&key];
            assert_eq!(held["revision"], revisions, "{key}");
            assert_eq!(held["version"], release.chart.version, "{key}");
            let values = serde_json::to_value(&release.values).unwrap();
            assert_eq!(held["values"], values, "{key}");
            let kinds = &state["objects"][format!(
                "customresourcedefinition//things.{}.example.com",
                release.chart.name
            )];
            assert_eq!(
                kinds.is_object(),
                release.chart.needs_crd_updates(),
                "{key}"
            );
        }
    }
    assert!(
        environment
            .plan
            .releases
            .iter()
            .any(|release| release.chart.needs_crd_updates())
    );
}

#[test]
#[ignore = "needs bash, jq, python3 with PyYAML"]
fn crds_are_applied_before_their_chart() {
    let environment = environment();
    let run = install(&environment, &[]).expect_success();
    let calls: Vec<_> = run
        .calls
        .iter()
        .map(|call| find_step(&environment.plan.steps, call))
        .collect();
    let mut seen = 0;
    for (at, call) in calls.iter().enumerate() {
        let Some((name, true)) = call else { continue };
        seen += 1;
        let words = &run.calls[at + 1].words;
        for word in ["apply", "--server-side", "--force-conflicts", "-"] {
            assert!(words.iter().any(|it| it == word), "{words:?}");
        }
        assert_eq!(calls[at + 2], Some((*name, false)));
    }
    assert!(seen > 0, "no chart has a folder of CRDs");
}

#[test]
#[ignore = "needs bash, jq, python3 with PyYAML"]
fn dry_run_shows_actions_and_calls_nothing() {
    let environment = environment();
    let dry = install(&environment, &["--dry-run"]).expect_success();
    assert_eq!(dry.calls, []);
    let shown: Vec<_> = dry.out.lines().collect();
    let run = install(&environment, &[]).expect_success();
    let run: Vec<_> = run
        .stderr
        .lines()
        .filter_map(|line| line.strip_prefix("+ "))
        .collect();
    // A dry run prints a pipeline as one line.
    let shown = shown.join("\n").replace(" | ", "\n");
    assert_eq!(shown.lines().collect::<Vec<_>>(), run);
    let words = install(
        &environment,
        &["--context", "lab", "--timeout", "1h", "--dry-run"],
    )
    .expect_success();
    assert!(words.out.contains("--kube-context lab") && words.out.contains("--timeout 1h"));
    assert!(!words.out.contains("HOME"));
}

#[test]
#[ignore = "needs bash, jq, python3 with PyYAML"]
fn unreachable_cluster_stops_the_script_before_its_first_step() {
    let environment = environment();
    let with = RunOptions {
        environment: &[("GPUC_STANDIN_FAIL", "kubectl:version")],
        ..RunOptions::default()
    };
    let run = environment.run_with("../install.sh", &[], &with);
    assert_ne!(run.code, 0);
    assert!(run.stderr.contains("i/o timeout"), "{}", run.stderr);
    assert!(
        run.stderr
            .contains("cannot reach the API server of the cluster"),
        "{}",
        run.stderr
    );
    let steps = &environment.plan.steps;
    assert_eq!(
        run.calls.iter().find_map(|call| find_step(steps, call)),
        None
    );
    // A dry run does not need the cluster.
    let run = environment.run_with("../install.sh", &["--dry-run"], &with);
    assert_eq!(run.code, 0, "{}", run.stderr);
}

#[test]
#[ignore = "needs bash, jq, python3 with PyYAML"]
fn failure_names_its_step() {
    let environment = environment();
    let steps = &environment.plan.steps;
    for (place, failing) in steps.iter().enumerate() {
        let fails = match failing.kind {
            StepKind::Release => format!("helm:--install {}", failing.name),
            StepKind::Component => format!("kubectl:manifests/{}", failing.name),
        };
        let with = RunOptions {
            environment: &[("GPUC_STANDIN_FAIL", &fails)],
            ..RunOptions::default()
        };
        let run = environment.run_with("../install.sh", &[], &with);
        assert_ne!(run.code, 0, "{}", failing.name);
        let message = format!("step {} failed; later steps were not run", failing.name);
        assert!(run.stderr.contains(&message), "{}", run.stderr);
        // kubectl advises this if the server does not answer.
        assert!(!run.stderr.contains("validate=false"), "{}", run.stderr);
        let later = &steps[place + 1..];
        for call in run.calls.iter().filter_map(|call| find_step(steps, call)) {
            assert!(
                later.iter().all(|step| step.name != call.0),
                "{call:?} after {}",
                failing.name
            );
        }
    }
    install(&environment, &[]).expect_success();
}

#[test]
#[ignore = "needs bash, jq, python3 with PyYAML"]
fn unmanaged_objects_are_adopted_only_on_request() {
    let text = CHARTS;
    let releases = Environment::new(text, "true").plan.releases.clone();
    let foreign = releases
        .iter()
        .map(|it| format!("{}/{}", it.namespace, it.name));
    let foreign = serde_json::json!(foreign.collect::<Vec<_>>());
    let setup = format!(
        "standin-state set contexts '{{\"lab\": {{}}}}'; standin-state set foreign '{foreign}'"
    );
    let environment = Environment::new(text, &setup);
    let run = install(&environment, &[]);
    assert_ne!(run.code, 0);
    assert!(
        run.stderr.contains("invalid ownership metadata"),
        "{}",
        run.stderr
    );
    install(&environment, &["--take-ownership"]).expect_success();
    let installed = environment.state()["releases"].as_object().unwrap().len();
    assert_eq!(installed, releases.len());
}

#[test]
#[ignore = "needs bash, jq, python3 with PyYAML"]
fn cluster_identity_is_checked_first() {
    let text = include_str!("aws.yaml");
    let environment = Environment::new(text, "standin-state set eks.account 999999999999");
    let run = install(&environment, &[]);
    run.expect_refusal("the AWS account is");
}

#[test]
#[ignore = "needs bash, jq, python3 with PyYAML"]
fn invalid_flags_are_rejected() {
    let environment = environment();
    for (arguments, why) in [
        (&["--force"][..], "unknown flag: --force"),
        (&["--context"], "--context needs a value"),
        (&["--context", "nowhere"], "does not exist"),
    ] {
        let run = install(&environment, arguments);
        assert_ne!(run.code, 0);
        assert!(run.stderr.contains(why), "{}", run.stderr);
    }
    let state: Value = environment.state();
    assert_eq!(state["applied"], serde_json::json!([]));
}
