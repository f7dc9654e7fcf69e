//! The clouds' own command lines take every command that scripts run, and ask the cloud for what was wanted.

mod aws;
mod az;
pub(crate) mod rehearsal;

use std::collections::BTreeSet;
use std::process::Stdio;

use gpuc::plan::{Command, Resource, ResourceKind, Word};
use serde_json::Value;

use crate::corpus::cases;

/// The words of a command; what it takes from the cloud when it runs is what jq makes of a sample. `None` where jq
/// makes nothing of it, or there is nothing to do.
pub(crate) fn argv(
    kind: Option<&ResourceKind>,
    command: &Command,
    observed: &Value,
    want: &Value,
) -> Option<Vec<String>> {
    // As `jq -r` prints it.
    let text = |answer: Value| match answer {
        Value::String(text) => text,
        other => other.to_string(),
    };
    let mut words = Vec::new();
    for word in &command.0 {
        match word {
            Word::Text(word) | Word::Beside(word) => words.push(word.clone()),
            Word::Observed(program) => words.push(text(jq(kind, program, observed, want).ok()?)),
            Word::ObservedIfAny(program) => {
                let answer = jq(kind, program, observed, want).ok()?;
                words.push(text(Some(answer).filter(|answer| !answer.is_null())?));
            }
            Word::ObservedWords(program) => {
                let answer = jq(kind, program, observed, want).ok()?;
                let list = answer.as_array().filter(|list| !list.is_empty())?;
                words.extend(list.iter().cloned().map(text));
            }
        }
    }
    Some(words)
}

/// What a jq program of a field makes of an observed resource.
pub(crate) fn jq(
    kind: Option<&ResourceKind>,
    program: &str,
    observed: &Value,
    want: &Value,
) -> Result<Value, String> {
    use std::io::Write;
    let definitions = kind.map_or("", |kind| kind.definitions);
    let program = format!("{definitions}\n{program}");
    let mut child = std::process::Command::new("jq")
        .args(["-c", "--argjson", "want", &want.to_string(), &program])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("these tests need jq");
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(observed.to_string().as_bytes()).unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    serde_json::from_slice(&output.stdout).map_err(|error| {
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        format!("{error}: {said}")
    })
}

/// Every resource whose first command begins with this program, with where it comes from; each different one once.
pub(crate) fn resources(program: &str) -> Vec<(String, &'static Resource)> {
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    for case in cases() {
        for resource in &case.plan().provisioning.resources {
            let first = resource.observe.command.0.first();
            if first != Some(&Word::Text(program.to_owned())) {
                continue;
            }
            let fields = resource.fields.iter().map(|it| (&it.want, &it.update));
            let fields: Vec<_> = fields.collect();
            let key = format!("{:?}{:?}{fields:?}", resource.create, resource.delete);
            if seen.insert(key) {
                found.push((format!("{}: {}", case.name, resource.name), resource));
            }
        }
    }
    found
}

/// The commands that are no resource's: who is asked, and how to get a kubeconfig.
pub(crate) fn other_commands(program: &str) -> Vec<(String, Vec<String>)> {
    use gpuc::plan::Credentials;
    let mut found = Vec::new();
    for case in cases() {
        let provisioning = &case.plan().provisioning;
        let mut commands: Vec<_> = provisioning.identity.iter().map(|it| &it.ask).collect();
        if let Credentials::Fetch(command) = &provisioning.credentials {
            commands.push(command);
        }
        let words = commands
            .into_iter()
            .filter_map(|it| argv(None, it, &Value::Null, &Value::Null));
        let words = words.filter(|words| words[0] == program);
        found.extend(words.map(|words| (case.name.clone(), words)));
    }
    let mut seen = BTreeSet::new();
    found.retain(|(_, words)| seen.insert(words.clone()));
    found
}
