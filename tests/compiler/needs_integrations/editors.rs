//! Editor support for a file from `gpuc init`, with yaml-language-server, which VS Code's YAML extension runs.

use std::fs;
use std::process::Command;

use serde_json::{Value, json};

use super::NODE_MODULES;
use crate::cli::Workspace;
use crate::external_data;

/// Opens a file as an editor does, requests the completions at the beginning of a line, and prints the diagnostics and
/// the completions. The server has no settings and no network access.
const EDITOR: &str = r#"
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [program, file, line] = process.argv.slice(2);
const uri = pathToFileURL(file).href;
const server = spawn("node", [program, "--stdio"], { stdio: ["pipe", "pipe", "inherit"] });
const send = (message) => {
  const text = JSON.stringify({ jsonrpc: "2.0", ...message });
  server.stdin.write(`Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`);
};
const answers = {};
const heard = (message) => {
  if (message.id === "begin") {
    send({ method: "initialized", params: {} });
    const text = readFileSync(file, "utf8");
    send({ method: "textDocument/didOpen", params: { textDocument: { uri, languageId: "yaml", version: 1, text } } });
  } else if (message.method === "textDocument/publishDiagnostics") {
    answers.findings = message.params.diagnostics;
    const position = { line: Number(line), character: 0 };
    send({ id: "words", method: "textDocument/completion", params: { textDocument: { uri }, position } });
  } else if (message.id === "words") {
    answers.words = message.result.items;
    process.stdout.write(JSON.stringify(answers));
    server.kill();
  } else if (message.method && message.id !== undefined) {
    const none = message.method === "workspace/configuration" ? message.params.items.map(() => null) : null;
    send({ id: message.id, result: none });
  }
};
let rest = Buffer.alloc(0);
server.stdout.on("data", (data) => {
  rest = Buffer.concat([rest, data]);
  for (;;) {
    const head = /^Content-Length: (\d+)\r\n(?:.*\r\n)*\r\n/.exec(rest.toString("latin1"));
    if (!head || rest.length < head[0].length + Number(head[1])) return;
    const end = head[0].length + Number(head[1]);
    heard(JSON.parse(rest.subarray(head[0].length, end)));
    rest = rest.subarray(end);
  }
});
const capabilities = { textDocument: { publishDiagnostics: {}, completion: {} } };
send({ id: "begin", method: "initialize", params: { processId: process.pid, rootUri: null, capabilities } });
"#;

#[test]
#[ignore = "needs node and yaml-language-server: see tests/README.md"]
fn starter_is_validated_and_completed() {
    let server =
        external_data::path(NODE_MODULES).join("yaml-language-server/bin/yaml-language-server");
    for cloud in ["aws", "on-prem"] {
        let workspace = Workspace::empty();
        workspace
            .run(&["init", "-q", "--cloud", cloud])
            .expect_silent_success();
        let text = workspace.read("gpu-cluster.yaml");
        let open = |text: &str| -> Value {
            workspace.write("gpu-cluster.yaml", text);
            workspace.write("editor.mjs", EDITOR);
            let line = text
                .lines()
                .position(|line| line.starts_with("stack:"))
                .unwrap();
            let output = Command::new("node")
                .arg(workspace.path("editor.mjs"))
                .args([&server, &workspace.path("gpu-cluster.yaml")])
                .arg(line.to_string())
                .env("HOME", workspace.path(""))
                .output()
                .unwrap();
            assert!(output.status.success(), "{output:?}");
            serde_json::from_slice(&output.stdout).unwrap()
        };
        let answers = open(&text);
        assert_eq!(answers["findings"], json!([]), "{cloud}");
        let words = answers["words"].as_array().unwrap().iter();
        let words: Vec<_> = words.map(|word| word["label"].as_str().unwrap()).collect();
        assert!(
            words.contains(&"teams") && words.contains(&"monitoring"),
            "{words:?}"
        );
        let answers = open(&text.replace("\nnodePools:", "\nnodePoools:"));
        let findings = answers["findings"].to_string();
        assert!(findings.contains("nodePoools is not allowed"), "{findings}");
        // Without the file that the first line names, the server reports an error: it reads this schema and no other.
        fs::remove_file(workspace.path("gpu-cluster.schema.json")).unwrap();
        let findings = open(&text)["findings"].to_string();
        assert!(findings.contains("gpu-cluster.schema.json"), "{findings}");
    }
}
