//! A model of GitHub's runner for `action.yml`: expressions, steps, outputs, and workflow commands.

use std::collections::BTreeMap;
use std::fs;

use serde_json::Value;

use super::{TestRepository, yaml};
use crate::support::repository;

/// The result of a run of the action.
pub(super) struct ActionResult {
    /// The output of all steps, in order.
    pub(super) log: String,
    /// The failed step, which is the last step that ran.
    pub(super) failed: Option<String>,
    /// The steps that ran, by name.
    pub(super) steps: Vec<String>,
    /// The inputs of the steps that use other actions.
    pub(super) step_inputs: BTreeMap<String, BTreeMap<String, String>>,
    /// The outputs of the action.
    pub(super) outputs: BTreeMap<String, String>,
    /// The job's summary.
    pub(super) summary: String,
}

struct Context {
    inputs: BTreeMap<String, String>,
    /// Outputs of the steps that ran.
    steps: BTreeMap<String, BTreeMap<String, String>>,
    known: Vec<String>,
    /// The event payload.
    event: BTreeMap<String, String>,
}

/// Runs the action in the checkout, as for a pull request or a push.
pub(super) fn run_action(
    work: &TestRepository,
    inputs: &[(&str, &str)],
    pull: bool,
) -> ActionResult {
    let action = yaml("action.yml");
    let declared = action["inputs"].as_object().unwrap();
    let mut context = Context {
        inputs: BTreeMap::new(),
        steps: BTreeMap::new(),
        known: Vec::new(),
        event: BTreeMap::new(),
    };
    if pull {
        let event = &mut context.event;
        event.insert("pull_request.number".into(), "12".into());
        event.insert("pull_request.base.sha".into(), work.base.clone());
    }
    for (name, input) in declared {
        let default = input["default"].as_str().unwrap_or_default();
        let default = context.substitute(default);
        context.inputs.insert(name.clone(), default);
    }
    for (name, value) in inputs {
        assert!(declared.contains_key(*name), "no input {name}");
        context.inputs.insert((*name).into(), (*value).into());
    }
    let steps = action["runs"]["steps"].as_array().unwrap();
    let ids = steps.iter().filter_map(|step| step["id"].as_str());
    context.known = ids.map(str::to_owned).collect();
    let mut result = ActionResult {
        log: String::new(),
        failed: None,
        steps: Vec::new(),
        step_inputs: BTreeMap::new(),
        outputs: BTreeMap::new(),
        summary: String::new(),
    };
    for step in steps {
        let name = step["name"].as_str().unwrap();
        let is_enabled = step["if"].as_str().is_none_or(|condition| {
            let value = context.evaluate(condition);
            !value.is_empty() && value != "false"
        });
        if !is_enabled {
            continue;
        }
        result.steps.push(name.to_owned());
        if step["uses"].is_string() {
            let with = step["with"].as_object().unwrap().iter();
            let with =
                with.map(|(key, value)| (key.clone(), context.substitute(value.as_str().unwrap())));
            result.step_inputs.insert(name.to_owned(), with.collect());
            continue;
        }
        let (succeeded, outputs) = run_step(work, &context, step, &mut result);
        if let Some(id) = step["id"].as_str() {
            context.steps.insert(id.to_owned(), outputs);
        }
        if !succeeded {
            result.failed = Some(name.to_owned());
            break;
        }
    }
    for (name, output) in action["outputs"].as_object().unwrap() {
        let value = context.substitute(output["value"].as_str().unwrap());
        result.outputs.insert(name.clone(), value);
    }
    assert_no_injected_commands(&result.log);
    result
}

