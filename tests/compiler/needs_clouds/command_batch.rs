//! All commands that scripts run with a cloud's CLI, and the check of their results.

use std::collections::BTreeSet;
use std::path::Path;

use gpuc_model::plan::{Argument, Command, Field, Resource};
use serde_json::{Value, json};

use super::{argv, jq_of_all, other_commands, resources};

/// A command for the CLI.
pub(crate) struct CliStep {
    /// The cluster's name, for messages.
    name: String,
    argv: Vec<String>,
    /// Whether the resource of the command exists.
    exists: bool,
    /// The resource that the command reads after its creation.
    shows: Option<&'static Resource>,
}

impl CliStep {
    /// Replaces the names of files in a folder by their paths.
    pub(crate) fn locate_files(&mut self, folder: &Path) {
        for word in &mut self.argv {
            let path = folder.join(word.as_str());
            if !word.starts_with('/') && path.is_file() {
                path.to_str().unwrap().clone_into(word);
            }
        }
    }

    /// Removes a flag that the program does not have. The resource then lacks a desired value, and is not compared.
    pub(crate) fn remove_flag(&mut self, flag: &str) {
        let count = self.argv.len();
        self.argv
            .retain(|word| word.split('=').next() != Some(flag));
        let created = self.argv.len() < count;
        let about = self.shows.and_then(|resource| resource.create.first());
        let is_created_with = about.is_some_and(|command| {
            command.0.iter().any(
                |word| matches!(word, Argument::Text(text) if text.split('=').next() == Some(flag)),
            )
        });
        if created || is_created_with {
            self.shows = None;
        }
    }
}

/// Every command of this program: the commands that create and read each resource, then those that change and delete
/// it, then all others. `observed` are sample resources, for arguments that are known only when a script runs.
pub(crate) fn cli_steps(program: &str, observed: &[Value]) -> Vec<CliStep> {
    let mut steps = Vec::new();
    let mut seen = BTreeSet::new();
    let mut step = |name: &str, argv: Vec<String>, exists: bool, shows: Option<_>| {
        // Each resource is created directly before it is read. Every other command runs once.
        if seen.insert(argv.clone()) || shows.is_some() || !exists {
            let name = name.to_owned();
            steps.push(CliStep {
                name,
                argv,
                exists,
                shows,
            });
        }
    };
    let words = |command: &Command| argv(None, command, &Value::Null, &Value::Null).unwrap();
    let resources = resources(program);
    for (name, resource) in &resources {
        // The first pool exists only to be deleted, so that its commands create and read nothing.
        let removes = resource
            .fields
            .iter()
            .any(|it| it.kind.name == "first pool");
        // The first command creates the resource, and the others change it.
        for (index, command) in resource.create.iter().enumerate().filter(|_| !removes) {
            step(name, words(command), index > 0, None);
        }
        let shows = (!removes).then_some(*resource);
        step(name, words(&resource.observation.command), true, shows);
    }
    for (name, resource) in &resources {
        for field in &resource.fields {
            for command in &field.update {
                for observed in observed {
                    let words = argv(Some(resource.kind), command, observed, &field.desired);
                    let words = words.expect("the sample has what the command reads");
                    step(name, words, true, None);
                }
            }
        }
        for command in &resource.delete {
            step(name, words(command), true, None);
        }
    }
    for (name, argv) in other_commands(program) {
        step(&name, argv, true, None);
    }
    steps
}

/// The steps as JSON for the drivers in `python/`, followed by a command that must be rejected.
pub(crate) fn driver_input(steps: &[CliStep], refused: &[&str]) -> Value {
    let commands = steps.iter().map(|step| {
        let made = step.shows.is_some();
        json!({"argv": step.argv, "exists": step.exists, "made": made})
    });
    let refused = json!({"argv": refused, "exists": true, "made": false});
    commands.chain([refused]).collect()
}

/// Fails if a command was rejected, or if a script would find drift in a resource directly after its creation.
pub(crate) fn assert_results(steps: &[CliStep], answers: &Value) {
    let answers = answers.as_array().unwrap();
    let (refused, answers) = answers.split_last().unwrap();
    assert_eq!(refused["code"], 2, "an unknown flag is accepted");
    let mut wrong = Vec::new();
    let mut shown = 0;
    for (step, answer) in steps.iter().zip(answers) {
        // The answers without a network have status 200; some operations of az expect 202. They accept the arguments.
        let output = answer["output"].as_str().unwrap_or_default();
        if output.contains("Operation returned an invalid status 'OK'") {
            continue;
        }
        if answer["code"] != 0 {
            let output = answer["output"].as_str().unwrap().trim();
            let argv = step.argv.join(" ");
            wrong.push(format!(
                "{}: {argv}\n  {}: {output}",
                step.name, answer["code"]
            ));
        } else if let Some(resource) = step.shows {
            shown += 1;
            let answer = serde_json::from_str(answer["answer"].as_str().unwrap()).unwrap();
            let found = drifted_fields(resource, &answer).into_iter();
            wrong.extend(found.map(|line| format!("{}: {line}", step.name)));
        }
    }
    assert!(shown > 10, "only {shown} resources were created and read");
    let mut of_steps = steps.iter().filter_map(|step| step.shows);
    let one = of_steps.find(|it| !it.fields.is_empty()).unwrap();
    assert!(
        !drifted_fields(one, &json!({})).is_empty(),
        "a resource without fields has no drift"
    );
    let (bad, all) = (wrong.len(), steps.len());
    assert!(wrong.is_empty(), "{bad} of {all}:\n{}", wrong.join("\n"));
}

/// The fields that differ from the desired values. Only fields that the create command sets, or that cannot be changed,
/// are compared. The cloud chooses the initial value of the others, such as the version of an AKS pool.
fn drifted_fields(resource: &Resource, shown: &Value) -> Vec<String> {
    let is_compared = |field: &&Field| field.kind.create_flag.is_some() || field.update.is_empty();
    let fields: Vec<_> = resource.fields.iter().filter(is_compared).collect();
    // jq compares, as in the scripts: recent releases print a number as they read it, and -1.0 equals -1.
    let compare = |field: &&Field| format!("[{}] | [., . == [$want]]", field.kind.read);
    let programs: Vec<_> = fields.iter().map(compare).collect();
    let programs: Vec<_> = programs
        .iter()
        .map(String::as_str)
        .zip(fields.iter().map(|it| &it.desired))
        .collect();
    let read = jq_of_all(Some(resource.kind), &programs, shown);
    let drifted = fields.iter().zip(read).filter_map(|(field, read)| {
        let (name, want) = (field.kind.name, &field.desired);
        let equal = read.as_ref().is_ok_and(|read| read[1] == true);
        (!equal).then(|| format!("{name} is {read:?}, not {want}"))
    });
    drifted.collect()
}
