//! The real `gcloud`, without a network: every command is taken, and what it makes reads back as what was wanted.

use std::collections::BTreeSet;

use gpuc::plan::Resource;
use serde_json::{Value, json};

use crate::needs;
use crate::needs_clouds::{argv, jq, other_commands, resources};

/// What is asked of `gcloud`, in order.
struct Step {
    name: String,
    argv: Vec<String>,
    exists: bool,
    /// The resource that this command shows after it was made.
    shows: Option<&'static Resource>,
}

/// What a pool or a cluster shows, as far as commands ask for it.
fn observed() -> Value {
    json!({
        "config": {"resourceLabels": {"old": "a", "goog-gke-node": ""}},
        "resourceLabels": {"old": "a"},
        "locations": ["us-central1-a", "us-central1-b"],
        "currentMasterVersion": "1.34.1-gke.100",
    })
}

fn steps() -> Vec<Step> {
    let observed = observed();
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
    let words = |command, want| argv(command, &observed, want).unwrap();
    let resources = resources("gcloud");
    for (name, resource) in &resources {
        // What removes a pool is made by removing it, and there is nothing to show.
        let is_made = resource
            .fields
            .iter()
            .all(|it| it.kind.name != "first pool");
        for command in resource.create.iter().filter(|_| is_made) {
            step(name, words(command, &Value::Null), false, None);
        }
        let shows = is_made.then_some(*resource);
        step(
            name,
            words(&resource.observe.command, &Value::Null),
            true,
            shows,
        );
    }
    for (name, resource) in &resources {
        for field in &resource.fields {
            for command in &field.update {
                step(name, words(command, &field.want), true, None);
            }
        }
        for command in &resource.delete {
            step(name, words(command, &Value::Null), true, None);
        }
    }
    for (name, argv) in other_commands("gcloud") {
        step(&name, argv, true, None);
    }
    steps
}

#[test]
#[ignore = "needs gcloud and jq"]
fn gcloud_takes_every_command_and_shows_what_was_wanted() {
    let mut steps = steps();
    let bad = [
        "gcloud",
        "container",
        "node-pools",
        "update",
        "n",
        "--num-nodes=1",
    ];
    steps.push(Step {
        name: "control".to_owned(),
        argv: bad.map(str::to_owned).to_vec(),
        exists: true,
        shows: None,
    });
    let asked: Vec<_> = steps
        .iter()
        .map(|step| json!({"argv": step.argv, "exists": step.exists}))
        .collect();
    // gcloud brings its own libraries; any Python 3 that it supports reads them.
    let answers = needs::python("python3", "gcloud.py", &[], &json!(asked));
    let mut wrong = Vec::new();
    for (step, answer) in steps.iter().zip(answers.as_array().unwrap()) {
        if step.name == "control" {
            assert_eq!(
                answer["code"], 2,
                "gcloud takes a flag that it does not have"
            );
            continue;
        }
        if answer["code"] != 0 {
            let said = answer["said"].as_str().unwrap().trim();
            let argv = step.argv.join(" ");
            wrong.push(format!(
                "{}: {argv}\n  {}: {said}",
                step.name, answer["code"]
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
        (read.as_ref() != Ok(&field.want)).then(|| {
            format!(
                "{name}: {} is {read:?}, not {}",
                field.kind.name, field.want
            )
        })
    });
    differing.collect()
}