/// Runs a step's script like `shell: bash`.
fn run_step(
    work: &TestRepository,
    context: &Context,
    step: &Value,
    result: &mut ActionResult,
) -> (bool, BTreeMap<String, String>) {
    let script = step["run"].as_str().unwrap();
    assert!(
        !script.contains("${{"),
        "the script contains an expression: {script}"
    );
    assert_eq!(step["shell"], "bash");
    work.write("temp/script.sh", script);
    work.write("temp/output", "");
    work.write("temp/summary", "");
    let mut bash = work.command("bash");
    bash.args(["--noprofile", "--norc", "-eo", "pipefail"])
        .arg(work.path("temp/script.sh"))
        .current_dir(work.checkout())
        .env("GITHUB_ACTION_PATH", repository())
        .env("GITHUB_OUTPUT", work.path("temp/output"))
        .env("GITHUB_STEP_SUMMARY", work.path("temp/summary"))
        .env("GITHUB_REPOSITORY", "acme/gitops")
        .env("GITHUB_SERVER_URL", "https://github.com")
        .env("GITHUB_RUN_ID", "99")
        .env("RUNNER_TEMP", work.path("temp"));
    for (name, value) in step["env"].as_object().into_iter().flatten() {
        bash.env(name, context.substitute(value.as_str().unwrap()));
    }
    let output = bash.output().unwrap();
    result.log += &String::from_utf8_lossy(&output.stdout);
    result.log += &String::from_utf8_lossy(&output.stderr);
    result.summary += &fs::read_to_string(work.path("temp/summary")).unwrap();
    let outputs = work.read("temp/output");
    let outputs = outputs.lines().filter_map(|line| line.split_once('='));
    let outputs = outputs.map(|(key, value)| (key.to_owned(), value.to_owned()));
    (output.status.success(), outputs.collect())
}

/// Asserts that the log contains no workflow commands that the runner would execute, except annotations. A command
/// begins a line with `::`, or contains `##[` anywhere, unless `stop-commands` has disabled commands until its token.
///
/// Source: actions/runner@079cdb1d05fe0ec50f8c51de5a4fa51d0eb189b0 src/Runner.Common/ActionCommand.cs
fn assert_no_injected_commands(log: &str) {
    let mut until: Option<String> = None;
    for line in log.lines() {
        let line = line.trim_start();
        if let Some(word) = &until {
            if line == format!("::{word}::") {
                until = None;
            }
            continue;
        }
        if let Some(word) = line.strip_prefix("::stop-commands::") {
            until = Some(word.to_owned());
            continue;
        }
        let annotation = ["::error", "::warning", "::notice"];
        let annotation = annotation.iter().any(|begin| line.starts_with(begin));
        let command = line.starts_with("::") || line.contains("##[");
        assert!(annotation || !command, "the runner would execute: {line}");
    }
    assert_eq!(until, None, "commands stay disabled");
}

impl Context {
    /// Replaces the expressions in a text with their values.
    fn substitute(&self, text: &str) -> String {
        let mut parts = text.split("${{");
        let mut result = parts.next().unwrap().to_owned();
        for part in parts {
            let (expression, rest) = part.split_once("}}").unwrap();
            result += &self.evaluate(expression);
            result += rest;
        }
        result
    }

    /// Evaluates an expression. False is the empty string.
    fn evaluate(&self, expression: &str) -> String {
        let expression = expression.trim();
        if let Some((left, right)) = expression.split_once("||") {
            let left = self.evaluate(left);
            return if left.is_empty() {
                self.evaluate(right)
            } else {
                left
            };
        }
        if let Some((left, right)) = expression.split_once("&&") {
            let left = self.evaluate(left);
            return if left.is_empty() {
                left
            } else {
                self.evaluate(right)
            };
        }
        for (sign, equal) in [("==", true), ("!=", false)] {
            if let Some((left, right)) = expression.split_once(sign) {
                let holds = (self.evaluate(left) == self.evaluate(right)) == equal;
                return if holds { "true".into() } else { String::new() };
            }
        }
        if let Some(arguments) = expression.strip_prefix("format(") {
            let (form, value) = arguments.trim_end_matches(')').split_once(',').unwrap();
            return self.evaluate(form).replace("{0}", &self.evaluate(value));
        }
        if let Some(literal) = expression.strip_prefix('\'') {
            return literal.strip_suffix('\'').unwrap().to_owned();
        }
        let parts: Vec<&str> = expression.split('.').collect();
        match parts.as_slice() {
            ["inputs", name] => {
                let value = self.inputs.get(*name);
                value.unwrap_or_else(|| panic!("no input {name}")).clone()
            }
            ["steps", id, "outputs", name] => {
                assert!(self.known.iter().any(|known| known == id), "no step {id}");
                let outputs = self.steps.get(*id);
                outputs
                    .and_then(|all| all.get(*name))
                    .cloned()
                    .unwrap_or_default()
            }
            ["github", "event", path @ ..] => {
                self.event.get(&path.join(".")).cloned().unwrap_or_default()
            }
            ["github", "token"] => "token".into(),
            ["runner", "os"] => "Linux".into(),
            ["runner", "arch"] => "X64".into(),
            _ => panic!("unsupported expression {expression}"),
        }
    }
}
