//! The real `az`, without a network: every command is taken, and what it makes reads back as what was wanted.

use std::collections::BTreeSet;

use gpuc::plan::{Change, Resource};
use serde_json::{Value, json};

use super::{argv, jq, other_commands, resources};
use crate::needs::{self, CLOUD_OFFLINE, PYTHON};

/// What is asked of `az`, in order.
struct Step {
    name: String,
    argv: Vec<String>,
    exists: bool,
    /// The resource that this command shows after it was made.
    shows: Option<&'static Resource>,
}

/// What `az` shows of a pool for the words that are known only when a script runs.
const POOLS: [bool; 2] = [true, false];

fn steps() -> Vec<Step> {
    let mut steps = Vec::new();
    let mut seen = BTreeSet::new();
    let mut step = |name: &str, argv: Vec<String>, exists: bool, shows: Option<_>| {
        // A resource is made right before it is shown; anything else is asked once.
        if seen.insert(argv.clone()) || shows.is_some() || !exists {
            let name = name.to_owned();
            steps.push(Step {
                name,
                argv,
                exists,
                shows,
            });
        }
    };
    for (name, resource) in resources("az") {
        let words = |command| argv(command, &Value::Null, &Value::Null).unwrap();
        for command in &resource.create {
            step(&name, words(command), false, None);
        }
        let show = words(&resource.observe.command);
        step(&name, show, true, Some(resource));
    }
    for (name, resource) in resources("az") {
        for field in &resource.fields {
            for (command, on) in field.update.iter().flat_map(|it| POOLS.map(|on| (it, on))) {
                let observed = json!({"enableAutoScaling": on});
                step(
                    &name,
                    argv(command, &observed, &field.want).unwrap(),
                    true,
                    None,
                );
            }
        }
        for command in &resource.delete {
            step(
                &name,
                argv(command, &Value::Null, &Value::Null).unwrap(),
                true,
                None,
            );
        }
    }
    for (name, argv) in other_commands("az") {
        step(&name, argv, true, None);
    }
    steps
}

#[test]
#[ignore = "needs GPUC_PYTHON with azure-cli, GPUC_CLOUD_OFFLINE and jq"]
fn az_takes_every_command_and_shows_what_was_wanted() {
    let offline = needs::path(CLOUD_OFFLINE).join("az_offline.py");
    let python = needs::path(PYTHON);
    let mut steps = steps();
    let bad = ["az", "aks", "nodepool", "add", "--bogus", "1"].map(str::to_owned);
    steps.push(Step {
        name: "control".to_owned(),
        argv: bad.to_vec(),
        exists: false,
        shows: None,
    });
    let asked: Vec<_> = steps
        .iter()
        .map(|step| json!({"argv": step.argv, "exists": step.exists}))
        .collect();
    let input = json!({"offline": offline, "steps": asked});
    let answers = needs::python(python.to_str().unwrap(), "az.py", &[], &input);
    let mut wrong = Vec::new();
    for (step, answer) in steps.iter().zip(answers.as_array().unwrap()) {
        if step.name == "control" {
            assert_eq!(answer["code"], 2, "az takes a flag that it does not have");
            continue;
        }
        if answer["code"] != 0 {
            let said = answer["said"].as_str().unwrap().trim();
            wrong.push(format!(
                "{}: {}\n  {}: {said}",
                step.name,
                step.argv.join(" "),
                answer["code"]
            ));
        } else if let Some(resource) = step.shows {
            let shown: Value = serde_json::from_str(answer["answer"].as_str().unwrap()).unwrap();
            wrong.extend(differing(&step.name, resource, &shown));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {}:\n{}",
        wrong.len(),
        steps.len(),
        wrong.join("\n")
    );
}

/// The fields that a script would find changed right after it made the resource.
fn differing(name: &str, resource: &Resource, shown: &Value) -> Vec<String> {
    let differing = resource.fields.iter().filter_map(|field| {
        let read = jq(field.kind.read, shown, &field.want);
        // What the script does after the creation, because no flag of the creation says it.
        let later =
            field.kind.create.is_none() && !matches!(field.kind.change, Change::Replaces { .. });
        (read.as_ref() != Ok(&field.want) && !later).then(|| {
            format!(
                "{name}: {} is {read:?}, not {}",
                field.kind.name, field.want
            )
        })
    });
    differing.collect()
}
