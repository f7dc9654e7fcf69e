//! The clouds' own CLIs accept every command of the scripts, and their requests contain the desired values.

mod aws;
mod az;
pub(crate) mod command_batch;

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::process::Stdio;
use std::sync::Mutex;

use gpuc_model::plan::{Argument, Command, Resource, ResourceKind};
use serde_json::{Value, json};

use crate::corpus::cases;

/// The real programs print their versions as the scripts read them.
#[test]
#[ignore = "needs aws and az"]
fn versions_are_printed() {
    let mut tools = BTreeMap::new();
    for case in cases() {
        for tool in &case.plan().provisioning.tools {
            tools.insert(tool.name, *tool);
        }
    }
    for name in ["aws", "az"] {
        let tool = tools[name];
        let run = std::process::Command::new(name)
            .args(tool.version_arguments)
            .output();
        let output = run.expect("this test needs aws and az").stdout;
        let output = String::from_utf8(output).unwrap();
        let version = output.strip_prefix(tool.version_prefix);
        let is_version = |text: &str| {
            let major = text.split('.').next().unwrap_or_default();
            text.contains('.') && major.parse::<u32>().is_ok()
        };
        assert!(version.is_some_and(is_version), "{name}: {output}");
    }
}

/// The arguments of a command. jq computes values that are read from the cloud, from a sample. `None` if jq fails or
/// the command has nothing to do.
pub(crate) fn argv(
    kind: Option<&ResourceKind>,
    command: &Command,
    observed: &Value,
    want: &Value,
) -> Option<Vec<String>> {
    // Like the output of `jq -r`.
    let text = |answer: Value| match answer {
        Value::String(text) => text,
        other => other.to_string(),
    };
    let mut words = Vec::new();
    for word in &command.0 {
        match word {
            Argument::Text(word) | Argument::CloudFile(word) => words.push(word.clone()),
            Argument::UpdateId => words.push("00000000-0000-0000-0000-000000000000".to_owned()),
            Argument::Observed(program) => {
                words.push(text(jq(kind, program, observed, want).ok()?));
            }
            Argument::ObservedOptional(program) => {
                let answer = jq(kind, program, observed, want).ok()?;
                words.push(text(Some(answer).filter(|answer| !answer.is_null())?));
            }
            Argument::ObservedList(program) => {
                let answer = jq(kind, program, observed, want).ok()?;
                let list = answer.as_array().filter(|list| !list.is_empty())?;
                words.extend(list.iter().cloned().map(text));
            }
        }
    }
    Some(words)
}

/// The result of a field's jq program for an observed resource, cached: many fields have the same program.
fn jq(
    kind: Option<&ResourceKind>,
    program: &str,
    observed: &Value,
    want: &Value,
) -> Result<Value, String> {
    static ASKED: Mutex<BTreeMap<String, Result<Value, String>>> = Mutex::new(BTreeMap::new());
    let kind_name = kind.map_or("", |kind| kind.name);
    let key = format!("{kind_name}\n{program}\n{observed}\n{want}");
    if let Some(answer) = ASKED.lock().unwrap().get(&key) {
        return answer.clone();
    }
    let mut answers = jq_of_all(kind, &[(program, want)], observed);
    let answer = answers.pop().unwrap();
    ASKED.lock().unwrap().insert(key, answer.clone());
    answer
}

/// The results of several jq programs for one observed resource, from a single run of jq.
pub(crate) fn jq_of_all(
    kind: Option<&ResourceKind>,
    programs: &[(&str, &Value)],
    observed: &Value,
) -> Vec<Result<Value, String>> {
    let definitions = kind.map_or("", |kind| kind.definitions);
    let mut combined = String::new();
    for (index, (program, _)) in programs.iter().enumerate() {
        let program = format!("def p{index}($want): {definitions}\n{program};\n");
        combined.push_str(&program);
    }
    let answer = |index| format!("(try [p{index}($wants[{index}])] catch tostring)");
    let answers: Vec<_> = (0..programs.len()).map(answer).collect();
    combined.push_str(&format!("[{}]", answers.join(", ")));
    let wants: Vec<_> = programs.iter().map(|(_, want)| want).collect();
    let mut child = std::process::Command::new("jq")
        .args([
            "-c",
            "--argjson",
            "wants",
            &json!(wants).to_string(),
            &combined,
        ])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("these tests need jq");
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(observed.to_string().as_bytes()).unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    let answers = serde_json::from_slice::<Vec<Value>>(&output.stdout);
    let answers = answers.unwrap_or_else(|error| panic!("{error}: {stderr}\n{combined}"));
    assert_eq!(answers.len(), programs.len(), "{combined}");
    // The output of a program is wrapped in a list. An error is a string.
    let read = |answer: Value| match answer {
        Value::Array(mut made) if made.len() == 1 => Ok(made.remove(0)),
        other => Err(other.to_string()),
    };
    answers.into_iter().map(read).collect()
}

/// Every distinct resource whose first command uses this program, with the name of its cluster.
pub(crate) fn resources(program: &str) -> Vec<(String, &'static Resource)> {
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    for case in cases() {
        for resource in &case.plan().provisioning.resources {
            let first = resource.observation.command.0.first();
            if first != Some(&Argument::Text(program.to_owned())) {
                continue;
            }
            let fields = resource.fields.iter().map(|it| (&it.desired, &it.update));
            let fields: Vec<_> = fields.collect();
            let key = format!("{:?}{:?}{fields:?}", resource.create, resource.delete);
            if seen.insert(key) {
                found.push((format!("{}: {}", case.name, resource.name), resource));
            }
        }
    }
    found
}

/// The commands that are not of a resource's creation, update or deletion: identity queries, kubeconfig and recoveries.
pub(crate) fn other_commands(program: &str) -> Vec<(String, Vec<String>)> {
    use gpuc_model::plan::Credentials;
    let mut found = Vec::new();
    for case in cases() {
        let provisioning = &case.plan().provisioning;
        let identity = provisioning.identity.iter().map(|it| (None, &it.query));
        let mut commands: Vec<_> = identity.collect();
        if let Credentials::Fetch(fetch) = &provisioning.credentials {
            commands.extend(fetch.iter().map(|command| (None, command)));
        }
        for resource in &provisioning.resources {
            let remnant = resource.remnant.iter();
            let reads = remnant.flat_map(|it| [&it.observation.command, &it.explanation]);
            commands.extend(reads.map(|command| (None, command)));
            let remnant = resource.remnant.iter().flat_map(|it| &it.recovery);
            let recovery = resource.recovery.iter().chain(remnant);
            let recovery = recovery.flat_map(|it| &it.commands);
            commands.extend(recovery.map(|command| (Some(resource.kind), command)));
        }
        let id = "/subscriptions/0/resourceGroups/a/providers/Microsoft.ContainerService/managedClusters/b";
        let observed = json!({"id": id});
        let words = commands
            .into_iter()
            .filter_map(|(kind, it)| argv(kind, it, &observed, &Value::Null));
        // The real az reads the resource's API versions before `az resource update`, for which it needs the network.
        let words = words.filter(|words| words[0] == program && words[1] != "resource");
        found.extend(words.map(|words| (case.name.clone(), words)));
    }
    let mut seen = BTreeSet::new();
    found.retain(|(_, words)| seen.insert(words.clone()));
    found
}
